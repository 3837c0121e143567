"""The objective J, and the losses, penalties and problems of which it is made."""

from aucmax.objective.objective import Objective, UnivariateObjective

__all__ = ["Objective", "UnivariateObjective"]
