"""Provenance of a result: command, data, seed, date and versions."""

from __future__ import annotations

import platform
from collections.abc import Iterable
from datetime import datetime

from aucmax.basics.version import package_version

__all__ = ["provenance"]

_PACKAGES = ("numpy", "scipy", "scikit-learn", "numba")


def provenance(
    command: str, data: Iterable[tuple[str, str]], seed: int | None = None
) -> list[tuple[str, str]]:
    """List what is needed to reproduce a result: command, data, seed, date and versions.

    ``data`` are the names and sizes of the inputs; ``seed`` is None if nothing was random.
    """
    facts = [("command", command), *data]
    if seed is not None:
        facts.append(("seed", str(seed)))
    facts.append(("date", datetime.now().astimezone().isoformat(" ", "seconds")))
    facts += [("aucmax", package_version()), ("Python", platform.python_version())]
    return facts + [(package, package_version(package)) for package in _PACKAGES]
