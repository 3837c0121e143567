"""What `read` and `load` give: rows, labels and names under scikit-learn's words.

`Labels` and `frame` give labels and rows their names, for a ``fit`` that keeps them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch

from aucmax.basics.needs import needs

__all__ = ["Labels", "frame", "rows_and_labels"]


class Labels(np.ndarray):
    """Labels with the name of their column, as a series of pandas has it.

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


def frame(rows: Bunch) -> Any:
    """Return rows as an Arrow table with the columns' names; as they are where there are none.

    Parameters
    ----------
    rows : Bunch
        What `rows_and_labels` gives.

    Returns
    -------
    Table, ndarray or csr_matrix
        Numbers as float64, gaps as NaN; text with gaps as nulls.
    """
    if rows.feature_names is None:
        return rows.data
    pa = needs("pyarrow", "a table with names")

    columns = {}
    for name, values in zip(rows.feature_names, np.asfortranarray(rows.data).T, strict=True):
        if name in rows.text:
            words = [value if isinstance(value, str) else None for value in values]
            columns[name] = pa.array(words, pa.string())
        else:
            columns[name] = pa.array(values.astype(np.float64, copy=False))
    return pa.table(columns)


def rows_and_labels(
    name: str, data: Any, target: NDArray[Any] | None, files: Sequence[str], **more: Any
) -> Bunch:
    """Rows and labels with what is known of them.

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
        ``feature_names``, a list of str; ``target_name``, the label column; ``text``, the columns
        of text; ``dates``, the form of each column of dates; ``weight``, ``groups`` and ``time`` of
        the rows, shape (n,); and what else is known.

    Returns
    -------
    Bunch
        All of these, None, () or {} where they are not given, and ``n_features``.
    """
    names = ("feature_names", "target_name", "weight", "groups", "time")
    columns: dict[str, Any] = {**dict.fromkeys(names), "text": (), "dates": {}, **more}
    n_features = int(data.shape[1])
    return Bunch(
        data=data, target=target, name=name, n_features=n_features, files=list(files), **columns
    )
