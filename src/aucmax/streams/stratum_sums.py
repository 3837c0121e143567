"""The AUC of a stream within strata, and the paired test of two scorers, in fixed memory.

The AUC of each stratum is added once the stratum is complete. Mean, interval and test are those of
`aucmax.metrics.stratified_auc` and `stratified_auc_test`, which depend on the AUCs only through a
few sums; strata are the sampling units. With a half-life, old strata fade.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from aucmax.basics.archive import ArraySpec, Specs, named, part_of
from aucmax.data.rows import compiled
from aucmax.data.strata import StrataWeight
from aucmax.metrics.delong import ROUNDING, Spread
from aucmax.metrics.intervals import AUCInterval, interval_around
from aucmax.metrics.measured import paired_test
from aucmax.metrics.stratified import areas_in_order
from aucmax.streams.drift import DriftAlarm
from aucmax.streams.paired import PairTest

__all__ = ["PairedStrata", "StratumLosses", "StratumSums"]

Floats = NDArray[np.float64]

_SUMS = 9
_ALARM_SCALE = 4.0  # stretches AUCs over the alarm's cells, which are for scores


class StratumLosses(NamedTuple):
    """Consecutive strata: their numbers of rows, weights ω, and the losses 1 − AUC of two models.

    Parameters
    ----------
    rows : ndarray, shape (G,)
    omega : ndarray, shape (G,)
        0 for strata with rows of one class.
    learning, frozen : ndarray, shape (G,)
        The losses.
    """

    rows: Floats
    omega: Floats
    learning: Floats
    frozen: Floats

    @classmethod
    def of(
        cls,
        positive: NDArray[np.bool_],
        weight: Floats,
        scores: list[Floats],
        starts: NDArray[np.intp],
        weighting: StrataWeight,
    ) -> StratumLosses:
        """Return the losses of n rows and their scores; ``starts`` are the strata's first rows."""
        sizes = np.diff(starts, append=len(weight))
        stratum, omega, losses = np.repeat(np.arange(len(sizes)), sizes), np.zeros(len(sizes)), []
        for score in scores:
            order = np.lexsort((score, stratum))  # stable: sums depend on the stratum alone
            areas = areas_in_order(stratum[order], score[order], positive[order], weight[order])
            loss = np.zeros(len(sizes))
            loss[areas.number], omega[areas.number] = 1.0 - areas.auc, areas.omega(weighting)
            losses.append(loss)
        return cls(sizes.astype(np.float64), omega, *losses)

    def add_to(self, prequential: StratumSums, pair: PairedStrata | None) -> None:
        """Add the strata to the sums over all strata, and to those since the freeze."""
        prequential.add(self.rows, self.omega, self.learning)
        if pair is not None:
            pair.add(self.rows, self.omega, self.frozen, self.learning)

    def show(self, alarm: DriftAlarm, seed: float) -> None:
        """Pass to an alarm how well the frozen model ranks each stratum of two classes."""
        areas = _ALARM_SCALE * (0.5 - self.frozen)
        alarm.add(np.zeros(len(areas), dtype=np.int64), areas, self.omega, seed)


