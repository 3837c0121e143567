"""What every solver of the registries must do, whoever adds it."""

import functools
import json
import os
import re
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import estimator_checks_generator

from aucmax import AUCClassifier, HingeClassifier, load, save
from aucmax.data.rows import as_rows
from aucmax.metrics import roc_auc
from aucmax.objective import Objective, UnivariateObjective
from aucmax.objective.losses import LOSSES, UNIVARIATE_LOSSES
from aucmax.objective.penalties import MCP, ElasticNet, Weighted
from aucmax.objective.problem import ANY_MOMENTS, ANY_ROWS, ANY_SKETCH, RowsProblem
from aucmax.solvers import ACCURACY_SOLVERS, SOLVERS, SPAM, get_solver
from aucmax.solvers.auto import choose, pick
from aucmax.solvers.certificate import Certificate
from literal import FORMS
from oracles import rows
from oracles.pairs import Pairs, l2_optimum
from specification import BATCH, CASES, LEARNERS, STOCHASTIC, loss_of, takes

TESTS = Path(__file__).parents[1]


def each(cases):
    return pytest.mark.parametrize("case", cases, ids=lambda case: case.name)


FAR_ALLOWED = pytest.mark.filterwarnings(
    "ignore:.*on rows far from the origin:sklearn.exceptions.ConvergenceWarning"
)
each_case, each_learner = each(CASES), each(LEARNERS)
STREAMED = [case for case in LEARNERS if "pca" not in case.settings.values()]  # fits come first
each_scored = each([case for case in CASES if case.scored])


def problem(seed, n=60, d=8):
    """Rows that float32 holds exactly."""
    X, y = rows(seed, n=n, d=d, density=0.5)
    return X.astype(np.float32).astype(np.float64), y


def close(got, expected, tol):
    np.testing.assert_allclose(got, expected, rtol=0, atol=tol * np.abs(expected).max())


# ---- rows, labels, weights and seeds -----------------------------------------------------


@pytest.mark.parametrize(
    ("case", "gamma"),
    [(case, 0.0) for case in CASES]
    + [pytest.param(case, 1.0, marks=pytest.mark.exhaustive) for case in CASES if case.scored],
    ids=lambda part: getattr(part, "name", None),
)
def test_the_form_of_the_rows_does_not_matter(case, gamma):
    """Nor does their precision, where the numbers are the same."""
    X, y = problem(3, n=30)
    settings = {"standardize": gamma} if case.scored else {}
    if "center" in case.kind().get_params():  # dense rows alone are shifted, for longer steps
        settings["solver"] = {"center": False}
    # rows that are scaled are rounded to their own precision
    forms = FORMS.values() if gamma == 0.0 else (FORMS["dense"], FORMS["csr"])
    first, *others = (case.fitted(form(X), y, **settings) for form in forms)
    assert first.coef_.any()
    for other in others:
        assert other.coef_.dtype == np.float64
        close(other.coef_, first.coef_, 1e-8)
        close(other.intercept_, first.intercept_, 1e-8)
        assert other.objective_ == pytest.approx(first.objective_, rel=1e-9)


@each_case
def test_the_same_seed_gives_the_same_bits(case):
    X, y = problem(4, n=30, d=5)
    for form in (np.asarray, sp.csr_array):
        a = case.fitted(form(X), y)
        b = case.fitted(form(X), y)
        np.testing.assert_array_equal(a.coef_, b.coef_)
    other = case.fitted(form(X), y, random_state=8)
    assert np.any(other.coef_ != a.coef_) == case.stochastic
    again = clone(a)
    assert again.get_params()["solver"].get_params() == a.solver.get_params()


@each([case for case in CASES if case.kind.name != "solam"])  # which starts from a w > 0
def test_swapped_labels_flip_the_coefficients(case):
    X, y = rows(5, n=60, d=6, share=0.25)
    weight = np.random.RandomState(0).rand(60)
    a, b = (case.fitted(X, labels, weight) for labels in (y, -y))
    close(a.coef_, -b.coef_, 1e-9)
    np.testing.assert_array_equal(a.predict(X), -b.predict(X))


@each_case
def test_the_names_of_the_labels_do_not_matter(case):
    X, y = problem(6, n=30)
    a = case.fitted(X, y)
    for labels in (("a", "b"), (False, True)):
        b = case.fitted(X, np.where(y == 1, labels[1], labels[0]))
        np.testing.assert_array_equal(a.coef_, b.coef_)
        np.testing.assert_array_equal(b.classes_, sorted(labels))


