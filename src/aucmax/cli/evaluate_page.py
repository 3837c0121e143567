"""The page of ``aucmax evaluate``: a verdict, how many rows to flag, curves, and the model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.utils import _safe_indexing

from aucmax.cli.common import linear_of
from aucmax.cli.errors import command_line
from aucmax.cli.front import rows_described
from aucmax.cli.large import words_of_read
from aucmax.explain.by_column import by_column
from aucmax.explain.column_shapes import Shape, shapes_of
from aucmax.explain.feature_effects import effects_of, sampling_of
from aucmax.explain.row_reasons import each_reasons
from aucmax.report.curves import gains_figure, lift_figure, ranking_figures, roc_figure, wilson
from aucmax.report.distributions import calibration_figure, score_figure
from aucmax.report.explained import effects_figure, effects_table, reasons_table, shape_figures
from aucmax.report.operating import operating_points
from aucmax.report.page import Page, ResultTable, Section
from aucmax.report.provenance import provenance
from aucmax.report.text import (
    auc_text,
    interval_text,
    left_out,
    p_words,
    percent_text,
    plain_number,
)

__all__ = ["Test", "curves", "model_sections", "operating", "page_of", "some_rows"]

_HIGHEST = 10  # scores that are explained
_REASONS = 4  # of each
_MOST_SHAPES = 12  # that are drawn

# which rows are positive, their scores, and their weights
Test = tuple[np.ndarray, np.ndarray, np.ndarray | None]


def page_of(report: dict[str, Any], seed: int | None) -> Page:
    """Return the page, without its figures."""
    described = rows_described(report)
    if "read" in report:
        described += f"\nread: {words_of_read(report)}"
    return Page(
        f"How well {report['scorers'][0]['name']} ranks {report['data']}",
        described,
        [_results(report)],
        provenance=provenance(command_line(), [("data", described)], seed),
        data=report,
        verdict=_verdict(report),
    )


def _verdict(report: dict[str, Any]) -> str:
    """What an analyst wants to know first, in words."""
    n = report["rows"]
    scorer, *others = report["scorers"]
    budget = next((one for one in report["budgets"] if one["first"]), None)
    said = []
    if budget is not None and not budget["found"]:
        said.append(
            f"The {percent_text(budget['share'])} of the rows with the highest scores "
            f"({_rows(budget['flagged'])}) hold none of the {_rows(budget['positives'])} positives."
        )
    elif budget is not None:
        flagged, found, positives = (budget[name] for name in ("flagged", "found", "positives"))
        lift = found / flagged / (positives / n)
        hits, trials = (budget["effective"] * count for count in (found, positives))
        low, high = (float(end) for end in wilson(hits, trials, report["confidence"]))
        right = f"One alert in {plain_number(flagged / found, 2)} is right"
        if flagged == found:
            right = "All alerts are right"
        said.append(
            f"Flag the {percent_text(budget['share'])} of the rows with the highest scores "
            f"({_rows(flagged)}), and you find {_rows(found)} of the {_rows(positives)} positives: "
            f"{percent_text(found / positives)} (interval {percent_text(low)} to "
            f"{percent_text(high)}). {right}, {plain_number(lift, 2)} times as many as at random."
        )
    area = f"AUC {auc_text(scorer['auc'])} ({interval_text(scorer['low'], scorer['high'])})"
    said.append(f"{area}.")
    words = {
        "tie": "It ties with",
        "better": "It ranks better than",
        "worse": "It ranks worse than",
    }
    said += [
        f"{words[test['verdict']]} {test['against']} (AUC {auc_text(other['auc'])}, "
        f"{p_words(test['p_value'])})."
        for test, other in zip(report["tests"], others, strict=True)
    ]
    return " ".join(said)


def _rows(count: float) -> str:
    """A number of rows, or of their weights scaled to 1 on average."""
    return f"{count:,}" if isinstance(count, int) else plain_number(count)


def operating(report: dict[str, Any], tests: dict[str, Test]) -> Section:
    """A slider over the rows to flag, and what some budgets find."""
    rows = [
        (
            f"highest {percent_text(one['share'])}",
            _rows(one["flagged"]),
            _rows(one["found"]),
            percent_text(one["found"] / one["positives"]),
            percent_text(one["found"] / one["flagged"]),
            f"{plain_number(one['found'] / one['flagged'] / (one['positives'] / one['rows']))}×",
            plain_number(one["flagged"] / one["found"] - 1) if one["found"] else "–",
            plain_number(one["threshold"], 4),
        )
        for one in report["budgets"]
    ]
    head = (
        "flagged", "rows", "found", "recall", "precision", "lift", "false alarms per hit",
        "threshold",
    )  # fmt: skip
    strong = [i for i, one in enumerate(report["budgets"]) if one["first"]]
    weighted = "Rows count by their weights, scaled to 1 on average."
    caption = f"Of {next(iter(tests))}, which flags rows with equal scores together or not at all."
    return Section(
        "How many rows to flag",
        weighted if report["weight"] is not None else "",
        tables=[ResultTable(head, rows, caption, strong)] if rows else [],
        points=[operating_points(name, *test) for name, test in tests.items()],
        on_terminal=False,
    )


def _results(report: dict[str, Any]) -> Section:
    percent, scorers = f"{100 * report['confidence']:g} %", report["scorers"]
    measures: dict[str, Callable[[dict[str, Any]], str]] = {
        "AUC": lambda s: auc_text(s["auc"]),
        f"{percent} interval": lambda s: interval_text(s["low"], s["high"]),
        "average precision": lambda s: auc_text(s["average_precision"]),
        f"precision@{report['k']}": lambda s: auc_text(s["precision_at_k"]),
        f"recall at FPR ≤ {report['fpr']:g}": lambda s: auc_text(s["recall_at_fpr"]),
    }
    tables = [
        ResultTable(
            ("", *(s["name"] for s in scorers)),
            [(name, *map(value, scorers)) for name, value in measures.items()],
            "Interval of the AUC from DeLong's variance, wider with few rows.",
        )
    ]
    if report["tests"]:
        tests = [(test["against"], test) for test in report["tests"]]
        note = report["tests"][0]["note"]
        caption = "DeLong's paired test on the same rows; a tie unless p < 0.05."
        caption = f"{caption}\n{note}" if note else caption
        head = f"{scorers[0]['name']} against"
        tables.append(ResultTable.differences(head, tests, f"{percent} interval", caption))
    return Section("Results", tables=tables)


def some_rows(test: Test, most: int) -> np.ndarray:
    """Return the numbers of about so many rows, ascending: of each class, and the highest scores.

    Of each class half of them, evenly spread, or all that there are.
    """
    positive, score, weight = test
    counted = np.ones(len(score), dtype=bool) if weight is None else weight > 0
    highest = np.argsort(-score, kind="stable")
    chosen = [highest[counted[highest]][:_HIGHEST]]
    for kind in (True, False):
        rows = np.flatnonzero((positive == kind) & counted)
        at = np.linspace(0, len(rows) - 1, min(len(rows), max(most // 2, 2)))
        chosen.append(rows[at.astype(np.intp)])
    return np.unique(np.concatenate(chosen))


def _restored(test: Test, rows: np.ndarray) -> np.ndarray:
    """Return weights of some rows with which the classes weigh what they do in all rows."""
    positive, score, weight = test
    weight = np.ones(len(score)) if weight is None else weight
    each = weight[rows].astype(np.float64)
    for kind in (True, False):
        mine = positive[rows] == kind
        each[mine] *= weight[positive == kind].sum() / each[mine].sum()
    return each


def model_sections(
    model: Any, X: Any, test: Test, confidence: float, rows: np.ndarray | None = None
) -> list[Section]:
    """What drives a linear model's score, how its columns bend, and why rows score so high.

    X as the model takes them: all rows of the test, or those with some numbers.
    """
    if not hasattr(linear_of(model), "coef_"):
        return []
    positive, score, weight = test
    if rows is None:
        rows = np.arange(len(score))
        if weight is not None and not weight.all():
            rows = np.flatnonzero(weight)
            X, weight = _safe_indexing(X, rows), weight[rows]
    else:
        weight = _restored(test, rows)
    by, sign = by_column(model, X), np.where(positive[rows], 1.0, -1.0)
    sampling = sampling_of(by, sign, weight)
    found = effects_of(by, sign, weight, sampling, confidence)
    top = np.argsort(-score[rows], kind="stable")[:_HIGHEST]
    why = list(each_reasons(by, _REASONS, by.mean_added(weight), top))
    measured = f"Measured on {len(rows):,} of the rows." * (len(rows) < len(score))
    highest = reasons_table(rows[top].tolist(), score, positive, why)
    return [
        Section(
            "What drives the score",
            measured,
            tables=[effects_table(found, confidence)],
            figures=[effects_figure(found, confidence)],
            on_terminal=False,
        ),
        *_bends([*shapes_of(by, found, sampling, confidence, weight)], confidence),
        Section("Why the highest scores are high", tables=[highest], on_terminal=False),
    ]


def _bends(shapes: list[Shape], confidence: float) -> list[Section]:
    """A figure for each of the columns that are no lines; no section where all are."""
    if not shapes:
        return []
    said = [
        "The score is a sum of one function of each column; straight lines without gaps are not "
        "drawn. Above 0 a value adds more than its column does on average. All have one scale, "
        "that of all rows but the first and last percent of each column. Strokes at the foot are "
        "the deciles of the rows: a tenth of them lies between two strokes."
    ]
    if np.isfinite(np.concatenate([shape.low for shape in shapes])).any():
        said.append(
            f"Bands and bars: {100 * confidence:g} % intervals at each value, how far it would "
            "vary between samples of as many rows, for these settings."
        )
    if len(shapes) > _MOST_SHAPES:
        hidden = len(shapes) - _MOST_SHAPES
        said.append(left_out(hidden, "that moves the score less", "that move the score less"))
    figures = shape_figures(shapes[:_MOST_SHAPES])
    heading = "How each column bends the score"
    return [Section(heading, " ".join(said), figures=figures, on_terminal=False)]


def curves(
    report: dict[str, Any], tests: dict[str, Test], chance: np.ndarray | None = None
) -> Section:
    """Return the curves; ``chance`` are the first scorer's probabilities, where it gives any."""
    alone = {name: [test] for name, test in tests.items()}
    asked: dict[str, Any] = {"confidence": report["confidence"]}
    asked["bands"] = list(tests)[:2]  # a third would hide them
    name, first = next(iter(tests.items()))
    drawn = [
        *ranking_figures(alone, **asked),
        gains_figure(alone, **asked),
        lift_figure(alone, **asked),
        roc_figure(alone, **asked, few=True),
        score_figure(alone),
    ]
    if chance is not None:
        positive, _, weight = first
        scored = {name: [(positive, chance, weight)]}
        drawn.append(calibration_figure(scored, report["confidence"]))
    return Section("Curves", figures=drawn, on_terminal=False)
