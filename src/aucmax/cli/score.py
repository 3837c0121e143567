"""``aucmax score``: a score for every row of a file, and the label of those to flag."""

from __future__ import annotations

import csv
import itertools
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, replace
from itertools import repeat
from pathlib import Path
from typing import Annotated, Any, NamedTuple, TextIO

import typer

from aucmax.basics.doors import postponed
from aucmax.basics.memory import Footprint
from aucmax.basics.replacing import replacing
from aucmax.basics.visible import json_text, spreadsheet_cell
from aucmax.cli.common import (
    chance_of,
    counted,
    gives_chance,
    labels_in_file,
    load_model,
    working,
)
from aucmax.cli.flagging import Flagging, Flags
from aucmax.cli.large import Large, passes_over
from aucmax.cli.options import Model, Scoring, given_file, option
from aucmax.cli.paths import check_paths
from aucmax.cli.screen import data_out, say, tell

with postponed():
    import numpy as np

    from aucmax.additive import Scorecard
    from aucmax.cli.front import columns_listed, rows_for, tell_doubts_of_parts
    from aucmax.columns.steps import Stages, parts_of
    from aucmax.data.rows.source import Part, Source
    from aucmax.explain.by_column import by_column, count_terms
    from aucmax.explain.row_reasons import (
        Reason,
        each_reasons,
        mean_of_parts,
        reasons_of_part,
        scored_with_reasons,
    )
    from aucmax.report.explained import reasons_text
    from aucmax.report.facts import read_text

__all__ = ["score"]


@dataclass(frozen=True, kw_only=True)
class Beside:
    """Results for each row in addition to its score."""

    reasons_of: int | None = option(
        None,
        "Also give the K columns that raise each score most above the average of the rows given, "
        "as reason_1 and so on; in JSON as a list.",
        flags=("--reasons",),
        metavar="K",
        min=1,
    )
    probability: bool = option(
        False,
        "Also give the probability of the positive label, for a model trained with "
        "--probability or a scorecard.",
    )

    def of(self, model: Any) -> Beside:
        """Return the same with no more reasons than the model has; raise ValueError without any."""
        if self.reasons_of is None:
            return self
        if not hasattr(parts_of(model)[1], "coef_"):
            raise ValueError("--reasons needs a linear model.")
        return replace(self, reasons_of=min(self.reasons_of, count_terms(model) or 1))


class _Large(Large):
    footprint = Footprint(20, 60, 3, 14)


def score(
    model: Model,
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help="Rows to score: files as for 'aucmax train', - for standard input, or a data set "
            "known by name. Columns of tables are matched to the model's by name; other columns "
            "and labels are ignored.",
        ),
    ],
    reading: Scoring,
    large: _Large,
    *,
    beside: Beside,
    flagging: Flagging,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="Write here instead of to stdout."),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="One JSON object per row instead of CSV.")
    ] = False,
) -> None:
    """Score the rows of a file: the higher, the more likely positive.

    Prints CSV with the columns that --keep names, then row (from 1) and score. With --flag,
    --threshold or --cost it adds a column label: the positive label for flagged rows, the negative
    one for the others. A scorecard also gives points: the fewer, the more likely positive.

    Examples:

        aucmax score booked.aucmax new.csv --flag 1% --keep id -o scores.csv

        aucmax score booked.aucmax new.csv --probability --cost 400:1
    """
    check_paths({"--output": output}, {"FILE": file, "MODEL": model})
    flagging.check(beside.probability)
    source = given_file(file)
    with working(f"reading {source.name}") as now:  # gone before anything comes on stdout
        fitted = load_model(model)
        beside = beside.of(fitted)
        if beside.probability and not gives_chance(fitted):
            raise ValueError(
                f"{model}: has scores but no probabilities; train it with --probability."
            )
        reading = replace(reading, keep=columns_listed(reading.keep, source, reading))
        rows = rows_for(fitted, source, reading, labels="none", large=large)
        now("scoring")
        stages = Stages.of(fitted, rows.data)
        parts, scores = _scored(stages, rows, beside.reasons_of)
        flags = flagging.flags(beside.probability, scores)
        tables = _tables(stages, rows.data, parts, flags, beside)
        if output is not None:
            with replacing(output, text=True) as stream:
                count = _write(stream, tables, as_json)
    if output is None:
        _write(data_out(), tables, as_json)
    else:
        written = f"{counted(count, 'score')} written to {output}"
        say(f"{written}; the higher, the more likely {labels_in_file(fitted)[1]}", sys.stderr)
    if flags is not None:
        tell("note", str(flags))
    tell_doubts_of_parts(rows.data, source)
    if words := read_text(passes_over(rows.data)):
        tell("note", f"read: {words}")


_Beside = tuple[Mapping[str, list[Any]], Iterable[list[Reason]]]  # kept columns, reasons


class _Scored(NamedTuple):
    """All rows, or those of a part."""

    scores: np.ndarray
    beside: _Beside


