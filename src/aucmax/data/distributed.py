"""Sources whose passes are tasks of a Dask cluster; workers keep no data between passes."""

from __future__ import annotations

import asyncio
import concurrent.futures
import copy
import io
import logging
import pickle
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import chain, islice, repeat
from typing import Any
from uuid import uuid4

import numpy as np

from aucmax.basics.needs import needs
from aucmax.data.blocks import Blocks, of_bag, of_rows
from aucmax.data.decisions import Decision
from aucmax.data.digests import DigestCounts
from aucmax.data.frames import scan_fragments
from aucmax.data.reading import Reading
from aucmax.data.rows.passes import Part
from aucmax.data.rows.source import Load, OnPart, Source, as_part, doubts_in, on_part
from aucmax.data.rows.store import plus, sum_in_order
from aucmax.data.scanning import scan

__all__ = ["connected", "source"]

dask = needs("dask", "aucmax.distributed")
task_spec = needs("dask.task_spec", "aucmax.distributed")
cloudpickle = needs("cloudpickle", "aucmax.distributed")

_MAX_SENT_BYTES = 10_000  # sent with each task, because fetching them takes longer
_LOOK = 0.5  # seconds between looks for a straggler
_RETRIES = 2  # of a failed task, since storage may fail for a moment
# Ctrl-C reaches all processes of a terminal; workers ignore it, because this process ends them
_WORKER_SETUP = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)"
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

    It can be used wherever a `Source` can: in ``fit``, ``decision_function``, ``predict``. The
    result is identical, bit for bit, to that of the same parts read in one process, for any number
    of workers.

    Parameters
    ----------
    data : Source, dask array, data frame or bag, or Arrow dataset
        A `Source` whose parts can be loaded in any order by serialisable functions, such as
        `datasets.scan` of files that all workers can read. A dask array of shape (n, d), whose
        blocks of rows are the parts. A data frame, or a bag of X, (X, y) or (X, y, sample_weight),
        whose partitions are the parts. An Arrow dataset of files that all workers can read, whose
        row groups are the parts. Rows without labels can be scored.
    y : dask array or series, or array-like, shape (n,), optional
        The labels of the rows of an array or of a data frame without ``target``.
    weight : dask array or series, array-like, shape (n,), or str, optional
        The weights of the rows, or the column of weights of a data frame or dataset.
    target : str, optional
        The column of labels of a data frame or dataset.
    drop : sequence of str
        Columns of a data frame or dataset to leave out.
    client : dask.distributed.Client, optional
        By default the current one. Without a client, a collection is computed in this process, part
        by part.
    patience : float
        Seconds to wait for a worker while there is none.

    Returns
    -------
    Source

    Raises
    ------
    ValueError
        If the data have another type, or cannot be sent to workers.

    Notes
    -----
    A task loads a part, processes it and drops it; each thread of a worker holds one part at a
    time. Data that all tasks of a pass share are sent to one worker, and from worker to worker,
    once to each. Numbers that follow from a part's own labels and weights, and the scores of the
    logistic loss, are computed on the worker; others, such as the slopes of the squared hinge, are
    sent with the tasks. The results are summed on the cluster in an order that depends only on the
    number of parts. Tasks are not bound to workers, and workers keep nothing between passes: the
    tasks of a lost worker run elsewhere, and nothing else is lost. If half of the workers have been
    waiting for the others for long, they start the same tasks, and the first results count; a block
    of a Dask collection is not computed a second time. For the squared hinge, an l1 part of the
    square loss, stochastic solvers and searches, this process keeps the labels, the weights and a
    few numbers for each row, so its memory is the limit; the logistic loss, the square loss and
    `ClassMoments.from_data` keep none of them.

    A pass raises ConnectionError if the scheduler is lost, if there has been no worker for
    ``patience`` seconds, or if a part has killed several workers. A model that was being fitted
    stays as it was.

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
                "this source can only be read from its first part, so workers cannot share "
                "its parts; make each compressed file one part, datasets.scan(…, "
                "part_bytes=None), or give functions that load one part each."
            )
        parts = data
    elif y is None or not hasattr(data, "__dask_graph__"):
        parts = _of_collection(data, weight, target, drop)
    elif all(values is None or hasattr(values, "__dask_graph__") for values in (y, weight)):
        parts, y, weight = of_rows(_without(data, drop), y, weight), None, None
    else:  # labels or weights are in memory, and computed ones will be
        parts = of_rows(_without(data, drop))
        y, weight = (None if values is None else np.asarray(values) for values in (y, weight))
    if client is not None:
        if client.status != "running":
            raise ConnectionError(f"the Dask client is {client.status}; connect a new one.")
        labels = parts.replaced
        parts = _OnDask(parts.rows_alone, client, patience)
        if labels:
            parts = parts.with_labels(labels.get("y"), labels.get("sample_weight"))
    return parts if y is None else parts.with_labels(y, weight)


