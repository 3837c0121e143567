"""Strata: only rows of the same stratum are compared.

Scores in different strata need not be comparable: J = Σ_g ω_g · mean over the pairs within g, with
Σ ω_g = 1. Each class then has the weight ω_g in stratum g, divided in proportion to the weights of
its rows there, and the weight of a pair is the product of its rows' weights, divided by ω_g.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from functools import cached_property
from hashlib import blake2b
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from aucmax.data.columns import is_gap
from aucmax.data.digests import mixed
from aucmax.data.rows.sorting import grouped

__all__ = [
    "QUERY",
    "STRATA_IN_ORDER",
    "Compared",
    "Strata",
    "StrataWeight",
    "came_again",
    "check_strata_weight",
    "digest_of",
    "omega_of",
    "strata_name",
    "stratum_of",
]

StrataWeight = Literal["positives", "pairs", "strata"]
QUERY = "qid"  # the name of strata in svmlight text
STRATA_IN_ORDER = "the rows of a stratum must come one after another; sort them by stratum"
_WHOLE, _DAY = re.compile("-?[1-9][0-9]*|0"), re.compile("[0-9]{4}-[0-9]{2}-[0-9]{2}")


def check_strata_weight(value: Any) -> None:
    """Raise ValueError unless the value is one of the ways to weigh strata."""
    if value not in get_args(StrataWeight):
        raise ValueError(f"strata_weight must be 'positives', 'pairs' or 'strata'; got {value!r}.")


def came_again(stratum: Any) -> str:
    """Return the message for a stratum whose rows do not come one after another."""
    name = stratum if isinstance(stratum, int | float) else str(stratum)
    return f"the stratum {name!r} comes again after others: {STRATA_IN_ORDER}"


def omega_of(weighting: StrataWeight, positives: Any, negatives: Any, one: Any) -> Any:
    """Return ω, up to a factor, for strata with both classes, from the weights of the classes."""
    return {"positives": positives, "pairs": positives * negatives, "strata": one}[weighting]


def strata_name(values: Any) -> str | None:
    """Return the name of strata if their values have one, as a column of a data frame does."""
    name = getattr(values, "name", None)
    return name if isinstance(name, str) else None


def stratum_of(word: str) -> int | date | str:
    """Return the stratum that a word means: a whole number or a day in the usual form, or the word.

    So the text "7" and the number 7 are the same stratum, while "07" is another.
    """
    if _WHOLE.fullmatch(word) and -(2**63) <= int(word) < 2**63:
        return int(word)
    try:
        return date.fromisoformat(word) if _DAY.fullmatch(word) else word
    except ValueError:  # such as for the 31st of February
        return word


@dataclass(frozen=True, eq=False)
class Strata:
    """The stratum of each of n rows.

    Parameters
    ----------
    code : ndarray of int32, shape (n,)
        The index of the stratum, 0 … G − 1.
    digests : ndarray of uint64, shape (G,)
        A digest of the name of each stratum: equal for equal numbers and for equal words, and for a
        word and the number or day that it means (`stratum_of`).
    weighting : {"positives", "pairs", "strata"}
        What ω_g is proportional to: the weight of the positives, the weight of the pairs, or 1.
    memory : ndarray, shape (G,), optional
        Factors of ω_g and of the rows' own weights, by which old strata fade.
    """

    code: NDArray[np.int32]
    digests: NDArray[np.uint64]
    weighting: StrataWeight = "positives"
    memory: NDArray[np.float64] | None = None

    @classmethod
    def of(cls, values: Any, n: int, weighting: StrataWeight = "positives") -> Strata:
        """Return the strata of rows from one value for each row.

        Raises
        ------
        ValueError
            If there is not one value for each of n rows, or a value is missing.
        """
        check_strata_weight(weighting)
        values = np.asarray(values)
        if values.shape != (n,):
            raise ValueError(f"strata must have one value for each of {n:,} rows, shape ({n},); "
                             f"got shape {values.shape}.")  # fmt: skip
        digests, code = _coded(values)
        return cls(code.astype(np.int32), digests, weighting)

    @classmethod
    def joined(cls, parts: Sequence[Strata]) -> Strata:
        """Return the strata of all rows of some parts, in order."""
        digests, number = np.unique(
            np.concatenate([part.digests for part in parts]), return_inverse=True
        )
        first = np.cumsum([0, *map(len, parts)])
        code = [
            number[start : start + len(part)].astype(np.int32)[part.code]
            for start, part in zip(first[:-1], parts, strict=True)
        ]
        return cls(np.concatenate(code), digests, parts[0].weighting)

    def __len__(self) -> int:
        return len(self.digests)

    def weighed(self, weighting: StrataWeight) -> Strata:
        """Return the same strata with other weights."""
        return replace(self, weighting=weighting)

    def at(self, rows: NDArray[Any]) -> Strata:
        """Return the strata of some rows, without strata that have no row left."""
        code = self.code[rows]
        present = np.bincount(code, minlength=len(self)) > 0
        number = np.cumsum(present, dtype=np.int32) - np.int32(1)
        return Strata(number[code], self.digests[present], self.weighting)

    @cached_property
    def order(self) -> NDArray[np.intp]:
        """The rows, stratum by stratum."""
        return grouped(self.code, len(self))[0]

    def remembered(self, weight: NDArray[Any] | None) -> NDArray[Any] | None:
        """Return the rows' own weights times the memory of their strata; None if all are 1."""
        if self.memory is None:
            return weight
        of_row = self.memory[self.code]
        return of_row if weight is None else of_row * weight

    def compared(self, positive: NDArray[np.bool_], weight: NDArray[Any] | None) -> Compared:
        """Return the weights with which strata and rows count, from the rows' own weights."""
        side = 2 * self.code.astype(np.intp) + positive
        sums = np.bincount(side, weight, 2 * len(self)).reshape(-1, 2).astype(np.float64)
        negative, of_positives = sums.T
        of_stratum = omega_of(self.weighting, of_positives, negative, np.ones(len(self)))
        of_stratum = np.where((negative > 0.0) & (of_positives > 0.0), of_stratum, 0.0)
        if self.memory is not None:
            of_stratum = of_stratum * self.memory
        per_weight = np.divide(
            of_stratum[:, None], sums, out=np.zeros_like(sums), where=sums > 0.0
        ).ravel()[side]
        return Compared(of_stratum, per_weight if weight is None else per_weight * weight)


