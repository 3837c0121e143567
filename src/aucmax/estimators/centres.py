"""Expansions at optima of all rows, from which one step leads to the optimum of a training part."""

from collections.abc import Sequence

import numpy as np

from aucmax.data.strata import Strata
from aucmax.estimators.resuming import trail
from aucmax.estimators.selection import Line, Place
from aucmax.objective.problem import RowsProblem
from aucmax.solvers import Monitor, Run
from aucmax.solvers.auto import choose
from aucmax.solvers.batch.expansion import MAX_STEP_GAP, Expansion
from aucmax.solvers.batch.newton import Newton

__all__ = ["Centres"]

_LOOSE_TOL_FACTOR = 10.0
_CENTRE_TOL_FACTOR = 0.1  # optimality required of a centre, relative to tol


class Centres:
    """For each cell that Newton's method solves, an expansion of the data term near its optimum.

    The optimum of all rows is near that of each training part, which has most of the rows: a Newton
    step from there to the part's own optimum has an error of about the square of how far the other
    rows move it. So the folds share the iterations that lead to the common optimum.

    Parameters
    ----------
    whole : RowsProblem
        All rows.
    tol, max_iter : float, int
        Those of the final model.
    strata : Strata, optional
        Those of all rows, with their weights.

    References
    ----------
    Wilson, Kasy & Mackey (2020), "Approximate cross-validation: guarantees for model assessment
    and selection", AISTATS.
    """

    def __init__(
        self, all_rows: RowsProblem, tol: float, max_iter: int, strata: Strata | None = None
    ) -> None:
        self.all_rows, self.tol, self.max_iter, self.strata = all_rows, tol, max_iter, strata
        self._lines: dict[Place, dict[int, Expansion]] = {}

    @property
    def loose_tol(self) -> float:
        """The optimality that suffices in the folds, because a ranking is less sensitive than J.

        A step from a centre needs more, because its error depends on the held-out rows.
        """
        return _LOOSE_TOL_FACTOR * self.tol

    def on(self, line: Line) -> list[Expansion | None]:
        """Return, for each cell of a line, the expansion to start from, or None."""
        expansions = self._lines.get(line.place, {})
        return [expansions.get(k) for k in line.ks.tolist()]

    def find(self, lines: Sequence[Line], start: np.ndarray | None) -> None:
        """Compute the expansions of some cells.

        Parameters
        ----------
        lines : sequence of Line
        start : ndarray, shape (d,), optional
            Coefficients to start from.
        """
        for line in lines:
            expansions = self._lines.setdefault(line.place, {})
            for i, k in enumerate(line.ks.tolist()):
                nearest = min(expansions, key=lambda other: abs(other - k), default=None)
                near = None if nearest is None else expansions[nearest]
                expansion = self._expansion(line, i, near, start)
                if expansion is not None:
                    expansions[k] = expansion

    def _expansion(
        self, line: Line, i: int, near: Expansion | None, start: np.ndarray | None
    ) -> Expansion | None:
        penalty = line.penalties[i]
        if "l2" not in penalty.offers:
            return None
        if near is None:
            problem = self.all_rows.scaled(line.standardize)
            objective = line.loss.objective(problem, penalty)
            begin = None if start is None else objective.problem.from_features(start)
        else:
            objective, begin = near.objective.with_penalty(penalty), near.point
        solver = choose(objective)
        if not isinstance(solver, Newton):
            return None
        while near is not None:
            w, quality = near.optimum(penalty.l2, _CENTRE_TOL_FACTOR * self.tol, self.max_iter)
            if quality <= _CENTRE_TOL_FACTOR * self.tol:
                return near
            if quality > MAX_STEP_GAP:
                break
            near = Expansion(objective, w)
        name = f"{self.all_rows.n_samples} rows, cell {line.places[i]}"
        if (finished := trail().last(name, (self.all_rows.n_features,))) is not None:
            return Expansion(objective, finished)
        run = Run(Monitor(objective), self.loose_tol, self.max_iter, sure=False)
        w = solver.solve(objective, begin, run).coef
        trail().keep(name, w)
        return Expansion(objective, w)
