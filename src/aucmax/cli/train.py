"""``aucmax train``: tune or fit a model to a file, and save it."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from aucmax.basics.doors import Door, postponed
from aucmax.cli.common import persist, show, working
from aucmax.cli.large import Large, going_on, passes_over
from aucmax.cli.options import (
    LOSS_NAMES,
    NO_STRATA_TO_WEIGH,
    DataArgument,
    Fitting,
    Json,
    Learning,
    Probability,
    Settings,
    Transforms,
    WeightOfStrata,
    given_file,
    option,
)
from aucmax.cli.paths import check_paths, model_of
from aucmax.cli.shape import Bends, Form
from aucmax.data.files import exists
from aucmax.data.reading import Reading
from aucmax.objective import MAX_MATRIX_FEATURES

with postponed():
    from aucmax.cli.front import prepared_rows
    from aucmax.cli.suspicions import about_training_rows, ids_are_said_later, with_digests
    from aucmax.data.digests import Watch
    from aucmax.data.labelled import Labelled
    from aucmax.estimators.folds import FOLDS, Folding

if TYPE_CHECKING:
    from aucmax.cli.front import Prepared
    from aucmax.estimators import AUCClassifier
    from aucmax.report.odds import OddsTable
    from aucmax.report.training import OnePassFit

__all__ = ["train"]

_estimators = Door("aucmax.estimators")
_facts = Door("aucmax.report.facts")
_losses = Door("aucmax.objective.losses")
_odds = Door("aucmax.report.odds")
_reports = Door("aucmax.report.training")
_training = Door("aucmax.estimators.training")

_ONE_PASS = (
    "--one-pass: curves and maps are chosen in folds, which read the rows again; leave out "
    "--one-pass, or fit the curves of a model to rows that are read once with 'aucmax moments "
    "build --like MODEL' and 'moments fit'"
)
_TOO_FEW_ROWS = "too few rows of a class, groups or times for folds"


OnePass = Annotated[
    bool,
    typer.Option(
        help="Read every row of a file only once: fits a line with the square loss, not tuned; "
        f"exact up to {MAX_MATRIX_FEATURES} features, beyond from a sketch with an error bound."
    ),
]


Output = Annotated[
    Path | None,
    typer.Option(
        "--output",
        "-o",
        metavar="MODEL",
        help="Where to save the model; by default the data's name with .aucmax, in this folder.",
    ),
]


@dataclass(frozen=True, kw_only=True)
class Fixed(Settings):
    """Settings of a model that is not tuned."""

    loss: str | None = option(None, f"One of {LOSS_NAMES}.")
    solver: str | None = option(None, "Name of a solver, or auto: the exact optimum.")

    def bytes_of_row(self, rows: Labelled) -> float:
        """Return the bytes that a fit keeps per row; with an l1 part, if it selects all features.

        A loss of pairs then keeps their columns, the scores and the change of the scores.
        """
        loss = _losses.LOSSES[self.loss or _estimators.AUCClassifier().loss]
        columns = 0
        if self.given().get("l1_ratio") and not (loss.by_moments or loss.has_threshold):
            columns = 8 * (rows.n_features + 2)
        return loss.bytes_of_row(rows.rarest / len(rows.positive)) + columns


@dataclass(frozen=True, kw_only=True)
class OnFolds(Form):
    """Options of the folds, and of what they choose."""

    seed: int = option(0, "Random seed of the folds and of stochastic solvers.", min=0)
    probability: Probability = False

    def check(self, untuned: str) -> None:
        """Raise ValueError for --probability with options that turn tuning off."""
        if self.probability and untuned and not self.needs_folds:
            raise ValueError(
                "--probability calibrates on the folds of the tuning, which "
                f"{untuned} turns off; leave out one of the two."
            )

    def check_folds(self, name: str) -> None:
        """Raise ValueError for options that need folds, if there are too few rows for them."""
        self.check_straight(_TOO_FEW_ROWS)
        if self.probability:
            raise ValueError(
                f"{name}: --probability needs folds, and a class has too few rows for them."
            )


def train(
    data: DataArgument,
    reading: Learning,
    transforms: Transforms,
    large: Large,
    fixed: Fixed,
    fitting: Fitting,
    on_folds: OnFolds,
    output: Output = None,
    one_pass: OnePass = False,
    as_json: Json = False,
) -> None:
    """Fit a ranking model to a file and save it.

    Rows with the positive label get higher scores than the others: the fit maximises the area
    under the ROC curve. Labels may be numbers or text; of more than two, --positive names the
    one to rank against the rest.

    The loss, standardize and alpha are tuned by cross-validation, as by 'aucmax cv'. If one of
    --alpha, --l1-ratio, --within, --standardize, --loss and --solver is given, nothing is tuned,
    and the others keep their defaults.

    The same folds decide whether the score is a sum of lines, of curves, or of curves and maps of
    pairs of columns that act together: the simplest that ranks as well as the best is taken.
    --shape sets the shape instead, and --monotone names columns with which the score may only rise,
    or only fall.

    --groups keeps the rows of a group in one fold, --time trains folds on the past, and with both
    no fold trains on groups that it tests; they matter for tuning only. --weight weights the
    rows, in the fit and in the AUC.

    --strata compares only rows of the same stratum, such as a day, a hospital or a query, in the
    fit, in the folds and in the AUC, also for curves and maps of pairs. The logistic loss within
    strata is conditional logistic regression, and the odds ratios of a line are printed.
    --probability still calibrates on the rows of all strata together. With --one-pass the rows of a
    stratum must be adjacent.

    A table is read as it comes: with missing values, text, dates, decimal commas. Every decision is
    printed, with the option that changes it; the steps that prepare the columns are saved with the
    model. --no-prepare stops where there is anything to decide, --strict at a cell that does not
    fit its column.

    Examples:

        aucmax train visits.csv --target booked

        aucmax train visits.csv --target booked --drop visit_id --day-first -o booked.aucmax

        aucmax train visits.csv --groups customer --weight amount -o booked.aucmax

        aucmax train visits.csv --target booked --strata day

        aucmax train visits.csv --monotone income=increasing --monotone age=decreasing

        aucmax train visits.csv --loss square --alpha 0.01 -o booked.aucmax
    """
    output = output or model_of(data)
    check_paths({"--output": output}, {"DATA": data})
    settings = fixed.given()
    options = ", ".join(f"--{name.replace('_', '-')}" for name in settings)
    untuned = {**settings, **fitting.arguments, "random_state": on_folds.seed}
    on_folds.check(options or ("--one-pass" if one_pass else ""))
    if one_pass:
        on_folds.check_straight(_ONE_PASS)
        model = _estimators.AUCClassifier(**untuned)
        with working("fitting in one pass", as_json):
            fit = _fit_in_one_pass(data, reading, transforms, large, model, output)
        return show(fit, as_json)
    with ids_are_said_later():
        prepared = prepared_rows(data, reading, transforms, as_json, large)
    rows, folding = prepared.rows, Folding.of(prepared.rows)
    fitting.check(rows)
    started, tuning, result = time.perf_counter(), None, None
    bends = Bends.of(on_folds, settings, prepared, transforms)
    untunable = (bool(settings) and not bends.named) or folding.most(rows.positive, FOLDS) < 2
    if untunable:
        on_folds.check_folds(rows.name)
    if rows.in_parts and settings:
        large.warn(data, fixed.bytes_of_row(rows), len(rows.positive))
    with going_on(output, data, rows, reading, transforms, fixed, fitting, on_folds):
        if untunable:
            with working(f"fitting {rows.name}", as_json):
                model = _estimators.AUCClassifier(**untuned, positive=rows.positive_label).fit(rows)
        else:
            options_of_fit = vars(on_folds) | fitting.arguments | bends.arguments
            result = _training.tuned(rows, prepared.room, verbose=not as_json, **options_of_fit)
            model, tuning = result.model, _reports.Tuning.of(result, folding.words, bends.why_not)
            prepared = prepared.bent(result.additive)
        with working("measuring", as_json):
            auc = _training.training_auc(prepared.rows, model)
        report = _reports.Training.of(
            prepared.facts(),
            auc,
            model=str(output),
            tuning=tuning,
            why_not_tuned=f"{options} given" if options else _TOO_FEW_ROWS,
            fitted=_facts.FittedModel.of(model),
            odds=_odds_ratios(rows, prepared, model),
            suspicions=about_training_rows(prepared, data, reading, result),
            read=passes_over(rows.X),
            seconds=time.perf_counter() - started,
        )
        # last, so that Ctrl-C leaves no model behind
        persist.save(with_digests(prepared, model), output)
    show(report, as_json)


def _odds_ratios(rows: Labelled, prepared: Prepared, model: AUCClassifier) -> OddsTable | None:
    """Return the odds ratios of a line; curves have none."""
    if prepared.rows is not rows:
        return None
    return _odds.OddsTable.of(rows, model, prepared.names(model))


def _fit_in_one_pass(
    data: str,
    reading: Reading,
    transforms: Transforms,
    large: Large,
    model: AUCClassifier,
    output: Path,
) -> OnePassFit:
    """Fit a model to a file in one pass; return the report.

    Raises
    ------
    ValueError
        If the data are not a file, or settings or options need the rows again.
    """
    started, path = time.perf_counter(), given_file(data)
    if not exists(path):
        raise ValueError(f"--one-pass is for files, but there is no file {data}.")
    if reading.binarize is not None:
        raise ValueError("--binarize needs the labels beforehand, which --one-pass does not read.")
    source = large.one_pass(path, replace(reading, positive=None), transforms)
    source.watch = watch = Watch()
    held = _training.fit_in_one_pass(model, source, reading, str(path))
    if held.strata is None and model.strata_weight != WeightOfStrata.positives.value:
        raise ValueError(NO_STRATA_TO_WEIGH)
    negative, positive = model.classes_.tolist()
    auc = _training.auc_of_moments(held, model.coef_[0], positive)
    if watch.counts is not None:
        model.training_rows_ = watch.counts.kept()
    persist.save(model, output)
    counts = dict(zip(held.classes.tolist(), held.row_weights.tolist(), strict=True))
    return _reports.OnePassFit(
        model=str(output),
        data=path.name,
        positive=positive,
        negative=negative,
        weight_of_positives=counts[positive],
        weight=sum(counts.values()),
        features=held.n_features,
        fitted=_facts.FittedModel.of(model),
        rank=getattr(held, "rank", None),
        auc=None if auc is None else _facts.AUCOfMoments.of(auc),
        read=passes_over(source),
        seconds=time.perf_counter() - started,
    )
