"""The data sets known by name: one row of ``registry.csv`` per file."""

from __future__ import annotations

import csv
import difflib
from collections import Counter
from dataclasses import dataclass
from functools import cache
from importlib import resources

from aucmax.data.files import COMPRESSIONS

__all__ = ["DataSet", "Part", "about", "names"]

# other names in LIBSVM and the papers; `german` and `fourclass` are the scaled files
ALIASES = {
    "CCAT": "ccat",
    "acoustic_scale": "acoustic",
    "astro-ph": "astro-physics",
    "connect4": "connect-4",
    "covtype.binary": "covtype",
    "epsilon_normalized": "epsilon",
    "fourclass.scale": "fourclass",
    "fourclass_raw": "fourclass.raw",
    "fourclass_scale": "fourclass",
    "german.numer.scale": "german",
    "german.numer_scale": "german",
    "german.raw": "german.numer",
    "german_scale": "german",
    "gisette_scale": "gisette",
    "letter.scale": "letter",
    "sector.scale": "sector",
}


@dataclass(frozen=True)
class Part:
    """One file of a data set.

    Parameters
    ----------
    split : {"all", "train", "test"}
        Which rows it contains.
    file : str
        Name of the reference file, or of the publisher's file.
    n_samples : int or None
        Number of rows; None if unknown.
    n_features : int
        Number of columns after padding to the width of the data set.
    class_counts : tuple of (int, int)
        The file's labels in ascending order, each with its number of rows; empty if unknown.
    format : str
        Its format: one of the names in `aucmax.data.formats`.
    sha256 : str
        Digest of the reference file; empty if there is none.
    content_sha256 : str
        Digest of the unpacked content of the publisher's file; empty if unknown.
    urls : tuple of str
        Addresses that `fetch` tries in turn; the compression may differ. Empty if the file is in an
        archive, or behind a form or a log-in.
    page : str
        The publisher's page about it, if known.
    notes : str
        Scaling, source and known quirks.
    """

    split: str
    file: str
    n_samples: int | None
    n_features: int
    class_counts: tuple[tuple[int, int], ...]
    format: str
    sha256: str
    content_sha256: str
    urls: tuple[str, ...]
    page: str
    notes: str

    @property
    def stem(self) -> str:
        """File name without the compression suffix."""
        name, dot, suffix = self.file.rpartition(".")
        return name if dot + suffix in COMPRESSIONS else self.file

    @property
    def downloads(self) -> list[str]:
        """The publisher's names of the file."""
        return [url.rpartition("/")[2] for url in self.urls]

    @property
    def file_names(self) -> list[str]:
        """Names by which the file is recognised in a folder, the preferred name first."""
        stored = [self.stem + suffix for suffix in (".xz", "", ".gz", ".bz2")]
        return [*dict.fromkeys([*stored, *self.downloads])]


@dataclass(frozen=True)
class DataSet:
    """A data set known by name.

    Parameters
    ----------
    name : str
        Its canonical name.
    aliases : tuple of str
        Its other names.
    n_features : int
        Number of columns, the same in every split.
    sparse : bool
        Whether it loads as a CSR matrix.
    n_classes : int
        Number of classes that `load` returns.
    labels : str
        The labels of the file and which of them are positive, in words; empty if the labels
        are those of `class_counts`, unchanged.
    largest : bool
        Whether the most frequent label is +1 and all others are −1.
    parts : tuple of Part
        Its files: training rows before test rows.
    """

    name: str
    aliases: tuple[str, ...]
    n_features: int
    sparse: bool
    n_classes: int
    labels: str
    largest: bool
    parts: tuple[Part, ...]

    @property
    def splits(self) -> tuple[str, ...]:
        """The values of ``split`` for `load`; "all" stacks the parts."""
        return tuple(dict.fromkeys(["all", *(part.split for part in self.parts)]))

    def select(self, split: str) -> tuple[Part, ...]:
        """Return the files that make up a split.

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
            If the data set has no such split.
        """
        if split not in self.splits:
            raise ValueError(
                f"split={split!r}: data set {self.name!r} has the splits {', '.join(self.splits)}"
            )
        return tuple(part for part in self.parts if split in ("all", part.split))

    def n_samples(self, split: str = "all") -> int | None:
        """Count the rows of a split; None if they are not known.

        Parameters
        ----------
        split : str
            One of `splits`.

        Returns
        -------
        int or None
            Number of rows.
        """
        counts = [part.n_samples for part in self.select(split)]
        return None if None in counts else sum(n for n in counts if n is not None)

    def class_counts(self, split: str = "all") -> dict[int, int]:
        """Count the rows of each label that `load` returns; empty if the counts are not known.

        Parameters
        ----------
        split : str
            One of `splits`.

        Returns
        -------
        dict of int to int
            Number of rows of each label, in ascending order of labels.
        """
        total = _total(self.select(split))
        if self.largest and total:
            overall = _total(self.parts)
            positive = total[max(overall, key=lambda label: overall[label])]
            total = Counter({-1: total.total() - positive, 1: positive})
        return dict(sorted(total.items()))


