"""The computations of AUCClassifierCV: held-out scores of the cells that it tries, fold by fold.

The square loss with few features reads the data once: the moments of each training part are merged
from those of the other folds, and one factorisation solves all α of a `standardize`; with an l1
part, coordinate descent does. With many features, one multi-shift conjugate gradient solves all α
of a `standardize`. The other losses are solved from one α to the next, by Newton's method with the
moments as preconditioner, or by cutting planes. If the moments are known, one Newton step from the
optimum of all rows is mostly enough (`centres`). The held-out scores of a path of α are one
product.
"""

import threading
import warnings
from collections.abc import Sequence

import numpy as np
from joblib import Parallel, delayed
from sklearn.exceptions import ConvergenceWarning, UndefinedMetricWarning

from aucmax.basics.visible import counted
from aucmax.data.labelled import Labelled
from aucmax.data.rows import Rows
from aucmax.data.rows.store import ByClass, Formula
from aucmax.data.strata import Strata
from aucmax.estimators.centres import Centres
from aucmax.estimators.folds import Pairs
from aucmax.estimators.resuming import trail
from aucmax.estimators.scoring import Metric
from aucmax.estimators.selection import Line, Place
from aucmax.estimators.table import Solution, Table
from aucmax.objective import Objective
from aucmax.objective.problem import MomentsProblem, RowsProblem, Summaries
from aucmax.objective.within_strata import rows_problem
from aucmax.solvers import ConjugateGradient, Exact, Monitor, Newton, Run
from aucmax.solvers.auto import choose
from aucmax.solvers.batch.expansion import Expansion, PartExpansions, parts_at_once
from aucmax.solvers.batch.proximal_newton import Trace
from aucmax.statistics.base import leaving_out, members
from aucmax.statistics.moments import ClassMoments
from aucmax.statistics.strata_in_parts import statistics_in_parts

__all__ = ["fold_moments", "path", "tune", "warn_of"]

_ROWS_PER_FEATURE = 10  # of a training part, from which other rows hardly move the optimum
_MIN_EFFECTIVE_ROWS = 100  # effective rows of each class; with fewer, one row may move it far


def tune(
    table: Table, training: Sequence[ClassMoments | None], centres: Centres, n_jobs: int | None
) -> None:
    """Fill a table with the cells that a walk on its grid visits.

    Parameters
    ----------
    table : Table
        Its callback is called before every path of α, by the thread that solves it, and at the end.
    training : sequence of ClassMoments or None
        Those of the training parts; if given, the square loss is solved from them.
    centres : Centres
        With ``tol`` and ``max_iter`` of the final model; the folds use ten times ``tol``.
    n_jobs : int, optional
        The number of folds to solve at a time, on threads.
    """
    folds = [_Fold(table, k, moments, centres) for k, moments in enumerate(training)]
    stepping = [fold for fold in folds if fold.is_near]
    size = parts_at_once(centres.all_rows)
    for start in range(0, len(stepping), size):
        _Steps(stepping[start : start + size], centres)
    # folds of rows in parts are scored together in one pass, others one by one, to show progress
    in_parts = table.judge.labelled.in_parts
    groups = [folds] if in_parts else [[fold] for fold in folds]
    pool = Parallel(n_jobs=n_jobs, prefer="threads")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UndefinedMetricWarning)  # for cells that predict one class
        while lines := table.next():
            if stepping:
                centres.find(lines, table.start)
            if len(stepping) == len(folds):
                lines = _leading(table, lines, centres)
            pool(delayed(_fill)(table, lines, group) for group in groups)
    table.tell("refit")


