"""Displays: scikit-learn's convention, and the figures of the pages."""

import numpy as np
import pandas
import pytest
from matplotlib import pyplot
from sklearn import config_context
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_wine
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from aucmax import (
    AdditiveAUCClassifier,
    AUCClassifier,
    AUCClassifierCV,
    HingeClassifier,
    MulticlassAUCClassifier,
    effects,
    metrics,
    plots,
)
from aucmax.additive import Scorecard, SplineFeatures
from aucmax.explain.column_shapes import shape_of
from aucmax.metrics.scored import Scored
from aucmax.report.curves import ScoredSets, roc_figure

OF_SCORES = ("RocDisplay", "PrecisionRecallDisplay", "GainsDisplay", "LiftDisplay", "ScoresDisplay")


@pytest.fixture(autouse=True)
def closed():
    yield
    pyplot.close("all")


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    y = np.where(rng.random(500) < 0.04, "fraud", "fair")
    X = rng.normal(size=(500, 3)) + np.outer(y == "fraud", [2.0, 1.0, 0.0])
    model = AUCClassifier(0.01, positive="fraud").fit(X, y)
    return X, y, model


@pytest.mark.parametrize("name", OF_SCORES)
def test_from_predictions_is_from_estimator(data, name):
    X, y, model = data
    display = getattr(plots, name)
    one = display.from_estimator(model, X, y)
    other = display.from_predictions(
        y, model.decision_function(X), pos_label="fraud", name="AUCClassifier"
    )
    assert type(one) is display
    assert one.figure_ is one.ax_.figure
    assert one.figure_ is not other.figure_
    for label, line in one.lines_.items():
        assert np.array_equal(line.get_xydata(), other.lines_[label].get_xydata())
        assert label.startswith("AUCClassifier")
    assert len(one.ax_.get_legend().get_texts()) == len(one.lines_)


def test_it_is_the_figure_of_the_page(data):
    X, y, model = data
    score, positive = model.decision_function(X), y == "fraud"
    display = plots.RocDisplay.from_estimator(model, X, y, name="mine")
    line = roc_figure(ScoredSets({"mine": [Scored(positive, score)]})).lines["mine"]
    assert np.array_equal(display.lines_["mine"].get_xdata(), line.x)
    auc = metrics.roc_auc(positive, score)
    assert f"AUC {auc:.4f}" in display.ax_.get_legend().get_texts()[0].get_text()
    few = plots.RocDisplay.from_estimator(model, X, y, few=True)
    assert few.ax_.get_xscale() == "log"
    assert f"AUC {auc:.4f}" in few.ax_.get_legend().get_texts()[0].get_text()
    assert display.ax_.get_xscale() == "linear"


def test_two_displays_on_the_same_axes_differ(data):
    X, y, model = data
    first = plots.GainsDisplay.from_estimator(model, X, y, name="a")
    second = plots.GainsDisplay.from_estimator(
        LogisticRegression().fit(X, y == "fraud"), X, y == "fraud", name="b", ax=first.ax_
    )
    assert first.ax_ is second.ax_
    assert first.lines_["a"].get_color() != second.lines_["b"].get_color()
    texts = [text.get_text() for text in first.ax_.get_legend().get_texts()]
    assert texts == ["a", "b"]
    _, ax = pyplot.subplots()
    again = first.plot(ax=ax)
    assert (again, first.ax_) == (first, ax)


def test_weights_and_labels_reach_the_curve(data):
    X, y, model = data
    weight = np.random.default_rng(1).exponential(size=len(y))
    display = plots.RocDisplay.from_estimator(model, X, y, sample_weight=weight)
    x, tall = display.lines_["AUCClassifier"].get_xydata().T
    weighted = metrics.roc_auc(y == "fraud", model.decision_function(X), weight)
    assert np.trapezoid(tall, x) == pytest.approx(weighted, abs=1e-3)  # of 500 points
    with pytest.raises(ValueError, match="y_score"):
        plots.RocDisplay.from_predictions(y, [1.0, np.nan] * 250)


def test_calibration_takes_probabilities_alone(data):
    X, y, model = data
    with pytest.raises(AttributeError, match="AUCClassifier has no predict_proba"):
        plots.CalibrationDisplay.from_estimator(model, X, y)
    calibrated = CalibratedClassifierCV(AUCClassifier(0.01), ensemble=False).fit(X, y == "fraud")
    display = plots.CalibrationDisplay.from_estimator(calibrated, X, y == "fraud", name="c")
    expected, share = display.lines_["c"].get_xydata().T
    assert np.all((expected > 0) & (expected < 1))
    assert display.ax_.get_xscale() == "log"
    assert 0 < share.max() <= 1


