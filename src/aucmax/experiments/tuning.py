"""Grid search: from coarse to fine, or exhaustive."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product
from typing import NamedTuple

__all__ = ["Found", "coarse_to_fine", "whole_grid"]

Value = Callable[[dict[str, float]], float]
Axes = Mapping[str, tuple[float, ...]]


class Found(NamedTuple):
    """The result of a search."""

    at: dict[str, float]  # the best settings
    value: float  # at them
    tried: int  # settings evaluated


def coarse_to_fine(value: Value, axes: Axes, coarse_only: bool = False) -> Found:
    """Search a grid for the largest value: a wide lattice first, then ever closer to its best.

    The lattice has about four points on each axis. Its spacing is halved until it is 1; each time
    the neighbours of the best so far are evaluated. Ties go to the settings met first: those with
    the smallest positions. NaN is the worst value. With ``coarse_only`` the search stops after the
    wide lattice.
    """
    return _search(value, axes, [_spacing(len(axis)) for axis in axes.values()], coarse_only)


def whole_grid(value: Value, axes: Axes, coarse_only: bool = False) -> Found:
    """Evaluate every point of a grid, even in a quick run, where others search coarsely."""
    return _search(value, axes, [1] * len(axes), coarse_only)


def _search(value: Value, axes: Axes, spacing: Sequence[int], coarse_only: bool) -> Found:
    """Search lattices whose spacing is halved down to 1."""
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
    return Found(at, values[best], len(values))


def _spacing(size: int) -> int:
    spacing = 1
    while size / spacing > 4:
        spacing *= 2
    return spacing


def _lattice(size: int, spacing: int) -> list[int]:
    """Return every spacing-th place of an axis, centred."""
    return list(range((size - 1) % spacing // 2, size, spacing))
