"""Class moments by queries: the data are summed in place.

A frame or relation that narwhals supports (Polars, DuckDB, PySpark, Dask, Ibis, pandas, Arrow) is
queried twice. The first query computes Σw, Σwx and the range of each class and feature. They
define a centre c in the range, and a scale s, a power of two that is at least the width. The second
query computes Σwzzᵀ for z = (1, (x − c)/s): products of deviations from the centre, which avoid
cancellation however far the features are from zero. Whatever the rounding of c in the first query,
with Σwz the sums of (x − c)/s,

    mean = c + s Σwz/Σw,    covariance = s sᵀ (Σwzzᵀ/Σw − (Σwz/Σw)(Σwz/Σw)ᵀ).

An engine adds numbers one by one, and may have lost half the digits after 100 million positive
numbers. So the weights of a class are divided by a power of two, such that they sum to at most 1,
and every product is split into a multiple of 2⁻⁴⁹ and a rest: sums of the multiples are exact, and
the rests are small.

The products are divided among several queries. A matrix product of batches of rows is faster than
single products, so with more than `MAX_FEATURES` features batches are read instead; or with more
than `MAX_LOCAL_FEATURES` if the engine runs in this process, so that rows need not be transferred.
"""

import math
from collections.abc import Collection, Iterable, Iterator, Sequence
from copy import copy
from fractions import Fraction
from itertools import combinations_with_replacement, product
from typing import Any, NamedTuple

import numpy as np

from aucmax.basics.checks import LARGEST
from aucmax.data.strata import StrataWeight
from aucmax.statistics.base import Part
from aucmax.statistics.relation import Relation, plain
from aucmax.statistics.strata import KnownStrata
from aucmax.statistics.strata_query import StrataOfTable, batches_of_strata

__all__ = ["MAX_FEATURES", "MAX_LOCAL_FEATURES", "TILE_FEATURES", "Batches", "Queried", "query"]

MAX_FEATURES = 200  # queries are used for up to so many features
MAX_LOCAL_FEATURES = 20  # the same for DuckDB and Polars
TILE_FEATURES = 12  # features in a block; a query computes the products of two blocks


class Queried(NamedTuple):
    """The result of the queries: feature names, and labels with the arrays of their classes.

    With strata, ``labels`` has both labels even if no rows can be compared.
    """

    feature_names: list[str]
    classes: list[tuple[Any, Part]]
    labels: list[Any]
    strata: KnownStrata | None = None


class Batches(NamedTuple):
    """The names of the features, and the rows as (X, y, weight, strata).

    With strata, batches consist of whole strata, and ``labels`` has the labels of all rows.
    """

    feature_names: list[str]
    rows: Iterator[tuple[np.ndarray, np.ndarray, np.ndarray | None, list[Any] | None]]
    labels: list[Any] | None = None


def query(
    frame: Any,
    target: str,
    features: Sequence[str] | None,
    weight: str | None,
    strata: str | None = None,
    strata_weight: StrataWeight = "positives",
) -> Queried | Batches:
    """Return the moments of both classes of a frame, or its rows if there are many features.

    Parameters are those of `ClassMoments.from_query`.
    """
    source = _Source(frame, target, features, weight, strata)
    if len(source.features) > source.max_features:
        source.check_digits()
        labels = None if strata is None else source.labels_of_strata()
        return Batches(source.features, source.rows(), labels)
    labels, squares, around = source.centres()
    if strata is None:
        classes = source.parts(labels, squares, around)
        return Queried(source.features, classes, [label for label, _ in classes])
    of_table = StrataOfTable(source, source.table, source.x, labels, strata_weight)
    all_strata, classes = of_table.known(), []
    if all_strata.of_one_class < len(all_strata):
        seen_rows = source.replaced(of_table.seen)
        pairs = zip(seen_rows.parts(*seen_rows.centres()), of_table.parts(), strict=True)
        classes = [(label, part | of_strata) for (label, part), of_strata in pairs]
    return Queried(source.features, classes, [plain(label) for label in labels], all_strata)


class Around(NamedTuple):
    """Centres and scales of the features in each class, shape (K, d).

    Scales are powers of two, and so are ``weights``, shape (K,), the scales of the class weights.
    """

    centres: np.ndarray
    scales: np.ndarray
    weights: np.ndarray


