"""``aucmax scorecard``: points for the bins of each column."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from sklearn.base import clone
from sklearn.utils import Bunch

from aucmax import metrics
from aucmax.additive import Binning, Scorecard
from aucmax.basics.checks import weights_in_rows
from aucmax.basics.quantiles import quantiles
from aucmax.basics.visible import in_line
from aucmax.cli.common import few_positives, show_page, working
from aucmax.cli.errors import command_line
from aucmax.cli.front import LabelledRows, labelled_columns, positives_for, rows_described, rows_for
from aucmax.cli.options import OF_MODELS, DataArgument, Html, Json, given_file, without
from aucmax.cli.paths import check_paths
from aucmax.data.reading import Reading
from aucmax.estimators.files import save
from aucmax.estimators.folds import FOLDS
from aucmax.report.page import Page, ResultTable, Section
from aucmax.report.provenance import provenance

__all__ = ["scorecard"]

SEED = 0  # of the folds
_LOST = 0.1  # of a column's information value by a trend, from which on it is told
_BANDS = 10  # of points, by which two files are compared

Method = StrEnum("Method", {"best": "best", "quantile": "quantile"})


@dataclass(frozen=True, kw_only=True)
class Bins:
    """How columns are binned."""

    method: Annotated[Method, typer.Option(help="The most likely bins, or quantiles.")] = (
        Method.best
    )
    max_bins: Annotated[int, typer.Option(help="Most bins of a column.")] = 12
    min_share: Annotated[float, typer.Option(help="Least share of the rows in a bin.")] = 0.05
    monotone: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN=TREND",
            help="increasing, decreasing, auto (whichever fits better, the default) or none: how "
            "the rates of a column's bins follow each other; without COLUMN= of all others.",
        ),
    ] = None

    def binning(self, rows: Bunch) -> Binning:
        """Return what bins rows so."""
        return Binning(
            self.method.value, max_bins=self.max_bins, min_share=self.min_share,
            monotone=_trends(self.monotone, rows.feature_names), dates=dict(rows.dates) or None,
        )  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Points:
    """The scale of the points."""

    pdo: Annotated[float, typer.Option(help="Points that double the odds.")] = 20.0
    base_points: Annotated[float, typer.Option(help="Points at the base odds.")] = 600.0
    base_odds: Annotated[
        float, typer.Option(help="Negative to positive rows that get the base points.")
    ] = 50.0


def scorecard(
    data: DataArgument,
    reading: Annotated[Reading, without(OF_MODELS - {"categories"})],
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="MODEL", help="Where to save the scorecard.")
    ],
    *,
    against: Annotated[
        Path | None,
        typer.Option(
            "--against", metavar="FILE", help="Later rows: how well the points do there (if they "
            "have labels), and how far the rows have moved (PSI).",
        ),
    ] = None,
    bins: Bins,
    points: Points,
    html: Html = None,
    as_json: Json = False,
) -> None:  # fmt: skip
    """Make a scorecard: points for bins of each column, which add up.

    Each column is put into a few bins, gaps in one of their own, and each bin gets points by the
    rate of positive rows in it. Columns are weighed by logistic regression, none of them against
    its own rates. The fewer points, the more likely is the positive label, which is the bad one.

    Prints the table, and how well it ranks: Gini (2 AUC − 1) and KS, held out by cross-validation
    and on --against FILE, and how far the rows of that file have moved (PSI).

    The result is a model as others are: 'aucmax score' and 'evaluate' take it, 'aucmax export'
    writes its log odds in SQL or ONNX.

    Examples:

        aucmax scorecard loans.csv --target default -o loans.card

        aucmax scorecard loans.csv -o loans.card --monotone income=decreasing --against new.csv
    """  # fmt: skip
    check_paths({"--output": output, "--html": html}, {"DATA": data, "--against": against})
    rows = labelled_columns(data, reading, as_json)
    few_positives(rows.is_positive, "row")
    card = Scorecard(
        bins.binning(rows.source), **vars(points), positive=rows.classes.positive_label
    )
    X = rows.named()
    with working(f"fitting {rows_described(rows.facts())}", as_json) as now:
        card.fit(X, rows.y, rows.weight)
        now("cross-validating")
        held_out = _held_out(card, X, rows)
        now("binning without trends")
        free = clone(card.binning_).set_params(monotone=None).fit(X, rows.y, rows.weight)
    scored = card.points(X)
    report = {
        "model": str(output),
        **rows.facts(),
        "training": _quality(rows.is_positive, scored, rows.weight),
        "held_out": held_out,
        "scale": vars(points),
        "against": None if against is None else _against(card, against, reading, scored, rows),
        "by_column": _by_column(card, free),
        "bins": list(card.rows()),
    }
    save(card, output)
    show_page(_page(report), as_json, html)


def _trends(given: list[str] | None, names: list[str] | None) -> Any:
    """What ``--monotone`` says, as `Binning` takes it."""
    pairs = [(name, trend) for name, _, trend in (word.rpartition("=") for word in given or ())]
    trends = {name: None if trend == "none" else trend for name, trend in pairs}
    rest = trends.pop("", "auto")
    return {**dict.fromkeys(names or (), rest), **trends} if trends else rest


def _quality(
    is_positive: np.ndarray, points: np.ndarray, weight: np.ndarray | None
) -> dict[str, float]:
    """How well points rank: the fewer, the more likely positive."""
    auc = metrics.roc_auc(is_positive, -points, weight)
    return {
        "gini": 2 * auc - 1,
        "auc": auc,
        "ks": metrics.ks_statistic(is_positive, -points, weight),
    }


def _held_out(card: Scorecard, X: Any, rows: LabelledRows) -> dict[str, float] | None:
    """The mean quality over folds; None where there are too few rows of a class."""
    folds = rows.folding.most(rows.is_positive, FOLDS)
    if folds < 2:
        return None
    qualities = []
    for train, test in rows.folds(folds, SEED, 1):
        weights = [None if rows.weight is None else rows.weight[part] for part in (train, test)]
        fold = clone(card).set_params(positive=None)
        fold.fit(_taken(X, train), rows.is_positive[train], weights[0])
        points = fold.points(_taken(X, test))
        qualities.append(_quality(rows.is_positive[test], points, weights[1]))
    return {
        "folds": folds,
        **{name: float(np.mean([one[name] for one in qualities])) for name in qualities[0]},
    }


def _taken(X: Any, rows: np.ndarray) -> Any:
    return X.take(rows) if hasattr(X, "column_names") else X[rows]


def _against(
    card: Scorecard, path: Path, reading: Reading, points: np.ndarray, rows: LabelledRows
) -> dict[str, Any]:
    """How well the points rank other rows, and how far these have moved."""
    source = given_file(path)
    try:
        later = rows_for(card, source, reading, labels="required")
    except ValueError:  # perhaps only for want of labels
        later = rows_for(card, source, reading, labels="none")
    others = card.points(later.data)
    before, now = (
        weights_in_rows(rows.weight, len(points)),
        weights_in_rows(later.weight, len(others)),
    )
    shares = np.arange(1, _BANDS) / _BANDS
    cuts = np.unique(quantiles(points, before, shares))
    bands = [
        np.bincount(np.searchsorted(cuts, some, "right"), weight, len(cuts) + 1)
        for some, weight in ((points, before), (others, now))
    ]
    quality = None
    if later.target is not None:
        quality = _quality(positives_for(card, path, later, reading)[0], others, later.weight)
    return {
        "data": str(path),
        "rows": len(others),
        "quality": quality,
        "psi": metrics.population_stability(*bands),
        "psi_of_features": card.binning_.stability(later.data, later.weight),
    }


def _by_column(card: Scorecard, free: Binning) -> list[dict[str, Any]]:
    """Each column's weight, information value and points, the most informative first."""
    coef = np.ravel(card.classifier_.coef_)
    listed = [
        {
            "feature": bins.name,
            "bins": len(bins.counts) - 1 + bool(bins.counts[-1].any()),
            "weight": float(w),
            "information_value": bins.information,
            "information_value_without_trend": untied.information,
            "fewest_points": int(min(points)),
            "most_points": int(max(points)),
        }
        for bins, untied, w, points in zip(
            card.binning_.bins_, free.bins_, coef, card.points_, strict=True
        )
    ]
    return sorted(listed, key=lambda one: -one["information_value"])


