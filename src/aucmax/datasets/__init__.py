"""Data sets by name, and rows and labels from files.

`load` finds a data set in ``$AUCMAX_DATA`` or the user's cache folder, `fetch` downloads it,
`names` and `about` say which there are; `read` reads svmlight, CSV and Parquet files. Both give
rows, labels and names as the same Bunch: ``data``, ``target``, ``feature_names``. `scan` makes a
source of files and lazy frames that need not fit into memory.
"""

from aucmax.datasets.download import fetch
from aucmax.datasets.loading import load, locate
from aucmax.datasets.obstacles import TableError
from aucmax.datasets.readers import find_label, read
from aucmax.datasets.registry import DataSet, about, names
from aucmax.datasets.scanning import scan
from aucmax.datasets.transforms import binarize, scale

__all__ = [
    "DataSet",
    "TableError",
    "about",
    "binarize",
    "fetch",
    "find_label",
    "load",
    "locate",
    "names",
    "read",
    "scale",
    "scan",
]
