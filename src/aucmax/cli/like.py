"""``--like``: the columns of a model or of moments, and how these become numbers."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from aucmax.basics.doors import postponed
from aucmax.basics.errors import ModelFileError
from aucmax.cli.common import labels_in_file, load_model

with postponed():
    import numpy as np

    from aucmax.basics.container import kind_of
    from aucmax.columns.steps import parts_of
    from aucmax.estimators import AUCClassifier
    from aucmax.estimators.labelling import restore_names
    from aucmax.estimators.written_steps import in_front, of_text
    from aucmax.statistics.base import ClassStatistics
    from aucmax.statistics.files import load_moments

__all__ = ["Like", "Template", "steps_in", "template_of"]

Like = Annotated[
    Path | None,
    typer.Option(
        "--like",
        metavar="FILE",
        help="A model, or moments: use its columns, with its levels, medians and dates.",
    ),
]


@dataclass(frozen=True)
class Template:
    """What ``--like`` says about the rows.

    Parameters
    ----------
    model : estimator
        With the columns, fitted or not.
    positive : label, optional
        The label that the model ranks first, as in its training file.
    target : str, optional
        The column of the labels.
    """

    model: Any
    positive: Any = None
    target: str | None = None

    @property
    def steps(self) -> list[tuple[str, Any]]:
        """The steps in front of the model."""
        return list(getattr(self.model, "steps", [])[:-1])


def template_of(path: Path) -> Template:
    """Return what a model, or moments, say about rows like theirs."""
    if kind_of(path) in (None, "model"):
        model = load_model(path)
        model = getattr(model, "best_estimator_", model)
        target = getattr(parts_of(model)[1], "target_name_", None)
        return Template(model, labels_in_file(model)[1], target)
    moments = load_moments(path)
    facts = moments.positive, moments.target_name
    if moments.steps is not None:
        return Template(in_front(steps_in(moments, path)), *facts)
    bare, names = AUCClassifier(), moments.feature_names
    named = {} if names is None else {"feature_names_in_": np.array(names, dtype=object)}
    restore_names(bare, {**named, "n_features_in_": moments.n_features})
    return Template(bare, *facts)


def steps_in(moments: ClassStatistics, path: Path) -> list[tuple[str, Any]]:
    """Return the steps in a file of moments."""
    try:
        return of_text(moments.steps)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise ModelFileError(f"{path}: not a readable moments file ({error}).") from None
