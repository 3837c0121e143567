"""Options that several commands take, each defined once.

A group of options is a dataclass: a command has one parameter, such as ``reading: Learning``, and
`spread` gives the command line one option for each of its fields.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import inspect
import sys
from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args, get_origin, get_type_hints

import typer

from aucmax.basics.doors import import_postponed
from aucmax.data.files import AnyFile, Piped
from aucmax.data.named import named
from aucmax.data.reading import DEFAULTS, FIELDS, Reading, flag_of

if TYPE_CHECKING:
    from aucmax.data.labelled import Labelled

__all__ = [
    "JUDGED",
    "OF_MODELS",
    "Cuts",
    "DataArgument",
    "Fitting",
    "Html",
    "Json",
    "Judging",
    "Learning",
    "Model",
    "Preparing",
    "Probability",
    "Scale",
    "Scoring",
    "Settings",
    "Stopping",
    "Transforms",
    "WeightOfStrata",
    "given_file",
    "number_or_word",
    "option",
    "reading_option",
    "spread",
]

_PANEL = "Reading the data"


def option(default: Any, help: str, flags: Sequence[str] = (), **how: Any) -> Any:
    """Return a field of a group that is an option.

    Parameters
    ----------
    default : object
        Its value if it is not given.
    help : str
        What it does.
    flags : sequence of str
        Its spelling; by default that of the field, such as ``--max-iter``.
    **how
        Further arguments of `typer.Option`.
    """
    return field(default=default, metadata={"help": help, "flags": flags, **how})


def reading_option(default: Any, help: str, **how: Any) -> Any:
    """Return an option that says how data are read."""
    return option(default, help, rich_help_panel=_PANEL, **how)


class Scale(StrEnum):
    """The scaling of rows before anything else."""

    none = "none"
    unit_norm = "unit-norm"


DataArgument = Annotated[
    str,
    typer.Argument(
        metavar="DATA",
        help="A file (.csv, .tsv, .parquet, otherwise svmlight text; also .gz, .bz2, .xz), a "
        "pattern in quotes such as 'pay/*.csv', a folder, an address such as s3://bucket/pay/, - "
        "for standard input, or a name that 'aucmax datasets' lists.",
    ),
]
Model = Annotated[Path, typer.Argument(metavar="MODEL", help="Saved by 'aucmax train'.")]
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


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Settings of a model."""

    alpha: float | None = option(None, "Penalty strength, 0 or more.")
    l1_ratio: float | None = option(None, "Share of the l1 penalty, from 0 to 1.")
    within: str | None = option(
        None,
        "Weight of the positives relative to the negatives, 0 to 1, or pooled; less than 0.5 "
        "aims at low false-positive rates. With the square loss it weights their spread, with "
        "the logistic loss each row.",
        metavar="NUMBER",
    )
    standardize: float | None = option(
        None, "From 0 (features as they are) to 1 (features of equal spread)."
    )

    def given(self) -> dict[str, Any]:
        """The settings that are given, by name."""
        settings = {name: value for name, value in vars(self).items() if value is not None}
        if self.within is not None:
            settings["within"] = number_or_word(self.within)
        return settings


@dataclass(frozen=True, kw_only=True)
class Cuts:
    """Where precision and recall are measured."""

    k: int | None = option(
        None, "The k of precision@k and recall@k; by default the number of positive test rows."
    )
    fpr: float = option(0.05, "False-positive rate at which recall is measured.")


@dataclass(frozen=True, kw_only=True)
class Stopping:
    """Options that say when a solver stops."""

    tol: float = option(1e-4, "Optimality at which to stop.")
    max_iter: int = option(1000, "Maximum number of iterations or epochs.")


class WeightOfStrata(StrEnum):
    """What the weight of a stratum is proportional to."""

    positives = "positives"
    pairs = "pairs"
    strata = "strata"


LOSS_NAMES = "square, squared_hinge, hinge, logistic"  # help must not import the losses
WEIGHT_OF_STRATA = (
    "With --strata, what the weight of a stratum is proportional to: its positives, its pairs, or "
    "the same for all strata."
)


NO_STRATA_TO_WEIGH = "--strata-weight: there are no strata; name their column with --strata."


def check_strata(rows: Labelled) -> None:
    """Raise ValueError if strata are to be weighted and there are none."""
    if rows.strata is None:
        raise ValueError(NO_STRATA_TO_WEIGH)


@dataclass(frozen=True, kw_only=True)
class Fitting(Stopping):
    """Options of every fit to rows."""

    strata_weight: WeightOfStrata = reading_option(WeightOfStrata.positives, WEIGHT_OF_STRATA)

    def check(self, rows: Labelled) -> None:
        """Raise ValueError for weights of strata if there are none."""
        if self.strata_weight is not WeightOfStrata.positives:
            check_strata(rows)

    @property
    def arguments(self) -> dict[str, Any]:
        """The same as arguments of an estimator."""
        return vars(self) | {"strata_weight": self.strata_weight.value}


