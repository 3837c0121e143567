"""From a table as read to numbers: the columns that a model learns from, and its steps."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from hashlib import blake2b
from itertools import repeat
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.preprocessing import Normalizer
from sklearn.utils import _safe_indexing

from aucmax.basics.checks import LARGEST
from aucmax.basics.errors import DataFileError
from aucmax.basics.needs import needs
from aucmax.basics.visible import counted
from aucmax.columns import SplineFeatures, TableEncoder
from aucmax.columns.preparations import Filled, Levels
from aucmax.columns.summaries import TableSummary
from aucmax.data.bunch import Bunch, frame
from aucmax.data.codes import different_cells, doubt
from aucmax.data.columns import Column, columns_in, declare, named
from aucmax.data.decisions import Decision, doubts_of_parts
from aucmax.data.digests import DigestCounts, Watch, cell_bits
from aucmax.data.files import files_of
from aucmax.data.labelled import Labelled
from aucmax.data.large_files import Plan, narrow, take
from aucmax.data.obstacles import TableError
from aucmax.data.readers import reader_of
from aucmax.data.reading import Reading
from aucmax.data.rows.source import Part, Source
from aucmax.data.rows.spool import Spool
from aucmax.data.scanning import kinds_in
from aucmax.data.strata import Strata
from aucmax.data.tables.parquet_files import may_have_gaps
from aucmax.data.transforms import scale
from aucmax.estimators.suspicions import dividing
from aucmax.metrics import auc_interval
from aucmax.statistics.moments import ClassMoments

__all__ = [
    "SAMPLED_ROWS", "Learnt", "Steps", "behind_steps", "check_sizes", "in_parts", "learnt",
    "left_out", "plain",
]  # fmt: skip

_FIRST_WORDS = 100  # words that show what cells contain
_MANY_WORDS = 20  # above which a column of mostly different words looks like ids
SAMPLED_ROWS = 50_000  # rows from which the knots of splines are taken
_MOST_DIFFERENT = 0.9  # share of distinct values, below which rows share ids
_SURE = 0.999  # confidence at which to mention that the order of ids ranks the labels


def left_out(rows: Labelled, reading: Reading) -> tuple[Labelled, list[Decision]]:
    """Return rows in memory without the columns that a model cannot learn from, and why.

    These are empty columns, constants, copies of another column, and ids.
    """
    decisions: dict[int, Decision] = {}
    first: dict[bytes, str] = {}
    columns = rows.columns or ()
    for j, column in enumerate(columns):
        decision, worth = _tells_nothing(rows.X, j, column, first), ""
        if decision is None and (decision := _ids(rows.X, j, column, reading)) is not None:
            worth = _worth(rows, _values(rows.X, j))
        if decision is not None:
            decisions[j] = replace(decision, what=f"{decision.what}{worth}")
    if not decisions:
        return rows, []
    remain = [j for j in range(len(columns)) if j not in decisions]
    end = ": left out" if remain else ", but no other column remains: kept"
    lines = [
        replace(own, what=own.what + end, leaves_out=bool(remain)) for own in decisions.values()
    ]
    if not remain:
        return rows, lines
    X: Any = (
        rows.X.iloc[:, remain]
        if hasattr(rows.X, "iloc")
        else np.ascontiguousarray(rows.X[:, remain])
    )
    if hasattr(X, "iloc") and not any(columns[j].is_text for j in remain):
        X = np.asarray(X, dtype=np.float64)
    fewer = replace(rows, X=X, columns=tuple(columns[j] for j in remain))
    return fewer, lines


def _values(X: Any, j: int) -> np.ndarray:
    """Return a column as numbers: words as their alphabetical rank, −1 for a gap."""
    if not hasattr(X, "iloc"):
        return X[:, j]
    column = X.iloc[:, j]
    if not hasattr(column, "cat"):
        return np.asarray(column)
    place = np.argsort(np.argsort(np.asarray(column.cat.categories, dtype=str), kind="stable"))
    return np.append(place, -1)[np.asarray(column.cat.codes)]


def _gaps(column: Column, values: np.ndarray) -> np.ndarray:
    return values < 0 if column.is_text else np.isnan(values)


def _tells_nothing(X: Any, j: int, column: Column, first: dict[bytes, str]) -> Decision | None:
    """Return why a model cannot learn from a column, or None; ``first`` has earlier columns."""
    name, values = column.name, _values(X, j)
    gaps = _gaps(column, values)
    if gaps.all():
        return Decision(name, "empty")
    if not gaps.any() and (values == values[0]).all():
        return Decision(name, "the same value in every row")
    digest = _digest_of_column(X.iloc[:, j] if hasattr(X, "iloc") else X[:, j])
    if digest in first:
        return Decision(name, f"the same as {first[digest]}")
    first[digest] = name
    return None


def _ids(
    X: Any, j: int, column: Column, reading: Reading, codes: Sequence[str] = ()
) -> Decision | None:
    """Return the decision that a column holds ids, or cells as different as ids, or None.

    ``codes`` are the columns whose numbers are written like words.
    """
    name, values = column.name, _values(X, j)
    gaps = _gaps(column, values)
    if column.is_text and name not in reading.categories:
        different, total = len(np.unique(values[~gaps])), int((~gaps).sum())
        if different > _MANY_WORDS and different > total / 2:
            words = X.iloc[:, j].cat.categories[:_FIRST_WORDS].tolist()
            finding = different_cells(different, total, words)
            return Decision(name, finding, {"categories": [name]})
    if "drop" in _doubt(column, values, reading, name in codes):
        return Decision(name, "ids, which cannot generalise", {"numbers": [name]})
    return None


def _doubt(column: Column, values: np.ndarray, reading: Reading, zeros: bool) -> dict[str, Any]:
    """Return the remedy if the numbers of a column look like names."""
    if not column.is_number or column.name in reading.numbers:
        return {}
    obstacle = doubt(column.name, values, zeros)
    return {} if obstacle is None else obstacle.remedy or {}


def _worth(rows: Labelled, values: np.ndarray) -> str:
    """Return a note on how well the order of a column's values ranks the labels, or ""."""
    filled = values == values
    positive = rows.positive[filled]
    if positive.all() or not positive.any():
        return ""
    weight = None if rows.weight is None else rows.weight[filled]
    interval = auc_interval(positive, values[filled], sample_weight=weight, confidence=_SURE)
    if interval.low <= 0.5 <= interval.high:
        return ""
    auc = max(interval.auc, 1.0 - interval.auc)
    return f" (yet their order alone ranks with an AUC of {auc:.2f})"


