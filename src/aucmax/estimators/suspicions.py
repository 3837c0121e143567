"""What a colleague would ask about a table: columns that leak the label, ids, groups, copies.

Each suspicion has the figure behind it and the arguments of `datasets.read` that answer it.
docs/suspicions.md gives the thresholds and their reasons.
"""

from __future__ import annotations

import copy
import functools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.special import chdtrc
from sklearn.utils import _safe_indexing

from aucmax.basics.needs import needs
from aucmax.basics.visible import counted
from aucmax.columns.summaries import NumberSummary, TableSummary, WordSummary
from aucmax.data.codes import ID_DOUBT, doubt, names_codes
from aucmax.data.columns import (
    Column,
    Date,
    Words,
    columns_in,
    date_of,
    is_no_word,
    named,
    names_in,
    values_at,
)
from aucmax.data.dates import day_number, forms_of
from aucmax.data.digests import RowDigests, copies_in
from aucmax.data.labelled import Labelled
from aucmax.data.rows.passes import PassCounts
from aucmax.estimators.sampled import sample_of_classes
from aucmax.metrics import auc_interval
from aucmax.metrics.levels import area_of

__all__ = [
    "KINDS",
    "Suspicion",
    "auc_alone",
    "dividing",
    "few_of_a_class",
    "suspicions_of",
    "suspicions_of_sample",
    "suspicions_of_test",
    "with_divisions",
]

# the gravest first
KINDS = (
    "ranks_alone", "missing_ranks_alone", "training_rows", "groups", "placeholder", "copies",
    "time", "id", "few_rows", "other_labels",
)  # fmt: skip
_KINDS_IN_PARTS = ("ranks_alone", "missing_ranks_alone", "placeholder", "copies", "id")

