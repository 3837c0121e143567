"""Locks between processes."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

from aucmax.basics.needs import needs

__all__ = ["locked"]


@contextlib.contextmanager
def locked(lock: Path, use: str, busy: str) -> Iterator[None]:
    """Return a context for one process at a time; the system releases the lock if a process dies.

    If the context ends with an error, a lock file that it created is removed.

    Parameters
    ----------
    lock : Path
        An empty file, which is created if necessary and stays.
    use : str
        The use of the lock, for errors.
    busy : str
        The message of the ValueError if another process holds the lock. If the file is not empty,
        ValueError is raised, too.
    """
    filelock, is_new = needs("filelock", use), not lock.exists()
    if not is_new and lock.stat().st_size:  # locking would empty the file
        raise ValueError(
            f"{lock}: is not empty, so it is not a lock file of aucmax; {use} needs this name: "
            "move the file, or choose another name."
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
                with contextlib.suppress(OSError):  # Windows cannot remove open files
                    lock.unlink()
            raise
