"""How files are read: in parts, if they do not fit into memory or a cluster reads them.

The rows stay in the file. Their labels and weights are read once, before anything else.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import repeat
from typing import Any, NamedTuple

import numpy as np

from aucmax.basics.doors import Door
from aucmax.basics.memory import Footprint, free_memory, require
from aucmax.basics.needs import needs
from aucmax.basics.sparse import sp
from aucmax.data.bunch import Bunch
from aucmax.data.columns import Column
from aucmax.data.digests import Watch
from aucmax.data.files import absolute, exists, files_of, is_packed, opened, size_of
from aucmax.data.readers import reader_of
from aucmax.data.reading import ASIDE, FIELDS, Reading
from aucmax.data.rows import to_scipy
from aucmax.data.rows.parts import InParts
from aucmax.data.rows.source import Part, Source, Stored
from aucmax.data.rows.spool import Spool
from aucmax.data.scanning import read_parts, scan, with_kinds
from aucmax.data.tables.parquet_files import parquet_metadata

__all__ = ["Plan", "Room", "narrow", "take"]

_sklearn = Door("sklearn.utils")

_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_COPIES_OF_NUMBERS = 3  # of a file that is read as a whole: the reader's, ours, and a fit's
_TEXT_PER_COMPRESSED = 6  # ratio of unpacked to compressed text
_ROWS_SHARE = 0.55  # share of the memory for rows; the rest is for parts
_PARTS_OF_MEMORY = 80  # two parts are in memory, and reading one takes several times its size
_WORKERS_PARTS = 16  # the memory that a worker needs, in parts
_SMALLEST, _LARGEST = 1 << 20, 1 << 26
_PROGRAM_BYTES = 128 * 10**6  # bytes of the packages and the compiled kernels once a file is opened
_SAMPLE_BYTES = 1 << 16  # bytes of text from which the length of a row is estimated


class Room(NamedTuple):
    """The available memory: how many rows fit into it, and the bytes for each row if all do."""

    rows: int
    of_each: float


@dataclass(frozen=True)
class Plan(contextlib.AbstractContextManager[Any]):
    """How files are read: as a whole, in parts if they would not fit, or in parts by a cluster.

    It is a context that holds the connection to the cluster.

    Parameters
    ----------
    footprint : Footprint
        The memory that the command needs for the rows.
    memory : str, optional
        The memory for the data, in addition to the program's, such as 4GB; by default half of the
        memory that is free once the program has started.
    dask : str, optional
        The address of a scheduler, or "local".
    """

    footprint: Footprint
    memory: str | None = None
    dask: str | None = None

    def takes(self, path: Any, reading: Reading) -> bool:
        """Return whether a file is read in parts.

        Raises
        ------
        ValueError
            If a cluster should read data that are not a file.
        MemoryError
            If the program or the file would take more memory than the system allows.
        """
        require(_PROGRAM_BYTES)
        is_file = exists(path)
        if self.dask is not None and not is_file:
            raise ValueError(f"dask= is for files, but there is no file {path}.")
        if not is_file or self.dask is not None:
            return is_file
        size = self._whole(path, reading)
        if self._allowed is not None and size > self._allowed:
            return True
        require(_PROGRAM_BYTES, size, f"{path} in memory")
        return False

    def read(self, path: Any, reading: Reading, watch: Watch | None = None) -> Bunch:
        """Return the result of `datasets.read`, with a source as ``data``.

        It also has the available memory as ``room``. Without labels (``labels="none"``) nothing is
        read yet. A ``watch`` collects the digests of the rows.
        """
        source = self.source(path, reading)
        source.watch = watch
        rows = {} if reading.labels == "none" else self._labels_of(source, path, reading)
        if rows:
            rows["room"] = self.room(sum(source.sizes or ()), path, reading)
        return Bunch(
            data=source, name=path.name, files=[*map(str, files_of(path))], columns=None,
            feature_names=source.feature_names, target_name=source.target_name,
            label_words=source.label_words, **dict.fromkeys(ASIDE) | rows,
        )  # fmt: skip

    def source(
        self,
        path: Any,
        reading: Reading,
        one_pass: bool = False,
        spool: bool | None = None,
        kinds: Sequence[Column] = (),
    ) -> Source:
        """Return a file as a source, without reading it yet.

        Parameters
        ----------
        path : Path, Remote, Partitioned or DataFiles
        reading : Reading
        one_pass : bool
            Whether the file will be read only once, however much memory there is.
        spool : bool, optional
            As for `scan`.
        kinds : sequence of Column
            Columns whose kind overrides the one that the first part suggests.

        Raises
        ------
        ValueError
            For an argument that needs all rows in memory, or if there is no cluster.
        MemoryError
            If even parts of the file would take more memory than the system allows.
        """
        for name in reading.given():
            if not FIELDS[name]["in_parts"]:
                self.refuse(path, name, one_pass)
        if self.dask is None:
            self._check_parts(path, reading, one_pass)
        arguments = reading.in_parts() | {"spool": False if one_pass else spool}
        return self._source(path, arguments, kinds)

    def parts(self, path: Any, reading: Reading) -> Iterator[Bunch]:
        """Yield the result of `datasets.read` for each part of a file, which is read once."""
        self._check_parts(path, reading, one_pass=True)
        return read_parts(path, self.part_bytes, reading)

    def refuse(self, path: Any, name: str, one_pass: bool = False) -> None:
        """Raise ValueError: this argument needs all rows of the file."""
        chosen = one_pass or self.dask is not None
        raise ValueError(
            f"{path}: is read in parts{' by one_pass=True' if one_pass else self.why}, and {name}= "
            f"needs all rows at once; "
            f"{'leave out one of them' if chosen else 'give it more memory='}."
        )

    def _labels_of(self, source: Source, path: Any, reading: Reading) -> dict[str, Any]:
        """Read the labels and weights of all rows; of Parquet, at most one other column is read."""
        names = source.feature_names
        labels = self.narrow(source, path, reading, (reading.columns or names or ())[:1])
        rows = rows_of(labels)
        source.sizes, source.doubts = rows.pop("sizes"), labels.doubts
        source.n_features = rows["n_features"] if names is None else len(names)
        return rows | {"n_features": source.n_features}

    def narrow(
        self, source: Source, path: Any, reading: Reading, columns: Sequence[str | Column]
    ) -> Source:
        """Return a source of labels and few columns; the same source if it is text that has them.

        Its passes count as passes of the source; for a Parquet file, as passes over the labels.
        """
        names, is_text = source.feature_names, reader_of(path, reading.format).name != "parquet"
        if names is None or (is_text and {*map(str, columns)} <= {*names}):
            return source
        selection = replace(
            reading, columns=columns, n_features=None, target=source.target_name, drop=()
        )
        labels = self._source(path, selection.in_parts() | {"spool": False})
        if not is_text:
            labels.stored = Stored("labels", labels.stored.size)
        labels.counts = source.counts
        return labels

    def rows_in(self, path: Any, reading: Reading) -> int:
        """Return approximately how many rows a file has."""
        return _shape(path, reading).rows

    def spool(self, path: Any, reading: Reading) -> Spool | None:
        """Return a place to keep what is computed from rows, if the file is slow to read."""
        text = reader_of(path, reading.format).name != "parquet"
        return Spool() if text and self.dask is None else None

    def __exit__(self, *_: Any) -> None:
        self._held.close()

    @cached_property
    def _held(self) -> contextlib.ExitStack:
        return contextlib.ExitStack()

    @cached_property
    def _allowed(self) -> int | None:
        """The bytes that ``--memory`` allows; None if unknown."""
        if self.memory is None:
            free = free_memory()
            return None if free is None else max(free - _PROGRAM_BYTES, 0) // 2
        pattern = r"([0-9]+(?:\.[0-9]+)?)\s*([KMGT]?)I?B?"
        written = re.fullmatch(pattern, self.memory.strip().upper())
        size = int(float(written[1]) * _UNITS[written[2]]) if written else 0
        if size < 10**6:
            raise ValueError(
                f"memory={self.memory!r}: give a size of 1MB or more, such as 500MB or 4GB."
            )
        return size

    @property
    def why(self) -> str:
        """Why files are read in parts."""
        if self.dask is not None:
            return f" by dask={self.dask!r}"
        return f", since as a whole it would take more than {(self._allowed or 0) / 1e9:.3g} GB"

    def _whole(self, path: Any, reading: Reading) -> int:
        """Return roughly how many bytes it takes to read a file as a whole and to process it."""
        shape = _shape(path, reading)
        return _COPIES_OF_NUMBERS * shape.numbers + self.footprint.of_row_in_memory * shape.rows

    def _check_parts(self, path: Any, reading: Reading, one_pass: bool) -> None:
        """Raise MemoryError if there is too little memory to read a file in parts."""
        shape = _shape(path, reading)
        part = min(self.part_bytes, shape.numbers)
        parts = self.footprint.parts if part < shape.numbers else min(self.footprint.parts, 2)
        needed = parts * part + (0 if one_pass else self.footprint.of_row * shape.rows)
        require(_PROGRAM_BYTES, needed, f"{path}, read in parts of {part / 1e6:.0f} MB")

    def excess(self, of_row: float, rows: int) -> str | None:
        """Return a message if rows, at ``of_row`` bytes each, exceed the allowed memory."""
        if self._allowed is None or of_row * rows <= self._allowed:
            return None
        return (
            f"about {of_row * rows / 1e6:,.0f} MB are kept for {rows:,} rows, beside the parts "
            f"that are read, and only {self._allowed / 1e6:,.0f} MB are allowed; raise memory="
        )

    def room(self, n: int, path: Any, reading: Reading) -> Room:
        """Return the available memory for the n rows of a file."""
        if self._allowed is None:
            return Room(n, np.inf)
        share = min(0.5 * self._allowed / self._whole(path, reading), 1.0)
        return Room(int(n * share), _ROWS_SHARE * self._allowed / n if n else np.inf)

    def _source(self, path: Any, known: dict[str, Any], kinds: Sequence[Column] = ()) -> Source:
        if self.dask is None:
            return with_kinds(scan(path, part_bytes=self.part_bytes, **known), kinds)
        arguments = known | {"part_bytes": self.part_bytes, "spool": False}
        scanned = with_kinds(scan(absolute(path), **arguments), kinds)
        if scanned.loads is None:
            raise ValueError(
                f"{path}: compressed text can only be read from its beginning, so workers cannot "
                "share it; unpack it, or leave out dask=."
            )
        client = self._client  # without Dask there is none
        from aucmax.data import distributed

        return distributed.source(scanned, client=client)

    @property
    def part_bytes(self) -> int:
        """The size of a part, in bytes of text or of a table's numbers."""
        size = _LARGEST if self._allowed is None else self._allowed // _PARTS_OF_MEMORY
        return min(max(size, _SMALLEST), _LARGEST)

    @cached_property
    def _client(self) -> Any:
        """The client of the cluster, which exists until the command ends."""
        most = None
        if self._allowed is not None:
            most = max(self._allowed // (_WORKERS_PARTS * self.part_bytes), 1)
        from aucmax.data.distributed import connected

        return self._held.enter_context(connected(str(self.dask), most))


class _Shape(NamedTuple):
    """The approximate number of rows, and the approximate bytes of their numbers."""

    rows: int
    numbers: int


def _shape(path: Any, reading: Reading) -> _Shape:
    rows, numbers = zip(*(_shape_of(file, reading) for file in files_of(path)), strict=True)
    return _Shape(sum(rows), sum(numbers))


def _shape_of(path: Any, reading: Reading) -> _Shape:
    if reader_of(path, reading.format).name == "parquet":
        about = parquet_metadata(path)
        columns = about.num_columns
        if reading.columns is not None:  # plus labels and weights
            columns = min(len(reading.columns) + 2, columns)
        return _Shape(about.num_rows, 8 * columns * about.num_rows)
    size = (size_of(path) or 0) * (_TEXT_PER_COMPRESSED if is_packed(path) else 1)
    with opened(path) as stream:
        start = stream.read(_SAMPLE_BYTES)
    return _Shape(size * start.count(b"\n") // max(len(start), 1), size)


def rows_of(source: Source) -> dict[str, Any]:
    """Read the labels, weights, groups … of all rows, and the numbers of rows and features."""
    parts = list(source.each(_without_rows, repeat(())))
    of_rows = {
        name: [values for _, of_part in parts if (values := of_part[name]) is not None]
        for name in ("target", *ASIDE)
    }
    return {
        **{name: np.concatenate(values) if values else None for name, values in of_rows.items()},
        "sizes": [rows for (rows, _), _ in parts],
        "n_features": max(d for (_, d), _ in parts),
    }


def _without_rows(part: Part) -> tuple[tuple[int, int], dict[str, Any]]:
    target = None if part.y is None else narrow(part.y)
    aside = {name: (part.told or {}).get(name) for name in ASIDE}
    return part.X.shape, aside | {"target": target, "weight": part.weight}


def take(source: Source, places: np.ndarray) -> Any:
    """Return the rows at ascending positions of a file that is read in parts: X, in memory.

    X is an array, CSR, or a data frame for a model with steps.
    """
    sizes, d = source.sizes, source.n_features
    assert sizes is not None
    if d is not None:
        return to_scipy(InParts(source.rows_alone, np.array(sizes), d).take(places))
    starts = np.cumsum([0, *sizes])
    cuts = np.searchsorted(places, starts)
    of_parts = ((places[cuts[k] : cuts[k + 1]] - starts[k],) for k in range(len(sizes)))
    tables = [*source.rows_alone.each(_rows_of_table, of_parts)]
    if hasattr(tables[0], "iloc"):
        return needs("pandas", "a table").concat(tables, ignore_index=True)
    return sp.vstack(tables, format="csr") if sp.issparse(tables[0]) else np.concatenate(tables)


def _rows_of_table(part: Part, places: np.ndarray) -> Any:
    return _sklearn._safe_indexing(part.X, places)


def narrow(labels: np.ndarray) -> np.ndarray:
    """Return the same labels, as a smaller type if they are small numbers."""
    kind = labels.dtype.kind
    if kind in "iu" and len(labels):
        return labels.astype(np.result_type(*map(np.min_scalar_type, (labels.min(), labels.max()))))
    narrow = labels.astype(np.float32) if kind == "f" else labels
    return narrow if np.array_equal(narrow, labels) else labels