_AUC = 0.99  # of a column alone, from which it is suspect
_AUC_OF_TWO_VALUES = 0.95  # the same for two values, such as filled and missing
_LOW_AUC = 0.85  # which the interval must exclude
_CLOSE_AUC = 0.92  # on a sample of rows, from which a column is measured on all rows
_SAMPLE_ROWS = 2000
_PARTS_ROWS = 20_000  # rows to look at, of a file in parts
_FOLDS = 5  # in each of which words are ranked by their rates in the others
_MIN_CLASS_ROWS = 10
_MIN_GROUPS = 30
_MIN_SHARE_GROUPED = 0.5  # share of the rows that have their value in common with others
_MOST_OF_MEAN = 6.0  # rows of the most frequent value, relative to the mean
_MAX_UNDATED = 0.1  # share of rows without a date
_FEW_GROUP_ROWS = 20  # on average
_MIN_ICC, _MIN_ICC_OF_LARGE = 0.1, 0.5  # intraclass correlation
_MIN_STANDARD_ERRORS = 6.0
_ORDERED = 0.99  # rank correlation with the order of the rows
_MIN_ORDERED = 50  # distinct values
_MIN_DAYS = 20  # of dates
_PARTS = 5  # of the rows in order of time
_DATED_ROWS = 20_000  # cells of a column of words to read as dates
_MIN_DRIFT, _MAX_DRIFT_P = 0.25, 1e-4
_MIN_COPIES, _MIN_SHARE_COPIED = 10, 0.002
_MIN_SHARE_SEEN = 0.005
_MIN_PLACEHOLDERS, _MIN_OTHER_VALUES = 5, 10
_SHOWN_LABELS = 4
_MOSTLY = 0.9
# names of columns with ids that several rows may share
_OWNER = re.compile(
    "customer|client|user|member|patient|person|account|policy|card|household|device|kunde|konto",
    re.IGNORECASE,
)
_MOST_WORDS_OF_NAME = 4
_ID_WORD = re.compile(r"(?=.*[0-9])(?=.*[A-Za-z])[\w.-]+")  # an id: a word with both
_FRACTION = re.compile(r"[+-]?[0-9]*[.,][0-9]+")  # an amount in a column read as text
_BIRTH = re.compile(
    r"birth|dob\b|_dob|born|geb(?:urt|oren|\b)|naissance|nacimiento|nasci", re.IGNORECASE
)
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True)
class Suspicion:
    """A reason to look at the data first.

    Parameters
    ----------
    kind : str
        One of `KINDS`.
    column : str
        The name of the column; "" for the rows or their labels.
    figure : float
        The evidence: an AUC, a share or a correlation, as the sentence says.
    sentence : str
        What is suspect and what to do, with arguments as written in Python.
    answer : dict
        The arguments of `datasets.read` that answer it; empty if none does.
    """

    kind: str
    column: str
    figure: float
    sentence: str
    answer: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class _Values:
    """A column with its values: numbers with NaN for gaps, or words."""

    column: Column
    values: NDArray[Any]
    position: int
    summary: NumberSummary | WordSummary | None = None  # of all rows, if the values are a sample

    @property
    def name(self) -> str:
        """The name of the column in sentences."""
        name = self.column.name
        return f"column {name!r}" if name else f"feature {self.position + 1:,}"

    @property
    def answer(self) -> dict[str, Any]:
        """The arguments that leave the column out."""
        return {"drop": [self.column.name]} if self.column.name else {}

    @property
    def remedy(self) -> str:
        """The same as the end of a sentence."""
        argument = f" (drop={self.answer['drop']!r})" if self.answer else ""
        return f"leave it out{argument}"

    def suspicion(
        self, kind: str, figure: float, reason: str, answer: dict[str, Any] | None = None
    ) -> Suspicion:
        """Return a suspicion about the column; by default the answer is to leave it out."""
        return Suspicion(
            kind=kind,
            column=self.column.name,
            figure=figure,
            sentence=f"{self.name} {reason}",
            answer=self.answer if answer is None else answer,
        )

    @functools.cached_property
    def codes(self) -> NDArray[np.int64]:
        """The code of each value, shape (n,): 0, 1, … (numbers in ascending order), -1 for gaps."""
        if not self.column.is_text:
            _, codes = np.unique(self.values, return_inverse=True)
            return np.where(np.isnan(self.values), -1, codes)
        codes, words = needs("pandas", "a table with text").factorize(self.values)
        gaps = np.array([is_no_word(word) for word in words], bool)
        return np.where(np.append(gaps, True)[codes], -1, codes)

    @functools.cached_property
    def missing(self) -> Bools:
        """Which rows have no value."""
        return self.codes < 0 if self.column.is_text else np.isnan(self.values)

    @property
    def sizes(self) -> NDArray[np.int64] | None:
        """The number of rows with each value, among all rows; None if unknown."""
        if self.summary is not None:
            return self.summary.sizes
        sizes = np.bincount(self.codes[self.codes >= 0])
        return sizes[sizes > 0]

    @property
    def rows(self) -> int:
        """The number of all rows."""
        return len(self.values) if self.summary is None else self.summary.rows

    @property
    def rows_per_value(self) -> float:
        """The mean number of rows per value; an upper bound if not all values were counted."""
        if self.summary is None:
            return (self.codes >= 0).sum() / max(int(self.codes.max(initial=-1)) + 1, 1)
        return (self.summary.rows - self.summary.gaps) / max(self.summary.distinct, 1)

    @property
    def is_whole(self) -> bool:
        """Whether it holds plain whole numbers, 0 or more."""
        if self.column.is_text or not self.column.is_number:
            return False
        finite = self.values[np.isfinite(self.values)]
        return bool(len(finite)) and finite.min() >= 0 and bool((finite == np.floor(finite)).all())

    @property
    def is_code(self) -> bool:
        """Whether its values may be ids that several rows share, such as those of customers."""
        if not self.column.is_text:
            return bool(_OWNER.search(self.column.name)) and self.is_whole
        return self.are_mostly(_ID_WORD)

    @property
    def has_names(self) -> bool:
        """Whether its words may be names: no amounts, and at most half of them sentences."""
        lengths = [len(str(value).split()) for value in self.values[:_SAMPLE_ROWS]]
        return bool(np.median(lengths) <= _MOST_WORDS_OF_NAME) and not self.are_mostly(_FRACTION)

    def are_mostly(self, form: re.Pattern[str]) -> bool:
        """Return whether most of its first words match a pattern."""
        words = [str(value) for value in self.values[:_SAMPLE_ROWS][~self.missing[:_SAMPLE_ROWS]]]
        return sum(map(bool, map(form.fullmatch, words))) > _MOSTLY * len(words)


