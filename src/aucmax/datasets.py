"""Data sets by name, and rows and labels from files.

`load` finds a data set in ``$AUCMAX_DATA`` or the user's cache folder, `fetch` downloads it,
`names` and `about` say which there are; `read` reads svmlight, CSV and Parquet files. Both give
rows, labels and names as the same Bunch: ``data``, ``target``, ``feature_names``. `scan` makes a
source of files and lazy frames that need not fit into memory.
"""

from aucmax.data.download import fetch
from aucmax.data.loading import load, locate
from aucmax.data.obstacles import TableError
from aucmax.data.readers import find_label, read
from aucmax.data.registry import DataSet, about, names
from aucmax.data.scanning import scan
from aucmax.data.transforms import binarize, scale

__all__ = ["DataSet", "TableError", "about", "binarize", "fetch", "find_label", "load", "locate"]
__all__ += ["names", "read", "scale", "scan"]
