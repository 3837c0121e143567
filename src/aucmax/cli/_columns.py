"""From a file's columns to numbers, by scikit-learn's own transformers, and back to their names."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from sklearn.utils import Bunch

from aucmax.basics.checks import LARGEST
from aucmax.cli._inputs import inputs_of
from aucmax.cli._options import Learning
from aucmax.cli._shared import tell

__all__ = [
    "check_sizes",
    "fit_front",
    "front_of",
    "in_front",
    "keep_names",
    "names_of",
    "source_of",
]

_MANY = 1000  # categories of one column that are worth a word


def fit_front(source: Bunch, reading: Learning) -> tuple[Any, Any]:
    """Fit the transformers that a table needs, and apply them.

    Parameters
    ----------
    source : Bunch
        What was read, perhaps with text and missing values.
    reading : Learning
        How: whether missing values are taken, here and in rows to come, and which columns may
        have any number of categories.

    Returns
    -------
    front : ColumnTransformer or None
        None where the rows can be taken as they are.
    X : ndarray or csr_matrix
        The rows as numbers.
    """
    if not (reading.impute or source.text):
        return None, source.data
    from sklearn.compose import ColumnTransformer
    from sklearn.impute import SimpleImputer
    from sklearn.preprocessing import OneHotEncoder

    names = list(source.feature_names or ())
    text = [names.index(name) for name in source.text]
    for name, j in zip(source.text, text, strict=True):
        if name not in (reading.category or ()):
            _tell_of_many(source.data[:, j], name)
    numbers = [j for j in range(len(names)) if j not in text]
    parts: list[tuple[str, Any, list[int]]] = []
    if numbers:
        # even without gaps: an array of objects becomes one of numbers
        imputer = SimpleImputer(strategy="median", add_indicator=reading.impute)
        parts.append(("numbers", imputer, numbers))
    if text:
        # a gap is a category of its own where training has gaps, and else as a word never seen
        parts.append(("text", OneHotEncoder(handle_unknown="ignore"), text))
    front = ColumnTransformer(parts, verbose_feature_names_out=False)
    X = front.fit_transform(source.data)
    # as if fitted to a data frame, which Python users will score
    front.feature_names_in_ = np.array(names, dtype=object)
    for _, part, columns in front.transformers_:
        part.feature_names_in_ = front.feature_names_in_[columns]
    return front, X


def _tell_of_many(values: np.ndarray, name: str) -> None:
    """Tell of a column with very many categories."""
    different = len({value for value in values if isinstance(value, str)})
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
        A column is too large to compute with.
    """
    ends = [X.max(axis=0), -X.min(axis=0)]
    size = np.max([end.toarray().ravel() if hasattr(end, "nnz") else end for end in ends], axis=0)
    j = int(np.argmax(size))
    if size[j] > LARGEST:
        name = f"feature {j + 1}" if names is None else f"column {names[j]!r}"
        raise ValueError(
            f"{file}: {name} has values as large as {size[j]:.1e}, whose powers overflow; divide "
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
    """What turns the rows that a model takes into the numbers that its last step is given."""
    written = (getattr(model, "source_", None) or {}).get("front")
    if not hasattr(model, "steps") or not (written or inputs_of(model).frame):
        return lambda X: X

    def transform(X: Any) -> Any:
        with warnings.catch_warnings():
            # scikit-learn asks for a data frame wherever a model knows its features' names
            warnings.filterwarnings("ignore", "X does not have valid feature names", UserWarning)
            return model[:-1].transform(X)

    return transform


def names_of(source: Bunch, front: Any) -> list[str] | None:
    """The names of the features that the model is given, if they have any."""
    if source.feature_names is None:
        return None
    if front is None:
        return list(source.feature_names)
    return [str(name) for name in front.get_feature_names_out()]


def keep_names(model: Any, source: Bunch, front: Any) -> None:
    """Give the model its features' names, as a fit to a data frame would have."""
    names = names_of(source, front)
    if names is None:
        return
    if front is None:
        model.feature_names_in_ = np.array(names, dtype=object)
    if hasattr(model, "moments_"):
        model.moments_.feature_names = names


def source_of(rows: Any, reading: Learning, front: bool) -> dict[str, Any]:
    """What the file called things, for commands that read another file for the model.

    Parameters
    ----------
    rows : TwoClasses
        What was read.
    reading : Learning
        How.
    front : bool
        Whether transformers stand in front of the model.
    """
    source = {
        "target": rows.source.target_name,
        "negative": rows.negative,
        "positive": rows.positive,
    }
    if rows.source.feature_names is not None:
        source |= {"text": list(rows.source.text), "missing": reading.impute}
        source |= {"dates": rows.source.dates}
    return source | {"front": True} if front else source
