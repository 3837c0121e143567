"""Coverage of the intervals of a cross-validated AUC; errors of estimates from few rows.

The data are normal, so the AUC of a model on new rows is known.
"""

from collections.abc import Iterator

import numpy as np
from scipy.stats import norm
from sklearn.model_selection import RepeatedStratifiedKFold

from aucmax import AUCClassifier, metrics
from benchmarks.common.tables import show

ALPHA = 0.1
SAMPLES = 2000
AREAS = (0.7, 0.8, 0.9, 0.95, 0.98)


def drawn(n: int, positives: int, d: int, auc: float, seed: int) -> tuple[np.ndarray, ...]:
    """Return rows, labels and the difference of the classes' means."""
    y = (np.arange(n) < positives).astype(int)
    apart = np.full(d, np.sqrt(2 / d) * norm.ppf(auc))
    return np.random.default_rng(seed).normal(size=(n, d)) + np.outer(y, apart), y, apart


def fitted(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    return AUCClassifier(ALPHA, standardize=0.0).fit(X, y).coef_[0]


def solved(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the same coefficients faster, up to a factor."""
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
    """Return the coverage of 95 % intervals, its estimated variance by the true one, the formula's.

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
        interval = metrics.cv_auc_interval(*args, groups=rows)
        formula = metrics.cv_auc_interval(*args, small_sample=False)
        covered += [one.low <= truth <= one.high for one in (interval, formula)]
        off.append(interval.auc - truth)
        told.append(interval.std_error**2)
    ours, plain = covered / SAMPLES
    return ours, np.mean(told) / np.var(off), plain


def errors_of(n: int, positives: int, d: int, auc: float) -> dict[str, str]:
    """Return mean and standard deviation of 300 estimates less the true AUC of the model."""
    errors: dict[str, list[float]] = {}
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
            errors.setdefault(name, []).append(float(estimate) - truth)
    return {name: f"{np.mean(e):+.3f} ± {np.std(e):.3f}" for name, e in errors.items()}


def coverage_rows() -> Iterator[list[str]]:
    """Yield the rows of the table; the last column has the range of the formula's coverage."""
    cases = [(4, n, 10 * n, d) for n in (20, 30, 50, 100) for d in (2, 5, 10)]
    cases += [(1, n, 10 * n, d) for n in (20, 50) for d in (2, 5, 10)]
    cases += [(4, *sizes, 5) for sizes in ((20, 20), (50, 50), (10, 100))]
    for case in cases:
        cells = [coverage(*case, auc) for auc in AREAS]
        formula = [plain for _, _, plain in cells]
        shares = (f"{ours:.3f} ({told:.2f})".lstrip("0") for ours, told, _ in cells)
        yield [*map(str, case), *shares, f"{min(formula):.3f} to {max(formula):.3f}"]


def main() -> None:
    print("Coverage of 95 % intervals (estimated variance / true variance)")
    head = ["rounds", "positives", "negatives", "features", *(f"AUC {auc}" for auc in AREAS)]
    show([*head, "formula"], coverage_rows())
    print("\nError of the estimate: mean ± standard deviation")
    names = ("5 folds", "5 folds, 10 times", "leave-one-out", "leave-pair-out")
    show(["rows, positives, features", *names],
         ([case, *errors_of(*case, 0.8).values()]
          for case in ((30, 10, 5), (60, 15, 10), (100, 10, 5))))  # fmt: skip
