"""What holds for every loss, every penalty and every solver of the registries."""

import numba
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from aucmax.data.rows import as_rows, products, row_add, row_add_both, row_dot, row_norm2, take_rows
from aucmax.data.rows.products import row_blocks
from aucmax.data.rows.view import LONG_VECTOR
from aucmax.objective.losses import LOSSES, PairwiseLoss
from aucmax.objective.penalties import PENALTIES
from aucmax.solvers import SOLVERS
from oracles import rows

untimed = settings(deadline=None, derandomize=True, max_examples=30)
PAIRWISE = {name: loss for name, loss in LOSSES.items() if isinstance(loss, PairwiseLoss)}
each_loss = pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES)
each_pairwise = pytest.mark.parametrize("loss", PAIRWISE.values(), ids=PAIRWISE)
each_penalty = pytest.mark.parametrize("kind", PENALTIES.values(), ids=PENALTIES)
each_solver = pytest.mark.parametrize("solver", SOLVERS)


def test_the_registries_are_keyed_by_name():
    for registry in (LOSSES, PENALTIES, SOLVERS):
        assert registry
        assert all(item.name == name for name, item in registry.items())


# ---- losses ------------------------------------------------------------------------------

POINTS = np.linspace(-2.3, 3.1, 41)  # away from the kinks of hinges at t = 1


@st.composite
def scored(draw):
    """Scores, signs of both classes, weights that sum to 1 in each class, and a direction."""
    sign = np.array([1.0, -1.0, *draw(st.lists(st.sampled_from([1.0, -1.0]), max_size=8))])
    seed = draw(st.integers(0, 2**31 - 1))
    rng = np.random.RandomState(seed)
    z, u, weight = rng.randn(len(sign)), rng.randn(len(sign)), rng.rand(len(sign)) + 0.05
    s = weight / np.where(sign > 0, weight[sign > 0].sum(), weight[sign < 0].sum())
    return z, u, sign, s


@each_pairwise
def test_the_derivative_of_a_loss_is_its_slope(loss):
    h = 1e-6
    slope = (loss.point(POINTS + h) - loss.point(POINTS - h)) / (2 * h)
    np.testing.assert_allclose(loss.derivative(POINTS), slope, atol=1e-7)


@each_pairwise
def test_a_loss_is_convex_and_falls_where_pairs_are_ranked_wrongly(loss):
    middle = loss.point((POINTS[:-1] + POINTS[1:]) / 2)
    assert np.all(middle <= (loss.point(POINTS[:-1]) + loss.point(POINTS[1:])) / 2 + 1e-12)
    assert np.all(loss.derivative(POINTS[POINTS <= 0]) < 0)
    assert loss.point(np.array([0.0]))[0] == 1.0


@each_pairwise
@untimed
@given(scored())
def test_the_value_is_the_sum_over_pairs(loss, sample):
    z, _, sign, s = sample
    value, gradient = 0.0, np.zeros_like(z)
    for i in np.flatnonzero(sign > 0):
        for j in np.flatnonzero(sign < 0):
            t = z[i : i + 1] - z[j]
            value += 0.5 * s[i] * s[j] * loss.point(t)[0]
            slope = 0.5 * s[i] * s[j] * loss.derivative(t)[0]
            gradient[i] += slope
            gradient[j] -= slope
    assert loss.value(z, sign, s) == pytest.approx(value, rel=1e-12)
    np.testing.assert_allclose(loss.gradient(z, sign, s), gradient, rtol=0, atol=1e-13)


@each_loss
@untimed
@given(scored())
def test_the_gradient_is_the_slope_of_the_value(loss, sample):
    z, u, sign, s = sample
    h = 1e-6
    slope = (loss.value(z + h * u, sign, s) - loss.value(z - h * u, sign, s)) / (2 * h)
    assert loss.gradient(z, sign, s) @ u == pytest.approx(slope, rel=1e-6, abs=1e-8)


@each_loss
@untimed
@given(scored())
def test_the_hessian_product_is_the_slope_of_the_gradient(loss, sample):
    z, u, sign, s = sample
    h = 1e-6
    slope = (loss.gradient(z + h * u, sign, s) - loss.gradient(z - h * u, sign, s)) / (2 * h)
    product = loss.at(z, sign, s).product(u)
    np.testing.assert_allclose(product, slope, rtol=0, atol=1e-7)
    assert u @ product >= -1e-12  # convex
    other = np.cos(np.arange(len(u)))
    assert other @ product == pytest.approx(
        u @ loss.at(z, sign, s).product(other), rel=1e-9, abs=1e-12
    )


