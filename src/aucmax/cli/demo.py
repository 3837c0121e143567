"""``aucmax demo``: on one screen what is different, computed as you watch.

Real data that come with scikit-learn; no network, no files, no number written in advance.
"""

from __future__ import annotations

import time
from typing import Annotated, Any, NamedTuple

import numpy as np
import typer

from aucmax import metrics
from aucmax.cli.common import check_html, show_page, working
from aucmax.cli.errors import command_line
from aucmax.cli.options import Html, Json
from aucmax.estimators import AUCClassifier, AUCClassifierCV
from aucmax.objective.scaling import feature_factors
from aucmax.report.comparison import paired_test
from aucmax.report.curves import ranking_figures
from aucmax.report.figures import convergence_figure
from aucmax.report.operating import operating_points
from aucmax.report.page import Page, ResultTable, Section
from aucmax.report.provenance import provenance
from aucmax.report.text import (
    auc_text,
    difference_text,
    gap_text,
    interval_text,
    p_words,
)
from aucmax.solvers import SPAM, VRSPAM
from aucmax.statistics.moments import ClassMoments

__all__ = ["demo"]

HELD_OUT = 0.4
FOLDS = 5
LOSSES = ("square",)  # with it the tuned model itself merges and forgets
# One setting for every solver, so that their distances to the optimum compare.
GAP_ALPHA, GAP_GAMMA = 0.01, 0.5
PASSES = (5, 20, 80)
SHARDS = 3
FORGOTTEN = 50
BATCH = {
    "exact": "exact",
    "conjugate gradient": "conjugate_gradient",
    "coordinate descent": "coordinate_descent",
}
NEXT = (
    "aucmax train your.csv --target label -o model.aucmax",
    "aucmax evaluate model.aucmax holdout.csv --logistic your.csv --plot roc.png",
    "aucmax show model.aucmax",
)


class Data(NamedTuple):
    """A data set in two parts; y is 1 for the class to rank first, else 0."""

    name: str
    X: np.ndarray
    y: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray


Courses = dict[str, tuple[list[float], list[float]]]  # by solver, passes and gaps


class Seen(NamedTuple):
    """What the page draws of one data set: test scores by scorer, gaps over passes by solver."""

    is_positive: np.ndarray
    scores: dict[str, np.ndarray]
    courses: Courses


def demo(
    seed: Annotated[
        int, typer.Option(min=0, help="Random seed of the split, the folds and the solvers.")
    ] = 0,
    html: Html = None,
    as_json: Json = False,
) -> None:
    """Show in one minute what is different, on real data, with every number computed now.

    Test AUC beside tuned, class-balanced logistic regression; each solver's distance to the true
    optimum; models merged and rows forgotten exactly. Needs no network and no files.

    Example:

        aucmax demo --seed 1 --html demo.html
    """
    from threadpoolctl import threadpool_limits

    check_html(html)
    started = time.perf_counter()
    # matrices as small as these gain nothing from BLAS threads, and lose much on a busy machine
    with threadpool_limits(1), working("starting", as_json) as now:
        now("loading scikit-learn's data")
        sets = data_sets(seed)
        now("compiling kernels (first run only)")
        _warm_up(sets[0], seed)
        compared, gaps, exact, seen = [], [], [], []
        for i, data in enumerate(sets):
            total = 3 * len(sets)
            now.at(3 * i, total, f"{data.name}: tuning and comparing")
            model, scores, result = _compared(data, seed)
            compared.append(result)
            now.at(3 * i + 1, total, f"{data.name}: every solver's distance to the optimum")
            result, courses = _gaps(data, seed)
            gaps.append(result)
            now.at(3 * i + 2, total, f"{data.name}: merging and forgetting")
            exact.append(_exact_algebra(data, model, seed))
            seen.append(Seen(data.y_test == 1, scores, courses))
    report = {
        "seed": seed,
        "comparison": compared,
        "gaps": gaps,
        "algebra": exact,
        "next": list(NEXT),
        "seconds": time.perf_counter() - started,
    }
    show_page(_page(report, seen), as_json, html)