def suspicions_of(
    rows: Labelled,
    labels: NDArray[Any] | None = None,
    left_out: Mapping[str, NDArray[Any]] | None = None,
) -> list[Suspicion]:
    """Return what is suspect about training rows, the gravest suspicions first.

    Parameters
    ----------
    rows : Labelled
        In memory, as they were read: before text, gaps and dates become numbers.
    labels : ndarray, shape (n,), optional
        Their labels in the file, of which there may be more than two.
    left_out : mapping, optional
        Columns that are not features, as text, by name; they may also hold groups and times.

    Returns
    -------
    list of Suspicion
        At most one about each column.
    """
    of_labels = [] if labels is None else _other_labels(labels, rows)
    of_few_rows = few_of_a_class(rows.positive, "row")
    counted = rows.counted(np.arange(len(rows.positive)))
    if not rows.both_classes(np.arange(len(counted))):
        return [*of_few_rows, *of_labels]
    if not counted.all():
        rows = rows.at(np.flatnonzero(counted))
        left_out = {name: of[counted] for name, of in (left_out or {}).items()}
    rows = replace(rows, X=rows.named)
    columns = list(_columns(rows))
    beside = [_Values(Words(name), of, -1) for name, of in (left_out or {}).items()]
    groups, others = _divisions(columns, beside, rows)
    in_groups = {suspicion.column for suspicion in groups}
    return _gravest(
        groups,
        others,
        *(_alone(cells, rows) for cells in columns if cells.column.name not in in_groups),
        *map(_placeholder, columns),
        _copies(rows),
        _ids(columns, rows),
        of_few_rows,
        of_labels,
    )


def _divisions(
    columns: Sequence[_Values], beside: Sequence[_Values], rows: Labelled
) -> tuple[list[Suspicion], list[Suspicion]]:
    """Return the suspicions about groups that share labels, and those about others and times."""
    if rows.groups is not None or rows.time is not None:
        return [], []
    candidates = [*columns, *beside]
    groups = _groups(candidates, rows.positive)
    members = [] if groups else [s for cells in candidates for s in _members(cells)]
    owners = [suspicion for suspicion in members if _OWNER.search(suspicion.column)]
    return groups, [*_times([*columns, *map(_dated, beside)], rows), *(owners or members)]


def suspicions_of_sample(
    rows: Labelled, columns: Sequence[Column] | None, total: int
) -> list[Suspicion]:
    """Return what a sample shows about rows in parts, except for groups and times.

    Parameters
    ----------
    rows : Labelled
        The sample, in memory; or all rows, to take a sample from.
    columns : sequence of Column or None
    total : int
        The number of all rows.
    """
    # a sample has few rows of each stratum, which may be of one class
    rows = replace(rows, columns=None if columns is None else tuple(columns), strata=None)
    if rows.in_parts:
        sample = _some_of(rows)
    else:
        sample = rows.at(sample_of_classes(rows.positive, _PARTS_ROWS))
    about = (own for own in suspicions_of(sample) if own.kind in _KINDS_IN_PARTS)
    return _gravest(_seen_in(sample, about, total))


def with_divisions(
    suspicions: Sequence[Suspicion], rows: Labelled, summary: TableSummary
) -> list[Suspicion]:
    """Return suspicions about a sample with those about groups and times.

    Parameters
    ----------
    suspicions : sequence of Suspicion
    rows : Labelled
        A sample, spread evenly over all rows, in memory.
    summary : TableSummary
        That of all rows.
    """
    groups, others = _divisions_of_spread(rows, summary)
    in_groups = {suspicion.column for suspicion in groups}
    return _gravest(groups, others, [own for own in suspicions if own.column not in in_groups])


def dividing(X: Any, columns: Sequence[Column]) -> list[Column]:
    """Return the columns of numbers (n, d) that may group rows, or order them in time."""
    cells = (_Values(column, values_at(X, j), j) for j, column in enumerate(columns))
    return [
        own.column
        for own in cells
        if (own.is_whole and int(own.codes.max()) >= _MIN_GROUPS) or _grows(own.values)
    ]


def _divisions_of_spread(
    rows: Labelled, summary: TableSummary
) -> tuple[list[Suspicion], list[Suspicion]]:
    """Return `_divisions` for a sample spread evenly over the rows of a summary."""
    n = len(rows.positive)
    spread = rows.at(np.linspace(0, n - 1, min(n, _PARTS_ROWS)).astype(np.intp))
    if not spread.both_classes(np.arange(len(spread.positive))):
        return [], []
    spread = replace(spread, X=spread.named)
    contents = {c.name: own for c, own in zip(summary.columns, summary.summaries, strict=True)}
    columns = [replace(cells, summary=contents[cells.column.name]) for cells in _columns(spread)]
    groups, others = _divisions(columns, (), spread)
    total = max(n, summary.summaries[0].rows)
    return _seen_in(spread, groups, total), _seen_in(spread, others, total)


