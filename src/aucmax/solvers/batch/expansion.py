"""The second-order expansion of J's data term at a point: for all rows, and for parts of them.

    f(w) ≈ f(v) + ∇f(v)·(w − v) + ½ (w − v)·∇²f(v)(w − v)

The optimum for any α is then one step away. Parts with most of the rows have nearly the curvature
of all rows, so the matrix of all rows is a good preconditioner for their systems: one or two
products suffice, and the products of all parts share the passes over the rows.
"""

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from aucmax.data.rows.store import InMemory
from aucmax.objective import Objective
from aucmax.objective.losses import ActivePairs, ByRow
from aucmax.objective.penalties import L2
from aucmax.objective.problem import RowsProblem
from aucmax.solvers.batch.krylov import (
    Enough,
    Preconditioner,
    Solved,
    Steps,
    inverted,
    minimise,
    minimise_together,
    preconditioner,
    solved,
    steps,
)
from aucmax.solvers.batch.newton import GAP_PER_DECREMENT

__all__ = ["MAX_STEP_GAP", "Expansion", "PartExpansions", "parts_at_once"]

MAX_PRODUCTS_PER_MATRIX = 60  # largest cost of a matrix, which serves several α and parts
_SYSTEM_TOL = 0.1  # share of its gain that may be missing: there is only one step
MAX_STEP_GAP = 0.01  # largest optimality after a step from which the next step is reliable
_MAX_STEPS = 4  # mostly the first one is enough
_PARTS_AT_ONCE = 5  # limited because their scores, slopes and weights are in memory


class Expansion:
    """The expansion for all rows.

    Parameters
    ----------
    objective : Objective
        One that `Newton` supports; its penalty is ignored.
    point : ndarray, shape (d,)
        v, in the problem's coordinates.
    """

    def __init__(self, objective: Objective, point: np.ndarray) -> None:
        self.objective, self.point = objective, point
        self.scores = objective.problem.scores(point)
        self.term = objective.at(self.scores)
        self.gradient = objective.adjoint(self.term.gradient)
        self._near: dict[float, Preconditioner] = {}

    @cached_property
    def matrix(self) -> np.ndarray | None:
        """∇²f(v), if it costs little compared with the products that it saves, else None."""
        problem, term = self.objective.problem, self.term
        if isinstance(term, ByRow):
            cost = problem.gram_cost
        else:
            cost = problem.pair_gram_cost if isinstance(term, ActivePairs) else np.inf
        return self.objective.bend_matrix(term) if cost <= MAX_PRODUCTS_PER_MATRIX else None

    def _ridged(self, l2: float) -> np.ndarray | None:
        if self.matrix is None:
            return None
        ridged = self.matrix.copy()
        ridged[np.diag_indices(len(ridged))] += l2
        return ridged

    def near(self, l2: float) -> Preconditioner:
        """Return a preconditioner for α = ``l2`` at v, from the matrix if there is one."""
        if l2 not in self._near:
            ridged = self._ridged(l2)
            inverse = None if ridged is None else inverted(ridged)
            self._near[l2] = (
                preconditioner(self.objective, l2)
                if inverse is None
                else Preconditioner(inverse, 0.0, np.ones(len(self.point)), lambda v: v)
            )
        return self._near[l2]

    def optimum(self, l2: float, tol: float, max_iter: int) -> tuple[np.ndarray, float]:
        """Return the optimum for α = ``l2`` and an estimate of its optimality.

        Newton steps converge quadratically: the error is about the square of that of v (three times
        the decrement) plus that of the linear system (at most ``tol`` / 2).
        """
        objective = self.objective.with_penalty(L2(l2))
        value = self.term.value + objective.penalty.value(self.point)
        rhs = -(self.gradient + l2 * self.point)
        if (ridged := self._ridged(l2)) is not None:
            model = solved(ridged, rhs, l2)
        else:
            near, bending = self.near(l2), objective.bending(self.term)
            enough = _enough(objective, value, tol)
            model = minimise(
                lambda v: bending(v) + l2 * v, rhs, near.solve, enough, max_iter, floor=near.floor
            )
        return self.point + model.x, _optimality(objective, value, model)


