"""aucmax: linear models that rank.

Scorers trained for the area under the ROC curve (AUC): exact, streaming and mergeable, with
the published stochastic learners. Start with `AUCClassifier`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from aucmax import additive, datasets, metrics, plots, solvers, theory
    from aucmax.data.rows.source import Source
    from aucmax.estimators import (
        AdditiveAUCClassifier,
        AUCClassifier,
        AUCClassifierCV,
        AUCRanker,
        HingeClassifier,
        MulticlassAUCClassifier,
    )
    from aucmax.estimators.files import load, save
    from aucmax.explain import effects, odds_ratios, reasons
    from aucmax.export import to_onnx, to_sql
    from aucmax.objective import penalties
    from aucmax.statistics.moments import ClassMoments
    from aucmax.statistics.score_sketch import ScoreSketch

    __version__: str

__all__ = [
    "AUCClassifier",
    "AUCClassifierCV",
    "AUCRanker",
    "AdditiveAUCClassifier",
    "ClassMoments",
    "HingeClassifier",
    "MulticlassAUCClassifier",
    "ScoreSketch",
    "Source",
    "additive",
    "datasets",
    "effects",
    "load",
    "metrics",
    "odds_ratios",
    "penalties",
    "plots",
    "reasons",
    "save",
    "solvers",
    "theory",
    "to_onnx",
    "to_sql",
]

# modules of the public names, imported at the first access
_WHERE = {
    "AdditiveAUCClassifier": "aucmax.estimators",
    "AUCClassifier": "aucmax.estimators",
    "AUCClassifierCV": "aucmax.estimators",
    "AUCRanker": "aucmax.estimators",
    "ClassMoments": "aucmax.statistics.moments",
    "HingeClassifier": "aucmax.estimators",
    "MulticlassAUCClassifier": "aucmax.estimators",
    "effects": "aucmax.explain",
    "odds_ratios": "aucmax.explain",
    "reasons": "aucmax.explain",
    "ScoreSketch": "aucmax.statistics.score_sketch",
    "Source": "aucmax.data.rows.source",
    "load": "aucmax.estimators.files",
    "penalties": "aucmax.objective",
    "save": "aucmax.estimators.files",
    "to_onnx": "aucmax.export",
    "to_sql": "aucmax.export",
}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        value: Any = import_module("aucmax.basics.version").package_version()
    elif name in _WHERE:
        value = getattr(import_module(_WHERE[name]), name)
    elif name in __all__ or name in ("distributed", "river"):  # which need an extra
        value = import_module(f"aucmax.{name}")
    else:
        raise AttributeError(f"module 'aucmax' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    own = {name for name in globals() if name.startswith("__")}
    return sorted({*own, *__all__, "__version__"})
