"""What means and variances of scores tell of their AUC: an estimate, and bounds that hold."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import norm

from aucmax import metrics

untimed = settings(deadline=None, derandomize=True, max_examples=40)
ROWS = st.lists(st.integers(-5, 5).map(float) | st.floats(-9.0, 9.0), min_size=1, max_size=8)


@untimed
@given(ROWS, ROWS, st.floats(1e-3, 1e3))
def test_the_bounds_hold_for_any_scores_in_any_unit(pos, neg, unit):
    score, y = unit * np.array(pos + neg), np.repeat([1, 0], [len(pos), len(neg)])
    gap = score[y == 1].mean() - score[y == 0].mean()
    found = metrics.moment_auc(gap, score[y == 1].var() + score[y == 0].var())
    auc = metrics.roc_auc(y, score)
    assert found.low - 1e-9 <= auc <= found.high + 1e-9
    turned = metrics.moment_auc(-gap, score[y == 1].var() + score[y == 0].var())
    assert turned == pytest.approx((1 - found.binormal, 1 - found.high, 1 - found.low))


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_the_bound_is_nearly_reached(share):
    # all spread is in the positives, of which a share lies just below the negatives, all at 0
    pos = np.where(np.arange(1000) < 1000 * share, -1e-9, 1.0)
    found = metrics.moment_auc(pos.mean(), pos.var())
    assert metrics.roc_auc(np.repeat([1, 0], [1000, 1]), [*pos, 0.0]) == pytest.approx(1 - share)
    assert found.low == pytest.approx(1 - share, abs=1e-6)


@pytest.mark.parametrize(("gap", "sd", "other"), [(1.0, 1.0, 1.0), (-0.3, 0.2, 2.0)])
def test_the_estimate_is_the_area_of_normal_scores(gap, sd, other):
    area = quad(lambda z: norm.pdf(z, gap, sd) * norm.cdf(z, 0.0, other), -20, 20)[0]
    assert metrics.moment_auc(gap, sd**2 + other**2).binormal == pytest.approx(area, rel=1e-9)


def test_scores_without_spread_and_sizes_that_overflow_squares():
    assert metrics.moment_auc(0.0, 0.0) == (0.5, 0.5, 0.5)
    assert metrics.moment_auc(1.0, 0.0) == (1.0, 1.0, 1.0)
    assert metrics.moment_auc(-1.0, 0.0) == (0.0, 0.0, 0.0)
    assert metrics.moment_auc(0.0, 1.0) == (0.5, 0.0, 1.0)
    assert metrics.moment_auc(1e200, 1e300).low == 1.0
    assert metrics.moment_auc(1e-200, 1e-300).low == pytest.approx(1e-100)
    np.testing.assert_allclose(metrics.moment_auc([1.0, -1.0], [1.0, 1.0]).low, [0.5, 0.0])
    for bad in ((np.nan, 1.0), (1.0, -1.0), (1.0, np.inf)):
        with pytest.raises(ValueError, match="gap and variance must be finite"):
            metrics.moment_auc(*bad)