@each_loss
@untimed
@given(scored(), st.floats(-100, 100))
def test_a_loss_of_the_ranking_sees_differences_alone(loss, sample, shift):
    z, _, sign, s = sample
    assert loss.value(z + shift, sign, s) == pytest.approx(loss.value(z, sign, s), rel=1e-9)
    gradient = loss.gradient(z, sign, s)
    assert gradient.sum() == pytest.approx(0.0, abs=1e-12)
    np.testing.assert_allclose(loss.gradient(z + shift, sign, s), gradient, atol=1e-10)


@each_loss
@untimed
@given(scored())
def test_what_a_loss_is_like_where_all_scores_are_zero(loss, sample):
    _, u, sign, s = sample
    zero, delta = np.zeros(len(u)), s @ (sign * u)
    assert loss.value(zero, sign, s) == pytest.approx(loss.at_zero, rel=1e-14)
    slope = loss.gradient(zero, sign, s) @ u
    assert slope == pytest.approx(loss.slope_at_zero * delta, rel=1e-9, abs=1e-12)
    if loss.kind != "kinked":
        means = np.where(sign > 0, s @ (u * (sign > 0)), s @ (u * (sign < 0)))
        within, between = loss.bends_at_zero
        bent = within * s @ (u - means) ** 2 + between * delta**2
        assert u @ loss.at(zero, sign, s).product(u) == pytest.approx(bent, abs=1e-12)


@each_loss
@untimed
@given(scored())
def test_swapped_classes_swap_the_scores(loss, sample):
    z, _, sign, s = sample
    assert loss.value(-z, -sign, s) == pytest.approx(loss.value(z, sign, s), rel=1e-12)


EVERY_LOSS = (
    test_the_derivative_of_a_loss_is_its_slope,
    test_a_loss_is_convex_and_falls_where_pairs_are_ranked_wrongly,
    test_the_value_is_the_sum_over_pairs,
    test_the_gradient_is_the_slope_of_the_value,
    test_the_hessian_product_is_the_slope_of_the_gradient,
    test_a_loss_of_the_ranking_sees_differences_alone,
    test_what_a_loss_is_like_where_all_scores_are_zero,
    test_swapped_classes_swap_the_scores,
)


# ---- rows and products -------------------------------------------------------------------

FORMS = {
    "dense": np.asarray,
    "fortran": np.asfortranarray,
    "csr_array": sp.csr_array,
    "csc_array": sp.csc_array,
    "coo_matrix": sp.coo_matrix,
    "csr_int64": lambda X: int64_indices(sp.csr_array(X)),
    "csr_duplicates": lambda X: with_duplicates(X),
    "csr_unsorted": lambda X: unsorted(sp.csr_array(X)),
}


def int64_indices(X):
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    return X


def with_duplicates(X):
    """Every entry stored as two halves."""
    Z = sp.coo_array(X)
    twice = [np.concatenate([c, c]) for c in Z.coords]
    order = np.argsort(twice[0], kind="stable")
    data, (i, j) = np.concatenate([Z.data, Z.data])[order] / 2, (c[order] for c in twice)
    indptr = np.concatenate([[0], np.cumsum(np.bincount(i, minlength=X.shape[0]))])
    return sp.csr_array((data, j, indptr), shape=X.shape)


