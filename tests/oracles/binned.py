"""Scores in bins of neighbouring floating-point numbers, score by score and pair by pair."""

import math
import struct

from oracles.delong import psi

__all__ = ["area_and_error", "place", "shift"]


def place(score):
    """The place of a number among all of float64: its bits as a whole number, signed."""
    (size,) = struct.unpack(">Q", struct.pack(">d", abs(score)))
    return size if math.copysign(1.0, score) > 0 else -size


def shift(scores, bins):
    """The least s for which so many bins of 2ˢ places hold all scores."""
    return next(s for s in range(64) if len({place(z) // 2**s for z in scores}) <= bins)


def area_and_error(positive, scores, bins):
    """The area of the bins, and the most by which that of some scores in these bins differs."""
    s = shift(scores, bins)
    binned = [place(z) // 2**s for z in scores]
    mixed = {
        b for b in binned if len({z for z, c in zip(scores, binned, strict=True) if c == b}) > 1
    }
    won = pairs = unsure = 0.0
    for a, is_a in zip(binned, positive, strict=True):
        for b, is_b in zip(binned, positive, strict=True):
            if is_a and not is_b:
                pairs += 1
                won += psi([a], [b])[0, 0]
                unsure += a == b and a in mixed
    return won / pairs, 0.5 * unsure / pairs
