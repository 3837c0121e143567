"""What is minimised: losses, penalties and problems, and J made of them."""

from aucmax.objective.objective import Objective, UnivariateObjective

__all__ = ["Objective", "UnivariateObjective"]
