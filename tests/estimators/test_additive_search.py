"""The parts of a search of curves and maps, and their fits."""

from typing import Any

import numpy as np
import pytest

from aucmax import AdditiveAUCClassifier, AUCClassifier
from aucmax.columns.additive import AdditiveFeatures
from aucmax.estimators.additive_search import Cell, CurveRows, Grid, Part, Ranking, Screening
from aucmax.estimators.fitting import Settings
from aucmax.estimators.labelling import labelled_rows
from aucmax.estimators.named_loss import NamedLoss
from aucmax.objective.penalties import L2
from oracles.pairs import Pairs

GRID = Grid(("square", "logistic"), 10.0 ** np.arange(-3.0, 1.0), 1, (0, 1, 3), (0.0, 1.0))
PAIRS = Ranking([(0, 1), (1, 2), (0, 2)], np.array([0.3, 0.1, 0.05]))


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    table = np.column_stack([rng.normal(size=(400, 2)), rng.integers(0, 2, 400)])
    table[::9, 1] = np.nan
    y = table[:, 0] * np.nan_to_num(table[:, 1]) + rng.normal(size=400) > 0.8
    features = AdditiveFeatures().fit(table)
    weight = rng.integers(1, 4, 400).astype(float)
    labelled = labelled_rows(AUCClassifier(), features.transform(table), y, weight)
    return table, features, labelled


@pytest.mark.parametrize("cell", [Cell(0, 1, 2), Cell(0, 1, 2, 1, 1), Cell(0, 1, 0, 2, 3),
                                  Cell(1, 1, 2, 2, 1), Cell(0, 1, 2, 2, 1, 1)])  # fmt: skip
def test_moments_of_curves_go_on_with_those_of_maps(rows, cell):
    """A fit by the moments of all rows but those held out is that to the sparse rows themselves."""
    train, test = np.arange(0, 300), np.arange(300, 400)
    table, features, labelled = rows
    sparse, dense = (CurveRows(features, labelled, table, share) for share in (1.0, 1.0 - 1e-12))
    (moments,), _ = dense.moments([(train, test)])
    alone = dense.gains(moments, 0.1)
    parts = Part(sparse, train, test, alone), Part(dense, train, test, alone, moments)
    settings = Settings(NamedLoss("square"), L2(1.0), tol=1e-10)
    direct, merged = (fit_of(part, cell, settings) for part in parts)
    np.testing.assert_allclose(merged, direct, atol=1e-8)
    assert np.abs(direct).max() > 0.05


def fit_of(part, cell, settings):
    part.ranking = PAIRS
    return part.with_maps(GRID.counts[cell.pairs]).fit(GRID, cell, settings).coef


def test_gains_of_a_later_round_are_those_of_refits(rows):
    """At the score with the first map: what J, over all pairs of rows, falls by each other one."""
    table, features, labelled = rows
    train = np.arange(300)
    curves = CurveRows(features, labelled, table)
    part = Part(curves, train, np.arange(300, 400), [np.ones(3)] * 2)
    settings = Settings(NamedLoss("square"), L2(1.0), tol=1e-12)
    screening = Screening(GRID, Cell(0, 1, 2), settings)
    screening.begin(part, [(0, 1), (1, 2), (0, 2)], in_order=False)
    ranking = screening.with_next_round(part)
    assert (len(part.ranking.pairs), len({*ranking.pairs})) == (1, 3)
    before = part.with_maps(1)
    coef = before.fit(GRID, Cell(0, 1, 2, 1, GRID.usual), settings).coef
    score, weight, alpha = before.take(train) @ coef, labelled.weight_of(train), GRID.alphas[2]
    cells, sizes = features.map_places(table[train]).nearest().astype(int), features.n_places
    for (i, j), gain in zip(ranking.pairs[1:], ranking.gains[1:], strict=True):
        block = np.eye(sizes[i] * sizes[j])[cells[i] * sizes[j] + cells[j]]
        literal = Pairs(np.column_stack([score, block]), labelled.positive[train], weight)
        w = np.eye(1 + block.shape[1])[0]
        ridge = literal.hessian()[1:, 1:] + alpha * np.eye(block.shape[1])
        step = -np.linalg.solve(ridge, literal.gradient(w)[1:])
        after = literal.data_term(np.append(1.0, step)) + alpha / 2 * step @ step
        assert gain == pytest.approx(literal.data_term(w) - after, rel=1e-9)


def test_pairs_that_say_the_same_do_not_fill_the_list():
    """A map of a and b is nearly that of a and a copy of b: the third is that of c and d."""
    rng = np.random.default_rng(1)
    a, b, c, d = rng.normal(size=(4, 1500))
    table = np.column_stack([a, b, *(b + rng.normal(size=(2, 1500)) / 9), c, d])
    y = a * b + 0.6 * c * d + rng.normal(size=1500) > 0.5
    settings: dict[str, Any] = {"shape": "interactions", "losses": ["square"], "cv": 3}
    alone = AdditiveAUCClassifier(0, losses=["square"], shape="curves").fit(table, y)
    gains = alone.pair_gains(alone.pair_sums(table, y))
    assert {*[*gains][:3]} == {("x0", "x1"), ("x0", "x2"), ("x0", "x3")}
    model = AdditiveAUCClassifier(3, **settings).fit(table, y)
    assert model.interactions_[:2] == [*gains][:2]
    assert model.interactions_[2] == ("x4", "x5")
    drawn = AdditiveAUCClassifier(3, search_rows=1000, **settings).fit(table, y)
    assert drawn.interactions_[2] == ("x4", "x5")
