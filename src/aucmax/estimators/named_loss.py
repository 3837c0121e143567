"""A loss as the settings name it: ``loss``, and with two of them ``within``."""

from typing import Any, NamedTuple

import numpy as np

from aucmax.basics.checks import number
from aucmax.objective.losses import LOSSES, RankingLoss
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
        if not LOSSES[self.loss].weighs and self.within != 0.5:
            weighing = [repr(name) for name, loss in LOSSES.items() if loss.weighs]
            raise ValueError(
                f"within={self.within!r} is for loss={' or '.join(weighing)}; leave it at 0.5 "
                f"with loss={self.loss!r}."
            )

    def on(self, problem: Problem) -> RankingLoss:
        """Return the loss; the problem's classes say what "pooled" is.

        Raises ValueError where a loss that needs both classes would be left with one.
        """
        within: Any = problem.p if self.within == "pooled" else self.within
        loss = LOSSES[self.loss]
        if not (loss.takes_within(within) or np.isnan(within)):  # NaN: data that are not there
            raise ValueError(
                f"within={self.within!r} leaves out a class, which loss={self.loss!r} cannot do "
                "without; name a number between 0 and 1."
            )
        return loss if within == 0.5 else loss.weighing(within)


def check_within(value: Any, name: str) -> None:
    """Raise ValueError, naming it, unless the value is a τ."""
    if not (isinstance(value, str) and value == "pooled"):
        number(value, f"{name}, unless it is 'pooled',", high=1.0)
