"""How a table is read: the arguments of `read` and `scan`, and the options of the commands.

Each is one field of `Reading`, whose metadata describe the option.
"""

from __future__ import annotations

import functools
import inspect
import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from aucmax.basics.doors import Door

if TYPE_CHECKING:
    from aucmax.data.columns import Column

__all__ = [
    "ASIDE",
    "DEFAULTS",
    "FIELDS",
    "FIRST_ROWS",
    "NUMBER",
    "Reading",
    "flag_of",
    "options_text",
    "with_fields",
]

_columns = Door("aucmax.data.columns")
_dates = Door("aucmax.data.dates")

NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")

Format = Literal["svmlight", "csv", "tsv", "parquet"]
T = TypeVar("T")

FIRST_ROWS = 10_000  # of a table, which decide what can be decided
_LABELS = ("required", "optional", "none")
ASIDE = ("weight", "groups", "time", "strata", "segments")  # columns known of rows, no features
_LISTS = ("drop", "columns", "text", "missing", "categories", "numbers", "keep")


def _field(
    default: Any,
    help: str | None = None,
    *,
    flag: str | None = None,
    kind: Any = str | None,
    metavar: str | None = None,
    in_parts: bool = True,
    columns: bool = False,
    off: str | None = None,
    in_commands: Any = None,
) -> Any:
    """Return a field of `Reading`.

    Parameters
    ----------
    default : object
        The default of the argument.
    help : str, optional
        The help of the option; without it commands do not have the option.
    flag : str, optional
        The name of the option, without dashes, if it is not that of the argument.
    kind : type
        The type of the option's value.
    metavar : str, optional
        The placeholder for the option's value.
    in_parts : bool
        Whether it works for a file that is read in parts.
    columns : bool
        Whether its value has names of columns.
    off : str, optional
        The name of the option for False, of a switch with both.
    in_commands : object
        The default of the option, if it is not that of the argument.
    """
    metavar = "COLUMN" if columns and off is None else metavar
    option = {"help": help, "flag": flag, "kind": kind, "metavar": metavar, "in_parts": in_parts}
    more = {"columns": columns, "off": off, "in_commands": in_commands}
    return field(default=default, metadata=option | more)


_column = functools.partial(_field, columns=True)


def _switch_of_columns(help: str, flag: str) -> Any:
    """Return a field that is True, False or a choice of columns; by default that of `prepare`."""
    return _column(None, help, flag=flag, kind=bool | None, off=f"no-{flag}")


