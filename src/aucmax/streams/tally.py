"""The AUC of a stream in fixed memory, from counts of the rows of each class in bins of scores.

A score z is counted in one of ``BINS`` equal bins of z/(2 + |z|), so that bins widen away from 0.
The AUC of the bins, with ties counting half, differs from that of the scores by at most half the
share of pairs in the same bin, which is known exactly and reported with it.

With a half-life of H rows, row i of m has weight 2^(−(m−i)/H) times its own weight. Weights are
kept relative to a reference row, so that new rows have larger weights and old counts change only
once in 256 H rows. The result depends only on the rows and their order, not on the batches.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri

from aucmax.basics.archive import ArraySpec
from aucmax.data.rows import compiled
from aucmax.metrics.binned import BinnedAUC, binned_auc

__all__ = ["BINS", "MAX_ROWS", "Counts", "Tally", "TallyTest", "bins_of"]

BINS = 4096
_GROUP = 64  # bins with a common sum, so that counts below a bin take few additions
_SPAN = 256  # half-lives after which the reference row moves
MAX_ROWS = 2**53  # that can be counted


class TallyTest(NamedTuple):
    """The second scorer's AUC minus the first one's, its interval and the two-sided p-value."""

    difference: float
    low: float
    high: float
    p_value: float


def bins_of(z: np.ndarray) -> np.ndarray:
    """Return the bin of each score, of the same shape."""
    z = np.nan_to_num(z)  # an infinite score would make the quotient below NaN
    t = z / (2.0 + np.abs(z))
    return np.minimum((0.5 * BINS * (1.0 + t)).astype(np.int64), BINS - 1)


class Counts:
    """Arrays in which a stream counts rows, 0 at first, with their declarations."""

    def __init__(self, specs: dict[str, ArraySpec]) -> None:
        self.specs = specs
        self.arrays = {name: spec.zeros() for name, spec in specs.items()}

    def restore(self, arrays: dict[str, np.ndarray]) -> None:
        """Take over arrays that match `specs`; ValueError if they are inconsistent."""
        self.arrays = {name: arrays[name] for name in self.specs}
        self._check()

    def _check(self) -> None:
        raise NotImplementedError


class _Arrays(NamedTuple):
    """The arrays of a `Tally` of one or two scorers.

    ``counts`` (scorers, 2, BINS) by class and bin, and their ``groups`` (scorers, 2, groups);
    ``squares`` (2,), Σ weight² of each class; ``gaps`` (2, 3), Σ weight · (1, D, D²) of each class,
    D the difference of a row's shares; ``clock`` (2,), the rows so far and the reference row.
    """

    counts: np.ndarray
    groups: np.ndarray
    squares: np.ndarray
    gaps: np.ndarray
    clock: np.ndarray


class Tally(Counts):
    """Counts by class and bin of one scorer's scores, or of two scorers' for the same rows.

    Parameters
    ----------
    scorers : int
        1 or 2.
    half_life : float
        In rows; infinite forgets nothing.

    Notes
    -----
    For two scorers, the differences of the shares of the other class below a row are summed as the
    rows arrive, from the counts so far: their variance is DeLong's for the difference of the AUCs.
    """

    def __init__(self, scorers: int, half_life: float = np.inf) -> None:
        self.half_life = half_life
        specs = {
            "counts": ArraySpec((scorers, 2, BINS), low=0.0),
            "groups": ArraySpec((scorers, 2, BINS // _GROUP), low=0.0),
            "squares": ArraySpec((2,), low=0.0),
            "gaps": ArraySpec((2, 3)),
            "clock": ArraySpec((2,), np.int64, 0, MAX_ROWS),
        }
        super().__init__(specs)

    def _check(self) -> None:
        counts, groups, clock = (self.arrays[name] for name in ("counts", "groups", "clock"))
        sums = counts.reshape(*groups.shape, _GROUP).sum(axis=-1)
        if not np.allclose(sums, groups, rtol=1e-6, atol=1e-9 * groups.max()):
            raise ValueError("the sums of its groups do not match its bins")
        totals = groups.sum(axis=-1)
        if not np.allclose(totals, totals[:1], rtol=1e-6):
            raise ValueError("its two scorers have seen different rows")
        if clock[1] > clock[0]:
            raise ValueError("its reference row is in the future")
        weight, gap, square = self.arrays["gaps"].T
        if np.any(weight < 0.0) or np.any(np.abs(gap) > 1.001 * weight):
            raise ValueError("its gaps are not differences of shares")
        if np.any(square < 0.0) or np.any(square > 1.001 * weight):
            raise ValueError("its squared gaps are not those of shares")

    def add(self, codes: np.ndarray, bins: np.ndarray, weight: np.ndarray | None = None) -> None:
        """Count rows: codes 0 or 1 of their classes (n,), bins (scorers, n), weights (n,)."""
        weight = np.ones(len(codes)) if weight is None else weight
        bins = np.ascontiguousarray(bins)
        _add(codes, bins, weight, 1.0 / self.half_life, _Arrays(**self.arrays))

    @property
    def totals(self) -> np.ndarray:
        """The weight of each class, relative to the reference row, shape (2,)."""
        return self.arrays["groups"][0].sum(axis=1)

    @property
    def rows(self) -> np.ndarray:
        """Kish's effective number of rows of each class, shape (2,)."""
        squares = self.arrays["squares"]
        return np.divide(self.totals**2, squares, out=np.zeros(2), where=squares > 0)

    def auc(self, positive: int, scorer: int = 0, confidence: float = 0.95) -> BinnedAUC | None:
        """Return a scorer's AUC, or None while a class has no weight.

        The interval is that of `metrics.auc_interval`, with the bins as scores and effective
        numbers of rows, moved outwards by the error.

        Parameters
        ----------
        positive : int
            The code of the positive class.
        scorer : int
            0 or 1.
        confidence : float
            Coverage of the interval.
        """
        totals, order = self.totals, [1 - positive, positive]
        if totals.min() <= 0.0:
            return None
        weight = self.arrays["counts"][scorer]
        square = weight * (self.arrays["squares"] / totals)[:, None]  # same ratio in all bins
        return binned_auc(weight[order], square[order], True, confidence)

    def test(self, positive: int, confidence: float = 0.95) -> TallyTest | None:
        """Test whether two scorers have the same AUC; None while there are too few rows.

        Parameters
        ----------
        positive, confidence
            As for `auc`.
        """
        first, second = (self.auc(positive, scorer) for scorer in range(2))
        weight, k = self.arrays["gaps"][:, 0], self.rows
        if first is None or second is None or weight.min() <= 0.0 or k.min() < 1.5:
            return None
        mean, square = (self.arrays["gaps"][:, 1:] / weight[:, None]).T
        variance = float(np.sum(np.maximum(square - mean**2, 0.0) / (k - 1.0)))
        difference = second.auc - first.auc
        if variance <= 0.0:
            return TallyTest(difference, difference, difference, 1.0) if not difference else None
        error = np.sqrt(variance)
        reach = float(ndtri((1.0 + confidence) / 2) * error)
        p_value = 2.0 * float(ndtr(-abs(difference) / error))
        low, high = max(difference - reach, -1.0), min(difference + reach, 1.0)
        return TallyTest(difference, low, high, p_value)


@compiled
def _add(codes, bins, weights, rate, arrays):
    counts, groups, squares, gaps, clock = arrays
    scorers = counts.shape[0]
    for i in range(len(codes)):
        age = (clock[0] - clock[1]) * rate
        if age >= _SPAN:  # the next row becomes the reference row
            back = 2.0**-age
            counts *= back
            groups *= back
            gaps *= back
            squares *= back * back
            clock[1], age = clock[0], 0.0
        weight, k = weights[i] * 2.0**age, codes[i]
        if scorers == 2:
            other, share = 1 - k, 0.0
            total = groups[0, other].sum()
            if total > 0.0:
                for s in range(2):
                    b = bins[s, i]
                    group = b // _GROUP
                    below = 0.5 * counts[s, other, b]
                    for g in range(group):
                        below += groups[s, other, g]
                    for j in range(group * _GROUP, b):
                        below += counts[s, other, j]
                    share = below / total - share  # of the second minus that of the first
                gaps[k, 0] += weight
                gaps[k, 1] += weight * share
                gaps[k, 2] += weight * share * share
        for s in range(scorers):
            counts[s, k, bins[s, i]] += weight
            groups[s, k, bins[s, i] // _GROUP] += weight
        squares[k] += weight * weight
        clock[0] += 1
