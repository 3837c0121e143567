"""What a score leaves of the labels, and whether cells explain more of it than chance."""

import numpy as np
import pytest

from aucmax.statistics.residuals import p_of_any, p_values, residuals

LINE = np.column_stack([np.ones(5), np.arange(5.0)])
ROOT = np.linalg.cholesky(0.5 ** np.abs(np.subtract.outer(np.arange(5), np.arange(5))))


def draw(seed, effect=0.0, n=600):
    """Cells, which move the score in a line, and rows whose odds may bend with the cell."""
    rng = np.random.default_rng(seed)
    cells = rng.integers(0, 5, n)
    scores = rng.normal(size=n) + 0.5 * cells
    odds = np.exp(scores - 2.5 + effect * (cells == 2))
    return cells, scores, rng.random(n) < odds / (1.0 + odds)


def sums(cells, left):
    return np.array([[left[cells == c].sum(axis=0) for c in range(5)]])


def p(*of):
    cells, scores, positive = draw(*of)
    return float(p_values(sums(cells, residuals(scores, positive, None)), LINE, ROOT)[0])


def test_what_is_left_does_not_depend_on_the_units_of_scores_and_adds_up_to_nothing():
    _, scores, positive = draw(0)
    left = residuals(scores, positive, None)
    np.testing.assert_allclose(residuals(np.exp(scores), positive, None), left, atol=1e-14)
    assert left[:, 0].sum() == pytest.approx(0.0, abs=1e-10)
    h = positive - left[:, 0]
    assert (np.diff(h[np.argsort(scores)]) >= -1e-12).all()
    np.testing.assert_allclose(left[:, 1], h * (1 - h), atol=1e-14)
    weight = np.random.default_rng(1).integers(1, 4, len(scores)).astype(float)
    again = np.repeat(np.arange(len(scores)), weight.astype(int))
    rows = residuals(scores[again], positive[again], None)[:, 0]
    of_rows = np.bincount(again, rows, len(scores))
    np.testing.assert_allclose(residuals(scores, positive, weight)[:, 0], of_rows, atol=1e-12)


def test_the_statistic_read_literally():
    """Draws of independent residuals with these variances: how many have a larger ‖Rᵀu‖²."""
    rng = np.random.default_rng(2)
    variance = rng.uniform(1.0, 9.0, 5)
    u = 3.5 * rng.normal(size=5)
    project = np.eye(5) - LINE @ np.linalg.solve(LINE.T * variance @ LINE, LINE.T * variance)
    beyond = project @ ROOT  # orthogonal to lines by the variances
    draws = np.sqrt(variance) * rng.normal(size=(200_000, 5))
    larger = ((draws @ beyond) ** 2).sum(axis=1) > ((u @ beyond) ** 2).sum()
    block = np.column_stack([u, variance, np.zeros(5)])[None]
    assert p_values(block, LINE, ROOT)[0] == pytest.approx(larger.mean(), abs=0.01)
    line = np.column_stack([variance * (LINE @ [1.0, 2.0]), variance, np.zeros(5)])[None]
    np.testing.assert_allclose(p_values(block + line * [1, 0, 0], LINE, ROOT),
                               p_values(block, LINE, ROOT), rtol=1e-9)  # fmt: skip
    assert p_values(np.zeros((1, 5, 3)), LINE, ROOT)[0] == 1.0


def test_errors_are_as_rare_as_the_level_says():
    by_chance = np.array([p(seed) for seed in range(300)])
    assert 0.02 < (by_chance < 0.05).mean() < 0.08
    assert 0.4 < by_chance.mean() < 0.6
    assert np.mean([p(seed, 1.0) < 0.05 for seed in range(40)]) > 0.8


def test_tests_together():
    assert p_of_any(np.array([0.9, 0.02, 0.01])) == pytest.approx(0.03)
    assert p_of_any(np.array([0.9, 0.04, 0.03])) == pytest.approx(0.06)
    assert p_of_any(np.array([])) == 1.0