# ---- steps


@dataclass(frozen=True)
class Steps:
    """The output of fitted steps.

    Parameters
    ----------
    rows : Labelled
        Numbers.
    steps : list of (str, transformer)
        The steps that computed them from the columns, in order.
    decisions : list of Decision
        What the steps decided.
    """

    rows: Labelled
    steps: list[tuple[str, Any]]
    decisions: list[Decision]


def behind_steps(
    rows: Labelled, reading: Reading, splines: bool = False, norm: str = "none"
) -> Steps:
    """Fit the steps that turn the columns of rows in memory into numbers, and apply them.

    Parameters
    ----------
    rows : Labelled
    reading : Reading
        How they were read.
    splines : bool
        Whether numbers become splines.
    norm : str
        How to scale rows, see `datasets.scale`; "none" leaves them unscaled.
    """
    steps: list[tuple[str, Any]] = []
    decisions: list[Decision] = []
    X, named, names = rows.X, rows.named, rows.feature_names
    if _needs_encoder(rows, reading):
        encoder = TableEncoder(bool(reading.missing))
        X = named = _fitted_to(encoder, named, rows.weight)
        names = encoder.get_feature_names_out()
        steps.append(("columns", encoder))
        decisions = encoder.decisions()
    check_sizes(X, names, rows.name)
    if splines:
        features = SplineFeatures()
        X = named = _fitted_to(features, named, rows.weight)
        steps.append(("splines", features))
    if norm != "none":
        normalizer = Normalizer().fit(named)
        normalizer.columns_ = columns_in(named)
        X = scale(X, norm)
        steps.append(("unit_norm", normalizer))
    return Steps(replace(rows, X=X, columns=None) if steps else rows, steps, decisions)


def _needs_encoder(rows: Labelled, reading: Reading) -> bool:
    """Return whether any column is not plain numbers, or may have gaps."""
    columns = rows.columns or ()
    if any(column.is_text or column.is_days for column in columns):
        return True
    if not columns or not reading.missing:
        return False
    return not reading.prepare or bool(np.isnan(np.asarray(rows.X)).any())


