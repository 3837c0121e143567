"""AUCRanker: rows of many degrees, against every pair of rows whose order is known."""

import re

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from onnx.reference import ReferenceEvaluator
from sklearn.utils.estimator_checks import parametrize_with_checks

from aucmax import (
    AUCClassifier,
    AUCRanker,
    Source,
    load,
    metrics,
    penalties,
    save,
    solvers,
    to_onnx,
    to_sql,
)
from aucmax.data.degrees import Degrees
from aucmax.data.rows import as_rows
from aucmax.data.strata import Strata
from aucmax.objective import Objective
from aucmax.objective.compared import ComparedProblem
from aucmax.objective.losses import LOSSES
from aucmax.objective.penalties import L2
from aucmax.statistics import compared
from literal import equal
from oracles.compared import Compared
from oracles.pairs import l2_optimum

each_loss = pytest.mark.parametrize("loss", ["square", "squared_hinge"])
each_kind = pytest.mark.parametrize("kind", ["grades", "amounts", "times"])
each_mode = pytest.mark.parametrize("by", [None, "pairs", "positives", "strata"])
each_grading = pytest.mark.parametrize("grades", ["equal", "difference"])
N, D = 45, 4


def sample(kind, seed=0, n=N):
    """Return rows, labels with ties, weights, some of them 0, and strata, one without pairs."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, D)) * [1.0, 3.0, 0.2, 1.0]
    X[rng.random((n, D)) < 0.3] = 0.0
    value = X @ [1.0, -0.5, 2.0, 0.0] + rng.normal(size=n)
    y = np.round(value) if kind == "grades" else value
    if kind == "times":
        y = np.empty(n, dtype=[("event", bool), ("time", float)])
        y["event"], y["time"] = rng.random(n) < 0.6, np.round(np.exp(-0.5 * value), 1)
    weight = rng.choice([0.0, 0.5, 1.0, 3.0], n)
    stratum = np.where(np.arange(n) == 0, 9, rng.integers(0, 4, n))
    return X, y, weight, stratum


def problem_of(X, y, weight, stratum, by, grades):
    strata = None if by is None else Strata.of(stratum, len(y), by)
    return ComparedProblem.among(as_rows(X), Degrees.of(y), weight, strata, grades)


def literal(X, y, weight, stratum, by, grades, gamma=0.0):
    known = {} if by is None else {"stratum": stratum, "by": by}
    return Compared(X, y, weight, gamma, grades=grades, **known)


@pytest.mark.covering
@each_kind
@each_mode
@each_grading
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "csr"])
@pytest.mark.parametrize("cells", [1, 10 * D, 1 << 20])
def test_values_and_derivatives_are_those_of_all_pairs(monkeypatch, kind, by, grades, form, cells):
    monkeypatch.setattr(compared, "BLOCK_CELLS", cells)  # rows that come in one or in many blocks
    X, *of_rows = sample(kind)
    problem = problem_of(form(X), *of_rows, by, grades)
    pairs = literal(X, *of_rows, by, grades)
    rng = np.random.default_rng(1)
    for name, loss in LOSSES.items():
        if name not in ("square", "squared_hinge"):
            continue
        goal = Objective(problem, loss, L2(0.1))
        for w in (np.zeros(D), 0.3 * rng.normal(size=D), 30.0 * rng.normal(size=D)):
            value, gradient = goal.data_term(w)
            assert value == pytest.approx(pairs.data_term(w, name), rel=1e-10, abs=1e-12)
            expected = pairs.gradient(w, name)
            np.testing.assert_allclose(gradient, expected, atol=1e-10 * (1 + abs(expected).max()))
            at_w = goal.at(problem.scores(w))
            assert at_w.value == pytest.approx(value, rel=1e-10, abs=1e-12)
            bent = pairs.hessian(w, name)
            if np.abs(bent).max() > 1e-3:
                equal(goal.bend_matrix(at_w), bent, 1e-10)
    delta = pairs.q @ pairs.D
    equal(problem.moments().mean_pos - problem.moments().mean_neg, delta, 1e-10)
    equal(problem.within + np.outer(delta, delta), pairs.hessian(), 1e-10)


@pytest.mark.covering
@each_kind
@each_mode
@each_grading
@each_loss
@pytest.mark.parametrize("gamma", [0.0, 0.5])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_fit_is_the_optimum_over_all_pairs(kind, by, grades, loss, gamma, weighted):
    X, y, weight, stratum = sample(kind, seed=2)
    weight = weight if weighted else np.ones(N)
    pairs = literal(X, y, weight, stratum, by, grades, gamma)
    settings = {"loss": loss, "grade_weight": grades, "standardize": gamma, "tol": 1e-12}
    if by is not None:
        settings["strata_weight"] = by
    ranker = AUCRanker(0.01, **settings)
    ranker.fit(X, y, weight if weighted else None, None if by is None else stratum)
    best = l2_optimum(pairs, 0.01, loss)
    # the squared hinge's is an optimum to 1e-12 of J, and so to 1e-6 in w
    equal(ranker.coef_[0], pairs.to_features(best), {"square": 1e-9, "squared_hinge": 1e-6}[loss])
    assert ranker.objective_ == pytest.approx(pairs.objective(best, 0.01, 0.0, loss), rel=1e-9)
    assert ranker.optimality_ < 1e-9
    at_zero = 0.5 - pairs.objective(best, 0.01, 0.0, loss)
    loose = AUCRanker(0.01, **(settings | {"tol": 1e-2}))
    loose.fit(X, y, weight if weighted else None, None if by is None else stratum)
    true = loose.objective_ - pairs.objective(best, 0.01, 0.0, loss)
    assert true / at_zero <= loose.optimality_ + 1e-10


@each_loss
@pytest.mark.parametrize("solver", ["auto", "other"])
def test_sparse_and_bounded_coefficients_are_optimal(loss, solver):
    X, y, weight, _ = sample("amounts", n=80)
    pairs = Compared(X, y, weight)
    name = {"square": "coordinate_descent", "squared_hinge": "newton"}[loss]
    ranker = AUCRanker(0.05, 0.9, loss=loss, standardize=0.0, tol=1e-10)
    ranker.set_params(solver="auto" if solver == "auto" else name).fit(X, y, weight)
    assert 0 < np.count_nonzero(ranker.coef_) < D
    assert pairs.optimality(ranker.coef_[0], 0.05, 0.9, loss) < 1e-4
    signed = AUCRanker(loss=loss, coef_bounds=(0, None)).fit(X, y)
    assert signed.coef_.min() == 0.0 < signed.coef_.max()


def test_products_and_the_matrix_lead_to_the_same_optimum():
    X, y, weight, stratum = sample("times")
    fits = [
        AUCRanker(solver=solver, tol=1e-13).fit(X, y, weight, stratum).coef_
        for solver in ("exact", "conjugate_gradient")
    ]
    equal(fits[1], fits[0], 1e-6)


@each_loss
@pytest.mark.parametrize("by", ["pairs", "positives", "strata"])
def test_with_two_grades_it_is_the_classifier(loss, by):
    X, y, weight, stratum = sample("grades")
    y = y > 0
    for strata in (None, stratum):
        settings = {"loss": loss, "strata_weight": by, "tol": 1e-12}
        classifier = AUCClassifier(**settings).fit(X, y, weight, strata)
        ranker = AUCRanker(**settings, grade_weight="difference").fit(X, y, weight, strata)
        for name in ("coef_", "intercept_", "spread_", "objective_"):
            equal(np.asarray(getattr(ranker, name)), getattr(classifier, name), 1e-9)
        equal(ranker.predict(X), classifier.decision_function(X), 1e-9)
    assert (ranker.strata_.count, ranker.strata_.of_one_class) == (
        5,
        classifier.strata_.of_one_class,
    )


@each_loss
@each_kind
def test_a_shift_of_the_rows_of_a_stratum_changes_nothing(loss, kind):
    X, y, _, stratum = sample(kind, n=200)
    ranker = AUCRanker(loss=loss, tol=1e-12).fit(X, y, strata=stratum)
    far = X + 1e4 * np.outer(stratum, [1, 2, 3, 4])
    shifted = AUCRanker(loss=loss, tol=1e-12).fit(far, y, strata=stratum)
    equal(shifted.coef_, ranker.coef_, 1e-7)
    assert shifted.objective_ == pytest.approx(ranker.objective_, rel=1e-9)
    of_all = AUCRanker(loss=loss, tol=1e-12).fit(X, y)
    equal(AUCRanker(loss=loss, tol=1e-12).fit(X + 1e4, y).coef_, of_all.coef_, 1e-7)


def test_weights_stand_for_repeated_rows_and_scales_of_grades_for_nothing():
    X, y, _, _ = sample("amounts")
    times = np.random.default_rng(0).integers(0, 4, N)
    for grades in ("equal", "difference"):
        ranker = AUCRanker(grade_weight=grades).fit(X, y, times)
        again = AUCRanker(grade_weight=grades).fit(np.repeat(X, times, 0), 7 * np.repeat(y, times))
        equal(again.coef_, ranker.coef_)
    monotone = AUCRanker().fit(X, np.exp(y), times)
    equal(monotone.coef_, AUCRanker().fit(X, y, times).coef_)


def test_an_earlier_event_ranks_higher_and_a_censored_row_above_none():
    y = np.array([(True, 1.0), (False, 0.5), (True, 3.0)], dtype=[("event", bool), ("t", float)])
    ranker = AUCRanker().fit([[1.0], [50.0], [0.0]], y)
    assert ranker.coef_[0, 0] > 0  # the second row is compared with none
    assert ranker.score([[1.0], [50.0], [0.0]], y) == 1.0
    alone = AUCRanker().fit([[1.0], [0.0]], y[[0, 2]])
    equal(ranker.coef_, alone.coef_)


def test_more_features_than_a_matrix_is_made_for(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 1501))
    y = X[:, 0] + rng.normal(size=60)
    ranker = AUCRanker(0.1).fit(X, y)
    assert (ranker.solver_, ranker.optimality_ < 1e-4) == ("conjugate_gradient", True)
    monkeypatch.setattr(ComparedProblem, "max_moment_bytes", 10**7)
    with pytest.raises(ValueError, match=r"matrices of 1,501 × 1,501 numbers, 0.1 GB; use l1_rat"):
        AUCRanker(0.1, 0.5).fit(X, y)


def test_it_scores_by_the_concordance_index():
    X, y, weight, stratum = sample("times")
    ranker = AUCRanker(strata_weight="positives").fit(X, y, weight, stratum)
    score = ranker.decision_function(X)
    assert ranker.score(X, y, weight) == metrics.concordance(y, score, weight).auc
    within = metrics.concordance(y, score, weight, stratum, "positives").auc
    assert ranker.score(X, y, weight, stratum) == within


def test_files_sql_onnx_and_a_card(tmp_path):
    X, y, _, stratum = sample("grades")
    X = pd.DataFrame(X, columns=list("abcd"))
    ranker = AUCRanker(0.1, solver=solvers.Exact()).fit(
        X, pd.Series(y, name="grade"), None, stratum
    )
    save(ranker, tmp_path / "ranker.aucmax")
    loaded = load(tmp_path / "ranker.aucmax")
    np.testing.assert_array_equal(loaded.predict(X), ranker.predict(X))
    assert (loaded.target_name_, loaded.strata_) == ("grade", ranker.strata_)
    assert to_sql(ranker).count("E") >= D
    graph = to_onnx(ranker, columns=list("abcd"))
    session = ReferenceEvaluator(graph)
    (score,) = session.run(None, {"X": X.to_numpy()})
    np.testing.assert_allclose(score, ranker.predict(X), rtol=1e-12)
    card = ranker._repr_html_()
    assert "higher grades" in card
    assert "square" in card
    ranker.coef_ = ranker.coef_[:, :2]
    with pytest.raises(ValueError, match="cannot be saved: its coefficients"):
        save(ranker, tmp_path / "broken.aucmax")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"loss": "hinge"}, "loss must be 'square' or 'squared_hinge'; got 'hinge'."),
        ({"grade_weight": "gain"}, "grade_weight must be 'equal' or 'difference'; got 'gain'."),
        ({"strata_weight": "rows"}, "strata_weight must be 'positives', 'pairs' or 'strata'"),
        ({"solver": "spam"}, "the solver 'spam' does not take AUCRanker(loss='square') with "
                             "l1_ratio=0.0: it learns from one row after another; these do: "
                             "'exact', 'conjugate_gradient', 'coordinate_descent'."),
        ({"solver": "newton"}, "it takes the loss squared_hinge or logistic only; these do: 'ex"),
        ({"solver": solvers.Exact("diagonal")}, "pairs of many degrees have no sketch"),
        ({"loss": "squared_hinge", "penalty": penalties.MCP(0.1, 3.0)},
         "use loss='square', which takes every penalty."),
        ({"alpha": -1.0}, "alpha"),
    ],
)  # fmt: skip
def test_settings_that_do_not_fit_are_told(settings, message):
    X, y, _, _ = sample("grades")
    with pytest.raises(ValueError, match=re.escape(message)):
        AUCRanker(**settings).fit(X, y)


EVENTS = [("event", bool), ("time", float)]


@pytest.mark.parametrize(
    ("y", "strata", "message"),
    [
        (np.ones(4), None, "no row of y is known to rank above another; give at least two"),
        (np.arange(4), np.arange(4), "rank above another within any of the 4 strata;"),
        (np.array([(False, 1.0), (True, 4.0)] * 2, EVENTS), None, "is known to rank above another"),
        (["low", "mid", "high", "low"], None, "y must be numbers, whose order is that of the rank"),
        ([1.0, np.nan, 2.0, 3.0], None, "y must be finite; got nan in row 1."),
        (np.zeros(4, [("time", float), ("event", bool)]), None, "must have two fields, a bool"),
        (np.zeros((4, 2)), None, "y must have one value for each row, shape (n,); got (4, 2)."),
        (np.arange(3), None, "inconsistent numbers of samples: [4, 3]"),
        (np.arange(4), [1, 2], "strata must have one value for each of 4 rows"),
    ],
)
def test_labels_without_an_order_are_told_and_change_nothing(y, strata, message):
    ranker = AUCRanker().fit(pd.DataFrame({"a": [0.0, 1.0]}), [0, 1])
    with pytest.raises(ValueError, match=re.escape(message)):
        ranker.fit(np.eye(4), y, strata=strata)
    assert ranker.feature_names_in_.tolist() == ["a"]


def test_rows_in_parts_are_refused_but_scored():
    X, y, _, _ = sample("grades")
    source = Source.from_iterable(lambda: [(X[:20], y[:20]), (X[20:], y[20:])])
    with pytest.raises(ValueError, match="AUCRanker needs all rows in memory"):
        AUCRanker().fit(source, y)
    ranker = AUCRanker().fit(X, y)
    np.testing.assert_allclose(ranker.predict(source), ranker.predict(X))


@parametrize_with_checks([AUCRanker(), AUCRanker(loss="squared_hinge")])
def test_scikit_learns_checks(estimator, check):
    check(estimator)
