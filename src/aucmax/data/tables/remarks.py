"""Frequent words in a column of numbers, such as neg, which become a separate column."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from aucmax.basics.needs import needs
from aucmax.data.columns import Remarks, YesNo
from aucmax.data.reading import FIRST_ROWS
from aucmax.data.tables.arrow import is_text
from aucmax.data.tables.column import Distinct, FileColumn, Read

__all__ = ["are_remarks", "frequent_words", "may_stand_beside", "remarks_in"]

_FREQUENT = 10  # least rows of a word among the first rows, as for a level of a category
_MOST_WORDS = 20
_DIGIT = re.compile("[0-9]")
_UNKNOWN = ("unknown", "unk", "not known", "not available", "undefined", "empty")


def frequent_words(distinct: Distinct, chosen: NDArray[np.bool_]) -> list[str]:
    """Return the words in a mask (k,) that many of the first rows have, ignoring case.

    The list is empty if the words cannot stand for numbers.
    """
    import pyarrow as pa

    codes = distinct.codes[:FIRST_ROWS]
    codes = codes[np.append(chosen, False)[codes]]
    counts = Counter(distinct.words.take(pa.array(codes)).to_pylist())
    in_any_case: Counter[str] = Counter()
    for word, count in counts.items():
        in_any_case[word.casefold()] += count
    frequent = {word for word, count in in_any_case.items() if count >= _FREQUENT}
    frequent -= {*_UNKNOWN}
    words = [word for word, _ in counts.most_common() if word.casefold() in frequent]
    return words if are_remarks(words) else []


def are_remarks(words: Sequence[str]) -> bool:
    """Return whether words may stand for numbers: a few, neither codes nor yes and no."""
    few = len(words) <= _MOST_WORDS and not any(map(_DIGIT.search, words))
    return few and YesNo.written("", words) is None


def may_stand_beside(column: FileColumn, remarks: Remarks) -> bool:
    """Return whether words in a column of numbers may become a column; otherwise they are gaps."""
    reading, name = column.reading, column.name
    accepted = reading.lenient and reading.text is True and reading.may_have_gaps(name)
    unwanted = name in reading.numbers or remarks.name in reading.drop
    return accepted and not unwanted and remarks.name not in column.reserved


def remarks_in(column: FileColumn, kind: Remarks) -> Read:
    """Return the words in a column of numbers as a column of words, with gaps elsewhere."""
    pd = needs("pandas", "a table with words")
    places = np.full(len(column.stored), -1, np.int32)
    if is_text(column.kind):
        places = column.distinct.of_rows(column.distinct.places_in(kind.words), -1)
    return Read(kind, pd.Categorical.from_codes(places, np.array(kind.words, dtype=object)))