def _fitted_to(step: Any, rows: Any, weight: np.ndarray | None) -> Any:
    """Fit a step to the rows with weights above 0, and apply it to all."""
    if weight is None or weight.all():
        return step.fit_transform(rows)
    return step.fit(_safe_indexing(rows, np.flatnonzero(weight))).transform(rows)


def check_sizes(X: Any, names: Any, file: str) -> None:
    """Raise ValueError, with the file's column, for values too large for a fit."""
    ends = [X.max(axis=0), -X.min(axis=0)]
    size = np.max([end.toarray().ravel() if hasattr(end, "nnz") else end for end in ends], axis=0)
    j = int(np.argmax(size))
    if size[j] > LARGEST:
        name = f"feature {j + 1}" if names is None else f"column {str(names[j])!r}"
        raise ValueError(
            f"{file}: {name} has values as large as {size[j]:.1e}, whose powers overflow; divide "
            "them by a constant."
        )


# ---- files that are read in parts


def in_parts(
    plan: Plan,
    path: Path,
    reading: Reading,
    splines: bool = False,
    norm: str = "none",
    later: Sequence[Column] = (),
) -> Bunch:
    """Return the result of `Plan.read`, with steps that turn its rows into numbers.

    The steps are learnt in a pass of their own, unless the rows already are numbers without gaps:
    levels, medians and weekdays from all rows, knots of splines from a sample of them.

    Parameters
    ----------
    plan : Plan
    path, reading, splines, norm
        As for `behind_steps`.
    later : sequence of Column
        Columns that are empty in the first part, as a later part shows them.

    Returns
    -------
    Bunch
        It also has ``steps`` and ``decisions``, the rows before the steps as ``table``, their
        columns as ``table_columns``, and the decisions before the steps as ``table_decisions``.
    """
    spool = plan.spool(path, reading)
    if reader_of(path, reading.format).columns is None or not (reading.prepare or reading.missing):
        return _behind(plan.read(path, reading, Watch()), spool, [], splines, norm)
    asked = reading
    raw, columns, first = _opened(plan, path, reading, later)
    decided = _decided_by_part(columns, first.X, reading, raw.codes) if reading.prepare else []
    shared: list[Column] = []
    if decided:
        shared = _shared_ids(columns, first.X, decided)
        reading = _with(decided, reading)
        raw, columns, first = _opened(plan, path, reading, later)
    table = declare(frame(first.X, columns), columns)
    in_first = _useless(TableSummary.of(table), _digests_of_columns(table), reading)
    plain = not (splines or reading.groups or reading.time) and _plain(columns, first.X)
    if plain and reading.prepare and not _may_have_gaps(path, reading, columns):
        with contextlib.suppress(TableError):  # a gap in a later part
            numbers = replace(reading, missing=False, text=False, dates=False)
            rows = _numbers(plan, path, numbers, [*dividing(first.X, columns), *shared])
            rows.decisions = [*_sure(raw.decisions), *doubts_of_parts(rows.data.doubts)]
            rows.decisions += [*decided, *map(_kept, in_first)]
            return _behind(rows, spool, [], splines, norm, tuple(columns))
    names, ids = [decision.column for decision in in_first], [*map(str, shared)]
    looked_at, every = raw, columns
    if ids:
        more = replace(reading, drop=[name for name in reading.drop if name not in ids])
        looked_at, every, _ = _opened(plan, path, more, later)
        looked_at.counts = raw.counts
    try:
        rows = _read_once(looked_at, tuple(every), plan, path, reading, [*names, *ids])
    except TableError as error:
        empty = {own.column for own in in_first if own.what.startswith("empty")}
        later = _shown_by(error, empty, path, asked, later)
        return in_parts(plan, path, asked, splines, norm, later)
    rows.data, raw.sizes = raw, looked_at.sizes
    of_all = _useless(rows.summary, rows.same_columns, reading)
    useless = [decision for decision in of_all if decision.column not in ids]
    if [decision.column for decision in useless] != names:
        names = [decision.column for decision in useless]  # misjudged from the first part
        digests = raw.each(_digests_of_rows, repeat(()), (tuple(columns), names))
        rows.digests = reduce(DigestCounts.merge, digests)
    encoder = TableEncoder(missing=True).fit_summary(rows.summary.without([*names, *ids]))
    rows.decisions = [*rows.decisions, *decided]
    steps = [("columns", encoder)]
    return _behind(rows, spool, steps, splines, norm, tuple(columns), useless)


