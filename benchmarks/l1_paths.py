"""Paths of 100 penalties with an l1 part: logistic regression beside glmnet, adelie, skglm, saga.

F(w, b) = mean log(1 + exp(−y (w·x + b))) + λ (r ‖w‖₁ + (1 − r)/2 ‖w‖²) with r the ``--l1-ratio``,
λ from the least that leaves w = 0 down to a thousandth of it (a hundredth with more features than
rows), in steps of equal ratios; features of unit variance, text in rows of unit norm. Ours is the
logistic loss with τ the share of positives, which is the same F times a constant.

Each method runs with tolerances from loose to tight: the first counts with which every λ is within
1e-4 of the optimum, (F − F*)/(F(0) − F*), with F* from ours at a tolerance of 1e-7. Processor
seconds of the path in one thread, medians of ``--rounds``; reading data is not counted. glmnet
needs Rscript and its package; adelie asks for NumPy 1, so that ``--adelie`` names the Python of an
environment that has it; skglm runs where it is installed. celer's paths have no intercept. With
``--lower 0`` no coefficient may be negative; of the others only glmnet is then run.
"""

import importlib.util
import shutil
import subprocess
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from typing import Annotated, Any, NamedTuple

import numpy as np
import scipy.sparse as sp
import typer
from sklearn.linear_model import LogisticRegression

from aucmax.data.rows import as_rows
from aucmax.estimators.named_loss import NamedLoss
from aucmax.estimators.selection import penalty_of
from aucmax.estimators.tuning import path
from aucmax.objective.problem import RowsProblem
from benchmarks.common.data import as_usual
from benchmarks.common.engine import measured
from benchmarks.common.tables import Names, show

ENOUGH = 1e-4
DENSE = ("adelie", "glmnet")  # are given dense rows here
BOUNDED = ("aucmax", "glmnet")
TOLS = (1e-3, 1e-4, 1e-5, 1e-6, 1e-7)
FIRST = 5  # λ before which there is nothing to gain
Fitted = tuple[np.ndarray, np.ndarray, float]  # w for each λ, b for each λ, seconds


class Task(NamedTuple):
    """Rows X (n, d), labels y (n,) of ±1, descending λ, the share r of the l1 part, and a bound."""

    X: Any
    y: np.ndarray
    lambdas: np.ndarray
    l1_ratio: float
    lower: float = -np.inf  # of every coefficient, at most 0


Method = Callable[[Task, float], Fitted]


def generated(n: int, d: int, support: int) -> tuple[np.ndarray, np.ndarray]:
    """Return rows with five common factors, of whose features some matter."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d)) + rng.standard_normal((n, 5)) @ rng.standard_normal((5, d)) / 2
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    w = np.zeros(d)
    w[rng.choice(d, support, replace=False)] = rng.standard_normal(support)
    z = X @ w
    return X, np.where(2.0 * z / z.std() + rng.logistic(size=n) > 1.5, 1, -1)


SETS: dict[str, Callable[[], tuple[Any, np.ndarray]]] = {
    "10,000 x 10": lambda: generated(10_000, 10, 5),
    "20,000 x 200": lambda: generated(20_000, 200, 30),
    "100,000 x 500": lambda: generated(100_000, 500, 50),
    "2,000 x 20,000": lambda: generated(2_000, 20_000, 50),
    "sector": lambda: as_usual("sector"),
}


def task(X: Any, y: np.ndarray, l1_ratio: float, lower: float) -> Task:
    """Return the task of 100 λ."""
    slope = X.T @ np.where(y > 0, 1.0 - (y > 0).mean(), -(y > 0).mean())
    ratio = 1e-3 if X.shape[0] > X.shape[1] else 1e-2
    largest = float(np.abs(slope).max()) / len(y) / l1_ratio
    return Task(X, y, largest * np.logspace(0.0, np.log10(ratio), 100), l1_ratio, lower)


def ours(task: Task, tol: float) -> Fitted:
    """Return the path of `AUCClassifierCV`'s folds."""
    X, y, lambdas, l1_ratio, lower = task
    share = float((y > 0).mean())
    alphas = lambdas[::-1] / (4.0 * share * (1.0 - share))

    def fit() -> tuple[Any, np.ndarray]:
        problem = RowsProblem.of(as_rows(X), np.where(y > 0, 1.0, -1.0))
        bounds = np.tile([lower, np.inf], (X.shape[1], 1))
        penalties = [
            penalty_of(alpha, l1_ratio, None if lower == -np.inf else bounds)
            for alpha in alphas.tolist()
        ]
        one = NamedLoss("logistic", "pooled").objective(problem, penalties[0])
        objectives = [one.with_penalty(penalty) for penalty in penalties]
        return one, path(objectives, alphas, tol, 10_000, None)[0]

    (one, W), spent = measured(fit)
    b = [float(one.at(X @ w).intercept) for w in W]
    return W[::-1], np.array(b)[::-1], spent["processor_seconds"]


