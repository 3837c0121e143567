"""``aucmax moments merge`` and ``subtract``, and the checks before moments are written."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from aucmax.basics.doors import postponed
from aucmax.cli.common import show
from aucmax.cli.moments.common import MIN_ROWS, Align, MinRows, Out
from aucmax.cli.moments.show import report_of
from aucmax.cli.options import Json
from aucmax.cli.paths import check_paths
from aucmax.cli.screen import tell

with postponed():
    from aucmax.data.columns import labels_as
    from aucmax.estimators.written_steps import first_difference
    from aucmax.statistics.base import ClassStatistics
    from aucmax.statistics.disclosure import disclosures
    from aucmax.statistics.files import load_moments

__all__ = ["added", "aligned", "merge", "respelt", "subtract", "write"]

_LISTED = 10  # counts that could reveal a row


def merge(
    files: Annotated[list[Path], typer.Argument(metavar="MOMENTS...", help="The files to add.")],
    out: Out,
    align: Align = False,
    min_rows: MinRows = MIN_ROWS,
    as_json: Json = False,
) -> None:
    """Add files of moments, as if all rows had been in one file.

    Features must have the same names, in the same order unless --align is given. The label of a
    class without rows in a file may be missing there. For private files without a common row, the
    weakest guarantee holds; the epsilons of files with a common row add up.

    Example:

        aucmax moments merge a.moments b.moments c.moments -o all.moments
    """
    check_paths({"--out": out}, {f"MOMENTS {path}": path for path in files})
    total = load_moments(files[0])
    merged = total.merged
    for path in files[1:]:
        part = respelt(load_moments(path), total, path)
        total, merged = added(total, part, path, align), merged + part.merged
    total.merged = merged
    write(total, out, min_rows)
    show(report_of(total, out), as_json)


def subtract(
    total: Annotated[Path, typer.Argument(metavar="TOTAL", help="Moments of all rows.")],
    part: Annotated[Path, typer.Argument(metavar="PART", help="Moments of the rows to remove.")],
    out: Out,
    align: Align = False,
    min_rows: MinRows = MIN_ROWS,
    as_json: Json = False,
) -> None:
    """Subtract the rows of one file of moments from another, such as a hospital or a day.

    Enough rows of each class, or none, must remain. For private files epsilons and deltas add up,
    since the rows of PART are in both.

    Example:

        aucmax moments subtract all.moments b.moments -o rest.moments
    """
    check_paths({"--out": out}, {"TOTAL": total, "PART": part})
    moments, removed = load_moments(total), load_moments(part)
    with _told_of(part, moments, removed):
        rest = moments - (aligned(removed, moments) if align else removed)
    rest.merged = max(moments.merged - removed.merged, 1)
    write(rest, out, min_rows)
    show(report_of(rest, out), as_json)


def added(total: ClassStatistics, part: ClassStatistics, path: Any, align: bool) -> ClassStatistics:
    """Add moments from a file, of labels as `respelt` returns them."""
    with _told_of(path, total, part):
        moments = total + (aligned(part, total) if align else part)
    new = [label for label in part.classes.tolist() if label not in total.classes.tolist()]
    if new and len(moments.classes) > 2:
        tell("warning", f"{path}: the label {new[0]!r} is new: no earlier file has it")
    return moments


def respelt(part: ClassStatistics, total: ClassStatistics, path: Any) -> ClassStatistics:
    """Return moments from a file with labels spelt as in earlier files, with a note."""
    labels, before = part.classes.tolist(), total.classes.tolist()
    if {*labels} <= {*before} or not all(isinstance(name, str) for name in (*labels, *before)):
        return part
    usual = labels_as(labels, before)
    for label, name in zip(labels, usual, strict=True):
        if label != name:
            tell("note", f"{path}: the label {label!r} is taken as {name!r}, as spelt earlier")
    return part if usual == labels else part.relabelled(usual)


@contextlib.contextmanager
def _told_of(path: Any, first: ClassStatistics, other: ClassStatistics) -> Iterator[None]:
    """Context in which an error names the file of the other moments and a remedy."""
    mine, names = first.feature_names, other.feature_names
    different = first_difference(first.steps, other.steps)
    if different is not None:
        raise ValueError(
            f"{path}: {different}; build it with --like and one of the other files, so that all "
            "have the same columns."
        )
    try:
        if (mine is None) != (names is None):
            raise ValueError(
                f"its features have {'no names' if names is None else 'names'}, but the "
                f"others have {'some' if names is None else 'none'}; give files with equal columns."
            )
        yield
    except ValueError as error:
        moved = mine != names and sorted(mine or []) == sorted(names or [])
        more = " Or put them in order with --align." if moved else ""
        raise ValueError(f"{path}: {error}{more}") from None


def aligned(part: ClassStatistics, first: ClassStatistics) -> ClassStatistics:
    """Return moments with the features in the order of others, if these have names."""
    names = first.feature_names
    return part if names is None else part.aligned(names)


def write(held: ClassStatistics, out: Path, min_rows: int, remedy: str | None = None) -> None:
    """Write moments, unless they would reveal a row; the error includes the remedy, if given."""
    disclosed = disclosures(held, min_rows)
    if disclosed:
        words = [each.words for each in disclosed[:_LISTED]]
        if len(disclosed) > _LISTED:
            words.append(f"and {len(disclosed) - _LISTED:,} more")
        allowed = max(math.floor(min(each.rows for each in disclosed) + 1e-6), 1)
        raise ValueError(
            f"{out}: not written: {'; '.join(words)}, fewer than {min_rows}, and the file could "
            f"reveal a row; build it together with other files, {f'{remedy}, ' if remedy else ''}"
            f"or allow all with --min-rows {allowed}."
        )
    held.save(out)