def _shown_by(
    error: TableError, empty: set[str], path: Path, reading: Reading, later: Sequence[Column]
) -> list[Column]:
    """Return the columns that are empty in the first part, as a later part shows them.

    Raises
    ------
    TableError
        The error of that part, if it has another cause.
    """
    names = {obstacle.column for obstacle in error.obstacles}
    if not names <= empty - {column.name for column in later}:
        raise error
    with contextlib.suppress(DataFileError):
        return [*later, *kinds_in(error.path, path, reading, names).columns]
    raise error


def _opened(
    plan: Plan, path: Path, reading: Reading, later: Sequence[Column]
) -> tuple[Source, list[Column], Part]:
    """Return a file as a source, with its columns and its first part."""
    raw = plan.source(path, reading, spool=False, kinds=later)
    return raw, [*named(raw.feature_names or [], raw.columns)], raw.first()


def _may_have_gaps(path: Path, reading: Reading, columns: Sequence[Column]) -> bool:
    """Return whether numbers may have gaps; in text, the pass over the labels finds them."""
    if reader_of(path, reading.format).name != "parquet":
        return False
    return any(may_have_gaps(file, [*map(str, columns)]) for file in files_of(path))


def _numbers(plan: Plan, path: Path, reading: Reading, watched: Sequence[Column]) -> Bunch:
    """Return the result of `Plan.read` for numbers without gaps.

    It has a summary and a sample of the ``watched`` columns, which may divide the rows.
    """
    if not watched:
        return plan.read(path, reading, Watch())
    source = plan.source(path, reading)
    source.watch = Watch()
    labels = plan.narrow(source, path, reading, watched)
    rows = _read_once(labels, tuple(watched), plan, path, reading, None)
    names = source.feature_names or []
    source.sizes, source.n_features, source.doubts = labels.sizes, len(names), labels.doubts
    return Bunch(**rows | {"data": source, "feature_names": names, "n_features": len(names)})


def _useless(summary: TableSummary, digests: Sequence[Any], reading: Reading) -> list[Decision]:
    """Return the columns that a model cannot learn from, and why; none if that were all of them.

    Parameters
    ----------
    summary : TableSummary
    digests : sequence
        The digests of each column; they are equal if all cells are equal.
    reading : Reading
        Without ``prepare``, no column is left out.
    """
    if not reading.prepare:
        return []
    decisions = []
    first: dict[Any, str] = {}
    for column, contents, digest in zip(summary.columns, summary.summaries, digests, strict=True):
        name, reason = column.name, None
        if contents.gaps == contents.rows:
            reason = "empty"
        elif contents.is_constant:
            reason = "the same value in every row"
        elif first.setdefault(digest, name) != name:
            reason = f"the same as {first[digest]}"
        if reason is not None:
            decisions.append(Decision(name, f"{reason}: left out", leaves_out=True))
    return decisions if len(decisions) < len(summary.columns) else []


@dataclass(frozen=True)
class Learnt:
    """How the columns of tables become numbers, learnt from all their rows.

    Parameters
    ----------
    encoder : TableEncoder
    sample : data frame
        Rows from which knots of splines are taken, before the encoder.
    decided : list of Decision
        What was decided while the tables were read.
    splines : bool
    norm : str
        As for `behind_steps`.
    """

    encoder: TableEncoder
    sample: Any
    decided: list[Decision]
    splines: bool
    norm: str

    @property
    def steps(self) -> list[tuple[str, Any]]:
        """The fitted steps."""
        numbers = self.encoder.transform(self.sample)
        return _further([("columns", self.encoder)], numbers, self.splines, self.norm)

    @property
    def decisions(self) -> list[Decision]:
        """All decisions, including those of the encoder."""
        return [*self.decided, *self.encoder.decisions()]

    def joined(self, moments: ClassMoments, fewest: int, option: str) -> tuple[Learnt, Any]:
        """Return this without levels and indicators of few rows, and T or None: features are Tᵀx.

        After scaling to unit norm no feature is 0 or 1, and nothing changes.

        Parameters
        ----------
        moments : ClassMoments
            Moments of all rows after the steps.
        fewest : int
            The smallest number of rows of a class, besides 0, in which a feature may be 1.
        option : str
            The option that sets it, for the decisions.
        """
        if self.norm != "none":
            return self, None
        d = len(self.encoder.get_feature_names_out())
        counts = moments.effective_rows[:, None] * moments.means[:, :d]
        encoder, T = self.encoder.joined(counts, moments.effective_rows, fewest)
        reason = f"so that none is 1 in fewer than {fewest} rows of a class ({option})"
        decided = [
            Decision(column.name, f"{_told_of_rare(old, new)}, {reason}", {"drop": [column.name]})
            for (column, old), (_, new) in zip(
                self.encoder.prepared_columns, encoder.prepared_columns, strict=True
            )
            if old != new
        ]
        if not decided:
            return self, None
        fewer = replace(self, encoder=encoder, decided=[*self.decided, *decided])
        others = sparse.eye_array(moments.n_features - d)
        return fewer, sparse.block_diag([T, others], "csr")


