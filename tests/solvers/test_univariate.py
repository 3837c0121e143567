"""The online univariate learners against a literal NumPy version."""

import warnings

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import StratifiedShuffleSplit

from aucmax import AUCClassifier, datasets, load, metrics, save
from aucmax.data.rows import as_rows
from aucmax.objective import UnivariateObjective
from aucmax.objective.losses import UNIVARIATE_LOSSES
from aucmax.objective.penalties import L2
from aucmax.objective.problem import RowsProblem
from aucmax.solvers import UnivariateSGD
from literal import each_average, each_form, equal, weighted, without_zeros
from oracles import rows, univariate
from oracles.spam import typical
from real_data import each_set

each_loss = pytest.mark.parametrize("loss", univariate.LOSSES)


def problem(seed, weighted=False, n=40):
    """Rows that float32 holds exactly, with some entries and some weights zero."""
    X, y = rows(seed, n=n, d=6, share=0.35, density=0.6)
    X = X.astype(np.float32).astype(np.float64)
    weight = np.random.RandomState(seed).choice([0.0, 0.5, 1.0, 2.5], size=n)
    return X, y, weight if weighted else np.ones(n)


def fitted(solver, X, y, weight=None, alpha=0.1, **settings):
    clf = AUCClassifier(alpha, solver=solver, **settings)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # a few dozen rows may not be enough
        return clf.fit(X, y, sample_weight=weight)


def streamed(solver, X, y, weight, alpha, chunk, form=np.asarray):
    clf = AUCClassifier(alpha, solver=solver)
    for lo in range(0, len(y), chunk):
        part = slice(lo, lo + chunk)
        clf.partial_fit(form(X[part]), y[part], classes=[-1, 1], sample_weight=weight[part])
    return clf


# ---- the algorithm -----------------------------------------------------------------------


@pytest.mark.covering
@each_form
@each_loss
@weighted
@each_average
@pytest.mark.parametrize("alpha", [0.0, 0.3])
def test_it_is_the_paper(form, loss, weighted, average, alpha):
    X, y, weight = problem(1, weighted)
    kept = without_zeros(X, y, weight)
    iterates = univariate.fit(
        *kept[:2], typical(kept[2]), loss, alpha, univariate.schedule(0.1), epochs=3
    )
    solver = UnivariateSGD(loss, 0.1, 3, "cyclic", average)
    got = fitted(solver, form(X), y, weight, alpha).coef_[0]
    equal(got, iterates.mean(axis=0) if average else iterates[-1])


@each_form
@each_average
def test_it_stays_exact_when_the_scale_is_folded(form, average):
    """w shrinks at every step; the scale is folded into the vector below 1e-5."""
    X, y, weight = problem(2, weighted=True)
    kept = without_zeros(X, y, weight)
    epochs, alpha = 480 // len(kept[1]), 5.0
    steps = 0.1 / np.sqrt(np.arange(1, epochs * len(kept[1]) + 1))
    assert np.prod(1 / (1 + alpha * steps)) < 1e-5**1.5
    iterates = univariate.fit(
        *kept[:2], typical(kept[2]), "logistic", alpha, univariate.schedule(0.1), epochs
    )
    solver = UnivariateSGD("logistic", 0.1, epochs, "cyclic", average)
    got = fitted(solver, form(X), y, weight, alpha).coef_[0]
    equal(got, iterates.mean(axis=0) if average else iterates[-1])


@pytest.mark.covering
@each_loss
@weighted
@each_average
@pytest.mark.parametrize("size", [1.0, 4.0])
def test_the_automatic_step(loss, weighted, average, size):
    """Newton's bound, and half the step until the first epoch ends below F(0)."""
    X, y, weight = problem(3, weighted)
    X, y, weight = without_zeros(X, y, weight)
    X[::7] *= 5.0  # rows for which Newton's step is the shorter one
    q, at_zero = typical(weight), univariate.objective(X, y, weight, np.zeros(6), loss, 0.1 / 16)
    X, alpha = size * X, 0.1 * size**2
    assert at_zero == pytest.approx(np.log(2) if loss == "logistic" else 1.0)
    for halvings in range(11):
        iterates = univariate.fit(
            X, y, q, loss, alpha, univariate.automatic(loss, 2**halvings), epochs=2
        )
        first = iterates[: len(y)]
        w = first.mean(axis=0) if average else first[-1]
        if univariate.objective(X, y, q, w, loss, alpha) <= at_zero:
            break
    solver = UnivariateSGD(loss, n_epochs=2, order="cyclic", average=average)
    got = fitted(solver, X, y, weight, alpha).coef_[0]
    equal(got, iterates.mean(axis=0) if average else iterates[-1])


