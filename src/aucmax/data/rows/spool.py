"""Binary copies of parts that are slow to read, so that text is parsed only once."""

import shutil
import tempfile
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from aucmax.basics.replacing import errors_name
from aucmax.data.rows.source import Part, Source, Stored

__all__ = ["Spooled"]


class Spooled(Source):
    """A source that reads another one once, and then reads temporary files.

    Parameters
    ----------
    source : Source
    folder : str or path-like, optional
        Where to create a folder for the files, which is removed with this object; by default
        the system's temporary folder. The files take as much space as all rows would in memory.
    """

    def __init__(self, source: Source, folder: Any = None) -> None:
        self.source, self.feature_names = source, source.feature_names
        self.target_name, self.loads = source.target_name, source.loads
        self._folder = Path(tempfile.mkdtemp(prefix="aucmax-", dir=folder))
        weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
        self._parts: int | None = None  # number of parts, after all were written
        self.stored = source.stored

    def name(self, k: int) -> str:
        return self.source.name(k)

    def load(self, k: int) -> Part:
        if self._parts is None:
            return self.source.load(k)
        return _read(self._file(k))

    def _file(self, k: int) -> Path:
        return self._folder / f"{k}.npy"

    def _read(self) -> Iterator[Part]:
        if self._parts is not None:
            for k in range(self._parts):
                yield _read(self._file(k))
            return
        count = 0
        for part in self.source._read():
            _write(part, self._file(count))
            count += 1
            yield part
        self._parts = count
        written = (self._file(k).stat().st_size for k in range(count))
        self.stored = Stored("temporary file", sum(written))


def _write(part: Part, file: Path) -> None:
    sparse = sp.issparse(part.X)
    X: Any = part.X.tocsr() if sparse else np.asarray(part.X)
    present = [values is not None for values in (part.y, part.weight)]
    arrays = [np.array([sparse, *present, X.shape[1]])]
    arrays += [X.data, X.indices, X.indptr] if sparse else [X]
    arrays += [_plain(values) for values in (part.y, part.weight) if values is not None]
    with errors_name(file), file.open("wb") as stream:
        for array in arrays:
            np.save(stream, array)


def _plain(values: Any) -> np.ndarray:
    """Return labels or weights as an array that can be loaded without running code."""
    array = np.asarray(values)
    return array.astype(str) if array.dtype == object else array


def _read(file: Path) -> Part:
    with file.open("rb") as stream:
        sparse, has_y, has_weight, d = np.load(stream).tolist()
        if sparse:
            data, indices, indptr = (np.load(stream) for _ in range(3))
            X: Any = sp.csr_matrix((data, indices, indptr), shape=(len(indptr) - 1, d))
        else:
            X = np.load(stream)
        y = np.load(stream) if has_y else None
        return Part(X, y, np.load(stream) if has_weight else None)
