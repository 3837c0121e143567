"""AdditiveAUCClassifier: curves and pairs chosen by the folds."""

import copy
from contextlib import nullcontext
from typing import Any

import numpy as np
import pandas as pd
import pytest

from aucmax import AdditiveAUCClassifier, load, metrics, save
from aucmax.data.labelled import Labelled
from aucmax.estimators.folds import folds_of
from aucmax.objective.losses import LOSSES

pytestmark = pytest.mark.usefixtures("folds_drawn_once")


@pytest.fixture(scope="module")
def table():
    """Words, gaps and numbers, of which two act together."""
    rng = np.random.default_rng(0)
    n = 1500
    table = pd.DataFrame({
        "age": rng.normal(50, 10, n), "dose": rng.normal(size=n), "noise": rng.normal(size=n),
        "city": rng.choice(["Bonn", "Ulm"], n),
    })  # fmt: skip
    score = (table.age - 50) / 10 * table.dose + (table.city == "Ulm") + rng.normal(size=n)
    table.loc[::9, "noise"] = np.nan
    return table, np.where(score > 2.0, "yes", "no")


@pytest.fixture(scope="module")
def model(table):
    return AdditiveAUCClassifier(probability=True).fit(*table)


def test_it_names_the_pair_that_acts(model, table):
    X, y = table
    assert model.shape_ == "interactions"
    assert model.interactions_[0] == ("age", "dose")
    assert model.gains_[0] > 5 * model.gains_[1:].max(initial=0.0)
    line = AdditiveAUCClassifier(0).fit(X, y)
    assert model.best_score_ > line.best_score_ + 0.1
    assert model.optimality_ < 1e-9


def test_held_out_scores(model, table):
    """The best score is that of the chosen cell, and no cell of its shape is far better."""
    assert np.nanmax(model.auc_path_.mean(axis=0)) >= model.best_score_
    assert model.best_interval_.low < model.best_score_ < model.best_interval_.high
    fresh = np.random.default_rng(1)
    n = 4000
    new = pd.DataFrame({
        "age": fresh.normal(50, 10, n), "dose": fresh.normal(size=n),
        "noise": fresh.normal(size=n), "city": fresh.choice(["Bonn", "Ulm"], n),
    })  # fmt: skip
    score = (new.age - 50) / 10 * new.dose + (new.city == "Ulm") + fresh.normal(size=n)
    y = np.where(score > 2.0, "yes", "no")
    auc = metrics.roc_auc(y, model.decision_function(new))
    assert auc == pytest.approx(model.best_score_, abs=0.03)
    positive = model.predict_proba(new)[:, 1]
    assert positive.mean() == pytest.approx((y == "yes").mean(), abs=0.02)


def test_pure_effects_leave_the_score(model, table):
    """The maps' means are zero along each column; the pipeline gives the scores of the fit."""
    features, last = model.best_estimator_
    X = features.transform(table[0])
    mass = np.asarray(X.sum(axis=0)).ravel()
    for block in features.blocks:
        if block.kind == 2:
            shape = [features.axes_[j].n_map for j in block.columns]
            weighed = (mass * last.coef_[0])[block.features].reshape(shape)
            np.testing.assert_allclose(weighed.sum(axis=0), 0.0, atol=1e-8 * len(table[1]))
            np.testing.assert_allclose(weighed.sum(axis=1), 0.0, atol=1e-8 * len(table[1]))
    np.testing.assert_allclose(
        X @ last.coef_[0] + last.intercept_, model.decision_function(table[0]), 1e-12, 1e-14
    )


def test_noise_needs_neither_curves_nor_pairs():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(300, 6))
    y = X[:, 0] + rng.normal(size=300) > 1
    model = AdditiveAUCClassifier().fit(X, y)
    assert (model.shape_, model.interactions_) == ("line", [])
    assert not model.best_estimator_[-1].coef_[0, 6:].any()


def test_the_chosen_pairs(table):
    X, y = table
    few = AdditiveAUCClassifier(1, losses=["square"]).fit(X, y)
    assert few.interactions_ == [("age", "dose")]
    pairs = [("dose", "noise"), ("dose", "age")]
    named = AdditiveAUCClassifier(pairs, losses=["square"]).fit(X, y)
    assert named.interactions_ == [("dose", "noise"), ("age", "dose")]
    none = AdditiveAUCClassifier(0, losses=["square"]).fit(X, y)
    assert none.interactions_ == []
    assert none.auc_path_.shape[4] == 1


