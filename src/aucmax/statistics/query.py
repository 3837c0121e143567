"""Class moments by queries: the sums are taken where the data are.

A frame or relation that narwhals knows (Polars, DuckDB, PySpark, Dask, Ibis, pandas, Arrow) is
asked twice. The first query gives Σw and Σwx of each class, so a centre c of each class and
feature. The second gives, of z = x − c, Σwz and Σwzz′: products of what is left around the centre,
so that nothing cancels however far the features are from zero. Then, whatever rounding the first
query left in c,

    mean = c + Σwz/Σw,    covariance = Σwzz′/Σw − (Σwz/Σw)(Σwz′/Σw)ᵀ.

Many products are divided into several queries. A matrix product of batches of rows is faster than
one product after the other, so with more than `MOST_FEATURES` batches are read instead; and with
more than `MOST_HERE` where the engine runs in this process, and rows have nowhere to travel.
"""

from collections.abc import Collection, Iterator, Sequence
from itertools import combinations_with_replacement, islice, product
from typing import Any, NamedTuple

import numpy as np

from aucmax.statistics.base import Part

__all__ = ["MOST_FEATURES", "MOST_HERE", "TILE", "Batches", "Queried", "query"]

MOST_FEATURES = 200  # for which queries are made
MOST_HERE = 20  # the same for DuckDB and Polars
TILE = 24  # features of a block; a query takes the products of two blocks
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
    labels, totals = source.totals()
    with np.errstate(invalid="ignore", divide="ignore"):
        centres = np.nan_to_num(totals["wx"] / totals["w"][:, None])
    first, second = source.products(labels, centres)
    classes = []
    for k, label in enumerate(labels):
        if totals["w"][k] == 0.0:
            continue
        off = first[k] / totals["w"][k]
        S = second[k] / totals["w"][k] - np.outer(off, off)
        diagonal = np.diag_indices(len(S))
        S[diagonal] = np.maximum(S[diagonal], 0.0)
        part = {"counts": totals["w"][k], "squares": totals["ww"][k], "means": centres[k] + off}
        classes.append((label, part | {"covariances": S}))
    return Queried(source.features, classes)


class _Source:
    """A frame of which the columns are known: ``y``, ``w`` and ``x0`` … as numbers."""

    def __init__(
        self, frame: Any, target: str, features: Sequence[str] | None, weight: str | None
    ) -> None:
        try:
            import narwhals as nw
        except ImportError:
            raise ImportError(
                "moments by queries need narwhals: pip install 'aucmax[query]'"
            ) from None
        self.nw = nw
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

    def totals(self) -> tuple[list[Any], dict[str, np.ndarray]]:
        """Return the two labels, and Σw, Σw² and Σwx of each; ValueError for what is missing."""
        nw, w = self.nw, self.nw.col("w")
        made = {"ww": w * w, "bad_w": self._bad(w) | (w < 0.0)}
        for x in self.x:
            made |= {f"w{x}": w * nw.col(x), f"bad_{x}": self._bad(nw.col(x))}
        columns = [
            (value.cast(nw.Int64) if name.startswith("bad") else value).alias(name)
            for name, value in made.items()
        ]
        names = ["w", *made]
        found = (
            self.table.with_columns(*columns)
            .group_by("y")
            .agg(*(nw.col(name).sum() for name in names))
            .head(_MANY + 1)
            .collect()
            .to_dict(as_series=False)
        )
        labels = _two_labels(self.target, found["y"])
        order = [found["y"].index(label) for label in labels]
        bad = {
            name: sum(found[f"bad_{column}"])
            for name, column in zip(self.features, self.x, strict=True)
        }
        _refuse(bad, self.weight, sum(found["bad_w"]))
        sums = {name: np.array(found[name], dtype=float)[order] for name in ("w", "ww")}
        sums["wx"] = np.array([found[f"w{x}"] for x in self.x], dtype=float).T[order]
        return labels, sums

    def products(self, labels: list[Any], centres: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return Σwz (K, d) and Σwzz′ (K, d, d) around the centres (K, d)."""
        nw, d = self.nw, len(self.x)
        first, second = np.zeros((len(labels), d)), np.zeros((len(labels), d, d))
        tiles = [range(lo, min(lo + TILE, d)) for lo in range(0, d, TILE)]
        for one, other in combinations_with_replacement(tiles, 2):
            z = [
                nw.when(nw.col("y") == labels[1])
                .then(nw.col(self.x[j]) - float(centres[1, j]))
                .otherwise(nw.col(self.x[j]) - float(centres[0, j]))
                .alias(f"z{j}")
                for j in sorted({*one, *other})
            ]
            pairs = [(i, j) for i, j in product(one, other) if i <= j]
            sums = {f"p{i}_{j}": nw.col("w") * nw.col(f"z{i}") * nw.col(f"z{j}") for i, j in pairs}
            if one is other:
                sums |= {f"s{j}": nw.col("w") * nw.col(f"z{j}") for j in one}
            found = (
                self.table.select("y", "w", *z)
                .select("y", *(value.alias(name) for name, value in sums.items()))
                .group_by("y")
                .agg(*(nw.col(name).sum() for name in sums))
                .collect()
                .to_dict(as_series=False)
            )
            order = [found["y"].index(label) for label in labels]
            for i, j in pairs:
                second[:, i, j] = second[:, j, i] = np.array(found[f"p{i}_{j}"])[order]
            if one is other:
                for j in one:
                    first[:, j] = np.array(found[f"s{j}"])[order]
        return first, second

    @staticmethod
    def _bad(column: Any) -> Any:
        return column.is_null() | ~column.is_finite()

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
            bad = dict(zip(self.features, np.sum(~np.isfinite(X), axis=0).tolist(), strict=True))
            _refuse(bad, self.weight, int(np.sum(~(np.isfinite(w) & (w >= 0.0)))))
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
            import pyarrow as pa

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
            f"values are missing or not finite: {', '.join(found[:5])}{more}; fill them, or leave "
            "the columns or rows out."
        )
    if bad_weights:
        raise ValueError(
            f"the weight {weight!r} is missing, negative or not finite in {bad_weights:,} rows."
        )


def _table(batch: Any) -> Any:
    import pyarrow as pa

    return pa.Table.from_batches([batch])
