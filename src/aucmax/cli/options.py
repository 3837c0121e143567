"""Options that several commands take, each defined once.

Those for reading data are groups: a command has one parameter, ``reading: Reading``, and `spread`
gives the command line one option for each of its fields.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import inspect
import sys
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from aucmax.datasets.files import Piped
from aucmax.datasets.readers import READERS

__all__ = [
    "FLAGS",
    "DataArgument",
    "Format",
    "Html",
    "Json",
    "Judging",
    "Learning",
    "MaxIter",
    "Model",
    "Reading",
    "Scale",
    "Tol",
    "Weighing",
    "given_file",
    "option",
    "spread",
]

_PANEL = "Reading the data"

# The options that stand for arguments of `datasets.read`.
FLAGS = {
    "target": "--target",
    "drop": "--drop",
    "format": "--format",
    "sep": "--sep",
    "decimal": "--decimal",
    "text": "--one-hot",
    "missing": "--impute",
    "dates": "--dates",
    "categories": "--category",
    "positive": "--positive",
    "weight": "--weight",
    "groups": "--groups",
    "time": "--time",
}


Format = StrEnum("Format", {name: name for name in READERS})  # type: ignore[misc]


class Scale(StrEnum):
    """How rows are scaled before anything else."""

    none = "none"
    unit_norm = "unit-norm"


DataArgument = Annotated[
    str,
    typer.Argument(
        metavar="DATA",
        help="A file (.csv, .tsv, .parquet, else svmlight text; also .gz, .bz2, .xz), - for "
        "standard input, or a name that 'aucmax datasets' lists.",
    ),
]
Model = Annotated[Path, typer.Argument(metavar="MODEL", help="Saved by 'aucmax train'.")]
Tol = Annotated[float, typer.Option(help="Optimality at which to stop.")]
MaxIter = Annotated[int, typer.Option(help="Maximum number of iterations or epochs.")]
Probability = Annotated[
    bool,
    typer.Option(
        "--probability",
        help="Also calibrate the scores on the held-out rows of the folds, for probabilities by "
        "'aucmax score --probability'.",
    ),
]
Html = Annotated[
    Path | None,
    typer.Option("--html", metavar="FILE", help="Write a report: one self-contained .html file."),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def option(*flags: str, help: str, metavar: str | None = None) -> Any:
    """Return an option for reading data."""
    return typer.Option(*flags, help=help, metavar=metavar, rich_help_panel=_PANEL)


def _column(help: str) -> Any:
    return option(help=help, metavar="COLUMN")


@dataclass(frozen=True, kw_only=True)
class Reading:
    """Options of every command that reads a file."""

    target: Annotated[
        str | None,
        _column(
            "Label column of a CSV or Parquet file; else the one called target, label, y or class "
            "(or, with a model, the column it was trained on)."
        ),
    ] = None
    drop: Annotated[list[str] | None, _column("Column to leave out; may be repeated.")] = None
    format: Annotated[
        Format | None,
        option(help="File format; by default from the file's name, CSV for standard input."),
    ] = None
    sep: Annotated[
        str | None,
        option(metavar="CHARACTER", help="Separator of a CSV file: a character, or tab."),
    ] = None
    decimal: Annotated[
        str, option(metavar="CHARACTER", help="Decimal point of a CSV file: . or ,")
    ] = "."

    def arguments(self) -> dict[str, Any]:
        """The arguments of `datasets.read` that say the same."""
        return {
            "target": self.target,
            "drop": tuple(self.drop or ()),
            "format": None if self.format is None else self.format.value,
            "sep": "\t" if self.sep in ("tab", "\\t") else self.sep,
            "decimal": self.decimal,
        }

    def given(self) -> list[str]:
        """The options that were given and are for files only, as they are typed."""
        default = type(self)().arguments()
        return [FLAGS[name] for name, value in self.arguments().items() if value != default[name]]


@dataclass(frozen=True, kw_only=True)
class Weighing(Reading):
    """Options of commands that take weights of the rows."""

    weight: Annotated[
        str | None,
        _column(
            "Column of sample weights, 0 or more, for fits and metrics; not used as a feature."
        ),
    ] = None

    def arguments(self) -> dict[str, Any]:
        return super().arguments() | {"weight": self.weight}


@dataclass(frozen=True, kw_only=True)
class Judging(Weighing):
    """Options of commands that need labels of two classes."""

    positive: Annotated[
        str | None,
        option(
            metavar="LABEL",
            help="The label to rank first, against all others; else the larger of two numbers, "
            "the rarer of two words (or, with a model, the one it was trained for).",
        ),
    ] = None
    binarize: Annotated[
        str | None,
        option(
            metavar="HOW",
            help="Two classes out of many: even-odd, first-half, or random-halves:SEED.",
        ),
    ] = None


@dataclass(frozen=True, kw_only=True)
class Learning(Judging):
    """Options of commands that learn from a file."""

    dates: Annotated[
        bool,
        option(
            "--dates",
            help="Accept dates and times: days since 1970-01-01, the time of day as a fraction "
            "(saved with the model).",
        ),
    ] = False
    impute: Annotated[
        bool,
        option(
            "--impute",
            help="Accept missing values: numbers become the column's median, with a 0/1 feature "
            "that marks them, and missing text is a category of its own (scikit-learn's "
            "SimpleImputer and OneHotEncoder, saved with the model).",
        ),
    ] = False
    one_hot: Annotated[
        bool,
        option(
            "--one-hot",
            help="Accept text columns: one 0/1 feature per value; values not seen in training are "
            "ignored (scikit-learn's OneHotEncoder, saved with the model).",
        ),
    ] = False
    category: Annotated[
        list[str] | None,
        _column(
            "Treat this column as text, whatever it holds and however many values it has; may be "
            "repeated."
        ),
    ] = None
    groups: Annotated[
        str | None,
        _column(
            "Column of groups, such as patients: folds and splits keep the rows of a group "
            "together. Not used as a feature."
        ),
    ] = None
    time: Annotated[
        str | None,
        _column(
            "Column of times, numbers or dates: folds and splits train on the past and test on "
            "what comes next. Not used as a feature."
        ),
    ] = None
    splines: Annotated[
        bool,
        option(
            "--splines",
            help="Let the score bend: cubic splines beside each column with more than four "
            "different values (saved with the model).",
        ),
    ] = False
    scale: Annotated[Scale, option(help="unit-norm divides each row by its length.")] = Scale.none

    def arguments(self) -> dict[str, Any]:
        return super().arguments() | {
            "text": self.one_hot,
            "missing": self.impute,
            "dates": self.dates,
            "categories": tuple(self.category or ()),
            "groups": self.groups,
            "time": self.time,
        }


def given_file(path: Path | str | Piped) -> Any:
    """The file of a command line, or standard input, which is called ``-`` there."""
    if isinstance(path, Piped):
        return path
    return Piped(sys.stdin.buffer, "standard input") if str(path) == "-" else Path(path)


def spread(command: Callable[..., None]) -> Callable[..., None]:
    """Replace each option group among a command's parameters by its options.

    A group that is a context manager is left when the command ends.
    """
    hints = get_type_hints(command, include_extras=True)
    groups = {name: kind for name, kind in hints.items() if dataclasses.is_dataclass(kind)}
    if not groups:
        return command
    names: dict[str, list[str]] = {}
    options: dict[str, tuple[Any, Any]] = {}  # by name, default and annotation
    for parameter in inspect.signature(command).parameters.values():
        kind = groups.get(parameter.name)
        if kind is None:
            options[parameter.name] = parameter.default, hints[parameter.name]
            continue
        annotations = get_type_hints(kind, include_extras=True)
        names[parameter.name] = [field.name for field in dataclasses.fields(kind)]
        for field in dataclasses.fields(kind):
            options[field.name] = field.default, annotations[field.name]

    @functools.wraps(command)
    def run(**given: Any) -> None:
        with contextlib.ExitStack() as held:
            for group, fields in names.items():
                made = hints[group](**{name: given.pop(name) for name in fields})
                if isinstance(made, contextlib.AbstractContextManager):
                    held.enter_context(made)
                given[group] = made
            command(**given)

    parameters = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)
        for name, (default, kind) in options.items()
    ]
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {name: kind for name, (_, kind) in options.items()}
    return run