@each_case
def test_rows_of_weight_zero_are_left_out(case):
    X, y = rows(8, n=60, d=5)
    weight = np.random.RandomState(1).choice([0.0, 1.0, 2.0], size=60)
    weight[:5] = 0.0
    kept, spoilt = weight > 0, np.where(weight[:, None] == 0, 1e6, X)
    fitted = case.fitted(spoilt, y, weight)
    close(fitted.coef_, case.fitted(X[kept], y[kept], weight[kept]).coef_, 1e-9)
    if case.stochastic and "pca" not in case.settings.values():
        before = fitted.coef_.copy()
        fitted.partial_fit(spoilt[~kept], y[~kept], sample_weight=weight[~kept])
        np.testing.assert_array_equal(fitted.coef_, before)
        whole, part = (case.model(max_iter=5) for _ in range(2))
        whole.partial_fit(spoilt, y, sample_weight=weight)
        part.partial_fit(X[kept], y[kept], sample_weight=weight[kept])
        close(whole.coef_, part.coef_, 1e-9)


@each_case
def test_the_scale_of_the_weights_does_not_matter(case):
    X, y = rows(9, n=60, d=5)
    weight = np.random.RandomState(1).rand(60)
    a = case.fitted(X, y, weight)
    for scale in (1e4,):
        close(case.fitted(X, y, scale * weight).coef_, a.coef_, 1e-8)
    # equal weights are no weights
    close(case.fitted(X, y, np.full(60, 3.0)).coef_, case.fitted(X, y).coef_, 1e-8)


# ---- what is reported --------------------------------------------------------------------


@each_scored
def test_weights_are_repetitions_in_what_is_reported(case):
    """Not in a stochastic solver's path, but in the J and the optimality of where it ends."""
    X, y = rows(10, n=40, d=5)
    times = np.random.RandomState(3).randint(1, 4, size=40)
    clf = case.fitted(X, y, times)
    repeated = RowsProblem.of(as_rows(X.repeat(times, axis=0)), y.repeat(times).astype(float))
    objective = Objective(repeated, LOSSES[clf.loss], ElasticNet(clf.alpha, clf.l1_ratio))
    objective = clf.solver.own_objective(objective)
    value, optimality = Certificate(objective).evaluate(clf.coef_[0])
    assert clf.objective_ == pytest.approx(value, rel=1e-12)
    if objective.loss.kind != "kinked":  # near its optimum a hinge is measured roughly
        assert optimality / 10 <= clf.optimality_ + 1e-13
    if case.stochastic:
        assert clf.optimality_ == pytest.approx(optimality, rel=1e-3, abs=1e-8)


@pytest.mark.parametrize("solver", [name for name, kind in SOLVERS.items() if not kind.own])
def test_it_reaches_the_optimum_of_the_pairs(solver):
    X, y = rows(11, n=80, d=5, share=0.3)
    kind, pairs = SOLVERS[solver], Pairs(X, y)
    # SPAM's steps shrink like 1/√t and its average holds the first ones: it is slow
    longer = {"spam": dict(n_epochs=2000), "vrspam": dict(n_stages=300)}.get(solver, {})
    clf = AUCClassifier(
        0.2, loss=loss_of(kind), solver=get_solver(solver).set_params(**longer),
        standardize=0.0, random_state=0, tol=1e-15, max_iter=2000,
    ).fit(X, y)  # fmt: skip
    if loss_of(kind) == "hinge":
        assert pairs.hinge_gap(clf.coef_[0], 0.2) < 1e-8
        assert clf.optimality_ < 1e-8
        return
    optimum = l2_optimum(pairs, 0.2, loss_of(kind))
    if solver in STOCHASTIC and solver != "vrspam":
        least = pairs.objective(optimum, 0.2, 0.0, loss_of(kind))
        assert clf.objective_ - least < 0.2 * (0.5 - least)  # J(0) is 1/2
    else:
        close(clf.coef_[0], optimum, 1e-8)
        assert clf.optimality_ < 1e-8


