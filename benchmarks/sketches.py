"""Covariances in fixed memory: AUC, seconds and peak memory on wide text data.

For each method the best test AUC over its grid on one 80/20 split (so the AUC is biased upwards a
little, for all methods alike), the seconds of that one fit, and the peak memory of a fit beyond the
data. OPAUCr is tried with the automatic and with constant steps, as the paper tunes it.
"""

import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Annotated, Any

import numpy as np
import scipy.sparse as sp
import typer

from aucmax import AUCClassifier, metrics, solvers
from aucmax.statistics.woodbury import woodbury
from benchmarks.common.data import binary, splits
from benchmarks.common.engine import measured
from benchmarks.common.tables import Names, show

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
        model = AUCClassifier(alpha, standardize=0.0, solver=solver, random_state=0)
        return model.fit(X, y).coef_[0]

    return fit


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


def rows_of(name: str, steps: tuple[Any, ...]) -> Iterator[list[str]]:
    """Yield a row for each method."""
    X, y = binary(name)
    train, test = splits(X, y, 1)[0]
    rows = X[train]
    few = np.concatenate([np.flatnonzero(y == label)[:20] for label in (-1, 1)])
    for method, fits in methods(steps).items():
        best, peak = (0.0, 0.0), 0.0
        for fit, alphas in fits:
            fit(sp.csr_array(X[few]), y[few], 1e-2)  # compiles
            for alpha in alphas:
                coef, spent = measured(partial(fit, rows, y[train], alpha))
                auc = metrics.roc_auc(y[test], X[test] @ coef)
                best, peak = max(best, (auc, spent["seconds"])), max(peak, spent["memory_mb"])
        yield [name, method, f"{best[0]:.4f}", f"{best[1]:.2f}", f"{peak:.0f}"]


def main(
    sets: Names = ["sector", "news20"],
    quick: Annotated[bool, typer.Option("--quick", help="Only the automatic step.")] = False,
) -> None:
    warnings.simplefilter("ignore")
    steps = STEPS[:1] if quick else STEPS
    show(["data", "method", "test AUC", "seconds", "peak MB"],
         (row for name in sets for row in rows_of(name, steps)))  # fmt: skip
