"""Class moments by queries: the sums are taken where the data are.

A frame or relation that narwhals knows (Polars, DuckDB, PySpark, Dask, Ibis, pandas, Arrow) is
asked twice. The first query gives Σw and Σwx of each class, so a centre c of each class and
feature. The second gives, of z = (1, x − c), Σwzzᵀ: products of what is left around the centre, so
that nothing cancels however far the features are from zero. Then, whatever rounding the first query
left in c, with Σwx for the sums of x − c,

    mean = c + Σwx/Σw,    covariance = Σwxxᵀ/Σw − (Σwx/Σw)(Σwx/Σw)ᵀ.

An engine adds number to number, and after 100 million of them, all positive, may have lost half the
digits. So every product is divided into a multiple of a unit, 2⁻⁴⁹ of what the sum can be, and the
rest: sums of the multiples are exact, and rests are small.

Many products are divided into several queries. A matrix product of batches of rows is faster than
one product after the other, so with more than `MOST_FEATURES` batches are read instead; and with
more than `MOST_HERE` where the engine runs in this process, and rows have nowhere to travel.
"""

from collections.abc import Collection, Iterator, Sequence
from itertools import combinations_with_replacement, islice, product
from typing import Any, NamedTuple

import numpy as np

from aucmax.basics.checks import LARGEST
from aucmax.basics.needs import needs
from aucmax.statistics.base import Part

__all__ = ["MOST_FEATURES", "MOST_HERE", "TILE", "Batches", "Queried", "query"]

MOST_FEATURES = 200  # for which queries are made
MOST_HERE = 20  # the same for DuckDB and Polars
TILE = 12  # features of a block; a query takes the products of two blocks
_BATCH = 65_536  # rows of a batch


class Queried(NamedTuple):
    """What queries found: the names of the features, and labels with the arrays of their class."""

    feature_names: list[str]
    classes: list[tuple[Any, Part]]


class Batches(NamedTuple):
    """The names of the features, and the rows as (X, y, weight)."""

    feature_names: list[str]
    rows: Iterator[tuple[np.ndarray, np.ndarray, np.ndarray | None]]


def query(
    frame: Any, target: str, features: Sequence[str] | None, weight: str | None
) -> Queried | Batches:
    """Return the moments of both classes of a frame; or its rows, if features are many.

    Parameters are those of `ClassMoments.from_query`.
    """
    source = _Source(frame, target, features, weight)
    if len(source.features) > source.most:
        return Batches(source.features, source.batches())
    labels, squares, centres, bounds = source.centres()
    classes = []
    for k, sums in enumerate(source.products(labels, centres, bounds)):
        total = sums[0, 0]
        if total > 0.0:
            off = sums[0, 1:] / total
            S = sums[1:, 1:] / total - np.outer(off, off)
            S[np.diag_indices(len(S))] = np.maximum(np.diag(S), 0.0)
            part = {"counts": total, "squares": squares[k], "means": centres[k] + off}
            classes.append((labels[k], part | {"covariances": S}))
    return Queried(source.features, classes)


