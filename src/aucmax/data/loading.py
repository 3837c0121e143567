"""Data sets by name."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aucmax.basics.errors import DataFileError
from aucmax.basics.sparse import sp
from aucmax.data import cache, registry, transforms
from aucmax.data.bunch import Bunch, rows_and_labels
from aucmax.data.files import unchanged
from aucmax.data.formats import parse, with_most_rows
from aucmax.data.registry import DataSet, Part

__all__ = ["load", "locate"]


def load(name: str, split: str = "all", binarize: Any = None, scale: str | None = None) -> Bunch:
    """Load a data set by name.

    Its files are looked for in the folder ``$AUCMAX_DATA``, then in the user's cache folder
    (``$AUCMAX_CACHE``, or the platform's own), where a parsed copy is kept for the next call.

    Parameters
    ----------
    name : str
        One of `names`, or an alias. ``"german"`` and ``"fourclass"`` are the files scaled to
        [−1, 1]; the unscaled ones are ``"german.numer"`` and ``"fourclass.raw"``.
    split : {"all", "train", "test"}
        Which rows; "all" means the training rows, then the test rows.
    binarize : optional
        How to make two classes of the file's labels: see `binarize`.
    scale : {None, "unit-norm", "minmax", "maxabs"}
        See `scale`. Features are scaled by their ranges in the whole data set, so that splits
        loaded separately agree.

    Returns
    -------
    Bunch
        ``data`` (n, d): float64, a C-contiguous array, or a CSR matrix if the entry of `about` is
        ``sparse``; ``target`` (n,): int64; ``feature_names`` (None: the files have no names) and
        everything else that `read` returns; and ``split``; ``DESCR``: sources and quirks;
        ``sha256``: digests of the ``files``; ``verified``: whether they are byte for byte the
        reference files, plain or compressed as in the registry; None if there are none.

    Raises
    ------
    ValueError
        If there is no such data set, split, scaling or label.
    DataFileError
        If a file is missing, cannot be read, is not the data set, or differs from the file that was
        downloaded first.
    """
    entry = registry.about(name)
    parts = entry.select(split)
    scaling = transforms.check_scale(scale)
    # feature ranges and the most frequent label need every row
    needed = entry.parts if scaling in ("minmax", "maxabs") or entry.largest else parts
    read = {part: _read_part(entry, part) for part in needed}
    rows = transforms.scale(_stack(entry, [read[part][0] for part in needed]), scaling)
    labels = [read[part][1] for part in needed]
    y = np.concatenate(with_most_rows(labels) if entry.largest else labels)
    if needed != parts:
        place = _positions(needed, parts, [len(read[part][1]) for part in needed])
        rows, y = rows[place], y[place]
    paths = [read[part][2] for part in parts]
    digests = [read[part][3] for part in parts]
    return rows_and_labels(
        entry.name,
        rows,
        y if binarize is None else transforms.binarize(y, binarize),
        [str(path) for path in paths],
        split=split,
        DESCR=_describe(entry, parts),
        sha256=digests,
        verified=_verified(digests, parts),
    ).of_sklearn()


def locate(name: str, split: str = "all") -> list[Path]:
    """Return the paths of the files of a data set.

    Parameters
    ----------
    name : str
        One of `names`, or an alias.
    split : {"all", "train", "test"}
        Which rows.

    Returns
    -------
    list of Path
        The files that `load` would read.

    Raises
    ------
    ValueError
        If there is no such data set or split.
    DataFileError
        If a file is missing; the message says where it was looked for.
    """
    entry = registry.about(name)
    return [_find(entry, part) for part in entry.select(split)]


def _find(entry: DataSet, part: Part) -> Path:
    data_folder = os.environ.get("AUCMAX_DATA")
    folders = [Path(data_folder).expanduser()] if data_folder else []
    folders.append(cache.cache_folder())
    for folder in folders:
        for file in part.file_names:
            if (folder / file).is_file():
                return folder / file
    unset = "" if data_folder else " (AUCMAX_DATA is not set)"
    raise DataFileError(
        f"data set {entry.name!r}: no file {part.stem} (plain, .xz, .gz or .bz2) in "
        f"{' or '.join(map(str, folders))}{unset}; set AUCMAX_DATA to the folder that holds it, or "
        f"get it with 'aucmax datasets fetch {entry.name}' or datasets.fetch({entry.name!r})"
    )


def _read_part(entry: DataSet, part: Part) -> tuple[sp.csr_matrix, NDArray[Any], Path, str]:
    path = _find(entry, part)
    with unchanged(path):
        checksum = cache.digest(path)
        if path.parent == cache.cache_folder():
            cache.verify(path, checksum, entry.name)
        X, y = cache.parsed(path, checksum, lambda: parse(path, part))
    return X, y, path, checksum


def _stack(entry: DataSet, blocks: list[sp.csr_matrix]) -> Any:
    X = blocks[0] if len(blocks) == 1 else sp.vstack(blocks, format="csr")
    return X if entry.sparse else X.toarray()


def _positions(needed: tuple[Part, ...], parts: tuple[Part, ...], counts: list[int]) -> slice:
    """Return the rows of `parts`, which follow one another in `needed`."""
    first = needed.index(parts[0])
    start = sum(counts[:first])
    return slice(start, start + sum(counts[first : first + len(parts)]))


def _verified(digests: list[str], parts: tuple[Part, ...]) -> bool | None:
    """Return whether the files are the reference files; None if one has no reference."""
    if not all(part.sha256 for part in parts):
        return None
    return all(
        digest in (part.sha256, part.content_sha256)
        for digest, part in zip(digests, parts, strict=True)
    )


def _describe(entry: DataSet, parts: tuple[Part, ...]) -> str:
    files = [f"{part.stem} ({part.n_samples or '?'} rows). {part.notes}" for part in parts]
    about = [
        f"{entry.name}: {entry.n_features} features.",
        entry.labels and f"Labels: {entry.labels}.",
    ]
    return "\n\n".join([*filter(None, about), *files]) + "\n"