def test_the_shape_of_a_column(data):
    X, y, _ = data
    model = make_pipeline(SplineFeatures(4), AUCClassifier(0.01, positive="fraud")).fit(X, y)
    display = plots.ShapeDisplay.from_estimator(model, X, y, "b", feature_names=["a", "b", "c"])
    x, added = display.lines_["b"].get_xdata(), display.lines_["b"].get_ydata()
    assert (x.min(), x.max()) == (X[:, 1].min(), X[:, 1].max())
    turned = np.column_stack([np.zeros(len(x)), x, np.zeros(len(x))])
    scores = model.decision_function(turned)
    assert scores - scores[0] == pytest.approx(added - added[0])
    band = display.ax_.collections[0].get_paths()[0].vertices[:, 1]
    assert band.min() < added.min() < added.max() < band.max()
    gaps = X.copy()
    gaps[::5, 1] = np.nan
    flagged = make_pipeline(SimpleImputer(add_indicator=True), AUCClassifier(positive="fraud"))
    flagged.fit(gaps, y)
    linear = flagged[-1]
    display = plots.ShapeDisplay.from_estimator(flagged, gaps, y, 2)
    without = flagged.decision_function(gaps)[::5] - gaps[::5, [0, 2]] @ linear.coef_[0, [0, 2]]
    filled = flagged[0].transform(gaps)[:, [1, 3]]
    added = without[0] - linear.intercept_[0] - (filled @ linear.coef_[0, [1, 3]]).mean()
    label, below = display.ax_.get_xlabel().split("\n")
    assert label == "feature 2"
    assert below == f"Where it is missing: {added:+.3g}."
    with pytest.raises(ValueError, match="column='d' is not one of the model's columns: 1, 2, 3"):
        plots.ShapeDisplay.from_estimator(model, X, y, "d")
    straight = make_pipeline(StandardScaler(), AUCClassifier(0.01, positive="fraud")).fit(X, y)
    for line in (straight, straight[-1]):
        with pytest.raises(
            ValueError, match="column='2' has no shape to draw: its effect is a straight"
        ):
            plots.ShapeDisplay.from_estimator(line, X, y, 2)


def test_the_shape_of_a_pair_is_a_map():
    rng = np.random.default_rng(0)
    table = pandas.DataFrame(
        {"age": rng.integers(20, 23, 400), "city": rng.choice(["A", "B"], 400)}
    )
    y = (table.age > 21) == (table.city == "A")
    model = AdditiveAUCClassifier([("age", "city")], losses=("square",), cv=2).fit(table, y)
    display = plots.ShapeDisplay.from_estimator(model, table, y, "age × city")
    shape = shape_of(model, table, y, "age × city")
    labels = [[label.get_text() for label in axis.get_ticklabels()]
              for axis in (display.ax_.xaxis, display.ax_.yaxis)]  # fmt: skip
    assert labels == [["20", "21", "22"], shape.values[1].tolist()[::-1]]
    raises, lowers = display.ax_.collections
    assert len(raises.get_paths()) == np.count_nonzero(shape.added > 0)
    assert len(lowers.get_paths()) == np.count_nonzero(shape.added < 0)
    opacity = np.concatenate([raises.get_facecolor(), lowers.get_facecolor()])[:, 3]
    expected = np.sort(np.abs(shape.added).ravel())
    assert np.sort(opacity) == pytest.approx(expected / expected[-1])
    assert [*display.lines_] == ["raises the score", "lowers the score"]
    assert display.ax_.get_xlabel().startswith("age\nA larger box means more rows")


def test_effects_without_intervals_say_why(data):
    X, y, model = data
    with_intervals = plots.EffectsDisplay.from_estimator(model, X, y)
    assert with_intervals.ax_.get_xlabel() == "effect on the score"
    wide = np.random.default_rng(0).normal(size=(len(y), 1001))
    fitted = AUCClassifier(solver="conjugate_gradient").fit(wide, y)
    display = plots.EffectsDisplay.from_estimator(fitted, wide, y)
    first, *below = display.ax_.get_xlabel().split("\n")
    assert first == "effect on the score"
    assert " ".join(below) == effects(fitted, wide, y).note
    assert "up to 1,000 features" in " ".join(below)
    assert max(map(len, below)) <= 60


