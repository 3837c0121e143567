"""Time per step of SPAM and VRSPAM by the number of features, at 50 non-zeros per row.

With an l2 penalty a step touches only the row's non-zeros, so the ratio to the smallest number of
features should stay near 1 (the vectors outgrow the caches, and each epoch ends with a few O(d)
operations).
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from aucmax import AUCClassifier, solvers
from benchmarks.common.data import random_sparse
from benchmarks.common.engine import per_unit
from benchmarks.common.tables import show

N = 20_000
KINDS: dict[str, Callable[[int], Any]] = {
    "SPAM averaged": lambda k: solvers.SPAM(n_epochs=k),
    "SPAM last": lambda k: solvers.SPAM(n_epochs=k, average=False),
    "VRSPAM": lambda k: solvers.VRSPAM(n_stages=1, n_inner=k * N, init="zero"),
}


def rows() -> Iterator[list[str]]:
    for name, make in KINDS.items():
        first = 0.0
        for d in (1_000, 10_000, 100_000, 1_000_000):
            X, y = random_sparse(N, d), np.random.RandomState(0).randint(0, 2, N)

            def fit(k: int, make: Any = make, X: Any = X, y: np.ndarray = y) -> None:
                AUCClassifier(1e-4, solver=make(k), random_state=0).fit(X, y)

            step = 1e9 * per_unit(fit, 2, 12) / N
            first = first or step
            yield [name, f"{d:,}", f"{step:.0f}", f"{step / first:.2f}"]


def main() -> None:
    show([f"{N:,} rows", "features", "ns per step", "ratio to the first"], rows())
