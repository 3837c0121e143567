"""``aucmax show``: the contents of a model file."""

from __future__ import annotations

import json
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from aucmax.basics.doors import postponed
from aucmax.basics.errors import ModelFileError
from aucmax.cli import options
from aucmax.cli.common import feature_names, labels_in_file, load_model
from aucmax.cli.common import show as show_report
from aucmax.cli.options import Json

with postponed():
    import numpy as np

    from aucmax.basics.container import unpack
    from aucmax.columns.additive import AdditiveFeatures
    from aucmax.columns.steps import parts_of
    from aucmax.estimators.additive_moments import Prior
    from aucmax.report.facts import Fit
    from aucmax.report.training import Model, Term, Weight

__all__ = ["show"]

_SETTINGS = ("alpha", "l1_ratio", "loss", "within", "standardize", "solver", "tol", "max_iter")


class Order(StrEnum):
    """The order of the weights."""

    weight = "weight"
    effect = "effect"


def show(
    model: options.Model,
    top: Annotated[int, typer.Option(min=0, help="How many weights to list.")] = 20,
    by: Annotated[
        Order, typer.Option("--by", help="What to sort by, largest absolute value first.")
    ] = Order.weight,
    as_json: Json = False,
) -> None:
    """Show a model: its largest weights, settings, and how close it is to the optimum.

    Features without names (svmlight) are called by their index, from 1. The effect is the weight
    times the feature's root mean squared difference between any two rows, so
    that features in different units can be compared.

    For a model of curves and maps it lists the columns and pairs, with the range of what each adds
    to the score: the highest minus the lowest value.

    Example:

        aucmax show booked.aucmax --top 10 --by effect
    """
    show_report(_report(load_model(model), model, top, by), as_json)


def _report(model: Any, path: Path, top: int, by: Order) -> Model:
    head = json.loads(unpack(path, "model").partition(b"\n")[0])
    linear = parts_of(model)[1]
    if not hasattr(linear, "coef_"):
        raise ModelFileError(f"{path}: holds a {type(linear).__name__}, which has no weights.")
    coef = np.ravel(linear.coef_)
    names = feature_names(model, len(coef))
    spread = getattr(linear, "spread_", None)  # v_j, the mean squared difference of two rows
    effect = None if spread is None else coef * np.sqrt(spread)
    pipeline = getattr(model, "best_estimator_", model)
    prior = Prior.of(getattr(pipeline, "steps", [])[:-1])
    if by is Order.effect and effect is None and prior is None:
        raise ValueError(
            f"{path}: --by effect needs the spread of each feature, which this model does not "
            "store (it was streamed by a stochastic partial_fit, or is another library's); sort by "
            "weight."
        )
    size = np.abs(coef if effect is None or by is Order.weight else effect)
    order = np.argsort(-size, kind="stable")[:top]
    settings = {name: getattr(linear, name) for name in _SETTINGS if hasattr(linear, name)}
    terms = None
    if prior is not None:
        settings = _of_curves(prior.features, prior.alphas(), settings)
        settings |= {"focus": model.focus_} if hasattr(model, "focus_") else {}
        ranges = prior.features.ranges(coef)
        largest = sorted(ranges, key=lambda name: -ranges[name])
        terms = [Term(term=name, range=ranges[name]) for name in largest]
    if settings.get("standardize") == "auto":
        settings["standardize"] = linear.standardize_
    if not isinstance(settings.get("solver"), (str, type(None))):
        settings["solver"] = " ".join(repr(settings["solver"]).split())
    weights = [
        Weight(feature=names[j], weight=coef[j], effect=None if effect is None else effect[j])
        for j in order
    ]
    negative, positive = labels_in_file(model)
    return Model(
        model=str(path),
        type=type(model).__name__,
        positive=positive,
        negative=negative,
        target=getattr(linear, "target_name_", None),
        features=len(coef),
        nonzero=int(np.count_nonzero(coef)),
        settings=settings,
        fit=Fit.of_solver(linear),
        within_strata=getattr(linear, "strata_", None),
        keeps_moments=hasattr(linear, "moments_"),
        decisions=getattr(linear, "decisions_", []),
        intercept=np.ravel(linear.intercept_)[0],
        terms=None if terms is None else terms[:top],
        more_terms=max(len(terms or ()) - top, 0),
        weights=weights if terms is None else [],
        versions={name: head.get(name) for name in ("aucmax", "sklearn")},
    )


def _of_curves(
    features: AdditiveFeatures, alphas: dict[str, float], of_line: dict[str, Any]
) -> dict[str, Any]:
    """Return the settings of curves and maps: their α are in the scale of the line behind them."""
    shape = "interactions" if features.pairs_ else "curves" if features.curves else "line"
    names = features.axis_names
    settings = {"shape": shape, **of_line, "alpha": alphas}
    for name in ("l1_ratio", "standardize"):
        settings.pop(name, None)
    if features.trends_:
        trends = {1: "increasing", -1: "decreasing"}
        settings["monotone"] = [f"{names[j]}={trends[sign]}" for j, sign in features.trends_]
    if features.pairs:
        settings["interactions"] = [" × ".join(pair) for pair in features.pairs]
    return settings
