"""Statistics of rows that are compared within strata only.

A row is seen from the mean of the negatives of its stratum. J within strata then is the J of two
plain classes: with the weights ω_g of the strata, the means of such rows are 0 and δ = Σ ω_g δ_g,
and their covariances add up to Σ ω_g (Σ₊ᵍ + Σ₋ᵍ + (δ_g − δ)(δ_g − δ)ᵀ). All are sums over strata.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from aucmax.basics.archive import ArraySpec, Specs
from aucmax.basics.checks import is_whole
from aucmax.data.rows import Rows, compiled, n_features, row_add
from aucmax.data.strata import Compared, Strata, StrataWeight, check_strata_weight

__all__ = ["DIGESTS", "NO_STRATA", "KnownStrata", "SeenFromStrata", "seen_from_strata"]

_BLOCK_CELLS = 1 << 22  # of rows that are seen from their strata at a time


@dataclass(frozen=True, eq=False)
class KnownStrata:
    """The strata behind some statistics.

    Parameters
    ----------
    weighting : {"positives", "pairs", "strata"}
        What ω_g is proportional to.
    positive : label
        The class of which these are the positives.
    digests : ndarray of uint64, shape (G,)
        One for each stratum, ascending; two of 2³⁰ strata are taken for one with a chance of 3 %.
    of_one_class : int
        How many of them have rows of one class only, and no weight.
    """

    weighting: StrataWeight
    positive: Any
    digests: NDArray[np.uint64]
    of_one_class: int

    def __len__(self) -> int:
        return len(self.digests)

    def joined(self, other: KnownStrata) -> KnownStrata:
        """Return those of both; raise ValueError unless they are others, weighed alike."""
        self._check_alike(other)
        shared = np.intersect1d(self.digests, other.digests, assume_unique=True)
        if len(shared):
            raise ValueError(
                f"{len(shared):,} of the strata are in both; a stratum's rows are compared with "
                "each other, so give all rows of a stratum at once."
            )
        return replace(
            self,
            digests=np.union1d(self.digests, other.digests),
            of_one_class=self.of_one_class + other.of_one_class,
        )

    def without(self, other: KnownStrata) -> KnownStrata:
        """Return these without others; raise ValueError unless all of those are among these."""
        self._check_alike(other)
        unknown = np.setdiff1d(other.digests, self.digests, assume_unique=True)
        if len(unknown):
            raise ValueError(
                f"{len(unknown):,} of the strata to take out were never added; give whole strata "
                "that were."
            )
        left = np.setdiff1d(self.digests, other.digests, assume_unique=True)
        return replace(self, digests=left, of_one_class=self.of_one_class - other.of_one_class)

    def packed(self, classes: NDArray[Any]) -> tuple[dict[str, Any], NDArray[np.uint64]]:
        """Return what is written to a file, as JSON and as an array."""
        place = classes.tolist().index(self.positive)
        facts = {"weighting": self.weighting, "positive": place, "of_one_class": self.of_one_class}
        return facts, self.digests

    @classmethod
    def unpacked(
        cls, facts: dict[str, Any], digests: NDArray[np.uint64], classes: NDArray[Any]
    ) -> KnownStrata:
        """Return those that `packed` wrote."""
        check_strata_weight(facts["weighting"])
        place, of_one_class = facts["positive"], facts["of_one_class"]
        if not (is_whole(of_one_class) and place in range(len(classes))):
            raise ValueError("its strata are not described as they should be")
        if np.any(digests[1:] <= digests[:-1]):
            raise ValueError("the digests of its strata are not in order")
        return cls(facts["weighting"], classes.tolist()[place], digests, of_one_class)

    def _check_alike(self, other: KnownStrata) -> None:
        for name, mine, theirs in (
            ("strata_weight", self.weighting, other.weighting),
            ("a positive label", self.positive, other.positive),
        ):
            if mine != theirs:
                raise ValueError(
                    f"these statistics have {name} {mine!r}, the others {theirs!r}; "
                    "weigh strata alike in all parts."
                )


NO_STRATA = KnownStrata("positives", None, np.empty(0, np.uint64), 0)
DIGESTS: Specs = {"strata": ArraySpec(("strata",), np.uint64)}


class _Weights(NamedTuple):
    """Of n rows: whether they are positive, their share ω_g s, and their own weight."""

    positive: NDArray[np.bool_]
    share: NDArray[np.float64]
    own: NDArray[np.float64]


class SeenFromStrata(NamedTuple):
    """Some rows, seen from the means of the negatives of their strata.

    Parameters
    ----------
    X : ndarray, shape (m, d)
    positive : ndarray of bool, shape (m,)
    share : ndarray, shape (m,)
        Weights, which sum to ω_g in each class of stratum g, up to a factor.
    origin : ndarray, shape (d,)
        The mean of the negatives' means, weighed by the strata.
    scatter : ndarray, shape (2, d)
        Of each class, negatives first: Σ a (x − x̄_g)² with the rows' own weights a.
    own : ndarray, shape (2,)
        Σ a.
    """

    X: NDArray[np.float64]
    positive: NDArray[np.bool_]
    share: NDArray[np.float64]
    origin: NDArray[np.float64]
    scatter: NDArray[np.float64]
    own: NDArray[np.float64]


def seen_from_strata(
    X: Rows,
    positive: NDArray[np.bool_],
    weight: NDArray[Any] | None,
    strata: Strata,
    compared: Compared,
) -> Iterator[SeenFromStrata]:
    """Yield all rows that are compared with others, in blocks of whole strata.

    Parameters
    ----------
    X : ndarray or CSR, shape (n, d)
    positive, weight
        Of the rows.
    strata, compared
        Their strata, and the weights of both.
    """
    order = strata.order[compared.of_row[strata.order] > 0.0]
    code = strata.code[order]
    first = np.flatnonzero(np.diff(code, prepend=-1))
    end, d = np.append(first[1:], len(order)), n_features(X)
    own = np.ones(len(positive)) if weight is None else weight
    start = 0
    while start < len(first):
        stop = int(np.searchsorted(end, first[start] + max(_BLOCK_CELLS // max(d, 1), 1)))
        stop = min(max(stop, start) + 1, len(first))
        rows = order[first[start] : end[stop - 1]]
        weights = _Weights(positive[rows], compared.of_row[rows], own[rows].astype(np.float64))
        bounds = np.append(first[start:stop], end[stop - 1]) - first[start]
        seen, origin, scatter = np.zeros((len(rows), d)), np.zeros(d), np.zeros((2, d))
        _see(X, rows, bounds, weights, seen, origin, scatter)
        sums = np.bincount(weights.positive, weights.own, 2).astype(np.float64)
        total = compared.of_stratum[code[first[start:stop]]].sum()
        yield SeenFromStrata(seen, weights.positive, weights.share, origin / total, scatter, sums)
        start = stop


@compiled
def _see(X, rows, bounds, weights, out, origin, scatter):
    # rows minus the first of their stratum keep their digits; then minus the negatives' mean
    positive, share, own = weights
    d = out.shape[1]
    first, of_negatives, of_all = np.empty(d), np.empty(d), np.empty(d)
    for g in range(len(bounds) - 1):
        low, high = bounds[g], bounds[g + 1]
        first[:] = 0.0
        row_add(X, rows[low], 1.0, first)
        of_negatives[:], of_all[:], omega, mass = 0.0, 0.0, 0.0, 0.0
        for k in range(low, high):
            out[k] = -first
            row_add(X, rows[k], 1.0, out[k])
            mass += own[k]
            for j in range(d):
                of_all[j] += own[k] * out[k, j]
            if not positive[k]:
                omega += share[k]
                for j in range(d):
                    of_negatives[j] += share[k] * out[k, j]
        for j in range(d):
            of_negatives[j] /= omega
            of_all[j] /= mass
            origin[j] += omega * (first[j] + of_negatives[j])
        for k in range(low, high):
            side = 1 if positive[k] else 0
            for j in range(d):
                scatter[side, j] += own[k] * (out[k, j] - of_all[j]) ** 2
                out[k, j] -= of_negatives[j]