@dataclass(frozen=True, kw_only=True)
class Reading:
    """How rows and labels are read from a file.

    Parameters
    ----------
    target : str, optional
        The label column of a CSV or Parquet file. By default the one column called target,
        label, y or class, in any case.
    labels : {"required", "optional", "none"}
        What to do about labels: require them, read them if there are any, or ignore them
        together with weights, groups and times. The label column is never a feature.
    drop : sequence of str
        Columns to leave out.
    columns : sequence of str or Column, optional
        The requested features, in this order, by name or as they were read from another file;
        further columns are ignored.
    n_features : int, optional
        Number of features expected; svmlight rows are padded to it.
    format : {"svmlight", "csv", "tsv", "parquet"}, optional
        Overrides the file's suffix.
    sep : str, optional
        The character that separates the values of a CSV file, or "tab"; by default a comma (a tab
        in TSV).
    decimal : {".", ","}, optional
        The decimal mark of a CSV file; by default a point.
    encoding : str, optional
        The encoding of a CSV file, such as "cp1252"; by default UTF-8, or UTF-16 with its mark.
    header : int, optional
        The line of a CSV file that names its columns; by default the first. With `prepare`, titles
        and blank lines above it are found.
    weight : str, optional
        The column of the rows' weights: numbers, 0 or more, in every row. Not a feature.
    positive : label, optional
        Return labels as +1 for this label and −1 for all others (int64). Text such as ``"1"``
        also means the number, so it can come from a command line.
    binarize : {"even-odd", "first-half", "random-halves:SEED"}, optional
        Return many labels as +1 and −1, as `binarize` does.
    dates : bool or mapping
        Whether columns of dates are accepted, as days since 1970-01-01, with the time of day as a
        fraction, in UTC if there is no zone. Times of day become fractions of a day. By
        default dates are an error. Text is a date in ISO form (2024-01-31, 2024-01-31T18:00) or
        in another form whose order of day and month is clear from its punctuation, its words or the
        whole column: 31.01.2024, 31/01/2024, 2024/01/31, 31 Jan 2024, Jan 31, 2024. A mapping
        gives the form of each date column, such as ``{"day": "%d/%m/%Y"}``.
    missing : bool or sequence of str
        Whether missing values are accepted, as NaN; a sequence names the columns that may have
        some. By default they are an error.
    text : bool or sequence of str
        Whether text columns are accepted, unchanged; a sequence names those to be read as text,
        and all others must be numbers. By default text is an error. Even with True, a text column
        is an error if it holds dates, if more than half of its values (and more than 20) differ,
        as ids do, or if it has numbers of which some are miswritten ("1O.5", "0,125"): that is,
        if 9 of 10 values are numbers, or half of them if more than 20 values differ.
    categories : sequence of str
        Columns to be read as text whatever they hold, even numbers; ``"01"`` remains ``"01"``.
    groups : str, optional
        The column of groups, rows that belong together: any values, in every row. Not a feature.
    time : str, optional
        The column of the rows' times: numbers or dates, in every row. Not a feature.
    strata : str, optional
        The column of strata, of which only rows of the same are compared: any values, in every row.
        Not a feature.
    segments : str, optional
        The column of segments, parts of the rows that are judged one by one: any values. Not a
        feature, unless the requested ones include it.
    prepare : bool
        Whether a table is read as it comes, in the place of a person, as the commands do. The
        separator, the decimal mark and the encoding of a CSV file are found. Missing values, text
        and dates are accepted by default; so are numbers with thousands, currencies or percents,
        and words such as yes and no. A cell that does not fit its column is a missing value, and a
        row without a label is left out. Every such decision is in ``decisions`` of the result.
    strict : bool
        With `prepare`, cells that do not fit and rows without a label are errors.
    day_first : bool, optional
        Whether 03/04/2024 is 3 April, where a column does not show it itself.
    numbers : sequence of str
        Columns that are amounts, even if they look like ids or codes.
    keep : sequence of str
        Columns of a table to return as well, each once, whatever else they are. CSV has text:
        ``"007"`` remains ``"007"``. Parquet has numbers and truths, or text of other values; None
        where one is missing.
    """

    target: str | None = _column(
        None,
        "Label column of a table; by default the one called target, label, y or class (with a "
        "model, the column it was trained on).",
    )
    labels: str = _field("required")
    drop: Sequence[str] = _column(
        (), "Column to leave out; may be repeated.", kind=list[str] | None
    )
    columns: Sequence[str | Column] | None = _column(None)
    n_features: int | None = _field(None)
    format: str | None = _field(
        None,
        "File format; by default from the file's name, CSV for standard input.",
        kind=Format | None,
    )
    sep: str | None = _field(
        None,
        "Separator of a CSV file: a character, or tab (found by default).",
        metavar="CHARACTER",
    )
    decimal: str | None = _field(
        None, "Decimal mark of a CSV file: . or , (found by default).", metavar="CHARACTER"
    )
    encoding: str | None = _field(
        None, "Encoding of a CSV file, such as cp1252 (found by default).", metavar="NAME"
    )
    header: int | None = _field(
        None, "Line of a CSV file that names its columns (found by default).", metavar="LINE",
        kind=int | None,
    )  # fmt: skip
    weight: str | None = _column(
        None, "Column of sample weights, 0 or more, for fits and metrics; not used as a feature."
    )
    positive: object = _field(
        None,
        "The label to rank first, against all others; by default the larger of two numbers, the "
        "rarer of two words (in Python, always the larger; with a model, the one it ranks first).",
        metavar="LABEL",
        in_parts=False,
    )
    binarize: str | None = _field(
        None,
        "Two classes out of many: even-odd, first-half, or random-halves:SEED.",
        metavar="HOW",
        in_parts=False,
    )
    dates: bool | Mapping[str, str] | None = _switch_of_columns(
        "Accept dates and times: days since 1970-01-01, weekdays and the time of day (saved with "
        "the model).",
        flag="dates",
    )
    missing: bool | Sequence[str] | None = _switch_of_columns(
        "Accept missing values: numbers become the column's median, with a 0/1 feature that marks "
        "them, and missing text is a category of its own (saved with the model).",
        flag="impute",
    )
    text: bool | Sequence[str] | None = _switch_of_columns(
        "Accept text columns: one 0/1 feature per value, rare and new ones together (saved with "
        "the model).",
        flag="one-hot",
    )
    categories: Sequence[str] = _column(
        (),
        "Treat this column as text, whatever it contains and however many values it has; may be "
        "repeated.",
        flag="category",
        kind=list[str] | None,
    )
    groups: str | None = _column(
        None,
        "Column of groups, such as patients: folds and splits keep the rows of a group together, "
        "and intervals count groups. Not used as a feature.",
    )
    time: str | None = _column(
        None,
        "Column of times, numbers or dates: folds and splits train on the past and test on what "
        "comes next. Not used as a feature.",
    )
    strata: str | None = _column(
        None,
        "Column of strata, such as days or queries: only rows of the same stratum are compared. "
        "Not used as a feature.",
    )
    segments: str | None = _column(
        None,
        "Column of segments, such as regions or ages: AUC, recall and calibration of each, and "
        "whether they are equal. The model may use it, too.",
    )
    prepare: bool = _field(
        False,
        "Decide how to read the table: separators, missing values, dates, words, ids; without "
        "it, the command stops where a decision is needed.",
        kind=bool,
        off="no-prepare",
        in_commands=True,
    )
    strict: bool = _field(
        False, "Stop at a cell that does not fit its column, or a row without a label.", kind=bool
    )
    day_first: bool | None = _field(
        None,
        "Whether 03/04/2024 is 3 April or March 4, if the column leaves it open.",
        kind=bool | None,
        off="month-first",
    )
    numbers: Sequence[str] = _column(
        (),
        "Treat this column as an amount, even if it looks like ids or codes; may be repeated.",
        flag="number",
        kind=list[str] | None,
    )
    keep: Sequence[str] = _column(
        (),
        "Columns of the file to write first, unchanged, such as id,customer; may be repeated. "
        "If the output has a column of that name, it becomes NAME_in_file.",
        kind=list[str] | None,
    )

    def __post_init__(self) -> None:
        if self.labels not in _LABELS:
            raise ValueError(f"labels={self.labels!r} is not one of {', '.join(_LABELS)}")
        if any(isinstance(getattr(self, name), str) for name in _LISTS):
            raise ValueError(f"{', '.join(_LISTS)} are lists of column names, not one string")
        if self.decimal not in (".", ",", None):
            raise ValueError(f"decimal={self.decimal!r} must be '.' or ','")
        if self.header is not None and self.header < 1:
            raise ValueError(f"header={self.header} must be the number of a line, from 1 on")
        sep = "\t" if self.sep in ("tab", "\\t") else self.sep
        if sep is not None and (
            len(sep) != 1 or not sep.isascii() or sep in '"\r\n' or sep.isalnum()
        ):
            raise ValueError(f"sep={sep!r} must be one character, such as ';' or a tab")
        if sep is not None and sep == self.decimal:
            raise ValueError(f"sep and decimal are both {sep!r}; they must differ")
        for form in self.date_forms.values():
            if form not in _dates.EXAMPLES:
                raise ValueError(f"dates: {form!r} is not one of {', '.join(_dates.EXAMPLES)}")
        if self.positive is not None and self.binarize is not None:
            raise ValueError("binarize= makes the two classes itself; leave out positive=.")
        dates = self.date_forms or (self.prepare if self.dates is None else bool(self.dates))
        plain: dict[str, Any] = {"sep": sep, "dates": dates}
        for name in _LISTS:
            value = getattr(self, name)
            if value is None and name != "columns":
                value = self.prepare if name in ("missing", "text") else ()
            plain[name] = value if isinstance(value, bool | None) else tuple(value)
        plain["keep"] = tuple(dict.fromkeys(plain["keep"]))
        for name, value in plain.items():
            object.__setattr__(self, name, value)

    def in_parts(self) -> dict[str, Any]:
        """The corresponding arguments of `scan`."""
        return {name: getattr(self, name) for name, traits in FIELDS.items() if traits["in_parts"]}

    def given(self) -> list[str]:
        """The arguments that are given."""
        plain = Reading(prepare=self.prepare)
        return [
            name for name in FIELDS if getattr(self, name) not in (getattr(plain, name), (), {})
        ]

    @property
    def lenient(self) -> bool:
        """Whether a cell that does not fit its column is a missing value."""
        return self.prepare and not self.strict

    @property
    def for_model(self) -> bool:
        """Whether a model determines the columns, by their names or their number."""
        return self.columns is not None or self.n_features is not None

    @property
    def aside(self) -> dict[str, str]:
        """The columns of weights, groups, times and the like, which are not features."""
        named = {name: getattr(self, name) for name in ASIDE}
        return {role: name for role, name in named.items() if name is not None}

    @property
    def date_forms(self) -> Mapping[str, str]:
        """The formats of the columns known to hold dates."""
        return self.dates if isinstance(self.dates, Mapping) else {}

    @functools.cached_property
    def names(self) -> list[str] | None:
        """The names of the requested features."""
        return None if self.columns is None else list(map(str, self.columns))

    @functools.cached_property
    def declared(self) -> Mapping[str, Column]:
        """The columns declared by the caller, by name; for others the values decide."""
        text = self.text if isinstance(self.text, tuple) else ()
        columns = [column for column in self.columns or () if isinstance(column, _columns.Column)]
        columns += [_columns.Date(name, form=form) for name, form in self.date_forms.items()]
        columns += [_columns.Words(name) for name in text]
        columns += [_columns.Words(name, as_written=True) for name in self.categories]
        return {column.name: column for column in columns}

    def source(self, name: str) -> str:
        """The column of a table that has the values of a requested one."""
        return self.declared[name].source if name in self.declared else name

    def remarks(self, name: str) -> tuple[str, ...]:
        """The words in a column of numbers that are declared as a column of their own."""
        own = self.declared.get(_columns.Remarks.among(name).name)
        return own.words if isinstance(own, _columns.Remarks) else ()

    def may_have_gaps(self, name: str) -> bool:
        """Whether a column may have missing values."""
        if name in self.declared and self.declared[name].gaps:
            return True
        return self.missing if isinstance(self.missing, bool) else name in (self.missing or ())

    def without(self, name: str) -> dict[str, Any] | None:
        """Return the remedy of dropping a column; None if a model needs it."""
        return None if self.columns is not None else {"drop": [name]}

    def number(self, word: str) -> float | None:
        """A word as a number, or None."""
        if self.decimal == ",":
            if "." in word:
                return None
            word = word.replace(",", ".")
        return float(word) if NUMBER.fullmatch(word) else None

    def trimmed(self) -> Reading:
        """Return the same with surrounding space stripped from all names of columns."""

        def trim(value: Any) -> Any:
            if isinstance(value, Mapping):
                return {name.strip(): form for name, form in value.items()}
            if isinstance(value, tuple):
                return tuple(map(trim, value))
            if isinstance(value, _columns.Column):
                return replace(value, name=value.name.strip())
            return value.strip() if isinstance(value, str) else value

        named = [name for name, traits in FIELDS.items() if traits["columns"]]
        return replace(self, **{name: trim(getattr(self, name)) for name in named})


