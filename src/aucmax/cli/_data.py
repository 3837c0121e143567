"""Two classes of rows from a file or from a data set known by name, for `compare` and `cv`."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from sklearn.utils import Bunch

from aucmax import datasets
from aucmax.cli._columns import check_sizes, fit_front, names_of
from aucmax.cli._options import FLAGS, Learning, given_file
from aucmax.cli._shared import counted
from aucmax.datasets.obstacles import Obstacle, TableError
from aucmax.estimators.folds import Folding

__all__ = [
    "Binarize",
    "DataArgument",
    "Scale",
    "ScaleOption",
    "TwoClasses",
    "check_weights",
    "described",
    "labelled",
    "numbers",
    "prepared",
    "two_classes",
    "weighted",
]

_MANY = 20  # labels of which one may be meant to be positive

DataArgument = Annotated[
    str,
    typer.Argument(
        metavar="DATA",
        help="A file (.csv, .tsv, .parquet, else svmlight text; also .gz, .bz2, .xz), - for "
        "standard input, or a name that 'aucmax datasets' lists.",
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
    source : Bunch
        What was read.
    rarer : bool
        Whether the positive label was chosen as the rarer of the two.
    weight : ndarray, shape (n,), optional
        Of the rows.
    weight_name : str, optional
        The column that holds it.
    folding : Folding
        How they may be parted.
    """

    name: str
    X: Any
    y: np.ndarray
    negative: Any
    positive: Any
    source: Bunch
    rarer: bool = False
    weight: np.ndarray | None = None
    weight_name: str | None = None
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
            "positive_is": "rarer" if self.rarer else None,
            "negative": self.negative,
            "weight": self.weight_name,
        }

    def described(self) -> str:
        """The data in a few words."""
        return described(self.facts())


def described(facts: dict[str, Any]) -> str:
    """What the first line of every command says: the data, and which label is positive.

    Parameters
    ----------
    facts : dict
        Those of `TwoClasses.facts`, or a report that holds them.
    """
    share = facts["positives"] / facts["rows"]
    rarer = ", the rarer" if facts["positive_is"] == "rarer" else ""
    return (
        f"{facts['data']}: {counted(facts['rows'], 'row')}, "
        f"{counted(facts['features'], 'feature')}, {facts['positives']:,} positive "
        f"({100 * share:.3g} %; label {facts['positive']}{rarer})"
        f"{weighted(facts['weight'])}"
    )


def weighted(column: str | None) -> str:
    """What the first line says of the rows' weights."""
    return "" if column is None else f", weighted by {column}"


def two_classes(data: str, reading: Learning, binarize: str | None = None) -> TwoClasses:
    """Read a file, or load a data set by name, as two classes.

    Parameters
    ----------
    data : str
        A path, ``-`` for standard input, or a name or alias that `datasets.names` knows; a file
        goes first.
    reading : Learning
        How a file is read.
    binarize : str, optional
        As the command line has it.

    Raises
    ------
    ValueError
        There is no such file or data set, or it does not hold two classes.
    """
    how = _how(binarize)
    if how is not None and reading.positive is not None:
        raise ValueError("--binarize makes the two classes itself; leave out --positive.")
    if reading.groups is not None and reading.time is not None:
        raise ValueError("--groups and --time part the rows in different ways; give one of them.")
    source = _loaded(data, reading)
    known = {
        "weight": source.weight,
        "weight_name": reading.weight,
        "folding": Folding(source.groups, source.time),
    }
    if how is not None:
        negative, positive = _halves(how)
        y = datasets.binarize(source.target, how)
        rows = TwoClasses(source.name, source.data, y, negative, positive, source, **known)
    else:
        try:
            y, negative, positive, rarer = labelled(source, reading.positive)
        except TableError as error:
            halves = " (or take halves of the labels with --binarize even-odd)"
            error.obstacles[0].hint += halves
            raise
        rows = TwoClasses(source.name, source.data, y, negative, positive, source, rarer, **known)
    check_weights(rows.weight, rows.is_positive, data)
    return rows


def check_weights(weight: np.ndarray | None, is_positive: np.ndarray, data: Any) -> None:
    """Raise ValueError where all rows of a class weigh nothing."""
    if weight is None:
        return
    for rows, kind in ((is_positive, "positive"), (~is_positive, "negative")):
        if not weight[rows].any():
            raise ValueError(f"{data}: all {kind} rows have the weight 0.")


