"""The interface of a penalty, for solvers and for compiled code.

A penalty is a sum over coordinates, Ω(w) = Σ_j Ω_j(w_j), with piecewise quadratic Ω_j. Compiled
code sees it as a NamedTuple, whose class chooses `prox1` at compile time.
"""

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from sklearn.base import BaseEstimator

from aucmax.data.rows.kernels import INLINE, compiled, overloaded, unless

__all__ = ["Penalty", "Pieces", "prox1", "prox1_of"]

_FEW_COORDINATES = 100  # up to which a loop in Python takes less than a millisecond
_PROX1: dict[type, Callable[..., Any]] = {}


def prox1_of(penalty_class: type) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register a function (penalty, j, u, step) as `prox1` of penalties compiled as this class."""

    def keep(body: Callable[..., Any]) -> Callable[..., Any]:
        _PROX1[penalty_class] = body
        return body

    return keep


def prox1(penalty, j, u, step):
    """Return argmin_w ½(w − u)² + step · Ω_j(w); also in compiled code."""
    return _PROX1[type(penalty)](penalty, j, u, step)


@overloaded(prox1, **INLINE)
def _prox1(penalty, j, u, step):
    return _PROX1.get(getattr(penalty, "instance_class", object))


@unless(lambda penalty, u, *_: len(u) <= _FEW_COORDINATES)
@compiled
def _proxes(penalty, u, step, w):
    for j in range(len(u)):
        w[j] = prox1(penalty, j, u[j], step[j])


class Pieces(NamedTuple):
    """The quadratic piece of each Ω_j on which w_j lies, as arrays (d,).

    Attributes
    ----------
    left, right : ndarray
        Slopes of Ω_j on both sides of w_j; they differ at a kink, and are infinite at a bound.
    bend : ndarray
        The second derivative on the piece.
    start, end : ndarray
        Where the piece starts and ends.
    """

    left: np.ndarray
    right: np.ndarray
    bend: np.ndarray
    start: np.ndarray
    end: np.ndarray

    @property
    def smooth(self) -> np.ndarray:
        """Whether w_j is neither at a kink nor at a bound."""
        return self.left == self.right

    def slope(self, gradient: np.ndarray) -> np.ndarray:
        """Return the subgradient of data term + penalty nearest to 0, by coordinate.

        It is zero everywhere exactly when w minimises their sum, if that is convex.

        Parameters
        ----------
        gradient : ndarray, shape (d,)
            The gradient of the data term at w.
        """
        return gradient + np.minimum(np.maximum(-gradient, self.left), self.right)


class Penalty(BaseEstimator):
    """Base of the penalties, Ω(w) = Σ_j Ω_j(w_j).

    A subclass implements `compiled`, a function for `prox1_of`, `values` and `pieces`. With
    `farthest` and `reach` as well, the penalty's conjugate bounds the distance to the optimum;
    without them, only the solver's own estimate is available.

    Attributes
    ----------
    name : str
        The name in messages and in `PENALTIES`.
    offers : set of str
        The properties that solvers can use: "prox" (it is a sum over coordinates), "convex",
        "elastic net" (``l1`` and ``l2`` describe it completely), "l2" (``l2`` does).
    convexity : float
        The largest c for which Ω(w) − (c/2)‖w‖² is known to be convex.
    l2, l1 : float
        Only for an elastic net (l2/2) ‖w‖₂² + l1 ‖w‖₁.
    """

    name: ClassVar[str]

    @property
    def offers(self) -> frozenset[str]:
        return frozenset({"prox", "convex"})

    @property
    def convexity(self) -> float:
        return 0.0

    @property
    def l1(self) -> float:
        raise AttributeError(f"{type(self).__name__} is not an elastic net, so it has no l1.")

    @property
    def l2(self) -> float:
        raise AttributeError(f"{type(self).__name__} is not an elastic net, so it has no l2.")

    # ---- to be implemented ---------------------------------------------------------------

    def compiled(self) -> NamedTuple:
        """Return the penalty in the form for kernels."""
        raise NotImplementedError

    def values(self, w: np.ndarray) -> np.ndarray:
        """Return Ω_j(w_j) for each coordinate, shape (d,)."""
        raise NotImplementedError

    def pieces(self, w: np.ndarray) -> Pieces:
        """Return the pieces on which w (d,) lies."""
        raise NotImplementedError

    def farthest(self, v: np.ndarray) -> np.ndarray:
        """Return the w at which v·w − Ω(w) is largest, shape (d,); ±∞ where it is unbounded."""
        raise NotImplementedError

    def reach(self, v: np.ndarray) -> float:
        """Return the largest c for which the conjugate at c v is finite; 0 if unknown."""
        return 0.0

    def check(self) -> None:
        """Raise ValueError for a setting outside its range."""

    def named(self, d: int, names: Sequence[str] | None) -> Self:
        """Return the penalty for d features with these names; check settings by feature."""
        return self

    def scaled(self, factor: np.ndarray | None) -> Self:
        """Return the penalty for features multiplied by ``factor`` (d,)."""
        return self

    def of(self, S: np.ndarray) -> Self:
        """Return the penalty on coordinates S only."""
        return self

    @property
    def setting(self) -> str:
        """The estimator's setting that selects it, for messages."""
        return f"penalty={type(self).__name__}"

    # ---- derived -------------------------------------------------------------------------

    def value(self, w: np.ndarray) -> float:
        """Return Ω(w)."""
        return float(self.values(w).sum())

    def prox(self, u: np.ndarray, step: float | np.ndarray) -> np.ndarray:
        """Return argmin_w ½‖w − u‖² + step · Ω(w).

        With a step (d,) for each coordinate: argmin_w ½ Σ (w_j − u_j)²/step_j + Ω(w).
        """
        w = np.empty(len(u))
        _proxes(self.compiled(), u, np.broadcast_to(np.float64(step), u.shape), w)
        return w

    def slope_and_bend(
        self, gradient: np.ndarray, w: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray | float]:
        """Return `Pieces.slope` at w (d,), and the second derivative of each Ω_j there."""
        pieces = self.pieces(w)
        return pieces.slope(gradient), pieces.bend

    def promise(self, gradient: np.ndarray, w: np.ndarray, curvature: np.ndarray) -> np.ndarray:
        """Return the largest gain of a step in each single coordinate, shape (d,).

        That is distance²/(2 (h + bend)) if the data term has curvature h (d,) and slope
        ``gradient``. Unlike the distance, it does not depend on the units of the features.
        """
        if "convex" in self.offers:
            slope, bend = self.slope_and_bend(gradient, w)
            bend = curvature + bend
            if bend.min(initial=np.inf) > 0.0:
                return 0.5 * slope**2 / bend
            return np.divide(0.5 * slope**2, bend, out=np.zeros(len(w)), where=bend > 0.0)
        step = np.divide(1.0, curvature, out=np.zeros(len(w)), where=curvature > 0.0)
        target = self.prox(w - step * gradient, step)
        move = target - w
        gain = self.values(w) - self.values(target) - move * (gradient + 0.5 * curvature * move)
        return np.where(move != 0.0, np.maximum(gain, 0.0), 0.0)

    def conjugate(self, v: np.ndarray) -> float:
        """Return the supremum of v·w − Ω(w) over all w, which may be infinite."""
        w = self.farthest(v)
        return float(v @ w) - self.value(w) if np.all(np.isfinite(w)) else np.inf

    def dual_value(
        self, linear: float, v: np.ndarray, quadratic: float = 0.0, most: float = np.inf
    ) -> float:
        """Return the largest c·linear − c²·quadratic − conjugate(c v) over c in [0, most].

        That is Fenchel's lower bound on a minimum, at the best multiple of a dual point. It needs
        quadratic ≥ 0, and is 0 if ``linear`` is negative.
        """
        most = min(most, self.reach(v))
        if not (linear > 0.0 and most > 0.0):
            return 0.0

        def slope(c: float) -> float:  # decreases with c, as the function is concave
            return linear - 2.0 * c * quadratic - float(v @ self.farthest(c * v))

        low, high = 0.0, min(most, 1.0)
        while high < most and slope(high) > 0.0 and high < 1e30:
            low, high = high, min(2.0 * high, most)
        if slope(high) >= 0.0:
            low = high
        for _ in range(60 if low < high else 0):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if slope(middle) >= 0.0 else (low, middle)
        return low * linear - low * low * quadratic - self.conjugate(low * v)
