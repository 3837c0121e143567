"""Free memory for this process, as limited by the machine and by its control groups."""

from __future__ import annotations

import contextlib
import math
import os
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import NamedTuple

__all__ = ["ROOT", "Footprint", "Headroom", "free_memory", "headroom", "require"]

ROOT = Path("/")  # above /proc and /sys


class Footprint(NamedTuple):
    """The approximate memory of a fit in addition to the program's, as measured, in bytes."""

    of_row: int  # of each row if the rows stay in the file
    of_row_in_memory: int  # of each row in memory, in addition to its numbers
    parts: int  # number of parts in memory at once, or equivalent memory
    always: int = 0  # of each row that stays in the file, whatever the settings


class Headroom(NamedTuple):
    """The memory that a process may still take before the system kills it."""

    free: int
    limit: int | None  # of the tightest control group; None if the machine is the limit


class _Files(NamedTuple):
    """The names of files with limits, use and cached pages, for a version of control groups."""

    limit: str
    soft_limits: tuple[str, ...]  # limits beyond which a group is slowed down
    used: str
    cached: tuple[str, ...]
    swap_limit: str
    swap_used: str
    swap_has_memory: bool  # whether the swap files count memory, too


_V1 = _Files(
    "memory.limit_in_bytes",
    (),
    "memory.usage_in_bytes",
    ("total_inactive_file", "total_active_file"),
    "memory.memsw.limit_in_bytes",
    "memory.memsw.usage_in_bytes",
    True,
)
_V2 = _Files(
    "memory.max",
    ("memory.high",),
    "memory.current",
    ("inactive_file", "active_file"),
    "memory.swap.max",
    "memory.swap.current",
    False,
)


def free_memory() -> int | None:
    """Return the bytes of memory that this process can still use; None if unknown."""
    free = list(_of_groups())
    with contextlib.suppress(OSError, ValueError, IndexError):  # Linux
        free.append(_of_machine("MemAvailable"))
    if not free:
        with contextlib.suppress(AttributeError, OSError, ValueError):  # all memory of the machine
            free.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    return max(min(free), 0) if free else None


def headroom() -> Headroom | None:
    """Return how much this process may take before the system kills it; None if unknown.

    Unlike `free_memory`, it counts swap, and ignores limits that only slow a process down.
    """
    swap, rooms = 0, []
    with contextlib.suppress(OSError, ValueError, IndexError):
        swap = _of_machine("SwapFree")
    with contextlib.suppress(OSError, ValueError, IndexError):
        rooms.append(Headroom(_of_machine("MemAvailable") + swap, None))
    for folder, files in _groups():
        with contextlib.suppress(OSError, ValueError):
            limit, cached = _number(folder / files.limit), _cached(folder, files)
            free = limit - (_number(folder / files.used) - cached)
            swappable = swap
            with contextlib.suppress(OSError, ValueError):  # the group may not count swap
                allowed = _number(folder / files.swap_limit) - _number(folder / files.swap_used)
                swap_room = allowed + cached - free if files.swap_has_memory else max(allowed, 0)
                swappable = min(swap, swap_room)
            rooms.append(Headroom(max(free + swappable, 0), limit))
    return min(rooms, key=lambda room: room.free, default=None)


def require(program: int, data: int = 0, purpose: str = "") -> None:
    """Raise MemoryError if the system would kill the process before its work is done.

    Parameters
    ----------
    program, data : int
        The bytes that the program will take for itself, and for its data.
    purpose : str
        A description of the data, for the message.
    """
    room = headroom()
    if room is None or program + data <= room.free:
        return
    short = program + data - room.free
    if room.limit is None:
        available = f"{_mb(room.free)} are free on this machine"
        remedy = f"free another {_mb(short)}"
    else:
        available = f"{_mb(room.free)} are left of the limit of {_mb(room.limit)}"
        remedy = f"raise the limit to {_mb(1e7 * math.ceil((room.limit + short) / 1e7))}"
    for_data = f" and about {_mb(data)} for {purpose}" if data else ""
    raise MemoryError(
        f"{available}, and the program needs {_mb(program)} for itself{for_data}; {remedy}"
    )


def _mb(size: float) -> str:
    return f"{math.ceil(size / 1e6):,} MB"


def _of_machine(name: str) -> int:
    """Return the number of bytes that `/proc/meminfo` reports under a name."""
    words = (ROOT / "proc/meminfo").read_text().partition(f"{name}:")[2].split()
    return 1024 * int(words[0])


def _of_groups() -> Iterator[int]:
    """Yield the free bytes in each control group of this process and in their parents."""
    for folder, files in _groups():
        with contextlib.suppress(OSError, ValueError):
            names = (files.limit, *files.soft_limits)
            limits = [(folder / name).read_text().strip() for name in names]
            least = min(int(limit) for limit in limits if limit != "max")
            yield least - (_number(folder / files.used) - _cached(folder, files))


def _number(path: Path) -> int:
    return int(path.read_text())


def _cached(folder: Path, files: _Files) -> int:
    """Return the bytes of a group's cached pages, which the system drops if memory is short."""
    lines = (folder / "memory.stat").read_text().splitlines()
    counts = {name: int(count) for name, count in map(str.split, lines)}
    return sum(counts.get(name, 0) for name in files.cached)


def _groups() -> Iterator[tuple[Path, _Files]]:
    """Yield the folders of this process's memory groups, innermost first, up to the mount point.

    `/proc/self/cgroup` has the path in the hierarchy; `/proc/self/mountinfo` has the mounted part
    of the hierarchy and its mount point. In a container, that part may begin at the group itself.
    """
    with contextlib.suppress(OSError, ValueError):
        paths = dict(_paths())
        for kind, root, mounted in mounts():
            if kind not in paths:
                continue
            path, files = PurePosixPath(paths[kind]), _V1 if kind == "memory" else _V2
            inner = path.relative_to(root) if path.is_relative_to(root) else PurePosixPath()
            for part in (inner, *inner.parents):
                yield ROOT / mounted.lstrip("/") / part, files


def _paths() -> Iterator[tuple[str, str]]:
    """Yield "memory" and this process's path among the groups of version 1; "" for version 2."""
    for line in (ROOT / "proc/self/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        if not controllers or "memory" in controllers.split(","):
            yield "memory" if controllers else "", path


def mounts() -> Iterator[tuple[str, str, str]]:
    """Yield "memory" or "", the mounted part and the mount point of each memory hierarchy."""
    for line in (ROOT / "proc/self/mountinfo").read_text().splitlines():
        before, _, after = line.partition(" - ")
        _, _, _, root, mounted, *_ = before.split()
        kind, _, options = after.split(maxsplit=2)
        mounted = mounted.replace("\\040", " ")
        if kind == "cgroup2":
            yield "", root, mounted
        elif kind == "cgroup" and "memory" in options.split(","):
            yield "memory", root, mounted
