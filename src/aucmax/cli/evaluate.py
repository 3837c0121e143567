"""``aucmax evaluate``: how well a model ranks a file, alone or compared with another."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import typer

from aucmax.basics.doors import postponed
from aucmax.basics.memory import Footprint
from aucmax.cli.common import chance_of, load_model, show, working
from aucmax.cli.large import Large, passes_over
from aucmax.cli.options import (
    Cuts,
    Html,
    Json,
    Judging,
    Model,
    WeightOfStrata,
    check_strata,
    given_file,
    option,
)
from aucmax.cli.paths import check_paths
from aucmax.cli.screen import tell
from aucmax.data.reading import Reading

with postponed():
    import numpy as np

    from aucmax.cli.front import encoded, rows_for, tell_doubts_of_parts
    from aucmax.cli.suspicions import about_test_rows
    from aucmax.columns.steps import Stages, parts_of
    from aucmax.data.bunch import Bunch
    from aucmax.data.classes import labelled_for
    from aucmax.data.files import Piped, exists, files_of
    from aucmax.data.labelled import Labelled
    from aucmax.data.large_files import Room, take
    from aucmax.data.readers import reader_of
    from aucmax.data.strata import StrataWeight
    from aucmax.explain.explanation import explanation_of, rows_to_explain
    from aucmax.explain.feature_effects import MAX_CELLS
    from aucmax.metrics.scored import Scored
    from aucmax.report.curves import ScoredSets, roc_figure
    from aucmax.report.evaluation import Evaluation
    from aucmax.report.facts import Rows
    from aucmax.report.figures import check_image
    from aucmax.report.measures import Measures
    from aucmax.report.segments import Segmented
    from aucmax.report.strata import Stratified

__all__ = ["evaluate"]


NewRows = Annotated[
    str,
    typer.Argument(
        metavar="FILE",
        help="Rows and labels that the model has not seen: files as for 'aucmax train', - for "
        "standard input, or a data set known by name.",
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
    """The rival of a model, which is fitted anew."""

    logistic: str | None = option(
        None,
        "Compare with scikit-learn's class-balanced logistic regression, tuned by "
        "cross-validation and trained on these rows.",
        metavar="TRAINFILE",
    )
    seed: int = option(0, "Random seed of the folds that tune --logistic.")

    def scores(self, stages: Stages, reading: Reading) -> np.ndarray:
        """Return its scores of rows; text and missing values are encoded as for the model."""
        from aucmax.experiments.rivals import BalancedLogisticRegression

        reading = replace(reading, groups=None, strata=None, segments=None)
        rows = rows_for(stages.model, self.logistic, reading, labels="required")
        train = labelled_for(stages.model.classes_, rows, reading, str(self.logistic))
        rival = BalancedLogisticRegression(random_state=self.seed)
        rival.fit(encoded(Stages.of(stages.model, train.X)), train.positive, train.weight)
        return rival.decision_function(encoded(stages))


@dataclass(frozen=True, kw_only=True)
class Asked(Cuts):
    """The measures."""

    confidence: float = option(0.95, "Coverage of the intervals.")
    strata_weight: WeightOfStrata | None = option(
        None,
        "With --strata, what the weight of a stratum is proportional to: its positives, its pairs, "
        "or the same for all strata; by default as in the model's fit, otherwise its positives.",
    )

    def measures(self, is_positive: np.ndarray) -> Measures:
        """Return the measures of these rows."""
        k = int(is_positive.sum()) if self.k is None else self.k
        return Measures(confidence=self.confidence, k=k, fpr=self.fpr)


class _Large(Large):
    footprint = Footprint(130, 230, 3, 30)


def evaluate(
    model: Model,
    file: NewRows,
    reading: Judging,
    large: _Large,
    *,
    other: Other = None,
    rival: Rival,
    asked: Asked,
    plot: Plot = None,
    html: Html = None,
    as_json: Json = False,
) -> None:
    """Measure how well a model ranks, alone or against another.

    Gives the AUC with DeLong's interval, average precision, precision among the k highest scores
    and recall at a false-positive rate. A comparison is DeLong's paired test on the same rows;
    the verdict is "tie" unless p < 0.05. With --weight, all of these use weights; with --groups,
    all intervals and tests count groups, such as customers, not their rows.
    --strata measures the AUC over pairs of the same stratum, such as a day, with an interval that
    counts strata; it comes first for a model that was trained within strata. --segments measures
    AUC, recall and calibration in each segment, such as a region, tests that they are equal, and
    ranks positives of each among negatives of each.
    The page that --html writes has a slider for the number of rows to flag, which shows the hits,
    misses and false alarms and their cost, and the curves with bands.

    Examples:

        aucmax evaluate booked.aucmax holdout.csv --plot roc.png

        aucmax evaluate booked.aucmax holdout.csv older.aucmax --html report.html

        aucmax evaluate booked.aucmax holdout.csv --logistic visits.csv

        aucmax evaluate booked.aucmax holdout.csv --strata day --segments region
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
        rows, table, reading = _judged(fitted, source, reading, large)
        stages = Stages.of(fitted, rows.X)
        scores, tables = {_title(model, other): stages.scores()}, [rows.X]
        if other is not None:
            second = load_model(other)
            X = rows_for(second, source, reading, labels="none", large=large).data
            name = _title(other, model)
            scores[f"{name} (again)" if name in scores else name] = second.decision_function(X)
            tables.append(X)
        if rival.logistic is not None:
            if rows.in_parts:
                raise ValueError(f"{file}: --logistic needs the rows in memory; raise --memory.")
            now(f"tuning logistic regression on {given_file(rival.logistic).name}")
            scores["logistic regression"] = rival.scores(stages, reading)
        now("measuring")
        tests = {name: _scored(rows, score) for name, score in scores.items()}
        more = _divided(rows, stages, tests, reading, asked)
        if html is not None:
            now("measuring the effects of the features")
            more |= _explained(stages, rows, table.get("room"), tests, asked)
        if plot is not None:
            now("drawing the curves")
            _save_curves(tests, asked.confidence, source.name, plot)
        tell_doubts_of_parts(table.data, source)
        report = Evaluation.of(
            tests,
            asked.measures(rows.positive),
            file=str(source),
            rows=_facts(stages, source.name, rows, reading, table.get("label_words") or {}),
            suspicions=about_test_rows(fitted, rows),
            read=passes_over(*tables),
            seed=None if rival.logistic is None else rival.seed,
            plot=None if plot is None else str(plot),
            **more,
        )
    show(report, as_json, html)