@each_learner
def test_it_stops_where_asked(case):
    X, y = problem(12)
    passes, names = [], case.kind().get_params()
    longer = {name: 9 for name in ("n_epochs", "n_stages") if name in names}
    whole = case.fitted(X, y, solver=longer, max_iter=4, callback=lambda p: passes.append(p.passes))
    assert whole.n_iter_ == len(whole.history_) == len(passes) == 4
    stopped = case.fitted(X, y, solver=longer, callback=lambda p: p.passes >= passes[1])
    assert stopped.n_iter_ == 2
    np.testing.assert_array_equal(stopped.history_["passes"], passes[:2])


# ---- streams -----------------------------------------------------------------------------


@each([case for case in STREAMED if case.kind.name != "vrspam"])  # a stage is of all rows given
@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
@pytest.mark.covering
@pytest.mark.parametrize("sizes", [[1], [7], [13, 1, 46]], ids=str)
@pytest.mark.parametrize("average", [False, True], ids=["last", "averaged"])
def test_any_division_of_the_rows_is_one_pass(case, form, sizes, average):
    X, y = problem(13)
    weight = np.random.RandomState(0).choice([0.5, 1.0, 2.5], size=60)
    solver = {"order": "cyclic", **case.explicit}
    if "average" in case.kind().get_params():
        solver["average"] = average
    whole, parts = (case.model(solver) for _ in range(2))
    whole.partial_fit(form(X), y, classes=[-1, 1], sample_weight=weight)
    ends = np.cumsum(sizes * (60 // sum(sizes) + 1))
    for some in np.split(np.arange(60), ends[ends < 60]):
        parts.partial_fit(form(X[some]), y[some], classes=[-1, 1], sample_weight=weight[some])
    close(parts.coef_, whole.coef_, 1e-10)
    np.testing.assert_allclose(parts.intercept_, whole.intercept_, atol=1e-10)
    assert whole.coef_.any()


@pytest.mark.covering(1)
@each(STREAMED)
@pytest.mark.parametrize("fitted", [False, True], ids=["stream", "fit"])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "csr"])
def test_a_saved_model_goes_on(case, fitted, form, tmp_path):
    X, y = problem(14)
    clf = case.fitted(form(X[:40]), y[:40]) if fitted else case.model()
    clf.partial_fit(form(X[:20]), y[:20], classes=[-1, 1])
    save(clf, tmp_path / "model")
    before = clf.coef_.copy()
    for model in (clf, again := load(tmp_path / "model")):
        model.partial_fit(form(X[20:]), y[20:])
    np.testing.assert_array_equal(clf.coef_, again.coef_)
    assert np.any(clf.coef_ != before)


@each([case for case in STREAMED if case.scored])
def test_without_both_classes_there_is_nothing_to_rank(case):
    X, y = problem(15)
    y[:20] = 1
    clf = case.model()
    for part in (slice(0, 9), slice(9, 20)):
        clf.partial_fit(X[part], y[part], classes=[-1, 1])
        assert not clf.coef_.any()
    clf.partial_fit(X, y, sample_weight=np.zeros(60))
    assert not clf.coef_.any()
    assert clf.partial_fit(X[20:], y[20:]).coef_.any()


@each([case for case in STREAMED if "average" in case.kind().get_params()])
@pytest.mark.parametrize("average", [False, True])
@pytest.mark.parametrize("fitted", [False, True])
@pytest.mark.covering
def test_a_stream_keeps_its_averaging(case, average, fitted):
    """A mean over the later iterates alone would be neither of the two."""
    X, y = rows(31, n=30, d=8)
    clf = case.model({"average": average})
    clf = case.fitted(X, y, solver={"average": average}) if fitted else clf.partial_fit(X, y)
    before = clf.coef_.copy()
    clf.set_params(solver__average=not average)
    with pytest.raises(ValueError, match="average cannot change between calls of partial_fit"):
        clf.partial_fit(X, y)
    np.testing.assert_array_equal(clf.coef_, before)
    clf.set_params(solver__average=average).partial_fit(X, y)
    assert np.any(clf.coef_ != before)


# ---- steps -------------------------------------------------------------------------------

