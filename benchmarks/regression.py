"""Two versions of aucmax side by side, in under two minutes: run it before a change lands.

    python benchmarks/regression.py main HEAD
    python benchmarks/regression.py main .      # the work tree, committed or not

One process for each version, taking turns at the same small generated problems, every library on
one thread. Told are processor milliseconds, the median of the rounds, and the median ratio of HEAD
to BASE; above --allow it is marked, and the exit code is 1. Kernels are compiled before the clock
starts and kept in the temporary folder, so the first run for a version takes longer.
"""

import argparse
import json
import os
import subprocess
import sys
import tarfile
import tempfile
import time
import warnings
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from statistics import median
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
KEPT = Path(tempfile.gettempdir()) / "aucmax-regression"


# ---- one version -------------------------------------------------------------------------


def cases() -> dict[str, Callable[[], Any]]:
    """Return the problems, by the public interface only, which both versions have."""
    import numpy as np
    import scipy.sparse as sp

    from aucmax import AUCClassifier, AUCClassifierCV, ClassMoments, metrics

    rng = np.random.default_rng(0)

    def labels(scores: np.ndarray) -> np.ndarray:
        return np.where(scores + rng.logistic(size=len(scores)) > np.quantile(scores, 0.8), 1, -1)

    dense = rng.standard_normal((20_000, 100))
    y_dense = labels(dense @ rng.standard_normal(100) / 5)
    columns = 100 * np.arange(50) + (100 * rng.random((20_000, 50)) ** 3).astype(int)
    sparse = sp.csr_matrix(
        (np.full(10**6, 50**-0.5), columns.ravel(), np.arange(0, 10**6 + 1, 50)),
        shape=(20_000, 5_000),
    )
    y_sparse = labels(sparse @ rng.standard_normal(5_000))
    scores = rng.standard_normal(200_000)
    events = scores + rng.standard_normal(200_000) > 1

    def fit(kind: str, **settings: Any) -> Callable[[], Any]:
        X, y = (dense, y_dense) if kind == "dense" else (sparse, y_sparse)
        return lambda: AUCClassifier(**settings, random_state=0).fit(X, y)

    found: dict[str, Callable[[], Any]] = {}
    for kind in ("dense", "sparse"):
        for loss in ("square", "squared_hinge", "logistic"):
            found[f"{loss}, {kind}"] = fit(kind, loss=loss)
        for solver in ("spam", "vrspam", "univariate"):
            found[f"{solver}, {kind}"] = fit(kind, solver=solver)
    found["square l1, dense"] = fit("dense", l1_ratio=0.5)
    found["moments, dense"] = lambda: ClassMoments.from_data(dense, y_dense)
    found["moments, sparse columns"] = lambda: ClassMoments.from_data(sparse[:, :500], y_sparse)
    found["search, dense"] = lambda: AUCClassifierCV().fit(dense[:2_000, :20], y_dense[:2_000])
    found["search, sparse"] = lambda: AUCClassifierCV(losses=("square",)).fit(
        sparse[:4_000], y_sparse[:4_000]
    )
    found["interval of 200,000 scores"] = lambda: metrics.auc_interval(events, scores)
    return found


def serve() -> None:
    """Time the cases that standard input names, one a line; null where a version lacks it."""
    warnings.simplefilter("ignore")
    every = cases()
    print(json.dumps(list(every)), flush=True)
    for line in sys.stdin:
        start = time.process_time()
        try:
            every[json.loads(line)]()
            took = time.process_time() - start
        except Exception:  # settings that only the other version knows
            took = None
        print(json.dumps(took), flush=True)


# ---- both --------------------------------------------------------------------------------


def unpacked(revision: str) -> Path:
    """Return the folder of a revision's sources, laid out once."""
    if revision == ".":
        revision = git("stash", "create") or "HEAD"
    tree = git("rev-parse", f"{revision}:src")
    folder = KEPT / tree
    if not folder.exists():
        archive = subprocess.run(
            ["git", "-C", str(ROOT), "archive", revision, "src"], capture_output=True, check=True
        )
        KEPT.mkdir(parents=True, exist_ok=True)
        new = tempfile.mkdtemp(dir=KEPT)
        with tarfile.open(fileobj=BytesIO(archive.stdout)) as files:
            files.extractall(new, filter="data")
        os.rename(new, folder)
    return folder


def git(*words: str) -> str:
    """Return what git prints."""
    command = ["git", "-C", str(ROOT), *words]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


class Version:
    """A process that runs one version."""

    def __init__(self, revision: str) -> None:
        folder = unpacked(revision)
        threads = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "NUMBA")}
        self.process = subprocess.Popen(
            [sys.executable, __file__, "--serve"], text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            env={**os.environ, **threads, "PYTHONPATH": str(folder / "src"),
                 "NUMBA_CACHE_DIR": str(folder / "cache")},
        )  # fmt: skip
        self.names = self.answer()

    def answer(self) -> Any:
        """Return the next line that the process prints."""
        return json.loads(self.process.stdout.readline())

    def time(self, case: str) -> float | None:
        """Return the seconds of a case."""
        self.process.stdin.write(json.dumps(case) + "\n")
        self.process.stdin.flush()
        return self.answer()


def main() -> int:
    """Compare two versions; return the exit code."""
    ask = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    ask.add_argument("base", nargs="?", default="main")
    ask.add_argument("head", nargs="?", default=".")
    ask.add_argument("--rounds", type=int, default=7)
    ask.add_argument("--allow", type=float, default=1.2, help="ratio above which a case is marked")
    told = ask.parse_args()
    pair = Version(told.base), Version(told.head)
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in pair[0].names}
    for round_ in range(told.rounds + 1):
        for name, kept in times.items():
            first = round_ % 2
            seen = {k: pair[k].time(name) for k in (first, 1 - first)}
            if round_ > 0 and None not in seen.values():  # round 0 compiles and loads
                kept.append((seen[0], seen[1]))
    print(f"| case | {told.base}, ms | {told.head}, ms | ratio |\n|---|---|---|---|")
    slower = 0
    for name, kept in times.items():
        if not kept:
            print(f"| {name} | – | – | – |")
            continue
        base, head = (1e3 * median(each[k] for each in kept) for k in (0, 1))
        ratio = median(b / a for a, b in kept)
        slower += ratio > told.allow
        print(f"| {name} | {base:.1f} | {head:.1f} | {ratio:.2f}{' !' * (ratio > told.allow)} |")
    return int(slower > 0)


if __name__ == "__main__":
    if sys.argv[1:] == ["--serve"]:
        serve()
    else:
        sys.exit(main())