class _Table(NamedTuple):
    """The output for some rows: columns, and up to ``most`` reasons of each row."""

    rows: int
    columns: dict[str, Iterable[Any]]
    reasons: Iterable[list[Reason]]
    most: int | None

    def head(self) -> list[str]:
        """Return the names of the columns of CSV."""
        return [*self.columns, *_reason_names(self.most)]

    def cells(self) -> Iterator[list[Any]]:
        """Yield the rows of CSV."""
        for *cells, reasons in self._rows():
            # they are for people; labels and numbers are for programs, which read them back
            texts = [spreadsheet_cell(reasons_text([reason])) for reason in reasons]
            yield [*cells, *texts, *[""] * ((self.most or 0) - len(texts))]

    def lines(self) -> Iterator[str]:
        """Yield the lines of JSON."""
        for *cells, reasons in self._rows():
            row = dict(zip(self.columns, cells, strict=True))
            if self.most is not None:
                row["reasons"] = list(map(_of_json, reasons))
            yield json_text(json.dumps(row, ensure_ascii=False)) + "\n"

    def _rows(self) -> Iterator[tuple[Any, ...]]:
        return zip(*self.columns.values(), self.reasons, strict=False)


def _reason_names(most: int | None) -> list[str]:
    return [f"reason_{k + 1}" for k in range(most or 0)]


def _of_json(reason: Reason) -> dict[str, Any]:
    """Return a reason for JSON, in which a missing value is null."""
    values = reason.value if isinstance(reason.value, tuple) else (reason.value,)
    filled = [None if value != value else value for value in values]
    return reason._asdict() | {"value": filled if len(filled) > 1 else filled[0]}


def _scored(
    stages: Stages, rows: Any, most: int | None
) -> tuple[Iterator[_Scored], Callable[[], np.ndarray]]:
    """Return the scored rows, part by part where they are read in parts, and all their scores."""
    X = stages.features
    if isinstance(X, Source):
        steps, model = parts_of(stages.model)
        if steps and most is not None:
            parts = scored_with_reasons(stages.model, stages.rows[0], most)
            return itertools.starmap(_scored_part, parts), lambda: model.decision_function(X)
        mean = None if most is None else mean_of_parts(X, np.size(model.coef_))
        parts = model.scores_beside(X, _beside, None if most is None else model, most, mean)
        return itertools.starmap(_Scored, parts), lambda: model.decision_function(X)
    scores = stages.scores()
    reasons: Iterable[list[Reason]] = repeat([])
    if most is not None:
        by = by_column(stages)
        reasons = each_reasons(by, most, by.mean_added())
    return iter([_Scored(scores, (rows.kept or {}, reasons))]), lambda: scores


def _scored_part(
    scores: np.ndarray, kept: dict[str, list[Any]], reasons: list[list[Reason]]
) -> _Scored:
    return _Scored(scores, (kept, reasons))


def _beside(part: Part, model: Any, most: int | None, mean: Any) -> _Beside:
    """Return what is written beside the scores of a part."""
    return part.kept or {}, repeat([]) if most is None else reasons_of_part(part, model, most, mean)


def _tables(
    stages: Stages, X: Any, parts: Iterable[_Scored], flags: Flags | None, beside: Beside
) -> Iterator[_Table]:
    """Yield the output, part by part."""
    model, first = stages.model, 1
    names = labels_in_file(model)
    for scores, (kept, reasons) in parts:
        columns: dict[str, Iterable[Any]] = {
            "row": range(first, first + len(scores)),
            "score": map(float, scores),
        }
        first += len(scores)
        chance = chance_of(stages, scores) if beside.probability else None
        if flags is not None:
            columns["label"] = (names[int(flag)] for flag in flags.of(scores, chance))
        if chance is not None:
            columns["probability"] = map(float, chance)
        if isinstance(model, Scorecard):
            columns["points"] = map(int, model.points(X))
        own = {*columns, *_reason_names(beside.reasons_of)}
        own |= set() if beside.reasons_of is None else {"reasons"}  # of JSON
        yield _Table(len(scores), _renamed(kept, own) | columns, reasons, beside.reasons_of)


def _renamed(kept: Mapping[str, Any], own: Set[str]) -> dict[str, Any]:
    """Return kept columns by other names where the output has columns of these names."""
    columns: dict[str, Any] = {}
    for name, values in kept.items():
        free = name
        while free in own or (free != name and free in kept):
            free += "_in_file"
        columns[free] = values
    return columns


def _write(stream: TextIO, tables: Iterable[_Table], as_json: bool) -> int:
    """Write tables below each other; return the number of rows."""
    writer, count = csv.writer(stream, lineterminator="\n"), 0
    for k, table in enumerate(tables):
        if as_json:
            stream.writelines(table.lines())
        else:
            writer.writerows([] if k else [table.head()])
            writer.writerows(table.cells())
        count += table.rows
    return count
