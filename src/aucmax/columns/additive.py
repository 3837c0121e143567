"""AdditiveFeatures: a curve for each column and a map for each of some pairs, as sparse features.

A curve of a number is a line plus hats: piecewise linear functions, each of which is 1 at one knot
and 0 at all others. A map consists of the products of the hats of two columns, at fewer knots,
which are knots of the curves, too. Words have levels instead of hats. So a row has two nonzero hats
in each column, and four nonzero products in each pair.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import chain, product, starmap
from typing import Any, NamedTuple, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from aucmax.basics.checks import check_array_of, is_whole, number
from aucmax.columns.axes import Axis, Cells
from aucmax.columns.cycles import cycle_cells, cycle_functions, cycle_start, cycles_in
from aucmax.columns.encoder import as_csr
from aucmax.columns.functions import Feature, Function, Product, as_read
from aucmax.columns.hat_prior import prior_root
from aucmax.columns.maps import MapPlaces, map_features
from aucmax.columns.preparations import CYCLES, Entries
from aucmax.columns.steps import Pair, Places, Step
from aucmax.columns.summaries import Coded, TableSummary, cells
from aucmax.data.columns import Column, Words, named, other_than_numbers
from aucmax.data.decisions import Decision

__all__ = ["AdditiveFeatures", "Block", "relevance"]

Floats = NDArray[np.float64]

_LEAST_RELEVANCE = 1e-4  # the least gain that counts, as a share of the mean gain
_TRENDS = {1: "rises", -1: "falls"}


class Block(NamedTuple):
    """A range of features that belong together.

    Parameters
    ----------
    features : slice
    kind : int
        0 for lines and levels, 1 for the hats of a curve, 2 for a map.
    columns : tuple of int
        The axes on which they depend, one or two.
    """

    features: slice
    kind: int
    columns: tuple[int, ...]


class AdditiveFeatures(TransformerMixin, BaseEstimator):
    """The features of a sum of curves and of maps of pairs, for any table.

    Parameters
    ----------
    pairs : sequence of (str or int, str or int)
        The pairs of columns that have a map, by name or position.
    n_knots, map_knots : int
        Maximum number of knots of a curve, and along each column of a map, at quantiles of the
        values. Columns with fewer different values have a knot at each value.
    min_level_rows, max_levels, map_levels : int
        Words of a column with fewer rows share one level, as do words beyond the ``max_levels``
        most frequent; maps have at most ``map_levels`` separate levels.
    curves : bool
        Whether numbers have curves rather than only lines.

    Attributes
    ----------
    axes_ : list of Axis
        The axes of curves and maps: one for each column, then one for each cycle of a date.
    cycles_ : list of (int, str)
        The weekdays and times of day that vary: the position of the date, "weekday" or "hour".
    pairs_ : list of (int, int)
        The pairs of axes that have a map.
    alphas_ : ndarray, shape (3,)
        In a fitted `AdditiveAUCClassifier`: α for each kind of feature.
    relevance_ : list of ndarray
        The prior variance of lines and levels, (axes,), of curves, (axes,), and of maps, (pairs,):
        1, or the result of a fitted `AdditiveAUCClassifier`.
    trends_ : list of (int, int)
        In a fitted `AdditiveAUCClassifier`: the columns with which its score only rises, with 1, or
        only falls, with −1.
    columns_ : tuple of Column
        The columns that are not plain numbers.
    n_features_in_, feature_names_in_
        As in scikit-learn.
    """

    def __init__(
        self,
        pairs: Sequence[tuple[Any, Any]] = (),
        *,
        n_knots: int = 33,
        map_knots: int = 5,
        min_level_rows: int = 10,
        max_levels: int = 1000,
        map_levels: int = 8,
        curves: bool = True,
    ) -> None:
        self.pairs = pairs
        self.n_knots = n_knots
        self.map_knots = map_knots
        self.min_level_rows = min_level_rows
        self.max_levels = max_levels
        self.map_levels = map_levels
        self.curves = curves

    def fit(self, X: Any, y: Any = None) -> Self:
        """Place the knots and choose the levels; labels are not needed.

        Parameters
        ----------
        X : data frame or array, shape (n, d)
            Numbers, words, dates; None and NaN are gaps.
        y : ignored

        Raises
        ------
        ValueError
            If a column mixes words with other values or contains infinity, or a pair is wrong.
        """
        for name, low in (("n_knots", 2), ("map_knots", 2), ("map_levels", 1), ("max_levels", 1)):
            number(getattr(self, name), name, low=low, whole=True)
        columns = _columns_of(X)
        self.columns_ = other_than_numbers(columns)
        self.n_features_in_ = len(columns)
        for name in ("feature_names_in_", "alphas_"):
            self.__dict__.pop(name, None)
        if hasattr(X, "columns"):
            self.feature_names_in_ = np.array([c.name for c in columns], dtype=object)
        self.cycles_: list[tuple[int, str]] = []
        dates = [column.is_date for column in columns]
        self.cycles_ = [
            (j, cycle)
            for j, values in enumerate(self._cells(X))
            if dates[j] and not isinstance(values, Coded)
            for cycle in cycles_in(values)
        ]
        as_written = [isinstance(column, Words) and column.as_written for column in columns]
        as_written += [True] * len(self.cycles_)
        self.axes_ = [*map(self._axis, self._cells(X), as_written)]
        self.pairs_ = self.places_of(self.pairs)
        self.relevance_ = [np.ones(len(of)) for of in (self.axes_, self.axes_, self.pairs_)]
        self.trends_: list[tuple[int, int]] = []
        return self

    def with_trends(self, monotone: Mapping[Any, int]) -> Self:
        """Return the same features for scores that are monotone along some columns.

        Parameters
        ----------
        monotone : mapping of str or int to {1, −1}
            Columns by name or position.

        Raises
        ------
        ValueError
            If a sign or column does not exist, a column has words, or is named twice.
        """
        features = self.with_pairs(self.pairs_)
        features.trends_ = [self._trend(column, sign) for column, sign in monotone.items()]
        if len(dict(features.trends_)) < len(monotone):
            raise ValueError("monotone names a column twice, by its name and by its place.")
        return features

    def transform(self, X: Any) -> sp.csr_matrix:
        """Return rows as features, shape (n, number of features)."""
        values = [*self._cells(X)]
        of_curves = self._of_curves(values)
        Z = as_csr(of_curves, len(values[0]), self.blocks[-1 - len(self.pairs_)].features.stop)
        if not self.pairs_:
            return Z
        return sp.hstack([Z, self.maps(self._map_places(values))], format="csr")

    def placed(self, X: Any, coef: Floats) -> tuple[MapPlaces, Floats]:
        """Return the places of rows in maps, and their scores for some coefficients."""
        values = [*self._cells(X)]
        places = self._map_places(values)
        scores: Floats = sum(coef[e.place] * e.value for e in self._of_curves(values))
        if self.pairs_:
            maps = self.maps(places)
            scores = scores + maps @ coef[-maps.shape[1] :]
        return places, scores

    def of_block(self, block: Block, values: Cells) -> list[Entries]:
        """Return the features of a block that is not a map, for values of its axis."""
        axis = self.axes_[block.columns[0]]
        of_block = axis.hats(values) if block.kind else axis.linear(values)
        return [Entries(block.features.start + place, value) for place, value in of_block]

    def map_places(self, X: Any) -> MapPlaces:
        """Return the places of rows in maps."""
        return self._map_places([*self._cells(X)])

    def knot_places(self, X: Any) -> Iterator[tuple[Axis, NDArray[np.intp]]]:
        """Yield each axis with a curve, and the knot nearest to each row, −1 for gaps."""
        for axis, values in zip(self.axes_, self._cells(X), strict=True):
            if axis.bends and not isinstance(values, Coded):
                yield axis, axis.nearest_knots(values)

    def maps(self, places: MapPlaces) -> sp.csr_matrix:
        """Return the features of maps, which come last, for rows at these places."""
        return map_features(places, self.pairs_, self.n_places)

    def places_of(self, pairs: Iterable[tuple[Any, Any]]) -> list[tuple[int, int]]:
        """Return pairs of axes, given by name or position; raise ValueError for wrong pairs."""
        places = [self._places(pair) for pair in pairs]
        if len(set(places)) < len(places):
            i, j = next(pair for pair in places if places.count(pair) > 1)
            raise ValueError(f"pairs name {(self.axis_names[i], self.axis_names[j])!r} twice.")
        return places

    @property
    def n_places(self) -> NDArray[np.intp]:
        """The number of places in maps along each axis."""
        return np.array([axis.n_map for axis in self.axes_])

    def with_pairs(self, pairs: Iterable[tuple[int, int]]) -> Self:
        """Return the same features with other pairs, given by the positions of their axes."""
        features = type(self)(**self.get_params(deep=False))
        features.__dict__.update(self.__dict__)
        features.pairs_ = [*pairs]
        of_pairs = dict(zip(self.pairs_, self.relevance_[2].tolist(), strict=True))
        of_maps = np.array([of_pairs.get(pair, 1.0) for pair in features.pairs_])
        features.relevance_ = [*self.relevance_[:2], of_maps]
        names = self.axis_names
        features.pairs = [(names[i], names[j]) for i, j in features.pairs_]
        return features

    def lines(self) -> Self:
        """Return the same features without curves and maps."""
        features = self.with_pairs(())
        features.curves = False
        return features

    @property
    def blocks(self) -> list[Block]:
        """The features: lines and levels of all columns, hats of all columns, then the maps."""
        blocks, start = list[Block](), 0
        sizes = [((j,), 0, axis.n_linear) for j, axis in enumerate(self.axes_)]
        sizes += [
            ((j,), 1, len(a.knots)) for j, a in enumerate(self.axes_) if a.bends and self.curves
        ]
        maps = [((i, j), 2, self.axes_[i].n_map * self.axes_[j].n_map) for i, j in self.pairs_]
        for columns, kind, size in [*sizes, *maps]:
            blocks.append(Block(slice(start, start + size), kind, columns))
            start += size
        return blocks

    @property
    def axis_names(self) -> list[str]:
        """The names of the columns, and those of the cycles of dates, such as "visit: hour"."""
        return [*self._named, *(f"{self._named[j]}: {cycle}" for j, cycle in self.cycles_)]

    @property
    def owners(self) -> list[int]:
        """The column of each axis."""
        return [*range(self.n_features_in_), *(j for j, _ in self.cycles_)]

    @property
    def n_features(self) -> int:
        """The number of features."""
        return self.blocks[-1].features.stop

    @property
    def prepared_columns(self) -> list[tuple[Column, list[Axis]]]:
        """The columns, each with its own axis and those of its cycles."""
        columns, owners = [*named(self._named, self.columns_)], np.array(self.owners)
        of_columns = (np.flatnonzero(owners == j).tolist() for j in range(len(columns)))
        return [
            (c, [self.axes_[k] for k in axes]) for c, axes in zip(columns, of_columns, strict=True)
        ]

    def kinds(self) -> NDArray[np.intp]:
        """Return the kind of each feature: see `Block`."""
        return np.repeat(
            [b.kind for b in self.blocks], [b.features.stop - b.features.start for b in self.blocks]
        )

    def prior_deviations(self) -> Floats:
        """Return the prior standard deviation of each feature, the root of its relevance."""
        of_blocks = [
            self.relevance_[b.kind][b.columns[0]] for b in self.blocks if b.kind < 2
        ] + self.relevance_[2].tolist()
        sizes = [b.features.stop - b.features.start for b in self.blocks]
        return np.repeat(np.sqrt(of_blocks), sizes)

    def roots(self, share: float = 1.0) -> sp.csc_matrix:
        """Return T, block by block, such that T Tᵀ is the prior covariance of the coefficients.

        Parameters
        ----------
        share : float
            The share of each block's variance to keep: T has no columns for the smallest principal
            axes of the covariance.
        """
        row, column = 0, 0
        rows, columns, data = list[Floats](), list[Floats](), list[Floats]()
        for block in self.blocks:
            root = self._root(block, share)
            rows.append(row + root.coords[0])
            columns.append(column + root.coords[1])
            data.append(root.data)
            row, column = row + root.shape[0], column + root.shape[1]
        entries = np.concatenate(data), (np.concatenate(rows), np.concatenate(columns))
        T = sp.csc_matrix(entries, shape=(row, column))
        return (sp.diags(self.prior_deviations()) @ T).tocsc()

    def coordinates(self) -> Any:
        """Return T, (D, D): with the penalty ‖u‖²/2, the coefficients T u have the prior and its α.

        The features must be those of a fitted model.
        """
        return (self.roots() @ sp.diags(self.alphas_[self.kinds()] ** -0.5)).tocsc()

    def ranges(self, coef: Floats) -> dict[str, float]:
        """Return how far each column and pair moves the score: the highest minus the lowest value.

        Parameters
        ----------
        coef : ndarray, shape (D,)
            The coefficients; values at knots, levels and cells of maps count, those at gaps do not.
        """
        names = self.axis_names
        cells = [Coded.of(np.array(a.words, object)) if a.is_text else a.knots for a in self.axes_]
        added = [np.zeros(1) for _ in names]
        of_maps = dict[str, float]()
        for block in self.blocks:
            j = block.columns[0]
            if block.kind == 2:
                pair = " × ".join(names[k] for k in block.columns)
                of_maps[pair] = float(np.ptp(coef[block.features]))
                continue
            for place, value in self.of_block(block, cells[j]):
                added[j] = added[j] + coef[place] * value
        of_columns = (float(np.ptp(values)) if len(values) else 0.0 for values in added)
        return dict(zip(names, of_columns, strict=True)) | of_maps

    def purified(self, coef: Floats, mass: Floats) -> tuple[Floats, float]:
        """Return the same score with maps whose mean is zero along each of their columns.

        The effect of a single column in a map is moved to the curve of that column.

        Parameters
        ----------
        coef : ndarray, shape (D,)
            Coefficients of the features.
        mass : ndarray, shape (D,)
            The weighted sum of each feature over the rows.

        Returns
        -------
        coef : ndarray, shape (D,)
        constant : float
            The constant to add to all scores.
        """
        if not self.pairs_:
            return coef.copy(), 0.0
        pure = self.purification(mass) @ coef
        return pure[1:], float(pure[0])

    def purification(self, mass: Floats) -> sp.csr_matrix:
        """Return P, (1 + D, D): P times coefficients is the constant and the pure coefficients.

        Parameters
        ----------
        mass : ndarray, shape (D,)
            As for `purified`.
        """
        of_column = {(b.kind, b.columns[0]): b.features for b in self.blocks if b.kind < 2}
        curves = {j: self.curve_of_places(j) for j in {*chain.from_iterable(self.pairs_)}}
        P = sp.vstack([sp.csr_matrix((1, self.n_features)), sp.eye(self.n_features)]).tolil()
        for block in self.blocks:
            if block.kind < 2:
                continue
            effects = self.margins(block, mass)
            added = effects[0][:, None] + effects[1]
            size = block.features.stop - block.features.start
            P[_after(block.features), block.features] -= added.reshape(size, size)
            for j, effect in zip(block.columns, effects, strict=True):
                constant, linear, hats = (part @ effect for part in curves[j])
                P[0, block.features] += constant
                P[_after(of_column[0, j]), block.features] += linear
                if len(hats):
                    P[_after(of_column[1, j]), block.features] += hats
        return P.tocsr()

    def margins(self, block: Block, mass: Floats) -> tuple[Floats, Floats]:
        """Return the effects that move from a map to the curves of its columns, per coefficient.

        Parameters
        ----------
        block : Block
        mass : ndarray, shape (D,)
            As for `purified`.

        Returns
        -------
        tuple of ndarray, shape (places of a column, size of the block)
        """
        shape = [self.axes_[j].n_map for j in block.columns]
        units = np.eye(math.prod(shape)).reshape(*shape, -1)
        return _margins(units, mass[block.features].reshape(shape))

    def curve_of_places(self, j: int) -> list[Floats]:
        """Return `Axis.on_curve` as matrices that multiply effects: its results are linear."""
        units = map(self.axes_[j].on_curve, np.eye(self.axes_[j].n_map))
        return [np.array(part).T for part in zip(*units, strict=True)]

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Return the names of the features: the names of their columns, with a number."""
        check_is_fitted(self)
        axes = self.axis_names
        names = [
            f"{' × '.join(axes[j] for j in b.columns)}_{['line', 'hat', 'map'][b.kind]}{k}"
            for b in self.blocks
            for k in range(b.features.stop - b.features.start)
        ]
        return np.array(names, dtype=object)

    def decisions(self) -> list[Decision]:
        """Return the decisions of the fit, one for each column that needed some."""
        check_is_fitted(self)
        texts = []
        for j, (name, axis) in enumerate(zip(self._named, self.axes_, strict=False)):
            cycles = [cycle for owner, cycle in self.cycles_ if owner == j]
            date = [f"a date: days, {' and '.join(cycles)}".replace("hour", "time of day")]
            texts.append((name, "; ".join([*(date if cycles else []), *axis.told()])))
        decisions = [Decision(name, text, {"drop": [name]}) for name, text in texts if text]
        trends = [(self._named[j], _TRENDS[sign]) for j, sign in self.trends_]
        return decisions + [Decision(j, f"the score only {trend} with it") for j, trend in trends]

    # ---- inside --------------------------------------------------------------------------

    def check_state(self) -> None:
        """Raise ValueError unless a fit could have led to this state."""
        if not hasattr(self, "axes_"):
            return
        columns, axes, d = self.columns_, self.axes_, self.n_features_in_
        if hasattr(self, "alphas_"):
            check_array_of(self.alphas_, (3,), "alphas")
        if not isinstance(columns, tuple) or not all(isinstance(c, Column) for c in columns):
            raise ValueError("its columns are not columns")
        cycles = [is_whole(j) and j < d and cycle in CYCLES for j, cycle in self.cycles_]
        if not isinstance(axes, list) or len(axes) != d + len(cycles) or len(self._named) != d:
            raise ValueError(f"it does not have axes for its {d} columns")
        if not all(cycles):
            raise ValueError("its cycles are not those of dates")
        text = [column.is_text for column in named(self._named, columns)]
        text += [cycle == "weekday" for _, cycle in self.cycles_]
        for name, is_text, axis in zip(self.axis_names, text, axes, strict=True):
            if not isinstance(axis, Axis) or axis.is_text != is_text:
                raise ValueError(f"its axis for the column {name!r} is of another kind")
        for j, sign in self.trends_:
            if not is_whole(j) or not j < d or axes[j].is_text or sign not in _TRENDS:
                raise ValueError("its score is monotone in what is not a column of numbers")
        for i, j in self.pairs_:
            if not is_whole(i) or not is_whole(j) or not i < j < len(axes):
                raise ValueError("its pairs are not pairs of columns")
        sizes = len(axes), len(axes), len(self.pairs_)
        for size, of_kind in zip(sizes, self.relevance_, strict=True):
            check_array_of(of_kind, (size,), "relevance", low=0.0)

    @property
    def _named(self) -> list[str]:
        names = getattr(self, "feature_names_in_", None)
        return [f"x{j}" for j in range(self.n_features_in_)] if names is None else names.tolist()

    def _cells(self, X: Any) -> Iterator[Cells]:
        if not hasattr(X, "columns"):
            X = X.toarray() if sp.issparse(X) else np.asarray(X)
            if X.ndim != 2 or X.shape[1] != self.n_features_in_:
                raise ValueError(
                    f"X has {X.shape[-1] if X.ndim == 2 else 'no'} features, but "
                    f"{type(self).__name__} is expecting {self.n_features_in_} features as input."
                )
        of_columns = [*cells(X, [*named(self._named, self.columns_)])]
        yield from of_columns
        for j, cycle in self.cycles_:
            days = of_columns[j]
            assert not isinstance(days, Coded)
            yield cycle_cells(cycle, days)

    def _axis(self, values: Cells, as_written: bool) -> Axis:
        if isinstance(values, Coded):
            limits = self.min_level_rows, self.max_levels, self.map_levels
            return Axis.of_words(values, as_written, *limits)
        return Axis.of_numbers(values, self.n_knots, self.map_knots)

    def _places(self, pair: tuple[Any, Any]) -> tuple[int, int]:
        if isinstance(pair, str) or np.shape(pair) != (2,):
            raise ValueError(f"each pair must have two columns; got {pair!r}.")
        places = [self._place(column, self.axis_names, "pairs name") for column in pair]
        if places[0] == places[1]:
            raise ValueError(f"pairs name the column {pair[0]!r} twice; a pair needs two columns.")
        return min(places), max(places)

    def _place(self, column: Any, names: list[str], setting: str) -> int:
        if isinstance(column, (int, np.integer)) and 0 <= column < len(names):
            return int(column)
        if column not in names:
            raise ValueError(f"{setting} the column {column!r}, which the table does not have.")
        return names.index(column)

    def _trend(self, column: Any, sign: Any) -> tuple[int, int]:
        j = self._place(column, self._named, "monotone names")
        if self.axes_[j].is_text:
            raise ValueError(f"monotone names {column!r}, a column of words, which have no order.")
        if isinstance(sign, bool) or sign not in (1, -1):
            raise ValueError(
                f"monotone[{column!r}] must be 1, for a score that only rises with the column, or "
                f"-1, for one that only falls; got {sign!r}."
            )
        return j, int(sign)

    def _of_curves(self, values: Sequence[Cells]) -> list[Entries]:
        blocks = (block for block in self.blocks if block.kind < 2)
        return [e for block in blocks for e in self.of_block(block, values[block.columns[0]])]

    def _map_places(self, values: Sequence[Cells]) -> MapPlaces:
        of_columns = zip(self.axes_, values, strict=True)
        return MapPlaces.of_columns([axis.map_places(own) for axis, own in of_columns])

    def _root(self, block: Block, share: float) -> sp.coo_array:
        axes = [self.axes_[j] for j in block.columns]
        if block.kind == 0:
            return _identity(axes[0].n_linear)
        if block.kind == 1:
            return prior_root(((len(axes[0].knots), 0, False),), share)
        return prior_root(tuple(axis.map_size for axis in axes), share)


