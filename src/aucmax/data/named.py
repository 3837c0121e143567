"""From a name to data files: a path, a pattern, a folder, an address, or a list of them."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import unquote

from aucmax.basics.errors import DataFileError
from aucmax.basics.visible import counted
from aucmax.data.files import FORMATS, AnyFile, DataFiles, Partitioned, fault, files_of, suffix_of
from aucmax.data.lake import delta_files, delta_table, iceberg_files, is_delta, is_iceberg
from aucmax.data.remote import Remote, is_remote, is_web, store_of, told

__all__ = ["check_names", "local_files", "named"]

_SUFFIXES = {suffix: name for name, suffixes in FORMATS.items() for suffix in suffixes}
_DELTA_LOG = "_delta_log"  # the folder that makes a folder a Delta table
_NO_VALUE = "__HIVE_DEFAULT_PARTITION__"
_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)")  # without leading zeros: 01 is a code
_MAGIC = re.compile(r"[*?\[]")


def named(data: Any) -> Any:
    """Return the file or files that a path, a pattern, a folder or a list of these stands for.

    Subfolders called ``name=value`` become columns.

    Parameters
    ----------
    data : str, path-like, a list of them, a Delta or Iceberg table, or a result of this function
        A name with ``://`` is an address. A folder stands for all files in it and its subfolders
        that have the suffix of a data format, which must be the same format for all; names that
        begin with a dot or an underscore are left out.

    Returns
    -------
    Path, Remote, Partitioned or DataFiles
        A path that does not exist is returned unchanged.

    Raises
    ------
    DataFileError
        If no file matches, or a folder has no data files, or files of several formats.
    """
    if isinstance(data, AnyFile):
        return data
    if is_delta(data):
        return delta_files(data, data)
    if is_iceberg(data):
        return iceberg_files(data)
    names = list(data) if isinstance(data, list | tuple) else [data]
    if not names:
        raise ValueError("the list of files is empty.")
    files = [file for name in names for file in _files(name)]
    if len(files) == 1:
        return files[0]
    title = str(names[0]) if len(names) == 1 else f"{files[0]} and others"
    return DataFiles(tuple(files), data, title)


def check_names(data: Any, files: Sequence[Any]) -> None:
    """Raise DataFileError if a path, a pattern or a list now stands for other files than before."""
    before, now = dict.fromkeys(files), dict.fromkeys(files_of(named(data)))
    for file in now:
        if file not in before:
            raise fault(
                file,
                "the file was not there when the others were first read: rows are read repeatedly "
                "and must not change; start again when all files are there",
            )
    for file in before:
        if file not in now:
            raise fault(file, "the file disappeared while it was in use; start again without it")


def local_files(name: Any) -> list[Path]:
    """Return the local files that a path, a pattern or a folder stands for, if any."""
    if is_remote(name):
        return []
    return [path for root in _matches(os.fspath(name)) for path in _beneath(root)]


def _files(name: Any) -> Iterable[Any]:
    """Return the files that a name stands for, with the columns from their folders' names."""
    text = os.fspath(name)
    if is_remote(text):
        if not text.startswith("file://"):
            return _remote_files(text)
        text = text.removeprefix("file://")
    matches = _matches(text)
    if not matches:
        raise DataFileError(f"{text}: no file matches")
    if matches == [Path(text)] and not matches[0].is_dir():
        return matches
    if matches == [Path(text)] and (matches[0] / _DELTA_LOG).is_dir():
        return delta_files(delta_table(text), name).files
    root = Path(text if matches == [Path(text)] else _fixed(text))
    every: list[Any] = []
    for match in matches:
        paths = list(_beneath(match))
        if match.is_dir():
            _check_format(match, paths)
        every += paths
    return _partitioned(every, [path.relative_to(root).parts[:-1] for path in every])


def _matches(text: str) -> list[Path]:
    """Return the paths that match a pattern, or a path itself."""
    if not glob.has_magic(text) or Path(text).exists():
        return [Path(text)]
    return [Path(match) for match in sorted(glob.glob(text, recursive=True))]


def _fixed(pattern: str) -> str:
    """Return the folder at the beginning of a pattern, before any wildcard."""
    parts = PurePosixPath(pattern).parts
    plain = next((k for k, part in enumerate(parts) if _MAGIC.search(part)), len(parts) - 1)
    return str(PurePosixPath(*parts[:plain]))


