"""Weights of rows, in everything public that takes them.

They have no unit, rows of weight 0 take no part, and where nothing counts rows, a row of weight 3
is three rows. What each solver does with them is in test_every_solver.py.
"""

import inspect
import json
import re

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline

import aucmax
from aucmax import (
    AdditiveAUCClassifier,
    AUCClassifier,
    AUCClassifierCV,
    ClassMoments,
    HingeClassifier,
    MulticlassAUCClassifier,
    ScoreSketch,
    additive,
    metrics,
    plots,
)
from aucmax.additive import Binning, Scorecard, SplineFeatures
from aucmax.explain import column_shapes
from aucmax.statistics.diagonal import DiagonalMoments

mpl.use("Agg")
N = 240


def data():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(N, 3)) * [1.0, 3.0, 0.3]
    y = (X[:, 0] + X[:, 1] / 3 + rng.normal(size=N) > 1).astype(int)
    return X, y, (X[:, 0] + 0.4 * rng.normal(size=N)).round(1), rng.integers(0, 4, N).astype(float)


X, Y, SCORE, WEIGHT = data()
MODEL = AUCClassifier().fit(X, Y)
BINS = Binning().fit(X, Y)
BENT = make_pipeline(SplineFeatures(4), AUCClassifier()).fit(X, Y)


def by_score(function, *more, **settings):
    return lambda _, y, score, w: function(y, score, *more, sample_weight=w, **settings)


def by_two_scores(function, *more):
    return lambda X, y, score, w: function(y, score, X[:, 1], *more, sample_weight=w)


def within_strata(function):
    return lambda X, y, score, w: function(y, score, np.round(20 * X[:, 2]), sample_weight=w)


def by_fold(function):
    return lambda _, y, score, w: function(y, score, np.arange(len(y)) % 4, sample_weight=w)


def fitted(model):
    return lambda rows, y, _, w: model.fit(rows, y, sample_weight=w).decision_function(X)


def updated(kind):
    def numbers(rows, y, _, w):
        held = kind().update(rows, y, w)
        return held.means, held.variances, held.counts / held.counts.sum(), held.effective_rows

    return numbers


def chances(method):
    def numbers(rows, y, _, w):
        halves = [(np.arange(0, len(y), 2), np.arange(1, len(y), 2))]
        search = AUCClassifierCV([1e-3, 1e-1], cv=halves, probability=method)
        return search.fit(rows, y, w).predict_proba(X)

    return numbers


def searched(rows, y, _, w):
    halves = [(np.arange(0, len(y), 2), np.arange(1, len(y), 2))]
    search = AUCClassifierCV([1e-3, 1e-1], cv=halves).fit(rows, y, w)
    return search.auc_path_, search.best_interval_, search.decision_function(X)


def of_classes(rows, y, _, w):
    three = y + (np.abs(rows[:, 2]) < 0.2)
    return MulticlassAUCClassifier().fit(rows, three, w).decision_function(X)


def areas_of_classes(_, y, score, w):
    return metrics.multiclass_auc(y, np.column_stack([-score, score]), sample_weight=w)


def effects_of(rows, y, _, w):
    found = aucmax.effects(MODEL, rows, y, w)
    return found.effect, found.low, found.high


def shapes_of(rows, y, _, w):
    return [shape[1:5] + shape[7:] for shape in column_shapes.shapes(BENT, rows, y, w)]


def by_column(kind, model, *column):
    def numbers(rows, y, _, w):
        return lines(kind.from_estimator(model, rows, y, *column, sample_weight=w))

    return numbers


def of_scores(kind):
    def numbers(_, y, score, w):
        return lines(kind.from_predictions(y, 1 / (1 + np.exp(-score)), sample_weight=w))

    return numbers


def lines(display):
    points = [line.get_xydata() for line in display.ax_.lines]
    mpl.pyplot.close("all")
    return points


def stability(rows, y, _, w):
    return [*BINS.stability(rows + 0.3, w).values()]


def sketched(_, y, score, w):
    return ScoreSketch().update(y, score, w).auc()


def odds_of(rows, y, _, w):
    strata = np.zeros(len(y)) if w is None else np.unique(w, return_inverse=True)[1]
    model = AUCClassifier(0.1, loss="logistic", tol=1e-12).fit(rows, y, w, strata=strata)
    return [*aucmax.odds_ratios(model, rows, y, strata, w)[1:]]


