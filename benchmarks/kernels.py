"""The time of kernels, divided by the least that they could take.

- A fused pass Xᵀ(s ∘ Xv), and Xv alone, by a plain read of the same bytes with as many threads.
- Class moments by BLAS's SYRK of a matrix of that size.
- A step of SPAM and of VRSPAM beside a step of scikit-learn's SGDClassifier, from two run lengths.

Ratios of processor time; each is the median of five turns.
"""

import warnings
from collections.abc import Callable, Iterator
from functools import partial
from statistics import median
from typing import Any

import numpy as np
from scipy.linalg.blas import dsyrk
from sklearn.linear_model import SGDClassifier

from aucmax import AUCClassifier, ClassMoments, solvers
from aucmax.data.rows import CSR, as_rows
from aucmax.data.rows.products import _each_block, normal_product, scores
from benchmarks.common.data import random_sparse
from benchmarks.common.engine import in_turn, ratio, timed, times
from benchmarks.common.tables import show

WIDTH, STORED = 100, 50
STEP_ROWS = 50_000


def relative(ours: Callable[[], Any], least: Callable[[], Any]) -> str:
    """Return our time divided by the other's."""
    took = times({"ours": ours, "least": least})
    return f"{ratio(took['ours'], took['least']):.2f}"


def dense(n: int, dtype: type, d: int = WIDTH) -> np.ndarray:
    """Return rows of noise."""
    return np.random.RandomState(0).rand(n, d).astype(dtype)


def plain_read(X: Any) -> None:
    """Add up every stored number, in the blocks and threads of the products."""
    stored = (X.data, X.indices) if isinstance(X, CSR) else (X,)
    places = X.indptr if isinstance(X, CSR) else np.arange(len(X) + 1)

    def part(k: int, lo: int, hi: int) -> None:
        for values in stored:
            np.add.reduce(values[places[lo] : places[hi]], axis=None)

    _each_block(X, part)


def passes(n: int) -> Iterator[list[str]]:
    """Yield fused passes and scores by a plain read."""
    problems = {
        "dense, float64": dense(n, np.float64),
        "dense, float32": dense(n, np.float32),
        f"sparse, {WIDTH} features": random_sparse(n, WIDTH),
        "sparse, 100,000 features": random_sparse(n, 100_000),
    }
    for name, data in problems.items():
        X, read = as_rows(data), partial(plain_read, as_rows(data))
        s, v = np.ones(n) / n, np.random.RandomState(1).rand(data.shape[1])
        fused, alone = partial(normal_product, X, s, v), partial(scores, X, v)
        yield [name, relative(fused, read), relative(alone, read)]


def moments(n: int) -> Iterator[list[str]]:
    """Yield class moments by SYRK."""
    for d, dtype in ((WIDTH, np.float64), (WIDTH, np.float32), (500, np.float64)):
        X = dense(n * WIDTH // d, dtype, d)
        y = np.arange(len(X)) % 2
        columns = np.asarray(X, dtype=np.float64).T  # in BLAS's order: no copy
        times_syrk = relative(partial(ClassMoments.from_data, X, y), partial(dsyrk, 1.0, columns))
        yield [f"{len(X):,} × {d}, {np.dtype(dtype).name}", times_syrk]


def steps() -> Iterator[list[str]]:
    """Yield how many times as long as ours a step of SGDClassifier takes."""
    n = STEP_ROWS

    def ours(solver: Callable[[int], Any]) -> Callable[[int], Any]:
        return lambda k: AUCClassifier(1e-4, standardize=0.0, solver=solver(k), random_state=0)

    def theirs(**settings: Any) -> Callable[[int], Any]:
        return lambda k: SGDClassifier(loss="log_loss", max_iter=k, tol=None, **settings)

    makes = {
        "SPAM": ours(lambda k: solvers.SPAM(n_epochs=k)),
        "VRSPAM": ours(lambda k: solvers.VRSPAM(n_stages=1, n_inner=k * n, init="zero")),
        "SGDClassifier": theirs(),
        "averaged": theirs(average=True),
    }
    y = np.random.RandomState(0).randint(0, 2, n)
    for name, X in {
        f"dense, {WIDTH} features": dense(n, np.float64),
        f"sparse, {STORED} of 10,000": random_sparse(n, 10_000),
        f"sparse, {STORED} of 100,000": random_sparse(n, 100_000),
    }.items():

        def per_step(make: Callable[[int], Any], X: Any = X) -> float:
            short, long = (timed(partial(make(k).fit, X, y)) for k in (2, 12))
            return (long - short) / (10 * n)

        took = in_turn({kind: partial(per_step, make) for kind, make in makes.items()})
        for learner in ("SPAM", "VRSPAM"):
            others = [f"{ratio(took[kind], took[learner]):.1f} ×" for kind in [*makes][2:]]
            yield [name, learner, f"{1e9 * median(took[learner]):.0f}", *others]


def main(rows: int = 500_000) -> None:
    warnings.simplefilter("ignore")
    show(["rows", "a fused pass", "scores alone"], passes(rows))
    show(["class moments of", "times SYRK"], moments(rows))
    show(["rows", "step of", "ns", "SGDClassifier", "averaged"], steps())