def unsorted(X):
    for i in range(X.shape[0]):
        part = slice(X.indptr[i], X.indptr[i + 1])
        X.indices[part], X.data[part] = X.indices[part][::-1].copy(), X.data[part][::-1].copy()
    X.has_sorted_indices = False
    return X


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64])
@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_products_in_every_form_of_rows(form, dtype):
    X, y = rows(1, n=30, d=7, density=0.4)
    X = (X.astype(np.float32) if dtype != np.int64 else np.round(4 * X)).astype(dtype)
    if dtype == np.int64 and form in (FORMS["csr_duplicates"],):
        X = 2 * X  # halves are whole numbers
    given_form = form(X)
    R, X = as_rows(given_form), X.astype(np.float64)
    assert (R.data if hasattr(R, "indptr") else R).dtype == (
        np.float32 if dtype == np.float32 else np.float64
    )
    if hasattr(R, "indptr"):  # one compilation for all
        assert (R.indices.dtype, R.indptr.dtype) == (np.int32, np.int64)
    rng = np.random.RandomState(0)
    v, V, s = rng.randn(7), rng.randn(7, 3), rng.rand(30)
    offset = rng.randn(30)
    exact = dict(rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(products.scores(R, v), X @ v, **exact)
    rough = exact if dtype != np.float32 else dict(rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(products.scores(R, V), X @ V, **rough)
    np.testing.assert_allclose(products.adjoint(R, s), X.T @ s, **exact)
    np.testing.assert_allclose(
        products.normal_product(R, s, v, offset)[0], X.T @ (s * (X @ v - offset)), **exact
    )
    np.testing.assert_allclose(
        products.normal_product(R, s, V)[0], X.T @ (s[:, None] * (X @ V)), **exact
    )
    share = s / np.where(y > 0, s[y > 0].sum(), s[y < 0].sum())
    means = products.class_means(R, y.astype(float), share)
    variances = products.class_variances(R, y.astype(float), share, *means)
    for k, members in enumerate((y > 0, y < 0)):
        mean = share[members] @ X[members]
        np.testing.assert_allclose(means[k], mean, **exact)
        np.testing.assert_allclose(variances[k], share[members] @ (X[members] - mean) ** 2, **exact)
    for origin in (np.zeros(7), X.mean(axis=0)):
        Z = X - origin
        matrix, total = products.gram(R, s, origin)
        np.testing.assert_allclose(matrix, Z.T @ (s[:, None] * Z), **exact)
        np.testing.assert_allclose(total, Z.T @ s, **exact)
    index = np.array([3, 0, 3, 29])
    np.testing.assert_allclose(products.scores(take_rows(R, index), v), X[index] @ v, **exact)
    np.testing.assert_allclose(products.scores_at(R, index, V), X[index] @ V, **rough)
    if hasattr(R, "indptr"):
        np.testing.assert_allclose(products.sparse_gram(R, s), X.T @ (s[:, None] * X), **exact)
    np.testing.assert_allclose(products.row_norms2(R), (X**2).sum(axis=1), **exact)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("k", [1, 8, 9, 17])
@pytest.mark.parametrize("are_far", [False, True])
def test_products_with_several_columns(form, k, are_far, monkeypatch):
    rng = np.random.default_rng(k)
    X = np.where(rng.random((5003, 23)) < 0.3, rng.standard_normal((5003, 23)), 0.0)
    X = X if form is sp.csr_array else rng.standard_normal((5003, 23))
    R, W, G = as_rows(form(X)), rng.standard_normal((23, k)), rng.standard_normal((5003, k))
    G[::3], G[4, 0], G[5] = 0.0, np.nan, rng.permutation(np.arange(k) - (k - 1) / 2)
    tests = np.flatnonzero(rng.random(5003) < 0.2)
    if are_far:
        monkeypatch.setattr(products, "FAR_ENTRIES", 0)
    np.testing.assert_allclose(products.scores(R, W), X @ W, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(
        products.scores_at(R, tests, W), X[tests] @ W, rtol=1e-10, atol=1e-12
    )
    total = products.adjoint(R, G)
    assert np.isnan(total[X[4] != 0, 0]).all()
    np.testing.assert_allclose(total[:, 1:], X.T @ G[:, 1:], rtol=1e-10, atol=1e-10)
    G[4, 0] = 0.0
    np.testing.assert_allclose(products.adjoint(R, G), X.T @ G, rtol=1e-10, atol=1e-10)


def test_a_full_column_far_from_zero_keeps_its_digits_among_sparse_ones():
    X, y = rows(3, n=200, d=40, density=0.05)
    X[:, 3], s = 1e7 + X[:, 3] + np.arange(200) % 7, np.random.RandomState(0).rand(200)
    R, share = as_rows(sp.csr_array(X)), s / np.where(y > 0, s[y > 0].sum(), s[y < 0].sum())
    means = products.class_means(R, y.astype(float), share)
    for mean, variance, members in zip(
        means, products.class_variances(R, y.astype(float), share, *means), (y > 0, y < 0),
        strict=True,
    ):  # fmt: skip
        exact = share[members] @ (X[members] - mean) ** 2
        np.testing.assert_allclose(variance, exact, rtol=1e-9, atol=1e-14)
    matrix, _ = products.gram(R, s, means[0])
    Z = X - means[0]
    np.testing.assert_allclose(matrix, Z.T @ (s[:, None] * Z), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "csr"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_verbs_of_a_row(form, dtype):
    """The plain bodies, as they run with NUMBA_DISABLE_JIT=1."""
    X = rows(2, n=6, d=5, density=0.5)[0].astype(dtype)
    R, X = as_rows(form(X)), X.astype(np.float64)
    w = np.arange(5.0)
    for i in range(6):
        assert row_dot(R, i, w) == pytest.approx(X[i] @ w, rel=1e-12, abs=1e-14)
        assert row_norm2(R, i) == pytest.approx(X[i] @ X[i], rel=1e-12, abs=1e-14)
        v = w.copy()
        row_add(R, i, 0.5, v)
        np.testing.assert_allclose(v, w + 0.5 * X[i], rtol=1e-12)
        u = -w
        row_add_both(R, i, 2.0, v, -4.0, u)
        np.testing.assert_allclose(v, w + 2.5 * X[i], rtol=1e-12)
        np.testing.assert_allclose(u, -w - 4.0 * X[i], rtol=1e-12)


def test_rows_are_not_copied_without_need_and_never_written():
    X = np.ones((3, 2))
    R = as_rows(X)
    assert R.base is X
    assert X.flags.writeable
    with pytest.raises(ValueError, match="read-only"):
        R[0, 0] = 2.0
    S = sp.csr_array(X.astype(np.float32))
    assert np.shares_memory(as_rows(S).data, S.data)


@pytest.fixture
def threads(monkeypatch):
    return lambda count: monkeypatch.setattr(numba.config, "NUMBA_NUM_THREADS", count)


def test_products_with_more_columns_than_stay_near_the_processor():
    rng, d = np.random.RandomState(0), 2 * LONG_VECTOR
    X = sp.random_array((90, d), density=1e-3, format="csr", rng=rng)
    X.data[:] = rng.randn(X.nnz)
    R, v, s, offset = as_rows(X), rng.randn(d), rng.randn(90), rng.randn(90)
    r = s * (X @ v - offset)
    exact = dict(rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(products.scores(R, v), X @ v, **exact)
    np.testing.assert_allclose(products.adjoint(R, s), X.T @ s, **exact)
    product, total = products.normal_product(R, s, v, offset)
    np.testing.assert_allclose(product, X.T @ r, **exact)
    assert total == pytest.approx(r.sum())


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "csr"])
@pytest.mark.parametrize(("blocks", "cut"), [(0, 1), (1, 1), (3, 2), (4, 4), (7, 4), (20, 8)])
def test_two_or_four_threads_have_equal_numbers_of_blocks(form, blocks, cut, monkeypatch):
    monkeypatch.setattr(products, "_BLOCK_ENTRIES", 500)
    rows = as_rows(form(np.random.RandomState(0).randn(50 * blocks + 1, 10)))
    ranges = row_blocks(rows)
    assert len(ranges) == cut
    assert [0, *(end for _, end in ranges)] == [*(start for start, _ in ranges), 50 * blocks + 1]
    sizes = np.diff(ranges)
    assert sizes.max() <= sizes.min() + 1


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "csr"])
def test_products_over_blocks_are_the_same_on_any_number_of_threads(form, threads):
    rng = np.random.RandomState(0)
    X = form(rng.randn(13_000, 64))
    y, s = np.where(rng.rand(13_000) < 0.3, 1.0, -1.0), rng.rand(13_000)
    R, v, V, S = as_rows(X), rng.randn(64), rng.randn(64, 9), rng.randn(13_000, 9)
    assert len(row_blocks(R)) == 2
    share = s / np.where(y > 0, s[y > 0].sum(), s[y < 0].sum())

    def everything():
        return [
            products.scores(R, v), products.adjoint(R, s), *products.normal_product(R, s, v),
            *products.class_means(R, y, share), products.row_norms2(R),
            *products.class_variances(R, y, share, v, v), products.scores(R, V),
            products.adjoint(R, S),
        ]  # fmt: skip

    threads(1)
    one = everything()
    np.testing.assert_allclose(one[1], X.T @ s, rtol=0, atol=1e-9)
    np.testing.assert_allclose(one[-2], X @ V, rtol=0, atol=1e-9)
    np.testing.assert_allclose(one[-1], X.T @ S, rtol=0, atol=1e-9)
    threads(2)
    for a, b in zip(one, everything(), strict=True):
        np.testing.assert_array_equal(a, b)
