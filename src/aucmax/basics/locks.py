"""Locks between processes."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

from aucmax.basics.needs import needs

__all__ = ["locked"]


@contextlib.contextmanager
def locked(lock: Path, use: str, busy: str) -> Iterator[None]:
    """Context that one process at a time can be in; the system ends it when the process dies.

    Parameters
    ----------
    lock : Path
        An empty file, which is made if need be and stays.
    use : str
        What needs the lock, for the error where filelock is not installed.
    busy : str
        The message of the ValueError where another process is in the context.
    """
    filelock = needs("filelock", use)
    try:
        held = filelock.FileLock(lock).acquire(blocking=False)
    except filelock.Timeout:
        raise ValueError(busy) from None
    with held:
        yield
