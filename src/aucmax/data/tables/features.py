"""Columns of features: numbers, dates, text, or an obstacle."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from aucmax.basics.needs import needs
from aucmax.basics.visible import counted
from aucmax.data.codes import PAIR, names_codes
from aucmax.data.columns import NO_NUMBER, NO_WORD, Amount, Column, Remarks, Words, YesNo
from aucmax.data.decisions import Decision
from aucmax.data.files import Block, RowGroups
from aucmax.data.obstacles import Obstacle
from aucmax.data.reading import Reading
from aucmax.data.tables.arrow import is_numeric, is_text
from aucmax.data.tables.column import MOSTLY, NEARLY_ALL, Distinct, FileColumn, Read
from aucmax.data.tables.date_columns import (
    dates_in_numbers,
    dates_in_text,
    declared_dates,
    times_in_text,
    typed_dates,
)
from aucmax.data.tables.remarks import (
    are_remarks,
    frequent_words,
    may_stand_beside,
    remarks_in,
)
from aucmax.data.tables.written import (
    DECIMALS,
    MULTIPLES,
    amounts,
    are_bounds,
    are_one,
    measure_of,
    plain_numbers,
    unit_of_each,
    units_of,
)

__all__ = ["feature"]

_FEW_VALUES = 20
_FEW_OTHERS = 0.01  # share of other words beside yes and no, above which all are categories
_MOST_UNITS = 3  # of one column
_FIRST_WORDS = 1000  # tried first: if most words of a column are numbers, some of these are
# numbers as spreadsheets write them: "0,125", "1.234,5", "1,234.5", "12 %", "$5"
_WRITTEN = re.compile(r"[+-]?[$€£]?[0-9]+([.,][0-9]{3})*([.,][0-9]+)?([eE][+-]?[0-9]+)?\s?[%$€£]?")
# numbers with a decimal comma; in groups of three digits it may separate thousands instead
_COMMA = re.compile(r"[+-]?[0-9]*,[0-9]+([eE][+-]?[0-9]+)?")
_THOUSANDS = re.compile(r"[+-]?[1-9][0-9]{0,2}(,[0-9]{3})+")
_CODE = "^0[0-9]+$"  # amounts have no leading zeros
_GIVE_A_NUMBER = "the model was trained on numbers here, so give a number"
_GIVE_ONE_WORD = "the model was trained on yes and no here, so give one of them"


def feature(column: FileColumn) -> Read:
    """Return a column as numbers or text; missing values are NaN in both."""
    reading, n, declared = column.reading, len(column.stored), column.declared
    if isinstance(declared, Remarks):
        return remarks_in(column, declared)
    is_text = declared is not None and declared.is_text
    if column.stored.null_count < n:
        return _checked(column, _words(column) if is_text else _typed(column))
    # a model may have seen values in other rows
    if not (reading.prepare or (reading.for_model and reading.may_have_gaps(column.name))):
        raise _empty(column)
    return Read(declared or Column(column.name), _no_words(n) if is_text else np.full(n, np.nan))


def _typed(column: FileColumn) -> Read:
    """Return a column read according to its type."""
    from pyarrow import types

    declared = column.declared
    if types.is_temporal(column.kind):
        return typed_dates(column)
    if is_numeric(column.kind) and not (declared is not None and declared.is_days):
        if declared is None and types.is_boolean(column.kind):
            declared = column.truth
        if declared is None and not types.is_boolean(column.kind) and _may_be_dates(column):
            dates = dates_in_numbers(column)
            if dates is not None:
                return dates
        numbers = column.numbers()
        if isinstance(declared, YesNo) and np.nansum(np.abs(numbers * (1.0 - numbers))) > 0.0:
            return _of_text(column)  # tells which are neither
        return Read(declared or Column(column.name), numbers)
    if is_text(column.kind):
        return _of_text(column)
    if is_numeric(column.kind) and declared is not None:
        return declared_dates(column, declared)
    raise column.wrong(
        f"has the type {column.kind}, not numbers",
        f"turn the column into numbers, or leave it {column.out}",
        remedy=column.drop,
        of_model=_GIVE_A_NUMBER,
    )


def _may_be_dates(column: FileColumn) -> bool:
    reading = column.reading
    return reading.prepare and reading.dates is True and column.name not in reading.numbers


def _checked(column: FileColumn, read: Read) -> Read:
    """Check that gaps are allowed and numbers are finite."""
    values = read.values
    numbers = getattr(values, "dtype", None) == np.float64
    if numbers and np.isfinite(values).all():
        return read
    if numbers and np.isinf(values).any():
        read = _without_infinite(column, read)
        values = read.values
    gaps = np.isnan(values) if numbers else values.codes < 0
    if gaps.all() and not column.reading.for_model and not column.reading.prepare:
        raise _empty(column)
    if gaps.any() and not column.reading.may_have_gaps(column.name):
        count = int(np.count_nonzero(gaps))
        raise column.wrong(
            "has a missing value" + (f", the first of {count:,}" if count > 1 else ""),
            f"fill it in (or let missing=True do so), or leave the column {column.out}",
            int(np.argmax(gaps)),
            remedy={"missing": True},
            of_model="fill it in, or train the model again with prepare=False missing=True",
        )
    return read


def _without_infinite(column: FileColumn, read: Read) -> Read:
    """Return a column of numbers with gaps in place of infinite ones."""
    infinite = np.isinf(read.values)
    row, count = int(np.argmax(infinite)), int(np.count_nonzero(infinite))
    if not (column.reading.lenient and column.reading.may_have_gaps(column.name)):
        raise column.wrong(
            f"holds {read.values[row]}, which is not finite",
            f"replace it, or leave the column {column.out}",
            row,
            remedy=column.drop,
            of_model="replace it",
        )
    finding = f"{counted(count, 'infinite number')}: taken as missing"
    decision = Decision(column.name, finding, doubtful=True)
    values = np.where(infinite, np.nan, read.values)
    return read._replace(values=values, decisions=(*read.decisions, decision))


def _empty(column: FileColumn) -> Obstacle:
    in_parts = isinstance(column.source.path, Block | RowGroups)
    part = "this part" if column.reading.for_model else "the first part"
    later = ", or let prepare=True find its kind in later parts"
    return column.wrong(
        f"is empty in every row{f' of {part}' if in_parts else ''}",
        f"leave the column {column.out}{later if in_parts else ''}",
        remedy=column.drop,
        of_model="the model needs its values",
        provisional=True,
    )


def _words(column: FileColumn) -> Read:
    """Return a column as text, whatever it contains."""
    import pyarrow as pa

    try:
        written = column.written
    except pa.ArrowException:
        where = "where the model has text" if column.reading.for_model else "which is not text"
        raise column.wrong(
            f"has the type {column.kind}, {where}",
            f"leave the column {column.out}",
            remedy=column.drop,
            of_model="",
        ) from None
    words: Any = column.declared or Words(column.name)
    if not column.reading.prepare:
        return Read(words, _categories(written.each_once()))
    return Read(replace(words, trimmed=True), _categories(column.distinct.each_once()))


def _categories(distinct: Distinct) -> Any:
    """Return words as a pandas Categorical: a code for each row, −1 for a gap, and the words."""
    pd = needs("pandas", "a table with words")
    gaps = distinct.are(NO_WORD)
    places = np.where(gaps, -1, np.cumsum(~gaps) - 1).astype(np.int32)
    words = distinct.words.to_numpy(zero_copy_only=False)[~gaps]
    return pd.Categorical.from_codes(distinct.of_rows(places, -1), words)


def _no_words(n: int) -> Any:
    """Return a column of words with n gaps."""
    pd = needs("pandas", "a table with words")
    return pd.Categorical.from_codes(np.full(n, -1), np.empty(0, dtype=object))


class _Cells(NamedTuple):
    """The words of a column as numbers.

    Parameters
    ----------
    column : Column
        The kind of column in which the words are numbers.
    numbers : ndarray, shape (k,)
        The numbers; NaN for other words.
    filled : ndarray of bool, shape (k,)
        Which words are not gaps.
    """

    column: Column
    numbers: NDArray[np.float64]
    filled: NDArray[np.bool_]

    @property
    def share(self) -> float:
        """The share of numbers among the words that are not gaps."""
        return 1.0 - float(self.strange.sum() / max(self.filled.sum(), 1))

    @property
    def strange(self) -> NDArray[np.bool_]:
        """Which words are neither numbers nor gaps."""
        return self.filled & np.isnan(self.numbers)

    def without(self, distinct: Distinct, words: tuple[str, ...]) -> _Cells:
        """Return the same with some words, which are not numbers, treated as gaps."""
        if not words:
            return self
        return self._replace(filled=self.filled & (distinct.places_in(words) < 0))


def _cells(distinct: Distinct, kind: Column, reading: Reading) -> _Cells:
    """Return words as the numbers that they are in a kind of column."""
    if isinstance(kind, Amount):
        numbers = amounts(distinct.words, kind.decimal, kind.units, kind.unit)
    else:
        numbers = plain_numbers(distinct.words, reading.decimal or ".")
    if not (kind.is_number or isinstance(kind, Amount)):
        others = np.array(distinct.each(kind.number), dtype=np.float64)
        numbers = np.where(np.isnan(numbers), others, numbers)
    if isinstance(kind, YesNo):
        numbers = np.where(np.isin(numbers, (0.0, 1.0)), numbers, np.nan)
    return _Cells(kind, numbers, ~distinct.are(NO_NUMBER, np.isnan(numbers)))


def _of_text(column: FileColumn) -> Read:
    """Return a column of Arrow's text type as numbers, dates or text; or raise Obstacle."""
    reading, distinct = column.reading, column.distinct
    declared = column.declared or Column(column.name)
    if declared.is_days:
        return declared_dates(column, declared)
    cells = _cells(distinct, declared, reading).without(distinct, reading.remarks(column.name))
    typed_text = column.source.typed and bool(cells.filled.any())  # the file declares it as text
    if not cells.strange.any() and (reading.prepare or not (typed_text and reading.text is True)):
        if typed_text and not reading.for_model and not reading.prepare:
            raise _text(column, f"has the type {column.kind}, not numbers")
        stored = Decision(
            column.name, "numbers that are stored as text", {"categories": [column.name]}
        )
        decisions: tuple[Decision, ...] = ()
        if typed_text and not reading.for_model:
            decisions = (stored,)
        decisions += _doubts_of_declared(column, cells)
        return Read(declared, distinct.of_rows(cells.numbers), decisions)
    if cells.strange.any() and not reading.prepare:
        _check_decimal(column, cells.strange)
    if reading.for_model or column.declared is not None:
        kind, hint = _wanted_by_model(declared)
        strange = column.not_one(cells.strange, kind, of_model=hint)
        decisions = (strange, *_doubts_of_declared(column, cells))
        return Read(declared, distinct.of_rows(cells.numbers), decisions)
    if reading.prepare:
        return _as_written(column, cells)
    return _only_text(column, cells)


