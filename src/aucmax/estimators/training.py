"""Models of labelled rows, in memory or in parts: tuned, or fitted in one pass, and their AUC."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from aucmax.basics.progress import working
from aucmax.data.classes import classes_named
from aucmax.data.columns import label_as
from aucmax.data.labelled import Labelled
from aucmax.data.large_files import Room
from aucmax.data.readers import find_label
from aucmax.data.reading import Reading
from aucmax.data.rows import as_rows, products
from aucmax.data.rows.source import Source
from aucmax.data.strata import QUERY, StrataWeight
from aucmax.estimators.additive import AdditiveAUCClassifier
from aucmax.estimators.classifier import AUCClassifier
from aucmax.estimators.folds import FOLDS, Folding, folds_of
from aucmax.estimators.labelling import of_two_classes, of_usual_labels
from aucmax.estimators.many_rows import ManyRows
from aucmax.estimators.probabilities import calibrate_folds
from aucmax.estimators.sampled import sample_of, settings_for_all, weight_of_all
from aucmax.estimators.search import AUCClassifierCV
from aucmax.estimators.shapes import Bent, bent
from aucmax.estimators.strata import losses_within
from aucmax.estimators.suspicions import Suspicion, suspicions_of_sample
from aucmax.metrics import AUCInterval, BinnedAUC, MomentAUC, auc_interval, moment_auc
from aucmax.metrics.stratified import areas_within
from aucmax.objective import MAX_MATRIX_FEATURES
from aucmax.objective.losses import LOSSES
from aucmax.statistics.base import ClassStatistics
from aucmax.statistics.frequent_directions import FrequentDirections
from aucmax.statistics.moments import ClassMoments
from aucmax.statistics.strata_in_order import statistics_in_order

__all__ = ["Tuned", "auc_of_moments", "fit_in_one_pass", "training_auc", "tuned"]

_LOSSES: tuple[str, ...] = tuple(AUCClassifierCV().losses)
_BENT_LOSSES: tuple[str, ...] = tuple(AdditiveAUCClassifier().losses)
_ROWS_BY_FEATURES = 4  # memory per row of a search for curves and maps, over that of the row
_SKETCH_RANK = 50  # directions kept of each class if its covariance is too large


# ---- tuned


@dataclass(frozen=True, kw_only=True)
class Tuned:
    """A model whose settings were chosen by cross-validation.

    Parameters
    ----------
    model : AUCClassifier
        Fitted to all rows.
    folds, rounds : int
        The folds of all rounds together, and the number of rounds.
    settings_tried : int
    auc, interval : float, AUCInterval
        The held-out AUC of the chosen settings.
    rows : int, optional
        The number of rows used to choose the settings, if not all.
    losses : list of str, optional
        The losses tried on these rows, for which there was memory.
    losses_left_out : list of str
        The losses for which there was not enough memory.
    dropped : int, optional
        `Folding.dropped`.
    suspicions : sequence of Suspicion
        What is suspect about a sample of these rows.
    bent : Bent, optional
        The result of trying curves, if they were tried; if it has a search, the model is additive.
    """

    model: AUCClassifier
    folds: int
    rounds: int
    settings_tried: int
    auc: float
    interval: AUCInterval
    rows: int | None = None
    losses: list[str] | None = None
    losses_left_out: Sequence[str] = ()
    dropped: int | None = None
    suspicions: Sequence[Suspicion] = ()
    bent: Bent | None = None

    @property
    def additive(self) -> AdditiveAUCClassifier | None:
        """The additive model, if the model is one."""
        return None if self.bent is None else self.bent.search


def tuned(
    rows: Labelled,
    room: Room | None = None,
    *,
    table: Labelled | None = None,
    shape: str = "line",
    monotone: Mapping[Any, int] | None = None,
    seed: int = 0,
    probability: bool = False,
    verbose: bool = False,
    strata_weight: StrataWeight = "positives",
    **settings: Any,
) -> Tuned:
    """Tune a model by cross-validation, and fit it to all rows.

    Parameters
    ----------
    rows : Labelled
        A source is tuned on as many of its rows as fit in memory, about as many of each class: the
        ratio of the classes does not change a mean over pairs. Strata are drawn whole.
    room : Room, optional
        The memory for the rows of a source.
    table : Labelled, optional
        The rows before the steps, for shapes other than lines; in parts only for a given shape.
    shape : {"auto", "line", "curves", "interactions"}
        The shape of the model; by default the folds choose it, see `bent`.
    monotone : mapping of str to {1, −1}, optional
        As for `AdditiveAUCClassifier`, which is then fitted to ``table`` whatever the shape.
    seed : int
        Random seed of the folds, which follow the groups or times of the rows.
    probability : bool
        Whether to calibrate the scores on the held-out rows.
    verbose : bool
        Show progress, on a terminal.
    strata_weight : {"positives", "pairs", "strata"}
        The weighting of strata, for rows that have any.
    **settings
        ``tol`` and ``max_iter``; for a given shape also ``losses`` and ``alphas``.

    Raises
    ------
    ValueError
        If there are too few rows of a class, groups or times, or too few rows fit in memory.
    """
    settings |= {"positive": rows.positive_label, "strata_weight": strata_weight}
    if table is not None and "losses" not in settings:
        settings["losses"] = losses_within(_BENT_LOSSES, rows, strata_weight)
    if table is not None and (monotone or shape not in ("line", "auto")):
        every = ManyRows(table, strata_weight) if table.in_parts else None
        if every is not None:
            most = AdditiveAUCClassifier().search_rows
            with working("reading some of the rows", not verbose):
                most = most if room is None else min(most, room.rows // _ROWS_BY_FEATURES)
                _, table = every.sample(most)
            _check_enough(table, rows.name)
        settings |= {"shape": shape, "monotone": monotone, "probability": probability}
        return _bent(table, seed, every=every, **settings)
    if room is None:
        losses = losses_within(_LOSSES, rows, strata_weight)
        of_line = settings | {"probability": probability, "losses": losses}
        search, line = _searched(rows, seed, verbose, **of_line)
        if table is None or shape == "line":
            return line
        return _bent(table, seed, search, line, probability=probability, **settings)
    with working("reading some of the rows", not verbose):
        sample = sample_of(rows, room.rows)
        drawn = rows.at(sample)
    _check_enough(drawn, rows.name)
    rarer = rows.rarest / len(rows.positive)
    possible = losses_within(_LOSSES, rows, strata_weight)
    losses = [name for name in possible if LOSSES[name].bytes_of_row(rarer) <= room.of_each]
    search, outcome = _searched(drawn, seed, verbose, losses=losses, **settings)
    chosen = settings_for_all(search, drawn.rarest / rows.rarest)
    suspicions = suspicions_of_sample(drawn, rows.columns, len(rows.positive))
    tests, held_out = [test for _, test in search.cv] if probability else [], search.held_out_
    del drawn, search  # free memory for the fit
    with working(f"fitting {rows.name}", not verbose):
        model = AUCClassifier(**chosen, **settings).fit(rows)
    if probability:
        with working("calibrating", not verbose):
            drawn = rows.at(sample)
            scores = drawn.X @ model.coef_[0] + model.intercept_[0]
            # a sample has about as many rows of each class; weights restore the class ratio
            weight = weight_of_all(rows.positive, rows.weight, sample)
            of_folds = [scores[test] for test in tests]
            model.calibration_ = calibrate_folds(tests, held_out, of_folds, drawn.positive, weight)
    left_out = [name for name in possible if name not in losses]
    of_sample: dict[str, Any] = {"rows": len(sample), "losses": losses, "losses_left_out": left_out}
    return replace(outcome, model=model, suspicions=suspicions, **of_sample)


def _check_enough(drawn: Labelled, name: str) -> None:
    """Raise ValueError if so few rows of a source fit in memory that nothing can be tuned."""
    if drawn.rarest < 2:
        raise ValueError(
            f"{name}: only {len(drawn.positive):,} of its rows fit in memory, too few to tune on; "
            "raise memory=, or give settings such as alpha=."
        )


def _searched(
    rows: Labelled, seed: int, verbose: bool, **settings: Any
) -> tuple[AUCClassifierCV, Tuned]:
    """Return a search over rows in memory, and its result."""
    folding = Folding.of(rows)
    parts = folds_of(rows, folding.most(rows.positive, FOLDS), seed)
    search = AUCClassifierCV(cv=parts, **settings, verbose=verbose)
    search.fit(rows)
    return search, Tuned(
        model=search.best_estimator_,
        folds=len(parts),
        rounds=folding.rounds(rows.rarest),
        dropped=folding.dropped(parts),
        settings_tried=int(np.isfinite(search.auc_path_).any(axis=0).sum()),
        auc=float(search.best_score_),
        interval=search.best_interval_,
    )


def _bent(
    table: Labelled,
    seed: int,
    search: AUCClassifierCV | None = None,
    line: Tuned | None = None,
    every: ManyRows | None = None,
    **settings: Any,
) -> Tuned:
    """Return the tuned line, or an additive model chosen on the same folds, fitted to all rows."""
    folding = Folding.of(table)
    rounds, of_line, tried = folding.rounds(table.rarest), None, 0
    if search is None or line is None:
        parts = folds_of(table, folding.most(table.positive, FOLDS), seed)
    else:
        parts = search.cv
        tried, paths = line.settings_tried, search.auc_path_.reshape(len(parts), -1)
        paths = paths[np.isfinite(paths).any(axis=1)]  # a fold may hold out only one class
        of_line = paths[:, np.nanargmin(np.abs(paths.mean(axis=0) - search.best_score_))]
    outcome = bent(table, parts, of_line, every, **settings)
    if outcome.search is None and line is not None:
        return replace(line, bent=outcome)
    additive = outcome.search
    assert additive is not None
    return Tuned(
        model=additive.best_estimator_[-1],
        folds=len(parts),
        rounds=rounds,
        dropped=folding.dropped(parts),
        settings_tried=tried + int(np.isfinite(additive.auc_path_).any(axis=0).sum()),
        auc=additive.best_score_,
        interval=additive.best_interval_,
        rows=None if every is None else len(table.positive),
        bent=outcome,
    )


# ---- in one pass


def fit_in_one_pass(
    model: AUCClassifier,
    source: Source,
    reading: Reading,
    name: str,
) -> ClassMoments | FrequentDirections:
    """Fit a model to the class moments of a source, or to a sketch of them if it has many features.

    Parameters
    ----------
    model : AUCClassifier
        Its ``positive`` is set.
    source : Source
    reading : Reading
        Its ``positive`` is ranked first, against all others. Rows of each of its ``strata`` must be
        consecutive; parts of svmlight text have their own strata.
    name : str
        The name of the rows in messages.

    Returns
    -------
    ClassMoments or FrequentDirections
        The statistics of the two classes, which the model keeps as ``moments_``.

    Raises
    ------
    ValueError
        If the settings need the rows again, the labels are not two and none is named, or the rows
        of a stratum are not consecutive.
    """
    positive, strata = reading.positive, reading.strata
    names = source.feature_names  # svmlight text has none; its first part suggests their number
    first = source.first() if names is None else None
    features = len(names or ()) if first is None else first.X.shape[1]
    if first is not None and (first.told or {}).get("strata") is not None:
        strata = QUERY
    kind: type[ClassMoments | FrequentDirections] = ClassMoments
    settings: dict[str, Any] = {}
    if features > MAX_MATRIX_FEATURES:
        kind, settings = FrequentDirections, {"rank": _SKETCH_RANK}
    if strata is None:
        statistics: ClassStatistics = kind.from_data(source, **settings)
        statistics = of_usual_labels(statistics) if reading.prepare else statistics
    else:
        labels = _Labels(positive, name, reading.prepare)
        of_rows = kind(classes=[False, True], **settings), labels.positives, model.strata_weight
        statistics = statistics_in_order(source, *of_rows).relabelled(labels.names)
        assert statistics.strata is not None
        statistics.strata, positive = replace(statistics.strata, column=strata), None
    statistics.feature_names, statistics.target_name = names, source.target_name
    statistics, label = of_two_classes(statistics, positive, name)
    return model.set_params(positive=label).fit_moments(statistics).moments_


class _Labels:
    """The labels of rows that are read once: the given label or the larger number, and others.

    Parameters
    ----------
    positive : label, optional
    name : str
        The name of the rows in messages.
    folds : bool
        Whether spellings of a label that differ in case are the same label.
    """

    def __init__(self, positive: Any, name: str, folds: bool) -> None:
        self._positive, self._name, self._folds = positive, name, folds
        self._labels: dict[Any, None] = {}  # in the order in which they came

    def positives(self, y: np.ndarray) -> np.ndarray:
        """Return which rows are positive; possibly none while all rows so far have one label."""
        of_part, place = np.unique(y, return_inverse=True)
        names = list[Any]()
        for label in of_part.tolist():
            names.append(label_as(label, self._labels) if self._folds else label)
            self._labels[names[-1]] = None
        y = np.array(names)[place]
        labels, positive = sorted(self._labels), self._positive
        if positive is None and (len(labels) > 2 or isinstance(labels[0], str)):
            raise ValueError(
                f"{self._name}: has the labels {', '.join(map(str, labels[:5]))}, and within "
                "strata one pass must know beforehand which one to rank first: name it with "
                "positive=LABEL."
            )
        if positive is None:
            return y == labels[1] if len(labels) == 2 else np.zeros(len(y), dtype=bool)
        try:
            return y == find_label(labels, positive)
        except ValueError:  # in no row so far
            return np.zeros(len(y), dtype=bool)

    @property
    def names(self) -> list[Any]:
        """The negative and the positive label of the model; ValueError if there are not two."""
        labels = np.array(sorted(self._labels))
        if len(labels) < 2:
            raise ValueError(f"{self._name}: has 1 label ({labels[0]}); a model needs two.")
        return list(classes_named(labels, np.ones(len(labels)), self._positive, self._name).labels)


# ---- the AUC of the rows of a fit


def training_auc(rows: Labelled, model: AUCClassifier) -> AUCInterval | BinnedAUC | MomentAUC:
    """Return the AUC of the rows a model was fitted to, within their strata if they have any.

    Rows in parts are not read again if all are compared and the fit kept their moments, which give
    an estimate. Otherwise their scores are kept, in fixed memory if all rows are compared.
    """
    if (strata := rows.coded_strata) is not None:
        scores = model.decision_function(rows.X) if rows.in_parts else _scores(rows, model)
        areas = areas_within(rows.positive, rows.weight, scores, strata.code.astype(np.intp))
        return areas.interval(model.strata_weight, 0.95)
    if not rows.in_parts:
        scores = _scores(rows, model)
        return auc_interval(rows.positive, scores, sample_weight=rows.weight)
    moments = getattr(model, "moments_", None)
    estimate = auc_of_moments(moments, model.coef_[0], rows.positive_label)
    return model.score_sketch(rows.X).auc() if estimate is None else estimate


def _scores(rows: Labelled, model: AUCClassifier) -> np.ndarray:
    return products.scores(as_rows(rows.X), model.coef_[0]) + model.intercept_[0]


def auc_of_moments(
    statistics: ClassStatistics | None, w: np.ndarray, positive: Any
) -> MomentAUC | None:
    """Return the AUC that moments imply for the scores w·x of their rows; None if they cannot."""
    if not isinstance(statistics, ClassMoments) or statistics.guarantee is not None:
        return None
    gap = w @ (statistics.mean_pos - statistics.mean_neg)
    variance = w @ (statistics.cov_pos + statistics.cov_neg) @ w
    return moment_auc(gap if positive == statistics.classes[1] else -gap, variance)
