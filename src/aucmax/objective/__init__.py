"""The objective J, and the losses, penalties and problems it is made of."""

from typing import TYPE_CHECKING

from aucmax.basics.doors import names_later

if TYPE_CHECKING:
    from aucmax.objective.objective import Objective, UnivariateObjective

__all__ = ["MAX_MATRIX_FEATURES", "Objective", "UnivariateObjective"]

MAX_MATRIX_FEATURES = 1500  # up to which a d×d factorisation is faster than iterating over rows

__getattr__ = names_later(
    __name__,
    {"Objective": "objective", "UnivariateObjective": "objective", "penalties": "penalties"},
)
