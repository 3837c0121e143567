"""``aucmax train``: tune or fit a model to a file, and save it."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from aucmax.cli.common import (
    calibration_facts,
    calibration_words,
    counted,
    few_positives,
    fit_facts,
    fitted_settings,
    folds_described,
    scores_of,
    show_page,
    working,
)
from aucmax.cli.front import LabelledRows, labelled_rows, rows_described
from aucmax.cli.large import Large, what_was_read, words_of_read
from aucmax.cli.one_pass import fit_in_one_pass, one_pass_page
from aucmax.cli.options import (
    DataArgument,
    Json,
    Learning,
    Probability,
    Settings,
    Stopping,
    Transforms,
)
from aucmax.cli.paths import check_paths
from aucmax.estimators import AUCClassifier, AUCClassifierCV
from aucmax.estimators.files import save
from aucmax.estimators.folds import FOLDS, Folding
from aucmax.estimators.named_loss import NamedLoss
from aucmax.estimators.probabilities import Calibration, calibrate_folds
from aucmax.metrics import auc_interval
from aucmax.objective.losses import LOSSES
from aucmax.report.page import Page, ResultTable, Section
from aucmax.report.text import auc_text, interval_text
from aucmax.solvers.auto import FEW_FEATURES

__all__ = ["train"]


OnePass = Annotated[
    bool,
    typer.Option(
        help="Read every row of a file once: the square loss, not tuned; exact up to "
        f"{FEW_FEATURES} features, with more from a sketch with an error bound."
    ),
]


@dataclass(frozen=True, kw_only=True)
class Fixed(Settings):
    """Settings of a model that is not tuned."""

    loss: Annotated[str | None, typer.Option(help=f"One of {', '.join(LOSSES)}.")] = None
    solver: Annotated[
        str | None,
        typer.Option(help="Name of a solver, or auto: the exact optimum."),
    ] = None


@dataclass(frozen=True, kw_only=True)
class Folds:
    """What is done on folds."""

    seed: Annotated[
        int, typer.Option(min=0, help="Random seed of the folds and of stochastic solvers.")
    ] = 0
    probability: Probability = False

    def check(self, untuned: str) -> None:
        """Raise ValueError for --probability beside options that turn tuning off."""
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
    on_folds: Folds,
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
    common: dict[str, Any] = asdict(stopping)
    model = AUCClassifier(**settings, **common, random_state=on_folds.seed)
    on_folds.check(_options(settings) or ("--one-pass" if one_pass else ""))
    if one_pass:
        with working("fitting in one pass", as_json):
            report = {
                "model": str(output),
                **fit_in_one_pass(data, reading, transforms, large, model),
            }
        save(model, output)
        return show_page(one_pass_page(report), as_json)
    rows = labelled_rows(data, reading, transforms, as_json, large)
    facts = rows.facts()
    common["positive"] = rows.classes.positive_label
    few_positives(rows.is_positive, "row")
    started = time.perf_counter()
    if settings or rows.folding.most(rows.is_positive, FOLDS) < 2:
        if on_folds.probability:
            raise ValueError(
                f"{rows.name}: --probability needs folds, and can be had where each class has more "
                "rows."
            )
        how: dict[str, Any] = {"tuned": False}
        with working(f"fitting {rows_described(facts)}", as_json):
            model.set_params(**common).fit(*rows.given())
    else:
        tuned = _tuned_on_some if rows.in_parts else _tuned
        model, how = tuned(rows, common, as_json, **vars(on_folds))
    with working("measuring", as_json):
        auc = _training_auc(rows, model)
    report = {
        "model": str(output),
        **facts,
        "negatives": facts["rows"] - facts["positives"],
        **how,
        **fitted_settings(model),
        "training_auc": auc._asdict(),
        **calibration_facts(model),
        **what_was_read(rows.X),
        "seconds": time.perf_counter() - started,
    }
    save(rows.whole(model), output)  # last, so that Ctrl-C leaves no model behind
    show_page(_page(report, settings), as_json)


def _options(given: dict[str, Any]) -> str:
    """The options of these settings, as they are written."""
    return ", ".join(f"--{name.replace('_', '-')}" for name in given)


def _tuned(
    rows: LabelledRows, common: dict[str, Any], quiet: bool, seed: int, probability: bool
) -> tuple[AUCClassifier, dict[str, Any]]:
    """Return the best model of a search over the rows, and what the report says of it."""
    search, how = _searched(rows, common, quiet, seed, probability=probability)
    return search.best_estimator_, how


def _searched(
    rows: LabelledRows, common: dict[str, Any], quiet: bool, seed: int, **settings: Any
) -> tuple[AUCClassifierCV, dict[str, Any]]:
    """Return a search over the rows, and what the report says of it."""
    folds, rounds = rows.folding.most(rows.is_positive, FOLDS), rows.folding.rounds(rows.rarest)
    parts = rows.folds(folds, seed, rounds)
    search = AUCClassifierCV(cv=parts, **common, **settings, verbose=not quiet)
    search.fit(*rows.given(), groups=rows.folding.groups)
    return search, {
        "tuned": True,
        "folds": len(parts),
        "rounds": rounds,
        "folding": rows.folding.words,
        "settings_tried": int(np.isfinite(search.auc_path_).any(axis=0).sum()),
        "held_out_auc": float(search.best_score_),
        "held_out_interval": search.best_interval_._asdict(),
    }


def _tuned_on_some(
    rows: LabelledRows, common: dict[str, Any], quiet: bool, seed: int, probability: bool
) -> tuple[AUCClassifier, dict[str, Any]]:
    """Return a model of all rows of a file in parts, tuned on as many as fit in memory.

    The α that is right is in proportion to one over the rows of the rarer class.
    """
    with working("reading some of the rows", quiet):
        some = rows.thinned()
    if some.rarest < 2:
        raise ValueError(
            f"{rows.name}: only {len(some.is_positive):,} of its rows fit in memory, too few to "
            "tune on; give it more --memory, or settings such as --alpha."
        )
    room, rarer = rows.source.room, rows.rarest / len(rows.is_positive)
    losses = [loss for loss in AUCClassifierCV().losses if room.holds(loss, rarer)]
    search, how = _searched(some, common, quiet, seed, losses=losses)
    chosen = {
        "alpha": search.alpha_ * some.rarest / rows.rarest,
        **{name: getattr(search, f"{name}_") for name in ("l1_ratio", "loss", "within")},
        "standardize": search.standardize_,
    }
    how |= {"tuned_on": len(some.is_positive), "losses": list(losses)}
    tests, held_out = [test for _, test in search.cv] if probability else [], search.held_out_
    del some, search  # the fit has the memory to itself
    with working(f"fitting {rows_described(rows.facts())}", quiet):
        model = AUCClassifier(**chosen, **common).fit(*rows.given())
    if probability:
        with working("calibrating", quiet):
            model.calibration_ = _calibrated(model, rows, tests, held_out)
    return model, how


def _calibrated(
    model: AUCClassifier, rows: LabelledRows, tests: list[np.ndarray], held_out: list[np.ndarray]
) -> Calibration:
    """Return the probabilities of a model of all rows by those rows that it was tuned on.

    There are about as many of each class, so that they weigh as much as all rows of their class.
    """
    some = rows.thinned()
    scores = some.X @ model.coef_[0] + model.intercept_[0]
    weight = np.ones(len(scores)) if some.weight is None else some.weight.astype(np.float64)
    for is_class, mine in zip(
        (rows.is_positive, ~rows.is_positive), (some.is_positive, ~some.is_positive), strict=True
    ):
        total = is_class.sum() if rows.weight is None else rows.weight[is_class].sum()
        weight[mine] *= total / weight[mine].sum()
    of_folds = [scores[test] for test in tests]
    return calibrate_folds(tests, held_out, of_folds, some.is_positive, weight)


def _training_auc(rows: LabelledRows, model: AUCClassifier) -> Any:
    """Return the AUC of the rows a model was fitted to, in fixed memory if they are in parts."""
    if not rows.in_parts:
        scores = scores_of(model, rows.named())
        return auc_interval(rows.is_positive, scores, sample_weight=rows.weight)
    X, y, weight = rows.given()
    return model.score_sketch(X if y is None else X.with_labels(y, weight)).auc()


def _page(report: dict[str, Any], given: dict[str, Any]) -> Page:
    auc, columns = report["training_auc"], counted(report["columns"], "column")
    settings = (
        f"loss {NamedLoss(report['loss'], report['within'])}, standardize "
        f"{report['standardize']:g}, l1 ratio {report['l1_ratio']:g}, alpha {report['alpha']:.3g}"
    )
    facts = []
    if report["columns"] != report["features"]:
        facts.append(("features", f"{report['features']:,}  (from {columns})"))
    if report["tuned"]:
        tried = counted(report["settings_tried"], "setting")
        how = f", {report['folding']}" * (report["folding"] != Folding().words)
        held_out, around = auc_text(report["held_out_auc"]), report["held_out_interval"]
        interval = interval_text(around["low"], around["high"])
        if "tuned_on" in report:
            how += f", on {report['tuned_on']:,} of the rows"
            left_out = [loss for loss in AUCClassifierCV().losses if loss not in report["losses"]]
            how += f", with no room for the loss {' or '.join(left_out)}" * bool(left_out)
        facts += [
            ("tuned", f"{settings}: the best of {tried} in {folds_described(report)}{how}"),
            ("held-out AUC", f"{held_out}  (95 % interval {interval}; optimistic: best of many)"),
        ]
    else:
        few = "too few rows of a class, groups or times for folds"
        why = f"{_options(given)} given" if given else few
        facts.append(("not tuned", f"{settings}: {why}"))
    interval = interval_text(auc["low"], auc["high"])
    facts += [
        *fit_facts(report),
        *calibration_words(report),
        ("training AUC", f"{auc_text(auc['auc'])}  (95 % interval {interval})"),
        ("seconds", f"{report['seconds']:.2f}"),
        *[("read", words_of_read(report))] * ("read" in report),
        ("saved", report["model"]),
    ]
    sections = [Section("The model", tables=[ResultTable.facts(facts)])]
    return Page(f"Trained on {report['data']}", rows_described(report), sections, data=report)