def suspicions_of_test(rows: Labelled, trained_on: RowDigests | None = None) -> list[Suspicion]:
    """Return what is suspect about the test rows of a model, the gravest suspicions first.

    Parameters
    ----------
    rows : Labelled
        In the form that the model takes; if they are in parts, a sample is examined.
    trained_on : RowDigests, optional
        Digests of the rows that the model learned from.
    """
    of_few_rows = few_of_a_class(rows.positive, "row")
    sample = _some_of(rows) if rows.in_parts else rows
    shared = [] if trained_on is None else _trained_on(sample, trained_on, len(rows.positive))
    alone = [suspicion for cells in _columns(sample) for suspicion in _alone(cells, sample)]
    return _gravest(shared, _seen_in(sample, alone, len(rows.positive)), of_few_rows)


def _some_of(rows: Labelled) -> Labelled:
    """Return some rows of a source: the first or, if a class is rare there, a sample of all."""
    first = rows.positive[:_PARTS_ROWS]
    if min(first.sum(), len(first) - first.sum()) >= _MIN_CLASS_ROWS:
        places = np.arange(len(first))
    else:
        places = sample_of_classes(rows.positive, _PARTS_ROWS)
    source = copy.copy(rows.X)
    source.counts = PassCounts(None)  # the pass may end early
    tables, start = [], 0
    for part in source:
        end = start + part.X.shape[0]
        own = places[np.searchsorted(places, start) : np.searchsorted(places, end)] - start
        tables.append(_safe_indexing(part.X, own))
        if end > places[-1]:
            break
        start = end
    X: Any = sp.vstack(tables, format="csr") if sp.issparse(tables[0]) else tables
    if isinstance(X, list):
        framed = hasattr(tables[0], "columns")
        X = needs("pandas", "a table").concat(X) if framed else np.concatenate(X)
    names = rows.X.feature_names
    columns = None if names is None else tuple(named(names, rows.X.columns))
    weight = None if rows.weight is None else rows.weight[places]
    return replace(
        rows, X=X, positive=rows.positive[places], weight=weight, groups=None, time=None,
        columns=columns, statistics=None, store=None,
    )  # fmt: skip


def _seen_in(sample: Labelled, suspicions: Iterable[Suspicion], total: int) -> list[Suspicion]:
    """Return suspicions that mention the size of the sample, unless it has all rows."""
    if len(sample.positive) == total:
        return [*suspicions]
    rows_seen = f" (as {len(sample.positive):,} of the rows show)"
    return [replace(s, sentence=s.sentence + rows_seen) for s in suspicions]


def auc_alone(rows: Labelled, name: str) -> float | None:
    """Return the AUC of one column of rows in memory, in the better direction; None if unknown."""
    rows = replace(rows, X=rows.named)
    cells = next((cells for cells in _columns(rows) if cells.column.name == name), None)
    if cells is None:
        return None
    if cells.column.is_text:
        return _auc_of(_rates_of_others(cells.codes, rows.positive), rows.positive)
    auc = _auc_of(cells.values, rows.positive)
    return max(auc, 1.0 - auc)


def few_of_a_class(is_positive: Bools, unit: str) -> list[Suspicion]:
    """Return a suspicion if a class has too few rows for a reliable AUC."""
    count, total = int(is_positive.sum()), len(is_positive)
    rarer, label = min((count, "positive"), (total - count, "negative"))
    if rarer >= _MIN_CLASS_ROWS:
        return []
    sentence = (
        f"only {rarer} of {total:,} {unit}{'' if total == 1 else 's'} "
        f"{'is' if rarer == 1 else 'are'} {label}: with fewer than {_MIN_CLASS_ROWS}, AUCs are "
        "unreliable, and so are settings chosen by them"
    )
    return [Suspicion(kind="few_rows", column="", figure=rarer, sentence=sentence)]


