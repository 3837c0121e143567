"""The search of AdditiveAUCClassifier: lines, curves and pairs, each with an α of its own.

A cell of the search has a loss, an α for lines and levels, one for curves and one for pairs, a
number of pairs, and a focus: how much less it shrinks terms that explain more. Pairs are chosen
separately in each training part, from its own rows: with pairs chosen on all rows, held-out scores
would be biased upwards. With the first loss the walk goes from lines to curves to pairs; then the
other losses are tried at the best cell.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from aucmax.columns.additive import AdditiveFeatures, relevance
from aucmax.columns.maps import MapPlaces
from aucmax.columns.monotone import MonotoneScores, monotone_scores
from aucmax.data.labelled import Labelled
from aucmax.data.rows import as_rows
from aucmax.data.rows.store import InMemory
from aucmax.estimators.fitting import Fit, Settings, solve
from aucmax.estimators.folds import Pairs
from aucmax.estimators.named_loss import NamedLoss
from aucmax.estimators.pair_rows import ScoredPairs
from aucmax.estimators.tuning import fold_moments
from aucmax.objective import MAX_MATRIX_FEATURES
from aucmax.objective.losses import LOSSES, Shares, Square
from aucmax.objective.mapped import MappedProblem
from aucmax.objective.penalties import L2
from aucmax.objective.penalties.cone import L2Cone
from aucmax.objective.problem import MomentsProblem, Problem
from aucmax.objective.within_strata import rows_problem
from aucmax.statistics.cross import cross_covariances
from aucmax.statistics.moments import ClassMoments
from aucmax.statistics.pair_sums import PairSums
from aucmax.statistics.pairs_within import PairsWithin

__all__ = [
    "LEADING_SHARE",
    "SHAPES",
    "Cell",
    "CurveRows",
    "Grid",
    "Part",
    "Ranking",
    "Screening",
    "Walk",
    "simplest",
]

GainsOf = Callable[[Sequence[ScoredPairs]], Iterable[np.ndarray]]

SHAPES = ("line", "curves", "interactions")
LEADING_SHARE = 0.998  # of the prior's variance, which is enough in the folds: 11 of 33 hats
_LEAN_PER_DECADE = 0.1  # standard deviations of a fold: see `selection.best_cell`
_SHRINKAGES = (1.0, 10.0, 100.0, 1000.0)  # of maps added alone, relative to that of curves
_FIRST_STEPS = (-2, 0, 2)  # first α to try along an axis, in half-decades from the usual one
_CANDIDATES = 4  # candidates for each pair of a round, from which further rows choose
_SCREENED = 1000  # pairs with the largest gains at the curves, from which later rounds choose


class Cell(NamedTuple):
    """The settings of a model, as places in a grid.

    Parameters
    ----------
    loss : int
    line : int
        The α of lines and levels.
    curve : int
        The α of curves; −1 if there are none.
    pairs : int
        The number of pairs; 0 if there are none.
    pair : int
        The α of pairs; 0 if there are none.
    focus : int
        The power of its gain to which the prior variance of a term is proportional.
    """

    loss: int
    line: int
    curve: int = -1
    pairs: int = 0
    pair: int = 0
    focus: int = 0

    @property
    def shape(self) -> int:
        """The place among `SHAPES`."""
        return 2 if self.pairs else int(self.curve >= 0)

    @property
    def without_maps(self) -> "Cell":
        """The cell with the same curves and no maps, at which the gains of pairs are computed."""
        return self._replace(loss=0, pairs=0, pair=0)


@dataclass(frozen=True, eq=False)
class Grid:
    """What the places of a cell stand for.

    Parameters
    ----------
    losses : tuple of str
    alphas : ndarray, shape (k,)
        Half-decades, ascending, for the first loss; for others, the α of the same effect at w = 0.
    usual : int
        The place of the usual α.
    counts : tuple of int
        Numbers of pairs, ascending from 0.
    powers : tuple of float
        The powers of a focus, ascending from 0.
    """

    losses: tuple[str, ...]
    alphas: np.ndarray
    usual: int
    counts: tuple[int, ...]
    powers: tuple[float, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes: losses, α of lines, no curves or their α, counts, α of pairs, powers."""
        k = len(self.alphas)
        return len(self.losses), k, k + 1, len(self.counts), k, len(self.powers)

    def alphas_of(self, cell: Cell) -> np.ndarray:
        """Return the α of lines, curves and pairs, shape (3,); the usual α for those it lacks."""
        bends = [LOSSES[loss].bends_at_zero.within for loss in self.losses]
        curve = cell.curve if cell.curve >= 0 else self.usual
        places = [cell.line, curve, cell.pair if cell.pairs else self.usual]
        return self.alphas[places] * bends[cell.loss] / bends[0]

    @property
    def of_square_loss(self) -> "Grid":
        """The grid for the square loss, as gains need it, with the same effects at w = 0."""
        bends = [LOSSES[loss].bends_at_zero.within for loss in ("square", self.losses[0])]
        return replace(self, losses=("square",), alphas=self.alphas * bends[0] / bends[1])

    def start(self, cell: Cell, axis: str) -> list[Cell]:
        """Return the first cells of the walk along the α of an axis."""
        places = {self.usual + step for step in _FIRST_STEPS}
        return [cell._replace(**{axis: p}) for p in sorted(places) if 0 <= p < len(self.alphas)]

    def neighbours(self, cell: Cell, axes: Iterable[str]) -> list[Cell]:
        """Return the cells one step away along some axes."""
        cells, ends = [], {"pairs": (1, len(self.counts)), "focus": (0, len(self.powers))}
        for axis in axes:
            low, high = ends.get(axis, (0, len(self.alphas)))
            places = (getattr(cell, axis) + step for step in (-1, 1))
            cells += [cell._replace(**{axis: p}) for p in places if low <= p < high]
        return cells

    def decades_squared(self, cell: Cell) -> float:
        """Return the sum, over the cell's α, of the squared distance in decades from the usual α.

        A step of focus counts as a decade, and so do ten times as many pairs.
        """
        places = (cell.line, cell.curve, cell.pair)[: cell.shape + 1]
        of_alphas = sum(((place - self.usual) / 2.0) ** 2 for place in places)
        return of_alphas + cell.focus**2 + np.log10(max(self.counts[cell.pairs], 1)) ** 2


