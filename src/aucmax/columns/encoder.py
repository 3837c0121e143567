"""TableEncoder: any table as numbers, learnt in one part or in many."""

import copy
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from aucmax.basics.checks import number
from aucmax.columns.functions import Feature, as_read
from aucmax.columns.preparations import Entries, Filled, Levels, Rules
from aucmax.columns.steps import Places, Step
from aucmax.columns.summaries import TableSummary, cells
from aucmax.data.columns import Column, named, other_than_numbers
from aucmax.data.decisions import Decision

__all__ = ["TableEncoder", "as_csr"]

_MAX_SPARSE_SHARE = 0.3  # share of nonzero numbers below which a table with levels is sparse

_BLOCK_ROWS = 4096


class TableEncoder(TransformerMixin, BaseEstimator):
    """Prepare any table for a linear model: turn its words, gaps, dates and times into numbers.

    Each column is prepared according to its kind, and `decisions` says how:

    - In numbers, yes or no, dates and times, the median of the column replaces gaps; for yes and
      no, the more frequent one. With ``missing``, a 0/1 feature marks the gaps of columns that
      had some in the fit. A column that has only gaps is left out.
    - Words become levels, 0/1 features. In a column of up to 20 words, each word has a level. If
      there are more, the frequent words have one each, and all others share the level "other", also
      words that did not occur in the fit (without such a level, these are 0 everywhere). Gaps have
      a level if there are some in the fit, and are otherwise treated like such words. Words that
      mean missing in files, such as ``n/a``, are gaps.
    - A date becomes the days since 1970-01-01; also a level for each weekday, if there are
      more than 14 different days on several weekdays; and the time of day, if it varies:
      piecewise linear features, each of which is 1 at 0:00, 3:00, …, or 21:00 and 0 at the others.
      So midnight is near both ends of a day. A column of times within a day has these, too.

    Features are the numbers of all columns, then the markers of gaps, then the levels.

    Parameters
    ----------
    missing : bool
        Whether numbers may be missing, so that features mark gaps.
    min_level_rows : int
        In a column of more than 20 words, words with fewer rows get no level.
    max_levels : int
        In a column of more than 20 words, only this many, the most frequent, get a level.
    date_parts : bool
        Whether dates and times have features for the weekday and the time of day.

    Attributes
    ----------
    columns_ : tuple of Column
        The columns that are not numbers.
    preparations_ : list of Filled and Levels
        How each column becomes features.
    summary_ : TableSummary
        The summary of the rows so far, from which `partial_fit` continues. Model files lack it.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Examples
    --------
    >>> import pandas as pd
    >>> from aucmax.columns import TableEncoder
    >>> table = pd.DataFrame({"amount": [3.0, None, 5.0], "city": ["Bonn", "Ulm", "Bonn"]})
    >>> encoder = TableEncoder(missing=True)
    >>> print(encoder.fit_transform(table))
    [[3. 0. 1. 0.]
     [4. 1. 0. 1.]
     [5. 0. 1. 0.]]
    >>> print(*encoder.decisions(), sep="\\n")
    amount: 1 of 3 missing: filled with the median 4, and marked by a feature
    city: 2 words, a level each
    """

    def __init__(
        self,
        missing: bool = False,
        min_level_rows: int = 10,
        max_levels: int = 1000,
        date_parts: bool = True,
    ) -> None:
        self.missing = missing
        self.min_level_rows = min_level_rows
        self.max_levels = max_levels
        self.date_parts = date_parts

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn how to prepare a table.

        Parameters
        ----------
        X : data frame, shape (n, d)
            A pandas, Arrow or Polars table. None and NaN are gaps.
        y : ignored

        Returns
        -------
        TableEncoder
            The encoder itself.

        Raises
        ------
        ValueError
            If a column mixes words with other values, or contains infinity.
        """
        return self.fit_summary(TableSummary.of(X))

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Learn from more rows, as if all rows so far were one table; arguments as in `fit`.

        The result is exact, with up to 16,384 different numbers and 100,000 different words in a
        column. Beyond these, `TableSummary` says how exact medians and counts of words are.
        """
        goes_on = hasattr(self, "preparations_")
        if goes_on and not hasattr(self, "summary_"):
            raise ValueError(
                "an encoder from a file cannot learn more rows; fit it to all of them."
            )
        part = TableSummary.of(X)
        return self.fit_summary(self.summary_.merge(part) if goes_on else part)

    def fit_summary(self, summary: TableSummary) -> Self:
        """Learn from the summary of a table, which may be merged from parts on other machines."""
        rules = self._rules()
        self.summary_ = summary.bounded()
        self.columns_ = other_than_numbers(summary.columns)
        self.feature_names_in_ = np.array([c.name for c in summary.columns], dtype=object)
        self.n_features_in_ = len(summary.columns)
        self.preparations_ = [
            (Levels if column.is_text else Filled).of(column, contents, rules)  # type: ignore[arg-type]
            for column, contents in zip(summary.columns, summary.summaries, strict=True)
        ]
        return self

    def fit_transform(self, X: Any, y: Any = None, **_: Any) -> Any:
        """Learn from rows, and return them as numbers, dense or sparse."""
        columns = TableSummary.columns_of(X)
        values = [*cells(X, columns)]
        return self.fit_summary(TableSummary.of_cells(columns, values))._prepared(values)

    def transform(self, X: Any) -> Any:
        """Return rows as numbers, shape (n, number of features), dense or sparse.

        Parameters
        ----------
        X : data frame, or array of shape (n, d)
            With the columns of the fit: matched by name, or in the same order.
        """
        check_is_fitted(self)
        if not hasattr(X, "columns"):
            X = np.asarray(X, dtype=object)
            validate_data(self, X, reset=False, skip_check_array=True)
        return self._prepared([*cells(X, self._all_columns)])

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the names of the features."""
        check_is_fitted(self)
        pairs = zip(self.preparations_, self.feature_names_in_.tolist(), strict=True)
        return np.array(in_blocks(p.names(name) for p, name in pairs), dtype=object)

    def decisions(self) -> list[Decision]:
        """Return the decisions of the fit, one for each column that needed some."""
        check_is_fitted(self)
        texts = [(column.name, "; ".join(p.told(column))) for column, p in self.prepared_columns]
        return [Decision(name, text, {"drop": [name]}) for name, text in texts if text]

    def joined(self, counts: np.ndarray, rows: np.ndarray, fewest: float) -> tuple[Self, Any]:
        """Return the encoder without features that are 1 in few rows of a class.

        Such levels of words join "other", as do the least frequent of the remaining words, until
        "other" has enough rows. Such markers of gaps, and levels of weekdays, are left out.

        Parameters
        ----------
        counts : ndarray, shape (K, number of features)
            The sum of each feature over the rows of each class.
        rows : ndarray, shape (K,)
            The number of rows of each class.
        fewest : float
            Numbers of rows above 0 and below this are too few.

        Returns
        -------
        encoder : TableEncoder
        features : sparse matrix, shape (number of features, number of new features)
            The old features times this matrix are the new features.
        """
        widths, starts = _layout(self.preparations_)
        of_columns = []
        for preparation, first, count in zip(self.preparations_, starts.T, widths.T, strict=True):
            of_column = tuple(counts[:, i : i + k] for i, k in zip(first, count, strict=True))
            of_columns.append(preparation.joined(of_column, rows, fewest))
        encoder = copy.copy(self)
        encoder.preparations_ = [each.preparation for each in of_columns]
        new_widths, new_starts = _layout(encoder.preparations_)
        places = in_blocks(
            [[-1 if j < 0 else i + j for j in block] for i, block in pairs]
            for pairs in (
                zip(first, each.places, strict=True)
                for each, first in zip(of_columns, new_starts.T.tolist(), strict=True)
            )
        )
        old = np.flatnonzero(np.array(places) >= 0)
        shape = len(places), int(new_widths.sum())
        T = sp.csr_matrix((np.ones(len(old)), (old, np.array(places)[old])), shape)
        return encoder, T

    @property
    def prepared_columns(self) -> list[tuple[Column, Filled | Levels]]:
        """The columns of the fit, each with its preparation."""
        return [*zip(self._all_columns, self.preparations_, strict=True)]

    # ---- inside --------------------------------------------------------------------------

    @property
    def _all_columns(self) -> list[Column]:
        return [*named(self.feature_names_in_.tolist(), self.columns_)]

    def _rules(self) -> Rules:
        min_level_rows, max_levels = (
            int(number(getattr(self, name), name, low=1, whole=True))
            for name in ("min_level_rows", "max_levels")
        )
        return Rules(bool(self.missing), min_level_rows, max_levels, bool(self.date_parts))

    def _prepared(self, values: list[Any]) -> Any:
        """Return the features of rows, given by the cells of each column."""
        pairs = zip(self.preparations_, values, strict=True)
        blocks = [preparation.entries(own) for preparation, own in pairs]
        widths, starts = _layout(self.preparations_)
        entries = [
            Entries(start + entry.place, entry.value)
            for firsts, block in zip(starts, zip(*blocks, strict=True), strict=True)
            for start, features in zip(firsts, block, strict=True)
            for entry in features
        ]
        n, d = len(values[0]), int(widths.sum())
        has_levels = any(levels for *_, levels in blocks)
        make = as_csr if has_levels and len(entries) < _MAX_SPARSE_SHARE * d else _dense
        return make(entries, n, d)

    def check_state(self) -> None:
        """Raise ValueError unless a fit could have led to this state."""
        if not hasattr(self, "preparations_"):
            return
        self._rules()
        names, prepared = self.feature_names_in_, self.preparations_
        if not isinstance(self.columns_, tuple) or not all(
            isinstance(column, Column) for column in self.columns_
        ):
            raise ValueError("its columns are not columns")
        if not isinstance(names, np.ndarray) or not all(isinstance(n, str) for n in names.tolist()):
            raise ValueError("the names of its columns are not text")
        if not isinstance(prepared, list) or not len(prepared) == len(names) == self.n_features_in_:
            raise ValueError(f"it does not prepare its {self.n_features_in_} columns")
        for column, preparation in zip(self._all_columns, prepared, strict=True):
            if not isinstance(preparation, Levels if column.is_text else Filled):
                raise ValueError(f"its column {column.name!r} is prepared like another kind")

    def __getstate__(self) -> dict[str, Any]:
        """Return the state for a file, without the summary, which would reveal words of rows."""
        state = dict(super().__getstate__())
        state.pop("summary_", None)
        return state


def _layout(preparations: Sequence[Filled | Levels]) -> tuple[np.ndarray, np.ndarray]:
    """Return the width and the first place of each column's features in each block, (3, d) each."""
    widths = np.array([[*map(len, p.names(""))] for p in preparations]).T
    return widths, (np.cumsum(widths) - widths.ravel()).reshape(widths.shape)


