"""Fits within strata beside the same fits without, and conditional logistic regression.

The ratios are of processor time, medians of five runs that take turns. Statsmodels is compared if
it is installed, with Newton's method, which reaches the same optimum, and so is ``clogit`` of R's
package survival (Debian's r-cran-survival), with its exact likelihood, in a process of its own that
counts its fits alone; rankers of queries, with their default settings, by the AUC within queries
(GAUC).
"""

import shutil
import subprocess
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from aucmax import AdditiveAUCClassifier, AUCClassifier, AUCClassifierCV
from aucmax.metrics import stratified_auc
from benchmarks.common.tables import show

RUNS = 5
Fit = Callable[[], Any]


def seconds(*fits: Fit) -> list[float]:
    """Return the median processor time of each fit; the first run of each, which compiles, is not
    counted."""
    times: list[list[float]] = [[] for _ in fits]
    for run in range(RUNS + 1):
        for fit, of_fit in zip(fits, times, strict=True):
            start = time.process_time()
            fit()
            if run:
                of_fit.append(time.process_time() - start)
    return [float(np.median(of_fit)) for of_fit in times]


def compared(n: int, d: int, strata: int, in_order: bool) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(0)
    stratum = rng.integers(0, strata, n)
    return rng.normal(size=(n, d)), rng.random(n) < 0.2, np.sort(stratum) if in_order else stratum


def matched(sets: int, size: int, cases: int, d: int) -> tuple[np.ndarray, ...]:
    """Sets of which the rows with the highest risk are cases: coefficients from −1 to 1."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(sets * size, d))
    risk = (X @ np.linspace(-1.0, 1.0, d) + rng.gumbel(size=len(X))).reshape(sets, size)
    y = np.zeros((sets, size), dtype=int)
    np.put_along_axis(y, np.argsort(-risk, axis=1)[:, :cases], 1, axis=1)
    return X, y.ravel(), np.repeat(np.arange(sets), size)


def beside_fits_without() -> Iterator[list[str]]:
    for n, d, strata in ((200_000, 50, 20_000), (200_000, 50, 100), (50_000, 200, 5_000)):
        for in_order in (True, False):
            X, y, stratum = compared(n, d, strata, in_order)
            for loss in ("square", "squared_hinge"):
                model = AUCClassifier(loss=loss)
                plain, within = seconds(
                    lambda m=model, X=X, y=y: m.fit(X, y),
                    lambda m=model, X=X, y=y, s=stratum: m.fit(X, y, strata=s),
                )
                order = "one after another" if in_order else "in any order"
                yield [
                    loss, f"{n:,} x {d}", f"{strata:,}", order, f"{plain:.3f}", f"{within:.3f}",
                    f"{within / plain:.2f}",
                ]  # fmt: skip


SMALL = (1000, 3, 1), (600, 5, 1), (300, 10, 3), (100, 30, 9)
LARGE = (10_000, 10, 1), (10_000, 10, 3), (100_000, 10, 1)


def conditional() -> AUCClassifier:
    return AUCClassifier(0.0, loss="logistic", standardize=0.0, tol=1e-10)


def beside_statsmodels() -> Iterator[list[str]]:
    from statsmodels.discrete.conditional_models import ConditionalLogit

    for sets, size, cases in SMALL:
        X, y, stratum = matched(sets, size, cases, 5)
        model = conditional()
        peer = ConditionalLogit(y, X, groups=stratum)
        own, other = seconds(
            lambda m=model, X=X, y=y, s=stratum: m.fit(X, y, strata=s),
            lambda p=peer: p.fit(method="newton", disp=0, maxiter=100),
        )
        apart = np.abs(peer.fit(method="newton", disp=0).params - model.coef_[0]).max()
        yield [
            f"{sets:,} of {size}", str(cases), f"{own:.3f}", f"{other:.2f}",
            f"{other / own:.0f}", f"{apart:.0e}",
        ]  # fmt: skip


CLOGIT = """
library(survival)
arguments <- commandArgs(TRUE)
rows <- read.csv(arguments[1])
features <- setdiff(names(rows), c("y", "stratum"))
formula <- reformulate(c(features, "strata(stratum)"), "y")
seconds <- numeric(0)
for (run in 0:as.integer(arguments[2])) {
  spent <- system.time(fit <- clogit(formula, rows, method = "exact"))
  if (run > 0) seconds <- c(seconds, spent[1] + spent[2])
}
cat(sprintf("%.17g", c(median(seconds), coef(fit))))
"""


def has_clogit() -> bool:
    """Return whether R and its package survival are installed."""
    asked = ["Rscript", "-e", "library(survival)"]
    return (
        bool(shutil.which("Rscript")) and not subprocess.run(asked, capture_output=True).returncode
    )


def clogit(X: np.ndarray, y: np.ndarray, stratum: np.ndarray) -> tuple[float, np.ndarray]:
    """Return the median processor time of R's fits, and the coefficients."""
    with tempfile.TemporaryDirectory() as folder:
        path, header = Path(folder) / "rows.csv", [f"x{j}" for j in range(X.shape[1])]
        rows = np.column_stack([X, y, stratum])
        names = ",".join([*header, "y", "stratum"])
        np.savetxt(path, rows, delimiter=",", header=names, comments="", fmt="%.17g")
        command = ["Rscript", "-e", CLOGIT, str(path), str(RUNS)]
        answer = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    own, *coef = map(float, answer.split())
    return own, np.array(coef)


