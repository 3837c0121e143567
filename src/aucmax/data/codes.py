"""Columns of whole numbers that name things: ids, which cannot generalise, and codes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import islice, pairwise

import numpy as np
from numpy.typing import NDArray

__all__ = ["doubts", "zero_padded"]

_ENOUGH = 50  # rows below which nothing is said of numbers that all differ
_PAIRS = 10  # equal pairs to be expected of measured numbers, where counted ones have none
_LINES = 1000  # that are searched for leading zeros
_ID = {"id", "ids", "uid", "uuid", "guid", "rowid", "idx"}
_JOINED_ID = re.compile(
    r"(row|record|customer|client|user|member|patient|person|account|order|transaction|session|"
    r"case|subject|loan|policy|product|item|device)_?id"
)
_CODE = {"zip", "zipcode", "postcode", "postalcode", "plz", "fips"}
_CODES = {("zip", "code"), ("postal", "code"), ("post", "code")}


def doubts(name: str, values: NDArray[np.float64], padded: bool) -> Iterator[tuple[str, str, str]]:
    """What seems wrong with taking a column as measurements.

    Parameters
    ----------
    name : str
        Of the column.
    values : ndarray, shape (n,)
        Its numbers, NaN where there are none.
    padded : bool
        Whether some are written with leading zeros.

    Yields
    ------
    what, hint, option : str
        What it looks like, what to do, and the argument of `read` that does it. At most one.
    """
    finite = values[np.isfinite(values)]
    if len(finite) < 2 or np.any(finite != np.floor(finite)) or finite.min() < 0:
        return
    different = np.unique(finite)
    words = _words(name)
    pairs = set(pairwise(words))
    names_a_code = padded or bool(_CODE & set(words)) or bool(_CODES & pairs)
    names_an_id = bool(_ID & set(words)) or bool(_JOINED_ID.fullmatch(name.strip().lower()))
    alone = len(different) > len(finite) / 2
    if names_a_code and alone and len(finite) >= _ENOUGH:
        yield (
            "looks like codes (such as zip codes), most of them in one row only",
            f"leave it out (drop={[name]!r}), or take each as a category (categories={[name]!r})",
            "drop",
        )
    elif names_a_code and len(different) > 2:
        yield (
            "looks like codes (such as zip codes) rather than amounts",
            f"take each value as a category (categories={[name]!r}), or leave the column out",
            "categories",
        )
    elif (names_an_id and alone and len(finite) >= 20) or _counted(finite, different):
        yield (
            "looks like an ID column and cannot generalise",
            f"leave it out (drop={[name]!r})",
            "drop",
        )
    elif names_an_id and len(different) > 2:
        yield (
            "looks like IDs, whose order means nothing",
            f"leave it out (drop={[name]!r}), or take each as a category (categories={[name]!r})",
            "drop",
        )


def _words(name: str) -> list[str]:
    """The words of a name such as ``customer_id``, ``customerId`` or ``ZIP code``."""
    apart = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name)
    return [word.lower() for word in re.split(r"[^A-Za-z0-9]+", apart) if word]


def _counted(known: NDArray[np.float64], different: NDArray[np.float64]) -> bool:
    """Whether the numbers all differ where chance alone would make some equal: they count rows.

    Of n numbers spread evenly over a range of r about n²/2r pairs are equal, of others more.
    """
    n = len(known)
    if n < _ENOUGH or len(different) < n or _are_dates(different):
        return False
    return n * n > 2 * _PAIRS * (different[-1] - different[0] + 1)


def _are_dates(values: NDArray[np.float64]) -> bool:
    """Whether whole numbers may be years, or dates such as 20240131."""
    if values[0] >= 1800 and values[-1] <= 2100:
        return True
    year, rest = np.divmod(values, 10_000)
    month, day = np.divmod(rest, 100)
    parts = ((year, 1800, 2100), (month, 1, 12), (day, 1, 31))
    return all(np.all((part >= low) & (part <= high)) for part, low, high in parts)


def zero_padded(rows: Iterable[list[str]], names: list[str], wanted: list[str]) -> set[str]:
    """Columns in which some whole numbers of the first lines are written like 00501.

    Parameters
    ----------
    rows : iterable of list of str
        The lines, the header first.
    names, wanted : list of str
        All columns, and those to look at.

    Returns
    -------
    set of str
        Names.
    """
    places = {name: names.index(name) for name in wanted}
    padded = set()
    for row in islice(rows, 1, _LINES):
        for name, place in places.items():
            if place < len(row) and re.fullmatch(r"\s*0[0-9]+\s*", row[place]):
                padded.add(name)
    return padded