def _wanted_by_model(declared: Column) -> tuple[str, str]:
    """Return what a model needs in a column, and a hint for the user."""
    if isinstance(declared, YesNo):
        return " or ".join(map(repr, declared.words)), _GIVE_ONE_WORD
    if not isinstance(declared, Amount):
        return "a number", _GIVE_A_NUMBER
    mark = next(mark for mark in DECIMALS if mark != declared.decimal)
    hint = f"{_GIVE_A_NUMBER}; say so if its decimal mark is another one (decimal={mark!r})"
    return "a number", hint


def _as_written(column: FileColumn, plain: _Cells) -> Read:
    """Return a column of text as a person would read it."""
    distinct, reading = column.distinct, column.reading
    truth = _yes_and_no(column, plain)
    if truth is not None:
        return truth
    cells = _amounts(column, plain)
    few = cells.filled.sum() <= 2  # a column of two words is treated as categories
    codes = _are_codes(distinct) or names_codes(column.name)  # such as 012xx, without a unit
    if cells.strange.any() and not few and not codes:
        units = units_of(distinct.words.filter(cells.strange)[:_FIRST_WORDS])
        if (
            measure_of(units)
            or are_one({*units} - MULTIPLES.keys())
            or (len(units) <= _MOST_UNITS and cells.filled.sum() > _FEW_VALUES)
        ):
            cells = _amounts(column, cells, units)
    if not cells.strange.any():
        return _numbers(column, cells)
    if reading.dates is True:
        dates = dates_in_text(column, cells.filled) or times_in_text(column, cells.filled)
        if dates is not None:
            return dates
    numbers = _among_words(column, cells)
    if numbers is not None:
        return numbers
    _refuse_two_notations(column, cells)
    row = distinct.first(cells.strange)
    no_number = f"holds {distinct.word(row)!r}, which is not a number"
    if column.name in reading.numbers:
        hint = f"correct it, or do not list the column in numbers (numbers={[column.name]!r})"
        raise column.wrong(no_number, hint, row)
    if reading.text is not True:
        raise _text(column, no_number, row)
    return _words(column)._replace(decisions=_told_of_words(column, cells))


