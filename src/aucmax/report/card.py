"""The report card of a fitted model: a few lines of HTML for a notebook, from the fit alone."""

from collections.abc import Sequence
from functools import singledispatch
from html import escape as as_html
from typing import Any

import numpy as np

from aucmax.basics.visible import in_line
from aucmax.columns.binning import Bins
from aucmax.estimators.additive import AdditiveAUCClassifier
from aucmax.estimators.linear import LinearModel, LinearScorer
from aucmax.estimators.multiclass import MulticlassAUCClassifier
from aucmax.estimators.ranker import AUCRanker
from aucmax.estimators.scorecard import Scorecard
from aucmax.report.facts import strata_facts
from aucmax.report.text import auc_text, interval_text, plain_number

__all__ = ["card_of"]

_MAX_BARS = 8
_CARD = (
    "font: 14px/1.5 system-ui, sans-serif; max-width: 44rem; padding: .75rem 1rem; margin: .5rem 0;"
    " border: 1px solid #8886; border-radius: 8px;"
)
_TABLE = "border-collapse:collapse;background:none;color:inherit;font:inherit;margin:.4rem 0 0"
_UP, _DOWN = "#0072b2", "#d55e00"


@singledispatch
def card_of(model: Any) -> str:
    """Return the card of a fitted model as HTML; empty for one that is not fitted."""
    raise TypeError(f"a {type(model).__name__} has no report card.")


@card_of.register
def _(model: LinearScorer) -> str:
    if not hasattr(model, "coef_"):
        return ""
    linear: Any = getattr(model, "best_estimator_", model)
    negative, positive = (str(label) for label in model.classes_.tolist())
    facts = [("ranks", f"{positive} above {negative}"), _features(model)]
    moments = getattr(linear, "moments_", None)
    if moments is not None:
        rows = [plain_number(float(n), 12) for n in (moments.n_pos, moments.n_neg)]
        facts.append(("rows", f"{rows[0]} {positive}, {rows[1]} {negative}"))
    if hasattr(model, "best_score_"):
        score, best = str(model.scoring), auc_text(model.best_score_)
        if score == "auc":
            score, best = "AUC", f"{best} ({interval_text(*model.best_interval_[1:3])})"
        facts.append((f"cross-validated {score}", f"{best}; biased upwards by tuning"))
    facts.append(("settings", ", ".join(_settings(linear))))
    facts += strata_facts(getattr(linear, "strata_", None))
    if hasattr(model, "calibration_"):
        facts.append(("probabilities", f"{type(model.calibration_).__name__.lower()} calibration"))
    return _linear_card(model, linear, facts)


@card_of.register
def _(model: AUCRanker) -> str:
    if not hasattr(model, "coef_"):
        return ""
    facts = [("ranks", "higher grades, or earlier events, first"), _features(model)]
    if hasattr(model, "strata_"):
        facts.append(("within", f"{model.strata_.count:,} strata"))
    facts.append(("settings", ", ".join(_settings(model))))
    return _linear_card(model, model, facts)


def _features(model: LinearModel) -> tuple[str, str]:
    """The number of features, and of those with a weight."""
    d, used = model.coef_.shape[1], int(np.count_nonzero(model.coef_))
    return "features", f"{d:,}, {used:,} with a weight" if used < d else f"{d:,}"


def _linear_card(model: LinearModel, linear: Any, facts: list[tuple[str, str]]) -> str:
    """Return the card of a linear model: facts, its solver, and its largest weights."""
    d, used = model.coef_.shape[1], int(np.count_nonzero(model.coef_))
    solver = str(linear.solver_)
    if np.isfinite(linear.optimality_):
        solver += f", optimality {linear.optimality_:.1e} (0 at the optimum, 1 at w = 0)"
    facts.append(("solver", solver))
    coef, spread = np.ravel(model.coef_), getattr(linear, "spread_", None)
    size = coef if spread is None else coef * np.sqrt(spread)
    names = getattr(model, "feature_names_in_", np.arange(1, d + 1))
    order = np.argsort(-np.abs(size), kind="stable")[:_MAX_BARS]
    bars = [(str(names[j]), float(size[j])) for j in order if size[j] != 0]
    measure = (
        "weights"
        if spread is None
        else "effects: weight times the root mean squared difference of two rows"
    )
    hidden = used - len(bars)
    rest = f"; {hidden:,} smaller ones" if hidden else ""
    return _html(type(model).__name__, facts, bars, f"Largest {measure}{rest}.")


