"""Fits in forked children, as preloading web servers and `multiprocessing` on Linux have them."""

import multiprocessing
import os
import runpy
import signal
import time

import numba
import numpy as np
import pytest
import scipy.sparse as sp

from aucmax import AUCClassifier, AUCClassifierCV
from aucmax.data.rows import as_rows, compiled
from aucmax.data.rows.products import row_blocks
from processes import PATIENCE, ended, forked

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork"),
    # Python warns of every fork of a process with threads, and those are what is tested
    pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning"),
]


@pytest.fixture(autouse=True)
def two_threads(monkeypatch):
    monkeypatch.setattr(numba.config, "NUMBA_NUM_THREADS", 2)


@pytest.fixture(scope="module", params=["dense", "csr"])
def data(request):
    """Rows in two blocks, which run on threads."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40_000, 25))
    y = (X[:, 0] + rng.normal(size=len(X)) > 1).astype(int)
    X = X if request.param == "dense" else sp.csr_array(X)
    assert len(row_blocks(as_rows(X))) > 1
    return X, y


def coefs(X, y):
    found = [
        AUCClassifier(1e-3, loss=loss, solver=solver, tol=1e-3).fit(X, y).coef_
        for loss, solver in (
            ("square", "exact"),
            ("square", "conjugate_gradient"),
            ("squared_hinge", "newton"),
            ("hinge", "cutting_plane"),
        )
    ]
    return np.concatenate(found)


def test_a_child_fits_after_its_parent_has_and_so_do_its_children(data):
    expected = coefs(*data)

    def child():
        np.testing.assert_array_equal(coefs(*data), expected)
        assert ended(forked(lambda: coefs(*data))) == 0

    assert ended(forked(child)) == 0
    np.testing.assert_array_equal(coefs(*data), expected)


def test_a_child_searches_on_threads_of_its_own(data):
    def search():
        AUCClassifierCV(losses=["square"], standardize=[0.0], cv=3, n_jobs=2).fit(*data)

    search()
    assert ended(forked(search)) == 0


def _score(arguments):
    clf, X = arguments
    return clf.decision_function(X)


def test_a_pool_of_processes_scores(data):
    X, y = data
    clf = AUCClassifier().fit(X, y)
    with multiprocessing.get_context("fork").Pool(2) as pool:
        parts = pool.map_async(_score, [(clf, X)] * 3).get(timeout=PATIENCE)
    for part in parts:
        np.testing.assert_array_equal(part, clf.decision_function(X))


@pytest.mark.parametrize("data", ["csr"], indirect=True)
def test_children_that_are_killed_leave_their_parent_working(data):
    """No lock is shared: a child that dies with one would stop all others."""
    expected = coefs(*data)
    rng = np.random.default_rng(1)
    for _ in range(10):
        pid = forked(lambda: [coefs(*data) for _ in range(100)])
        time.sleep(rng.uniform(0.0, 0.05))
        os.kill(pid, signal.SIGKILL)
        assert ended(pid) == -signal.SIGKILL
    np.testing.assert_array_equal(coefs(*data), expected)


# ---- kernels on disk ---------------------------------------------------------------------


def test_processes_that_compile_at_once_keep_their_kernels_apart(tmp_path, monkeypatch):
    """Each has read the index before the other writes it, and the first is slow to write."""
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    (tmp_path / "twice.py").write_text("def twice(x):\n    return x + x\n")
    twice = runpy.run_path(str(tmp_path / "twice.py"))["twice"]
    slow, fast, later = (compiled(twice).dispatcher for _ in range(3))
    delayed = []
    index = slow._cache._cache_file
    written = index._save_data
    monkeypatch.setattr(index, "_save_data", lambda *args: delayed.append(args))
    monkeypatch.setattr(fast._cache._cache_file, "_load_index", dict)
    assert slow(1.5) == 3.0
    assert fast(3) == 6
    for args in delayed:
        written(*args)
    assert len(list(tmp_path.rglob("*.nbc"))) == 2
    assert (later(3), later(1.5)) == (6, 3.0)
