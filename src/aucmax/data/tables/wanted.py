"""The roles of the columns of a table: label, features, weights, groups and times."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Sequence
from typing import Any

from aucmax.data.columns import Remarks
from aucmax.data.files import fault
from aucmax.data.obstacles import Obstacle, TableError
from aucmax.data.reading import NUMBER, Reading
from aucmax.data.transforms import listing

__all__ = ["LABEL_NAMES", "check_columns", "check_others", "choose", "columns_used"]
__all__ += ["header_hint", "suggest"]

LABEL_NAMES = ("target", "label", "y", "class")


def columns_used(target: str | None, features: list[str], reading: Reading) -> list[str]:
    """Return all columns to read, without repetitions."""
    labels = [target] if target else []
    features = [reading.source(name) for name in features]
    return list(dict.fromkeys([*features, *labels, *reading.aside.values(), *reading.keep]))


def check_columns(file: Any, names: list[str], first: Any, others: list[str]) -> None:
    """Raise DataFileError if a file has other columns than the first file, in any order."""
    columns, columns_of_first = set(names), set(others)
    lacks = [name for name in others if name not in columns]
    more = [name for name in names if name not in columns_of_first]
    if lacks or more:
        difference = " and ".join(
            f"{verb} {listing(odd)}" for verb, odd in (("lacks", lacks), ("has", more)) if odd
        )
        hint = header_hint(names) or "; give files with the same columns"
        raise fault(file, f"{difference}, unlike {first}{hint}")


def check_others(files: Sequence[Any], names: Sequence[list[str]], reading: Reading) -> None:
    """Raise DataFileError if a file lacks columns, or without a model has further ones."""
    for file, others in zip(files[1:], names[1:], strict=True):
        if reading.columns is None:
            check_columns(file, others, files[0], names[0])
        else:
            choose(file, others, reading)


def choose(path: Any, names: list[str], reading: Reading) -> tuple[str | None, list[str]]:
    """Return the name of the label column, if any, and the names of the features in order."""
    counts = Counter(names)
    twice = [name for name, count in counts.items() if count > 1]
    if twice:
        raise fault(path, f"the column name {twice[0]!r} occurs twice; column names must be unique")
    unknown = [name for name in reading.drop if {name, Remarks(name).source}.isdisjoint(counts)]
    if unknown:
        raise fault(path, f"no column {unknown[0]!r} to drop{suggest(unknown[0], names)}")
    target = _target(path, names, reading)
    for name in reading.categories:
        if name not in counts:
            problem = f"no column {name!r} to read as categories{suggest(name, names)}"
            raise fault(path, problem)
        if name == target or name in reading.drop:
            role = "the label column" if name == target else "dropped"
            raise fault(path, f"column {name!r} is both {role} and read as categories")
    _check_aside(path, names, target, reading)
    for name in reading.keep:
        if name not in counts:
            raise fault(path, f"no column {name!r} to keep{suggest(name, names)}")
    if reading.names is not None:
        needed = dict.fromkeys(map(reading.source, reading.names))
        missing = [name for name in needed if name not in counts]
        if missing:
            have = header_hint(names) or suggest(missing[0], names)
            raise fault(path, f"columns the model needs are missing: {listing(missing)}{have}")
    left_out = {target, reading.target, *reading.drop, *reading.aside.values()}
    left = [name for name in names if name not in left_out and (name or not reading.prepare)]
    features = left if reading.names is None else reading.names
    if not features:
        raise fault(path, "no feature column is left")
    if "" in features and reading.names is None:
        problem = f"column {names.index('') + 1} has no name (a saved row index?)"
        hint = "name it in the header, or leave it out (drop=[''])"
        raise TableError(path, [Obstacle("no name", problem, hint, remedy={"drop": [""]})])
    return target, features


def _check_aside(path: Any, names: list[str], target: str | None, reading: Reading) -> None:
    """Raise DataFileError if a weight, group or time column is missing or has another role."""
    roles = {name: "read as categories" for name in reading.categories}
    roles |= {name: "dropped" for name in reading.drop}
    if target is not None:
        roles[target] = "the label column"
    for role, name in reading.aside.items():
        if name not in names:
            raise fault(path, f"no column {name!r} for the {role}{suggest(name, names)}")
        if name in roles:
            raise fault(path, f"column {name!r} is both {roles[name]} and the {role} column")
        roles[name] = f"the {role} column"


def _target(path: Any, names: list[str], reading: Reading) -> str | None:
    target = reading.target
    if target is None and not (reading.labels == "none" and reading.columns is not None):
        claimed = {*reading.drop, *(reading.names or ()), *reading.aside.values()}
        called = [name for name in names if name.lower() in LABEL_NAMES]
        candidates = [name for name in called if name not in claimed]
        if called and not candidates and reading.labels == "required":
            problem = f"column {called[0]!r} is dropped or has another role"
            raise fault(path, f"{problem}; name the label column (target=…)")
        if len(candidates) > 1:
            raise fault(
                path,
                f"{' and '.join(map(repr, candidates))} could each be the label column; "
                "name one (target=…)",
            )
        target = candidates[0] if candidates else None
    if target in reading.drop:
        raise fault(path, f"column {target!r} is both the label column and dropped")
    if target in names:
        return target
    if reading.labels != "required":
        return None
    if target is None:
        raise fault(
            path,
            f"no column is called {', '.join(LABEL_NAMES[:-1])} or {LABEL_NAMES[-1]}; name the "
            f"label column (target=…){suggest('', names)}{header_hint(names)}",
        )
    raise fault(path, f"no label column {target!r}{suggest(target, names)}{header_hint(names)}")


def suggest(name: str, names: list[str]) -> str:
    close = difflib.get_close_matches(name, names, n=1, cutoff=0.7)
    return f"; did you mean {close[0]!r}?" if close else f"; the columns are {listing(names)}"


def header_hint(names: list[str]) -> str:
    """Return a hint if the first line does not seem to name the columns, or ""."""
    if any(NUMBER.fullmatch(name.strip()) for name in names):
        return "; the first line looks like data: is the header missing?"
    if 2 * names.count("") >= len(names) > 1:
        return "; the first line looks like a title: remove what is above the header"
    return ""
