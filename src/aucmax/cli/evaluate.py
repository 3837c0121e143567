"""``aucmax evaluate``: how well a model ranks a file, and against what."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from sklearn.utils import Bunch

from aucmax import metrics
from aucmax.cli.common import (
    chance_of,
    few_positives,
    load_model,
    scores_of,
    show_page,
    working,
)
from aucmax.cli.evaluate_page import Test, curves, model_sections, operating, page_of, some_rows
from aucmax.cli.front import encoding_of, positives_for, rows_for
from aucmax.cli.large import Footprint, Large, take, what_was_read
from aucmax.cli.options import Html, Json, Judging, Model, given_file
from aucmax.cli.paths import check_paths
from aucmax.data.reading import Reading
from aucmax.data.rows.source import Source
from aucmax.explain.feature_effects import MOST_CELLS
from aucmax.report.comparison import paired_test
from aucmax.report.figures import check_image
from aucmax.report.operating import budgets
from aucmax.report.page import Section

__all__ = ["evaluate"]


NewRows = Annotated[
    Path,
    typer.Argument(
        metavar="FILE",
        help="Rows and labels the model has not seen: a file, - for standard input, or a data set "
        "known by name.",
    ),
]
Other = Annotated[
    Path | None,
    typer.Argument(metavar="OTHER", help="A second model, to be compared with the first."),
]
Plot = Annotated[
    Path | None, typer.Option(metavar="IMAGE", help="Draw the ROC curves: .png, .svg or .pdf.")
]


@dataclass(frozen=True, kw_only=True)
class Rival:
    """The model that this one is compared with, fitted anew."""

    logistic: Annotated[
        Path | None,
        typer.Option(
            metavar="TRAINFILE",
            help="Compare with scikit-learn's class-balanced logistic regression, tuned by "
            "cross-validation and trained on these rows.",
        ),
    ] = None
    seed: Annotated[int, typer.Option(help="Random seed of the folds that tune --logistic.")] = 0

    def scores(self, model: Any, X: Any, reading: Reading) -> np.ndarray:
        """Return those of rows; text and missing values reach the rival as they reach the model."""
        from aucmax.experiments.rivals import BalancedLogisticRegression

        rows = rows_for(model, self.logistic, reading, labels="required")
        y, _ = positives_for(model, self.logistic, rows, reading)
        encode = encoding_of(model)
        rival = BalancedLogisticRegression(random_state=self.seed)
        return rival.fit(encode(rows.data), y, rows.weight).decision_function(encode(X))


@dataclass(frozen=True, kw_only=True)
class Measures:
    """What is measured."""

    k: Annotated[
        int | None, typer.Option(help="The k of precision@k; by default the number of positives.")
    ] = None
    fpr: Annotated[float, typer.Option(help="False-positive rate at which recall is taken.")] = 0.05
    confidence: Annotated[float, typer.Option(help="Coverage of the interval.")] = 0.95


class _Large(Large):
    footprint = Footprint(130, 230, 3)


def evaluate(
    model: Model,
    file: NewRows,
    reading: Judging,
    large: _Large,
    *,
    other: Other = None,
    rival: Rival,
    measures: Measures,
    plot: Plot = None,
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
    check_paths(
        {"--plot": plot, "--html": html},
        {"MODEL": model, "FILE": file, "OTHER": other, "--logistic": rival.logistic},
    )
    if plot is not None:
        check_image(plot)
    source = given_file(file)
    with working(f"reading {source.name}", as_json) as now:
        fitted = load_model(model)
        # read per model: each finds its own features, by name
        table = rows_for(fitted, source, reading, labels="required", large=large)
        is_positive, label = positives_for(fitted, source, table, reading)
        few_positives(is_positive, "row")
        scores, tables = {_title(model, other): scores_of(fitted, table.data)}, [table.data]
        if other is not None:
            second = load_model(other)
            X = rows_for(second, source, reading, labels="none", large=large).data
            name = _title(other, model)
            scores[f"{name} (again)" if name in scores else name] = scores_of(second, X)
            tables.append(X)
        if rival.logistic is not None:
            if isinstance(table.data, Source):
                raise ValueError(f"{file}: --logistic needs the rows in memory; give it more.")
            now(f"tuning logistic regression on {rival.logistic.name}")
            scores["logistic regression"] = rival.scores(fitted, table.data, reading)
        now("measuring")
        report = _facts(source, fitted, table, is_positive)
        report |= {"positive": label, "weight": reading.weight}
        report |= _measured(is_positive, scores, measures, table.weight)
        tests: dict[str, Test] = {
            name: (is_positive, score, table.weight) for name, score in scores.items()
        }
        drawn: list[Section] = []
        if html is not None:
            now("measuring the effects of the features")
            drawn = _drawn(fitted, table, report, tests)
        report |= what_was_read(*tables)
        page = page_of(report, None if rival.logistic is None else rival.seed)
        if html is not None:
            page.sections[:] = [operating(report, tests), *page.sections, *drawn]
        if plot is not None:
            now("drawing the curves")
            curve = curves(report, tests).figures[0]
            replace(curve, title=source.name, xlim=(-0.01, 1.01)).save(plot)
            report["plot"] = str(plot)
    show_page(page, as_json, html)


def _title(path: Path, beside: Path | None) -> str:
    """The file's name, or its whole path where the other model has the same name."""
    return str(path) if beside is not None and beside.name == path.name else path.name


def _facts(source: Any, model: Any, table: Bunch, is_positive: np.ndarray) -> dict[str, Any]:
    """What the report says of the rows."""
    in_parts = isinstance(table.data, Source)
    return {
        "file": str(source),
        "data": source.name,
        "rows": len(is_positive),
        "features": table.n_features if in_parts else encoding_of(model)(table.data[:1]).shape[1],
        "positives": int(is_positive.sum()),
    }


def _drawn(
    model: Any, table: Bunch, report: dict[str, Any], tests: dict[str, Test]
) -> list[Section]:
    """The curves, and what the model does, by all rows or by some of a file in parts."""
    test, some, rows = next(iter(tests.values())), None, table.data
    sections = [curves(report, tests, chance_of(model, rows, test[1]))]
    if isinstance(rows, Source):
        some = some_rows(test, min(table.room.rows, MOST_CELLS // table.n_features))
        rows = take(table, some)
    return [*sections, *model_sections(model, rows, test, report["confidence"], some)]


def _measured(
    is_positive: np.ndarray,
    scores: dict[str, np.ndarray],
    measures: Measures,
    weight: np.ndarray | None,
) -> dict[str, Any]:
    """Measure every scorer, and test the first against the others."""
    by = {"sample_weight": weight}
    k = int(is_positive.sum()) if measures.k is None else measures.k
    fpr, confidence = measures.fpr, measures.confidence
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
    flagged = budgets(is_positive, first, weight)
    measured = {"confidence": confidence, "k": k, "fpr": fpr, "scorers": scorers, "tests": tests}
    return {**measured, "budgets": flagged}
