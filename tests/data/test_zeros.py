"""Dense rows that are mostly zeros are CSR in fits, with the same results."""

import numpy as np
import pytest
import scipy.sparse as sp

from aucmax import AUCClassifier, AUCClassifierCV
from aucmax.data.rows import CSR, as_rows, to_scipy
from aucmax.data.rows.zeros import without_zeros


def rows(dtype: type = np.float64, density: float = 0.1) -> tuple[np.ndarray, np.ndarray]:
    """Return 25,000 rows of 50 features, one of them far from zero and in every row, and labels."""
    rng = np.random.default_rng(0)
    X = (rng.random((25_000, 50)) < density) * rng.integers(1, 5, 50)
    X[:, 7] = 2000 + rng.integers(0, 30, len(X))
    score = X @ rng.normal(size=50)
    return X.astype(dtype), score > np.quantile(score, 0.9)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_stored_entries_are_those_that_are_not_zero(dtype):
    X, _ = rows(dtype)
    X[17, 3], X[-1] = np.nan, 0.0
    stored = without_zeros(as_rows(X))
    assert isinstance(stored, CSR)
    assert stored.data.dtype == dtype
    assert not stored.data.flags.writeable
    np.testing.assert_array_equal(to_scipy(stored).toarray(), X)
    assert len(stored.data) == np.count_nonzero(X)


def test_few_rows_dense_rows_and_csr_rows_stay_as_they_are():
    X, _ = rows()
    for given in (X[:5000], rows(density=0.3)[0], sp.csr_array(X)):
        given = as_rows(given)
        assert without_zeros(given) is given


def test_rows_whose_sample_is_sparse_and_others_not_stay_as_they_are():
    X, _ = rows()
    others = np.arange(len(X)) % (len(X) // 1000) != 0
    X[others] = 1.0
    given = as_rows(X)
    assert without_zeros(given) is given


@pytest.mark.parametrize("loss", ["square", "squared_hinge", "logistic"])
def test_a_fit_to_them_is_that_to_csr_rows(loss):
    X, y = rows()
    dense, sparse = (AUCClassifier(loss=loss).fit(given, y) for given in (X, sp.csr_array(X)))
    np.testing.assert_array_equal(dense.coef_, sparse.coef_)
    assert dense.optimality_ <= 1e-4


def test_a_search_on_them_is_that_on_csr_rows():
    X, y = rows()
    models = [AUCClassifierCV(losses=("square",)).fit(given, y) for given in (X, sp.csr_array(X))]
    np.testing.assert_array_equal(*(model.best_estimator_.coef_ for model in models))
    np.testing.assert_array_equal(*(model.auc_path_ for model in models))
