"""SPAM and VRSPAM against literal, dense NumPy versions of the papers' algorithms."""

import numpy as np
import pytest
import scipy.sparse as sp

from aucmax import AUCClassifier, theory
from aucmax.solvers import SPAM, VRSPAM
from literal import each_form, equal, weighted, without_zeros
from oracles import rows, spam, vrspam
from oracles.pairs import Pairs

PENALTIES = {"l2": (0.3, 0.0), "elastic_net": (0.3, 0.4), "l1": (0.02, 1.0), "none": (0.0, 0.0)}
each_penalty = pytest.mark.parametrize("penalty", PENALTIES.values(), ids=PENALTIES)


def problem(seed, weighted, n=30):
    """Rows that float32 holds exactly, with some entries and some weights zero."""
    X, y = rows(seed, n=n, d=6, share=0.35, density=0.6)
    X = X.astype(np.float32).astype(np.float64)
    weight = np.random.RandomState(seed).choice([0.0, 0.5, 1.0, 2.5], size=n)
    return X, y, weight if weighted else np.ones(n)


def fitted(solver, X, y, weight, alpha, rho):
    clf = AUCClassifier(alpha, rho, solver=solver).fit(X, y, sample_weight=weight)
    return clf.coef_[0]


# ---- SPAM --------------------------------------------------------------------------------

# C or C̃ as a function of M²; every step is at most 2/M², or where t0="auto" 1/(2M²)
SCHEDULES = {
    "sqrt": (dict(schedule="sqrt"), lambda M2: 1.0 / M2, {}),
    "power": (dict(schedule="power", theta=0.6), lambda M2: 1.5 / M2, dict(theta=0.6)),
    "strong": (dict(schedule="strong", t0=3.0), lambda M2: 0.2 * M2, dict(t0=3.0)),
}
each_schedule = pytest.mark.parametrize("schedule", SCHEDULES)


@pytest.mark.covering
@each_form
@each_penalty
@each_schedule
@weighted
@pytest.mark.parametrize("average", [False, True], ids=["last", "averaged"])
def test_spam_is_the_paper(form, penalty, schedule, weighted, average):
    X, y, weight = problem(1, weighted)
    settings, constant, extra = SCHEDULES[schedule]
    C = constant((X**2).sum(axis=1).max())
    solver = SPAM(step_size=C, n_epochs=3, order="cyclic", average=average, **settings)
    iterates = spam.fit(
        *without_zeros(X, y, weight), *penalty,
        lambda t: spam.step_size(t, C, schedule, **extra), epochs=3,
    )  # fmt: skip
    equal(
        fitted(solver, form(X), y, weight, *penalty),
        iterates.mean(axis=0) if average else iterates[-1],
    )


def automatic(X, y, weight, penalty, schedule="sqrt", average=True):
    """SPAM's automatic C: 4/L, quartered while the first epoch ends above J(0).

    Returns C and how often it was quartered.
    """
    L = spam.largest_curvature(X, y, spam.typical(weight))
    first = 4.0 / L
    pairs = Pairs(X, y, weight)

    def too_large(C):
        def steps(t):
            return spam.step_size(t, C, schedule, theta=0.75)

        path = spam.fit(X, y, weight, *penalty, steps, epochs=1)
        return pairs.objective(path.mean(axis=0) if average else path[-1], *penalty) > 0.5

    quarterings = next(k for k in range(9) if not too_large(first / 4**k))
    return first / 4**quarterings, quarterings


@weighted
@pytest.mark.parametrize("schedule", ["sqrt", "power"])
@pytest.mark.parametrize("average", [False, True], ids=["last", "averaged"])
def test_spam_automatic_step_comes_from_the_largest_curvature(weighted, schedule, average):
    X, y, weight = problem(2, weighted)
    kept = without_zeros(X, y, weight)
    C, _ = automatic(*kept, (0.1, 0.0), schedule, average)
    iterates = spam.fit(
        *kept, 0.1, 0.0, lambda t: spam.step_size(t, C, schedule, theta=0.75), epochs=2
    )
    solver = SPAM(n_epochs=2, order="cyclic", average=average, schedule=schedule)
    got = fitted(solver, X, y, weight, 0.1, 0.0)
    equal(got, iterates.mean(axis=0) if average else iterates[-1])


def test_spam_automatic_step_is_quartered_where_it_overshoots():
    X, y = rows(16, n=30, d=6, shift=4.0)
    weight = np.ones(30)
    C, quarterings = automatic(X, y, weight, (0.01, 0.0), average=False)
    assert quarterings >= 1
    iterates = spam.fit(X, y, weight, 0.01, 0.0, lambda t: C / np.sqrt(t), epochs=2)
    passes = []
    clf = AUCClassifier(
        0.01, solver=SPAM(n_epochs=2, order="cyclic", average=False),
        callback=lambda progress: passes.append(progress.passes),
    ).fit(X, y)  # fmt: skip
    equal(clf.coef_[0], iterates[-1])
    assert passes == [quarterings + 1, quarterings + 2]  # the wasted ones are counted


