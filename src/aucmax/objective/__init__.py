"""The objective J, and the losses, penalties and problems of which it is made."""

from typing import TYPE_CHECKING

from aucmax.basics.doors import names_later

if TYPE_CHECKING:
    from aucmax.objective.objective import Objective, UnivariateObjective

__all__ = ["MAX_MATRIX_FEATURES", "Objective", "UnivariateObjective"]

MAX_MATRIX_FEATURES = 1500  # one d×d factorisation is then faster than iterating over the rows

__getattr__ = names_later(
    __name__,
    {"Objective": "objective", "UnivariateObjective": "objective", "penalties": "penalties"},
)
