"""Speed and memory of two versions of aucmax, in a few minutes: run it before a change lands.

    python -m benchmarks regression main HEAD
    python -m benchmarks regression main .      # the work tree, committed or not

One process for each version solves the same small generated problems; the versions take turns, with
one thread for every library. The table has processor milliseconds and the peak memory beyond what
the process held before (of commands: in all), medians of the rounds, and the median ratio of the
second version to the first. A case above ``--allow`` is marked, and the exit code is 1. Kernels are
compiled before the clock starts and kept in the temporary folder, so the first run of a version
takes longer.
"""

import json
import os
import subprocess
import sys
import tarfile
import tempfile
import warnings
from collections.abc import Callable
from functools import partial
from io import BytesIO
from pathlib import Path
from statistics import median
from typing import Annotated, Any

import typer

from benchmarks.common.engine import Line, command, in_turn, measured, ratio, timed
from benchmarks.common.tables import show

ROOT = Path(__file__).resolve().parents[1]
CACHE = Path(tempfile.gettempdir()) / "aucmax-regression"
COMMANDS = {
    "import aucmax": ["-c", "import aucmax"],
    "aucmax --help": ["-m", "aucmax", "--help"],
    "aucmax train, CSV": ["-m", "aucmax", "train", "rows.csv", "--target", "y", "-o", "model"],
    "aucmax train, Parquet": ["-m", "aucmax", "train", "rows.parquet", "--target", "y", "--loss",
                              "square", "-o", "model"],
}  # fmt: skip
NOTABLE_MB = 5.0  # a difference in memory that is marked


# ---- one version -------------------------------------------------------------------------


def cases() -> dict[str, Callable[[], Any]]:
    """Return the problems; they use only the public interface, which both versions have."""
    import numpy as np
    import scipy.sparse as sp

    from aucmax import AUCClassifier, AUCClassifierCV, ClassMoments, datasets, metrics
    from aucmax.additive import Scorecard

    rng = np.random.default_rng(0)

    def labels(scores: np.ndarray) -> np.ndarray:
        return np.where(scores + rng.logistic(size=len(scores)) > np.quantile(scores, 0.8), 1, -1)

    dense = rng.standard_normal((20_000, 100))
    y_dense = labels(dense @ rng.standard_normal(100) / 5)
    words = (rng.random((20_000, 100)) < 0.1).astype(float)  # dense rows, most entries are zeros
    y_words = labels(words @ rng.standard_normal(100))
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

    def fit_parts(loss: str) -> Any:
        source = datasets.scan("rows.parquet", target="y", part_bytes=2**20)
        return AUCClassifier(loss=loss).fit(source)

    problems: dict[str, Callable[[], Any]] = {}
    for kind in ("dense", "sparse"):
        for loss in ("square", "squared_hinge", "logistic"):
            problems[f"{loss}, {kind}"] = fit(kind, loss=loss)
        for solver in ("spam", "vrspam", "univariate"):
            problems[f"{solver}, {kind}"] = fit(kind, solver=solver)
    problems |= {
        "square l1, dense": fit("dense", l1_ratio=0.5),
        "logistic l1, dense": fit("dense", loss="logistic", l1_ratio=0.5),
        "logistic, one-hot": lambda: AUCClassifier(loss="logistic").fit(words, y_words),
        "search, one-hot": lambda: AUCClassifierCV().fit(words, y_words),
        "moments, dense": lambda: ClassMoments.from_data(dense, y_dense),
        "moments, sparse columns": lambda: ClassMoments.from_data(sparse[:, :500], y_sparse),
        "search, dense": lambda: AUCClassifierCV().fit(dense[:2_000, :20], y_dense[:2_000]),
        "search, sparse": lambda: AUCClassifierCV(losses=("square",)).fit(
            sparse[:4_000], y_sparse[:4_000]
        ),
        "scorecard": lambda: Scorecard().fit(dense[:5_000, :10], y_dense[:5_000]),
        "interval of 200,000 scores": lambda: metrics.auc_interval(events, scores),
        "read a CSV": lambda: datasets.read("rows.csv", target="y"),
        "file in parts, square": lambda: fit_parts("square"),
        "file in parts, logistic": lambda: fit_parts("logistic"),
    }
    return problems


def serve() -> None:
    """Measure the cases that standard input names, one a line; null if a version lacks it."""
    import aucmax

    warnings.simplefilter("ignore")
    problems = cases()
    print(json.dumps([aucmax.__file__, list(problems)]), flush=True)
    for line in sys.stdin:
        try:
            work = problems[json.loads(line)]
            _, spent = measured(work)
            spent["processor_seconds"] = timed(work)  # with the memory that it has used before
        except Exception:  # only the other version has it
            spent = None
        print(json.dumps(spent), flush=True)


