"""A table's columns as rows, labels, weights, groups and times."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aucmax.data.codes import doubts
from aucmax.data.files import fault
from aucmax.data.obstacles import Obstacle, TableError
from aucmax.data.reading import Reading
from aucmax.data.tables.arrow import ArrowFile
from aucmax.data.tables.column import Column
from aucmax.data.tables.features import feature
from aucmax.data.tables.labels import groups_of, labels_of, times_of, weights_of

__all__ = ["Columns", "extract"]


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


def extract(
    source: ArrowFile, target: str | None, features: list[str], reading: Reading
) -> Columns:
    """Read the columns asked for; raise one error that lists every obstacle."""
    n = source.table.num_rows
    if not n:
        raise fault(source.path, "the table has column names but no rows")
    X = np.empty((n, len(features)))
    obstacles: list[Obstacle] = []
    text: dict[int, NDArray[Any]] = {}
    dates: dict[str, str] = {}
    for j, name in enumerate(features):
        try:
            column = feature(Column(source, name, reading))
        except Obstacle as obstacle:
            obstacles.append(obstacle)
            continue
        if column.values.dtype == np.float64:
            X[:, j] = column.values
        else:
            text[j] = column.values
        if column.form is not None:
            dates[name] = column.form
    y = None
    if target is not None and reading.labels != "none":
        try:
            y = labels_of(Column(source, target, reading))
        except Obstacle as obstacle:
            obstacles.append(obstacle)
    aside = {}
    for what, name in reading.aside.items() if reading.labels != "none" else ():
        try:
            aside[what] = _ASIDE[what](Column(source, name, reading))
        except Obstacle as obstacle:
            obstacles.append(obstacle)
    if obstacles:
        raise TableError(source.path, obstacles)
    numbers = {name: X[:, j] for j, name in enumerate(features) if j not in text}
    codes = () if reading.for_model else _codes(source, numbers, dates)
    if text:
        X = X.astype(object)
        for j, values in text.items():
            X[:, j] = values
    texts = tuple(features[j] for j in text)
    return Columns(X, y, features, target, texts, dates, codes, aside)


def _codes(
    source: ArrowFile, numbers: Mapping[str, NDArray[np.float64]], dates: Collection[str]
) -> tuple[Obstacle, ...]:
    """Columns of integers that look like codes rather than measurements."""
    padded = source.padded(list(numbers))
    return tuple(
        Obstacle(name, f"column {name!r} {what}", hint, remedy={option: [name]})
        for name, values in numbers.items()
        if name not in dates
        for what, hint, option in doubts(name, values, name in padded)
    )


_ASIDE = {"weight": weights_of, "groups": groups_of, "time": times_of}
