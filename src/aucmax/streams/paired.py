"""The AUCs of two scorers of the same rows of a stream, and the paired test of their difference.

As rows arrive, the differences D between a row's placements by the two scorers among the earlier
rows are summed: the variance of the sums is DeLong's for the difference of the AUCs.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri

from aucmax.basics.archive import ArraySpec, Specs, named, part_of
from aucmax.data.rows import compiled
from aucmax.metrics.binned import BinnedAUC
from aucmax.statistics.score_bins import ScoreBins, bins_specs

__all__ = ["PairTest", "PairedScores"]

_WAITING_ROWS = 1000  # counted together to save time


class PairTest(NamedTuple):
    """The second scorer's AUC minus the first one's, its interval and the two-sided p-value."""

    difference: float
    low: float
    high: float
    p_value: float


class PairedScores:
    """Scores of the same rows by two scorers.

    Parameters
    ----------
    capacity, half_life
        As for `ScoreBins`.
    """

    def __init__(self, capacity: int, half_life: float | None = None) -> None:
        self._scorers = ScoreBins(capacity, half_life), ScoreBins(capacity, half_life)
        self._gamma = 1.0 if half_life is None else 0.5 ** (1.0 / half_life)
        self._gaps = np.zeros((2, 3))  # Σ weight · (1, D, D²) of each class
        self._waiting: list[tuple[np.ndarray, ...]] = []
        self._n_waiting = 0

    def add(
        self, codes: np.ndarray, first: np.ndarray, second: np.ndarray, weight: np.ndarray
    ) -> None:
        """Add rows: class codes 0 or 1, both scores, and weights, all (n,)."""
        self._waiting.append((codes, first, second, weight))
        self._n_waiting += len(codes)
        if self._n_waiting >= _WAITING_ROWS:
            self.scorers()

    def scorers(self) -> tuple[ScoreBins, ScoreBins]:
        """Return the scores of each scorer."""
        first, second = self._scorers
        if self._waiting:
            codes, *scores, weight = map(np.concatenate, zip(*self._waiting, strict=True))
            self._waiting, self._n_waiting = [], 0
            gaps = second.placements(codes, scores[1], weight)
            gaps -= first.placements(codes, scores[0], weight)
            _add_gaps(codes, gaps, weight, self._gamma, self._gaps)
        return first, second

    def test(self, areas: list[BinnedAUC | None], confidence: float = 0.95) -> PairTest | None:
        """Test whether the scorers have the same AUC; None while there are too few rows.

        Parameters
        ----------
        areas : list of BinnedAUC or None
            The AUCs of both scorers, as `ScoreBins.auc` returns them.
        confidence : float
            Coverage of the interval of their difference.
        """
        rows, weight = self.scorers()[0].rows, self._gaps[:, 0]
        first, second = areas
        if first is None or second is None or weight.min() <= 0.0 or rows.min() < 1.5:
            return None
        mean, square = (self._gaps[:, 1:] / weight[:, None]).T
        variance = float(np.sum(np.maximum(square - mean**2, 0.0) / (rows - 1.0)))
        difference = second.auc - first.auc
        if variance <= 0.0:
            return PairTest(difference, difference, difference, 1.0) if not difference else None
        error = np.sqrt(variance)
        reach = float(ndtri((1.0 + confidence) / 2) * error)
        p_value = 2.0 * float(ndtr(-abs(difference) / error))
        low, high = max(difference - reach, -1.0), min(difference + reach, 1.0)
        return PairTest(difference, low, high, p_value)

    # ---- files ---------------------------------------------------------------------------

    @property
    def facts(self) -> list[dict[str, Any]]:
        """What a file stores besides `arrays`, as JSON."""
        return [scores.facts for scores in self.scorers()]

    @property
    def arrays(self) -> dict[str, np.ndarray]:
        """The arrays, as `specs` declares them."""
        first, second = self.scorers()
        return named("first", first.arrays) | named("second", second.arrays) | {"gaps": self._gaps}

    @staticmethod
    def specs() -> Specs:
        """Return the declarations of `arrays`."""
        first, second = (named(name, bins_specs(name)) for name in ("first", "second"))
        return first | second | {"gaps": ArraySpec((2, 3))}

    def restore(self, facts: list[dict[str, Any]], arrays: dict[str, np.ndarray]) -> None:
        """Take over arrays that match `specs`; ValueError if they are inconsistent."""
        first, second = self._scorers
        first.restore(facts[0], part_of(arrays, "first"))
        second.restore(facts[1], part_of(arrays, "second"))
        self._gaps = arrays["gaps"]
        if not np.allclose(first.weights, second.weights, rtol=1e-6, atol=0.0):
            raise ValueError("its two scorers have seen different rows")
        weight, gap, square = self._gaps.T
        if np.any(weight < 0.0) or np.any(np.abs(gap) > 1.001 * weight + 1e-300):
            raise ValueError("its gaps are not differences of shares")
        if np.any(square < 0.0) or np.any(square > 1.001 * weight + 1e-300):
            raise ValueError("its squared gaps are not those of shares")


@compiled
def _add_gaps(codes, gaps, weights, gamma, sums):
    for i in range(len(codes)):
        sums *= gamma
        if gaps[i] == gaps[i]:  # not NaN: there were earlier rows of the other class
            k = codes[i]
            sums[k, 0] += weights[i]
            sums[k, 1] += weights[i] * gaps[i]
            sums[k, 2] += weights[i] * gaps[i] ** 2