def _loaded(data: str, reading: Learning) -> Bunch:
    """The rows of a file, or of a data set known by name."""
    path = given_file(data)
    if isinstance(path, Path) and not path.exists():
        if _known(data):
            given = [flag for flag in reading.given() if flag != FLAGS["positive"]]
            if given:
                raise ValueError(f"{given[0]} is for files; {data} is a data set known by name.")
            return datasets.load(data)
        if not path.suffix and len(path.parts) == 1:
            raise ValueError(_neither(data))
    try:
        return datasets.read(path, **reading.arguments())
    except TableError as error:
        raise _with_labels(error, reading) from None


def _with_labels(error: TableError, reading: Learning) -> TableError:
    """The same error, and what is wrong with the labels besides."""
    if error.found is None or error.found.target is None:
        return error
    try:
        labelled(error.found, reading.positive)
    except TableError as other:
        remedy = {**(error.remedy or {}), **(other.remedy or {})}
        return TableError(error.path, [*error.obstacles, *other.obstacles], remedy, error.found)
    except ValueError:  # said once the table is read
        pass
    return error


def labelled(source: Bunch, positive: str | None) -> tuple[np.ndarray, Any, Any, bool]:
    """Two classes from the labels of a file or data set.

    Parameters
    ----------
    source : Bunch
        What `datasets.read` or `datasets.load` gives.
    positive : str or None
        The positive label as the command line gave it; None for the larger of two numbers, and
        the rarer of two words.

    Returns
    -------
    y : ndarray, shape (n,)
        The labels as they were where the positive one is the larger of two, else +1 and −1.
    negative, positive : label
        What the classes are called in the file.
    rarer : bool
        Whether the positive label is so because it is the rarer.
    """
    y = np.asarray(source.target)
    path = source.files[0] if len(source.files) == 1 else source.name
    found, counts = np.unique(y, return_counts=True)
    labels = found.tolist()
    listed = ", ".join(map(str, labels[:5])) + (", …" if len(labels) > 5 else "")
    if len(labels) < 2:
        raise ValueError(
            f"{path}: all rows have the label {listed}; ranking needs rows of two classes."
        )
    if positive is None and len(labels) > 2:
        what = f"{len(labels):,} different labels ({listed})"
        hint = "name the one to rank first with --positive LABEL, against all others"
        some = {"positive": str(labels[int(np.argmin(counts))])} if len(labels) <= _MANY else None
        obstacle = Obstacle("labels", what, hint, remedy=some)
        raise TableError(path, [obstacle], some)
    rarer = positive is None and y.dtype.kind not in "iufb"
    try:
        # of two that are equally frequent the larger
        label = (
            labels[int(counts[1] <= counts[0]) if rarer else 1]
            if positive is None
            else datasets.find_label(y, positive)
        )
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None
    others = [other for other in labels if other != label]
    negative = others[0] if len(others) == 1 else f"not {label}"
    rarer = rarer and bool(counts[0] != counts[1])
    if len(others) == 1 and label == labels[1]:
        return y, negative, label, rarer
    return np.where(y == label, 1, -1), negative, label, rarer


def prepared(
    rows: TwoClasses, reading: Learning, scale: Scale = Scale.none
) -> tuple[Any, Any, Any]:
    """Turn the rows into numbers, and scale them.

    Parameters
    ----------
    rows : TwoClasses
        What was read.
    reading : Learning
        How it was read.
    scale : Scale
        As the command line has it.

    Returns
    -------
    front : ColumnTransformer or None
        What made numbers of the columns, fitted to all rows.
    unit_norm : Normalizer or None
        What scaled them.
    X : ndarray or csr_matrix
        The rows as these give them.
    """
    front, X = fit_front(rows.source, reading)
    check_sizes(X, names_of(rows.source, front), rows.source.name)
    if scale is Scale.none:
        return front, None, X
    from sklearn.preprocessing import Normalizer

    unit_norm = Normalizer().fit(X)
    if front is None and rows.source.feature_names is not None:
        unit_norm.feature_names_in_ = np.array(rows.source.feature_names, dtype=object)
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
