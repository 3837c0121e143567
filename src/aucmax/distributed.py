"""Fits on a Dask cluster: each pass is a set of tasks, and no worker keeps anything.

Needs Dask: ``pip install "aucmax[dask]"``.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain, islice, repeat
from typing import Any
from uuid import uuid4

import dask

from aucmax.datasets.blocks import Blocks, of_arrays, of_bag
from aucmax.datasets.scanning import scan
from aucmax.rows.source import OnPart, Part, Source, as_part, on_part
from aucmax.rows.store import plus, sum_in_order

__all__ = ["source"]

_RETRIES = 2  # of a task that failed: storage may, for a moment
_CANCELLED = asyncio.CancelledError, concurrent.futures.CancelledError


def source(
    data: Any,
    y: Any = None,
    weight: Any = None,
    *,
    target: str | None = None,
    drop: Sequence[str] = (),
    client: Any = None,
    patience: float = 30.0,
) -> Source:
    """Return a source whose passes run on a Dask cluster.

    Whatever takes a `Source` takes it: a fit, ``decision_function``, ``predict``. The result has
    the same bits as that of the same parts read in one process, however many workers there are.

    Parameters
    ----------
    data : Source, dask array, data frame or bag
        A `Source` whose parts can be loaded in any order, by functions that can be sent away: as
        `datasets.scan` makes it of files that all workers see. A dask array of shape (n, d), its
        parts the blocks of rows. A data frame, its parts the partitions. A bag of tuples (X, y) or
        (X, y, sample_weight), its parts the partitions, too.
    y : dask array, shape (n,), optional
        The labels of the rows of an array, in the same blocks.
    weight : dask array, shape (n,), or str, optional
        The weights of the rows of an array, or the column of weights of a data frame.
    target : str, optional
        The column of labels of a data frame.
    drop : sequence of str
        Columns of a data frame to leave out.
    client : dask.distributed.Client, optional
        By default the current one. Without one a collection is computed in this process, part by
        part.
    patience : float
        Seconds to wait where there is no worker.

    Returns
    -------
    Source

    Raises
    ------
    ValueError
        For data that are none of these, or that cannot be sent away.

    Notes
    -----
    A task loads a part, works on it and lets it go; a thread of a worker holds one part at a time.
    What a pass needs besides goes with the tasks, and their sums are taken on the cluster in an
    order that the number of parts alone decides. No task is bound to a worker, and no worker knows
    anything from one pass to the next: where one is lost, its tasks run elsewhere, and nothing else
    is lost. This process keeps the labels, the weights and some numbers for each row, so their
    memory is the limit; `ClassMoments.from_data` of a source keeps none of them.

    A pass raises ConnectionError where the scheduler is gone, or no worker has been there for
    ``patience`` seconds, and RuntimeError where a part has ended several workers. A model that was
    being fitted stays as it was.

    Examples
    --------
    >>> import dask.array as da
    >>> from aucmax import AUCClassifier, distributed
    >>> X = da.random.default_rng(0).normal(size=(1000, 3), chunks=(250, 3))
    >>> AUCClassifier().fit(distributed.source(X, X[:, 0] > 1.0)).passes_
    1
    """
    client = _current() if client is None else client
    if isinstance(data, Source):
        if client is None:
            raise ValueError(
                "there is no Dask cluster: make a client with dask.distributed.Client(…)."
            )
        if data.loads is None:
            raise ValueError(
                "this source can be read from its first part on only, so workers cannot share "
                "its parts; unpack compressed files, or give functions that load one part each."
            )
        made = data
    else:
        made = _of_collection(data, y, weight, target, drop)
    if client is None:
        return made
    if client.status != "running":
        raise ConnectionError(f"the Dask client is {client.status}; connect a new one.")
    return _OnDask(made, client, patience)


def _current() -> Any:
    """Return the current client, or None."""
    try:
        from distributed import default_client

        return default_client()
    except (ImportError, ValueError):
        return None


def _of_collection(
    data: Any, y: Any, weight: Any, target: str | None, drop: Sequence[str]
) -> Source:
    """Return a collection as a source of parts that are computed one by one."""
    kind = type(data).__name__ if dask.is_dask_collection(data) else ""
    if kind == "Array":
        return of_arrays(data, y, weight)
    if kind == "DataFrame":
        return scan(data, target=target, weight=weight, drop=drop)
    if kind == "Bag":
        return of_bag(data)
    raise ValueError(
        "data must be a Source, a dask array, a dask data frame or a dask bag; got "
        f"{type(data).__name__}."
    )


# ---- passes on a cluster -------------------------------------------------------------------


class _OnDask(Source):
    """The parts of another source, loaded and worked on by the workers of a cluster."""

    def __init__(self, made: Source, client: Any, patience: float) -> None:
        self.source, self._loads = made, list(made.loads or ())
        self.loads, self.feature_names = made.loads, made.feature_names
        self.target_name = made.target_name
        self.client, self.patience = client, patience
        self._address = client.scheduler.address

    def name(self, k: int) -> str:
        return self.source.name(k)

    def each(self, task: OnPart, given: Iterable[tuple[Any, ...]]) -> Iterator[Any]:
        for some in self._groups(task, given, self._threads(), lambda nodes: nodes):
            yield from some

    def total(self, task: OnPart, given: Iterable[tuple[Any, ...]]) -> Any:
        # sums of 2ᵏ parts are taken there, and added here: the same tree
        size = 1 << (4 * self._threads() - 1).bit_length()
        some = self._groups(task, given, size, lambda nodes: [sum_in_order(nodes)])
        return sum_in_order(found for (found,) in some)

    def _read(self) -> Iterator[Part]:
        return self.each(_itself, repeat(()))

    def _groups(
        self,
        task: OnPart,
        given: Iterable[tuple[Any, ...]],
        size: int,
        asked: Callable[[list[_Node]], list[_Node]],
    ) -> Iterator[list[Any]]:
        """Yield what is asked of so many parts at a time, in order.

        Two groups are under way: tasks bring their arguments, and results wait with the workers.
        """
        parts = enumerate(zip(self._loads, given, strict=not isinstance(given, repeat)))
        waiting: deque[list[Any]] = deque()
        try:
            while some := list(islice(parts, size)):
                graph: dict[Any, Any] = {}
                nodes = [self._node(graph, k, load, task, mine) for k, (load, mine) in some]
                waiting.append(self._submitted(graph, [node.key for node in asked(nodes)]))
                if len(waiting) == 2:
                    yield self._results(waiting[0])
                    waiting.popleft()
            for futures in waiting:
                yield self._results(futures)
        finally:
            for future in chain(*waiting):  # where a part failed, the others need not run
                future.release()

    def _node(
        self, graph: dict[Any, Any], k: int, load: Any, task: OnPart, mine: tuple[Any, ...]
    ) -> _Node:
        keys = []
        if isinstance(load, Blocks):
            graph.update(load.graph)
            load, keys = load.make, load.keys
        return _Node(graph, partial(_loaded, load, self.name(k), task, mine), *keys)

    def _submitted(self, graph: dict[Any, Any], keys: list[str]) -> list[Any]:
        try:
            # the numbers of the rows go with their tasks, whatever Dask thinks of that
            with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 TB"}):
                return self.client.get(graph, keys, sync=False, retries=_RETRIES)
        except Exception as error:
            raise error if self.client.status == "running" else self._gone() from None

    def _results(self, futures: list[Any]) -> list[Any]:
        from distributed import wait
        from distributed.scheduler import KilledWorker

        while True:
            try:
                with self.client.as_current():
                    wait(futures, timeout=self.patience)
                return self.client.gather(futures)
            except KilledWorker as error:
                raise RuntimeError(
                    f"{error.allowed_failures + 1} workers ended while they worked on the same "
                    "parts: give workers more memory or smaller parts."
                ) from None
            except _CANCELLED:
                raise self._gone() from None
            except TimeoutError:
                if all(future.done() for future in futures):
                    raise
                self._threads()

    def _threads(self) -> int:
        """Return how many threads the workers have; raise ConnectionError where there are none."""
        try:
            if not (threads := self.client.nthreads()):
                self.client.wait_for_workers(1, timeout=self.patience)
                threads = self.client.nthreads()
            return sum(threads.values())
        except TimeoutError:
            raise ConnectionError(
                f"the Dask cluster at {self._address} has had no worker for "
                f"{self.patience:g} seconds; start some, and fit again."
            ) from None
        except Exception:
            raise self._gone() from None

    def _gone(self) -> ConnectionError:
        return ConnectionError(
            f"the Dask scheduler at {self._address} is gone; start it, connect a new client and "
            "fit again."
        )


class _Node:
    """A task of a graph; the sum of two is a third one, so that `sum_in_order` makes a tree."""

    def __init__(self, graph: dict[Any, Any], call: Callable[..., Any], *keys: Any) -> None:
        self.graph, self.key = graph, f"aucmax-{uuid4().hex}"  # a new name: parts are read again
        graph[self.key] = (call, *keys)

    def __add__(self, other: _Node) -> _Node:
        return _Node(self.graph, plus, self.key, other.key)


def _loaded(
    make: Callable[..., Any], name: str, task: OnPart, arguments: tuple[Any, ...], *blocks: Any
) -> Any:
    """Load a part and run a task on it: what a worker does."""
    return on_part(as_part(make(*blocks), name), name, task, arguments)


def _itself(part: Part) -> Part:
    return part
