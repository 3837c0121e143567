"""``aucmax moments build``: the class moments of files, exact or with noise."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from aucmax.cli.common import listed, show, working
from aucmax.cli.front import parts_of_rows, parts_of_table, tell_doubts
from aucmax.cli.like import Like, like_of
from aucmax.cli.moments.combine import added, of_usual_labels, write
from aucmax.cli.moments.common import Align, MinRows, Out
from aucmax.cli.moments.show import report_of
from aucmax.cli.options import Json, Preparing, Scale, Transforms, given_file, option
from aucmax.cli.paths import check_paths
from aucmax.data.bunch import Bunch, Labels
from aucmax.data.decisions import Decision
from aucmax.data.obstacles import TableError
from aucmax.data.reading import Reading
from aucmax.estimators.inputs import names_after
from aucmax.estimators.preparation import learnt, plain
from aucmax.estimators.written_steps import as_text, in_front
from aucmax.solvers import Exact
from aucmax.statistics.base import ClassStatistics
from aucmax.statistics.diagonal import DiagonalMoments
from aucmax.statistics.disclosure import MIN_ROWS
from aucmax.statistics.files import read_bounds
from aucmax.statistics.moments import ClassMoments
from aucmax.statistics.private import BoundedSums

__all__ = ["build"]


class Kept(StrEnum):
    """How covariances are kept."""

    full = "full"
    diagonal = "diagonal"


Files = Annotated[
    list[str],
    typer.Argument(metavar="DATA...", help="Files as for 'aucmax train'; their rows are added."),
]


@dataclass(frozen=True, kw_only=True)
class Columns(Transforms):
    """Options that say how columns become numbers."""

    like: Like = None

    @property
    def bends(self) -> bool:
        """Whether there are transforms of what would be numbers anyway."""
        return self.splines or self.scale is not Scale.none


@dataclass(frozen=True, kw_only=True)
class Privacy:
    """Options of a release that is differentially private."""

    epsilon: float | None = option(
        None,
        "Add noise, so that the file is differentially private with this epsilon; needs "
        "bounds and --labels.",
    )
    delta: float = option(
        0.0, "With --epsilon: if above 0, normal noise, which is smaller than Laplace's."
    )
    bounds: tuple[float, float] | None = option(
        None,
        "With --epsilon: bounds of all features; values outside are clipped.",
        metavar="LOW HIGH",
    )
    bounds_file: Path | None = option(
        None, "Bounds of each feature: lines of feature,low,high.", metavar="CSV"
    )
    labels: str | None = option(None, "With --epsilon: all labels, separated by commas.")

    def check(self, reading: Reading, covariance: Kept) -> None:
        """Raise ValueError for options that exclude each other."""
        if self.epsilon is None:
            for name, value in vars(self).items():
                if value not in (None, 0.0):
                    flag = f"--{name.replace('_', '-')}"
                    raise ValueError(f"{flag} is for a private release; give --epsilon, too.")
            return
        if self.labels is None or (self.bounds is None) == (self.bounds_file is None):
            raise ValueError(
                "--epsilon needs what does not come from the rows: all labels (--labels no,yes) "
                "and bounds of the features (--bounds LOW HIGH, or --bounds-file CSV)."
            )
        if reading.weight is not None or covariance is not Kept.full:
            raise ValueError("--epsilon is for rows without weights, and full covariances.")


def build(
    data: Files,
    reading: Preparing,
    columns: Columns,
    out: Out,
    *,
    features: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Number of features of svmlight files, if it is more than their rows show; "
            "must be given with --epsilon.",
        ),
    ] = None,
    covariance: Annotated[
        Kept, typer.Option(help="diagonal keeps only variances: O(d) numbers for d features.")
    ] = Kept.full,
    align: Align = False,
    min_rows: MinRows = MIN_ROWS,
    privacy: Privacy,
    as_json: Json = False,
) -> None:
    """Compute the class moments of files, and save them.

    All labels of the file are kept; the positive one is chosen when a model is fitted. A table is
    read as it comes, as 'aucmax train' does it. How its columns become numbers (levels of words,
    medians for gaps, days of dates) is learned from the files in a first pass and kept in the file
    of moments. It must be the same at all sites: the others build theirs with --like and the
    moments, or the model, of one of them.

    With --epsilon E the file is E-differentially private with respect to adding or removing one
    row (with --delta D, (E, D)-differentially private). Labels, bounds and names are public, and
    bounds must not be taken from the rows. A tenth of E goes to the counts, three tenths to the
    sums, six tenths to the second moments; with D these are shares of rho (zCDP). Each file built
    from the same rows spends its own E.

    Examples:

        aucmax moments build a.csv --target ill -o a.moments

        aucmax moments build b.csv --like a.moments -o b.moments

        aucmax moments build a.csv --epsilon 1 --bounds 0 1 --labels no,yes -o a.moments
    """
    files = {f"DATA {path}": path for path in data}
    check_paths(
        {"--out": out}, {**files, "--like": columns.like, "--bounds-file": privacy.bounds_file}
    )
    privacy.check(reading, covariance)
    like = columns.like
    if columns.bends and (like is not None or privacy.epsilon is not None):
        raise ValueError("--splines and --scale learn from rows: not with --like or --epsilon.")
    model = None if like is None else like_of(like)
    features = features if model is None else model.n_features_in_
    inputs = [given_file(path) for path in data]
    tables = partial(_tables, inputs, reading)
    decisions: list[Decision] | None = None
    if privacy.epsilon is not None:
        sums = _bounded(tables(model, features, as_json), features, privacy)
        total: ClassStatistics = sums.release(privacy.epsilon, privacy.delta)
    else:
        try:
            if columns.bends:
                raise _NotNumbers
            rows = tables(model, features, as_json)
            rows = _numbers(rows, reading) if model is None and reading.prepare else rows
            total = _summed(rows, covariance, align)
        except (TableError, _NotNumbers):
            if model is not None or not (reading.prepare or reading.missing or reading.text):
                raise
            model, decisions = _learnt(inputs, reading, columns, as_json)
            total = _summed(tables(model, None, as_json, learnt=True), covariance, align)
        total = of_usual_labels(total) if reading.prepare else total
    total.steps = as_text(getattr(model, "steps", [])[:-1])
    if like is not None and total.steps:  # which have the counts of other rows
        decisions = [Decision("", f"columns become numbers as {like} says", {})]
    write(total, out, min_rows)
    show(report_of(total, out, decisions=decisions), as_json)


class _NotNumbers(Exception):
    """Columns are not numbers as they are, or have ids."""


def _learnt(
    data: list[Any], reading: Reading, columns: Columns, quiet: bool
) -> tuple[Any, list[Decision]]:
    """Return the steps that files need, as a pipeline without a model, and what was decided."""
    with working("learning how columns become numbers", quiet):
        steps, decisions = learnt(
            partial(parts_of_table, data), reading, columns.splines, columns.scale.value
        )
    return in_front(steps), decisions


def _tables(
    data: list[Any],
    reading: Reading,
    model: Any,
    features: int | None,
    quiet: bool,
    learnt: bool = False,
) -> Iterator[Bunch]:
    """Yield the rows of files part by part, as they are or as a model takes them."""
    with working("reading", quiet) as now:
        for path in data:
            now(f"reading {path.name}")
            for rows in parts_of_rows(model, path, reading, features):
                names = rows.feature_names
                if not learnt:  # else they are among the decisions
                    tell_doubts(rows, path)
                if hasattr(model, "steps"):
                    rows.data, names = model[:-1].transform(rows.data), names_after(model[:-1])
                elif model is not None and not hasattr(rows.data, "columns"):
                    names = None
                y = Labels(rows.target, rows.target_name)
                more = {"names": names, "columns": rows.columns}
                yield Bunch(path=path, X=rows.data, y=y, weight=rows.weight, **more)


def _numbers(tables: Iterator[Bunch], reading: Reading) -> Iterator[Bunch]:
    """Yield the same rows; raise _NotNumbers if columns are not numbers as they are."""
    for rows in tables:
        if not plain(rows.columns or (), rows.X, reading):
            raise _NotNumbers
        yield rows


def _summed(tables: Iterator[Bunch], covariance: Kept, align: bool) -> ClassStatistics:
    """Return the moments of the rows of files."""
    kind = ClassMoments if covariance is Kept.full else DiagonalMoments
    total: ClassStatistics | None = None
    for rows in tables:
        part: ClassStatistics = kind(feature_names=rows.names)
        _check_memory(part, rows)
        part.update(rows.X, rows.y, rows.weight)
        if total is None:
            total = part
            continue
        if rows.names is None and total.feature_names is None:  # each may lack the last features
            d = max(total.n_features, part.n_features)
            total, part = total.widened(d), part.widened(d)
        total = added(total, part, rows.path, align)
    assert total is not None
    return total


def _bounded(tables: Iterator[Bunch], features: int | None, privacy: Privacy) -> BoundedSums:
    """Return the exact sums of the rows of files, which are only to be released with noise."""
    labels = listed(privacy.labels or "")
    sums: BoundedSums | None = None
    for rows in tables:
        _check_memory(ClassMoments(), rows)
        if rows.names is None and features is None:
            raise ValueError(
                f"{rows.path}: --epsilon needs --features, because the number of features must not "
                "come from the rows."
            )
        try:
            if sums is None:
                names = rows.names or [str(j + 1) for j in range(rows.X.shape[1])]
                file = privacy.bounds_file
                bounds: Any = privacy.bounds if file is None else read_bounds(file, names)
                sums = BoundedSums(_announced(labels, rows.y), bounds, rows.names)
            sums.update(rows.X, rows.y)
        except ValueError as error:
            raise ValueError(f"{rows.path}: {error}") from None
    assert sums is not None
    return sums


def _check_memory(empty: ClassStatistics, rows: Bunch) -> None:
    """Raise ValueError if covariances would not fit in memory."""
    labels, d = len(np.unique(rows.y)), rows.X.shape[1]
    size = empty.nbytes(d) * labels / 2
    if size > Exact.max_moment_bytes:
        raise ValueError(
            f"{rows.path}: the covariances of {d:,} features and {labels} labels would take "
            f"{size / 1e9:.1f} GB; keep only variances, with --covariance diagonal."
        )


def _announced(words: list[str], y: np.ndarray) -> list[Any]:
    """Return the labels of a command line in the type of the rows' labels: numbers or text."""
    if y.dtype.kind not in "iufb":
        return words
    try:
        numbers = [float(word) for word in words]
    except ValueError:
        raise ValueError(f"--labels {','.join(words)}: the labels are numbers.") from None
    return [int(number) if number.is_integer() else number for number in numbers]
