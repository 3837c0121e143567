"""What a saved model takes in: which columns of a file, and what each of them holds.

A `TableEncoder` in front of a model knows it. A scikit-learn pipeline that was fitted to a data
frame in Python tells by its fitted transformers, and gets a data frame again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np
from sklearn.utils import Bunch

from aucmax.additive import Binning, Scorecard
from aucmax.basics.needs import needs
from aucmax.datasets.bunch import frame
from aucmax.estimators.encoder import TableEncoder

__all__ = ["Inputs", "inputs_of", "names_after"]


class Kind(Enum):
    """What a column holds."""

    number = "numbers"
    text = "text"
    truth = "true or false"


@dataclass(frozen=True)
class Column:
    """A column that a transformer was fitted to.

    Parameters
    ----------
    name : str
        As the data frame had it.
    kind : Kind
        What it held.
    gaps : bool
        Whether the transformer takes missing values.
    gap : None or float
        What stood for one: None, or NaN.
    objects : bool
        Whether the transformer saw Python objects, as of a column of mixed types.
    """

    name: str
    kind: Kind = Kind.number
    gaps: bool = False
    gap: float | None = np.nan
    objects: bool = False


@dataclass(frozen=True)
class Inputs:
    """What is to be read for a model, as arguments of `datasets.read`, and in which form.

    Parameters
    ----------
    arguments : dict
        For `datasets.read`.
    frame : tuple of Column
        The columns of the data frame that the model wants; empty where it takes an array.
    """

    arguments: dict[str, Any]
    frame: tuple[Column, ...] = ()

    def given(self, rows: Bunch) -> Any:
        """The rows in the form that the model takes."""
        if not self.frame:
            return frame(rows) if self.arguments["columns"] else rows.data
        pd = needs("pandas", "a model that was fitted to a data frame")
        columns = {}
        for column, values in zip(self.frame, rows.data.T, strict=True):
            seen = _values(column, values)
            # said, since pandas would turn None among strings into NaN
            columns[column.name] = pd.Series(seen, dtype=seen.dtype)
        return pd.DataFrame(columns)


def inputs_of(model: Any) -> Inputs:
    """What a fitted model takes in.

    Parameters
    ----------
    model : estimator
        Saved by `train`, or by `aucmax.save`.
    """
    seen = getattr(model, "feature_names_in_", None)
    names = None if seen is None else [str(name) for name in seen]
    arguments: dict[str, Any] = {"columns": names, "n_features": int(model.n_features_in_)}
    first = model[0] if hasattr(model, "steps") else model
    if isinstance(first, (TableEncoder, Binning, Scorecard)):
        gaps = first.missing if isinstance(first, TableEncoder) else True
        arguments |= {"text": first.text, "missing": gaps, "dates": first.dates or {}}
        return Inputs(arguments)
    if names is None:
        return Inputs(arguments)
    if first is model:
        return Inputs({**arguments, "text": (), "missing": False, "dates": {}})
    by_name: dict[str, Column] = {}
    for column in _columns(model, names):
        known = by_name.get(column.name)
        # what takes text decides: others can be given it only as text, too
        if known is None or known.kind is Kind.number:
            by_name[column.name] = column
    columns = tuple(by_name[name] for name in names if name in by_name)
    arguments |= {
        "columns": [column.name for column in columns],
        "n_features": len(columns),
        "text": [column.name for column in columns if column.kind is Kind.text],
        "missing": [column.name for column in columns if column.gaps],
    }
    plain = not _by_name(model) and all(column.kind is Kind.number for column in columns)
    return Inputs(arguments, () if plain else columns)


def names_after(model: Any) -> list[str] | None:
    """What the features are called behind the steps of a pipeline; None where they have no names.

    Parameters
    ----------
    model : Pipeline
        Fitted.
    """
    try:
        return [str(name) for name in model[:-1].get_feature_names_out()]
    except (AttributeError, ValueError):  # not every transformer has names
        return None


def _by_name(part: Any) -> bool:
    """Whether a part takes columns by name, so that it needs a data frame."""
    if hasattr(part, "transformers_"):
        return True
    return any(_by_name(step) for _, step, *_ in getattr(part, "steps", ()))


def _columns(part: Any, names: Sequence[str]) -> Iterator[Column]:
    """The columns that a fitted transformer uses, with what it knows of them."""
    if hasattr(part, "transformers_"):
        for _, transformer, chosen in part.transformers_:
            if not (isinstance(transformer, str) and transformer == "drop"):
                yield from _columns(transformer, _resolved(chosen, names))
    elif hasattr(part, "steps"):
        steps = [step for _, step in part.steps if step is not None and step != "passthrough"]
        yield from _columns(steps[0], names) if steps else map(Column, names)
    elif hasattr(part, "transformer_list"):
        for _, transformer in part.transformer_list:
            yield from _columns(transformer, names)
    elif hasattr(part, "categories_"):
        skips = getattr(part, "handle_unknown", "error") != "error"
        for name, categories in zip(names, part.categories_, strict=True):
            yield _encoded(name, np.asarray(categories), skips)
    elif hasattr(part, "statistics_"):  # an imputer
        text = np.asarray(part.statistics_).dtype.kind in "OUS"
        gap = None if getattr(part, "missing_values", np.nan) is None else np.nan
        for name in names:
            yield Column(name, Kind.text if text else Kind.number, True, gap, text)
    else:
        yield from map(Column, names)


def _encoded(name: str, categories: np.ndarray, skips: bool) -> Column:
    """A column that an encoder has seen."""
    known = [value for value in categories.tolist() if value is not None and value == value]
    gaps = len(known) < len(categories)
    gap = None if any(value is None for value in categories.tolist()) else np.nan
    if any(isinstance(value, str) for value in known):
        kind = Kind.text
    else:
        truth = bool(known) and all(isinstance(value, (bool, np.bool_)) for value in known)
        kind = Kind.truth if truth else Kind.number
    return Column(name, kind, gaps or skips, gap, categories.dtype.kind not in "iufb")


def _resolved(chosen: Any, names: Sequence[str]) -> list[str]:
    """The names of the columns that a ColumnTransformer was told, by name, place or mask."""
    if isinstance(chosen, str):
        return [chosen]
    if isinstance(chosen, slice):
        if isinstance(chosen.start, str) or isinstance(chosen.stop, str):
            first = 0 if chosen.start is None else names.index(chosen.start)
            last = len(names) if chosen.stop is None else names.index(chosen.stop) + 1
            return list(names[first:last])
        return list(names[chosen])
    wanted = np.atleast_1d(np.asarray(chosen))
    if wanted.dtype.kind in "OU":
        return [str(name) for name in wanted]
    return [str(name) for name in np.asarray(names, dtype=object)[wanted]]


def _values(column: Column, values: np.ndarray) -> np.ndarray:
    """A column as the transformer saw it in training."""
    if column.kind is Kind.number and not column.objects:
        return values.astype(np.float64)
    out = values.astype(object)
    missing = np.array([value != value for value in values])
    if column.kind is Kind.truth:
        out[~missing] = values[~missing].astype(np.float64).astype(bool)
        if not missing.any() and not column.objects:
            return out.astype(bool)
    out[missing] = column.gap
    return out