def _total(parts: tuple[Part, ...]) -> Counter[int]:
    total: Counter[int] = Counter()
    for part in parts:
        total.update(dict(part.class_counts))
    return total


def names() -> list[str]:
    """List the known data sets.

    Returns
    -------
    list of str
        Canonical names; `about` lists the aliases of each.
    """
    return list(registered())


def about(name: str) -> DataSet:
    """Return the facts about a data set: files, sizes, sources, quirks.

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
        If no data set has this name.
    """
    entries = registered()
    if not isinstance(name, str):
        raise ValueError(f"the name of a data set is a string, one of {', '.join(entries)}")
    canonical = ALIASES.get(name, name)
    if canonical not in entries:
        close = difflib.get_close_matches(name, [*entries, *ALIASES], n=1)
        guess = f"did you mean {close[0]!r}? " if close else ""
        raise ValueError(f"no data set named {name!r}; {guess}known: {', '.join(entries)}")
    return entries[canonical]


@cache
def registered() -> dict[str, DataSet]:
    """Return every entry by its canonical name."""
    text = resources.files(__package__).joinpath("registry.csv").read_text(encoding="utf-8")
    groups: dict[str, list[dict[str, str]]] = {}
    for row in csv.DictReader(text.splitlines()):
        groups.setdefault(row["name"], []).append(row)
    return {name: _data_set(name, rows) for name, rows in groups.items()}


def _data_set(name: str, rows: list[dict[str, str]]) -> DataSet:
    parts = tuple(_part(row) for row in rows)
    return DataSet(
        name=name,
        aliases=tuple(alias for alias, meant in ALIASES.items() if meant == name),
        n_features=int(rows[0]["n_features"]),
        sparse=rows[0]["storage"] == "sparse",
        n_classes=int(rows[0]["classes"] or len(_total(parts))),
        labels=rows[0]["labels"],
        largest=rows[0]["positive"] == "largest",
        parts=parts,
    )


def _part(row: dict[str, str]) -> Part:
    return Part(
        split=row["split"],
        file=row["file"],
        n_samples=int(row["n_samples"]) if row["n_samples"] else None,
        n_features=int(row["n_features"]),
        class_counts=_counts(row["class_counts"]),
        format=row["format"] or "svmlight",
        sha256=row["sha256"],
        content_sha256=row["content_sha256"],
        urls=tuple(row["url"].split()),
        page=row["page"],
        notes=_sentences(row),
    )


def _sentences(row: dict[str, str]) -> str:
    facts = (("Scaling", row["scaling"]), ("Source", row["source"]))
    sentences = [f"{name}: {words}." for name, words in facts if words]
    return " ".join([*sentences, row["notes"]]).strip()


def _counts(text: str) -> tuple[tuple[int, int], ...]:
    """Parse labels and their numbers of rows from text such as ``-1:268 1:500``."""
    pairs = (pair.split(":") for pair in text.split())
    return tuple((int(label), int(count)) for label, count in pairs)