@dataclass(frozen=True, eq=False)
class Compared:
    """The weights with which strata and rows count; 0 in a stratum of one class.

    Parameters
    ----------
    of_stratum : ndarray, shape (G,)
        ω up to a factor.
    of_row : ndarray, shape (n,)
        In each class they sum to the weight of the stratum.
    """

    of_stratum: NDArray[np.float64]
    of_row: NDArray[np.float64]

    @property
    def shares(self) -> Compared:
        """The same weights, which sum to 1 in each class."""
        total = self.of_stratum.sum()
        return Compared(self.of_stratum / total, self.of_row / total)

    @property
    def of_one_class(self) -> int:
        """The number of strata in which nothing can be compared."""
        return int(np.count_nonzero(self.of_stratum == 0.0))


def _coded(values: NDArray[Any]) -> tuple[NDArray[np.uint64], NDArray[Any]]:
    """Return the digests of the distinct values, and for each value the index of its digest."""
    if values.dtype.kind in "iu" and len(values):
        low, high = int(values.min()), int(values.max())
        if high - low <= 4 * len(values):  # counting is faster than sorting
            offset = (values - low).astype(np.intp)
            present = np.bincount(offset) > 0
            distinct = (np.flatnonzero(present) + low).astype(values.dtype)
            return _bits(distinct), (np.cumsum(present) - 1)[offset]
    digests, code = np.unique(_bits(values), return_inverse=True)
    return digests, code


def _bits(values: NDArray[Any]) -> NDArray[np.uint64]:
    """Return 64 bits for each value: those of a number or day, or a hash of any other word."""
    kind = values.dtype.kind
    if kind in "mM":
        _refuse_gaps(np.isnat(values))
        return _bits(values.astype(f"{kind}8[ns]").view(np.int64))
    if kind == "f":
        _refuse_gaps(np.isnan(values))
        numbers = values.astype(np.float64)
        integral = (numbers == np.floor(numbers)) & (np.abs(numbers) < 2.0**63)
        integers = np.where(integral, numbers, 0.0).astype(np.int64)
        return np.where(integral, _bits(integers), ~mixed(numbers.view(np.uint64)))
    if kind in "biu":
        return mixed(values.astype(np.uint64 if kind == "u" else np.int64).view(np.uint64))
    place: dict[Any, int] = {}
    code = [place.setdefault(value, len(place)) for value in values.tolist()]
    _refuse_gaps(np.array([is_gap(value) for value in place], bool)[code])
    return np.array([_bits_of(value) for value in place], np.uint64)[code]


def digest_of(stratum: Any) -> int:
    """Return the digest of one stratum, the same as in `Strata.of`."""
    return int(_bits_of(stratum))


def _bits_of(value: Any) -> np.uint64:
    """Return the bits of one value; those of a number or a date are the same as in an array."""
    if isinstance(value, str):
        value = stratum_of(value)
    if (
        isinstance(value, (bool, int, float, np.number, np.bool_))
        and np.asarray(value).dtype != "O"
    ):
        return _bits(np.asarray([value]))[0]
    if isinstance(value, date):
        if isinstance(value, datetime) and value.tzinfo is not None:
            value = value.astimezone(UTC).replace(tzinfo=None)
        return _bits(np.asarray([value], "datetime64[us]"))[0]
    return np.frombuffer(blake2b(str(value).encode(), digest_size=8).digest(), np.uint64)[0]


def _refuse_gaps(missing: NDArray[np.bool_]) -> None:
    """Raise ValueError if a row has no stratum."""
    if missing.any():
        raise ValueError(
            f"strata has no value for {int(missing.sum()):,} rows, the first being row "
            f"{int(np.argmax(missing)):,} (counted from 0); give every row a stratum, or leave "
            "these rows out."
        )
