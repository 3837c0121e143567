"""Regular svmlight text, many lines at a time: NumPy finds the separators, Arrow reads the numbers.

Regular text has only lines ``label index:value index:value …`` of plain decimal numbers, with one
label and ascending indices. It is read four times as fast as by a line-by-line parser.
"""

from __future__ import annotations

import io
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aucmax.basics.needs import needs
from aucmax.basics.sparse import sp

__all__ = ["regular_rows"]

PIECE_BYTES = 1 << 21  # so that all arrays made from a piece fit in the cache
_SPACE, _COLON, _END = b" :\n"
_DIGIT, _BETWEEN, _OTHER = 0, 1, 2
_KINDS = bytes(_DIGIT if c in b"0123456789" else _BETWEEN if c in b" :\n" else _OTHER
               for c in range(256))  # fmt: skip
_LINES = bytes.maketrans(b" :", b"\n\n")


def regular_rows(
    stream: io.BufferedReader,
) -> tuple[sp.csr_matrix, NDArray[np.float64]] | None:
    """Return rows and labels of regular text; None if it is not regular.

    Parameters
    ----------
    stream : binary file
        It consists of whole lines.
    """
    pieces = []
    while text := stream.read(PIECE_BYTES):
        text += stream.readline()
        text += b"" if text.endswith(b"\n") else b"\n"
        piece = _rows(text) or _rows(_plain(text))
        if piece is None:
            return None
        pieces.append(piece)
    if not pieces:
        return None
    y, sizes, indices, values = map(np.concatenate, zip(*pieces, strict=True))
    indptr = np.concatenate(([0], np.cumsum(sizes)))
    shape = len(y), int(indices.max(initial=-1)) + 1
    return sp.csr_matrix((values, indices, indptr), shape=shape), y


def _rows(text: bytes) -> tuple[NDArray[Any], ...] | None:
    """Return labels, numbers of entries, indices from 0, and values of some lines."""
    if text.translate(None, b"0123456789.eE- :\n"):
        return None
    kinds = np.frombuffer(text.translate(_KINDS), dtype=np.uint8)
    at = np.flatnonzero(kinds == _BETWEEN)  # where each number ends
    starts = np.concatenate(([0], at[:-1] + 1))
    ends = np.frombuffer(text, dtype=np.uint8)[at]
    in_row = np.diff(np.flatnonzero(ends == _END), prepend=-1)
    inner = ends[ends != _END]
    pairs = (inner[::2] == _SPACE).all() and (inner[1::2] == _COLON).all() and (in_row % 2).all()
    numbers = _numbers(text) if pairs and (starts < at).all() else None
    if numbers is None:
        return None
    first, sizes = np.cumsum(in_row) - in_row, in_row // 2
    rest = np.delete(numbers, first)
    index, value = rest[::2], rest[1::2]
    digits = np.delete(np.add.reduceat(kinds, starts), first)[::2] == _BETWEEN
    step = np.diff(index, prepend=0.0)
    begins = (np.cumsum(sizes) - sizes)[sizes > 0]
    step[begins] = index[begins]
    if not (digits.all() and (step > 0).all() and (index <= np.iinfo(np.int32).max).all()):
        return None
    return numbers[first], sizes, index.astype(np.int32) - 1, value.copy()  # not all the numbers


def _plain(text: bytes) -> bytes:
    """Return lines without plus signs of labels and exponents, and without trailing space."""
    return (b"\n" + text).replace(b"\n+", b"\n").replace(b" \n", b"\n").replace(b"e+", b"e")[1:]


def _numbers(text: bytes) -> NDArray[np.float64] | None:
    """Return all numbers of a text, in order; None if one is malformed."""
    pa = needs("pyarrow", "a file of rows")
    from pyarrow import csv

    from aucmax.data.tables.arrow import interrupts_kept

    try:
        with interrupts_kept():
            table = csv.read_csv(
                pa.py_buffer(text.translate(_LINES)),
                csv.ReadOptions(
                    use_threads=False, column_names=["number"], block_size=2 * PIECE_BYTES
                ),
                csv.ParseOptions(quote_char=False),
                csv.ConvertOptions(column_types={"number": pa.float64()}, null_values=[]),
            )
    except pa.ArrowException:
        return None
    return table.column(0).to_numpy()