@pytest.mark.parametrize("loss", ["exp", "square"])
def test_newtons_step_is_sometimes_the_shorter_one(loss):
    """Else the test above would not reach the bound."""
    X, y, weight = problem(3)
    X[::7] *= 5.0
    kinds, rule = set(), univariate.automatic(loss)

    def noted(t, row, seen):
        rate = rule(t, row, seen)
        first = rule(1, (0 * row[0], *row[1:]), seen) / np.sqrt(t)
        kinds.add(bool(rate < first * (1 - 1e-9)))
        return rate

    univariate.fit(X, y, weight, loss, 0.1, noted)
    assert kinds == {True, False}


@each_loss
def test_an_automatic_step_that_overshoots_is_quartered(loss):
    quarterings = []
    for seed in range(20):
        X, y, seen = (
            np.random.RandomState(seed).randn(12, 2),
            np.where(np.arange(12) % 3, -1, 1),
            [],
        )
        clf = fitted(
            UnivariateSGD(loss, n_epochs=2, order="cyclic", average=False), X, y, None, 0.01,
            callback=lambda progress, seen=seen: seen.append((progress.passes, progress.objective)),
        )  # fmt: skip
        assert max(value for _, value in seen) <= (np.log(2) if loss == "logistic" else 1.0)
        if clf.n_iter_ < 2 or seen[1][0] > seen[0][0] + 1:  # the second epoch was undone, too
            continue
        quarterings.append(seen[0][0] - 1)
        rule = univariate.automatic(loss, 4 ** quarterings[-1])
        iterates = univariate.fit(X, y, np.ones(12), loss, 0.01, rule, epochs=2)
        close = 1e-10 * np.abs(iterates).max()
        np.testing.assert_allclose(clf.coef_[0], iterates[-1], rtol=0, atol=close)
    assert min(quarterings) == 0
    assert max(quarterings) > 0


def test_from_a_warm_start():
    X, y, weight = problem(4)
    start = np.random.RandomState(0).randn(6)
    clf = fitted("univariate", X, y, warm_start=True)
    clf.coef_ = start[None]
    clf.set_params(solver=UnivariateSGD("square", 0.02, 1, "cyclic"))
    iterates = univariate.fit(X, y, weight, "square", 0.1, univariate.schedule(0.02), start=start)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        equal(clf.fit(X, y).coef_[0], iterates.mean(axis=0))


@each_loss
def test_units_do_not_matter_to_the_automatic_step(loss):
    X, y, _ = problem(5)
    w = fitted(UnivariateSGD(loss), X, y, random_state=0).coef_
    for factor in (1e-6, 1e4):
        scaled = fitted(UnivariateSGD(loss), factor * X, y, None, 0.1 * factor**2, random_state=0)
        equal(factor * scaled.coef_, w, 1e-9)


@pytest.mark.covering(1)
@each_loss
@pytest.mark.parametrize("gamma", [0.0, 1.0])
def test_what_is_reported_is_its_own_objective(loss, gamma):
    """F, its distance to the optimum, and that optimum in the end."""
    X, y, weight = problem(6, weighted=True)
    clf = fitted(
        UnivariateSGD(loss, n_epochs=3000), X, y, weight, 0.1, standardize=gamma,
        max_iter=3000, random_state=0,
    )  # fmt: skip
    kept = without_zeros(X, y, weight)
    factor = RowsProblem.of(as_rows(X), y, weight).scaled(gamma).factor
    Z, w = (kept[0], clf.coef_[0]) if factor is None else (kept[0] * factor, clf.coef_[0] / factor)

    def F(w):
        return univariate.objective(Z, *kept[1:], w, loss, 0.1)

    assert clf.objective_ == pytest.approx(F(w), rel=1e-12)

    least = minimize(F, np.zeros(6), tol=1e-12).fun
    lost = (clf.objective_ - least) / (F(np.zeros(6)) - least)
    assert 0 < lost < 0.01
    assert lost * (1 - 1e-6) <= clf.optimality_ < 2 * lost + 1e-7


