"""``aucmax moments build``: the class moments of files, exact or with noise."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from aucmax.basics.doors import postponed
from aucmax.cli.common import listed, show, working
from aucmax.cli.large import Large
from aucmax.cli.like import Like, Template, template_of
from aucmax.cli.moments.combine import added, respelt, write
from aucmax.cli.moments.common import MIN_ROWS, Align, Kept, MinRows, Out, check_memory, kind_of
from aucmax.cli.moments.show import report_of
from aucmax.cli.moments.strata import HeldRows, RowsInParts
from aucmax.cli.options import (
    NO_STRATA_TO_WEIGH,
    Json,
    Preparing,
    Scale,
    Transforms,
    WeightOfStrata,
    given_file,
    option,
)
from aucmax.cli.paths import check_paths
from aucmax.data.decisions import Decision
from aucmax.data.files import exists
from aucmax.data.obstacles import TableError
from aucmax.data.reading import Reading

with postponed():
    import numpy as np

    from aucmax.cli.front import parts_of_rows, parts_of_table, tell_doubts
    from aucmax.data.bunch import Bunch, Labels
    from aucmax.data.named import named
    from aucmax.data.readers import reader_of
    from aucmax.data.strata import QUERY
    from aucmax.estimators.inputs import names_after
    from aucmax.estimators.labelling import of_usual_labels
    from aucmax.estimators.preparation import SAMPLED_ROWS, Learnt, learnt, plain
    from aucmax.estimators.written_steps import as_text, in_front
    from aucmax.statistics.base import ClassStatistics
    from aucmax.statistics.files import read_bounds
    from aucmax.statistics.moments import ClassMoments
    from aucmax.statistics.private import BoundedSums

__all__ = ["build"]


Files = Annotated[
    list[str],
    typer.Argument(metavar="DATA...", help="Files as for 'aucmax train'; their rows are pooled."),
]


@dataclass(frozen=True, kw_only=True)
class Columns(Transforms):
    """Options that say how columns become numbers."""

    like: Like = None

    @property
    def bends(self) -> bool:
        """Whether plain numbers are transformed."""
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
                "--epsilon needs facts that do not come from the rows: all labels (--labels "
                "no,yes) and bounds of the features (--bounds LOW HIGH, or --bounds-file CSV)."
            )
        if reading.weight is not None or covariance is not Kept.full:
            raise ValueError("--epsilon is for rows without weights, and full covariances.")
        if reading.strata is not None:
            raise ValueError("--epsilon cannot be combined with --strata.")


@dataclass(frozen=True, kw_only=True)
class Sums:
    """Options that say what is kept of the rows."""

    features: int | None = option(
        None,
        "Number of features of svmlight files, if it is more than their rows show; must be given "
        "with --epsilon.",
        min=1,
    )
    covariance: Kept = option(
        Kept.full, "diagonal keeps only variances: O(d) numbers for d features."
    )
    strata_weight: WeightOfStrata = option(
        WeightOfStrata.positives,
        "With --strata, the weight of each stratum: its positives, its pairs, or 1.",
    )
    align: Align = False
    min_rows: MinRows = MIN_ROWS

    def check(self, within: bool) -> None:
        """Raise ValueError for weights of strata, unless rows are compared within some."""
        if not within and self.strata_weight is not WeightOfStrata.positives:
            raise ValueError(NO_STRATA_TO_WEIGH)


def build(
    data: Files,
    reading: Preparing,
    columns: Columns,
    out: Out,
    *,
    sums: Sums,
    privacy: Privacy,
    large: Large,
    as_json: Json = False,
) -> None:
    """Compute the class moments of files, and save them.

    All labels of the file are kept; the positive one is chosen when a model is fitted. A table is
    read as it comes, as by 'aucmax train'. How its columns become numbers (levels of words, medians
    for missing values, days of dates) is learned from the files in a first pass and stored in the
    file of moments. It must be the same at all sites: the others build theirs with --like and the
    moments, or the model, of one of them.

    With --strata only rows of the same stratum are compared, such as those of a day or a matched
    set; the file then stores a digest of each stratum. Files add up if no stratum is in two of
    them.

    With --epsilon E the file is E-differentially private with respect to adding or removing one
    row (with --delta D, (E, D)-differentially private). Labels, bounds and names are public, and
    bounds must not be taken from the rows. A tenth of E goes to the counts, three tenths to the
    sums, six tenths to the second moments; with D these are shares of rho (zCDP). Each file built
    from the same rows spends its own E.

    Examples:

        aucmax moments build a.csv --target ill -o a.moments

        aucmax moments build b.csv --like a.moments -o b.moments

        aucmax moments build a.csv --strata day -o a.moments

        aucmax moments build a.csv --epsilon 1 --bounds 0 1 --labels no,yes -o a.moments
    """
    files = {f"DATA {path}": path for path in data}
    check_paths(
        {"--out": out}, {**files, "--like": columns.like, "--bounds-file": privacy.bounds_file}
    )
    privacy.check(reading, sums.covariance)
    like = columns.like
    if columns.bends and (like is not None or privacy.epsilon is not None):
        raise ValueError("--splines and --scale learn from rows: leave out --like and --epsilon.")
    template = Template(None) if like is None else template_of(like)
    reading, model = replace(reading, target=reading.target or template.target), template.model
    rows = _Rows([given_file(path) for path in data], reading, columns, sums, large, as_json)
    learned = None
    if privacy.epsilon is not None:
        total: ClassStatistics = rows.private(privacy, privacy.epsilon, model)
    else:
        total, learned = rows.moments(model, template.positive)
    decisions = None
    if learned is not None:
        model, decisions = in_front(learned.steps), learned.decisions
    total.steps = as_text(getattr(model, "steps", [])[:-1])
    total.positive = template.positive
    if like is not None and total.steps:  # which have the counts of other rows
        decisions = [Decision("", f"columns become numbers as in {like}", {})]
    write(total, out, sums.min_rows, None if like else "leave a rare feature out with --drop")
    show(report_of(total, out, decisions=decisions), as_json)


class _NotNumbers(Exception):
    """Columns are not plain numbers, or are ids."""


@dataclass(frozen=True)
class _Rows:
    """The rows of files, which are counted part by part, on a cluster if there is one.

    Parameters
    ----------
    files : list
    reading : Reading
    columns : Columns
    sums : Sums
    large : Large
    quiet : bool
        Whether nothing is shown while they are read.
    """

    files: list[Any]
    reading: Reading
    columns: Columns
    sums: Sums
    large: Large
    quiet: bool

    def private(self, privacy: Privacy, epsilon: float, model: Any) -> ClassMoments:
        """Return noisy moments of the rows."""
        self.sums.check(within=False)
        features = self._features(model)
        count = partial(_bounded, privacy=privacy, features=features)
        exact: BoundedSums = self._total(count, _sum_of_bounded, model)
        return exact.release(epsilon, privacy.delta)

    def moments(self, model: Any, positive: Any) -> tuple[ClassStatistics, Learnt | None]:
        """Return the moments of the rows, and how their columns become numbers if it was learnt."""
        reading, sums, learned = self.reading, self.sums, None
        within = reading.strata is not None or self._has_queries()
        sums.check(within)
        in_parts = self._read_in_parts() if within else None
        count: Callable[..., Any] = partial(_moments, covariance=sums.covariance)
        add: Callable[..., Any] = partial(_sum, align=sums.align)
        if within:
            count, add = _held, HeldRows.with_part
        plain_only = reading if model is None and reading.prepare else None
        try:
            if self.columns.bends:
                raise _NotNumbers
            if in_parts is None:
                total = self._total(partial(count, plain_only=plain_only), add, model)
            else:
                _refuse_words(next(self.large.plan.parts(in_parts, reading)), plain_only)
                total = RowsInParts.of(in_parts, reading, model, self.large)
        except (TableError, _NotNumbers):
            if model is not None or not (reading.prepare or reading.missing or reading.text):
                raise
            learned = self._learnt()
            front = in_front(learned.steps)
            if in_parts is None:
                total = self._total(count, add, front, tells_doubts=False)
            else:
                total = RowsInParts.of(in_parts, reading, front, self.large)
        weighting: Any = sums.strata_weight.value
        kept = sums.covariance, weighting, reading.strata or QUERY, positive
        rows = total if isinstance(total, HeldRows | RowsInParts) else None
        total = total if rows is None else rows.moments(*kept)
        total = of_usual_labels(total) if reading.prepare else total
        if learned is None or not isinstance(total, ClassMoments):
            return total, learned
        learned, T = learned.joined(total, sums.min_rows, "--min-rows")
        if T is not None:
            target = total.target_name
            total = total.mapped(T) if rows is None else rows.moments(*kept, T)
            total.feature_names = names_after(in_front(learned.steps)[:-1])
            total.target_name = target
        return total, learned

    def _has_queries(self) -> bool:
        """Return whether rows of svmlight text name their strata."""
        first = self.files[0]
        if not exists(first) or reader_of(first, self.reading.format).columns is not None:
            return False
        return next(self.large.plan.parts(first, self.reading)).strata is not None

    def _read_in_parts(self) -> Any:
        """Return the file or files, if they are so large that they are read in parts."""
        files = [*map(str, self.files)] if len(self.files) > 1 else self.files[0]
        path = named(files) if all(map(exists, self.files)) else None
        return path if path is not None and self.large.plan.takes(path, self.reading) else None

    def _learnt(self) -> Learnt:
        """Return how their columns become numbers."""
        count = sum(
            self.large.plan.rows_in(path, self.reading) for path in self.files if exists(path)
        )
        columns = self.columns
        with working("learning how columns become numbers", self.quiet):
            return learnt(
                partial(parts_of_table, self.files, plan=self.large.plan),
                self.reading,
                columns.splines,
                columns.scale.value,
                max(count // SAMPLED_ROWS, 1),
            )

    def _total(
        self,
        count: Callable[[Bunch], Any],
        add: Callable[[Any, Any, Any], Any],
        model: Any,
        tells_doubts: bool = True,
    ) -> Any:
        """Return the sum of what parts count, as they are or as a model takes them.

        Parameters
        ----------
        count : callable
            Of rows, whose ``names`` are those of their features.
        add : callable
            Of two counts, and the file of the latter.
        model : estimator or None
            As for `parts_of_rows`.
        tells_doubts : bool
            Whether to tell of the cells that are not used.
        """
        total = None
        task, features = partial(_counted, model, count), self._features(model)
        with working("reading", self.quiet) as now:
            for path in self.files:
                now(f"reading {path.name}")
                parts = parts_of_rows(model, path, self.reading, task, self.large.plan, features)
                for part, decisions in parts:
                    if tells_doubts:
                        tell_doubts(decisions, path)
                    total = part if total is None else add(total, part, path)
        return total

    def _features(self, model: Any) -> int | None:
        """Return the number of features, if the rows do not show it."""
        return self.sums.features if model is None else getattr(model, "n_features_in_", None)


def _counted(
    model: Any, count: Callable[[Bunch], Any], rows: Bunch
) -> tuple[Any, Sequence[Decision]]:
    """Return the count of rows in the form that a model takes, and what was decided about them."""
    rows.names = rows.feature_names
    if hasattr(model, "steps"):
        rows.data, rows.names = model[:-1].transform(rows.data), names_after(model[:-1])
    elif model is not None and not hasattr(rows.data, "columns"):
        rows.names = None
    rows.target = Labels(rows.target, rows.target_name)
    return count(rows), rows.decisions


def _moments(rows: Bunch, covariance: Kept, plain_only: Reading | None = None) -> ClassStatistics:
    """Return the moments of rows; raise _NotNumbers if only plain numbers are wanted."""
    _refuse_words(rows, plain_only)
    moments = kind_of(covariance)(feature_names=rows.names)
    check_memory(moments, rows)
    return moments.update(rows.data, rows.target, rows.weight)


def _held(rows: Bunch, plain_only: Reading | None = None) -> HeldRows:
    """Return the rows; raise _NotNumbers if only plain numbers are wanted."""
    _refuse_words(rows, plain_only)
    return HeldRows([rows])


def _refuse_words(rows: Bunch, plain_only: Reading | None) -> None:
    """Raise _NotNumbers unless rows are plain numbers, if only these are wanted."""
    if plain_only is not None and not plain(rows, plain_only):
        raise _NotNumbers


def _sum(total: ClassStatistics, part: ClassStatistics, path: Any, align: bool) -> ClassStatistics:
    """Return the sum of moments; rows of svmlight files may lack the last features."""
    if part.feature_names is None and total.feature_names is None:
        d = max(total.n_features, part.n_features)
        total, part = total.widened(d), part.widened(d)
    return added(total, respelt(part, total, path), path, align)


def _sum_of_bounded(total: BoundedSums, part: BoundedSums, path: Any) -> BoundedSums:
    try:
        return total + part
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def _bounded(rows: Bunch, privacy: Privacy, features: int | None) -> BoundedSums:
    """Return the exact sums of rows, which are only to be released with noise."""
    check_memory(ClassMoments(), rows)
    if rows.names is None and features is None:
        raise ValueError(
            f"{rows.name}: --epsilon needs --features, because the number of features must not "
            "come from the rows."
        )
    names = rows.names or [str(j + 1) for j in range(rows.data.shape[1])]
    file = privacy.bounds_file
    bounds: Any = privacy.bounds if file is None else read_bounds(file, names)
    labels = _announced(listed(privacy.labels or ""), rows.target)
    try:
        return BoundedSums(labels, bounds, rows.names).update(rows.data, rows.target)
    except ValueError as error:
        raise ValueError(f"{rows.name}: {error}") from None


def _announced(words: list[str], y: np.ndarray) -> list[Any]:
    """Return the labels of a command line in the type of the rows' labels: numbers or text."""
    if y.dtype.kind not in "iufb":
        return words
    try:
        numbers = [float(word) for word in words]
    except ValueError:
        raise ValueError(f"--labels {','.join(words)}: the labels are numbers.") from None
    return [int(number) if number.is_integer() else number for number in numbers]
