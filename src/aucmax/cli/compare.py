"""``aucmax compare``: several algorithms on the same repeated splits of one data set."""

import warnings
from collections.abc import Iterator
from dataclasses import dataclass

from aucmax.basics.doors import postponed
from aucmax.basics.progress import Working
from aucmax.cli.common import counted, few_positives, listed, show, working
from aucmax.cli.errors import interrupted
from aucmax.cli.options import (
    LOSS_NAMES,
    Cuts,
    DataArgument,
    Fitting,
    Html,
    Json,
    Learning,
    Transforms,
    option,
)
from aucmax.cli.paths import check_paths
from aucmax.cli.screen import tell
from aucmax.data.reading import Reading
from aucmax.report.text import auc_text

with postponed():
    import numpy as np

    from aucmax.cli.front import prepared_rows
    from aucmax.data.labelled import Labelled
    from aucmax.experiments.comparison import Comparison
    from aucmax.experiments.methods import CONTESTANTS, USUAL_CONTESTANTS, Task, contestants_named
    from aucmax.experiments.other_measures import measures_of
    from aucmax.experiments.runs import (
        Contestant,
        Measure,
        Split,
        convergence,
        repeated_splits,
        run_split,
        warm_up,
    )

__all__ = ["compare"]

TEST_SIZE = 0.2


@dataclass(frozen=True, kw_only=True)
class Contest:
    """The algorithms to compare."""

    solvers: str | None = option(
        None,
        "Algorithms to compare: exact, conjugate_gradient, coordinate_descent, newton, "
        "cutting_plane, spam, vrspam, solam, opauc, oam, univariate, sadmm, rda, comid, pegasos, "
        "tuned, additive, logistic, least_squares. All but additive by default.",
        metavar="A,B,…",
    )
    against: str | None = option(
        None, "Algorithm that the others are tested against; by default the first.", metavar="NAME"
    )


@dataclass(frozen=True, kw_only=True)
class Splits:
    """How rows are split."""

    splits: int = option(5, "Number of splits.", min=1)
    test_size: float | None = option(
        None,
        "Share of the rows (with --groups, of the groups) held out in each split, 0.2 by "
        "default; with --time it follows from the number of splits.",
    )
    seed: int = option(0, "Random seed of the splits and the solvers.", min=0)

    def of(self, rows: Labelled) -> list[Split]:
        """The rows of each split."""
        share = TEST_SIZE if self.test_size is None else self.test_size
        return repeated_splits(rows, self.splits, share, self.seed)

    def check(self, reading: Reading) -> None:
        """Raise ValueError for a number that is not a share."""
        if self.test_size is None:
            return
        if reading.time is not None:
            raise ValueError("--test-size: with --time it follows from --splits; leave it out.")
        if not 0 < self.test_size < 1:
            raise ValueError(f"--test-size must lie between 0 and 1; got {self.test_size:g}.")


@dataclass(frozen=True, kw_only=True)
class Minimised:
    """The objective of all solvers."""

    alpha: float = option(1e-4, "Strength of the penalty, 0 or more.")
    l1_ratio: float = option(0.0, "Share of the l1 penalty, from 0 to 1.")
    loss: str = option("square", f"Loss: {LOSS_NAMES}.")
    standardize: float = option(
        0.0, "From 0 (features as they are) to 1 (features of equal spread)."
    )


