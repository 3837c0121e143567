"""Polars frames, Arrow datasets and Dask data frames as sources of rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from aucmax.data.blocks import blocks
from aucmax.data.files import Mark
from aucmax.data.reading import Reading
from aucmax.data.rows.source import Part, Source
from aucmax.data.tables.wanted import choose

__all__ = ["scan_fragments", "scan_frame"]

_OF_FRAMES = ("target", "labels", "drop", "columns", "n_features", "weight", "strata")


def scan_frame(data: Any, part_bytes: int | None, reading: Reading) -> Source:
    """Return a frame that need not fit into memory as a source; the arguments are those of `scan`.

    Only the columns that are needed are read.
    """
    for name in (*reading.given(), *(["prepare"] if reading.prepare else [])):
        if name not in _OF_FRAMES:
            raise ValueError(f"{name}= is for files, but data are not files.")
    roles_of = partial(_roles, reading=reading)
    home = type(data).__module__.partition(".")[0]
    if home.startswith("dask") and hasattr(data, "columns"):
        roles = roles_of([str(name) for name in data.columns])
        return Source(blocks(roles.part, data[roles.used]), **roles.names)
    if part_bytes is None:
        raise ValueError("part_bytes=None makes a part of each file, but data are not files.")
    frames: Callable[[Any, list[str], int], Iterator[Any]]
    if home == "polars" and hasattr(data, "lazy"):
        roles, frames = roles_of(data.lazy().collect_schema().names()), _of_polars
    elif home == "pyarrow" and hasattr(data, "to_batches") and hasattr(data, "schema"):
        roles, frames = roles_of(data.schema.names), _of_arrow
    else:
        raise ValueError(
            "data must be a path, a list of paths, a Polars frame, an Arrow dataset or table, or "
            f"a Dask data frame; got {type(data).__name__}. For arrays, make a Source of functions."
        )
    used = roles.used
    rows = max(part_bytes // (8 * len(used)), 1)

    def parts() -> Iterator[Part]:
        yield from map(roles.part, frames(data, used, rows))

    source = Source.from_iterable(parts, **roles.names)
    source.check = partial(_check_all, _marks(data))
    return source


def scan_fragments(data: Any, reading: Reading) -> Source:
    """Return an Arrow dataset as a source; its parts are row groups, loaded in any order.

    Parameters
    ----------
    data : pyarrow.dataset.Dataset
        A dataset of files.
    reading : Reading
        As for `scan`.
    """
    roles = _roles(data.schema.names, reading)
    try:
        fragments = list(data.get_fragments())
    except ValueError as error:
        raise ValueError(
            "a filtered Arrow dataset has no row groups that workers could read: write its rows to "
            "files, with pyarrow.dataset.write_dataset, and give the dataset of these."
        ) from error
    loads, names = [], []
    for fragment in fragments:
        pieces = fragment.split_by_row_group() if hasattr(fragment, "row_groups") else [fragment]
        for k, piece in enumerate(pieces, 1):
            loads.append(partial(_of_fragment, piece, data.schema, roles))
            names.append(f"{fragment.path}, row group {k}" if len(pieces) > 1 else fragment.path)
    source = Source(loads, names=names, **roles.names)
    source.check = partial(_check_all, _marks(data))
    return source


def _of_fragment(piece: Any, schema: Any, roles: _Roles) -> Part:
    return roles.part(piece.to_table(schema=schema, columns=roles.used).to_pandas())


def _marks(data: Any) -> list[Mark]:
    """Return marks of the local files of an Arrow dataset; other data have no files."""
    if getattr(getattr(data, "filesystem", None), "type_name", "") != "local":
        return []
    return [mark for file in data.files if (mark := Mark.of(Path(file))) is not None]


def _check_all(marks: list[Mark]) -> None:
    for mark in marks:
        mark.check()


@dataclass(frozen=True)
class _Roles:
    """The roles of the columns of a frame; ``target`` is None if labels are left out."""

    features: list[str]
    target: str | None = None
    weight: str | None = None
    strata: str | None = None

    @property
    def used(self) -> list[str]:
        """All columns to read, without repetitions."""
        roles = self.target, self.weight, self.strata
        others = (name for name in roles if name is not None)
        return list(dict.fromkeys([*self.features, *others]))

    @property
    def names(self) -> dict[str, Any]:
        """Arguments of `Source`."""
        return {"feature_names": self.features, "target_name": self.target}

    def part(self, frame: Any) -> Part:
        """Return some rows as a part."""
        return Part(
            frame[self.features],
            None if self.target is None else frame[self.target],
            None if self.weight is None else frame[self.weight],
            told=None if self.strata is None else {"strata": frame[self.strata]},
        )


def _roles(names: list[str], reading: Reading) -> _Roles:
    """Return the roles of the columns; raise ValueError for a name that does not exist."""
    if reading.labels == "optional":
        raise ValueError("labels='optional' is for files; a frame either has labels or has none.")
    target, features = choose("the frame", names, reading)
    if reading.n_features not in (None, len(features)):
        raise ValueError(
            f"{len(features)} columns of features where {reading.n_features} are expected."
        )
    if reading.labels == "none":
        return _Roles(features)
    return _Roles(features, target, reading.weight, reading.strata)


def _of_polars(frame: Any, columns: list[str], rows: int) -> Iterator[Any]:
    lazy = frame.lazy().select(columns)
    if hasattr(lazy, "collect_batches"):
        yield from lazy.collect_batches(chunk_size=rows, maintain_order=True)
        return
    first = 0
    while len(batch := lazy.slice(first, rows).collect()):
        yield batch
        first += rows


def _of_arrow(data: Any, columns: list[str], rows: int) -> Iterator[Any]:
    from pyarrow import Table
    from pyarrow.dataset import dataset

    stored = dataset(data) if isinstance(data, Table) else data
    for batch in stored.to_batches(columns=columns, batch_size=rows):
        if batch.num_rows:
            yield batch.to_pandas()