def data_sets(seed: int) -> list[Data]:
    from sklearn.datasets import load_breast_cancer, load_digits
    from sklearn.model_selection import train_test_split

    cancer, digits = load_breast_cancer(), load_digits()
    sets = [
        ("breast cancer", cancer.data, (cancer.target == 0).astype(int)),
        ("digits, 8", digits.data, (digits.target == 8).astype(int)),
    ]
    out = []
    for name, X, y in sets:
        X, X_test, y, y_test = train_test_split(
            X, y, test_size=HELD_OUT, stratify=y, random_state=seed
        )
        out.append(Data(name, X, y, X_test, y_test))
    return out


def _warm_up(data: Data, seed: int) -> None:
    """Warm up outside the timed region: compile and import for both sides."""
    from aucmax.experiments.rivals import BalancedLogisticRegression

    solvers: list[Any] = [*BATCH.values(), SPAM(n_epochs=1), VRSPAM(n_stages=1)]
    for solver in solvers:
        model = AUCClassifier(0.1, standardize=0.5, solver=solver, random_state=seed, tol=0.1)
        model.fit(data.X, data.y).decision_function(data.X)
    AUCClassifierCV(alphas=[1.0], losses=LOSSES, cv=2).fit(data.X, data.y)
    BalancedLogisticRegression(grid=[0.01], random_state=seed).fit(data.X, data.y)


# ---- 1: the comparison


def _compared(data: Data, seed: int) -> tuple[AUCClassifier, dict[str, np.ndarray], dict[str, Any]]:
    """Both sides tuned by the same folds of the training rows, tested on the rows held out."""
    from sklearn.model_selection import StratifiedKFold

    from aucmax.experiments.rivals import BalancedLogisticRegression

    ours = AUCClassifierCV(
        losses=LOSSES, cv=StratifiedKFold(FOLDS, shuffle=True, random_state=seed)
    )
    theirs = BalancedLogisticRegression(cv=FOLDS, random_state=seed)
    scores, sides = {}, {}
    for name, model in (("aucmax", ours), ("logistic regression", theirs)):
        started = time.perf_counter()
        model.fit(data.X, data.y)
        seconds = time.perf_counter() - started
        scores[name] = model.decision_function(data.X_test)
        interval = metrics.auc_interval(data.y_test, scores[name])
        sides[name.replace(" ", "_")] = {**interval._asdict(), "seconds": seconds}
    sides["aucmax"] |= {
        "alpha": ours.alpha_,
        "standardize": ours.standardize_,
        "settings_tried": int(np.isfinite(ours.auc_path_[0]).sum()),
    }
    sides["logistic_regression"] |= {
        "C": theirs.C_,
        "standardized": theirs.standardized_,
        "settings_tried": theirs.n_settings_,
    }
    first, second = scores.values()
    result = {
        "data": data.name,
        "training_rows": len(data.y),
        "test_rows": len(data.y_test),
        "test_positives": int(data.y_test.sum()),
        "features": data.X.shape[1],
        **sides,
        **paired_test(data.y_test, first, second),
    }
    return ours.best_estimator_, scores, result


# ---- 2: the distance to the optimum


class AllPairs:
    """J from the sum over all pairs of rows, written out, and its minimum by one linear solve.

    The reference the solvers are measured by: it shares no code with them but the factors of
    ``standardize``.
    """

    def __init__(self, X: np.ndarray, y: np.ndarray, alpha: float, gamma: float) -> None:
        self.X, self.y, self.alpha = X, y, alpha
        d = X.shape[1]
        second, first = np.zeros((d, d)), np.zeros(d)
        for x in X[y == 1]:
            differences = x - X[y == 0]
            second += differences.T @ differences
            first += differences.sum(axis=0)
        self.n_pairs = int(np.sum(y == 1) * np.sum(y == 0))
        second, first = second / self.n_pairs, first / self.n_pairs
        factor = feature_factors(2.0 * X.var(axis=0), gamma)
        self.factor = np.ones(d) if factor is None else factor
        second *= np.outer(self.factor, self.factor)
        w = np.linalg.solve(second + alpha * np.eye(d), self.factor * first)
        self.optimum = self.objective(w * self.factor)

    def objective(self, coef: np.ndarray) -> float:
        """J at coefficients for the features as given."""
        scores = self.X @ coef
        margins = scores[self.y == 1][:, None] - scores[self.y == 0]
        w = np.divide(coef, self.factor, out=np.zeros_like(coef), where=self.factor > 0)
        return float(0.5 * np.mean((1 - margins) ** 2) + 0.5 * self.alpha * (w @ w))

    def gap(self, coef: np.ndarray) -> float:
        """(J − J*) / J*."""
        return (self.objective(coef) - self.optimum) / self.optimum