def _among_words(column: FileColumn, cells: _Cells) -> Read | None:
    """Return a column of text as numbers, if most of its words are numbers.

    Other words are gaps, and frequent ones become a further column.
    """
    distinct, numbers = column.distinct, column.distinct.rows(cells.filled & ~cells.strange)
    if numbers < MOSTLY * distinct.rows(cells.filled):
        return None
    remarks = Remarks.among(column.name, frequent_words(distinct, cells.strange))
    others = cells.without(distinct, remarks.words)
    if not _are_numbers(distinct, others):
        return None
    decisions, beside = list[Decision](), list[Read]()
    if not may_stand_beside(column, remarks):
        others = cells
    elif remarks.words:
        count = distinct.rows(cells.strange & ~others.strange)
        listed = ", ".join(map(repr, remarks.words[:3]))
        finding = f"{count:,} values are words such as {listed}: put into a separate column"
        otherwise = {"numbers": [column.name]}
        decisions.append(Decision(column.name, finding, otherwise, counts=True))
        beside.append(remarks_in(column, remarks))
    if others.strange.any():
        are = f"as {numbers:,} of its values are"
        decisions.append(column.not_one(others.strange, "a number", are))
    return _numbers(column, others, *decisions)._replace(beside=tuple(beside))


def _yes_and_no(column: FileColumn, plain: _Cells) -> Read | None:
    """Return a column of text as yes and no, if nearly all cells are."""
    distinct = column.distinct
    if plain.filled.sum() > _FEW_VALUES or not np.array_equal(plain.filled, plain.strange):
        return None
    words = distinct.words.filter(plain.filled).to_pylist()
    words = [word for word in words if YesNo("").number(word) is not None]
    truth = YesNo.written(column.name, words) if len(words) > 1 else None
    if truth is None:
        return None
    cells = _cells(distinct, truth, column.reading)
    others, total = distinct.rows(cells.strange), distinct.rows(cells.filled)
    if others > _FEW_OTHERS * total:
        return None
    no, yes = truth.words
    decisions = [Decision(column.name, f"yes/no: {no!r} is 0, {yes!r} is 1")]
    if others:
        are = f"as {total - others:,} of its values are"
        decisions.append(column.not_one(cells.strange, f"{no!r} or {yes!r}", are))
    return Read(truth, distinct.of_rows(cells.numbers), (*decisions,))