class _Source(Relation):
    """A frame with the columns ``y``, ``w`` and ``x0`` … as numbers."""

    def __init__(
        self,
        frame: Any,
        target: str,
        features: Sequence[str] | None,
        weight: str | None,
        strata: str | None,
    ) -> None:
        keys = [] if strata is None else [strata]
        super().__init__(frame, target, weight, [*keys, *(features or ())])
        nw, schema, self.strata = self.nw, self.schema, strata
        roles = {target: "target", weight: "weights", strata: "strata"}
        most = MAX_LOCAL_FEATURES if self.in_process else MAX_FEATURES
        self.max_features = -1 if self.eager else most
        if features is None:
            features = [name for name in schema if name not in roles]
        for name in features:
            if name in roles:
                raise ValueError(
                    f"the column {name!r} has the {roles[name]}, so it cannot be a feature."
                )
        if len(set(features)) < len(features):
            duplicate = next(name for name in features if list(features).count(name) > 1)
            raise ValueError(f"the feature {duplicate!r} is named twice.")
        self.features = list(features)
        if not self.features:
            raise ValueError(f"there is no feature besides the target {target!r}.")
        words = [
            f"{name!r} ({schema[name]})"
            for name in self.features
            if not (schema[name].is_numeric() or schema[name] == nw.Boolean)
        ]
        if words:
            raise ValueError(
                f"columns that are not numbers: {', '.join(words)}; convert them to numbers, or "
                "name the columns to use in `features`."
            )
        self.x = [f"x{j}" for j in range(len(self.features))]
        columns = [self.number(name) for name in self.features]
        named = [column.alias(x) for column, x in zip(columns, self.x, strict=True)]
        # unconverted columns that may have more digits than double precision
        self.long = {
            name: f"long{j}" for j, name in enumerate(self.features) if _is_long(schema[name], nw)
        }
        long = [nw.col(name).alias(as_is) for name, as_is in self.long.items()]
        keys = [nw.col(name).alias("g") for name in keys]
        self.table = self.native.select(*self.labels, *named, *long, *keys)

    def replaced(self, table: Any) -> "_Source":
        """Return the same columns of another table, without strata and in double precision."""
        source = copy(self)
        source.table, source.strata, source.long = table, None, {}
        return source

    # ---- queries

    def parts(
        self, labels: list[Any], squares: np.ndarray, around: "Around"
    ) -> list[tuple[Any, Part]]:
        """Return the labels with weight above 0, and their arrays; arguments as from `centres`."""
        classes = []
        for k, sums in enumerate(self.products(labels, around)):
            total, scale = sums[0, 0], around.scales[k]
            if total > 0.0:
                off = sums[0, 1:] / total
                S = sums[1:, 1:] / total - np.outer(off, off)
                S[np.diag_indices(len(S))] = np.maximum(np.diag(S), 0.0)
                part = {
                    "counts": total * around.weights[k],
                    "squares": squares[k],
                    "means": around.centres[k] + scale * off,
                    "covariances": np.outer(scale, scale) * S,
                }
                classes.append((plain(labels[k]), part))
        return classes

    def labels_of_strata(self) -> list[Any]:
        """Return the two labels; raise ValueError if rows have no stratum."""
        nw = self.nw
        missing = self.indicator(self._stratum_missing()).alias("bad_g")
        rows = self.table.lazy().select("y", missing)
        table = self.collected(rows.group_by("y").agg(nw.col("bad_g").sum()))
        self._refuse_missing_strata(table)
        return _two_labels(self.target, table["y"])

    def _stratum_missing(self) -> Any:
        """Return an expression that is true for rows without a stratum."""
        g, dtype = self.nw.col("g"), self.schema[self.strata]
        return g.is_null() | g.is_nan() if dtype.is_float() else g.is_null()

    def _refuse_missing_strata(self, table: dict[str, list[Any]]) -> None:
        """Raise ValueError if rows have no stratum, given their counts by label."""
        if missing := sum(table["bad_g"]):
            raise ValueError(
                f"the stratum {self.strata!r} is missing in {missing:,} rows; leave these out."
            )

    def centres(self) -> tuple[list[Any], np.ndarray, Around]:
        """Return the two labels, Σw² of each class, shape (K,), and the centres of its features.

        Raises ValueError for missing values.
        """
        nw, w = self.nw, self.nw.col("w")
        invalid = {"w": self.not_finite(w) | (w < 0.0)} | {
            x: self.not_finite(nw.col(x)) for x in self.x
        }
        if self.strata is not None:
            invalid["g"] = self._stratum_missing()
        counts = [self.indicator(value).alias(f"bad_{name}") for name, value in invalid.items()]
        valid = [nw.when(~invalid[name]).then(nw.col(name)).alias(name) for name in ("w", *self.x)]
        sums = (
            self.table.select("y", *counts, *valid, *self.long.values())
            .with_columns((w * w).alias("ww"), *((w * nw.col(x)).alias(f"w{x}") for x in self.x))
            .group_by("y")
            .agg(
                *(nw.col(name).sum() for name in ("w", "ww")),
                *(nw.col(f"bad_{name}").sum() for name in invalid),
                *(nw.col(f"w{x}").sum() for x in self.x),
                *self._ends([*self.x, *self.long.values()]),
            )
            .head(_MAX_LABELS + 1)
        )
        table = self.collected(self._ends_as_words(sums))
        labels = _two_labels(self.target, table["y"])
        missing = [sum(table[f"bad_{x}"]) for x in self.x]
        _refuse(dict(zip(self.features, missing, strict=True)))
        self.refuse_weights(sum(table["bad_w"]))
        if self.strata is not None:
            self._refuse_missing_strata(table)
        self._refuse_lost_digits(table)
        order = [table["y"].index(label) for label in labels]

        def of_classes(names: list[str]) -> np.ndarray:
            # sums over no rows are None or NaN
            return np.nan_to_num(np.array([table[name] for name in names], dtype=float).T[order])

        total, squares = of_classes(["w"]), of_classes(["ww"])[:, 0]
        low, high = (of_classes([f"{end}{x}" for x in self.x]) for end in _ENDS)
        means = of_classes([f"w{x}" for x in self.x]) / np.where(total > 0.0, total, 1.0)
        around = Around(np.clip(means, low, high), _power(high - low), _power(total[:, 0]))
        return labels, squares, around

    def check_digits(self) -> None:
        """Raise ValueError, as `centres` does, for columns with too many digits."""
        if self.long:
            lazy = self.table.lazy().select(*self._ends(self.long.values()))
            self._refuse_lost_digits(self.collected(self._ends_as_words(lazy)))

    def _ends(self, names: Iterable[str]) -> list[Any]:
        col = self.nw.col
        return [getattr(col(name), end)().alias(end + name) for name in names for end in _ENDS]

    def _ends_as_words(self, sums: Any) -> Any:
        """Cast the ends of exact numbers to text, as Arrow has no type for arbitrary precision."""
        ends = [end + as_is for as_is in self.long.values() for end in _ENDS]
        if self.eager or not ends:
            return sums
        return sums.with_columns(*(self.nw.col(name).cast(self.nw.String) for name in ends))

    def _refuse_lost_digits(self, table: dict[str, list[Any]]) -> None:
        """Raise ValueError for exact numbers with more digits than double precision."""
        for name, as_is in self.long.items():
            values = [value for end in _ENDS for value in table[f"{end}{as_is}"]]
            ends = [value for value in values if value is not None and math.isfinite(float(value))]
            exact = [Fraction(value) for value in ends] or [Fraction(0)]
            size, spread = max(map(abs, exact)), max(exact) - min(exact)
            rounding = Fraction(float(np.spacing(float(size)))) / 2
            integers = all(value.denominator == 1 for value in exact)
            if rounding > _MAX_ROUNDING_SHARE * spread > 0 and not (
                integers and size <= _MAX_EXACT_INTEGER
            ):
                lowest, highest = min(ends, key=Fraction), max(ends, key=Fraction)
                raise ValueError(
                    f"the values of {name!r} are between {lowest} and {highest}, where "
                    f"numbers of double precision are {2 * float(rounding):.2g} apart: subtract "
                    f"{lowest} from the column first."
                )

    def products(self, labels: list[Any], around: Around) -> np.ndarray:
        """Return Σwzzᵀ (K, d+1, d+1), with scaled weights; z begins with 1."""
        nw, d = self.nw, len(self.x)
        products = np.zeros((len(labels), d + 1, d + 1))
        second = nw.col("y") == labels[1]

        def scaled(name: str, centres: np.ndarray, scales: np.ndarray) -> Any:
            at_first, at_second = (
                (nw.col(name) - float(centre)) * float(1.0 / scale)
                for centre, scale in zip(centres, scales, strict=True)
            )
            return nw.when(second).then(at_second).otherwise(at_first)

        w = scaled("w", np.zeros(len(labels)), around.weights).alias("w")
        z = [self.one.alias("z0")] + [
            scaled(x, around.centres[:, j], around.scales[:, j]).alias(f"z{j + 1}")
            for j, x in enumerate(self.x)
        ]
        tiles = [range(lo, min(lo + TILE_FEATURES, d + 1)) for lo in range(0, d + 1, TILE_FEATURES)]
        for tile, partner in combinations_with_replacement(tiles, 2):
            pairs = {f"{i}_{j}": (i, j) for i, j in product(tile, partner) if i <= j}
            terms = [
                (nw.col("w") * nw.col(f"z{i}") * nw.col(f"z{j}") * _UNITS).alias(name)
                for name, (i, j) in pairs.items()
            ]
            floors = [nw.col(name).floor().cast(nw.Float64).alias(f"whole{name}") for name in pairs]
            rests = [(nw.col(name) - nw.col(f"whole{name}")).alias(f"rest{name}") for name in pairs]
            table = self.collected(
                self.table.select("y", w, *(z[j] for j in sorted({*tile, *partner})))
                .select("y", *terms)
                .with_columns(*floors)
                .with_columns(*rests)
                .group_by("y")
                .agg(*(nw.col(f"{part}{name}").sum() for name in pairs for part in _PARTS))
            )
            order = [table["y"].index(label) for label in labels]
            for name, (i, j) in pairs.items():
                sums = np.array([table[f"{part}{name}"] for part in _PARTS], dtype=float)
                whole_sum, rest_sum = sums[:, order]
                products[:, i, j] = products[:, j, i] = (whole_sum + rest_sum) / _UNITS
        return products

    # ---- rows

    def rows(
        self,
    ) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray | None, list[Any] | None]]:
        """Yield batches of rows, labels, weights and strata."""
        labels: set[Any] = set()
        keys = [] if self.strata is None else ["g"]
        table = self.table.select("y", "w", *keys, *self.x)
        for frame in batches_of_strata(self, table) if keys else self.batches(table):
            labels |= set(frame["y"].unique().to_list())
            _two_labels(self.target, labels, so_far=True)
            X = np.asarray(frame.select(self.x).to_numpy(), dtype=np.float64)
            w = np.asarray(frame["w"].to_numpy(), dtype=np.float64)
            invalid = np.sum(~(np.abs(X) <= LARGEST), axis=0).tolist()
            bad_weights = int(np.sum(~((w >= 0.0) & (w <= LARGEST))))
            _refuse(dict(zip(self.features, invalid, strict=True)))
            self.refuse_weights(bad_weights)
            if len(X):
                y = np.array([plain(label) for label in frame["y"].to_list()])
                strata = [plain(value) for value in frame["g"].to_list()] if keys else None
                yield X, y, None if self.weight is None else w, strata
        _two_labels(self.target, labels)


