"""The worth of pairs of columns within strata, and covariances of sparse and dense features."""

import numpy as np
import pytest
import scipy.sparse as sp
from tests.oracles import strata as oracle

from aucmax import ClassMoments
from aucmax.data.strata import Strata
from aucmax.objective.losses import Shares, Square
from aucmax.statistics import pairs_within
from aucmax.statistics.cross import cross_covariances
from aucmax.statistics.pair_sums import PairSums
from aucmax.statistics.pairs import all_pairs
from aucmax.statistics.pairs_within import PairsWithin

SIZES, ALPHA = np.array([2, 5, 3]), 0.03


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    n = 300
    cells = np.array([rng.integers(0, size, n) for size in SIZES], dtype=np.uint8)
    stratum = rng.integers(0, 40, n)
    positive = (rng.random(n) < 0.3) & (stratum > 3)
    return cells, positive, rng.random(n) + 0.1, rng.normal(size=n), stratum


def pairs_of(cells, positive, weight, z, stratum, mode="positives"):
    strata = Strata.of(stratum, len(z), mode)
    compared = strata.compared(positive, weight).shares
    shares, sign = Shares(strata.code, compared.of_stratum), np.where(positive, 1.0, -1.0)
    slope = Square().at(z, sign, compared.of_row, shares).gradient
    return PairsWithin(cells, SIZES, all_pairs(3), positive, compared.of_row, slope, strata)


@pytest.mark.parametrize("mode", ["positives", "pairs", "strata"])
def test_a_gain_is_the_fall_of_the_loss_by_the_best_map(rows, mode, monkeypatch):
    monkeypatch.setattr(pairs_within, "NUMBERS_AT_A_TIME", 300)  # one pair at a time
    cells, positive, weight, z, stratum = rows
    of_pairs = pairs_of(*rows, mode)
    gains, steps = of_pairs.gains(ALPHA), of_pairs.steps(ALPHA)

    def loss(z):
        return oracle.mean_loss(z, positive, stratum, weight, mode, "square")

    for (i, j), gain, step in zip(all_pairs(3), gains, steps, strict=True):
        size = SIZES[i] * SIZES[j]
        block = np.eye(size)[cells[i].astype(int) * SIZES[j] + cells[j]]
        square, _ = oracle.moments(block, positive, stratum, weight, mode)
        slope = [(loss(z + 1e-3 * b) - loss(z - 1e-3 * b)) / 2e-3 for b in block.T]
        best = -np.linalg.solve(square + ALPHA * np.eye(size), slope)
        np.testing.assert_allclose(step[:size], best, atol=1e-9)
        assert not step[size:].any()
        fall = loss(z) - loss(z + block @ best) - 0.5 * ALPHA * best @ best
        assert gain == pytest.approx(fall, rel=1e-8)


def test_with_one_stratum_gains_are_those_of_all_pairs(rows):
    cells, positive, weight, z, _ = rows
    plain = PairSums.of(cells, SIZES, all_pairs(3), positive, weight, z)
    within = pairs_of(cells, positive, weight, z, np.zeros(len(z)))
    np.testing.assert_allclose(within.gains(ALPHA), plain.gains(ALPHA), rtol=1e-9)
    np.testing.assert_allclose(within.steps(ALPHA), plain.steps(ALPHA), atol=1e-12)


def test_maps_that_only_tell_strata_apart_gain_nothing(rows):
    _, *others, stratum = rows
    cells = np.array([stratum % size for size in SIZES], dtype=np.uint8)
    np.testing.assert_allclose(pairs_of(cells, *others, stratum).gains(ALPHA), 0.0, atol=1e-18)


@pytest.mark.parametrize("within", [True, False])
def test_sparse_and_dense_features_have_the_covariances_of_all(rows, within):
    _, positive, weight, _, stratum = rows
    rng = np.random.default_rng(1)
    X = sp.random(300, 4, 0.3, format="csr", rng=rng)
    Y = rng.normal(size=(300, 2)) + (stratum % 7)[:, None]
    arguments = {"strata": stratum, "strata_weight": "pairs"} if within else {}
    both = np.hstack([X.toarray(), Y])
    moments = ClassMoments.from_data(both, positive.astype(int), weight, **arguments)
    strata = Strata.of(stratum, 300, "pairs") if within else None
    cross = cross_covariances(X, Y, positive, weight, strata)
    np.testing.assert_allclose(cross, moments.covs[:, :4, 4:], atol=1e-12)
    T = rng.normal(size=(6, 3))
    of_mapped = ClassMoments.from_data(both @ T, positive.astype(int), weight, **arguments)
    mapped = moments.mapped(T)
    np.testing.assert_allclose(mapped.covs, of_mapped.covs, atol=1e-12)
    np.testing.assert_allclose(mapped.means, of_mapped.means, atol=1e-12)
    assert (mapped.strata is not None) == within
