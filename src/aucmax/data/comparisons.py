"""Rows of many degrees, each compared with all rows of a lower one: sums over these pairs.

The weight of a pair is p_ij = ahead_i · behind_j, a product of q numbers for each row: of one if
all pairs count the same, of two if they count by the difference of their degrees, as y_i − y_j is
(y_i, 1)·(1, −y_j). So a sum over the pairs of a row is one over rows of lower, or of higher degree.
For all pairs it takes one pass over the rows by degree; for pairs whose scores must also be close,
one over the rows by score, with a tree of sums by degree (Lee & Lin 2014, "Large-scale linear
RankSVM"; Pölsterl, Navab & Katouzian 2015, "Fast training of support vector machines for survival
analysis").
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aucmax.data.degrees import Degrees, GradeWeight
from aucmax.data.rows.sorting import ascending, grouped
from aucmax.data.rows.sweep import Sweep, reaches
from aucmax.data.strata import Strata, StrataWeight

__all__ = ["Comparisons"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Comparisons:
    """Pairs of rows, the first of which should rank above the second.

    Parameters
    ----------
    rank : ndarray of int32, shape (n,)
        The place of each row's degree among those of its stratum, the lowest 0.
    ahead, behind : ndarray, shape (n, q)
        p_ij = ahead_i · behind_j, if i has the higher degree.
    lower, higher : Sweep
        Those of the partners below and above each row.
    strata : Strata
        Only rows of one stratum are compared.
    """

    rank: NDArray[np.int32]
    ahead: Floats
    behind: Floats
    lower: Sweep
    higher: Sweep
    strata: Strata

    @classmethod
    def of(
        cls,
        degrees: Degrees,
        weight: NDArray[Any] | None = None,
        strata: Strata | None = None,
        grade_weight: GradeWeight = "equal",
    ) -> Comparisons:
        """Return all pairs of rows whose order is known.

        Parameters
        ----------
        degrees : Degrees
            Of n rows.
        weight : ndarray, shape (n,), optional
            A pair has the product of its rows' weights.
        strata : Strata, optional
            By default all rows are compared.
        grade_weight : {"equal", "difference"}
            Whether that is also multiplied by the difference of the degrees.
        """
        n = len(degrees)
        if strata is None:
            strata = Strata(np.zeros(n, np.int32), np.zeros(1, np.uint64))
        rows = np.lexsort((degrees.value, strata.code))
        start = np.searchsorted(strata.code[rows], np.arange(len(strata) + 1))
        sorted_values = degrees.value[rows]
        begins = np.ones(n, dtype=bool)  # of a degree
        begins[1:] = sorted_values[1:] != sorted_values[:-1]
        begins[start[:-1]] = True
        first = np.flatnonzero(begins)
        of_row = np.cumsum(begins) - 1  # the degree at each place, counted through all strata
        rank = np.empty(n, np.int32)
        lowest = of_row[start[:-1]]
        rank[rows] = of_row - np.repeat(lowest, np.diff(start))
        own = np.ones(n) if weight is None else weight.astype(np.float64)
        ahead, behind = (own * degrees.observed)[:, None], own[:, None]
        if grade_weight == "difference":
            above = degrees.value - sorted_values[start[:-1]][strata.code]  # the lowest: no digits
            ahead, behind = ahead * _paired(above, 1.0), behind * _paired(1.0, -above)
        flat, end = np.zeros(n, np.int32), np.append(first[1:], n)
        lower = Sweep(rows, start, first[of_row], flat, 1)
        higher = Sweep(rows[::-1].copy(), n - start[::-1], n - end[of_row][::-1], flat, 1)
        return cls(rank, ahead, behind, lower, higher, strata)

    def __len__(self) -> int:
        return len(self.rank)

    @cached_property
    def lead(self) -> Floats:
        """The weight of each row's pairs with rows of lower degree, shape (n,)."""
        return _dots(self.ahead, self.lower.sums(self.behind))

    @cached_property
    def trail(self) -> Floats:
        """The weight of each row's pairs with rows of higher degree, shape (n,)."""
        return _dots(self.behind, self.higher.sums(self.ahead))

    def product(self, u: Floats) -> Floats:
        """Return Σ_j p_ij (u_i − u_j) over all partners j of each row, shape (n,)."""
        below = self.lower.sums(self.behind * u[:, None])
        above = self.higher.sums(self.ahead * u[:, None])
        return (self.lead + self.trail) * u - _dots(self.ahead, below) - _dots(self.behind, above)

    def of_stratum(self, values: Floats) -> Floats:
        """Return the sum of values (n,) in each stratum, shape (G,)."""
        return np.bincount(self.strata.code, values, len(self.strata)).astype(np.float64)

    def apart(self, values: Floats) -> Floats:
        """Return values (n,) minus that of a row of the stratum: differences keep their digits."""
        return values - values[self.lower.rows[self.lower.start[:-1]]][self.strata.code]

    def normalised(self, own: Floats, weighting: StrataWeight) -> Comparisons:
        """Return pairs whose weights sum to 1, and in each stratum to ω.

        Parameters
        ----------
        own : ndarray, shape (n,)
            The weights of the rows.
        weighting : {"positives", "pairs", "strata"}
            What ω is proportional to: the weight of the rows that rank above another; that of the
            pairs; or 1.
        """
        pairs = self.of_stratum(self.lead)
        of_stratum = {
            "positives": self.of_stratum(own * (self.lead > 0.0)), "pairs": pairs,
            "strata": np.ones(len(pairs)),
        }[weighting]  # fmt: skip
        omega = np.where(pairs > 0.0, of_stratum, 0.0)
        factor = np.divide(omega, pairs, out=np.zeros_like(pairs), where=pairs > 0.0)
        factor /= omega.sum()
        return replace(self, ahead=self.ahead * factor[self.strata.code, None])

    def at(self, rows: NDArray[Any]) -> Comparisons:
        """Return the pairs among some of the rows, with the weights that they have."""
        degrees = Degrees(self.rank[rows].astype(np.float64), np.ones(len(rows), dtype=bool))
        pairs = Comparisons.of(degrees, strata=self.strata.at(rows))
        return replace(pairs, ahead=self.ahead[rows], behind=self.behind[rows])

    def near(self, z: Floats, margin: float, closed: bool = False) -> Comparisons:
        """Return only the pairs with z_i − z_j below a margin, or also those at it if ``closed``.

        Parameters
        ----------
        z : ndarray, shape (n,)
            Scores.
        """
        n, start = len(z), self.lower.start
        rows = ascending(z, np.arange(n))
        if len(self.strata) > 1:
            rows, _ = grouped(self.strata.code, len(self.strata), rows)
        reach, first = reaches(z[rows], start, margin, closed)
        top = self.rank[self.lower.rows[start[1:] - 1]]  # the highest of each stratum
        down = top[self.strata.code] - self.rank
        return replace(
            self,
            lower=Sweep(rows[::-1].copy(), n - start[::-1], n - first[::-1], self.rank, 0),
            higher=Sweep(rows, start, reach, down, 0),
        )


def _paired(first: Any, second: Any) -> Floats:
    """Return numbers (n,) or a constant, side by side, (n, 2)."""
    return np.stack(np.broadcast_arrays(first, second), axis=-1)


def _dots(a: Floats, b: Floats) -> Floats:
    return np.einsum("nq,nq->n", a, b)
