"""Rows that are not in memory: a source yields them in parts, as often as they are needed."""

import copy
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from importlib import import_module
from itertools import repeat
from typing import Any

import numpy as np

from aucmax.data.columns import Column
from aucmax.data.decisions import Decision
from aucmax.data.digests import Watch
from aucmax.data.rows.passes import Part, PassCounts, Stored
from aucmax.data.rows.spool import Spool
from aucmax.data.rows.store import sum_in_order
from aucmax.data.rows.threads import one_blas_thread

__all__ = [
    "Load", "OnPart", "Part", "Source", "Stored", "ahead", "as_part", "doubts_in", "on_part",
    "opened",
]  # fmt: skip

Load = Callable[[], Any]
OnPart = Callable[..., Any]  # (part, *arguments)


def _no_check() -> None:
    """Check nothing, for data whose changes cannot be detected."""


class Source:
    """Rows in parts that can be read repeatedly, with two parts in memory at a time.

    Each pass over the data reads all parts in order, and reads the next part while one is
    processed. `datasets.scan` returns a source for files, lazy frames and Dask data frames.

    Parameters
    ----------
    parts : sequence of callables
        Each takes no arguments and returns X, (X, y), (X, y, sample_weight) or (X, y,
        sample_weight, strata), the same in each call; X as for a fit, and the weights may be None.
        Parts may differ in dtype and sparsity, and may be empty. The rows of a stratum may be
        spread over several parts.
    feature_names : sequence of str, optional
        By default those of the first part if it is a data frame.
    names : sequence of str, optional
        Names of the parts in messages; "part 1" and so on by default.
    target_name : str, optional
        The name of the label column.

    Examples
    --------
    >>> import numpy as np
    >>> from aucmax import AUCClassifier, Source
    >>> def part(seed):
    ...     rng = np.random.default_rng(seed)
    ...     X = rng.normal(size=(500, 3))
    ...     return X, (X[:, 0] + rng.normal(size=500) > 1.0).astype(int)
    >>> source = Source([lambda seed=seed: part(seed) for seed in range(4)])
    >>> AUCClassifier().fit(source).passes_
    1
    """

    def __init__(
        self,
        parts: Sequence[Load],
        *,
        feature_names: Sequence[str] | None = None,
        names: Sequence[str] | None = None,
        target_name: str | None = None,
    ) -> None:
        self.loads: Sequence[Load] | None = list(parts)
        self.feature_names = None if feature_names is None else [str(f) for f in feature_names]
        self.target_name = target_name
        self._names = None if names is None else list(names)
        if not self.loads:
            raise ValueError("a Source needs at least one part.")
        if odd := [load for load in self.loads if not callable(load)]:
            raise ValueError(
                "a Source takes functions that return X, (X, y) or (X, y, sample_weight), one for "
                f"each part; got {type(odd[0]).__name__}."
            )
        if self._names is not None and len(self._names) != len(self.loads):
            raise ValueError(f"there are {len(self._names)} names for {len(self.loads)} parts.")
        self.stored = Stored("source")
        self.spool: Spool | None = None  # later passes read the parts from it
        # raises if the data have changed; called at the beginning and at the end of a pass
        self.check: Callable[[], None] = _no_check
        # rows of each part, and the number of columns, if known from an earlier pass
        self.sizes: Sequence[int] | None = None
        self.n_features: int | None = None
        self.counts = PassCounts(len(self.loads))
        self.columns: Sequence[Column] = ()  # the columns that are not numbers
        self.decisions: Sequence[Decision] = ()  # about the first part, valid for all parts
        self.codes: Sequence[str] = ()  # columns whose numbers look like codes in the first part
        self.label_words: Mapping[int, str] = {}  # the spelling of true and false as labels
        # decisions about ignored cells in each part, from the last pass over files
        self.doubts: list[list[Decision]] = []
        self.watch: Watch | None = None  # collects digests of the rows, if requested
        self.replaced: dict[str, np.ndarray] = {}  # "y" and "sample_weight" of all rows

    @classmethod
    def from_iterable(cls, factory: Callable[[], Iterable[Any]], **settings: Any) -> "Source":
        """Return a source that reads a new iterable from the factory in each pass.

        Parameters
        ----------
        factory : callable
            Takes no arguments and returns an iterable of X, (X, y) or (X, y, sample_weight), the
            same in each call.
        **settings
            ``feature_names`` and ``target_name``.
        """
        source = cls([list], **settings)
        source.loads, source._factory, source.counts = None, factory, PassCounts(None)
        return source

    _factory: Callable[[], Iterable[Any]]
    elsewhere = False  # whether other processes load the parts and receive per-row numbers

    def name(self, k: int) -> str:
        """Return the name of part k in messages."""
        return f"part {k + 1}" if self._names is None else self._names[k]

    def __iter__(self) -> Iterator[Part]:
        return ahead(self._read())

    def _read(self) -> Iterator[Part]:
        spooled = None if self.spool is None else self.spool.stored
        with self.counts.one_pass(spooled or self.stored) as report:
            for part in _relabelled(self._loaded(), self.replaced):
                report(1, part.X.shape[0])
                yield part

    def _loaded(self) -> Iterator[Part]:
        """Yield the parts as they are loaded, or from temporary files."""
        if self.spool is not None and self.spool.stored is not None:
            yield from self.spool
            return
        self.check()
        self.doubts.clear()
        loaded = self._factory() if self.loads is None else (load() for load in self.loads)
        noted = (self._noted(as_part(values, self.name(k))) for k, values in enumerate(loaded))
        parts = noted if self.watch is None else self.watch.over(noted)
        yield from parts if self.spool is None else self.spool.written(parts)
        self.check()
        if self.spool is not None:
            self.spool.complete()

    def _noted(self, part: Part) -> Part:
        """Record the doubts about a part."""
        self.doubts.append(doubts_in(part))
        return part

    def first(self) -> Part:
        """Return the first part, even if others have errors; this does not count as a pass."""
        return next(_relabelled(self._loaded(), self.replaced))

    def each(
        self, task: OnPart, given: Iterable[tuple[Any, ...]], common: Sequence[Any] = ()
    ) -> Iterator[Any]:
        """Yield ``task(part, *arguments, *common)`` for each part, in order.

        Parameters
        ----------
        task : callable
            A function at module level, so that it can be sent to other processes.
        given : iterable of tuple
            The arguments for each part; an `itertools.repeat` if the number of parts is unknown.
        common : sequence
            Further arguments, the same for all parts: a cluster sends them to each worker once.

        Yields
        ------
        result
            The result of the task.

        Raises
        ------
        ValueError
            If a task raises it; the message then begins with the name of the part.
        """
        arguments = iter(given)
        k = -1
        for k, part in enumerate(self):
            part_arguments = next(arguments, None)
            if part_arguments is None:
                raise ValueError("the source has more parts than when it was first read.")
            with one_blas_thread():
                result = on_part(part, self.name(k), task, (*part_arguments, *common))
            yield result
        if k < 0:
            raise ValueError("the source has no parts.")
        if not isinstance(given, repeat) and next(arguments, None) is not None:
            raise ValueError("the source has fewer parts than when it was first read.")

    def total(
        self, task: OnPart, given: Iterable[tuple[Any, ...]], common: Sequence[Any] = ()
    ) -> Any:
        """Return the sum of the results of `each`, computed by `sum_in_order`."""
        return sum_in_order(self.each(task, given, common))

    def with_labels(self, y: Any = None, weight: Any = None) -> "Source":
        """Return the same rows, with their labels or weights replaced by y or ``weight`` (n,)."""
        view = copy.copy(self)
        labels = {"y": y, "sample_weight": weight}
        view.replaced = self.replaced | {
            name: np.asarray(values) for name, values in labels.items() if values is not None
        }
        return view

    def mapped(self, function: Callable[[Any], Any], spool: Spool | None = None) -> "Source":
        """Return a source that applies a function, which can be pickled, to the X of each part.

        Parameters
        ----------
        function : callable
            Takes the X of a part.
        spool : Spool, optional
            Where its results are kept after the first pass.
        """
        view = copy.copy(self)
        view.spool, view.feature_names, view.n_features, view.columns = spool, None, None, ()
        view.watch = None
        if self.loads is not None:
            view.loads = [partial(_mapped, load, function) for load in self.loads]
            return view
        factory = self._factory
        view._factory = lambda: (_with_rows(as_part(part, ""), function) for part in factory())
        return view

    def read_by(self, change: Callable[[Any], Any]) -> "Source":
        """Return the same rows with each of their loaders replaced by ``change(loader)``."""
        view = copy.copy(self)
        if self.loads is None:
            view._factory = change(self._factory)
        else:
            view.loads = [change(load) for load in self.loads]
        return view

    @property
    def rows_alone(self) -> "Source":
        """The same rows for passes that need no labels."""
        if not self.replaced:
            return self
        view = copy.copy(self)
        view.replaced = {}
        return view

    def labels(self) -> tuple[np.ndarray, np.ndarray | None]:
        """Return the labels and the weights of all rows, shape (n,) each, in one pass.

        The weights are None if no part has weights.
        """
        labelled = [labels for labels in self.each(_labels, repeat(())) if len(labels[0])]
        if not labelled:
            raise ValueError("the source has no rows.")
        y, weight = zip(*labelled, strict=True)
        if all(part is None for part in weight):
            return np.concatenate(y), None
        weights = (
            np.ones(len(labels)) if part is None else part
            for labels, part in zip(y, weight, strict=True)
        )
        return np.concatenate(y), np.concatenate(list(weights))


