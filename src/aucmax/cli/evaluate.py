"""``aucmax evaluate``: how well a model ranks a file, and against what."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer
from rich.table import Table

from aucmax import metrics
from aucmax.cli._options import Judging, given_file
from aucmax.cli._shared import (
    Html,
    Json,
    check_folder,
    check_html,
    command_line,
    console,
    counted,
    few_positives,
    load_model,
    print_json,
    scores_of,
    verdict,
    working,
)
from aucmax.cli.front import encoding_of, rows_for, two_labels_for
from aucmax.report.text import auc_text, difference_text, interval_text, p_text

if TYPE_CHECKING:
    from aucmax.report.page import Page

__all__ = ["evaluate"]


def evaluate(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="Saved by 'aucmax train'.")],
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="Rows and labels the model has not seen: a file, - for standard input, or a data "
            "set known by name.",
        ),
    ],
    reading: Judging,
    other: Annotated[
        Path | None,
        typer.Argument(metavar="OTHER", help="A second model, to be compared with the first."),
    ] = None,
    logistic: Annotated[
        Path | None,
        typer.Option(
            "--logistic",
            metavar="TRAINFILE",
            help="Compare with scikit-learn's class-balanced logistic regression, tuned by "
            "cross-validation and trained on these rows.",
        ),
    ] = None,
    k: Annotated[
        int | None,
        typer.Option("--k", help="Rows counted by precision@k; else the number of positives."),
    ] = None,
    fpr: Annotated[
        float, typer.Option("--fpr", help="False-positive rate at which recall is taken.")
    ] = 0.05,
    confidence: Annotated[
        float, typer.Option("--confidence", help="Coverage of the interval.")
    ] = 0.95,
    plot: Annotated[
        Path | None,
        typer.Option("--plot", metavar="IMAGE", help="Draw the ROC curves: .png, .svg or .pdf."),
    ] = None,
    seed: Annotated[int, typer.Option(help="Of the folds that --logistic is tuned on.")] = 0,
    html: Html = None,
    as_json: Json = False,
) -> None:
    """Measure how well a model ranks, alone or against another.

    Gives the AUC with DeLong's interval, average precision, precision among the k highest scores
    and recall at a false-positive rate. A comparison is DeLong's paired test on the same rows;
    the verdict is "tie" unless p < 0.05. With --weight rows count by their weight in all of this.
    The page that --html writes has the curves with bands,
    and a slider over the threshold with the counts and the cost of the errors.

    Examples:

        aucmax evaluate booked.aucmax holdout.csv --plot roc.png

        aucmax evaluate booked.aucmax holdout.csv older.aucmax --html report.html

        aucmax evaluate booked.aucmax holdout.csv --logistic visits.csv
    """
    check_folder(plot)
    check_html(html)
    if plot is not None:
        from aucmax.report.roc import check_format

        check_format(plot)
    source = given_file(file)
    with working(f"reading {source.name}", as_json) as now:
        fitted = load_model(model)
        # read per model: each finds its own features, by name
        table = rows_for(fitted, source, reading, labels="required")
        is_positive, label = two_labels_for(fitted, source, table, reading)
        few_positives(int(is_positive.sum()), len(is_positive), "row")
        scores = {_title(model, other): scores_of(fitted, table.data)}
        if other is not None:
            second = load_model(other)
            X = rows_for(second, source, reading, labels="none").data
            name = _title(other, model)
            scores[f"{name} (again)" if name in scores else name] = scores_of(second, X)
        if logistic is not None:
            from aucmax.experiments.rivals import BalancedLogisticRegression

            now(f"tuning logistic regression on {logistic.name}")
            rows = rows_for(fitted, logistic, reading, labels="required")
            y, _ = two_labels_for(fitted, logistic, rows, reading)
            # text and missing values reach the rival as they reach the model
            ready = encoding_of(fitted)
            rival = BalancedLogisticRegression(random_state=seed)
            rival.fit(ready(rows.data), y, rows.weight)
            scores["logistic regression"] = rival.decision_function(ready(table.data))
        now("measuring")
        report = _report(source, label, is_positive, scores, k, fpr, confidence, table.weight)
        report["weight"] = reading.weight
        page = None
        if html is not None:
            now("drawing the report")
            # as the fit saw them, each value of a text column one
            width, weight = encoding_of(fitted)(table.data[:1]).shape[1], table.weight
            page = _page(report, is_positive, scores, weight, width, seed, logistic)
        # both files are written when all else is done
        if plot is not None:
            from aucmax.report.roc import roc_plot

            now("drawing the curves")
            roc_plot(
                is_positive, scores, plot, title=source.name, confidence=confidence,
                sample_weight=table.weight,
            )  # fmt: skip
            report["plot"] = str(plot)
        if page is not None and html is not None:
            from aucmax.report.page import write_page

            write_page(page, html)
            report["html"] = str(html)
    if as_json:
        print_json(report)
    else:
        _print(report)


def _title(path: Path, beside: Path | None) -> str:
    """The file's name, or its whole path where the other model has the same name."""
    return str(path) if beside is not None and beside.name == path.name else path.name


