"""``aucmax scorecard``: points for the bins of each column."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from aucmax.basics.doors import postponed
from aucmax.cli.common import few_positives, show, working
from aucmax.cli.options import (
    JUDGED,
    OF_MODELS,
    DataArgument,
    Html,
    Json,
    given_file,
    option,
    without,
)
from aucmax.cli.paths import check_paths
from aucmax.data.reading import Reading

with postponed():
    import numpy as np
    from sklearn.base import clone

    from aucmax import metrics
    from aucmax.additive import Binning, Scorecard
    from aucmax.basics.checks import weights_in_rows
    from aucmax.basics.quantiles import quantiles
    from aucmax.cli.front import prepared_rows, rows_for
    from aucmax.data.classes import labelled_for
    from aucmax.data.labelled import Labelled
    from aucmax.estimators.files import save
    from aucmax.estimators.folds import FOLDS, Folding, folds_of
    from aucmax.report.scorecard import SEED, Column, HeldOut, LaterRows, Points, Quality, Scale

__all__ = ["scorecard"]

_SCORE_BANDS = 10  # bands of points in which two files are compared

Method = StrEnum("Method", {"best": "best", "quantile": "quantile"})


@dataclass(frozen=True, kw_only=True)
class Bins:
    """How columns are binned."""

    method: Method = option(
        Method.best, "best: the bins of maximum likelihood; quantile: quantiles."
    )
    max_bins: int = option(12, "Maximum number of bins of a column.")
    min_share: float = option(0.05, "Minimum share of the rows in a bin.")
    monotone: list[str] | None = option(
        None,
        "Trend of the rates over a column's bins: increasing, decreasing, auto (whichever fits "
        "better, the default) or none; without COLUMN= for all other columns.",
        metavar="COLUMN=TREND",
    )

    def binning(self, rows: Labelled) -> Binning:
        """Return the transformer that bins rows this way."""
        names = [column.name for column in rows.columns or ()]
        return Binning(
            self.method.value, max_bins=self.max_bins, min_share=self.min_share,
            monotone=_trends(self.monotone, names),
        )  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class PointScale:
    """The scale of the points."""

    pdo: float = option(20.0, "Points that double the odds.")
    base_points: float = option(600.0, "Points at the base odds.")
    base_odds: float = option(50.0, "Odds (negative to positive) that get the base points.")


def scorecard(
    data: DataArgument,
    reading: Annotated[Reading, without(OF_MODELS - {"categories"}, JUDGED - {"strata"})],
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="MODEL", help="Where to save the scorecard.")
    ],
    *,
    against: Annotated[
        str | None,
        typer.Option(
            "--against", metavar="FILE", help="Later rows: how well the points do there (if they "
            "have labels), and how far the rows have moved (PSI).",
        ),
    ] = None,
    bins: Bins,
    points: PointScale,
    html: Html = None,
    as_json: Json = False,
) -> None:  # fmt: skip
    """Build a scorecard: points for bins of each column, which add up.

    Each column is divided into a few bins, with missing values in a bin of their own, and each bin
    gets points according to its rate of positive rows. Logistic regression weights the columns, and
    never reverses the order of a column's rates. The fewer points, the more likely the positive
    label, which is the bad one.

    Prints the table and its quality: Gini (2 AUC − 1) and KS, held out by cross-validation
    and on --against FILE, and how far the rows of that file have shifted (PSI). With --strata also
    the AUC over pairs of the same stratum; folds keep strata whole, and the points are fitted to
    all rows.

    The result is a model like others: 'aucmax score' and 'evaluate' accept it, 'aucmax export'
    writes its log odds in SQL or ONNX.

    Examples:

        aucmax scorecard loans.csv --target default -o loans.card

        aucmax scorecard loans.csv -o loans.card --monotone income=decreasing --against new.csv
    """  # fmt: skip
    check_paths({"--output": output, "--html": html}, {"DATA": data, "--against": against})
    prepared = prepared_rows(data, reading, None, as_json)
    rows, facts = prepared.rows, prepared.facts()
    few_positives(rows.positive, "row")
    card = Scorecard(bins.binning(rows), **vars(points), positive=rows.positive_label)
    with working(f"fitting {facts}", as_json) as now:
        X, y, weight = rows.arguments
        card.fit(X, y, weight)
        now("cross-validating")
        held_out = _held_out(card, rows)
        now("binning without trends")
        free = clone(card.binning_).set_params(monotone=None).fit(X, y, weight)
    scored = card.points(X)
    report = Points(
        model=str(output),
        rows=facts,
        strata=rows.strata_name,
        training=Quality.of(rows, scored),
        held_out=held_out,
        scale=Scale(**vars(points)),
        against=None if against is None else _against(card, against, reading, scored, rows),
        by_column=_by_column(card, free),
        bins=list(card.rows()),
    )
    save(card, output)
    show(report, as_json, html)


def _trends(given: list[str] | None, names: list[str]) -> Any:
    """Return ``--monotone`` in the form of `Binning`'s argument."""
    pairs = [(name, trend) for name, _, trend in (word.rpartition("=") for word in given or ())]
    trends = {name: None if trend == "none" else trend for name, trend in pairs}
    if len(trends) < len(pairs):
        raise ValueError("--monotone names a column twice; give one direction.")
    rest = trends.pop("", "auto")
    return {**dict.fromkeys(names, rest), **trends} if trends else rest


