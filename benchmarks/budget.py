"""How far commands keep to ``--memory`` on a Parquet file of one large row group.

    python -m benchmarks budget --folder /where/there/is/room

Writes a file of numbers and one with text columns of few and of many words, each of one row group,
and a small file of each kind. A command runs in a process of its own, first on the small file: what
its peak on the large one has beyond that is held against the budget.
"""

import os
import subprocess
import sys
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from benchmarks.common.tables import show

FEATURES = 37
SMALL_ROWS = 20_000
WORDS = 200_000  # of the columns of many words; most are rare
COMMANDS = {
    "train --alpha 0.1": ["train", "--alpha", "0.1"],
    "train --loss logistic": ["train", "--loss", "logistic"],
    "train --loss squared_hinge": ["train", "--loss", "squared_hinge"],
    "train, tuned": ["train"],
    "cv --losses square": ["cv", "--losses", "square"],
    "score": ["score"],
    "evaluate": ["evaluate"],
}  # the first makes the model of the last two


def write(folder: Path, n: int, kind: str) -> Path:
    """Write n rows in one row group; return the file."""
    import pyarrow as pa
    from pyarrow import parquet

    path = folder / f"{kind}{n}.parquet"
    if path.exists():
        return path
    rng, columns = np.random.default_rng(0), {}
    score = rng.logistic(size=n) - 4.0
    for j in range(FEATURES if kind == "numbers" else 5):
        columns[f"x{j}"] = pa.array(x := rng.normal(size=n))
        score += 0.2 * x
    if kind == "text":
        for k in range(2):
            words = np.array(["red", "green", "blue", "black"])
            columns[f"few{k}"] = pa.array(words[rng.integers(len(words), size=n)])
        for k in range(3):
            words = np.array([f"word {j}" for j in range(WORDS)])
            columns[f"many{k}"] = pa.array(words[rng.zipf(1.3, size=n) % WORDS])
    columns["y"] = pa.array((score > 0.0).astype(np.int8))
    plain = {"use_dictionary": False, "compression": "none"} if kind == "numbers" else {}
    parquet.write_table(pa.table(columns), path, row_group_size=n, **plain)
    return path


def peak(name: str, file: Path, memory: str) -> float:
    """Run a command; return the peak of its resident memory in MB."""
    verb, *options = COMMANDS[name]
    model = file.with_suffix(f".{'tuned' if name == 'train, tuned' else 'model'}")
    words = {"score": [model, file, "-o", file.with_suffix(".csv")], "evaluate": [model, file]}
    own = words.get(verb, [file, "--target", "y", "-o", model, *options])
    command = [sys.executable, "-m", "aucmax", verb, *map(str, own), "--memory", memory]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        _, status, spent = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    return spent.ru_maxrss * 1024 / 1e6


def main(
    budget: Annotated[int, typer.Option(help="MB.")] = 200,
    rows: int = 5_000_000,
    folder: Path = Path("."),
) -> None:
    def lines(kind: str):
        large, small = write(folder, rows, kind), write(folder, SMALL_ROWS, kind)
        for name in COMMANDS:
            before, after = peak(name, small, "1MB"), peak(name, large, f"{budget}MB")
            beyond = after - before
            fits = "yes" if beyond <= 1.1 * budget else "no"
            yield kind, name, f"{before:.0f}", f"{after:.0f}", f"{beyond:.0f}", fits

    head = ["file", "command", "small file, MB", "large file, MB", "beside it", "within a tenth"]
    show(head, (line for kind in ("numbers", "text") for line in lines(kind)))
