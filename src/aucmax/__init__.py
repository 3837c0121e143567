"""aucmax: linear models that rank.

Scorers trained for the area under the ROC curve (AUC): exact, streaming and mergeable, beside
the published stochastic learners. Start with `AUCClassifier`.
"""

from importlib.metadata import PackageNotFoundError, version

from aucmax import datasets, metrics, solvers, theory
from aucmax.estimators import AUCClassifier, AUCClassifierCV, HingeClassifier
from aucmax.files import load, save
from aucmax.objective import penalties
from aucmax.statistics.moments import ClassMoments

try:
    __version__ = version("aucmax")
except PackageNotFoundError:  # running from a source tree that is not installed
    __version__ = "0+unknown"

__all__ = [
    "AUCClassifier",
    "AUCClassifierCV",
    "ClassMoments",
    "HingeClassifier",
    "datasets",
    "load",
    "metrics",
    "penalties",
    "save",
    "solvers",
    "theory",
]
