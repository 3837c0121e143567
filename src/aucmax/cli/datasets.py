"""``aucmax datasets``: the data sets known by name, and where they are."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.table import Table

from aucmax.cli._shared import Json, console, pairs_table, print_json, working
from aucmax.datasets import DataSet, about, load, locate, names
from aucmax.errors import DataFileError

__all__ = ["datasets"]


def datasets(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="One data set, in detail.")
    ] = None,
    as_json: Json = False,
) -> None:
    """List the data sets known by name, or show one in detail.

    They are looked for in the folder AUCMAX_DATA, then in the user's cache folder; from Python,
    aucmax.datasets.fetch(name) downloads one and aucmax.datasets.load(name) reads it.

    Examples:

        aucmax datasets

        aucmax datasets a9a
    """
    if name is None:
        rows = [_entry(about(known)) for known in names()]
        if as_json:
            print_json(rows)
        else:
            _print_list(rows)
        return
    with working(f"reading {name}", as_json):
        report = _detail(about(name))
    if as_json:
        print_json(report)
    else:
        _print_detail(report)


def _entry(data: DataSet) -> dict[str, Any]:
    files = _files(data)
    return {
        "name": data.name,
        "rows": data.n_samples(),
        "features": data.n_features,
        "sparse": data.sparse,
        "classes": len(data.class_counts()),
        "smallest_share": min(data.class_counts().values()) / data.n_samples(),
        "splits": list(data.splits),
        "found": files is not None,
        "files": [] if files is None else [str(path) for path in files],
    }


def _files(data: DataSet) -> list[Path] | None:
    try:
        return locate(data.name)
    except DataFileError:
        return None


def _detail(data: DataSet) -> dict[str, Any]:
    report = {**_entry(data), "aliases": list(data.aliases)}
    report["notes"] = {part.file: part.notes for part in data.parts}
    report["source"] = {part.file: part.url for part in data.parts}
    if report["found"]:
        bunch = load(data.name)
        labels, counts = np.unique(bunch.target, return_counts=True)
        report["labels"] = dict(zip(labels.tolist(), counts.tolist(), strict=True))
        report["verified"] = bool(bunch.verified)
        report["positive_share"] = counts[1] / counts.sum() if len(labels) == 2 else None
    return report


def _print_list(rows: list[dict[str, Any]]) -> None:
    table = Table(box=None, padding=(0, 2, 0, 0))
    table.add_column("name", no_wrap=True)
    table.add_column("rows", justify="right", no_wrap=True)
    table.add_column("features", justify="right", no_wrap=True)
    table.add_column("classes", justify="right", no_wrap=True)
    table.add_column("smallest", justify="right", no_wrap=True)
    table.add_column("found in", overflow="fold")
    for row in rows:
        folders = sorted({str(Path(file).parent) for file in row["files"]})
        where = ", ".join(folders) or "–"
        numbers = (f"{row[name]:,}" for name in ("rows", "features", "classes"))
        table.add_row(row["name"], *numbers, f"{100 * row['smallest_share']:.3g} %", where)
    screen = console()
    screen.print(table)
    screen.print("\nsmallest: the share of the rarest class", style="dim")
    missing = [row["name"] for row in rows if not row["found"]]
    if missing:
        screen.print(
            f"\n{len(missing)} not found: set AUCMAX_DATA to the folder that holds them, or call "
            f"aucmax.datasets.fetch({missing[0]!r})."
        )


def _print_detail(report: dict[str, Any]) -> None:
    kind = "sparse" if report["sparse"] else "dense"
    facts = [
        ("name", report["name"]),
        ("also", ", ".join(report["aliases"])),
        ("rows", f"{report['rows']:,}"),
        ("features", f"{report['features']:,} ({kind})"),
        ("splits", ", ".join(report["splits"])),
        (
            "classes",
            f"{report['classes']}, the rarest with {100 * report['smallest_share']:.3g} % of rows",
        ),
    ]
    if report["found"]:
        share = report["positive_share"]
        facts.append(("labels", _counts(report["labels"])))
        facts.append(
            (
                "positive",
                f"one of {len(report['labels'])}, or a half: load(…, binarize=…)"
                if share is None
                else f"{share:.1%}",
            )
        )
        facts.append(("verified", "yes" if report["verified"] else "not the reference files"))
        facts += [("file", file) for file in report["files"]]
    else:
        facts.append(("file", "not found (set AUCMAX_DATA, or fetch it)"))
    facts += [("source", url) for url in dict.fromkeys(report["source"].values())]
    facts += [("notes", f"{file}: {notes}") for file, notes in report["notes"].items()]
    console().print(pairs_table((name, value) for name, value in facts if value))


def _counts(labels: dict[Any, int]) -> str:
    shown = [f"{label}: {count:,}" for label, count in list(labels.items())[:6]]
    more = len(labels) - len(shown)
    return ", ".join(shown) + (f", and {more} more" if more else "")
