"""Streams that learn the curves and maps of a model anew, batch by batch."""

import json

import numpy as np
import pandas as pd
import pytest

from aucmax import AdditiveAUCClassifier, load, save
from aucmax.estimators.written_steps import as_text
from aucmax.streams.prepared import Prepared


def visits(seed, n):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({
        "age": rng.normal(50, 10, n).round(2),
        "dose": rng.normal(size=n).round(4),
        "vip": rng.random(n) < 0.3,
        "city": rng.choice(["Bonn", "Kiel", "Ulm"], n).astype(object),
        "at": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 9000, n), "h"),
    })  # fmt: skip
    score = (frame.age - 50) / 10 * frame.dose + frame.vip + rng.normal(size=n)
    frame.loc[::9, "dose"] = np.nan
    return frame.assign(state=np.where(score > 1.0, "sick", "well"))


@pytest.fixture(scope="module")
def model():
    table = visits(0, 400)
    pairs = [("age", "dose"), ("city", "vip"), ("at: hour", "city")]
    settings = {"losses": ["square"], "cv": 3, "positive": "sick", "alphas": [0.01, 0.03]}
    X = table.drop(columns="state")
    return AdditiveAUCClassifier(pairs, **settings, n_knots=9).fit(X, table.state)


@pytest.fixture
def files(model, tmp_path):
    save(model, tmp_path / "model")
    table = visits(1, 300)
    table.loc[3, "city"] = "Rome"
    table.to_csv(tmp_path / "rows.csv", index=False)
    return table, tmp_path


def test_a_row_of_text_has_the_features_of_its_table(model, files):
    table, folder = files
    table = table.drop(columns="state")
    features = model.best_estimator_[0]
    prepared = Prepared(as_text([("features", features)]))
    lines = (folder / "rows.csv").read_text().splitlines()
    header, *cells = [line.split(",")[:-1] for line in lines]
    rows = [prepared.features(dict(zip(header, row, strict=True))) for row in cells]
    assert not any(unfit for _, unfit in rows)
    names = features.get_feature_names_out()
    found = np.array([[row.get(name, 0.0) for name in names] for row, _ in rows])
    np.testing.assert_array_equal(found, features.transform(table).toarray())


def test_the_model_of_a_stream_is_that_of_its_moments(files, good, run):
    _, folder = files
    like = ("--target", "state", "--like", folder / "model", "-o")
    stream = ("stream", folder / "rows.csv", "--positive", "sick")
    assert run(*stream, *like, folder / "streamed")[0] == 0
    good("moments", "build", folder / "rows.csv", *like, folder / "moments", "--min-rows", 1)
    fit = ("moments", "fit", folder / "moments", "--positive", "sick", "-o", folder / "fitted")
    good(*fit)
    streamed, fitted = (load(folder / name) for name in ("streamed", "fitted"))
    np.testing.assert_allclose(streamed[-1].coef_, fitted[-1].coef_, rtol=1e-8, atol=1e-10)
    assert run(*stream, *like, folder / "streamed", "--alpha", 0.5, "--half-life", 100)[0] == 0
    good(*fit, "--alpha", 0.5)
    forgetful, fitted = (load(folder / name)[0] for name in ("streamed", "fitted"))
    np.testing.assert_array_equal(forgetful.alphas_, fitted.alphas_)


