"""How much AUC the choice of the settings loses with few positives, rule by rule.

A case is a data set, a label against the rest, a number of positives, as many other rows as the set
has for each of them (twelve at least, 3,000 at most), and a seed. Every cell of a grid is fitted to
these rows and tested on all others; and scored by four rounds of five folds of these rows. What a
rule loses is the test AUC of the best of all cells less that of the cell which the rule chooses.

    python -m benchmarks choices letter german --seeds 3      # these sets; all by default
    python -m benchmarks choices --data mine.csv --target fraud --positive 1
    python -m benchmarks choices --whole usps                 # which loss and which standardize

The rules were found on the first half of the sets, `FOUND_ON`; the others check them. Tables of
cases are kept in a folder, ``--keep``, and not made again. With ``--whole`` all rows are used: a
table of the five-fold AUC of each loss and `standardize` at its best α. "Cells": how many settings
a rule tries, on average.
"""

import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import scipy.sparse as sp
import typer
from sklearn.model_selection import RepeatedStratifiedKFold, StratifiedKFold

from aucmax import AUCClassifierCV, datasets
from aucmax.data.rows import as_rows
from aucmax.estimators.named_loss import NamedLoss
from aucmax.estimators.selection import Grid, alpha_grid, best_cell, usual_alpha
from aucmax.objective.problem import RowsProblem
from benchmarks.common.data import BINARY, as_usual
from benchmarks.common.tables import Names, show
from benchmarks.rare_events import Task, held, own

LOSSES, GAMMAS = ("square", "squared_hinge", "logistic"), (0.0, 0.5, 1.0)
TAUS = ("pooled", 0.25, 0.5)
ALPHAS = np.logspace(-5, 0, 11)
COUNTS = (30, 100, 300)
ROUNDS = 4
MOST, TESTED = 3000, 20_000  # negatives to train on, rows to test on
FOUND_ON = {"letter": (1, 9, 19), "usps": (1, 6), "news20": (6, 12), "a9a": (1,), "german": (1,)}
CHECKED_ON = {"connect-4": (0, -1), "sector": (4, 22), "magic04": (-1,), "splice": (-1,),
              "diabetes": (-1,)}  # fmt: skip


# ---- the cases ---------------------------------------------------------------------------


def tasks(names: list[str]) -> Iterator[Task]:
    """Yield the data sets, each label against the rest."""
    for name, labels in (FOUND_ON | CHECKED_ON).items():
        if not names or name in names:
            scale = "unit-norm" if name in ("news20", "sector") else None
            data = datasets.load(name, split="train" if name == "news20" else "all", scale=scale)
            for label in labels:
                yield Task(f"{name} {label}", held(data.data), data.target == label)