def _judged(
    model: Any, source: Any, reading: Reading, large: Large
) -> tuple[Labelled, Bunch, Reading]:
    """Return the test rows of a model, the table as it was read, and how it was read."""
    asks_strata = reading.strata is not None
    reading = _within_own_strata(model, source, reading)
    # read per model: each finds its own features, by name
    table = rows_for(model, source, reading, labels="required", large=large)
    rows = labelled_for(model.classes_, table, reading, str(source))
    if not asks_strata:
        _tell_strata(model, rows, reading.strata)
    return rows, table, reading


def _within_own_strata(model: Any, file: Any, reading: Reading) -> Reading:
    """Return how to read a file: with the strata that a model was fitted within, if it has them."""
    fitted = getattr(parts_of(model)[1], "strata_", None)
    if fitted is None or fitted.column is None or reading.strata is not None:
        return reading
    columns = reader_of(file, reading.format).columns
    if columns is None or not (exists(file) or isinstance(file, Piped)):
        return reading
    named = {reading.target, *reading.drop, *reading.categories, *reading.aside.values()}
    names = columns(files_of(file)[:1], reading)[0]
    is_there = fitted.column in names and fitted.column not in named
    return replace(reading, strata=fitted.column) if is_there else reading


def _tell_strata(model: Any, rows: Labelled, column: str | None) -> None:
    """Say whether the AUC is within the strata that a model was fitted within, of ``column``.

    Nothing is said of queries, which svmlight text names itself.
    """
    fitted = getattr(parts_of(model)[1], "strata_", None)
    if fitted is None or (rows.strata is not None and column is None):
        return
    if column is not None:
        words = f"the AUC within strata of {column} comes first, as in the model's fit"
        words += f"; --drop {column} leaves it out"
    elif fitted.column is None:
        words = "the model was fitted within strata; --strata names their column"
    else:
        words = f"the model was fitted within strata of {fitted.column}, and {rows.name} is read "
        words += "without this column: the AUC is over all rows"
    tell("note", words)


