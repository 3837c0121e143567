"""The cells that AUCClassifierCV tries, a walk on their grid, and the choice among them.

With automatic α, the search begins with one loss around the usual α, continues with neighbours of
the best α, and tries the other losses there; docs/choosing.md has the evidence.
"""

import math
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from aucmax.estimators.named_loss import NamedLoss
from aucmax.estimators.scoring import Scoring
from aucmax.objective import Objective
from aucmax.objective.losses import LOSSES
from aucmax.objective.penalties import L2, Bounded, ElasticNet, Penalty
from aucmax.objective.problem import ANY_ROWS, Problem
from aucmax.solvers.auto import pick

__all__ = [
    "Grid",
    "Line",
    "Place",
    "alpha_grid",
    "best_cell",
    "mean_scores",
    "noise_of",
    "penalty_of",
    "takes",
    "usual_alpha",
    "within_of",
]

_LEAN_PER_DECADE = 0.1  # standard deviations of a fold, for a decade away from the usual α
_FIRST_ALPHAS = 2  # number of α on each side of the usual one with which a walk begins

Place = tuple[int, ...]  # of a cell, or of a line of them


@dataclass(frozen=True, eq=False)
class Line:
    """Cells of a grid that differ only in α.

    Parameters
    ----------
    place : tuple of int
        That of the line in the grid.
    ks : ndarray of int, shape (k,)
        The places of the α on it, ascending.
    loss : NamedLoss
    standardize, l1_ratio : float
    alphas : ndarray, shape (k,)
    penalties : list of Penalty
    """

    place: Place
    ks: np.ndarray
    loss: NamedLoss
    standardize: float
    l1_ratio: float
    alphas: np.ndarray
    penalties: list[Penalty]

    def __str__(self) -> str:
        return f"{self.loss}, standardize {self.standardize:g}"

    def __len__(self) -> int:
        return len(self.ks)

    @property
    def places(self) -> list[Place]:
        """The places of the cells."""
        return [(*self.place, k) for k in self.ks.tolist()]

    @property
    def has_solver(self) -> bool:
        """Whether a batch solver supports the cells."""
        return takes(self.loss.loss, self.penalties[0])

    def at(self, cells: slice) -> "Line":
        """Return some of its cells."""
        of_cells = ("ks", "alphas", "penalties")
        return replace(self, **{name: getattr(self, name)[cells] for name in of_cells})

    def objectives(self, problem: Problem) -> list[Objective]:
        """Return the objectives of the cells on a problem in the features' own coordinates."""
        problem = problem.scaled(self.standardize)
        objective = self.loss.objective(problem, L2(0.0))
        penalties = (penalty.scaled(problem.factor) for penalty in self.penalties)
        return [objective.with_penalty(penalty) for penalty in penalties]


