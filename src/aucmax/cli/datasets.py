"""``aucmax datasets``: the data sets known by name, where they are, and how to get them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from aucmax.basics.doors import postponed
from aucmax.basics.errors import DataFileError
from aucmax.cli.common import counted, help_of, print_json, show, working
from aucmax.cli.errors import interrupted
from aucmax.cli.options import Json, spread
from aucmax.cli.screen import say, tell

with postponed():
    import numpy as np

    from aucmax.datasets import DataSet, about, fetch, load, locate, names
    from aucmax.report.data_sets import DataSetInDetail, DataSets, KnownData, Loaded

__all__ = ["datasets"]


class ByName(TyperGroup):
    """A group whose commands may be left out: ``datasets a9a`` is ``datasets show a9a``."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the command; any other word is the name of a data set."""
        if args[0] not in self.commands:
            args = ["show", *args]
        return super().resolve_command(ctx, args)


datasets = typer.Typer(
    cls=ByName,
    subcommand_metavar="[NAME | fetch NAME...]",
    rich_markup_mode="rich",
    add_completion=False,
)


def _datasets(context: typer.Context, as_json: Json = False) -> None:
    """List the data sets known by name, show one in detail, or fetch some.

    The folder AUCMAX_DATA is searched first, then the user's cache folder, where 'fetch' puts
    them. From Python, aucmax.datasets.load(name) reads one.

    Examples:

        aucmax datasets

        aucmax datasets a9a

        aucmax datasets fetch a9a w8a
    """
    context.obj = as_json
    if context.invoked_subcommand is not None:
        return
    show(DataSets(sets=[_known(about(name)) for name in names()]), as_json)


def _show(
    context: typer.Context,
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of the data set.")],
    as_json: Json = False,
) -> None:
    """Show one data set in detail."""
    as_json = as_json or context.obj
    with working(f"reading {name}", as_json):
        report = _detail(about(name))
    show(report, as_json)


def _fetch(
    context: typer.Context,
    wanted: Annotated[list[str], typer.Argument(metavar="NAME", help="Names of the data sets.")],
    force: Annotated[
        bool,
        typer.Option("--force", help="Download again, and replace the recorded checksum."),
    ] = False,
    base_url: Annotated[
        str | None,
        typer.Option(metavar="URL", help="A mirror with the publisher's file names."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Download data sets from their publishers into the cache folder.

    A file must have the published rows, features, counts of labels and checksum, as far as they
    are known; the command prints which were compared. The checksum of each file is recorded at its
    first download and must match from then on.
    For a data set that is behind a form or inside an archive, it says where to get it.
    """
    as_json = as_json or context.obj
    entries = [about(name) for name in wanted]
    fetched: dict[str, list[str]] = {}
    failed = False
    for entry in entries:
        known_files = None if force else _files(entry)
        try:
            paths = known_files or _fetched(entry.name, base_url, force, as_json)
        except KeyboardInterrupt:
            if as_json:
                print_json(fetched)
            done = f"{len(fetched)} of {counted(len(entries), 'data set')}"
            raise interrupted(f"{done} fetched, not {entry.name}") from None
        except DataFileError as error:
            if len(entries) == 1:
                raise
            tell("error", str(error))
            failed = True
            continue
        fetched[entry.name] = [str(path) for path in paths]
        if not as_json:
            word = "already here" if known_files else "fetched"
            say(f"{entry.name}: {word}: {', '.join(fetched[entry.name])}")
            if not known_files:
                say(f"{entry.name}: {_compared(entry)}")
    if as_json:
        print_json(fetched)
    if failed:
        raise typer.Exit(2)


def _compared(entry: DataSet) -> str:
    """Print which published facts a download was compared with, and which are not known."""
    published = {
        "rows": entry.n_samples() is not None,
        "features": True,
        "counts of labels": all(part.class_counts for part in entry.parts),
        "SHA-256": all(part.content_sha256 for part in entry.parts),
    }
    missing = [fact for fact, is_published in published.items() if not is_published]
    compared = ", ".join(fact for fact in published if fact not in missing)
    sentence = f"compared with the published values: {compared}"
    if missing:
        sentence += f"; not known, and not compared: {', '.join(missing)}"
    return f"{sentence}; the next download must have the same SHA-256"


def _fetched(name: str, base_url: str | None, force: bool, quiet: bool) -> list[Path]:
    """Download a data set, with a progress bar."""
    with working(f"fetching {name}", quiet) as now:

        def report(done: int, total: int) -> None:
            now.at(done // 1000, max(total, done) // 1000, f"kB of {name}")

        return fetch(name, base_url=base_url, force=force, progress=report)


datasets.callback(invoke_without_command=True, help=help_of(_datasets))(spread(_datasets))
datasets.command("show", help=help_of(_show))(spread(_show))
datasets.command("fetch", help=help_of(_fetch))(spread(_fetch))


def _known(data: DataSet) -> KnownData:
    files = _files(data)
    counts = data.class_counts()
    return KnownData(
        name=data.name,
        rows=data.n_samples(),
        features=data.n_features,
        sparse=data.sparse,
        classes=data.n_classes,
        smallest_share=min(counts.values()) / sum(counts.values()) if counts else None,
        splits=list(data.splits),
        is_here=files is not None,
        files=[str(path) for path in files or ()],
    )


def _files(data: DataSet) -> list[Path] | None:
    try:
        return locate(data.name)
    except DataFileError:
        return None


def _detail(data: DataSet) -> DataSetInDetail:
    summary, loaded = _known(data), None
    if summary.is_here:
        bunch = load(data.name)
        labels, counts = np.unique(bunch.target, return_counts=True)
        loaded = Loaded(
            labels=dict(zip(labels.tolist(), counts.tolist(), strict=True)),
            verified=bunch.verified,
            positive_share=counts[1] / counts.sum() if len(labels) == 2 else None,
        )
    return DataSetInDetail(
        summary=summary,
        aliases=list(data.aliases),
        notes={part.file: part.notes for part in data.parts},
        labels_rule=data.labels,
        source={part.file: " or ".join(part.urls) or part.page for part in data.parts},
        loaded=loaded,
    )