def doubts_in(part: Part) -> list[Decision]:
    """Return the decisions to ignore cells of a part."""
    return [decision for decision in (part.told or {}).get("decisions", []) if decision.doubtful]


def _mapped(load: Load, function: Callable[[Any], Any]) -> Part:
    return _with_rows(as_part(load(), "a part"), function)


def _with_rows(part: Part, function: Callable[[Any], Any]) -> Part:
    return part._replace(X=function(part.X))


def _labels(part: Part) -> tuple[np.ndarray, np.ndarray | None]:
    if part.y is None:
        raise ValueError("it has no labels; give (X, y).")
    return np.asarray(part.y), None if part.weight is None else np.asarray(part.weight)


def _relabelled(parts: Iterator[Part], replaced: dict[str, np.ndarray]) -> Iterator[Part]:
    """Yield parts with "y" and "sample_weight" (n,) of all rows in place of their own, if any."""
    first = 0
    for part in parts:
        rows = slice(first, first + part.X.shape[0])
        first = rows.stop
        for name, values in replaced.items():
            if len(values) < first:
                raise ValueError(f"{name} has {len(values):,} values, fewer than there are rows.")
        labels = {name: values[rows] for name, values in replaced.items()}
        y, weight = labels.get("y", part.y), labels.get("sample_weight", part.weight)
        yield part._replace(y=y, weight=weight)
    for name, values in replaced.items():
        if len(values) > first:
            raise ValueError(f"{name} has {len(values):,} values, and there are {first:,} rows.")


