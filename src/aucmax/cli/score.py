"""``aucmax score``: a score and a label for every row of a file."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any, TextIO

import typer

from aucmax.basics.replacing import replacing
from aucmax.cli.common import check_folder, counted, load_model, scores_of, working
from aucmax.cli.errors import tell
from aucmax.cli.front import rows_for
from aucmax.cli.large import Large, what_was_read, words_of_read
from aucmax.cli.options import Model, Reading, given_file

__all__ = ["score"]


def score(
    model: Model,
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="Rows to score: a file, - for standard input, or a data set known by name. "
            "CSV and Parquet columns are found by the names the model has; other columns and "
            "labels are ignored.",
        ),
    ],
    reading: Reading,
    large: Large,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="Write here instead of to stdout."),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="One JSON object per row instead of CSV.")
    ] = False,
) -> None:
    """Score the rows of a file: the higher, the more likely positive.

    Gives CSV with the columns row (from 1), score and label. The label is the positive one where
    the score is above 0: midway between the classes' mean scores, with the logistic loss where the
    probability is ½ for classes equally frequent. For a ranking, use the scores.

    Example:

        aucmax score booked.aucmax new_visits.csv -o scores.csv
    """
    check_folder(output, file, model)
    source = given_file(file)
    with working(f"reading {source.name}") as now:  # gone before anything comes on stdout
        fitted = load_model(model)
        X = rows_for(fitted, source, reading, labels="none", large=large).data
        now("scoring")
        scores = scores_of(fitted, X)
        names = fitted.classes_.tolist()
        rows = ((i, value, names[value > 0]) for i, value in enumerate(map(float, scores), 1))
        write = _write_json if as_json else _write_csv
        if output is not None:
            with replacing(output, text=True) as stream:
                write(stream, rows)
    if output is None:
        write(sys.stdout, rows)
    else:
        written = f"{counted(len(scores), 'score')} written to {output}"
        print(f"{written}; the higher, the more likely {names[1]}", file=sys.stderr)
    if words := words_of_read(what_was_read(X)):
        tell("note", f"read: {words}")


def _write_csv(stream: TextIO, rows: Iterable[tuple[int, float, Any]]) -> None:
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(["row", "score", "label"])
    writer.writerows(rows)


def _write_json(stream: TextIO, rows: Iterable[tuple[int, float, Any]]) -> None:
    for row, value, label in rows:
        line = {"row": row, "score": value, "label": label}
        stream.write(json.dumps(line, ensure_ascii=False) + "\n")
