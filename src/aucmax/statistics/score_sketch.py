"""Scores in fixed memory: counts of the rows of each class in bins of scores.

Float64 numbers have the same order as their bits read as integers, so every score has a position
among 2⁶⁴. A bin is 2ˢ consecutive positions. At first s is 0 and each distinct score has its own
bin; when there are too many bins, s increases by one and neighbours are joined. Joined bins are
the bins of the larger s, so the result depends only on the scores, not on their order or on
their division among sketches.

After some increases of s the ends of a bin have about the same ratio everywhere (2 % at s = 47, a
factor of 2 at s = 52), so no range needs to be known in advance, and units do not matter.
"""

from os import PathLike
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from aucmax.basics.archive import ArraySpec, pack_arrays, unpack_arrays
from aucmax.basics.checks import is_label, is_whole, number, sample_weights
from aucmax.basics.container import readable
from aucmax.metrics.binned import BinnedAUC, binned_auc
from aucmax.metrics.reading import codes_of, scores_of

__all__ = ["ScoreSketch"]

_KIND = "scores"
_MAX_EXACT_INTEGER = 2**53  # in float64


# the positions of −∞ and ∞ are the first and the last
_PLACE = ArraySpec(("bins",), np.int64, -0x7FF0000000000000, 0x7FF0000000000000)
_SPECS = {"low": _PLACE, "high": _PLACE, "sums": ArraySpec((2, 2, "bins"), low=0.0)}


class _Bins(NamedTuple):
    """Bins by ascending score: the positions of the lowest and the highest score in each, and sums.

    ``sums`` (2, 2, B) are the sums of the weights and of their squares, by class.
    """

    low: np.ndarray
    high: np.ndarray
    sums: np.ndarray


