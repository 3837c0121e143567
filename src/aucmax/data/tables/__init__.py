"""Tables with named columns, CSV and Parquet, as dense rows and labels."""

from aucmax.data.tables.csv_files import csv_columns, first_lines, read_csv
from aucmax.data.tables.parquet_files import parquet_columns, read_parquet

__all__ = ["csv_columns", "first_lines", "parquet_columns", "read_csv", "read_parquet"]
