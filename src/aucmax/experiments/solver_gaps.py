"""``aucmax demo --research``: how far each solver is from the true optimum, pass by pass."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits
from threadpoolctl import threadpool_limits

from aucmax.estimators import AUCClassifier
from aucmax.objective.scaling import feature_factors
from aucmax.report.figures import Figure, convergence_figure
from aucmax.report.page import Page, ResultTable, Section
from aucmax.report.provenance import provenance
from aucmax.report.reports import Report, unlisted
from aucmax.report.text import gap_text
from aucmax.solvers import SPAM, VRSPAM

__all__ = ["AllPairs", "Gaps", "GapsOn", "computed_gaps", "real_sets"]

# The same settings for every solver, so that their distances to the optimum can be compared.
ALPHA, GAMMA = 0.01, 0.5
PASSES = (5, 20, 80)
BATCH = {
    "exact": "exact",
    "conjugate gradient": "conjugate_gradient",
    "coordinate descent": "coordinate_descent",
}

Courses = dict[str, tuple[list[float], list[float]]]  # by solver, passes and gaps


@dataclass(frozen=True, kw_only=True)
class GapsOn:
    """The gaps of every solver on a data set."""

    data: str
    rows: int
    features: int
    pairs: int
    alpha: float = ALPHA
    standardize: float = GAMMA
    optimum: float
    batch: Mapping[str, float]
    SPAM: Mapping[int, float]  # by passes
    VRSPAM: Mapping[int, float]
    courses: Courses = unlisted()

    def figure(self) -> Figure:
        """Return the gaps over passes."""
        return convergence_figure(
            self.courses,
            name=f"gap {self.data}",
            title=f"{self.data.capitalize()}: distance to the true optimum",
            caption=f"J* from all {self.pairs:,} pairs; values below about 1e-14 are rounding.",
        )


@dataclass(frozen=True, kw_only=True)
class Gaps(Report):
    """The report of ``aucmax demo --research``, 80 columns wide as text."""

    seed: int
    gaps: Sequence[GapsOn]
    seconds: float

    def page(self, command: str = "aucmax demo --research") -> Page:
        """Return the page; ``command`` is what was run."""
        rows = [("pairs of rows", *(f"{of.pairs:,}" for of in self.gaps))]
        rows += [(name, *(gap_text(of.batch[name]) for of in self.gaps)) for name in BATCH]
        for n in PASSES:
            rows.append((f"SPAM after {n} passes", *(gap_text(of.SPAM[n]) for of in self.gaps)))
        for n in PASSES:
            rows.append((f"VRSPAM after {n} passes", *(gap_text(of.VRSPAM[n]) for of in self.gaps)))
        caption = (
            f"J* from all pairs one by one and a linear solve; alpha {ALPHA}, standardize {GAMMA}."
            f"\nSeed {self.seed}, {self.seconds:.1f} seconds in all."
        )
        table = ResultTable(("", *(of.data for of in self.gaps)), rows, caption)
        figures = [of.figure() for of in self.gaps]
        data = [
            ("data", f"{of.data} (scikit-learn): {of.rows:,} rows, {of.features} features")
            for of in self.gaps
        ]
        return Page(
            "How far each solver is from the optimum",
            "Distance to the true optimum J* of the objective over all pairs: (J − J*) / J*.\n"
            "Real data that come with scikit-learn; every number was computed by this run.",
            [Section("Distance to the true optimum", tables=[table], figures=figures)],
            provenance=provenance(command, data, self.seed),
        )


def real_sets() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Return rows and labels, 1 for the class to rank first, that come with scikit-learn."""
    cancer, digits = load_breast_cancer(), load_digits()
    return {
        "breast cancer": (cancer.data, (cancer.target == 0).astype(int)),
        "digits, 8": (digits.data, (digits.target == 8).astype(int)),
    }


def computed_gaps(seed: int, tell: Callable[[str], object] = lambda task: None) -> Gaps:
    """Fit by every solver, and measure how far from the optimum it is.

    Parameters
    ----------
    seed : int
        Of the stochastic solvers.
    tell : callable
        Called with the name of the next stage.
    """
    started = time.perf_counter()
    gaps = []
    with threadpool_limits(1):
        for name, (X, y) in real_sets().items():
            tell(f"{name}: every solver's distance to the optimum")
            gaps.append(_gaps(name, X, y, seed))
    return Gaps(seed=seed, gaps=gaps, seconds=time.perf_counter() - started)


class AllPairs:
    """J from the sum over all pairs of rows, written out, and its minimum by one linear solve.

    The solvers are measured against it. It shares no code with them except the factors of
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
        """Return J at coefficients for the original features."""
        scores = self.X @ coef
        margins = scores[self.y == 1][:, None] - scores[self.y == 0]
        w = np.divide(coef, self.factor, out=np.zeros_like(coef), where=self.factor > 0)
        return float(0.5 * np.mean((1 - margins) ** 2) + 0.5 * self.alpha * (w @ w))

    def gap(self, coef: np.ndarray) -> float:
        """Return (J − J*) / J*."""
        return (self.objective(coef) - self.optimum) / self.optimum


def _gaps(data: str, X: np.ndarray, y: np.ndarray, seed: int) -> GapsOn:
    # shifting all rows does not change J, and SPAM is faster around the origin
    X = X - X.mean(axis=0)
    pairs = AllPairs(X, y, ALPHA, GAMMA)
    courses: Courses = {}

    def fitted(name: str, solver: Any) -> float:
        """Record the gap after each pass over the rows; return the last one."""
        passes, gaps = courses[name] = [], []

        def record(at: Any) -> None:
            passes.append(at.passes)
            gaps.append(pairs.gap(at.coef))

        model = AUCClassifier(
            ALPHA, standardize=GAMMA, solver=solver, tol=1e-10, random_state=seed,
            callback=record,
        )  # fmt: skip
        return pairs.gap(model.fit(X, y).coef_[0])

    def after(name: str) -> dict[int, float]:
        """Return the gap after at most a number of passes."""
        steps = list(zip(*courses[name], strict=True))
        return {n: [gap for passes, gap in steps if passes <= n][-1] for n in PASSES}

    batch = {name: fitted(name, solver) for name, solver in BATCH.items()}
    fitted("SPAM", SPAM(n_epochs=max(PASSES)))
    fitted("VRSPAM", VRSPAM(n_stages=(max(PASSES) - 1) // 2))
    return GapsOn(
        data=data,
        rows=len(y),
        features=X.shape[1],
        pairs=pairs.n_pairs,
        optimum=pairs.optimum,
        batch=batch,
        SPAM=after("SPAM"),
        VRSPAM=after("VRSPAM"),
        courses=courses,
    )