FUNCTIONS = {
    "metrics.roc_auc": by_score(metrics.roc_auc),
    "metrics.partial_auc": by_score(metrics.partial_auc, 0.3),
    "metrics.average_precision": by_score(metrics.average_precision),
    "metrics.precision_at_k": by_score(metrics.precision_at_k, 20),
    "metrics.recall_at_fpr": by_score(metrics.recall_at_fpr, 0.2),
    "metrics.roc_curve": by_score(metrics.roc_curve),
    "metrics.precision_recall_curve": by_score(metrics.precision_recall_curve),
    "metrics.ks_statistic": by_score(metrics.ks_statistic),
    "metrics.auc_interval": by_score(metrics.auc_interval),
    "metrics.auc_test": by_two_scores(metrics.auc_test),
    "metrics.auc_difference": by_two_scores(metrics.auc_difference),
    "metrics.cv_auc_interval": by_fold(metrics.cv_auc_interval),
    "metrics.recall_at_k": by_score(metrics.recall_at_k, 20),
    "metrics.average_precision_interval": by_score(metrics.average_precision_interval),
    "metrics.average_precision_test": by_two_scores(metrics.average_precision_test),
    "metrics.precision_at_k_interval": by_score(metrics.precision_at_k_interval, 20),
    "metrics.precision_at_k_test": by_two_scores(metrics.precision_at_k_test, 20),
    "metrics.recall_at_k_interval": by_score(metrics.recall_at_k_interval, 20),
    "metrics.recall_at_k_test": by_two_scores(metrics.recall_at_k_test, 20),
    "metrics.recall_at_fpr_interval": by_score(metrics.recall_at_fpr_interval, 0.2),
    "metrics.recall_at_fpr_test": by_two_scores(metrics.recall_at_fpr_test, 0.2),
    "metrics.stratified_auc": within_strata(metrics.stratified_auc),
    "metrics.stratified_auc_test": lambda X, y, score, w: metrics.stratified_auc_test(
        y, score, X[:, 1], np.round(20 * X[:, 2]), sample_weight=w
    ),
    "metrics.unlabelled_auc": by_score(metrics.unlabelled_auc, 0.01),
    "metrics.concordance": by_score(metrics.concordance),
    "metrics.multiclass_auc": areas_of_classes,
    "AUCClassifier": fitted(AUCClassifier()),
    "AUCClassifier, logistic": fitted(AUCClassifier(loss="logistic", within="pooled")),
    "AUCClassifier, hinge": fitted(AUCClassifier(0.01, loss="squared_hinge", standardize=1.0)),
    "AUCRanker": fitted(aucmax.AUCRanker()),
    "odds_ratios": odds_of,
    "HingeClassifier": fitted(
        HingeClassifier(solver="sadmm", alpha=0.01, max_iter=3, random_state=0)
    ),
    "MulticlassAUCClassifier": of_classes,
    "AUCClassifierCV": searched,
    "AUCClassifierCV, sigmoid": chances("sigmoid"),
    "AUCClassifierCV, isotonic": chances("isotonic"),
    "AdditiveAUCClassifier": fitted(AdditiveAUCClassifier(2, alphas=[1e-2, 1e-1], cv=2)),
    "additive.Scorecard": fitted(Scorecard(Binning("quantile", max_bins=4))),
    "additive.Scorecard, best": fitted(Scorecard()),
    "additive.Binning": stability,
    "ScoreSketch": sketched,
    "ClassMoments": updated(ClassMoments),
    "DiagonalMoments": updated(DiagonalMoments),
    "effects": effects_of,
    "shapes": shapes_of,
    "plots.EffectsDisplay": by_column(plots.EffectsDisplay, MODEL),
    "plots.ShapeDisplay": by_column(plots.ShapeDisplay, BENT, "1"),
    **{
        f"plots.{name}": of_scores(getattr(plots, name))
        for name in plots.__all__
        if hasattr(getattr(plots, name), "from_predictions")
    },
}
# what is counted in effective rows, or in rows, or stops where it is near enough
COUNTS_ROWS = {
    "AdditiveAUCClassifier", "odds_ratios", "metrics.unlabelled_auc", "metrics.concordance",
    "metrics.precision_at_k", "metrics.auc_interval", "metrics.auc_test",
    "metrics.auc_difference", "metrics.cv_auc_interval", "HingeClassifier", "AUCClassifierCV",
    "AUCClassifierCV, sigmoid", "AUCClassifierCV, isotonic", "additive.Scorecard, best",
    "additive.Binning", "ScoreSketch", "ClassMoments", "DiagonalMoments", "effects", "shapes",
    "plots.ShapeDisplay", "plots.ScoresDisplay", "metrics.recall_at_k",
    *(name for name in FUNCTIONS if re.search("(precision|_at_k|_at_fpr)_(interval|test)", name)),
}  # fmt: skip
each = pytest.mark.parametrize("name", FUNCTIONS)


def flat(numbers):
    if isinstance(numbers, (tuple, list)):
        return np.concatenate([flat(part) for part in numbers]) if numbers else np.empty(0)
    return np.ravel(np.asarray(numbers, dtype=float))


def same(one, other, rtol):
    one, other = flat(one), flat(other)
    size = np.abs(one[np.isfinite(one)]).max(initial=0.0)
    np.testing.assert_allclose(other, one, rtol=rtol, atol=rtol * size)


@each
def test_weights_have_no_unit(name):
    numbers = FUNCTIONS[name](X, Y, SCORE, WEIGHT)
    assert flat(numbers).size
    for unit, rtol in ((2.0**-20, 1e-12), (1e6, 1e-8)):  # a power of 2 rounds nothing
        same(numbers, FUNCTIONS[name](X, Y, SCORE, unit * WEIGHT), rtol)
    same(FUNCTIONS[name](X, Y, SCORE, None), FUNCTIONS[name](X, Y, SCORE, np.full(N, 7.0)), 1e-8)