def _leading(table: Table, lines: list[Line], centres: Centres) -> list[Line]:
    """Return the lines without those of losses that are clearly behind another one on all rows.

    Of losses tried for the first time, what ranks all rows better, by more than the noise of a
    fold, also ranks the held-out rows better: the centres are near the optima of all training
    parts. This holds for the AUC; at the top of the ranking few rows decide.
    """
    best, judge = table.best, table.judge
    if best is None or judge.scoring != Metric("auc"):
        return lines
    rivals = {line.place: centres.on(line)[0] for line in lines if line.place[0] != best[0]}
    of_rows = judge.labelled.positive, judge.labelled.weight
    scores = {
        place: judge.scoring.of_scores(*of_rows, centre.scores, judge.strata)
        for place, centre in rivals.items()
        if centre is not None
    }
    least = max(scores.values(), default=0.0) - table.noise
    behind = [line for line in lines if scores.get(line.place, np.inf) < least]
    table.leave_out(behind)
    return [line for line in lines if line not in behind]


def _fill(table: Table, lines: Sequence[Line], folds: "Sequence[_Fold]") -> None:
    """Fill lines of a table in some folds."""
    table.fill({fold.k: fold.solutions(lines) for fold in folds})


def fold_moments(
    labelled: Labelled, folds: Pairs, strata: Strata | None = None
) -> tuple[list[ClassMoments], ClassMoments]:
    """Return the moments of each training part, and those of all rows.

    If the held-out parts contain every row once and each training part is the rest, the data are
    read once, or once per round: all moments are merged from those of the parts. Moments within
    strata can be merged if no stratum has rows in two of the held-out parts.
    """
    n = len(labelled.positive)
    rounds = _rounds(folds, n)
    if not rounds or (strata is not None and not all(_whole(strata, fold) for fold in folds)):
        parts = _moments_of([*(train for train, _ in folds), np.arange(n)], labelled, strata)
        return parts[:-1], parts[-1]
    training: list[ClassMoments] = []
    for held_out in rounds:
        parts = _moments_of([test for _, test in held_out], labelled, strata)
        without, total = leaving_out(parts)
        training += without
    return training, total


def _whole(strata: Strata, fold: tuple[np.ndarray, np.ndarray]) -> bool:
    """Return whether no stratum has rows in both parts."""
    sides = [np.bincount(strata.code[rows], minlength=len(strata)) > 0 for rows in fold]
    return not np.any(sides[0] & sides[1])


def _moments_of(
    parts: Sequence[np.ndarray], labelled: Labelled, strata: Strata | None
) -> list[ClassMoments]:
    """Return the moments of sets of rows, in one pass over all rows."""
    positive, weight = labelled.positive, labelled.weight
    if strata is not None:
        return [_moments_within(labelled, rows, strata) for rows in parts]
    counts = (np.bincount(rows, minlength=len(positive)) for rows in parts)
    times = [count.astype(np.min_scalar_type(count.max())) for count in counts]
    sign = ByClass(Formula((1.0, -1.0)), positive)
    of_rows = None if weight is None else ByClass(Formula((1.0, 1.0), (1.0, 1.0)), positive, weight)
    return list(labelled.store.total(_moments_by_part, (sign, of_rows, *times)))


def _moments_within(labelled: Labelled, rows: np.ndarray, strata: Strata) -> ClassMoments:
    """Return the moments of some rows within strata."""
    empty, weight = ClassMoments([-1.0, 1.0]), labelled.weight_of(rows)
    if labelled.in_parts:
        store, positive = labelled.store.untold.taken(rows), labelled.positive[rows]
        parts = statistics_in_parts(store, empty, positive, weight, strata.at(rows))
        assert isinstance(parts, ClassMoments)
        return parts
    X, sign = members(labelled.store.X, rows), np.where(labelled.positive[rows], 1.0, -1.0)
    return empty.add_strata(X, sign, weight, strata.at(rows))


def _moments_by_part(
    X: Rows, sign: np.ndarray, weight: np.ndarray | None, *times: np.ndarray
) -> tuple[ClassMoments, ...]:
    parts = []
    for count in times:
        rows = np.repeat(np.arange(len(count)), count)
        of_rows = None if weight is None else weight[rows]
        empty = ClassMoments(classes=[-1.0, 1.0])
        parts.append(empty.add_rows(X, sign[rows], of_rows, some=rows))
    return tuple(parts)