def _held_out(card: Scorecard, rows: Labelled) -> HeldOut | None:
    """Return the mean quality over folds; None if a class has too few rows."""
    folds = Folding.of(rows).most(rows.positive, FOLDS)
    if folds < 2:
        return None
    qualities = []
    for part, held_out in folds_of(rows, folds, SEED, rounds=1):
        train, test = rows.at(part), rows.at(held_out)
        fold = clone(card).fit(*train.arguments)
        qualities.append(Quality.of(test, fold.points(test.named)))
    return HeldOut(folds=folds, quality=Quality.mean(qualities))


def _against(
    card: Scorecard, path: str, reading: Reading, points: np.ndarray, rows: Labelled
) -> LaterRows:
    """Return how well the points rank other rows, and how far these have shifted."""
    source, reading = given_file(path), replace(reading, strata=None)
    try:
        later = rows_for(card, source, reading, labels="required")
    except ValueError:  # perhaps only because there are no labels
        later = rows_for(card, source, reading, labels="none")
    others = card.points(later.data)
    before = weights_in_rows(rows.weight, len(points))
    now = weights_in_rows(later.weight, len(others))
    shares = np.arange(1, _SCORE_BANDS) / _SCORE_BANDS
    cuts = np.unique(quantiles(points, before, shares))
    bands = [
        np.bincount(np.searchsorted(cuts, scores, "right"), weight, len(cuts) + 1)
        for scores, weight in ((points, before), (others, now))
    ]
    quality = None
    if later.target is not None:
        labelled = labelled_for(card.classes_, later, reading, str(path))
        quality = Quality.of(labelled, others)
    return LaterRows(
        data=str(path),
        rows=len(others),
        quality=quality,
        psi=metrics.population_stability(*bands),
        psi_of_features=card.binning_.stability(later.data, later.weight),
    )


def _by_column(card: Scorecard, free: Binning) -> list[Column]:
    """Return weight, information value and points of each column, the most informative first."""
    coef = np.ravel(card.classifier_.coef_)
    columns = [
        Column(
            feature=bins.name,
            bins=len(bins.counts) - 1 + bool(bins.counts[-1].any()),
            weight=float(w),
            information_value=bins.information,
            information_value_without_trend=untied.information,
            fewest_points=int(min(points)),
            most_points=int(max(points)),
        )
        for bins, untied, w, points in zip(
            card.binning_.bins_, free.bins_, coef, card.points_, strict=True
        )
    ]
    return sorted(columns, key=lambda column: -column.information_value)
