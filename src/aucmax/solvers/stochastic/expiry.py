"""A heap of the coordinates in the order in which a growing threshold reaches them.

Coordinate j becomes 0 when the sum of the thresholds reaches |V[j]|. A step has to visit only the
coordinates that become 0 in it. ``heap[:size]`` holds coordinates, smallest |V| first, and
``place[j]`` is the position of j in ``heap``, or −1. Coordinates and sizes are passed as int64: for
other types, and for constants, Numba would compile every function again.
"""

import numpy as np

from aucmax.data.rows import compiled

__all__ = ["heap_fill", "heap_of", "heap_pop", "heap_put"]


def heap_of(d: int) -> tuple[np.ndarray, np.ndarray]:
    """Return an empty heap for up to d coordinates, as (heap, place)."""
    return np.zeros(d, dtype=np.int32), np.full(d, -1, dtype=np.int32)


@compiled
def heap_move(V, heap, place, size, j):
    """Move coordinate j to its place in the heap after V[j] has changed."""
    at, key = place[j], abs(V[j])
    while at > 0:
        up = (at - 1) // 2
        if abs(V[heap[up]]) <= key:
            break
        heap[at] = heap[up]
        place[heap[at]] = at
        at = up
    while True:
        down = 2 * at + 1
        if down >= size:
            break
        if down + 1 < size and abs(V[heap[down + 1]]) < abs(V[heap[down]]):
            down += 1
        if abs(V[heap[down]]) >= key:
            break
        heap[at] = heap[down]
        place[heap[at]] = at
        at = down
    heap[at], place[j] = j, at


@compiled
def heap_discard(V, heap, place, size, j):
    """Remove coordinate j if it is in the heap; return the new size."""
    if place[j] < 0:
        return size
    at, last = place[j], heap[size - 1]
    place[j] = -1
    if last != j:
        heap[at], place[last] = last, at
        heap_move(V, heap, place, size - 1, np.int64(last))
    return size - 1


@compiled
def heap_put(V, heap, place, size, j):
    """Put coordinate j where V[j] belongs, or remove it if that is 0; return the new size."""
    if V[j] == 0.0:
        return heap_discard(V, heap, place, size, j)
    if place[j] < 0:
        heap[size], place[j] = j, size
        size += 1
    heap_move(V, heap, place, size, j)
    return size


@compiled
def heap_fill(V, heap, place):
    """Add all non-zero coordinates to an empty heap; return its size."""
    size = np.int64(0)
    for j in range(len(V)):
        size = heap_put(V, heap, place, size, np.int64(j))
    return size


@compiled
def heap_pop(V, heap, place, size):
    """Remove the first coordinate; return (coordinate, new size)."""
    j = np.int64(heap[0])
    return j, heap_discard(V, heap, place, size, j)
