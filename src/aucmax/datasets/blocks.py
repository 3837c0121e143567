"""Dask collections as a source: a part is what a partition, or a block of rows, computes to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from aucmax.rows.source import Source

__all__ = ["Blocks", "blocks", "of_arrays", "of_bag"]


class Blocks:
    """How a part is loaded: computed blocks of collections, and what makes a part of these.

    Called, it computes them in this process; a cluster takes ``graph`` and ``keys``.
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
    """Return how the parts of collections are loaded; part k is made of their k-th blocks."""
    graph: dict[Any, Any] = {}
    keys = []
    for collection in collections:
        for optimized in (True, False):  # an optimized graph lacks blocks that are kept in memory
            delayed = np.ravel(collection.to_delayed(optimize_graph=optimized)).tolist()
            mine = dict(delayed[0].__dask_graph__())
            if delayed[0].key in mine:
                break
        graph.update(mine)
        keys.append([one.key for one in delayed])
    if len({len(some) for some in keys}) > 1:
        listed = " and ".join(str(len(some)) for some in keys)
        raise ValueError(f"there are {listed} blocks; give arrays in the same blocks of rows.")
    return [Blocks(make, graph, list(mine)) for mine in zip(*keys, strict=True)]


def of_arrays(X: Any, y: Any, weight: Any) -> Source:
    """Return dask arrays X (n, d), y (n,) and, unless None, weight (n,) as a source."""
    if y is None:
        raise ValueError("a dask array has no labels; give them, too: source(X, y).")
    arrays = [X.rechunk({1: -1}), y] + ([] if weight is None else [weight])
    return Source(blocks(_together, *arrays))


def of_bag(bag: Any) -> Source:
    """Return a bag of (X, y) or (X, y, sample_weight) as a source."""
    return Source(blocks(_stacked, bag))


def _together(*arrays: Any) -> Any:
    return arrays


def _stacked(items: Any) -> Any:
    """Return the tuples of a partition as one."""
    items = list(items)
    odd = [one for one in items if not isinstance(one, tuple)]
    if odd:
        raise ValueError(
            f"the bag holds a {type(odd[0]).__name__}; each of its items should be a tuple (X, y) "
            "or (X, y, sample_weight) of some rows."
        )
    columns = list(zip(*items, strict=True))
    if any(sp.issparse(X) for X in columns[0]):
        return sp.vstack(columns[0], format="csr"), *map(np.concatenate, columns[1:])
    return tuple(map(np.concatenate, columns))
