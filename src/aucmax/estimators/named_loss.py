"""A loss by its name in the settings of an estimator, its objective, and its intercept."""

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from aucmax.basics.checks import number
from aucmax.objective import Objective, UnivariateObjective
from aucmax.objective.losses import (
    LOSSES,
    UNIVARIATE_LOSSES,
    AtThreshold,
    ConditionalLogistic,
    Logistic,
    RankingLoss,
)
from aucmax.objective.objective import ConditionalObjective
from aucmax.objective.penalties import Penalty
from aucmax.objective.problem import Problem
from aucmax.objective.scaling import midpoint_intercept
from aucmax.objective.within_strata import ProblemWithinStrata

__all__ = ["Goal", "HingeLoss", "NamedLoss", "check_likelihood", "check_within"]


class NamedLoss(NamedTuple):
    """The name of a loss in `LOSSES`, and τ: a number, or "pooled" for the positives' share."""

    loss: str
    within: float | str = 0.5

    def __str__(self) -> str:
        return self.loss if self.within == 0.5 else f"{self.loss}, within {self.within}"

    def check(self) -> None:
        """Raise ValueError if there is no such loss."""
        if not isinstance(self.loss, str) or self.loss not in LOSSES:
            names = ", ".join(map(repr, LOSSES))
            raise ValueError(f"loss must be one of {names}; got {self.loss!r}.")
        check_within(self.within, "within")
        if not LOSSES[self.loss].weighs and self.within != 0.5:
            weighing = [repr(name) for name, loss in LOSSES.items() if loss.weighs]
            raise ValueError(
                f"within={self.within!r} is for loss={' or '.join(weighing)}; leave it at 0.5 "
                f"with loss={self.loss!r}."
            )

    def on(self, problem: Problem) -> RankingLoss:
        """Return the loss; the problem's classes determine "pooled".

        Raise ValueError if τ leaves out a class that the loss needs.
        """
        if problem.within_strata and self.within != 0.5:
            raise ValueError(
                f"within={self.within!r} is for rows that are all compared; with strata use "
                "within=0.5."
            )
        within: Any = problem.p if self.within == "pooled" else self.within
        loss = LOSSES[self.loss]
        if not (loss.takes_within(within) or np.isnan(within)):  # NaN: no data yet
            raise ValueError(
                f"within={self.within!r} leaves out a class, but loss={self.loss!r} needs both; "
                "give a number between 0 and 1."
            )
        return loss if within == 0.5 else loss.weighing(within)

    @property
    def by_moments(self) -> bool:
        """Whether the loss needs only class moments."""
        return LOSSES[self.loss].by_moments

    @property
    def by_sums(self) -> bool:
        """Whether sums over single rows suffice to evaluate the loss at given coefficients."""
        return self.by_moments or isinstance(LOSSES[self.loss], Logistic)

    def objective(self, problem: Problem, penalty: Penalty) -> Objective:
        """Return the objective on a problem; within strata the logistic loss is conditional."""
        loss = self.on(problem)
        if isinstance(problem, ProblemWithinStrata) and isinstance(loss, Logistic):
            problem.check_likelihood()
            return ConditionalObjective(problem, ConditionalLogistic(), penalty)
        return Objective(problem, loss, penalty)

    def intercept(self, objective: Objective, w: np.ndarray, coef: np.ndarray) -> float:
        """Return the loss's own intercept for a solution w, or `midpoint` if it has none."""
        if LOSSES[self.loss].has_threshold:
            at_w = objective.at(objective.problem.scores(w))
            if isinstance(at_w, AtThreshold):
                return at_w.intercept
        return self.midpoint(coef, objective.problem.raw_means())

    def midpoint(self, coef: np.ndarray, means: tuple[np.ndarray, np.ndarray]) -> float:
        """Return the intercept that puts 0 midway between the projected class means (μ₊, μ₋)."""
        return midpoint_intercept(coef, *means)


class HingeLoss:
    """The hinge loss of single rows, without an intercept."""

    by_moments = by_sums = False

    def objective(self, problem: Problem, penalty: Penalty) -> Objective:
        """Return the objective on a problem."""
        return UnivariateObjective(problem, UNIVARIATE_LOSSES["hinge"], penalty)

    def intercept(self, *_: object) -> float:
        """Return 0."""
        return 0.0

    midpoint = intercept


Goal = NamedLoss | HingeLoss


def check_within(value: Any, name: str) -> None:
    """Raise ValueError, with the given name, unless the value is a τ."""
    if not (isinstance(value, str) and value == "pooled"):
        number(value, f"{name}, unless it is 'pooled',", high=1.0)


def check_likelihood(problem: Problem, losses: Iterable[str]) -> None:
    """Raise ValueError if one of the losses is a likelihood that the strata's weights rule out."""
    if isinstance(problem, ProblemWithinStrata) and any(
        isinstance(LOSSES[loss], Logistic) for loss in losses
    ):
        problem.check_likelihood()
