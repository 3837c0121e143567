"""Which loss and which `standardize`: five-fold AUC at the best α, for every data set.

Sparse sets get unit-norm rows, dense ones are as shipped. Names of data sets as arguments, all by
default. Prints a Markdown table.
"""

import sys
import warnings

import numpy as np
from _bench import BINARY, binary
from sklearn.model_selection import StratifiedKFold

from aucmax import AUCClassifierCV, datasets

LOSSES, GAMMAS = ("square", "squared_hinge"), (0.0, 0.5, 1.0)

if __name__ == "__main__":
    warnings.simplefilter("ignore")
    heads = [f"{loss} γ={gamma:g}" for loss in LOSSES for gamma in GAMMAS]
    print("| data set | " + " | ".join(heads) + " |")
    print("|---" * (len(heads) + 1) + "|")
    for name in sys.argv[1:] or BINARY:
        X, y = binary(name, "unit-norm" if datasets.about(name).sparse else None)
        folds = StratifiedKFold(5, shuffle=True, random_state=0)
        search = AUCClassifierCV(losses=LOSSES, standardize=GAMMAS, cv=folds).fit(X, y)
        best = np.nanmax(search.auc_path_.mean(axis=0), axis=(2, 3)).ravel()
        cells = [f"**{v:.4f}**" if v == best.max() else f"{v:.4f}" for v in best]
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)