class PartExpansions:
    """Expansions for parts of the rows near that for all rows, in the coordinates of the latter.

    Parameters
    ----------
    centre : Expansion
        The expansion for all rows.
    parts : sequence of Objective
        The objectives of the parts, on views of the same rows with other weights, at most
        `parts_at_once`; the penalty is ignored.
    points : ndarray, shape (k, d), optional
        The points of the expansions; by default v.
    """

    def __init__(
        self, centre: Expansion, parts: Sequence[Objective], points: np.ndarray | None = None
    ) -> None:
        self.centre, self.parts = centre, parts
        # ratio of a part's coordinates to those of all rows
        self.ratios = [_ratio(centre.objective, part) for part in parts]
        if points is None:
            self.points = np.broadcast_to(centre.point, (len(parts), len(centre.point)))
            self.terms = [part.at(centre.scores, centre.term) for part in parts]
        else:
            self.points = points
            scores = centre.objective.problem.scores(points.T)
            self.terms = [
                part.at(np.ascontiguousarray(z)) for part, z in zip(parts, scores.T, strict=True)
            ]
        self.values = [term.value for term in self.terms]  # first, as a value may keep the gradient
        if len(parts) > 1:
            slopes = np.array([term.gradient[:] for term in self.terms]).T
            self.gradients = centre.objective.adjoint(slopes)
        else:
            self.gradients = (self.ratios[0] * parts[0].adjoint(self.terms[0].gradient))[:, None]

    def optima(self, l2: float, tol: float, max_iter: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the optima of the parts for α = ``l2``, and estimates of their optimality.

        If a part is still too far from its optimum after a step, it takes another one.

        Returns
        -------
        W : ndarray, shape (k, d)
            Each optimum in the coordinates of its part.
        optimality : ndarray, shape (k,)
            As for `Expansion.optimum`.
        """
        points, optimality = self.step(l2, tol, max_iter)
        for _ in range(_MAX_STEPS - 1):
            far = np.flatnonzero((optimality > tol) & (optimality <= MAX_STEP_GAP))
            if not len(far):
                break
            parts = [self.parts[k] for k in far.tolist()]
            nearer = PartExpansions(self.centre, parts, points[far])
            points[far], optimality[far] = nearer.step(l2, tol, max_iter)
        return points * self.ratios, optimality

    def step(self, l2: float, tol: float, max_iter: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the optima of the expansions (k, d), and estimates of their optimality (k,)."""
        near = self.centre.near(l2)
        ridges = [l2 * ratio**2 for ratio in self.ratios]
        parts = [part.with_penalty(L2(l2)) for part in self.parts]
        values, systems = list[float](), list[Steps]()
        for k, (part, v) in enumerate(zip(parts, self.points, strict=True)):
            values.append(self.values[k] + part.penalty.value(self.ratios[k] * v))
            rhs = -(self.gradients[:, k] + ridges[k] * v)
            enough = _enough(part, values[k], tol)
            systems.append(steps(rhs, near.solve, enough, max_iter, floor=near.floor))
        models = minimise_together(
            lambda V, which: self._bent(V, which) + np.column_stack([ridges[k] for k in which]) * V,
            systems,
        )
        optimality = [
            _optimality(part, value, model)
            for part, value, model in zip(parts, values, models, strict=True)
        ]
        return self.points + np.array([model.x for model in models]), np.array(optimality)

    def _bent(self, V: np.ndarray, which: list[int]) -> np.ndarray:
        """Return the second derivatives of the parts ``which`` times the columns of V (d, m)."""
        if len(self.parts) == 1:
            bending = self.parts[0].bending(self.terms[0])
            return (self.ratios[0] * bending(self.ratios[0] * V[:, 0]))[:, None]
        U = self.centre.objective.problem.scores(V).T
        bent = [
            self.terms[k].product(np.ascontiguousarray(u)) for k, u in zip(which, U, strict=True)
        ]
        return self.centre.objective.adjoint(np.array(bent).T)


def parts_at_once(problem: RowsProblem) -> int:
    """Return for how many parts `PartExpansions` can keep expansions at a time."""
    return _PARTS_AT_ONCE if isinstance(problem.store, InMemory) else 1


def _ratio(whole: Objective, part: Objective) -> np.ndarray:
    """Return the ratio of a part's coordinates to those of all rows, (d,)."""
    return part.problem.from_features(whole.problem.to_features(np.ones(part.problem.n_features)))


def _enough(objective: Objective, value: float, tol: float) -> Enough:
    def enough(gained: float, left: float) -> bool:
        return left <= _SYSTEM_TOL * gained and objective.relative(left, value) <= 0.5 * tol

    return enough


def _optimality(objective: Objective, value: float, model: Solved) -> float:
    lacks = objective.relative(GAP_PER_DECREMENT * (model.gained + model.left), value)
    return lacks**2 + objective.relative(model.left, value)
