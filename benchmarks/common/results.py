"""The results that are kept: files of ``benchmarks/results``, a line for each run."""

import csv
import os
import subprocess
from collections.abc import Callable, Iterable
from functools import cache
from importlib.metadata import PackageNotFoundError, packages_distributions, version
from pathlib import Path

from benchmarks.common.engine import Line

FOLDER = Path(__file__).parents[1] / "results"
KEYS = ("question", "data", "positives", "method", "repeat")
FIELDS = ("question", "data", "rows", "features", "stored", "positives", "method", "setting",
          "repeat", "passes", "auc", "partial_auc", "average_precision", "seconds",
          "processor_seconds", "memory_mb", "before_mb", "note", "threads", "versions",
          "machine")  # fmt: skip


class Results:
    """A file of runs: what was run (`KEYS`), its figures, and with which versions and machine."""

    def __init__(self, file: str | Path) -> None:
        self.path = FOLDER / f"{file}.csv" if isinstance(file, str) else file

    def lines(self) -> list[dict[str, str]]:
        """Return all lines, none if there is no file."""
        if not self.path.exists():
            return []
        with self.path.open(newline="") as file:
            return list(csv.DictReader(file))

    def add(self, *lines: Line) -> None:
        """Append lines, and print what they hold."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a", newline="") as file:
            writer = csv.DictWriter(file, FIELDS, restval="", lineterminator="\n")
            if file.tell() == 0:
                writer.writeheader()
            writer.writerows(lines)

    def complete(
        self, runs: Iterable[tuple[Line, Callable[[], Iterable[Line]]]], again: bool = False
    ) -> None:
        """Make the runs that are not kept yet, and keep each of their lines as it comes.

        A run is its keys and package, and what yields its lines. A method that failed on a data set
        is not tried on it again.
        """
        kept = [] if again else self.lines()
        done = {_key(line) for line in kept if line["repeat"]}
        failed = {_key(line)[:-1] for line in kept if line["note"]}
        for what, work in runs:
            key = _key(what)
            if key in done or key[:-1] in failed:
                continue
            package = what.get("package", "aucmax")
            head = {name: value for name, value in what.items() if name != "package"}
            head |= {"threads": os.environ.get("OMP_NUM_THREADS", ""), "machine": machine(),
                     "versions": versions(package)}  # fmt: skip
            for line in work():
                self.add(head | line)
                print(*filter(None, key), *line.values(), sep="  ", flush=True)
                if "note" in line:
                    failed.add(key[:-1])


def _key(line: Line) -> tuple[str, ...]:
    return tuple(str(line.get(name, "")) for name in KEYS)


def machine() -> str:
    """Return processor, cores and memory."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    model = next(line.split(":")[1].strip() for line in lines if line.startswith("model name"))
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return f"{model}, {len(os.sched_getaffinity(0))} cores, {memory:.0f} GiB"


@cache
def versions(package: str) -> str:
    """Return the version of a package; that of aucmax has the last commit of its code."""
    if package == "aucmax":
        root = str(Path(__file__).parents[2])
        command = ["git", "-C", root, "log", "-1", "--format=%h", "--", "src"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        return f"aucmax {version('aucmax')} {done.stdout.strip()}"
    name = package.split(".")[0]
    distribution = packages_distributions().get(name, [name])[0]
    try:
        return f"{distribution} {version(distribution)}"
    except PackageNotFoundError:
        return distribution