HARD = {
    "far": lambda X: X + 1e3,
    "huge": lambda X: 1e8 * X,
    "tiny": lambda X: 1e-8 * X,
    "outlier": lambda X: np.vstack([1e4 * X[:1], X[1:]]),
    "units": lambda X: X * np.logspace(-3, 3, X.shape[1]),
    "zeros": lambda X: 0.0 * X,
    "alike": lambda X: 0.0 * X + 1.0,
    "one column": lambda X: X[:, :1],
    "heavy tails": lambda X: X / (0.01 + np.abs(X)) ** 2,
}


FAR = {"far", "alike"}  # where SPAM, which sees single rows, has no step that is short enough


@each_learner
@pytest.mark.parametrize("hard", HARD)
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "csr"])
@pytest.mark.covering
@pytest.mark.parametrize("signal", [True, False], ids=["signal", "noise"])
def test_automatic_steps_never_diverge(case, hard, form, signal):
    """No ConvergenceWarning, which is an error here, whatever the rows."""
    if hard in FAR and case.kind.name in ("spam", "vrspam"):
        pytest.skip("diverges, and says so")
    X, y = rows(16, n=30, d=6, share=0.3)
    X = HARD[hard](X)
    if not signal:
        y = np.random.RandomState(0).permutation(y)
    settings = {"tol": 1e-4}
    if case.scored and "alpha" not in case.kind.own:
        settings["alpha"] = 1e-4 * max(np.mean(X**2), 1e-300)
    with warnings.catch_warnings():
        if hard == "far":
            warnings.filterwarnings("ignore", ".*on rows far from the origin", ConvergenceWarning)
        clf = case.model(**settings).fit(form(X), y)
    assert np.isfinite(clf.coef_).all()
    clf.partial_fit(form(X), y)
    assert np.isfinite(clf.coef_).all()


@pytest.mark.covering(1)
@each_learner
@pytest.mark.parametrize("shift", [1e2, 1e4, 1e6, 1e8])
@pytest.mark.parametrize("gamma", [0.0, 1.0])
def test_far_from_the_origin_it_ranks_as_well_or_warns(case, shift, gamma):
    """A ConvergenceWarning without the shift is an error here."""
    if gamma > 0.0 and not case.scored:
        pytest.skip("takes the features as they are")
    X, y = rows(16, n=200, d=4, share=0.3)
    settings = {"standardize": gamma} if case.scored else {}
    if "alpha" not in case.kind.own:
        settings["alpha"] = 1e-3
    near = case.model(**settings).fit(X, y)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        far = case.model(**settings).fit(X + shift, y)
    if not caught:
        scores = [near.decision_function(X), far.decision_function(X + shift)]
        near_auc, far_auc = (roc_auc(y, z) for z in scores)
        assert far_auc > near_auc - 0.03
        assert far.optimality_ < max(0.5, near.optimality_ + 0.03)
        return
    assert case.kind.origin_remedy is not None
    (warning,) = caught
    assert warning.category is ConvergenceWarning
    message = str(warning.message)
    assert f"{case.kind.__name__} made little progress on rows far from the origin" in message
    assert "centre the features first" in message
    assert ("solver='auto'" in message) == case.scored
    before = far.coef_.copy()
    if gamma == 0.0:  # a stream never says it: it does not see all rows
        far.partial_fit(X + shift, y)
        assert np.any(far.coef_ != before)


def test_few_steps_or_a_callback_that_stops_are_no_reason_to_warn():
    X, y = rows(16, n=60, d=4, share=0.3)
    solver = SPAM(step_size=1e-9)
    assert AUCClassifier(solver=solver, standardize=0).fit(X, y).optimality_ > 0.9
    stopped = AUCClassifier(solver=solver, standardize=0, callback=lambda progress: True)
    assert stopped.fit(X + 1e4, y).optimality_ > 0.9
    with pytest.warns(ConvergenceWarning, match="SPAM made little progress on rows far"):
        AUCClassifier(solver=SPAM(step_size=1e-12), standardize=0).fit(X + 1e4, y)


# ---- settings ----------------------------------------------------------------------------

WRONG = {
    "order": ("sorted", "order must be one of shuffle, cyclic, random; got 'sorted'"),
    "average": ("yes", "average must be True or False; got 'yes'"),
    "n_epochs": (0, "n_epochs must be a whole number .*got 0"),
    "n_stages": (1.5, "n_stages must be a whole number .*got 1.5"),
    "step_size": (0, r"step_size must be a number in \(0, inf\); got 0"),
    "rho": ("large", "rho must be a number"),
    "gamma": (-1.0, "gamma must be a number"),
    "C": (0, r"C must be a number in \(0, inf\); got 0"),
    "radius": (0, r"radius must be a number in \(0, inf\); got 0"),
    "buffer_size": (0, "buffer_size must be a whole number"),
    "rank": (0, r"rank must be a whole number in \[1, inf\); got 0"),
    "safeguard": (2, "safeguard must be True or False; got 2"),
}