def in_blocks(of_columns: Iterable[Sequence[Sequence[Any]]]) -> list[Any]:
    """Return the features of columns, which come in blocks, in table order: block by block."""
    blocks = zip(*of_columns, strict=True)
    return [feature for block in blocks for features in block for feature in features]


def _dense(entries: list[Entries], n: int, d: int) -> np.ndarray:
    """Return entries as an array (n, d)."""
    matrix = np.zeros((n, d))
    for rows in _blocks(n):
        block = matrix[rows]
        each = np.arange(len(block))
        for place, value in entries:
            if np.ndim(place):
                block[each, place[rows]] = value[rows]
            else:
                block[:, place] = value[rows]
    return matrix


def as_csr(entries: list[Entries], n: int, d: int) -> sp.csr_matrix:
    """Return entries as a CSR matrix (n, d)."""
    ends = np.zeros(n + 1, dtype=np.int64)
    np.cumsum(sum((value != 0).astype(np.int32) for _, value in entries), out=ends[1:])
    data, indices = np.empty(ends[-1]), np.empty(ends[-1], dtype=np.int32)
    for rows in _blocks(n):
        size = rows.stop - rows.start
        places = np.empty((size, len(entries)), dtype=np.int32)
        values = np.empty((size, len(entries)))
        for k, (place, value) in enumerate(entries):
            places[:, k] = place[rows] if np.ndim(place) else place
            values[:, k] = value[rows]
        nonzero = values != 0.0
        stored = slice(ends[rows.start], ends[rows.stop])
        data[stored], indices[stored] = values[nonzero], places[nonzero]
    matrix = sp.csr_matrix((data, indices, ends), shape=(n, d))
    matrix.sort_indices()  # those of the time of day are not
    return matrix


