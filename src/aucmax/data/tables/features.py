"""Columns of features: numbers, dates, text, or an obstacle."""

from __future__ import annotations

import re

import numpy as np

from aucmax.data.columns import NO_NUMBER, Column, Words, YesNo, is_no_word
from aucmax.data.obstacles import Obstacle
from aucmax.data.reading import Reading
from aucmax.data.tables.arrow import is_numeric, is_text
from aucmax.data.tables.column import MOSTLY, NEARLY_ALL, FileColumn, Read
from aucmax.data.tables.date_columns import dates_in_text, declared_dates, typed_dates

__all__ = ["feature"]

_FEW_VALUES = 20
# Numbers as spreadsheets write them: "0,125", "1.234,5", "1,234.5", "12 %", "$5".
_WRITTEN = re.compile(r"[+-]?[$€£]?[0-9]+([.,][0-9]{3})*([.,][0-9]+)?([eE][+-]?[0-9]+)?\s?[%$€£]?")
# Numbers with a decimal comma; those of groups of three digits may have thousands instead.
_COMMA = re.compile(r"[+-]?[0-9]*,[0-9]+([eE][+-]?[0-9]+)?")
_THOUSANDS = re.compile(r"[+-]?[1-9][0-9]{0,2}(,[0-9]{3})+")
_GIVE_A_NUMBER = "the model was trained on numbers here, so give a number"


def feature(column: FileColumn) -> Read:
    """Return a column as numbers or text; missing values are NaN in both."""
    reading, n, declared = column.reading, len(column.values), column.declared
    is_text = declared is not None and declared.is_text
    if column.values.null_count < n:
        return _checked(column, _words(column) if is_text else _typed(column))
    # a model may have seen values in other rows
    if not (reading.for_model and reading.may_have_gaps(column.name)):
        raise _empty(column)
    gaps = np.full(n, np.nan, dtype=object if is_text else np.float64)
    return declared or Column(column.name), gaps


def _typed(column: FileColumn) -> Read:
    """Return a column read according to its type."""
    from pyarrow import types

    declared = column.declared
    if types.is_temporal(column.kind):
        return typed_dates(column)
    if is_numeric(column.kind) and not (declared is not None and declared.is_days):
        if declared is None and types.is_boolean(column.kind):
            declared = YesNo.written(column.name, column.source.first_words().get(column.name, ()))
        return declared or Column(column.name), column.numbers()
    if is_text(column.kind):
        return _of_text(column)
    raise column.wrong(
        f"has the type {column.kind}, not numbers",
        f"turn the column into numbers, or leave it {column.out}",
        remedy=column.drop,
        of_model=_GIVE_A_NUMBER,
    )


def _checked(column: FileColumn, read: Read) -> Read:
    """Check that gaps are allowed and numbers are finite."""
    _, values = read
    numbers = values.dtype == np.float64
    if numbers and np.isfinite(values).all():
        return read
    if numbers and np.isinf(values).any():
        row = int(np.argmax(np.isinf(values)))
        raise column.wrong(
            f"holds {values[row]}, which is not finite",
            f"replace it, or leave the column {column.out}",
            row,
            remedy=column.drop,
            of_model="replace it",
        )
    gaps = np.isnan(values) if numbers else values != values
    if gaps.all() and not column.reading.for_model:
        raise _empty(column)
    if gaps.any() and not column.reading.may_have_gaps(column.name):
        count = int(np.count_nonzero(gaps))
        raise column.wrong(
            "has a missing value" + (f", the first of {count:,}" if count > 1 else ""),
            f"fill it in (or let missing=True do so), or leave the column {column.out}",
            int(np.argmax(gaps)),
            remedy={"missing": True},
            of_model="fill it in, or score with a model trained with missing=True",
        )
    return read


def _empty(column: FileColumn) -> Obstacle:
    return column.wrong(
        "is empty in every row",
        f"leave the column {column.out}",
        remedy=column.drop,
        of_model="the model needs its values",
    )


