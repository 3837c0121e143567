"""A sample of rows, for tuning when all of them would not fit into memory."""

from typing import Any

import numpy as np

from aucmax.data.labelled import Labelled

__all__ = ["sample_of", "sample_of_classes", "settings_for_all", "weight_of_all"]


def sample_of(rows: Labelled, most: int) -> np.ndarray:
    """Return the numbers of about ``most`` rows of weight above 0, ascending.

    If there are strata, these are whole strata, evenly spread over those that have both classes.
    """
    strata = rows.coded_strata
    counted = np.flatnonzero(rows.counted(np.arange(len(rows.positive))))
    if strata is None:
        return counted[sample_of_classes(rows.positive[counted], most)]
    if most >= len(counted):
        return counted
    of_row = strata.compared(rows.positive, rows.weight).of_row > 0.0
    compared = np.flatnonzero(np.bincount(strata.code[of_row], minlength=len(strata)))
    count = int(len(compared) * min(most / max(of_row.sum(), 1), 1.0))
    drawn = np.zeros(len(strata), dtype=bool)
    drawn[compared[np.linspace(0, len(compared) - 1, count).astype(np.intp)]] = True
    return np.flatnonzero(of_row & drawn[strata.code])


def sample_of_classes(is_positive: np.ndarray, most: int) -> np.ndarray:
    """Return the numbers of about ``most`` rows, ascending, evenly spread over all.

    There are about as many of each class, or all of the rarer one: the ratio of negatives to
    positives does not change a mean over pairs.
    """
    n, positives = len(is_positive), int(np.count_nonzero(is_positive))
    n_rarer = min(positives, n - positives, most // 2)
    chosen = np.zeros(n, dtype=bool)
    for of_class in (is_positive, ~is_positive):
        share = (most - n_rarer) / np.count_nonzero(of_class)
        if share >= 1.0:
            chosen |= of_class
            continue
        spread = np.linspace(0, n - 1, int(share * n)).astype(np.intp)
        chosen[spread[of_class[spread]]] = True
    return np.flatnonzero(chosen)


def weight_of_all(
    is_positive: np.ndarray, weight: np.ndarray | None, rows: np.ndarray
) -> np.ndarray:
    """Return weights for a sample, with which each class has the weight that it has in all rows."""
    weight = np.ones(len(is_positive)) if weight is None else weight
    of_rows = weight[rows].astype(np.float64)
    for label in (True, False):
        of_class = is_positive[rows] == label
        of_rows[of_class] *= weight[is_positive == label].sum() / of_rows[of_class].sum()
    return of_rows


def settings_for_all(search: Any, share: float) -> dict[str, Any]:
    """Return the settings that a search chose on a sample, for a fit to all rows.

    Parameters
    ----------
    search : AUCClassifierCV
        Fitted to the sample.
    share : float
        The number of rows of the rarer class in the sample, divided by that in all rows. The best α
        is inversely proportional to this number.
    """
    names = ("l1_ratio", "loss", "within", "standardize")
    chosen = {name: getattr(search, f"{name}_") for name in names}
    return {"alpha": search.alpha_ * share, **chosen}
