"""Two classes from many labels, and the scalings that the papers use."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aucmax.basics.checks import refuse_nul
from aucmax.basics.sparse import sp

__all__ = ["binarize", "listing", "scale"]

SCALES = ("unit-norm", "minmax", "maxabs")
_ALIASES = {"unit": "unit-norm"}


def binarize(y: Any, how: Any) -> NDArray[np.int64]:
    """Turn labels into +1 and −1.

    Parameters
    ----------
    y : array-like of shape (n,)
        Labels, of two or more values.
    how : {"even-odd", "first-half"}, tuple or label
        - ``"even-odd"``: even labels are +1, odd ones −1 (integer labels only);
        - ``"first-half"``: the first K//2 of the K sorted labels are +1;
        - ``("random-halves", seed)``, or ``"random-halves:SEED"``: K//2 of the K labels, drawn at
          random, are +1;
        - a label: this one is +1, all others −1.

    Returns
    -------
    ndarray of shape (n,), int64
        +1 and −1, both present.

    Raises
    ------
    ValueError
        If `how` is none of these, is a label that does not occur, or leaves only one class.
    """
    refuse_nul(y)
    y = np.asarray(y)
    if y.ndim != 1:
        raise ValueError(f"y has shape {y.shape}; labels must be one-dimensional")
    labels = np.unique(y)
    positive = _positive(labels, how)
    if not 0 < len(positive) < len(labels):
        raise ValueError(
            f"binarize={how!r} leaves only one class; the labels are {listing(labels)}"
        )
    return np.where(np.isin(y, positive), 1, -1).astype(np.int64)


def _positive(labels: NDArray[Any], rule: Any) -> NDArray[Any]:
    if isinstance(rule, str) and rule == "even-odd":
        return labels[_integers(labels) % 2 == 0]
    if isinstance(rule, str) and rule == "first-half":
        return labels[: len(labels) // 2]
    if isinstance(rule, str) and re.fullmatch("random-halves:[0-9]+", rule):
        rule = "random-halves", int(rule.partition(":")[2])
    if isinstance(rule, (tuple, list)) and _is_random_halves(*rule):
        return np.random.default_rng(rule[1]).permutation(labels)[: len(labels) // 2]
    if isinstance(rule, (str, int, float, np.generic)) and not isinstance(rule, (bool, np.bool_)):
        chosen = labels[[label == rule for label in labels.tolist()]]
        if chosen.size:
            return chosen
    raise ValueError(
        f"binarize={rule!r} is neither 'even-odd', 'first-half', ('random-halves', seed) "
        f"nor one of the labels {listing(labels)}"
    )


def _is_random_halves(word: Any = None, seed: Any = None, *more: Any) -> bool:
    return word == "random-halves" and isinstance(seed, (int, np.integer)) and not more


def _integers(labels: NDArray[Any]) -> NDArray[Any]:
    if labels.dtype.kind not in "iuf" or not np.array_equal(labels, np.floor(labels)):
        raise ValueError(f"binarize='even-odd' needs integer labels, not {listing(labels)}")
    return labels


def scale(X: Any, how: str | None) -> Any:
    """Scale rows or features.

    Parameters
    ----------
    X : array-like or sparse of shape (n, d)
        Finite numbers. Not changed.
    how : {None, "unit-norm", "minmax", "maxabs"}
        - ``"unit-norm"`` (or ``"unit"``): each row divided by its L2 norm; zero rows stay zero;
        - ``"minmax"``: each feature mapped linearly onto [−1, 1], a constant one to 0; only dense;
        - ``"maxabs"``: each feature divided by its largest absolute value; zeros stay zeros;
        - None: nothing.

    Returns
    -------
    ndarray or csr_matrix of shape (n, d)
        Scaled copy (`X` itself for None), float64, or float32 if `X` is.

    Raises
    ------
    ValueError
        If `how` is none of these, is "minmax" for sparse rows, or if `X` is not finite.
    """
    from sklearn.preprocessing import maxabs_scale, normalize

    scaling = check_scale(how)
    if scaling is None:
        return X
    if scaling == "unit-norm":
        return normalize(_float_rows(X), norm="l2", copy=False)
    if scaling == "maxabs":
        return maxabs_scale(_float_rows(X), copy=False)
    if sp.issparse(X):
        raise ValueError(
            "scale='minmax' would fill in the zeros of sparse rows; use scale='maxabs', "
            "which keeps them, or X.toarray()"
        )
    return _minmax(_float_rows(X))


def check_scale(how: str | None) -> str | None:
    """Return the canonical name of a scaling; raise ValueError if there is no such scaling."""
    names = (*SCALES, *_ALIASES)
    if how is not None and (not isinstance(how, str) or how not in names):
        raise ValueError(f"scale={how!r} is not one of {', '.join(names)} or None")
    return how if how is None else _ALIASES.get(how, how)


def _float_rows(X: Any) -> Any:
    """Return a new copy as floats, dense or CSR."""
    X = sp.csr_matrix(X) if sp.issparse(X) else np.asarray(X)
    dtype = X.dtype if X.dtype in (np.float32, np.float64) else np.float64
    return X.astype(dtype, copy=True)


def _minmax(X: NDArray[Any]) -> NDArray[Any]:
    low = X.min(axis=0)
    width = X.max(axis=0) - low
    if not np.isfinite(width).all():
        raise ValueError(f"scale='minmax': feature {np.argmin(np.isfinite(width))} is not finite")
    varies = width > 0
    X -= low
    X /= np.where(varies, width, 1)
    # from [0, 1] to [-1, 1]; a constant feature is 0 and must stay 0
    X *= 2
    X -= varies
    return X


def listing(values: Any, limit: int = 10) -> str:
    """Return a few values as text, separated by commas, and how many more there are."""
    items = [str(value) for value in list(values)[:limit]]
    more = len(values) - len(items)
    return ", ".join(items) + (f" and {more} more" if more > 0 else "")
