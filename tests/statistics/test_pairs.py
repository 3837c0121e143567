"""The worth of pairs of columns."""

import numpy as np
import pytest

from aucmax import ClassMoments
from aucmax.objective.losses import LOSSES
from aucmax.statistics.pair_sums import PairSums
from aucmax.statistics.pairs import all_pairs, cell_sums

SIZES = np.array([2, 5, 3])


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    n = 300
    cells = np.array([rng.integers(0, size, n) for size in SIZES], dtype=np.uint8)
    positive = rng.random(n) < 0.2
    weight = rng.random(n)
    share = weight / np.where(positive, weight[positive].sum(), weight[~positive].sum())
    return cells, positive, share, rng.normal(size=n)


def indicators(cells, pair):
    i, j = pair
    return np.eye(SIZES[i] * SIZES[j])[cells[i].astype(int) * SIZES[j] + cells[j]]


def gains(rows, alpha, tau=0.5, times=1):
    cells, positive, share, z = rows
    pairs = np.tile(all_pairs(3), (times, 1))
    return PairSums.of(cells, SIZES, pairs, positive, share, z).gains(alpha, tau)


def test_sums_of_cells(rows):
    cells, _, share, z = rows
    sums = cell_sums(cells, SIZES, all_pairs(3), np.column_stack([share, z]))
    for pair, of_pair in zip(all_pairs(3), sums, strict=True):
        block = indicators(cells, pair)
        np.testing.assert_allclose(of_pair[: block.shape[1], 0], share @ block, atol=1e-14)
        np.testing.assert_allclose(of_pair[: block.shape[1], 1], z @ block, atol=1e-13)
        assert not of_pair[block.shape[1] :].any()


@pytest.mark.parametrize("tau", [0.5, 0.2, 0.9])
def test_sums_of_parts_have_the_gains_of_all_rows(rows, tau):
    cells, positive, share, z = rows
    weight = share * np.where(positive, 7.0, 30.0)  # what the classes weigh is not known before
    parts = [slice(0, 90), slice(90, 95), slice(95, 300)]
    sums = [
        PairSums.of(cells[:, at], SIZES, all_pairs(3), positive[at], weight[at], z[at])
        for at in parts
    ]
    together = (sums[0] + sums[1] + sums[2]).gains(0.03, tau)
    np.testing.assert_allclose(together, gains(rows, 0.03, tau), rtol=1e-9)


@pytest.mark.parametrize("tau", [0.5, 0.2, 0.9])
def test_a_gain_is_the_drop_of_a_refit(rows, tau):
    """J of the square loss with the block of cells alone added, to its own optimum."""
    cells, positive, share, z = rows
    sign, alpha = np.where(positive, 1.0, -1.0), 0.03
    loss = LOSSES["square"].weighing(tau)
    slopes = loss.at(z, sign, share).gradient
    sums = PairSums.of(cells, SIZES, all_pairs(3), positive, share, z)
    steps = sums.steps(alpha, tau)
    for pair, gain, step in zip(all_pairs(3), gains(rows, alpha, tau), steps, strict=True):
        block = indicators(cells, pair)
        m = ClassMoments.from_data(block, positive, share)
        delta = m.mean_pos - m.mean_neg
        H = 2 * tau * m.cov_pos + 2 * (1 - tau) * m.cov_neg + np.outer(delta, delta)
        v = -np.linalg.solve(H + alpha * np.eye(len(H)), slopes @ block)

        def J(v, block=block):
            return loss.value(z + block @ v, sign, share) + alpha / 2 * v @ v

        assert gain == pytest.approx(J(np.zeros(len(v))) - J(v), rel=1e-9, abs=1e-12)
        np.testing.assert_allclose(step[: len(v)], v, rtol=1e-9, atol=1e-12)
        nearby = v + 1e-3 * np.random.default_rng(1).normal(size=(5, len(v)))
        assert min(map(J, nearby)) > J(v)


def test_of_many_pairs_each_has_its_own_gain(rows):
    of_many = gains(rows, 0.1, times=200)
    np.testing.assert_allclose(of_many, np.tile(gains(rows, 0.1), 200), rtol=1e-12)


def test_moments_of_mapped_rows():
    rng = np.random.default_rng(2)
    X, y, T = rng.normal(size=(60, 4)), rng.random(60) < 0.4, rng.normal(size=(4, 3))
    mapped = ClassMoments.from_data(X, y).mapped(T)
    direct = ClassMoments.from_data(X @ T, y)
    np.testing.assert_allclose(mapped.means, direct.means, atol=1e-14)
    np.testing.assert_allclose(mapped.covs, direct.covs, atol=1e-14)
    assert mapped.counts.tolist() == direct.counts.tolist()


def test_variances_of_mapped_rows_are_not_negative():
    """Along a direction in which no row moves, rounding alone would give them any sign."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 1)) @ rng.normal(size=(1, 8)) * 100.0
    T = np.linalg.qr(np.column_stack([X[0], rng.normal(size=(8, 7))]))[0]
    mapped = ClassMoments.from_data(X, rng.random(50) < 0.4).mapped(T)
    assert mapped.variances.min() >= 0.0
    assert (mapped.variances > 1.0).any(axis=1).all()
