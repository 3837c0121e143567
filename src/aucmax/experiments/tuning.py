"""Search of a grid: from coarse to fine, or all of it."""

from collections.abc import Callable, Iterator, Mapping
from itertools import product
from typing import NamedTuple

__all__ = ["Tuned", "coarse_to_fine", "whole_grid"]


class Tuned(NamedTuple):
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


def coarse_to_fine(
    value: Callable[[dict[str, float]], float],
    axes: Mapping[str, tuple[float, ...]],
    coarse_only: bool = False,
) -> Tuned:
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
    names = list(axes)
    sizes = [len(axes[name]) for name in names]
    known: dict[tuple[int, ...], float] = {}

    def evaluate(places: Iterator[tuple[int, ...]]) -> None:
        for place in places:
            if place not in known:
                at = {name: axes[name][i] for name, i in zip(names, place, strict=True)}
                found = value(at)
                known[place] = found if found == found else float("-inf")

    spacing = [_spacing(size) for size in sizes]
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
    return Tuned(at, known[best], len(known))


def whole_grid(
    value: Callable[[dict[str, float]], float],
    axes: Mapping[str, tuple[float, ...]],
    coarse_only: bool = False,
) -> Tuned:
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
    points = [dict(zip(axes, point, strict=True)) for point in product(*axes.values())]
    values = [found if found == found else float("-inf") for found in map(value, points)]
    best = max(range(len(points)), key=values.__getitem__)
    return Tuned(points[best], values[best], len(points))


def _spacing(size: int) -> int:
    spacing = 1
    while size / spacing > 4:
        spacing *= 2
    return spacing


def _lattice(size: int, spacing: int) -> list[int]:
    """Every spacing-th place, in the middle of the axis."""
    return list(range((size - 1) % spacing // 2, size, spacing))
