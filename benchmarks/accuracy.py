"""The learners of the hinge loss on a9a beside scikit-learn's, as a Markdown table.

Raw 0/1 features, trained on the training split and tested on the test split. SADMM, RDA and COMID
take one pass with an l1 penalty (λ = 1e-4), Pegasos one pass with l2 (its λ = 2e-3, λ‖w‖² of 1e-3);
means of the iterates, and the last ones of the same runs. Steps are tuned on a held-out fifth of
the training rows. Seconds are those of the fit alone, kernels warm.

    python benchmarks/accuracy.py
"""

import warnings
from typing import Any

import numpy as np
from _bench import seconds
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import SGDClassifier
from sklearn.svm import LinearSVC

from aucmax import HingeClassifier, datasets, metrics
from aucmax.solvers import COMID, RDA, SADMM, Pegasos

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
    models = [
        HingeClassifier(
            alpha,
            l1_ratio,
            solver=kind(n_epochs=1, average=average, **{setting: value}),
            random_state=0,
        )
        for value in grid
    ]
    errors = [np.mean(m.fit(X[~held], y[~held]).predict(X[held]) != y[held]) for m in models]
    return models[int(np.argmin(errors))]


def row(name: str, setting: str, model: Any, train: Any, test: Any) -> str:
    """Return one line of the table."""
    time = seconds(lambda: model.fit(train.data, train.target), repeats=3)
    error = np.mean(model.predict(test.data) != test.target)
    auc = metrics.roc_auc(test.target, model.decision_function(test.data))
    nonzero = int(np.count_nonzero(model.coef_))
    return f"| {name} | {setting} | {error:.4f} | {auc:.4f} | {nonzero} | {time:.3f} |"


def main() -> None:
    """Print the table."""
    warnings.simplefilter("ignore", ConvergenceWarning)
    train, test = (datasets.load("a9a", split=part) for part in ("train", "test"))
    n, d = train.data.shape
    print(
        f"| a9a, {n} rows, {d} features | setting | test error | test AUC | non-zeros | seconds |"
    )
    print("|---|---|---|---|---|---|")
    for average in (True, False):
        for name, (_, _, _, setting, _) in LEARNERS.items():
            model = tuned(name, train.data, train.target, average)
            what = f"{name}, {'mean' if average else 'last'}"
            value = getattr(model.solver, setting)
            print(row(what, f"{setting} {value:g}", model, train, test))
    for name in LEARNERS:
        alpha, l1_ratio, kind, setting, _ = LEARNERS[name]
        model = HingeClassifier(alpha, l1_ratio, solver=kind(), random_state=0)
        print(row(f"{name}, as it comes", "15 epochs, auto", model, train, test))
    svm = LinearSVC(C=1 / (2e-3 * n), loss="hinge", fit_intercept=False, random_state=0)
    print(row("LinearSVC, no bias", "l2 2e-3", svm.set_params(max_iter=10**5), train, test))
    for penalty, alpha in (("l1", 1e-4), ("l2", 2e-3)):
        sgd = SGDClassifier(penalty=penalty, alpha=alpha, average=penalty == "l2", tol=None)
        sgd.set_params(random_state=0, fit_intercept=False)
        for passes in (1, 15):
            sgd.set_params(max_iter=passes)
            print(row(f"SGDClassifier, {passes} passes", f"{penalty} {alpha:g}", sgd, train, test))


if __name__ == "__main__":
    main()