def _refuse_two_notations(column: FileColumn, cells: _Cells) -> None:
    """Raise Obstacle if nearly all words are amounts, some with decimal points, some commas."""
    if cells.filled.sum() <= _FEW_VALUES or _are_codes(column.distinct):
        return
    for distinct in (column.distinct.beginning(_FIRST_WORDS), column.distinct):
        marks = [Amount(column.name, decimal=mark) for mark in DECIMALS]
        point, comma = (_cells(distinct, kind, column.reading) for kind in marks)
        neither = point.strange & comma.strange
        if distinct.rows(neither) > (1 - NEARLY_ALL) * distinct.rows(point.filled | comma.filled):
            return
    only_point, only_comma = comma.strange & ~neither, point.strange & ~neither
    if not (only_point.any() and only_comma.any()):
        return
    rows = [distinct.first(only_point), distinct.first(only_comma)]
    words = " and ".join(repr(distinct.word(row)) for row in rows)
    raise column.wrong(
        f"holds numbers in two notations, such as {words}",
        f"write all with the same decimal mark, leave the column {column.out}, or take every value "
        f"as a category (categories={[column.name]!r})",
        max(rows),
        remedy=column.drop,
    )


def _told_of_words(column: FileColumn, cells: _Cells) -> tuple[Decision, ...]:
    """Return the decision to treat words as text although most are numbers or pairs of numbers."""
    distinct = column.distinct
    if cells.filled.sum() <= _FEW_VALUES or _are_codes(distinct):
        return ()
    others, total = distinct.rows(cells.strange), distinct.rows(cells.filled)
    if total - others > MOSTLY * total:
        word = distinct.word(distinct.first(cells.strange))
        sentence = (
            f"{total - others:,} values are numbers, {others:,} are not, such as {word!r}, so all "
            "are treated as words: write only numbers, or leave the other cells empty"
        )
        return (Decision(column.name, sentence, counts=True),)
    first = distinct.beginning(_FIRST_WORDS).words.to_pylist()
    if sum(map(bool, map(PAIR.fullmatch, first))) < MOSTLY * len(first):
        return ()
    pairs = np.array(distinct.each(PAIR.fullmatch), dtype=bool) & cells.filled
    count = distinct.rows(pairs)
    if count < NEARLY_ALL * total:
        return ()
    sentence = (
        f"{count:,} pairs of numbers such as {distinct.word(distinct.first(pairs))!r}, which a "
        "model can only treat as words: write the two numbers in separate columns to use them"
    )
    return (Decision(column.name, sentence, counts=True),)


