"""Working sets: the choice of features, the distance to the optimum, moves on pieces."""

import contextlib
from collections.abc import Callable

import numpy as np
from scipy.linalg import LinAlgError

from aucmax.data.rows.products import dot
from aucmax.objective.penalties import Penalty, Pieces
from aucmax.solvers.batch.cholesky import Cholesky
from aucmax.solvers.batch.krylov import Product, inverted, minimise

__all__ = [
    "FIRST_SET_FEATURES",
    "NEAR",
    "Stall",
    "candidates",
    "decrement",
    "decrement_by_products",
    "holds_most",
    "piece_move",
    "promises_off",
    "solved",
    "support_of",
    "working_set",
]

FIRST_SET_FEATURES = 100  # features in the first working set
NEAR = 0.01  # largest optimality before the last steps with which the decrement is reliable
_SHARE_OFF = 0.1  # share of the possible gain that features off a working set may promise
_MAX_STALLED_ROUNDS = 4  # after so many rounds that do not halve the possible gain, stop
_MAX_PRODUCTS_PER_DECREMENT = 100  # maximum number of products for one decrement
_ROUNDING_FACTOR = 100.0  # times rounding: smaller eigenvalues or slopes cannot be told from 0
_EPSILON = float(np.finfo(float).eps)


def working_set(
    promise: np.ndarray, gradient: np.ndarray, w: np.ndarray, penalty: Penalty, size: int
) -> np.ndarray:
    """Return the support and the ``size`` features most likely to join it, sorted.

    These are the features of largest ``promise``, and then those closest to promising a gain: after
    a step, or with a weaker penalty, some of them will. Features that are not at a kink count as
    support, even with a coefficient of 0.
    """
    pieces = penalty.pieces(w)
    support = (w != 0.0) | pieces.smooth
    room = np.minimum(-gradient - pieces.left, gradient + pieces.right)
    width = np.where(np.isfinite(pieces.right - pieces.left), pieces.right - pieces.left, 1.0)
    near = np.divide(room, width, out=np.ones(len(w)), where=width > 0.0)
    ranked = np.where(support, np.inf, np.where(promise > 0.0, promise, -near))
    size = min(size + int(support.sum()), len(w))
    return np.sort(np.argpartition(-ranked, size - 1)[:size])


def holds_most(S: np.ndarray, promise: np.ndarray) -> bool:
    """Return whether the features off a working set S promise little compared with those in it."""
    if len(S) == len(promise):
        return True
    off = promise.copy()
    off[S] = 0.0
    return bool(off.sum() <= _SHARE_OFF * promise.sum())


class Stall:
    """Tells when rounds stall: when the possible gain of single features no longer halves."""

    def __init__(self) -> None:
        self.least, self.idle = np.inf, 0

    def __call__(self, promise: float) -> bool:
        self.idle = 0 if promise < 0.5 * self.least else self.idle + 1
        self.least = min(self.least, promise)
        return self.idle > _MAX_STALLED_ROUNDS


def decrement(
    H: np.ndarray, gradient: np.ndarray, w: np.ndarray, penalty: Penalty, factor: float = 1.0
) -> float:
    """Return twice the gain of a Newton step: J(w) − J* if no feature leaves its piece.

    The second derivative of the data term is ``factor`` times H. Features at a kink whose slope
    makes them move count as being on the piece they move to. Along features without curvature J
    falls to the end of their piece.
    """
    h, pieces = H.diagonal(), penalty.pieces(w)
    slope = pieces.slope(gradient)
    S = _moving(h, pieces, slope)
    move = solved(factor * H[S[:, None], S], pieces.bend[S], slope[S])
    if move is None:
        return float("inf")
    idle, ends = straight(h, w, pieces, slope)
    fall = float(slope[idle] @ (w[idle] - ends)) if len(idle) else 0.0
    return abs(float(slope[S] @ move)) + 2.0 * fall


def decrement_by_products(
    product: Product,
    h: np.ndarray,
    gradient: np.ndarray,
    w: np.ndarray,
    penalty: Penalty,
    near: np.ndarray | None = None,
) -> float:
    """Return `decrement` by conjugate gradient, estimated from above, for H v = ``product(v)``.

    ``h`` (d,) approximates H's diagonal, and ``near`` (d, d), if given, H itself.
    """
    pieces = penalty.pieces(w)
    slope = pieces.slope(gradient)
    S = _moving(h, pieces, slope)
    bend, definite = pieces.bend[S], True

    def bent(v: np.ndarray) -> np.ndarray:
        nonlocal definite
        full = np.zeros(len(w))
        full[S] = v
        bent_v = product(full)[S] + bend * v
        definite = definite and dot(v, bent_v) > 0.0
        return bent_v

    diagonal = h[S] + bend
    if not np.all(diagonal > 0.0):
        return np.inf
    inverse = None if near is None else inverted(near[np.ix_(S, S)] + np.diag(bend))
    model = minimise(
        bent,
        -slope[S],
        inverse or (lambda v: v / diagonal),
        lambda gained, left: left <= gained,
        _MAX_PRODUCTS_PER_DECREMENT,
    )
    return 2.0 * (model.gained + model.left) if definite else np.inf