@each
def test_rows_of_weight_zero_take_no_part(name):
    rng = np.random.default_rng(1)
    m = 64  # of which folds of 2 and 4 stay as they are
    wild = np.vstack([X, 1e5 * rng.normal(size=(m, 3)) + 1e6])
    labels, score = np.append(Y, np.arange(m) % 2), np.append(SCORE, 50 * rng.normal(size=m))
    found = FUNCTIONS[name](wild, labels, score, np.append(WEIGHT, np.zeros(m)))
    same(FUNCTIONS[name](X, Y, SCORE, WEIGHT), found, 1e-8)


@pytest.mark.parametrize("name", [name for name in FUNCTIONS if name not in COUNTS_ROWS])
def test_whole_weights_are_repetitions_where_nothing_counts_rows(name):
    rows = np.repeat(np.arange(N), WEIGHT.astype(int))
    repeated = FUNCTIONS[name](X[rows], Y[rows], SCORE[rows], None)
    same(FUNCTIONS[name](X, Y, SCORE, WEIGHT), repeated, 1e-6)


def test_all_that_takes_weights_is_tried():
    public = {"": aucmax, "metrics.": metrics, "plots.": plots, "additive.": additive}
    takers = {
        prefix + name
        for prefix, module in public.items()
        for name in module.__all__
        if takes_weights(getattr(module, name))
    }
    assert takers
    assert takers <= {name.partition(",")[0] for name in FUNCTIONS}


def takes_weights(thing):
    methods = ("fit", "update", "from_predictions", "from_estimator")
    functions = [thing] if inspect.isfunction(thing) else [getattr(thing, m, None) for m in methods]
    return any("sample_weight" in inspect.signature(f).parameters for f in functions if callable(f))


def test_commands_learn_nothing_from_rows_of_weight_zero(run, tmp_path):
    """Neither words nor medians, gaps or knots; and the page counts them nowhere."""
    names = ("a", "b", "c")
    frame = pd.DataFrame(X, columns=names).assign(word=np.where(Y, "u", "v"), y=Y, w=1 + WEIGHT)
    frame.loc[::7, "a"] = np.nan
    frame.loc[::5, "word"] = "t"
    wild = pd.DataFrame({"a": 1e6, "b": [np.nan, -1e6] * 9, "c": 5.0, "word": "new", "w": 0.0})
    wild["y"] = [0, 0, 1] * 6
    pages = []
    for rows in (frame, pd.concat([frame, wild])):
        rows.to_csv(tmp_path / "rows.csv", index=False)
        reading = ("--target", "y", "--weight", "w")
        code, _, err = run(
            "train", tmp_path / "rows.csv", "-o", tmp_path / "model", *reading,
            "--impute", "--one-hot", "--splines", "--alpha", 0.01,
        )  # fmt: skip
        assert code == 0, err
        model = aucmax.load(tmp_path / "model")
        code, out, err = run(
            "evaluate", tmp_path / "model", tmp_path / "rows.csv", *reading, "--json", "--k", 20,
        )  # fmt: skip
        assert code == 0, err
        page = json.loads(out)
        pages.append((model, page["scorers"], page["budgets"]))
    (one, scorers, budgets), (other, scorers_of_more, budgets_of_more) = pages
    features = [model[:-1].get_feature_names_out().tolist() for model in (one, other)]
    assert features[0] == features[1]
    same(one[-1].coef_, other[-1].coef_, 1e-9)
    for parts in zip(scorers + budgets, scorers_of_more + budgets_of_more, strict=True):
        a, b = (pd.json_normalize(part).iloc[0].to_dict() for part in parts)
        numbers = {key: value for key, value in a.items() if not isinstance(value, str)}
        assert {key: b[key] for key in numbers} == pytest.approx(numbers, rel=1e-9)


def test_folds_of_commands_hold_no_rows_of_weight_zero(run, tmp_path):
    """So that as many folds are made, and the same settings chosen, as without these rows."""
    rng = np.random.default_rng(3)
    y = np.arange(120) % 8 == 0
    frame = pd.DataFrame({"a": rng.normal(size=120) + y, "y": y.astype(int), "w": 1.0})
    nothing = pd.DataFrame({"a": rng.normal(size=90), "y": 1, "w": 0.0})
    reports = []
    for rows in (frame, pd.concat([frame, nothing])):
        rows.to_csv(tmp_path / "rows.csv", index=False)
        reading = (tmp_path / "rows.csv", "--target", "y", "--weight", "w", "--json")
        code, out, err = run("train", *reading, "--shape", "line", "-o", tmp_path / "model")
        assert code == 0, err
        reports.append(json.loads(out))
    one, other = reports
    for name in ("folds", "rounds", "alpha", "held_out_auc"):
        assert one[name] == pytest.approx(other[name], rel=1e-12), name