def _beneath(root: Path) -> Iterator[Path]:
    """Yield the data files in a folder and its subfolders, sorted, or a file itself."""
    if not root.is_dir():
        yield root
        return
    for path in sorted(root.rglob("*")):
        if _is_data(path.relative_to(root).parts, path) and path.is_file():
            yield path


def _is_data(parts: Sequence[str], file: Any) -> bool:
    """Return whether a file contains data, judged by its name and those of its folders."""
    return suffix_of(file) in _SUFFIXES and not any(part.startswith((".", "_")) for part in parts)


def _check_format(folder: Any, files: list[Any]) -> None:
    """Raise DataFileError unless a folder has data files, all of one format."""
    if not files:
        suffixes = ", ".join(_SUFFIXES)
        raise fault(
            folder, f"this folder has no data files ({suffixes}); to read others, give a pattern, "
            "such as folder/*"
        )  # fmt: skip
    formats = sorted({_SUFFIXES[suffix_of(file)] for file in files})
    if len(formats) > 1:
        first = suffix_of(files[0])
        others = counted(sum(not file.name.lower().endswith(first) for file in files), "file")
        raise fault(
            folder, f"this folder has files of several formats, {' and '.join(formats)}; select "
            f"one format by a pattern, such as {str(folder).rstrip('/')}/**/*{first}, which "
            f"leaves out {others}, or convert all files to one format"
        )  # fmt: skip


# ---- columns that are folders


def _partitioned(files: list[Any], folders: list[Sequence[str]]) -> list[Any]:
    """Return files with the values from their folders' names, as numbers if all are numbers."""
    rows = [
        {key: unquote(value) for key, sep, value in (part.partition("=") for part in parts) if sep}
        for parts in folders
    ]
    words: dict[str, set[str]] = {}
    for row in rows:
        for key, value in row.items():
            words.setdefault(key, set()).add(value)
    values: dict[str, dict[str, Any]] = {}  # by column and word
    for key, own_words in words.items():
        own_words.discard(_NO_VALUE)
        kind = int if all(map(_NUMBER.fullmatch, own_words)) else str
        values[key] = {word: kind(word) for word in own_words} | {_NO_VALUE: None}
    constants = [tuple((key, values[key][word]) for key, word in row.items()) for row in rows]
    return [
        Partitioned(file, columns) if columns else file
        for file, columns in zip(files, constants, strict=True)
    ]


# ---- addresses


def _remote_files(url: str) -> Iterable[Any]:
    """Return the files at an address, with the columns from their folders' names."""
    with told(url):
        store, path = store_of(url)
        is_name = store.exists(path)
        if is_name and store.info(path)["type"] != "directory":
            return [Remote(url)]
        if is_name and store.exists(f"{path}/{_DELTA_LOG}"):
            return delta_files(delta_table(url), url).files
        root, matches = path, {path: {"type": "directory"}}
        if not is_name:
            root, matches = _fixed(path), store.glob(path, detail=True)
        if not matches:
            if is_web(path):
                store.info(path)  # raises the error that `exists` and `glob` hide
            problem = "no file matches" if glob.has_magic(path) else "no such file"
            cause = "" if store.exists(root) else f"; there is no {_address(url, root)}"
            raise DataFileError(f"{url}: {problem}{cause}")
        paths: list[str] = []
        for match, about in sorted(matches.items()):
            folder = about["type"] == "directory"
            paths += _in_remote_folder(url, match, store.find(match)) if folder else [match]
    files = [Remote(_address(url, name)) for name in paths]
    return _partitioned(files, [PurePosixPath(name).relative_to(root).parts[:-1] for name in paths])


def _in_remote_folder(url: str, folder: str, paths: list[str]) -> list[str]:
    """Return the data files among the files in a folder, sorted."""
    beneath = [PurePosixPath(path).relative_to(folder).parts for path in sorted(paths)]
    chosen = [
        path
        for path, parts in zip(sorted(paths), beneath, strict=True)
        if _is_data(parts, PurePosixPath(path))
    ]
    _check_format(_address(url, folder), [PurePosixPath(path) for path in chosen])
    return chosen


def _address(url: str, path: str) -> str:
    """Return the address of a path in the store of ``url``."""
    return path if "://" in path else f"{url.partition('://')[0]}://{path.lstrip('/')}"
