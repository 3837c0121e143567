"""Files that would not fit into memory: when a command reads them in parts, and what it then sees.

The rows stay in the file. Their labels and weights are read once, before anything else.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from sklearn.utils import Bunch

from aucmax import datasets
from aucmax.basics.checks import free_memory
from aucmax.cli.errors import tell
from aucmax.cli.options import FLAGS, Learning, Reading, Scale
from aucmax.datasets.files import COMPRESSIONS
from aucmax.datasets.readers import reader_of
from aucmax.rows.source import Source
from aucmax.rows.watched import Watched

__all__ = ["Memory", "budget", "in_parts", "is_large", "what_was_read", "words_of_read"]

Memory = Annotated[
    str | None,
    typer.Option(
        "--memory",
        metavar="SIZE",
        help="What the data may take, such as 4GB; a file that needs more is read in parts, again "
        "for each pass over it. By default half of what is free.",
    ),
]

_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_COPIES = 3  # of the numbers, while a file is read whole: the reader's, ours, and a fit's
_UNPACKED = 6  # times its size, a compressed text
_PARTS = 20  # of the memory is a part: two are there, and what reading them takes
_SMALLEST, _LARGEST = 1 << 20, 1 << 26
_SCANNED = ("target", "labels", "drop", "columns", "format", "sep", "decimal", "weight")
# what needs all rows at once, or columns that are no numbers
_WHOLE = ("text", "missing", "dates", "categories", "groups", "time")


def budget(memory: str | None) -> int | None:
    """Return the bytes that ``--memory`` allows; None where nothing is known."""
    if memory is None:
        free = free_memory()
        return None if free is None else free // 2
    found = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)\s*([KMGT]?)I?B?", memory.strip().upper())
    size = int(float(found[1]) * _UNITS[found[2]]) if found else 0
    if size < 10**6:
        raise ValueError(f"--memory {memory}: give a size of 1MB or more, such as 500MB or 4GB.")
    return size


def is_large(path: Any, reading: Reading, allowed: int | None) -> bool:
    """Tell whether a file would take more memory than is allowed."""
    if allowed is None or not isinstance(path, Path) or not path.is_file():
        return False
    arguments = reading.arguments()
    if reader_of(path, arguments["format"]).name == "parquet":
        from pyarrow import parquet

        about = parquet.read_metadata(path)
        numbers = 8 * about.num_rows * about.num_columns
    else:
        packed = path.suffix.lower() in COMPRESSIONS
        numbers = path.stat().st_size * (_UNPACKED if packed else 1)
    return _COPIES * numbers > allowed


def in_parts(path: Path, reading: Reading, allowed: int | None, **more: Any) -> Bunch:
    """Return what `datasets.read` does, but that ``data`` is a source.

    ``more`` are arguments of `datasets.read` beside those of the options.

    Raises
    ------
    ValueError
        For an option that needs all rows in memory.
    """
    assert allowed is not None
    arguments = reading.arguments() | more
    given = [FLAGS[name] for name in _WHOLE if arguments.get(name)]
    if isinstance(reading, Learning):
        given += ["--splines"] * reading.splines
        given += ["--scale"] * (reading.scale is not Scale.none)
    if given:
        raise ValueError(
            f"{path}: is read in parts, since whole it would take more than {allowed / 1e9:.3g} "
            f"GB, and {given[0]} needs all rows at once; give it more --memory, or leave it out."
        )
    size = int(np.clip(allowed // _PARTS, _SMALLEST, _LARGEST))
    known = {name: arguments[name] for name in _SCANNED if name in arguments}
    source = Watched(datasets.scan(path, part_bytes=size, **known))
    tell("note", f"{path} is read in parts: whole it would take more than {allowed / 1e9:.3g} GB")
    rows = _rows_of(source)
    return Bunch(
        data=source, name=path.name, files=[str(path)], text=(), dates={}, groups=None, time=None,
        feature_names=source.feature_names, target_name=source.target_name, **rows,
    )  # fmt: skip


def _rows_of(source: Source) -> dict[str, Any]:
    """Read the labels and weights of all rows, and how many features there are."""
    labels, weights, d = [], [], 0
    for part in source:
        d = max(d, part.X.shape[1])
        if part.y is not None:
            labels.append(part.y)
        if part.weight is not None:
            weights.append(part.weight)
    return {
        "target": np.concatenate(labels) if labels else None,
        "weight": np.concatenate(weights) if weights else None,
        "n_features": d,
    }


def what_was_read(*data: Any) -> dict[str, Any]:
    """Return what a report says of the passes over sources; nothing of rows in memory."""
    sources = [one for one in data if isinstance(one, Watched)]
    if not sources:
        return {}
    places = dict.fromkeys(place for source in sources for place in source.passes)
    read = [
        {
            "from": place,
            "passes": sum(source.passes[place] for source in sources),
            "bytes": sum(source.read[place] for source in sources),
        }
        for place in places
    ]
    return {"read": read}


def words_of_read(report: dict[str, Any]) -> str:
    """Say in words what `what_was_read` has; nothing where the rows were in memory."""
    return ", ".join(
        f"{at['passes']:,} pass{'es' * (at['passes'] != 1)} over the {at['from']}, "
        f"{at['bytes'] / 1e9:.3g} GB"
        for at in report.get("read", ())
    )
