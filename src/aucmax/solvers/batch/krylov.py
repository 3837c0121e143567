"""Conjugate gradient with a known error, for quadratics and for the inner systems of other losses.

After k steps from x = 0 the value ½ x·Ax − b·x has fallen by half the sum of a_j r_j·M⁻¹r_j, and
the remaining error is ½‖x* − x‖²_A. Given a μ below the spectrum of M⁻¹A, Gauss–Radau quadrature
bounds this error from above by numbers that conjugate gradient computes anyway. μ is the largest
known bound or a tenth of the smallest Ritz value, an estimate whose accuracy hardly matters.
"""

from collections.abc import Callable, Generator, Sequence
from typing import NamedTuple

import numpy as np
from scipy.linalg import LinAlgError
from scipy.linalg.lapack import dstebz

from aucmax.data.rows import compiled
from aucmax.data.rows.kernels import unless
from aucmax.data.rows.products import dot
from aucmax.objective import Objective
from aucmax.solvers.batch.cholesky import Cholesky

__all__ = [
    "LOOK_GROWTH",
    "MAX_CURVATURE_RATIO",
    "MAX_MULTIPLICATIONS",
    "POLE_DISTANCE",
    "SMALLEST_VALUE_SHARE",
    "Enough",
    "Preconditioner",
    "Product",
    "Solved",
    "Steps",
    "inverted",
    "minimise",
    "minimise_together",
    "preconditioner",
    "radau",
    "smallest_ritz",
    "solved",
    "spread",
    "steps",
]

Product = Callable[[np.ndarray], np.ndarray]
Enough = Callable[[float, float], bool]
Steps = Generator[np.ndarray, np.ndarray, "Solved"]

MAX_CURVATURE_RATIO = 1e5  # above it features are assumed to have different units
_MIN_STANDARDIZE = 0.5  # least `standardize` that the preconditioner of many features imitates
_MAX_MATRIX_FEATURES = 1500  # up to which the preconditioner is a d×d matrix
_ROWS, _AT_LEAST = 2, 500  # rows per feature, and in all, from which correlations are computed
_ROWS_PER_DIRECTION = 20  # rows of each class for every direction with more curvature than α
MAX_MULTIPLICATIONS = 10**8  # up to which more rows are used: with very few features, all
_RIDGES = (1e-14, 1e-12, 1e-10)  # to add to the diagonal; the first that can be factored is used
_ROUNDING_FACTOR = 100.0  # times rounding: a smaller eigenvalue cannot be told apart from 0
_MIN_ROWS_OF_A_FEATURE = 30  # effective rows behind a feature's variance for usable correlations
SMALLEST_VALUE_SHARE = 0.1  # assumed end of the spectrum, relative to the smallest Ritz value
POLE_DISTANCE = 0.9  # largest μ, relative to the smallest eigenvalue: the quadrature's pole
_FEW_STEPS = 100  # up to which a loop in Python takes a few microseconds
_PROBE_STEPS = 12  # steps from a random vector, to explore the rest of a spectrum
_LONG_PROBE_STEPS = 60  # the same if features have different units, and some may hide others
_BY_NUMBER = 2  # LAPACK's range of eigenvalues: from the first number to the second, here 1 to 1
LOOK_GROWTH = 1.1  # the spectrum is estimated again after the number of steps grew by this factor


class Solved(NamedTuple):
    """An approximate solution of A x = b.

    ``x`` (d,); ``residual`` (d,), b − A x by its recurrence; ``steps``, the number of products;
    ``gained``, how far ½ x·Ax − b·x is below 0; ``left``, an upper estimate of how much further it
    can fall; ``smallest``, the smallest Ritz value of M⁻¹A.
    """

    x: np.ndarray
    residual: np.ndarray
    steps: int
    gained: float
    left: float
    smallest: float

    def drift(self, residual: np.ndarray, precondition: Product) -> float:
        """Return what rounding adds to ``left``, given the recomputed residual."""
        off = residual - self.residual
        return 0.5 * dot(off, precondition(off)) / (SMALLEST_VALUE_SHARE * self.smallest)