def _report(
    file: Any,
    label: Any,
    is_positive: np.ndarray,
    scores: dict[str, np.ndarray],
    k: int | None,
    fpr: float,
    confidence: float,
    weight: np.ndarray | None,
) -> dict[str, Any]:
    n_positive = int(is_positive.sum())
    by = {"sample_weight": weight}
    k = n_positive if k is None else k
    scorers = []
    for name, score in scores.items():
        interval = metrics.auc_interval(is_positive, score, confidence, **by)
        scorers.append(
            {
                "name": name,
                **interval._asdict(),
                "average_precision": metrics.average_precision(is_positive, score, **by),
                "precision_at_k": metrics.precision_at_k(is_positive, score, k, **by),
                "recall_at_fpr": metrics.recall_at_fpr(is_positive, score, fpr, **by),
            }
        )
    (name, first), *rest = scores.items()
    tests = []
    for against, score in rest:
        test = metrics.auc_test(is_positive, first, score, **by)
        _, low, high = metrics.auc_difference(is_positive, first, score, confidence, **by)
        tests.append(
            {
                "model": name,
                "against": against,
                **test._asdict(),
                "low": low,
                "high": high,
                "verdict": verdict(test),
            }
        )
    return {
        "file": str(file),
        "rows": len(is_positive),
        "positives": n_positive,
        "positive": label,
        "confidence": confidence,
        "k": k,
        "fpr": fpr,
        "scorers": scorers,
        "tests": tests,
    }


def _page(
    report: dict[str, Any],
    is_positive: np.ndarray,
    scores: dict[str, np.ndarray],
    weight: np.ndarray | None,
    n_features: int,
    seed: int,
    logistic: Path | None,
) -> Page:
    from aucmax.report import curves, figures
    from aucmax.report.operating import operating_points
    from aucmax.report.page import Page, ResultTable, Section
    from aucmax.report.provenance import provenance

    confidence, share = report["confidence"], report["positives"] / report["rows"]
    percent = f"{100 * confidence:g} %"
    head, value_rows = ["", *scores], _measures(report)
    bands = list(scores)[:2]  # a third would hide them
    tables = [
        ResultTable(
            head,
            [[name, *map(value, report["scorers"])] for name, value in value_rows],
            f"The interval of the AUC is DeLong's, on the logit scale, {percent}.",
        )
    ]
    if report["tests"]:
        tables.append(
            ResultTable(
                *_tests_table(report),
                "DeLong's paired test on the same rows; a tie unless p < 0.05.",
                words=(4,),
            )
        )
    drawings = [
        figures.curves_drawing(
            "roc",
            {
                name: curves.roc(is_positive, score, confidence, weight)
                for name, score in scores.items()
            },
            name="roc",
            title="ROC curve",
            caption=f"Band: around each threshold the joint {percent} region of both rates, from "
            "Wilson's binomial intervals; pointwise, not for the whole curve at once. Dotted: a "
            "scorer that knows nothing.",
            details={s["name"]: f"AUC {auc_text(s['auc'])}" for s in report["scorers"]},
            bands=bands,
        ),
        figures.curves_drawing(
            "precision-recall",
            {
                name: curves.precision_recall(is_positive, score, confidence, weight)
                for name, score in scores.items()
            },
            name="pr",
            title="Precision and recall",
            caption=f"Band: Wilson's {percent} interval for the precision at each threshold; "
            "pointwise. Dotted: the share of positives.",
            details={
                s["name"]: f"average precision {auc_text(s['average_precision'])}"
                for s in report["scorers"]
            },
            bands=bands,
            share=float(np.average(is_positive, weights=weight)),
        ),
    ]
    data = (
        "data",
        f"{Path(report['file']).name}: {counted(report['rows'], 'row')}, "
        f"{counted(n_features, 'feature')}",
    )
    return Page(
        f"How well {next(iter(scores))} ranks {Path(report['file']).name}",
        f"{counted(report['rows'], 'row')}, {report['positives']:,} of them positive "
        f"({100 * share:.3g} %; label {report['positive']}){_weighted(report)}."
        + " The counts under the curves are of rows, each as one."
        * (weight is not None),
        [
            Section("Results", tables=tables),
            Section("Curves", drawings=drawings),
        ],
        [operating_points(name, is_positive, score) for name, score in scores.items()],
        provenance(command_line(), [data], None if logistic is None else seed),
    )


