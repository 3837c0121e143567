"""Segments of rows: the values of a column, or ranges of values if it has many."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from aucmax.data.columns import is_no_word

__all__ = ["MAX_SEGMENTS", "Segments"]

MAX_SEGMENTS = 8  # besides the rows without a value
_QUARTERS = np.array([0.25, 0.5, 0.75])


class Segments(NamedTuple):
    """The segment of each of n rows.

    Parameters
    ----------
    names : list of str
        The K segments: values in ascending order; rows without a value come last, as "missing".
    code : ndarray of int, shape (n,)
        The index of each row's segment.
    """

    names: list[str]
    code: NDArray[np.intp]

    @classmethod
    def of(cls, values: NDArray[Any], column: str) -> Segments:
        """Divide rows into segments by the values of a column.

        Up to eight values are a segment each. More numbers or dates are divided at their quartiles;
        of more words, the seven most frequent are segments, and all others form one segment.

        Raises
        ------
        ValueError
            If there is only one segment.
        """
        if values.dtype.kind in "biufM":
            present = ~np.isnat(values) if values.dtype.kind == "M" else values == values
        else:
            present = np.array([not is_no_word(value) for value in values])
        names, of_present = _divided(values[present])
        code = np.full(len(values), len(names))
        code[present] = of_present
        names += ["missing"] * (not present.all())
        if len(names) < 2:
            raise ValueError(
                f"segments={column!r}: all rows have the same value, {names[0]!r}; name a column "
                "with several values."
            )
        return cls(names, code)


def _divided(values: NDArray[Any]) -> tuple[list[str], NDArray[np.intp]]:
    """Return the names of the segments of values, none of them missing, and the codes."""
    if values.dtype.kind not in "biufM":
        values = np.array([str(value).strip() for value in values], dtype=object)
    distinct, code = np.unique(values, return_inverse=True)
    if len(distinct) <= MAX_SEGMENTS:
        return [_shown(value) for value in distinct], code
    if values.dtype.kind == "O":
        counts = np.bincount(code)
        largest = np.sort(np.argsort(-counts, kind="stable")[: MAX_SEGMENTS - 1])
        number = np.full(len(distinct), len(largest))
        number[largest] = np.arange(len(largest))
        names = [_shown(value) for value in distinct[largest]]
        return [*names, f"{len(distinct) - len(largest):,} others"], number[code]
    # at most a quarter of the rows is below the first cut, and so on
    cuts = np.unique(np.sort(code)[(_QUARTERS * (len(code) - 1)).astype(np.intp)])
    quarter = np.searchsorted(cuts, code)
    quarters, quarter = np.unique(quarter, return_inverse=True)
    names = []
    for k in range(len(quarters)):
        members = code[quarter == k]
        ends = dict.fromkeys(_shown(distinct[end]) for end in (members.min(), members.max()))
        names.append(" to ".join(ends))
    return names, quarter


def _shown(value: Any) -> str:
    """Return a value as text: numbers with six digits, dates without the time of day."""
    if isinstance(value, np.datetime64):
        return str(value.astype("datetime64[D]"))
    if isinstance(value, (bool, np.bool_, str)):
        return str(value)
    return f"{float(value):,.6g}"