def opened(X: Any, y: Any = None, weight: Any = None) -> tuple[Any, Any, Any]:
    """Return rows, labels and weights; Dask collections become a source with all three."""
    if not hasattr(X, "__dask_graph__"):
        return X, y, weight
    # imported by name, because it imports this module
    return import_module("aucmax.distributed").source(X, y, weight), None, None


def opened_with_labels(X: Any, y: Any = None, weight: Any = None) -> tuple[Any, Any, Any]:
    """Return the same as `opened`, but with the labels and weights of a source read from it."""
    X, y, weight = opened(X, y, weight)
    if isinstance(X, Source):
        y, weight = X.with_labels(y, weight).labels()
    return X, y, weight


def as_part(values: Any, name: str) -> Part:
    """Convert the return value of a loader to a part, called ``name`` in messages."""
    if isinstance(values, Part):
        return values
    if not isinstance(values, tuple):
        return Part(values)
    if not 1 <= len(values) <= 4:
        raise ValueError(
            f"{name} is a tuple of {len(values)}; it should be (X, y), (X, y, sample_weight) or "
            "(X, y, sample_weight, strata)."
        )
    X, y, weight, strata = (*values, None, None, None)[:4]
    return Part(X, y, weight, told=None if strata is None else {"strata": strata})


def on_part(part: Part, name: str, task: OnPart, arguments: Iterable[Any]) -> Any:
    """Run a task on a part; its errors begin with the part's name."""
    try:
        return task(part, *arguments)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None


def ahead(parts: Iterator[Any]) -> Iterator[Any]:
    """Yield parts; each is read while the previous one is processed."""
    with ThreadPoolExecutor(1, thread_name_prefix="aucmax-read") as reader:
        next_part = reader.submit(next, parts, None)
        while (part := next_part.result()) is not None:
            next_part = reader.submit(next, parts, None)
            yield part
            del part  # otherwise three parts would be in memory at a time