def _gaps(data: Data, seed: int) -> tuple[dict[str, Any], Courses]:
    # J is the same wherever the rows are; SPAM is faster around the origin
    X = data.X - data.X.mean(axis=0)
    pairs = AllPairs(X, data.y, GAP_ALPHA, GAP_GAMMA)
    courses: Courses = {}

    def fitted(name: str, solver: Any) -> float:
        """Keep the gap after each pass over the rows; return the last."""
        passes, gaps = courses[name] = [], []

        def record(at: Any) -> None:
            passes.append(at.passes)
            gaps.append(pairs.gap(at.coef))

        model = AUCClassifier(
            GAP_ALPHA, standardize=GAP_GAMMA, solver=solver, tol=1e-10, random_state=seed,
            callback=record,
        )  # fmt: skip
        return pairs.gap(model.fit(X, data.y).coef_[0])

    def after(name: str) -> dict[int, float]:
        """The gap after at most so many passes."""
        steps = list(zip(*courses[name], strict=True))
        return {n: [gap for passes, gap in steps if passes <= n][-1] for n in PASSES}

    batch = {name: fitted(name, solver) for name, solver in BATCH.items()}
    fitted("SPAM", SPAM(n_epochs=max(PASSES)))
    fitted("VRSPAM", VRSPAM(n_stages=(max(PASSES) - 1) // 2))
    return {
        "data": data.name,
        "pairs": pairs.n_pairs,
        "alpha": GAP_ALPHA,
        "standardize": GAP_GAMMA,
        "optimum": pairs.optimum,
        "batch": batch,
        "SPAM": after("SPAM"),
        "VRSPAM": after("VRSPAM"),
    }, courses


# ---- 3: merging and forgetting


def _exact_algebra(data: Data, model: AUCClassifier, seed: int) -> dict[str, Any]:
    """The tuned model from merged shards, and after forgetting, against fits to the rows."""
    from sklearn.base import clone

    pooled = clone(model).fit(data.X, data.y)
    shards = [ClassMoments.from_data(data.X[i::SHARDS], data.y[i::SHARDS]) for i in range(SHARDS)]
    merged = clone(model).fit_moments(sum(shards, ClassMoments()))
    gone = np.random.RandomState(seed).permutation(len(data.y)) < FORGOTTEN
    refit = clone(model).fit(data.X[~gone], data.y[~gone])
    forgot = clone(model).fit(data.X, data.y).forget(data.X[gone], data.y[gone])
    return {
        "data": data.name,
        "shards": SHARDS,
        "forgotten": int(gone.sum()),
        "merge_difference": _difference(merged, pooled),
        "forget_difference": _difference(forgot, refit),
        "moved_by_forgetting": _difference(forgot, pooled),
    }


def _difference(a: AUCClassifier, b: AUCClassifier) -> float:
    """The largest difference of two models' coefficients, relative to the largest coefficient."""
    return float(np.max(np.abs(a.coef_ - b.coef_)) / np.max(np.abs(b.coef_)))


# ---- the page


def _page(report: dict[str, Any], seen: list[Seen]) -> Page:
    compared = report["comparison"]
    data = [
        (
            "data",
            f"{result['data']} (scikit-learn): {result['training_rows']} training rows, "
            f"{result['test_rows']} test rows, {result['features']} features",
        )
        for result in compared
    ]
    commands = "\n".join(f"  {command}" for command in NEXT)
    took = f"seed {report['seed']}, {report['seconds']:.1f} seconds in all"
    points = [
        operating_points(f"{result['data']}: {scorer}", shown.is_positive, score)
        for result, shown in zip(compared, seen, strict=True)
        for scorer, score in shown.scores.items()
    ]
    return Page(
        "What is different about aucmax",
        "Real data that come with scikit-learn; every number was computed by this run.",
        [
            _comparison(compared, seen),
            _distances(report["gaps"], seen),
            _algebra(report["algebra"]),
            Section("4  Next", f"{commands}\n\n{took}"),
            Section("Choosing how many rows to flag", points=points, on_terminal=False),
        ],
        provenance=provenance(command_line(), data, report["seed"]),
        data=report,
    )


def _comparison(compared: list[dict[str, Any]], seen: list[Seen]) -> Section:
    rows: list[tuple[str, ...]] = []
    heads, figures = [], []
    for result, shown in zip(compared, seen, strict=True):
        heads.append(len(rows))
        share = f"{result['test_positives']} of {result['test_rows']} rows positive"
        rows.append((result["data"], "", share, ""))
        areas = {}
        for name in shown.scores:
            side = result[name.replace(" ", "_")]
            areas[name] = f"AUC {auc_text(side['auc'])}"
            interval, seconds = interval_text(side["low"], side["high"]), f"{side['seconds']:.2f}"
            rows.append((f"  {name}", auc_text(side["auc"]), interval, seconds))
        said = f"  {result['verdict']}, {p_words(result['p_value'])}"
        ends = (result["difference"], result["low"], result["high"])
        rows.append((said, *difference_text(*ends), ""))
        scored = {name: [(shown.is_positive, score)] for name, score in shown.scores.items()}
        figures += ranking_figures(scored, of=result["data"], details=(areas, {}))
    ours, theirs = (compared[0][s]["settings_tried"] for s in ("aucmax", "logistic_regression"))
    caption = (
        f"{HELD_OUT:.0%} of the rows held out; p by DeLong's paired test; a tie unless p < 0.05.\n"
        f"Seconds, on one thread: choosing among {ours} (logistic: {theirs}) settings by "
        f"{FOLDS} folds;\naucmax by AUCClassifierCV, with the square loss."
    )
    title = "1  Test AUC beside tuned, class-balanced logistic regression"
    table = ResultTable(("", "AUC", "95 % interval", "seconds"), rows, caption, heads)
    return Section(title, tables=[table], figures=figures)


def _distances(gaps: list[dict[str, Any]], seen: list[Seen]) -> Section:
    names, both = [result["data"] for result in gaps], ("SPAM", "VRSPAM")
    batch = [("pairs of rows", *(f"{result['pairs']:,}" for result in gaps))]
    batch += [(name, *(gap_text(result["batch"][name]) for result in gaps)) for name in BATCH]
    passes = [
        (f"after {n} passes", *(gap_text(result[name][n]) for result in gaps for name in both))
        for n in PASSES
    ]
    head = ("", *(f"{name}\n{solver}" for name in names for solver in both))
    setting = f"alpha {GAP_ALPHA}, standardize {GAP_GAMMA}"
    caption = f"J* from all pairs one by one and a linear solve; {setting}."
    return Section(
        "2  Distance to the true optimum J*: (J − J*) / J*",
        tables=[ResultTable(("", *names), batch), ResultTable(head, passes, caption)],
        figures=[
            convergence_figure(
                shown.courses,
                name=f"gap {result['data']}",
                title=f"{result['data'].capitalize()}: distance to the true optimum",
                caption=f"J* from all {result['pairs']:,} pairs; below about 1e-14 is rounding.",
            )
            for result, shown in zip(gaps, seen, strict=True)
        ],
    )


def _algebra(algebra: list[dict[str, Any]]) -> Section:
    rows = [
        (f"{SHARDS} shards merged, against the pooled fit", "merge_difference"),
        (f"{FORGOTTEN} rows forgotten, against a refit", "forget_difference"),
        ("  how far these rows had moved the fit", "moved_by_forgetting"),
    ]
    names = [result["data"] for result in algebra]
    table = ResultTable(
        ("largest relative difference of coefficients", *names),
        [(text, *(gap_text(result[key]) for result in algebra)) for text, key in rows],
    )
    return Section("3  What logistic regression cannot do", tables=[table])