def _amounts(column: FileColumn, plain: _Cells, units: tuple[str, ...] = ()) -> _Cells:
    """Return words read as amounts with these units, if this makes more of them numbers."""
    distinct, reading = column.distinct, column.reading
    tried, measure = [plain], measure_of(units)
    counts = _rows_by_unit(distinct, plain.filled) if measure else {}
    unit = max(units, key=lambda unit: counts.get(unit, 0)) if measure else ""
    units = (*sorted({*units, *(measure or ())}),)
    for mark in sorted(DECIMALS, key=lambda mark: mark != (reading.decimal or ".")):
        kind = Amount(column.name, decimal=mark, units=units, unit=unit)
        first = _cells(distinct.beginning(_FIRST_WORDS), kind, reading)
        if first.share > MOSTLY / 2:
            tried.append(_cells(distinct, kind, reading))
    return min(tried, key=lambda cells: distinct.rows(cells.strange))  # the first of equals


def _rows_by_unit(distinct: Distinct, chosen: NDArray[np.bool_]) -> dict[str, int]:
    """Return the number of rows with each unit, "" for none, among some words, a mask (k,)."""
    units = unit_of_each(distinct.words).dictionary_encode()
    rows = np.bincount(units.indices.to_numpy(), distinct.counts * chosen, len(units.dictionary))
    counts = dict(zip(units.dictionary.to_pylist(), rows.astype(int).tolist(), strict=True))
    return {unit: count for unit, count in counts.items() if count}


