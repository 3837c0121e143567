"""A stream of any table: how the cells of a row become features, which its state keeps."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from aucmax.basics.checks import is_whole
from aucmax.columns.preparations import Filled
from aucmax.columns.summaries import Coded
from aucmax.data.columns import NO_NUMBER, Column
from aucmax.data.reading import Reading
from aucmax.estimators.inputs import names_after
from aucmax.estimators.written_steps import in_front, of_text
from aucmax.streams.formats import as_float

__all__ = ["Prepared", "as_word"]

_KNOWN_WORDS = 1 << 16  # words whose features are remembered


class Prepared:
    """How the cells of a row become features: fitted steps, which a state keeps.

    Parameters
    ----------
    steps : str
        As `aucmax.estimators.written_steps` writes them, a `TableEncoder` first.
    sep, decimal : str
        Of CSV.
    strict : bool
        Whether a cell that does not fit its column is an error, not a missing value.
    unfit : mapping of str to int
        How many cells of each column did not fit, so far.
    """

    def __init__(
        self,
        steps: str,
        sep: str = ",",
        decimal: str = ".",
        strict: bool = False,
        unfit: Mapping[str, int] | None = None,
    ) -> None:
        self.text, self.sep, self.decimal, self.strict = steps, sep, decimal, strict
        self.unfit = Counter(unfit or {})
        self.steps = of_text(steps)
        encoder, *self._later = [step for _, step in self.steps]
        if not hasattr(encoder, "prepared_columns"):
            raise ValueError("its steps do not begin with those of columns")
        self._columns = encoder.prepared_columns
        self._encoded = [str(name) for name in encoder.get_feature_names_out()]
        self.names = names_after(in_front(self.steps)[:-1]) or []
        self._number = Reading(decimal=decimal).number
        self._features = lru_cache(_KNOWN_WORDS)(self._of_text)

    @property
    def facts(self) -> dict[str, Any]:
        """What a file of the state has: the arguments."""
        names = ("sep", "decimal", "strict")
        dialect = {name: getattr(self, name) for name in names}
        return {"steps": self.text, **dialect, "unfit": dict(self.unfit)}

    @classmethod
    def of_facts(cls, facts: dict[str, Any] | None) -> Prepared | None:
        """Return what has these facts; ValueError if there is nothing like that."""
        if facts is None:
            return None
        if not isinstance(facts["unfit"], dict) or not all(map(is_whole, facts["unfit"].values())):
            raise ValueError("its cells that do not fit are not counted")
        return cls(**facts)

    def features(self, row: Mapping[str, Any]) -> tuple[dict[str, float], list[str]]:
        """Return the features of a row that are not 0, and the columns whose cells do not fit."""
        features: dict[str, float] = {}
        unfit: list[str] = []
        for j, (column, preparation) in enumerate(self._columns):
            cell = row.get(column.name)
            pairs: Iterable[tuple[str, float]] | None = None
            if type(column) is Column and isinstance(preparation, Filled):
                number = float(cell) if isinstance(cell, int | float) else self._as_number(cell)
                if number == number and not preparation.is_left_out:
                    pairs = [(column.name, number)]
            if pairs is None:
                pairs = self._features(j, as_word(cell))
            if pairs is None:
                if self.strict:
                    raise ValueError(f"column {column.name!r} holds {cell!r}, which does not fit")
                unfit.append(column.name)
                pairs = self._features(j, "")
            features.update(pairs or ())
        return self._behind(features) if self._later else features, unfit

    def _as_number(self, cell: Any) -> float:
        """Return a cell as a number; NaN for any other."""
        number = None if cell is None else self._number(cell.strip())
        return np.nan if number is None else number

    def _of_text(self, j: int, text: str) -> list[tuple[str, float]] | None:
        """Return the features of column j for a cell; None if it does not fit."""
        column, preparation = self._columns[j]
        word = text.strip()
        if column.is_text:
            cells: Any = Coded.of(np.array([word], dtype=object))
        else:
            number: float | None = np.nan
            if word.lower() not in NO_NUMBER:
                plain = type(column) is Column
                number = self._number(word) if plain else column.number(word)
                number = as_float(word) if number is None and not plain else number
            if number is None or np.isinf(number):
                return None
            cells = np.array([number])
        blocks = zip(preparation.names(column.name), preparation.entries(cells), strict=True)
        return [
            (names[int(np.ravel(entry.place)[0])], float(entry.value[0]))
            for names, entries in blocks
            for entry in entries
            if entry.value[0]
        ]

    def _behind(self, features: dict[str, float]) -> dict[str, float]:
        """Return features behind the steps after the first."""
        values: Any = np.array([[features.get(name, 0.0) for name in self._encoded]])
        for step in self._later:
            values = step.transform(values)
        values = np.ravel(values.toarray() if hasattr(values, "toarray") else values)
        return {
            name: value for name, value in zip(self.names, values.tolist(), strict=True) if value
        }


def as_word(value: Any) -> str:
    """Return a value of JSON as it would stand in CSV."""
    return "" if value is None else value if isinstance(value, str) else json.dumps(value)