def scikit_learn(task: Task, tol: float) -> Fitted:
    """Return scikit-learn's saga, each λ from the one before."""
    X, y, lambdas, l1_ratio, _ = task
    model = LogisticRegression(
        l1_ratio=l1_ratio, solver="saga", tol=tol, warm_start=True, max_iter=5000
    )

    def fit() -> list[tuple[np.ndarray, float]]:
        solutions = []
        for penalty in lambdas.tolist():
            model.set_params(C=1.0 / (penalty * len(y))).fit(X, y)
            solutions.append((model.coef_[0].copy(), float(model.intercept_[0])))
        return solutions

    solutions, spent = measured(fit)
    return (*map(np.array, zip(*solutions, strict=True)), spent["processor_seconds"])


def skglm(task: Task, tol: float) -> Fitted:
    """Return skglm's proximal Newton steps on working sets, each λ from the one before."""
    from skglm import SparseLogisticRegression

    X, y, lambdas, l1_ratio, _ = task
    rows = X.tocsc() if sp.issparse(X) else np.asfortranarray(X)
    model = SparseLogisticRegression(
        l1_ratio=l1_ratio, tol=tol, max_iter=100, max_epochs=10_000, warm_start=True
    )

    def fit() -> list[tuple[np.ndarray, float]]:
        solutions = []
        for penalty in lambdas.tolist():
            model.set_params(alpha=penalty).fit(rows, y)
            solutions.append((model.coef_.ravel().copy(), float(np.ravel(model.intercept_)[0])))
        return solutions

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the distance says whether it converged
        model.set_params(alpha=lambdas[0]).fit(rows, y)  # compiles
        solutions, spent = measured(fit)
    return (*map(np.array, zip(*solutions, strict=True)), spent["processor_seconds"])


ADELIE = """
import json, sys, time
import adelie as ad, numpy as np
folder, tol, l1_ratio = sys.argv[1], float(sys.argv[2]), float(sys.argv[3])
X = np.asfortranarray(np.load(folder + "/X.npy"))
y, lambdas = (np.load(f"{folder}/y.npy") > 0).astype(float), np.load(folder + "/lambdas.npy")
start = time.process_time()
state = ad.grpnet(X, ad.glm.binomial(y), lmda_path=lambdas, early_exit=False, tol=tol,
                  alpha=l1_ratio, irls_tol=tol, n_threads=1, progress_bar=False, adev_tol=1.0,
                  ddev_tol=0.0)
spent = time.process_time() - start
np.save(folder + "/W.npy", state.betas.toarray())
np.save(folder + "/b.npy", np.asarray(state.intercepts))
print(spent)
"""
GLMNET = """
suppressMessages(library(glmnet))
words <- commandArgs(TRUE); folder <- words[1]; tol <- as.numeric(words[2])
l1_ratio <- as.numeric(words[3]); lower <- as.numeric(words[4]); size <- as.integer(words[5:6])
read <- function(name, n) readBin(file.path(folder, name), "double", n)
X <- matrix(read("X.bin", prod(size)), size[1]); y <- read("y.bin", size[1])
lambdas <- read("lambdas.bin", 100)
start <- proc.time()
fit <- glmnet(X, as.integer(y > 0), family = "binomial", lambda = lambdas, standardize = FALSE,
              alpha = l1_ratio, lower.limits = lower, thresh = tol, maxit = 1e7)
spent <- sum((proc.time() - start)[1:2])
writeBin(as.vector(as.matrix(fit$beta)), file.path(folder, "W.bin"))
writeBin(as.vector(fit$a0), file.path(folder, "b.bin"))
cat(spent)
"""