@contextmanager
def connected(address: str, workers: int | None = None, patience: float = 5.0) -> Iterator[Any]:
    """Return a context with a client of a Dask cluster.

    Parameters
    ----------
    address : str
        The address of a scheduler, or ``"local"`` for single-threaded workers on this machine,
        which end with the block. A script that starts local workers needs
        ``if __name__ == "__main__":``.
    workers : int, optional
        Maximum number of local workers; there are never more than the machine has cores.
    patience : float
        Seconds to wait for the scheduler's answer.

    Yields
    ------
    dask.distributed.Client
        It does not become the current client.

    Raises
    ------
    ConnectionError
        If no scheduler answers.
    """
    cores = needs("dask.system", "a cluster").CPU_COUNT
    needs("distributed", "a cluster")
    from distributed import Client, LocalCluster

    if address == "local":
        with (
            LocalCluster(
                n_workers=min(workers or cores, cores), threads_per_worker=1,
                dashboard_address=":0",
                silence_logs=logging.CRITICAL, preload=[_WORKER_SETUP],
                env={"NUMBA_NUM_THREADS": "1"},  # by default kernels use a thread for each core
            ) as cluster,
            Client(cluster, set_as_default=False) as client,
        ):  # fmt: skip
            yield client
        return
    logging.getLogger("distributed.client").setLevel(logging.CRITICAL)  # the error reports it
    try:
        client = Client(address, timeout=patience, set_as_default=False)
    except Exception:  # another program at that address may answer anything
        raise ConnectionError(
            f"no Dask scheduler answers at {address}; start one with 'dask scheduler', and give "
            "its address, such as tcp://10.0.0.1:8786."
        ) from None
    with client:
        yield client


def _current() -> Any:
    """Return the current client, or None."""
    try:
        from distributed import default_client

        return default_client()
    except (ImportError, ValueError):
        return None


def _of_collection(data: Any, weight: Any, target: str | None, drop: Sequence[str]) -> Source:
    """Return a collection that contains its labels, or has none, as a source of parts."""
    kind = type(data).__name__ if dask.is_dask_collection(data) else ""
    labels = "none" if target is None else "required"
    reading = Reading(target=target, weight=weight, drop=drop, labels=labels)
    if kind == "DataFrame":
        return scan(data, **reading.in_parts())
    if hasattr(data, "get_fragments"):
        return scan_fragments(data, reading)
    if kind == "Array":
        return of_rows(data)
    if kind == "Bag":
        return of_bag(data)
    raise ValueError(
        "data must be a Source, a dask array, a dask data frame, a dask bag or an Arrow dataset; "
        f"got {type(data).__name__}."
    )


def _without(data: Any, drop: Sequence[str]) -> Any:
    return data.drop(columns=list(drop)) if drop else data


# ---- passes on a cluster -------------------------------------------------------------------