def _gravest(*of_each: Sequence[Suspicion]) -> list[Suspicion]:
    """Return suspicions in the order of `KINDS`, only the gravest about each column."""
    gravest: dict[Any, Suspicion] = {}
    for suspicion in sorted(chain.from_iterable(of_each), key=lambda s: KINDS.index(s.kind)):
        gravest.setdefault(suspicion.column or (suspicion.kind,), suspicion)
    return list(gravest.values())


# ---- the columns


def _columns(rows: Labelled) -> Iterator[_Values]:
    """Yield the columns of rows in memory; if sparse, only those that may rank well alone."""
    X, columns = rows.X, rows.columns
    if hasattr(X, "columns"):
        columns = tuple(named(names_in(X), columns_in(X)))
    places: Sequence[int] = range(X.shape[1])
    if sp.issparse(X):
        filled = [_filled(X[own]) for own in (rows.positive, ~rows.positive)]
        # half of the pairs whose rows both have 0 are ranked wrongly
        lost = 0.5 * (1.0 - filled[0]) * (1.0 - filled[1])
        places = np.flatnonzero(lost <= 1.0 - _AUC_OF_TWO_VALUES).tolist()
    for j in places:
        column = Column("") if columns is None else columns[j]
        values = np.asarray(X.iloc[:, j]) if hasattr(X, "columns") else values_at(X, j)
        yield _Values(column, values if column.is_text else np.asarray(values, np.float64), j)


def _filled(X: sp.csr_matrix) -> Floats:
    """Return the share of rows in which each column is not 0, shape (d,)."""
    return np.bincount(X.indices, minlength=X.shape[1]) / X.shape[0]


# ---- columns that rank alone


def _alone(cells: _Values, rows: Labelled) -> list[Suspicion]:
    """Return a suspicion if the gaps of a column, or its values, rank nearly perfectly."""
    best, kind = _best_auc(cells.missing.astype(np.float64), rows), "missing_ranks_alone"
    if best is not None:
        of_classes = (cells.missing[own].mean() for own in (rows.positive, ~rows.positive))
        positive, negative = (_percent(1.0 - share) for share in of_classes)
        reason = (
            f"has a value in {positive} of the positive and {negative} of the negative rows, which "
            f"alone ranks with AUC {best:.4f}: if it is filled in only afterwards"
        )
    else:
        text, kind = cells.column.is_text, "ranks_alone"
        values = _rates_of_others(cells.codes, rows.positive) if text else cells.values
        best = _best_auc(values, rows, one_way=text)
        reason = f"alone ranks with AUC {best or 0.0:.4f}: if it is known only afterwards"
    return [] if best is None else [cells.suspicion(kind, best, f"{reason}, {cells.remedy}")]


def _placeholder(cells: _Values) -> list[Suspicion]:
    """Return a suspicion if a number far from all others occurs often, such as -999 for a gap."""
    if cells.column.is_text:
        return []
    values, counts = np.unique(cells.values[np.isfinite(cells.values)], return_counts=True)
    if len(values) <= _MIN_OTHER_VALUES:
        return []
    ends = (0, values[1], values[-1]), (-1, values[0], values[-2])
    for place, low, high in ends:
        away = max(low - values[place], values[place] - high)
        if counts[place] >= _MIN_PLACEHOLDERS and away > high - low:
            value, *between = (cells.column.shown(float(v)) for v in (values[place], low, high))
            reason = (
                f"has the value {_in_words(value)} in {counts[place]:,} rows, far from all others "
                f"({' to '.join(map(_in_words, between))}): if it stands for a missing value, "
                "leave these cells empty"
            )
            return [cells.suspicion("placeholder", float(counts[place]), reason, {})]
    return []


def _in_words(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:.6g}"


def _best_auc(values: Floats, rows: Labelled, one_way: bool = False) -> float | None:
    """Return the AUC of values in either direction if it is suspect, else None; without gaps."""
    sample = sample_of_classes(rows.positive, _SAMPLE_ROWS)
    auc = _auc_of(values[sample], rows.positive[sample])
    if not max(auc, 0.0 if one_way else 1.0 - auc) > _CLOSE_AUC:
        return None
    with_value = np.flatnonzero(~np.isnan(values))
    positive, weight = rows.positive[with_value], rows.weight_of(with_value)
    score = values[with_value] if auc > 0.5 else -values[with_value]
    interval = auc_interval(positive, score, sample_weight=weight)
    least = _AUC if len(np.unique(score)) > 2 else _AUC_OF_TWO_VALUES
    return float(interval.auc) if interval.auc >= least and interval.low >= _LOW_AUC else None


