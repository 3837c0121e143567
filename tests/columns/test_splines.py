"""SplineFeatures: bends beside columns, which models of ours take, save and export."""

import json
import warnings

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import scipy.sparse as sp
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import SplineTransformer
from sklearn.utils.estimator_checks import parametrize_with_checks

from aucmax import AUCClassifier, load, metrics, save, to_onnx, to_sql
from aucmax.additive import SplineFeatures
from exported import run_onnx, run_sql


def rows(n=400, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "bent": rng.normal(size=n),
            "two": rng.integers(0, 2, n).astype(float),
            "often": np.where(rng.random(n) < 0.7, 0.0, rng.exponential(size=n)),
        }
    )
    y = np.abs(frame["bent"]) + frame["two"] + rng.normal(size=n) > 1.8
    return frame, y.to_numpy().astype(int)


FRAME, Y = rows()
OTHER = rows(200, seed=1)[0] * 1.5  # beyond the knots, too


@parametrize_with_checks([SplineFeatures()])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_the_splines_are_those_of_scikit_learn_on_the_same_knots():
    x = np.sort(np.random.default_rng(0).normal(size=(300, 1)), axis=0)
    ours = SplineFeatures(n_knots=7).fit(x)
    knots = np.linspace(-2, 2, 9)
    ours.knots_ = [knots]
    found = ours.transform(x)
    assert np.array_equal(found[:, 0], x[:, 0])
    # other basis, same functions: those of one are combinations of the other's
    theirs = SplineTransformer(knots=knots[:, None], extrapolation="constant").fit_transform(x)
    assert found.shape[1] == theirs.shape[1]  # ours has no constant, but the column
    with_constant = np.column_stack([found[:, 1:], np.ones(len(x))])
    best = np.linalg.lstsq(with_constant, theirs, rcond=None)[0]
    np.testing.assert_allclose(with_constant @ best, theirs, atol=1e-10)


def test_columns_of_few_values_stay_and_knots_do_not_repeat():
    splines = SplineFeatures(n_knots=10).fit(FRAME)
    assert [len(knots) > 0 for knots in splines.knots_] == [True, False, True]
    assert 2 < len(splines.knots_[2]) < 10  # seven in ten values are 0
    names = splines.get_feature_names_out()
    assert names[:3].tolist() == FRAME.columns.tolist()
    assert names[3] == "bent_sp0"
    found = splines.transform(OTHER)
    assert found.shape == (200, len(names))
    assert np.isfinite(found).all()


def test_dense_sparse_and_framed_rows_give_the_same():
    wanted = SplineFeatures().fit(FRAME).transform(OTHER)
    for kind in (sp.csr_matrix, sp.csc_array):
        found = SplineFeatures().fit(kind(FRAME.to_numpy())).transform(kind(OTHER.to_numpy()))
        assert sp.issparse(found)
        np.testing.assert_array_equal(found.toarray(), wanted)
    table = pa.Table.from_pandas(OTHER)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = SplineFeatures().fit(pa.Table.from_pandas(FRAME))
    np.testing.assert_array_equal(fitted.transform(table), wanted)


