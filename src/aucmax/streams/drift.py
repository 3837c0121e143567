"""A drift alarm that is valid at every row.

Each row since the freeze gets a p-value: the rank of its score by the frozen model among the rows
of its class so far, with ties broken at random. As long as the rows of each class are exchangeable,
whatever the order of the labels, these p-values are independent and uniform (Vovk, Nouretdinov and
Gammerman 2003). The evidence is the capital of a player who bets against this, starting with 1. At
a row of class k a bet multiplies its stake by a function of p whose mean is 1. Each bet has one
function per class: 1/(2√p) for scores that fall a lot, 1 − (p − ½) for scores that fall, 1 for
scores that stay, and the mirror images for scores that rise. Two more bets use
1 ± 0.8(6p² − 6p + 1) for both classes, for scores that spread or contract. Stakes are activated
over time; until then they are cash. After t rows the share S_t = log b/log(t + b) is inactive:

    M_t = S_t + Σ_{s ≤ t} (S_{s−1} − S_s) · mean over the bets of Π_{i = s..t} factor(p_i)

M is a martingale with mean 1, so the probability that it ever reaches 1/``FALSE_ALARM_RATE``, in a
stream of any length and however often one looks, is at most ``FALSE_ALARM_RATE`` (Ville 1939). The
sum over the start s is that of Shiryaev and Roberts with weights that add up to 1; updating it
takes one number per bet.
"""

from itertools import product
from typing import ClassVar

import numpy as np

from aucmax.basics.archive import ArraySpec, Specs
from aucmax.data.rows import compiled

__all__ = ["BETS", "CELLS", "FALSE_ALARM_RATE", "DriftAlarm", "cells_of"]

FALSE_ALARM_RATE = 0.05  # bound on the probability of a false alarm in a whole stream
CELLS = 512  # of scores; scores in the same cell are ties
_MAX_ROWS = 2**53  # that float64 can count
_FALL_FAR, _FALL, _STAY, _RISE, _RISE_FAR, _SPREAD, _GATHER = range(7)
# the change of the scores of each class that a bet is for, shape (bets, 2)
BETS = np.array(
    [pair for pair in product(range(_SPREAD), repeat=2) if pair != (_STAY, _STAY)]
    + [(_SPREAD, _SPREAD), (_GATHER, _GATHER)]
)
_DELAY_ROWS = 100.0  # b: half of the stakes are active after b² rows


def cells_of(z: np.ndarray) -> np.ndarray:
    """Return the cell of each score (n,): equal cells of z/(2 + |z|), wider away from 0."""
    t = z / (2.0 + np.abs(z))
    return np.minimum((0.5 * CELLS * (1.0 + t)).astype(np.int64), CELLS - 1)


class DriftAlarm:
    """Evidence against the hypothesis that rows are exchangeable within their classes.

    Its ``arrays`` are ``counts`` (2, CELLS) of rows by class and cell, the active ``stakes``
    (len(BETS),), and ``clock`` (2,): the number of rows so far, and the row that raised the alarm,
    or 0. After the alarm nothing changes.
    """

    specs: ClassVar[Specs] = {
        "counts": ArraySpec((2, CELLS), np.int64, 0, _MAX_ROWS),
        "stakes": ArraySpec((len(BETS),), low=0.0),
        "clock": ArraySpec((2,), np.int64, 0, _MAX_ROWS),
    }

    def __init__(self) -> None:
        self.arrays = {name: spec.zeros() for name, spec in self.specs.items()}

    def restore(self, arrays: dict[str, np.ndarray]) -> None:
        """Take over arrays that match `specs`; ValueError if they are inconsistent."""
        self.arrays = {name: arrays[name] for name in self.specs}
        rows, alarm = self.arrays["clock"]
        if alarm > rows or self.arrays["counts"].sum() > rows:
            raise ValueError("its alarm has counted more rows than there are")
        if (self.evidence >= 1.0 / FALSE_ALARM_RATE) != (alarm > 0):
            raise ValueError("its alarm does not match its evidence")

    def add(self, codes: np.ndarray, scores: np.ndarray, weight: np.ndarray, seed: float) -> None:
        """Add rows: class codes 0 or 1, finite scores and weights, all (n,).

        Rows of weight 0 are skipped; all others count equally. The seed for breaking ties must be
        the same in all calls for one stream, and differ between streams.
        """
        ties = _uniform(int(self.arrays["clock"][0]), len(codes), seed)
        arrays = (self.arrays[name] for name in ("counts", "stakes", "clock"))
        _add(codes, cells_of(scores), weight > 0.0, ties, BETS, *arrays)

    @property
    def evidence(self) -> float:
        """The capital: 1 before the first row, at least 1/FALSE_ALARM_RATE after the alarm."""
        return float(_asleep(self.arrays["counts"].sum()) + self.arrays["stakes"].sum())

    @property
    def units(self) -> int:
        """The number of rows, or strata, up to the alarm."""
        return int(self.arrays["clock"][0])

    @property
    def row(self) -> int | None:
        """The row that raised the alarm, counted from 1; None if there was no alarm."""
        return int(self.arrays["clock"][1]) or None


def _uniform(start: int, count: int, seed: float) -> np.ndarray:
    """Return pseudo-random numbers in (0, 1) for the rows from ``start``, by SplitMix64."""
    z = np.arange(start + 1, start + count + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    z += np.array([seed]).view(np.uint64)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return (((z ^ (z >> np.uint64(31))) >> np.uint64(12)) + 0.5) * 2.0**-52


@compiled
def _asleep(rows):
    """Return the share of the stakes that is inactive after a number of rows."""
    return np.log(_DELAY_ROWS) / np.log(rows + _DELAY_ROWS)


@compiled
def _add(codes, cells, counted, ties, bets, counts, stakes, clock):
    rows = counts.sum()
    for i in range(len(codes)):
        if clock[1] > 0:
            return
        clock[0] += 1
        if not counted[i]:
            continue
        k, cell = codes[i], cells[i]
        below, total = 0, 0
        for c in range(counts.shape[1]):
            total += counts[k, c]
            if c < cell:
                below += counts[k, c]
        ties_here = counts[k, cell] + 1
        p = (below + ties[i] * ties_here) / (total + 1)
        q = (total + 1 - below - ties_here + (1.0 - ties[i]) * ties_here) / (total + 1)  # 1 − p > 0
        bend = 0.8 * (1.0 - 6.0 * p * q)
        factors = (0.5 / p**0.5, 0.5 + q, 1.0, 0.5 + p, 0.5 / q**0.5, 1.0 + bend, 1.0 - bend)
        asleep = _asleep(rows + 1)
        woken = (_asleep(rows) - asleep) / len(stakes)
        evidence = asleep
        for j in range(len(stakes)):
            stakes[j] = (stakes[j] + woken) * factors[bets[j, k]]
            evidence += stakes[j]
        counts[k, cell] += 1
        rows += 1
        if evidence >= 1.0 / FALSE_ALARM_RATE:
            clock[1] = clock[0]