def _are_numbers(distinct: Distinct, cells: _Cells) -> bool:
    """Return whether words are numbers apart from a few bad cells, or few words for gaps."""
    share = 1 - distinct.rows(cells.strange) / distinct.rows(cells.filled)
    if share < MOSTLY:
        return False
    strange = distinct.first_words(_FEW_VALUES + 1, cells.strange).to_pylist()
    if share < NEARLY_ALL and not are_remarks(strange):
        return False
    return not _are_codes(distinct)


def _are_codes(distinct: Distinct) -> bool:
    """Return whether some words have leading zeros, which amounts do not have."""
    import pyarrow.compute as pc

    return bool(pc.any(pc.match_substring_regex(distinct.words, _CODE)).as_py())


def _numbers(column: FileColumn, cells: _Cells, *decisions: Decision) -> Read:
    """Return a column of numbers, with decisions about how they are written."""
    distinct = column.distinct
    if isinstance(cells.column, Amount):
        odd = np.isnan(plain_numbers(distinct.words)) & ~np.isnan(cells.numbers)
        example = distinct.word(distinct.first(odd))
        value = cells.numbers[int(distinct.codes[distinct.first(odd)])]
        decision = Decision(
            column.name,
            f"numbers such as {example!r}, read as {value:.15g}",
            {"categories": [column.name]},
        )
        decisions = (decision, *decisions)
        decisions += _told_of_units(column, cells, cells.column)
        decisions += _told_of_bounds(column, odd)
    return Read(cells.column, distinct.of_rows(cells.numbers), decisions)


def _told_of_units(column: FileColumn, cells: _Cells, kind: Amount) -> tuple[Decision, ...]:
    """Return the decisions about numbers with different units, or without a unit."""
    numbers = cells.filled & ~cells.strange & (cells.numbers != 0.0)
    counts = _rows_by_unit(column.distinct, numbers)
    bare, measure = counts.pop("", 0), measure_of(kind.units) if kind.unit else None
    units = sorted(counts if measure else counts.keys() - MULTIPLES.keys())
    otherwise = {"categories": [column.name]}
    doubt, several = "", not (measure or are_one(units))
    if several:
        most = max(units, key=lambda unit: counts[unit])
        doubt = (
            f"these numbers have the units {' and '.join(units)}, but are read as if in one; the "
            f"first that is not in {most} is {_first_with_other_unit(column, numbers, most)}"
        )
    elif bare and (measure or units == ["%"]):
        with_unit = f"{sum(counts.values()):,} numbers have {' or '.join(units)}"
        meaning = kind.unit if measure else "they are, so that 5% is 5"
        doubt = f"{with_unit}, and {bare:,} have no unit: taken as {meaning}"
    if doubt and column.reading.strict:
        hint = "write them in one unit, or take them as they are (without strict=True)"
        raise column.wrong(doubt, hint, remedy={"strict": False})
    decisions = []
    if doubt:
        decisions = [Decision(column.name, doubt, otherwise, several, counts=not several)]
    if measure and len({measure[unit.lower()] for unit in units}) > 1:
        decisions.append(
            Decision(column.name, f"{' and '.join(units)}: converted to {kind.unit}", otherwise)
        )
    return tuple(decisions)


