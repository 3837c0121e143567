"""Data sets by name, and rows and labels from files.

`load` finds a data set in ``$AUCMAX_DATA`` or the user's cache folder, `fetch` downloads it,
`names` and `about` say which there are; `read` reads svmlight, CSV and Parquet files.
"""

from aucmax.datasets.download import fetch
from aucmax.datasets.loading import load, locate
from aucmax.datasets.readers import Table, find_label, read
from aucmax.datasets.registry import DataSet, about, names
from aucmax.datasets.transforms import binarize, scale

__all__ = [
    "DataSet",
    "Table",
    "about",
    "binarize",
    "fetch",
    "find_label",
    "load",
    "locate",
    "names",
    "read",
    "scale",
]
