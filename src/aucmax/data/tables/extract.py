"""A table's columns as rows, labels, weights, groups and times."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from aucmax.basics.needs import needs
from aucmax.data.bunch import Bunch, rows_and_labels, table_of
from aucmax.data.codes import doubt, has_zeros
from aucmax.data.columns import Column
from aucmax.data.decisions import Decision
from aucmax.data.files import Block, fault, files_of
from aucmax.data.obstacles import Obstacle, TableError
from aucmax.data.reading import FIRST_ROWS, Reading
from aucmax.data.tables.arrow import ArrowFile, is_boolean
from aucmax.data.tables.column import FileColumn, Read
from aucmax.data.tables.features import feature
from aucmax.data.tables.labels import (
    groups_of,
    labels_of,
    segments_of,
    strata_of,
    times_of,
    weights_of,
)

__all__ = ["extract"]

_ASIDE: dict[str, Callable[[FileColumn], Any]] = {
    "weight": weights_of,
    "groups": groups_of,
    "time": times_of,
    "strata": strata_of,
    "segments": segments_of,
}


def extract(
    source: ArrowFile,
    target: str | None,
    features: list[str],
    reading: Reading,
    of_lines: Sequence[Obstacle] = (),
) -> tuple[Bunch, list[Obstacle]]:
    """Read the requested columns, and list those that look like codes.

    Raise one error that lists every obstacle, including those in lines, ``of_lines``.
    """
    if not source.table.num_rows:
        raise fault(source.path, "the table has column names but no rows")
    columns: list[Column] = []
    values: list[Any] = []
    obstacles: list[Obstacle] = [*of_lines]
    decisions: list[Decision] = []
    if target is not None and reading.labels == "required" and reading.lenient:
        source, unlabelled = _labelled(source, target, reading)
        decisions += unlabelled
    for read in _features(source, features, reading):
        if isinstance(read, Obstacle):
            obstacles.append(read)
            continue
        decisions += read.decisions
        for own in (read, *read.beside):
            columns.append(own.column)
            values.append(own.values)
    others: dict[str, Any] = {}
    if reading.labels != "none":
        roles = {"target": target, **reading.aside} if target is not None else reading.aside
        for role, name in roles.items():
            aside, convert = FileColumn(source, name, reading), _ASIDE.get(role, labels_of)
            try:
                others[role] = convert(aside)
            except Obstacle as obstacle:
                obstacles.append(obstacle)
            if role == "target" and is_boolean(aside.kind):
                others["label_words"] = dict(enumerate(aside.truth.words))
            if role == "target" and reading.prepare and aside.has_space:
                decisions.append(Decision(name, "space around labels was removed"))
    if obstacles:
        raise TableError(source.path, obstacles)
    doubts: list[Obstacle | None] = []
    if not reading.for_model:
        for j, column in enumerate(columns):
            if column.is_number and column.name not in reading.numbers:
                zeros = _are_whole(values[j][:FIRST_ROWS]) and has_zeros(
                    source.first_words().get(column.name, ())
                )
                doubts.append(doubt(column.name, values[j], zeros))
    if reading.prepare and reading.columns is None and source.unnamed:
        decisions.append(Decision("", "a column without a name, probably row numbers: left out"))
    if reading.keep:
        others["kept"] = {name: source.written(name) for name in reading.keep}
    file = source.path
    rows = rows_and_labels(
        file.name, table_of(values, columns), others.pop("target", None),
        [*map(str, files_of(file))],
        columns=tuple(columns), target_name=target, decisions=decisions, **others,
    )  # fmt: skip
    return rows, [obstacle for obstacle in doubts if obstacle is not None]


def _are_whole(numbers: np.ndarray) -> bool:
    """Return whether numbers are whole or missing, as codes are."""
    return bool(np.all((numbers == np.rint(numbers)) | np.isnan(numbers)))


def _features(source: ArrowFile, names: list[str], reading: Reading) -> Iterator[Read | Obstacle]:
    """Yield columns, or the obstacles to reading them, on threads if the table is in memory."""

    pa = needs("pyarrow", "a table")

    def read(name: str) -> Read | Obstacle:
        try:
            return feature(FileColumn(source, name, reading, names))
        except Obstacle as obstacle:
            return obstacle

    if source.typed:
        yield from map(read, names)
        return
    # more threads than cores would wait for each other
    with ThreadPoolExecutor(pa.cpu_count(), thread_name_prefix="aucmax-column") as columns:
        yield from columns.map(read, names)


def _labelled(source: ArrowFile, target: str, reading: Reading) -> tuple[ArrowFile, list[Decision]]:
    """Return a file without the rows that have no label, and the decision about them."""
    missing = FileColumn(source, target, reading).missing()
    count, first = int(missing.sum()), int(np.argmax(missing))
    if not count or missing.all():
        return source, []
    where = source.place(first)
    where = f"line {where}" if isinstance(where, int) else where
    is_last = first == len(missing) - 1 and not isinstance(source.path, Block)
    row = "the last row" if is_last else "1 row"
    rows = f"{row}, {where}, has" if count == 1 else f"{count:,} rows, the first {where}, have"
    return source.at(~missing), [Decision(target, f"{rows} no label: left out", doubtful=True)]
