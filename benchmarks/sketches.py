"""What covariances in little memory are worth: AUC, seconds and peak memory on wide text data.

For each method the best test AUC over its grid on one 80/20 split (so the grid's choice is a
little flattered, for all alike), the seconds of that one fit, and the most memory that a fit took
beyond the data. OPAUCr is tried with the automatic and with constant steps, as the paper tunes it.
"""

import argparse
import time
import tracemalloc
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from _bench import binary, splits

from aucmax import AUCClassifier, metrics, solvers
from aucmax.statistics.woodbury import woodbury

RANK = 50
ALPHAS = (1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2)
STEPS = ("auto", 2.0**-6, 2.0**-4, 2.0**-2)


def solved_gaussian(X: Any, y: np.ndarray, alpha: float) -> np.ndarray:
    """Return the optimum for OPAUCr's sketch, centred, as the covariance."""
    rng, means, columns = np.random.RandomState(0), [], []
    for label in (1, -1):
        part = X[y == label]
        T, R = part.shape[0], rng.standard_normal((part.shape[0], RANK)) / np.sqrt(RANK)
        c = np.asarray(part.mean(axis=0)).ravel()
        Z = part.T @ R
        Z -= np.outer(c, R.sum(axis=0))
        means.append(c)
        columns.append(Z.T / np.sqrt(T))
    delta = means[0] - means[1]
    u = woodbury(np.zeros(len(delta)), np.vstack(columns), alpha, delta)
    return u / (1.0 + delta @ u)


def model(solver: Any) -> Callable[[Any, np.ndarray, float], np.ndarray]:
    def fit(X: Any, y: np.ndarray, alpha: float) -> np.ndarray:
        return (
            AUCClassifier(alpha, standardize=0.0, solver=solver, random_state=0).fit(X, y).coef_[0]
        )

    return fit


def measured(fit: Callable[..., np.ndarray], *arguments: Any) -> tuple[np.ndarray, float, float]:
    """Return the coefficients, the seconds, and the peak of memory in megabytes."""
    tracemalloc.start()
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        coef = fit(*arguments)
    seconds = time.perf_counter() - start
    peak = tracemalloc.get_traced_memory()[1] / 1e6
    tracemalloc.stop()
    return coef, seconds, peak


def methods(steps: tuple[Any, ...]) -> dict[str, list[tuple[Any, tuple[float, ...]]]]:
    """Name each method, its fits, and the alphas of each."""
    directions = {
        f"frequent directions, rank {rank}": [
            (model(solvers.Exact("frequent_directions", rank=rank)), ALPHAS)
        ]
        for rank in (RANK // 2, RANK)
    }
    gaussian = [model(solvers.OPAUC(eta, covariance="gaussian")) for eta in steps]
    return {
        "full optimum": [(model("conjugate_gradient"), ALPHAS)],
        "diagonal": [(model(solvers.Exact("diagonal")), ALPHAS)],
        **directions,
        f"Gaussian sketch, rank {RANK}, solved": [(solved_gaussian, ALPHAS)],
        f"OPAUCr, rank {RANK}, one pass": [(fit, (1e-4,)) for fit in gaussian],
    }


def rows_of(name: str, steps: tuple[Any, ...]) -> Iterator[str]:
    X, y = binary(name)
    train, test = splits(X, y, 1)[0]
    few = np.concatenate([np.flatnonzero(y == label)[:20] for label in (-1, 1)])
    for method, fits in methods(steps).items():
        best, most = (0.0, 0.0), 0.0
        for fit, alphas in fits:
            measured(fit, sp.csr_array(X[few]), y[few], 1e-2)  # compiles
            for alpha in alphas:
                coef, seconds, peak = measured(fit, X[train], y[train], alpha)
                auc = metrics.roc_auc(y[test], X[test] @ coef)
                best, most = max(best, (auc, seconds)), max(most, peak)
        yield f"| {name} | {method} | {best[0]:.4f} | {best[1]:.2f} | {most:.0f} |"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=["sector", "news20"])
    parser.add_argument("--quick", action="store_true", help="OPAUCr with the automatic step only")
    given = parser.parse_args()
    print("| data | method | test AUC | seconds | peak MB |\n|---|---|---|---|---|")
    for name in given.names:
        for line in rows_of(name, STEPS[:1] if given.quick else STEPS):
            print(line, flush=True)