def minimise(
    product: Product,
    b: np.ndarray,
    precondition: Product,
    enough: Enough,
    max_iter: int,
    *,
    floor: float = 0.0,
    known: float = 1.0,
    watch: Callable[[np.ndarray, int], bool] | None = None,
) -> Solved:
    """Minimise ½ x·Ax − b·x from x = 0, A symmetric positive semi-definite.

    Parameters
    ----------
    product : callable
        v ↦ A v, shape (d,).
    b, precondition, enough, max_iter, floor, known, watch
        As for `steps`.
    """
    return minimise_together(
        lambda V, _: product(V[:, 0])[:, None],
        [steps(b, precondition, enough, max_iter, floor=floor, known=known, watch=watch)],
    )[0]


def minimise_together(
    product: Callable[[np.ndarray, list[int]], np.ndarray], systems: Sequence["Steps"]
) -> list[Solved]:
    """Minimise several quadratics, computing their products together.

    Parameters
    ----------
    product : callable
        ``product(V, which)`` returns A_k v for the systems k in ``which``, one for each column of
        V (d, m).
    systems : sequence of Steps
        As `steps` returns them.
    """
    asked: dict[int, np.ndarray] = {}
    ended: dict[int, Solved] = {}

    def go_on(k: int, answer: np.ndarray | None) -> None:
        try:
            asked[k] = systems[k].send(answer)  # type: ignore[arg-type]
        except StopIteration as end:
            ended[k] = end.value

    for k in range(len(systems)):
        go_on(k, None)
    while asked:
        which = list(asked)
        products = product(np.column_stack(list(asked.values())), which)
        asked.clear()
        for k, answer in zip(which, products.T, strict=True):
            go_on(k, np.ascontiguousarray(answer))
    return [ended[k] for k in range(len(systems))]


def steps(
    b: np.ndarray,
    precondition: Product,
    enough: Enough,
    max_iter: int,
    *,
    floor: float = 0.0,
    known: float = 1.0,
    watch: Callable[[np.ndarray, int], bool] | None = None,
) -> "Steps":
    """Minimise ½ x·Ax − b·x from x = 0: yield each v, receive A v, and return `Solved`.

    Parameters
    ----------
    b : ndarray, shape (d,)
    precondition : callable
        v ↦ M⁻¹ v, shape (d,).
    enough : callable
        ``enough(gained, left)`` returns whether to stop.
    max_iter : int
        Maximum number of products. The iteration also stops if a direction has no curvature.
    floor : float
        A lower bound on the eigenvalues of M⁻¹A.
    known : float
        An upper bound on the smallest eigenvalue of M⁻¹A; 1 if M is A's diagonal or close to A.
    watch : callable, optional
        ``watch(x, steps)``, called after every product; True stops.

    References
    ----------
    Hestenes & Stiefel (1952). Meurant & Tichý (2013), "On computing quadrature-based bounds for
    the A-norm of the error in conjugate gradients", equation (4.2) for γ.
    """
    x, r = np.zeros_like(b), b.copy()
    z = precondition(r)
    p, rz = z.copy(), dot(r, z)
    rounding = float(np.finfo(float).eps) ** 4 * rz
    lengths: list[float] = []
    turns: list[float] = []
    gained, smallest, looked = 0.0, known, -1

    def remaining(look: bool) -> float:
        nonlocal smallest, looked
        a, t = np.array(lengths), np.array(turns)
        if look and looked < len(a):
            smallest, looked = min(smallest, smallest_ritz(a, t)), len(a)
        mu = min(max(floor, SMALLEST_VALUE_SHARE * smallest), POLE_DISTANCE * smallest)
        if np.isnan(rz):
            return np.inf
        return 0.5 * rz * radau(a, t, mu) if rz > 0.0 else 0.0

    while True:
        done = len(lengths)
        is_last = not rz > rounding or done >= max_iter
        left = remaining(is_last or done > LOOK_GROWTH * looked)
        # if an old estimate of the spectrum says stop, a new one must confirm it
        if is_last or (enough(gained, left) and enough(gained, left := remaining(True))):
            break
        q = yield p
        curvature = dot(p, q)
        if not curvature > 0.0:
            break
        a = rz / curvature
        x += a * p
        r -= a * q
        gained += 0.5 * a * rz
        z = precondition(r)
        rz, rz_old = dot(r, z), rz
        lengths.append(a)
        turns.append(rz / rz_old)
        p = z + (rz / rz_old) * p
        if watch is not None and watch(x, done + 1):
            break
    return Solved(x, r, len(lengths), gained, left, smallest)


