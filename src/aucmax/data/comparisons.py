"""Sums over pairs of rows of many degrees: each row is compared with all rows of a lower degree.

The weight of a pair is the inner product p_ij = ahead_i · behind_j, of q numbers for each row: q is
1 if all pairs count the same, and 2 if a pair counts by the difference of its degrees, because
y_i − y_j = (y_i, 1)·(1, −y_j). So sums over pairs become sums over rows: over those of lower
degree, in one pass by degree; and over those whose score is also near, in two sweeps by score with
a tree of the degrees, in O(n log n) (as in Lee & Lin 2014, "Large-scale linear RankSVM", and
Pölsterl, Navab & Katouzian 2015, "Fast training of support vector machines for survival analysis").
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aucmax.data.degrees import Degrees, GradeWeight
from aucmax.data.rows.partners import AllPartners, NearPartners
from aucmax.data.rows.sorting import ascending, grouped
from aucmax.data.strata import Strata, StrataWeight

__all__ = ["Comparisons"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Comparisons:
    """Pairs of rows, the first of which should rank above the second.

    Parameters
    ----------
    level : ndarray of int32, shape (n,)
        The rank of each row's degree, counted from the lowest degree of the first stratum.
    ahead, behind : ndarray, shape (n, q)
        p_ij = ahead_i · behind_j, if i has the higher degree.
    partners : AllPartners or NearPartners
        The order of the rows, by stratum and degree, and which of them form pairs.
    strata : Strata
        Only rows of one stratum are compared.
    """

    level: NDArray[np.int32]
    ahead: Floats
    behind: Floats
    partners: AllPartners | NearPartners
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
            Those of n rows.
        weight : ndarray, shape (n,), optional
            The weight of a pair is the product of its rows' weights.
        strata : Strata, optional
            By default all rows are compared.
        grade_weight : {"equal", "difference"}
            Whether this product is also multiplied by the difference of the degrees.
        """
        n = len(degrees)
        if strata is None:
            strata = Strata(np.zeros(n, np.int32), np.zeros(1, np.uint64))
        rows = np.argsort(degrees.value)
        rows, start = grouped(strata.code, len(strata), rows)
        values = degrees.value[rows]
        begins = np.ones(n, dtype=bool)  # whether a degree begins here
        begins[1:] = values[1:] != values[:-1]
        begins[start[:-1]] = True
        level = np.empty(n, np.int32)
        level[rows] = np.cumsum(begins, dtype=np.int32) - 1
        own = np.ones(n) if weight is None else weight.astype(np.float64)
        ahead, behind = (own * degrees.observed)[:, None], own[:, None]
        if grade_weight == "difference":
            above = degrees.value - values[start[:-1]][strata.code]  # differences keep their digits
            ahead, behind = ahead * _paired(above, 1.0), behind * _paired(1.0, -above)
        bounds = np.append(np.flatnonzero(begins), n)
        first = np.searchsorted(bounds, start)
        return cls(level, ahead, behind, AllPartners(rows, bounds, first), strata)

    def __len__(self) -> int:
        return len(self.level)

    @property
    def rows(self) -> NDArray[np.intp]:
        """The rows ordered by stratum, then by degree; after `near`, by score."""
        return self.partners.rows

    @property
    def start(self) -> NDArray[np.intp]:
        """The position in `rows` at which each stratum begins, and the end."""
        return self.partners.start

    def sums(self, margin: float, u: Floats) -> tuple[Floats, Floats]:
        """Return Σ p_ij (margin − u_i + u_j) by the upper row i and by the lower row j, (n,) each.

        Parameters
        ----------
        margin : float
        u : ndarray, shape (n,)
        """
        return self.partners.sums(self.ahead, self.behind, margin, u)

    def scaled(self, factor: Floats) -> Comparisons:
        """Return pairs whose weights are multiplied by a factor of each upper row, (n,).

        The factor is the same within a stratum, so that the weights of lower rows follow.
        """
        scaled = replace(self, ahead=self.ahead * factor[:, None])
        scaled.__dict__["_masses"] = tuple(factor * mass for mass in self._masses)
        return scaled

    @cached_property
    def _masses(self) -> tuple[Floats, Floats]:
        return self.sums(1.0, np.zeros(len(self)))

    @property
    def lead(self) -> Floats:
        """The weight of each row's pairs with rows of lower degree, shape (n,)."""
        return self._masses[0]

    @property
    def trail(self) -> Floats:
        """The weight of each row's pairs with rows of higher degree, shape (n,)."""
        return self._masses[1]

    def product(self, u: Floats) -> Floats:
        """Return Σ_j p_ij (u_i − u_j) over all partners j of each row, shape (n,)."""
        below, above = self.sums(0.0, u)
        return above - below

    def of_stratum(self, values: Floats) -> Floats:
        """Return the sum of values (n,) in each stratum, shape (G,)."""
        return np.bincount(self.strata.code, values, len(self.strata)).astype(np.float64)

    def apart(self, values: Floats) -> Floats:
        """Return values (n,) minus that of a row of the stratum: differences keep their digits."""
        return values - values[self.rows[self.start[:-1]]][self.strata.code]

    def normalised(self, own: Floats, weighting: StrataWeight) -> Comparisons:
        """Return pairs whose weights sum to ω in each stratum, and to 1 in all.

        Parameters
        ----------
        own : ndarray, shape (n,)
            The weights of the rows.
        weighting : {"positives", "pairs", "strata"}
            What ω is proportional to: the weight of the rows that rank above another; the weight
            of the pairs; or 1.
        """
        pairs = self.of_stratum(self.lead)
        of_stratum = {
            "positives": self.of_stratum(own * (self.lead > 0.0)), "pairs": pairs,
            "strata": np.ones(len(pairs)),
        }[weighting]  # fmt: skip
        omega = np.where(pairs > 0.0, of_stratum, 0.0)
        factor = np.divide(omega, pairs, out=np.zeros_like(pairs), where=pairs > 0.0)
        factor /= omega.sum()
        return self.scaled(factor[self.strata.code])

    def at(self, rows: NDArray[Any]) -> Comparisons:
        """Return the pairs among some of the rows, with unchanged weights."""
        degrees = Degrees(self.level[rows].astype(np.float64), np.ones(len(rows), dtype=bool))
        pairs = Comparisons.of(degrees, strata=self.strata.at(rows))
        return replace(pairs, ahead=self.ahead[rows], behind=self.behind[rows])

    def near(self, z: Floats, reach: float, closed: bool = False) -> Comparisons:
        """Return the pairs with z_i − z_j below ``reach``, or also equal to it if ``closed``.

        Parameters
        ----------
        z : ndarray, shape (n,)
            Scores.
        """
        rows = ascending(z, np.arange(len(z)))
        rows, start = grouped(self.strata.code, len(self.strata), rows)
        partners = NearPartners(rows, start, self.level, z, reach, closed)
        return replace(self, partners=partners)


def _paired(first: Any, second: Any) -> Floats:
    """Return numbers (n,) or a constant, side by side, (n, 2)."""
    return np.stack(np.broadcast_arrays(first, second), axis=-1)