def _first_with_other_unit(column: FileColumn, numbers: NDArray[np.bool_], most: str) -> str:
    """Return the first number with another unit, and its place, among some words, a mask (k,).

    Numbers without a unit do not count.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    units = unit_of_each(column.distinct.words)
    others = pc.invert(pc.is_in(units, pa.array([most, "", *MULTIPLES])))
    row = column.distinct.first(numbers & others.to_numpy(zero_copy_only=False))
    place = column.source.place(row)
    where = f"line {place}" if isinstance(place, int) else place
    return f"{column.distinct.word(row)!r} ({where})"


def _doubts_of_declared(column: FileColumn, cells: _Cells) -> tuple[Decision, ...]:
    """Return the doubts about bounds, and about units if the declared column has several."""
    kind = cells.column
    if not isinstance(kind, Amount):
        return ()
    decisions = _told_of_bounds(column, ~np.isnan(cells.numbers))
    if not (kind.unit or are_one({*kind.units} - MULTIPLES.keys())):
        decisions += _told_of_units(column, cells, kind)
    return tuple(decision for decision in decisions if decision.doubtful)


def _told_of_bounds(column: FileColumn, odd: NDArray[np.bool_]) -> tuple[Decision, ...]:
    """Return the decision to read bounds such as <0.5 as numbers, if a mask (k,) has some."""
    distinct = column.distinct
    bounds = are_bounds(distinct.words) & odd
    if not bounds.any():
        return ()
    sentence = f"{distinct.rows(bounds):,} bounds such as {distinct.word(distinct.first(bounds))!r}"
    otherwise = {"categories": [column.name]}
    return (Decision(column.name, f"{sentence}: read as the number", otherwise, doubtful=True),)


def _only_text(column: FileColumn, cells: _Cells) -> Read:
    """Return a column of text as dates or words, if these are accepted."""
    distinct, filled, strange = column.distinct, cells.filled, cells.strange
    total, different = distinct.rows(filled), int(filled.sum())
    no_number = ""
    if strange.any():
        row = distinct.first(strange)
        no_number = f"holds {distinct.word(row)!r}, which is not a number"
        _refuse_numbers(column, cells)
    dates = dates_in_text(column, filled)
    if dates is not None:
        return dates
    if different > _FEW_VALUES and different > total / 2:
        raise column.wrong(
            f"has {different:,} different values in {total:,} rows, such as "
            f"{distinct.word(distinct.first(filled))!r}",
            f"this looks like an ID column and cannot generalise; leave the column {column.out}, "
            f"or take each as a category (categories={[column.name]!r})",
            remedy=column.drop,
            provisional=True,
        )
    if column.reading.text is not True:
        raise _text(column, no_number, row)
    return _words(column)


def _text(column: FileColumn, what: str, row: int | None = None) -> Obstacle:
    gaps = column.stored.null_count or column.distinct.rows(column.distinct.are(NO_WORD))
    return column.wrong(
        what,
        f"turn the column into numbers (or take text with text=True), or leave it {column.out}",
        row,
        remedy={"text": True, **({"missing": True} if gaps else {})},
    )


def _refuse_numbers(column: FileColumn, cells: _Cells) -> None:
    """Raise Obstacle for a text column of mostly numbers, some of them miswritten."""
    distinct, strange = column.distinct, cells.strange
    as_numbers = np.array(distinct.each(_WRITTEN.fullmatch), dtype=bool) & strange
    total, numbers = distinct.rows(cells.filled), distinct.rows(cells.filled & ~strange)
    share = (numbers + distinct.rows(as_numbers)) / total
    if share < (MOSTLY if cells.filled.sum() > _FEW_VALUES else NEARLY_ALL):
        return
    row = distinct.first(strange)
    if as_numbers[distinct.codes[row]]:
        problem, right = "looks like a number", "write it with digits and a decimal point only"
    else:
        problem = f"is not a number, as {numbers:,} of its {total:,} values are"
        right = "correct it"
    raise column.wrong(
        f"holds {distinct.word(row)!r}, which {problem}",
        f"{right}, leave the column {column.out}, or take every value as a category "
        f"(categories={[column.name]!r})",
        row,
        remedy=column.drop,
    )


def _check_decimal(column: FileColumn, strange: NDArray[np.bool_]) -> None:
    """Raise Obstacle if every value that is not a number has a decimal comma (not thousands)."""
    written = column.distinct.words.filter(strange).to_pylist()
    if (
        column.reading.decimal in (".", None)
        and not column.source.typed
        and all(_COMMA.fullmatch(word) for word in written)
        and not all(_THOUSANDS.fullmatch(word) for word in written)
    ):
        row = column.distinct.first(strange)
        raise column.wrong(
            f"holds {column.distinct.word(row)!r}, with a decimal comma",
            "say so (decimal=','), or write numbers with a decimal point",
            row,
            remedy={"decimal": ","},
        )
