"""The area under the ROC curve for more than two classes."""

from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike

from aucmax.data.rows.source import Source
from aucmax.metrics.ranking import roc_auc
from aucmax.metrics.reading import Labels, codes_of

__all__ = ["multiclass_auc"]


def multiclass_auc(
    y: Labels,
    score: ArrayLike,
    scheme: str = "ovr",
    average: str = "macro",
    labels: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Return the mean area under the ROC curve for the scores of K classes.

    Parameters
    ----------
    y : array-like, shape (n,), or Source
        Labels.
    score : array-like, shape (n, K)
        The score of each class, in the order of the sorted labels; higher means "more likely that
        class". Scores need not be probabilities.
    scheme : {"ovr", "ovo"}
        "ovr": each class against the rest, by its own score. "ovo": each pair of classes, on the
        rows of these two, by the score of one class and by that of the other [1]_. Both are defined
        as in scikit-learn's ``roc_auc_score``.
    average : {"macro", "weighted"}
        "macro": all classes, or pairs, have equal weights. "weighted": they have the weights of
        their rows.
    labels : array-like, shape (K,), optional
        The labels of the columns, in ascending order; by default those of y.
    sample_weight : array-like, shape (n,), optional
        Weights of the rows, zero or more.

    Returns
    -------
    float
        In [0, 1].

    References
    ----------
    .. [1] Hand & Till (2001). A simple generalisation of the area under the ROC curve for multiple
       class classification problems. Machine Learning 45, 171-186.

    Examples
    --------
    >>> multiclass_auc([0, 1, 2, 2], [[3, 1, 1], [1, 2, 2], [0, 1, 3], [0, 3, 2]])
    0.8472222222222222
    """
    if scheme not in ("ovr", "ovo"):
        raise ValueError(f"scheme must be 'ovr' or 'ovo'; got {scheme!r}.")
    if average not in ("macro", "weighted"):
        raise ValueError(f"average must be 'macro' or 'weighted'; got {average!r}.")
    if isinstance(y, Source):
        y, of_rows = y.labels()
        sample_weight = of_rows if sample_weight is None else sample_weight
    present, code = codes_of(y, "y")
    classes = present if labels is None else np.asarray(labels)
    scores = np.asarray(score)
    if scores.shape != (len(code), len(classes)):
        raise ValueError(
            f"score must have one value per row of y, {len(code)}, and class, {len(classes)}; got "
            f"shape {scores.shape}."
        )
    missing = np.setdiff1d(classes, present).tolist()
    if missing or len(classes) > len(present) or not np.array_equal(np.unique(classes), classes):
        problem = f"no row has the label {missing[0]!r}" if missing else "labels must be ascending"
        raise ValueError(f"{problem}: every class needs rows, in the order of the columns.")
    if len(classes) < len(present):
        odd = np.setdiff1d(present, classes).tolist()[0]
        raise ValueError(f"y has the label {odd!r}, which is not one of {classes.tolist()}.")
    weight = np.ones(len(code)) if sample_weight is None else np.asarray(sample_weight, dtype=float)

    def area(rows: np.ndarray, k: int) -> float:
        return roc_auc(code[rows] == k, scores[rows, k], sample_weight=weight[rows])

    areas, shares = [], []
    if scheme == "ovr":
        all_rows = np.arange(len(code))
        for k in range(len(classes)):
            areas.append(area(all_rows, k))
            shares.append(weight[code == k].sum())
    else:
        for a, b in combinations(range(len(classes)), 2):
            rows = np.flatnonzero((code == a) | (code == b))
            areas.append(0.5 * (area(rows, a) + area(rows, b)))
            shares.append(weight[rows].sum())
    return float(np.average(areas, weights=shares if average == "weighted" else None))