@pytest.mark.parametrize("loss", ["squared_hinge", "logistic"])
def test_other_losses(table, loss):
    X, y = table
    model = AdditiveAUCClassifier([("age", "dose")], losses=[loss], alphas=[0.01]).fit(X, y)
    assert model.loss_ == loss
    assert model.optimality_ < 1e-4
    assert model.best_score_ > 0.8


def test_weights_count_rows(table):
    """A weight of 2 is a row twice, with the folds kept the same by groups."""
    X, y = table[0].iloc[:500].drop(columns="city"), table[1][:500]
    groups, twice = np.arange(500), np.arange(0, 500, 3)
    weight = np.ones(500)
    weight[twice] = 2.0
    settings: dict[str, Any] = {"interactions": [("age", "dose")], "alphas": [0.01]}
    settings |= {"losses": ["square"]}
    weighed = AdditiveAUCClassifier(**settings).fit(X, y, weight)
    again = np.concatenate([groups, twice])
    repeated = AdditiveAUCClassifier(**settings).fit(X.iloc[again], y[again], groups=again)
    assert weighed.shape_ == repeated.shape_
    assert (
        np.corrcoef(weighed.decision_function(X), repeated.decision_function(X))[0, 1] > 0.999
    )  # quantiles, and so knots, differ a little


def test_same_rows_same_model(table):
    X, y = table
    model = AdditiveAUCClassifier(1, losses=["square"])
    first, second = (model.fit(X, y).decision_function(X) for _ in range(2))
    assert np.array_equal(first, second)


@pytest.mark.parametrize("part", ["search", "pipeline"])
def test_a_model_is_saved(model, table, tmp_path, part):
    save(model if part == "search" else model.best_estimator_, tmp_path / "m")
    loaded = load(tmp_path / "m")
    assert np.array_equal(loaded.decision_function(table[0]), model.decision_function(table[0]))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda m: m.__dict__.update(classes_=np.array([0, 1])), "its classes_ are not those"),
        (lambda m: m.__dict__.update(best_estimator_=m.best_estimator_[-1]), "is not a model of"),
        (lambda m: m.best_estimator_[0].axes_.pop(), "it does not have axes for its 4 columns"),
        (lambda m: m.best_estimator_[0].axes_.reverse(), "its axis for the column 'age'"),
        (lambda m: m.best_estimator_[0].pairs_.append((3, 3)), "its pairs are not pairs of col"),
        (lambda m: m.best_estimator_[0].axes_[0].knots.sort(), None),
        (lambda m: m.best_estimator_[0].axes_[0].knots.fill(1.0), "its knots are not ascending"),
        (lambda m: m.best_estimator_[0].axes_[1].map_knots.fill(np.nan), "its knots hold NaN"),
        (
            lambda m: m.best_estimator_[0].axes_[0].__dict__.update(scale=0.0),
            "have the form that a fit gi",
        ),
        (lambda m: m.best_estimator_[0].__dict__.update(columns_=["city"]), "are not columns"),
    ],
)
def test_what_no_fit_leaves_is_not_saved(model, tmp_path, change, message):
    other = copy.deepcopy(model)
    change(other)
    with nullcontext() if message is None else pytest.raises(ValueError, match=message):
        save(other, tmp_path / "m")


