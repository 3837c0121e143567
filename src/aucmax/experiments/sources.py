"""Data sets as the papers prepared them, and which of them are available here."""

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from typing import Any, NamedTuple

import numpy as np

from aucmax import datasets
from aucmax.data.files import Mark

__all__ = [
    "Presence",
    "Source",
    "digest_of",
    "prepared",
    "present",
    "published_rows",
    "rows_of_source",
]


@dataclass(frozen=True)
class Source:
    """A data set as a paper prepared it."""

    name: str  # as `aucmax.datasets` calls it
    binarize: Any = None  # which classes are positive
    scale: str | tuple[str, ...] | None = None  # of rows or features, applied in turn
    made: bool = False  # whether the experiment generates its own rows
    split: str = "all"  # the rows that the paper counts: "all", "train" or "test"

    @property
    def facts(self) -> list[Any]:
        """Everything that determines its rows; part of the key of a stored result."""
        digest = digest_of(self.name, self.split)
        return [self.name, self.split, self.binarize, self.scale, digest]

    def load(self) -> tuple[Any, np.ndarray]:
        """Return (X, is positive)."""
        return rows_of_source(self)


def published_rows(name: str) -> list[dict[str, str]]:
    """Return the rows of a file in the folder ``published``."""
    file = resources.files("aucmax.experiments") / "published" / f"{name}.csv"
    return list(csv.DictReader(file.read_text(encoding="utf-8").splitlines()))


def prepared(*lists: str) -> list[Source]:
    """Return the data sets of some lists in ``published/data_sets.csv``, as the papers had them."""
    return [
        Source(row["name"], _grouping(row["binarize"]), _scaling(row["scale"]), split=row["split"])
        for name in lists
        for row in published_rows("data_sets")
        if row["list"] == name
    ]


def _grouping(text: str) -> Any:
    """Return which classes are positive: None, a word, or a word and a seed."""
    word, _, seed = text.partition(" ")
    return (word, int(seed)) if seed else word or None


def _scaling(text: str) -> str | tuple[str, ...] | None:
    return tuple(text.split()) if " " in text else text or None


@lru_cache(maxsize=2)
def rows_of_source(source: Source) -> tuple[Any, np.ndarray]:
    """Return (X, is positive); the last two results are cached."""
    data = datasets.load(source.name, source.split, binarize=source.binarize)
    X, y = data.data, np.asarray(data.target)
    for scaling in (source.scale,) if isinstance(source.scale, str) else source.scale or ():
        X = datasets.scale(X, scaling)
    return X, y == y.max()


@lru_cache(maxsize=64)
def digest_of(name: str, split: str = "all") -> str:
    """Return the digests of a data set's local files, for the key of a stored result."""
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


@lru_cache(maxsize=64)
def _verified(name: str, split: str, files: tuple[Mark | None, ...]) -> bool | None:
    """Return what `datasets.load` says of ``files``; they are not read again while unchanged."""
    return datasets.load(name, split).verified


def present(sources: Sequence[Source]) -> Presence:
    """Return which data sets are available."""
    presence = Presence([], [], {}, [])
    for source in sources:
        if source.made:
            presence.readable.append(source)
            continue
        try:
            files = datasets.locate(source.name, source.split)
        except ValueError:
            presence.missing.append(source.name)
            continue
        try:
            verified = _verified(source.name, source.split, tuple(map(Mark.of, files)))
        except Exception as error:
            presence.broken[source.name] = str(error)
            continue
        presence.readable.append(source)
        if verified is False:
            presence.altered.append(source.name)
    return presence