@cache
def _identity(k: int) -> sp.coo_array:
    return sp.eye_array(k, format="coo")


def relevance(gains: Floats, power: float) -> Floats:
    """Return the prior variances of some blocks, given how much each alone lowers the loss.

    Parameters
    ----------
    gains : ndarray, shape (m,)
    power : float
        A variance is (gain / mean of the gains above 0) to this power.
    """
    mean = gains[gains > 0.0].mean() if (gains > 0.0).any() else 1.0
    return np.maximum(gains / mean, _LEAST_RELEVANCE) ** power


def _columns_of(X: Any) -> list[Column]:
    if hasattr(X, "columns"):
        columns = [*TableSummary.columns_of(X)]
        names = [column.name for column in columns]
        if twice := next((name for name in names if names.count(name) > 1), None):
            raise ValueError(f"two columns are called {twice!r}; names must differ.")
        return columns
    shape = np.shape(X)
    if len(shape) != 2:
        raise ValueError(f"Expected 2D array, got an array of shape {shape} instead.")
    return [Column(f"x{j}") for j in range(shape[1])]


def _after(features: slice) -> slice:
    """Return the rows for features in a matrix whose first row is for a constant."""
    return slice(features.start + 1, features.stop + 1)


def _margins(values: Floats, mass: Floats) -> tuple[Floats, Floats]:
    """Fit to each map the sum of a function of rows and a function of columns, weighted by mass.

    The residuals have mean zero, weighted by mass, in each row and each column.

    Parameters
    ----------
    values : ndarray, shape (k, l, number of maps)
    mass : ndarray, shape (k, l)
    """
    of_rows, of_columns = mass.sum(axis=1), mass.sum(axis=0)
    matrix = np.block([[np.diag(of_rows), mass], [mass.T, np.diag(of_columns)]])
    weighed = mass[:, :, None] * values
    right = np.concatenate([weighed.sum(axis=1), weighed.sum(axis=0)])
    effects = np.linalg.lstsq(matrix, right, rcond=None)[0]
    return effects[: len(values)], effects[len(values) :]