def compare(
    data: DataArgument,
    reading: Learning,
    transforms: Transforms,
    contest: Contest,
    division: Splits,
    objective: Minimised,
    fitting: Fitting,
    cuts: Cuts,
    html: Html = None,
    as_json: Json = False,
) -> None:
    """Compare algorithms on the same splits of one data set.

    Splits are random and stratified; --groups keeps each group together; --time trains each split
    on the past and tests it on what comes next; with both, no split trains on groups that it tests.

    Every solver minimises the same objective, at the same alpha; its distance to the true optimum
    is measured on the training rows: optimality (0 at the optimum, 1 at w = 0) and the relative
    gap of the objective, each the largest over the splits. In the interval of the mean test AUC, a
    row that several splits test counts once. "tuned", "additive", "logistic" and "least_squares"
    choose their own settings, by cross-validation on the training rows. Tests are paired: Nadeau
    and Bengio's corrected resampled t-test over the splits, or DeLong's test if there is one split;
    the verdict is "tie" unless p < 0.05. Average precision, precision and recall at k and recall at
    a false-positive rate have intervals and tests of their own.

    --strata compares only rows of the same stratum, such as a day, in the fits and in the test AUC.
    Stochastic solvers do not support strata; rivals that do not support them learn from all rows
    and are evaluated within strata. The other measures are over all test rows.

    How the columns are prepared is learned from all rows.

    Examples:

        aucmax compare diabetes --standardize 1

        aucmax compare visits.csv --target booked --solvers exact,spam,logistic --html compare.html

        aucmax compare visits.csv --target booked --time day --solvers exact,logistic
    """
    check_paths({"--html": html}, {"DATA": data})
    names = _named(contest.solvers)
    reference = _reference(contest.against, names)
    division.check(reading)
    task = Task(**vars(objective), **fitting.arguments, seed=division.seed)
    task.check()
    prepared = prepared_rows(data, reading, transforms, as_json)
    rows, facts = prepared.rows, prepared.facts()
    fitting.check(rows)
    parts = division.of(rows)
    measures = measures_of(rows, parts, cuts.k, cuts.fpr)
    few_positives(rows.positive[parts[0].test], "test row")
    runs = [_run(name, task) for name in names]
    finished = 0
    try:
        with working("compiling kernels", as_json) as now:
            for number in _splits_run(runs, rows, parts, task, now):
                finished = number
    except KeyboardInterrupt:
        for run in runs:
            run.keep(max(finished, 1))
        parts = parts[: max(finished, 1)]
    stopped = finished < division.splits
    if all(run.error for run in runs):
        if stopped:
            raise interrupted("no algorithm has finished a split") from None
        raise ValueError(f"none of the algorithms ran; {runs[0].name}: {runs[0].error}")
    courses = None
    if html is not None and not stopped:
        with working("drawing the report", as_json) as now:
            courses = convergence(runs, rows, parts[0], task, now.at)
    scale = transforms.scale.value
    setting = parts, task, measures, scale
    report = Comparison.of(rows, facts, runs, reference, *setting, stopped, courses)
    show(report, as_json, None if stopped else html)
    if not as_json:
        for name, note in report.notes:
            tell("warning", f"{name}: {note}")
    if stopped:
        unwritten = "" if html is None else f"; {html} was not written"
        raise interrupted(f"{finished} of {counted(division.splits, 'split')} done{unwritten}")


def _run(name: str, task: Task) -> Contestant:
    unfit = task.unfit(name)
    run = Contestant(name, error=unfit, on_objective=task.on_objective(name))
    run.status = "done" if unfit is None else "unfit"
    return run


def _splits_run(
    runs: list[Contestant], rows: Labelled, parts: list[Split], task: Task, now: Working
) -> Iterator[int]:
    """Run all algorithms on one split after another; yield the number of each finished split."""
    able = [run for run in runs if run.status == "done"]
    done, total = 0, len(parts) * (1 + len(able))

    def begin(what: str, part: Split) -> None:
        nonlocal done
        now.at(done, total, f"{what}, split {part.number} of {len(parts)}", _best(able))
        done += 1

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for run in able:
            warm_up(run, rows, task)
    for part in parts:
        begin("the optimum", part)
        measure = Measure(rows, part, task)
        try:
            for run in able:
                begin(run.name, part)
                run_split(run, rows, part, measure, task)
        finally:
            for run in able:
                run.close(measure)
        yield part.number


def _best(runs: list[Contestant]) -> str:
    means = [(float(np.mean(run.aucs)), run.name) for run in runs if run.aucs]
    return f"{auc_text(max(means)[0])} ({max(means)[1]})" if means else ""


# ---- the algorithms that were named


def _named(solvers: str | None, option: str = "--solvers") -> list[str]:
    if solvers is None:
        return [*USUAL_CONTESTANTS]
    try:
        names = contestants_named(listed(solvers))
    except ValueError as error:
        raise ValueError(f"{option}: {error}") from None
    if not names:
        raise ValueError(f"{option} names no algorithm; there are {', '.join(CONTESTANTS)}.")
    return names


def _reference(against: str | None, names: list[str]) -> str | None:
    if against is None:
        return None
    references = _named(against, "--against")
    if len(references) > 1:
        raise ValueError(f"--against {against}: name one algorithm.")
    if references[0] not in names:
        raise ValueError(f"--against {against}: is not among those compared, {', '.join(names)}.")
    return references[0]
