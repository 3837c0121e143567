"""``aucmax score``: a score and a label for every row of a file."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, TextIO

import typer

from aucmax.additive import Scorecard
from aucmax.basics.replacing import replacing
from aucmax.basics.visible import json_text, spreadsheet_cell
from aucmax.cli.common import chance_of, counted, load_model, working
from aucmax.cli.front import rows_for
from aucmax.cli.large import Large, passes_over
from aucmax.cli.options import Model, Scoring, given_file, option
from aucmax.cli.paths import check_paths
from aucmax.cli.screen import data_out, say, tell
from aucmax.columns.steps import Stages, parts_of
from aucmax.data.large_files import Footprint
from aucmax.data.rows.source import Source
from aucmax.explain.by_column import by_column
from aucmax.explain.row_reasons import each_reasons, reasons_in_parts
from aucmax.report.explained import reasons_text
from aucmax.report.facts import read_text

__all__ = ["score"]


@dataclass(frozen=True, kw_only=True)
class Beside:
    """Results for each row in addition to its score."""

    reasons_of: int | None = option(
        None,
        "Also give the K columns that raise each score most above the average.",
        flags=("--reasons",),
        metavar="K",
        min=1,
    )
    probability: bool = option(
        False,
        "Also give the probability of the positive label, for a model trained with "
        "--probability or a scorecard.",
    )


class _Large(Large):
    footprint = Footprint(20, 60, 3)


def score(
    model: Model,
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="Rows to score: a file, - for standard input, or a data set known by name. "
            "Columns of CSV and Parquet files are matched to the model's by name; other columns "
            "and labels are ignored.",
        ),
    ],
    reading: Scoring,
    large: _Large,
    *,
    beside: Beside,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="Write here instead of to stdout."),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="One JSON object per row instead of CSV.")
    ] = False,
) -> None:
    """Score the rows of a file: the higher, the more likely positive.

    Prints CSV with the columns row (from 1), score and label. The label is positive if the score is
    above 0, which is midway between the mean scores of the classes; with the logistic loss, it is
    where the probability is ½ for equally frequent classes. For a ranking, use the scores. A
    scorecard also gives points: the fewer, the more likely positive.

    Example:

        aucmax score booked.aucmax new_visits.csv -o scores.csv
    """
    check_paths({"--output": output}, {"FILE": file, "MODEL": model})
    source = given_file(file)
    with working(f"reading {source.name}") as now:  # gone before anything comes on stdout
        fitted = load_model(model)
        X = rows_for(fitted, source, reading, labels="none", large=large).data
        now("scoring")
        stages = Stages.of(fitted, X)
        scores, names = stages.scores(), fitted.classes_.tolist()
        columns: dict[str, Iterable[Any]] = {
            "row": range(1, len(scores) + 1),
            "score": map(float, scores),
            "label": (names[int(value > 0)] for value in scores),
        }
        if beside.probability:
            chance = chance_of(stages, scores)
            if chance is None:
                raise ValueError(
                    f"{model}: has scores but no probabilities; train it with --probability."
                )
            columns["probability"] = map(float, chance)
        if isinstance(fitted, Scorecard):
            columns["points"] = map(int, fitted.points(X))
        if beside.reasons_of is not None:
            now("finding the reasons")
            told = _reasons(stages, beside.reasons_of)
            # they are for people; labels and numbers are for programs, which read them back
            columns["reasons"] = told if as_json else map(spreadsheet_cell, told)
        write = _write_json if as_json else _write_csv
        if output is not None:
            with replacing(output, text=True) as stream:
                write(stream, columns)
    if output is None:
        write(data_out(), columns)
    else:
        written = f"{counted(len(scores), 'score')} written to {output}"
        say(f"{written}; the higher, the more likely {names[1]}", sys.stderr)
    if words := read_text(passes_over(X)):
        tell("note", f"read: {words}")


def _reasons(stages: Stages, most: int) -> Iterator[str]:
    """Return the columns of a linear model that raise the score of each row."""
    if not hasattr(parts_of(stages.model)[1], "coef_"):
        raise ValueError("--reasons needs a linear model.")
    if isinstance(stages.features, Source):
        return map(reasons_text, reasons_in_parts(stages.model, stages.features, most))
    rows = by_column(stages)
    return map(reasons_text, each_reasons(rows, most, rows.mean_added()))


def _write_csv(stream: TextIO, columns: Mapping[str, Iterable[Any]]) -> None:
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))


def _write_json(stream: TextIO, columns: Mapping[str, Iterable[Any]]) -> None:
    for row in zip(*columns.values(), strict=True):
        line = dict(zip(columns, row, strict=True))
        stream.write(json_text(json.dumps(line, ensure_ascii=False)) + "\n")