def beside_clogit() -> Iterator[list[str]]:
    for sets, size, cases in (*SMALL, *LARGE):
        X, y, stratum = matched(sets, size, cases, 5)
        model = conditional()
        (own,) = seconds(lambda m=model, X=X, y=y, s=stratum: m.fit(X, y, strata=s))
        other, coef = clogit(X, y, stratum)
        yield [
            f"{sets:,} of {size}", str(cases), f"{own:.4f}", f"{other:.3f}", f"{other / own:.0f}",
            f"{np.abs(coef - model.coef_[0]).max():.0e}",
        ]  # fmt: skip


def queries(count: int, d: int, bends: bool) -> tuple[np.ndarray, ...]:
    """Twenty rows of each query, of which a score and chance make the best ones positive.

    Half of the features, and how many rows are positive, have another level in each query. The
    score is linear, apart from these levels; if it bends, the distances of two features from 0 and
    the product of two others are added, with the levels.
    """
    rng = np.random.default_rng(0)
    query = np.repeat(np.arange(count), 20)
    X, truth = rng.normal(size=(len(query), d)), rng.normal(size=d) / np.sqrt(d)
    utility = X @ truth + 0.5 * rng.gumbel(size=len(X)) + rng.normal(size=count)[query]
    X[:, : d // 2] += (1.0 if bends else 2.0) * rng.normal(size=(count, d // 2))[query]
    if bends:
        utility += np.abs(X[:, [0, -1]]).sum(axis=1) + X[:, 1] * X[:, -2]
    return X, utility > np.quantile(utility, 0.8), query


def rankers() -> dict[str, Callable[..., Any]]:
    """Return how each ranker is fitted to rows, labels and queries, which lie one after another."""
    fits: dict[str, Callable[..., Any]] = {
        "AUCClassifierCV, within queries": lambda X, y, q: AUCClassifierCV().fit(X, y, strata=q),
        "AUCClassifierCV, all rows": lambda X, y, q: AUCClassifierCV().fit(X, y, groups=q),
        "AdditiveAUCClassifier, within queries": lambda X, y, q: AdditiveAUCClassifier().fit(
            X, y, strata=q
        ),
        "AdditiveAUCClassifier, all rows": lambda X, y, q: AdditiveAUCClassifier().fit(
            X, y, groups=q
        ),
    }
    if find_spec("lightgbm"):
        from lightgbm import LGBMRanker

        fits["LightGBM, lambdarank"] = lambda X, y, q: LGBMRanker(n_jobs=1, verbose=-1).fit(
            X, y.astype(int), group=np.bincount(q)[np.unique(q)]
        )
    if find_spec("xgboost"):
        from xgboost import XGBRanker

        fits["XGBoost, rank:pairwise"] = lambda X, y, q: XGBRanker(
            objective="rank:pairwise", n_jobs=1
        ).fit(X, y.astype(int), qid=q)
    return fits


def within_queries() -> Iterator[list[str]]:
    linear, bent = ((200, 20), (2_000, 20), (2_000, 100)), ((200, 20), (2_000, 20))
    for count, d, bends in [*((*of, False) for of in linear), *((*of, True) for of in bent)]:
        X, y, query = queries(2 * count, d, bends)
        train = query < count
        for name, fit in rankers().items():
            if name.startswith("Additive") and not bends:
                continue
            fit(X[train], y[train], query[train])  # compiles and loads
            start = time.process_time()
            model = fit(X[train], y[train], query[train])
            spent = time.process_time() - start
            score = getattr(model, "decision_function", model.predict)(X[~train])
            gauc = stratified_auc(y[~train], score, query[~train])
            yield [
                f"{count:,} of 20", str(d), "bent" if bends else "linear", name, f"{gauc.auc:.4f}",
                f"{gauc.low:.4f} to {gauc.high:.4f}", f"{spent:.2f}",
            ]  # fmt: skip


def large() -> Iterator[list[str]]:
    for sets, size, cases in ((10_000, 10, 1), (100_000, 10, 1), (100_000, 10, 3)):
        X, y, stratum = matched(sets, size, cases, 10)
        model = AUCClassifier(0.0, loss="logistic", tol=1e-8)
        (own,) = seconds(lambda m=model, X=X, y=y, s=stratum: m.fit(X, y, strata=s))
        yield [f"{sets:,} of {size}", str(cases), f"{own:.2f}", f"{1e6 * own / len(y):.1f}"]


def main() -> None:
    warnings.simplefilter("ignore")
    show(["loss", "rows", "strata", "strata lie", "seconds without", "within", "ratio"],
         beside_fits_without())  # fmt: skip
    if find_spec("statsmodels"):
        show(["sets", "cases each", "seconds", "statsmodels", "ratio", "coefficients differ by"],
             beside_statsmodels())  # fmt: skip
    if has_clogit():
        show(["sets", "cases each", "seconds", "clogit of R", "ratio", "coefficients differ by"],
             beside_clogit())  # fmt: skip
    else:
        print("clogit is not compared: install R and its package survival (r-cran-survival)\n")
    show(["sets", "cases each", "seconds", "µs a row"], large())
    show(["queries", "features", "truth", "ranker", "AUC within new queries", "95 % interval",
          "seconds"], within_queries())  # fmt: skip
