"""What `scoring="partial_auc"` and `within` gain where few false alarms are bearable.

A split trains on 50 or 300 positives and at most 3,000 others, and tests on the rest. Ways to
choose, each by five folds of the training rows: the AUC; the partial AUC, without and with several
`within`; and logistic regression on standardised features, with balanced class weights and without,
its C by the partial AUC. Prints a Markdown table of the partial AUC and of the recall, both for
false-positive rates up to .05, means over ten splits; ± is the standard error of the recall's
difference from the first column. Names of data sets as arguments.
"""

import sys
import warnings
from functools import partial

import numpy as np
from _bench import binary
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import make_scorer, roc_auc_score
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from aucmax import AUCClassifierCV
from aucmax.metrics import partial_auc, recall_at_fpr

SETS = ("diabetes", "german", "splice", "letter", "magic04", "a9a", "connect-4")
MAX_FPR, SPLITS = 0.05, 10
REGION = {"scoring": "partial_auc", "max_fpr": MAX_FPR}


def logistic(weights, folds):
    """Return logistic regression, tuned by the partial AUC."""
    scaler = StandardScaler(with_mean=False)  # of sparse rows, too
    model = make_pipeline(scaler, LogisticRegression(class_weight=weights, max_iter=300))
    grid = {"logisticregression__C": np.logspace(-4, 3, 8)}
    by = make_scorer(roc_auc_score, response_method="decision_function", max_fpr=MAX_FPR)
    return GridSearchCV(model, grid, scoring=by, cv=folds)


WAYS = {
    "by AUC": lambda folds: AUCClassifierCV(cv=folds),
    "by partial AUC": lambda folds: AUCClassifierCV(within=(0.5,), cv=folds, **REGION),
    "and within": lambda folds: AUCClassifierCV(cv=folds, **REGION),
    "square loss, and within": lambda folds: AUCClassifierCV(
        losses=("square",), cv=folds, **REGION
    ),
    "balanced logistic by partial AUC": partial(logistic, "balanced"),
    "logistic by partial AUC": partial(logistic, None),
}


def split(y, positives, seed):
    """Return the rows to train on and to test on."""
    rng = np.random.RandomState(seed)
    pos, neg = (rng.permutation(np.flatnonzero(y == label)) for label in (1, -1))
    k, m = min(positives, len(pos) // 2), min(3000, len(neg) // 2)
    return np.r_[pos[:k], neg[:m]], np.r_[pos[k:], neg[m:]]


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    print("| data | positives | " + " | ".join(WAYS) + " |")
    print("|---" * (len(WAYS) + 2) + "|")
    for name in sys.argv[1:] or SETS:
        X, y = binary(name, None)
        for positives in (50, 300):
            found = np.empty((len(WAYS), 2, SPLITS))
            for seed in range(SPLITS):
                train, test = split(y, positives, seed)
                folds = StratifiedKFold(5, shuffle=True, random_state=seed)
                for k, make in enumerate(WAYS.values()):
                    score = make(folds).fit(X[train], y[train]).decision_function(X[test])
                    found[k, :, seed] = [
                        metric(y[test], score, MAX_FPR) for metric in (partial_auc, recall_at_fpr)
                    ]
            error = (found - found[0]).std(axis=2, ddof=1) / np.sqrt(SPLITS)
            cells = [
                f"{mean[0]:.3f}, {mean[1]:.3f}" + f" ± {off[1]:.3f}" * (k > 0)
                for k, (mean, off) in enumerate(zip(found.mean(axis=2), error, strict=True))
            ]
            print(f"| {name} | {positives} | " + " | ".join(cells) + " |", flush=True)
