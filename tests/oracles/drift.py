"""The alarm of a drift, read literally: p-values by ranks, products of bets from every start."""

import itertools
import math
import struct

import numpy as np

__all__ = ["evidence", "p_values", "uniform"]

SHIFTS = {
    "fall far": lambda p: 0.5 / math.sqrt(p),
    "fall": lambda p: 1 - (p - 0.5),
    "stay": lambda p: 1,
    "rise": lambda p: 1 + (p - 0.5),
    "rise far": lambda p: 0.5 / math.sqrt(1 - p),
}


def uniform(row, seed):
    """The number in (0, 1) of a row, counted from 1: SplitMix64 from the bits of the seed."""
    (bits,) = struct.unpack("=Q", struct.pack("=d", seed))
    z = (bits + row * 0x9E3779B97F4A7C15) % 2**64
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB % 2**64
    return (((z ^ (z >> 31)) >> 12) + 0.5) / 2**52


def p_values(codes, scores, seed):
    """The rank of each score among those of its class so far, as a share; ties at random."""
    p = []
    for i, (code, score) in enumerate(zip(codes, scores, strict=True)):
        mine = [scores[j] for j in range(i) if codes[j] == code]
        below = sum(other < score for other in mine)
        equal = sum(other == score for other in mine) + 1
        p.append((below + uniform(i + 1, seed) * equal) / (len(mine) + 1))
    return p


def evidence(codes, p):
    """The capital after each row."""
    bets = [
        lambda p, code, pair=pair: SHIFTS[pair[code]](p)
        for pair in itertools.product(SHIFTS, repeat=2)
        if pair != ("stay", "stay")
    ]
    bets += [lambda p, code, c=c: 1 + c * (6 * p**2 - 6 * p + 1) for c in (-0.8, 0.8)]
    asleep = [math.log(100) / math.log(100 + t) for t in range(len(p) + 1)]
    factors = np.array([[bet(*row) for bet in bets] for row in zip(p, codes, strict=True)])
    capital = []
    for t in range(1, len(p) + 1):
        stakes = [
            (asleep[s - 1] - asleep[s]) * factors[s - 1 : t].prod(axis=0).mean()
            for s in range(1, t + 1)
        ]
        capital.append(asleep[t] + sum(stakes))
    return np.array(capital)