def smallest_ritz(lengths: np.ndarray, turns: np.ndarray) -> float:
    """Return the smallest eigenvalue of the Lanczos matrix of the steps so far."""
    if len(lengths) == 0:
        return np.inf
    if len(lengths) == 1:
        return float(1.0 / lengths[0])
    diagonal = 1.0 / lengths
    diagonal[1:] += turns[:-1] / lengths[:-1]
    beside = np.sqrt(turns[:-1]) / lengths[:-1]
    # called directly: SciPy's function around it takes ten times as long on a few numbers
    lowest = dstebz(diagonal, beside, _BY_NUMBER, 0.0, 0.0, 1, 1, 0.0, "E")[1]
    return max(float(lowest[0]), np.finfo(float).tiny)


@unless(lambda lengths, turns, mu: len(lengths) <= _FEW_STEPS)
@compiled
def radau(lengths, turns, mu):
    # γ such that γ r·M⁻¹r bounds the squared A-norm of the error for any μ below the spectrum;
    # infinite if the steps show that μ is not below it
    gamma = 1.0 / mu
    for j in range(len(lengths)):
        excess = gamma - lengths[j]
        if excess <= 0.0:
            return np.inf
        gamma = excess / (mu * excess + turns[j]) if turns[j] > 0.0 else 1.0 / mu
    return gamma


# ---- preconditioning ------------------------------------------------------------------------


def spread(curvature: np.ndarray) -> float:
    """Return the ratio of the largest to the smallest non-zero curvature of (d,)."""
    positive = curvature[curvature > 0.0]
    return float(positive.max() / positive.min()) if len(positive) else 1.0


class Preconditioner(NamedTuple):
    """M⁻¹, an approximate inverse of some A.

    ``solve(v)`` is M⁻¹v; no eigenvalue of M⁻¹A is below ``floor``; ``units`` (d,) are the square
    roots of A's diagonal; ``kept(v)`` is v, in these units, without its part in the known null
    space of A; ``steps`` is the number of steps of a probe.
    """

    solve: Product
    floor: float
    units: np.ndarray
    kept: Product
    steps: int = _PROBE_STEPS

    def probe(self, product: Product) -> float:
        """Return the smallest Ritz value of M⁻¹A after a few steps from a random vector.

        Steps from b may miss directions in which b is small but the possible gain is large.
        """
        start = np.random.RandomState(0).standard_normal(len(self.units))
        start = self.units * self.kept(start)
        return minimise(product, start, self.solve, lambda *_: False, self.steps).smallest


def preconditioner(objective: Objective, alpha: float) -> Preconditioner:
    """Return a preconditioner for the second derivative of J at w = 0.

    With few features M has the correlations of a sample of rows and the diagonal of all rows: it
    only needs the directions of large variance. With many features it is the diagonal if they have
    different units; otherwise M acts as if they were standardised by half: dividing by the diagonal
    helps rare features that are independent of others, and harms those that a few rows tie
    together.
    """
    problem = objective.problem
    curvature = objective.data_curvature() + alpha
    if not np.any(curvature > 0.0):
        return Preconditioner(lambda v: v, alpha, np.ones(problem.n_features), lambda v: v)
    bends = curvature > 0.0
    curvature = np.where(bends, curvature, float(curvature.max()))
    units = np.sqrt(curvature)
    if problem.n_features <= _MAX_MATRIX_FEATURES and "moments" in problem.offers:
        inverse = _inverse(*_correlations(objective, alpha))
        if inverse is not None:
            solve, on_range = inverse
            floor = alpha / float(curvature.sum())
            return Preconditioner(
                lambda v: solve(v / units) / units, floor, units, lambda v: on_range(bends * v)
            )
    elif spread(curvature) <= MAX_CURVATURE_RATIO:
        gamma = min(problem.gamma, _MIN_STANDARDIZE)
        halfway = curvature ** ((_MIN_STANDARDIZE - gamma) / (1.0 - gamma))
        halfway *= float(curvature.sum()) / float(halfway.sum())
        floor = alpha / float(halfway.max())
        return Preconditioner(lambda v: v / halfway, floor, units, lambda v: bends * v)
    floor = alpha / float(curvature.max())
    return Preconditioner(
        lambda v: v / curvature, floor, units, lambda v: bends * v, _LONG_PROBE_STEPS
    )