def test_classes_weigh_the_same():
    """The mean step at w = 0 is along the difference of the class means, whatever their sizes."""
    X, y, weight = problem(7, weighted=True)
    kept = without_zeros(X, y, weight)
    problem_ = RowsProblem.of(as_rows(X), y.astype(float), weight)
    objective = UnivariateObjective(problem_, UNIVARIATE_LOSSES["exp"], L2(0.0), balanced=True)
    means = [np.average(kept[0][kept[1] == s], axis=0, weights=kept[2][kept[1] == s])
             for s in (1, -1)]  # fmt: skip
    np.testing.assert_allclose(objective.data_gradient(np.zeros(6)), -0.5 * (means[0] - means[1]))
    step = 1e-9  # so short that w stays near 0: an epoch is the full gradient
    w = fitted(UnivariateSGD("exp", step, 1, "cyclic", False), X, y, weight, 0.0).coef_[0]
    q = univariate.balance(*kept[1:])
    at = step / np.sqrt(np.arange(1, len(q) + 1))
    np.testing.assert_allclose(
        w, (at * q / kept[2].mean() * kept[1]) @ kept[0], rtol=1e-6, atol=1e-16
    )


@each_loss
def test_it_ranks_what_can_be_ranked(loss):
    rng = np.random.RandomState(8)
    X = rng.randn(2000, 5)
    y = X @ [1.0, -1.0, 0.5, 0.0, 0.0] > 1.5
    clf = AUCClassifier(solver=UnivariateSGD(loss), random_state=0).fit(X, y)
    assert metrics.roc_auc(y, clf.decision_function(X)) > 0.99


# ---- over a stream -----------------------------------------------------------------------


@pytest.mark.covering
@each_form
@each_loss
@each_average
@pytest.mark.parametrize("step_size", [0.1, "auto"])
@pytest.mark.parametrize("chunk", [1, 7, 40])
def test_a_stream_weighs_with_the_counts_so_far(form, loss, average, step_size, chunk):
    X, y, weight = problem(10, weighted=True)
    X, y, weight = without_zeros(X, y, weight)
    y[:5] = 1, 1, 1, -1, 1  # no step before the fourth row
    eta = univariate.automatic(loss) if step_size == "auto" else univariate.schedule(step_size)
    iterates = univariate.fit(X, y, weight, loss, 0.1, eta, running=True)
    assert len(iterates) == len(y) - 3
    solver = UnivariateSGD(loss, step_size, order="cyclic", average=average)
    clf = streamed(solver, X, y, weight, 0.1, chunk, form)
    equal(clf.coef_[0], iterates.mean(axis=0) if average else iterates[-1])


@each_loss
@pytest.mark.parametrize("step_size", [0.05, "auto"])
def test_a_stream_goes_on_from_a_fit_and_from_a_file(loss, step_size, tmp_path):
    X, y, weight = problem(11)
    solver = UnivariateSGD(loss, step_size, 2, "cyclic", False)
    passes = []
    clf = fitted(solver, X[:25], y[:25], callback=lambda progress: passes.append(progress.passes))
    save(clf, tmp_path / "model")
    again, w, old = load(tmp_path / "model"), clf.coef_[0].copy(), slice(0, 25)
    slower = 4 ** (passes[-1] - 2)  # epochs that were undone
    automatic = univariate.automatic(loss, slower)
    rule = automatic if step_size == "auto" else univariate.schedule(step_size)
    expected = w
    for i in range(25, 40):
        seen = slice(0, i + 1)
        q = univariate.balance(y[seen], weight[seen])[i]
        margin = y[i] * expected @ X[i]
        rate = rule(50 + i - 24, (X[i], q, margin), (X[seen], y[seen], weight[seen]))
        g = q * univariate.LOSSES[loss](margin)[1] * y[i] * X[i]
        expected = (expected - rate * g) / (1 + rate * 0.1)
    assert len(X[old]) == 25
    for model in (clf, again):
        equal(model.partial_fit(X[25:], y[25:]).coef_[0], expected)