class CurveRows:
    """All rows of a table in the features of curves, and their places in maps.

    Parameters
    ----------
    features : AdditiveFeatures
        Without pairs.
    labelled : Labelled
        The rows, in memory, as CSR; their strata, if any, with their weights.
    table : data frame or array
        The same rows before the features.
    share : float
        The share of the prior's variance to keep in the coordinates of fits.
    """

    def __init__(
        self, features: AdditiveFeatures, labelled: Labelled, table: Any, share: float = 1.0
    ) -> None:
        self.features, self.labelled, self.table, self.share = features, labelled, table, share

    def in_full(self, shape: int) -> "CurveRows":
        """Return the rows for fits of a shape in all coordinates."""
        if shape:
            return CurveRows(self.features, self.labelled, self.table)
        features = self.features.lines()
        lines = replace(self.labelled, X=self.labelled.X[:, : features.n_features])
        return CurveRows(features, lines, self.table)

    @cached_property
    def places(self) -> MapPlaces:
        """The places of rows along the columns of maps."""
        return self.features.map_places(self.table)

    @cached_property
    def coordinates(self) -> np.ndarray:
        """The rows in coordinates of the prior, shape (n, k)."""
        return (self.labelled.X @ self.features.roots(self.share)).toarray()

    def moments(self, folds: Pairs) -> tuple[list[ClassMoments], ClassMoments]:
        """Return the moments of each training part and of all rows in these coordinates."""
        X = self.coordinates
        of_rows = replace(self.labelled, X=X, store=InMemory(X))
        return fold_moments(of_rows, folds, self.labelled.coded_strata)

    def gains(self, moments: ClassMoments, alpha: float) -> list[np.ndarray]:
        """Return how much each line and each curve alone lowers the square loss of a zero score.

        Parameters
        ----------
        moments : ClassMoments
            Moments of some rows, in these coordinates.
        alpha : float
            The α of each line or curve.

        Returns
        -------
        list of ndarray, shape (axes,)
            The gains of lines and levels, and those of curves.
        """
        root = self.features.roots(self.share)
        first = root.indices[root.indptr[:-1]]
        gap = moments.means[1] - moments.means[0]
        drops = [np.zeros(len(self.features.axes_)) for _ in range(2)]
        for block in self.features.blocks:
            own = slice(*np.searchsorted(first, [block.features.start, block.features.stop]))
            bend = moments.covs[:, own, own].sum(axis=0) + np.outer(gap[own], gap[own])
            bend[np.diag_indices(len(bend))] += alpha
            drop = 0.5 * gap[own] @ np.linalg.solve(bend, gap[own])
            drops[block.kind][block.columns[0]] = drop
        return drops


