"""Columns of features: numbers, dates, text, or what stands in the way of taking them for such."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from aucmax.datasets.obstacles import Obstacle
from aucmax.datasets.tables.arrow import Source, decoded, floats, is_numeric, is_text, stripped
from aucmax.datasets.tables.choice import (
    MOSTLY,
    NEARLY_ALL,
    NO_NUMBER,
    NO_WORD,
    Choice,
    Feature,
    left_out,
)
from aucmax.datasets.tables.date_columns import dates_in_text, days_of, typed_dates

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["feature"]

_FEW_VALUES = 20
# Numbers as spreadsheets write them: "0,125", "1.234,5", "1,234.5", "12 %", "$5".
_WRITTEN = re.compile(r"[+-]?[$€£]?[0-9]+([.,][0-9]{3})*([.,][0-9]+)?([eE][+-]?[0-9]+)?\s?[%$€£]?")
# Numbers with a decimal comma; those of groups of three digits may have thousands instead.
_COMMA = re.compile(r"[+-]?[0-9]*,[0-9]+([eE][+-]?[0-9]+)?")
_THOUSANDS = re.compile(r"[+-]?[1-9][0-9]{0,2}(,[0-9]{3})+")


def feature(source: Source, name: str, choice: Choice) -> Feature:
    """A column as numbers or text; what is missing is NaN in both."""
    from pyarrow import types

    column = decoded(source, name)
    named = choice.is_named_text(name)
    if column.null_count == len(column):
        return _gaps_only(name, len(column), named, choice)
    if named:
        return _checked(source, name, _words(name, column, choice), choice)
    if types.is_temporal(column.type):
        return _checked(source, name, typed_dates(name, column, choice), choice)
    if is_numeric(column.type) and name not in choice.date_forms:
        return _checked(source, name, Feature(np.array(floats(column))), choice)
    if not is_text(column.type):
        raise _strange_type(name, column, choice)
    return _checked(source, name, _of_text(source, name, column, choice), choice)


def _checked(source: Source, name: str, found: Feature, choice: Choice) -> Feature:
    """The column, once it is clear that its gaps are allowed and its numbers finite."""
    numbers = found.values.dtype == np.float64
    if numbers and np.isinf(found.values).any():
        row = int(np.argmax(np.isinf(found.values)))
        what = f"column {name!r} holds {found.values[row]}, which is not finite"
        out = "" if choice.for_model else f", or leave the column {left_out(name)}"
        raise Obstacle(name, what, f"replace it{out}", source.place(row), choice.without(name))
    gaps = np.isnan(found.values) if numbers else found.values != found.values
    if gaps.all() and not choice.for_model:
        raise _empty(name, choice)
    if gaps.any() and not choice.may_have_gaps(name):
        raise _missing(source, name, gaps, choice)
    return found


def _missing(source: Source, name: str, gaps: NDArray[np.bool_], choice: Choice) -> Obstacle:
    count = int(np.count_nonzero(gaps))
    what = f"column {name!r} has a missing value" + (f", the first of {count:,}" * (count > 1))
    if choice.for_model:
        hint = "fill it in, or score with a model trained with --impute"
        remedy = choice.without(name)
    else:
        hint = f"fill it in (or let --impute do so), or leave the column {left_out(name)}"
        remedy = {"missing": True}
    return Obstacle(name, what, hint, source.first(gaps), remedy)


def _empty(name: str, choice: Choice) -> Obstacle:
    hint = (
        "the model needs its values" if choice.for_model else f"leave the column {left_out(name)}"
    )
    what = f"column {name!r} is empty in every row"
    return Obstacle(name, what, hint, remedy=choice.without(name))


def _gaps_only(name: str, n: int, named_text: bool, choice: Choice) -> Feature:
    # a model knows such a column from other rows
    if not (choice.for_model and choice.may_have_gaps(name)):
        raise _empty(name, choice)
    return Feature(np.full(n, np.nan, dtype=object if named_text else np.float64))


def _strange_type(name: str, column: pa.ChunkedArray, choice: Choice) -> Obstacle:
    what = f"column {name!r} has the type {column.type}, not numbers"
    hint = (
        "the model was trained on numbers here, so give a number"
        if choice.for_model
        else f"turn the column into numbers, or leave it {left_out(name)}"
    )
    return Obstacle(name, what, hint, remedy=choice.without(name))


def _of_text(source: Source, name: str, column: pa.ChunkedArray, choice: Choice) -> Feature:
    """A column that Arrow takes for text: numbers with gaps, dates, text, or something wrong."""
    words = stripped(column)
    form = choice.date_forms.get(name)
    if form is not None:
        return Feature(days_of(source, name, words, form, choice), form)
    plain = [choice.number(word) for word in words]
    known = [plain[i] is not None or word.lower() not in NO_NUMBER for i, word in enumerate(words)]
    strange = [i for i, is_known in enumerate(known) if is_known and plain[i] is None]
    typed_text = source.typed and any(known)  # the file itself says that it is text
    if not strange and not (typed_text and choice.text is True):
        if typed_text and not choice.for_model:
            what = f"column {name!r} has the type {column.type}, not numbers"
            raise _text_obstacle(name, what, words)
        return Feature(np.array([np.nan if value is None else value for value in plain]))
    if strange:
        _check_decimal(source, name, words, strange, choice)
    if choice.for_model:
        row = strange[0]
        what = f"column {name!r} holds {words[row]!r}, which is not a number"
        hint = "the model was trained on numbers here, so give a number"
        raise Obstacle(name, what, hint, source.place(row), choice.without(name))
    if strange:
        _refuse_numbers(source, name, words, known, strange, choice)
    found = dates_in_text(source, name, words, known, choice)
    if found is not None:
        return found
    different = {word for word, is_known in zip(words, known, strict=True) if is_known}
    if len(different) > _FEW_VALUES and len(different) > sum(known) / 2:
        raise _identifies(name, len(different), sum(known), words[int(np.argmax(known))])
    if choice.text is not True:
        what = f"column {name!r} holds {words[strange[0]]!r}, which is not a number"
        raise _text_obstacle(name, what, words, source.place(strange[0]))
    return _words(name, column, choice)


def _identifies(name: str, different: int, known: int, word: str) -> Obstacle:
    return Obstacle(
        name,
        f"column {name!r} has {different:,} different values in {known:,} rows, such as {word!r}",
        "these tell rows apart and teach nothing about others; leave the column "
        f"{left_out(name)}, or take each as a category (--category {name!r})",
        remedy={"drop": [name]},
    )


def _text_obstacle(name: str, what: str, words: list[str], where: int | str = "") -> Obstacle:
    hint = (
        f"turn the column into numbers (or take text with --one-hot), or leave it {left_out(name)}"
    )
    gaps = any(word.lower() in NO_WORD for word in words)
    return Obstacle(name, what, hint, where, {"text": True, **({"missing": True} if gaps else {})})


def _refuse_numbers(
    source: Source,
    name: str,
    words: list[str],
    known: list[bool],
    strange: list[int],
    choice: Choice,
) -> None:
    """Refuse a text column that is one of numbers but for how some are written."""
    written = [i for i in strange if _WRITTEN.fullmatch(words[i])]
    total = sum(known)
    numbers = total - len(strange)
    share = (numbers + len(written)) / total
    many = len({word for word, is_known in zip(words, known, strict=True) if is_known})
    if share < (MOSTLY if many > _FEW_VALUES else NEARLY_ALL):
        return
    row = strange[0]
    if row in written[:1]:
        what, right = "looks like a number", "write it with digits and a decimal point only"
    else:
        what = f"is not a number, as {numbers:,} of its {total:,} values are"
        right = "correct it"
    raise Obstacle(
        name,
        f"column {name!r} holds {words[row]!r}, which {what}",
        f"{right}, leave the column {left_out(name)}, or take every value as a category "
        f"(--category {name!r})",
        source.place(row),
        {"drop": [name]},
    )


def _check_decimal(
    source: Source, name: str, words: list[str], strange: list[int], choice: Choice
) -> None:
    """Raise where all that is strange has a comma for the decimal point (not for thousands)."""
    found = [words[i] for i in strange]
    if (
        choice.decimal == "."
        and not source.typed
        and all(_COMMA.fullmatch(word) for word in found)
        and not all(_THOUSANDS.fullmatch(word) for word in found)
    ):
        what = f"column {name!r} holds {found[0]!r}, with a decimal comma"
        hint = "say so (--decimal ,), or write numbers with a decimal point"
        raise Obstacle(name, what, hint, source.place(strange[0]), {"decimal": ","})


def _words(name: str, column: pa.ChunkedArray, choice: Choice) -> Feature:
    """A column as text, whatever it holds."""
    import pyarrow as pa

    if not is_text(column.type):
        try:
            column = column.cast(pa.string())
        except pa.ArrowException:
            where = "where the model has text" if choice.for_model else "which is not text"
            what = f"column {name!r} has the type {column.type}, {where}"
            hint = "" if choice.for_model else f"leave the column {left_out(name)}"
            raise Obstacle(name, what, hint, remedy=choice.without(name)) from None
    values = np.array(column.to_pylist(), dtype=object)
    values[[word.lower() in NO_WORD for word in stripped(column)]] = np.nan
    return Feature(values)