@pytest.mark.parametrize(
    ("case", "name"),
    [(case, name) for case in LEARNERS for name in WRONG if name in case.kind().get_params()],
    ids=lambda part: part if isinstance(part, str) else part.name,
)
def test_a_wrong_setting_is_named(case, name):
    X, y = problem(18)
    wrong, message = WRONG[name]
    if name == "rank" and "rank" not in case.settings:
        message = "rank=0 does nothing with covariance='full'"
    for call in ("fit", "partial_fit"):
        if call == "partial_fit" and (name in ("n_epochs", "n_stages") or case not in STREAMED):
            continue
        model = case.model({name: wrong})
        with pytest.raises(ValueError, match=message):
            getattr(model, call)(X, y)
        assert not hasattr(model, "coef_")


# ---- scikit-learn ------------------------------------------------------------------------

UNEQUAL = dict.fromkeys(
    [
        "check_sample_weight_equivalence_on_dense_data",
        "check_sample_weight_equivalence_on_sparse_data",
    ],
    "a row of weight 2 is one longer step, a repeated row is two steps",
)


def each_check(models):
    """scikit-learn's checks of each model, but for those that must fail."""

    def checks(model):
        must_fail = UNEQUAL if model.solver in STOCHASTIC else {}
        return estimator_checks_generator(model, expected_failed_checks=must_fail, mark="skip")

    @functools.cache  # to describe a model takes as long as a check
    def name(part):
        return getattr(getattr(part, "func", part), "__name__", repr(part))

    return pytest.mark.parametrize(
        ("estimator", "check"),
        [pair for model in models for pair in checks(model)],
        ids=name,
    )


# a fast solver of each family; the estimator does nearly all that is checked
OF_EACH_FAMILY = {"exact", "newton", "spam", "opauc"}


@each_check(
    [AUCClassifier(solver=name, loss=loss_of(SOLVERS[name])) for name in sorted(OF_EACH_FAMILY)]
    + [HingeClassifier(l1_ratio=0.0)]
    + [AUCClassifier(penalty=Weighted(ElasticNet(0.1, 0.5), 2.0), standardize=1.0)]
)
@FAR_ALLOWED  # some checks move the rows by 100 standard deviations
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.exhaustive  # each fit of an l1 part is slow to certify; the others differ by a setting
@each_check(
    [
        AUCClassifier(solver=name, loss=loss_of(kind))
        for name, kind in SOLVERS.items()
        if name not in OF_EACH_FAMILY
    ]
    + [HingeClassifier(l1_ratio=0.0, solver=name) for name in ACCURACY_SOLVERS]
    + [HingeClassifier(solver=n) for n, k in ACCURACY_SOLVERS.items() if takes(k, None, 1.0)]
    + [AUCClassifier(), AUCClassifier(loss="squared_hinge"), AUCClassifier(l1_ratio=0.5)]
    + [AUCClassifier(penalty=MCP(0.1, 30.0))]
)
@FAR_ALLOWED
def test_scikit_learn_checks_of_further_settings(estimator, check):
    check(estimator)


# ---- what a step costs -------------------------------------------------------------------

DENSE = {"vrspam, elastic net", "vrspam, zero, elastic net"}  # the mean gradient moves all features


