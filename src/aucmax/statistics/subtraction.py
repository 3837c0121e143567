"""Subtraction of rows from the weight, mean and variances of a class, with consistency checks."""

from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, cholesky

__all__ = ["ClassPart", "Remainder", "check_weight", "is_covariance", "not_there", "remainder"]

_ROUNDING = 1e-6  # tolerance of differences, relative to a variance and to a mean
_WEIGHT_ROUNDING = 1e-9  # share of a class's weight that counts as a rounding error


class ClassPart(NamedTuple):
    """Weight, mean and variances of rows of one class."""

    weight: float
    mean: np.ndarray
    variance: np.ndarray


class Remainder(NamedTuple):
    """The remaining rows of a class."""

    weight: float
    mean: np.ndarray
    variance: np.ndarray
    gap: np.ndarray  # its mean minus the mean of the rows that were subtracted
    rounding: np.ndarray  # the tolerance of each variance


def remainder(total: ClassPart, gone: ClassPart, label: Any, names: list[str] | None) -> Remainder:
    """Return the remainder of a class after some rows are removed.

    Raises ValueError, naming the class and the feature, if the rows cannot all be in the class.
    """
    (T, mean, variance), t = total, gone.weight
    remaining = T - t
    if remaining <= _WEIGHT_ROUNDING * T:
        zero = np.zeros_like(mean)
        rounding = _ROUNDING * (variance + gone.variance) + _ROUNDING**2 * mean**2
        off = (mean - gone.mean) ** 2 > _ROUNDING * rounding
        off |= np.abs(variance - gone.variance) > rounding
        if off.any():
            raise not_there(
                f"all rows of class {label!r} have another mean or variance of feature "
                f"{_feature(int(np.argmax(off)), names)}"
            )
        return Remainder(0.0, zero, zero, zero, rounding)
    gap = (T / remaining) * (mean - gone.mean)
    size = (T / remaining) * variance + (t / T) * gap**2
    variance_left = (T / remaining) * variance - (t / remaining) * gone.variance - (t / T) * gap**2
    rounding = _ROUNDING * size + _ROUNDING**2 * (T / remaining) * mean**2
    if np.any(variance_left < -rounding):
        j = int(np.argmax(-variance_left / np.maximum(rounding, np.finfo(float).tiny)))
        raise not_there(
            f"feature {_feature(j, names)} of class {label!r} would be left with a negative "
            "variance"
        )
    return Remainder(remaining, gone.mean + gap, np.maximum(variance_left, 0.0), gap, rounding)


def check_weight(total: float, t: float, label: Any) -> None:
    """Raise ValueError if a class has less weight than the part to subtract."""
    if t > total * (1 + _WEIGHT_ROUNDING):
        raise ValueError(
            f"cannot subtract weight {t:g} of class {label!r}: only {total:g} is there; "
            "subtract rows that were added before, with the weight they were added with."
        )


def not_there(reason: str) -> ValueError:
    """Return the error for rows that cannot be subtracted."""
    return ValueError(
        f"cannot subtract these rows: {reason}, so they were not all added before; subtract only "
        "rows that were, with the weight they were added with."
    )


def _feature(j: int, names: list[str] | None) -> str:
    return repr(j) if names is None else repr(names[j])


def is_covariance(S: np.ndarray, rounding: np.ndarray) -> bool:
    """Return whether no combination of features has a negative variance, up to rounding.

    Parameters
    ----------
    S : ndarray, shape (d, d)
        Symmetric up to rounding, with a diagonal that is not negative.
    rounding : ndarray, shape (d,)
        The tolerance of each variance.
    """
    size = np.einsum("jj->j", S) + rounding
    scale = np.sqrt(np.where(size > 0.0, size, 1.0))
    Z = S / scale
    Z /= scale[:, None]
    Z[np.diag_indices(len(Z))] = 1.0
    try:
        cholesky(Z, lower=True, overwrite_a=True, check_finite=False)
    except LinAlgError:
        return False
    return True
