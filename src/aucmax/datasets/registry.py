"""The data sets known by name: one row of ``registry.csv`` per file."""

from __future__ import annotations

import csv
import difflib
from collections import Counter
from dataclasses import dataclass
from functools import cache
from importlib import resources

__all__ = ["DataSet", "Part", "about", "names"]

# What LIBSVM and the papers call them; `german` and `fourclass` are the scaled files.
ALIASES = {
    "connect4": "connect-4",
    "fourclass.scale": "fourclass",
    "fourclass_raw": "fourclass.raw",
    "fourclass_scale": "fourclass",
    "german.numer.scale": "german",
    "german.numer_scale": "german",
    "german.raw": "german.numer",
    "german_scale": "german",
    "letter.scale": "letter",
    "sector.scale": "sector",
}


@dataclass(frozen=True)
class Part:
    """One file of a data set.

    Parameters
    ----------
    split : {"all", "train", "test"}
        Which rows it holds.
    file : str
        Name of the reference file, compressed.
    n_samples, n_features : int
        Rows, and columns after padding to the data set's own width.
    class_counts : tuple of (int, int)
        Labels, rising, and the rows of each.
    sha256 : str
        Digest of the reference file.
    url : str
        Where `fetch` downloads it; may be another compression of the same rows.
    notes : str
        Scaling, source and known quirks.
    """

    split: str
    file: str
    n_samples: int
    n_features: int
    class_counts: tuple[tuple[int, int], ...]
    sha256: str
    url: str
    notes: str

    @property
    def stem(self) -> str:
        """File name without the compression suffix."""
        return self.file.removesuffix(".xz")

    @property
    def download(self) -> str:
        """File name as the publisher has it."""
        return self.url.rpartition("/")[2]

    @property
    def file_names(self) -> list[str]:
        """Names under which the file is recognised in a folder, the preferred one first."""
        stored = [self.stem + suffix for suffix in (".xz", "", ".gz", ".bz2")]
        return [*stored, self.download] if self.download not in stored else stored


@dataclass(frozen=True)
class DataSet:
    """A data set known by name.

    Parameters
    ----------
    name : str
        Its canonical name.
    aliases : tuple of str
        Other names it answers to.
    n_features : int
        Number of columns, the same in every split.
    sparse : bool
        Whether it loads as a CSR matrix.
    parts : tuple of Part
        Its files: training rows before test rows.
    """

    name: str
    aliases: tuple[str, ...]
    n_features: int
    sparse: bool
    parts: tuple[Part, ...]

    @property
    def splits(self) -> tuple[str, ...]:
        """What `load` takes as ``split``; "all" stacks the parts."""
        return tuple(dict.fromkeys(["all", *(part.split for part in self.parts)]))

    def select(self, split: str) -> tuple[Part, ...]:
        """Give the files that make up a split.

        Parameters
        ----------
        split : str
            One of `splits`.

        Returns
        -------
        tuple of Part
            The files, in row order.

        Raises
        ------
        ValueError
            The data set has no such split.
        """
        if split not in self.splits:
            raise ValueError(
                f"split={split!r}: data set {self.name!r} has the splits {', '.join(self.splits)}"
            )
        return tuple(part for part in self.parts if split in ("all", part.split))

    def n_samples(self, split: str = "all") -> int:
        """Count the rows of a split.

        Parameters
        ----------
        split : str
            One of `splits`.

        Returns
        -------
        int
            Number of rows.
        """
        return sum(part.n_samples for part in self.select(split))

    def class_counts(self, split: str = "all") -> dict[int, int]:
        """Count the rows of each label.

        Parameters
        ----------
        split : str
            One of `splits`.

        Returns
        -------
        dict of int to int
            Rows of each label, the labels rising.
        """
        total: Counter[int] = Counter()
        for part in self.select(split):
            total.update(dict(part.class_counts))
        return dict(sorted(total.items()))


def names() -> list[str]:
    """List the known data sets.

    Returns
    -------
    list of str
        Canonical names; `about` lists each one's aliases.
    """
    return list(_registry())


def about(name: str) -> DataSet:
    """What is known of a data set: files, sizes, sources, quirks.

    Parameters
    ----------
    name : str
        Canonical name or alias. ``"german"`` and ``"fourclass"`` are the files scaled to
        [−1, 1]; the unscaled ones are ``"german.numer"`` and ``"fourclass.raw"``.

    Returns
    -------
    DataSet
        The registry's entry.

    Raises
    ------
    ValueError
        No data set of this name.
    """
    known = _registry()
    if not isinstance(name, str):
        raise ValueError(f"the name of a data set is a string, one of {', '.join(known)}")
    canonical = ALIASES.get(name, name)
    if canonical not in known:
        close = difflib.get_close_matches(name, [*known, *ALIASES], n=1)
        guess = f"did you mean {close[0]!r}? " if close else ""
        raise ValueError(f"no data set named {name!r}; {guess}known: {', '.join(known)}")
    return known[canonical]


@cache
def _registry() -> dict[str, DataSet]:
    text = resources.files(__package__).joinpath("registry.csv").read_text(encoding="utf-8")
    groups: dict[str, list[dict[str, str]]] = {}
    for row in csv.DictReader(text.splitlines()):
        groups.setdefault(row["name"], []).append(row)
    return {name: _data_set(name, rows) for name, rows in groups.items()}


def _data_set(name: str, rows: list[dict[str, str]]) -> DataSet:
    return DataSet(
        name=name,
        aliases=tuple(alias for alias, meant in ALIASES.items() if meant == name),
        n_features=int(rows[0]["n_features"]),
        sparse=rows[0]["storage"] == "sparse",
        parts=tuple(_part(row) for row in rows),
    )


def _part(row: dict[str, str]) -> Part:
    return Part(
        split=row["split"],
        file=row["file"],
        n_samples=int(row["n_samples"]),
        n_features=int(row["n_features"]),
        class_counts=_counts(row["class_counts"]),
        sha256=row["sha256"],
        url=row["url"],
        notes=f"Scaling: {row['scaling']}. Source: {row['source']}. {row['notes']}",
    )


def _counts(text: str) -> tuple[tuple[int, int], ...]:
    """Labels and their rows, written ``-1:268 1:500``."""
    pairs = (pair.split(":") for pair in text.split())
    return tuple((int(label), int(count)) for label, count in pairs)
