"""Every division of cells in a row into bins, tried one after the other."""

from itertools import combinations, pairwise

import numpy as np


def log_likelihood(bins):
    """Of bins of (negatives, positives), each with its own rate."""
    total = 0.0
    for negatives, positives in bins:
        n = negatives + positives
        for count in (negatives, positives):
            if count > 0:
                total += count * np.log(count / n)
    return total


def best_division(counts, most, smallest, price, trend=None):
    """The largest value, and after which cells the bins end that have it."""
    m = len(counts)
    found = (-np.inf, None)
    for k in range(min(most, m)):
        for inner in combinations(range(1, m), k):
            bounds = [0, *inner, m]
            bins = [counts[a:b].sum(axis=0) for a, b in pairwise(bounds)]
            rates = [positives / (negatives + positives) for negatives, positives in bins]
            if k and min(one.sum() for one in bins) < smallest:
                continue
            if trend == "increasing" and any(np.diff(rates) < 0):
                continue
            if trend == "decreasing" and any(np.diff(rates) > 0):
                continue
            value = log_likelihood(bins) - price * (k + 1)
            if value > found[0] + 1e-9:
                found = (value, [*inner, m])
    return found
