"""Rows by ascending score: a radix sort, since the scores are many and only their order counts."""

import numpy as np

from aucmax.rows import compiled

__all__ = ["ascending"]

_BITS, _PASSES = 11, 3  # of each digit, and how many: 33 of 64 bits, the other 31 are the row's
_PATIENCE = 8  # places that rows may have to move, on average, once the digits are sorted


def ascending(z: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return the rows by ascending z.

    Parameters
    ----------
    z : ndarray, shape (n,)
    rows : ndarray of int, shape (k,)
    """
    out = np.empty_like(rows)
    if _sorted_by_digits(z, rows, out):
        return out
    return rows[np.argsort(z[rows])]


@compiled
def _sorted_by_digits(z, rows, out):
    # False where most scores are so near to each other, beside their range, that their digits
    # hardly tell them apart
    n, low, high = len(rows), np.inf, -np.inf
    for i in rows:
        low, high = min(low, z[i]), max(high, z[i])
    scale = (2.0 ** (_BITS * _PASSES) - 1.0) / (high - low) if high > low else 0.0
    row_bits, last = np.uint64(64 - _BITS * _PASSES), np.uint64((1 << _BITS) - 1)
    keys, other = np.empty(n, np.uint64), np.empty(n, np.uint64)
    place = np.zeros((_PASSES, 1 << _BITS), np.int64)
    for k in range(n):
        key = np.uint64((z[rows[k]] - low) * scale)
        keys[k] = key << row_bits | np.uint64(rows[k])
        for p in range(_PASSES):
            place[p, key >> np.uint64(_BITS * p) & last] += 1
    for p in range(_PASSES):
        begin, shift = 0, row_bits + np.uint64(_BITS * p)
        for digit in range(1 << _BITS):
            place[p, digit], begin = begin, begin + place[p, digit]
        for k in range(n):
            digit = keys[k] >> shift & last
            other[place[p, digit]] = keys[k]
            place[p, digit] += 1
        keys, other = other, keys
    left = _PATIENCE * n
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
