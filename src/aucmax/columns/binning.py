"""Binning: each column divided into a few bins, and the log odds of each bin."""

from __future__ import annotations

import numbers
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    assert_all_finite,
    check_consistent_length,
    check_is_fitted,
    column_or_1d,
    validate_data,
)

from aucmax.basics.checks import number, refuse_collections, refuse_odd_labels, weights_in_rows
from aucmax.basics.quantiles import quantiles
from aucmax.columns.divisions import blocks, divide, likelihood
from aucmax.columns.functions import Feature, Pieces, Words
from aucmax.columns.steps import OneToOne
from aucmax.data.classes import two_classes
from aucmax.data.columns import (
    Column,
    column_of,
    declared_in,
    in_days,
    is_gap,
    is_no_word,
    values_in,
)
from aucmax.metrics import population_stability

__all__ = ["Binning", "Bins", "TakesTables"]

_COST_OF_A_BIN = 1.0  # Akaike's criterion
_MAX_CELLS = 256  # most cells of a column, between which bins may end
_TRENDS = {"auto": (1, -1), "increasing": (1,), "decreasing": (-1,), None: (0,)}
_ROUNDING = 1e-9  # tolerance for a share of the weight
_METHODS = ("best", "quantile")


@dataclass(frozen=True)
class Bins:
    """The bins of one column: k bins of values, then the bin of gaps.

    Parameters
    ----------
    column : Column
        The column.
    edges : ndarray, shape (k − 1,), or None
        The lower ends of all bins of numbers but the first; None for words.
    words : dict
        The bin of each word.
    other : int
        The bin of unknown words, −1 if there is none.
    counts : ndarray, shape (k + 1, 2)
        The negatives and the positives in each bin: numbers of rows, or their weights, scaled so
        that they sum to the effective number of rows, (Σ w)² / Σ w².
    """

    column: Column
    edges: NDArray[np.float64] | None
    words: dict[str, int]
    other: int
    counts: NDArray[np.float64]

    @property
    def name(self) -> str:
        """The name of the column."""
        return self.column.name

    @property
    def woe(self) -> NDArray[np.float64]:
        """The log odds of positives in each bin minus those in all rows, shape (k + 1,).

        A bin without rows has 0; a bin with rows of only one class gets half a row of each class.
        """
        occupied = np.asarray(self.counts.any(axis=1))
        half = occupied & (self.counts == 0).any(axis=1)
        filled = self.counts + 0.5 * half[:, None]
        shares = filled / self.counts.sum(axis=0)
        woe = np.zeros(len(self.counts))
        woe[occupied] = np.log(shares[occupied, 1] / shares[occupied, 0])
        return woe

    @property
    def information(self) -> float:
        """The information value: Σ (share of the positives − share of the negatives) · WoE."""
        shares = self.counts / self.counts.sum(axis=0)
        return float((shares[:, 1] - shares[:, 0]) @ self.woe)

    @property
    def labels(self) -> list[str]:
        """The names of the bins, with the bin of gaps last."""
        if self.edges is not None:
            return [*self.column.intervals(self.edges.tolist()), "missing"]
        names: list[list[str]] = [[] for _ in self.counts]
        for word, k in self.words.items():
            names[k].append(word)
        if self.other >= 0:
            names[self.other].append("others")
        return [*(", ".join(words) for words in names[:-1]), "missing"]

    def names_of(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return the name of the bin of each value; a word in no bin is unchanged."""
        codes = self.codes(values)
        return np.where(codes < 0, values, np.array([*self.labels, ""], dtype=object)[codes])

    @property
    def function(self) -> Pieces | Words:
        """Return the weight of evidence as a function of the column."""
        *woe, of_gaps = self.woe.tolist()
        if self.edges is not None:
            return Pieces.steps(self.edges, woe, of_gaps)
        values = {word: woe[k] for word, k in self.words.items()} | {None: of_gaps}
        return Words(values, woe[self.other] if self.other >= 0 else 0.0, gap_words=True)

    def codes(self, values: NDArray[Any]) -> NDArray[np.intp]:
        """Return the bin of each value; −1 for a word in no bin."""
        gaps = len(self.counts) - 1
        if self.edges is None:
            words = _as_words(values, self.name)
            places = (gaps if word is None else self.words.get(word, self.other) for word in words)
            return np.fromiter(places, dtype=np.intp, count=len(values))
        numbers = _as_numbers(values, self.name)
        codes = np.searchsorted(self.edges, numbers, side="right")
        codes[np.isnan(numbers)] = gaps
        return codes


class TakesTables:
    """An estimator whose rows may be words or sparse, with gaps."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.target_tags.required = True
        tags.input_tags.allow_nan = tags.input_tags.sparse = tags.input_tags.string = True
        return tags


class Binning(TakesTables, TransformerMixin, BaseEstimator):
    """Divide each column into a few bins, and replace values by their bin's weight of evidence.

    That is the log odds of positives among the rows of the bin minus those among all rows: 0
    if a bin is not informative, higher if positives are frequent. Gaps have a separate bin, and
    a column of words, where ``n/a`` and the like are gaps, is divided into bins of words with
    similar rates. Gaps or words that did not occur in training get 0.

    Weights of rows have no unit: multiplying all of them by a constant does not change the bins.
    Counts, as for the cost of a bin or half a row, are in effective rows, (Σ w)² / Σ w² in all;
    rows of weight 0 are ignored.

    Parameters
    ----------
    method : {"best", "quantile"}
        "best" groups up to 256 cells of a column, with about equal counts, into the bins with the
        highest log-likelihood minus 1 per bin (Akaike's criterion); it finds the optimum, unlike a
        greedy decision tree. "quantile" makes ``max_bins`` bins with about equal numbers of rows.
    max_bins : int
        Maximum number of bins of a column, apart from the bin of gaps.
    min_share : float
        Minimum share of the rows in a bin of "best"; rarer words are combined.
    monotone : {"auto", "increasing", "decreasing", None}, or mapping of column to one of them
        Whether the rates of positives must increase or decrease from bin to bin, for numbers;
        "auto" takes the direction that fits better, also for columns that a mapping omits.
    positive : label, optional
        The positive label; by default the larger of the two.

    Attributes
    ----------
    bins_ : list of Bins
        The bins of each column.
    classes_ : ndarray, shape (2,)
        The negative and the positive label.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Examples
    --------
    >>> import numpy as np
    >>> from aucmax.additive import Binning
    >>> x = np.repeat([20.0, 30.0, 40.0, np.nan], 50)[:, None]
    >>> y = np.tile([1, 0, 0, 0, 0], 40) | (x[:, 0] < 25)
    >>> binning = Binning().fit(x, y)
    >>> print(binning.bins_[0].labels)
    ['< 30', '≥ 30', 'missing']
    """

    def __init__(
        self,
        method: str = "best",
        *,
        max_bins: int = 12,
        min_share: float = 0.05,
        monotone: Any = "auto",
        positive: Any = None,
    ) -> None:
        self.method = method
        self.max_bins = max_bins
        self.min_share = min_share
        self.monotone = monotone
        self.positive = positive

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Find the bins of each column.

        Parameters
        ----------
        X : data frame, array or sparse matrix, shape (n, d)
            Numbers, or words; None and NaN are gaps.
        y : array-like, shape (n,)
            Labels of two classes.
        sample_weight : array-like, shape (n,), optional
            Weights of the rows, in any unit.

        Returns
        -------
        Binning
            The transformer itself.
        """
        self._check_settings()
        declared = declared_in(X)
        X = self._given(X, reset=True)
        if isinstance(self.monotone, Mapping):
            names = {name for name, _ in self._columns(X)}
            for name in self.monotone:
                if name not in names:
                    raise ValueError(f"monotone names {name!r}, which is not a column.")
        if y is None:
            raise ValueError("Binning requires y to be passed, but the target y is None.")
        refuse_odd_labels(y)
        y = column_or_1d(y, warn=True)
        assert_all_finite(y, input_name="y")
        check_consistent_length(X, y)
        check_classification_targets(y)
        self.classes_ = two_classes(np.unique(y), self.positive)
        weight = weights_in_rows(sample_weight, len(y))
        is_positive = y == self.classes_[1]
        for label, rows in zip(self.classes_.tolist(), (~is_positive, is_positive), strict=True):
            if not weight[rows].any():
                raise ValueError(f"sample_weight is zero for every row of class {label!r}.")
        counted = _with_weight(weight)
        is_positive, weight = is_positive[counted], weight[counted]
        self.bins_ = []
        for name, values in self._columns(X):
            column = declared.get(name) or column_of(name, values[counted])
            self.bins_.append(self._bins(column, values[counted], is_positive, weight))
        return self

    def transform(self, X: Any) -> NDArray[np.float64]:
        """Return the weight of evidence of each value, shape (n, d)."""
        woes = [bins.woe for bins in self._fitted_bins()]
        evidence = np.empty((0, len(woes)))
        for j, codes in enumerate(self.codes(X)):
            if not j:
                evidence = np.empty((len(codes), len(woes)))
            evidence[:, j] = np.append(woes[j], 0.0)[codes]  # code −1, a word in no bin, gets 0
        return evidence

    def codes(self, X: Any) -> Iterator[NDArray[np.intp]]:
        """Yield the bins of each column's values.

        Parameters
        ----------
        X : data frame, array or sparse matrix, shape (n, d)
            As in `fit`.

        Yields
        ------
        ndarray, shape (n,)
            The positions of bins: the bin of gaps is the last, −1 means a word in no bin.
        """
        bins = self._fitted_bins()
        X = self._given(X, reset=False)
        for (_, values), column in zip(self._columns(X), bins, strict=True):
            yield column.codes(values)

    def stability(self, X: Any, sample_weight: Any = None) -> dict[str, float]:
        """Return how far the distribution of each column has shifted since the fit.

        Parameters
        ----------
        X : data frame, array or sparse matrix, shape (n, d)
            As in `fit`; labels are not needed.
        sample_weight : array-like, shape (n,), optional
            Weights of the rows, in any unit; rows of weight 0 are ignored.

        Returns
        -------
        dict of str to float
            The population stability index of each column, over its bins.
        """
        bins, X = self._fitted_bins(), self._given(X, reset=False)
        moved = {}
        for (_, values), column in zip(self._columns(X), bins, strict=True):
            weight = weights_in_rows(sample_weight, len(values))
            counted = _with_weight(weight)
            # words in no bin form a further bin, without rows in the fit
            k = len(column.counts) + 1
            now = np.bincount(column.codes(values[counted]) % k, weight[counted], k)
            moved[column.name] = population_stability([*column.counts.sum(axis=1), 0.0], now)
        return moved

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Return the names of the features, which are the names of the columns."""
        return np.array([bins.name for bins in self._fitted_bins()], dtype=object)

    # ---- inside --------------------------------------------------------------------------

    def _fitted_bins(self) -> list[Bins]:
        check_is_fitted(self)
        return self.bins_

    def _given(self, X: Any, reset: bool) -> Any:
        """Check rows: a frame, whose columns are matched by name, or an array."""
        refuse_collections(X)
        if hasattr(X, "columns"):
            if reset:
                validate_data(self, X, reset=True, skip_check_array=True)
            if hasattr(self, "feature_names_in_"):  # scikit-learn keeps only names that are text
                return X
        elif isinstance(X, (list, tuple)):  # as objects, numbers beside words remain numbers
            X = np.array(X, dtype=object)
        return validate_data(
            self, X, reset=reset, dtype=None, accept_sparse="csc", ensure_all_finite=False
        )

    def _check_settings(self) -> None:
        if self.method not in _METHODS:
            raise ValueError(f"method={self.method!r} must be one of {', '.join(_METHODS)}.")
        if not isinstance(self.max_bins, (int, np.integer)) or self.max_bins < 2:
            raise ValueError(f"max_bins={self.max_bins!r} must be a whole number, 2 or more.")
        number(self.min_share, "min_share", high=0.5)
        trends = self.monotone.values() if isinstance(self.monotone, Mapping) else [self.monotone]
        for trend in trends:
            if not isinstance(trend, (str, type(None))) or trend not in _TRENDS:
                raise ValueError(
                    f"monotone={trend!r} must be 'auto', 'increasing', 'decreasing' or None."
                )

    def check_state(self) -> None:
        """Raise ValueError unless a fit could have led to these bins."""
        if not hasattr(self, "bins_"):
            return
        if not isinstance(self.bins_, list) or len(self.bins_) != self.n_features_in_:
            raise ValueError("its bins are not those of its columns")
        classes = getattr(self, "classes_", None)
        if not isinstance(classes, np.ndarray) or len(np.unique(classes)) != 2 or classes.ndim != 1:
            raise ValueError("its classes are not two labels")
        for bins in self.bins_:
            counts, edges = np.asarray(bins.counts), bins.edges
            for values in (counts, np.empty(0) if edges is None else edges):
                if not isinstance(values, np.ndarray) or values.dtype != np.float64:
                    raise ValueError("its bins are not numbers")
            if counts.ndim != 2 or counts.shape[1] != 2 or not np.isfinite(counts).all():
                raise ValueError("its counts of bins are not finite pairs")
            if (counts < 0).any() or not counts.any(axis=0).all():
                raise ValueError("its bins have counts of only one class")
            k = len(counts) - 1
            if edges is not None and (np.shape(edges) != (k - 1,) or (np.diff(edges) <= 0).any()):
                raise ValueError("its bins are not ascending")
            places = [*bins.words.values(), bins.other]
            if not all(isinstance(word, str) for word in bins.words):
                raise ValueError("its words are not text")
            if not all(type(place) is int and -1 <= place < k for place in places):
                raise ValueError("its words are in bins that do not exist")

    def _columns(self, X: Any) -> Iterator[tuple[str, NDArray[Any]]]:
        """Yield the names and values of the columns, in the order of the fit."""
        places = [f"x{j}" for j in range(self.n_features_in_)]
        names = list(map(str, getattr(self, "feature_names_in_", places)))
        yield from zip(names, values_in(X, names), strict=True)

    def _bins(
        self,
        column: Column,
        values: NDArray[Any],
        is_positive: NDArray[np.bool_],
        weight: NDArray[Any],
    ) -> Bins:
        name = column.name
        if column.is_text:
            return self._of_words(column, _as_words(values, name), is_positive, weight)
        numbers = _as_numbers(values, name)
        max_cells = self.max_bins if self.method == "quantile" else _MAX_CELLS
        edges = _edges(numbers, weight, max_cells)
        cells = len(edges) + 2  # including that of gaps
        fine = Bins(column, edges, {}, -1, np.zeros((cells, 2)))
        counts = _counts(fine.codes(numbers), cells, is_positive, weight)
        ends = self._divided(name, counts[:-1], counts.sum())
        coarse = np.vstack([_sums(counts[:-1], ends), counts[-1]])
        return Bins(column, edges[ends[:-1] - 1], {}, -1, coarse)

    def _divided(self, name: str, counts: NDArray[np.float64], n: float) -> NDArray[np.intp]:
        """Return the cells after which the bins of a column of numbers end."""
        occupied = np.flatnonzero(counts.any(axis=1))
        if not len(occupied):
            return np.array([len(counts)])
        full = counts[occupied]  # an empty cell joins the one before it
        trend = self.monotone
        trends = _TRENDS[trend.get(name, "auto") if isinstance(trend, Mapping) else trend]
        if self.method == "best":
            ends, _ = divide(full, self.max_bins, self.min_share * n, _COST_OF_A_BIN, trends)
        else:
            ends = _pooled(full, trends)
        return np.append(occupied, len(counts))[ends]

    def _of_words(
        self,
        column: Column,
        words: list[str | None],
        is_positive: NDArray[np.bool_],
        weight: NDArray[Any],
    ) -> Bins:
        """Return the bins of a column of words: neighbours in the order of their rates."""
        names = sorted({word for word in words if word is not None})
        place = {word: j for j, word in enumerate(names)} | {None: len(names)}
        codes = np.array([place[word] for word in words], dtype=np.intp)
        counts = _counts(codes, len(names) + 1, is_positive, weight)
        if not names:
            return Bins(column, None, {}, 0, np.vstack([np.zeros(2), counts]))
        n = counts.sum()
        rare = counts[:-1].sum(axis=1) < self.min_share * n * (1 - _ROUNDING)
        # the rare words form one cell, the last
        cells = [[j] for j in np.flatnonzero(~rare)] + [[*np.flatnonzero(rare)]] * bool(rare.any())
        sums = np.array([counts[cell].sum(axis=0) for cell in cells])
        order = np.argsort(sums[:, 1] / sums.sum(axis=1), kind="stable")
        sums_by_rate = sums[order]
        ends = _of_equal_rates(sums_by_rate)
        if self.method == "best":
            ends = ends[_about_equal(_sums(sums_by_rate, ends)) - 1]
            best, _ = divide(_sums(sums_by_rate, ends), self.max_bins, 0.0, _COST_OF_A_BIN)
            ends = ends[best - 1]
        bin_of = np.empty(len(cells), dtype=int)
        bin_of[order] = np.searchsorted(ends, np.arange(len(cells)), side="right")
        coarse = np.zeros((len(ends) + 1, 2))
        np.add.at(coarse, bin_of, sums)
        coarse[-1] = counts[-1]
        named = {
            names[j]: int(bin_of[c]) for c, cell in enumerate(cells) for j in cell if not rare[j]
        }
        return Bins(column, None, named, int(bin_of[-1]) if rare.any() else -1, coarse)


def _counts(
    codes: NDArray[np.intp], k: int, is_positive: NDArray[np.bool_], weight: NDArray[Any]
) -> NDArray[np.float64]:
    """Return the weights of the negatives and the positives in each of k bins, shape (k, 2)."""
    return np.column_stack(
        [np.bincount(codes[rows], weight[rows], k) for rows in (~is_positive, is_positive)]
    )


def _pooled(counts: NDArray[np.float64], trends: Sequence[int]) -> NDArray[np.intp]:
    """Return the cells after which the bins end, for the most likely of these trends."""
    if 0 in trends:
        return np.arange(len(counts)) + 1
    divisions = [blocks(counts, increasing=trend > 0) for trend in trends]
    return max(divisions, key=lambda ends: likelihood(_sums(counts, ends)).sum())


def _sums(counts: NDArray[np.float64], ends: NDArray[np.intp]) -> NDArray[np.float64]:
    """Return the counts of bins that end after these cells."""
    return np.add.reduceat(counts, np.append(0, ends[:-1]), axis=0)


def _of_equal_rates(counts: NDArray[np.float64]) -> NDArray[np.intp]:
    """Return the cells, which are sorted by rate, after which a higher rate begins."""
    rates = counts[:, 1] / counts.sum(axis=1)
    return np.append(np.flatnonzero(np.diff(rates)) + 1, len(counts))


def _about_equal(counts: NDArray[np.float64]) -> NDArray[np.intp]:
    """Return the cells after which bins of about equal counts end, at most `_MAX_CELLS`."""
    if len(counts) <= _MAX_CELLS:
        return np.arange(len(counts)) + 1
    passed = np.cumsum(counts.sum(axis=1))
    shares = np.arange(1, _MAX_CELLS + 1) / _MAX_CELLS - _ROUNDING
    return np.unique(np.searchsorted(passed, shares * passed[-1])) + 1


def _with_weight(weight: NDArray[Any]) -> Any:
    """Return the rows whose weight is not 0."""
    return slice(None) if weight.all() else np.flatnonzero(weight)


def _edges(numbers: NDArray[np.float64], weight: NDArray[Any], cells: int) -> NDArray[np.float64]:
    """Return values that divide a column into at most this many cells of about equal weight."""
    filled = ~np.isnan(numbers)
    different = np.unique(numbers[filled])
    if len(different) <= cells:
        return different[1:]
    edges = np.unique(quantiles(numbers[filled], weight[filled], np.arange(1, cells) / cells))
    return edges[edges > different[0]]


def _as_words(values: Any, name: str) -> list[str | None]:
    """Return words, with None for gaps, including words such as ``n/a``."""
    words = [value if isinstance(value, str) else None for value in values]
    distinct = set(words)
    if None in distinct:
        odd_values = (value for value in values if not isinstance(value, str) and not is_gap(value))
        odd = next(odd_values, None)
        if odd is not None:
            raise ValueError(
                f"column {name!r} holds words, but also {_described(odd)}; make all of them text."
            )
    gaps = {word for word in distinct if word is not None and is_no_word(word)}
    return [None if word in gaps else word for word in words] if gaps else words


def _described(value: Any) -> str:
    return f"{value!r} ({type(value).__name__})"


def _as_numbers(values: NDArray[Any], name: str) -> NDArray[np.float64]:
    """Return numbers, with dates as days since 1970-01-01, and NaN for gaps."""
    values = in_days(values)
    if values.dtype.kind == "O":
        values = np.where([is_gap(value) for value in values], np.nan, values)
    try:
        floats = values.astype(
            np.float64, casting="same_kind" if values.dtype.kind == "c" else "unsafe"
        )
    except (TypeError, ValueError):
        odd = next(value for value in values if not isinstance(value, numbers.Real))
        if isinstance(odd, str):
            problem = "words, but training had numbers there."
        else:
            problem = f"{_described(odd)}; give numbers, words or datetime64."
        raise ValueError(f"column {name!r} holds {problem}") from None
    if np.isinf(floats).any():
        raise ValueError(f"column {name!r} holds infinity.")
    return floats


class _Binning(OneToOne, of=[Binning]):
    file_types = (Binning, Bins)
    results = ("bins_", "n_features_in_")
    encodes = True
    takes_tables = True
    renames = True

    def features(self, features: list[Feature]) -> list[Feature]:
        functions = [bins.function for bins in self.fitted.bins_]
        return [
            feature.then(woe) if isinstance(woe, Pieces) else Feature(feature.column, woe)
            for feature, woe in zip(features, functions, strict=True)
        ]

    def taken(self, columns: Sequence[Column]) -> Iterator[Column]:
        for column, bins in zip(columns, self.fitted.bins_, strict=True):
            yield replace(bins.column, name=column.name, gaps=True)

    def told(self, j: int, values: NDArray[Any]) -> NDArray[Any]:
        return np.asarray(self.fitted.bins_[j].names_of(values))
