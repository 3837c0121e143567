"""Scores in fixed memory: counts of the rows of each class in bins of scores."""

from copy import copy
from os import PathLike
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from aucmax.basics.archive import pack_arrays, unpack_arrays
from aucmax.basics.checks import is_label, number, sample_weights
from aucmax.basics.container import readable
from aucmax.metrics.binned import BinnedAUC
from aucmax.metrics.reading import codes_of, scores_of
from aucmax.statistics.score_bins import ScoreBins, bins_specs

__all__ = ["ScoreSketch"]

_KIND = "scores"
_MAX_BINS = 10**9  # 48 GB of memory
_MAX_EXACT_INTEGER = 2**53  # in float64


class ScoreSketch:
    """Scores of two classes in fixed memory, with their AUC, its interval and an error bound.

    Sketches of different rows add up to the sketch of all rows, in any order: bit for bit if
    weights are integers, otherwise up to rounding. Up to `bins` different scores are kept exactly.
    Old rows can count less, by `decay` or with a `half_life`. The result of `update` depends on
    the rows and their order, not on how they are divided into calls, bit for bit.

    Parameters
    ----------
    pos_label : label, optional
        The positive label; all others are negative. By default the larger of two labels.
    bins : int, default=65536
        Maximum number of bins, of 48 bytes each; from 2 to 10⁹.
    half_life : float, optional
        In rows, at least 1: each further row, whatever its weight, reduces the weight of earlier
        rows, so that row i of m has weight 2^(−(m−i)/half_life) times its own. By default rows keep
        their weights.

    Attributes
    ----------
    labels : list
        The labels so far, the positive label last; with `pos_label`, False and True.

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

    def __init__(
        self, pos_label: Any = None, bins: int = 2**16, half_life: float | None = None
    ) -> None:
        number(bins, "bins", low=2, high=_MAX_BINS, whole=True)
        self.pos_label, self.bins, self.half_life = pos_label, bins, half_life
        self.labels: list[Any] = [] if pos_label is None else [False, True]
        self._scores = ScoreBins(bins, half_life)

    # ---- rows ----------------------------------------------------------------------------

    def update(
        self, y: ArrayLike, score: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Add rows in place and return self; an error changes nothing.

        Parameters
        ----------
        y : array-like, shape (n,)
            Labels, possibly of only one class.
        score : array-like, shape (n,)
            Scores; a higher score means "more likely positive". They may be infinite.
        sample_weight : array-like, shape (n,), optional
            Weights of the rows, zero or more; rows of weight zero are dropped.

        Raises
        ------
        ValueError
            If a label or a score is missing, there is a third label, lengths differ, or all weights
            together are too large to compute with (1e150; 5e130 in a call with `half_life`).
        """
        distinct, codes = codes_of(y, "y")
        n = len(codes)
        scores = _floats(scores_of(score, "score", n))
        weight = sample_weights(sample_weight, n)
        if weight is not None:
            self._scores.check(weight)
        if self.pos_label is None:
            self._name(distinct.tolist())
            of_label = [self.labels.index(label) for label in distinct.tolist()]
        else:
            of_label = [int(label == self.pos_label) for label in distinct.tolist()]
        codes = np.array(of_label, dtype=np.int64)[codes]
        self._scores.add(codes, scores, np.ones(n) if weight is None else weight)
        return self

    def decay(self, gamma: float) -> Self:
        """Return a copy with all weights multiplied by gamma, so that later rows count more.

        Parameters
        ----------
        gamma : float
            In (0, 1]. Rows whose weight falls below 1e-150 are dropped.
        """
        number(gamma, "gamma", high=1.0, open_low=True)
        decayed = copy(self)
        decayed._scores = self._scores.decayed(float(gamma))
        return decayed

    def __add__(self, other: Any) -> Self:
        """Return the sketch of both sets of rows together."""
        if not isinstance(other, ScoreSketch):
            return NotImplemented
        for name in ("pos_label", "bins", "half_life"):
            mine, theirs = getattr(self, name), getattr(other, name)
            if mine != theirs:
                raise ValueError(f"sketches of {name}={mine!r} and {theirs!r} cannot be added.")
        total, addend = copy(self), copy(other)
        total._name(addend.labels)
        addend._name(total.labels)
        total._scores = total._scores.merged(addend._scores)
        return total

    def __radd__(self, other: Any) -> Self:
        """Support ``sum(shards)``, which starts with 0."""
        if isinstance(other, int) and other == 0:
            return self.decay(1.0)
        return NotImplemented

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ScoreSketch):
            return NotImplemented
        mine, theirs = (self.pos_label, self.labels), (other.pos_label, other.labels)
        return mine == theirs and self._scores == other._scores

    __hash__ = None  # type: ignore[assignment]  # update() changes it in place

    # ---- results -------------------------------------------------------------------------

    @property
    def counts(self) -> np.ndarray:
        """The weight of the negatives and of the positives, shape (2,)."""
        return self._scores.weights

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
            If a class has no rows.
        """
        number(confidence, "confidence", high=1.0, open_low=True, open_high=True)
        area = self._scores.auc(confidence=confidence)
        if area is None:
            raise ValueError(f"the AUC needs rows of two classes; so far there are {self!r}.")
        return area

    def __repr__(self) -> str:
        counts = zip(self.labels, self.counts.tolist(), strict=False)
        return f"ScoreSketch({{{', '.join(f'{label}: {count:g}' for label, count in counts)}}})"

    # ---- files ---------------------------------------------------------------------------

    def save(self, path: str | PathLike[str]) -> None:
        """Write a file for `load`: arrays and JSON protected by a digest, without code.

        Parameters
        ----------
        path : path
            An existing file is replaced once the new file is complete.
        """
        names = "pos_label", "bins", "half_life", "labels"
        facts = {name: getattr(self, name) for name in names}
        pack_arrays(path, _KIND, facts | self._scores.facts, self._scores.arrays)

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
            If the file is of another kind, is damaged, or comes from a newer version.
        """
        with readable(path, "sketch of scores"):
            facts, arrays = unpack_arrays(path, _KIND, lambda _: bins_specs())
            facts = {"half_life": None, "unit": 1.0} | facts  # files of version 0.1 lack these
            sketch = cls(facts["pos_label"], facts["bins"], facts["half_life"])
            sketch.labels = facts["labels"]
            sketch._scores.restore(facts, arrays)
            sketch._check_labels()
        return sketch

    def _check_labels(self) -> None:
        """Raise ValueError unless the labels match the rows."""
        labels = self.labels
        if not isinstance(labels, list) or not all(map(is_label, labels)) or len(labels) > 2:
            raise ValueError("its labels are not two numbers or words")
        if sorted(set(labels)) != labels:
            raise ValueError("its labels are not ascending")
        named = self.pos_label is not None
        if named and (not is_label(self.pos_label) or labels != [False, True]):
            raise ValueError("its labels are not False and True, as for a pos_label")
        if self.counts[len(labels) :].any():
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
        if self.labels and labels[0] != self.labels[0]:  # the only label so far is now positive
            self._scores = self._scores.exchanged()
        self.labels = labels


def _floats(scores: np.ndarray) -> np.ndarray:
    """Return scores as float64; raise ValueError if different scores could become equal."""
    floats = scores.astype(np.float64)
    large = scores.dtype.kind in "iu" and np.any(np.abs(floats) >= _MAX_EXACT_INTEGER)
    if large or (scores.dtype.itemsize > 8 and np.any(floats != scores)):
        raise ValueError("score has numbers that float64 cannot represent; give ranks, or round.")
    return floats
