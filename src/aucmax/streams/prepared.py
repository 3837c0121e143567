"""Streams of any table: how the cells of a row become features, as the stream's state keeps it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from functools import lru_cache
from itertools import chain
from typing import Any

import numpy as np

from aucmax.basics.checks import is_whole
from aucmax.columns.additive import AdditiveFeatures, Block
from aucmax.columns.cycles import cycle_cells
from aucmax.columns.maps import MapPlaces
from aucmax.columns.preparations import Entries, Filled
from aucmax.columns.summaries import Coded
from aucmax.data.columns import NO_NUMBER, Column, Remarks
from aucmax.data.reading import Reading
from aucmax.estimators.additive_moments import Prior
from aucmax.estimators.inputs import names_after
from aucmax.estimators.written_steps import in_front, of_text
from aucmax.streams.formats import as_float

__all__ = ["Prepared", "as_word"]

# for each axis, its features, its place in maps, and the share of the way to the next place
_OfAxes = dict[int, tuple[list[Entries], tuple[Any, Any]]]

_KNOWN_WORDS = 1 << 16  # maximum number of words whose features are cached


class Prepared:
    """How the cells of a row become features: fitted steps, which a state keeps.

    Parameters
    ----------
    steps : str
        As `aucmax.estimators.written_steps` writes them: a `TableEncoder` first, or only the
        features of curves and maps.
    sep, decimal : str
        The separator and decimal mark of CSV.
    strict : bool
        Whether a cell that does not fit its column is an error rather than a missing value.
    unfit : mapping of str to int
        The number of cells of each column that did not fit so far.
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
        first, *self._later = [step for _, step in self.steps]
        if not hasattr(first, "prepared_columns"):
            raise ValueError("its steps do not begin with those of columns")
        self.prior = Prior.of(self.steps)
        additive = isinstance(first, AdditiveFeatures)
        self._maker: Any = _Additive(first) if additive else _Encoded(first)
        self._columns = [column for column, _ in first.prepared_columns]
        self._remarks = {own.source: own.words for own in self._columns if isinstance(own, Remarks)}
        self._encoded = [str(name) for name in first.get_feature_names_out()]
        self.names = names_after(in_front(self.steps)[:-1]) or []
        self._number = Reading(decimal=decimal).number
        self._of_word = lru_cache(_KNOWN_WORDS)(self._of_text)

    @property
    def facts(self) -> dict[str, Any]:
        """What the file of a state stores: the arguments."""
        names = ("sep", "decimal", "strict")
        dialect = {name: getattr(self, name) for name in names}
        return {"steps": self.text, **dialect, "unfit": dict(self.unfit)}

    @classmethod
    def of_facts(cls, facts: dict[str, Any] | None) -> Prepared | None:
        """Return the object with these facts, None for None; ValueError if they are invalid."""
        if facts is None:
            return None
        if not isinstance(facts["unfit"], dict) or not all(map(is_whole, facts["unfit"].values())):
            raise ValueError("its cells that do not fit are not counted")
        return cls(**facts)

    def features(self, row: Mapping[str, Any]) -> tuple[dict[str, float], list[str]]:
        """Return the non-zero features of a row, and the columns whose cells do not fit."""
        of_columns: list[Any] = []
        unfit: list[str] = []
        for j, column in enumerate(self._columns):
            cell = row.get(column.source)
            of_column = None
            if type(column) is Column:
                number = float(cell) if isinstance(cell, int | float) else self._as_number(cell)
                of_column = self._maker.of_number(j, number) if number == number else None
            if of_column is None:
                of_column = self._of_word(j, as_word(cell))
            if of_column is None:
                if self.strict:
                    raise ValueError(f"column {column.name!r} holds {cell!r}, which does not fit")
                unfit.append(column.name)
                of_column = self._of_word(j, "")
            of_columns.append(of_column)
        features = self._maker.joined(of_columns)
        return self._behind(features) if self._later else features, unfit

    def _as_number(self, cell: Any) -> float:
        """Return a cell as a number; NaN if it is not a number."""
        number = None if cell is None else self._number(cell.strip())
        return np.nan if number is None else number

    def _of_text(self, j: int, text: str) -> Any:
        """Return the features for a cell of column j; None if it does not fit."""
        column, word = self._columns[j], text.strip()
        if isinstance(column, Remarks) and word not in column.words:
            word = ""
        if column.is_text:
            return self._maker.of_cell(j, Coded.of(np.array([word], dtype=object)))
        number: float | None = np.nan
        if word.lower() not in NO_NUMBER and word not in self._remarks.get(column.name, ()):
            plain = type(column) is Column
            number = self._number(word) if plain else column.number(word)
            number = as_float(word) if number is None and not plain else number
        if number is None or np.isinf(number):
            return None
        return self._maker.of_cell(j, np.array([number]))

    def _behind(self, features: dict[str, float]) -> dict[str, float]:
        """Return features transformed by the steps after the first."""
        values: Any = np.array([[features.get(name, 0.0) for name in self._encoded]])
        for step in self._later:
            values = step.transform(values)
        values = np.ravel(values.toarray() if hasattr(values, "toarray") else values)
        return {
            name: value for name, value in zip(self.names, values.tolist(), strict=True) if value
        }


