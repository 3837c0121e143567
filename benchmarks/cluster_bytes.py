"""What a pass on a Dask cluster sends, and how that grows with workers, parts, features and rows.

Workers are threads of this process that talk over sockets, so every byte is counted, and no time.
The bytes of a pass of conjugate gradient, without and with weights, of the logistic loss, of the
squared hinge and of scoring, for each way (from this process to the scheduler, from there to the
workers, and from workers to each other and to this process), are fitted by a sum of terms with
coefficients of 0 or more; then the sums are evaluated for many workers and rows.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import scipy.sparse as sp
from distributed import Client, LocalCluster
from scipy.optimize import nnls

from aucmax import AUCClassifier, Source, distributed
from benchmarks.common.tables import show

WAYS = "to the scheduler", "to the workers", "from workers"
FITS: dict[str, tuple[bool, dict[str, Any]]] = {  # whether rows have weights, and the settings
    "conjugate gradient": (False, dict(solver="conjugate_gradient")),
    "conjugate gradient, weights": (True, dict(solver="conjugate_gradient")),
    "logistic": (False, dict(loss="logistic")),
    "squared hinge": (False, dict(loss="squared_hinge")),
}
COLUMNS = 5  # that are not 0 in a row
TERMS: dict[str, Callable[..., float]] = {
    "a pass": lambda workers, parts, d, rows: 1,
    "a part": lambda workers, parts, d, rows: parts,
    "a part and worker": lambda workers, parts, d, rows: parts * workers,
    "a feature": lambda workers, parts, d, rows: d,
    "a feature and worker": lambda workers, parts, d, rows: d * workers,
    "a feature and part": lambda workers, parts, d, rows: d * parts,
    "a row": lambda workers, parts, d, rows: rows,
}


def a_part(weighted: bool, n: int, d: int, k: int) -> tuple[Any, ...]:
    time.sleep(0.01)  # or one worker would take them all
    rng = np.random.default_rng(k)
    at = rng.integers(0, d, (n, COLUMNS)) // COLUMNS * COLUMNS + np.arange(COLUMNS)
    ends = np.arange(0, n * COLUMNS + 1, COLUMNS)
    X = sp.csr_array((rng.normal(size=at.size), at.ravel(), ends), shape=(n, d + COLUMNS))
    labelled = X, rng.random(n) < 0.3
    return (*labelled, rng.random(n)) if weighted else labelled


@contextmanager
def counting(cluster: Any, client: Any) -> Iterator[list[float]]:
    """Context that fills a list with what is sent in it each of the `WAYS`, and with the tasks."""

    def counts() -> list[int]:
        scheduler = cluster.scheduler
        tasks = scheduler.task_prefixes.get("aucmax")
        return [
            client.scheduler_comm.byte_count,
            sum(stream.byte_count for stream in scheduler.stream_comms.values()),
            sum(worker.transfer_outgoing_bytes_total for worker in cluster.workers.values()),
            0 if tasks is None else tasks.state_counts["memory"],
        ]

    sent: list[float] = []
    before = counts()
    yield sent
    sent += [after - start for after, start in zip(counts(), before, strict=True)]


def measured(workers: int, parts: int, d: int, n: int) -> dict[str, np.ndarray]:
    """Return the bytes of a pass each of the `WAYS`, and its tasks, for each kind of pass."""
    address = dict(processes=False, protocol="tcp", dashboard_address=":0")
    with (
        LocalCluster(n_workers=workers, threads_per_worker=1, **address) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        passes = {}
        for name, (weighted, settings) in FITS.items():
            source = Source([partial(a_part, weighted, n, d, k) for k in range(parts)])
            rows = distributed.source(source, client=client)
            clf = AUCClassifier(alpha=0.1, tol=1e-2, **settings)
            with counting(cluster, client) as sent:
                clf.fit(rows)
            passes[name] = np.array(sent) / clf.passes_
        with counting(cluster, client) as sent:
            clf.decision_function(rows)
    return passes | {"scores": np.array(sent)}


def fitted(
    settings: list[tuple[int, ...]], counts: np.ndarray, terms: list[Callable[..., float]]
) -> tuple[np.ndarray, float]:
    """Return the coefficients of the terms, and the largest relative error."""
    A = np.array([[term(*setting) for term in terms] for setting in settings])
    A = A / np.maximum(counts, 1.0)[:, None]
    scale = np.linalg.norm(A, axis=0)
    x, _ = nnls(A / scale, np.ones(len(A)))
    return x / scale, float(np.abs(A @ (x / scale) - 1).max())


def main(many_workers: int = 1000, many_parts: int = 6000, many_rows: float = 1e11) -> None:
    settings, counts = [], []
    for workers, parts, d, n in product((2, 4, 8), (16, 64), (2_000, 100_000), (100, 3_200)):
        settings.append((workers, parts, d + COLUMNS, parts * n))
        counts.append(measured(workers, parts, d, n))
    large = [(many_workers, many_parts, d, many_rows) for d in (2_000, 100_000)]

    def row(kind: str, k: int, name: str) -> list[str]:
        terms = list(TERMS.values())[: 2 if name == "tasks" else None]
        x, error = fitted(settings, np.array([one[kind][k] for one in counts]), terms)
        sums = [x @ [term(*setting) for term in terms] for setting in large]
        coefficients = [f"{value:.2g}" for value in x] + [""] * (len(TERMS) - len(terms))
        return [name, *coefficients, f"{error:.0%}", *(f"{value:.2g}" for value in sums)]

    for kind in counts[0]:
        print(f"\n{kind}: bytes of a pass, and tasks")
        lines = [row(kind, k, name) for k, name in enumerate((*WAYS, "tasks"))]
        show(["", *TERMS, "largest error", f"{many_rows:.0e} rows of 2,000", "of 100,000"], lines)