class Part:
    """The training rows of a fit, and the rows that it scores.

    Of the training rows it keeps only the moments: the features of all parts would take many times
    the memory of the table.

    Parameters
    ----------
    rows : CurveRows
    train, test : ndarray of int
        The rows to fit to, and those to score.
    gains : list of ndarray
        The gains of lines and of curves: see `CurveRows.gains`.
    moments : ClassMoments, optional
        Moments of the rows to fit to, in the coordinates of ``rows``, if known.
    """

    def __init__(
        self,
        rows: CurveRows,
        train: np.ndarray,
        test: np.ndarray,
        gains: list[np.ndarray],
        moments: ClassMoments | None = None,
    ) -> None:
        self.rows, self.train, self.test, self.gains = rows, train, test, gains
        self.positive = rows.labelled.positive[train]
        self.weight = rows.labelled.weight_of(train)
        strata = rows.labelled.coded_strata
        self.strata = None if strata is None else strata.at(train)
        self.features = rows.features
        self.screening: Screening | None = None
        self.ranking = self.at_curves = Ranking([], np.empty(0))
        self._given = moments
        self._with_maps: dict[int, Part] = {0: self}
        self._focused: dict[float, np.ndarray] = {}

    def with_maps(self, count: int) -> "Part":
        """Return the part with maps of the first pairs of its ranking, extended as needed."""
        while len(self.ranking.pairs) < count:
            assert self.screening is not None
            self.ranking = self.screening.with_next_round(self)
        if count not in self._with_maps:
            _, *older = self._with_maps
            for smaller in older[:-1]:  # the walk continues from the last ones
                del self._with_maps[smaller]
            pairs, gains = self.ranking.first(count)
            part = Part(self.rows, self.train, self.test, [*self.gains, gains], self._given)
            part.features = self.features.with_pairs(pairs)
            self._with_maps[count] = part
        return self._with_maps[count]

    def take(self, rows: np.ndarray) -> sp.csr_matrix:
        """Return the features of rows, given their numbers."""
        curves = self.rows.labelled.X[rows]
        return (
            sp.hstack([curves, self._maps(rows)], format="csr") if self.features.pairs_ else curves
        )

    def focused(self, power: float) -> AdditiveFeatures:
        """Return the features with variances in proportion to a power of the gains."""
        features = self.features.with_pairs(self.features.pairs_)
        of_kinds = [*self.gains, np.empty(0)][:3]
        features.relevance_ = [relevance(gains, power) for gains in of_kinds]
        return features

    def fit(self, grid: Grid, cell: Cell, settings: Settings) -> Fit:
        """Return the fit of a cell, as coefficients of its features."""
        d, loss = self._sizes[cell.shape], grid.losses[cell.loss]
        root, kinds = self._coordinates
        k = int(np.searchsorted(kinds, cell.shape, side="right"))
        factor = grid.alphas_of(cell)[kinds[:k]] ** -0.5
        factor = factor * self._deviations(grid.powers[cell.focus])[:k]
        problem: Problem
        root = root[:d, :k]  # scaled by the factor of each coordinate
        scaled = root.data * factor.repeat(np.diff(root.indptr))
        root = sp.csc_matrix((scaled, root.indices, root.indptr), shape=root.shape)
        penalty = L2(1.0)
        if self.features.trends_:
            if d > 2 * MAX_MATRIX_FEATURES:
                raise ValueError(
                    f"with monotone, a model has at most {2 * MAX_MATRIX_FEATURES:,} features, and "
                    f"this one has {d:,}; use fewer interactions, or leave out columns."
                )
            penalty = L2Cone(1.0, self._monotone.in_coordinates(root))
        if len(factor) > 2 * MAX_MATRIX_FEATURES:
            Z = (self.take(self.train)[:, :d] @ root).tocsr()
            problem = rows_problem(as_rows(Z), self.positive, self.weight, None, self.strata)
        elif LOSSES[loss].by_moments:
            problem = MomentsProblem(self._moments.scaled(factor))
        else:
            moments, X = self._moments.scaled(factor), as_rows(self.take(self.train)[:, :d])
            of_rows = self.positive, self.weight, self.strata
            problem = MappedProblem.behind(X, root, moments, *of_rows)
        fitted = solve(problem, replace(settings, goal=NamedLoss(loss), penalty=penalty))
        return replace(fitted, coef=root @ fitted.coef, statistics=None, spread=None)

    def scores(self, coef: np.ndarray) -> np.ndarray:
        """Return the scores of the rows to score."""
        return self._tested @ np.pad(coef, (0, self.features.n_features - len(coef)))

    @property
    def mass(self) -> np.ndarray:
        """The weighted sum of each feature over the rows to fit to."""
        weight = np.ones(len(self.train)) if self.weight is None else self.weight
        return np.asarray(weight @ self.take(self.train)).ravel()

    def pair_sums(self, coef: np.ndarray, pairs: np.ndarray) -> PairSums | PairsWithin:
        """Return the sums for the gains of pairs, at the scores of these coefficients."""
        positive, scores = self.positive, self.take(self.train)[:, : len(coef)] @ coef
        of_pairs = self.rows.places.at(self.train).nearest(), self.features.n_places, pairs
        if self.strata is None:
            weight = np.ones(len(positive)) if self.weight is None else self.weight
            return PairSums.of(*of_pairs, positive, weight, scores)
        compared = self.strata.compared(positive, self.weight).shares
        shares, sign = Shares(self.strata.code, compared.of_stratum), np.where(positive, 1.0, -1.0)
        slope = Square(0.5).at(scores, sign, compared.of_row, shares).gradient
        return PairsWithin(*of_pairs, positive, compared.of_row, slope, self.strata)

    def added(self, pairs: Sequence[tuple[int, int]], steps: np.ndarray) -> np.ndarray:
        """Return what maps of the first pairs, one after another, add to the scored rows.

        Parameters
        ----------
        pairs : sequence of (int, int)
        steps : ndarray, shape (number of pairs, c)
            What the map of each pair adds to the score, at its cells.

        Returns
        -------
        ndarray, shape (number of pairs, number of rows to score)
        """
        cells, sizes = self.rows.places.at(self.test).nearest(), self.features.n_places
        of_rows = [
            step[cells[i].astype(np.intp) * sizes[j] + cells[j]]
            for (i, j), step in zip(pairs, steps, strict=True)
        ]
        return np.cumsum(of_rows, axis=0)

    @cached_property
    def _sizes(self) -> np.ndarray:
        """The number of features of a model of each shape."""
        return np.searchsorted(self.features.kinds(), range(3), side="right")

    def _deviations(self, power: float) -> np.ndarray:
        """Return the prior deviation of each coordinate."""
        if power not in self._focused:
            root, _ = self._coordinates
            of_features = self.focused(power).prior_deviations()
            self._focused[power] = of_features[root.indices[root.indptr[:-1]]]
        return self._focused[power]

    @cached_property
    def _coordinates(self) -> tuple[sp.csc_matrix, np.ndarray]:
        """The features as coordinates of their prior, and the kind of each coordinate."""
        root = self.features.roots(self.rows.share)
        return root, self.features.kinds()[root.indices[root.indptr[:-1]]]

    def _maps(self, rows: np.ndarray) -> sp.csr_matrix:
        return self.features.maps(self.rows.places.at(rows))

    @cached_property
    def _tested(self) -> sp.csr_matrix:
        return self.take(self.test)

    @cached_property
    def _moments(self) -> ClassMoments:
        """The moments of the rows to fit to, in the coordinates of the prior."""
        if self._given is None:
            return self._moments_of(self.take(self.train)).mapped(self._coordinates[0])
        return self._moments_beside(self._given) if self.features.pairs_ else self._given

    def _moments_of(self, X: sp.csr_matrix) -> ClassMoments:
        empty, sign = ClassMoments([-1.0, 1.0]), np.where(self.positive, 1.0, -1.0)
        if self.strata is None:
            return empty.add_rows(as_rows(X), sign, self.weight)
        return empty.add_strata(as_rows(X), sign, self.weight, self.strata)

    def _moments_beside(self, of_curves: ClassMoments) -> ClassMoments:
        """Return the moments of all coordinates, given those of lines and curves."""
        root, _ = self._coordinates
        d, k = self.rows.features.n_features, of_curves.n_features
        maps = self._maps(self.train)
        root, of_maps = root[d:, k:], self._moments_of(maps)
        of_rows = self.positive, self.weight, self.strata
        cross = cross_covariances(maps, self.rows.coordinates[self.train], *of_rows)
        mapped = np.array([(root.T @ of_class).T for of_class in cross])
        return of_curves.joined(of_maps.mapped(root), mapped)

    @cached_property
    def _monotone(self) -> MonotoneScores:
        """The scores that obey the ``monotone`` setting."""
        return monotone_scores(self.features, self.mass)


