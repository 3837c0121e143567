"""``aucmax train``: tune or fit a model to a file, and save it."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from aucmax.cli.common import few_positives, show, working
from aucmax.cli.front import LabelledRows, labelled_rows
from aucmax.cli.large import Large, passes_over
from aucmax.cli.moments.common import auc_of, two_classes
from aucmax.cli.options import (
    DataArgument,
    Json,
    Learning,
    Probability,
    Settings,
    Stopping,
    Transforms,
    given_file,
    option,
)
from aucmax.cli.paths import check_paths
from aucmax.data.reading import Reading
from aucmax.estimators import AUCClassifier, AUCClassifierCV
from aucmax.estimators.files import save
from aucmax.estimators.folds import FOLDS
from aucmax.estimators.probabilities import Calibration, calibrate_folds
from aucmax.estimators.sampled import settings_for_all, weight_of_all
from aucmax.metrics import AUCInterval, BinnedAUC, auc_interval
from aucmax.objective.losses import LOSSES
from aucmax.report.facts import AUCOfMoments, FittedModel, Folds
from aucmax.report.training import OnePassFit, Training, Tuning
from aucmax.solvers.auto import MAX_MATRIX_FEATURES
from aucmax.statistics.base import ClassStatistics
from aucmax.statistics.frequent_directions import FrequentDirections
from aucmax.statistics.moments import ClassMoments

__all__ = ["train"]


OnePass = Annotated[
    bool,
    typer.Option(
        help="Read every row of a file only once: the square loss without tuning; exact up to "
        f"{MAX_MATRIX_FEATURES} features, beyond from a sketch with an error bound."
    ),
]


@dataclass(frozen=True, kw_only=True)
class Fixed(Settings):
    """Settings of a model that is not tuned."""

    loss: str | None = option(None, f"One of {', '.join(LOSSES)}.")
    solver: str | None = option(None, "Name of a solver, or auto: the exact optimum.")


@dataclass(frozen=True, kw_only=True)
class OnFolds:
    """Options of the folds."""

    seed: int = option(0, "Random seed of the folds and of stochastic solvers.", min=0)
    probability: Probability = False

    def check(self, untuned: str) -> None:
        """Raise ValueError for --probability with options that turn tuning off."""
        if self.probability and untuned:
            raise ValueError(
                "--probability calibrates on the folds of the tuning, which "
                f"{untuned} turns off; leave out one of the two."
            )


def train(
    data: DataArgument,
    reading: Learning,
    transforms: Transforms,
    large: Large,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="MODEL", help="Where to save the model.")
    ],
    fixed: Fixed,
    stopping: Stopping,
    on_folds: OnFolds,
    one_pass: OnePass = False,
    as_json: Json = False,
) -> None:
    """Fit a ranking model to a file and save it.

    Rows with the positive label get higher scores than the others: the fit maximises the area
    under the ROC curve. Labels may be numbers or text; of more than two, --positive says which
    one is ranked against the rest.

    The loss, standardize and alpha are tuned by cross-validation, as 'aucmax cv' does it. If one of
    --alpha, --l1-ratio, --within, --standardize, --loss and --solver is given, nothing is tuned,
    and the others keep their defaults.

    --groups keeps the rows of a group in one fold, --time trains folds on the past; both matter for
    tuning only. --weight weights the rows, in the fit and in the AUC.

    With --impute and --one-hot, scikit-learn's transformers are put in front of the model and saved
    with it.

    Examples:

        aucmax train visits.csv --target booked -o booked.aucmax

        aucmax train visits.csv --impute --one-hot --dates -o booked.aucmax

        aucmax train visits.csv --groups customer --weight amount -o booked.aucmax

        aucmax train visits.csv --loss square --alpha 0.01 -o booked.aucmax
    """
    check_paths({"--output": output}, {"DATA": data})
    settings = fixed.given()
    options = ", ".join(f"--{name.replace('_', '-')}" for name in settings)
    common: dict[str, Any] = asdict(stopping)
    model = AUCClassifier(**settings, **common, random_state=on_folds.seed)
    on_folds.check(options or ("--one-pass" if one_pass else ""))
    if one_pass:
        with working("fitting in one pass", as_json):
            fit = _fit_in_one_pass(data, reading, transforms, large, model, output)
        save(model, output)
        return show(fit, as_json)
    rows = labelled_rows(data, reading, transforms, as_json, large)
    facts = rows.facts()
    common["positive"] = rows.classes.positive_label
    few_positives(rows.is_positive, "row")
    started = time.perf_counter()
    tuning = None
    if settings or rows.folding.most(rows.is_positive, FOLDS) < 2:
        if on_folds.probability:
            raise ValueError(
                f"{rows.name}: --probability needs folds, and is possible if each class has more "
                "rows."
            )
        with working(f"fitting {facts}", as_json):
            model.set_params(**common).fit(*rows.given())
    else:
        tuned = _tuned_on_some if rows.in_parts else _tuned
        model, tuning = tuned(rows, common, as_json, **vars(on_folds))
    with working("measuring", as_json):
        auc = _training_auc(rows, model)
    few = "too few rows of a class, groups or times for folds"
    report = Training(
        model=str(output),
        rows=facts,
        negatives=facts.rows - facts.positives,
        tuned=tuning is not None,
        tuning=tuning,
        why_not_tuned=f"{options} given" if options else few,
        fitted=FittedModel.of(model),
        training_auc=auc,
        read=passes_over(rows.X),
        seconds=time.perf_counter() - started,
    )
    save(rows.whole(model), output)  # last, so that Ctrl-C leaves no model behind
    show(report, as_json)


def _tuned(
    rows: LabelledRows, common: dict[str, Any], quiet: bool, seed: int, probability: bool
) -> tuple[AUCClassifier, Tuning]:
    """Return the best model of a search over the rows, and what the report says of it."""
    search, tuning = _searched(rows, common, quiet, seed, probability=probability)
    return search.best_estimator_, tuning


def _searched(
    rows: LabelledRows, common: dict[str, Any], quiet: bool, seed: int, **settings: Any
) -> tuple[AUCClassifierCV, Tuning]:
    """Return a search over the rows, and what the report says of it."""
    folds, rounds = rows.folding.most(rows.is_positive, FOLDS), rows.folding.rounds(rows.rarest)
    parts = rows.folds(folds, seed, rounds)
    search = AUCClassifierCV(cv=parts, **common, **settings, verbose=not quiet)
    search.fit(*rows.given(), groups=rows.folding.groups)
    return search, Tuning(
        folds=Folds(folds=len(parts), rounds=rounds, folding=rows.folding.words),
        settings_tried=int(np.isfinite(search.auc_path_).any(axis=0).sum()),
        held_out_auc=float(search.best_score_),
        held_out_interval=search.best_interval_,
    )


def _tuned_on_some(
    rows: LabelledRows, common: dict[str, Any], quiet: bool, seed: int, probability: bool
) -> tuple[AUCClassifier, Tuning]:
    """Return a model of all rows of a file in parts, tuned on as many as fit in memory."""
    with working("reading some of the rows", quiet):
        some = rows.thinned()
    if some.rarest < 2:
        raise ValueError(
            f"{rows.name}: only {len(some.is_positive):,} of its rows fit in memory, too few to "
            "tune on; give it more --memory, or settings such as --alpha."
        )
    room, rarer = rows.source.room, rows.rarest / len(rows.is_positive)
    default_losses = AUCClassifierCV().losses
    losses = [name for name in default_losses if LOSSES[name].bytes_of_row(rarer) <= room.of_each]
    search, tuning = _searched(some, common, quiet, seed, losses=losses)
    chosen = settings_for_all(search, some.rarest / rows.rarest)
    left_out = [loss for loss in default_losses if loss not in losses]
    tuned_on = len(some.is_positive)
    tuning = replace(tuning, tuned_on=tuned_on, losses=losses, losses_left_out=left_out)
    tests, held_out = [test for _, test in search.cv] if probability else [], search.held_out_
    del some, search  # the fit has the memory to itself
    with working(f"fitting {rows.facts()}", quiet):
        model = AUCClassifier(**chosen, **common).fit(*rows.given())
    if probability:
        with working("calibrating", quiet):
            model.calibration_ = _calibrated(model, rows, tests, held_out)
    return model, tuning


def _calibrated(
    model: AUCClassifier, rows: LabelledRows, tests: list[np.ndarray], held_out: list[np.ndarray]
) -> Calibration:
    """Return the calibration of a model of all rows, from the rows on which it was tuned.

    These have about equal numbers of each class, so that they get the weight of their class.
    """
    some = rows.thinned()
    scores = some.X @ model.coef_[0] + model.intercept_[0]
    weight = weight_of_all(rows.is_positive, rows.weight, rows.sample())
    of_folds = [scores[test] for test in tests]
    return calibrate_folds(tests, held_out, of_folds, some.is_positive, weight)


def _training_auc(
    rows: LabelledRows, model: AUCClassifier
) -> AUCInterval | BinnedAUC | AUCOfMoments:
    """Return the AUC of the rows a model was fitted to.

    Rows in parts are not read again if the fit has kept their moments, which give an estimate;
    otherwise their scores are kept in fixed memory.
    """
    if not rows.in_parts:
        scores = model.decision_function(rows.named())
        return auc_interval(rows.is_positive, scores, sample_weight=rows.weight)
    moments, positive = getattr(model, "moments_", None), rows.classes.positive_label
    if (estimate := auc_of(moments, model.coef_[0], positive)) is not None:
        return estimate
    X, y, weight = rows.given()
    return model.score_sketch(X if y is None else X.with_labels(y, weight)).auc()


# ---- in one pass

_RANK = 50  # directions kept of each class if its covariance is too large


def _fit_in_one_pass(
    data: str,
    reading: Reading,
    transforms: Transforms,
    large: Large,
    model: AUCClassifier,
    output: Path,
) -> OnePassFit:
    """Fit a model to the class moments of a file, or to a sketch of them; return the report.

    Raises
    ------
    ValueError
        If the data are not a file, or settings or options need the rows again.
    """
    started, path = time.perf_counter(), given_file(data)
    if not (isinstance(path, Path) and path.is_file()):
        raise ValueError(f"--one-pass is for files, but there is no file {data}.")
    if reading.binarize is not None:
        raise ValueError("--binarize needs the labels beforehand, which --one-pass does not read.")
    source = large.one_pass(path, replace(reading, positive=None), transforms)
    names = source.feature_names  # svmlight text has none: its first part tells about how many
    few = (next(iter(source)).X.shape[1] if names is None else len(names)) <= MAX_MATRIX_FEATURES
    held: ClassStatistics = (
        ClassMoments.from_data(source) if few else FrequentDirections.from_data(source, rank=_RANK)
    )
    held.feature_names, held.target_name = names, source.target_name
    held, positive = two_classes(held, reading.positive, path)
    model.set_params(positive=positive).fit_moments(held)
    counts = dict(zip(held.classes.tolist(), held.counts.tolist(), strict=True))
    return OnePassFit(
        model=str(output),
        data=path.name,
        positive=positive,
        negative=next(label for label in counts if label != positive),
        weight_of_positives=counts[positive],
        weight=sum(counts.values()),
        features=held.n_features,
        fitted=FittedModel.of(model),
        rank=None if few else _RANK,
        auc=auc_of(held, model.coef_[0], positive),
        read=passes_over(source),
        seconds=time.perf_counter() - started,
    )