def _divided(
    rows: Labelled,
    stages: Stages,
    tests: dict[str, Scored],
    reading: Reading,
    asked: Asked,
) -> dict[str, Any]:
    """Return what is measured within strata and by segments."""
    parts: dict[str, Any] = {}
    if asked.strata_weight is not None:
        check_strata(rows)
    if rows.strata is not None:
        parts["stratified"] = _stratified(rows, stages, tests, asked)
    if rows.segments is not None and reading.segments is not None:
        test = next(iter(tests.values()))
        chance, measures = chance_of(stages, test.score), asked.measures(rows.positive)
        parts["segmented"] = Segmented.of(test, rows.segments, reading.segments, measures, chance)
    return parts


def _stratified(
    rows: Labelled, stages: Stages, tests: dict[str, Scored], asked: Asked
) -> Stratified:
    """Return what is measured within strata, weighted as in the fit unless asked otherwise."""
    fitted = getattr(parts_of(stages.model)[1], "strata_", None)
    weighting: StrataWeight = "positives" if fitted is None else fitted.weighting
    if asked.strata_weight is not None:
        weighting = asked.strata_weight.value
    column = str(rows.strata_name)
    by = rows.strata, column, weighting, asked.confidence
    return Stratified.of(tests, *by, fitted=fitted is not None)


def _scored(rows: Labelled, score: np.ndarray) -> Scored:
    return Scored(rows.positive, score, rows.weight, rows.groups)


def _save_curves(tests: dict[str, Scored], confidence: float, title: str, path: Path) -> None:
    """Draw the ROC curves of test sets, with bands of the first two."""
    scored = {name: [test] for name, test in tests.items()}
    curve = roc_figure(ScoredSets(scored, confidence, bands=list(scored)[:2]))
    replace(curve, title=title, xlim=(-0.01, 1.01)).save(path)


def _title(path: Path, beside: Path | None) -> str:
    """Return the file's name, or its whole path if the other model has the same name."""
    return str(path) if beside is not None and beside.name == path.name else path.name


def _facts(
    stages: Stages, name: str, rows: Labelled, reading: Reading, words: dict[Any, str]
) -> Rows:
    """Return the part of the report about the rows."""
    features = parts_of(stages.model)[1].n_features_in_
    if not rows.in_parts:
        features = encoded(stages.at(np.arange(1))).shape[1]
    label = words.get(rows.positive_label, rows.positive_label)
    columns = {"weight": reading.weight, "groups": reading.groups}
    return Rows.of(rows, data=name, features=features, positive=label, **columns)


def _explained(
    stages: Stages, rows: Labelled, room: Room | None, tests: dict[str, Scored], asked: Asked
) -> dict[str, Any]:
    """Return what the page shows: test sets, and an explanation of the first model's scores.

    For a file in parts, some rows explain the model.
    """
    test = next(iter(tests.values()))
    sample, chance = None, chance_of(stages, test.score)
    if room is not None:
        features = parts_of(stages.model)[1].n_features_in_
        sample = rows_to_explain(test, min(room.rows, MAX_CELLS // features))
        stages = Stages.of(stages.model, take(rows.X, sample))
    explanation = explanation_of(stages, test, asked.confidence, sample, rows.coded_strata)
    return {"drawn": tests, "chance": chance, "explanation": explanation}