class Ranking(NamedTuple):
    """Pairs in the order in which they were chosen.

    Parameters
    ----------
    pairs : list of (int, int)
    gains : ndarray, shape (number of pairs,)
        How much each alone lowers the loss, at the score of its round.
    """

    pairs: list[tuple[int, int]]
    gains: np.ndarray

    def first(self, count: int) -> "Ranking":
        """Return the first pairs."""
        return Ranking(self.pairs[:count], self.gains[:count])

    def best(self, count: int) -> "Ranking":
        """Return the pairs with the largest gains, the largest first."""
        order = np.argsort(-self.gains, kind="stable")[:count]
        return Ranking([self.pairs[k] for k in order], self.gains[order])

    def without(self, other: "Ranking") -> "Ranking":
        """Return the pairs that are not in another ranking."""
        order = [k for k, pair in enumerate(self.pairs) if pair not in {*other.pairs}]
        return Ranking([self.pairs[k] for k in order], self.gains[order])

    def then(self, other: "Ranking") -> "Ranking":
        """Return the pairs of both, one after the other."""
        return Ranking(self.pairs + other.pairs, np.append(self.gains, other.gains))


@dataclass(frozen=True, eq=False)
class Screening:
    """How the parts of a search choose pairs: by their gains, in rounds.

    The first round takes the pairs with the largest gains at the curves. Each further round takes
    those with the largest gains at the score with the maps of all earlier rounds, at the usual α:
    pairs that duplicate earlier ones gain little there, and effects that these hid appear.

    Parameters
    ----------
    grid : Grid
        Its numbers of pairs are those after each round.
    curves : Cell
        The cell of the curves, whose α also apply to cells with pairs.
    settings : Settings
    """

    grid: Grid
    curves: Cell
    settings: Settings

    def begin(self, part: Part, candidates: Sequence[tuple[int, int]], in_order: bool) -> None:
        """Rank pairs at the curves of a part, for its first round, or keep them ``in_order``."""
        part.screening = self
        ranking = self._gains(self._asked(part, 0, candidates), part)
        part.at_curves = ranking if in_order else ranking.best(_SCREENED)
        part.ranking = part.at_curves.first(self.grid.counts[1])

    def with_next_round(self, part: Part) -> Ranking:
        """Return the ranking of a part with the pairs of one more round."""
        place = self.grid.counts.index(len(part.ranking.pairs))
        return part.ranking.then(self._gains_of_others(part, place).best(self._size(place)))

    def confirmed(self, part: Part, place: int, gains_of: GainsOf) -> Ranking:
        """Return one of the grid's numbers of pairs, chosen on further rows.

        For each round, the gains of the part's best candidates are computed on the further rows, at
        the part's score before that round: one pass for all rounds.

        Parameters
        ----------
        part : Part
        place : int
        gains_of : callable
            Returns the gains of the pairs of each of some scores.
        """
        count = self.grid.counts[place]
        rounds = []
        for k in range(place):
            candidates = self._gains_of_others(part, k).best(_CANDIDATES * self._size(k))
            own = part.ranking.first(count).without(candidates)
            rounds.append(self._asked(part, k, candidates.then(own).pairs))
        chosen = Ranking([], np.empty(0))
        for k, gains in enumerate(gains_of(rounds)):
            asked = Ranking([*map(tuple, rounds[k].pairs.tolist())], gains)
            chosen = chosen.then(asked.without(chosen).best(self._size(k)))
        return chosen

    @property
    def alpha(self) -> float:
        """α of the cells of a pair."""
        return float(self.grid.of_square_loss.alphas_of(self.curves)[1])

    def _size(self, place: int) -> int:
        """Return the number of pairs of a round."""
        return self.grid.counts[place + 1] - self.grid.counts[place]

    def _gains_of_others(self, part: Part, place: int) -> Ranking:
        """Return the gains of the candidates that no earlier round has chosen."""
        others = part.at_curves.without(part.ranking.first(self.grid.counts[place]))
        return self._gains(self._asked(part, place, others.pairs), part)

    def _asked(self, part: Part, place: int, pairs: Sequence[tuple[int, int]]) -> ScoredPairs:
        """Return pairs with the score of a part before one of the rounds."""
        before = part.with_maps(self.grid.counts[place])
        maps = {"pairs": place, "pair": self.grid.usual} if place else {}
        fitted = before.fit(self.grid.of_square_loss, self.curves._replace(**maps), self.settings)
        return ScoredPairs(before.features, fitted.coef, np.array(pairs), (False, True))

    def _gains(self, asked: ScoredPairs, part: Part) -> Ranking:
        """Return the gains of pairs for the rows of a part."""
        before = part.with_maps(len(asked.features.pairs_))
        sums = before.pair_sums(asked.coef, asked.pairs)
        return Ranking([*map(tuple, asked.pairs.tolist())], sums.gains(self.alpha))