def _page(report: dict[str, Any]) -> Page:
    scale, later = report["scale"], report["against"]
    facts = ResultTable.facts(
        [
            ("scale", f"{scale['base_points']:g} points at {scale['base_odds']:g} to 1, twice the "
            f"odds for {scale['pdo']:g} more; the fewer, the more likely {report['positive']}"),
            ("saved", report["model"]),
        ]
    )  # fmt: skip
    sections = [Section("The scorecard", tables=[_ranking(report), facts])]
    moved = {} if later is None else later["psi_of_features"]
    if later is not None:
        said = _moved(later["psi"])
        sections.append(
            Section("Rows then and now", in_line(f"PSI of the points on {later['data']}: {said}."))
        )
    head = ("feature", "bins", "weight", "IV", "points", *(("PSI",) if moved else ()))
    features = [
        (
            one["feature"], str(one["bins"]), f"{one['weight']:.2f}",
            f"{one['information_value']:.3f}", f"{one['fewest_points']} to {one['most_points']}",
            *((f"{moved[one['feature']]:.3f}",) if moved else ()),
        )
        for one in report["by_column"]
    ]  # fmt: skip
    what = "IV, the information value, says how much a column tells by itself."
    what += "".join(
        f" {one['feature']} rises and falls: without a trend its IV would be "
        f"{one['information_value_without_trend']:.3f} (--monotone {one['feature']}=none)."
        for one in report["by_column"]
        if one["information_value_without_trend"] >= one["information_value"] + _LOST
    )
    sections.append(Section("Columns", tables=[ResultTable(head, features, in_line(what))]))
    rank = {one["feature"]: place for place, one in enumerate(report["by_column"])}
    lines, last = [], None
    for row in sorted(report["bins"], key=lambda row: rank[row["feature"]]):
        name = "" if row["feature"] == last else row["feature"]
        last = row["feature"]
        lines.append(
            (
                name, row["bin"], f"{round(row['rows'], 1):,.10g}", f"{100 * row['share']:.1f}",
                f"{100 * row['rate']:.3g}", f"{row['woe']:+.3f}", str(row["points"]),
            )
        )  # fmt: skip
    head = ("feature", "bin", "rows", "% of rows", "% positive", "WoE", "points")
    what = "WoE: log odds of the positives in a bin, over those in all rows."
    sections.append(Section("Points", tables=[ResultTable(head, lines, what, words=(1,))]))
    described = rows_described(report)
    return Page(
        f"Scorecard of {report['data']}",
        described,
        sections,
        provenance=provenance(command_line(), [("data", described)], SEED),
        data=report,
    )


def _ranking(report: dict[str, Any]) -> ResultTable:
    """How well the points rank, in training and elsewhere."""
    later, measured = report["against"], [("training rows", report["training"])]
    if report["held_out"] is not None:
        measured.append((f"{report['held_out']['folds']} folds, held out", report["held_out"]))
    if later is not None and later["quality"] is not None:
        measured.append((later["data"], later["quality"]))
    return ResultTable(
        ("", "Gini", "KS", "AUC"),
        [(name, *(f"{one[key]:.4f}" for key in ("gini", "ks", "auc"))) for name, one in measured],
    )


def _moved(psi: float) -> str:
    """Say what a PSI means, in the usual words."""
    words = "no change to speak of" if psi < 0.1 else "a change" if psi < 0.25 else "a large change"
    return f"{psi:.3f}, {words}"
