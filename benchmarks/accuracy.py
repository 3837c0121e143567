"""The learners of the hinge loss on a9a, compared with scikit-learn's.

Raw 0/1 features, trained on the training split and tested on the test split. SADMM, RDA and COMID
take one pass with an l1 penalty (λ = 1e-4), Pegasos one pass with l2 (its λ = 2e-3, λ‖w‖² of 1e-3);
means of the iterates, and the last ones of the same runs. Steps are tuned on a held-out fifth of
the training rows. Seconds are those of the fit alone, with kernels compiled.
"""

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import SGDClassifier
from sklearn.svm import LinearSVC

from aucmax import HingeClassifier, datasets, metrics
from aucmax.solvers import COMID, RDA, SADMM, Pegasos
from benchmarks.common.engine import seconds
from benchmarks.common.tables import show

# name -> (alpha, l1_ratio, class, the setting to tune, its grid)
LEARNERS: dict[str, tuple[float, float, Any, str, tuple[float, ...]]] = {
    "SADMM": (1e-4, 1.0, SADMM, "rho", (0.3, 1.0, 3.0, 10.0, 30.0, 100.0)),
    "RDA": (1e-4, 1.0, RDA, "gamma", (0.1, 0.3, 1.0, 3.0, 10.0)),
    "COMID": (1e-4, 1.0, COMID, "step_size", (0.03, 0.1, 0.3, 1.0, 3.0)),
    "Pegasos": (2e-3, 0.0, Pegasos, "t0", (0.0,)),
}


def tuned(name: str, X: Any, y: np.ndarray, average: bool) -> HingeClassifier:
    """Return the estimator with the setting of least error on every fifth row."""
    alpha, l1_ratio, kind, setting, grid = LEARNERS[name]
    held = np.arange(len(y)) % 5 == 0
    solvers = [kind(n_epochs=1, average=average, **{setting: value}) for value in grid]
    models = [HingeClassifier(alpha, l1_ratio, solver=s, random_state=0) for s in solvers]
    errors = [np.mean(m.fit(X[~held], y[~held]).predict(X[held]) != y[held]) for m in models]
    return models[int(np.argmin(errors))]


def models(X: Any, y: np.ndarray) -> Iterator[tuple[str, str, Any]]:
    """Yield (name, setting, estimator)."""
    for average in (True, False):
        for name, (_, _, _, setting, _) in LEARNERS.items():
            model = tuned(name, X, y, average)
            value = getattr(model.solver, setting)
            yield f"{name}, {'mean' if average else 'last'}", f"{setting} {value:g}", model
    for name, (alpha, l1_ratio, kind, _, _) in LEARNERS.items():
        model = HingeClassifier(alpha, l1_ratio, solver=kind(), random_state=0)
        yield f"{name}, default settings", "15 epochs, auto", model
    svm = LinearSVC(
        C=1 / (2e-3 * len(y)), loss="hinge", fit_intercept=False, random_state=0, max_iter=10**5
    )
    yield "LinearSVC, no bias", "l2 2e-3", svm
    for penalty, alpha in (("l1", 1e-4), ("l2", 2e-3)):
        for passes in (1, 15):
            sgd = SGDClassifier(penalty=penalty, alpha=alpha, average=penalty == "l2", tol=None,
                                max_iter=passes, random_state=0, fit_intercept=False)  # fmt: skip
            yield f"SGDClassifier, {passes} passes", f"{penalty} {alpha:g}", sgd


def main() -> None:
    warnings.simplefilter("ignore", ConvergenceWarning)
    train, test = (datasets.load("a9a", split=part) for part in ("train", "test"))
    n, d = train.data.shape

    def row(name: str, setting: str, model: Any) -> list[Any]:
        time = seconds(lambda: model.fit(train.data, train.target), 3)
        error = np.mean(model.predict(test.data) != test.target)
        auc = metrics.roc_auc(test.target, model.decision_function(test.data))
        nonzero = np.count_nonzero(model.coef_)
        return [name, setting, f"{error:.4f}", f"{auc:.4f}", nonzero, f"{time:.3f}"]

    head = [f"a9a, {n} rows, {d} features", "setting", "test error", "test AUC", "non-zeros",
            "seconds"]  # fmt: skip
    show(head, (row(*each) for each in models(train.data, train.target)))
