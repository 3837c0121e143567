"""The input of a saved model: the columns of a file that it needs, and their kinds.

A `TableEncoder` in front of a model knows them. For a scikit-learn pipeline that was fitted to a
data frame in Python, they follow from its fitted transformers; it gets a data frame again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from aucmax.basics.needs import needs
from aucmax.columns.steps import columns_of, parts_of
from aucmax.data.bunch import frame
from aucmax.data.columns import Column, YesNo

__all__ = ["Inputs", "behind", "inputs_of", "names_after"]


@dataclass(frozen=True)
class Inputs:
    """The input to read for a model, as arguments of `datasets.read`, and its form.

    Parameters
    ----------
    arguments : dict
        For `datasets.read`.
    frame : tuple of Column
        The columns of the data frame that the model needs; empty if it takes an array.
    """

    arguments: dict[str, Any]
    frame: tuple[Column, ...] = ()

    def taken(self, columns: Sequence[Column] | None, X: Any) -> Any:
        """Return rows with these columns in the form that the model expects."""
        if not self.frame:
            return frame(X, columns) if self.arguments["columns"] else X
        pd = needs("pandas", "a model that was fitted to a data frame")
        series_of = {}
        for column, values in zip(self.frame, _columns_of(X), strict=True):
            series = _values(column, values)
            # explicit, because pandas would turn None among strings into NaN
            series_of[column.name] = pd.Series(series, dtype=series.dtype)
        return pd.DataFrame(series_of)


def inputs_of(model: Any) -> Inputs:
    """Return the input of a fitted model.

    Parameters
    ----------
    model : estimator
        Saved by `train`, or by `aucmax.save`.
    """
    names_in = getattr(model, "feature_names_in_", None)
    names = None if names_in is None else [str(name) for name in names_in]
    arguments: dict[str, Any] = {"columns": names, "n_features": int(model.n_features_in_)}
    steps, _ = parts_of(model)
    if names is None:
        columns = columns_of(model, [""] * arguments["n_features"])
        gaps = bool(steps) and any(column is not None and column.gaps for column in columns)
        return Inputs(arguments | {"missing": gaps})
    columns = columns_of(model, names)
    used = tuple(column for column in columns if column is not None)
    arguments |= {"columns": used, "n_features": len(used)}
    by_name = any(hasattr(step.fitted, "transformers_") for step in steps)
    plain = not by_name and all(column.is_number for column in used)
    ours = not steps or steps[0].takes_tables
    return Inputs(arguments, () if ours or plain else used)


def behind(steps: list[Any], model: Any) -> Any:
    """Return a model with fitted steps in front, as one pipeline if there are any."""
    return Pipeline([*steps, ("model", model)]) if steps else model


def names_after(step: Any, names: Any = None) -> list[str] | None:
    """Return the names of the features that a fitted step returns; None if they have none.

    Parameters
    ----------
    step : transformer
        Or a pipeline of several.
    names : sequence of str, optional
        The names of its input; by default those of its fit.
    """
    try:
        return [str(name) for name in step.get_feature_names_out(names)]
    except (AttributeError, ValueError):  # not every transformer has names
        return None


def _columns_of(X: Any) -> Iterator[np.ndarray]:
    """Yield the columns of rows as they were read, an array or a data frame."""
    for j in range(X.shape[1]):
        yield np.asarray(X.iloc[:, j]) if hasattr(X, "iloc") else X[:, j]


def _values(column: Column, values: np.ndarray) -> np.ndarray:
    """Return a column as the transformer saw it in training."""
    if column.is_number and not column.objects:
        return values.astype(np.float64)
    values_seen = values.astype(object)
    missing = np.array([value != value for value in values])
    if isinstance(column, YesNo):
        values_seen[~missing] = values[~missing].astype(np.float64).astype(bool)
        if not missing.any() and not column.objects:
            return values_seen.astype(bool)
    values_seen[missing] = None if column.gap_is_none else np.nan
    return values_seen
