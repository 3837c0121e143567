"""The table of a search: the cells of its grid by folds, filled as the search proceeds."""

import copy
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import NamedTuple

import numpy as np
from sklearn.utils import _safe_indexing

from aucmax.data.labelled import Labelled
from aucmax.data.strata import Strata
from aucmax.estimators.classifier import AUCClassifier
from aucmax.estimators.folds import Pairs
from aucmax.estimators.scoring import Metric, Scoring
from aucmax.estimators.selection import Grid, Line, Place, best_cell, mean_scores, noise_of
from aucmax.objective.penalties import L2
from aucmax.objective.problem import Problem

__all__ = ["CELLS_A_PASS", "Judge", "SearchProgress", "Solution", "Table"]

CELLS_A_PASS = 3  # whose held-out scores are in memory at once for rows in parts: 8 bytes a row


class SearchProgress(NamedTuple):
    """The progress of a search, as a view of its table.

    Parameters
    ----------
    what : str
        The path of α that begins.
    done, total : int
        Numbers of paths: one for each fold and line of α to try; the total grows with the search.
    scores : ndarray, shape (folds, *grid.shape)
        Held-out scores so far, NaN where there is none yet; a read-only view that is filled as the
        search continues.
    finished : ndarray of bool, shape (folds,)
        The folds in which all first cells are finished; also a read-only view.
    grid : Grid
        The cells.
    """

    what: str
    done: int
    total: int
    scores: np.ndarray
    finished: np.ndarray
    grid: Grid

    @property
    def best(self) -> float:
        """The highest mean score of a cell over the finished folds, or NaN."""
        means = mean_scores(self.scores[self.finished] if self.finished.any() else self.scores)
        means = means[~np.isnan(means)]
        return float(means.max()) if len(means) else float("nan")


@dataclass(frozen=True, eq=False)
class Solution:
    """The solved cells of a line in one fold.

    Parameters
    ----------
    line : Line
    problem : Problem
        That of the training part.
    W : ndarray, shape (k, d)
        The optima, in the problem's coordinates.
    messages : list of str
        The messages of the solvers.
    """

    line: Line
    problem: Problem
    W: np.ndarray
    messages: list[str]

    def pieces(self) -> Iterator["Solution"]:
        """Yield the cells, a few at a time."""
        for start in range(0, len(self.line), CELLS_A_PASS):
            cells = slice(start, start + CELLS_A_PASS)
            messages = [] if start else self.messages
            yield Solution(self.line.at(cells), self.problem, self.W[cells], messages)

    @cached_property
    def coefs(self) -> np.ndarray:
        """The optima as coefficients of the features, shape (d, k)."""
        return np.column_stack([self.problem.to_features(w) for w in self.W])


@dataclass(frozen=True, eq=False)
class Judge:
    """Scores the cells of a search on held-out rows.

    Parameters
    ----------
    scoring : Metric or Scorer
    labelled : Labelled
        All rows, checked.
    like : AUCClassifier
        A model of the search without coefficients: its classes and feature names.
    strata : Strata, optional
        With these the AUC is that within strata, with their weights.
    """

    scoring: Scoring
    labelled: Labelled
    like: AUCClassifier
    strata: Strata | None = None

    def scores(self, rows: np.ndarray, Z: np.ndarray, solution: Solution) -> np.ndarray:
        """Return the score of each of k cells.

        Parameters
        ----------
        rows : ndarray of int, shape (m,)
            Held-out rows of both classes; those of weight 0 do not count.
        Z : ndarray, shape (m, k)
            Their scores w·x.
        solution : Solution
            The cells.
        """
        labelled, scoring = self.labelled, self.scoring
        counted = labelled.counted(rows)
        if not counted.all():
            rows, Z = rows[counted], Z[counted]
        weight = labelled.weight_of(rows)
        if isinstance(scoring, Metric):
            positive, scores = labelled.positive[rows], map(np.ascontiguousarray, Z.T)
            strata = None if self.strata is None else self.strata.at(rows)
            return np.array([scoring.of_scores(positive, weight, z, strata) for z in scores])
        X, y = _safe_indexing(labelled.named, rows), labelled.labels[rows]
        return np.array([scoring.of(model, X, y, weight) for model in self._models(solution)])

    def _models(self, solution: Solution) -> Iterator[AUCClassifier]:
        """Yield the model of each cell."""
        line, problem = solution.line, solution.problem
        objective = line.loss.objective(problem, L2(0.0))
        for alpha, w in zip(line.alphas.tolist(), solution.W, strict=True):
            model, coef = copy.copy(self.like), problem.to_features(w)
            model.alpha, model.l1_ratio, model.standardize = alpha, line.l1_ratio, line.standardize
            model.loss, model.within = line.loss
            threshold = line.loss.intercept(objective, w, coef)
            model.coef_, model.intercept_ = coef[None, :], np.array([threshold])
            yield model