def test_the_positive_label_and_the_target_are_those_of_the_model(files, good, run):
    """Also where it is the more frequent one, with strata, and from moments of moments."""
    table, folder = files
    rows = pd.concat([table[table.state == "sick"], table[table.state == "well"].iloc[:30]])
    assert (rows.state == "sick").sum() > 30
    rows = rows.sample(frac=1, random_state=0).assign(day=np.arange(len(rows)) // 20)
    rows.to_csv(folder / "part.csv", index=False)
    part, fit = folder / "part.csv", ("moments", "fit", folder / "m", "-o", folder / "fitted")
    for strata in ((), ("--strata", "day")):
        good("moments", "build", part, "--like", folder / "model", *strata,
             "-o", folder / "first", "--min-rows", 1)  # fmt: skip
        good("moments", "build", part, "--like", folder / "first", *strata,
             "-o", folder / "m", "--min-rows", 1)  # fmt: skip
        assert "sick, against well" in (text := " ".join(good(*fit).split()))
        assert "as in the model of --like" in text
        for like in ("model", "m"):
            stream = ("stream", part, *strata, "--like", folder / like, "-o", folder / "streamed")
            code, _, err = run(*stream)
            assert (code, "note: the positive label is sick" in err) == (0, True)
            models = [load(folder / name)[-1] for name in ("fitted", "streamed")]
            assert [model.classes_.tolist() for model in models] == 2 * [["well", "sick"]]
            coefs = [model.coef_ for model in models]
            np.testing.assert_allclose(*coefs, rtol=1e-8, atol=1e-10)


def test_curves_and_maps_are_learnt_within_strata_too(files, good, run):
    table, folder = files
    path = folder / "days.csv"
    table.assign(day=[f"day {i // 12}" for i in range(len(table))]).to_csv(path, index=False)
    like = ("--target", "state", "--strata", "day", "--like", folder / "model", "-o")
    assert run("stream", path, "--positive", "sick", *like, folder / "streamed")[0] == 0
    good("moments", "build", path, *like, folder / "moments", "--min-rows", 1)
    good("moments", "fit", folder / "moments", "--positive", "sick", "-o", folder / "fitted")
    streamed, fitted = (load(folder / name) for name in ("streamed", "fitted"))
    np.testing.assert_allclose(streamed[-1].coef_, fitted[-1].coef_, rtol=1e-8, atol=1e-10)
    assert streamed[-1].strata_ == fitted[-1].strata_
    assert streamed[-1].strata_.words.startswith("day: 25 strata")


def test_a_stream_that_forgets_weighs_its_rows(model, files, run):
    table, folder = files
    like = ("--target", "state", "--like", folder / "model", "-o", folder / "streamed")
    stream = ("stream", folder / "rows.csv", "--half-life", 100, "--positive", "sick")
    assert run(*stream, *like)[0] == 0
    weight = 0.5 ** (np.arange(len(table))[::-1] / 100)
    features = model.best_estimator_[0]
    X, y = table.drop(columns="state"), table.state
    Z = features.transform(X).toarray() @ features.coordinates()
    sick = (y == "sick").to_numpy()
    means = [np.average(Z[rows], axis=0, weights=weight[rows]) for rows in (sick, ~sick)]
    gap = means[0] - means[1]
    spread = sum(np.cov(Z[r], rowvar=False, bias=True, aweights=weight[r]) for r in (sick, ~sick))
    u = np.linalg.solve(spread + np.outer(gap, gap) + np.eye(len(gap)), gap)
    apart = load(folder / "streamed").decision_function(X) - Z @ u
    assert np.ptp(apart) < 1e-9


def test_a_state_goes_on_with_its_features_and_alphas(files, good, bad, run):
    _, folder = files
    lines = (folder / "rows.csv").read_bytes().splitlines(keepends=True)
    (folder / "first.csv").write_bytes(b"".join(lines[:150]))
    more = ("--target", "state", "--every", 50, "--state")
    like = ("--like", folder / "model")
    for file, state in (("rows.csv", "whole"), ("first.csv", "parts")):
        assert run("stream", folder / file, *more, folder / state, *like)[0] == 0
    (folder / "first.csv").write_bytes(b"".join(lines))
    report = good("stream", folder / "first.csv", *more, folder / "parts", "--json")
    assert json.loads(report.splitlines()[-1])["optimality"] < 1e-9
    assert (folder / "parts").read_bytes() == (folder / "whole").read_bytes()
    args = ("stream", folder / "rows.csv", "--target", "state", *like, "--learner", "spam")
    assert "curves and maps are learnt only from moments" in bad(*args)
