"""The parts of a search of curves and maps, and their fits."""

import numpy as np
import pytest

from aucmax import AUCClassifier
from aucmax.columns.additive import AdditiveFeatures
from aucmax.estimators.additive_search import Cell, CurveRows, Grid, Part, Ranking
from aucmax.estimators.fitting import Settings
from aucmax.estimators.labelling import labelled_rows
from aucmax.estimators.named_loss import NamedLoss
from aucmax.objective.penalties import L2

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