class Table:
    """The cells of a grid by folds: those tried, their scores, the next ones, and the best.

    Parameters
    ----------
    grid : Grid
    folds : list of (train, test)
        Row numbers.
    judge : Judge
        Scores the cells on the held-out rows.
    callback : callable
        Called with a `SearchProgress`.

    Attributes
    ----------
    tests : list of ndarray
        Row numbers of the held-out parts.
    scorable : list of bool
        Whether each held-out part has both classes; if not, its scores remain NaN.
    scores : ndarray, shape (folds, *grid.shape)
        Held-out scores so far, NaN for cells without one. The first cells are entered fold by fold,
        later ones in all folds at once, so that means are over the same folds.
    finished : ndarray of bool, shape (folds,)
        The folds in which all first cells are scored.
    tried : ndarray of bool, shape ``grid.shape``
        The cells that are filled, or are being filled.
    best : tuple of int, optional
        The place of the best cell when `next` was last called; None if no cell had a score.
    starts : list of ndarray, shape (d,), or None
        For each fold, coefficients near those of the best cell.
    """

    def __init__(
        self, grid: Grid, folds: Pairs, judge: Judge, callback: Callable[[SearchProgress], object]
    ) -> None:
        self.grid, self.folds, self.judge, self.callback = grid, folds, judge, callback
        self.tests = [test for _, test in folds]
        self.scorable = [judge.labelled.both_classes(test) for test in self.tests]
        self.scores = np.full((len(folds), *grid.shape), np.nan)
        self.finished = np.zeros(len(folds), dtype=bool)
        self.tried = np.zeros(grid.shape, dtype=bool)
        self.best: Place | None = None
        self.starts: list[np.ndarray | None] = [None] * len(folds)
        self._filled, self._messages = self.scores.copy(), list[tuple[int, int, str]]()
        self._done, self._total = np.zeros(len(folds), dtype=int), 0  # lines, of all folds
        # by fold, for each cell: w or the held-out scores, whichever are fewer numbers
        self._vectors: list[dict[Place, np.ndarray]] = [{} for _ in folds]
        # by fold, for each cell filled since `next`: w in single precision
        self._coefs: list[dict[Place, np.ndarray]] = [{} for _ in folds]
        self._views = self.scores.view(), self.finished.view()
        for view in self._views:
            view.flags.writeable = False  # a callback must not change what is chosen

    @property
    def noise(self) -> float:
        """The standard deviation over the folds of the cells' distances from the best cell."""
        return noise_of(self.scores)

    @property
    def messages(self) -> list[str]:
        """The messages of the solvers."""
        ordered = sorted(self._messages, key=lambda message: message[:2])
        return [f"fold {k}: {text}" for _, k, text in ordered]

    @property
    def start(self) -> np.ndarray | None:
        """Coefficients near those of the best cell on all rows, if there are any."""
        starts = [start for start in self.starts if start is not None]
        return np.asarray(np.mean(starts, axis=0, dtype=np.float64)) if starts else None

    def next(self) -> list[Line]:
        """Return the lines of cells to fill next, in every fold; none when the walk has ended.

        They start from the solution of the best cell, if it was filled since the last call.
        """
        self.scores[:] = self._filled
        best = self.best = best_cell(self.scores, self.grid.decades)
        cells = self.grid.first()
        if self.tried.any():
            cells = self.grid.following(best, self.tried, self.scores)
        for k, coefs in enumerate(self._coefs):
            near = None if best is None else coefs.get(best)
            if near is not None and np.isfinite(near).all():
                self.starts[k] = near
            coefs.clear()
        self.tried |= cells
        lines = self.grid.lines(cells)
        self._total += len(self.folds) * len(lines)
        return lines

    def leave_out(self, lines: Sequence[Line]) -> None:
        """Leave out lines that `next` returned: their scores remain NaN."""
        self._total -= len(self.folds) * len(lines)

    def tell(self, task: str) -> None:
        """Tell the callback which task begins."""
        done = int(self._done.sum())
        self.callback(SearchProgress(task, done, self._total, *self._views, self.grid))

    def with_progress(self, k: int, lines: Sequence[Line]) -> Iterator[Line]:
        """Yield lines to solve in fold k; tell the callback before each, and count it after."""
        for line in lines:
            self.tell(f"fold {k + 1}: {line}")
            yield line
            self._done[k] += 1

    def fill(self, solutions: dict[int, list[Solution]]) -> None:
        """Enter the solutions of some folds; their held-out rows are scored together."""
        batches = [list(solutions.values())]
        if self.judge.labelled.in_parts:
            pieces = (
                chain(*(solution.pieces() for solution in of_fold))
                for of_fold in solutions.values()
            )
            batches = [[[piece] for piece in of_folds] for of_folds in zip(*pieces, strict=True)]
        for batch in batches:
            self._score([*solutions], batch)
        for k in solutions:
            if not self.finished[k]:
                self.scores[k], self.finished[k] = self._filled[k], True

    def _score(self, folds: Sequence[int], batch: Sequence[Sequence[Solution]]) -> None:
        """Enter some solutions of each of some folds, whose scores are in memory at once."""
        store = self.judge.labelled.store
        no_coefs = np.empty((store.n_features, 0))
        requests = [
            (self.tests[k], np.hstack([solution.coefs for solution in of_fold] or [no_coefs]))
            for k, of_fold in zip(folds, batch, strict=True)
        ]
        scores = store.scores_of(requests)
        for k, of_fold, Z in zip(folds, batch, scores, strict=True):
            for solution in of_fold:
                z, Z = np.split(Z, [len(solution.line)], axis=1)
                self._enter(k, solution, z)

    def _enter(self, k: int, solution: Solution, Z: np.ndarray) -> None:
        line, coefs = solution.line, solution.coefs
        if self.scorable[k]:
            self._filled[k][line.place][line.ks] = self.judge.scores(self.tests[k], Z, solution)
        vectors = coefs if len(coefs) <= len(Z) else Z
        self._vectors[k] |= zip(line.places, vectors.T, strict=True)
        if len(line) < self.grid.shape[-1]:  # more may follow, and starts need few digits
            with np.errstate(over="ignore"):  # from tiny features, which are no start
                self._coefs[k] |= zip(line.places, coefs.T.astype(np.float32), strict=True)
        self._messages += ((self._total, k, f"{line}: {text}") for text in solution.messages)

    def held_out(self, place: Place) -> list[np.ndarray]:
        """Return the held-out scores w·x of a cell, fold by fold."""
        return self.scores_of([cells[place] for cells in self._vectors])

    def scores_of(self, vectors: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Return the held-out scores of each fold, given either w (d,) or the scores themselves."""
        store = self.judge.labelled.store
        pairs = list(zip(self.tests, vectors, strict=True))
        requests = [(test, w[:, None]) for test, w in pairs if len(w) == store.n_features]
        scores = store.scores_of(requests) if requests else iter(())
        return [next(scores)[:, 0] if len(z) == store.n_features else z for z in vectors]
