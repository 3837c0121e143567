"""What the report card of a fitted model says, from the fit alone."""

from typing import Any

import numpy as np

from aucmax.report.card import card_html
from aucmax.report.text import auc_text, interval_text, plain_number

__all__ = ["card_of"]

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
        chosen = "; the best of many, so too high"
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
