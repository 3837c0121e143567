"""``aucmax moments fit``: a model of the rows behind files of moments, tuned if they are sites."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from aucmax.basics.doors import postponed
from aucmax.cli.common import show
from aucmax.cli.like import Like, steps_in, template_of
from aucmax.cli.moments.combine import added, aligned, respelt
from aucmax.cli.moments.common import Align
from aucmax.cli.options import Json, Settings, Stopping
from aucmax.cli.paths import check_paths
from aucmax.cli.screen import tell
from aucmax.data.reading import Reading

with postponed():
    import numpy as np

    from aucmax.estimators import AUCClassifier
    from aucmax.estimators.additive_moments import Prior
    from aucmax.estimators.files import save
    from aucmax.estimators.inputs import behind, names_after
    from aucmax.estimators.labelling import of_two_classes
    from aucmax.estimators.sites import tune_on_sites
    from aucmax.estimators.training import auc_of_moments
    from aucmax.estimators.written_steps import decisions_of
    from aucmax.report.facts import AUCOfMoments
    from aucmax.report.sites import FitToSites
    from aucmax.report.training import FitToMoments
    from aucmax.statistics.base import ClassStatistics
    from aucmax.statistics.files import load_moments

__all__ = ["fit"]

_NO_SITES = "one file has no sites to leave out; give the file of each site, or --alpha"
_AS_IN_MODEL = "as in the model of --like; --positive chooses another"
_VALUES = {"alpha": "alphas", "l1_ratio": "l1_ratios"}  # arguments that take several values


def fit(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="MOMENTS...",
            help="Written by 'aucmax moments build' or the others: one file, or one of each site.",
        ),
    ],
    output: Annotated[
        Path, typer.Option("--out", "-o", metavar="MODEL", help="Where to save the model.")
    ],
    *,
    settings: Settings,
    reading: Annotated[Reading, ("positive",)],
    like: Like = None,
    align: Align = False,
    stopping: Stopping,
    as_json: Json = False,
) -> None:
    """Fit a model to files of moments: the same as to their rows, with the square loss.

    With the files of several sites, --alpha, --standardize and --within are chosen, unless they
    are given: the sites are left out one at a time, and the model of the others is tested on the
    moments of the one left out. No row may be in two files.

    From moments built with --like and a model of curves and maps, this fits such a model, with the
    same --alpha unless another is given or chosen by sites. It applies to lines, and the alphas of
    curves and maps keep their proportion to it.

    The model takes the columns of the files: the moments store how these become numbers. If they
    were built with --like and a scikit-learn pipeline, give the same file here.

    Examples:

        aucmax moments fit all.moments --alpha 0.001 -o model.aucmax

        aucmax moments fit north.moments south.moments west.moments -o model.aucmax
    """
    check_paths({"--out": output}, {"--like": like, **{f"MOMENTS {path}": path for path in files}})
    sites = _loaded(files, align)
    first = sites[str(files[0])]
    with_steps = next((site for site in sites.values() if site.steps is not None), first)
    steps = steps_in(with_steps, files[0]) if like is None else _steps(like, first)
    if steps:
        for held in sites.values():
            held.feature_names = held.steps = None  # behind the steps, which name them
    why_positive = _AS_IN_MODEL if reading.positive is None and _ranked(sites) else ""
    prior, chosen = Prior.of(steps), settings.given()
    if prior is not None:
        mass = sum(held.counts @ held.means for held in sites.values())
        chosen = prior.settings(chosen, tunes=len(files) > 1)
        sites = {name: prior.moments(held) for name, held in sites.items()}
    model: AUCClassifier
    report: FitToMoments | FitToSites
    if len(files) == 1:
        held, label = of_two_classes(sites[str(files[0])], reading.positive, files[0])
        model = AUCClassifier(**chosen, **vars(stopping), positive=label)
        model.fit_moments(held)
        why_not_tuned = _NO_SITES if settings.alpha is None else ""
        more = {"moments": str(files[0]), "auc": _auc(model), "why_not_tuned": why_not_tuned}
        report = FitToMoments.of(model, _alphas(prior, model), model=str(output), **more)
    else:
        tuned = tune_on_sites(
            sites, reading.positive, **_several(chosen), **vars(stopping), verbose=not as_json
        )
        model = tuned.model
        auc = None if tuned.auc is None else _auc(model)
        report = FitToSites.of(tuned, _alphas(prior, model), model=str(output), auc=auc)
    if prior is not None:
        features, model = prior.behind(model, mass)
        steps = [("features", features)]
    model.decisions_ = [str(decision) for decision in decisions_of(steps)]
    save(behind(steps, model), output)
    show(replace(report, why_positive=why_positive), as_json)


def _auc(model: AUCClassifier) -> AUCOfMoments | None:
    """Return what the moments of a model imply about the AUC of their rows."""
    auc = auc_of_moments(model.moments_, model.coef_[0], model.classes_.tolist()[1])
    return None if auc is None else AUCOfMoments.of(auc)


def _several(settings: dict[str, Any]) -> dict[str, Any]:
    """Return settings as arguments that take several values of each."""
    return {
        _VALUES.get(name, name): value if np.ndim(value) else (value,)
        for name, value in settings.items()
    }


def _alphas(prior: Prior | None, model: AUCClassifier) -> dict[str, float] | None:
    """Return the α of lines, curves and maps of a fit; None if all is a line."""
    return None if prior is None else prior.alphas(model.alpha)


def _loaded(files: list[Path], align: bool) -> dict[str, ClassStatistics]:
    """Return the moments in files by their paths, with the same features in the same order."""
    total = load_moments(files[0])
    sites = {str(files[0]): total}
    for path in files[1:]:
        if str(path) in sites:
            raise ValueError(f"{path}: is given twice; give each site once.")
        part = respelt(load_moments(path), total, path)
        total = added(total, part, path, align)
        sites[str(path)] = aligned(part, total) if align else part
    for name, held in sites.items():
        if held.merged > 1 < len(sites):
            several = f"was merged from {held.merged} files, which are left out as one site"
            tell("note", f"{name}: {several}; give those files to leave them out one at a time")
    return sites


def _ranked(sites: dict[str, ClassStatistics]) -> bool:
    """Return whether moments tell which label ranks first."""
    return any(held.positive is not None for held in sites.values())


def _steps(path: Path, held: ClassStatistics) -> list[Any]:
    """Return the steps of the model in a file, for moments of their output."""
    template = template_of(path)
    if template.steps and names_after(template.model[:-1]) != held.feature_names:
        raise ValueError(
            f"{path}: its steps give other features than the moments have; give the model with "
            "which they were built."
        )
    return template.steps