# ---- settings ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (dict(loss="hinge"), "loss of UnivariateSGD must be 'exp', 'square' or .*got 'hinge'"),
        (dict(step_size="fast"), "step_size must be a number"),
    ],
)
def test_settings(settings, message):
    X, y = rows(21)
    for call in ("fit", "partial_fit"):
        with pytest.raises(ValueError, match=message):
            getattr(AUCClassifier(solver=UnivariateSGD(**settings)), call)(X, y)


@pytest.mark.parametrize("settings", [dict(l1_ratio=0.5), dict(loss="squared_hinge")])
def test_what_does_not_go_with_it(settings):
    X, y = rows(22)
    with pytest.raises(ValueError, match=r"'univariate' does not take .*these do: "):
        AUCClassifier(solver="univariate", **settings).fit(X, y)


@each_loss
def test_too_long_a_step_warns_and_stays_finite(loss):
    X, y = rows(25, n=200)
    told = pytest.warns(ConvergenceWarning, match=r"UnivariateSGD diverged.*lower step_size")
    with told, np.errstate(over="ignore", invalid="ignore"):  # of kernels in plain Python
        clf = AUCClassifier(solver=UnivariateSGD(loss, 1e6), random_state=0).fit(X, y)
    assert np.all(np.isfinite(clf.coef_))


@each_loss
def test_a_row_far_out_does_not_carry_everything_away(loss):
    """Without Newton's bound its exponential loss overflows; a warning is an error here."""
    X, y = rows(26, n=200)
    X[7] *= 1e4
    clf = AUCClassifier(solver=UnivariateSGD(loss), random_state=0).fit(X, y)
    assert np.all(np.isfinite(clf.coef_))
    clf = AUCClassifier(solver=UnivariateSGD(loss)).partial_fit(X[8:], y[8:])
    clf.partial_fit(X[:8], y[:8])
    assert np.all(np.isfinite(clf.coef_))


# ---- real data ---------------------------------------------------------------------------

SMALLER = {
    "diabetes": None, "fourclass": None, "fourclass.raw": None, "german": None,
    "german.numer": None, "splice": None, "usps": "even-odd", "letter": "even-odd",
    "magic04": None, "a9a": None, "connect-4": 1, "sector": "even-odd", "news20": "even-odd",
}  # fmt: skip


@pytest.mark.data
@each_loss
@each_set(SMALLER)
def test_defaults_do_not_diverge(name, loss):
    """In any units, from the batch and from the stream; a ConvergenceWarning is an error here."""
    data = datasets.load(name, binarize=SMALLER[name])
    few = np.random.RandomState(0).permutation(len(data.target))[:5000]
    X, y = data.data[few], data.target[few]
    reached = []
    for factor in (1.0, 1000.0):
        clf = AUCClassifier(1e-4 * factor**2, solver=UnivariateSGD(loss), random_state=0)
        reached.append(clf.fit(X * factor, y).objective_)
    assert reached[0] < (np.log(2) if loss == "logistic" else 1.0)
    assert reached[1] == pytest.approx(reached[0], rel=1e-6)
    parts = AUCClassifier(solver=UnivariateSGD(loss), random_state=0)
    for part in np.array_split(np.arange(len(y)), 5):
        parts.partial_fit(X[part], y[part])
    assert metrics.roc_auc(y, parts.decision_function(X)) > 0.55


@pytest.mark.data
@each_loss
@pytest.mark.parametrize(("name", "within"), [("splice", 0.01), ("letter", 0.005), ("a9a", 0.005)])
def test_it_comes_near_the_optimum_of_the_pairs(name, within, loss):
    data = datasets.load(name, binarize=SMALLER[name])
    X, y, gaps = data.data, data.target, []
    split = StratifiedShuffleSplit(2, test_size=0.2, random_state=0)
    for train, test in split.split(X, y):
        auc = [
            metrics.roc_auc(
                y[test],
                AUCClassifier(solver=solver, random_state=0)
                .fit(X[train], y[train])
                .decision_function(X[test]),
            )
            for solver in ("exact", UnivariateSGD(loss))
        ]
        gaps.append(auc[0] - auc[1])
    assert np.mean(gaps) < within
