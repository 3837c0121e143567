"""Dask collections as a source: each partition, or block of rows, computes to a part."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from aucmax.basics.sparse import sp
from aucmax.data.rows.source import Source

__all__ = ["Blocks", "blocks", "of_bag", "of_rows"]


class Blocks:
    """The loader of a part: blocks of collections to compute, and a function that joins them.

    A call computes them in this process; a cluster takes ``graph`` and ``keys``.
    """

    def __init__(self, make: Callable[..., Any], graph: dict[Any, Any], keys: list[Any]) -> None:
        from dask.optimization import cull

        self.make, self.keys = make, keys
        self.graph: dict[Any, Any] = cull(graph, keys)[0]

    def __call__(self) -> Any:
        import dask.threaded
        from dask.base import get_scheduler

        get = get_scheduler() or dask.threaded.get
        return self.make(*get(self.graph, self.keys))


def blocks(make: Callable[..., Any], *collections: Any) -> list[Blocks]:
    """Return a loader for each part of some collections; part k consists of their k-th blocks."""
    graph: dict[Any, Any] = {}
    keys = []
    for collection in collections:
        for optimized in (True, False):  # an optimized graph lacks blocks that are kept in memory
            delayed = np.ravel(collection.to_delayed(optimize_graph=optimized)).tolist()
            mine = dict(delayed[0].__dask_graph__())
            if delayed[0].key in mine:
                break
        graph.update(mine)
        keys.append([block.key for block in delayed])
    if len(set(map(len, keys))) > 1:
        listed = " and ".join(map(str, map(len, keys)))
        raise ValueError(f"there are {listed} blocks; give arrays in the same blocks of rows.")
    return [Blocks(make, graph, list(mine)) for mine in zip(*keys, strict=True)]


def of_rows(X: Any, y: Any = None, weight: Any = None) -> Source:
    """Return rows as a source: an array X (n, d) or a frame, and y and weight (n,) or None.

    Labels and weights are collections in blocks like those of X. Weights need labels.
    """
    frame = hasattr(X, "columns")
    rows = X if frame else X.rechunk({1: -1})
    more = [_in_blocks_of(X, values) for values in (y, weight) if values is not None]
    names = {"feature_names": list(X.columns)} if frame else {}
    name = getattr(y, "name", None) if hasattr(y, "to_frame") else None
    return Source(blocks(_together, rows, *more), target_name=name, **names)


def _in_blocks_of(X: Any, values: Any) -> Any:
    """Return an array in the same blocks of rows as X (n, d), if their sizes are known."""
    if not hasattr(X, "chunks") or not hasattr(values, "chunks"):
        return values
    sizes_known = not np.isnan(np.concatenate([X.chunks[0], values.chunks[0]])).any()
    return values.rechunk((X.chunks[0],)) if sizes_known and len(X) == len(values) else values


def of_bag(bag: Any) -> Source:
    """Return a bag of X, (X, y) or (X, y, sample_weight) as a source."""
    return Source(blocks(_stacked, bag))


def _together(*arrays: Any) -> Any:
    return arrays if len(arrays) > 1 else arrays[0]


def _stacked(items: Any) -> Any:
    """Return the tuples of a partition joined into one, or the rows alone."""
    items = [(item,) if len(getattr(item, "shape", ())) == 2 else item for item in items]
    odd = [item for item in items if not isinstance(item, tuple)]
    if odd:
        raise ValueError(
            f"the bag holds a {type(odd[0]).__name__}; each of its items should be a tuple (X, y) "
            "or (X, y, sample_weight) of some rows, or X."
        )
    columns = list(zip(*items, strict=True))
    if any(sp.issparse(X) for X in columns[0]):
        return sp.vstack(columns[0], format="csr"), *map(np.concatenate, columns[1:])
    return tuple(map(np.concatenate, columns))
