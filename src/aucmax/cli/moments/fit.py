"""``aucmax moments fit``: a model of the rows behind a file of moments."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from aucmax.cli.common import load_model, show
from aucmax.cli.moments.common import Like, MomentsFile
from aucmax.cli.options import Json, Settings, Stopping
from aucmax.cli.paths import check_paths
from aucmax.data.reading import Reading
from aucmax.estimators import AUCClassifier
from aucmax.estimators.files import save
from aucmax.estimators.inputs import behind, names_after
from aucmax.estimators.labelling import of_two_classes
from aucmax.estimators.training import auc_of_moments
from aucmax.report.facts import AUCOfMoments, FittedModel
from aucmax.report.training import FitToMoments
from aucmax.statistics.base import ClassStatistics
from aucmax.statistics.files import load_moments

__all__ = ["fit"]


def fit(
    file: MomentsFile,
    output: Annotated[
        Path, typer.Option("--out", "-o", metavar="MODEL", help="Where to save the model.")
    ],
    *,
    settings: Settings,
    reading: Annotated[Reading, ("positive",)],
    like: Like = None,
    stopping: Stopping,
    as_json: Json = False,
) -> None:
    """Fit a model to a file of moments: the same as to its rows, with the square loss.

    If the moments were built with --like MODEL, give the same model here: its steps for text, gaps
    and dates become those of the new model.

    Example:

        aucmax moments fit all.moments --alpha 0.001 -o model.aucmax
    """
    check_paths({"--out": output}, {"MOMENTS": file, "--like": like})
    held = load_moments(file)
    held, label = of_two_classes(held, reading.positive, file)
    model = AUCClassifier(**settings.given(), **vars(stopping), positive=label)
    steps = [] if like is None else _steps(load_model(like), held, like)
    if steps:
        held.feature_names = None  # behind the steps, which name them
    model.fit_moments(held)
    save(behind(steps, model), output)
    auc = auc_of_moments(held, model.coef_[0], label)
    report = FitToMoments(
        model=str(output),
        moments=str(file),
        positive=label,
        negative=next(other for other in held.classes.tolist() if other != label),
        features=held.n_features,
        fitted=FittedModel.of(model),
        auc=None if auc is None else AUCOfMoments.of(auc),
    )
    show(report, as_json)


def _steps(model: Any, held: ClassStatistics, path: Path) -> list[Any]:
    """Return the steps of a model, for moments of their output."""
    if not hasattr(model, "steps"):
        return []
    names = names_after(model[:-1])
    if names != held.feature_names:
        raise ValueError(
            f"{path}: its steps give other features than the moments have; give the model with "
            "which they were built."
        )
    return list(model.steps[:-1])
