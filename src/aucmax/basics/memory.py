"""Free memory for this process, as limited by the machine and by its control groups."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import NamedTuple

__all__ = ["ROOT", "free_memory"]

ROOT = Path("/")  # above /proc and /sys


class _Files(NamedTuple):
    """Names of a group's limits, use, and cached file pages in a version of control groups."""

    limits: tuple[str, ...]
    used: str
    cached: tuple[str, ...]


_V1 = _Files(
    ("memory.limit_in_bytes",),
    "memory.usage_in_bytes",
    ("total_inactive_file", "total_active_file"),
)
_V2 = _Files(("memory.max", "memory.high"), "memory.current", ("inactive_file", "active_file"))


def free_memory() -> int | None:
    """Return the bytes of memory that this process can still use; None if unknown."""
    free = list(_of_groups())
    with contextlib.suppress(OSError, ValueError, IndexError):  # Linux
        words = (ROOT / "proc/meminfo").read_text().partition("MemAvailable:")[2].split()
        free.append(1024 * int(words[0]))
    if not free:
        with contextlib.suppress(AttributeError, OSError, ValueError):  # the whole memory
            free.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    return max(min(free), 0) if free else None


def _of_groups() -> Iterator[int]:
    """Yield the free bytes in each control group of this process and in their parents."""
    for folder, files in _groups():
        with contextlib.suppress(OSError, ValueError):
            limits = [(folder / name).read_text().strip() for name in files.limits]
            least = min(int(limit) for limit in limits if limit != "max")
            lines = (folder / "memory.stat").read_text().splitlines()
            counts = {name: int(count) for name, count in map(str.split, lines)}
            # the system drops cached file pages when memory is short
            cached = sum(counts.get(name, 0) for name in files.cached)
            yield least - (int((folder / files.used).read_text()) - cached)


def _groups() -> Iterator[tuple[Path, _Files]]:
    """Yield the folders of this process's memory groups, innermost first, up to the mount point.

    `/proc/self/cgroup` has the path in the hierarchy, `/proc/self/mountinfo` the mounted part of
    the hierarchy and its mount point. In a container that part may begin at the group itself.
    """
    with contextlib.suppress(OSError, ValueError):
        paths = dict(_paths())
        for kind, root, mounted in _mounts():
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


def _mounts() -> Iterator[tuple[str, str, str]]:
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