def test_few_columns_of_many_are_focused_on():
    """With two columns of forty that tell the classes apart, folds shrink the others more."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1600, 40))
    y = np.abs(X[:, 0]) + X[:, 1] + rng.normal(size=1600) > 2.5
    train, test = np.arange(600), np.arange(600, 1600)
    settings: dict[str, Any] = {"losses": ["square"], "interactions": 0, "shape": "curves"}
    alike, focused = (
        AdditiveAUCClassifier(**settings, focus=focus).fit(X[train], y[train])
        for focus in (0.0, [0.0, 1.0, 2.0])
    )
    assert (alike.focus_, alike.auc_path_.shape[-1], focused.auc_path_.shape[-1]) == (0, 1, 3)
    assert focused.focus_ > 0
    aucs = [metrics.roc_auc(y[test], m.decision_function(X[test])) for m in (alike, focused)]
    assert aucs[1] > aucs[0] + 0.02
    of_curves = focused.best_estimator_[0].relevance_[1]
    assert min(of_curves[:2]) > 5 * np.median(of_curves)


def test_a_focused_fit_is_that_of_the_scaled_prior(table):
    """Its relevance is a power of what each term alone gains, as least squares with it show."""
    X, y = table[0].iloc[:500], table[1][:500]
    settings: dict[str, Any] = {"shape": "interactions", "alphas": [0.02], "losses": ["square"]}
    settings |= {"cv": 2, "focus": [1.0], "tol": 1e-10}
    model = AdditiveAUCClassifier([("age", "dose"), ("age", "noise")], **settings).fit(X, y)
    features = model.best_estimator_[0]
    np.testing.assert_allclose(features.relevance_[2], model.gains_ / model.gains_.mean())
    Z = features.transform(X).toarray()
    classes = [Z[y == label] for label in model.classes_]
    gap = classes[1].mean(axis=0) - classes[0].mean(axis=0)
    bend = sum(np.cov(rows.T, bias=True) for rows in classes) + np.outer(gap, gap)
    alike = features.with_pairs(features.pairs_)
    alike.relevance_ = [np.ones(len(of)) for of in features.relevance_]
    prior = (alike.roots() @ alike.roots().T).toarray() / 0.02
    maps = iter(features.relevance_[2])
    for block in features.blocks:
        of_kind = features.relevance_[block.kind]
        prior[block.features] *= next(maps) if block.kind == 2 else of_kind[block.columns[0]]
    coef = prior @ np.linalg.solve(bend @ prior + np.eye(len(bend)), gap)
    expected, scores = Z @ coef, model.decision_function(X)
    np.testing.assert_allclose(scores - scores.mean(), expected - expected.mean(), atol=1e-6)
    assert np.ptp(np.log(features.relevance_[0])) > 1.0


@pytest.mark.parametrize("loss", ["square", "logistic"])
def test_what_is_left_out_is_bounded(table, loss):
    """A map that is added lowers the objective by no more than its bound, and by something."""
    X, y = table[0].iloc[:700], table[1][:700]
    weight = np.random.default_rng(0).uniform(0.5, 2.0, 700)
    settings: dict[str, Any] = {"shape": "interactions", "alphas": [0.02], "losses": [loss]}
    settings |= {"tol": 1e-10, "cv": 2, "focus": [0.0]}
    few = AdditiveAUCClassifier([("age", "noise")], **settings).fit(X, y, weight)
    bounds = few.left_out(X, y, weight)
    assert bounds[0].columns == ("age", "dose")
    assert [b.bound for b in bounds] == sorted((b.bound for b in bounds), reverse=True)
    assert len(bounds) == 5
    for pair, bound in (bounds[0], bounds[-1]):
        more = AdditiveAUCClassifier([("age", "noise"), pair], **settings).fit(X, y, weight)
        assert 0.0 < few.objective_ - more.objective_ <= bound


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"interactions": "all"}, "interactions must be 'auto', a number or a list of pairs"),
        ({"interactions": -1}, "interactions"),
        ({"interactions": [("age", "height")]}, "pairs name the column 'height'"),
        ({"interactions": None}, "interactions must be 'auto', a number or a list of pairs"),
        ({"interactions": ("age", "dose")}, "each pair must have two columns; got 'age'"),
        ({"interactions": [("age", "dose", "city")]}, "each pair must have two columns"),
        (
            {"interactions": [("age", "dose"), ("dose", "age")]},
            r"pairs name \('age', 'dose'\) twice",
        ),
        ({"interactions": 0, "shape": "interactions"}, "shape='interactions' needs pairs"),
        ({"alphas": []}, "alphas must be a non-empty sequence"),
        ({"alphas": [0.0]}, "each of alphas must be a number"),
        ({"losses": []}, "losses must be a non-empty sequence"),
        ({"losses": ["hinge"]}, "each of losses must be one of 'square', 'squared_hinge', 'logi"),
        ({"scoring": "accuracy"}, "scoring='accuracy' is not one of 'auc'"),
        ({"focus": []}, "focus has no power to try"),
        ({"focus": [-1.0]}, "each of focus"),
        ({"cv": 1}, "cv, unless it is 'auto'"),
    ],
)
def test_messages(table, settings, message):
    with pytest.raises(ValueError, match=message):
        AdditiveAUCClassifier(**settings).fit(*table)


def test_messages_of_tables(table):
    X, y = table[0].iloc[:50], np.array(["no"] * 49 + ["yes"])
    with pytest.raises(ValueError, match="label 'yes' has 1 row; cross-validation needs 2"):
        AdditiveAUCClassifier().fit(X, y)
    with pytest.raises(ValueError, match="two columns are called 'age'; names must differ"):
        AdditiveAUCClassifier().fit(X.rename(columns={"dose": "age"}), y)


def test_folds_number_all_rows_also_those_without_weight(table):
    X, y = table[0].iloc[:900].drop(columns="city"), table[1][:900]
    halves = np.array_split(np.arange(300, 900), 2)
    settings: dict[str, Any] = {"shape": "curves", "alphas": [0.02], "losses": ["square"]}
    folds = [(halves[0], halves[1]), (np.arange(900), halves[0])]
    all_rows = AdditiveAUCClassifier(cv=folds, **settings).fit(X, y, 1.0 * (np.arange(900) >= 300))
    folds = [(halves[0] - 300, halves[1] - 300), (np.arange(600), halves[0] - 300)]
    some = AdditiveAUCClassifier(cv=folds, **settings).fit(X[300:], y[300:])
    assert all_rows.best_score_ == some.best_score_


@pytest.mark.parametrize("shape", ["line", "curves"])
def test_what_a_kind_that_is_left_out_could_add_is_at_the_usual_alpha(table, shape):
    X, y = table[0].drop(columns="city"), table[1]
    model = AdditiveAUCClassifier(shape=shape, losses=["square"]).fit(X, y)
    usual = 3 * LOSSES["square"].usual_alpha / min((y == "no").sum(), (y == "yes").sum())
    assert model.alphas_[2] == pytest.approx(usual)
    assert model.left_out(X, y)[0].bound <= model.objective_


def test_a_notebook_shows_the_shape(model):
    card = model._repr_html_()
    assert "age × dose" in card
    assert "interactions (held out: line" in card
    assert f"of maps, focus {model.focus_:g}" in card
    assert AdditiveAUCClassifier()._repr_html_()


def test_a_line_from_elsewhere_is_beaten_or_kept():
    """A good one leaves the model unfitted; beside a bad one it bends."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(400, 3))
    noise = rng.normal(size=400)
    bent, straight = (
        Labelled(X, score + noise > 1, None, np.array([0, 1])) for score in (X[:, 0] ** 2, X[:, 0])
    )
    folds = folds_of(bent, 5, 0)
    good, bad = np.ones(len(folds)), np.full(len(folds), 0.5)
    model = AdditiveAUCClassifier(cv=folds, losses=["square"])
    scores = model.fit_beside(bent, good)
    assert {*scores} >= {"line", "curves"}
    assert not hasattr(model, "best_estimator_")
    model.fit_beside(bent, bad)
    assert model.shape_ != "line"
    folds = folds_of(straight, 5, 0)
    model = AdditiveAUCClassifier(cv=folds, losses=["square"])
    model.fit_beside(straight, np.full(len(folds), 0.5))  # its own line is as good as curves
    assert not hasattr(model, "best_estimator_")
    assert model.fit(straight).shape_ == "line"


def test_maps_that_promise_nothing_are_not_tried():
    """Where columns only add up, few folds fit maps; where they act together, all do."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(4, 500, 3))
    noise = rng.normal(size=(4, 500))
    settings: dict[str, Any] = {"losses": ["square"], "cv": 3}

    def tried(scores):
        models = (
            AdditiveAUCClassifier(**settings).fit(x, s > 1) for x, s in zip(X, scores, strict=True)
        )
        return sum("interactions" in model.shape_scores_ for model in models)

    assert tried(X[..., 0] + X[..., 1] + noise) < 4
    assert tried(2 * X[..., 0] * X[..., 1] + noise) == 4


def test_gains_are_of_the_square_loss_whatever_the_losses(table):
    """The scores of the logistic loss are larger, and would hide which pair acts."""
    X, y = table
    model = AdditiveAUCClassifier(1, losses=("logistic",), shape="interactions", cv=3).fit(X, y)
    assert model.interactions_ == [("age", "dose")]
