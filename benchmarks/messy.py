"""Reading a large messy CSV file and refusing it, compared with pyarrow's own parser.

    python -m benchmarks messy --folder /where/there/is/room
    python -m benchmarks messy --rows 400000 --repeats 1
    python -m benchmarks messy --table

Writes a file with currencies, percents, dates, words and gaps; 4,300,000 rows are about 450 MB. It
is read by `pyarrow.csv.read_csv` and as ``aucmax train`` reads it, in turn, each time in a process
of its own that has read a small file before. Then the command is run with options that line 2
refutes, from its start to its end. Each run is a line of benchmarks/results/messy.csv.
"""

import resource
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from statistics import median
from typing import Annotated, Any

import numpy as np
import pandas as pd
import typer

from benchmarks.common import tables
from benchmarks.common.engine import Line, in_child, measured, ratio
from benchmarks.common.results import Results

BLOCK = 100_000  # rows that are formatted, and written again and again
WARM_ROWS = 20_000  # enough for the same decisions about columns
TARGET = "fraud"
PARSER = "pyarrow.csv"
REFUSED = {
    "labels of many words": ["--target", "merchant"],
    "a weight of words": ["--target", TARGET, "--weight", "merchant"],
}  # each is refuted by line 2


# ---- the file ----------------------------------------------------------------------------


def block(rows: int = BLOCK) -> pd.DataFrame:
    """Return rows as a bank writes them."""
    rng = np.random.default_rng(0)
    sent = pd.DatetimeIndex(np.datetime64("2024-01-01T00:00") + rng.integers(525_600, size=rows))
    unknown = rng.random(rows) < 0.1
    return pd.DataFrame(
        {
            "account": [f"GB{k}" for k in rng.integers(100_000, 999_999, rows)],
            "sent": sent.strftime("%Y-%m-%d %H:%M"),
            "amount": [f"${x:,.2f}" for x in rng.lognormal(7, 1.5, rows)],
            "rate": [f"{x:.2f}%" for x in rng.uniform(0, 30, rows)],
            "merchant": [f"shop {int(k)}" for k in 3000 * rng.random(rows) ** 3],
            "country": np.where(unknown, "NA", rng.choice(["GB", "IE", "CY"], rows)),
            "first_time": rng.choice(["Y", "N"], rows),
            "age": np.where(unknown, "?", rng.integers(18, 99, rows).astype(str)),
            **{f"x{j}": rng.normal(size=rows).round(5) for j in range(5)},
            TARGET: np.where(rng.random(rows) < 0.03, "yes", "no"),
        }
    )


def write(path: Path, rows: int) -> Path:
    """Write the file, unless it is there."""
    if not path.exists():
        lines = block(min(rows, BLOCK))
        text = lines.to_csv(index=False, header=False).encode()
        with path.open("wb") as file:
            file.write((",".join(lines.columns) + "\n").encode())
            for _ in range(max(1, rows // BLOCK)):
                file.write(text)
    return path


# ---- methods -----------------------------------------------------------------------------


def by_pyarrow(path: Path) -> Any:
    """Read all columns as what pyarrow takes them for."""
    from pyarrow import csv

    return csv.read_csv(path)


def by_aucmax(path: Path) -> Any:
    """Read the file as ``aucmax train`` does."""
    from aucmax.data.readers import rows_of
    from aucmax.data.reading import Reading

    return rows_of(path, Reading(target=TARGET, prepare=True))


READERS = {PARSER: ("pyarrow", by_pyarrow), "aucmax": ("aucmax", by_aucmax)}


def read(method: str, path: Path, few: Path) -> Iterator[Line]:
    """Read a small file, then the large one."""
    _, reader = READERS[method]
    reader(few)
    yield measured(lambda: reader(path))[1]


def refusal(words: list[str], path: Path) -> Iterator[Line]:
    """Run the command, which must refuse the file."""
    command = [sys.executable, "-m", "aucmax", "train", str(path), *words]
    command += ["-o", str(path.with_suffix(".aucmax"))]
    done, line = measured(lambda: subprocess.run(command, capture_output=True, text=True))
    if done.returncode != 2:
        raise ValueError(f"not refused: exit code {done.returncode}")
    yield line | {"memory_mb": resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024}


def runs(
    folder: Path, rows: int, repeats: int, limit: float
) -> Iterator[tuple[Line, Callable[[], Iterator[Line]]]]:
    """Write the files, and yield each run, the methods in turn."""
    path = write(folder / f"messy-{rows}.csv", rows)
    few = write(folder / f"messy-{WARM_ROWS}.csv", WARM_ROWS)
    size = f"{path.stat().st_size / 1e6:.0f} MB"
    for repeat in range(1, repeats + 1):
        what: Line = {"data": size, "rows": rows, "repeat": repeat}
        start = partial(in_child, limit=limit, start="spawn")
        for method, (package, _) in READERS.items():
            key = {"question": "read", "method": method, "package": package}
            yield what | key, partial(start, read, method, path, few)
        for reason, words in REFUSED.items():
            yield (
                what | {"question": "refuse", "method": reason},
                partial(start, refusal, words, path),
            )


# ---- the table ---------------------------------------------------------------------------


def table(lines: list[dict[str, str]]) -> Iterator[str]:
    """Yield the results as Markdown, a table for each file and question."""
    head = ["", "runs", "seconds", "processor", "rate", "rate, processor", "peak, MB"]
    for size, question in dict.fromkeys((line["data"], line["question"]) for line in lines):
        own = [line for line in lines if (line["data"], line["question"]) == (size, question)]
        rows = [row(method, own) for method in dict.fromkeys(line["method"] for line in own)]
        yield f"\n{question}: {size}, {int(own[0]['rows']):,} rows. {own[0]['machine']}.\n"
        yield tables.table(head, rows)


def row(method: str, lines: list[dict[str, str]]) -> list[str]:
    """Return the medians of a method; its rates are relative to pyarrow's, run by run."""

    def figures(method: str, name: str) -> list[float]:
        return [float(line[name]) for line in lines if line["method"] == method and line[name]]

    clocks = ("seconds", "processor_seconds")
    own = {name: figures(method, name) for name in (*clocks, "memory_mb")}
    if not own["seconds"]:
        note = next(line["note"] for line in lines if line["method"] == method)
        return [method, "0", note, "", "", "", ""]
    parser = {name: figures(PARSER, name) for name in clocks}
    pairs = len(parser["seconds"]) == len(own["seconds"])
    rates = [f"{ratio(parser[name], own[name]):.2f}" if pairs else "" for name in clocks]
    times = [f"{median(own[name]):.2f}" for name in clocks]
    memory = f"{median(own['memory_mb']):.0f}"
    return [method, str(len(own["seconds"])), *times, *rates, memory]


def main(
    rows: Annotated[int, typer.Option(help="A multiple of 100,000, or fewer.")] = 4_300_000,
    repeats: int = 3,
    folder: Path = Path("."),
    limit: Annotated[float, typer.Option(help="Processor seconds of a run.")] = 900.0,
    results: Annotated[Path | None, typer.Option(help="The CSV file.")] = None,
    again: Annotated[bool, typer.Option("--again", help="Make runs that are kept, too.")] = False,
    show_only: Annotated[bool, typer.Option("--table", help="Run nothing.")] = False,
) -> None:
    kept = Results(results or "messy")
    if not show_only:
        kept.complete(runs(folder, rows, repeats, limit), again)
    print("\n".join(table(kept.lines())))
