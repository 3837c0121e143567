"""What NumPy does for few numbers is what the kernels do."""

import inspect
import sys
import warnings

import numpy as np
import pytest
import scipy.sparse as sp

import aucmax
from aucmax.columns.maps import MapPlaces, map_features
from aucmax.data.rows import as_rows, products
from aucmax.data.rows.kernels import Kernel, unless
from aucmax.data.rows.sorting import ascending
from aucmax.metrics.levels import area_of
from aucmax.statistics import pairs

SCRATCH = {"piece", "members", "keys", "buffer", "place"}


def copied(value):
    if isinstance(value, np.ndarray):
        copy = value.copy()
        copy.flags.writeable = value.flags.writeable
        return copy
    if isinstance(value, tuple):
        parts = map(copied, value)
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    return value


def assert_same(one, two, name, same_bits):
    if isinstance(one, tuple):
        for a, b in zip(one, two, strict=True):
            assert_same(a, b, name, same_bits)
    elif same_bits and isinstance(one, np.ndarray):
        np.testing.assert_array_equal(two, one, err_msg=name)
    elif isinstance(one, np.ndarray | float) and not same_bits:
        scale = np.max(np.abs(one), initial=0.0, where=np.isfinite(one))
        np.testing.assert_allclose(two, one, rtol=1e-9, atol=1e-12 * scale + 1e-15, err_msg=name)
    else:
        assert one is two or one == two, name


def numbered(kernel, arguments):
    """Return the arguments, which a kernel may change, without its arrays for its own use."""
    names = inspect.signature(kernel).parameters
    return tuple(a for name, a in zip(names, arguments, strict=True) if name not in SCRATCH)


def fits(rng):
    """Fit models that call each kernel with a form for few numbers."""
    X = rng.standard_normal((90, 4))
    y = X[:, 0] + rng.standard_normal(90) > 0.7
    thin = np.where(rng.random((90, 8)) < 0.15, rng.standard_normal((90, 8)), 0.0)
    for rows in (X, X.astype(np.float32), sp.csr_array(X), sp.csr_array(thin)):
        for loss in ("square", "squared_hinge", "logistic"):
            for l1_ratio in (0.0, 0.5):
                aucmax.AUCClassifier(loss=loss, l1_ratio=l1_ratio).fit(rows, y)
        aucmax.AUCClassifier(solver="conjugate_gradient").fit(rows, y)
        matrix = as_rows(rows)
        products.row_norms2(matrix)
        products.scores_at(matrix, np.array([5, 3]), np.eye(rows.shape[1])[:, :2])
        products.normal_product(matrix, rng.random(90), np.ones(rows.shape[1]))
        products.adjoint(matrix, rng.random((90, 9)))
        products.scores(matrix, rng.random((rows.shape[1], 9)))
    wide = rng.standard_normal((7, 2_500))
    products.adjoint(wide, rng.standard_normal(7))
    products.normal_product(wide, rng.random(7), rng.standard_normal(2_500))
    aucmax.AUCClassifier(loss="squared_hinge").fit(X, y, strata=np.arange(90) % 7)
    penalty = aucmax.penalties.MCP(0.1, gamma=3.0)
    aucmax.AUCClassifier(penalty=penalty).fit(X, y)
    penalty.prox(X[0], 0.5)
    many = rng.integers(0, 50, 1_600) / 7.0
    area_of(rng.random(1_600) < 0.3, None, many)
    cells = rng.integers(0, 3, (4, 90)).astype(np.uint8)
    low, rise = rng.integers(-1, 3, (90, 4)), rng.choice([0.0, 0.25, 0.5], (90, 4))
    places = MapPlaces(low.astype(np.int16), rise)
    map_features(places, [(0, 1), (2, 3), (1, 3)], np.array([4, 4, 5, 6]))
    pairs.cell_sums(cells, np.full(4, 3), pairs.all_pairs(4), X[:, :2])


def test_kernels_agree_with_their_forms_for_few_numbers(monkeypatch):
    compared = set()

    def both(kernel, *arguments):
        if kernel.few is None or not kernel.few(*arguments):
            return kernel.dispatcher(*arguments)
        compiled, few = copied(arguments), copied(arguments)
        results = kernel.dispatcher(*compiled), kernel.in_numpy(*few)
        assert_same(*results, kernel.__qualname__, kernel.same_bits)
        results = (numbered(kernel, arguments) for arguments in (compiled, few))
        assert_same(*results, kernel.__qualname__, kernel.same_bits)
        compared.add(kernel)
        return kernel.in_numpy(*arguments)

    monkeypatch.setattr(Kernel, "__call__", both)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fits(np.random.default_rng(0))
    kernels = {
        value
        for name, module in [*sys.modules.items()]
        if name.startswith("aucmax.")
        for value in vars(module).values()
        if isinstance(value, Kernel) and value.few is not None
    }
    missing = sorted(kernel.__qualname__ for kernel in kernels - compared)
    assert missing == []


@pytest.mark.parametrize("highest", [0.0, 1e12])
def test_few_rows_are_sorted_as_many_are(monkeypatch, highest):
    rng = np.random.default_rng(1)
    z, rows = rng.integers(0, 50, 400) / 7.0, rng.permutation(400)[:300]
    z[rows[0]] = highest  # far above the others: digits do not tell these apart
    orders = []
    for is_loaded in (False, True):
        monkeypatch.setattr(Kernel, "is_loaded", is_loaded)
        orders.append(ascending(z, rows))
    np.testing.assert_array_equal(*orders)


def test_a_loaded_kernel_serves_few_numbers_if_the_bits_are_the_same(monkeypatch):
    monkeypatch.setattr(Kernel, "is_loaded", True)
    for same_bits, result in ((True, "compiled"), (False, "in NumPy")):
        kernel = unless(lambda: True, lambda: "in NumPy", same_bits=same_bits)(Kernel(lambda: None))
        monkeypatch.setattr(Kernel, "dispatcher", property(lambda _: lambda: "compiled"))
        assert kernel() == result


@pytest.mark.parametrize("full", [[], [2], [0, 3, 4]])
def test_full_columns_of_sparse_rows(full):
    rng = np.random.default_rng(2)
    X = np.where(rng.random((200, 5)) < 0.5, 0.0, rng.standard_normal((200, 5)))
    X[:20, 1] = X[:, full] = 3.0
    found = products.origin_of(as_rows(sp.csr_array(X)))
    np.testing.assert_array_equal(np.flatnonzero(found), full)
