from aucmax.solvers.theory import *  # noqa: F403
from aucmax.solvers.theory import __all__ as __all__
from aucmax.solvers.theory import __doc__ as __doc__
