"""scikit-learn estimators: checks and bookkeeping; the maths is in `aucmax.solvers`."""

from aucmax.estimators.classifier import AUCClassifier

__all__ = ["AUCClassifier"]