def test_a_model_of_splines_bends_and_is_exact_and_goes_elsewhere(tmp_path):
    line = AUCClassifier(alpha=0.001).fit(FRAME, Y)
    model = make_pipeline(SplineFeatures(), AUCClassifier(alpha=0.001)).fit(FRAME, Y)
    assert model[-1].solver_ == "exact"
    assert model[-1].optimality_ < 1e-10
    aucs = [metrics.roc_auc(Y, one.decision_function(FRAME)) for one in (line, model)]
    assert aucs[0] < 0.75 < 0.82 < aucs[1]
    save(model, tmp_path / "m")
    again = load(tmp_path / "m")
    wanted = model.decision_function(OTHER)
    np.testing.assert_array_equal(again.decision_function(OTHER), wanted)
    np.testing.assert_allclose(run_onnx(to_onnx(again), OTHER)[0], wanted, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(run_sql(to_sql(again), OTHER), wanted, rtol=1e-9, atol=1e-9)


def test_a_strong_penalty_of_bends_leaves_lines():
    """What bends is a feature of its own: without it the column's line is still there."""
    splines = SplineFeatures().fit(FRAME)
    model = AUCClassifier(alpha=0.01).fit(splines.transform(FRAME), Y)
    model.coef_[:, 3:] = 0
    found = model.decision_function(splines.transform(OTHER)) - model.intercept_
    np.testing.assert_allclose(found, OTHER.to_numpy() @ model.coef_[0, :3])


@pytest.mark.parametrize(
    ("settings", "said"),
    [({"n_knots": 2}, "n_knots=2 must be"), ({"degree": 0.5}, "degree=0.5 must be")],
)
def test_bad_settings(settings, said):
    with pytest.raises(ValueError, match=said):
        SplineFeatures(**settings).fit(FRAME)


@pytest.mark.parametrize(
    ("knot", "fault"),
    [
        (np.inf, "its knots hold NaN or infinite numbers"),
        (-1e9, "its knots are not ascending"),
    ],
)
def test_knots_that_no_fit_leaves_are_not_saved(tmp_path, knot, fault):
    model = make_pipeline(SplineFeatures(), AUCClassifier()).fit(FRAME, Y)
    model[0].knots_[0][1] = knot
    with pytest.raises(ValueError, match=fault):
        save(model, tmp_path / "m")


def test_the_commands_bend(run, tmp_path):
    frame = FRAME.assign(colour=np.where(Y + np.arange(400) % 3 > 1, "red", "blue"), y=Y)
    frame.loc[::7, "bent"] = np.nan
    frame.to_csv(tmp_path / "a.csv", index=False)
    for more in ((), ("--impute", "--one-hot", "--scale", "unit-norm")):
        path = tmp_path / f"{len(more)}.csv"
        (frame if more else frame.drop(columns="colour").dropna()).to_csv(path, index=False)
        options = (path, "--target", "y", "--splines", *more)
        code, _, err = run("train", *options, "--alpha", 0.01, "-o", tmp_path / "m")
        assert (code, err) == (0, "")
        code, out, err = run("evaluate", tmp_path / "m", path, "--json")
        assert code == 0, err
        assert json.loads(out)["scorers"][0]["auc"] > 0.8
        code, out, _ = run("show", tmp_path / "m", "--top", 100)
        assert "bent_sp0" in out
    pd.concat([frame.drop(columns="colour").dropna()] * 40).to_csv(path, index=False)
    options = (path, "--target", "y", "--splines", "--memory", "1MB", "-o", tmp_path / "m")
    code, _, err = run("train", *options)
    assert code == 0
    assert "is read in parts" in err


@pytest.mark.usefixtures("undrawn")
def test_the_page_shows_how_columns_bend(run, tmp_path):
    frame = FRAME.assign(y=Y)
    frame.to_csv(tmp_path / "a.csv", index=False)
    data = (tmp_path / "a.csv", "--target", "y")
    assert run("train", *data, "--splines", "--alpha", 0.01, "-o", tmp_path / "bent")[0] == 0
    assert run("train", *data, "--alpha", 0.01, "-o", tmp_path / "line")[0] == 0
    assert run("scorecard", *data, "-o", tmp_path / "card")[0] == 0
    heading, weights = "How the score depends on each column", "What drives the score"
    for name, bends in (("bent", True), ("line", False), ("card", True)):
        html = tmp_path / f"{name}.html"
        code, _, err = run("evaluate", tmp_path / name, tmp_path / "a.csv", "--html", html)
        assert code == 0, err
        text = html.read_text(encoding="utf-8")
        assert (heading in text) == bends
        assert weights in text
        assert "Why the highest scores are high" in text


@pytest.mark.parametrize(
    "column",
    [1e-310 * np.arange(50), np.repeat([0.0, 5e-324, 1.0, 2.0, 3.0, 4.0], 9), np.arange(50) * 1e70],
    ids=["tiny", "two nearly equal", "large"],
)
def test_extreme_columns_have_finite_splines_or_none(column):
    X = np.column_stack([column, np.linspace(0, 1, len(column))])
    assert np.isfinite(SplineFeatures().fit_transform(X)).all()


def test_columns_too_large_for_splines_are_refused():
    with pytest.raises(ValueError, match=r"the values of feature 0 reach .* too large to compute"):
        SplineFeatures().fit(1e300 * np.arange(50.0)[:, None])
