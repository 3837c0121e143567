"""Locks between processes."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

from aucmax.basics.needs import needs

__all__ = ["locked"]


@contextlib.contextmanager
def locked(lock: Path, use: str, busy: str) -> Iterator[None]:
    """Context for one process at a time; the system releases the lock when the process dies.

    A context that ends in an error leaves no lock behind that was not there before.

    Parameters
    ----------
    lock : Path
        An empty file, which is created if necessary and stays.
    use : str
        What needs the lock, for errors.
    busy : str
        The message of the ValueError if another process holds the lock. A file that is not empty is
        a ValueError too.
    """
    filelock, is_new = needs("filelock", use), not lock.exists()
    if not is_new and lock.stat().st_size:  # a lock empties its file
        raise ValueError(
            f"{lock}: is not empty, so it is no lock of aucmax; {use} needs this name: move the "
            "file, or choose another name."
        )
    try:
        acquired = filelock.FileLock(lock).acquire(blocking=False)
    except filelock.Timeout:
        raise ValueError(busy) from None
    with acquired:
        try:
            yield
        except BaseException:
            if is_new:
                with contextlib.suppress(OSError):  # Windows removes no file that is open
                    lock.unlink()
            raise