class _OnDask(Source):
    """The parts of another source, loaded and processed by the workers of a cluster."""

    loads: Sequence[Load]
    elsewhere = True

    def __init__(self, made: Source, client: Any, patience: float) -> None:
        vars(self).update(vars(made))
        self.client, self.patience = client, patience
        self._address = client.scheduler.address
        pairs = zip(*map(_pieces, (self.loads[0], self.loads[-1])), strict=False)
        # objects that all loaders share, such as columns and options
        self._alike = [first for first, last in pairs if first is last]

    def each(
        self, task: OnPart, given: Iterable[tuple[Any, ...]], common: Sequence[Any] = ()
    ) -> Iterator[Any]:
        noting, watch = partial(_with_doubts, self._watched(task)), self.watch
        self.doubts.clear()
        groups = self._groups((noting, *common), given, self._threads(), lambda nodes: nodes)
        noted = (self._noting(*pair) for results in groups for pair in results)
        yield from noted if watch is None or watch.counts is not None else watch.taken(noted)

    def _noting(self, result: Any, doubts: list[Decision]) -> Any:
        self.doubts.append(doubts)
        return result

    def _watched(self, task: OnPart) -> OnPart:
        """Return a task that also returns the digests of a part, if they are requested."""
        asked = self.watch is not None and self.watch.counts is None
        return partial(_with_digests, task) if asked else task

    def total(
        self, task: OnPart, given: Iterable[tuple[Any, ...]], common: Sequence[Any] = ()
    ) -> Any:
        # sums of 2ᵏ parts are computed on the cluster and added here: the same tree of sums
        size = 1 << (4 * self._threads() - 1).bit_length()
        watched = self._watched(task)
        groups = self._groups((watched, *common), given, size, lambda nodes: [sum_in_order(nodes)])
        total = sum_in_order(group_sum for (group_sum,) in groups)
        if self.watch is None or watched is task:
            return total
        (result,) = self.watch.taken([total])
        return result

    def with_labels(self, y: Any = None, weight: Any = None) -> Source:
        if self.sizes is None:
            self.sizes = list(self.rows_alone.each(_n_rows, repeat(())))
        for name, values in (("y", y), ("sample_weight", weight)):
            if values is not None and len(values) != (n := sum(self.sizes)):
                raise ValueError(f"{name} has {len(values):,} values, and there are {n:,} rows.")
        return super().with_labels(y, weight)

    def _by_part(self, name: str) -> Iterable[np.ndarray | None]:
        """Split labels or weights that were passed separately, if any, where parts end."""
        if self.sizes is None or name not in self.replaced:
            return repeat(None)
        return np.split(self.replaced[name], np.cumsum(self.sizes)[:-1])

    def first(self) -> Part:
        view = copy.copy(self)  # of one part; otherwise a whole group of parts would be loaded
        view.loads, view.watch = self.loads[:1], None
        return next(view._read())

    def _read(self) -> Iterator[Part]:
        return self.each(_itself, repeat(()))

    def _groups(
        self,
        common: tuple[Any, ...],
        given: Iterable[tuple[Any, ...]],
        size: int,
        asked: _Asked,
    ) -> Iterator[list[Any]]:
        """Yield the requested results of ``size`` parts at a time, in order.

        Two groups are in progress at a time: tasks carry the arguments of their part, and results
        wait on the workers. ``common`` is the task and those arguments that all parts share.
        """
        arguments: Iterable[tuple[Any, ...]] = given
        if self.replaced:
            labels = zip(self._by_part("y"), self._by_part("sample_weight"), strict=False)
            arguments, common = zip(labels, given, strict=False), (_on_labelled, *common)
        strict = not isinstance(given, repeat)
        parts = enumerate(zip(self.loads, arguments, strict=strict))
        waiting: deque[tuple[list[Any], list[Any]]] = deque()
        try:
            self.check()
            with self._sharing(common) as shared, self.counts.one_pass(self.stored) as report:
                start = partial(self._started, shared)
                while (group := list(islice(parts, size))) or waiting:
                    if group:
                        waiting.append((start(group, asked), group))
                    if not group or len(waiting) == 2:
                        results = self._ended(start, asked, *waiting[0])
                        report(*self._counts(waiting[0][1]))
                        yield results
                        _release(waiting.popleft()[0])
            self.check()
        finally:
            for futures, _ in waiting:  # after a part failed, the others need not run
                _release(futures)

    @contextmanager
    def _sharing(self, common: tuple[Any, ...]) -> Iterator[Any]:
        """Return a context with what all tasks share, pickled: as bytes if small, else as a future.

        The future is that of a task, so the scheduler sends the bytes to one worker, workers pass
        them on, once to each, and they are made again if the workers that have them are lost.
        """
        pickled = _pickled((self._alike, *common))
        if len(pickled) < _MAX_SENT_BYTES:
            yield pickled
            return
        graph: dict[Any, Any] = {}
        futures = self._submitted(graph, [_Node(graph, partial(bytes, pickled)).key])
        try:
            yield futures[0]
        finally:
            _release(futures)

    def _counts(self, group: list[Any]) -> tuple[int, int]:
        """Return the numbers of parts and of rows; 0 rows if the sizes are not known yet."""
        return len(group), 0 if self.sizes is None else sum(self.sizes[k] for k, _ in group)

    def _started(
        self, shared: Any, group: list[Any], asked: _Asked, workers: Sequence[str] = ()
    ) -> list[Any]:
        """Start the tasks of a group, preferably on ``workers`` if some are named."""
        graph: dict[Any, Any] = {}
        nodes = []
        for k, (load, arguments) in group:
            make: Callable[..., Any] = load
            blocks = []
            if isinstance(load, Blocks):
                graph.update(load.graph)
                make, blocks = load.make, [task_spec.TaskRef(key) for key in load.keys]
            pickled = _pickled((make, self.name(k), arguments), self._alike)
            # Dask sends a producer to the least busy worker, wherever the shared future is
            nodes.append(_Node(graph, _loaded, pickled, shared, *blocks, _data_producer=not blocks))
        return self._submitted(graph, [node.key for node in asked(nodes)], workers)

    def _ended(
        self, start: Callable[..., list[Any]], asked: _Asked, futures: list[Any], group: list[Any]
    ) -> list[Any]:
        from distributed.scheduler import KilledWorker

        try:
            return self._results(futures, partial(start, group, asked))
        except KilledWorker as error:
            count = error.allowed_failures + 1
        name = "some parts"
        for entry in group:  # run alone, because Dask also blames the tasks that waited beside it
            alone = start([entry], lambda nodes: nodes)
            try:
                self._results(alone)
            except KilledWorker:
                name = self.name(entry[0])
                break
            finally:
                _release(alone)
        raise ConnectionError(
            f"{count} workers of the Dask cluster at {self._address} died while processing "
            f"{name}: give workers more memory, or make the parts smaller."
        )

    def _submitted(
        self, graph: dict[Any, Any], keys: list[str], workers: Sequence[str] = ()
    ) -> list[Any]:
        bound = {"workers": workers, "allow_other_workers": True} if workers else {}
        try:
            # per-row numbers are sent with the tasks, so Dask's warning about large graphs is off
            with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 TB"}):
                return self.client.get(graph, keys, sync=False, retries=_RETRIES, **bound)
        except Exception as error:
            raise error if self.client.status == "running" else self._gone() from None

    def _results(
        self, futures: list[Any], again: Callable[[list[str]], list[Any]] | None = None
    ) -> list[Any]:
        """Return the results, each from the run that finishes it first.

        If at least half of the workers have been idle for as long as all were busy before, the
        tasks are started `again` on the idle ones, so that a straggler cannot hold up a pass.
        """
        from distributed import wait

        runs, start, busy_seconds = [futures], time.monotonic(), 0.0
        try:
            while pending := [run for run in zip(*runs, strict=True) if not any(map(_done, run))]:
                try:
                    with self.client.as_current():
                        any_of = "ALL_COMPLETED" if len(runs) == 1 else "FIRST_COMPLETED"
                        wait(list(chain(*pending)), timeout=_LOOK, return_when=any_of)
                except TimeoutError:
                    self._threads()
                    seconds, idle = time.monotonic() - start, self._idle()
                    if not idle:
                        busy_seconds = seconds
                    elif (
                        again is not None and len(runs) == 1 and seconds > 2 * busy_seconds + _LOOK
                    ):
                        runs.append(again(idle))
            return self.client.gather([next(filter(_done, run)) for run in zip(*runs, strict=True)])
        except _CANCELLED:
            raise self._gone() from None
        finally:
            _release(chain(*runs[1:]))

    def _idle(self) -> list[str]:
        """Return the idle workers if they are at least half of all, else none."""
        try:
            tasks = self.client.processing()
        except Exception:
            raise self._gone() from None
        idle = [worker for worker, keys in tasks.items() if not keys]
        return idle if 2 * len(idle) >= len(tasks) else []

    def _threads(self) -> int:
        """Return how many threads the workers have; raise ConnectionError if there is no worker."""
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
    """A task of a graph; the sum of two tasks is a third, so that `sum_in_order` builds a tree."""

    def __init__(
        self, graph: dict[Any, Any], call: Callable[..., Any], *inputs: Any, **how: bool
    ) -> None:
        self.graph, self.key = graph, f"aucmax-{uuid4().hex}"  # a new name: parts are read again
        graph[self.key] = task_spec.Task(self.key, call, *inputs, **how)

    def __add__(self, other: _Node) -> _Node:
        return _Node(self.graph, plus, task_spec.TaskRef(self.key), task_spec.TaskRef(other.key))