def _told_of_rare(old: Filled | Levels, new: Filled | Levels) -> str:
    """Describe what happened to the features of a column that are 1 in few rows."""
    count = sum(map(len, old.names(""))) - sum(map(len, new.names("")))
    if isinstance(old, Filled):
        return f"{counted(count, 'feature')} of gaps or weekdays left out"
    return f"{counted(count + (not old.has_other), 'level')} joined to 'other'"


def _kept(decision: Decision) -> Decision:
    """Return the decision to keep a column that is useless in the first of many parts."""
    name, reason = decision.column, decision.what.removesuffix(": left out")
    return Decision(name, f"{reason}, in the first part: kept", {"drop": [name]})


def learnt(
    tables: Callable[[Reading, Callable[[Bunch], Any]], Iterator[Any]],
    reading: Reading,
    splines: bool,
    norm: str,
    step: int = 1,
) -> Learnt:
    """Learn, in one pass, how tables become numbers.

    Parameters
    ----------
    tables : callable
        Given a `Reading` and a task, yields the result of the task for each part of the rows, as
        `datasets.read` returns them.
    reading, splines, norm
        As for `behind_steps`.
    step : int
        The knots of splines are taken from every ``step``-th row.
    """
    surveys = tables(reading, partial(_surveyed, reading, step))
    first = next(surveys)
    decided = first.decided
    if decided:
        reading = _with(decided, reading)
        surveys = tables(reading, partial(_surveyed, replace(reading, prepare=False), step))
        first = next(surveys)
    summary, every = first.summary.bounded(), 1
    samples, decisions = [first.excerpt.sample], [first.excerpt.decisions]
    for survey in surveys:
        summary = summary.merge(survey.summary)
        decisions.append(survey.excerpt.decisions)
        samples.append(survey.excerpt.sample.iloc[::every])
        while sum(map(len, samples)) > 2 * SAMPLED_ROWS:
            samples, every = [sample.iloc[::2] for sample in samples], 2 * every
    encoder = TableEncoder(bool(reading.missing)).fit_summary(summary)
    sure = _sure(decisions[0])
    if len(decisions) > 1:
        sure = [decision.of_first_part() for decision in sure]
    sample = declare(needs("pandas", "a table").concat(samples), first.columns)
    return Learnt(encoder, sample, [*sure, *doubts_of_parts(decisions), *decided], splines, norm)


class _Survey(NamedTuple):
    """The summary of a part of a table, and the decisions if it were the first part."""

    columns: tuple[Column, ...]
    decided: list[Decision]
    summary: TableSummary
    excerpt: _Excerpt


def _surveyed(reading: Reading, step: int, rows: Bunch) -> _Survey:
    """Return the survey of a part of a table."""
    columns = tuple(rows.columns)
    decided = (
        _decided_by_part(columns, rows.data, reading, rows.get("codes", ()))
        if reading.prepare
        else []
    )
    part = Part(rows.data, rows.target, rows.weight, told={"decisions": rows.decisions})
    summary, excerpt = _survey(part, columns, step)
    return _Survey(columns, decided, summary, excerpt._replace(target=None, weight=None))


def plain(rows: Bunch, reading: Reading) -> bool:
    """Return whether a table has only plain numbers, and no ids or codes."""
    columns = rows.columns or ()
    numbers = all(column.is_number for column in columns)
    return numbers and not _decided_by_part(columns, rows.data, reading, rows.get("codes", ()))