class _Source:
    """A frame of which the columns are known: ``y``, ``w`` and ``x0`` … as numbers."""

    def __init__(
        self, frame: Any, target: str, features: Sequence[str] | None, weight: str | None
    ) -> None:
        self.nw = nw = needs("narwhals", "a query")
        try:
            known = nw.from_native(frame)
        except TypeError:
            raise TypeError(
                f"{type(frame).__name__} is no frame or relation that narwhals knows: give one of "
                "Polars, DuckDB, PySpark, Dask, Ibis, pandas or Arrow."
            ) from None
        self.eager = isinstance(known, nw.DataFrame)
        here = known.implementation.is_polars() or known.implementation.is_duckdb()
        self.most = -1 if self.eager else MOST_HERE if here else MOST_FEATURES
        schema = known.collect_schema()
        for name in (target, *([] if weight is None else [weight]), *(features or ())):
            if name not in schema:
                raise ValueError(f"there is no column {name!r}; there are {', '.join(schema)}.")
        if features is None:
            features = [name for name in schema if name not in (target, weight)]
        for name in features:
            if name in (target, weight):
                what = "target" if name == target else "weights"
                raise ValueError(f"the column {name!r} holds the {what}, and is no feature.")
        if len(set(features)) < len(features):
            twice = next(name for name in features if list(features).count(name) > 1)
            raise ValueError(f"the feature {twice!r} is named twice.")
        self.target, self.weight, self.features = target, weight, list(features)
        if not self.features:
            raise ValueError(f"there is no feature beside the target {target!r}.")
        words = [
            f"{name!r} ({schema[name]})"
            for name in self.features
            if not (schema[name].is_numeric() or schema[name] == nw.Boolean)
        ]
        if words:
            raise ValueError(
                f"columns that are not numbers: {', '.join(words)}; turn them into numbers, or "
                "name the columns to take in `features`."
            )
        self.x = [f"x{j}" for j in range(len(self.features))]
        one = nw.lit(1.0) if weight is None else nw.col(weight).cast(nw.Float64)
        columns = [
            nw.col(name).cast(nw.Float64).alias(x)
            for name, x in zip(self.features, self.x, strict=True)
        ]
        self.table = known.select(nw.col(target).alias("y"), one.alias("w"), *columns)

    # ---- queries

    def centres(self) -> tuple[list[Any], np.ndarray, np.ndarray, np.ndarray]:
        """Return the two labels, and of each Σw² (K,), c (K, d) and what Σwzz′ can be (d+1, d+1).

        Raises ValueError for what is missing.
        """
        nw, w = self.nw, self.nw.col("w")
        bad = {"w": self._bad(w) | (w < 0.0)} | {x: self._bad(nw.col(x)) for x in self.x}
        counts = [value.cast(nw.Int64).alias(f"bad_{name}") for name, value in bad.items()]
        good = [nw.when(~bad[name]).then(nw.col(name)).alias(name) for name in bad]
        found = self._collected(
            self.table.select("y", *counts, *good)
            .with_columns((w * w).alias("ww"), *((w * nw.col(x)).alias(f"w{x}") for x in self.x))
            .group_by("y")
            .agg(
                *(nw.col(name).sum() for name in ("w", "ww")),
                *(nw.col(f"bad_{name}").sum() for name in bad),
                *(nw.col(f"w{x}").sum() for x in self.x),
                *(nw.col(x).var() for x in self.x),
            )
            .head(_MANY + 1)
        )
        labels = _two_labels(self.target, found["y"])
        missing = [sum(found[f"bad_{x}"]) for x in self.x]
        _refuse(dict(zip(self.features, missing, strict=True)), self.weight, sum(found["bad_w"]))
        order = [found["y"].index(label) for label in labels]

        def of_classes(names: list[str]) -> np.ndarray:
            # None and NaN of what there is no sum of, or no variance
            return np.nan_to_num(np.array([found[name] for name in names], dtype=float).T[order])

        total, squares = of_classes(["w"]), of_classes(["ww"])[:, 0]
        centres = of_classes([f"w{x}" for x in self.x]) / np.where(total > 0.0, total, 1.0)
        size = np.sqrt(total * np.column_stack([np.ones(len(total)), of_classes(self.x)]))
        return labels, squares, centres, np.max(np.einsum("ki,kj->kij", size, size), axis=0)

    def products(self, labels: list[Any], centres: np.ndarray, bounds: np.ndarray) -> np.ndarray:
        """Return Σwzzᵀ (K, d+1, d+1) around the centres (K, d); z begins with 1."""
        nw, d = self.nw, len(self.x)
        units = 2.0 ** np.clip(np.frexp(bounds)[1] - 49, -1000, 1000)
        out = np.zeros((len(labels), d + 1, d + 1))
        second = nw.col("y") == labels[1]
        z = [nw.lit(1.0).alias("z0")] + [
            nw.when(second)
            .then(nw.col(x) - float(centres[1, j]))
            .otherwise(nw.col(x) - float(centres[0, j]))
            .alias(f"z{j + 1}")
            for j, x in enumerate(self.x)
        ]
        tiles = [range(lo, min(lo + TILE, d + 1)) for lo in range(0, d + 1, TILE)]
        for one, other in combinations_with_replacement(tiles, 2):
            pairs = {f"{i}_{j}": (i, j) for i, j in product(one, other) if i <= j}
            terms = [
                (nw.col("w") * nw.col(f"z{i}") * nw.col(f"z{j}") / float(units[i, j])).alias(name)
                for name, (i, j) in pairs.items()
            ]
            whole = [nw.col(name).floor().cast(nw.Float64).alias(f"whole{name}") for name in pairs]
            rest = [(nw.col(name) - nw.col(f"whole{name}")).alias(f"rest{name}") for name in pairs]
            found = self._collected(
                self.table.select("y", "w", *(z[j] for j in sorted({*one, *other})))
                .select("y", *terms)
                .with_columns(*whole)
                .with_columns(*rest)
                .group_by("y")
                .agg(*(nw.col(f"{part}{name}").sum() for name in pairs for part in _PARTS))
            )
            order = [found["y"].index(label) for label in labels]
            for name, (i, j) in pairs.items():
                whole_sum, rest_sum = (np.array(found[f"{part}{name}"])[order] for part in _PARTS)
                out[:, i, j] = out[:, j, i] = (whole_sum + rest_sum) * units[i, j]
        return out

    def _collected(self, lazy: Any) -> dict[str, list[Any]]:
        # Polars would else hold every product of every row
        how = {"engine": "streaming"} if lazy.implementation.is_polars() else {}
        return lazy.collect(**how).to_dict(as_series=False)

    @staticmethod
    def _bad(column: Any) -> Any:
        return column.is_null() | ~(column.abs() <= LARGEST)

    # ---- rows

    def batches(self) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray | None]]:
        """Yield rows, labels and weights of some rows at a time."""
        labels: set[Any] = set()
        for native in self._slices():
            frame = self.nw.from_native(native, eager_only=True)
            labels |= set(frame["y"].unique().to_list())
            _two_labels(self.target, labels, so_far=True)
            X = np.asarray(frame.select(self.x).to_numpy(), dtype=np.float64)
            w = np.asarray(frame["w"].to_numpy(), dtype=np.float64)
            bad = np.sum(~(np.abs(X) <= LARGEST), axis=0).tolist()
            bad_weights = int(np.sum(~((w >= 0.0) & (w <= LARGEST))))
            _refuse(dict(zip(self.features, bad, strict=True)), self.weight, bad_weights)
            if len(X):
                yield X, np.array(frame["y"].to_list()), None if self.weight is None else w
        _two_labels(self.target, labels)

    def _slices(self) -> Iterator[Any]:
        """Yield the native frame in parts that fit memory."""
        native = self.table.to_native()
        if self.eager:
            for lo in range(0, len(self.table), _BATCH):
                yield self.table[lo : lo + _BATCH].to_native()
            return
        if hasattr(native, "to_pyarrow_batches"):  # Ibis
            yield from map(_table, native.to_pyarrow_batches(chunk_size=_BATCH))
        elif hasattr(native, "fetch_record_batch"):  # DuckDB, its new releases under another name
            read = getattr(native, "to_arrow_reader", native.fetch_record_batch)
            yield from map(_table, read(_BATCH))
        elif hasattr(native, "collect_batches"):  # Polars
            yield from native.collect_batches(chunk_size=_BATCH)
        elif hasattr(native, "toLocalIterator"):  # PySpark
            pa = needs("pyarrow", "a PySpark frame")

            rows = native.toLocalIterator(prefetchPartitions=True)
            while some := list(islice(rows, _BATCH)):
                yield pa.Table.from_pylist([row.asDict() for row in some])
        elif hasattr(native, "partitions"):  # Dask
            for part in native.partitions:
                yield part.compute()
        else:
            raise TypeError(
                f"{type(native).__name__} gives no batches of rows, and has more than "
                f"{MOST_FEATURES} features; name fewer."
            )


