"""``aucmax evaluate``: how well a model ranks a file, and against what."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from aucmax import metrics
from aucmax.additive import Scorecard
from aucmax.cli.common import (
    check_folder,
    check_html,
    feature_names,
    few_positives,
    linear_of,
    load_model,
    paired_test,
    scores_of,
    show_page,
    working,
)
from aucmax.cli.errors import command_line
from aucmax.cli.front import encoding_of, rows_described, rows_for
from aucmax.cli.labels import positives_for
from aucmax.cli.large import Large, what_was_read, words_of_read
from aucmax.cli.options import Html, Json, Judging, Model, given_file
from aucmax.estimators import effects
from aucmax.report.curves import (
    gains_figure,
    lift_figure,
    ranking_figures,
    roc_figure,
    wilson,
)
from aucmax.report.distributions import score_figure
from aucmax.report.explained import effects_figure, effects_table, reasons_table
from aucmax.report.figures import check_image
from aucmax.report.operating import budgets, operating_points
from aucmax.report.page import Page, ResultTable, Section
from aucmax.report.provenance import provenance
from aucmax.report.text import (
    auc_text,
    interval_text,
    p_words,
    percent_text,
    plain_number,
)
from aucmax.rows.source import Source

__all__ = ["evaluate"]

# which rows are positive, their scores, and their weights
Test = tuple[np.ndarray, np.ndarray, np.ndarray | None]


def evaluate(
    model: Model,
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="Rows and labels the model has not seen: a file, - for standard input, or a data "
            "set known by name.",
        ),
    ],
    reading: Judging,
    large: Large,
    other: Annotated[
        Path | None,
        typer.Argument(metavar="OTHER", help="A second model, to be compared with the first."),
    ] = None,
    logistic: Annotated[
        Path | None,
        typer.Option(
            metavar="TRAINFILE",
            help="Compare with scikit-learn's class-balanced logistic regression, tuned by "
            "cross-validation and trained on these rows.",
        ),
    ] = None,
    k: Annotated[
        int | None, typer.Option(help="The k of precision@k; by default the number of positives.")
    ] = None,
    fpr: Annotated[
        float, typer.Option(help="False-positive rate at which recall is taken.")
    ] = 0.05,
    confidence: Annotated[float, typer.Option(help="Coverage of the interval.")] = 0.95,
    plot: Annotated[
        Path | None, typer.Option(metavar="IMAGE", help="Draw the ROC curves: .png, .svg or .pdf.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Random seed of the folds that tune --logistic.")] = 0,
    html: Html = None,
    as_json: Json = False,
) -> None:
    """Measure how well a model ranks, alone or against another.

    Gives the AUC with DeLong's interval, average precision, precision among the k highest scores
    and recall at a false-positive rate. A comparison is DeLong's paired test on the same rows;
    the verdict is "tie" unless p < 0.05. With --weight rows count by their weight in all of this.
    The page that --html writes has a slider over the rows to flag, with what is found, missed
    and alarmed falsely, and its cost; and the curves with bands.

    Examples:

        aucmax evaluate booked.aucmax holdout.csv --plot roc.png

        aucmax evaluate booked.aucmax holdout.csv older.aucmax --html report.html

        aucmax evaluate booked.aucmax holdout.csv --logistic visits.csv
    """
    check_folder(plot)
    check_html(html)
    if plot is not None:
        check_image(plot)
    source = given_file(file)
    with working(f"reading {source.name}", as_json) as now:
        fitted = load_model(model)
        # read per model: each finds its own features, by name
        table = rows_for(fitted, source, reading, labels="required", large=large)
        in_parts = isinstance(table.data, Source)
        is_positive, label = positives_for(fitted, source, table, reading)
        few_positives(is_positive, "row")
        encode = encoding_of(fitted)
        scores, given = {_title(model, other): scores_of(fitted, table.data)}, [table.data]
        if other is not None:
            second = load_model(other)
            X = rows_for(second, source, reading, labels="none", large=large).data
            name = _title(other, model)
            scores[f"{name} (again)" if name in scores else name] = scores_of(second, X)
            given.append(X)
        if logistic is not None:
            if in_parts:
                raise ValueError(f"{file}: --logistic needs the rows in memory; give it more.")
            from aucmax.experiments.rivals import BalancedLogisticRegression

            now(f"tuning logistic regression on {logistic.name}")
            rows = rows_for(fitted, logistic, reading, labels="required")
            y, _ = positives_for(fitted, logistic, rows, reading)
            # text and missing values reach the rival as they reach the model
            rival = BalancedLogisticRegression(random_state=seed)
            rival.fit(encode(rows.data), y, rows.weight)
            scores["logistic regression"] = rival.decision_function(encode(table.data))
        now("measuring")
        report = {
            "file": str(source),
            "data": source.name,
            "rows": len(is_positive),
            "features": table.n_features if in_parts else encode(table.data[:1]).shape[1],
            "positives": int(is_positive.sum()),
            "positive": label,
            "weight": reading.weight,
            **what_was_read(*given),
        }
        report |= _measured(is_positive, scores, k, fpr, confidence, table.weight)
        report["budgets"] = budgets(is_positive, next(iter(scores.values())))
        tests: dict[str, Test] = {
            name: (is_positive, score, table.weight) for name, score in scores.items()
        }
        page = _page(report, tests, None if logistic is None else seed)
        if html is not None and not in_parts:
            now("measuring the effects of the features")
            seen = encode(table.data)
            from aucmax.cli.shapes import shape_sections  # with most of scikit-learn's transformers

            bends = shape_sections(fitted)
            if not bends or isinstance(fitted, Scorecard):  # single splines tell nothing
                page.sections.extend(_model(fitted, seen, next(iter(tests.values())), confidence))
            page.sections.extend(bends)
        if plot is not None:
            now("drawing the curves")
            curve = _curves(report, tests).figures[0]
            replace(curve, title=source.name, xlim=(-0.01, 1.01)).save(plot)
            report["plot"] = str(plot)
    show_page(page, as_json, html)


def _title(path: Path, beside: Path | None) -> str:
    """The file's name, or its whole path where the other model has the same name."""
    return str(path) if beside is not None and beside.name == path.name else path.name


