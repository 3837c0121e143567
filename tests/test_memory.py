"""What fits hold in memory beside the data."""

import tracemalloc

import numpy as np
import pytest

from aucmax import AUCClassifier, ClassMoments, Source
from aucmax.rows import scaled_rows, shifted_rows
from aucmax.rows.products import take_columns


@pytest.fixture(scope="module", params=[np.float32, np.float64])
def data(request):
    """Dense rows, in C order, of which a sample or a block is a small part."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40_000, 150)).astype(request.param)
    return X, (X[:, 0] + rng.normal(size=len(X)) > 1.0).astype(int)


def held(work):
    """The most bytes that a call has allocated at once."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("standardize", [0.0, 0.5])
@pytest.mark.parametrize("loss", ["square", "squared_hinge", "logistic"])
def test_a_fit_copies_no_dense_rows(data, loss, standardize):
    X, y = data
    clf = AUCClassifier(1e-2, loss=loss, standardize=standardize)
    clf.fit(X[:500], y[:500])  # compiles
    assert held(lambda: clf.fit(X, y)) < 0.8 * X.nbytes


def test_neither_do_moments_and_scores(data):
    X, y = data
    clf = AUCClassifier().fit(X[:500], y[:500])
    assert held(lambda: clf.decision_function(X)) < 0.5 * X.nbytes
    assert held(lambda: ClassMoments.from_data(X, y)) < 0.5 * X.nbytes


@pytest.mark.parametrize(("loss", "most"), [("squared_hinge", 16), ("logistic", 20)])
def test_newton_keeps_few_bytes_of_each_row_in_parts(loss, most):
    def part(seed):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(20_000, 2))
        return X, (X @ [1.0, -2.0] + 3.0 * rng.normal(size=len(X)) > 8.0).astype(int)

    def source(parts):
        return Source([lambda k=k: part(k) for k in range(parts)])

    clf = AUCClassifier(1e-2, loss=loss)
    clf.fit(source(1))  # compiles
    few, many = (held(lambda n=n: clf.fit(source(n))) for n in (6, 16))
    assert few < many < few + most * 10 * 20_000


def test_what_must_copy_copies_once(data):
    X, _ = data
    factor, S = np.linspace(1.0, 2.0, X.shape[1]), np.arange(0, X.shape[1], 2)
    assert held(lambda: scaled_rows(X, factor)) < 1.2 * X.nbytes
    assert held(lambda: shifted_rows(X, factor)) < 1.2 * X.nbytes
    assert held(lambda: take_columns(X, S, factor[S])) < 1.2 * 8 * len(X) * len(S)


def test_columns_are_those_of_the_rows_times_their_factors(data):
    X, _ = data
    factor, S = np.linspace(1.0, 2.0, X.shape[1]), np.array([3, 1, 140])
    columns = take_columns(X, S, factor[S])
    assert columns.flags.f_contiguous
    np.testing.assert_array_equal(columns, X[:, S].astype(np.float64) * factor[S])