def _weighted(report: dict[str, Any]) -> str:
    return f", weighted by {report['weight']}" if report["weight"] else ""


def _measures(report: dict[str, Any]) -> list[tuple[str, Callable[[dict[str, Any]], str]]]:
    """What is measured of each scorer, and how to write it."""
    return [
        ("AUC", lambda s: auc_text(s["auc"])),
        (
            f"{100 * report['confidence']:g} % interval",
            lambda s: interval_text(s["low"], s["high"]),
        ),
        ("average precision", lambda s: auc_text(s["average_precision"])),
        (f"precision@{report['k']}", lambda s: auc_text(s["precision_at_k"])),
        (f"recall at FPR ≤ {report['fpr']:g}", lambda s: auc_text(s["recall_at_fpr"])),
    ]


def _tests_table(report: dict[str, Any]) -> tuple[list[str], list[list[str]]]:
    """Head and rows of the table of tests."""
    head = [
        f"{report['tests'][0]['model']} against",
        "AUC difference",
        f"{100 * report['confidence']:g} % interval",
        "p",
        "verdict",
    ]
    lines = [
        [
            test["against"],
            *difference_text(test["difference"], test["low"], test["high"]),
            p_text(test["p_value"]),
            test["verdict"],
        ]
        for test in report["tests"]
    ]
    return head, lines


def _print(report: dict[str, Any]) -> None:
    screen = console()
    share = report["positives"] / report["rows"]
    screen.print(
        f"{report['rows']:,} rows, {report['positives']:,} of them positive "
        f"({100 * share:.3g} %; label {report['positive']})"
        f"{_weighted(report)}\n",
        soft_wrap=True,
    )
    table = Table(box=None, padding=(0, 3, 0, 0), pad_edge=False)
    table.add_column("", no_wrap=True)
    for scorer in report["scorers"]:
        table.add_column(scorer["name"], overflow="fold")
    for title, value in _measures(report):
        table.add_row(title, *map(value, report["scorers"]))
    screen.print(table)
    if report["tests"]:
        table = Table(box=None, padding=(0, 3, 0, 0), pad_edge=False)
        (against, *head), lines = _tests_table(report)
        table.add_column(against, overflow="fold")
        for name in head:
            table.add_column(name, justify="left" if name == "verdict" else "right", no_wrap=True)
        for line in lines:
            table.add_row(*line)
        screen.print()
        screen.print(table)
        screen.print("DeLong's paired test on the same rows; a tie unless p < 0.05.")
    if "plot" in report:
        screen.print(f"\nROC curve drawn to {report['plot']}", soft_wrap=True)
    if "html" in report:
        screen.print(f"\nreport written to {report['html']}", soft_wrap=True)
