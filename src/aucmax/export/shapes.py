"""Functions of one column, as which every feature of a table is written down.

A column of numbers has `Pieces`: a polynomial in each interval, and a value for a gap. A column of
words has `Words`: a value for each. They add up, so a linear model of such features is again one
function of each column.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aucmax.basics.gaps import NO_WORD, is_gap, is_no_word

__all__ = ["Pieces", "Shape", "Words", "gap_pattern", "total"]


@dataclass(frozen=True)
class Pieces:
    """A function of a number: Σ_q coefs[i, q] (x − origins[i])^q in piece i.

    Parameters
    ----------
    knots : ndarray, shape (k,)
        Increasing; piece i holds knots[i−1] ≤ x < knots[i].
    origins : ndarray, shape (k + 1,)
        Of the powers.
    coefs : ndarray, shape (k + 1, degree + 1)
        Of the powers.
    gap : float
        The value where there is no number; NaN where that gives no score.
    """

    knots: NDArray[np.float64]
    origins: NDArray[np.float64]
    coefs: NDArray[np.float64]
    gap: float = np.nan

    @classmethod
    def line(cls, slope: float = 1.0, at: float = 0.0, gap: float = np.nan) -> Pieces:
        """Return slope · (x − at)."""
        return cls(np.empty(0), np.array([at]), np.array([[0.0, slope]]), gap)

    @classmethod
    def steps(cls, knots: Any, values: Any, gap: float = np.nan) -> Pieces:
        """Return a value between any two knots."""
        values = np.asarray(values, dtype=np.float64)
        return cls(np.asarray(knots, dtype=np.float64), np.zeros(len(values)), values[:, None], gap)

    @property
    def is_line(self) -> bool:
        """Whether it is linear, but for gaps."""
        return not len(self.knots) and self.coefs.shape[1] == 2

    def __call__(self, x: NDArray[Any], dtype: Any = np.float64) -> NDArray[Any]:
        """Return the values at x (n,), computed in a precision."""
        knots, origins, coefs = (
            part.astype(dtype) for part in (self.knots, self.origins, self.coefs)
        )
        x = np.asarray(x, dtype=dtype)
        piece = np.searchsorted(knots, x, side="right")
        piece[np.isnan(x)] = 0
        away = x - origins[piece]
        out = np.zeros(len(x), dtype=dtype)
        for column in coefs.T[::-1]:
            out = out * away + column[piece]
        return np.where(np.isnan(x), dtype(self.gap), out)

    def times(self, factor: float, plus: float = 0.0) -> Pieces:
        """Return factor · f + plus, gaps included."""
        coefs = factor * self.coefs
        coefs[:, 0] += plus
        return Pieces(self.knots, self.origins, coefs, factor * self.gap + plus)

    def filled(self, value: float) -> Pieces:
        """Return the same with a value for a gap that had none."""
        gap = value if np.isnan(self.gap) else self.gap
        return Pieces(self.knots, self.origins, self.coefs, gap)

    def is_gap(self) -> Pieces:
        """Return 1 at a gap and 0 elsewhere; NaN becomes what it is for."""
        return Pieces.steps([], [0.0], gap=1.0 if np.isnan(self.gap) else 0.0)

    def squared(self) -> Pieces:
        """Return f²."""
        coefs = np.array([np.convolve(c, c) for c in self.coefs])
        return Pieces(self.knots, self.origins, coefs, self.gap**2)

    def of(self, inner: Pieces) -> Pieces:
        """Return f(inner(x)), inner an increasing line."""
        (start, slope), at = inner.coefs[0], inner.origins[0]
        gap = self.gap if np.isnan(inner.gap) else float(self(np.array([inner.gap]))[0])
        powers = slope ** np.arange(self.coefs.shape[1])
        back = [(points - start) / slope + at for points in (self.knots, self.origins)]
        return Pieces(back[0], back[1], self.coefs * powers, gap)

    def plus(self, other: Pieces) -> Pieces:
        """Return f + g, with the knots of both."""
        if self.coefs.shape[1] < other.coefs.shape[1]:
            return other.plus(self)
        knots = np.union1d(self.knots, other.knots)
        # the left end of each piece is in the same piece of both
        ends = np.concatenate([[-np.inf], knots])
        mine, others = (np.searchsorted(f.knots, ends, side="right") for f in (self, other))
        origins = self.origins[mine]
        coefs = np.zeros((len(origins), self.coefs.shape[1]))
        for i, (a, b) in enumerate(zip(mine, others, strict=True)):
            coefs[i] += self.coefs[a]
            coefs[i, : other.coefs.shape[1]] += moved(other.coefs[b], origins[i] - other.origins[b])
        return Pieces(knots, origins, coefs, self.gap + other.gap)


def moved(coefs: NDArray[np.float64], by: float) -> NDArray[np.float64]:
    """Return the coefficients of a polynomial in x − by, of one in x."""
    if by == 0.0:
        return coefs
    out = np.zeros_like(coefs)
    for power, coef in enumerate(coefs):
        for q in range(power + 1):
            out[q] += coef * comb(power, q) * by ** (power - q)
    return out


@dataclass(frozen=True)
class Words:
    """A value for each of some words, or numbers taken as words.

    Parameters
    ----------
    values : mapping
        The words, None for a gap, with their values.
    other : float
        The value of any other; NaN where that gives no score.
    gap_words : bool
        Whether words such as ``n/a`` are gaps, as where files are read.
    """

    values: Mapping[Any, float]
    other: float = 0.0
    gap_words: bool = False

    @property
    def gap(self) -> float:
        """The value of a gap."""
        return self.values.get(None, self.other)

    def __call__(self, x: NDArray[Any], dtype: Any = np.float64) -> NDArray[Any]:
        """Return the values at x (n,), in a precision."""
        known, other = self.values, self.other
        is_missing = is_no_word if self.gap_words else is_gap
        found = (known.get(None if is_missing(v) else v, other) for v in np.asarray(x, object))
        return np.fromiter(found, dtype=dtype, count=len(x))

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
        seen = outer(np.array([*self.values.values(), self.other])).tolist()
        return replace(self, values=dict(zip(words, seen[:-1], strict=True)), other=seen[-1])

    @cached_property
    def has_words(self) -> bool:
        """Whether they are words rather than numbers."""
        return self.gap_words or any(isinstance(word, str) for word in self.values)


Shape = Pieces | Words


def gap_pattern(blanks: str = r"[\pZ\s\v\x1c-\x1f\x85]*") -> str:
    """Return a regular expression of what `is_no_word` takes for a gap.

    Parameters
    ----------
    blanks : str
        One of all that `str.strip` takes away; by default as RE2 writes it.
    """
    words = "|".join(re.escape(word) for word in NO_WORD if word)
    return f"(?i)^{blanks}({words})?{blanks}$"


def total(shapes: Sequence[Shape]) -> Shape:
    """Return the sum of functions of one kind.

    Where a word is other to all of the `Words` of which one has no value for such, it has none.
    """
    first, *more = shapes
    if isinstance(first, Pieces):
        for shape in more:
            assert isinstance(shape, Pieces)
            first = first.plus(shape)
        return first
    tables = [shape for shape in shapes if isinstance(shape, Words)]
    base = float(np.nansum([table.other for table in tables]))
    values: dict[Any, float] = {}
    for table in tables:
        for word, value in table.values.items():
            values[word] = values.get(word, base) + value - np.nan_to_num(table.other)
    unknown = any(np.isnan(table.other) for table in tables)
    return replace(tables[0], values=values, other=np.nan if unknown else base)