class _Encoded:
    """Features of rows, column by column, as `TableEncoder` computes them."""

    def __init__(self, encoder: Any) -> None:
        self._columns = encoder.prepared_columns

    def of_number(self, j: int, number: float) -> list[tuple[str, float]] | None:
        """Return the features of column j for a number, if the column is used as it is."""
        column, preparation = self._columns[j]
        stays = isinstance(preparation, Filled) and not preparation.is_left_out
        return [(column.name, number)] if stays else None

    def of_cell(self, j: int, cells: Any) -> list[tuple[str, float]]:
        """Return the non-zero features of column j for one cell."""
        column, preparation = self._columns[j]
        blocks = zip(preparation.names(column.name), preparation.entries(cells), strict=True)
        entries = ((names, entry) for names, of_block in blocks for entry in map(_scalar, of_block))
        return [(names[place], value) for names, (place, value) in entries if value]

    def joined(self, of_columns: list[list[tuple[str, float]]]) -> dict[str, float]:
        """Return the features of a row."""
        return dict(chain.from_iterable(of_columns))


class _Additive:
    """Features of curves of columns and maps of pairs, as `AdditiveFeatures` computes them."""

    def __init__(self, features: AdditiveFeatures) -> None:
        self._features, self._names = features, features.get_feature_names_out().tolist()
        self._blocks: list[list[Block]] = [[] for _ in features.axes_]
        for block in features.blocks:
            if block.kind < 2:
                self._blocks[block.columns[0]].append(block)
        self._first_map = features.with_pairs(()).n_features

    def of_number(self, j: int, number: float) -> _OfAxes:
        """Return the same as `of_cell`, for a number."""
        return self.of_cell(j, np.array([number]))

    def of_cell(self, j: int, cells: Any) -> _OfAxes:
        """Return the features of each axis of column j for one cell, and its place in maps."""
        features = self._features
        axes = [(j, cells)]
        for k, (owner, cycle) in enumerate(features.cycles_, features.n_features_in_):
            if owner == j:
                axes.append((k, cycle_cells(cycle, cells)))
        of_axes: _OfAxes = {}
        for k, values in axes:
            own = chain.from_iterable(features.of_block(b, values) for b in self._blocks[k])
            of_axes[k] = [*map(_scalar, own)], features.axes_[k].map_places(values)
        return of_axes

    def joined(self, of_columns: list[_OfAxes]) -> dict[str, float]:
        """Return the features of a row."""
        of_axes = {k: of_axis for axes in of_columns for k, of_axis in axes.items()}
        row = {self._names[k]: value for own, _ in of_axes.values() for k, value in own if value}
        if self._features.pairs_:
            places = MapPlaces.of_columns([of_axes[k][1] for k in sorted(of_axes)])
            maps = self._features.maps(places)
            names = (self._names[self._first_map + k] for k in maps.indices.tolist())
            row |= zip(names, maps.data.tolist(), strict=True)
        return row


def _scalar(entry: Entries) -> Entries:
    """Return an entry of one row as Python numbers."""
    return Entries(int(np.ravel(entry.place)[0]), float(entry.value[0]))


def as_word(value: Any) -> str:
    """Return a JSON value as CSV would write it."""
    return "" if value is None else value if isinstance(value, str) else json.dumps(value)