def _blocks(n: int) -> Iterator[slice]:
    """Yield blocks of rows whose entries fit into a processor's cache."""
    for first in range(0, n, _BLOCK_ROWS):
        yield slice(first, min(first + _BLOCK_ROWS, n))


class _TableEncoder(Step, of=[TableEncoder]):
    file_types = (TableEncoder, Filled, Levels)
    results = ("columns_", "preparations_", "feature_names_in_", "n_features_in_")
    encodes = True
    takes_tables = True

    def columns(self, columns: Places) -> Places:
        pairs = zip(self.fitted.preparations_, columns.tolist(), strict=True)
        numbers = in_blocks([[j] * len(b) for b in p.names("")] for p, j in pairs)
        return np.array(numbers, dtype=np.intp)

    def features(self, features: list[Feature]) -> list[Feature]:
        return in_blocks(
            [
                [replace(feature, function=function) for function in block]
                for block in p.functions(as_read(feature.function))
            ]
            for p, feature in zip(self.fitted.preparations_, features, strict=True)
        )

    def cycles(self) -> list[str]:
        return in_blocks(p.cycles() for p in self.fitted.preparations_)

    def taken(self, columns: Sequence[Column]) -> Iterator[Column]:
        encoder = self.fitted
        for column, own in zip(columns, encoder._all_columns, strict=True):
            yield replace(own, name=column.name, gaps=encoder.missing or own.is_text)