@pytest.mark.parametrize("t0", ["auto", 50.0])
def test_spam_automatic_strong_steps_use_the_papers_constant(t0):
    X, y, weight = problem(3, weighted=False)
    alpha = 0.8
    beta = theory.beta_from_alpha(alpha, np.mean(y == 1))
    M = np.linalg.norm(X, axis=1).max()
    C = spam.strong_constant(beta, M)
    offset = 2 * M**2 / C if t0 == "auto" else t0
    iterates = spam.fit(
        X, y, weight, alpha, 0.0, lambda t: spam.step_size(t, C, "strong", t0=offset), epochs=2
    )
    assert t0 != "auto" or 1 / (C * (1 + offset)) <= 1 / (2 * M**2)
    solver = SPAM(n_epochs=2, order="cyclic", average=False, schedule="strong", t0=t0)
    equal(fitted(solver, X, y, weight, alpha, 0.0), iterates[-1])


@each_form
@pytest.mark.parametrize("average", [False, True], ids=["last", "averaged"])
def test_spam_stays_exact_when_the_scale_is_folded(form, average):
    """w shrinks by 4 % or so at every step; the scale is folded into the vector below 1e-5."""
    X, y, weight = problem(4, weighted=True)
    kept = without_zeros(X, y, weight)
    C = 0.1 / (X**2).sum(axis=1).max()
    alpha = theory.alpha_from_beta(0.05 / C, spam.Population(*kept).p)
    eta = np.array([spam.step_size(t, C, "power", theta=0.01) for t in range(1, 481)])
    assert np.prod(1 / (1 + eta * 0.05 / C)) < 1e-5**1.5
    solver = SPAM(
        C, n_epochs=480 // len(kept[1]), order="cyclic", average=average, schedule="power",
        theta=0.01,
    )  # fmt: skip
    iterates = spam.fit(*kept, alpha, 0.0, lambda t: eta[t - 1], epochs=solver.n_epochs)
    equal(
        fitted(solver, form(X), y, weight, alpha, 0.0),
        iterates.mean(axis=0) if average else iterates[-1],
    )


def test_spam_from_a_warm_start():
    X, y, weight = problem(5, weighted=False)
    clf = AUCClassifier(0.1, solver=SPAM(0.1, n_epochs=2, order="cyclic", average=False))
    first = clf.set_params(warm_start=True).fit(X, y).coef_[0].copy()
    start = spam.fit(X, y, weight, 0.1, 0.0, lambda t: 0.1 / np.sqrt(t), epochs=2)[-1]
    equal(first, start)
    again = clf.fit(X, y).coef_[0]
    here, w = spam.Population(X, y, weight), start
    beta = theory.beta_from_alpha(0.1, here.p)
    for t in range(1, 61):  # the step counter starts again
        i, eta = (t - 1) % len(X), 0.1 / np.sqrt(t)
        w = spam.prox(w - eta * spam.G(w, X[i], y[i], here), eta, beta, 0.0)
    equal(again, w)


# ---- SPAM over a stream ------------------------------------------------------------------


def streamed(solver, X, y, weight, alpha, rho, chunk, form=np.asarray):
    clf = AUCClassifier(alpha, rho, solver=solver)
    for lo in range(0, len(y), chunk):
        part = slice(lo, lo + chunk)
        clf.partial_fit(form(X[part]), y[part], classes=[-1, 1], sample_weight=weight[part])
    return clf.coef_[0]


@pytest.mark.covering
@each_form
@pytest.mark.parametrize("penalty", ["l2", "elastic_net", "none"])
@each_schedule
@pytest.mark.parametrize("average", [False, True], ids=["last", "averaged"])
@pytest.mark.parametrize("chunk", [1, 7, 40])
def test_streamed_spam_keeps_running_means(form, penalty, schedule, average, chunk):
    penalty = PENALTIES[penalty]
    X, y, weight = problem(6, weighted=True, n=40)
    X, y, weight = without_zeros(X, y, weight)
    y[:2] = -1, 1  # both classes from the second row on
    settings, constant, extra = SCHEDULES[schedule]
    C = constant((X**2).sum(axis=1).max())
    # the first step of the literal version is that of the second row
    iterates = spam.growing(
        X, y, weight, *penalty, lambda t: spam.step_size(t, C, schedule, **extra)
    )
    assert len(iterates) == len(X) - 1
    solver = SPAM(step_size=C, order="cyclic", average=average, **settings)
    got = streamed(solver, X, y, weight, *penalty, chunk, form)
    equal(got, iterates.mean(axis=0) if average else iterates[-1])