class Walk:
    """The cells that were tried, with their held-out scores.

    Parameters
    ----------
    grid : Grid
    parts : sequence of Part
    settings : Settings
    score : callable
        Returns the metric for the held-out rows of a part, given their scores.
    """

    def __init__(
        self,
        grid: Grid,
        parts: Sequence[Part],
        settings: Settings,
        score: Callable[[Part, np.ndarray], float],
    ) -> None:
        self.grid, self.parts, self.settings, self.score = grid, parts, settings, score
        self.held_out: dict[Cell, np.ndarray] = {}
        self.messages: list[str] = []

    def climb(self, cells: Iterable[Cell], axes: Sequence[str]) -> Cell:
        """Try cells, then neighbours of the best one along some axes, until it stays the best."""
        waiting = [*cells]
        tried: list[Cell] = []
        while waiting:
            for cell in waiting:
                self._try(cell)
            tried += waiting
            best = self.best(tried)
            waiting = [c for c in self.grid.neighbours(best, axes) if c not in tried]
        return best

    def maps_promise(self, cell: Cell, alpha: float, n_folds: int) -> bool:
        """Return whether maps promise to raise held-out scores by more than one standard error.

        This is estimated before they are fitted: each is added to the curves as if it were alone.

        Parameters
        ----------
        cell : Cell
            The cell of the curves.
        alpha : float
            α of curves; maps are tried with this shrinkage and up to a thousand times more.
        n_folds : int
            As for `simplest`.
        """
        rises = []
        square = self.grid.of_square_loss
        for part in self.parts:
            coef = part.fit(square, cell.without_maps, self.settings).coef
            scores, (pairs, _) = part.scores(coef), part.at_curves.first(self.grid.counts[-1])
            sums = part.pair_sums(coef, np.array(pairs))
            raised = [scores + part.added(pairs, sums.steps(alpha * t)) for t in _SHRINKAGES]
            places = [count - 1 for count in self.grid.counts[1:]]
            tried = [self.score(part, of_count) for of in raised for of_count in of[places]]
            rises.append(np.array(tried) - self.score(part, scores))
        error = np.std(rises, axis=0, ddof=1) / np.sqrt(n_folds) if len(rises) > 1 else 0.0
        return bool((np.mean(rises, axis=0) > error).any())

    def best(self, cells: Sequence[Cell]) -> Cell:
        """Return the best of some cells, with the lean of `best_cell` towards the usual α."""
        scores = np.array([self.held_out[cell] for cell in cells])
        means = scores.mean(axis=1)
        apart = scores - scores[means.argmax()]
        noise = np.sqrt(apart.var(axis=1, ddof=1).mean()) if scores.shape[1] > 1 else 0.0
        lean = [_LEAN_PER_DECADE * noise * self.grid.decades_squared(cell) for cell in cells]
        return cells[int(np.argmax(means - lean))]

    def of_shapes(self) -> list[Cell]:
        """Return the best cell of each shape that was tried, the simplest shape first."""
        shapes = sorted({cell.shape for cell in self.held_out})
        return [self.best([c for c in self.held_out if c.shape == s]) for s in shapes]

    def scores_of(self, cell: Cell) -> list[np.ndarray]:
        """Return the scores of the held-out rows of each part with a cell."""
        return [scores for _, scores in self._fitted(cell)]

    def _fitted(self, cell: Cell) -> Iterator[tuple[Fit, np.ndarray]]:
        for curves in self.parts:
            part = curves.with_maps(self.grid.counts[cell.pairs])
            fitted = part.fit(self.grid, cell, self.settings)
            yield fitted, part.scores(fitted.coef)

    def _try(self, cell: Cell) -> None:
        if cell in self.held_out:
            return
        of_folds = []
        for k, (fitted, scores) in enumerate(self._fitted(cell)):
            of_folds.append(self.score(self.parts[k], scores))
            if fitted.message is not None:
                self.messages.append(f"fold {k}: {fitted.message}")
        self.held_out[cell] = np.array(of_folds)


def simplest(held_out: Sequence[np.ndarray], n_folds: int) -> int:
    """Return the place of the first of some models within one standard error of the best.

    Parameters
    ----------
    held_out : sequence of ndarray, shape (number of folds,)
        The held-out score of each model in each fold, the simplest model first.
    n_folds : int
        The number of independent folds. The standard error is that of the mean of the paired
        differences over them.
    """
    top = max(held_out, key=lambda scores: float(scores.mean()))
    for place, scores in enumerate(held_out):
        behind = top - scores
        error = behind.std(ddof=1) / np.sqrt(n_folds) if len(behind) > 1 else 0.0
        if behind.mean() <= error:
            return place
    raise AssertionError("the best is as good as itself")
