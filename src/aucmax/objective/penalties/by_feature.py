"""Penalties that differ by feature: factors, and bounds on the coefficients."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from aucmax.objective.penalties.base import Penalty, Pieces, prox1, prox1_of

__all__ = ["Bounded", "Weighted"]


def _by_feature(
    values: Any, blank: Any, setting: str, d: int, names: Sequence[str] | None
) -> np.ndarray:
    """Return an array (d, …) from one value for all features, one for each, or some by name.

    None and missing values become ``blank``. The index of a series or frame gives the names.
    """
    index: Any = getattr(values, "index", None)
    if np.ndim(index) == 1 and len(index) and all(isinstance(name, str) for name in index):
        values = dict(zip(index, np.asarray(values, dtype=object), strict=True))
    blank = np.asarray(blank, dtype=np.float64)
    table = np.tile(blank, (d, *[1] * blank.ndim))
    if not isinstance(values, Mapping):
        shapes = {"for all features": blank.shape, f"for each of {d}": table.shape}
        table[:] = _numbers(values, blank, setting, shapes)
        return table
    if names is None:
        raise ValueError(
            f"{setting} names features, but the data have no names: fit to a data frame whose "
            f"columns have names that are strings, or give an array of shape {table.shape}."
        )
    place = {name: j for j, name in enumerate(names)}
    for name, value in values.items():
        if name not in place:
            raise ValueError(f"{setting} names {name!r}, which is not a feature of the data.")
        table[place[name]] = _numbers(value, blank, f"{setting} of {name!r}", {"": blank.shape})
    return table


def _feature(j: int, names: Sequence[str] | None) -> str:
    """Return the name of a feature in a message."""
    return f"feature {j if names is None else repr(names[j])}"


def _numbers(
    value: Any, blank: np.ndarray, setting: str, shapes: Mapping[str, tuple[int, ...]]
) -> np.ndarray:
    """Return numbers of one of these shapes."""
    try:
        values = np.asarray(value, dtype=object)
        missing = values == None  # noqa: E711
        numbers = np.where(missing, 0.0, values).astype(np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{setting} must hold numbers; got {value!r}.") from None
    if values.shape not in shapes.values():
        expected = " or ".join(f"{shape} {extent}".strip() for extent, shape in shapes.items())
        raise ValueError(f"{setting} must have shape {expected}; got {values.shape}.")
    if np.isnan(numbers).any():
        raise ValueError(f"{setting} must hold numbers; got nan.")
    return np.where(missing, blank, numbers)


class _Weighted(NamedTuple):
    inner: Any
    factors: np.ndarray


@prox1_of(_Weighted)
def _weighted1(penalty, j, u, step):
    return prox1(penalty.inner, j, u, step * penalty.factors[j])


class Weighted(Penalty):
    """Σ_j f_j Ω_j(w_j): a penalty times a factor for each feature; 0 leaves it unpenalised.

    Parameters
    ----------
    penalty : Penalty
        Ω, which must be the same for every feature.
    factors : array-like of shape (d,), or mapping or series of feature name to number
        f_j ≥ 0; features that are not named have 1.
    """

    name = "weighted"

    def __init__(self, penalty: Penalty, factors: Any) -> None:
        self.penalty = penalty
        self.factors = factors

    def check(self) -> None:
        if not isinstance(self.penalty, Penalty) or isinstance(self.penalty, (Weighted, Bounded)):
            raise ValueError(
                "Weighted takes a penalty that is the same for every feature, such as ElasticNet "
                f"or MCP; got {self.penalty!r}."
            )
        self.penalty.check()

    @property
    def setting(self) -> str:
        return f"penalty=Weighted({type(self.penalty).__name__})"

    @property
    def offers(self) -> frozenset[str]:
        return self.penalty.offers & {"prox", "convex"}

    @property
    def convexity(self) -> float:
        return self.penalty.convexity * float(np.min(self.factors))

    def named(self, d: int, names: Sequence[str] | None) -> "Weighted":
        factors = _by_feature(self.factors, 1.0, "factors", d, names)
        wrong = np.flatnonzero((factors < 0.0) | np.isinf(factors))
        if len(wrong):
            j = int(wrong[0])
            raise ValueError(
                f"factors must be finite and at least 0; got {factors[j]:g} for "
                f"{_feature(j, names)}."
            )
        return Weighted(self.penalty, factors)

    def of(self, S: np.ndarray) -> "Weighted":
        return Weighted(self.penalty, self.factors[S])

    def compiled(self) -> NamedTuple:
        return _Weighted(self.penalty.compiled(), self.factors)

    def values(self, w: np.ndarray) -> np.ndarray:
        return self.factors * self.penalty.values(w)

    def pieces(self, w: np.ndarray) -> Pieces:
        left, right, bend, start, end = self.penalty.pieces(w)
        f, free = self.factors, self.factors == 0.0
        ends = np.where(free, -np.inf, start), np.where(free, np.inf, end)
        return Pieces(f * left, f * right, f * bend, *ends)

    def farthest(self, v: np.ndarray) -> np.ndarray:
        free = self.factors == 0.0
        w = self.penalty.farthest(v / np.where(free, 1.0, self.factors))
        return np.where(free, np.where(v == 0.0, 0.0, np.copysign(np.inf, v)), w)

    def reach(self, v: np.ndarray) -> float:
        paid = self.factors > 0.0
        return 0.0 if v[~paid].any() else self.penalty.reach(v[paid] / self.factors[paid])


class _Bounded(NamedTuple):
    inner: Any
    lower: np.ndarray
    upper: np.ndarray


@prox1_of(_Bounded)
def _clipped1(penalty, j, u, step):
    # the minimum of a convex function on an interval
    return min(max(prox1(penalty.inner, j, u, step), penalty.lower[j]), penalty.upper[j])


class Bounded(Penalty):
    """A convex penalty on a box: lower_j ≤ w_j ≤ upper_j for the unscaled features.

    `value` is valid for w in the box.

    Parameters
    ----------
    penalty : Penalty
        A convex penalty.
    coef_bounds : pair, array-like of shape (d, 2), or mapping of feature name to pair
        (lower, upper) for all features, for each feature, or for named ones; 0 must lie between
        them, and None means no bound.
    """

    name = "bounded"

    def __init__(self, penalty: Penalty, coef_bounds: Any) -> None:
        self.penalty = penalty
        self.coef_bounds = coef_bounds

    def check(self) -> None:
        inner = self.penalty
        if isinstance(inner, Penalty):
            inner.check()
        if (
            not isinstance(inner, Penalty)
            or isinstance(inner, Bounded)
            or ("convex" not in inner.offers)
        ):
            raise ValueError(
                f"coef_bounds need a convex penalty without bounds of its own; got {inner!r}."
            )

    @property
    def setting(self) -> str:
        return f"{self.penalty.setting} and coef_bounds"

    @property
    def convexity(self) -> float:
        return self.penalty.convexity

    def named(self, d: int, names: Sequence[str] | None) -> "Bounded":
        free = (-np.inf, np.inf)
        bounds = _by_feature(self.coef_bounds, free, "coef_bounds", d, names)
        wrong = np.flatnonzero((bounds[:, 0] > 0.0) | (bounds[:, 1] < 0.0))
        if len(wrong):
            j = int(wrong[0])
            low, high = bounds[j]
            raise ValueError(
                "coef_bounds must be pairs with lower ≤ 0 ≤ upper, as a coefficient of 0 leaves "
                f"its feature out; got ({low:g}, {high:g}) for {_feature(j, names)}."
            )
        return Bounded(self.penalty.named(d, names), bounds)

    def scaled(self, factor: np.ndarray | None) -> "Bounded":
        if factor is None:
            return self
        units = np.where(factor > 0.0, factor, 1.0)[:, None]
        return Bounded(self.penalty.scaled(factor), self.coef_bounds / units)

    def of(self, S: np.ndarray) -> "Bounded":
        return Bounded(self.penalty.of(S), self.coef_bounds[S])

    @property
    def _ends(self) -> tuple[np.ndarray, np.ndarray]:
        return self.coef_bounds[:, 0], self.coef_bounds[:, 1]

    def compiled(self) -> NamedTuple:
        return _Bounded(self.penalty.compiled(), *map(np.ascontiguousarray, self._ends))

    def values(self, w: np.ndarray) -> np.ndarray:
        return self.penalty.values(w)

    def pieces(self, w: np.ndarray) -> Pieces:
        (lower, upper), (left, right, bend, start, end) = self._ends, self.penalty.pieces(w)
        return Pieces(
            np.where(w <= lower, -np.inf, left),
            np.where(w >= upper, np.inf, right),
            bend,
            np.maximum(start, lower),
            np.minimum(end, upper),
        )

    def farthest(self, v: np.ndarray) -> np.ndarray:
        return np.clip(self.penalty.farthest(v), *self._ends)

    def reach(self, v: np.ndarray) -> float:
        ahead = np.where(v > 0.0, self._ends[1], self._ends[0])
        return self.penalty.reach(np.where(np.isinf(ahead), v, 0.0))
