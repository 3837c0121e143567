"""Models that bend: ours, explainable boosting, boosted trees, forests and kernels.

Each makes an estimator with one thread for rows X. Default settings, unless the name says that 20
random ones were tried by five-fold AUC.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.stats import loguniform, randint, uniform
from sklearn.ensemble import RandomForestClassifier
from sklearn.kernel_approximation import Nystroem
from sklearn.model_selection import RandomizedSearchCV, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from aucmax import AdditiveAUCClassifier, AUCClassifierCV

__all__ = ["LANDMARKS", "NONLINEAR", "PACKAGES", "WIDEST", "scores"]

LANDMARKS = 600  # rows that a kernel compares others with, whatever their labels
SETTINGS = 20
WIDEST = 500  # columns
LIGHTGBM = {
    "n_estimators": randint(20, 500), "learning_rate": loguniform(0.01, 0.3),
    "num_leaves": randint(4, 64), "min_child_samples": randint(5, 60),
    "colsample_bytree": uniform(0.3, 0.7), "reg_lambda": loguniform(1e-3, 30.0),
}  # fmt: skip
XGBOOST = {
    "n_estimators": randint(20, 500), "learning_rate": loguniform(0.01, 0.3),
    "max_depth": randint(2, 9), "min_child_weight": loguniform(0.5, 20.0),
    "colsample_bytree": uniform(0.3, 0.7), "reg_lambda": loguniform(1e-3, 30.0),
}  # fmt: skip


def kernel(X: Any) -> Any:
    """Return our tuned line on the kernel values of rows and landmarks."""
    landmarks = Nystroem(gamma=0.5 / X.shape[1], n_components=min(LANDMARKS, len(X) // 2),
                         random_state=0)  # fmt: skip
    return make_pipeline(StandardScaler(), landmarks, AUCClassifierCV())


def explainable(X: Any, **settings: Any) -> Any:
    """Return an explainable boosting machine."""
    from interpret.glassbox import ExplainableBoostingClassifier

    return ExplainableBoostingClassifier(n_jobs=1, random_state=0, **settings)


def light(X: Any) -> Any:
    """Return LightGBM."""
    from lightgbm import LGBMClassifier

    return LGBMClassifier(n_jobs=1, random_state=0, verbose=-1)


def extreme(X: Any) -> Any:
    """Return XGBoost."""
    from xgboost import XGBClassifier

    return XGBClassifier(n_jobs=1, random_state=0)


def cat(X: Any) -> Any:
    """Return CatBoost."""
    from catboost import CatBoostClassifier

    return CatBoostClassifier(thread_count=1, random_state=0, verbose=0, allow_writing_files=False)


def tuned(make: Callable[[Any], Any], settings: dict[str, Any]) -> Callable[[Any], Any]:
    """Return what makes the best of some random settings."""
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    return lambda X: RandomizedSearchCV(
        make(X), settings, n_iter=SETTINGS, scoring="roc_auc", cv=folds, random_state=0
    )


NONLINEAR: dict[str, Callable[[Any], Any]] = {
    "aucmax, curves": lambda X: AdditiveAUCClassifier(0),
    "aucmax, curves and pairs": lambda X: AdditiveAUCClassifier(),
    f"aucmax, {LANDMARKS} landmarks": kernel,
    "EBM, no pairs": lambda X: explainable(X, interactions=0),
    "EBM": explainable,
    "LightGBM, default": light,
    "LightGBM, best of 20": tuned(light, LIGHTGBM),
    "XGBoost, default": extreme,
    "XGBoost, best of 20": tuned(extreme, XGBOOST),
    "CatBoost": cat,
    "random forest": lambda X: RandomForestClassifier(n_jobs=1, random_state=0),
}
PACKAGES = {
    "EBM": "interpret", "LightGBM": "lightgbm", "XGBoost": "xgboost", "CatBoost": "catboost",
    "aucmax": "aucmax",
}  # fmt: skip


def scores(model: Any, X: np.ndarray) -> np.ndarray:
    """Return the scores of rows, whatever a model calls them."""
    if hasattr(model, "decision_function"):
        return np.asarray(model.decision_function(X))
    return np.asarray(model.predict_proba(X)[:, 1])