class _AdditiveFeatures(Step, of=[AdditiveFeatures]):
    file_types = (AdditiveFeatures, Axis)
    results = ("axes_", "cycles_", "pairs_", "relevance_", "trends_", "columns_", "n_features_in_")
    encodes = True
    takes_tables = True

    @property
    def pairs(self) -> Sequence[Pair]:
        features = self.fitted
        cycles = [""] * features.n_features_in_ + [cycle for _, cycle in features.cycles_]
        owners = features.owners
        return [Pair((owners[i], owners[j]), (cycles[i], cycles[j])) for i, j in features.pairs_]

    def columns(self, columns: Places) -> Places:
        features = self.fitted
        if self.pairs and not np.array_equal(columns, np.arange(features.n_features_in_)):
            return super().columns(columns)
        terms = [*columns.tolist(), *(-1 - k for k in range(len(self.pairs)))]
        blocks, d = features.blocks, features.n_features_in_
        of_blocks = [features.owners[b.columns[0]] for b in blocks if b.kind < 2]
        of_blocks += range(d, len(terms))
        sizes = [block.features.stop - block.features.start for block in blocks]
        return np.repeat(np.array(terms, dtype=np.intp)[of_blocks], sizes)

    def coordinates(self, mass: Floats) -> Any:
        features = self.fitted
        if not hasattr(features, "alphas_"):
            return None
        return features.purification(mass)[1:] @ features.coordinates()

    def features(self, features: list[Feature]) -> list[Feature | Product]:
        by_kind = (Axis.linear_functions, Axis.hat_functions, Axis.map_functions)

        @cache
        def of(j: int, kind: int) -> list[Feature]:
            return self._of_axis(j, features, by_kind[kind])

        parts: list[Feature | Product] = []
        for block in self.fitted.blocks:
            factors = [of(j, block.kind) for j in block.columns]
            parts += starmap(Product, product(*factors)) if block.kind == 2 else factors[0]
        return parts

    def places(self, features: list[Feature]) -> list[Feature]:
        """Return the nearest place in maps along each axis, as a function of its column."""
        axes = range(len(self.fitted.axes_))
        return [f for j in axes for f in self._of_axis(j, features, Axis.place_functions)]

    def _of_axis(
        self, j: int, features: list[Feature], of: Callable[[Axis, Function], list[Function]]
    ) -> list[Feature]:
        """Return the features of an axis, of a column or its cycle, as functions of the column."""
        axis, column = self.fitted.axes_[j], features[self.fitted.owners[j]]
        read = as_read(column.function)
        if j < len(features):
            return [replace(column, function=function) for function in of(axis, read)]
        _, cycle = self.fitted.cycles_[j - len(features)]
        repeated = cycle_functions(cycle, of(axis, cycle_start(cycle)))
        return [replace(column, function=read.then(function)) for function in repeated]

    def cycles(self) -> list[str]:
        features = self.fitted
        cycles = [""] * features.n_features_in_ + [cycle for _, cycle in features.cycles_]
        return [
            cycles[block.columns[0]] if block.kind < 2 else ""
            for block in features.blocks
            for _ in range(block.features.stop - block.features.start)
        ]

    def for_rivals(self, rows: Any, features: Any) -> Any:
        return self.fitted.lines().transform(rows)

    def taken(self, columns: Sequence[Column]) -> Iterator[Column]:
        own = named(self.fitted._named, self.fitted.columns_)
        for column, kind in zip(columns, own, strict=True):
            yield replace(kind, name=column.name, gaps=True)
