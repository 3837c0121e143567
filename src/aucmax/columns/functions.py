"""Functions of one column, which represent every feature of a table.

A function of numbers is `Pieces`: a polynomial in each interval, perhaps periodic, and a value for
gaps. A function of words is `Words`: a value for each word. Their sums are of the same kind, so a
linear model of such features is again a few functions of each column. `Word` is an unchanged column
of words, for a step to look up.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from itertools import pairwise
from math import comb
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from aucmax.data.columns import NO_WORD, is_gap, is_no_word

__all__ = [
    "Feature", "Function", "Pieces", "Product", "Word", "Words", "as_read", "by_column",
    "gap_pattern", "phase", "total",
]  # fmt: skip


class Function:
    """A function of a column; operations that a kind of function lacks raise ValueError.

    The methods correspond to steps: a scaler or bins that follow (`then`), an imputer (`filled`),
    an indicator of gaps (`is_gap`), an encoder (`looked_up`); and to the model: a coefficient
    (`times`) and rows of unit norm (`squared`).
    """

    @property
    def family(self) -> Hashable:
        """A key: functions of a column with the same key add up to one function."""
        return type(self).__name__

    def __call__(self, x: NDArray[Any], dtype: Any = np.float64) -> NDArray[Any]:
        """Return the values at x (n,), computed with the precision of ``dtype``."""
        raise self._as_it_is()

    def times(self, factor: float) -> Function:
        """Return factor · f."""
        raise self._as_it_is()

    def squared(self) -> Function:
        """Return f²."""
        raise self._as_it_is()

    def then(self, outer: Pieces) -> Function:
        """Return outer(f)."""
        raise self._as_it_is()

    def filled(self, value: Any) -> Function:
        """Return this function with a value for gaps, if they had none."""
        return self

    def is_gap(self) -> Function:
        """Return the function that is 1 at unfilled gaps, and 0 elsewhere."""
        raise NotImplementedError

    def looked_up(self, values: Mapping[Any, float], other: float) -> Words:
        """Return the function with a value for each of some words, and one for all others."""
        raise ValueError("categories of a transformed column cannot be exported.")

    @staticmethod
    def _as_it_is() -> ValueError:
        return ValueError("the model uses a column of words directly, which cannot be exported.")


@dataclass(frozen=True)
class Feature:
    """A function of a column.

    Parameters
    ----------
    column : int
        The position of the column.
    function : Function
        The function of its values.
    """

    column: int
    function: Function

    def then(self, outer: Pieces) -> Feature:
        """Return a function of the feature, as a function of its column."""
        return Feature(self.column, self.function.then(outer))

    def times(self, factor: float) -> Feature:
        """Return factor · f."""
        return Feature(self.column, self.function.times(factor))

    def squared(self) -> Feature:
        """Return f²."""
        return Feature(self.column, self.function.squared())

    def values(self, columns: Sequence[NDArray[Any]], dtype: Any = np.float64) -> NDArray[Any]:
        """Return the values in rows, given as columns, shape (n,)."""
        return self.function(columns[self.column], dtype)


@dataclass(frozen=True)
class Product:
    """A function of one column times a function of another.

    Parameters
    ----------
    first, second : Feature
        Products whose ``first`` is the same object add up to one product.
    """

    first: Feature
    second: Feature

    @property
    def function(self) -> NoReturn:
        """Raise ValueError: a step that changes features would need it."""
        raise ValueError("to export maps of pairs, the model must follow directly after them.")

    def then(self, outer: Pieces) -> Feature:
        """Raise ValueError: outer(f) is not a product."""
        return self.function

    def times(self, factor: float) -> Product:
        """Return factor · f."""
        return Product(self.first, self.second.times(factor))

    def squared(self) -> Product:
        """Return f²."""
        return Product(self.first.squared(), self.second.squared())

    def values(self, columns: Sequence[NDArray[Any]], dtype: Any = np.float64) -> NDArray[Any]:
        """Return the values in rows, given as columns, shape (n,)."""
        return self.first.values(columns, dtype) * self.second.values(columns, dtype)


@dataclass(frozen=True)
class Pieces(Function):
    """A function of a number: Σ_q coefs[i, q] (x − origins[i])^q in piece i.

    Parameters
    ----------
    knots : ndarray, shape (k,)
        Increasing; piece i is knots[i−1] ≤ x < knots[i].
    origins : ndarray, shape (k + 1,)
        Origins of the powers.
    coefs : ndarray, shape (k + 1, degree + 1)
        Coefficients of the powers.
    gap : float
        The value for a missing number; NaN if there is no score then.
    period : float, optional
        The function repeats: x is taken modulo this, see `phase`.
    """

    knots: NDArray[np.float64]
    origins: NDArray[np.float64]
    coefs: NDArray[np.float64]
    gap: float = np.nan
    period: float | None = None

    @classmethod
    def line(cls, slope: float = 1.0, at: float = 0.0, gap: float = np.nan) -> Pieces:
        """Return slope · (x − at)."""
        return cls(np.empty(0), np.array([at]), np.array([[0.0, slope]]), gap)

    @classmethod
    def steps(
        cls, knots: Any, values: Any, gap: float = np.nan, period: float | None = None
    ) -> Pieces:
        """Return the step function with a value between any two knots."""
        knots, values = (np.asarray(part, dtype=np.float64) for part in (knots, values))
        return cls(knots, np.zeros(len(values)), values[:, None], gap, period)

    @classmethod
    def between(cls, knots: NDArray[Any], values: NDArray[Any], gap: float = np.nan) -> Pieces:
        """Return the linear interpolation of values at some knots, constant beyond them."""
        slopes = np.concatenate([[0.0], np.diff(values) / np.diff(knots), [0.0]])
        starts, origins = (np.concatenate([part[:1], part]) for part in (values, knots))
        return cls(knots, origins, np.column_stack([starts, slopes]), gap)

    @property
    def is_line(self) -> bool:
        """Whether it is linear, except for gaps."""
        return self.period is None and not len(self.knots) and self.coefs.shape[1] == 2

    @property
    def is_unchanged(self) -> bool:
        """Whether it is the column itself, except for gaps."""
        return self.is_line and [*self.coefs[0], self.origins[0]] == [0.0, 1.0, 0.0]

    @property
    def family(self) -> Hashable:
        """A key: pieces with the same period add up."""
        return "Pieces", self.period

    def __call__(self, x: NDArray[Any], dtype: Any = np.float64) -> NDArray[Any]:
        """Return the values at x (n,), computed with the precision of ``dtype``."""
        knots, origins, coefs = (
            part.astype(dtype) for part in (self.knots, self.origins, self.coefs)
        )
        x = np.asarray(x, dtype=dtype)
        if self.period is not None:
            x = phase(x, dtype(self.period))
        piece = np.searchsorted(knots, x, side="right")
        piece[np.isnan(x)] = 0
        away = x - origins[piece]
        values = np.zeros(len(x), dtype=dtype)
        for column in coefs.T[::-1]:
            values = values * away + column[piece]
        return np.where(np.isnan(x), dtype(self.gap), values)

    def times(self, factor: float, plus: float = 0.0) -> Pieces:
        """Return factor · f + plus, gaps included."""
        coefs = factor * self.coefs
        coefs[:, 0] += plus
        return replace(self, coefs=coefs, gap=factor * self.gap + plus)

    def filled(self, value: Any) -> Pieces:
        """Return this function with a value for gaps, if they had none."""
        return replace(self, gap=float(value) if np.isnan(self.gap) else self.gap)

    def is_gap(self) -> Pieces:
        """Return the function that is 1 at unfilled gaps, and 0 elsewhere."""
        return Pieces.steps([], [0.0], gap=1.0 if np.isnan(self.gap) else 0.0)

    def squared(self) -> Pieces:
        """Return f²."""
        coefs = np.array([np.convolve(c, c) for c in self.coefs])
        return replace(self, coefs=coefs, gap=self.gap**2)

    def then(self, outer: Pieces) -> Pieces:
        """Return outer(f), if f has only lines or outer is a line."""
        if outer.period is not None and not self.is_unchanged:
            raise ValueError("the weekday or time of day of a changed column cannot be exported.")
        if outer.is_line and not (self.is_line and self.coefs[0, 1] > 0.0):
            (start, slope), at = outer.coefs[0], outer.origins[0]
            return self.times(slope, start - slope * at)
        if self.coefs.shape[1] > 2:
            raise ValueError(
                "bins or splines of a feature that is not linear in its column cannot be exported."
            )
        ends = np.concatenate([[-np.inf], self.knots, [np.inf]]).tolist()
        lines = np.pad(self.coefs, [(0, 0), (0, 2 - self.coefs.shape[1])])
        pieces = zip(pairwise(ends), self.origins, lines, strict=True)
        knots, origins, coefs = zip(*(_of_line(outer, *piece) for piece in pieces), strict=True)
        gap = outer.gap if np.isnan(self.gap) else float(outer(np.array([self.gap]))[0])
        return Pieces(
            np.concatenate(knots)[1:], np.concatenate(origins), np.concatenate(coefs),
            gap, outer.period if self.period is None else self.period,
        )  # fmt: skip

    def looked_up(self, values: Mapping[Any, float], other: float) -> Words:
        """Return a value for each of some numbers, and one for others, if f is the identity."""
        if not self.is_unchanged:
            return super().looked_up(values, other)
        return Words.filled_with(None if np.isnan(self.gap) else self.gap, values, other)

    def plus(self, other: Pieces) -> Pieces:
        """Return f + g, with the knots of both; their periods must be the same."""
        # a line moves to the origins of pieces, which are close to x, so that no digits are lost
        if (self.coefs.shape[1], len(self.knots)) < (other.coefs.shape[1], len(other.knots)):
            return other.plus(self)
        knots = np.union1d(self.knots, other.knots)
        # a new piece is in those pieces of f and g that contain its left end
        ends = np.concatenate([[-np.inf], knots])
        mine, theirs = (np.searchsorted(f.knots, ends, side="right") for f in (self, other))
        origins = self.origins[mine]
        coefs = np.zeros((len(origins), self.coefs.shape[1]))
        for i, (a, b) in enumerate(zip(mine, theirs, strict=True)):
            coefs[i] += self.coefs[a]
            coefs[i, : other.coefs.shape[1]] += moved(other.coefs[b], origins[i] - other.origins[b])
        return Pieces(knots, origins, coefs, self.gap + other.gap, self.period)


def _of_line(
    outer: Pieces, ends: tuple[float, float], at: float, line: NDArray[np.float64]
) -> tuple[Any, Any, Any]:
    """Return outer(start + slope · (x − at)) between two ends: knots from the lower end, pieces."""
    (low, high), (start, slope) = ends, line
    powers = slope ** np.arange(outer.coefs.shape[1])
    if slope == 0.0:
        return [low], [at], [np.append(outer(np.array([start])), np.zeros(len(powers) - 1))]
    turn = slice(None) if slope > 0.0 else slice(None, None, -1)
    knots, origins = (
        (points[turn] - start) / slope + at for points in (outer.knots, outer.origins)
    )
    inside = (low < knots) & (knots < high)
    place = int((knots <= low).sum())
    pieces = slice(place, place + int(inside.sum()) + 1)
    return [low, *knots[inside]], origins[pieces], (outer.coefs[turn] * powers)[pieces]


def phase(x: NDArray[Any], period: float) -> NDArray[Any]:
    """Return x modulo a period, by operations that SQL and ONNX have, so that bits agree."""
    return x - period * np.floor(x / period)


def moved(coefs: NDArray[np.float64], by: float) -> NDArray[np.float64]:
    """Return the coefficients of a polynomial in x, rewritten as a polynomial in x − by."""
    if by == 0.0:
        return coefs
    shifted = np.zeros_like(coefs)
    for power, coef in enumerate(coefs):
        for q in range(power + 1):
            shifted[q] += coef * comb(power, q) * by ** (power - q)
    return shifted


@dataclass(frozen=True)
class Words(Function):
    """A value for each of some words, or of numbers treated as words.

    Parameters
    ----------
    values : mapping
        The value of each word; the key None is for gaps.
    other : float
        The value of all other words; NaN if there is no score then.
    gap_words : bool
        Whether words such as ``n/a`` are gaps, as in files.
    """

    values: Mapping[Any, float]
    other: float = 0.0
    gap_words: bool = False

    @property
    def family(self) -> Hashable:
        """A key: tables in which the same words are gaps add up."""
        return "Words", self.gap_words

    @classmethod
    def filled_with(
        cls, word: Any, values: Mapping[Any, float], other: float, gap_words: bool = False
    ) -> Words:
        """Return a table in which gaps have the value of a word, or of a number."""
        if word is not None and word in values:
            values = {**values, None: values[word]}
        return cls(values, other, gap_words)

    @property
    def gap(self) -> float:
        """The value of a gap."""
        return self.values.get(None, self.other)

    def __call__(self, x: NDArray[Any], dtype: Any = np.float64) -> NDArray[Any]:
        """Return the values at x (n,), with the precision of ``dtype``."""
        is_missing = is_no_word if self.gap_words else is_gap
        words = (None if is_missing(word) else word for word in np.asarray(x, object))
        values = (self.values.get(word, self.other) for word in words)
        return np.fromiter(values, dtype=dtype, count=len(x))

    def times(self, factor: float, plus: float = 0.0) -> Words:
        """Return factor · f + plus."""
        values = {word: factor * value + plus for word, value in self.values.items()}
        return replace(self, values=values, other=factor * self.other + plus)

    def squared(self) -> Words:
        """Return f²."""
        values = {word: value**2 for word, value in self.values.items()}
        return replace(self, values=values, other=self.other**2)

    def then(self, outer: Pieces) -> Words:
        """Return outer(f)."""
        words = [*self.values]
        *values, default = outer(np.array([*self.values.values(), self.other])).tolist()
        return replace(self, values=dict(zip(words, values, strict=True)), other=default)

    def is_gap(self) -> Words:
        """Return the function 0: no gap is unfilled."""
        return self.times(0.0)

    @cached_property
    def has_words(self) -> bool:
        """Whether the keys are words rather than numbers."""
        return self.gap_words or any(isinstance(word, str) for word in self.values)


@dataclass(frozen=True)
class Word(Function):
    """An unchanged column of words.

    Parameters
    ----------
    gap : str, optional
        The word for a gap.
    gap_words : bool
        As for `Words`.
    """

    gap: str | None = None
    gap_words: bool = False

    def filled(self, value: Any) -> Word:
        """Return this column with a word for gaps, if they had none."""
        return self if self.gap is not None else replace(self, gap=value)

    def is_gap(self) -> Words:
        """Return the function that is 1 at unfilled gaps, and 0 elsewhere."""
        return Words({None: 1.0 if self.gap is None else 0.0}, gap_words=self.gap_words)

    def looked_up(self, values: Mapping[Any, float], other: float) -> Words:
        """Return the function with a value for each of some words, and one for all others."""
        return Words.filled_with(self.gap, values, other, self.gap_words)


def as_read(function: Function) -> Function:
    """Return a column as it is read from files, where some words mean missing."""
    return replace(function, gap_words=True) if isinstance(function, Word) else function


def gap_pattern(blanks: str = r"[\pZ\s\v\x1c-\x1f\x85]*") -> str:
    """Return a regular expression for the words that `is_no_word` treats as gaps.

    Parameters
    ----------
    blanks : str
        A pattern for the characters that `str.strip` removes; by default in RE2's syntax.
    """
    words = "|".join(re.escape(word) for word in NO_WORD if word)
    return f"(?i)^{blanks}({words})?{blanks}$"


def total(functions: Sequence[Function]) -> Function:
    """Return the sum of functions of one family.

    A word unknown to all `Words` has no value if any of them has none for unknown words.
    """
    pieces = [function for function in functions if isinstance(function, Pieces)]
    if pieces:
        return reduce(Pieces.plus, pieces)
    tables = [function for function in functions if isinstance(function, Words)]
    values = dict.fromkeys((word for table in tables for word in table.values), 0.0)
    for table in tables:
        default = np.nan_to_num(table.other)
        # a table's value for other words also applies to the words of the other tables
        for word in values if default else table.values:
            values[word] += table.values.get(word, default)
    base = float(np.nansum([table.other for table in tables]))
    unknown = any(np.isnan(table.other) for table in tables)
    return replace(tables[0], values=values, other=np.nan if unknown else base)


def by_column(parts: Iterable[Feature | Product]) -> tuple[Feature | Product, ...]:
    """Add up the features of each column, and products of the same feature with them."""
    groups: dict[tuple[int, int, Hashable], list[Feature | Product]] = defaultdict(list)
    for part in parts:
        first, last = (id(part.first), part.second) if isinstance(part, Product) else (0, part)
        groups[first, last.column, last.function.family].append(part)
    return tuple(map(_total, groups.values()))


def _total(parts: Sequence[Feature | Product]) -> Feature | Product:
    lasts = [part.second if isinstance(part, Product) else part for part in parts]
    added = Feature(lasts[0].column, total([last.function for last in lasts]))
    return Product(parts[0].first, added) if isinstance(parts[0], Product) else added
