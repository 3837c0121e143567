"""From a file's columns to numbers, by scikit-learn's own transformers, and back to their names."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Annotated, Any

import numpy as np
import typer

from aucmax.cli._shared import tell
from aucmax.datasets import Table

__all__ = [
    "Category",
    "Impute",
    "OneHot",
    "check_sizes",
    "fit_front",
    "front_of",
    "in_front",
    "keep_names",
    "names_of",
    "source_of",
]

_FEW = 20  # rows in which all values may differ by chance
_MANY = 1000  # categories of one column that are worth a word

Impute = Annotated[
    bool,
    typer.Option(
        "--impute",
        help="Fill in missing values: numbers by the column's median, text by its commonest value "
        "(scikit-learn's SimpleImputer, kept in a saved model).",
    ),
]
OneHot = Annotated[
    bool,
    typer.Option(
        "--one-hot",
        help="Take text columns, one 0/1 feature per value; values not seen in training count as "
        "none (scikit-learn's OneHotEncoder, kept in a saved model).",
    ),
]
Category = Annotated[
    list[str] | None,
    typer.Option(
        "--category",
        metavar="COLUMN",
        help="Take this column as --one-hot takes text, whatever it holds and however many "
        "values; may be repeated.",
    ),
]


def fit_front(
    table: Table, impute: bool, file: str, category: Sequence[str] | None = None
) -> tuple[Any, Any]:
    """Fit the transformers that a table needs, and apply them.

    Parameters
    ----------
    table : Table
        What was read, perhaps with text and missing values.
    impute : bool
        Whether missing values are filled in, here and in rows to come.
    file : str
        The file's name, for messages.
    category : sequence of str, optional
        Columns that may have any number of categories.

    Returns
    -------
    front : ColumnTransformer or None
        None where the rows can be taken as they are.
    X : ndarray or csr_matrix
        The rows as numbers.

    Raises
    ------
    ValueError
        More than half the values of another text column differ, as names and ids do.
    """
    if not (impute or table.text):
        return None, table.X
    from sklearn.compose import ColumnTransformer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder

    names = list(table.feature_names or ())
    text = [names.index(name) for name in table.text]
    for name, j in zip(table.text, text, strict=True):
        if name not in (category or ()):
            _check_categories(table.X[:, j], name, file)
    numbers = [j for j in range(len(names)) if j not in text]
    parts: list[tuple[str, Any, list[int]]] = []
    if numbers:
        # even without gaps: an array of objects becomes one of numbers
        parts.append(("numbers", SimpleImputer(strategy="median"), numbers))
    if text:
        encoder = OneHotEncoder(handle_unknown="ignore")
        if impute:
            encoder = make_pipeline(SimpleImputer(strategy="most_frequent"), encoder)
        parts.append(("text", encoder, text))
    front = ColumnTransformer(parts, verbose_feature_names_out=False)
    X = front.fit_transform(table.X)
    # as if fitted to a data frame, which Python users will score
    front.feature_names_in_ = np.array(names, dtype=object)
    for _, part, columns in front.transformers_:
        first = part[0] if hasattr(part, "steps") else part
        first.feature_names_in_ = front.feature_names_in_[columns]
    return front, X


def _check_categories(values: np.ndarray, name: str, file: str) -> None:
    """Refuse a column that tells rows apart, and tell of one with very many categories."""
    known = [value for value in values if isinstance(value, str)]
    different = len(set(known))
    if different > _FEW and different > len(known) / 2:
        raise ValueError(
            f"{file}: column {name!r} has {different:,} different values in {len(known):,} rows, "
            f"such as {known[0]!r}: these tell rows apart and teach nothing about others; leave "
            f"the column out (--drop {name!r}), or take each as a category (--category {name!r})."
        )
    if different > _MANY:
        tell(
            "warning",
            f"column {name!r} has {different:,} different values and becomes as many features; "
            f"leave it out with --drop {name!r}, or say that you mean it with --category {name!r}",
        )


def check_sizes(X: Any, names: Sequence[str] | None, file: str) -> None:
    """Refuse values too large for any fit, by the names that the file and its column have.

    Parameters
    ----------
    X : ndarray or csr_matrix, shape (n, d)
        The rows that are to be fitted.
    names : sequence of str or None
        Names of their features.
    file : str
        What was read.

    Raises
    ------
    ValueError
        The squares of a column cannot be summed.
    """
    ends = [X.max(axis=0), -X.min(axis=0)]
    size = np.max([end.toarray().ravel() if hasattr(end, "nnz") else end for end in ends], axis=0)
    j = int(np.argmax(size))
    with np.errstate(over="ignore"):
        fits = np.isfinite(np.square(size[j]) * X.shape[0])
    if not fits:
        name = f"feature {j + 1}" if names is None else f"column {names[j]!r}"
        raise ValueError(
            f"{file}: {name} has values as large as {size[j]:.1e}, whose squares overflow; divide "
            "them by a constant."
        )


def in_front(front: Any, model: Any, unit_norm: Any = None) -> Any:
    """The model with the transformers in front of it, as one.

    Parameters
    ----------
    front : ColumnTransformer or None
        What `fit_front` gives.
    model : estimator
        Fitted to what the front gives.
    unit_norm : Normalizer or None
        Fitted; between the two.
    """
    steps = [("columns", front), ("unit_norm", unit_norm), ("model", model)]
    steps = [step for step in steps if step[1] is not None]
    if len(steps) == 1:
        return model
    from sklearn.pipeline import Pipeline

    return Pipeline(steps)


def front_of(model: Any) -> Callable[[Any], Any]:
    """What turns the rows of a file into the numbers that a model saved by `train` is given."""
    if not ((getattr(model, "source_", None) or {}).get("front") and hasattr(model, "steps")):
        return lambda X: X

    def transform(X: Any) -> Any:
        with warnings.catch_warnings():
            # scikit-learn asks for a data frame wherever a model knows its features' names
            warnings.filterwarnings("ignore", "X does not have valid feature names", UserWarning)
            return model[:-1].transform(X)

    return transform


def names_of(table: Table | None, front: Any) -> list[str] | None:
    """The names of the features that the model is given, if they have any."""
    if table is None or table.feature_names is None:
        return None
    if front is None:
        return list(table.feature_names)
    return [str(name) for name in front.get_feature_names_out()]


def keep_names(model: Any, table: Table, front: Any) -> None:
    """Give the model its features' names, as a fit to a data frame would have."""
    names = names_of(table, front)
    if names is None:
        return
    if front is None:
        model.feature_names_in_ = np.array(names, dtype=object)
    if hasattr(model, "moments_"):
        model.moments_.feature_names = names


def source_of(
    table: Table | None, negative: Any, positive: Any, impute: bool, front: bool = False
) -> dict[str, Any]:
    """What the file called things, for commands that read another file for the model."""
    target = None if table is None else table.target
    source = {"target": target, "negative": negative, "positive": positive}
    if table is not None and (impute or table.text):
        source |= {"front": True, "text": list(table.text), "missing": impute}
    return source | {"front": True} if front else source
