"""Tables with named columns, from CSV and Parquet, as dense rows and labels."""

from aucmax.data.tables.csv_files import csv_columns, first_lines, read_csv
from aucmax.data.tables.dialect import as_written
from aucmax.data.tables.parquet_files import parquet_columns, read_parquet

__all__ = ["as_written", "csv_columns", "first_lines", "parquet_columns", "read_csv"]
__all__ += ["read_parquet"]
