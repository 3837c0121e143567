"""The results of `read` and `load`: rows, labels and names, under scikit-learn's keys.

`Labels` and `frame` attach names to labels and rows, for a ``fit`` that keeps them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch

from aucmax.basics.needs import needs
from aucmax.data.columns import Column

__all__ = ["Labels", "frame", "rows_and_labels"]


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
        out = np.asarray(values).view(cls)
        out.name = name
        return out

    def __array_finalize__(self, source: Any) -> None:
        self.name = getattr(source, "name", None)


def frame(X: Any, columns: Sequence[Column] | None) -> Any:
    """Return rows as a data frame with their columns; unchanged if these have no names.

    Parameters
    ----------
    X : ndarray or csr_matrix, shape (n, d)
        As `read` gives them.
    columns : sequence of Column, optional

    Returns
    -------
    DataFrame, ndarray or csr_matrix
        The same numbers, not copied if no column has words.
    """
    if columns is None:
        return X
    pd = needs("pandas", "a table with names")

    values = X
    if any(column.is_text for column in columns):
        by_column = zip(columns, np.asfortranarray(X).T, strict=True)
        values = {
            c.name: pd.Series(v, dtype=object if c.is_text else np.float64) for c, v in by_column
        }
    return pd.DataFrame(values, columns=[column.name for column in columns], copy=False)


def rows_and_labels(
    name: str, data: Any, target: NDArray[Any] | None, files: Sequence[str], **more: Any
) -> Bunch:
    """Return rows and labels, with further facts about them, as a bunch.

    Parameters
    ----------
    name : str
        The data set's, or the file's.
    data : csr_matrix or ndarray, shape (n, d)
        Rows.
    target : ndarray, shape (n,), or None
        Labels.
    files : sequence of str
        The paths read.
    **more
        ``columns``, a tuple of `Column`; ``target_name``, the label column; ``weight``, ``groups``
        and ``time`` of the rows, shape (n,); and further facts.

    Returns
    -------
    Bunch
        All of these, None if not given, and ``n_features`` and ``feature_names``.
    """
    more = {**dict.fromkeys(("columns", "target_name", "weight", "groups", "time")), **more}
    names = None if more["columns"] is None else [column.name for column in more["columns"]]
    return Bunch(
        data=data, target=target, name=name, n_features=int(data.shape[1]), files=list(files),
        feature_names=names, **more,
    )  # fmt: skip