def elsewhere(words: list[str], folder: Path, task: Task, tol: float) -> str:
    """Return what a program prints, given the folder, ``tol``, r, the bound and the shape."""
    numbers = [str(number) for number in (tol, task.l1_ratio, task.lower, *task.X.shape)]
    result = subprocess.run(
        [*words, str(folder), *numbers], capture_output=True, text=True, check=True
    )
    return result.stdout.split()[-1]


def adelie_of(python: str) -> Method:
    """Return adelie of another Python."""

    def fit(task: Task, tol: float) -> Fitted:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            for file in ("X", "y", "lambdas"):
                np.save(folder / file, getattr(task, file))
            spent = elsewhere([python, "-c", ADELIE], folder, task, tol)
            return np.load(folder / "W.npy"), np.load(folder / "b.npy"), float(spent)

    return fit


def glmnet(task: Task, tol: float) -> Fitted:
    """Return R's glmnet."""
    X, y, lambdas, *_ = task
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        X.T.tofile(folder / "X.bin")
        y.astype(float).tofile(folder / "y.bin")
        lambdas.tofile(folder / "lambdas.bin")
        (folder / "fit.R").write_text(GLMNET)
        spent = elsewhere(["Rscript", str(folder / "fit.R")], folder, task, tol)
        b = np.fromfile(folder / "b.bin")
        W = np.fromfile(folder / "W.bin").reshape(len(b), X.shape[1])
        return W, b, float(spent)


def values(task: Task, fitted: Fitted) -> np.ndarray:
    """Return F of the solution of each λ."""
    X, y, lambdas, l1_ratio, _ = task
    W, b, _ = fitted
    scores = np.asarray(X @ W.T) + b
    losses = np.logaddexp(0.0, -np.where(y > 0, 1.0, -1.0)[:, None] * scores).mean(axis=0)
    size = l1_ratio * np.abs(W).sum(axis=1) + 0.5 * (1.0 - l1_ratio) * (W**2).sum(axis=1)
    return losses + lambdas[: len(W)] * size


def rows(
    name: str, l1_ratio: float, lower: float, methods: dict[str, Method], rounds: int
) -> Iterator[list[str]]:
    """Yield a row of the table for each method."""
    one = task(*SETS[name](), l1_ratio, lower)
    share = float((one.y > 0).mean())
    at_zero = -share * np.log(share) - (1.0 - share) * np.log1p(-share)
    least = values(one, ours(one, 1e-7))
    for method, fit in methods.items():
        if (sp.issparse(one.X) and method in DENSE) or (lower > -np.inf and method not in BOUNDED):
            continue
        for tol in TOLS:
            fitted = fit(one, tol)
            gap = np.inf  # of a path that ends early
            if len(fitted[0]) == len(one.lambdas):
                far = (values(one, fitted) - least) / (at_zero - least)
                gap = float(np.max(far[FIRST:]))
            if gap <= ENOUGH:
                break
        more = [fit(one, tol)[2] for _ in range(rounds - 1)] if gap <= ENOUGH else []
        yield [name, method, f"{median([fitted[2], *more]):#.3g} s", f"{gap:.0e}"]


def main(
    sets: Names = [*SETS],
    l1_ratio: float = 1.0,
    lower: Annotated[float, typer.Option(help="Least coefficient, at most 0.")] = -np.inf,
    rounds: int = 3,
    adelie: Annotated[str, typer.Option(help="A Python that has adelie.")] = "",
    without: Annotated[list[str], typer.Option(help="A method to leave out.")] = [],
) -> None:
    methods: dict[str, Method] = {"aucmax": ours, "scikit-learn, saga": scikit_learn}
    if adelie:
        methods["adelie"] = adelie_of(adelie)
    if importlib.util.find_spec("skglm"):
        methods["skglm"] = skglm
    if shutil.which("Rscript"):
        methods["glmnet"] = glmnet
    methods = {name: fit for name, fit in methods.items() if name not in without}
    ours(Task(*generated(500, 8, 4), np.logspace(-2, -3, 5), l1_ratio), 1e-4)  # compiles
    table = (row for name in sets for row in rows(name, l1_ratio, lower, methods, rounds))
    show(["data", "method", "path", "distance"], table)
