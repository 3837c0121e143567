"""What the kernels cost beside the least they could: ratios of processor time, measured in turns.

- A fused pass Xᵀ(s ∘ Xv), and Xv alone, beside a plain read of the same bytes by as many threads.
- Class moments beside BLAS's SYRK of a matrix of that size.
- A step of SPAM and of VRSPAM beside a step of scikit-learn's SGDClassifier, from two run lengths.

``--rows`` sets how many rows the dense problems have; each line is the median of five ratios.
"""

import argparse
import statistics
import time
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg.blas import dsyrk
from sklearn.linear_model import SGDClassifier

from aucmax import AUCClassifier, ClassMoments, solvers
from aucmax.data.rows import CSR, as_rows
from aucmax.data.rows.products import _each_block, normal_product, scores

WIDTH, STORED = 100, 50


def spent(work: Callable[[], Any]) -> float:
    """Return the processor seconds of a call."""
    start = time.process_time()
    work()
    return time.process_time() - start


def ratio(ours: Callable[[], Any], theirs: Callable[[], Any]) -> float:
    """Return the median over five turns of our seconds over theirs."""
    ours(), theirs()
    return statistics.median(spent(ours) / spent(theirs) for _ in range(5))


def dense(n: int, dtype: type) -> np.ndarray:
    """Return rows of noise."""
    return np.random.RandomState(0).rand(n, WIDTH).astype(dtype)


def sparse(n: int, d: int) -> sp.csr_array:
    """Return rows with 50 entries each, at random places."""
    rng = np.random.RandomState(0)
    places = np.sort(rng.randint(0, d, size=(n, STORED)), axis=1).astype(np.int32)
    starts = np.arange(0, n * STORED + 1, STORED, dtype=np.int32)
    return sp.csr_array((rng.rand(n * STORED), places.ravel(), starts), shape=(n, d))


# ---- reading -----------------------------------------------------------------------------


def plain_read(X: Any) -> None:
    """Add up every stored number, in the blocks and threads of the products."""
    stored = (X.data, X.indices) if isinstance(X, CSR) else (X,)
    places = X.indptr if isinstance(X, CSR) else np.arange(len(X) + 1)

    def part(k: int, lo: int, hi: int) -> None:
        for values in stored:
            np.add.reduce(values[places[lo] : places[hi]], axis=None)

    _each_block(X, part)


def passes(n: int) -> None:
    """Print fused passes and scores beside a plain read."""
    print("| rows | a fused pass | scores alone |\n|---|---|---|")
    problems = {
        "dense, float64": dense(n, np.float64),
        "dense, float32": dense(n, np.float32),
        f"sparse, {WIDTH} features": sparse(n, WIDTH),
        "sparse, 100,000 features": sparse(n, 100_000),
    }
    for name, data in problems.items():
        X, read = as_rows(data), partial(plain_read, as_rows(data))
        s, v = np.ones(n) / n, np.random.RandomState(1).rand(data.shape[1])
        fused = ratio(partial(normal_product, X, s, v), read)
        alone = ratio(partial(scores, X, v), read)
        print(f"| {name} | {fused:.2f} | {alone:.2f} |", flush=True)


# ---- moments -----------------------------------------------------------------------------


def moments(n: int) -> None:
    """Print class moments beside SYRK."""
    print("\n| class moments of | times SYRK |\n|---|---|")
    for d, dtype in ((WIDTH, np.float64), (WIDTH, np.float32), (500, np.float64)):
        X = np.random.RandomState(0).rand(n * WIDTH // d, d).astype(dtype)
        y = np.arange(len(X)) % 2
        columns = np.asarray(X, dtype=np.float64).T  # in BLAS's order: no copy
        got = ratio(partial(ClassMoments.from_data, X, y), partial(dsyrk, 1.0, columns))
        print(f"| {len(X):,} × {d}, {np.dtype(dtype).name} | {got:.2f} |", flush=True)


# ---- steps -------------------------------------------------------------------------------


def per_step(make: Callable[[int], Any], X: Any, y: np.ndarray) -> float:
    """Return processor seconds of a step: fits of two passes and of twelve."""
    few, many = make(2), make(12)
    few.fit(X, y)
    return (spent(lambda: many.fit(X, y)) - spent(lambda: few.fit(X, y))) / (10 * len(y))


def steps() -> None:
    """Print what a step of SGDClassifier takes as a multiple of ours."""
    n = 50_000

    def ours(solver: Callable[[int], Any]) -> Callable[[int], Any]:
        return lambda k: AUCClassifier(1e-4, standardize=0.0, solver=solver(k), random_state=0)

    makes = {
        "SPAM": ours(lambda k: solvers.SPAM(n_epochs=k)),
        "VRSPAM": ours(lambda k: solvers.VRSPAM(n_stages=1, n_inner=k * n, init="zero")),
        "SGDClassifier": lambda k: SGDClassifier(loss="log_loss", max_iter=k, tol=None),
        "SGDClassifier, averaged": lambda k: SGDClassifier(
            loss="log_loss", max_iter=k, tol=None, average=True
        ),
    }
    print("\n| rows | step of | ns | SGDClassifier | averaged |\n|---|---|---|---|---|")
    for name, X in {
        f"dense, {WIDTH} features": dense(n, np.float64),
        f"sparse, {STORED} of 10,000": sparse(n, 10_000),
        f"sparse, {STORED} of 100,000": sparse(n, 100_000),
    }.items():
        y = np.random.RandomState(0).randint(0, 2, n)
        took = np.array([[per_step(make, X, y) for make in makes.values()] for _ in range(5)])
        for k, learner in enumerate(("SPAM", "VRSPAM")):
            times = np.median(took[:, 2:] / took[:, [k]], axis=0)
            print(
                f"| {name} | {learner} | {1e9 * np.median(took[:, k]):.0f} "
                f"| {times[0]:.1f} × | {times[1]:.1f} × |",
                flush=True,
            )


if __name__ == "__main__":
    ask = argparse.ArgumentParser(description="Kernels beside the least they could cost.")
    ask.add_argument("--rows", type=int, default=500_000)
    asked = ask.parse_args()
    warnings.simplefilter("ignore")
    passes(asked.rows)
    moments(asked.rows)
    steps()
