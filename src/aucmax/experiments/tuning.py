"""Search of a grid: from coarse to fine, or all of it."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product
from typing import NamedTuple

__all__ = ["Found", "coarse_to_fine", "whole_grid"]

Value = Callable[[dict[str, float]], float]
Axes = Mapping[str, tuple[float, ...]]


class Found(NamedTuple):
    """What a search found.

    Parameters
    ----------
    at : dict of str to float
        The best settings.
    value : float
        Their value.
    tried : int
        Settings evaluated.
    """

    at: dict[str, float]
    value: float
    tried: int


def coarse_to_fine(value: Value, axes: Axes, coarse_only: bool = False) -> Found:
    """Search the largest value on a grid: a wide lattice first, then ever closer to its best.

    Parameters
    ----------
    value : callable
        Settings to a number; NaN is the worst.
    axes : mapping of str to tuple of float
        The grid.
    coarse_only : bool
        Stop after the wide lattice.

    Notes
    -----
    The lattice has about four points on an axis. Its spacing is halved until it is 1, and each time
    the neighbours of the best so far are evaluated. Ties go to the settings met first: those with
    the smallest positions.
    """
    return _search(value, axes, [_spacing(len(axis)) for axis in axes.values()], coarse_only)


def whole_grid(value: Value, axes: Axes, coarse_only: bool = False) -> Found:
    """Evaluate every point of a grid, for what is to be tuned as well as the grid allows.

    Parameters
    ----------
    value : callable
        Settings to a number; NaN is the worst.
    axes : mapping of str to tuple of float
        The grid.
    coarse_only : bool
        Has no effect: a quick run gets the whole grid too.
    """
    return _search(value, axes, [1] * len(axes), coarse_only)


def _search(value: Value, axes: Axes, spacing: Sequence[int], coarse_only: bool) -> Found:
    """Search the lattices of that spacing, of half of it, and so on down to 1."""
    names = list(axes)
    sizes = [len(axes[name]) for name in names]
    known: dict[tuple[int, ...], float] = {}

    def evaluate(places: Iterator[tuple[int, ...]]) -> None:
        for place in places:
            if place not in known:
                at = {name: axes[name][i] for name, i in zip(names, place, strict=True)}
                found = value(at)
                known[place] = found if found == found else float("-inf")

    evaluate(product(*(_lattice(size, s) for size, s in zip(sizes, spacing, strict=True))))
    while not coarse_only and any(s > 1 for s in spacing):
        spacing = [max(s // 2, 1) for s in spacing]
        best = max(known, key=lambda place: known[place])
        around = [
            [i for i in (b - s, b, b + s) if 0 <= i < size]
            for b, s, size in zip(best, spacing, sizes, strict=True)
        ]
        evaluate(product(*around))
    best = max(known, key=lambda place: known[place])
    at = {name: axes[name][i] for name, i in zip(names, best, strict=True)}
    return Found(at, known[best], len(known))


def _spacing(size: int) -> int:
    spacing = 1
    while size / spacing > 4:
        spacing *= 2
    return spacing


def _lattice(size: int, spacing: int) -> list[int]:
    """Every spacing-th place, in the middle of the axis."""
    return list(range((size - 1) % spacing // 2, size, spacing))