def promises_off(S: np.ndarray, promise: np.ndarray, w: np.ndarray, h: np.ndarray) -> bool:
    """Return whether a feature off S promises more gain than a rounding error in its slope would.

    That error is about ε √h_j (1 + Σ_k √h_k |w_k|), or a little more.
    """
    if len(S) == len(promise):
        return False
    size = 1.0 + dot(np.sqrt(np.maximum(h, 0.0)), np.abs(w))
    lost = _ROUNDING_FACTOR * _EPSILON * size
    off = promise.copy()
    off[S] = 0.0
    return bool(off.max(initial=0.0) > 0.5 * lost * lost)


def _moving(h: np.ndarray, pieces: Pieces, slope: np.ndarray) -> np.ndarray:
    """Return the features on which J depends, if they are not at a kink or move away from it."""
    return np.flatnonzero((pieces.smooth | (slope != 0.0)) & (h + pieces.bend != 0.0))


def straight(
    h: np.ndarray, w: np.ndarray, pieces: Pieces, slope: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the features off a kink along which J is a falling line, and where their pieces end.

    Such a feature is in no active pair, so that only the penalty depends on it.
    """
    idle = np.flatnonzero(pieces.smooth & (slope != 0.0) & (h + pieces.bend == 0.0))
    return idle, np.where(slope > 0.0, pieces.start, pieces.end)[idle]


def support_of(h: np.ndarray, pieces: Pieces) -> np.ndarray:
    """Return the features that are not at a kink of the penalty and on which J depends."""
    return np.flatnonzero(pieces.smooth & (h + pieces.bend != 0.0))


def solved(system: np.ndarray, bend: np.ndarray, rhs: np.ndarray) -> np.ndarray | None:
    """Return (system + diag(bend))⁻¹ rhs, or None if that matrix has a negative eigenvalue.

    Eigenvalues lost in rounding, such as those of linearly dependent features without a penalty,
    are replaced by the size of rounding errors. ``system`` is overwritten.
    """
    if len(rhs) == 0:
        return rhs
    diagonal = system.diagonal() + bend
    if not diagonal.min() > 0.0:
        return None
    unit = 1.0 / np.sqrt(diagonal)  # units must not decide whether Cholesky succeeds
    system *= unit
    system *= unit[:, None]
    rounding = _ROUNDING_FACTOR * len(rhs) * _EPSILON
    for ridge in (0.0, rounding):  # eigenvalues would cost a hundred times as much
        system.flat[:: len(rhs) + 1] = 1.0 + ridge
        with contextlib.suppress(LinAlgError):
            return unit * Cholesky(system).solve(unit * rhs)
    return None


def candidates(
    w: np.ndarray, direction: np.ndarray, start: np.ndarray, end: np.ndarray
) -> list[np.ndarray]:
    """Return points along a step that lie on the same pieces of the penalty.

    The first is the end of the step, where coefficients that leave their piece stop at its end. If
    there are any, the second is where the first of them reaches the end of its piece.
    """
    full = w + direction
    leaves = (full <= start) | (full >= end)
    points = [np.minimum(np.maximum(full, start), end)]
    if leaves.any():
        edge = np.where(direction > 0.0, end, start)
        reach = np.full(len(w), np.inf)
        reach[leaves] = (edge[leaves] - w[leaves]) / direction[leaves]
        first = float(reach.min())
        points.append(np.where(reach <= first, edge, w + first * direction))
    return points


def piece_move(
    w: np.ndarray,
    direction: np.ndarray,
    start: np.ndarray,
    end: np.ndarray,
    rise: Callable[[np.ndarray], float],
) -> tuple[np.ndarray, bool]:
    """Step along a direction on the same pieces of the penalty, downhill.

    The move ends at the lower of `candidates` or, if neither is lower, at halves of the step.
    ``rise`` returns how much a move raises the objective. Return the new point, and whether the
    direction is exhausted: the whole step was taken, or no step goes downhill.
    """
    tried = candidates(w, direction, start, end)
    for halvings in range(12):
        rises = [rise(point - w) for point in tried]
        least = rises.index(min(rises))
        if rises[least] < 0.0:
            return tried[least], halvings == 0 and len(tried) == 1
        tried = [np.clip(w + 0.5 ** (halvings + 1) * direction, start, end)]
    return w, True
