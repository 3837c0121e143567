"""How well intervals of a cross-validated AUC cover, and how far estimates on few rows are off.

Normal data: the AUC that a model has on new rows is known.
"""

from collections.abc import Iterable, Iterator

import numpy as np
from scipy.stats import norm
from sklearn.model_selection import RepeatedStratifiedKFold

from aucmax import AUCClassifier, metrics

ALPHA = 0.1
SAMPLES = 2000
AREAS = (0.7, 0.8, 0.9, 0.95, 0.98)


def drawn(n: int, positives: int, d: int, auc: float, seed: int) -> tuple[np.ndarray, ...]:
    """Return rows, labels and how far apart the classes' means are."""
    y = (np.arange(n) < positives).astype(int)
    apart = np.full(d, np.sqrt(2 / d) * norm.ppf(auc))
    return np.random.default_rng(seed).normal(size=(n, d)) + np.outer(y, apart), y, apart


def fitted(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    return AUCClassifier(ALPHA, standardize=0.0).fit(X, y).coef_[0]


def solved(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the same coefficients in less time, but for a factor."""
    neg, pos = X[y == 0], X[y == 1]
    spread = np.cov(pos.T, bias=True) + np.cov(neg.T, bias=True) + ALPHA * np.eye(X.shape[1])
    return np.linalg.solve(spread, pos.mean(axis=0) - neg.mean(axis=0))


def true_auc(w: np.ndarray, apart: np.ndarray) -> float:
    return float(norm.cdf(w @ apart / (np.sqrt(2) * np.linalg.norm(w))))


def folds(
    X: np.ndarray, y: np.ndarray, seed: int, repeats: int = 1, n_folds: int = 5
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield the held-out rows of each fold, and the coefficients without them."""
    rounds = RepeatedStratifiedKFold(n_splits=n_folds, n_repeats=repeats, random_state=seed)
    for train, test in rounds.split(X, y):
        yield test, solved(X[train], y[train])


def coverage(
    rounds: int, positives: int, negatives: int, d: int, auc: float
) -> tuple[float, float, float]:
    """Return the coverage of 95 % intervals, the variance told by the true one, and the formula's.

    Of `rounds` of five folds; the coverage is of the mean AUC that the folds' models have.
    """
    covered, off, told = np.zeros(2), [], []
    for seed in range(SAMPLES):
        X, y, apart = drawn(positives + negatives, positives, d, auc, seed)
        parts = list(folds(X, y, seed, rounds))
        rows = np.concatenate([test for test, _ in parts])
        scores = np.concatenate([X[test] @ w for test, w in parts])
        fold = np.repeat(range(len(parts)), [len(test) for test, _ in parts])
        truth = np.mean([true_auc(w, apart) for _, w in parts])
        args = (y[rows], scores, fold)
        found = metrics.cv_auc_interval(*args, groups=rows)
        formula = metrics.cv_auc_interval(*args, small_sample=False)
        covered += [one.low <= truth <= one.high for one in (found, formula)]
        off.append(found.auc - truth)
        told.append(found.std_error**2)
    ours, plain = covered / SAMPLES
    return ours, np.mean(told) / np.var(off), plain


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


def print_coverage(rounds: int, positives: int, negatives: int, dimensions: Iterable[int]) -> None:
    """Print rows of the table, and the range of the formula's coverage in them."""
    of_formula = []
    for d in dimensions:
        cells = [coverage(rounds, positives, negatives, d, auc) for auc in AREAS]
        of_formula += [plain for _, _, plain in cells]
        text = " | ".join(f"{ours:.3f} ({told:.2f})".lstrip("0") for ours, told, _ in cells)
        print(f"| {rounds} | {positives} | {negatives} | {d} | {text} |", flush=True)
    print(f"formula: {min(of_formula):.3f} to {max(of_formula):.3f}", flush=True)


if __name__ == "__main__":
    print("coverage of 95 % intervals, in brackets the variance told by the true one")
    print("rounds, positives, negatives, features, and the largest AUC of a linear scorer:", *AREAS)
    for positives in (20, 30, 50, 100):
        print_coverage(4, positives, 10 * positives, (2, 5, 10))
    for positives in (20, 50):
        print_coverage(1, positives, 10 * positives, (2, 5, 10))
    for positives, negatives in ((20, 20), (50, 50), (10, 100)):
        print_coverage(4, positives, negatives, (5,))
    print("error of the estimate: mean ± standard deviation")
    for n, positives, d in ((30, 10, 5), (60, 15, 10), (100, 10, 5)):
        print(f"{n} rows, {positives} positives: {errors(n, positives, d, 0.8)}", flush=True)
