"""How well intervals of a cross-validated AUC cover, and how far estimates on few rows are off.

Normal data: the AUC that a model has on new rows is known.
"""

from collections.abc import Iterator

import numpy as np
from scipy.stats import norm
from sklearn.model_selection import RepeatedStratifiedKFold

from aucmax import AUCClassifier, metrics

ALPHA = 0.1


def drawn(n: int, positives: int, d: int, auc: float, seed: int) -> tuple[np.ndarray, ...]:
    """Return rows, labels and how far apart the classes' means are."""
    y = (np.arange(n) < positives).astype(int)
    apart = np.full(d, np.sqrt(2 / d) * norm.ppf(auc))
    return np.random.default_rng(seed).normal(size=(n, d)) + np.outer(y, apart), y, apart


def fitted(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    return AUCClassifier(ALPHA, standardize=0.0).fit(X, y).coef_[0]


def true_auc(w: np.ndarray, apart: np.ndarray) -> float:
    return float(norm.cdf(w @ apart / (np.sqrt(2) * np.linalg.norm(w))))


def folds(
    X: np.ndarray, y: np.ndarray, seed: int, repeats: int = 1
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield the held-out rows of each of five folds, and the coefficients without them."""
    five = RepeatedStratifiedKFold(n_splits=5, n_repeats=repeats, random_state=seed)
    for train, test in five.split(X, y):
        yield test, fitted(X[train], y[train])


def coverage(positives: int, negatives: int, auc: float, repeats: int = 1) -> str:
    """Return the share of 1000 intervals that hold what they are for, by either formula."""
    covered = np.zeros(2)
    for seed in range(1000):
        X, y, apart = drawn(positives + negatives, positives, 5, auc, seed)
        parts = list(folds(X, y, seed, repeats))
        rows = np.concatenate([test for test, _ in parts])
        scores = np.concatenate([X[test] @ w for test, w in parts])
        fold = np.repeat(range(len(parts)), [len(test) for test, _ in parts])
        truth = np.mean([true_auc(w, apart) for _, w in parts])
        intervals = [metrics.cv_auc_interval(y[rows], scores, fold, groups=rows)]
        if repeats == 1:
            args = (y[rows], scores, fold)
            intervals.append(metrics.cv_auc_interval(*args, small_sample=False))
        for k, one in enumerate(intervals):
            covered[k] += one.low <= truth <= one.high
    return " / ".join(f"{share:.2f}" for share in covered[: 1 + (repeats == 1)] / 1000)


def errors(n: int, positives: int, d: int, auc: float) -> str:
    """Return mean and standard deviation of 300 estimates less the true AUC of the model."""
    found: dict[str, list[float]] = {}
    for seed in range(300):
        X, y, apart = drawn(n, positives, d, auc, seed)
        alone = np.empty(n)
        for i in range(n):
            others = np.arange(n) != i
            alone[i] = X[i] @ fitted(X[others], y[others])
        estimates = {
            "5 folds": np.mean([metrics.roc_auc(y[k], X[k] @ w) for k, w in folds(X, y, seed)]),
            "5 folds, 10 times": np.mean(
                [metrics.roc_auc(y[k], X[k] @ w) for k, w in folds(X, y, seed, 10)]
            ),
            "leave-one-out": metrics.roc_auc(y, alone),
            "leave-pair-out": AUCClassifier(ALPHA, standardize=0.0).leave_pair_out_auc(X, y),
        }
        truth = true_auc(fitted(X, y), apart)
        for name, estimate in estimates.items():
            found.setdefault(name, []).append(float(estimate) - truth)
    return "   ".join(f"{name} {np.mean(e):+.3f} ± {np.std(e):.3f}" for name, e in found.items())


if __name__ == "__main__":
    print("coverage of 95 % intervals in 5 folds: corrected for small samples / the formula")
    for positives, negatives in ((10, 1000), (30, 1000), (100, 1000), (300, 3000)):
        shares = [coverage(positives, negatives, auc) for auc in (0.7, 0.9, 0.98)]
        print(f"{positives} positives: " + ", ".join(shares), flush=True)
    print(f"30 positives, 5 times 5 folds: {coverage(30, 1000, 0.9, repeats=5)}", flush=True)
    print("error of the estimate: mean ± standard deviation")
    for n, positives, d in ((30, 10, 5), (60, 15, 10), (100, 10, 5)):
        print(f"{n} rows, {positives} positives: {errors(n, positives, d, 0.8)}", flush=True)
