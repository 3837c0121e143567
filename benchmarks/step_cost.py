"""Time per step of SPAM and VRSPAM as the number of features grows, at fixed non-zeros per row.

With an l2 penalty no step touches more than the row's non-zeros, so the ratio to the smallest
number of features should stay near 1 (the vectors outgrow the caches, and each epoch ends with a
few O(d) operations).
"""

import numpy as np
import scipy.sparse as sp
from _bench import processor_seconds

from aucmax import AUCClassifier, solvers

N, NNZ = 20_000, 50


def rows(d: int) -> tuple[sp.csr_array, np.ndarray]:
    rng = np.random.RandomState(0)
    columns = np.sort(rng.randint(0, d, size=(N, NNZ)), axis=1)
    X = sp.csr_array(
        (rng.rand(N * NNZ), columns.ravel(), np.arange(0, N * NNZ + 1, NNZ)), shape=(N, d)
    )
    return X, rng.randint(0, 2, N)


def per_step(make, few: int, many: int, d: int) -> float:
    """Return nanoseconds of processor time per step, from the difference of two run lengths."""
    X, y = rows(d)

    def run(count: int) -> float:
        clf = AUCClassifier(1e-4, solver=make(count), random_state=0)
        return processor_seconds(lambda: clf.fit(X, y))

    return (run(many) - run(few)) / ((many - few) * N) * 1e9


if __name__ == "__main__":
    print(f"{N} rows, {NNZ} non-zeros each; nanoseconds per step (ratio to the first)")
    kinds = {
        "SPAM averaged": lambda k: solvers.SPAM(n_epochs=k),
        "SPAM last": lambda k: solvers.SPAM(n_epochs=k, average=False),
        "VRSPAM": lambda k: solvers.VRSPAM(n_stages=1, n_inner=k * N, init="zero"),
    }
    for name, make in kinds.items():
        first = None
        for d in (1_000, 10_000, 100_000, 1_000_000):
            t = per_step(make, 2, 12, d)
            first = first or t
            print(f"{name:14} d={d:>9,}  {t:7.0f} ns  {t / first:5.2f}")