_MANY = 20  # labels that are looked at
_PARTS = ("whole", "rest")  # of every product


def _two_labels(target: str, labels: Collection[Any], so_far: bool = False) -> list[Any]:
    """Return the labels in order; ValueError unless they are two, or may become two."""
    if any(label is None or label != label for label in labels):
        raise ValueError(f"the target {target!r} is missing in some rows; leave these out.")
    if len(labels) > 2 or (len(labels) < 2 and not so_far):
        some = f": {', '.join(map(repr, sorted(labels)))}" if labels else ""
        number = f"{len(labels)}{some}" if len(labels) <= _MANY else f"more than {_MANY}"
        raise ValueError(f"the target {target!r} must have two values; it has {number}.")
    return sorted(labels)


def _refuse(bad: dict[str, int], weight: str | None, bad_weights: int) -> None:
    """Raise ValueError where values or weights are missing, or no numbers to compute with."""
    found = [f"{name!r} in {count:,} rows" for name, count in bad.items() if count]
    if found:
        more = f", and {len(found) - 5} more columns" if len(found) > 5 else ""
        raise ValueError(
            f"values are missing, not finite or above {LARGEST:g}: {', '.join(found[:5])}{more}; "
            "fill them, or leave the columns or rows out."
        )
    if bad_weights:
        raise ValueError(
            f"the weight {weight!r} is missing, negative or not finite in {bad_weights:,} rows."
        )


def _table(batch: Any) -> Any:
    pa = needs("pyarrow", "a relation read in batches")

    return pa.Table.from_batches([batch])