class ScoreSketch:
    """Scores of two classes in fixed memory, with their AUC, its interval and an error bound.

    Sketches of different rows add up to the sketch of all rows, in any order: bit for bit if
    weights are integers, otherwise up to rounding. Up to `bins` different scores are kept exactly.

    Parameters
    ----------
    pos_label : label, optional
        The positive label; all others are negative. By default the larger of two labels.
    bins : int, default=65536
        Maximum number of bins, of 48 bytes each.

    Attributes
    ----------
    labels : list
        The labels so far, the positive one last; with `pos_label`, False and True.

    See Also
    --------
    aucmax.metrics.auc_interval : The same from all scores.

    Notes
    -----
    docs/auc_intervals.md explains the bins and the error of the AUC.

    Examples
    --------
    >>> import numpy as np
    >>> from aucmax import ScoreSketch
    >>> rng = np.random.default_rng(0)
    >>> def shard():
    ...     y = rng.random(20_000) < 0.1
    ...     return ScoreSketch(bins=1000).update(y, rng.normal(size=20_000) + 2 * y)
    >>> area = sum(shard() for _ in range(3)).auc()
    >>> print("{:.4f} ({:.4f} to {:.4f})".format(*area[:3]))
    0.9201 (0.9154 to 0.9247)
    >>> print(f"binning moves it by {area.error:.4f} at most")
    binning moves it by 0.0012 at most
    """

    def __init__(self, pos_label: Any = None, bins: int = 2**16) -> None:
        number(bins, "bins", low=2, whole=True)
        self.pos_label, self.bins = pos_label, bins
        self.labels: list[Any] = [] if pos_label is None else [False, True]
        self._shift = 0
        none = np.zeros(0, dtype=np.int64)
        self._held = [_Bins(none, none, np.zeros((2, 2, 0)))]

    # ---- rows ----------------------------------------------------------------------------

    def update(
        self, y: ArrayLike, score: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Add rows in place and return self; an error changes nothing.

        Parameters
        ----------
        y : array-like, shape (n,)
            Labels, possibly of one class only.
        score : array-like, shape (n,)
            Scores; a higher one means "more likely positive". They may be infinite.
        sample_weight : array-like, shape (n,), optional
            Weights of the rows, zero or more; rows of weight zero are dropped.

        Raises
        ------
        ValueError
            If a label or a score is missing, there is a third label, or lengths differ.
        """
        distinct, codes = codes_of(y, "y")
        n = len(codes)
        scores = _floats(scores_of(score, "score", np.ones(n, dtype=bool)))
        weight = sample_weights(sample_weight, n)
        if self.pos_label is None:
            self._name(distinct.tolist())
            of_label = [self.labels.index(label) for label in distinct.tolist()]
        else:
            of_label = [int(label == self.pos_label) for label in distinct.tolist()]
        codes = np.array(of_label, dtype=np.intp)[codes]
        weight = np.ones(n) if weight is None else weight
        for first in range(0, n, self.bins):
            rows = slice(first, first + self.bins)
            self._take(_rows(scores[rows], codes[rows], weight[rows]))
        return self

    def __add__(self, other: Any) -> Self:
        """Return the sketch of both sets of rows together."""
        if not isinstance(other, ScoreSketch):
            return NotImplemented
        for name in ("pos_label", "bins"):
            mine, theirs = getattr(self, name), getattr(other, name)
            if mine != theirs:
                raise ValueError(f"sketches of {name}={mine!r} and {theirs!r} cannot be added.")
        out = type(self)(self.pos_label, self.bins)
        out._name([*self.labels, *other.labels])
        for one in (self, other):
            bins = one._settled()
            if len(one.labels) == 1 and one.labels != out.labels[:1]:
                bins = bins._replace(sums=bins.sums[:, ::-1])
            out._shift = max(out._shift, one._shift)
            out._held.append(bins)
        out._settled()
        return out

    def __radd__(self, other: Any) -> Self:
        """Let ``sum(shards)`` work, whose start is 0."""
        if isinstance(other, int) and other == 0:
            return self + type(self)(self.pos_label, self.bins)
        return NotImplemented

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ScoreSketch):
            return NotImplemented
        same = (self.pos_label, self.bins, self.labels) == (
            other.pos_label,
            other.bins,
            other.labels,
        )
        mine, theirs = self._settled(), other._settled()
        return same and self._shift == other._shift and all(map(np.array_equal, mine, theirs))

    __hash__ = None  # type: ignore[assignment]  # update() changes it in place

    # ---- results -------------------------------------------------------------------------

    @property
    def counts(self) -> np.ndarray:
        """The weight of the negatives and of the positives, shape (2,)."""
        return self._settled().sums[0].sum(axis=1)

    def auc(self, confidence: float = 0.95) -> BinnedAUC:
        """Return the area under the ROC curve, its interval, and a bound on its error.

        Parameters
        ----------
        confidence : float, default=0.95
            Coverage of the two-sided interval, above 0 and below 1.

        Returns
        -------
        BinnedAUC
            The named tuple ``(auc, low, high, std_error, error)``. The area of the scores
            themselves is within `error` of `auc`, up to rounding, for any scores. The
            interval is that of `metrics.auc_interval` for the bins, moved outwards by `error`.

        Raises
        ------
        ValueError
            If there are no rows of one class.
        """
        number(confidence, "confidence", high=1.0, open_low=True, open_high=True)
        low, high, sums = self._settled()
        if not sums[0].any(axis=1).all():
            raise ValueError(f"the AUC needs rows of two classes; so far there are {self!r}.")
        return binned_auc(sums[0], sums[1], low != high, confidence)

    def __repr__(self) -> str:
        counts = zip(self.labels, self.counts.tolist(), strict=False)
        return f"ScoreSketch({{{', '.join(f'{label}: {count:g}' for label, count in counts)}}})"

    # ---- files ---------------------------------------------------------------------------

    def save(self, path: str | PathLike[str]) -> None:
        """Write to a file that `load` reads: arrays and JSON protected by a digest, no code.

        Parameters
        ----------
        path : path
            An existing file is replaced once the new one is complete.
        """
        bins = self._settled()  # which sets the shift
        facts = {
            "pos_label": self.pos_label,
            "bins": self.bins,
            "labels": self.labels,
            "shift": self._shift,
        }
        pack_arrays(path, _KIND, facts, bins._asdict())

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Self:
        """Return the sketch in a file that `save` wrote.

        Parameters
        ----------
        path : path
            The file.

        Raises
        ------
        ModelFileError
            If the file is not one of this kind, is damaged, or comes from a newer version.
        """
        with readable(path, "sketch of scores"):
            facts, arrays = unpack_arrays(path, _KIND, lambda _: _SPECS)
            out = cls(facts["pos_label"], facts["bins"])
            out.labels, out._shift = facts["labels"], facts["shift"]
            out._held = [_Bins(**arrays)]
            out._check_state()
        return out

    def _check_state(self) -> None:
        """Raise ValueError unless this is the sketch of some rows."""
        (held,) = self._held
        labels = self.labels
        if not isinstance(labels, list) or not all(map(is_label, labels)) or len(labels) > 2:
            raise ValueError("its labels are not two numbers or words")
        if sorted(set(labels)) != labels:
            raise ValueError("its labels are not ascending")
        named = self.pos_label is not None
        if named and (not is_label(self.pos_label) or labels != [False, True]):
            raise ValueError("its labels are not False and True, as for a pos_label")
        if not is_whole(self._shift) or self._shift > 63:
            raise ValueError(f"its bins are 2 to the power of {self._shift!r} wide")
        if len(held.low) > self.bins:
            raise ValueError(f"it has {len(held.low)} bins, more than {self.bins}")
        low, high = held.low >> self._shift, held.high >> self._shift
        if np.any(held.low > held.high) or np.any(low != high) or np.any(low[1:] <= low[:-1]):
            raise ValueError("its bins are not ascending")
        weights, squares = held.sums
        if np.any(np.sqrt(squares) > 1.001 * weights + 1e-150):
            raise ValueError("its squared weights are larger than their sums allow")
        totals, of_squares = weights.sum(axis=1), squares.sum(axis=1)
        small = (totals > 0.0) & ((totals < 1e-150) | (of_squares <= 0.0))
        if small.any() or np.any(totals > 1e150):
            raise ValueError("its weights are too large or too small to compute with")
        if totals[len(labels) :].any():
            raise ValueError("it has rows of labels that it does not name")

    # ---- inside --------------------------------------------------------------------------

    def _name(self, new_labels: list[Any]) -> None:
        """Add labels, up to two in total."""
        try:
            labels = sorted({*self.labels, *new_labels})
        except TypeError:
            raise ValueError("labels must be all numbers, or all text.") from None
        if len(labels) > 2:
            raise ValueError(
                f"there are more than two labels: {labels}; name the positive one with pos_label."
            )
        if self.labels and labels[0] != self.labels[0]:  # the only one so far is the positive one
            bins = self._settled()
            self._held = [bins._replace(sums=bins.sums[:, ::-1].copy())]
        self.labels = labels

    def _take(self, bins: _Bins) -> None:
        """Add bins, and join them if there are many."""
        self._held.append(bins)
        if sum(len(held.low) for held in self._held[1:]) >= self.bins:
            self._settled()

    def _settled(self) -> _Bins:
        """Join all bins into one table of at most `bins` bins, and return it."""
        if len(self._held) > 1:
            whole = _Bins(
                *(np.concatenate(parts, axis=-1) for parts in zip(*self._held, strict=True))
            )
            order = np.argsort(whole.low, kind="stable")
            whole = _Bins(whole.low[order], whole.high[order], whole.sums[:, :, order])
            apart = whole.low[1:] ^ whole.low[:-1]
            while np.count_nonzero(apart >> self._shift) >= self.bins:
                self._shift += 1
            self._held = [_joined(whole, self._shift)]
        return self._held[0]


def _joined(bins: _Bins, shift: int) -> _Bins:
    """Join ascending bins whose positions differ only in the last ``shift`` bits."""
    place = bins.low >> shift
    starts = np.flatnonzero(np.concatenate(([True], place[1:] != place[:-1]))[: len(place)])
    if not len(starts):
        return bins
    return _Bins(
        bins.low[starts],
        np.maximum.reduceat(bins.high, starts),
        np.add.reduceat(bins.sums, starts, axis=-1),
    )


def _rows(scores: np.ndarray, codes: np.ndarray, weight: np.ndarray) -> _Bins:
    """Return a bin for each distinct score (n,) of rows with codes 0 or 1 and weights (n,)."""
    counted = weight > 0.0
    scores, codes, weight = scores[counted], codes[counted], weight[counted]
    place = _places(scores)
    order = np.argsort(place)
    place, codes, weight = place[order], codes[order], weight[order]
    sums = np.zeros((2, 2, len(place)))
    every = np.arange(len(place))
    sums[0, codes, every], sums[1, codes, every] = weight, weight**2
    return _joined(_Bins(place, place, sums), 0)


def _places(scores: np.ndarray) -> np.ndarray:
    """Return integers (n,) in the order of the scores, equal for −0 and 0."""
    bits = (scores + 0.0).view(np.int64)
    return np.where(bits < 0, np.iinfo(np.int64).min - bits, bits)


def _floats(scores: np.ndarray) -> np.ndarray:
    """Return scores as float64; raise ValueError if different scores could become equal."""
    out = scores.astype(np.float64)
    large = scores.dtype.kind in "iu" and np.any(np.abs(out) >= _MAX_EXACT_INTEGER)
    if large or (scores.dtype.itemsize > 8 and np.any(out != scores)):
        raise ValueError("score has numbers that float64 cannot represent; give ranks, or round.")
    return out