class Grid(NamedTuple):
    """The cells: ``alphas`` (n_standardize, n_alphas) ascending, one row for each γ.

    The square and the logistic loss occur with each of their τ. ``coef_bounds`` (d, 2) apply to
    every cell, for the unscaled features. ``usual`` (n_losses, n_standardize) is the α from which
    the walk would start, see `usual_alpha`; None if the user gave the α.
    """

    losses: tuple[NamedLoss, ...]
    standardize: tuple[float, ...]
    l1_ratios: tuple[float, ...]
    alphas: np.ndarray
    coef_bounds: np.ndarray | None = None
    usual: np.ndarray | None = None

    def lines(self, cells: np.ndarray) -> list[Line]:
        """Return the cells of a mask, line by line."""
        lines = []
        for a, b, c in np.argwhere(cells.any(axis=-1)).tolist():
            ks, l1_ratio = np.flatnonzero(cells[a, b, c]), self.l1_ratios[c]
            alphas = self.alphas[b, ks]
            penalties = [penalty_of(alpha, l1_ratio, self.coef_bounds) for alpha in alphas.tolist()]
            settings = self.losses[a], self.standardize[b], l1_ratio
            lines.append(Line((a, b, c), ks, *settings, alphas, penalties))
        return lines

    def settings(self, place: Place) -> dict[str, Any]:
        """Return the settings of a cell, as `AUCClassifier` names them."""
        a, b, c, k = place
        loss, within = self.losses[a]
        shared = {"standardize": self.standardize[b], "l1_ratio": self.l1_ratios[c]}
        return {"loss": loss, "within": within, **shared, "alpha": float(self.alphas[b, k])}

    def first(self) -> np.ndarray:
        """Return the first cells as a mask: all cells if the user gave the α.

        Otherwise these are the cells of the first loss with an α near the usual one, whatever their
        other settings.
        """
        if self.decades is None:
            return np.ones(self.shape, dtype=bool)
        usual = np.abs(self.decades).argmin(axis=-1)[..., None]
        near = np.abs(np.arange(self.shape[-1]) - usual) <= _FIRST_ALPHAS
        of_first_loss = np.array([named.loss == self.losses[0].loss for named in self.losses])
        return np.broadcast_to(near & of_first_loss[:, None, None, None], self.shape)

    def following(self, best: Place | None, tried: np.ndarray, scores: np.ndarray) -> np.ndarray:
        """Return the next cells as a mask: those whose α are neighbours of the best cell's α.

        If these were tried, or promise too little, the losses that were not tried come next, with
        the settings of the best cell and an α in proportion to the loss's curvature at w = 0. If
        there are none, the walk ends.

        Parameters
        ----------
        best : tuple of int, optional
            The place of the best cell; None if no cell has a score: then all others come next.
        tried : ndarray of bool, shape ``shape``
        scores : ndarray, shape (folds, *shape)
            Held-out scores so far.
        """
        if best is None:
            return ~tried
        a, b, c, k = best
        cells = np.zeros(self.shape, dtype=bool)
        means, lean = _with_lean(scores, self.decades)[:, a, b, c]
        for side in (-1, 1):
            if 0 <= k + side < self.shape[-1]:
                cells[a, b, c, k + side] = _is_promising(means, lean, k, side)
        cells &= ~tried
        untried = np.flatnonzero(~tried.any(axis=(1, 2, 3)))
        if len(untried) and not cells.any():
            bends = np.array([LOSSES[named.loss].bends_at_zero.within for named in self.losses])
            alike = self.alphas[b, k] * bends[untried] / bends[a]
            nearest = np.abs(np.log(self.alphas[b] / alike[:, None])).argmin(axis=-1)
            cells[untried, b, c, nearest] = True
        return cells

    @property
    def decades(self) -> np.ndarray | None:
        """The decades between each α and the usual one, (losses, standardize, 1, alphas)."""
        if self.usual is None:
            return None
        return np.log10(self.alphas / self.usual[..., None])[:, :, None]

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """(losses, standardize, l1_ratios, alphas)."""
        n_alphas = self.alphas.shape[1]
        return len(self.losses), len(self.standardize), len(self.l1_ratios), n_alphas


def penalty_of(alpha: float, l1_ratio: float, coef_bounds: Any) -> Penalty:
    """Return an elastic net, restricted to a box if there are bounds."""
    net = ElasticNet(alpha, l1_ratio)
    return net if coef_bounds is None else Bounded(net, coef_bounds)


def takes(loss: str, penalty: Penalty) -> bool:
    """Return whether some batch solver minimises this loss with this penalty."""
    return pick(Objective(ANY_ROWS, LOSSES[loss], penalty)) is not None


def within_of(scoring: Scoring) -> tuple[float | str, ...]:
    """Return the τ to try with the square and the logistic loss.

    ½ aims at the whole AUC, smaller τ at low false-positive rates. For the AUC it is always ½:
    however few the positives, neither another τ nor a choice among several was reliably better
    (docs/choosing.md).
    """
    return ("pooled", 0.05, 0.2, 0.5) if scoring.top else (0.5,)


def alpha_grid(problem: Problem, gamma: float, rarer: float | None = None) -> np.ndarray:
    """Return the automatic α for a value of `standardize`: half-decades below `_unit`, ascending.

    They go down to a hundredth of the usual α or 10⁻⁶. ``rarer`` is the number of rows of the rarer
    class, by default its weight.
    """
    rarer = _rarer(problem) if rarer is None else rarer
    lowest = max(math.log10(LOSSES["squared_hinge"].usual_alpha / rarer) - 2.0, -6.0)
    return _unit(problem, gamma) * 10.0 ** (0.5 * np.arange(math.floor(2.0 * lowest), 0))