def _decided_by_part(
    columns: Sequence[Column], X: Any, reading: Reading, codes: Sequence[str]
) -> list[Decision]:
    """Return the decisions that columns of the first part hold ids or words; see `_ids`."""
    decisions = []
    for j, column in enumerate(columns):
        decision = _ids(X, j, column, reading, codes)
        if decision is not None:
            finding = f"{decision.what}, in the first part: left out"
            decisions.append(replace(decision, what=finding, leaves_out=True))
        elif column.name in codes:
            finding = "codes in the first part, not amounts: taken as words"
            decisions.append(Decision(column.name, finding, {"numbers": [column.name]}))
    return decisions


def _shared_ids(columns: Sequence[Column], X: Any, decided: Sequence[Decision]) -> list[Column]:
    """Return the columns left out as ids that several rows share, such as ids of customers."""
    ids = {decision.column for decision in decided if decision.leaves_out}
    return [
        column
        for j, column in enumerate(columns)
        if column.name in ids and len(np.unique(_values(X, j))) < _MOST_DIFFERENT * X.shape[0]
    ]


def _with(decisions: list[Decision], reading: Reading) -> Reading:
    """Return how to read without the columns left out, and with the others as words."""
    drop = [decision.column for decision in decisions if decision.leaves_out]
    words = [decision.column for decision in decisions if not decision.leaves_out]
    return replace(reading, drop=(*reading.drop, *drop), categories=(*reading.categories, *words))


def _plain(columns: Sequence[Column], X: Any) -> bool:
    """Return whether columns are plain numbers, without gaps in these rows."""
    numbers = all(not (column.is_text or column.is_days) for column in columns)
    return numbers and not np.isnan(X).any()


