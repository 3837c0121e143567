"""Figures of score distributions by class, and of the calibration of probabilities."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from aucmax.basics.quantiles import quantiles
from aucmax.metrics.delong import effective_rows
from aucmax.metrics.scored import Scored
from aucmax.report.curves import RARE_SHARE, ScoredSets, wilson
from aucmax.report.figures import Figure, Line

__all__ = ["calibration", "calibration_figure", "score_figure"]

Floats = NDArray[np.float64]

_MAX_BINS = 50
_TAIL_SHARE = 1e-3  # maximum share of each class beyond each end of the axis


def score_figure(tests: ScoredSets) -> Figure:
    """Make a figure of the distribution of the first scorer's scores in each class."""
    name, test = tests.first
    positive, score, weight = _numbers(test)
    classes = (positive, ~positive)
    fewer = min(effective_rows(weight[rows]) for rows in classes)
    bins = int(np.clip(2 * np.sqrt(fewer), 10, _MAX_BINS))
    outer = np.array([_TAIL_SHARE, 1 - _TAIL_SHARE])
    ends = [quantiles(score[rows], weight[rows], outer) for rows in classes]
    edges = np.linspace(min(low for low, _ in ends), max(high for _, high in ends), bins + 1)
    if edges[0] == edges[-1]:
        edges = np.linspace(edges[0] - 0.5, edges[0] + 0.5, bins + 1)
    lines = {
        f"{name}: {word}": _steps(np.clip(score[rows], edges[0], edges[-1]), weight[rows], edges)
        for word, rows in zip(("positive", "negative"), classes, strict=True)
    }
    return Figure(
        f"scores {name}", "Scores by class", "score", "share of the class in a bin", lines,
        f"Each class by itself, in {bins} bins; scores beyond the axis are in the outermost ones.",
        ypercent=True, ylim=(0.0, None), follows="score",
    )  # fmt: skip


def calibration(scored: Scored, confidence: float = 0.95, bins: int = 10) -> Line:
    """Compare probabilities with the shares of positives: one point for each bin of rows.

    Parameters
    ----------
    scored : Scored
        A test set with probabilities as scores.
    confidence : float
        Confidence level of Wilson's interval of each share.
    bins : int
        Maximum number of bins. Rows are binned by probability such that all bins have the same
        expected number of positives: with equal numbers of rows, rare positives would leave most
        bins empty of them.

    Returns
    -------
    Line
        The mean probability of each bin, and the share of its rows that are positive.
    """
    positive, chance, weight = _numbers(scored)
    if chance.min() < 0 or chance.max() > 1:
        raise ValueError("probabilities must lie between 0 and 1.")
    order = np.argsort(chance, kind="stable")
    mass = np.cumsum((weight * chance)[order])
    cuts = np.searchsorted(mass, mass[-1] * np.arange(1, bins) / bins)
    edges = np.unique(chance[order[np.minimum(cuts, len(order) - 1)]])
    place = np.searchsorted(edges, chance, side="right")
    filled = np.unique(place)
    share, expected, rows = (np.empty(len(filled)) for _ in range(3))
    for k, bin in enumerate(filled):
        in_bin = place == bin
        if not weight[in_bin].any():
            share[k], expected[k], rows[k] = np.nan, np.nan, 0.0
            continue
        share[k] = np.average(positive[in_bin], weights=weight[in_bin])
        expected[k] = np.average(chance[in_bin], weights=weight[in_bin])
        rows[k] = effective_rows(weight[in_bin])
    return Line(
        expected, share, interval=wilson(np.nan_to_num(share) * rows, rows, confidence), alone=True
    )


def calibration_figure(tests: ScoredSets) -> Figure:
    """Make a figure of `calibration` for the first scorer, whose scores are probabilities."""
    name, test = tests.first
    positive, chance, weight = _numbers(test)
    line = calibration(test, tests.confidence)
    expected, observed = weight @ chance, weight @ positive
    rare = bool(np.average(positive, weights=weight) < RARE_SHARE)
    top = float(max(np.nanmax(line.x), np.nanmax(line.interval[1])))  # type: ignore[index]
    positive_x = line.x[line.x > 0]
    low = float(positive_x.min()) / 2 if len(positive_x) else 1e-6
    limits = (low, min(1.5 * top, 1.0)) if rare else (-0.01, 1.01)
    guide = np.geomspace(low, limits[1], 50) if rare else np.array([0.0, 1.0])
    return Figure(
        f"calibration {name}", "Calibration", "predicted probability", "share that is positive",
        {name: line},
        f"Bins have equal numbers of expected positives. Bars: Wilson's {tests.percent} "
        f"interval. In all {expected:,.5g} positives were expected and {observed:,.5g} found. "
        "Dotted: as predicted.",
        xlog=rare, ylog=rare, xpercent=True, ypercent=True, xlim=limits, ylim=limits,
        guide=(guide.tolist(), guide.tolist()),
    )  # fmt: skip


def _numbers(scored: Scored) -> tuple[NDArray[np.bool_], Floats, Floats]:
    """Return a mask of the positives, scores and weights, without rows of weight 0."""
    rows = scored.of_weight()
    return np.asarray(rows.positive, bool), np.asarray(rows.score, dtype=np.float64), rows.weights


def _steps(score: ArrayLike, weight: Floats, edges: Floats) -> Line:
    """Return a histogram of scores, as the outline of its bars."""
    share, _ = np.histogram(score, edges, weights=weight / weight.sum())
    x = np.repeat(edges, 2)[1:-1]
    return Line(x, np.repeat(share, 2), filled=True)