def _words(column: FileColumn) -> Read:
    """Return a column as text, whatever it holds."""
    import pyarrow as pa

    values = column.values
    if not is_text(column.kind):
        try:
            values = values.cast(pa.string())
        except pa.ArrowException:
            where = "where the model has text" if column.reading.for_model else "which is not text"
            raise column.wrong(
                f"has the type {column.kind}, {where}",
                f"leave the column {column.out}",
                remedy=column.drop,
                of_model="",
            ) from None
    words = values.to_pylist()
    values = np.array([np.nan if is_no_word(word) else word for word in words], object)
    return column.declared or Words(column.name), values


def _of_text(column: FileColumn) -> Read:
    """Return a column of Arrow's type text: numbers with gaps, dates or text; or raise Obstacle."""
    reading, words = column.reading, column.words
    declared = column.declared or Column(column.name)
    if declared.is_days:
        return declared_dates(column, declared)
    plain = [_number(word, declared, reading) for word in words]
    has_value = [
        plain[i] is not None or word.lower() not in NO_NUMBER for i, word in enumerate(words)
    ]
    strange = [i for i, is_known in enumerate(has_value) if is_known and plain[i] is None]
    typed_text = column.source.typed and any(has_value)  # the file declares it as text
    if not strange and not (typed_text and reading.text is True):
        if typed_text and not reading.for_model:
            raise _text(column, f"has the type {column.kind}, not numbers")
        return declared, np.array([np.nan if value is None else value for value in plain])
    if strange:
        _check_decimal(column, strange)
    no_number = f"holds {words[strange[0]]!r}, which is not a number" if strange else ""
    if reading.for_model:
        raise column.wrong(no_number, "", strange[0], of_model=_GIVE_A_NUMBER)
    different = len({word for word, is_known in zip(words, has_value, strict=True) if is_known})
    if strange:
        _refuse_numbers(column, sum(has_value), strange, different)
    dates = dates_in_text(column, has_value)
    if dates is not None:
        return dates
    if different > _FEW_VALUES and different > sum(has_value) / 2:
        raise column.wrong(
            f"has {different:,} different values in {sum(has_value):,} rows, such as "
            f"{words[has_value.index(True)]!r}",
            f"this looks like an ID column and cannot generalise; leave the column {column.out}, "
            f"or take each as a category (categories={[column.name]!r})",
            remedy=column.drop,
        )
    if reading.text is not True:
        raise _text(column, no_number, strange[0])
    return _words(column)


def _number(word: str, declared: Column, reading: Reading) -> float | None:
    number = reading.number(word)
    return declared.number(word) if number is None else number


def _text(column: FileColumn, what: str, row: int | None = None) -> Obstacle:
    gaps = any(map(is_no_word, column.words))
    return column.wrong(
        what,
        f"turn the column into numbers (or take text with text=True), or leave it {column.out}",
        row,
        remedy={"text": True, **({"missing": True} if gaps else {})},
    )


def _refuse_numbers(column: FileColumn, total: int, strange: list[int], different: int) -> None:
    """Refuse a text column of mostly numbers, some of them badly written."""
    written = [i for i in strange if _WRITTEN.fullmatch(column.words[i])]
    numbers = total - len(strange)
    share = (numbers + len(written)) / total
    if share < (MOSTLY if different > _FEW_VALUES else NEARLY_ALL):
        return
    row = strange[0]
    if row in written[:1]:
        what, right = "looks like a number", "write it with digits and a decimal point only"
    else:
        what = f"is not a number, as {numbers:,} of its {total:,} values are"
        right = "correct it"
    raise column.wrong(
        f"holds {column.words[row]!r}, which {what}",
        f"{right}, leave the column {column.out}, or take every value as a category "
        f"(categories={[column.name]!r})",
        row,
        remedy=column.drop,
    )


def _check_decimal(column: FileColumn, strange: list[int]) -> None:
    """Raise if every value that is not a number has a decimal comma (not one for thousands)."""
    written = [column.words[i] for i in strange]
    if (
        column.reading.decimal == "."
        and not column.source.typed
        and all(_COMMA.fullmatch(word) for word in written)
        and not all(_THOUSANDS.fullmatch(word) for word in written)
    ):
        raise column.wrong(
            f"holds {written[0]!r}, with a decimal comma",
            "say so (decimal=','), or write numbers with a decimal point",
            strange[0],
            remedy={"decimal": ","},
        )
