"""Columns that are neither amounts nor categories, such as ids, which cannot generalise, and codes.

These are whole numbers used as names, and cells that are nearly all different.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from aucmax.data.obstacles import Obstacle

__all__ = [
    "CODE_DOUBT", "ID_DOUBT", "PAIR", "different_cells", "doubt", "has_zeros", "names_codes",
]  # fmt: skip

ID_DOUBT = re.compile("looks like (an ID column|IDs)")  # doubts about ids
CODE_DOUBT = re.compile("looks like codes")

# "120/80", "48.1, 11.6", "(48.1,11.6)", "POINT (48.1 11.6)"
PAIR = re.compile(
    r"\(?{0}(?:\s?[/;]\s?|,\s+){0}\)?|\(?{1},{1}\)?|POINT\s?\({0} {0}\)".format(
        r"[+-]?[0-9]+(?:[.,][0-9]+)?", r"[+-]?[0-9]+\.[0-9]+"
    )
)
_CELLS = {  # of columns whose cells mostly differ: what they are, and what a model would need
    "cells of JSON": (re.compile(r"[\[{].*[\]}]", re.DOTALL), "whose fields need columns"),
    "pairs of numbers": (PAIR, "which need two columns"),
    "web addresses": (re.compile(r"https?://\S+"), "whose parts need columns"),
    "texts": (re.compile(r"\S+(?:\s+\S+){3,}"), "whose subjects need columns"),
}
_ZEROS = re.compile(r"^[^\S\n]*(?:0[0-9]+|=\"0[0-9]+\")[^\S\n]*$", re.MULTILINE)
_MOST_CELLS = 0.9  # the share of cells that must have a form
_MIN_ROWS = 50  # rows from which numbers that all differ are suspect
_MIN_EQUAL_PAIRS = 10  # where chance would make as many, having none is suspect
_ID = {"id", "ids", "uid", "uuid", "guid", "rowid", "idx"}
_JOINED_ID = re.compile(
    r"(row|record|customer|client|user|member|patient|person|account|order|transaction|session|"
    r"case|subject|loan|policy|product|item|device)_?id"
)
_CODE = {"zip", "zipcode", "postcode", "postalcode", "postleitzahl", "plz", "fips"}
_CODES = {("zip", "code"), ("postal", "code"), ("post", "code"), ("code", "postal")}


def doubt(name: str, values: NDArray[np.float64], zeros: bool) -> Obstacle | None:
    """Return the obstacle to treating a column as measurements, or None.

    Parameters
    ----------
    name : str
        The name of the column.
    values : ndarray, shape (n,)
        Its numbers, NaN for missing values.
    zeros : bool
        Whether some of them have leading zeros.
    """
    finite = values[np.isfinite(values)]
    if len(finite) < 2 or np.any(finite != np.floor(finite)) or finite.min() < 0:
        return None
    different = np.unique(finite)
    names_a_code = names_codes(name) or zeros
    names_an_id = bool(_ID & set(_words(name))) or bool(_JOINED_ID.fullmatch(name.strip().lower()))
    alone = len(different) > len(finite) / 2
    drop, as_category = f"leave it out (drop={[name]!r})", f"(categories={[name]!r})"
    hint, remedy = f"{drop}, or take each as a category {as_category}", "drop"
    if names_a_code and alone and len(finite) >= _MIN_ROWS:
        problem = "looks like codes (such as zip codes), most of which occur only once"
    elif names_a_code and len(different) > 2:
        problem, remedy = "looks like codes (such as zip codes) rather than amounts", "categories"
        hint = f"take each value as a category {as_category}, or leave the column out"
    elif (names_an_id and alone and len(finite) >= 20) or _counted(finite, different):
        problem, hint = "looks like an ID column and cannot generalise", drop
    elif names_an_id and len(different) > 2:
        problem = "looks like IDs, whose order means nothing"
    else:
        return None
    return Obstacle(name, f"column {name!r} {problem}", hint, remedy={remedy: [name]})


def has_zeros(words: Iterable[str]) -> bool:
    """Return whether some words have leading zeros, such as 01 or ="01", as amounts never do."""
    return _ZEROS.search("\n".join(words)) is not None


def different_cells(count: int, rows: int, words: Sequence[str]) -> str:
    """Return a description of a column with ``count`` different cells, judged by some ``words``."""
    for noun, (form, need) in _CELLS.items():
        if sum(map(bool, map(form.fullmatch, words))) > _MOST_CELLS * len(words):
            return f"{count:,} different {noun} in {rows:,} rows, {need} of their own"
    return f"{count:,} different values in {rows:,} rows, as ids"


def names_codes(name: str) -> bool:
    """Return whether the name of a column is zip code or the like."""
    words = _words(name)
    return bool(_CODE & set(words)) or bool(_CODES & set(pairwise(words)))


def _words(name: str) -> list[str]:
    """Return the words of a name such as ``customer_id``, ``customerId`` or ``ZIP code``."""
    apart = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name)
    return [word.lower() for word in re.split(r"[^A-Za-z0-9]+", apart) if word]


def _counted(distinct: NDArray[np.float64], different: NDArray[np.float64]) -> bool:
    """Return whether all numbers differ although chance would make some equal: a running number.

    Of n numbers spread evenly over a range of r, about n²/2r pairs are equal; if uneven, more.
    """
    n = len(distinct)
    if n < _MIN_ROWS or len(different) < n or _are_dates(different):
        return False
    return n * n > 2 * _MIN_EQUAL_PAIRS * (different[-1] - different[0] + 1)


def _are_dates(values: NDArray[np.float64]) -> bool:
    """Return whether whole numbers may be years, or dates such as 20240131."""
    if values[0] >= 1800 and values[-1] <= 2100:
        return True
    year, rest = np.divmod(values, 10_000)
    month, day = np.divmod(rest, 100)
    parts = ((year, 1800, 2100), (month, 1, 12), (day, 1, 31))
    return all(np.all((part >= low) & (part <= high)) for part, low, high in parts)
