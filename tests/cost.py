"""How many lines of the package run, with kernels as plain Python; started by test_every_solver.

A kernel is loops over entries, so lines count what it touches. Prints, for each learner, how many
more lines a stream takes for further rows, if there are few features and if there are many.
"""

import json
import os
import sys
from pathlib import Path

os.environ["NUMBA_DISABLE_JIT"] = "1"  # before the first import of Numba

import numpy as np
import scipy.sparse as sp

import aucmax
from specification import LEARNERS

FOLDER = str(Path(aucmax.__file__).parent)
FEW, MANY, ROWS, EXTRA = 120, 420, 20, 10


def rows(d):
    """Sparse rows, the first without entries, whose entries lie among the first few features."""
    rng = np.random.RandomState(0)
    X = sp.random(ROWS + EXTRA, FEW, 0.02, format="csr", random_state=rng, data_rvs=rng.randn)
    X = sp.vstack([0 * X[:1], X[1:]]).tocsr()
    X.resize(ROWS + EXTRA, d)
    return sp.csr_array(X), np.arange(ROWS + EXTRA) % 3 == 0


def lines(action):
    """How many lines of the package an action runs."""
    count = 0

    def local(frame, event, arg):
        nonlocal count
        count += event == "line"
        return local

    def started(frame, event, arg):
        return local if frame.f_code.co_filename.startswith(FOLDER) else None

    sys.settrace(started)
    try:
        action()
    finally:
        sys.settrace(None)
    return count


def further(make, d):
    """How many more lines the further rows take in a stream."""
    X, y = rows(d)
    first, all_of_them = (
        lines(lambda n=n: make().partial_fit(X[:n], y[:n], classes=[False, True]))
        for n in (ROWS, ROWS + EXTRA)
    )
    return all_of_them - first


if __name__ == "__main__":
    np.seterr(all="ignore")
    dense = {"full", "subset", "projection", "pca"}  # a matrix, or few features instead of many
    costs = {
        case.name: [further(case.model, d) for d in (FEW, MANY)]
        for case in LEARNERS
        if getattr(case.model().solver, "covariance", None) not in dense
    }
    print(json.dumps({"costs": costs, "dense step": EXTRA * (MANY - FEW)}))
