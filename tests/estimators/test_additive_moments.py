"""Additive models of the moments of their features, in Python and from files."""

import json

import numpy as np
import pandas as pd
import pytest

from acting_together import patients
from aucmax import AdditiveAUCClassifier, ClassMoments, Source, load, save

pytestmark = pytest.mark.usefixtures("folds_drawn_once")

PAIRS = [("age", "dose"), ("city", "vip")]


@pytest.fixture(scope="module")
def rows():
    return [patients(seed, 500) for seed in range(3)]


def trained(X, y, pairs=PAIRS, **more):
    settings = {"losses": ["square"], "cv": 3, "positive": "sick", "alphas": [0.01, 0.03]}
    return AdditiveAUCClassifier(pairs, **settings, **more).fit(X, y)


@pytest.fixture
def model(rows):
    return trained(*rows[0])


def optimum(model, X, y, alphas):
    """The scores of X by the minimum of the square loss over pairs, up to a constant."""
    features = model.best_estimator_[0]
    Z = features.transform(X).toarray() @ features.roots() / np.sqrt(alphas[features.kinds()])
    gap = Z[y == "sick"].mean(axis=0) - Z[y == "well"].mean(axis=0)
    spread = sum(np.cov(Z[y == label], rowvar=False, bias=True) for label in ("sick", "well"))
    return Z @ np.linalg.solve(spread + np.outer(gap, gap) + np.eye(len(gap)), gap)


@pytest.mark.parametrize("alpha", [None, 0.2])
def test_moments_of_parts_give_the_fit_to_all_rows(rows, model, alpha):
    alphas = model.alphas_ * (1.0 if alpha is None else alpha / model.alphas_[0])
    model.fit_moments(sum((model.moments(*part) for part in rows), ClassMoments()), alpha)
    X, y = pd.concat([X for X, _ in rows]), np.concatenate([y for _, y in rows])
    apart = model.decision_function(X) - optimum(model, X, y, alphas)
    assert np.ptp(apart) < 1e-9
    np.testing.assert_allclose(model.alphas_, alphas)
    # maps are pure by the rows of the moments
    features, last = model.best_estimator_
    Z = features.transform(X)
    for block in features.blocks:
        if block.kind == 2:
            of_map = Z[:, block.features].multiply(last.coef_[0, block.features])
            i, j = (features.axes_[column].n_map for column in block.columns)
            sums = np.asarray(of_map.sum(axis=0)).reshape(i, j)
            np.testing.assert_allclose(sums.sum(axis=0), 0.0, atol=1e-9)
            np.testing.assert_allclose(sums.sum(axis=1), 0.0, atol=1e-9)


def test_moments_forget_and_come_from_sources(rows, model):
    total = model.moments(*rows[0]) + model.moments(*rows[1])
    source = Source([lambda k=k: rows[k] for k in (0, 1)])
    np.testing.assert_allclose(model.moments(source).covs, total.covs, atol=1e-12)
    rest = model.fit_moments(total - model.moments(*rows[1])).decision_function(rows[2][0])
    alone = model.fit_moments(model.moments(*rows[0])).decision_function(rows[2][0])
    np.testing.assert_allclose(rest, alone, atol=1e-8)


def test_moments_of_other_features_are_refused(rows, model):
    with pytest.raises(ValueError, match="column 'age' was prepared differently"):
        model.fit_moments(trained(*rows[1]).moments(*rows[1]))
    with pytest.raises(ValueError, match="only one of the two has a map of 'vip × city'"):
        model.fit_moments(trained(*rows[0], pairs=PAIRS[:1]).moments(*rows[0]))
    with pytest.raises(ValueError, match="moments of 4 features, and the model has"):
        model.fit_moments(ClassMoments.from_data(np.eye(8, 4), [0, 1] * 4))


@pytest.fixture
def files(rows, model, tmp_path, good):
    save(model, tmp_path / "model")
    for k, (X, y) in enumerate(rows):
        X.assign(state=y).to_csv(tmp_path / f"{k}.csv", index=False)
        build = ("moments", "build", tmp_path / f"{k}.csv", "--target", "state", "-o")
        good(*build, tmp_path / str(k), "--like", tmp_path / ("0" if k == 2 else "model"))
    return tmp_path


@pytest.mark.usefixtures("undrawn")
def test_files_merge_and_fit(rows, model, files, good):
    good("moments", "merge", *(files / str(k) for k in range(3)), "-o", files / "all")
    report = json.loads(good("moments", "fit", files / "all", "-o", files / "m", "--json"))
    assert [*report["alphas"].values()] == model.alphas_.tolist()
    expected = model.fit_moments(sum((model.moments(*part) for part in rows), ClassMoments()))
    found = load(files / "m")
    X = rows[1][0]
    np.testing.assert_allclose(
        found.decision_function(X), expected.decision_function(X), rtol=1e-9, atol=1e-12
    )
    scored = good("score", files / "m", files / "1.csv", "--reasons", 2)
    assert "age = " in scored
    assert " with dose = " in scored
    page = files / "page.html"
    good("evaluate", files / "m", files / "1.csv", "--html", page)
    assert "age × dose" in page.read_text()


def test_files_of_other_maps_are_refused(rows, files, bad, good):
    save(trained(*rows[0], pairs=PAIRS[:1]), files / "other")
    build = ("moments", "build", files / "1.csv", "--target", "state", "-o", files / "x")
    good(*build, "--like", files / "other")
    message = bad("moments", "merge", files / "0", files / "x", "-o", files / "both")
    assert "only one of the two has a map of 'vip × city'" in message
    message = bad("moments", "fit", files / "0", "--l1-ratio", 0.5, "-o", files / "m")
    assert "--l1-ratio is for linear models" in message


def test_sites_choose_one_factor_of_all_alphas(model, files, good):
    sites = [files / str(k) for k in range(3)]
    report = json.loads(good("moments", "fit", *sites, "-o", files / "m", "--json"))
    found = np.array([*report["alphas"].values()])
    np.testing.assert_allclose(found / found[0], model.alphas_ / model.alphas_[0])
    np.testing.assert_array_equal(load(files / "m")[0].alphas_, found)
    # each site is judged by the model of the others, at the chosen α
    left_out = [ClassMoments.load(path) for path in sites]
    total = sum(left_out[1:], ClassMoments())
    model.fit_moments(total, found[0])
    w, held_out = model.best_estimator_[-1].coef_[0], left_out[0]
    assert report["within"] == 0.5
    loss = 0.5 * (1 + w @ (held_out.mean_pos - held_out.mean_neg)) ** 2
    loss += 0.5 * w @ (held_out.cov_pos + held_out.cov_neg) @ w
    assert report["sites"][0]["held_out_loss"] == pytest.approx(loss, rel=1e-9)


def test_moments_keep_no_trend(rows):
    model = trained(*rows[0], monotone={"age": 1})
    with pytest.raises(ValueError, match="the score of this model is monotone in 'age', and a fit"):
        model.fit_moments(model.moments(*rows[0]))