def test_a_step_costs_the_rows_stored_entries():
    """Features that no further row holds are not looped over, whatever the learner."""
    paths = os.pathsep.join([str(TESTS), *filter(None, sys.path)])
    child = subprocess.run(
        [sys.executable, TESTS / "cost.py"],
        env=os.environ | {"PYTHONPATH": paths},
        capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert child.returncode == 0, child.stderr
    found = json.loads(child.stdout)
    grown = {name: many - few for name, (few, many) in found["costs"].items()}
    # a scale that is folded now and then costs a few times d
    dense = {name for name, more in grown.items() if more > 0.5 * found["dense step"]}
    assert dense == DENSE, grown
    assert all(few > 100 for few, _ in found["costs"].values())


# ---- what a solver takes -----------------------------------------------------------------

ASKED = [(loss, ratio) for loss in LOSSES for ratio in (0.0, 0.5, 1.0)]
DATA = {"rows": ANY_ROWS, "moments": ANY_MOMENTS, "sketch": ANY_SKETCH}


def reason(kind, loss, ratio, data="rows"):
    return kind().unfit(Objective(DATA[data], LOSSES[loss], ElasticNet(1e-3, ratio)))


@pytest.mark.parametrize("name", SOLVERS)
def test_an_estimator_says_why_a_solver_does_not_take_what_is_asked(name):
    X, y = np.eye(4), [0, 0, 1, 1]
    kind = SOLVERS[name]
    why = {asked: reason(kind, *asked) for asked in ASKED}
    assert None in why.values()
    assert set(why.values()) != {None}
    for (loss, ratio), said in why.items():
        settings = {} if "alpha" in kind.own else {"l1_ratio": ratio}
        if said is not None:
            clf = AUCClassifier(loss=loss, solver=name, **settings)
            with pytest.raises(ValueError, match=re.escape(f"it {said}; ")):
                clf.fit(X, y)


def test_what_needs_more_data_takes_no_less():
    """Rows offer what moments do, moments what sketches do."""
    found = {}
    for name, kind in SOLVERS.items():
        for asked in ASKED:
            fits = [reason(kind, *asked, data) is None for data in DATA]
            assert fits == sorted(fits, reverse=True), (name, asked)
            found[fits.index(False) if False in fits else 3] = name
    assert set(found) == {0, 1, 2, 3}  # nothing, rows alone, moments too, sketches too


@pytest.mark.parametrize("data", DATA)
def test_auto_finds_a_batch_solver_wherever_there_is_one(data):
    for loss, ratio in ASKED:
        goal = Objective(DATA[data], LOSSES[loss], ElasticNet(1e-3, ratio))
        there = [name for name in BATCH if reason(SOLVERS[name], loss, ratio, data) is None]
        found = pick(goal)
        assert (found is None) == (not there), (loss, ratio)
        if found is None:
            with pytest.raises(ValueError, match="has no solver"):
                choose(goal)
        else:
            assert found.name in there
            assert choose(goal).name == found.name


@pytest.mark.parametrize("name", ACCURACY_SOLVERS)
def test_learners_of_single_rows_and_of_pairs_say_where_they_belong(name):
    kind = ACCURACY_SOLVERS[name]
    assert all(reason(kind, *asked) == "belongs to HingeClassifier" for asked in ASKED)
    hinge = UnivariateObjective(ANY_ROWS, UNIVARIATE_LOSSES["hinge"], ElasticNet(1e-3, 0.0))
    assert kind().unfit(hinge) is None
    for other in SOLVERS.values():
        assert other().unfit(hinge) == "belongs to AUCClassifier"


# ---- of a solver that is not in the registries -------------------------------------------

EVERY_CASE = (
    test_the_same_seed_gives_the_same_bits,
    test_swapped_labels_flip_the_coefficients,
    test_the_names_of_the_labels_do_not_matter,
    test_rows_of_weight_zero_are_left_out,
    test_the_scale_of_the_weights_does_not_matter,
    test_weights_are_repetitions_in_what_is_reported,
)
EVERY_LEARNER = (test_it_stops_where_asked, test_without_both_classes_there_is_nothing_to_rank)


class LateSPAM(SPAM):
    """SPAM with steps that are too long from the second epoch on, unless they were shortened."""

    def step(self, state, batch, penalty, rng):
        """Take the steps of an epoch."""
        super().step(state, batch, penalty, rng)
        epoch = state.setdefault("epoch", np.zeros(1))
        epoch += 1.0
        if state["slower"][0] < 4.0 and epoch[0] >= 2.0:
            state["v"][:] = np.inf


@pytest.mark.parametrize("n_epochs", [3, 8])
def test_an_automatic_step_is_shortened_when_the_weights_overflow(n_epochs):
    X, y = rows(2, n=200, d=4)
    model = AUCClassifier(1e-3, solver=LateSPAM(n_epochs=n_epochs), random_state=0).fit(X, y)
    assert model.n_iter_ == n_epochs
    assert np.isfinite(model.objective_)
