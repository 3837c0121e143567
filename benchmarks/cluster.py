"""One worker beside two on a generated Parquet file: seconds of a fit, and where they go.

    python benchmarks/cluster.py [rows] [features]

For each fit: seconds with one and with two workers of one thread, their ratio, and of the workers'
time with two how much went into loading (from a pass that only loads), computing, moving results
between workers, and waiting for this process.
"""

import sys
import tempfile
import time
from itertools import repeat
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from distributed import Client, LocalCluster, get_task_stream

from aucmax import AUCClassifier, datasets, distributed

FITS = {
    "one pass": dict(),
    "conjugate gradient": dict(solver="conjugate_gradient"),
    "squared hinge": dict(loss="squared_hinge"),
    "logistic": dict(loss="logistic"),
}
GROUP = 50_000  # rows


def generate(path, n, d):
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


def rows(part):
    return len(part.y)


def measured(client, work, *arguments):
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


def main(n=2_000_000, d=20):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.parquet"
        generate(path, n, d)
        size = path.stat().st_size / 1e6
        scanned = datasets.scan(path, target="y", part_bytes=8 * d * GROUP)
        parts = len(scanned.loads)
        print(f"{n:,} rows of {d} features, {size:.0f} MB of Parquet, {parts} parts")
        found = {}
        for workers in (1, 2):
            with (
                LocalCluster(workers, threads_per_worker=1, dashboard_address=":0") as cluster,
                Client(cluster, set_as_default=False) as client,
            ):
                there = distributed.source(scanned, client=client)
                for settings in FITS.values():  # kernels are compiled
                    AUCClassifier(**settings).fit(there)
                loading = [measured(client, there.total, rows, repeat(())) for _ in "123"]
                load = np.median([one[1] for one in loading])
                for name, settings in FITS.items():
                    clf = AUCClassifier(**settings)
                    runs = [measured(client, clf.fit, there) for _ in "123"]
                    found[name, workers] = (*np.median(runs, axis=0), load, clf.passes_)
        print(
            "| fit | passes | 1 worker, s | 2 workers, s | ratio | load | compute | move | wait |"
        )
        print("|---|---|---|---|---|---|---|---|---|")
        for name in FITS:
            one, two = found[name, 1], found[name, 2]
            seconds, busy, moving, load, passes = two
            loading = min(load * passes, busy)
            whole = 2 * seconds
            shares = [loading, busy - loading, moving, max(whole - busy - moving, 0.0)]
            listed = " | ".join(f"{share / whole:.0%}" for share in shares)
            times = f"{one[0]:.2f} | {seconds:.2f} | {one[0] / seconds:.2f}"
            print(f"| {name} | {passes} | {times} | {listed} |")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