def _measured(
    is_positive: np.ndarray,
    scores: dict[str, np.ndarray],
    k: int | None,
    fpr: float,
    confidence: float,
    weight: np.ndarray | None,
) -> dict[str, Any]:
    """Measure every scorer, and test the first against the others."""
    by = {"sample_weight": weight}
    k = int(is_positive.sum()) if k is None else k
    scorers = [
        {
            "name": name,
            **metrics.auc_interval(is_positive, score, confidence, **by)._asdict(),
            "average_precision": metrics.average_precision(is_positive, score, **by),
            "precision_at_k": metrics.precision_at_k(is_positive, score, k, **by),
            "recall_at_fpr": metrics.recall_at_fpr(is_positive, score, fpr, **by),
        }
        for name, score in scores.items()
    ]
    (name, first), *rest = scores.items()
    tests = [
        {
            "model": name,
            "against": against,
            **paired_test(is_positive, first, score, confidence, weight),
        }
        for against, score in rest
    ]
    return {"confidence": confidence, "k": k, "fpr": fpr, "scorers": scorers, "tests": tests}


# ---- the page


def _page(report: dict[str, Any], tests: dict[str, Test], seed: int | None) -> Page:
    described = rows_described(report)
    if "read" in report:
        described += f"\nread: {words_of_read(report)}"
    return Page(
        f"How well {report['scorers'][0]['name']} ranks {report['data']}",
        described,
        [_operating(report, tests), _results(report), _curves(report, tests)],
        provenance=provenance(command_line(), [("data", described)], seed),
        data=report,
        verdict=_verdict(report),
    )


