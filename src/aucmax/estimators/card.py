"""What the report card of a fitted model says, from the fit alone."""

from typing import Any

import numpy as np

from aucmax.report.card import card_html
from aucmax.report.text import auc_text, interval_text, plain_number

__all__ = ["card_of", "card_of_classes"]

_MOST = 8  # effects


def card_of(model: Any) -> str:
    """Return the card of a fitted linear scorer as HTML."""
    linear = getattr(model, "best_estimator_", model)
    negative, positive = (str(label) for label in model.classes_.tolist())
    d = model.coef_.shape[1]
    used = int(np.count_nonzero(model.coef_))
    facts = [
        ("ranks", f"{positive} above {negative}"),
        ("features", f"{d:,}" + f", {used:,} with a weight" * (used < d)),
    ]
    moments = getattr(linear, "moments_", None)
    if moments is not None:
        rows = [plain_number(float(n), 12) for n in (moments.n_pos, moments.n_neg)]
        facts.append(("rows", f"{rows[0]} {positive}, {rows[1]} {negative}"))
    if hasattr(model, "best_score_"):
        score = "AUC" if model.scoring == "auc" else str(model.scoring)
        ends = f" ({interval_text(*model.best_interval_[1:3])})" * (model.scoring == "auc")
        chosen = "; optimistic: the best of many"
        facts.append((f"cross-validated {score}", f"{auc_text(model.best_score_)}{ends}{chosen}"))
    facts.append(("settings", ", ".join(_settings(linear))))
    if hasattr(model, "calibration_"):
        facts.append(("probabilities", f"{type(model.calibration_).__name__.lower()} calibration"))
    near = f", optimality {linear.optimality_:.1e} (0 at the optimum, 1 at w = 0)"
    facts.append(("solver", f"{linear.solver_}{near * bool(np.isfinite(linear.optimality_))}"))
    coef, spread = np.ravel(model.coef_), getattr(linear, "spread_", None)
    size = coef if spread is None else coef * np.sqrt(spread)
    names = getattr(model, "feature_names_in_", np.arange(1, d + 1))
    order = np.argsort(-np.abs(size), kind="stable")[:_MOST]
    bars = [(str(names[j]), float(size[j])) for j in order if size[j] != 0]
    what = (
        "weights"
        if spread is None
        else "effects: weight times the root mean squared difference of two rows"
    )
    hidden = used - len(bars)
    more = f"; {hidden:,} smaller ones" if hidden else ""
    return card_html(type(model).__name__, facts, bars, f"Largest {what}{more}.")


def card_of_classes(model: Any) -> str:
    """Return the card of a fitted `MulticlassAUCClassifier` as HTML."""
    labels, moments = (
        [str(label) for label in model.classes_.tolist()],
        model.__dict__.get("moments_"),
    )
    said = labels
    if moments is not None:
        at = {
            str(c): float(n) for c, n in zip(moments.classes.tolist(), moments.counts, strict=True)
        }
        said = [f"{label} ({plain_number(at.get(label, 0.0), 12)} rows)" for label in labels]
    fitted = [one for one in model.estimators_ if one is not None]
    against = "each class against the rest" if model.scheme == "ovr" else "each two classes"
    facts = [
        ("classes", ", ".join(said)),
        ("features", f"{model.coef_.shape[1]:,}"),
        ("models", f"{len(fitted):,}, of {against}"),
    ]
    chosen = {", ".join(_settings(getattr(one, "best_estimator_", one))) for one in fitted}
    if len(chosen) == 1:
        facts.append(("settings", chosen.pop()))
    names = getattr(model, "feature_names_in_", np.arange(1, model.coef_.shape[1] + 1))
    bars = []
    for label, coef in zip(labels[-len(model.coef_) :], model.coef_, strict=True):
        top = int(np.argmax(np.abs(coef)))
        if coef[top] != 0:
            bars.append((f"{label}: {names[top]}", float(coef[top])))
    caption = "Largest weight of each class, in the units of the features."
    return card_html(type(model).__name__, facts, bars[:_MOST], caption)


def _settings(linear: Any) -> list[str]:
    """The settings of the objective, as chosen."""
    told = [f"loss {linear.loss}"] if hasattr(linear, "loss") else []
    if getattr(linear, "within", 0.5) != 0.5:
        told.append(f"within {linear.within}")
    if hasattr(linear, "standardize_"):
        told.append(f"standardize {linear.standardize_:g}")
    if isinstance(getattr(linear, "alpha", None), float | int):
        told.append(f"alpha {linear.alpha:.3g}")
    if getattr(linear, "l1_ratio", 0.0):
        told.append(f"l1 ratio {linear.l1_ratio:g}")
    return told
