"""A table in place: narwhals queries, and batches of its rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal
from itertools import islice
from typing import Any

from aucmax.basics.checks import LARGEST
from aucmax.basics.needs import needs

__all__ = ["Relation", "plain"]

BATCH_ROWS = 65_536


class Relation:
    """A frame or relation that narwhals supports.

    Parameters
    ----------
    frame, target, weight
        As for `ClassMoments.from_query`.
    names : sequence of str
        Further columns that the table must have.
    """

    def __init__(self, frame: Any, target: str, weight: str | None, names: Sequence[str]) -> None:
        self.nw = nw = needs("narwhals", "a query")
        try:
            self.native = native = nw.from_native(frame)
        except TypeError:
            raise TypeError(
                f"{type(frame).__name__} is not a frame or relation that narwhals supports: give "
                "one of Polars, DuckDB, PySpark, Dask, Ibis, pandas or Arrow."
            ) from None
        self.eager = isinstance(native, nw.DataFrame)
        self.in_process = native.implementation.is_polars() or native.implementation.is_duckdb()
        self.schema = schema = native.collect_schema()
        for name in (target, *([] if weight is None else [weight]), *names):
            if name not in schema:
                raise ValueError(f"there is no column {name!r}; there are {', '.join(schema)}.")
        self.target, self.weight = target, weight
        self.one = nw.lit(1).cast(nw.Float64)  # 1.0 would be a decimal to some databases
        w = self.one if weight is None else self.number(weight)
        self.labels = [nw.col(target).alias("y"), w.alias("w")]

    def number(self, name: str) -> Any:
        """Return a column in double precision; booleans by CASE, as some databases cannot cast."""
        nw, column = self.nw, self.nw.col(name)
        if self.schema[name] == nw.Boolean and not self.eager:
            column = self.indicator(column, nw.when(~column).then(nw.lit(0)))
        return column.cast(nw.Float64)

    def indicator(self, truth: Any, otherwise: Any = None) -> Any:
        """Return an expression that is 1 if ``truth`` is true, else 0 or ``otherwise``."""
        nw = self.nw
        return (
            nw.when(truth).then(nw.lit(1)).otherwise(nw.lit(0) if otherwise is None else otherwise)
        )

    @staticmethod
    def not_finite(column: Any) -> Any:
        """Return an expression that is true for numbers that are missing, infinite or too large."""
        return column.is_null() | ~(column.abs() <= LARGEST)

    def refuse_weights(self, rows: int) -> None:
        """Raise ValueError if there are rows with an invalid weight."""
        if rows:
            raise ValueError(
                f"the weight {self.weight!r} is missing, negative or not finite in {rows:,} rows."
            )

    @staticmethod
    def collected(lazy: Any) -> dict[str, list[Any]]:
        """Return the columns of the result of a query."""
        # otherwise Polars would keep every product of every row in memory
        options = {"engine": "streaming"} if lazy.implementation.is_polars() else {}
        return lazy.collect(**options).to_dict(as_series=False)

    def batches(self, table: Any) -> Iterator[Any]:
        """Yield the rows of a selection, as narwhals frames that fit into memory."""
        nw = self.nw
        for part in self._parts(table):
            yield nw.from_native(part, eager_only=True)

    def _parts(self, table: Any) -> Iterator[Any]:
        native = table.to_native()
        if self.eager:
            for lo in range(0, len(table), BATCH_ROWS):
                yield table[lo : lo + BATCH_ROWS].to_native()
            return
        if hasattr(native, "to_pyarrow_batches"):  # Ibis
            yield from map(_table, native.to_pyarrow_batches(chunk_size=BATCH_ROWS))
        elif hasattr(native, "fetch_record_batch"):  # DuckDB; new releases have another name
            read = getattr(native, "to_arrow_reader", native.fetch_record_batch)
            yield from map(_table, read(BATCH_ROWS))
        elif hasattr(native, "collect_batches"):  # Polars
            yield from native.collect_batches(chunk_size=BATCH_ROWS)
        elif hasattr(native, "toLocalIterator"):  # PySpark
            pa = needs("pyarrow", "a PySpark frame")

            rows = native.toLocalIterator(prefetchPartitions=True)
            while batch := list(islice(rows, BATCH_ROWS)):
                yield pa.Table.from_pylist([row.asDict() for row in batch])
        elif hasattr(native, "partitions"):  # Dask
            for part in native.partitions:
                yield part.compute()
        else:
            raise TypeError(
                f"{type(native).__name__} cannot be read in batches; name fewer features."
            )


def _table(batch: Any) -> Any:
    pa = needs("pyarrow", "a relation read in batches")

    return pa.Table.from_batches([batch])


def plain(label: Any) -> Any:
    """Return a decimal as an integer or a float, and other labels unchanged."""
    if not isinstance(label, Decimal):
        return label
    return int(label) if label == label.to_integral_value() else float(label)
