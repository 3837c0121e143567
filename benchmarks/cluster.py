"""A cluster on this machine and a generated Parquet file: seconds of a fit, and memory of a worker.

    python benchmarks/cluster.py [rows] [features]

For each fit: seconds with one and with two workers of one thread, their ratio, and of the workers'
time with two how much went into loading (from a pass that only loads), computing, moving results
between workers, and waiting for this process. Then, for parts of several sizes, the most memory
that a worker took.
"""

import sys
import tempfile
import time
from functools import partial
from itertools import repeat
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from distributed import get_task_stream

from aucmax import AUCClassifier, Source, datasets, distributed

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


def memory(reset=False):
    """Return the megabytes that this process has now, and the most since they were reset."""
    if reset:
        Path("/proc/self/clear_refs").write_text("5")
    words = Path("/proc/self/status").read_text().split()
    return np.array([int(words[words.index(name) + 1]) / 1e3 for name in ("VmRSS:", "VmHWM:")])


def scanned(path, d, groups):
    return datasets.scan(path, target="y", part_bytes=8 * (d + 1) * GROUP * groups)


def compare_speed(path, d):
    """Print seconds with one and two workers, and where the time of two goes."""
    source = scanned(path, d, 1)
    found = {}
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
                found[name, workers] = (*np.median(runs, axis=0), load, clf.passes_)
    print("| fit | passes | 1 worker, s | 2 workers, s | ratio | load | compute | move | wait |")
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


def compare_memory(path, d):
    """Print what a worker of one thread takes at most, for several sizes of a part."""
    print("\n| a part, MB | parts | before, MB | after loading all parts | after the fits |")
    print("|---|---|---|---|---|")
    for groups in (1, 4, 16):
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
        listed = " | ".join(f"{max(some):.0f}" for some in (before, loaded, fitted))
        print(f"| {size:.0f} | {len(source.loads)} | {listed} |")


def few_rows(client, d):
    return distributed.source(Source([partial(a_part, d)] * 4), client=client)


def a_part(d):
    X = np.random.default_rng(0).normal(size=(100, d))
    return X, (X[:, 0] > 1).astype(int)


def main(n=2_000_000, d=20):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.parquet"
        generate(path, n, d)
        size = path.stat().st_size / 1e6
        print(f"{n:,} rows of {d} features, {size:.0f} MB of Parquet, parts of {GROUP:,} rows")
        compare_speed(path, d)
        compare_memory(path, d)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
