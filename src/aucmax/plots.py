"""Displays of scores and models that follow scikit-learn's conventions.

Create a display with ``from_estimator`` or ``from_predictions``, which also draw it, and draw it
again with ``plot(ax=…)``. Displays show the figures of the pages of ``aucmax evaluate`` and ``cv``,
by the same code, on matplotlib's axes. Matplotlib is imported at the first drawing.
"""

from aucmax.report.displays import *  # noqa: F403
from aucmax.report.displays import __all__ as __all__
