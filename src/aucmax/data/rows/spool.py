"""Binary copies of parts that are slow to read, so that text is parsed only once."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from aucmax.basics.replacing import errors_name
from aucmax.basics.sparse import sp
from aucmax.data.rows.passes import Part, Stored

__all__ = ["Spool"]


class Spool:
    """Temporary files with the parts of a source, written during its first pass.

    Parameters
    ----------
    folder : str or path-like, optional
        Where to create a folder for the files, which is removed with this object; by default
        the system's temporary folder. The files take as much space as all rows would in memory.

    Attributes
    ----------
    stored : Stored
        None until all parts have been written.
    """

    def __init__(self, folder: Any = None) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="aucmax-", dir=folder))
        weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
        self._count = 0
        self.stored: Stored | None = None

    def __iter__(self) -> Iterator[Part]:
        return map(_read, self._files())

    def written(self, parts: Iterable[Part]) -> Iterator[Part]:
        """Yield the parts, each after it was written; call `complete` after the last."""
        for k, part in enumerate(parts):
            _write(part, self._file(k))
            self._count = k + 1
            yield part

    def complete(self) -> None:
        """Declare that all parts have been written."""
        self.stored = Stored("temporary file", sum(file.stat().st_size for file in self._files()))

    def _files(self) -> Iterator[Path]:
        return map(self._file, range(self._count))

    def _file(self, k: int) -> Path:
        return self._folder / f"{k}.npy"


def _write(part: Part, file: Path) -> None:
    sparse = sp.issparse(part.X)
    X: Any = part.X.tocsr() if sparse else np.asarray(part.X)
    of_rows = part.y, part.weight, (part.told or {}).get("strata")
    present = [values is not None for values in of_rows]
    arrays = [np.array([sparse, *present, X.shape[1]])]
    arrays += [X.data, X.indices, X.indptr] if sparse else [X]
    arrays += [_plain(values) for values in of_rows if values is not None]
    with errors_name(file), file.open("wb") as stream:
        for array in arrays:
            np.save(stream, array)


def _plain(values: Any) -> np.ndarray:
    """Return labels, weights or strata as an array that can be loaded without running code."""
    array = np.asarray(values)
    return array.astype(str) if array.dtype == object else array


def _read(file: Path) -> Part:
    with file.open("rb") as stream:
        sparse, *present, d = np.load(stream).tolist()
        if sparse:
            data, indices, indptr = (np.load(stream) for _ in range(3))
            X: Any = sp.csr_matrix((data, indices, indptr), shape=(len(indptr) - 1, d))
        else:
            X = np.load(stream)
        y, weight, strata = (np.load(stream) if is_there else None for is_there in present)
        return Part(X, y, weight, told=None if strata is None else {"strata": strata})
