"""Text and missing values: scikit-learn's own transformers in front of a model."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Annotated, Any

import numpy as np
import typer

from aucmax.datasets import Table

__all__ = ["Impute", "OneHot", "fit_front", "front_of", "in_front", "keep_names", "source_of"]

Impute = Annotated[
    bool,
    typer.Option(
        "--impute",
        help="Fill in missing values: numbers by the column's median, text by its commonest value "
        "(scikit-learn's SimpleImputer, saved in the model).",
    ),
]
OneHot = Annotated[
    bool,
    typer.Option(
        "--one-hot",
        help="Take text columns, one 0/1 feature per value; values not seen in training count as "
        "none (scikit-learn's OneHotEncoder, saved in the model).",
    ),
]


def fit_front(table: Table, impute: bool) -> tuple[Any, Any]:
    """Fit the transformers that a table needs, and apply them.

    Parameters
    ----------
    table : Table
        What was read, perhaps with text and missing values.
    impute : bool
        Whether missing values are filled in, here and in rows to come.

    Returns
    -------
    front : ColumnTransformer or None
        None where the rows can be taken as they are.
    X : ndarray or csr_matrix
        The rows as numbers.
    """
    if not (impute or table.text):
        return None, table.X
    from sklearn.compose import ColumnTransformer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder

    names = list(table.feature_names or ())
    text = [names.index(name) for name in table.text]
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


def keep_names(model: Any, table: Table, front: Any) -> None:
    """Give the model its features' names, as a fit to a data frame would have."""
    if table.feature_names is None:
        return
    if front is None:
        names = list(table.feature_names)
        model.feature_names_in_ = np.array(names, dtype=object)
    else:
        names = [str(name) for name in front.get_feature_names_out()]
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
