"""Data sets as the papers prepared them, and which of them are available."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from aucmax import datasets

__all__ = ["Presence", "Source", "digest_of", "present", "rows_of_source"]


@dataclass(frozen=True)
class Source:
    """A data set as a paper prepared it."""

    name: str  # as `aucmax.datasets` calls it
    binarize: Any = None  # which classes are positive
    scale: str | tuple[str, ...] | None = None  # of rows or features, applied in turn
    made: bool = False  # the experiment makes its own rows: nothing to load
    split: str = "all"  # the rows that the paper counts: "all", "train" or "test"

    @property
    def facts(self) -> list[Any]:
        """Everything that determines its rows, for the keys of stored results."""
        digest = digest_of(self.name, self.split)
        return [self.name, self.split, self.binarize, self.scale, digest]

    def load(self) -> tuple[Any, np.ndarray]:
        """Return (X, is positive)."""
        return rows_of_source(self)


@lru_cache(maxsize=2)
def rows_of_source(source: Source) -> tuple[Any, np.ndarray]:
    """Return (X, is positive); the last two sources are kept."""
    data = datasets.load(source.name, source.split, binarize=source.binarize)
    X, y = data.data, np.asarray(data.target)
    for how in (source.scale,) if isinstance(source.scale, str) else source.scale or ():
        X = datasets.scale(X, how)
    return X, y == y.max()


@lru_cache(maxsize=64)
def digest_of(name: str, split: str = "all") -> str:
    """Return the digests of a data set's local files, for the keys of stored results."""
    if name not in datasets.names():
        return ""
    return ",".join(digest[:12] for digest in datasets.load(name, split).sha256)


class Presence(NamedTuple):
    """The available and the missing data sets."""

    readable: list[Source]
    missing: list[str]  # names of those without files
    broken: dict[str, str]  # names of those whose files cannot be read, and why
    altered: list[str]  # names of readable ones whose digests are not the registry's

    @property
    def absent(self) -> dict[str, str]:
        """The reasons why the others cannot be run, by name."""
        words = {name: f"data not found: aucmax datasets fetch {name}" for name in self.missing}
        return words | dict.fromkeys(self.broken, "its files cannot be read")


def present(sources: Sequence[Source]) -> Presence:
    """Return which data sets are available."""
    presence = Presence([], [], {}, [])
    for source in sources:
        if source.made:
            presence.readable.append(source)
            continue
        try:
            datasets.locate(source.name, source.split)
        except ValueError:
            presence.missing.append(source.name)
            continue
        try:
            verified = datasets.load(source.name, source.split).verified
        except Exception as error:
            presence.broken[source.name] = str(error)
            continue
        presence.readable.append(source)
        if verified is False:
            presence.altered.append(source.name)
    return presence