def test_displays_of_models(data):
    X, y, model = data
    display = plots.EffectsDisplay.from_estimator(model, X, y, feature_names=["a", "b", "c"])
    assert [text.get_text() for text in display.ax_.get_yticklabels()] == ["a", "b", "c"]
    assert display.ax_.get_legend() is None
    search = AUCClassifierCV(
        alphas=[0.01, 0.1], losses=("square",), standardize=(0.5, 1.0), positive="fraud"
    ).fit(X, y)
    path = plots.AlphaPathDisplay.from_estimator(search)
    assert list(path.lines_) == ["square, standardize 0.5", "square, standardize 1"]
    assert path.lines_["square, standardize 1"].get_xdata().tolist() == [0.01, 0.1]
    best = max(line.get_ydata().max() for line in path.lines_.values())
    assert best == pytest.approx(np.nanmax(search.auc_path_.mean(axis=0)))
    with pytest.raises(ValueError, match="vrspam kept no history"):
        plots.ConvergenceDisplay.from_estimator(AUCClassifier(0.1, solver="vrspam").fit(X, y))
    with pytest.raises(ValueError, match="kept no history; fit AUCClassifier and HingeClassifier"):
        plots.ConvergenceDisplay.from_estimator(search)
    told = {
        name: AUCClassifier(0.1, solver=name, callback=lambda state: None).fit(X, y)
        for name in ("spam", "vrspam")
    }
    both = plots.ConvergenceDisplay.from_estimator(told)
    assert list(both.lines_) == ["spam", "vrspam"]
    assert both.ax_.get_yscale() == "log"


def test_a_fitted_model_shows_its_card(data):
    X, y, model = data
    assert "aucmax-card" not in AUCClassifier()._repr_html_()
    shown = model._repr_html_()
    assert shown == shown.replace("http://", "")
    for words in ("fraud above fair", "optimality", "effects", "sk-top-container"):
        assert words in shown
    assert f"{np.count_nonzero(y == 'fraud')} fraud, {np.count_nonzero(y == 'fair')} fair" in shown
    assert "aucmax-card" in model._repr_mimebundle_()["text/html"]
    with config_context(display="text"):
        assert not hasattr(model, "_repr_html_")
    search = AUCClassifierCV(losses=("square",), alphas=[0.1], standardize=(0.5,)).fit(X, y)
    assert f"{search.best_score_:.4f} (" in search._repr_html_()
    assert "standardize 0.5, alpha 0.1" in search._repr_html_()
    hinge = HingeClassifier(solver="pegasos", l1_ratio=0.0).fit(X, y)
    assert "solver" in hinge._repr_html_()
    stream = AUCClassifier(solver="spam").partial_fit(X, y, classes=["fair", "fraud"])
    assert "nan" not in stream._repr_html_().split("<style>")[0]


def test_a_model_of_several_classes_shows_its_card():
    X, y = load_wine(return_X_y=True, as_frame=True)
    model = MulticlassAUCClassifier()
    assert "aucmax-card" not in model._repr_html_()
    card = model.fit(X, y)._repr_html_().split("<style>")[0]
    for words in ("0 (59 rows), 1 (71 rows), 2 (48 rows)", "3, of each class against the rest"):
        assert words in card
    for k, coef in enumerate(model.coef_):
        assert f"{k}: {X.columns[np.argmax(np.abs(coef))]}" in card
    rows = MulticlassAUCClassifier(AUCClassifier(loss="logistic"), "ovo").fit(X[:130], y[:130])
    card = rows._repr_html_().split("<style>")[0]
    assert "1, of each two classes" in card
    assert "loss logistic" in card
    assert f"1: {X.columns[np.argmax(np.abs(rows.coef_[0]))]}" in card


def test_a_scorecard_shows_its_card():
    rng = np.random.default_rng(0)
    X = pandas.DataFrame(rng.normal(size=(600, 2)), columns=["<b>a", "noise"])
    y = np.where(X["<b>a"] + rng.normal(size=600) > 1, "bad", "good")
    model = Scorecard(positive="bad", pdo=30)
    assert "aucmax-card" not in model._repr_html_()
    shown = model.fit(X, y)._repr_html_()
    card = shown.split("<style>")[0]
    assert f"{(y == 'bad').sum()} bad, {(y == 'good').sum()} good" in card
    fewest, most = (sum(end(p) for p in model.points_) for end in (min, max))
    assert f"{fewest:,.0f} to {most:,.0f}; 600 at odds of 50 to 1, 30 more" in card
    assert "&lt;b&gt;a" in card
    assert "<b>" not in card


def test_a_card_escapes_what_users_chose(data):
    X, y, _ = data
    frame = pandas.DataFrame(X, columns=["<b>a", "b", "c"])
    shown = AUCClassifier(0.01).fit(frame, np.where(y == "fraud", "<i>x", "<i>w"))._repr_html_()
    card = shown[: shown.index("<style>")]
    assert "&lt;b&gt;a" in card
    assert "<b>" not in card
    assert "<i>" not in card
