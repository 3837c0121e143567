"""Runs, each in a child process with a time limit, and the CSV file that keeps them."""

import csv
import math
import multiprocessing
import os
import resource
import signal
import subprocess
import time
import warnings
from collections.abc import Iterator
from functools import cache
from importlib.metadata import PackageNotFoundError, packages_distributions, version
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from aucmax import metrics
from benchmarks.data import Task
from benchmarks.peers import Method, told

RESULTS = Path(__file__).parent / "results" / "peers.csv"
FIELDS = ("question", "data", "rows", "features", "stored", "method", "setting", "repeat", "auc",
          "seconds", "processor_seconds", "memory_mb", "note", "threads", "versions",
          "machine")  # fmt: skip
WARM_ROWS = 100  # of each class, for the fit that loads and compiles before the clock starts
ENOUGH = 0.2  # processor seconds that short fits are repeated for: the clock ticks in milliseconds
MOST_FITS = 100
PATIENCE = 30  # wall seconds for each processor second of the limit, for what hangs
SMALL = 20_000_000  # stored numbers up to which a fit of all rows goes before, too
Line = dict[str, Any]


def measure(task: Task, method: Method, limit: float) -> Iterator[Line]:
    """Yield a line for each setting: what it took, or a note on why there is no more.

    The limit is of processor seconds, so that other work on the machine decides nothing.
    """
    if reason := method.obstacle(task):
        yield {"note": reason}
        return
    receive, send = multiprocessing.Pipe(duplex=False)
    # a fork shares the rows; nothing here has started threads
    child = multiprocessing.get_context("fork").Process(
        target=_run, args=(task, method, limit, send)
    )
    child.start()
    send.close()
    try:
        for setting in (None, *method.settings):  # the first one is the warming up
            if not receive.poll(PATIENCE * limit):
                yield {"setting": setting, "note": "hangs"}
                return
            line = receive.recv()
            if setting is not None or "note" in line:
                yield line
            if "note" in line:
                return
    except EOFError:
        child.join()
        over = child.exitcode == -signal.SIGXCPU
        yield {"setting": setting, "note": f"over {limit:g} s" if over else "the process ended"}
    finally:
        child.kill()
        child.join()


def _run(task: Task, method: Method, limit: float, send: Connection) -> None:
    """Fit at every setting and send what each took."""
    warnings.simplefilter("ignore")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # some print as they fit
    try:
        if method.dense:
            task = task.dense()
        _allow(limit)
        few = task.first(WARM_ROWS)
        method.build(method.settings[len(method.settings) // 2], len(few.y)).fit(few.X, few.y)
        send.send({})
        if task.stored <= SMALL and not method.tuned:
            method.build(method.settings[0], len(task.y)).fit(task.X, task.y)
        for setting in method.settings:
            _allow(limit)
            before = _forget_peak()
            count, wall, processor = 0, _wall(), _processor()
            while count == 0 or (_processor() - processor < ENOUGH and count < MOST_FITS):
                model = method.build(setting, len(task.y)).fit(task.X, task.y)
                count += 1
            wall, processor = (_wall() - wall) / count, (_processor() - processor) / count
            peak = status("VmHWM")
            auc = metrics.roc_auc(task.y_test, model.decision_function(task.X_test))
            send.send({
                "setting": setting, "auc": f"{auc:.6f}", "seconds": f"{wall:.5f}",
                "processor_seconds": f"{processor:.5f}",
                "memory_mb": f"{max(peak - before, 0) / 1024:.0f}",
            })  # fmt: skip
    except Exception as error:
        send.send({"note": told(error)})


def _allow(seconds: float) -> None:
    """Let the process be ended once it has worked for so long from now on."""
    most = math.ceil(time.process_time() + seconds)
    resource.setrlimit(resource.RLIMIT_CPU, (most, resource.RLIM_INFINITY))


_wall, _processor = time.perf_counter, time.process_time


def _forget_peak() -> int:
    """Start the measurement of peak memory again; return the memory in use, in kB."""
    Path("/proc/self/clear_refs").write_text("5")
    return status("VmRSS")


def status(name: str) -> int:
    """Return what Linux knows of this process, in kB."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(name))


# ---- where and with what -----------------------------------------------------------------


def machine() -> str:
    """Return processor, cores and memory."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    model = next(line.split(":")[1].strip() for line in lines if line.startswith("model name"))
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return f"{model}, {len(os.sched_getaffinity(0))} cores, {memory:.0f} GiB"


@cache
def versions(package: str) -> str:
    """Return the version of a method's package; that of aucmax has the last commit of its code."""
    if package == "aucmax":
        root = str(Path(__file__).parents[1])
        command = ["git", "-C", root, "log", "-1", "--format=%h", "--", "src"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        return f"aucmax {version('aucmax')} {done.stdout.strip()}"
    name = package.split(".")[0]
    distribution = packages_distributions().get(name, [name])[0]
    try:
        return f"{distribution} {version(distribution)}"
    except PackageNotFoundError:
        return distribution


# ---- the file ----------------------------------------------------------------------------


def lines_of(path: Path = RESULTS) -> list[dict[str, str]]:
    """Return the lines of the CSV file, none where there is no file."""
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def keep(lines: list[Line], path: Path = RESULTS) -> None:
    """Append lines, with a head where the file is new."""
    new = not path.exists()
    path.parent.mkdir(exist_ok=True)
    with path.open("a", newline="") as file:
        writer = csv.DictWriter(file, FIELDS, restval="", lineterminator="\n")
        if new:
            writer.writeheader()
        writer.writerows(lines)


def finished(question: str, path: Path = RESULTS) -> tuple[set[Any], set[Any]]:
    """Return the (data, method, repeat) that have run, and the (data, method) that did not work."""
    lines = [line for line in lines_of(path) if line["question"] == question]
    run = {(line["data"], line["method"], int(line["repeat"])) for line in lines if line["repeat"]}
    return run, {(line["data"], line["method"]) for line in lines if line["note"]}
