"""What AUCClassifierCV tries, and what it chooses: a grid of cells, and a walk on it.

With α of its own the search begins with one loss around the usual α, goes on to the α beside the
best, and tries the other losses there: docs/choosing.md has the evidence.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from aucmax.estimators.named_loss import NamedLoss
from aucmax.estimators.scoring import Scoring
from aucmax.objective import Objective
from aucmax.objective.losses import LOSSES
from aucmax.objective.penalties import Bounded, ElasticNet, Penalty
from aucmax.objective.problem import ANY_ROWS, Problem
from aucmax.solvers.auto import pick

__all__ = [
    "Grid",
    "alpha_grid",
    "best_cell",
    "penalty_of",
    "takes",
    "usual_alpha",
    "within_of",
]

_LEAN = 0.1  # standard deviations of a fold, for a decade away from the usual α
_FIRST = 2  # α to each side of the usual one that a walk begins with


class Grid(NamedTuple):
    """The cells: ``alphas`` (n_standardize, n_alphas) ascending, one row for each γ.

    The square and the logistic loss are there with each of their τ. ``coef_bounds`` (d, 2) go with
    every cell, for the features as given. ``usual`` (n_losses, n_standardize) is the α that each
    would start from, see `usual_alpha`; None where the α are the user's.
    """

    losses: tuple[NamedLoss, ...]
    standardize: tuple[float, ...]
    l1_ratios: tuple[float, ...]
    alphas: np.ndarray
    coef_bounds: np.ndarray | None = None
    usual: np.ndarray | None = None

    def name(self, line: tuple[int, ...]) -> str:
        """Return what messages call a line of α: (loss, standardize, l1_ratio)."""
        a, b, _ = line
        return f"{self.losses[a]}, standardize {self.standardize[b]:g}"

    def first(self) -> np.ndarray:
        """Return the cells to begin with, a mask: all where the α are the user's.

        Else those of the first loss with the usual α or near it, whatever their other settings.
        """
        if self.decades is None:
            return np.ones(self.shape, dtype=bool)
        usual = np.abs(self.decades).argmin(axis=-1)[..., None]
        near = np.abs(np.arange(self.shape[-1]) - usual) <= _FIRST
        first = np.array([named.loss == self.losses[0].loss for named in self.losses])
        return np.broadcast_to(near & first[:, None, None, None], self.shape)

    def following(self, best: tuple[int, ...] | None, tried: np.ndarray) -> np.ndarray:
        """Return the cells to try next, a mask: those with the α beside that of the best cell.

        Where these were tried, each loss that was not, with the settings of the best cell; its α is
        in proportion to how much it bends at w = 0. If there are none, the walk ends.

        Parameters
        ----------
        best : tuple of int, optional
            The place of the best cell; None where no cell has a score, and all others are next.
        tried : ndarray of bool, shape ``shape``
        """
        if best is None:
            return ~tried
        a, b, c, k = best
        cells = np.zeros(self.shape, dtype=bool)
        cells[a, b, c, max(k - 1, 0) : k + 2] = True
        cells &= ~tried
        if not cells.any():
            bends = np.array([LOSSES[named.loss].bends_at_zero.within for named in self.losses])
            alike = self.alphas[b, k] * bends / bends[a]
            nearest = np.abs(np.log(self.alphas[b] / alike[:, None])).argmin(axis=-1)
            new = np.flatnonzero(~tried.any(axis=(1, 2, 3)))
            cells[new, b, c, nearest[new]] = True
        return cells

    @property
    def decades(self) -> np.ndarray | None:
        """How far each α is from the usual one, (losses, standardize, 1, alphas)."""
        if self.usual is None:
            return None
        return np.log10(self.alphas / self.usual[..., None])[:, :, None]

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """(losses, standardize, l1_ratios, alphas)."""
        return (
            len(self.losses),
            len(self.standardize),
            len(self.l1_ratios),
            self.alphas.shape[1],
        )


def penalty_of(alpha: float, l1_ratio: float, coef_bounds: Any) -> Penalty:
    """Return an elastic net, on a box where there is one."""
    net = ElasticNet(alpha, l1_ratio)
    return net if coef_bounds is None else Bounded(net, coef_bounds)


def takes(loss: str, penalty: Penalty) -> bool:
    """Tell whether a batch solver minimises this loss with this penalty."""
    return pick(Objective(ANY_ROWS, LOSSES[loss], penalty)) is not None


def within_of(scoring: Scoring) -> tuple[float | str, ...]:
    """Return the τ to try with the square and the logistic loss.

    ½ aims at the whole AUC, less at low false-positive rates. For the AUC it is a rule: however few
    the positives, no other τ and no choice among them did reliably better (docs/choosing.md).
    """
    return ("pooled", 0.05, 0.2, 0.5) if scoring.top else (0.5,)


def alpha_grid(problem: Problem, gamma: float) -> np.ndarray:
    """Return the automatic α for a `standardize`: half-decades below `_unit`, ascending.

    Down to a hundredth of the usual α or 10⁻⁶.
    """
    rarer = min(problem.n_pos, problem.n_neg)
    lowest = max(math.log10(LOSSES["squared_hinge"].usual_alpha / rarer) - 2.0, -6.0)
    return _unit(problem, gamma) * 10.0 ** (0.5 * np.arange(math.floor(2.0 * lowest), 0))


def usual_alpha(problem: Problem, gamma: float, loss: str) -> float:
    """Return the α that is about right on most data: one over the rows of the rarer class."""
    return _unit(problem, gamma) * LOSSES[loss].usual_alpha / min(problem.n_pos, problem.n_neg)


def _unit(problem: Problem, gamma: float) -> float:
    """Half the mean squared distance of two rows in the scaled coordinates.

    1 for ``gamma > 0`` and, nearly, for unit-norm rows. As given, the rows are a positive and a
    negative, so that nothing depends on the class weights.
    """
    distance = 2.0 if gamma > 0.0 else float(problem.curvature.sum())
    return distance / 2.0 if distance > 0 else 1.0


def best_cell(scores: np.ndarray, decades: np.ndarray | None = None) -> tuple[int, ...] | None:
    """Return the place of the cell to choose, given held-out scores; None if all are NaN.

    Parameters
    ----------
    scores : ndarray, shape (folds, …, n_alphas)
        α ascending along the last axis.
    decades : ndarray, shape (…, n_alphas), optional
        How far each α is from the usual one. A cell then has to make good 0.1·decades² times the
        noise, the standard deviation of a fold's differences between cells: where the folds tell
        cells apart this is nothing, and where they do not, the α near the usual one are better.

    Notes
    -----
    Among equals the strongest penalty. docs/choosing.md has the evidence.
    """
    counts = np.isfinite(scores).sum(axis=0)
    if not counts.any():
        return None
    total = np.nansum(scores, axis=0)
    compared = np.divide(total, counts, out=np.full(total.shape, np.nan), where=counts > 0)
    if decades is not None:
        compared = compared - _LEAN * _noise(scores, int(np.nanargmax(compared))) * decades**2
    equal = np.argwhere(compared == np.nanmax(compared))
    return tuple(equal[np.argmax(equal[:, -1])].tolist())


def _noise(scores: np.ndarray, best: int) -> float:
    """Return the standard deviation over the folds of how far cells are from the best."""
    cells = np.where(np.isfinite(scores), scores, np.nan).reshape(len(scores), -1)
    apart = cells - cells[:, [best]]
    apart = apart[:, np.isfinite(apart).sum(axis=0) > 1]
    return float(np.sqrt(np.nanvar(apart, axis=0, ddof=1).mean())) if apart.size else 0.0