def _rounds(folds: Pairs, n: int) -> list[Pairs]:
    """Return the folds by rounds, each of which holds out every row once; empty if they do not."""
    if not all(_is_the_rest(fold, n) for fold in folds):
        return []
    rounds: list[Pairs] = [[]]
    times = np.zeros(n, dtype=np.int32)
    for fold in folds:
        if times.all():
            rounds.append([])
            times[:] = 0
        rounds[-1].append(fold)
        times[fold[1]] += 1
        if times.max() > 1:
            return []
    return rounds if times.all() else []


def _is_the_rest(fold: tuple[np.ndarray, np.ndarray], n: int) -> bool:
    """Return whether the training part has every row that is not held out, once."""
    times = np.zeros(n, dtype=np.int32)
    for rows in fold:
        times += np.bincount(rows, minlength=n).astype(np.int32)
    return bool(np.all(times == 1))


class _Fold:
    """The training part of fold k of a table, as a problem on rows or on moments."""

    def __init__(
        self, table: Table, k: int, moments: ClassMoments | None, centres: Centres
    ) -> None:
        self.table, self.k, self.moments, self.centres = table, k, moments, centres
        self.labelled, (self.train, _) = table.judge.labelled, table.folds[k]
        self._rows: RowsProblem | None = None
        self._summaries: Summaries | None = None
        self._posed: dict[Place, list[Objective]] = {}
        self.steps: _Steps | None = None
        # a part with most of the rows, whose moments are known, is a view of all rows
        n, all_rows = len(self.labelled.positive), centres.all_rows
        is_view = moments is not None and 2 * len(self.train) > n and all_rows.n_samples == n
        self.all_rows = all_rows if is_view else None
        is_long = len(self.train) >= _ROWS_PER_FEATURE * self.labelled.store.n_features
        robust = moments is not None and bool(moments.effective_rows.min() >= _MIN_EFFECTIVE_ROWS)
        self.is_near = is_view and is_long and robust

    def solutions(self, lines: Sequence[Line]) -> list[Solution]:
        """Return the solutions of the lines that a solver supports."""
        begun = self.table.with_progress(self.k, lines)
        solutions = [self._solved(line) for line in begun if line.has_solver]
        self._posed.clear()
        if self.all_rows is None:  # frees a copy of the training rows; summaries stay
            self._rows = None
        return solutions

    def objectives(self, line: Line) -> list[Objective]:
        """Return the objectives of the cells of a line; they are kept until it is solved."""
        if line.place not in self._posed:
            moments = self.moments if line.loss.by_moments else None
            problem = self._by_rows() if moments is None else MomentsProblem(moments)
            self._posed[line.place] = line.objectives(problem)
        return self._posed[line.place]

    def _solved(self, line: Line) -> Solution:
        centres, start = self.centres, self.table.starts[self.k]
        objectives = self.objectives(line)
        problem = objectives[0].problem
        name = f"fold {self.k}, {len(self.train)} rows, cells {line.places}"
        shape = len(line), problem.n_features
        if (finished := trail().last(name, shape)) is not None:
            return Solution(line, problem, finished, [])
        W, messages = np.empty(shape), list[str]()
        quality = np.full(len(line), np.inf)
        if self.steps is not None:
            W, quality = self.steps.to(self, line)
        far = np.flatnonzero(quality > centres.tol)  # not reached by a step from a centre
        if len(far):
            begin = None if start is None else problem.from_features(start)
            unreached = [objectives[i] for i in far]
            stop = centres.loose_tol, centres.max_iter
            W[far], messages = path(unreached, line.alphas[far], *stop, begin)
        if not messages:
            trail().keep(name, W)
        return Solution(line, problem, W, messages)

    def _by_rows(self) -> RowsProblem:
        """Return the training rows as a problem, built once and only if a solver needs rows."""
        train = self.train
        if self._rows is None and self.all_rows is not None and self.moments is not None:
            self._rows = self.all_rows.part(train, self.moments)
        elif self._rows is None:
            labelled = self.labelled
            rows, weight = labelled.store.taken(train), labelled.weight_of(train)
            strata = self.centres.strata
            of_rows = None if strata is None else strata.at(train)
            kept = self._summaries
            statistics = self.moments if kept is None else kept.spreads
            problem = rows_problem(rows, labelled.positive[train], weight, statistics, of_rows)
            self._rows = problem if kept is None else problem.with_summaries(kept)
            self._summaries = self._rows.data.summaries
        return self._rows