@pytest.mark.parametrize("chunk", [1, 7, 40])
@pytest.mark.parametrize("penalty", ["l2", "elastic_net"])
def test_a_stream_that_begins_with_one_class(chunk, penalty):
    """Rows are counted, but no step is taken nor counted, until both classes have been seen."""
    penalty = PENALTIES[penalty]
    X, y, weight = problem(7, weighted=False, n=40)
    y[:10], y[10] = 1, -1
    C = 1.0 / (X**2).sum(axis=1).max()
    iterates = spam.growing(X, y, weight, *penalty, lambda t: C / np.sqrt(t))
    assert len(iterates) == 30
    solver = SPAM(step_size=C, order="cyclic", average=False)
    equal(streamed(solver, X, y, weight, *penalty, chunk), iterates[-1])


def test_a_stream_skips_rows_of_weight_zero():
    X, y, weight = problem(8, weighted=True, n=40)
    solver = SPAM(step_size=0.05, order="cyclic", average=False)
    kept = without_zeros(X, y, weight)
    whole = streamed(solver, X, y, weight, 0.1, 0.0, 40)
    equal(whole, streamed(solver, *kept, 0.1, 0.0, 40))
    equal(streamed(solver, X, y, weight, 0.1, 0.0, 5), whole)


def test_a_stream_goes_on_from_a_fit():
    """p, μ± and the step counter are those of the fit; the rows come after its own."""
    X, y, weight = problem(9, weighted=False, n=40)
    solver = SPAM(step_size=0.1, n_epochs=2, order="cyclic", average=False)
    clf = AUCClassifier(0.1, solver=solver).fit(X[:25], y[:25])
    w = spam.fit(X[:25], y[:25], weight[:25], 0.1, 0.0, lambda t: 0.1 / np.sqrt(t), epochs=2)[-1]
    equal(clf.coef_[0], w)
    for t, i in enumerate(range(25, 40), start=51):
        seen = slice(0, i + 1)
        here = spam.Population(X[seen], y[seen], weight[seen])
        eta, beta = 0.1 / np.sqrt(t), theory.beta_from_alpha(0.1, here.p)
        w = spam.prox(w - eta * spam.G(w, X[i], y[i], here), eta, beta, 0.0)
    equal(clf.partial_fit(X[25:], y[25:]).coef_[0], w)


def test_a_stream_goes_on_with_the_random_state_of_the_fit():
    """The rows of a later pass are not shuffled as those of the first were."""
    X, y, _ = problem(10, weighted=False, n=12)
    solver = SPAM(0.1, n_epochs=2, average=False)
    clf = AUCClassifier(0.1, solver=solver, random_state=3).fit(X, y)
    rng, w, met = np.random.RandomState(3), np.zeros(6), np.arange(12)
    path = np.concatenate([rng.permutation(12) for _ in range(4)])
    for t, i in enumerate(path, start=1):
        if t == 25:
            equal(clf.coef_[0], w)
        if t >= 25:  # a row that a stream meets enters p and μ± first
            met = np.append(met, i)
        here, eta = spam.Population(X[met], y[met], np.ones(len(met))), 0.1 / np.sqrt(t)
        beta = theory.beta_from_alpha(0.1, here.p)
        w = spam.prox(w - eta * spam.G(w, X[i], y[i], here), eta, beta, 0.0)
    equal(clf.partial_fit(X, y).partial_fit(X, y).coef_[0], w)


# ---- VRSPAM ------------------------------------------------------------------------------


def vrspam_start(init, X, y, weight, penalty):
    if init == "zero":
        return np.zeros(X.shape[1])
    C, _ = automatic(X, y, weight, penalty)
    return spam.fit(X, y, weight, *penalty, lambda t: C / np.sqrt(t), epochs=1).mean(axis=0)


@pytest.mark.covering
@each_form
@each_penalty
@weighted
@pytest.mark.parametrize("init", ["zero", "spam"])
@pytest.mark.parametrize("inner", ["auto", 13])
def test_vrspam_is_the_paper(form, penalty, weighted, init, inner):
    X, y, weight = problem(11, weighted)
    kept = without_zeros(X, y, weight)
    m = len(kept[0]) if inner == "auto" else inner
    eta = 0.25 / (kept[0] ** 2).sum(axis=1).max()
    start = vrspam_start(init, *kept, penalty)
    snapshots = vrspam.fit(*kept, *penalty, eta, stages=4, inner=m, start=start)
    results = []
    for safeguard in (False, True):
        solver = VRSPAM(
            eta, n_stages=4, n_inner=inner, order="cyclic", init=init, center=False,
            safeguard=safeguard,
        )  # fmt: skip
        results.append(fitted(solver, form(X), y, weight, *penalty))
        equal(results[-1], snapshots[-1])
    np.testing.assert_array_equal(*results)  # the safeguard had nothing to undo


