"""What `read` and `load` give: rows, labels and names under scikit-learn's words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from numpy.typing import NDArray
from sklearn.utils import Bunch

__all__ = ["rows_and_labels"]


def rows_and_labels(
    name: str,
    data: Any,
    target: NDArray | None,
    files: Sequence[str],
    *,
    feature_names: list[str] | None = None,
    target_name: str | None = None,
    text: tuple[str, ...] = (),
    dates: Mapping[str, str] = MappingProxyType({}),
    weight: NDArray | None = None,
    groups: NDArray | None = None,
    time: NDArray | None = None,
    **more: Any,
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
    feature_names : list of str or None
        None where the file names none.
    target_name : str or None
        The label column.
    text : tuple of str
        The columns of text.
    dates : mapping
        The form of each column of dates.
    weight, groups, time : ndarray, shape (n,), or None
        Of the rows.
    **more
        What only one of the two knows.

    Returns
    -------
    Bunch
        All of these, and ``n_features``.
    """
    return Bunch(
        data=data,
        target=target,
        feature_names=feature_names,
        target_name=target_name,
        text=text,
        dates=dict(dates),
        weight=weight,
        groups=groups,
        time=time,
        name=name,
        n_features=int(data.shape[1]),
        files=list(files),
        **more,
    )