@card_of.register
def _(model: AdditiveAUCClassifier) -> str:
    if not hasattr(model, "best_estimator_"):
        return ""
    negative, positive = (str(label) for label in model.classes_.tolist())
    scores = (f"{shape} {auc_text(s.mean())}" for shape, s in model.shape_scores_.items())
    best, interval = auc_text(model.best_score_), interval_text(*model.best_interval_[1:3])
    parts = ("lines", "curves", "maps")[: len(model.shape_scores_)]
    of_parts = zip(model.alphas_.tolist(), parts, strict=False)
    trends = (
        f"{'rises' if s > 0 else 'falls'} with {j}" for j, s in (model.monotone or {}).items()
    )
    alphas = ", ".join(f"alpha {alpha:.3g} of {part}" for alpha, part in of_parts)
    optimality = f"optimality {model.optimality_:.1e} (0 at the optimum, 1 at w = 0)"
    facts = [
        ("ranks", f"{positive} above {negative}"),
        ("columns", f"{model.n_features_in_:,}"),
        ("shape", f"{model.shape_} (held out: {', '.join(scores)})"),
        (f"cross-validated {model.scoring}", f"{best} ({interval}); biased upwards by tuning"),
        *([("monotone", ", ".join(trends))] if model.monotone else []),
        ("settings", f"loss {model.loss_}, {alphas}, focus {model.focus_:g}"),
        *strata_facts(getattr(model, "strata_", None)),
        ("solver", f"{model.solver_}, {optimality}"),
    ]
    gains = zip(model.interactions_, model.gains_.tolist(), strict=True)
    bars = [(" × ".join(map(str, pair)), gain) for pair, gain in gains if np.isfinite(gain)]
    caption = (
        "Maps of pairs: how much each, alone, lowers the square loss of the score of its round."
    )
    return _html(type(model).__name__, facts, bars[:_MAX_BARS], caption)


@card_of.register
def _(model: MulticlassAUCClassifier) -> str:
    if not hasattr(model, "coef_"):
        return ""
    labels = [str(label) for label in model.classes_.tolist()]
    moments = model.__dict__.get("moments_")
    listed = labels
    if moments is not None:
        at = {
            str(c): float(n) for c, n in zip(moments.classes.tolist(), moments.counts, strict=True)
        }
        listed = [f"{label} ({plain_number(at.get(label, 0.0), 12)} rows)" for label in labels]
    fitted = [pair for pair in model.estimators_ if pair is not None]
    against = "each class against the rest" if model.scheme == "ovr" else "each two classes"
    facts = [
        ("classes", ", ".join(listed)),
        ("features", f"{model.coef_.shape[1]:,}"),
        ("models", f"{len(fitted):,}, of {against}"),
    ]
    chosen = {", ".join(_settings(getattr(pair, "best_estimator_", pair))) for pair in fitted}
    if len(chosen) == 1:
        facts.append(("settings", chosen.pop()))
    names = getattr(model, "feature_names_in_", np.arange(1, model.coef_.shape[1] + 1))
    bars = []
    for label, coef in zip(labels[-len(model.coef_) :], model.coef_, strict=True):
        top = int(np.argmax(np.abs(coef)))
        if coef[top] != 0:
            bars.append((f"{label}: {names[top]}", float(coef[top])))
    caption = "Largest weight of each class, in the units of the features."
    return _html(type(model).__name__, facts, bars[:_MAX_BARS], caption)


