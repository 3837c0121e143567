"""``--like``: the columns of a model or of moments, and how these become numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from aucmax.basics.doors import postponed
from aucmax.basics.errors import ModelFileError
from aucmax.cli.common import load_model

with postponed():
    import numpy as np

    from aucmax.basics.container import kind_of
    from aucmax.estimators import AUCClassifier
    from aucmax.estimators.labelling import restore_names
    from aucmax.estimators.written_steps import in_front, of_text
    from aucmax.statistics.base import ClassStatistics
    from aucmax.statistics.files import load_moments

__all__ = ["Like", "like_of", "steps_in"]

Like = Annotated[
    Path | None,
    typer.Option(
        "--like",
        metavar="FILE",
        help="A model, or moments: use its columns, with its levels, medians and dates.",
    ),
]


def like_of(path: Path) -> Any:
    """Return what tells the columns of a model, or of moments: a model, fitted or not."""
    if kind_of(path) in (None, "model"):
        model = load_model(path)
        return getattr(model, "best_estimator_", model)
    moments = load_moments(path)
    if moments.steps is not None:
        return in_front(steps_in(moments, path))
    bare, names = AUCClassifier(), moments.feature_names
    named = {} if names is None else {"feature_names_in_": np.array(names, dtype=object)}
    restore_names(bare, {**named, "n_features_in_": moments.n_features})
    return bare


def steps_in(moments: ClassStatistics, path: Path) -> list[tuple[str, Any]]:
    """Return the steps in a file of moments."""
    try:
        return of_text(moments.steps)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise ModelFileError(f"{path}: not a readable moments file ({error}).") from None
