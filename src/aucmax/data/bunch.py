"""The results of `read` and `load`: rows, labels and names, under scikit-learn's keys.

`Labels` and `frame` attach names to labels and rows, for a ``fit`` that keeps them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aucmax.basics.needs import needs
from aucmax.data.columns import Column, declare
from aucmax.data.decisions import Decision
from aucmax.data.reading import ASIDE

__all__ = ["Bunch", "Labels", "frame", "objects_of", "rows_and_labels", "table_of"]

_ROWS_AT_ONCE = 4096  # so few that a column of numbers stays in the cache


class Bunch(dict[str, Any]):
    """Values by name, also available as attributes, like scikit-learn's class.

    That class is slow to import, and an error about a table should not have to wait for it.
    """

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None

    def __setattr__(self, name: str, value: Any) -> None:
        self[name] = value

    def of_sklearn(self) -> Any:
        """Return the same values as an instance of scikit-learn's class."""
        from sklearn.utils import Bunch

        return Bunch(**self)


class Labels(np.ndarray):
    """Labels with the name of their column, like a pandas series.

    Parameters
    ----------
    values : array-like, shape (n,)
        The labels.
    name : str or None
        Their column.
    """

    name: str | None = None

    def __new__(cls, values: Any, name: str | None = None) -> Labels:
        labels = np.asarray(values).view(cls)
        labels.name = name
        return labels

    def __array_finalize__(self, source: Any) -> None:
        self.name = getattr(source, "name", None)


def frame(X: Any, columns: Sequence[Column] | None) -> Any:
    """Return rows as a data frame with their columns; unchanged if these have no names.

    Parameters
    ----------
    X : ndarray, csr_matrix or DataFrame, shape (n, d)
        As `table_of` gives them.
    columns : sequence of Column, optional

    Returns
    -------
    DataFrame, ndarray or csr_matrix
        The same numbers, not copied.
    """
    if columns is None:
        return X
    pd = needs("pandas", "a table with names")

    return pd.DataFrame(X, columns=[column.name for column in columns], copy=False)


def table_of(values: Sequence[Any], columns: Sequence[Column]) -> Any:
    """Return columns as rows: an array (n, d) in C order, or a data frame if some have words."""
    if any(column.is_text for column in columns):
        pd = needs("pandas", "a table with words")
        names = [column.name for column in columns]
        table = pd.DataFrame(dict(zip(names, values, strict=True)), copy=False)
        return declare(table, columns)
    n = len(values[0])
    X = np.empty((n, len(values)))
    for first in range(0, n, _ROWS_AT_ONCE):
        rows = slice(first, first + _ROWS_AT_ONCE)
        for j, column in enumerate(values):
            X[rows, j] = column[rows]
    return X


def objects_of(X: Any) -> Any:
    """Return the rows of a data frame as an array of objects (n, d), other rows unchanged."""
    if not hasattr(X, "columns"):
        return X
    table = np.empty(X.shape, dtype=object)
    for j, name in enumerate(X.columns):
        table[:, j] = np.asarray(X[name])
    return table


def rows_and_labels(
    name: str, data: Any, target: NDArray[Any] | None, files: Sequence[str], **more: Any
) -> Bunch:
    """Return rows and labels, with further facts about them, as a bunch.

    Parameters
    ----------
    name : str
        The name of the data set or the file.
    data : csr_matrix or ndarray, shape (n, d)
        Rows.
    target : ndarray, shape (n,), or None
        Labels.
    files : sequence of str
        The paths read.
    **more
        ``columns``, a tuple of `Column`; ``target_name``, the label column; ``weight``, ``groups``,
        ``time``, ``strata`` and ``segments`` of the rows, shape (n,); ``kept``, further columns as
        text; ``decisions`` about them; other facts.

    Returns
    -------
    Bunch
        All of these, None if not given, and ``n_features`` and ``feature_names``.
    """
    decisions: list[Decision] = []
    more = {
        **dict.fromkeys(("columns", "target_name", "kept", *ASIDE)),
        "decisions": decisions,
        **more,
    }
    names = None if more["columns"] is None else [column.name for column in more["columns"]]
    return Bunch(
        data=data, target=target, name=name, n_features=int(data.shape[1]), files=list(files),
        feature_names=names, **more,
    )  # fmt: skip
