"""The axes of curves and maps: the knots of a column of numbers, or the levels of one of words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import Self

import numpy as np
from numpy.typing import NDArray

from aucmax.basics.checks import check_array_of, is_whole
from aucmax.basics.visible import counted
from aucmax.columns.functions import Function, Pieces, total
from aucmax.columns.preparations import Entries
from aucmax.columns.summaries import Coded
from aucmax.data.columns import usual_spellings

__all__ = ["Axis", "Cells", "spaced"]

Floats = NDArray[np.float64]
Cells = Coded | Floats  # the cells of a column


@dataclass(frozen=True, eq=False)
class Axis:
    """The axis of a column in its curve and its maps.

    Parameters
    ----------
    knots : ndarray, shape (k,)
        The ascending knots of a curve of numbers; two if there are at most two values.
    map_knots : ndarray, shape (m,)
        The knots of its maps.
    centre, scale : float
        The line is (x − centre)/scale.
    words : tuple of str
        The words that have a level, the most frequent first; all others share a further level.
    map_words : int
        The number of words that have a level in maps; all others share a further level.
    is_text : bool
        Whether it is a column of words.
    has_gaps : bool
        Whether there were gaps in the fit, which then have a separate level.
    spelt : dict of str to str
        Other spellings of the levels, which differ only in case or surrounding space.
    n_words : int
        The number of different words in the fit; 0 if unknown.
    """

    knots: Floats = field(default_factory=lambda: np.empty(0))
    map_knots: Floats = field(default_factory=lambda: np.empty(0))
    centre: float = 0.0
    scale: float = 1.0
    words: tuple[str, ...] = ()
    map_words: int = 0
    is_text: bool = False
    has_gaps: bool = False
    spelt: dict[str, str] = field(default_factory=dict)
    n_words: int = 0

    @classmethod
    def of_numbers(cls, values: Floats, n_knots: int, map_knots: int) -> Self:
        """Place the knots at quantiles of numbers, (n,), or at every number if there are few."""
        finite = values[~np.isnan(values)]
        gaps = len(finite) < len(values)
        if not len(finite):
            return cls(np.array([0.0, 1.0]), np.array([0.0, 1.0]), has_gaps=gaps)
        knots = _knots(finite, n_knots)
        centre, scale = finite.mean(), finite.std() or 1.0
        if len(knots) == 2:  # yes and no: the geometric mean of a line's scale and a level's
            scale = np.sqrt(scale * (knots[1] - knots[0]) / 2.0)
        coarse = knots[spaced(len(knots), map_knots)]
        return cls(knots, coarse, float(centre), float(scale), has_gaps=gaps)

    @classmethod
    def of_words(
        cls, values: Coded, as_written: bool, min_rows: int, most: int, map_words: int
    ) -> Self:
        """Choose the words that get a level: those with ``min_rows`` rows, or all if they are few.

        Spellings that differ only in case or space are the same word, unless ``as_written``.
        """
        codes, rows = np.unique(values.codes[values.codes >= 0], return_counts=True)
        written = [str(values.words[code]) for code in codes]
        of_spellings = dict(zip(written, rows.tolist(), strict=True))
        usual = {} if as_written else usual_spellings(of_spellings)
        counts: Counter[str] = Counter()
        for spelling, of_spelling in of_spellings.items():
            counts[usual.get(spelling, spelling)] += of_spelling
        frequent = sorted(counts, key=lambda word: -counts[word])[:most]
        if len(counts) > map_words:
            frequent = [word for word in frequent if counts[word] >= min_rows]
        spelt = {odd: word for odd, word in usual.items() if word in {*frequent}}
        few, gaps = min(len(frequent), map_words), bool((values.codes < 0).any())
        words = tuple(frequent)
        n_words = len(counts)
        return cls(
            words=words, map_words=few, is_text=True, has_gaps=gaps, spelt=spelt, n_words=n_words
        )

    def check_state(self) -> None:
        """Raise ValueError unless a fit could have led to this state."""
        for knots in (self.knots, self.map_knots):
            check_array_of(knots, (np.size(knots),), "knots")
            if (np.diff(knots) <= 0).any() or len(knots) < 2 - 2 * self.is_text:
                raise ValueError("its knots are not ascending")
        ok = isinstance(self.words, tuple) and all(isinstance(word, str) for word in self.words)
        ok = ok and len({*self.words}) == len(self.words) and is_whole(self.map_words)
        ok = ok and is_whole(self.n_words)
        ok = ok and isinstance(self.has_gaps, bool) and isinstance(self.is_text, bool)
        ok = ok and isinstance(self.centre, float) and isinstance(self.scale, float)
        ok = ok and isinstance(self.spelt, dict) and {*self.spelt.values()} <= {*self.words}
        ok = ok and not {*self.spelt} & {*self.words}
        if not ok or self.map_words > len(self.words) or not self.scale > 0.0:
            raise ValueError("an axis does not have the form that a fit gives it")

    @property
    def bends(self) -> bool:
        """Whether the column has a curve, of hats, besides its line."""
        return len(self.knots) > 2

    @property
    def n_linear(self) -> int:
        """The number of features besides hats: a line or levels, and a level of gaps."""
        return self.has_gaps + (len(self.words) + 1 if self.is_text else 1)

    @property
    def n_map(self) -> int:
        """The number of places along the axis in maps."""
        return self.has_gaps + (self.map_words + 1 if self.is_text else len(self.map_knots))

    @property
    def map_size(self) -> tuple[int, int, bool]:
        """The places in maps, in the form for `prior_root`."""
        return self.n_map - self.has_gaps, int(self.has_gaps), self.is_text

    def told(self) -> Iterator[str]:
        """Yield the decisions about the column, as text."""
        if self.is_text:
            count = max(self.n_words, len(self.words))
            words = counted(count, "word")
            if self.spelt:
                words += f" (spelt in {count + len(self.spelt):,} ways by case or space)"
            frequent = f"levels for the {len(self.words):,} most frequent, and one for all others"
            each = "a level each, and one for all others" if count == len(self.words) else frequent
            yield f"{words}: {each if self.words else 'all are one level'}"
        if self.has_gaps:
            yield "gaps have a separate level"

    def linear(self, values: Cells) -> list[Entries]:
        """Return the features other than hats."""
        if isinstance(values, Coded):
            return [Entries(place, value) for place, value in self._levels(values, len(self.words))]
        gaps = np.isnan(values)
        line = Entries(0, np.where(gaps, 0.0, (values - self.centre) / self.scale))
        return [line, Entries(1, gaps.astype(np.float64))] if self.has_gaps else [line]

    def linear_functions(self, function: Function) -> list[Function]:
        """Return the features other than hats as functions of a column, given as a function."""
        if self.is_text:
            return self._level_functions(function, len(self.words))
        line = function.then(Pieces.line(1.0 / self.scale, self.centre, gap=0.0))
        return [line, function.is_gap()] if self.has_gaps else [line]

    def hats(self, values: Cells) -> list[Entries]:
        """Return the hats of the curve of a number."""
        assert not isinstance(values, Coded)
        low, rise, gaps = _between(values, self.knots)
        return [Entries(low, (1.0 - rise) * ~gaps), Entries(low + 1, rise * ~gaps)]

    def nearest_knots(self, values: Floats) -> NDArray[np.intp]:
        """Return the knot of the curve that is nearest to each number, −1 for gaps."""
        low, rise, gaps = _between(values, self.knots)
        return np.where(gaps, -1, low + (rise > 0.5))

    def hat_functions(self, function: Function) -> list[Function]:
        """Return the hats of the curve as functions of a column."""
        return [function.then(hat) for hat in _hats(self.knots)]

    def map_places(self, values: Cells) -> tuple[NDArray[np.intp], Floats]:
        """Return the places of rows in maps, and the share of the way to the next: `MapPlaces`."""
        if isinstance(values, Coded):
            (level,) = self._levels(values, self.map_words)
            return level.place, np.zeros(len(values))
        low, rise, gaps = _between(values, self.map_knots)
        at_next = rise == 1.0
        low, rise = low + at_next, np.where(at_next | gaps, 0.0, rise)
        return np.where(gaps, len(self.map_knots) if self.has_gaps else -1, low), rise

    def map_functions(self, function: Function) -> list[Function]:
        """Return the values of rows at each place in maps, as functions of a column."""
        if self.is_text:
            return self._level_functions(function, self.map_words)
        hats = [function.then(hat) for hat in _hats(self.map_knots)]
        return [*hats, function.is_gap()] if self.has_gaps else hats

    def place_functions(self, function: Function) -> list[Function]:
        """Return the nearest place in maps, see `MapPlaces.nearest`, as a function of a column."""
        if self.is_text:
            levels = self._level_functions(function, self.map_words)
            return [total([level.times(float(place)) for place, level in enumerate(levels)])]
        k = len(self.map_knots)
        gap = float(k) if self.has_gaps else 0.0
        return [function.then(Pieces.steps(_halfway(self.map_knots), np.arange(k), gap))]

    def on_curve(self, effects: Floats) -> tuple[float, Floats, Floats]:
        """Express a function of the places in maps, (n_map,), by features of the curve.

        Returns
        -------
        constant : float
        linear : ndarray, shape (n_linear,)
        hats : ndarray, shape (k,)
            Empty if there are none.
        """
        linear = np.zeros(self.n_linear)
        if self.has_gaps:
            linear[-1] = effects[-1]
        if self.is_text:
            own = effects[: self.map_words + 1]
            linear[: len(self.words) + 1] = np.append(
                own[:-1], np.repeat(own[-1], len(self.words) + 1 - self.map_words)
            )
            return 0.0, linear, np.empty(0)
        at_knots = effects[: len(self.map_knots)]
        if self.bends:
            return 0.0, linear, np.interp(self.knots, self.map_knots, at_knots)
        slope = (at_knots[1] - at_knots[0]) / (self.knots[1] - self.knots[0])
        at_centre = at_knots[0] + slope * (self.centre - self.knots[0])
        linear[0] = slope * self.scale
        if self.has_gaps:
            linear[-1] -= at_centre
        return at_centre, linear, np.empty(0)

    def _levels(self, values: Coded, n_levels: int) -> list[Entries]:
        place = {word: min(j, n_levels) for j, word in enumerate(self.words)}
        gap = n_levels + 1 if self.has_gaps else n_levels
        words = (self.spelt.get(str(word), str(word)) for word in values.words)
        places = np.array([*(place.get(word, n_levels) for word in words), gap])
        return [Entries(places[values.codes], np.ones(len(values)))]

    def _level_functions(self, function: Function, n_levels: int) -> list[Function]:
        spellings: dict[str | None, list[str | None]] = {
            word: [word] for word in (*self.words[:n_levels], *([None] if self.has_gaps else []))
        }
        for odd, word in self.spelt.items():
            if word in spellings:
                spellings[word].append(odd)
        levels: list[Function] = [
            function.looked_up(dict.fromkeys(words, 1.0), 0.0) for words in spellings.values()
        ]
        words = chain.from_iterable(spellings.values())
        levels.insert(n_levels, function.looked_up(dict.fromkeys(words, 0.0), 1.0))
        return levels


def _hats(knots: Floats) -> list[Pieces]:
    """Return the functions that are 1 at one knot, and 0 at all others and for gaps."""
    return [Pieces.between(knots, hat, gap=0.0) for hat in np.eye(len(knots))]


def _between(values: Floats, knots: Floats) -> tuple[NDArray[np.intp], Floats, NDArray[np.bool_]]:
    """Return the knot below each number, the share of the way to the next, and which are gaps."""
    gaps = np.isnan(values)
    inside = np.clip(np.where(gaps, knots[0], values), knots[0], knots[-1])
    low = np.minimum(np.searchsorted(knots, inside, side="right") - 1, len(knots) - 2)
    return low, (inside - knots[low]) / (knots[low + 1] - knots[low]), gaps


def _halfway(knots: Floats) -> Floats:
    """Return the smallest numbers for which the share of the way to the next knot is above 1/2."""
    start, end = knots[:-1], knots[1:]
    low, high = start, end
    while True:  # bisection: even with rounding, the share rises with the number
        middle = low + (high - low) / 2.0
        if ((middle <= low) | (middle >= high)).all():
            return high
        above = (middle - start) / (end - start) > 0.5
        low, high = np.where(above, low, middle), np.where(above, middle, high)


def _knots(values: Floats, most: int) -> Floats:
    different = np.unique(values)
    if len(different) > most:
        different = np.unique(np.quantile(values, np.linspace(0.0, 1.0, most)))
    if len(different) == 1:
        return np.append(different, different + max(1.0, np.spacing(abs(different[0]))))
    return different


def spaced(k: int, most: int) -> NDArray[np.intp]:
    """Return at most ``most`` of k places, evenly spaced, including the first and the last."""
    return np.unique(np.round(np.linspace(0, k - 1, min(k, most))).astype(np.intp))
