"""Rows in the order of their scores, by a radix sort, or of their strata, by a counting sort."""

import numpy as np

from aucmax.data.rows import compiled
from aucmax.data.rows.few import FEW_ROWS
from aucmax.data.rows.kernels import unless

__all__ = ["ascending", "grouped"]

_DIGIT_BITS, _DIGITS = 11, 3  # 33 of the 64 bits of a key; the other 31 are the row number
_MAX_KEY = 2.0 ** (_DIGIT_BITS * _DIGITS) - 1.0
_MAX_MEAN_SHIFT = 8  # mean number of positions by which the final insertion sort may move a row


def ascending(z: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return the rows in ascending order of z.

    Parameters
    ----------
    z : ndarray, shape (n,)
    rows : ndarray of int, shape (k,)

    Returns
    -------
    ndarray of int32, shape (k,)
    """
    rows = rows.astype(np.int32, copy=False)  # one type for the compiler
    order, keys = np.empty_like(rows), np.empty((2, len(rows)), np.uint64)
    if not _sorted_by_digits(z, rows, order, *keys, np.zeros((_DIGITS, 1 << _DIGIT_BITS), int)):
        _sorted_few(z, rows, order)
    return order


def grouped(
    code: np.ndarray, count: int, rows: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return rows in the order of their codes, and the bounds of each code, (count + 1,).

    Parameters
    ----------
    code : ndarray of int, shape (n,)
        The code of each row, from 0 to ``count`` − 1.
    count : int
    rows : ndarray of int, shape (k,), optional
        Some of the rows, whose order is kept among equal codes; by default all.
    """
    rows = np.arange(len(code)) if rows is None else rows
    start, order = np.zeros(count + 1, np.int64), np.empty_like(rows)
    _group(code, rows, start, order)
    return order, start


def _group_few(code: np.ndarray, rows: np.ndarray, start: np.ndarray, order: np.ndarray) -> None:
    code_of_row = code[rows]
    start[1:] = np.cumsum(np.bincount(code_of_row, minlength=len(start) - 1))
    order[...] = rows[np.argsort(code_of_row, kind="stable")]


@unless(lambda code, rows, *_: len(rows) <= FEW_ROWS, _group_few, same_bits=True)
@compiled
def _group(code, rows, start, order):
    for i in rows:
        start[code[i] + 1] += 1
    for g in range(len(start) - 1):
        start[g + 1] += start[g]
    for i in rows:
        order[start[code[i]]] = i
        start[code[i]] += 1
    for g in range(len(start) - 1, 0, -1):  # from the end of each code to its start
        start[g] = start[g - 1]
    start[0] = 0


def _sorted_few(z: np.ndarray, rows: np.ndarray, order: np.ndarray, *_: np.ndarray) -> bool:
    order[...] = rows[np.argsort(z[rows], kind="stable")]
    return True


@unless(lambda z, rows, *_: len(rows) <= FEW_ROWS, _sorted_few, same_bits=True)
@compiled
def _sorted_by_digits(z, rows, out, keys, buffer, place):
    # returns False if many scores are so close, relative to their range, that their digits agree
    n, low, high = len(rows), np.inf, -np.inf
    for i in rows:
        low = z[i] if z[i] < low else low
        high = z[i] if z[i] > high else high
    scale = _MAX_KEY / (high - low) if high > low else 0.0
    row_bits, last = np.uint64(64 - _DIGIT_BITS * _DIGITS), np.uint64((1 << _DIGIT_BITS) - 1)
    for k in range(n):
        key = np.uint64((z[rows[k]] - low) * scale)
        keys[k] = key << row_bits | np.uint64(rows[k])
        for p in range(_DIGITS):
            place[p, key >> np.uint64(_DIGIT_BITS * p) & last] += 1
    for p in range(_DIGITS):
        begin, shift = 0, row_bits + np.uint64(_DIGIT_BITS * p)
        for digit in range(1 << _DIGIT_BITS):
            place[p, digit], begin = begin, begin + place[p, digit]
        for k in range(n):
            digit = keys[k] >> shift & last
            buffer[place[p, digit]] = keys[k]
            place[p, digit] += 1
        keys, buffer = buffer, keys
    left = _MAX_MEAN_SHIFT * n
    for k in range(n):
        i = np.int64(keys[k] & np.uint64((1 << row_bits) - 1))
        j = k
        while j > 0 and z[out[j - 1]] > z[i]:
            out[j] = out[j - 1]
            j -= 1
        out[j] = i
        left -= k - j
        if left < 0:
            return False
    return True
