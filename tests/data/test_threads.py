"""BLAS has one thread in a fit, and as many as before after it."""

import threading

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from aucmax import AUCClassifier, AUCClassifierCV, ClassMoments
from aucmax.data.rows.threads import one_blas_thread


def _blas_threads():
    return {one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"}


@pytest.fixture(autouse=True)
def three_threads():
    with threadpool_limits(3, user_api="blas"):
        yield
        assert _blas_threads() == {3}


def test_contexts_may_be_nested_and_end_by_an_error():
    with one_blas_thread():
        with one_blas_thread():
            assert _blas_threads() == {1}
        assert _blas_threads() == {1}
    assert _blas_threads() == {3}
    with pytest.raises(ValueError, match="no"), one_blas_thread():
        raise ValueError("no")


def test_a_fit_in_another_thread_changes_nothing():
    """The setting is that of the process, in which other fits may run."""
    seen = []

    def fit():
        AUCClassifier(callback=lambda *_: seen.append(_blas_threads())).fit(*_data())

    other = threading.Thread(target=fit)
    other.start()
    other.join()
    assert {3} in seen
    with one_blas_thread():
        other = threading.Thread(target=fit)
        other.start()
        other.join()
        assert seen[-1] == _blas_threads() == {1}


def _data():
    rng = np.random.RandomState(0)
    X = rng.randn(300, 12)
    return X, (X[:, 0] + rng.randn(300) > 0.5).astype(int)


@pytest.mark.parametrize("loss", ["square", "logistic"])
def test_a_fit_and_its_search_have_one(loss):
    seen = []
    model = AUCClassifier(loss=loss, callback=lambda *_: seen.append(_blas_threads()))
    model.fit(*_data())
    search = AUCClassifierCV(losses=(loss,), callback=lambda _: seen.append(_blas_threads()))
    search.fit(*_data())
    assert seen
    assert all(threads == {1} for threads in seen)


def test_moments_and_fits_have_the_same_bits_with_any_number_of_threads():
    rng = np.random.RandomState(1)
    X = rng.randn(30_000, 60)
    y = (X[:, 0] + rng.randn(30_000) > 1.0).astype(int)
    moments, models = [], []
    for threads in (1, 3):
        with threadpool_limits(threads, user_api="blas"):
            moments.append(ClassMoments().update(X, y).covs)
            models.append(AUCClassifier(loss="logistic").fit(X, y).coef_)
    np.testing.assert_array_equal(*moments)
    np.testing.assert_array_equal(*models)
