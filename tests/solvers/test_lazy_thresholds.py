"""SPAM's elastic net on rows of few entries: thresholds are applied only when they matter."""

import numpy as np
import pytest
import scipy.sparse as sp

from aucmax import AUCClassifier, theory
from aucmax.solvers import SPAM
from literal import each_average, equal, weighted, without_zeros
from oracles import spam

PENALTIES = {"elastic_net": (0.02, 0.5), "l1": (0.01, 1.0), "mostly_l1": (0.05, 0.9)}
each_penalty = pytest.mark.parametrize("penalty", PENALTIES.values(), ids=PENALTIES)
each_csr = pytest.mark.parametrize("dtype", [np.float64, np.float32])


def problem(seed, weighted=False, n=60, d=90, entries=4):
    """Rows with ``entries`` of d features, common ones and rare ones, which float32 holds."""
    rng = np.random.RandomState(seed)
    share = 1.0 / np.arange(1, d + 1)
    X = np.zeros((n, d))
    for row in X:
        row[rng.choice(d, entries, replace=False, p=share / share.sum())] = rng.randn(entries)
    X = X.astype(np.float32).astype(np.float64)
    y = np.where(X @ rng.randn(d) + 0.3 * rng.randn(n) > 0.3, 1, -1)
    weight = rng.choice([0.0, 0.5, 1.0, 2.5], size=n) if weighted else np.ones(n)
    assert 12 * entries < d  # else the thresholds are not lazy
    assert min(np.sum(y == 1), np.sum(y == -1)) > 5
    return X, y, weight


@pytest.mark.covering
@each_penalty
@each_average
@each_csr
@weighted
def test_it_is_the_paper(penalty, average, dtype, weighted):
    X, y, weight = problem(1, weighted)
    C = 2.0 / (X**2).sum(axis=1).max()
    kept = without_zeros(X, y, weight)
    iterates = spam.fit(*kept, *penalty, lambda t: C / np.sqrt(t), epochs=3)
    # coordinates end, begin, begin again and change sign
    alive = iterates != 0
    assert np.any(alive[:-1] & ~alive[1:])
    assert np.any(~alive[-1])
    assert np.any(alive[-1])
    assert np.any((np.diff(alive.astype(int), axis=0) == 1).sum(axis=0) > 1)
    assert np.any(iterates[:-1] * iterates[1:] < 0)
    solver = SPAM(C, n_epochs=3, order="cyclic", average=average)
    clf = AUCClassifier(*penalty, solver=solver)
    clf.fit(sp.csr_array(X, dtype=dtype), y, sample_weight=weight)
    expected = iterates.mean(axis=0) if average else iterates[-1]
    equal(clf.coef_[0], expected)
    np.testing.assert_array_equal(clf.coef_[0] == 0, expected == 0)


@each_average
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_it_stays_exact_when_the_scale_is_folded(average):
    X, y, weight = problem(2)
    C = 0.1 / (X**2).sum(axis=1).max()
    p = spam.Population(X, y, weight).p
    l2 = theory.alpha_from_beta(0.05 / C, p)
    alpha, rho = l2 / 0.9, 0.1
    solver = SPAM(C, n_epochs=8, order="cyclic", average=average, schedule="power", theta=0.01)
    eta = [spam.step_size(t, C, "power", theta=0.01) for t in range(1, 8 * len(y) + 1)]
    assert np.prod([1 / (1 + e * 0.05 / C) for e in eta]) < 1e-5**1.5
    iterates = spam.fit(X, y, weight, alpha, rho, lambda t: eta[t - 1], epochs=8)
    assert 0 < np.mean(iterates[-1] == 0) < 1
    clf = AUCClassifier(alpha, rho, solver=solver).fit(sp.csr_array(X), y)
    # the weights are tiny under so strong a penalty
    expected = iterates.mean(axis=0) if average else iterates[-1]
    scale = np.abs(expected).max()
    assert scale > 0
    np.testing.assert_allclose(clf.coef_[0], expected, rtol=0, atol=1e-10 * scale)


@pytest.mark.covering
@each_penalty
@each_average
@pytest.mark.parametrize("chunk", [1, 7, 60])
def test_a_stream_keeps_running_means(penalty, average, chunk):
    X, y, weight = problem(3, weighted=True)
    X, y, weight = without_zeros(X, y, weight)
    y[:2] = -1, 1
    C = 2.0 / (X**2).sum(axis=1).max()
    iterates = spam.growing(X, y, weight, *penalty, lambda t: C / np.sqrt(t))
    clf = AUCClassifier(*penalty, solver=SPAM(C, order="cyclic", average=average))
    for lo in range(0, len(y), chunk):
        part = slice(lo, lo + chunk)
        clf.partial_fit(sp.csr_array(X[part]), y[part], classes=[-1, 1], sample_weight=weight[part])
    equal(clf.coef_[0], iterates.mean(axis=0) if average else iterates[-1])


@each_penalty
@each_average
def test_a_stream_goes_on_between_lazy_and_plain_thresholds(penalty, average):
    """Dense rows, whose entries all lose their threshold at every step, between sparse ones."""
    X, y, weight = problem(4)
    y[:2] = -1, 1
    iterates = spam.growing(X, y, weight, *penalty, lambda t: 0.2 / np.sqrt(t))
    clf = AUCClassifier(*penalty, solver=SPAM(0.2, order="cyclic", average=average))
    for k, lo in enumerate(range(0, len(y), 9)):
        part = slice(lo, lo + 9)
        form = np.asarray if k % 2 else sp.csr_array
        clf.partial_fit(form(X[part]), y[part], classes=[-1, 1])
    equal(clf.coef_[0], iterates.mean(axis=0) if average else iterates[-1])
