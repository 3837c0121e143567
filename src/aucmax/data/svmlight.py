"""svmlight text: ``label qid:query index:value … # comment``, indices from 1, ascending.

Queries are whole numbers. `svmlight_text` reads regular text, and scikit-learn's parser all other
text, such as lines with queries. The latter neither reports the line of an error nor rejects nan,
inf, or a missing query in some rows, so a failed or suspect file is read again, line by line, for
the message.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aucmax.basics.errors import DataFileError
from aucmax.basics.memory import free_memory
from aucmax.basics.sparse import sp
from aucmax.data.files import fault, opened
from aucmax.data.svmlight_text import regular_rows

__all__ = ["label_too_large", "read_svmlight", "whole_labels"]

_INDEX = re.compile(rb"[+-]?[0-9]+")
_LARGEST = np.iinfo(np.int32).max
_SHOWN_CHARACTERS = 40
_MAX_QUERY = 22  # characters; the number has 64 bits
_VECTORS_HELD = 16  # vectors of one number per feature that a fit holds at a time


def read_svmlight(
    path: Path, n_features: int | None, labels: str
) -> tuple[sp.csr_matrix, NDArray[Any] | None, NDArray[np.int64] | None]:
    """Return rows and labels of an svmlight file, and the queries of the rows, if they have any.

    `labels` is as in `readers.read`, or "several": each row has any number of integer labels, which
    are returned as bytes such as ``b"33,59"``.
    """
    try:
        X, y, query = _parse(path, labels)
    except DataFileError:
        raise
    except (ValueError, OverflowError) as error:
        raise _first_fault(path, labels, n_features, str(error)) from None
    if not X.shape[0]:
        raise fault(path, "the file is empty: it has no rows")
    if not np.isfinite(X.data).all() or (n_features or X.shape[1]) < X.shape[1]:
        raise _first_fault(path, labels, n_features)
    if n_features is None:
        if not X.nnz:
            raise fault(path, "no line has a feature; rows look like '1 3:0.5 7:2'")
        _check_memory(path, X.shape[1])
    if 0 < len(query) < X.shape[0]:
        raise _without_query(path)
    X = _canonical(X, n_features or X.shape[1])
    return X, _labels(path, y, labels), query if len(query) else None


def _parse(path: Path, labels: str) -> tuple[Any, Any, NDArray[np.int64]]:
    from sklearn.datasets import load_svmlight_file

    if labels != "several":
        with opened(path) as stream:
            regular = regular_rows(stream)
        if regular is not None:
            X, y = regular
            no_query = np.empty(0, dtype=np.int64)
            return X, y if labels == "required" else [(label,) for label in y.tolist()], no_query
    with opened(path) as stream:
        X, y, query = load_svmlight_file(
            _Lines(stream, labels),
            zero_based=False,
            multilabel=labels != "required",
            query_id=True,
        )
    return X, y, query


def _without_query(path: Path) -> DataFileError:
    """Return the error for a file in which only some rows have a query."""
    with opened(path) as stream:
        rows = ((n, line.partition(b"#")[0]) for n, line in _numbered(stream))
        line = next(n for n, row in rows if row.split() and b"qid:" not in row)
    return fault(
        path, "the row has no qid, though others have one; give all rows a qid, or none", line
    )


class _Lines:
    """The lines for scikit-learn's parser, with a check for an error that it overlooks."""

    def __init__(self, stream: io.BufferedReader, labels: str):
        self.stream = stream
        self.labels = labels

    def read(self) -> bytes:
        """Exist, but never be called: scikit-learn recognises files by this method."""
        raise io.UnsupportedOperation("read")

    def __iter__(self) -> Iterator[bytes]:
        for _, line in _numbered(self.stream, self.labels):
            if b"_" in line and b"_" in line.partition(b"#")[0]:  # float("1_0") is 10
                raise ValueError("underscore")
            yield line


def _numbered(stream: io.BufferedReader, labels: str = "") -> Iterator[tuple[int, bytes]]:
    """Yield line numbers from 1 and lines, without byte-order mark, several labels as one word."""
    for number, line in enumerate(stream, 1):
        if number == 1:
            line = line.removeprefix(b"\xef\xbb\xbf")
        yield number, line.replace(b", ", b",") if labels == "several" else line


def _check_memory(path: Path, d: int) -> None:
    """Raise DataFileError if a model with d features would not fit into memory."""
    needed, free = _VECTORS_HELD * 8 * d, free_memory()
    if free is None or needed <= free:
        return
    with opened(path) as stream:
        pairs = (
            (number, line.partition(b"#")[0].split()[-1:]) for number, line in _numbered(stream)
        )
        line = next(n for n, last in pairs if last and int(last[0].partition(b":")[0]) == d)
    raise fault(
        path,
        f"the feature index {d} implies a model of that many features, which needs about "
        f"{needed / 1e9:.0f} GB of memory, but {free / 1e9:.1f} GB are free; number the features "
        "without gaps",
        line,
    )


def _canonical(X: Any, n_features: int) -> sp.csr_matrix:
    """Return a CSR matrix without stored zeros, with int32 indices up to 2³¹ − 1 entries."""
    dtype = np.int32 if X.nnz <= _LARGEST else np.int64
    indices, indptr = (part.astype(dtype, copy=False) for part in (X.indices, X.indptr))
    X = sp.csr_matrix((X.data, indices, indptr), shape=(X.shape[0], n_features))
    X.eliminate_zeros()
    return X


