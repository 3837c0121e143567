"""A loss as the settings name it: ``loss``, and with two of them ``within``."""

from typing import Any, NamedTuple

import numpy as np

from aucmax.basics.checks import number
from aucmax.objective.losses import LOSSES, WEIGHED, RankingLoss
from aucmax.objective.problem import Problem

__all__ = ["NamedLoss", "check_within"]


class NamedLoss(NamedTuple):
    """A name in `LOSSES`, and τ: a number, or "pooled" for the positives' share."""

    loss: str
    within: float | str = 0.5

    def __str__(self) -> str:
        return self.loss if self.within == 0.5 else f"{self.loss}, within {self.within}"

    def check(self) -> None:
        """Raise ValueError unless there is such a loss."""
        if not isinstance(self.loss, str) or self.loss not in LOSSES:
            names = ", ".join(map(repr, LOSSES))
            raise ValueError(f"loss must be one of {names}; got {self.loss!r}.")
        check_within(self.within, "within")
        if self.loss not in WEIGHED and self.within != 0.5:
            raise ValueError(
                f"within={self.within!r} is for loss={' or '.join(map(repr, WEIGHED))}; leave it "
                f"at 0.5 with loss={self.loss!r}."
            )

    def on(self, problem: Problem) -> RankingLoss:
        """Return the loss; the problem's classes say what "pooled" is.

        Raises ValueError where the logistic loss would be left with one class.
        """
        within: Any = problem.p if self.within == "pooled" else self.within
        lost = within < np.finfo(float).tiny or within >= 1.0  # not NaN, of data that are not there
        if self.loss == "logistic" and lost:
            raise ValueError(
                f"within={self.within!r} leaves out a class, which loss='logistic' cannot do "
                "without; name a number between 0 and 1."
            )
        return LOSSES[self.loss] if within == 0.5 else WEIGHED[self.loss](within)


def check_within(value: Any, name: str) -> None:
    """Raise ValueError, naming it, unless the value is a τ."""
    if not (isinstance(value, str) and value == "pooled"):
        number(value, f"{name}, unless it is 'pooled',", high=1.0)
