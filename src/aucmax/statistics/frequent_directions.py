"""Frequent directions: class moments with a sketch of the covariances in O(rank · d) numbers."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy.linalg import eigh

from aucmax.basics.checks import number
from aucmax.data.rows import CSR, Rows, n_features, take_rows
from aucmax.statistics.base import ClassStatistics, Part
from aucmax.statistics.centred import Centred
from aucmax.statistics.diagonal import DiagonalMoments
from aucmax.statistics.strata import SeenFromStrata

__all__ = ["FrequentDirections"]

BLOCK_ROWS = 512  # rows to add at a time
BLOCK_BYTES = 64e6  # maximum size of such a block if it is dense
_DIRECTIONS_AT_A_TIME = 8


class FrequentDirections(DiagonalMoments):
    """Counts, means, variances, and a low-rank sketch of each class covariance.

    Let A be the centred rows of a class times the square roots of their weights. For each class a
    matrix B of ``rank`` rows is kept such that

        0 ⪯ AᵀA − BᵀB ⪯ Δ I,    Δ ≤ ‖A‖_F² / (rank + 1).

    Blocks of rows are stacked under B; the singular values of the stack are shrunk by
    σ² ← max(σ² − σ²_{rank+1}, 0), and Δ is the sum of the σ²_{rank+1}. Adding two sketches works
    the same way, with an extra row √(Tt/(T+t)) (c′ − c) for the difference of the means, so rows
    need not be centred beforehand. The variances are exact; `within` adds what BᵀB lacks on the
    diagonal, as D.

    Each class has its own B, because Σ₊ and Σ₋ are divided by the weights of their classes, which
    change in the course of a stream.

    Parameters
    ----------
    rank : int
        The number of rows of B for each class.
    classes, feature_names
        As for `ClassMoments`.

    Notes
    -----
    The division of rows into calls changes B within its bound, but not counts, means or variances.
    Sparse rows stay sparse: only B and one more row are dense. Rows cannot be subtracted.

    References
    ----------
    Liberty (2013), "Simple and deterministic matrix sketching". Ghashami, Liberty, Phillips &
    Woodruff (2016), "Frequent directions", for sums of sketches.
    """

    kind = "directions"
    _settings = ("rank",)

    def __init__(
        self,
        rank: int = 50,
        classes: Sequence[Any] | np.ndarray | None = None,
        feature_names: Sequence[str] | None = None,
    ) -> None:
        self.rank = int(number(rank, "rank", low=1, whole=True))
        super().__init__(classes, feature_names)

    @property
    def rows(self) -> np.ndarray:
        """B of each class, shape (K, min(rank, d), d)."""
        return self._parts["rows"]

    @property
    def lost(self) -> np.ndarray:
        """Δ of each class, shape (K,), a bound on ‖AᵀA − BᵀB‖."""
        return self._parts["lost"]

    def __repr__(self) -> str:
        return f"rank-{self.rank} {super().__repr__()}"

    def taken_from(self, other: ClassStatistics) -> "FrequentDirections":
        """Return a sketch of this rank, computed from statistics with full covariances."""
        if not other.has_covariances:
            return ClassStatistics.taken_from(self, other)
        sketch = self.empty(other.classes)
        sketch.feature_names, sketch._declared = other.feature_names, other._declared
        sketch.strata = other.strata
        d = other.n_features
        sketch._grow(other.classes, d)
        for label, part in other._each():
            values, U = eigh(part["counts"] * part["covariances"])
            scatter = np.sqrt(np.maximum(values, 0.0))[:, None] * U.T
            rows, lost = _cut(scatter, self._directions(d))
            summary = part | {"variances": other._variance(part)}
            sketch._add(label, summary | {"rows": self._padded(rows), "lost": lost})
        return sketch

    def decay(self, gamma: float) -> "FrequentDirections":
        decayed = super().decay(gamma)
        decayed._parts["rows"] *= np.sqrt(gamma)
        decayed._parts["lost"] *= gamma
        return decayed

    def within(self, weights: Sequence[float] = (1.0, 1.0)) -> tuple[np.ndarray, np.ndarray]:
        T = np.where(self.counts > 0, self.counts, 1.0)
        B = self.rows / np.sqrt(T)[:, None, None]
        residual = np.maximum(self.variances - np.einsum("krj,krj->kj", B, B), 0.0)
        B *= np.sqrt(weights)[:, None, None]
        return np.asarray(weights) @ residual, B.reshape(-1, self._d)

    def missed(self, weights: Sequence[float] = (1.0, 1.0)) -> float:
        T = np.where(self.counts > 0, self.counts, 1.0)
        return float(np.asarray(weights) @ (self.lost / T))

    def __sub__(self, other: Any) -> Any:
        raise ValueError(
            "rows cannot be subtracted from a sketch of frequent directions; use "
            "Exact(covariance='diagonal') or 'full'."
        )

    def check_state(self) -> None:
        super().check_state()
        scatter = self.counts[:, None] * self.variances
        rounding = 1e-6 * np.max(scatter, axis=1, initial=0.0)
        squares = np.einsum("krj,krj->kj", self.rows, self.rows)
        if np.any(squares > 1.001 * scatter + rounding[:, None]):
            raise ValueError("its sketch is larger than the variances of its classes")
        if np.any(self.lost > 1.001 * scatter.sum(axis=1) + rounding):
            raise ValueError("its error bound is larger than the total variance")

    # ---- inside

    def _directions(self, d: int) -> int:
        """Return the number of directions to keep, at most d."""
        return min(self.rank, d)

    def _padded(self, rows: np.ndarray) -> np.ndarray:
        padded = np.zeros((self._directions(rows.shape[1]), rows.shape[1]))
        padded[: len(rows)] = rows
        return padded

    def _shapes(self, d: int) -> dict[str, tuple[int, ...]]:
        return super()._shapes(d) | {"rows": (self._directions(d), d), "lost": ()}

    def _measure(self, X: Rows, rows: np.ndarray, share: np.ndarray) -> Part:
        part = super()._measure(X, rows, share)
        n, d = len(rows), n_features(X)
        B, lost = np.zeros((0, d)), 0.0
        rank = self._directions(d)
        step = max(BLOCK_ROWS, 2 * rank)
        if not isinstance(X, CSR):
            step = max(min(step, int(BLOCK_BYTES / (8 * max(d, 1)))), rank, 1)
        for lo in range(0, n, step):
            rows_of_block = slice(lo, lo + step)
            block = Centred(take_rows(X, rows[rows_of_block]), share[rows_of_block], part["means"])
            B, cut = _stacked(B, block, rank)
            lost += cut
        return part | {"rows": self._padded(B), "lost": lost}

    def _measure_seen(self, seen: SeenFromStrata, side: int) -> Part:
        return ClassStatistics._measure_seen(self, seen, side)

    def _join(self, mine: Part, part: Part) -> None:
        T, t = mine["counts"], part["counts"]
        shift = np.sqrt(T * t / (T + t)) * (part["means"] - mine["means"])
        M = np.vstack([mine["rows"], part["rows"], shift])
        rows, cut = _cut(M[np.any(M != 0.0, axis=1)], len(mine["rows"]))
        mine["rows"][...] = self._padded(rows)
        mine["lost"] += part["lost"] + cut
        super()._join(mine, part)


def _cut(M: np.ndarray, rank: int) -> tuple[np.ndarray, float]:
    """Return the sketch of M in ``rank`` rows, and the amount of the shrinkage."""
    return _shrunk(M @ M.T, lambda U: U.T @ M, rank)


def _stacked(B: np.ndarray, A: Centred, rank: int) -> tuple[np.ndarray, float]:
    """Return the sketch of B stacked on A, and the amount of the shrinkage."""
    b = len(B)
    # a few directions at a time, so that temporary arrays are small compared with B
    cross = [
        A.times(np.ascontiguousarray(B[lo : lo + _DIRECTIONS_AT_A_TIME].T))
        for lo in range(0, b, _DIRECTIONS_AT_A_TIME)
    ]
    lower = np.hstack([*cross, A.gram()])
    G = np.vstack([np.hstack([B @ B.T, lower[:, :b].T]), lower])

    def combine(U: np.ndarray) -> np.ndarray:
        product = U[:b].T @ B
        for lo in range(0, len(product), _DIRECTIONS_AT_A_TIME):
            product[lo : lo + _DIRECTIONS_AT_A_TIME] += A.adjoint(
                U[b:, lo : lo + _DIRECTIONS_AT_A_TIME]
            ).T
        return product

    return _shrunk(G, combine, rank)


def _shrunk(
    G: np.ndarray, combine: Callable[[np.ndarray], np.ndarray], rank: int
) -> tuple[np.ndarray, float]:
    """Shrink the squared singular values of M by the (rank + 1)-th.

    ``G`` is M Mᵀ and ``combine(U)`` is UᵀM. Returns at most ``rank`` rows, and the (rank + 1)-th
    squared singular value.
    """
    m = len(G)
    if m == 0:
        return combine(np.zeros((0, 0))), 0.0
    lowest = max(m - rank - 1, 0)
    values, U = eigh(G, subset_by_index=[lowest, m - 1], check_finite=False)
    cut = max(float(values[0]), 0.0) if m > rank else 0.0
    nonzero = values > max(cut, m * np.finfo(float).eps * max(float(values[-1]), 0.0))
    values, U = values[nonzero], U[:, nonzero]
    rows = combine(U)
    rows *= np.sqrt(1.0 - cut / values)[:, None]
    return rows, cut