# ---- how data are read: ``Annotated[Reading, names]``, the fields that are options of a command

_OPTIONS = [name for name, about in FIELDS.items() if about["help"] and name != "keep"]
_WEIGHT = {"weight"}
_CLASSES = {"positive", "binarize"}
OF_MODELS = {"dates", "missing", "text", "categories", "groups", "time"}  # which store them
JUDGED = {"strata", "segments"}  # by which models are evaluated


def without(*groups: Set[str]) -> tuple[str, ...]:
    """All options but those of these groups, and that of columns to be written with scores."""
    return tuple(name for name in _OPTIONS if name not in set().union(*groups))


Learning = Annotated[Reading, without({"segments"})]
Judging = Annotated[Reading, without(OF_MODELS - {"groups"})]
Preparing = Annotated[Reading, without({"groups", "time", "segments"}, _CLASSES)]
Scoring = Annotated[Reading, (*without(OF_MODELS, JUDGED, _CLASSES, _WEIGHT), "keep")]


@dataclass(frozen=True, kw_only=True)
class Transforms:
    """Options for transforms of the columns in front of a model, in addition to encoding them."""

    splines: bool = reading_option(
        False,
        "Let the score be nonlinear: add cubic splines to each column with more than four "
        "different values (saved with the model).",
    )
    scale: Scale = reading_option(Scale.none, "unit-norm divides each row by its length.")

    def given(self) -> list[str]:
        """Return the names of those that are asked for."""
        return [name for name, value in vars(self).items() if value not in (False, Scale.none)]


def number_or_word(text: str) -> float | str:
    """Return the value of an option as a number, or else as text."""
    try:
        return float(text)
    except ValueError:
        return text


def given_file(path: Any) -> Any:
    """The files of a command line, or standard input, which is called ``-`` there."""
    if isinstance(path, Piped | AnyFile):
        return path
    return Piped(sys.stdin.buffer, "standard input") if path == "-" else named(path)


def _options_of(kind: Any) -> tuple[Any, dict[str, tuple[Any, Any]]] | None:
    """A group of options, and default and annotation of each; None for what is no group."""
    if get_origin(kind) is Annotated and get_args(kind)[0] is Reading:
        return Reading, {name: _of_field(name) for name in get_args(kind)[1]}
    if not dataclasses.is_dataclass(kind):
        return None
    hints = get_type_hints(kind, include_extras=True)
    return kind, {
        entry.name: (entry.default, _annotated(entry.name, hints[entry.name], **entry.metadata))
        for entry in dataclasses.fields(kind)
    }


def _annotated(name: str, kind: Any, flags: Sequence[str] = (), **how: Any) -> Any:
    """Return the annotation of an option; one without metadata has it already."""
    if not how:
        return kind
    flags = flags or [f"--{name.replace('_', '-')}"]
    return Annotated[kind, typer.Option(*flags, **how)]


def _of_field(name: str) -> tuple[Any, Any]:
    """Default and annotation of the option that stands for a field of `Reading`."""
    about = FIELDS[name]
    texts = {"help": about["help"], "metavar": about["metavar"], "rich_help_panel": _PANEL}
    flags = flag_of(name) if about["off"] is None else f"{flag_of(name)}/{flag_of(name, False)}"
    kind = _annotated(name, about["kind"], [flags], **texts)
    return DEFAULTS[name] if about["in_commands"] is None else about["in_commands"], kind


def spread(command: Callable[..., None]) -> Callable[..., None]:
    """Replace each option group among a command's parameters by its options.

    A group that is a context manager is left when the command ends.
    """
    hints = get_type_hints(command, include_extras=True)
    groups: dict[str, tuple[Any, list[str]]] = {}
    options: dict[str, tuple[Any, Any]] = {}  # by name, default and annotation
    for name, parameter in inspect.signature(command).parameters.items():
        group = _options_of(hints[name])
        if group is None:
            options[name] = parameter.default, hints[name]
        else:
            groups[name] = group[0], list(group[1])
            options |= group[1]

    @functools.wraps(command)
    def run(**values: Any) -> None:
        import_postponed()
        with contextlib.ExitStack() as held:
            for group, (kind, names) in groups.items():
                instance = kind(**{name: values.pop(name) for name in names})
                if isinstance(instance, contextlib.AbstractContextManager):
                    held.enter_context(instance)
                values[group] = instance
            command(**values)

    parameters = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)
        for name, (default, kind) in options.items()
    ]
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {name: kind for name, (_, kind) in options.items()}
    return run
