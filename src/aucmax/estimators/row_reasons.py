"""Why a linear model scores single rows as high as it does."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from aucmax.basics.checks import number

__all__ = ["Reason", "reasons"]

_CELLS = 10**7  # held at a time


class Reason(NamedTuple):
    """What one feature adds to the score of one row.

    Parameters
    ----------
    feature : str
        Its name.
    value : float
        That of the row.
    raised : float
        By how much it raises the score above that of a row with the mean of the feature.

    See Also
    --------
    reasons : Makes them.
    """

    feature: str
    value: float
    raised: float


def reasons(
    model: Any,
    X: ArrayLike,
    most: int = 4,
    *,
    mean: ArrayLike | None = None,
    feature_names: Sequence[str] | None = None,
) -> list[list[Reason]]:
    """List, for each row, the features that raise its score most.

    Parameters
    ----------
    model : estimator
        Fitted and linear, with ``coef_``.
    X : array-like or sparse, shape (n, d)
        Rows.
    most : int, default=4
        How many features to list; fewer where fewer raise the score.
    mean : array-like, shape (d,), optional
        What each feature is compared with; by default its mean over X.
    feature_names : sequence of str, shape (d,), optional
        By default those the model was fitted to.

    Returns
    -------
    list of list of Reason
        For each row the named tuples ``(feature, value, raised)``, largest first.

    Notes
    -----
    A feature raises a score by its weight times what the row has above the mean: the exact share
    of a linear score, which is that of a row of means plus the sum of all of these.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from aucmax import AUCClassifier, reasons
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = AUCClassifier(positive=0).fit(X, y)
    >>> first = reasons(model, X, most=2)[0]
    >>> [reason.feature for reason in first], bool(first[0].raised > first[1].raised)
    (['22', '24'], True)
    """
    number(most, "most", low=1, whole=True)
    linear = getattr(model, "best_estimator_", model)
    check_is_fitted(linear)
    coef = np.ravel(linear.coef_)
    rows: Any = sp.csr_array(X) if sp.issparse(X) else np.asarray(X, dtype=np.float64)
    if rows.ndim != 2 or rows.shape[1] != len(coef):
        raise ValueError(f"X must have {len(coef)} columns, as the model; got {rows.shape}.")
    centre = np.ravel(rows.mean(axis=0)) if mean is None else np.asarray(mean, dtype=np.float64)
    if feature_names is None:
        numbers = [str(j + 1) for j in range(len(coef))]
        feature_names = getattr(linear, "feature_names_in_", numbers)
    found = []
    for part in np.array_split(np.arange(rows.shape[0]), rows.shape[0] * len(coef) // _CELLS + 1):
        values = rows[part].toarray() if sp.issparse(rows) else rows[part]
        raised = coef * (values - centre)
        order = np.argsort(-raised, axis=1, kind="stable")[:, :most]
        found += [
            [Reason(str(feature_names[j]), float(v[j]), float(r[j])) for j in best if r[j] > 0]
            for v, r, best in zip(values, raised, order, strict=True)
        ]
    return found
