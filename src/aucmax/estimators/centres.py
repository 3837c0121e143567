"""Expansions at optima of all rows, from which one step leads to the optimum of a training part."""

import numpy as np

from aucmax.estimators.selection import Grid, penalty_of
from aucmax.objective import Objective
from aucmax.objective.problem import RowsProblem
from aucmax.solvers import Monitor, Run
from aucmax.solvers.auto import choose
from aucmax.solvers.batch.newton import Expansion, Newton

__all__ = ["Centres", "Place"]

Place = tuple[int, ...]  # of a cell, or of a line of them

_CENTRE_TOL_FACTOR = 0.1  # optimality of a centre, over tol, from which a fold's step begins
_MAX_CENTRE_GAP = 0.01  # largest optimality itself: from farther away, a plain Newton step may fail


class Centres:
    """For each cell that Newton's method solves, an expansion of the data term near its optimum.

    The optimum of all rows is near that of each training part, which has most of the rows: from
    there a Newton step to the part's own optimum has an error of about the square of how far the
    other rows move it. So the folds share the steps that lead there.

    Parameters
    ----------
    whole : RowsProblem
        All rows.
    grid : Grid
    tol, max_iter : float, int
        Those of the final model.

    References
    ----------
    Wilson, Kasy & Mackey (2020), "Approximate cross-validation: guarantees for model assessment
    and selection", AISTATS.
    """

    def __init__(self, whole: RowsProblem, grid: Grid, tol: float, max_iter: int) -> None:
        self.whole, self.grid, self.tol, self.max_iter = whole, grid, tol, max_iter
        self._lines: dict[Place, dict[int, Expansion]] = {}

    def at(self, place: Place) -> Expansion | None:
        """Return the expansion from which to start a cell, if there is one."""
        *line, k = place
        return self._lines.get(tuple(line), {}).get(k)

    def find(self, cells: np.ndarray, start: np.ndarray | None, tol: float) -> None:
        """Compute the expansions of some cells, given as a mask.

        Parameters
        ----------
        cells : ndarray of bool, shape ``grid.shape``
        start : ndarray, shape (d,), optional
            Coefficients to start from.
        tol : float
            The optimality that the first cell of a line needs.
        """
        for *line, k in np.argwhere(cells).tolist():
            expansions = self._lines.setdefault(tuple(line), {})
            near = (
                expansions[min(expansions, key=lambda other: abs(other - k))]
                if expansions
                else None
            )
            expansion = self._expansion((*line, k), near, start, tol)
            if expansion is not None:
                expansions[k] = expansion

    def _expansion(
        self, place: Place, near: Expansion | None, start: np.ndarray | None, tol: float
    ) -> Expansion | None:
        grid, (a, b, c, k) = self.grid, place
        penalty = penalty_of(float(grid.alphas[b, k]), grid.l1_ratios[c], grid.coef_bounds)
        if "l2" not in penalty.offers:
            return None
        if near is None:
            problem = self.whole.scaled(grid.standardize[b])
            objective = Objective(problem, grid.losses[a].on(problem), penalty)
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
            if quality > _MAX_CENTRE_GAP:
                break
            near = Expansion(objective, w)
        run = Run(Monitor(objective), tol, self.max_iter, sure=False)
        return Expansion(objective, solver.solve(objective, begin, run).coef)