class _Steps:
    """Steps from centres to the optima of training parts, all in the same passes.

    Parameters
    ----------
    folds : sequence of _Fold
        The folds whose optimum is near that of all rows.
    centres : Centres
    """

    def __init__(self, folds: Sequence[_Fold], centres: Centres) -> None:
        self.folds, self.centres = folds, centres
        self._lock = threading.Lock()
        self._reached: dict[tuple[Place, int], tuple[np.ndarray, np.ndarray]] = {}
        for fold in folds:
            fold.steps = self

    def to(self, fold: _Fold, line: Line) -> tuple[np.ndarray, np.ndarray]:
        """Return the optima (k, d) of the cells of a line, and their optimality (k,).

        The optimality is infinite for a cell without a centre.
        """
        with self._lock:  # folds may be solved on threads
            if (line.place, fold.k) not in self._reached:
                self._step(line)
            return self._reached.pop((line.place, fold.k))

    def _step(self, line: Line) -> None:
        objectives = [fold.objectives(line) for fold in self.folds]
        shape = len(line), len(self.folds), self.centres.all_rows.n_features
        W, quality = np.empty(shape), np.full(shape[:2], np.inf)
        last: tuple[Expansion, PartExpansions] | None = None
        for i, centre in enumerate(self.centres.on(line)):
            if centre is None:
                continue
            if last is None or last[0] is not centre:
                last = centre, PartExpansions(centre, [of_fold[i] for of_fold in objectives])
            l2, stop = line.penalties[i].l2, (self.centres.tol, self.centres.max_iter)
            W[i], quality[i] = last[1].optima(l2, *stop)
        for j, fold in enumerate(self.folds):
            self._reached[line.place, fold.k] = W[:, j], quality[:, j]


def path(
    objectives: Sequence[Objective],
    alphas: np.ndarray,
    tol: float,
    max_iter: int,
    start: np.ndarray | None,
) -> tuple[np.ndarray, list[str]]:
    """Return the optima (k, d) for ascending α, in the problem's coordinates, and messages.

    The first starts from ``start``; without one, the strongest α comes first, and each solution
    starts from the previous one.
    """
    problem = objectives[0].problem
    if all(objective.by_moments and "l2" in objective.penalty.offers for objective in objectives):
        if problem.knows_moments:
            return Exact().solve_path(problem, alphas), []
        if alphas.min() > 0.0:
            W, quality = ConjugateGradient().solve_path(problem, alphas, tol, max_iter, False)
            late = quality > tol
            return W, [f"alpha={a:.2g} ended at optimality {q:.1e}" for a, q in
                       zip(alphas[late], quality[late], strict=True)]  # fmt: skip
    W, messages = np.empty((len(alphas), problem.n_features)), []
    previous, trace, offers = start, Trace(), None
    for k in range(len(alphas) - 1, -1, -1):
        objective = objectives[k]
        run = Run(Monitor(objective), tol, max_iter, sure=False)
        begin = None if previous is None else objective.penalty.prox(previous, 0.0)  # within bounds
        if objective.penalty.offers != offers:  # they alone differ in what the choice depends on
            solver, offers = choose(objective), objective.penalty.offers
        if isinstance(solver, Newton):
            result = solver.solve_next(objective, begin, run, trace)
        else:
            result = solver.solve(objective, begin, run)
        W[k] = result.coef
        previous = W[k] if start is None else start
        if result.message is not None:
            messages.append(f"alpha={alphas[k]:.2g}: {result.message}")
    return W, messages


def warn_of(messages: list[str]) -> None:
    """Issue one ConvergenceWarning for all cells that did not reach tol."""
    if messages:
        warnings.warn(
            f"{counted(len(messages), 'cell')} did not reach tol; the first: {messages[0]}",
            ConvergenceWarning,
            stacklevel=4,
        )
