"""Parquet files."""

from __future__ import annotations

import re
from pathlib import Path

from aucmax.datasets.files import fault, opened
from aucmax.datasets.tables.arrow import ArrowFile, Native
from aucmax.datasets.tables.choice import Choice, Columns
from aucmax.datasets.tables.extract import extract
from aucmax.datasets.tables.wanted import choose, columns_used

__all__ = ["read_parquet"]

# pandas stores a row index in Parquet under this name.
_PANDAS_INDEX = re.compile(r"__index_level_[0-9]+__")


def read_parquet(path: Path, choice: Choice) -> Columns:
    """Rows and labels of a Parquet file."""
    import pyarrow as pa
    from pyarrow import parquet

    try:
        with opened(path) as stream, parquet.ParquetFile(Native(stream).file) as file:
            names = [n for n in file.schema_arrow.names if not _PANDAS_INDEX.fullmatch(n)]
            target, features = choose(path, names, choice)
            table = file.read(columns=columns_used(target, features, choice))
        return extract(
            ArrowFile(path, table, lambda row: f"row {row + 1}"), target, features, choice
        )
    except pa.ArrowException as error:
        raise fault(path, f"not a readable Parquet file ({error}); write it again") from None
    except UnicodeDecodeError:
        what = "a column's name or text is not UTF-8; write the file again"
        raise fault(path, what) from None
