"""Additive models that are chosen on some rows and fitted to all."""

from itertools import pairwise

import numpy as np
import pytest

from acting_together import patients
from aucmax import AdditiveAUCClassifier, AUCClassifier, Source, datasets, load
from aucmax.estimators.many_rows import ManyRows, labelled_table
from aucmax.estimators.pair_rows import ScoredPairs
from aucmax.statistics.pair_sums import PairSums


@pytest.fixture(scope="module")
def rows():
    X, y = patients(0, 2400)
    weight = np.random.default_rng(1).integers(0, 3, len(y)) / 2
    return X, y, weight


def trained(X, y=None, weight=None, loss="square", **more):
    fixed = {"losses": [loss], "cv": 3, "positive": "sick", "shape": "interactions"}
    more = {"interactions": 2, "search_rows": 800, "n_knots": 9, "tol": 1e-9} | fixed | more
    return AdditiveAUCClassifier(**more).fit(X, y, weight)


def scores_of_all(model, X, y, weight, loss):
    """The scores by a plain fit to all rows, in the coordinates of the prior, up to a constant."""
    Z = model.best_estimator_[0].transform(X) @ model.best_estimator_[0].coordinates()
    plain = AUCClassifier(1.0, loss=loss, standardize=0.0, tol=1e-12, positive="sick")
    return plain.fit(Z.toarray(), y, weight).decision_function(Z.toarray())


@pytest.mark.parametrize(("loss", "accuracy"), [("square", 1e-9), ("logistic", 1e-3)])
def test_the_model_is_that_of_all_rows(rows, loss, accuracy):
    model = trained(*rows, loss=loss)
    assert model.loss_ == loss
    apart = model.decision_function(rows[0]) - scores_of_all(model, *rows, loss)
    assert np.ptp(apart) < accuracy
    ends = [0, 700, 701, 2400]
    parts = [slice(*at) for at in pairwise(ends)]
    source = Source([lambda at=at: tuple(of[at] for of in rows) for at in parts])
    of_source = trained(source, loss=loss)
    assert of_source.interactions_ == model.interactions_
    apart = of_source.decision_function(rows[0]) - model.decision_function(rows[0])
    assert np.ptp(apart) < accuracy


def test_the_columns_of_a_file_have_their_names(rows, tmp_path):
    table = rows[0][["dose", "age"]].assign(sick=rows[1] == "sick").dropna()
    table.to_csv(tmp_path / "rows.csv", index=False)
    source = datasets.scan(tmp_path / "rows.csv", target="sick")
    model = AdditiveAUCClassifier([("dose", "age")], losses=["square"], cv=3).fit(source)
    assert model.feature_names_in_.tolist() == ["dose", "age"]
    assert model.interactions_ in ([("dose", "age")], [])
    reordered = table[["sick", "age", "dose"]]
    numbers = table[["dose", "age"]].to_numpy()
    assert np.array_equal(model.decision_function(reordered), model.decision_function(numbers))


def test_all_rows_have_the_gains_by_which_pairs_are_chosen(rows):
    X, y, weight = rows
    model = trained(X, y, weight)
    assert model.interactions_[0] == ("age", "dose")
    assert (np.diff(model.gains_) <= 0).all()
    # at any curves: the gains of pairs over all rows in memory
    features = model.best_estimator_[0].with_pairs(())
    coef = np.random.default_rng(2).normal(size=features.n_features) / 10
    every = ManyRows(labelled_table(X, y, weight, None, "sick"), "positives")
    pairs = np.array([(0, 1), (1, 2), (2, 3)])
    (found,) = every.gains([ScoredPairs(features, coef, pairs, (False, True))], 0.02)
    counted = weight > 0
    cells, sizes = features.map_places(X[counted]).nearest(), features.n_places
    s, sick, w = features.transform(X[counted]) @ coef, y[counted] == "sick", weight[counted]
    expected = PairSums.of(cells, sizes, pairs, sick, w, s).gains(0.02)
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_a_sample_has_rows_that_weigh_and_most_of_the_rarer_class(rows):
    X, y, weight = rows
    every = ManyRows(labelled_table(X, y, weight, None, "sick"), "positives")
    places, drawn = every.sample(600)
    assert (weight[places] > 0).all()
    assert drawn.positive.sum() == pytest.approx(300, abs=20)
    assert np.array_equal(drawn.positive, (y == "sick")[places])
    assert drawn.X.equals(X.iloc[places])


def test_alphas_are_those_of_all_rows(rows):
    """Half the rows of the rarer class want twice the α, unless it is given for all."""
    X, y, _ = rows
    for alphas in ([0.04], [0.01, 0.04]):
        assert np.isclose(trained(X, y, alphas=alphas).alphas_[:, None], alphas).any(axis=1).all()
    places, drawn = ManyRows(labelled_table(X, y, None, None, "sick"), "positives").sample(800)
    alone = trained(drawn.X, y[places], search_rows=10_000)
    share = drawn.rarest / (y == "sick").sum()
    np.testing.assert_allclose(trained(X, y).alphas_, share * alone.alphas_)


def test_folds_and_groups_of_all_rows_hold_for_the_sample(rows):
    X, y, _ = rows
    half = np.arange(len(y)) < 1200
    folds = [(np.flatnonzero(half), np.flatnonzero(~half))]
    model = trained(X, y, cv=folds, probability="sigmoid")
    assert model.auc_path_.shape[0] == 1
    assert model.predict_proba(X)[:, 1].mean() == pytest.approx((y == "sick").mean(), abs=0.06)
    with pytest.raises(ValueError, match="no labels"):
        trained(Source([lambda: X]))


def test_train_bends_a_file_in_parts(tmp_path, good, run):
    X, y = patients(0, 20_000)
    X.assign(state=y).to_csv(tmp_path / "rows.csv", index=False)
    train = ("train", tmp_path / "rows.csv", "--target", "state", "--memory", "3MB", "-o")
    code, report, err = run(*train, tmp_path / "m", "--shape", "interactions", "--loss", "square")
    assert code == 0
    assert "is read in parts" in err
    assert "of the rows" in report
    model = load(tmp_path / "m")
    read = X.astype({"vip": bool})
    apart = model.decision_function(read) - scores_of_all_by(model, read, y)
    assert np.ptp(apart) < 1e-8
    assert "AUC" in good("evaluate", tmp_path / "m", tmp_path / "rows.csv")


def scores_of_all_by(pipeline, X, y):
    features = pipeline[0]
    Z = (features.transform(X) @ features.coordinates()).toarray()
    return AUCClassifier(1.0, standardize=0.0, positive="sick").fit(Z, y).decision_function(Z)


@pytest.mark.parametrize("loss", ["square", pytest.param("logistic", marks=pytest.mark.exhaustive)])
def test_scores_of_many_rows_are_monotone(rows, loss):
    """Age alone says nothing: without the trend the score falls with it where the dose is low."""
    X = rows[0][:60]
    model = trained(*rows, loss=loss, monotone={"age": 1})
    assert ("age", "dose") in model.interactions_
    assert 0.0 <= model.optimality_ < 1e-6
    falls = []
    for of_rows in (model, trained(*rows, loss=loss)):
        along = [of_rows.decision_function(X.assign(age=age)) for age in np.linspace(20, 80, 31)]
        falls.append(np.diff(along, axis=0).min())
    assert falls[1] < -0.1 < -1e-12 < falls[0]


def test_pairs_of_many_rows_follow_no_trend(rows):
    with pytest.raises(ValueError, match="only with the square or logistic loss"):
        trained(*rows, loss="squared_hinge", monotone={"age": 1})