def _read_once(
    raw: Source,
    columns: tuple[Column, ...],
    plan: Plan,
    path: Path,
    reading: Reading,
    useless: Sequence[str] | None,
) -> Bunch:
    """Return the source, labels, weights, groups, times, strata, a summary, a sample of rows.

    The digests of rows leave out the ``useless`` columns, judged by the first part. If that is
    None, there are no digests, and ``columns`` may be only some of the source's.
    """
    step = max(plan.rows_in(path, reading) // SAMPLED_ROWS, 1)
    excerpts: list[_Excerpt] = []
    summary = digests = None
    names = raw.feature_names
    for of_part, excerpt in raw.each(_survey, repeat(()), (columns, step, useless, names)):
        # merge at once: summaries of many words or numbers are large
        summary = of_part if summary is None else summary.merge(of_part)
        digests = excerpt.digests if digests is None else digests.merge(excerpt.digests)
        excerpts.append(excerpt._replace(digests=None))
    of_rows = {
        name: _joined([getattr(excerpt, name) for excerpt in excerpts])
        for name in ("target", "weight", "groups", "time")
    }
    strata = [excerpt.strata for excerpt in excerpts if excerpt.strata is not None]
    raw.sizes = [excerpt.rows for excerpt in excerpts]
    starts = itertools.accumulate(raw.sizes, initial=0)
    places = [start + excerpt.places for start, excerpt in zip(starts, excerpts, strict=False)]
    return Bunch(
        data=raw, name=path.name, files=[str(path)], columns=None, target_name=raw.target_name,
        label_words=raw.label_words, summary=summary, digests=digests,
        same_columns=[*zip(*(excerpt.columns for excerpt in excerpts), strict=True)],
        some=needs("pandas", "a table").concat([excerpt.sample for excerpt in excerpts]),
        places=np.concatenate(places), some_columns=columns,
        decisions=[
            *_sure(raw.decisions), *doubts_of_parts([excerpt.decisions for excerpt in excerpts])
        ],
        room=plan.room(sum(raw.sizes), path, reading), **of_rows,
        strata=Strata.joined(strata) if strata else None,
    )  # fmt: skip


def _sure(decisions: Sequence[Decision]) -> list[Decision]:
    """Return the decisions about whole columns, without doubts about cells."""
    return [decision for decision in decisions if not decision.doubtful]


class _Excerpt(NamedTuple):
    """The labels of a part, and a sample of its rows."""

    rows: int
    sample: Any
    places: np.ndarray
    target: Any
    weight: Any
    groups: Any
    time: Any
    strata: Strata | None
    decisions: list[Decision]
    columns: tuple[bytes, ...]  # digests
    digests: DigestCounts | None  # of the rows with weights above 0


def _survey(
    part: Part,
    columns: tuple[Column, ...],
    step: int,
    useless: Sequence[str] | None = (),
    names: Sequence[str] = (),
) -> tuple[TableSummary, _Excerpt]:
    """Return the summary of a part, its labels, and every ``step``-th row of weight above 0.

    The arguments are those of `_read_once`, with the names of all columns.
    """
    X, more = part.X, part.told or {}
    if useless is None:
        X = frame(X, [*map(Column, names)])[[*map(str, columns)]]
    table, places = declare(frame(X, columns), columns), _weighing(part)
    rows = table if len(places) == len(table) else table.iloc[places]
    sampled = rows.iloc[::step].copy()
    for name in sampled.select_dtypes("category"):  # unused ones take most of the part's memory
        sampled[name] = sampled[name].cat.remove_unused_categories()
    return TableSummary.of(rows), _Excerpt(
        part.X.shape[0],
        sampled,
        places[::step].copy(),
        None if part.y is None else narrow(part.y),
        part.weight,
        more.get("groups"),
        more.get("time"),
        None if (strata := more.get("strata")) is None else Strata.of(strata, part.X.shape[0]),
        more.get("decisions", []),
        _digests_of_columns(table),
        None if useless is None else DigestCounts.of(rows.drop(columns=[*useless])).bounded(),
    )


def _weighing(part: Part) -> np.ndarray:
    """Return the numbers of the rows with weights above 0."""
    return np.arange(part.X.shape[0]) if part.weight is None else np.flatnonzero(part.weight)


def _digests_of_rows(part: Part, columns: Sequence[Column], useless: Sequence[str]) -> DigestCounts:
    """Return digests of a part's rows with weights above 0, without useless columns."""
    rows = frame(part.X, columns).iloc[_weighing(part)]
    return DigestCounts.of(rows.drop(columns=[*useless])).bounded()


def _digests_of_columns(table: Any) -> tuple[bytes, ...]:
    return tuple(_digest_of_column(table.iloc[:, j]) for j in range(table.shape[1]))


def _digest_of_column(cells: Any) -> bytes:
    """Return a digest of the cells of a column; equal columns have equal digests."""
    return blake2b(cell_bits(cells).tobytes(), digest_size=16).digest()


def _joined(of_parts: list[Any]) -> np.ndarray | None:
    present = [values for values in of_parts if values is not None]
    return np.concatenate(present) if present else None


def _behind(
    rows: Bunch,
    spool: Spool | None,
    steps: list[tuple[str, Any]],
    splines: bool,
    norm: str,
    columns: tuple[Column, ...] | None = None,
    useless: Sequence[Decision] = (),
) -> Bunch:
    """Return rows in parts after steps, to which splines and a scaling are added.

    The knots of splines are quantiles of a sample of rows. The steps leave out ``useless`` columns.
    """
    source: Source = rows.data
    has_sample = bool(steps)  # of all columns
    rows.table, rows.table_columns = source, columns
    rows.table_decisions = [*(rows.get("decisions") or ())]
    of_steps = (decision for _, step in steps for decision in step.decisions())
    rows.decisions = [*rows.table_decisions, *useless, *of_steps]
    if splines or norm != "none":
        if has_sample:
            sample = rows.some
        else:
            places = np.linspace(0, len(rows.target) - 1, min(SAMPLED_ROWS, len(rows.target)))
            sample = take(source, np.unique(places.astype(np.intp)))
        sample = _through([step for _, step in steps], columns, sample)
        steps = _further(steps, sample, splines, norm)
    rows.steps = steps
    if steps:
        through = partial(_through, [step for _, step in steps], columns)
        rows.data = source.mapped(through, spool)
        width = through(rows.some.iloc[:1] if has_sample else take(source, np.zeros(1, np.intp)))
        rows.data.n_features = rows.n_features = width.shape[1]
    return rows


def _further(
    steps: list[tuple[str, Any]], sample: Any, splines: bool, norm: str
) -> list[tuple[str, Any]]:
    """Return steps followed by splines and scaling, fitted to a sample after the given steps."""
    if splines:
        steps = [*steps, ("splines", SplineFeatures().fit(sample))]
        sample = steps[-1][1].transform(sample)
    if norm != "none":
        normalizer = Normalizer().fit(sample)
        normalizer.columns_ = columns_in(sample)
        steps = [*steps, ("unit_norm", normalizer)]
    return steps


def _through(steps: list[Any], columns: tuple[Column, ...] | None, X: Any) -> Any:
    """Return rows transformed by steps."""
    X = X if columns is None else declare(frame(X, columns), columns)
    for step in steps:
        X = step.transform(X)
    return X