def _auc_of(values: Floats, positive: Bools) -> float:
    """Return the AUC of the values that are not missing; ½ if they are of one class."""
    has_value = ~np.isnan(values)
    labels = positive[has_value]
    return area_of(labels, None, values[has_value]) if labels.any() and not labels.all() else 0.5


def _rates_of_others(codes: NDArray[np.int64], positive: Bools) -> Floats:
    """Return, for each row, the share of positives among the rows of its level in other folds.

    So a level with a single row does not leak its label.
    """
    fold = np.random.default_rng(0).permutation(len(codes)) % _FOLDS
    cell = _FOLDS * (codes + 1) + fold
    size = _FOLDS * (int(codes.max()) + 2)
    counts, positives = (
        np.bincount(cell, weights, minlength=size).reshape(-1, _FOLDS)
        for weights in (None, positive)
    )
    rows_of_others, positives_of_others = (
        (table.sum(axis=1, keepdims=True) - table).ravel()[cell] for table in (counts, positives)
    )
    return (positives_of_others + positive.mean()) / (rows_of_others + 1.0)


# ---- groups


def _groups(columns: Sequence[_Values], positive: Bools) -> list[Suspicion]:
    """Return a suspicion for each column of many values whose rows share their labels."""
    suspicions = []
    for cells in columns:
        has_names = cells.has_names if cells.column.is_text else cells.is_whole
        if not (cells.column.name and has_names):
            continue
        codes = cells.codes[cells.codes >= 0]
        least = _MIN_ICC if cells.rows_per_value <= _FEW_GROUP_ROWS else _MIN_ICC_OF_LARGE
        ordered = not cells.column.is_text
        shared = _shared_label(codes, positive[cells.codes >= 0], least, ordered)
        name = cells.column.name
        if shared is None:
            continue
        correlation, of_same = shared
        reason = (
            f"groups rows that share their label: where one is positive, {_percent(of_same)} "
            f"of the others with the same value are ({_percent(positive.mean())} of all rows; "
            f"correlation {correlation:.2f}), so that folds must not divide them (groups={name!r})"
        )
        suspicions.append(cells.suspicion("groups", correlation, reason, {"groups": name}))
    return suspicions


def _members(cells: _Values) -> list[Suspicion]:
    """Return a suspicion if values look like ids of customers or patients, with a few rows each.

    Names of frequent and rare things, such as shops, are distributed less evenly.
    """
    sizes = cells.sizes
    if sizes is None or names_codes(cells.column.name):
        return []
    shared, mean = sizes[sizes > 1], cells.rows / max(len(sizes), 1)
    uneven = not len(sizes) or sizes.max() > _MOST_OF_MEAN * mean or mean > _FEW_GROUP_ROWS
    rare = len(shared) < _MIN_GROUPS or shared.sum() < _MIN_SHARE_GROUPED * sizes.sum()
    if uneven or rare or not cells.is_code:
        return []
    name = cells.column.name
    reason = (
        f"has {len(sizes):,} values with {mean:.1f} rows each, as customers or patients have: if "
        f"rows with the same value belong together, keep them in one fold (groups={name!r})"
    )
    return [cells.suspicion("groups", mean, reason, {"groups": name})]


def _shared_label(
    codes: NDArray[np.int64], positive: Bools, least: float, ordered: bool
) -> tuple[float, float] | None:
    """Return the correlation of labels within values, or None if it is below ``least``.

    For ordered values, the correlation between neighbouring values is subtracted, because amounts
    have it, too. Also return the share of positives among rows with the value of a positive row.
    """
    if not len(codes):
        return None
    sizes = np.bincount(codes)
    pairs = float(sizes @ (sizes - 1.0))
    repeating = sizes > 1
    if repeating.sum() < _MIN_GROUPS or sizes[repeating].sum() < 0.1 * len(codes):
        return None
    share = float((sizes[codes] - 1.0) @ positive) / pairs  # of the rows of all pairs
    if not 0.0 < share < 1.0:
        return None
    standardised = (positive - share) / np.sqrt(share * (1.0 - share))
    sums = np.bincount(codes, standardised)
    within = (sums @ sums - standardised @ standardised) / pairs
    # products of independent standardised labels are uncorrelated and have variance 1
    variance = 2.0 / pairs
    if ordered:
        neighbours = float(sizes[1:] @ sizes[:-1])
        within -= max(sums[1:] @ sums[:-1] / neighbours, 0.0)
        variance += 1.0 / neighbours
    positives = np.bincount(codes, positive)
    positive_pairs = float(positives @ (positives - 1.0))
    if (
        within < max(least, _MIN_STANDARD_ERRORS * np.sqrt(variance))
        or positive_pairs < 2.0 * _MIN_CLASS_ROWS
    ):
        return None
    return float(within), positive_pairs / float(positives @ (sizes - 1.0))