def cells(task: Task, positives: int, seed: int) -> dict[str, np.ndarray] | None:
    """Return scores of all cells by fold, (folds, losses, γ, α), and on the test rows."""
    rng = np.random.default_rng([seed, positives])
    pos, neg = (rng.permutation(np.flatnonzero(task.y == is_pos)) for is_pos in (True, False))
    if 3 * positives > 2 * len(pos):
        return None
    each = max(12.0, len(neg) / len(pos))
    others = int(min(each * positives, MOST, 2 * len(neg) // 3))
    test = rng.permutation(np.concatenate([pos[positives:], neg[others:]]))[:TESTED]
    rows = np.concatenate([rng.permutation(np.r_[pos[:positives], neg[:others]]), test])
    n = positives + others
    X, y = task.X[rows], task.y[rows].astype(int)
    if sp.issparse(X):  # features that no training row has tell nothing
        X = X[:, np.unique(X[:n].indices)]
    sign = np.where(y[:n] == 1, 1.0, -1.0)
    X = X / np.sqrt(usual_alpha(RowsProblem.of(as_rows(X[:n]), sign), 0.0, "square")
                    / usual_alpha(RowsProblem.of(as_rows(X[:n]), sign), 1.0, "square"))  # fmt: skip
    problem = RowsProblem.of(as_rows(X[:n]), sign)
    folds = RepeatedStratifiedKFold(n_splits=5, n_repeats=ROUNDS, random_state=seed)
    pairs = [*folds.split(y[:n], y[:n]), (np.arange(n), np.arange(n, len(y)))]
    search = AUCClassifierCV(ALPHAS, losses=LOSSES, within=TAUS, standardize=GAMMAS, cv=pairs)
    scores = search.fit(X, y).auc_path_[:, :, :, 0]
    usual = [[usual_alpha(problem, g, loss) for g in GAMMAS] for loss, _ in search.losses_]
    decades = np.log10(ALPHAS / np.array(usual)[..., None])
    return {"folds": scores[:-1], "test": scores[-1], "decades": decades, "rows": np.array(n)}


# ---- the rules ---------------------------------------------------------------------------

NAMED = [
    *(NamedLoss("square", tau) for tau in TAUS),
    *(NamedLoss(loss, 0.5) for loss in LOSSES[1:]),
]
NAMES = [*(f"square, τ {tau}" for tau in TAUS), *LOSSES[1:]]
BOTH = ("square, τ 0.5", "squared_hinge")
THREE = (*BOTH, "logistic")


class Rule(NamedTuple):
    """What to search and how to choose: ``rounds`` of five folds, α from the weakest on.

    One that walks goes from the best cell to those beside it; others try all.
    """

    losses: tuple[str, ...] = BOTH
    gammas: tuple[float, ...] = GAMMAS
    weakest: float = -5.0
    strongest: float = 0.0
    steps: int = 2  # per decade
    rounds: int = 1
    leans: bool = True
    smooths: bool = False
    walks: bool = False

    def loss(self, case: dict[str, np.ndarray]) -> tuple[float, float]:
        """Return what it loses and how many cells it tries.

        Of fewer rounds than there are, the means over the rounds.
        """
        tried = np.arange(2.0 * self.weakest, 2.0 * self.strongest + 1.0, 3 - self.steps) / 2.0
        alphas = np.searchsorted(np.log10(ALPHAS), tried - 0.1)
        gammas = [GAMMAS.index(gamma) for gamma in self.gammas]
        at = np.ix_([NAMES.index(name) for name in self.losses], gammas, alphas)
        test, decades = case["test"][at], case["decades"][at] if self.leans else None
        all_decades = case["decades"][at]
        usual = ALPHAS[alphas[0]] / 10.0 ** all_decades[..., 0]
        grid = Grid(
            tuple(NAMED[NAMES.index(name)] for name in self.losses), self.gammas, (0.0,),
            np.tile(ALPHAS[alphas], (len(gammas), 1)), usual=usual if self.walks else None,
        )  # fmt: skip
        lost, tried = [], []
        for first in range(0, ROUNDS, self.rounds):
            folds = case["folds"][5 * first : 5 * (first + self.rounds)][:, *at]
            if self.smooths:
                k = np.arange(folds.shape[-1])
                weaker, stronger = (
                    folds[..., np.maximum(k - 1, 0)],
                    folds[..., np.minimum(k + 1, k[-1])],
                )
                folds = 0.25 * weaker + 0.5 * folds + 0.25 * stronger
            cells = walked(grid, folds[:, :, :, None])[:, :, 0]
            place = best_cell(np.where(cells, folds, np.nan), decades)
            lost.append(case["test"].max() - test[place])
            tried.append(cells.sum())
        return float(np.mean(lost)), float(np.mean(tried))


def walked(grid: Grid, scores: np.ndarray) -> np.ndarray:
    """Return the cells that a search of the grid tries, given what it would find."""
    tried, cells = np.zeros(grid.shape, dtype=bool), grid.first()
    while cells.any():
        tried |= cells
        found = np.where(tried, scores, np.nan)
        cells = grid.following(best_cell(found, grid.decades), tried, found)
    return tried


NARROW = Rule(weakest=-3.0, strongest=-0.5)
KEPT = NARROW._replace(rounds=4)
RULES = {
    "the highest mean": Rule(leans=False),
    "the highest mean, smoothed over α": Rule(leans=False, smooths=True),
    "the highest mean, four rounds": Rule(leans=False, rounds=4),
    "leaning": Rule(),
    "leaning, four rounds": Rule(rounds=4),
    "leaning, four rounds, by decades": Rule(weakest=-4.0, steps=1, rounds=4),
    "leaning, α from 10⁻³ to 10⁻⁰·⁵": NARROW,
    "the same, two rounds": NARROW._replace(rounds=2),
    "the same, four rounds": KEPT,
    "that, γ = ½ alone": KEPT._replace(gammas=(0.5,)),
    "that, γ = 1 alone": KEPT._replace(gammas=(1.0,)),
    "that, γ = ½ or 1": KEPT._replace(gammas=(0.5, 1.0)),
    "that, γ = ½ or 1, and logistic": KEPT._replace(gammas=(0.5, 1.0), losses=THREE),
    "the same, walked": KEPT._replace(gammas=(0.5, 1.0), losses=THREE, walks=True),
    "walked, α from 10⁻⁴": KEPT._replace(gammas=(0.5, 1.0), losses=THREE, walks=True, weakest=-4.0),
    "that, γ = 0, too": KEPT._replace(losses=THREE, walks=True, weakest=-4.0),
    "that, and logistic": KEPT._replace(losses=THREE),
    "that, squared hinge alone": KEPT._replace(losses=("squared_hinge",)),
    "that, logistic alone": KEPT._replace(losses=("logistic",), weakest=-4.0),
    **{f"that, {name} alone": KEPT._replace(losses=(name,)) for name in NAMES[: len(TAUS)]},
    "that, square, τ of these": KEPT._replace(losses=tuple(NAMES[: len(TAUS)])),
}


def table(cases: dict[tuple[str, int, int], dict[str, np.ndarray]]) -> None:
    """Print what each rule loses, in units of .0001."""
    counts = sorted({positives for _, positives, _ in cases})
    found_on = np.array([name.split()[0] in FOUND_ON for name, _, _ in cases])
    checked = np.array([name.split()[0] in CHECKED_ON for name, _, _ in cases])
    groups: dict[str, Callable[[np.ndarray], float]] = {
        f"{count} positives": np.array([n == count for _, n, _ in cases]) for count in counts
    } | {"found on": found_on, "checked on": checked}
    groups = {name: mask for name, mask in groups.items() if mask.any()}

    def row(name: str, rule: Rule) -> list[str]:
        lost, tried = np.array([rule.loss(case) for case in cases.values()]).T
        means = (f"{1e4 * lost[mask].mean():.0f}" for mask in groups.values())
        return [name, *means, f"{tried.mean():.0f}"]

    show(["rule", *(f"{k} ({v.sum()})" for k, v in groups.items()), "cells"],
         (row(*each) for each in RULES.items()))  # fmt: skip


# ---- all rows ----------------------------------------------------------------------------


def all_rows(names: list[str]) -> None:
    """Print the five-fold AUC of each loss and γ at its best α: sparse sets with unit-norm rows."""

    def row(name: str) -> list[str]:
        X, y = as_usual(name)
        folds = StratifiedKFold(5, shuffle=True, random_state=0)
        problem = RowsProblem.of(as_rows(X), np.where(y == 1, 1.0, -1.0))
        best = np.empty((len(LOSSES), len(GAMMAS)))
        for b, gamma in enumerate(GAMMAS):
            alphas = alpha_grid(problem, gamma)
            search = AUCClassifierCV(alphas, losses=LOSSES, standardize=(gamma,), cv=folds)
            best[:, b] = search.fit(X, y).auc_path_.mean(axis=0)[:, 0, 0].max(axis=-1)
        cells = (f"**{v:.4f}**" if v == best.max() else f"{v:.4f}" for v in best.ravel())
        return [name, *cells]

    heads = [f"{loss} γ={gamma:g}" for loss in LOSSES for gamma in GAMMAS]
    show(["data set", *heads], map(row, names or BINARY))


def main(
    sets: Names = [],
    whole: Annotated[bool, typer.Option("--whole", help="Use all rows.")] = False,
    data: Annotated[str | None, typer.Option(help="A file of your own instead.")] = None,
    target: Annotated[str | None, typer.Option(help="Its column of labels.")] = None,
    positive: Annotated[str | None, typer.Option(help="The positive label.")] = None,
    seeds: int = 1,
    keep: Annotated[Path | None, typer.Option(help="A folder for the tables of the cases.")] = None,
) -> None:
    warnings.simplefilter("ignore")
    if whole:
        return all_rows(sets)
    cases: dict[tuple[str, int, int], Any] = {}
    for seed in range(seeds):
        for task in [own(data, target, positive)] if data else tasks(sets):
            for positives in COUNTS:
                key = (task.name, positives, seed)
                file = keep and keep / f"{'_'.join(map(str, key))}.npz"
                if file and file.exists():
                    cases[key] = dict(np.load(file))
                    continue
                if (case := cells(task, positives, seed)) is not None:
                    cases[key] = case
                    if file:
                        file.parent.mkdir(parents=True, exist_ok=True)
                        np.savez(file, **case)
                    best = case["test"].max()
                    print(*key, f"{case['rows']} rows, best {best:.4f}", file=sys.stderr)
    return table(cases)