class StratumSums:
    """The sums over strata that determine the mean of a loss and its variance.

    Parameters
    ----------
    half_life : float, optional
        In rows.
    """

    def __init__(self, half_life: float | None = None) -> None:
        self._gamma = 1.0 if half_life is None else 0.5 ** (1.0 / half_life)
        self._sums = np.zeros(_SUMS)

    def add(self, rows: Floats, omega: Floats, loss: Floats) -> None:
        """Add strata: their numbers of rows, weights ω and losses, all (G,)."""
        _add(rows, omega, loss, self._gamma, self._sums)

    @property
    def mean(self) -> float | None:
        """The mean loss; None without strata of two classes."""
        total, first = self._sums[:2]
        return float(first / total) if total > 0.0 else None

    @property
    def spread(self) -> Spread:
        """The variance of the mean loss, and the effective number of strata."""
        total, first, _, _, squares, of_loss, of_squares = self._sums[:7]
        mean, strata = first / total, total**2 / squares
        variance = of_squares - 2.0 * mean * of_loss + mean**2 * squares
        if strata < 2 - ROUNDING or variance <= ROUNDING * of_squares:
            return Spread(0.0, float(strata))
        return Spread(float(variance / total**2 * strata / (strata - 1.0)), float(strata))

    def auc(self, positive: int | None = None, confidence: float = 0.95) -> AUCInterval | None:
        """Return the mean AUC with its interval; None without strata of two classes."""
        if (miss := self.mean) is None or self._sums[4] <= 0.0:
            return None
        # like `carrying_rows` of losses, and of AUCs
        second, fourth = self._sums[2:4], self._sums[7:9]
        numbers = np.divide(second**2, fourth, out=np.zeros(2), where=fourth > 0.0)
        carriers = float(numbers.min())
        return interval_around(1.0 - miss, miss, [self.spread], [carriers], confidence)

    # ---- files ---------------------------------------------------------------------------

    facts = None  # a file has only `arrays`

    @property
    def arrays(self) -> dict[str, np.ndarray]:
        """The arrays, as `specs` declares them."""
        return {"sums": self._sums}

    @staticmethod
    def specs() -> Specs:
        """Return the declarations of `arrays`."""
        return {"sums": ArraySpec((_SUMS,))}

    def restore(self, facts: None, arrays: dict[str, np.ndarray]) -> None:
        """Take over arrays that match `specs`; ValueError if they are inconsistent."""
        self._sums = arrays["sums"]
        total, first = self._sums[:2]
        if np.delete(self._sums, (1, 5)).min() < 0.0 or abs(first) > 1.001 * total:
            raise ValueError("its sums over strata are not those of shares")


class PairedStrata:
    """Losses of the same strata by two scorers.

    Parameters
    ----------
    half_life : float, optional
        In rows.
    """

    def __init__(self, half_life: float | None = None) -> None:
        self._sums = {name: StratumSums(half_life) for name in ("first", "second", "gain")}

    def add(self, rows: Floats, omega: Floats, first: Floats, second: Floats) -> None:
        """Add strata: their numbers of rows, weights ω and losses by both scorers, all (G,)."""
        for sums, loss in zip(self._sums.values(), (first, second, first - second), strict=True):
            sums.add(rows, omega, loss)

    def scorers(self) -> tuple[StratumSums, StratumSums]:
        """Return the sums of each scorer."""
        return self._sums["first"], self._sums["second"]

    def test(self, areas: Any = None, confidence: float = 0.95) -> PairTest | None:
        """Test whether the scorers have the same AUC; None while there are too few strata."""
        gain = self._sums["gain"]
        if gain.mean is None or gain.spread.rows < 1.5:
            return None
        test = paired_test(gain.mean, gain.spread, confidence)
        return PairTest(test.difference, test.low, test.high, test.p_value)

    # ---- files ---------------------------------------------------------------------------

    facts = None

    @property
    def arrays(self) -> dict[str, np.ndarray]:
        """The arrays, as `specs` declares them."""
        parts = [named(name, sums.arrays) for name, sums in self._sums.items()]
        return {name: array for part in parts for name, array in part.items()}

    def specs(self) -> Specs:
        """Return the declarations of `arrays`."""
        parts = [named(name, sums.specs()) for name, sums in self._sums.items()]
        return {name: spec for part in parts for name, spec in part.items()}

    def restore(self, facts: None, arrays: dict[str, np.ndarray]) -> None:
        """Take over arrays that match `specs`; ValueError if they are inconsistent."""
        for name, sums in self._sums.items():
            sums.restore(None, part_of(arrays, name))


@compiled
def _add(rows, omega, loss, gamma, sums):
    # Σω·(1, l, l², (1−l)²) and Σω²·(1, l, l², l⁴, (1−l)⁴)
    for g in range(len(rows)):
        fade = gamma ** rows[g]
        for k in range(4):
            sums[k] *= fade
        for k in range(4, 9):
            sums[k] *= fade * fade
        w, v = omega[g], loss[g]
        if w > 0.0:
            loss_2, area_2 = v * v, (1.0 - v) * (1.0 - v)
            for k, value in enumerate((1.0, v, loss_2, area_2)):
                sums[k] += w * value
            for k, value in enumerate((1.0, v, loss_2, loss_2 * loss_2, area_2 * area_2)):
                sums[4 + k] += w * w * value
