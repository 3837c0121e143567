"""Rows of many degrees read literally: every pair of rows whose order is known."""

import numpy as np

from oracles.pairs import Pairs, factors

__all__ = ["Compared", "concordance", "known_pairs"]


def known_pairs(y, stratum=None):
    """Every (i, j) of one stratum in which row i is known to rank above row j, and y_i − y_j.

    Of times of events row i is that of an event before the time of row j, and y is −time.
    """
    survival = y.dtype.names is not None
    event = y["event"] if survival else np.ones(len(y), dtype=bool)
    value = -y["time"] if survival else np.asarray(y, dtype=float)
    stratum = np.zeros(len(y)) if stratum is None else stratum
    return [
        (i, j, value[i] - value[j])
        for i in range(len(y))
        for j in range(len(y))
        if event[i] and value[i] > value[j] and stratum[i] == stratum[j]
    ]


class Compared(Pairs):
    """J over all these pairs, in the coordinates of ``standardize=gamma``."""

    def __init__(self, X, y, weight=None, gamma=0.0, stratum=None, by="pairs", grades="equal"):
        X = np.asarray(X.toarray() if hasattr(X, "toarray") else X, dtype=np.float64)
        weight = np.ones(len(y)) if weight is None else weight
        stratum = np.zeros(len(y)) if stratum is None else stratum
        pairs = known_pairs(y, stratum)
        rows, cols = (np.array([pair[k] for pair in pairs]) for k in (0, 1))
        q = weight[rows] * weight[cols]
        if grades == "difference":
            q = q * np.array([pair[2] for pair in pairs])
        self.q = np.zeros(len(pairs))
        for name in np.unique(stratum):
            own = stratum[rows] == name
            if q[own].sum() > 0:
                above = np.unique(rows[own & (q > 0)])
                omega = {"pairs": q[own].sum(), "positives": weight[above].sum(), "strata": 1.0}
                self.q[own] = omega[by] * q[own] / q[own].sum()
        self.q /= self.q.sum()
        self.D = X[rows] - X[cols]
        self.factor = np.ones(X.shape[1])
        if gamma > 0:
            counted = np.isin(np.arange(len(y)), np.concatenate([rows[q > 0], cols[q > 0]]))
            centred = X.copy()  # the variance within strata
            for name in np.unique(stratum[counted]):
                own = counted & (stratum == name)
                centred[own] -= np.average(X[own], axis=0, weights=weight[own])
            self.factor = factors(centred[counted], weight[counted], gamma)
            self.D = self.D * self.factor


def concordance(y, score, weight, stratum=None):
    """For each stratum with pairs the share in the right order, their weight, and the upper rows'.

    Also how far each row moves the share of all pairs, per time that it occurs.
    """
    stratum = np.zeros(len(y)) if stratum is None else stratum
    won, total, moved = {}, {}, np.zeros(len(y))
    above, pairs = {}, []
    for i, j, _ in known_pairs(y, stratum):
        p = weight[i] * weight[j]
        if p > 0:
            right = 1.0 if score[i] > score[j] else 0.5 if score[i] == score[j] else 0.0
            name = stratum[i]
            won[name] = won.get(name, 0.0) + p * right
            total[name] = total.get(name, 0.0) + p
            above.setdefault(name, set()).add(i)
            pairs.append((i, j, p, right))
    mass = sum(total.values())
    share = sum(won.values()) / mass if mass else np.nan
    for i, j, p, right in pairs:
        moved[[i, j]] += p * (right - share) / mass
    table = [(won[g] / total[g], total[g], sum(weight[i] for i in above[g])) for g in total]
    return np.array(table), moved