def test_vrspam_with_a_large_step():
    """η = 1/M² on rows of one norm."""
    X, y = rows(12, n=40, d=4)
    X /= np.linalg.norm(X, axis=1)[:, None]
    snapshots = vrspam.fit(X, y, np.ones(40), 0.05, 0.0, 1.0, 6, 40, np.zeros(4))
    solver = VRSPAM(1.0, n_stages=6, order="cyclic", init="zero", center=False, safeguard=False)
    equal(fitted(solver, X, y, None, 0.05, 0.0), snapshots[-1])


@each_form
def test_vrspam_stays_exact_when_the_scale_is_folded(form):
    """With ηβ = 10 the scale falls below 1e-100 after about 100 steps."""
    X, y, weight = problem(13, weighted=True)
    kept = without_zeros(X, y, weight)
    eta = 0.5 / (X**2).sum(axis=1).max()
    weights = spam.typical(kept[2])
    alpha = theory.alpha_from_beta(10.0 / eta, spam.Population(*kept[:2], weights).p)
    snapshots = vrspam.fit(*kept, alpha, 0.0, eta, 2, 250, np.zeros(6))
    solver = VRSPAM(eta, n_stages=2, n_inner=250, order="cyclic", init="zero", center=False)
    got = fitted(solver, form(X), y, weight, alpha, 0.0)
    expected = snapshots[-1]
    np.testing.assert_allclose(got, expected, rtol=0, atol=1e-10 * np.abs(expected).max())


def test_vrspam_automatic_step():
    """min(1/(2L), 1/(2M²)), on rows shifted by their mean where they are dense."""
    X, y, weight = problem(14, weighted=False)
    for form, middle in ((np.asarray, X.mean(axis=0)), (sp.csr_array, np.zeros(6))):
        shifted = X - middle
        L, M2 = spam.largest_curvature(shifted, y, weight), (shifted**2).sum(axis=1).max()
        eta = min(1 / (2 * L), 1 / (2 * M2))
        snapshots = vrspam.fit(shifted, y, weight, 0.1, 0.0, eta, 3, 30, np.zeros(6))
        solver = VRSPAM(n_stages=3, order="cyclic", init="zero")
        equal(fitted(solver, form(X), y, None, 0.1, 0.0), snapshots[-1])


def test_vrspam_safeguard_undoes_a_stage_that_raises_the_objective():
    X, y, weight = problem(15, weighted=False)
    eta = 12.0 / (X**2).sum(axis=1).max()
    settings = dict(n_stages=12, order="cyclic", init="zero", center=False)
    got = fitted(VRSPAM(eta, **settings), X, y, weight, 0.01, 0.0)
    pairs, w, undone = Pairs(X, y), np.zeros(6), 0
    for _ in range(12):
        new = vrspam.fit(X, y, weight, 0.01, 0.0, eta, 1, 30, w)[0]
        if pairs.objective(new, 0.01, 0.0) > pairs.objective(w, 0.01, 0.0):
            eta, undone = eta / 2, undone + 1
        else:
            w = new
    assert undone >= 2
    equal(got, w)


@each_form
@pytest.mark.parametrize("penalty", ["l2", "elastic_net"])
def test_streamed_vrspam_is_one_stage_on_the_new_rows(form, penalty):
    """p and μ± are those of all rows so far, μ̃ the mean of G over the new rows."""
    alpha, rho = PENALTIES[penalty]
    X, y, weight = problem(17, weighted=True, n=40)
    X, y, weight = without_zeros(X, y, weight)
    eta, w = 0.25 / (X**2).sum(axis=1).max(), np.zeros(6)
    clf = AUCClassifier(alpha, rho, solver=VRSPAM(eta, order="cyclic"))
    for lo in range(0, len(y), 8):
        new, seen = slice(lo, lo + 8), slice(0, lo + 8)
        clf.partial_fit(form(X[new]), y[new], classes=[-1, 1], sample_weight=weight[new])
        here = spam.Population(X[seen], y[seen], weight[seen])
        part = X[new], y[new], weight[new]
        scale = 2 * here.p * (1 - here.p)
        mu, snapshot = vrspam.full_gradient(w, *part, here), w
        for x, y_i, q in zip(*part, strict=True):
            step = eta * vrspam.v(w, snapshot, mu, x, y_i, q, here)
            w = spam.prox(w - step, eta, scale * alpha * (1 - rho), scale * alpha * rho)
        equal(clf.coef_[0], w)