def _verdict(report: dict[str, Any]) -> str:
    """What an analyst wants to know first, in words."""
    n, positives = report["rows"], report["positives"]
    scorer, *others = report["scorers"]
    budget = next((one for one in report["budgets"] if one["first"]), None)
    said = []
    if budget is not None and budget["found"]:
        flagged, found = budget["flagged"], budget["found"]
        lift = found / flagged / (positives / n)
        low, high = (float(end) for end in wilson(found, positives, report["confidence"]))
        said.append(
            f"Flag the {percent_text(budget['share'])} of the rows with the highest scores "
            f"({flagged:,}), and you find {found:,} of the {positives:,} positives: "
            f"{percent_text(found / positives)} (interval {percent_text(low)} to "
            f"{percent_text(high)}). One alert in {plain_number(flagged / found, 2)} is right, "
            f"{plain_number(lift, 2)} times as many as at random."
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


def _operating(report: dict[str, Any], tests: dict[str, Test]) -> Section:
    """A slider over the rows to flag, and what some budgets find."""
    n, positives = report["rows"], report["positives"]
    rows = [
        (
            f"highest {percent_text(one['share'])}",
            f"{one['flagged']:,}",
            f"{one['found']:,}",
            percent_text(one["found"] / positives),
            percent_text(one["found"] / one["flagged"]),
            f"{plain_number(one['found'] / one['flagged'] / (positives / n))}×",
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
    weighted = " Rows count as one each, whatever their weights." * (report["weight"] is not None)
    caption = f"Of {next(iter(tests))}, which flags rows with equal scores together or not at all."
    return Section(
        "How many rows to flag",
        "Move the slider: by dragging, with the arrow keys, or to the cheapest." + weighted,
        tables=[ResultTable(head, rows, caption, strong)] if rows else [],
        points=[operating_points(name, *test[:2]) for name, test in tests.items()],
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
            "DeLong's interval of the AUC, on the logit scale.",
        )
    ]
    if report["tests"]:
        tests = [(test["against"], test) for test in report["tests"]]
        caption = "DeLong's paired test on the same rows; a tie unless p < 0.05."
        head = f"{scorers[0]['name']} against"
        tables.append(ResultTable.differences(head, tests, f"{percent} interval", caption))
    return Section("Results", tables=tables)


def _model(model: Any, X: Any, test: Test, confidence: float) -> list[Section]:
    """What a linear model goes by, and why it scores rows so high; X as its last step has it."""
    linear = linear_of(model)
    if not hasattr(linear, "coef_"):
        return []
    positive, score, weight = test
    coef = np.ravel(linear.coef_)
    names = feature_names(model, len(coef))
    labels = np.asarray(linear.classes_)[positive.astype(int)]
    found = effects(linear, X, labels, weight, confidence, names)
    return [
        Section(
            "What the model goes by",
            tables=[effects_table(found, confidence)],
            figures=[effects_figure(found, confidence)],
            on_terminal=False,
        ),
        Section(
            "Why the highest scores are high",
            tables=[reasons_table(X, coef, names, score, positive)],
            on_terminal=False,
        ),
    ]


def _curves(report: dict[str, Any], tests: dict[str, Test]) -> Section:
    areas = {
        s["name"]: f"AUC {auc_text(s['auc'])} ({interval_text(s['low'], s['high'])})"
        for s in report["scorers"]
    }
    precisions = {
        s["name"]: f"average precision {auc_text(s['average_precision'])}"
        for s in report["scorers"]
    }
    alone = {name: [test] for name, test in tests.items()}
    asked: dict[str, Any] = {"confidence": report["confidence"]}
    asked["bands"] = list(tests)[:2]  # a third would hide them
    name, first = next(iter(tests.items()))
    drawn = [
        *ranking_figures(alone, **asked, details=(areas, precisions)),
        gains_figure(tests, **asked),
        lift_figure(tests, **asked),
        roc_figure(alone, **asked, few=True),
        score_figure(name, first),
    ]
    return Section("Curves", figures=drawn, on_terminal=False)
