"""What the table of odds ratios says beside its figures."""

import contextlib

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from aucmax import AUCClassifier, odds_ratios
from aucmax.estimators.strata import FittedStrata
from aucmax.report.odds import OddsRatio, OddsTable

LINE = OddsRatio(
    feature="a", coef=0.0, std_error=1.0, odds_ratio=1.0, low=0.1, high=9.0, z=0.0, p_value=1.0
)


@pytest.mark.parametrize("efron", [0, 2])
def test_efrons_form_is_said_to_be_biased_where_it_was_taken(efron):
    caption = OddsTable(odds_ratios=[LINE], efron=efron).section().tables[0].caption
    assert ("an intercept for each stratum is nearly unbiased" in caption) == (efron > 0)
    words = FittedStrata(3, 1, "positives", exact=2 - efron, efron=efron).words
    assert ("biased towards no effect" in words) == (efron > 0)


def test_one_stratum_has_no_weight_beside_others():
    assert FittedStrata(1, 0, "positives", exact=1).words == "1 stratum"


@pytest.mark.parametrize(("gap", "alpha"), [(9.0, 0.0), (9.0, 1e-3), (0.5, 0.0)])
def test_separated_labels_have_no_finite_odds_ratios_without_a_penalty(gap, alpha):
    rng, stratum = np.random.default_rng(0), np.repeat(np.arange(50), 4)
    y = rng.random(200) < 0.4
    X = rng.normal(size=(200, 2)) + gap * y[:, None] * [1.0, 0.0]
    separated, model = gap > 5.0 and alpha == 0.0, AUCClassifier(loss="logistic", alpha=alpha)
    told = pytest.warns(ConvergenceWarning, match="coefficients of column 1 without a finite")
    with told if separated else contextlib.nullcontext():
        model.fit(X, y, strata=stratum)
    refused = pytest.raises(ValueError, match="no finite estimate without a penalty")
    with refused if separated else contextlib.nullcontext():
        assert np.isfinite(odds_ratios(model, X, y, stratum).high).all()
