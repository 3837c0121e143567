"""Two classes of rows from a file or from a data set known by name, for `compare` and `cv`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from aucmax import datasets
from aucmax.cli._columns import check_sizes, fit_front, names_of
from aucmax.cli._shared import counted
from aucmax.cli.train import labelled
from aucmax.folds import Folding

__all__ = [
    "Binarize",
    "DataArgument",
    "Scale",
    "ScaleOption",
    "TwoClasses",
    "numbers",
    "prepared",
    "two_classes",
]

DataArgument = Annotated[
    str,
    typer.Argument(
        metavar="DATA",
        help="A file (.csv, .tsv, .parquet, else svmlight text), or a name that 'aucmax datasets' "
        "lists.",
    ),
]
Binarize = Annotated[
    str | None,
    typer.Option(
        "--binarize",
        metavar="HOW",
        help="Two classes out of many: even-odd, first-half, or random-halves:SEED.",
    ),
]


class Scale(StrEnum):
    """What is done to the rows first."""

    none = "none"
    unit_norm = "unit-norm"


ScaleOption = Annotated[
    Scale, typer.Option("--scale", help="unit-norm divides each row by its length.")
]


_FLAGS = {"text": "--one-hot", "missing": "--impute", "categories": "--category"}


@dataclass(frozen=True)
class TwoClasses:
    """Rows and labels with all that a report says of them.

    Parameters
    ----------
    name : str
        The file's name, or the data set's.
    X : ndarray or csr_matrix, shape (n, d)
        Rows; of objects where some columns are text.
    y : ndarray, shape (n,)
        Labels, the larger one positive.
    negative, positive : label
        What the classes are called.
    table : Table or None
        What was read, if it was a file.
    weight : ndarray, shape (n,), optional
        Of the rows.
    folding : Folding
        How they may be parted.
    """

    name: str
    X: Any
    y: np.ndarray
    negative: Any
    positive: Any
    table: datasets.Table | None
    weight: np.ndarray | None = None
    folding: Folding = field(default_factory=Folding)

    @property
    def is_positive(self) -> np.ndarray:
        """Which rows are positive, shape (n,)."""
        return self.y == np.unique(self.y)[1]

    def facts(self) -> dict[str, Any]:
        """What every report says of the data."""
        return {
            "data": self.name,
            "rows": len(self.y),
            "features": int(self.X.shape[1]),
            "positives": int(np.count_nonzero(self.is_positive)),
            "positive": self.positive,
            "negative": self.negative,
        }

    def described(self) -> str:
        """The data in a few words."""
        facts = self.facts()
        share = facts["positives"] / facts["rows"]
        return (
            f"{self.name}: {counted(facts['rows'], 'row')}, "
            f"{counted(facts['features'], 'feature')}, {facts['positives']:,} positive "
            f"({100 * share:.3g} %; label {self.positive})"
        )


def two_classes(
    data: str,
    *,
    target: str | None = None,
    positive: str | None = None,
    drop: Sequence[str] | None = None,
    binarize: str | None = None,
    **mixed: Any,
) -> TwoClasses:
    """Read a file, or load a data set by name, as two classes.

    Parameters
    ----------
    data : str
        A path, or a name or alias that `datasets.names` knows; a file goes first.
    target, drop : str, sequence of str
        Columns of a file with names.
    positive : str, optional
        The positive label.
    binarize : str, optional
        As the command line has it.
    **mixed
        Further arguments of `datasets.read`.

    Raises
    ------
    ValueError
        There is no such file or data set, or it does not hold two classes.
    """
    path = Path(data)
    how = _how(binarize)
    if how is not None and positive is not None:
        raise ValueError("--binarize makes the two classes itself; leave out --positive.")
    if path.exists() or not _known(data):
        if not path.exists() and not path.suffix and len(path.parts) == 1:
            raise ValueError(_neither(data))
        table = datasets.read(path, target=target, drop=tuple(drop or ()), **mixed)
        assert table.y is not None  # labels are required by default
        name, X, y = path.name, table.X, table.y
    else:
        given = [
            flag
            for flag, value in (
                ("--target", target),
                ("--drop", drop),
                *((_FLAGS[key], value) for key, value in mixed.items()),
            )
            if value
        ]
        if given:
            raise ValueError(
                f"{given[0]} is for files with named columns; {data} is a data set known by name."
            )
        bunch = datasets.load(data)
        table, name, X, y = None, bunch.name, bunch.data, bunch.target
    if how is not None:
        negative, positive_name = _halves(how)
        y = datasets.binarize(y, how)
    else:
        try:
            y, negative, positive_name = labelled(Path(name), y, positive)
        except ValueError as error:
            many = positive is None and len(np.unique(y)) > 2
            hint = " Or take halves of the labels with --binarize even-odd." if many else ""
            raise ValueError(f"{error}{hint}") from None
    return TwoClasses(name, X, y, negative, positive_name, table)


def prepared(
    rows: TwoClasses, impute: bool, category: Sequence[str] | None, scale: Scale
) -> tuple[Any, Any, Any]:
    """Turn the rows into numbers, and scale them.

    Parameters
    ----------
    rows : TwoClasses
        What was read.
    impute, category, scale
        As the command line has them.

    Returns
    -------
    front : ColumnTransformer or None
        What made numbers of the columns, fitted to all rows.
    unit_norm : Normalizer or None
        What scaled them.
    X : ndarray or csr_matrix
        The rows as these give them.
    """
    front, X = None, rows.X
    if rows.table is not None:
        front, X = fit_front(rows.table, impute, rows.name, category)
    check_sizes(X, names_of(rows.table, front), rows.name)
    if scale is Scale.none:
        return front, None, X
    from sklearn.preprocessing import Normalizer

    unit_norm = Normalizer().fit(X)
    if front is None and rows.table is not None and rows.table.feature_names is not None:
        unit_norm.feature_names_in_ = np.array(rows.table.feature_names, dtype=object)
    return front, unit_norm, datasets.scale(X, scale.value)


def numbers(text: str | None, flag: str) -> list[float] | None:
    """Numbers separated by commas, as an option has them.

    Parameters
    ----------
    text : str or None
        Such as ``"0,0.5,1"``.
    flag : str
        The option, for messages.

    Returns
    -------
    list of float or None
        None if nothing was given.

    Raises
    ------
    ValueError
        Something between the commas is not a number.
    """
    if text is None:
        return None
    try:
        return [float(part) for part in words(text)]
    except ValueError:
        raise ValueError(f"{flag} takes numbers separated by commas; got {text!r}.") from None


def words(text: str) -> list[str]:
    """Words separated by commas, without the space around them."""
    return [part.strip() for part in text.split(",") if part.strip()]


def _known(name: str) -> bool:
    try:
        datasets.about(name)
    except ValueError:
        return False
    return True


def _neither(name: str) -> str:
    try:
        datasets.about(name)
    except ValueError as error:
        return f"{name}: there is no such file, and {error}"
    return name


def _how(binarize: str | None) -> Any:
    if binarize is None:
        return None
    word, _, seed = binarize.partition(":")
    if word == "random-halves" and seed.isdigit():
        return (word, int(seed))
    if binarize in ("even-odd", "first-half"):
        return binarize
    raise ValueError(
        f"--binarize {binarize}: must be even-odd, first-half or random-halves:SEED; for one label "
        "against the rest use --positive LABEL."
    )


def _halves(how: Any) -> tuple[str, str]:
    if how == "even-odd":
        return "odd", "even"
    return ("second half", "first half") if how == "first-half" else ("other half", "random half")