FIELDS: dict[str, Mapping[str, Any]] = {entry.name: entry.metadata for entry in fields(Reading)}
DEFAULTS = {
    entry.name: None if entry.default == () else entry.default for entry in fields(Reading)
}  # of the options


def flag_of(name: str, on: bool = True) -> str:
    """Return the option of a field, or that for False."""
    about = FIELDS[name]
    return f"--{(about['flag'] or name.replace('_', '-')) if on else about['off']}"


def options_text(arguments: Mapping[str, Any]) -> str:
    """Return arguments of `read` as options of a command."""
    words = []
    for name, value in arguments.items():
        each = value if isinstance(value, list | tuple) else [value]
        for item in each:
            flag = flag_of(name, item is not False)
            words.append(flag if isinstance(item, bool) else f"{flag} {shlex.quote(str(item))}")
    return " ".join(words)


def with_fields(chosen: Callable[[Mapping[str, Any]], bool]) -> Callable[..., Callable[..., T]]:
    """Replace the argument `Reading` of a function by keyword arguments for its fields.

    Parameters
    ----------
    chosen : callable
        Returns from a field's metadata whether the function has it. ``{fields}`` in its docstring
        is replaced by their descriptions.
    """
    names = [name for name, metadata in FIELDS.items() if chosen(metadata)]
    parameters = inspect.signature(Reading).parameters
    arguments = [parameters[name] for name in names]

    def decorate(function: Callable[..., T]) -> Callable[..., T]:
        own = inspect.signature(function)
        others = [parameter for name, parameter in own.parameters.items() if name != "reading"]
        ordered = sorted([*arguments, *others], key=lambda parameter: parameter.kind)
        signature = own.replace(parameters=ordered)

        @functools.wraps(function)
        def read(*values: Any, **named: Any) -> T:
            signature.bind(*values, **named)  # or TypeError
            reading = Reading(**{name: named.pop(name) for name in names if name in named})
            return function(*values, reading=reading, **named)

        read.__signature__ = signature  # type: ignore[attr-defined]
        described = "\n".join(_descriptions().get(name, "") for name in names)
        doc = inspect.cleandoc(function.__doc__ or "").replace("{fields}", described)
        read.__doc__ = f"{doc}\n"
        return read

    return decorate


def _descriptions() -> dict[str, str]:
    """Return the description of each field in the docstring of `Reading`, if there is one."""
    listed = inspect.cleandoc(Reading.__doc__ or "").partition("----------\n")[2]
    entries = re.findall(r"^\w+ :.*(?:\n .*)*", listed, flags=re.MULTILINE)
    return {entry.partition(" ")[0]: entry for entry in entries}
