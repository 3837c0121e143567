"""Data sets by name."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import Bunch

from aucmax.datasets import cache, registry, transforms
from aucmax.datasets.files import fault, opened
from aucmax.datasets.registry import DataSet, Part
from aucmax.datasets.svmlight import read_svmlight
from aucmax.errors import DataFileError

__all__ = ["load", "locate", "parse"]

# The UCI file's last column: gamma (signal) and hadron (background).
_MAGIC_LABELS = {"g": 1, "h": -1}


def load(name: str, split: str = "all", binarize: Any = None, scale: str | None = None) -> Bunch:
    """Load a data set by name.

    Looks for its files in the folder ``$AUCMAX_DATA``, then in the user's cache folder
    (``$AUCMAX_CACHE``, or the platform's own), where a parsed copy is kept for the next time.

    Parameters
    ----------
    name : str
        One of `names`, or an alias. ``"german"`` and ``"fourclass"`` are the files scaled to
        [−1, 1]; the unscaled ones are ``"german.numer"`` and ``"fourclass.raw"``.
    split : {"all", "train", "test"}
        Which rows; "all" gives the training rows, then the test rows.
    binarize : optional
        Two classes instead of the file's labels: see `binarize`.
    scale : {None, "unit-norm", "minmax", "maxabs"}
        See `scale`. Ranges of features are those of the whole data set, whatever the split, so
        splits loaded one by one agree.

    Returns
    -------
    Bunch
        ``data`` (n, d): float64, a C-contiguous array, or a CSR matrix for a9a, mnist, connect-4,
        sector and news20; ``target`` (n,): int64; ``name``, ``split``, ``n_features``,
        ``feature_names`` (None: the files name none), ``DESCR``: sources and quirks; ``files``:
        the paths read; ``sha256``: their digests; ``verified``: whether they are byte for byte
        the reference files.

    Raises
    ------
    ValueError
        No such data set, split, scaling or label.
    DataFileError
        A file is not there, not readable, not the data set it should be, or not what was
        downloaded first.
    """
    entry = registry.about(name)
    parts = entry.select(split)
    how = transforms.check_scale(scale)
    # Feature ranges need every row.
    needed = entry.parts if how in ("minmax", "maxabs") else parts
    read = {part: _read_part(entry, part) for part in needed}
    rows = transforms.scale(_stack(entry, [read[part][0] for part in needed]), how)
    if needed != parts:
        rows = rows[_positions(needed, parts)]
    y = np.concatenate([read[part][1] for part in parts])
    paths = [read[part][2] for part in parts]
    digests = [read[part][3] for part in parts]
    return Bunch(
        data=rows,
        target=y if binarize is None else transforms.binarize(y, binarize),
        name=entry.name,
        split=split,
        n_features=entry.n_features,
        feature_names=None,
        DESCR=_describe(entry, parts),
        files=[str(path) for path in paths],
        sha256=digests,
        verified=digests == [part.sha256 for part in parts],
    )


def locate(name: str, split: str = "all") -> list[Path]:
    """Where the files of a data set are.

    Parameters
    ----------
    name : str
        One of `names`, or an alias.
    split : {"all", "train", "test"}
        Which rows.

    Returns
    -------
    list of Path
        The files `load` would read.

    Raises
    ------
    ValueError
        No such data set or split.
    DataFileError
        A file is not there; the message says where it was looked for.
    """
    entry = registry.about(name)
    return [_find(entry, part) for part in entry.select(split)]


def _find(entry: DataSet, part: Part) -> Path:
    given = os.environ.get("AUCMAX_DATA")
    folders = [Path(given).expanduser()] if given else []
    folders.append(cache.cache_folder())
    for folder in folders:
        for file in part.file_names:
            if (folder / file).is_file():
                return folder / file
    unset = "" if given else " (AUCMAX_DATA is not set)"
    raise DataFileError(
        f"data set {entry.name!r}: no file {part.stem} (plain, .xz, .gz or .bz2) in "
        f"{' or '.join(map(str, folders))}{unset}; set AUCMAX_DATA to the folder that holds it, or "
        f"call datasets.fetch({entry.name!r})"
    )


def _read_part(entry: DataSet, part: Part) -> tuple[sparse.csr_matrix, NDArray, Path, str]:
    path = _find(entry, part)
    checksum = cache.digest(path)
    if path.parent == cache.cache_folder():
        cache.verify(path, checksum, entry.name)
    X, y = cache.parsed(path, checksum, lambda: parse(path, part))
    return X, y, path, checksum


def parse(path: Path, part: Part) -> tuple[sparse.csr_matrix, NDArray]:
    """Rows and labels of one file of a data set, checked against its known size."""
    if path.name.endswith(".data"):
        X, y = _parse_magic(path)
    else:
        X, labels = read_svmlight(path, part.n_features, "required")
        y = np.asarray(labels)
    if X.shape != (part.n_samples, part.n_features):
        raise fault(
            path,
            f"{X.shape[0]} rows of {X.shape[1]} features where {part.stem} has {part.n_samples} "
            f"of {part.n_features}: the file is not complete, or not this data set",
        )
    return X, y


def _parse_magic(path: Path) -> tuple[sparse.csr_matrix, NDArray]:
    """UCI's own form of magic04: ten numbers and g or h, comma separated, without a header."""
    with opened(path) as stream:
        try:
            lines = [line.split(",") for line in stream.read().decode().split()]
            y = np.array([_MAGIC_LABELS[line.pop()] for line in lines])
            return sparse.csr_matrix(np.array(lines, dtype=np.float64)), y.astype(np.int64)
        except (ValueError, KeyError) as error:
            raise fault(path, f"not UCI's magic04.data ({error})") from None


def _stack(entry: DataSet, blocks: list[sparse.csr_matrix]) -> Any:
    X = blocks[0] if len(blocks) == 1 else sparse.vstack(blocks, format="csr")
    return X if entry.sparse else X.toarray()


def _positions(needed: tuple[Part, ...], parts: tuple[Part, ...]) -> slice:
    """Rows of `parts`, which stand one after the other in `needed`."""
    start = sum(part.n_samples for part in needed[: needed.index(parts[0])])
    return slice(start, start + sum(part.n_samples for part in parts))


def _describe(entry: DataSet, parts: tuple[Part, ...]) -> str:
    lines = [f"{part.stem} ({part.n_samples} rows). {part.notes}" for part in parts]
    return f"{entry.name}: {entry.n_features} features.\n\n" + "\n\n".join(lines) + "\n"
