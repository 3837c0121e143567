"""A Dask cluster on this machine and a Parquet file: seconds of a fit, memory of a worker.

For each fit: seconds with one and with two workers of one thread, and their ratio; and how the time
of two workers divides into loading (from a pass that only loads), computing, moving results between
workers, and waiting for this process. Then, for parts of several sizes, the peak memory of a
worker.
"""

import tempfile
import time
from functools import partial
from itertools import repeat
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from distributed import get_task_stream

from aucmax import AUCClassifier, Source, datasets, distributed
from benchmarks.common.engine import memory
from benchmarks.common.tables import show

FITS = {
    "one pass": dict(),
    "conjugate gradient": dict(solver="conjugate_gradient"),
    "squared hinge": dict(loss="squared_hinge"),
    "logistic": dict(loss="logistic"),
}
GROUP = 50_000  # rows


def generate(path: Path, n: int, d: int) -> None:
    """Write rows group by group."""
    rng = np.random.default_rng(0)
    w = rng.normal(size=d) / np.sqrt(d)
    names = [f"x{j}" for j in range(d)]
    schema = pa.schema([(name, pa.float64()) for name in names] + [("y", pa.int8())])
    with pq.ParquetWriter(path, schema) as writer:
        for _ in range(0, n, GROUP):
            X = rng.normal(size=(GROUP, d))
            y = (X @ w + rng.normal(size=GROUP) > 1.5).astype(np.int8)
            columns = [*(pa.array(X[:, j]) for j in range(d)), pa.array(y)]
            writer.write_table(pa.Table.from_arrays(columns, schema=schema), row_group_size=GROUP)


def rows(part: Any) -> int:
    return len(part.y)


def measured(client: Any, work: Any, *arguments: Any) -> tuple[float, float, float]:
    """Return seconds, and those that workers spent on tasks and on moving results."""
    start = time.perf_counter()
    with get_task_stream(client) as stream:
        work(*arguments)
    seconds = time.perf_counter() - start
    spent = {"compute": 0.0, "transfer": 0.0}
    for task in stream.data:
        for one in task["startstops"]:
            if one["action"] in spent:
                spent[one["action"]] += one["stop"] - one["start"]
    return seconds, spent["compute"], spent["transfer"]


def scanned(path: Path, d: int, groups: int) -> Source:
    return datasets.scan(path, target="y", part_bytes=8 * (d + 1) * GROUP * groups)


def compare_speed(path: Path, d: int) -> None:
    """Print seconds with one and two workers, and where the time of two goes."""
    source = scanned(path, d, 1)
    measurements = {}
    for workers in (1, 2):
        with distributed.connected("local", workers) as client:
            few, there = few_rows(client, d), distributed.source(source, client=client)
            for settings in FITS.values():  # kernels are there
                AUCClassifier(**settings).fit(few)
            loading = [measured(client, there.total, rows, repeat(())) for _ in "123"]
            load = np.median([one[1] for one in loading])
            for name, settings in FITS.items():
                clf = AUCClassifier(**settings)
                runs = [measured(client, clf.fit, there) for _ in "123"]
                measurements[name, workers] = (*np.median(runs, axis=0), load, clf.passes_)

    def row(name: str) -> list[str]:
        one, two = measurements[name, 1], measurements[name, 2]
        seconds, busy, moving, load, passes = two
        loading = min(load * passes, busy)
        whole = 2 * seconds
        shares = [loading, busy - loading, moving, max(whole - busy - moving, 0.0)]
        times = (f"{value:.2f}" for value in (one[0], seconds, one[0] / seconds))
        return [name, f"{passes:g}", *times, *(f"{share / whole:.0%}" for share in shares)]

    show(["fit", "passes", "1 worker, s", "2 workers, s", "ratio", "load", "compute", "move",
          "wait"], map(row, FITS))  # fmt: skip


def compare_memory(path: Path, d: int) -> None:
    """Print the peak memory of a worker of one thread, for several sizes of a part."""

    def row(groups: int) -> list[str]:
        source = scanned(path, d, groups)
        with distributed.connected("local", 2) as client:
            few, there = few_rows(client, d), distributed.source(source, client=client)
            for settings in FITS.values():  # kernels are there
                AUCClassifier(**settings).fit(few)
            before = [now for now, _ in client.run(memory, reset=True).values()]
            there.total(rows, repeat(()))
            loaded = [most for _, most in client.run(memory).values()]
            for settings in FITS.values():
                AUCClassifier(**settings).fit(there)
            fitted = [most for _, most in client.run(memory).values()]
        size = 8e-6 * d * GROUP * groups
        peaks = (f"{max(each):.0f}" for each in (before, loaded, fitted))
        return [f"{size:.0f}", str(len(source.loads)), *peaks]

    show(["a part, MB", "parts", "before, MB", "after loading all parts", "after the fits"],
         map(row, (1, 4, 16)))  # fmt: skip


def few_rows(client: Any, d: int) -> Any:
    return distributed.source(Source([partial(a_part, d)] * 4), client=client)


def a_part(d: int) -> tuple[np.ndarray, np.ndarray]:
    X = np.random.default_rng(0).normal(size=(100, d))
    return X, (X[:, 0] > 1).astype(int)


def main(n: int = 2_000_000, d: int = 20) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.parquet"
        generate(path, n, d)
        size = path.stat().st_size / 1e6
        print(f"{n:,} rows of {d} features, {size:.0f} MB of Parquet, parts of {GROUP:,} rows")
        compare_speed(path, d)
        compare_memory(path, d)
