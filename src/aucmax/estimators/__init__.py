"""scikit-learn estimators: checks and bookkeeping; the maths is in `aucmax.solvers`."""

from aucmax.estimators.classifier import AUCClassifier
from aucmax.estimators.hinge import HingeClassifier
from aucmax.estimators.multiclass import MulticlassAUCClassifier
from aucmax.estimators.search import AUCClassifierCV

__all__ = [
    "AUCClassifier",
    "AUCClassifierCV",
    "HingeClassifier",
    "MulticlassAUCClassifier",
]
