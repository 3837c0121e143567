"""Fitted steps as text, for the files of moments and streams: JSON of objects of a few classes.

Equal steps have equal texts. As in a model file, classes are from a fixed list, and no code runs.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import Normalizer

from aucmax.basics.doors import Door
from aucmax.columns import SplineFeatures, TableEncoder
from aucmax.columns.additive import AdditiveFeatures
from aucmax.columns.axes import Axis
from aucmax.columns.preparations import Filled, Levels
from aucmax.data.columns import KINDS
from aucmax.data.decisions import Decision

__all__ = ["as_text", "decisions_of", "first_difference", "in_front", "of_text"]

_OTHERWISE = "prepared differently, with levels, medians or knots of its own rows"

_files = Door("aucmax.estimators.files")  # which imports the models

_STEPS: tuple[type, ...] = (TableEncoder, SplineFeatures, Normalizer, AdditiveFeatures)
_KINDS: tuple[type, ...] = (*_STEPS, Filled, Levels, Axis, *KINDS)
_BY_NAME = {kind.__name__: kind for kind in _KINDS}


def as_text(steps: list[tuple[str, Any]]) -> str | None:
    """Return fitted steps as text; None if there are none, or one of another class."""
    if not steps or not all(type(step) in _KINDS for _, step in steps):
        return None
    return json.dumps(_plain(steps), sort_keys=True)


def of_text(text: str | None) -> list[tuple[str, Any]]:
    """Return the steps in a text; ValueError unless a fit could have left them."""
    steps = [] if text is None else _made(json.loads(text))
    _files.check_model(steps)
    if not all(isinstance(step, _STEPS) for _, step in steps):
        raise ValueError("its steps are not a list of steps")
    return [(str(name), step) for name, step in steps]


def in_front(steps: list[tuple[str, Any]]) -> Pipeline:
    """Return steps as a pipeline without a model, from which their input follows."""
    return Pipeline([*steps, ("model", "passthrough")])


def decisions_of(steps: list[tuple[str, Any]]) -> list[Decision]:
    """Return the decisions of steps about columns."""
    return [
        decision for _, step in steps if hasattr(step, "decisions") for decision in step.decisions()
    ]


def first_difference(one: str | None, other: str | None) -> str | None:
    """Return how the steps in two texts differ; None if they do not, or one is unknown."""
    if one is None or other is None or one == other:
        return None
    first, second = (_decided(of_text(text)[0][1]) for text in (one, other))
    names = (n for n in {**first, **second} if first.get(n) != second.get(n))
    return next(names, f"its columns were {_OTHERWISE}")


def _decided(step: Any) -> dict[str, str]:
    """Return a fitted step's decisions as text, by the message for a difference in each."""
    prepared = getattr(step, "prepared_columns", ())
    decided: dict[str, Any] = {
        f"its column {column.name!r} was {_OTHERWISE}": (column, steps)
        for column, steps in prepared
    }
    if isinstance(step, AdditiveFeatures):
        maps = [" × ".join(pair) for pair in step.pairs]
        decided |= {f"only one of the two has a map of {name!r}": () for name in maps}
        prior = step.__dict__.get("alphas_"), *step.__dict__.get("relevance_", ())
        decided["its α of lines, curves and maps differ"] = prior
    return {text: json.dumps(_plain(value), sort_keys=True) for text, value in decided.items()}


def _plain(value: Any) -> Any:
    """Return an object as JSON can represent it."""
    if type(value) in _KINDS:
        state = {k: _plain(v) for k, v in value.__getstate__().items() if k != "_sklearn_version"}
        return {"class": type(value).__name__, "has": state}
    if isinstance(value, np.ndarray):
        return {"class": "array", "of": value.dtype.str, "has": value.tolist()}
    if isinstance(value, tuple):
        return {"class": "tuple", "has": [*map(_plain, value)]}
    if isinstance(value, dict):
        return {"class": "dict", "has": {key: _plain(item) for key, item in value.items()}}
    if isinstance(value, list):
        return [*map(_plain, value)]
    return value.item() if isinstance(value, np.generic) else value


def _made(value: Any) -> Any:
    """Return the object that `_plain` converted."""
    if isinstance(value, list):
        return [*map(_made, value)]
    if not isinstance(value, dict):
        return value
    name, inner = value["class"], value["has"]
    if name == "array":
        return np.array(inner, dtype=value["of"])
    if name == "tuple":
        return tuple(map(_made, inner))
    state = {key: _made(item) for key, item in inner.items()}
    if name == "dict":
        return state
    instance: Any = object.__new__(_BY_NAME[name])
    vars(instance).update(state)
    return instance
