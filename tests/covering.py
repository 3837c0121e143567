"""Covering arrays: few rows of a grid in which each pair of values of two settings still occurs."""

import heapq
from itertools import combinations

__all__ = ["covering_array"]


def covering_array(grid, strength=2):
    """Return the places of a few rows that cover a grid; the same ones for the same grid.

    Each combination of the values of any ``strength`` columns that occurs in some row of the grid
    occurs in one of those returned. Greedy: the row with the most combinations that are new.

    Parameters
    ----------
    grid : list of tuples
        A row of each setting's value, all of one length.
    strength : int
        2 for pairs, 3 for triples; that of all rows if there are fewer columns.
    """
    if not grid:
        return []
    columns = range(len(grid[0]))
    chosen = list(combinations(columns, min(strength, len(columns))))
    held = [{(at, tuple(row[c] for c in at)) for at in chosen} for row in grid]
    missing, found = set().union(*held), []
    # what a row adds only falls: one that still adds what it did at the last look is the best
    heap = [(-len(new), place) for place, new in enumerate(held)]
    heapq.heapify(heap)
    while missing:
        promised, place = heapq.heappop(heap)
        held[place] &= missing
        if -promised == len(held[place]):
            found.append(place)
            missing -= held[place]
        elif held[place]:
            heapq.heappush(heap, (-len(held[place]), place))
    return sorted(found)
