"""Probabilities from scores, as the papers write them."""

import numpy as np


def platt(scores, positive, weight, negatives, positives):
    """Minimise Platt's cross-entropy of smoothed targets by Newton's method; slope, intercept."""
    t = np.where(positive, (positives + 1) / (positives + 2), 1 / (negatives + 2))
    A = np.column_stack([scores, np.ones(len(scores))])
    theta = np.zeros(2)
    for _ in range(100):
        p = 1 / (1 + np.exp(-A @ theta))
        gradient = A.T @ (weight * (p - t))
        hessian = (A * (weight * p * (1 - p))[:, None]).T @ A
        step = np.linalg.solve(hessian, gradient)
        # never longer than what keeps the margins within reach
        theta -= step * min(1.0, 2.0 / np.abs(A @ step).max())
    return theta


def pooled_adjacent_violators(scores, positive, weight):
    """Return the rising shares of positives nearest to the labels, at each score, ascending."""
    blocks = []  # sum of weights, sum of weighted labels, how many scores
    for s in np.unique(scores):
        at = scores == s
        blocks.append([weight[at].sum(), (weight * positive)[at].sum(), 1])
        while len(blocks) > 1 and blocks[-2][1] * blocks[-1][0] >= blocks[-1][1] * blocks[-2][0]:
            last = blocks.pop()
            blocks[-1] = [a + b for a, b in zip(blocks[-1], last, strict=True)]
    return np.concatenate([np.full(n, y / w) for w, y, n in blocks])
