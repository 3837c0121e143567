"""Tables with named columns, CSV and Parquet, as dense rows and labels."""

from aucmax.data.tables.csv_files import csv_columns, read_csv
from aucmax.data.tables.parquet_files import parquet_columns, read_parquet

__all__ = ["csv_columns", "parquet_columns", "read_csv", "read_parquet"]