# ---- times and ids


def _times(columns: Sequence[_Values], rows: Labelled) -> list[Suspicion]:
    """Return a suspicion for each column of times over which the share of positives changes.

    Times are dates or, if no date is suspect, numbers that grow from row to row.
    """
    named = [
        cells for cells in columns if cells.column.name and not _BIRTH.search(cells.column.name)
    ]
    dates = [cells for cells in named if cells.column.is_date]
    numbers = (cells for cells in named if cells.column.is_number and _grows(cells.values))
    drifting = [suspicion for cells in dates for suspicion in _drifting(cells, rows)]
    drifting = drifting or [suspicion for cells in numbers for suspicion in _drifting(cells, rows)]
    in_time = [suspicion for cells in dates for suspicion in _in_time(cells)]
    # the date of a case has a shorter span than an older date, such as when its customer joined
    return drifting or sorted(in_time, key=lambda suspicion: suspicion.figure)[:1]


def _drifting(cells: _Values, rows: Labelled) -> list[Suspicion]:
    """Return a suspicion if the share of positives changes over a column."""
    rates = _rates_over(cells.values, rows.positive)
    if rates is None:
        return []
    low, high = rates
    name = cells.column.name
    reason = (
        f"orders the rows in time, and the share of positives changes, between {_percent(low)} and "
        f"{_percent(high)} in fifths of the rows: divided at random, they do not show how later "
        f"rows will be ranked; divide them by time (time={name!r})"
    )
    return [cells.suspicion("time", high - low, reason, {"time": name})]


def _in_time(cells: _Values) -> list[Suspicion]:
    """Return a suspicion if a column of dates has a value for nearly every row, on many days."""
    days = np.unique(np.floor(cells.values[~np.isnan(cells.values)]))
    if np.isnan(cells.values).mean() > _MAX_UNDATED or len(days) < _MIN_DAYS:
        return []
    name, span = cells.column.name, int(days[-1] - days[0]) + 1
    reason = (
        f"orders the rows in time, over {span:,} days ({date_of(days[0])} to "
        f"{date_of(days[-1])}): folds drawn at random do not show how "
        f"later rows will be ranked; divide the rows by it (time={name!r})"
    )
    return [cells.suspicion("time", float(span), reason, {"time": name})]


def _rates_over(values: Floats, positive: Bools) -> tuple[float, float] | None:
    """Return the lowest and the highest share of positives in fifths of the rows, if they drift."""
    has_value = ~np.isnan(values)
    values, positive = values[has_value], positive[has_value]
    if len(values) < _MIN_ORDERED or len(np.unique(values)) < _PARTS:
        return None
    edges = np.quantile(values, np.arange(1, _PARTS) / _PARTS, method="higher")
    part = np.searchsorted(np.unique(edges), values, side="right")
    counts, positives = np.bincount(part), np.bincount(part, positive)
    positives, counts = positives[counts > 0], counts[counts > 0]
    share = positive.mean()
    if len(counts) < 2 or not 0.0 < share < 1.0:
        return None
    spread = float(((positives - counts * share) ** 2 / (counts * share * (1.0 - share))).sum())
    rates = positives / counts
    low, high = float(rates.min()), float(rates.max())
    drifts = chdtrc(len(counts) - 1, spread) < _MAX_DRIFT_P and high - low >= _MIN_DRIFT * share
    return (low, high) if drifts else None


