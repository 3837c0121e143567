"""SciPy's sparse arrays, imported at the first use, so that errors appear without delay."""

from typing import TYPE_CHECKING

from aucmax.basics.doors import Door

__all__ = ["sp"]

if TYPE_CHECKING:
    import scipy.sparse as sp
else:
    sp = Door("scipy.sparse")