_MAX_LABELS = 20  # up to so many labels are counted and shown in an error
_UNITS = 2.0**49  # units in 1
_PARTS = ("whole", "rest")  # of every product
_ENDS = ("min", "max")  # of every column
_MAX_EXACT_INTEGER = 2**53  # in double precision
_MAX_ROUNDING_SHARE = Fraction(1, 10**10)  # largest rounding error, relative to a column's range


def _power(size: np.ndarray) -> np.ndarray:
    """Return powers of two that are at least ``size``, and whose inverses do not overflow."""
    return 2.0 ** np.clip(np.frexp(size)[1], -1000, 1000)


def _is_long(dtype: Any, nw: Any) -> bool:
    """Return whether a column has exact numbers with more digits than double precision."""
    return dtype in (nw.Int64, nw.UInt64, nw.Int128, nw.UInt128) or dtype == nw.Decimal


def _two_labels(target: str, labels: Collection[Any], so_far: bool = False) -> list[Any]:
    """Return the sorted labels; raise ValueError unless there are two, or may still be two."""
    if any(label is None or label != label for label in labels):
        raise ValueError(f"the target {target!r} is missing in some rows; leave these out.")
    if len(labels) > 2 or (len(labels) < 2 and not so_far):
        listed = ", ".join(repr(plain(label)) for label in sorted(labels))
        if len(labels) > _MAX_LABELS:
            number = f"more than {_MAX_LABELS}"
        else:
            number = f"{len(labels)}: {listed}" if labels else "0"
        raise ValueError(f"the target {target!r} must have two values; it has {number}.")
    return sorted(labels)


def _refuse(invalid: dict[str, int]) -> None:
    """Raise ValueError if values are missing, not finite or too large."""
    columns = [f"{name!r} in {count:,} rows" for name, count in invalid.items() if count]
    if columns:
        omitted = f", and {len(columns) - 5} more columns" if len(columns) > 5 else ""
        raise ValueError(
            f"values are missing, not finite or above {LARGEST:g}: {', '.join(columns[:5])}"
            f"{omitted}; fill them, or leave the columns or rows out."
        )
