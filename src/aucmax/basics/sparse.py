"""SciPy's sparse arrays, imported at the first use, as what is refused seldom has any."""

from typing import TYPE_CHECKING

from aucmax.basics.doors import Door

__all__ = ["sp"]

if TYPE_CHECKING:
    import scipy.sparse as sp
else:
    sp = Door("scipy.sparse")
