"""A published table: its cells are run, and compared with the published figures."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from scipy import stats

from aucmax.experiments.jobs import Row, Store, core_seconds, finish
from aucmax.experiments.methods import REFERENCE
from aucmax.experiments.protocol import Protocol, TableJob
from aucmax.experiments.sources import Source, published_rows
from aucmax.report.text import verdict

__all__ = ["Cell", "Published", "Remark", "Results", "TableSpec", "remarks", "run_table"]


class Remark(NamedTuple):
    """Why a published figure may differ from ours."""

    words: str
    side: int = 0  # 1 if it explains published figures below ours, −1 above ours, 0 both


def remarks(
    remark: Remark, data: Iterable[str], methods: Iterable[str] = ("*",)
) -> dict[tuple[str, str], Remark]:
    """Return a remark for each of the methods, "*" for all, on each of the data sets."""
    return dict.fromkeys(product(data, methods), remark)


@dataclass(frozen=True)
class TableSpec:
    """A published table."""

    name: str  # as ``aucmax reproduce`` calls it
    title: str  # its name and its paper
    published: str  # the file with its figures, in the folder ``published``
    sources: Sequence[Source]  # data sets it can be run on
    methods: Sequence[str]  # its columns; tests compare the first with the others
    protocol: Protocol  # the paper's, except that settings are tuned on every training part
    # why a published figure may differ, by (data set, method); "*" stands for all methods
    remarks: Mapping[tuple[str, str], Remark]
    columns: Mapping[str, str] = field(default_factory=dict)  # our names to published ones
    tested: bool = False  # whether the paper tests every method against the first

    @property
    def all_methods(self) -> list[str]:
        """Its columns, and the optimum of the square loss to compare them with."""
        return list(dict.fromkeys((*self.methods, REFERENCE)))


class Published(NamedTuple):
    """A published figure: the mean and the standard deviation of test AUCs."""

    mean: float
    std: float


@dataclass(frozen=True)
class Cell:
    """A method on a data set: its single runs, and the published figure."""

    data: str
    method: str
    published: Published | None
    aucs: tuple[float, ...] = ()  # test AUCs, in the order of the single runs
    seconds: float = np.nan  # of a fit, on average
    errors: tuple[str, ...] = ()  # of runs that failed

    @property
    def mean(self) -> float:
        return float(np.mean(self.aucs)) if self.aucs else np.nan

    @property
    def std(self) -> float:
        return float(np.std(self.aucs, ddof=1)) if len(self.aucs) > 1 else np.nan

    @property
    def off(self) -> float:
        """Ours minus the published mean, in published standard deviations."""
        if self.published is None or not self.aucs or not self.published.std > 0:
            return np.nan
        return (self.mean - self.published.mean) / self.published.std

    def against(self, other: "Cell") -> str | None:
        """Return "win", "tie" or "loss" by a paired t-test at 95 %, or None without runs."""
        if len(self.aucs) != len(other.aucs) or len(self.aucs) < 2:
            return None
        difference = np.subtract(self.aucs, other.aucs)
        if np.ptp(difference) == 0.0:  # t is infinite, or 0/0
            p = float(difference[0] == 0.0)
        else:
            p = stats.ttest_rel(self.aucs, other.aucs).pvalue
        decision = verdict(float(difference.mean()), p)
        return {"better": "win", "tie": "tie", "worse": "loss"}[decision]


@dataclass(frozen=True)
class Results:
    """All cells of a table, by (data set, method), and every single run."""

    spec: TableSpec
    protocol: Protocol
    cells: dict[tuple[str, str], Cell]
    rows: list[Row]
    absent: Mapping[str, str]  # data sets that were not run, with the reason
    unasked: list[str]  # data sets of the paper that were not asked for
    seconds: dict[str, float]  # of one core, by data set

    @property
    def datasets(self) -> list[str]:
        return list(dict.fromkeys(data for data, _ in self.cells))


def published(spec: TableSpec) -> dict[tuple[str, str], Published]:
    """Return the published figures by (data set, our name of the method)."""
    ours = {theirs: name for name, theirs in spec.columns.items()}
    figures = {}
    for row in published_rows(spec.published):
        name = ours.get(row["method"], row["method"])
        figures[row["dataset"], name] = Published(float(row["auc_mean"]), float(row["auc_std"]))
    return figures


def run_table(
    spec: TableSpec,
    sources: Sequence[Source],
    protocol: Protocol,
    store: Store,
    n_jobs: int,
    on_done: Callable[[str, float], None],
    absent: Mapping[str, str] = MappingProxyType({}),
) -> Results:
    """Run the jobs that are not in the store yet, and gather the cells.

    Parameters
    ----------
    spec : TableSpec
    sources : sequence of Source
        Those that are here.
    protocol : Protocol
    store, n_jobs, on_done
        As for `finish`.
    absent : mapping of str to str
        Data sets for which the table shows published figures only, and why.
    """
    pairs = list(product(sources, spec.all_methods))
    tunings = {
        (source.name, name, part): TableJob(source, name, protocol, part)
        for source, name in pairs
        for part in range(protocol.tuned_parts)
    }
    tuned = _rows(tunings, store, n_jobs, on_done)
    fits = {}
    for (source, name), part in product(pairs, range(protocol.parts)):
        at = tuned[source.name, name, min(part, protocol.tuned_parts - 1)]
        if "error" not in at:
            settings = tuple(sorted(at["settings"].items()))
            fits[source.name, name, part] = TableJob(source, name, protocol, part, settings)
    fitted = _rows(fits, store, n_jobs, on_done)
    theirs, cells, rows = published(spec), {}, []
    for source, name in pairs:
        cell = (source.name, name)
        rows_of_cell = [row for at, row in fitted.items() if at[:2] == cell]
        failed = [row for at, row in tuned.items() if at[:2] == cell and "error" in row]
        failed += [row for row in rows_of_cell if "error" in row]
        succeeded = [row for row in rows_of_cell if "error" not in row]
        cells[cell] = Cell(
            *cell,
            theirs.get(cell),
            tuple(row["auc"] for row in succeeded) if len(succeeded) == protocol.parts else (),
            float(np.mean([row["seconds"] for row in succeeded])) if succeeded else np.nan,
            tuple(dict.fromkeys(row["error"] for row in failed)),
        )
        rows += failed + succeeded
    for cell in product(absent, spec.methods):
        cells[cell] = Cell(*cell, theirs.get(cell))
    order = [source.name for source in (*spec.sources, *sources)]
    cells = dict(sorted(cells.items(), key=lambda item: order.index(item[0][0])))
    unasked = [d for d in dict.fromkeys(d for d, _ in theirs) if d not in {d for d, _ in cells}]
    spent = [core_seconds(tunings, tuned), core_seconds(fits, fitted)]
    seconds = {s.name: sum(part.get(s.name, 0.0) for part in spent) for s in sources}
    return Results(spec, protocol, cells, rows, absent, unasked, seconds)


def _rows(
    jobs: dict[tuple[str, str, int], TableJob],
    store: Store,
    n_jobs: int,
    on_done: Callable[[str, float], None],
) -> dict[tuple[str, str, int], Row]:
    """Return each job's row, with this table's name of the method; it may have run as another."""
    rows = finish(jobs, store, n_jobs, on_done)
    return {place: {**row, "method": jobs[place].method} for place, row in rows.items()}