def _ids(columns: Sequence[_Values], rows: Labelled) -> list[Suspicion]:
    """Return a suspicion for each column of ids, and for each that grows from row to row."""
    suspicions = []
    for cells in columns:
        if cells.column.is_text or not (cells.column.name and cells.column.is_number):
            continue
        obstacle = doubt(cells.column.name, cells.values, zeros=False)
        is_id = obstacle is not None and ID_DOUBT.search(obstacle.what)
        if is_id and obstacle is not None:
            reason = obstacle.what.removeprefix(cells.name).strip()
        elif _grows(cells.values):
            reason = "grows from row to row, so that new rows have other values"
        else:
            continue
        auc = _auc_of(cells.values, rows.positive)
        auc = max(auc, 1.0 - auc)
        reason += f" (alone it ranks with AUC {auc:.4f}); {cells.remedy}"
        suspicions.append(cells.suspicion("id", auc, reason))
    return suspicions


def _grows(values: Floats) -> bool:
    """Return whether numbers increase or decrease almost steadily in the order of the rows."""
    rows = np.linspace(0, len(values) - 1, min(len(values), _SAMPLE_ROWS)).astype(np.intp)
    sample = values[rows]
    if np.isnan(sample).any():
        return False
    distinct, ranks = np.unique(sample, return_inverse=True)
    if len(distinct) < _MIN_ORDERED:
        return False
    order = np.corrcoef(ranks, np.arange(len(sample)))[0, 1]
    return bool(abs(order) >= _ORDERED)


def _dated(cells: _Values) -> _Values:
    """Return a column of words as dates, if a sample of its values, evenly spread, are dates."""
    n = len(cells.values)
    rows = np.linspace(0, n - 1, min(n, _DATED_ROWS)).astype(np.intp)
    words = [word for word in set(cells.values[rows].tolist()) if not is_no_word(word)]
    forms = forms_of(words[:_MIN_ORDERED])
    if not forms:
        return cells
    form = max(forms, key=lambda form: forms[form])
    days = {word: day_number(word, form) for word in words}
    if None in days.values():
        return cells
    values = np.full(n, np.nan)
    values[rows] = [days.get(word, np.nan) for word in cells.values[rows].tolist()]
    return _Values(Date(cells.column.name, form=form), values, cells.position)


# ---- rows and labels


def _copies(rows: Labelled) -> list[Suspicion]:
    """Return a suspicion if rows are copies of others."""
    copies, n = copies_in(rows.X), len(rows.positive)
    share = copies.rows / n
    if copies.rows < _MIN_COPIES or share < _MIN_SHARE_COPIED or not copies.copied:
        return []
    sentence = (
        f"the table has duplicate rows: {copies.rows:,} of {n:,} ({_percent(share)}) repeat an "
        "earlier one in all features; folds share them, so that held-out AUCs may be too high; "
        "leave such copies out of the file"
    )
    return [Suspicion(kind="copies", column="", figure=share, sentence=sentence)]


def _trained_on(rows: Labelled, trained_on: RowDigests, total: int) -> list[Suspicion]:
    """Return a suspicion if more rows were in training than would coincide by chance."""
    compared, shared = trained_on.shared_with(rows.X)
    if shared < _MIN_COPIES:
        return []
    share = shared / compared
    low = share - 2.0 * np.sqrt(share * (1.0 - share) / compared)
    if low < max(_MIN_SHARE_SEEN, 2.0 * trained_on.repeated):
        return []
    sample = "" if compared == total else f", as {compared:,} of them show"
    sentence = (
        f"{_percent(share)} of the rows were in training{sample}: the AUC is too high for new "
        "rows; give rows that the model has not seen"
    )
    return [Suspicion(kind="training_rows", column="", figure=share, sentence=sentence)]


def _other_labels(labels: NDArray[Any], rows: Labelled) -> list[Suspicion]:
    """Return a suspicion if one label is ranked against several others."""
    names, counts = np.unique(labels[~rows.positive], return_counts=True)
    if len(names) < 2:
        return []
    largest = np.argsort(-counts, kind="stable")
    listed = ", ".join(f"{names[j]} ({counted(counts[j], 'row')})" for j in largest[:_SHOWN_LABELS])
    ellipsis = "" if len(names) <= _SHOWN_LABELS else ", …"
    sentence = (
        f"{len(names):,} other labels count as negative: {listed}{ellipsis}; if some of them are "
        "neither, leave their rows out of the file"
    )
    share = 1.0 - counts.max() / counts.sum()
    return [Suspicion(kind="other_labels", column="", figure=share, sentence=sentence)]


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"
