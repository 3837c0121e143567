"""Tables with named columns, CSV and Parquet, as dense rows and labels."""

from aucmax.datasets.tables.choice import Choice, Columns
from aucmax.datasets.tables.csv_files import read_csv
from aucmax.datasets.tables.parquet_files import read_parquet

__all__ = ["Choice", "Columns", "read_csv", "read_parquet"]
