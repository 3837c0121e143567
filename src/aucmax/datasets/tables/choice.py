"""Which columns of a table a reader is asked for, and what it returns."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from numpy.typing import NDArray

from aucmax.datasets.obstacles import Obstacle

__all__ = ["NUMBER", "Choice", "Columns"]

NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")


@dataclass(frozen=True)
class Choice:
    """Which columns are wanted, in the words of `readers.read`."""

    target: str | None
    labels: str
    drop: tuple[str, ...]
    columns: tuple[str, ...] | None
    text: bool | tuple[str, ...] = False
    missing: bool | tuple[str, ...] = False
    categories: tuple[str, ...] = ()
    dates: bool | Mapping[str, str] = False
    sep: str | None = None
    decimal: str = "."
    by_place: bool = False
    weight: str | None = None
    groups: str | None = None
    time: str | None = None

    @property
    def aside(self) -> dict[str, str]:
        """The columns of weights, groups and times, which are not features."""
        named = {"weight": self.weight, "groups": self.groups, "time": self.time}
        return {what: name for what, name in named.items() if name is not None}

    @property
    def date_forms(self) -> Mapping[str, str]:
        """The formats of the columns known to hold dates."""
        return self.dates if isinstance(self.dates, Mapping) else {}

    @property
    def for_model(self) -> bool:
        """Whether a model determines the columns, by their names or their number."""
        return self.columns is not None or self.by_place

    def is_named_text(self, name: str) -> bool:
        """Whether a column is text because the caller says so, whatever it holds."""
        return name in self.categories or (isinstance(self.text, tuple) and name in self.text)

    def may_have_gaps(self, name: str) -> bool:
        """Whether a column may have missing values."""
        return name in self.missing if isinstance(self.missing, tuple) else self.missing

    def without(self, name: str) -> dict[str, Any] | None:
        """The remedy of dropping a column; None where a model needs it."""
        return None if self.columns is not None else {"drop": [name]}

    def number(self, word: str) -> float | None:
        """A word as a number, or None."""
        if self.decimal != ".":
            if "." in word:
                return None
            word = word.replace(self.decimal, ".")
        return float(word) if NUMBER.fullmatch(word) else None

    def trimmed(self) -> Choice:
        """The same with all names stripped of surrounding space."""

        def trim(names: Iterable[str]) -> tuple[str, ...]:
            return tuple(name.strip() for name in names)

        aside: dict[str, Any] = {what: name.strip() for what, name in self.aside.items()}
        return replace(
            self,
            target=None if self.target is None else self.target.strip(),
            drop=trim(self.drop),
            columns=None if self.columns is None else trim(self.columns),
            text=trim(self.text) if isinstance(self.text, tuple) else self.text,
            missing=trim(self.missing) if isinstance(self.missing, tuple) else self.missing,
            categories=trim(self.categories),
            dates=(
                {name.strip(): form for name, form in self.dates.items()}
                if isinstance(self.dates, Mapping)
                else self.dates
            ),
            **aside,
        )


@dataclass(frozen=True)
class Columns:
    """Rows, labels, column names, and which columns are text, dates, or look like codes.

    ``aside`` has the weights, groups and times of the rows.
    """

    X: NDArray[Any]
    y: NDArray[Any] | None
    feature_names: list[str] | None = None
    target: str | None = None
    text: tuple[str, ...] = ()
    dates: Mapping[str, str] = field(default_factory=dict)
    codes: tuple[Obstacle, ...] = ()
    aside: Mapping[str, NDArray[Any]] = field(default_factory=dict)