# ---- both --------------------------------------------------------------------------------


def sources(revision: str) -> Path:
    """Return the folder that has a revision's package; it is unpacked once."""
    if revision == ".":
        return ROOT / "src"
    folder = CACHE / git("rev-parse", f"{revision}:src")
    if not folder.exists():
        archive = subprocess.run(
            ["git", "-C", str(ROOT), "archive", revision, "src"], capture_output=True, check=True
        )
        new = tempfile.mkdtemp(dir=CACHE)
        with tarfile.open(fileobj=BytesIO(archive.stdout)) as files:
            files.extractall(new, filter="data")
        os.rename(new, folder)
    return folder / "src"


def git(*words: str) -> str:
    """Return what git prints."""
    words = ("git", "-C", str(ROOT), *words)
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip()


def write_files() -> None:
    """Write a table as CSV and as Parquet."""
    import numpy as np
    import pandas as pd

    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.standard_normal((50_000, 20)).round(6)).add_prefix("x")
    frame["y"] = (frame.sum(axis=1) + rng.logistic(size=len(frame)) * 4 > 8).astype(int)
    frame.iloc[:20_000].to_csv(CACHE / "rows.csv", index=False)
    frame.to_parquet(CACHE / "rows.parquet", row_group_size=5_000)


class Version:
    """A process that runs one version."""

    def __init__(self, revision: str) -> None:
        folder = sources(revision)
        threads = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "NUMBA")}
        path = os.pathsep.join([str(folder), str(ROOT)])
        kernels = CACHE / "kernels" / folder.parent.name
        self.env = {**os.environ, **threads, "PYTHONPATH": path, "NUMBA_CACHE_DIR": str(kernels)}
        self.process = subprocess.Popen(
            [sys.executable, "-c", "from benchmarks.regression import serve; serve()"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=self.env, cwd=CACHE,
        )  # fmt: skip
        file, self.cases = self.answer()
        if not Path(file).is_relative_to(folder):
            raise SystemExit(f"{revision} was to run {folder}, but the process imported {file}.")

    def answer(self) -> Any:
        """Return the next line that the process prints."""
        assert self.process.stdout is not None
        return json.loads(self.process.stdout.readline())

    def run(self, case: str) -> Line | None:
        """Return the time and memory of a case."""
        if case in COMMANDS:
            return command(COMMANDS[case], self.env, CACHE)
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(case) + "\n")
        self.process.stdin.flush()
        return self.answer()


def main(
    base: Annotated[str, typer.Argument()] = "main",
    head: Annotated[str, typer.Argument()] = ".",
    rounds: int = 7,
    allow: Annotated[float, typer.Option(help="Ratio above which a case is marked.")] = 1.2,
    only: Annotated[list[str], typer.Option(help="Words of the cases to run.")] = [],
) -> None:
    CACHE.mkdir(parents=True, exist_ok=True)
    subprocess.run(
        [sys.executable, "-c", "from benchmarks.regression import write_files; write_files()"],
        cwd=ROOT, check=True,
    )  # fmt: skip
    versions = Version(base), Version(head)
    marked = []

    def row(case: str) -> list[str]:
        lines = in_turn({k: partial(version.run, case) for k, version in enumerate(versions)},
                        rounds)  # fmt: skip
        if None in [*lines[0], *lines[1]]:
            return [case, *"–––––"]
        times, memory = (
            [[line[field] for line in lines[k]] for k in (0, 1)]
            for field in ("processor_seconds", "memory_mb")
        )
        before, after = map(median, memory)
        slower = ratio(times[1], times[0])
        larger = after > allow * before and after - before > NOTABLE_MB
        if slower > allow or larger:
            marked.append(case)
        return [case, *(f"{1e3 * median(each):.1f}" for each in times),
                f"{slower:.2f}{' !' if slower > allow else ''}",
                f"{before:.1f}", f"{after:.1f}{' !' if larger else ''}"]  # fmt: skip

    names = [name for name in (*versions[0].cases, *COMMANDS)
             if not only or any(word in name for word in only)]  # fmt: skip
    show(["case", f"{base}, ms", f"{head}, ms", "ratio", f"{base}, MB", f"{head}, MB"],
         map(row, names))  # fmt: skip
    if marked:
        raise typer.Exit(1)