def solved(matrix: np.ndarray, b: np.ndarray, l2: float) -> Solved:
    """Return the minimiser of ½ x·Ax − b·x for A ⪰ l2 I, (d, d), which is overwritten.

    x is 0 in the null space of A, up to rounding. The part of b there may still gain ‖r‖²/(2 l2).
    """
    units, inverse = _in_units(matrix)
    if inverse is None:
        return Solved(np.zeros_like(b), b, 1, 0.0, np.inf, 1.0)
    solve, on_range = inverse
    x, residual, left = solve(b / units) / units, np.zeros_like(b), 0.0
    if l2 > 0.0:  # the diagonal has no zeros
        residual = b - on_range(b / units) * units
        left = 0.5 * dot(residual, residual) / l2
    return Solved(x, residual, 1, 0.5 * dot(b, x), left, 1.0)


def inverted(matrix: np.ndarray) -> Product | None:
    """Return v ↦ A⁻¹ v, (d,), for a matrix A (d, d), which is overwritten; None if it fails.

    The result is 0 in the null space of A.
    """
    units, inverse = _in_units(matrix)
    return None if inverse is None else lambda v: inverse[0](v / units) / units


def _in_units(matrix: np.ndarray) -> tuple[np.ndarray, tuple[Product, Product] | None]:
    """Return the roots of a matrix's diagonal, and `_inverse` of the matrix in these units."""
    diagonal = np.einsum("jj->j", matrix)
    units = np.sqrt(np.where(diagonal > 0.0, diagonal, np.inf))
    matrix /= units
    matrix /= units[:, None]
    return units, _inverse(matrix, True)


def _inverse(matrix: np.ndarray, of_all_rows: bool) -> tuple[Product, Product] | None:
    """Return v ↦ matrix⁻¹ v, with ones and the necessary ridge on its diagonal.

    Also return v ↦ the part of v outside the null space. If the matrix is that of all rows, the
    inverse acts on this part only, so that linearly dependent features do not drift apart.
    """
    for ridge in _RIDGES:
        matrix[np.diag_indices(len(matrix))] = 1.0 + ridge
        try:
            factor = Cholesky(matrix)
        except LinAlgError:
            continue
        lost = max(_ROUNDING_FACTOR * len(matrix) * float(np.finfo(float).eps), 10.0 * ridge)
        if not of_all_rows or factor.smallest**2 > lost:
            return factor.solve, lambda v: v
        return _on_range(matrix, lost)
    return None


def _on_range(matrix: np.ndarray, lost: float) -> tuple[Product, Product]:
    """Return `_inverse` for a matrix with some eigenvalues below ``lost``, which count as 0."""
    values, vectors = np.linalg.eigh(matrix)
    values, vectors = values[values > lost], vectors[:, values > lost]
    return lambda v: vectors @ ((v @ vectors) / values), lambda v: vectors @ (v @ vectors)


def _correlations(objective: Objective, alpha: float) -> tuple[np.ndarray, bool]:
    """Return the second derivative of J at w = 0 in units of its diagonal, shape (d, d).

    Also return whether it comes from all rows rather than a sample.
    """
    problem, d = objective.problem, objective.problem.n_features
    curvature = objective.data_curvature()
    rows = max(_ROWS * d + _AT_LEAST, MAX_MULTIPLICATIONS // d**2)
    if alpha > 0.0:  # J's curvature exceeds α in at most so many directions
        rows = int(min(rows, _AT_LEAST + _ROWS_PER_DIRECTION * float(curvature.sum()) / alpha))
    part = problem.sample(rows)
    bending = objective.data_hessian(part)
    rare = None
    if part.n_samples < problem.n_samples:
        rare = part.standing_out() < _MIN_ROWS_OF_A_FEATURE
    diagonal = np.einsum("jj->j", bending).copy()
    scale = 1.0 / np.sqrt(np.where(diagonal > 0.0, diagonal, 1.0))
    bending *= scale * scale[:, None]
    if rare is not None:
        bending[rare] = bending[:, rare] = 0.0
    # α shrinks the correlations: (c_jk √(h_j h_k)) / √((h_j + α)(h_k + α))
    share = np.sqrt(curvature / np.where(curvature + alpha > 0.0, curvature + alpha, 1.0))
    bending *= share * share[:, None]
    bending[np.diag_indices(d)] = 1.0
    return bending, part.n_samples == problem.n_samples
