"""Checks of settings and data, with the same wording everywhere."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from aucmax.basics.doors import Door
from aucmax.basics.sparse import sp

__all__ = [
    "LARGEST",
    "check_array_of",
    "check_labels",
    "is_label",
    "is_whole",
    "naming_columns",
    "number",
    "refuse_collections",
    "refuse_nul",
    "refuse_odd_labels",
    "refuse_sizes",
    "sample_weights",
    "weights_in_rows",
]

_sklearn = Door("sklearn.utils")

LARGEST = 1e75  # largest value, since solvers and bounds use sums of fourth powers
_SMALLEST = 1e-150  # smallest peak of the values: the squares of smaller values underflow
_CACHED_NUMBERS = 2**16  # block size that stays in the cache between two reads


def number(
    value: Any,
    name: str,
    *,
    low: float = 0.0,
    high: float = np.inf,
    open_low: bool = False,
    open_high: bool = False,
    whole: bool = False,
) -> Any:
    """Return the value if it is a number within bounds; else raise ValueError with its name."""
    kinds = (int, np.integer) if whole else (int, float, np.integer, np.floating)
    valid = isinstance(value, kinds) and not isinstance(value, bool)
    if valid:
        valid = low < value if open_low else low <= value
        valid = valid and (value < high if open_high else value <= high) and value < np.inf
    if not valid:
        kind = "a whole number" if whole else "a number"
        opens = "(" if open_low else "["
        closes = ")" if open_high or high == np.inf else "]"
        raise ValueError(
            f"{name} must be {kind} in {opens}{low:g}, {high:g}{closes}; got {value!r}."
        )
    return value


def is_whole(value: Any) -> bool:
    """Return whether a value in a file is an integer from 0 to 2**53, as counts are."""
    return type(value) is int and 0 <= value < 2**53


def is_label(value: Any) -> bool:
    """Return whether a value in a file can be a label."""
    return isinstance(value, (bool, int, float, str)) and value == value


def sample_weights(weight: Any, n: int) -> np.ndarray | None:
    """Return sample weights as float64 of shape (n,), or None if there are none.

    Raises ValueError if the shape differs, or if values are negative or not finite.
    """
    if weight is None:
        return None
    if isinstance(weight, (int, float)):
        weight = np.full(n, weight)
    weight = _sklearn.check_array(
        weight, ensure_2d=False, dtype=np.float64, input_name="sample_weight", ensure_min_samples=0
    )
    if weight.shape != (n,):
        raise ValueError(f"sample_weight has shape {weight.shape}; expected ({n},), one per row.")
    if n and weight.min() < 0:
        raise ValueError(
            f"sample_weight must not be negative; row {int(weight.argmin())} has {weight.min():g}."
        )
    with np.errstate(over="ignore"):
        total = float(weight.sum())
    if n and (total > 1e150 or 0.0 < total < 1e-150):
        raise ValueError(
            f"sample_weight sums to {total:g}, too {'large' if total > 1 else 'small'} to compute "
            "with; multiply all weights by a constant."
        )
    return weight


def weights_in_rows(weight: Any, n: int) -> np.ndarray:
    """Return sample weights that add up to Kish's effective number of rows, (Σ w)² / Σ w².

    They are for criteria that count rows. They do not depend on the unit of the weights: rounding
    to 40 bits removes even differences that could break ties. Without weights, all are 1.
    """
    weight = sample_weights(weight, n)
    if weight is None or not weight.any():
        return np.ones(n) if weight is None else weight
    mantissa, exponent = np.frexp(weight / weight.max())
    share = np.ldexp(np.rint(mantissa * 2.0**40), exponent - 40)
    counted = share[share > 0]
    return share * (counted.sum() / np.square(counted).sum())


def refuse_collections(X: Any) -> None:
    """Raise ValueError for a Dask collection, which NumPy would load into this process."""
    if hasattr(X, "__dask_graph__"):
        raise ValueError(
            f"X is a Dask {type(X).__name__}, and its rows are needed in memory here: compute() "
            "some of them. AUCClassifier, AUCClassifierCV and HingeClassifier fit and score on the "
            "cluster, and ClassMoments.from_data sums the rows there."
        )


def refuse_nul(y: Any) -> None:
    """Raise ValueError if a label ends with NUL, which NumPy would strip from the string."""
    labels = _texts(y)
    label = next((text for text in labels if isinstance(text, str) and text.endswith("\0")), None)
    if label is not None:
        raise ValueError(
            f"the label {label!r} ends with a NUL character, which NumPy would strip; remove it."
        )


def refuse_odd_labels(y: Any) -> None:
    """Raise ValueError as `refuse_nul` does, or if some labels are words and others are not."""
    refuse_nul(y)
    labels = _texts(y)
    row = next((k for k, label in enumerate(labels) if not isinstance(label, str)), None)
    if row is not None:
        raise ValueError(
            f"the label of row {row} is {labels[row]!r}, and others are text; give every row a "
            "label, all of one type."
        )


def _texts(y: Any) -> Any:
    """Return the unconverted labels if some of them are text, else an empty tuple."""
    if getattr(getattr(y, "dtype", None), "kind", "O") not in "OT":  # numbers, or already stripped
        return ()
    try:
        labels = np.asarray(y, dtype=object).ravel()
    except ValueError:  # rows of unequal length, which later checks reject
        return ()
    return labels if any(isinstance(label, str) for label in labels) else ()


def refuse_sizes(X: Any, whole: bool = False, estimator: str | None = None) -> None:
    """Raise ValueError for values that are not finite, or whose powers overflow or underflow.

    Parameters
    ----------
    X : ndarray or sparse matrix, shape (n, d)
    whole : bool
        Whether X has all rows, so that its largest value must not be too small.
    estimator : str, optional
        The estimator to name in the message about missing values.
    """
    peak = _peak(X.data if sp.issparse(X) else X)
    if not np.isfinite(peak):
        _sklearn.assert_all_finite(X, estimator_name=estimator, input_name="X")
    if peak > LARGEST:
        column = abs(X).max(axis=0)
        j = int(np.argmax(column.toarray() if sp.issparse(column) else column))
        raise ValueError(
            f"the values of feature {j} reach {peak:.3g}, too large to compute with: their powers "
            "overflow; divide the feature by a constant."
        )
    if whole and 0.0 < peak < _SMALLEST:
        raise ValueError(
            f"the values of X are at most {peak:.3g}, too small to compute with: their squares "
            "vanish; multiply the features by a constant."
        )


@contextlib.contextmanager
def naming_columns(X: Any) -> Iterator[None]:
    """Return a context in which errors name the first column of X that is not finite numbers."""
    try:
        yield
    except ValueError as error:  # only after an error, since checking each column takes time
        column = next((name for name in getattr(X, "columns", ()) if not _finite(X[name])), None)
        if column is None:
            raise
        raise ValueError(f"column {str(column)!r}: {error}") from None


def _finite(column: Any) -> bool:
    try:
        return bool(np.isfinite(np.asarray(column, dtype=np.float64)).all())
    except (TypeError, ValueError):
        return False


def _peak(values: np.ndarray) -> float:
    """Return the largest absolute value, or NaN if there is a NaN, in one pass over memory."""
    if values.flags.f_contiguous:
        values = values.T
    step = max(_CACHED_NUMBERS * len(values) // max(values.size, 1), 1)
    parts = [values[lo : lo + step] for lo in range(0, len(values) if values.size else 0, step)]
    return float(np.max([(part.max(), -part.min()) for part in parts], initial=0.0))


def check_labels(classes: Any, names: Any, d: int) -> None:
    """Raise ValueError unless classes are ascending and names, if any, match the features."""
    if not isinstance(classes, np.ndarray) or not np.array_equal(np.unique(classes), classes):
        raise ValueError("its classes are not distinct labels in ascending order")
    if names is None:
        return
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise ValueError("its feature names are not a list of names")
    if len(names) != d:
        raise ValueError(f"it has {len(names)} feature names for {d} features")


def check_array_of(
    values: Any,
    shape: tuple[int, ...],
    name: str,
    low: float | None = None,
    high: float = np.inf,
    dtype: Any = np.float64,
) -> None:
    """Raise ValueError unless values are finite numbers of this shape, from ``low`` to ``high``.

    Numbers that are not integers may exceed ``high`` slightly, because of rounding.
    """
    if not isinstance(values, np.ndarray) or values.dtype != dtype:
        raise ValueError(f"its {name} are not numbers")
    if values.shape != shape:
        raise ValueError(f"its {name} have the shape {values.shape}, not {shape}")
    if values.dtype.names:  # a record of float64
        values = np.array([values[field] for field in values.dtype.names])
    integers = values.dtype.kind == "i"
    if not integers and not np.isfinite(values).all():
        raise ValueError(f"its {name} hold NaN or infinite numbers")
    if low is not None and np.any(values < low):
        below = "negative numbers" if low == 0 else f"numbers below {low:g}"
        raise ValueError(f"its {name} hold {below}")
    if integers and np.any(values > high):
        raise ValueError(f"its {name} hold numbers above {high:g}")
    if not integers and np.any(np.abs(values) > 1.001 * high):
        raise ValueError(f"its {name} hold numbers too large to compute with")
