"""``aucmax cv``: choose all settings by cross-validation, and save the best model."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from aucmax.basics.doors import Door, postponed
from aucmax.basics.memory import Footprint
from aucmax.cli.common import counted, listed, listed_numbers, persist, show
from aucmax.cli.errors import interrupted
from aucmax.cli.large import Large, going_on, passes_over
from aucmax.cli.options import (
    LOSS_NAMES,
    DataArgument,
    Fitting,
    Html,
    Json,
    Learning,
    Probability,
    Transforms,
    number_or_word,
    option,
)
from aucmax.cli.paths import check_paths

with postponed():
    import numpy as np

    from aucmax.cli.front import prepared_rows
    from aucmax.cli.suspicions import about_training_rows, ids_are_said_later, with_digests
    from aucmax.data.labelled import Labelled
    from aucmax.estimators.folds import FOLDS, Folding, Pairs, folds_of
    from aucmax.estimators.scoring import scoring_of

if TYPE_CHECKING:
    from aucmax.estimators.table import SearchProgress
    from aucmax.metrics.scored import Scored
    from aucmax.report.facts import Folds, TrainingRows

__all__ = ["cv"]

# what needs scikit-learn, or rows that can be read
_estimators = Door("aucmax.estimators")
_facts = Door("aucmax.report.facts")
_odds = Door("aucmax.report.odds")
_reports = Door("aucmax.report.search")
_scored = Door("aucmax.metrics.scored")
_strata = Door("aucmax.estimators.strata")

DEFAULT_LOSSES = "square", "squared_hinge", "logistic"


@dataclass(frozen=True, kw_only=True)
class Written:
    """Results in addition to the model's scores."""

    probability: Probability = False
    html: Html = None
    as_json: Json = False


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The settings that are tried."""

    losses: str | None = option(
        None,
        f"Losses to try: {LOSS_NAMES}; all but hinge by default.",
        metavar="A,B",
    )
    within: str | None = option(
        None,
        "With the square and the logistic loss, the weight of the positives relative to the "
        "negatives, 0 to 1, or pooled; 0.5 by default.",
        metavar="A,B,…",
    )
    standardize: str = option(
        "0.5,1", "From 0 (features as they are) to 1 (features of equal spread).", metavar="A,B,…"
    )
    l1_ratios: str = option("0", "Shares of the l1 part, 0 to 1.", metavar="A,B,…")
    alphas: str | None = option(
        None, "Penalties to try; by default a grid for the data.", metavar="A,B,…"
    )

    def given(self) -> dict[str, Any]:
        """The same as arguments of a search."""
        within = [number_or_word(tau) for tau in listed(self.within or "")]
        return {
            "alphas": listed_numbers(self.alphas, "--alphas"),
            "l1_ratios": listed_numbers(self.l1_ratios, "--l1-ratios"),
            "standardize": listed_numbers(self.standardize, "--standardize"),
            "losses": list(DEFAULT_LOSSES) if self.losses is None else listed(self.losses),
            "within": "auto" if self.within is None else within,
        }

    def losses_for(self, rows: Labelled, fitting: Fitting) -> list[str]:
        """Return the losses to try: by default those that can compare rows within their strata."""
        if self.losses is not None:
            return listed(self.losses)
        return _strata.losses_within(DEFAULT_LOSSES, rows, fitting.strata_weight.value)


@dataclass(frozen=True, kw_only=True)
class Scores:
    """The score that chooses the best settings."""

    scoring: str = option(
        "auc",
        "The score to maximise: auc, partial_auc, average_precision, recall_at_fpr, or the name "
        "of a scorer of scikit-learn, such as f1.",
        metavar="NAME",
    )
    max_fpr: float | None = option(
        None, "Largest false-positive rate of partial_auc and recall_at_fpr."
    )


@dataclass(frozen=True, kw_only=True)
class Division:
    """How rows are divided into folds."""

    folds: int | None = option(
        None, "Number of folds; 5, or as many as the rarer class has rows.", min=2
    )
    rounds: int | None = option(
        None,
        "How often folds are drawn; 4 times if a class has fewer than 100 rows, otherwise once.",
        min=1,
        show_default=False,
    )
    seed: int = option(0, "Random seed of the folds.", min=0)
    jobs: int | None = option(None, "Folds to fit in parallel; -1 uses all cores.")

    def of(self, rows: Labelled) -> tuple[Pairs, int]:
        """Return the rows of each fold, and the number of folds in a round."""
        folds = _number_of_folds(rows, self.folds)
        if self.rounds is not None and self.rounds > 1 and rows.time is not None:
            raise ValueError("--rounds: time has only one order; with --time folds are drawn once.")
        return folds_of(rows, folds, self.seed, self.rounds), folds


class _Large(Large):
    footprint = Footprint(330, 700, 5, 60)


def cv(
    data: DataArgument,
    reading: Learning,
    transforms: Transforms,
    large: _Large,
    *,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="MODEL", help="Where to save the best model."),
    ] = None,
    settings: Settings,
    chosen_by: Scores,
    division: Division,
    fitting: Fitting,
    written: Written,
) -> None:
    """Tune by cross-validated AUC, or another score, and save the best model.

    Tries settings on the same folds (stratified; --groups keeps each group together, --time trains
    on the past, and with both no fold trains on groups that it tests), and refits the best to all
    rows; among equally good settings it chooses the strongest penalty. The search begins with the
    first loss and moves from the best setting to its neighbours; with --alphas it tries all of them
    with every loss, standardize and l1-ratio. The mean held-out AUC and its interval are biased
    upwards, being a maximum over the grid: for unbiased figures use 'aucmax evaluate' on rows that
    were not given here. --strata compares only rows of the same stratum, such as a day, as 'aucmax
    train' does. How columns are prepared is learned from all rows.

    Examples:

        aucmax cv visits.csv --target booked -o booked.aucmax --html tuning.html

        aucmax cv visits.csv --target booked --groups customer --weight amount

        aucmax cv a9a --losses square --l1-ratios 0,0.5

        aucmax cv visits.csv --target booked --scoring partial_auc --max-fpr 0.05
    """
    html, as_json = written.html, written.as_json
    check_paths({"--output": output, "--html": html}, {"DATA": data})
    if written.probability and output is None:
        raise ValueError("--probability is for a model that is saved; give its file as --output.")
    grid, asked = settings.given(), vars(chosen_by)
    scoring_of(**asked)
    with ids_are_said_later():
        prepared = prepared_rows(data, reading, transforms, as_json, large)
    rows, facts = prepared.rows, prepared.facts()
    fitting.check(rows)
    grid["losses"] = settings.losses_for(rows, fitting)
    parts, folds = division.of(rows)
    folding = Folding.of(rows)
    reached: list[SearchProgress] = []
    model = _estimators.AUCClassifierCV(
        **grid, **asked, **fitting.arguments, cv=parts, n_jobs=division.jobs, verbose=not as_json,
        callback=reached.append, positive=rows.positive_label,
        probability=written.probability,
    )  # fmt: skip
    started = time.perf_counter()
    with going_on(output, data, rows, reading, transforms, grid, asked, division, fitting):
        try:
            tuned = model.fit(rows)
        except KeyboardInterrupt:
            raise _interrupted(reached, facts, asked, as_json) from None
        seconds = time.perf_counter() - started
        if output is not None:
            persist.save(with_digests(prepared, tuned.best_estimator_), output)
    report = _reports.Search.of(
        tuned,
        rows=facts,
        folds=_facts_of(parts, folds, folding),
        odds=_odds.OddsTable.of(rows, tuned.best_estimator_, prepared.names(tuned.best_estimator_)),
        seed=division.seed,
        scale=transforms.scale.value,
        suspicions=about_training_rows(prepared, data, reading),
        seconds=seconds,
        read=passes_over(rows.X),
        model=None if output is None else str(output),
        held_out=[] if html is None else _tests(rows, parts, tuned.held_out_),
    )
    show(report, as_json, html)


def _facts_of(parts: Pairs, folds: int, folding: Folding) -> Folds:
    """Describe how the rows are divided; ``folds`` is the number of folds in a round."""
    return _facts.Folds(
        folds=len(parts),
        rounds=len(parts) // folds,
        folding=folding.words,
        dropped=folding.dropped(parts),
    )


def _tests(rows: Labelled, parts: Pairs, held_out: list[np.ndarray]) -> list[Scored]:
    """Return the held-out rows, scored by the chosen settings, of folds that have both classes."""
    return [
        _scored.Scored.of(rows, test, scores)
        for (_, test), scores in zip(parts, held_out, strict=True)
        if len(np.unique(rows.positive[test])) == 2
    ]


def _number_of_folds(rows: Labelled, asked: int | None) -> int:
    """Return the number of folds; raise ValueError if there are too few rows for them."""
    few, folds = rows.rarest, FOLDS if asked is None else asked
    most = Folding.of(rows).most(rows.positive, folds)
    if asked is None and most > 1:
        return most
    if few < folds:
        instead = f"use --folds {few}" if few > 1 else "cross-validation needs two"
        raise ValueError(
            f"{rows.name}: the rarer class has {counted(few, 'row')}, fewer than the {folds} "
            f"folds; {instead}."
        )
    return folds


def _interrupted(
    reached: list[SearchProgress], rows: TrainingRows, asked: dict[str, Any], as_json: bool
) -> typer.Exit:
    """Print the results of the finished folds; return an exit with code 130."""
    done = int(reached[-1].finished.sum()) if reached else 0
    if not done:
        return interrupted("no fold was finished, and nothing was saved")
    at = reached[-1]
    show(_reports.InterruptedSearch.of(rows, at.grid, at.scores[at.finished], **asked), as_json)
    return interrupted(f"{done} of {counted(len(at.finished), 'fold')} done; nothing was saved")