@card_of.register
def _(model: Scorecard) -> str:
    if not hasattr(model, "points_"):
        return ""
    tables: list[Bins] = model.binning_.bins_
    reach = {b.name: float(np.ptp(p)) for b, p in zip(tables, model.points_, strict=True)}
    used = {name: points for name, points in reach.items() if points > 0}
    ends = [sum(end(points) for points in model.points_) for end in (np.min, np.max)]
    negatives, positives = tables[0].counts.sum(axis=0).round(1)
    negative, positive = model.classes_.tolist()
    facts = [
        ("fewest points", f"most likely {positive}"),
        ("rows", f"{plain_number(positives, 12)} {positive}, "
                 f"{plain_number(negatives, 12)} {negative}"),
        ("columns", f"{len(reach):,}, {len(used):,} of them with points"),
        ("points", f"{ends[0]:,.0f} to {ends[1]:,.0f}; {model.base_points:g} at odds of "
                   f"{model.base_odds:g} to 1, {model.pdo:g} more double them"),
    ]  # fmt: skip
    bars = sorted(used.items(), key=lambda item: -item[1])[:_MAX_BARS]
    hidden = len(used) - len(bars)
    rest = f"; {hidden:,} columns with fewer" if hidden else ""
    return _html(
        type(model).__name__, facts, bars, f"Points from a column's worst bin to its best{rest}."
    )


def _settings(linear: Any) -> list[str]:
    """The settings of the objective, as chosen."""
    words = [f"loss {linear.loss}"] if hasattr(linear, "loss") else []
    if getattr(linear, "within", 0.5) != 0.5:
        words.append(f"within {linear.within}")
    if hasattr(linear, "standardize_"):
        words.append(f"standardize {linear.standardize_:g}")
    if isinstance(getattr(linear, "alpha", None), float | int):
        words.append(f"alpha {linear.alpha:.3g}")
    if getattr(linear, "l1_ratio", 0.0):
        words.append(f"l1 ratio {linear.l1_ratio:g}")
    return words


def _html(
    title: str, facts: Sequence[tuple[str, str]], bars: Sequence[tuple[str, float]], caption: str
) -> str:
    """Return a card that follows the light or dark mode of its page, and loads nothing.

    Parameters
    ----------
    title : str
        Above the facts.
    facts : sequence of (str, str)
        Names and values, one per line.
    bars : sequence of (str, float)
        Names and numbers, drawn as bars to both sides of 0.
    caption : str
        Below the bars.
    """
    lines = "".join(
        f'<tr><td style="text-align:left;opacity:.7;padding:0 1rem 0 0">{_escape(name)}</td>'
        f'<td style="text-align:left;padding:0">{_escape(value)}</td></tr>'
        for name, value in facts
    )
    plain = f'style="{_TABLE}"'
    body = f'<div style="font-weight:600">{_escape(title)}</div><table {plain}>{lines}</table>'
    if bars:
        largest = max(abs(value) for _, value in bars) or 1.0
        rows = "".join(_bar(name, value, abs(value) / largest) for name, value in bars)
        small = f'<div style="opacity:.7;font-size:12px">{_escape(caption)}</div>'
        body += f"<table {plain}>{rows}</table>{small}"
    return f'<div class="aucmax-card" style="{_CARD}">{body}</div>'


def _escape(text: str) -> str:
    return as_html(in_line(text))


def _bar(name: str, value: float, share: float) -> str:
    """Return a table row: a name, a bar to the left or the right of the middle, a number."""
    width, up = 48.0 * share, value >= 0
    start = 50.0 if up else 50.0 - width
    bar = (
        '<div style="position:relative;width:12rem;height:.8rem">'
        '<div style="position:absolute;left:50%;width:1px;height:100%;background:#8888"></div>'
        f'<div style="position:absolute;left:{start:.1f}%;width:{width:.1f}%;height:100%;'
        f'border-radius:2px;background:{_UP if up else _DOWN}"></div></div>'
    )
    number = f"{'+' if up else '-'}{plain_number(abs(value))}"
    return (
        f'<tr><td style="text-align:left;padding:0 1rem 0 0">{_escape(name)}</td>'
        f'<td style="padding:0">{bar}</td>'
        f'<td style="text-align:right;padding:0 0 0 .75rem">{number}</td></tr>'
    )