_Asked = Callable[[list[_Node]], list[_Node]]


def _release(futures: Iterable[Any]) -> None:
    """Release results now: the traceback of a timeout may keep the futures alive for long."""
    for future in futures:
        future.release()


def _done(future: Any) -> bool:
    return future.done()


def _loaded(own: bytes, shared: bytes, *blocks: Any) -> Any:
    """Load a part and run a task on it, on a worker."""
    alike, task, *common = pickle.loads(shared)
    unpickler = _Unpickler(io.BytesIO(own))
    unpickler.alike = alike
    make, name, arguments = unpickler.load()
    return on_part(as_part(make(*blocks), name), name, task, (*arguments, *common))


def _pickled(values: Any, alike: Sequence[Any] = ()) -> bytes:
    """Return pickled values, in which numbers replace the objects that all tasks share."""
    pickler = _Pickler(stream := io.BytesIO())
    pickler.numbers = {id(item): k for k, item in enumerate(alike)}
    pickler.dump(values)
    return stream.getvalue()


class _Pickler(cloudpickle.Pickler):  # type: ignore[name-defined]
    numbers: dict[int, int]

    def persistent_id(self, one: Any) -> int | None:
        return self.numbers.get(id(one))


class _Unpickler(pickle.Unpickler):
    alike: Sequence[Any]

    def persistent_load(self, number: int) -> Any:
        return self.alike[number]


def _pieces(load: Any) -> Iterator[Any]:
    """Yield the functions and arguments of which the loader of a part consists."""
    if not isinstance(load, partial):
        yield load
        return
    for piece in (load.func, *load.args, *load.keywords.values()):
        yield from _pieces(piece)


def _itself(part: Part) -> Part:
    return part


def _with_doubts(task: OnPart, part: Part, *arguments: Any) -> tuple[Any, list[Decision]]:
    return task(part, *arguments), doubts_in(part)


def _with_digests(task: OnPart, part: Part, *arguments: Any) -> tuple[Any, DigestCounts]:
    return task(part, *arguments), DigestCounts.of_part(part)


def _n_rows(part: Part) -> int:
    return part.X.shape[0]


def _on_labelled(
    part: Part, labels: tuple[Any, Any], arguments: tuple[Any, ...], task: OnPart, *common: Any
) -> Any:
    """Run a task on a part, with labels and weights that were sent separately, if any."""
    y, weight = labels
    y, weight = part.y if y is None else y, part.weight if weight is None else weight
    return task(part._replace(y=y, weight=weight), *arguments, *common)
