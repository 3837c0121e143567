"""Functions of columns as narwhals expressions, which a database or data frame computes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from aucmax.columns.functions import Feature, Pieces, Product, Words
from aucmax.data.columns import NO_WORD, Column
from aucmax.statistics.relation import Relation

__all__ = ["Expressions"]

_DAY = 86_400e6  # microseconds
_EPOCH = 719_163.0  # 1970-01-01, if 0001-01-01 is 1


class Expressions:
    """The functions that a model computes from the columns of a relation.

    ``columns`` are words, or numbers of double precision, with the names ``x0``, …; gaps are null.
    All other expressions refer to these.
    """

    def __init__(self, relation: Relation, columns: Sequence[Column]) -> None:
        self.relation, self.nw = relation, relation.nw
        self.columns = [self._cell(column).alias(f"x{j}") for j, column in enumerate(columns)]

    def of(self, part: Feature | Product) -> Any:
        """Return a function of a column, or a product of two."""
        if isinstance(part, Product):
            return self.of(part.first) * self.of(part.second)
        x, function = self.nw.col(f"x{part.column}"), part.function
        assert isinstance(function, Pieces | Words)
        written = self._pieces if isinstance(function, Pieces) else self._words
        gap = self._number(function.gap)
        return self.nw.when(x.is_null()).then(gap).otherwise(written(x, function))

    def total(self, parts: Iterable[Feature | Product]) -> Any:
        """Return a sum as a balanced tree: databases limit the depth of an expression."""
        terms = [*map(self.of, parts)] or [self._number(0.0)]
        while len(terms) > 1:
            terms = [sum(terms[k + 1 : k + 2], terms[k]) for k in range(0, len(terms), 2)]
        return terms[0]

    # ---- columns

    def _cell(self, column: Column) -> Any:
        """Return a column in the form that a model takes; raise ValueError for a wrong type."""
        nw, dtype = self.nw, self.relation.schema[column.name]
        x = nw.col(column.name)
        if column.is_text and dtype in (nw.String, nw.Categorical, nw.Enum):
            x = x.cast(nw.String)
            word = x.str.strip_chars()
            is_gap = word.str.to_lowercase().is_in([*NO_WORD])
            return nw.when(~is_gap).then(word if getattr(column, "trimmed", False) else x)
        zone = getattr(dtype, "time_zone", None)
        if column.is_date and dtype in (nw.Date, nw.Datetime) and zone is None:
            return self._days(x, dtype != nw.Date)
        if not (column.is_text or column.is_date) and (dtype.is_numeric() or dtype == nw.Boolean):
            number = self.relation.number(column.name)
            return nw.when(~number.is_nan()).then(number)
        kind = "a number of days" if column.is_days else column.sql_type
        kind = "a date or timestamp without a time zone" if column.is_date else kind
        raise ValueError(f"{column.name!r} must be {kind} for this model, and is {dtype}.")

    def _days(self, x: Any, has_time: bool) -> Any:
        """Return dates as days since 1970-01-01, by operations that all engines have."""

        def part(name: str) -> Any:
            return getattr(x.dt, name)().cast(self.nw.Float64)

        year = part("year") - 1.0
        by_4, by_100, by_400 = (self._whole(year, n) for n in (4.0, 100.0, 400.0))
        days = year * 365.0 + by_4 - by_100 + by_400 + part("ordinal_day") - _EPOCH
        if not has_time:
            return days
        minutes = (days * 24.0 + part("hour")) * 60.0 + part("minute")
        return self._ratio((minutes * 60.0 + part("second")) * 1e6 + part("microsecond"), _DAY)

    # ---- functions

    def _pieces(self, x: Any, pieces: Any) -> Any:
        """Return a polynomial for each interval, selected by bisection."""
        if pieces.period is not None:
            x = x - self._whole(x, pieces.period) * pieces.period

        def between(first: int, end: int) -> Any:
            if end == first + 1:
                return self._polynomial(x - float(pieces.origins[first]), pieces.coefs[first])
            middle = (first + end) // 2
            below = x < float(pieces.knots[middle - 1])
            return self.nw.when(below).then(between(first, middle)).otherwise(between(middle, end))

        return between(0, len(pieces.coefs))

    def _words(self, x: Any, words: Any) -> Any:
        """Return a value for each word, selected by bisection, and one for all others."""
        values = {word: v for word, v in words.values.items() if v != words.other and word}

        def among(chosen: list[Any]) -> Any:
            if len({values[word] for word in chosen}) == 1:
                return self._number(values[chosen[0]])
            first, second = chosen[: len(chosen) // 2], chosen[len(chosen) // 2 :]
            return self.nw.when(x.is_in(first)).then(among(first)).otherwise(among(second))

        rest, ordered = self._number(words.other), sorted(values, key=values.__getitem__)
        if not values:
            return rest
        return self.nw.when(x.is_in(ordered)).then(among(ordered)).otherwise(rest)

    def _polynomial(self, away: Any, coefs: Any) -> Any:
        *lower, value = np.trim_zeros(coefs, "b").tolist() or [0.0]
        for start in reversed(lower):
            value = away * value + start
        return value if lower else self._number(value)

    def _number(self, value: float) -> Any:
        return self.relation.one * float(value)

    @staticmethod
    def _ratio(x: Any, divisor: float) -> Any:
        """Return x/divisor, correctly rounded: Polars would multiply by a constant's inverse."""
        return x / (x * 0.0 + divisor)

    def _whole(self, x: Any, divisor: float) -> Any:
        return self._ratio(x, divisor).floor().cast(self.nw.Float64)