# --- labels


def _labels(path: Path, y: Any, labels: str) -> NDArray[Any] | None:
    row_of, lists = np.arange(len(y)), y
    if labels != "required":  # then each row has a tuple of labels
        counts = np.fromiter(map(len, y), dtype=np.intp, count=len(y))
        row_of = np.repeat(row_of, counts)
        y = np.fromiter(chain.from_iterable(y), dtype=np.float64, count=len(row_of))
    finite = np.isfinite(y)
    if not finite.all():
        at = int(np.argmin(finite))
        raise fault(
            path, f"the label is {y[at]}, not a finite number", _line_of(path, int(row_of[at]))
        )
    if labels == "none" or not len(y):
        return None
    if labels == "optional" and (counts.min() != 1 or counts.max() != 1):
        row = int(np.argmax(counts != 1))
        few = "no label, though other lines have one" if not counts[row] else "several labels"
        raise fault(path, few, _line_of(path, row))
    problem = label_too_large(y)
    if problem:
        raise fault(path, problem, _line_of(path, int(np.abs(y).argmax())))
    if labels == "several":
        return _several_labels(path, lists)
    return whole_labels(np.asarray(y))


def _several_labels(path: Path, y: Any) -> NDArray[Any]:
    for row, labels in enumerate(y):
        if not all(float(label).is_integer() for label in labels):
            raise fault(path, "several labels must be integers, as in 33,59", _line_of(path, row))
    return np.array([b",".join(b"%d" % int(label) for label in labels) for labels in y])


def whole_labels(y: NDArray[Any]) -> NDArray[Any]:
    """Return labels as int64 if all are whole numbers, unchanged otherwise."""
    return y.astype(np.int64) if np.all(y == np.floor(y)) else y.astype(np.float64)


def label_too_large(y: NDArray[Any]) -> str:
    """Return what is wrong with the largest of the labels, or "".

    From 2⁵³ on, neighbouring whole numbers are read as the same number.
    """
    largest = y[np.abs(y).argmax()]
    if abs(largest) < 2.0**53:
        return ""
    return f"the label {largest:.17g} is too large to tell labels apart; use numbers below 2**53"


def _line_of(path: Path, row: int) -> int:
    """Return the line number of a row, counting blank lines and comments."""
    with opened(path) as stream:
        filled = (number for number, line in _numbered(stream) if line.partition(b"#")[0].split())
        return next(number for i, number in enumerate(filled) if i == row)


# --- the second reading


def _first_fault(
    path: Path, labels: str, n_features: int | None, otherwise: str = ""
) -> DataFileError:
    with opened(path) as stream:
        for number, line in _numbered(stream, labels):
            problem = _line_fault(line, labels, n_features)
            if problem:
                return fault(path, problem, number)
    return fault(path, f"not svmlight text ({otherwise})")


def _line_fault(line: bytes, labels: str, n_features: int | None) -> str:
    """Return what is wrong with a line, or ""."""
    tokens = line.partition(b"#")[0].split()
    if not tokens:
        return ""
    if labels == "required" or b":" not in tokens[0]:
        problem = _label_fault(tokens.pop(0), labels)
        if problem:
            return problem
    if tokens and tokens[0].startswith(b"qid:"):
        query = tokens.pop(0)
        if not _INDEX.fullmatch(query[4:]) or len(query) > _MAX_QUERY:
            return f"{_show(query)}: the query is not a whole number"
    previous = 0
    for token in tokens:
        problem = _pair_fault(token, previous, n_features)
        if problem:
            return problem
        previous = int(token.partition(b":")[0])
    return ""


def _label_fault(label: bytes, labels: str) -> str:
    if labels == "required" and b":" in label:
        return f"the label is missing before {_show(label)}"
    parts = [label] if labels == "required" else label.split(b",")
    problem = next(filter(None, map(_number_fault, parts)), "")
    return problem and (
        f"the label {_show(label)} {problem} (the file is read as svmlight text; "
        "tables end in .csv, .tsv or .parquet)"
    )


def _pair_fault(token: bytes, previous: int, n_features: int | None) -> str:
    name, colon, value = token.partition(b":")
    if name == b"qid":
        return f"{_show(token)} must occur once, after the label and before the features"
    if not colon or not _INDEX.fullmatch(name):
        return f"{_show(token)} is not of the form index:value"
    if len(name) > 1000:  # Python may refuse to convert so many digits
        return f"the feature index {_show(name)} is not from 1 to {_LARGEST}"
    index = int(name)
    if index < 1:
        return f"the feature index is {index}; indices start at 1"
    if index > _LARGEST:
        return f"the feature index {index} is larger than {_LARGEST}"
    if index == previous:
        return f"the feature index {index} occurs twice"
    if index < previous:
        return f"the feature index {index} comes after {previous}; indices must ascend"
    if n_features is not None and index > n_features:
        return f"the feature index is {index}; at most {n_features} is expected"
    problem = _number_fault(value)
    return problem and f"the value {_show(value)} of feature {index} {problem}"


def _number_fault(text: bytes) -> str:
    try:
        number = float(text)
    except ValueError:
        return "is not a number"
    if b"_" in text:
        return "is not a number"
    return "" if np.isfinite(number) else "is not finite"


def _show(token: bytes) -> str:
    text = token.decode("utf-8", "replace")
    return repr(text if len(text) <= _SHOWN_CHARACTERS else text[: _SHOWN_CHARACTERS - 1] + "…")
