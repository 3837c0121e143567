"""scikit-learn estimators: checks and bookkeeping; the maths is in `aucmax.solvers`."""

from typing import TYPE_CHECKING

from aucmax.basics.doors import names_later

if TYPE_CHECKING:
    from aucmax.estimators.additive import AdditiveAUCClassifier
    from aucmax.estimators.classifier import AUCClassifier
    from aucmax.estimators.hinge import HingeClassifier
    from aucmax.estimators.multiclass import MulticlassAUCClassifier
    from aucmax.estimators.ranker import AUCRanker
    from aucmax.estimators.search import AUCClassifierCV

__all__ = [
    "AUCClassifier",
    "AUCClassifierCV",
    "AUCRanker",
    "AdditiveAUCClassifier",
    "HingeClassifier",
    "MulticlassAUCClassifier",
]

__getattr__ = names_later(
    __name__,
    {
        "AUCClassifier": "classifier",
        "AUCClassifierCV": "search",
        "AUCRanker": "ranker",
        "AdditiveAUCClassifier": "additive",
        "HingeClassifier": "hinge",
        "MulticlassAUCClassifier": "multiclass",
    },
)
