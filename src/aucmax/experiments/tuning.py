"""Grid search: from coarse to fine, or exhaustive."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product
from typing import NamedTuple

__all__ = ["GridOptimum", "coarse_to_fine", "whole_grid"]

Value = Callable[[dict[str, float]], float]
Axes = Mapping[str, tuple[float, ...]]


class GridOptimum(NamedTuple):
    """The best settings of a grid."""

    at: dict[str, float]
    value: float
    tried: int  # number of settings that were evaluated


def coarse_to_fine(value: Value, axes: Axes, coarse_only: bool = False) -> GridOptimum:
    """Search a grid for the largest value: a wide lattice first, then ever finer around its best.

    The lattice has about four points on each axis. Its spacing is halved until it is 1, and each
    time the neighbours of the best point so far are evaluated. Ties go to the settings evaluated
    first, those with the smallest positions. NaN counts as the worst value. With ``coarse_only``
    the search stops after the wide lattice.
    """
    return _search(value, axes, [_spacing(len(axis)) for axis in axes.values()], coarse_only)


def whole_grid(value: Value, axes: Axes, coarse_only: bool = False) -> GridOptimum:
    """Evaluate every point of a grid, even in a quick run, for which other searches are coarse."""
    return _search(value, axes, [1] * len(axes), coarse_only)


def _search(value: Value, axes: Axes, spacing: Sequence[int], coarse_only: bool) -> GridOptimum:
    """Search lattices whose spacing is halved until it is 1."""
    names = list(axes)
    sizes = [len(axes[name]) for name in names]
    values: dict[tuple[int, ...], float] = {}

    def evaluate(places: Iterator[tuple[int, ...]]) -> None:
        for place in places:
            if place not in values:
                at = {name: axes[name][i] for name, i in zip(names, place, strict=True)}
                score = value(at)
                values[place] = score if score == score else float("-inf")

    evaluate(product(*(_lattice(size, s) for size, s in zip(sizes, spacing, strict=True))))
    while not coarse_only and any(s > 1 for s in spacing):
        spacing = [max(s // 2, 1) for s in spacing]
        best = max(values, key=lambda place: values[place])
        around = [
            [i for i in (b - s, b, b + s) if 0 <= i < size]
            for b, s, size in zip(best, spacing, sizes, strict=True)
        ]
        evaluate(product(*around))
    best = max(values, key=lambda place: values[place])
    at = {name: axes[name][i] for name, i in zip(names, best, strict=True)}
    return GridOptimum(at, values[best], len(values))


def _spacing(size: int) -> int:
    spacing = 1
    while size / spacing > 4:
        spacing *= 2
    return spacing


def _lattice(size: int, spacing: int) -> list[int]:
    """Return every spacing-th position of an axis, centred."""
    return list(range((size - 1) % spacing // 2, size, spacing))
