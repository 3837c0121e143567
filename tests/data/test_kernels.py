"""Kernels: what they may return, and what compiling them leaves unchanged."""

import gc

import numpy as np
import pytest
import scipy.sparse as sp

from aucmax.data.rows import allocating, as_rows, compiled
from aucmax.data.rows.products import row_norms2


def rest(x):
    return x[1:], len(x)


def doubled(x):
    return 2.0 * x


def halved(x, out):
    for i in range(len(x)):
        out[i] = 0.5 * x[i]


def test_a_kernel_that_returns_arrays_says_so():
    x = np.arange(4.0)
    with pytest.raises(TypeError, match="rest returns an array: decorate it with allocating"):
        compiled(rest)(x)
    np.testing.assert_array_equal(allocating(rest)(x)[0], x[1:])
    np.testing.assert_array_equal(allocating(doubled)(x), 2.0 * x)


@pytest.mark.parametrize("collecting", [True, False])
def test_compiling_leaves_garbage_collection_as_it_was(collecting):
    out = np.zeros(4)
    was = gc.isenabled()
    try:
        (gc.enable if collecting else gc.disable)()
        compiled(halved)(np.arange(4.0), out)
        assert gc.isenabled() is collecting
    finally:
        (gc.enable if was else gc.disable)()
    np.testing.assert_array_equal(out, 0.5 * np.arange(4.0))


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_squares_are_rounded_before_they_are_added(form):
    # otherwise norms would depend on which kernel was compiled first
    rows = np.random.default_rng(0).standard_normal((60_000, 2))
    squares = rows * rows
    np.testing.assert_array_equal(row_norms2(as_rows(form(rows))), squares[:, 0] + squares[:, 1])
