"""Checks of the paths on a command line, before any work is done."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import combinations
from pathlib import Path, PurePosixPath

from aucmax.data.named import local_files
from aucmax.data.remote import Remote, is_remote

__all__ = ["check_paths", "model_of"]

# suffixes of data files, which are dropped from the name of a model
_SUFFIXES = {".csv", ".tsv", ".txt", ".parquet", ".pq", ".svm", ".svmlight", ".libsvm"}
_SUFFIXES |= {".gz", ".bz2", ".xz"}
_PATTERN = re.compile(r"\[.*?\]|[*?]")
_STANDARD_INPUT = Path("/dev/stdin")  # a link to the file that was redirected, if there is one


def check_paths(
    outputs: Mapping[str, Path | None], inputs: Mapping[str, Path | str | None] | None = None
) -> None:
    """Raise ValueError unless each output can be written to its path without replacing another.

    Parameters
    ----------
    outputs : mapping of str to Path
        The outputs by option; None if an option was not given. Reports are ``--html``.
    inputs : mapping of str to path, optional
        The inputs by option or argument; ``-`` is standard input, which may come from a file.
        Inputs that are not files, such as names of data sets, cannot be overwritten.
    """
    written = [(flag, path) for flag, path in outputs.items() if path is not None]
    for flag, path in written:
        _check_place(flag, path)
    read = [
        (flag, file)
        for flag, path in (inputs or {}).items()
        if path is not None
        for file in ([_STANDARD_INPUT] if str(path) == "-" else local_files(path))
    ]
    pairs = [(output, file) for output in written for file in read if file[1].is_file()]
    for (flag, path), (other_flag, other_path) in [*combinations(written, 2), *pairs]:
        if _same(path, other_path):
            raise ValueError(
                f"{path}: is the file of both {flag} and {other_flag}, and one would overwrite the "
                "other; name two files."
            )


def model_of(data: str) -> Path:
    """Return where a model of some data is saved by default: their name, in this folder."""
    if data == "-":
        raise ValueError("standard input has no name; say where to save the model with --output.")
    path = Remote(data).plain if is_remote(data) else PurePosixPath(data)
    for part in reversed(path.parts):
        name = _PATTERN.sub("", part)
        while Path(name.lower()).suffix in _SUFFIXES or name.lower() in _SUFFIXES:
            name = name[: name.rindex(".")]
        if word := name.strip("-_ /."):
            return Path(f"{word if _PATTERN.search(part) else name}.aucmax")
    raise ValueError(f"{data}: say where to save the model with --output.")


def _check_place(flag: str, path: Path) -> None:
    if path.is_dir():
        raise ValueError(f"{path}: this is a folder; name a file in it.")
    if not path.parent.is_dir():
        raise ValueError(f"{path}: there is no folder {path.parent}; create it first.")
    if flag == "--html" and path.suffix.lower() not in (".html", ".htm"):
        raise ValueError(f"{path}: the name of a report must end in .html.")


def _same(first: Path, second: Path) -> bool:
    """Return whether two paths are the same file; devices and pipes may take several outputs."""
    if first.exists() or second.exists():
        return first.is_file() and second.is_file() and first.samefile(second)
    first, second = first.resolve(), second.resolve()  # also links to files that do not exist yet
    if not first.parent.samefile(second.parent):
        return False
    return first.name == second.name or (
        first.name.casefold() == second.name.casefold() and _ignores_case(first.parent)
    )


def _ignores_case(folder: Path) -> bool:
    """Return whether names that differ only in case are one file there, judged by its own name."""
    swapped = folder.parent / folder.name.swapcase()
    return swapped.name != folder.name and swapped.exists() and swapped.samefile(folder)
