"""Files of moments of any kind, and of the bounds that private moments need."""

import csv
import os
import stat
from collections.abc import Sequence
from functools import partial
from os import PathLike

import numpy as np

from aucmax.basics.container import kind_of
from aucmax.basics.errors import DataFileError
from aucmax.statistics.base import ClassStatistics
from aucmax.statistics.diagonal import DiagonalMoments
from aucmax.statistics.frequent_directions import FrequentDirections
from aucmax.statistics.moments import ClassMoments

__all__ = ["load_moments", "read_bounds"]

_KINDS: dict[str | None, type[ClassStatistics]] = {
    cls.kind: cls for cls in (ClassMoments, DiagonalMoments, FrequentDirections)
}
_MAX_LINE_CHARACTERS = 2**17  # longer lines are cut, as csv accepts no longer fields


def load_moments(path: str | PathLike[str]) -> ClassStatistics:
    """Return class statistics of any kind from a file that their ``save`` wrote.

    Parameters
    ----------
    path : path
        The file.

    Raises
    ------
    ModelFileError
        If the file is not one of moments, is damaged, or comes from a newer version.
    """
    return _KINDS.get(kind_of(path), ClassMoments).load(path)


def read_bounds(path: str | PathLike[str], feature_names: Sequence[str]) -> np.ndarray:
    """Return the bounds (d, 2) of features by name, from a CSV file.

    Parameters
    ----------
    path : path
        A file with a header line ``feature,low,high``, and a line for each feature, in any order;
        other features are ignored.
    feature_names : sequence of str
        The features, in the order of the result.

    Raises
    ------
    DataFileError
        If it is not a regular file, or lacks bounds, two numbers, for a feature.
    """
    mode = os.stat(path).st_mode
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):  # opening a folder raises its own error
        raise DataFileError(f"{path}: not a regular file; give a CSV file of bounds.")
    features, bounds = set(feature_names), dict[str, tuple[float, float]]()
    with open(path, encoding="utf-8-sig", newline="") as stream:
        # an endless line would fill the memory
        lines = csv.reader(iter(partial(stream.readline, _MAX_LINE_CHARACTERS), ""))
        try:
            head = next(lines, [])
        except (ValueError, csv.Error):  # not text, or an endless word
            head = []
        if [name.strip() for name in head] != ["feature", "low", "high"]:
            raise DataFileError(f"{path}: the first line must be: feature,low,high")
        try:
            for name, low, high in filter(None, lines):
                ends = float(low), float(high)
                if name in features:
                    bounds[name] = ends
        except (ValueError, csv.Error):
            raise DataFileError(
                f"{path}, line {lines.line_num}: must be a feature's name and two numbers."
            ) from None
    unbounded = next((name for name in feature_names if name not in bounds), None)
    if unbounded is not None:
        raise DataFileError(f"{path}: has no bounds of feature {unbounded!r}; add a line for it.")
    return np.array([bounds[name] for name in feature_names])
