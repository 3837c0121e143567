"""Labels with an order: grades, amounts, or the times of events, some of which are censored."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

__all__ = ["Degrees", "GradeWeight", "check_grade_weight"]

GradeWeight = Literal["equal", "difference"]


def check_grade_weight(value: Any) -> None:
    """Raise ValueError unless the value is one of the ways to weigh pairs by their degrees."""
    if value not in get_args(GradeWeight):
        raise ValueError(f"grade_weight must be 'equal' or 'difference'; got {value!r}.")


@dataclass(frozen=True, eq=False)
class Degrees:
    """The degree of each of n rows: the higher it is, the higher the row should rank.

    For a censored row only an upper bound is known: it may rank below others, but above none.

    Parameters
    ----------
    value : ndarray, shape (n,)
        Grades, or negated times: a row whose event is earlier has the higher degree.
    observed : ndarray of bool, shape (n,)
        False for censored rows.
    """

    value: NDArray[np.float64]
    observed: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.value)

    @classmethod
    def of(cls, y: Any) -> Degrees:
        """Return the degrees of rows from their labels.

        Parameters
        ----------
        y : array-like, shape (n,)
            Numbers; or a structured array of a bool, whether the event occurred, and a number, the
            time of the event or of the censoring.

        Raises
        ------
        ValueError
            If they are neither, or not finite.
        """
        array = np.asarray(y)
        if array.ndim == 2 and array.shape[1] == 1:
            array = array[:, 0]
        if array.ndim != 1:
            raise ValueError(f"y must have one value for each row, shape (n,); got {array.shape}.")
        if array.dtype.names is None:
            return cls(_numbers(array, "y"), np.ones(len(array), dtype=bool))
        fields = array.dtype.names
        if len(fields) != 2 or array.dtype[0].kind != "b":
            raise ValueError(
                "y as a structured array must have two fields, a bool (whether the event occurred) "
                f"and a number (its time); got {array.dtype}."
            )
        time = _numbers(array[fields[1]], f"y[{fields[1]!r}]")
        return cls(-time, array[fields[0]])

    def at(self, rows: NDArray[Any]) -> Degrees:
        """Return the degrees of some rows."""
        return Degrees(self.value[rows], self.observed[rows])


def _numbers(array: NDArray[Any], name: str) -> NDArray[np.float64]:
    if array.dtype.kind == "O":
        try:
            array = array.astype(np.float64)
        except (TypeError, ValueError):
            array = array.astype(str)
    if array.dtype.kind not in "biuf":
        raise ValueError(
            f"{name} must be numbers, whose order is that of the ranking; got {array.dtype}. Give "
            "each word or date a number: 0, 1, 2 for words, or the days since the first date."
        )
    numbers = array.astype(np.float64)
    if not np.isfinite(numbers).all():
        row = int(np.argmin(np.isfinite(numbers)))
        raise ValueError(f"{name} must be finite; got {numbers[row]} in row {row}.")
    return numbers