def usual_alpha(problem: Problem, gamma: float, loss: str) -> float:
    """Return the α that suits most data: 1 over the number of rows of the rarer class."""
    return _unit(problem, gamma) * LOSSES[loss].usual_alpha / _rarer(problem)


def _rarer(problem: Problem) -> float:
    """Return the weight of the rarer class, at least that of a row."""
    return max(min(problem.n_pos, problem.n_neg), 1.0)


def _unit(problem: Problem, gamma: float) -> float:
    """Return half the mean squared distance of two rows in the scaled coordinates.

    It is 1 for ``gamma > 0`` and nearly 1 for unit-norm rows. Without scaling, one row is positive
    and the other negative, so that the result does not depend on the class weights.
    """
    distance = 2.0 if gamma > 0.0 else float(problem.curvature.sum())
    return distance / 2.0 if distance > 0 else 1.0


def best_cell(scores: np.ndarray, decades: np.ndarray | None = None) -> Place | None:
    """Return the place of the cell to choose, given held-out scores; None if all are NaN.

    Parameters
    ----------
    scores : ndarray, shape (folds, …, n_alphas)
        α ascending along the last axis.
    decades : ndarray, shape (…, n_alphas), optional
        The distance of each α from the usual one. A cell must then be better by 0.1·decades² times
        the noise, the standard deviation of a fold's differences between cells. This is negligible
        if the folds can tell the cells apart; if they cannot, α near the usual one are better.

    Notes
    -----
    Among ties, the strongest penalty wins. docs/choosing.md has the evidence.
    """
    if not np.isfinite(scores).any():
        return None
    means, lean = _with_lean(scores, decades)
    compared = np.where(np.isnan(means), -np.inf, means - lean)
    equal = np.argwhere(compared == compared.max())
    return tuple(equal[np.argmax(equal[:, -1])].tolist())


def _with_lean(scores: np.ndarray, decades: np.ndarray | None) -> np.ndarray:
    """Return the mean of each cell, and by how much it must be better than at the usual α."""
    means = mean_scores(scores)
    if decades is None:
        return np.array([means, np.zeros(means.shape)])
    lean = _LEAN_PER_DECADE * noise_of(scores) * decades**2
    return np.array([means, np.broadcast_to(lean, means.shape)])


def _is_promising(means: np.ndarray, lean: np.ndarray, k: int, side: int) -> bool:
    """Return whether the α on one side of the best α k of a line may be better still.

    Where gains towards k diminish, the next gain is expected to be the same share of the last one
    as that is of the one before.
    """
    toward = [means[j] for j in (k - 2 * side, k - side, k) if 0 <= j < len(means)]
    if len(toward) < 3:
        return True
    before, last = np.diff(toward)
    if not 0.0 < last < before:  # also if one is unknown
        return True
    return bool(last * (last / before) > lean[k + side] - lean[k])


def mean_scores(scores: np.ndarray) -> np.ndarray:
    """Return the means of scores (folds, …) over the folds; NaN where no fold has a finite one."""
    total, counts = np.nansum(scores, axis=0), np.isfinite(scores).sum(axis=0)
    return np.divide(total, counts, out=np.full(total.shape, np.nan), where=counts > 0)


def noise_of(scores: np.ndarray) -> float:
    """Return the standard deviation over the folds of the cells' distances from the best cell."""
    cells = scores.reshape(len(scores), -1)
    cells = cells[:, np.isfinite(cells).any(axis=0)]
    best = mean_scores(cells).argmax()
    cells = np.where(np.isfinite(cells), cells, np.nan)
    apart = cells - cells[:, [best]]
    n = np.isfinite(apart).sum(axis=0)
    apart, n = np.nan_to_num(apart[:, n > 1]), n[n > 1]
    squares = (apart**2).sum(axis=0) - apart.sum(axis=0) ** 2 / n
    return float(np.sqrt(np.mean(squares / (n - 1)))) if len(n) else 0.0
