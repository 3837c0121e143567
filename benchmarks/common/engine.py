"""How a run is made: clocks and peak memory, calls in turn, child processes with a limit."""

import ctypes
import gc
import math
import multiprocessing
import os
import resource
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from statistics import median
from typing import Any, TypeVar

Line = dict[str, Any]  # of a file of results
Clock = Callable[[], float]
Name = TypeVar("Name", bound=Hashable)
Result = TypeVar("Result")

MAX_CALLS = 100
PATIENCE = 30  # wall seconds per processor second of the limit, for processes that hang


# ---- clocks ------------------------------------------------------------------------------


def family_time() -> float:
    """Return the processor seconds of this process and of those it has waited for."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def timed(work: Callable[[], Any], clock: Clock = time.process_time) -> float:
    """Return the seconds of a call: processor seconds, unless the clock is another."""
    start = clock()
    work()
    return clock() - start


def in_turn(runs: Mapping[Name, Callable[[], Result]], rounds: int = 5) -> dict[Name, list[Result]]:
    """Return what each run gives in each round; other work on the machine then affects all alike.

    A first round, which compiles and loads, is not counted. Every second round is in reverse order.
    """
    results: dict[Name, list[Result]] = {name: [] for name in runs}
    for k in range(rounds + 1):
        for name in [*runs][:: -1 if k % 2 else 1]:
            result = runs[name]()
            if k > 0:
                results[name].append(result)
    return results


def times(
    works: Mapping[Name, Callable[[], Any]], rounds: int = 5, clock: Clock = time.process_time
) -> dict[Name, list[float]]:
    """Return the seconds of each call in each round."""
    return in_turn({name: lambda w=work: timed(w, clock) for name, work in works.items()}, rounds)


def seconds(work: Callable[[], Any], rounds: int = 5, clock: Clock = time.perf_counter) -> float:
    """Return the median wall seconds of a call."""
    return median(times({"": work}, rounds, clock)[""])


def least_seconds(work: Callable[[], Any]) -> float:
    """Return the least processor seconds of five calls: other work changes them least."""
    return min(times({"": work})[""])


def ratio(above: Iterable[float], below: Iterable[float]) -> float:
    """Return the median over the rounds of the ratio of two times."""
    return median(a / b for a, b in zip(above, below, strict=True))


def per_unit(run: Callable[[int], Any], few: int, many: int) -> float:
    """Return processor seconds per unit of length, from runs of two lengths.

    What does not depend on the length, such as set-up, cancels.
    """
    short, long = (least_seconds(lambda n=n: run(n)) for n in (few, many))
    return (long - short) / (many - few)


# ---- memory ------------------------------------------------------------------------------


def memory(reset: bool = False) -> tuple[float, float]:
    """Return the megabytes that this process holds, and the most it has held since a reset.

    A reset first returns freed memory to the system: what is used again would not be noticed.
    """
    if reset:
        gc.collect()
        ctypes.CDLL(None).malloc_trim(0)
        Path("/proc/self/clear_refs").write_text("5")
    status = Path("/proc/self/status").read_text().split()
    held, peak = (int(status[status.index(name) + 1]) / 1024 for name in ("VmRSS:", "VmHWM:"))
    return held, peak


def measured(work: Callable[[], Result], at_least: float = 0.0) -> tuple[Result, Line]:
    """Return what a call returns, and its seconds and peak memory as fields of a line.

    Calls are repeated for ``at_least`` processor seconds, because the clock ticks in milliseconds;
    the seconds are their mean.
    """
    before, _ = memory(reset=True)
    calls, wall, processor = 0, time.perf_counter(), family_time()
    while calls == 0 or (family_time() - processor < at_least and calls < MAX_CALLS):
        result = work()
        calls += 1
    wall, processor = time.perf_counter() - wall, family_time() - processor
    return result, {
        "seconds": round(wall / calls, 5), "processor_seconds": round(processor / calls, 5),
        "memory_mb": round(max(memory()[1] - before, 0.0), 1),
    }  # fmt: skip


# ---- child processes ---------------------------------------------------------------------


def command(
    words: Sequence[str],
    env: Mapping[str, str] | None = None,
    folder: Path | None = None,
    *,
    refused: bool = False,
) -> Line:
    """Run Python with these words; return its processor seconds and its peak memory.

    With ``refused`` it must end with exit code 2, as for bad input.
    """
    process = subprocess.Popen(
        [sys.executable, *words],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL if refused else None,
        env=env,
        cwd=folder,
    )
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != (2 if refused else 0):
        raise SystemExit(f"failed: {' '.join(words)}")
    return {
        "processor_seconds": used.ru_utime + used.ru_stime, "memory_mb": used.ru_maxrss / 1024,
    }  # fmt: skip


def in_child(
    work: Callable[..., Iterable[Line]],
    *arguments: Any,
    limit: float,
    start: str = "fork",
    max_bytes: int | None = None,
) -> Iterator[Line]:
    """Yield the lines that a generator yields in a process of its own.

    The last one has a note if the process failed or exceeded the limit, which is on the processor
    seconds of one line, so that other work on the machine does not matter. An empty line only
    renews the limit. A forked process shares the memory of this one; "spawn" starts anew.
    """
    context = multiprocessing.get_context(start)
    receiver, sender = context.Pipe(duplex=False)
    child = context.Process(target=_run, args=(work, arguments, limit, max_bytes, sender))
    child.start()
    sender.close()
    try:
        while receiver.poll(PATIENCE * limit):
            line = receiver.recv()
            if line is None:
                return
            if line:
                yield line
        yield {"note": "hangs"}
    except EOFError:
        child.join()
        exceeded = child.exitcode == -signal.SIGXCPU
        yield {"note": f"over {limit:g} s" if exceeded else "the process ended"}
    finally:
        child.kill()
        child.join()


def _run(
    work: Callable[..., Iterable[Line]],
    arguments: tuple[Any, ...],
    limit: float,
    max_bytes: int | None,
    sender: Connection,
) -> None:
    """Send each line, then None."""
    warnings.simplefilter("ignore")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # some libraries print as they fit
    if max_bytes is not None:
        resource.setrlimit(resource.RLIMIT_AS, (max_bytes, max_bytes))
    try:
        _allow(limit)
        for line in work(*arguments):
            sender.send(line)
            _allow(limit)
    except Exception as error:
        sender.send({"note": reason(error)})
    sender.send(None)


def _allow(limit: float) -> None:
    """End this process once it has worked for this many more seconds."""
    deadline = math.ceil(time.process_time() + limit)
    resource.setrlimit(resource.RLIMIT_CPU, (deadline, resource.RLIM_INFINITY))


def reason(error: Exception) -> str:
    """Return an error in one short line, without the paths of this machine."""
    return f"{type(error).__name__}: {error}".splitlines()[0].split(" (/")[0][:150]
