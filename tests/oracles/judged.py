"""Measures of a ranking read literally: pairs of the same stratum, and rows that occur m times."""

import numpy as np

__all__ = ["MEASURES", "areas_of_strata", "derivative", "stratified"]


def areas_of_strata(positive, score, stratum, weight):
    """The strata with rows of both classes: area, weight of positives, weight of negatives."""
    table = []
    for name in np.unique(stratum):
        own = stratum == name
        won = total = 0.0
        for i in np.flatnonzero(own & positive):
            for j in np.flatnonzero(own & ~positive):
                beats = 1.0 if score[i] > score[j] else 0.5 if score[i] == score[j] else 0.0
                won += weight[i] * weight[j] * beats
                total += weight[i] * weight[j]
        if total > 0.0:
            table.append((won / total, weight[own & positive].sum(), weight[own & ~positive].sum()))
    return np.array(table)


def stratified(table, mode):
    """The mean area Σ ω_g AUC_g, its variance with strata as units, and their number by Kish."""
    auc, pos, neg = table.T
    omega = {"positives": pos, "pairs": pos * neg, "strata": np.ones(len(auc))}[mode]
    omega = omega / omega.sum()
    mean, k = omega @ auc, 1 / (omega @ omega)
    return mean, sum((omega * (auc - mean)) ** 2) * k / (k - 1) if k > 1 else 0.0, k


def _top(score, times, share):
    """How much of each row is among the highest: rows of one score all alike."""
    k, taken = share * times.sum(), np.zeros(len(score))
    for level in np.unique(score)[::-1]:
        tied = score == level
        taken[tied] = min(k / times[tied].sum(), 1.0)
        k -= taken[tied][0] * times[tied].sum()
    return taken


def average_precision(positive, score, weight, times, _):
    w, value = weight * times, 0.0
    for i in np.flatnonzero(positive):
        above = score >= score[i]
        value += w[i] * w[above & positive].sum() / w[above].sum()
    return value / w[positive].sum()


def precision_at_k(positive, score, weight, times, share):
    w = weight * times * _top(score, times, share)
    return w[positive].sum() / w.sum()


def recall_at_k(positive, score, weight, times, share):
    w = weight * times
    return (w * _top(score, times, share))[positive].sum() / w[positive].sum()


def recall_at_fpr(positive, score, weight, times, share):
    w, best = weight * times, 0.0
    for level in np.unique(score):
        above = score >= level
        if w[above & ~positive].sum() <= share * w[~positive].sum():
            best = max(best, w[above & positive].sum() / w[positive].sum())
    return best


MEASURES = {
    "average_precision": average_precision,
    "precision_at_k": precision_at_k,
    "recall_at_k": recall_at_k,
    "recall_at_fpr": recall_at_fpr,
}


def derivative(measure, positive, score, weight, share, step=1e-5):
    """How far a measure moves with the number of times that each row occurs."""
    moved = np.empty(len(score))
    for i in range(len(score)):
        ends = []
        for sign in (1, -1):
            times = np.ones(len(score))
            times[i] += sign * step
            ends.append(measure(positive, score, weight, times, share))
        moved[i] = (ends[0] - ends[1]) / (2 * step)
    return moved
