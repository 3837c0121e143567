"""``aucmax export``: a model as an ONNX file, or as an expression in SQL."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from aucmax.basics.doors import postponed
from aucmax.basics.replacing import replacing
from aucmax.cli.common import load_model
from aucmax.cli.options import Model, Scoring, given_file
from aucmax.cli.paths import check_paths
from aucmax.cli.screen import data_out, say, tell

with postponed():
    from aucmax.cli.front import rows_for
    from aucmax.explain.additive import additive
    from aucmax.export import to_onnx, to_sql

__all__ = ["export"]

Home = StrEnum("Home", {"onnx": "onnx", "sql": "sql"})
Dialect = StrEnum("Dialect", {name: name for name in ("duckdb", "postgres", "bigquery")})  # type: ignore[misc]
DUCKDB = Dialect("duckdb")


def export(
    model: Model,
    to: Annotated[Home, typer.Option("--to", help="The format to write.")],
    reading: Scoring,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="FILE", help="Where to write; by default SQL goes to stdout."
        ),
    ] = None,
    dialect: Annotated[Dialect, typer.Option(help="The database whose SQL to write.")] = DUCKDB,
    float32: Annotated[
        bool,
        typer.Option(
            "--float32", help="ONNX in single precision; warns if that changes the ranking."
        ),
    ] = False,
    probability: Annotated[
        bool,
        typer.Option(
            "--probability", help="SQL for the probability instead of the score; ONNX has both."
        ),
    ] = False,
    rows: Annotated[
        str | None,
        typer.Option("--rows", metavar="FILE", help="Rows on which to test --float32."),
    ] = None,
) -> None:
    """Write a model for other programs, as ONNX or SQL.

    The export includes the steps that 'aucmax train' puts in front of the model (medians for
    missing numbers, values of text, dates, rows of unit norm) and scikit-learn's steps that use one
    column at a time.

    An ONNX file takes the columns as numbers, or by name if some contain text, and gives score and
    label, and the probability if the model was trained with --probability or is a scorecard. The
    SQL is one expression in the names of the columns, whose value is the score or the probability.

    Examples:

        aucmax export booked.aucmax --to onnx -o booked.onnx

        aucmax export booked.aucmax --to sql --dialect postgres
    """
    if to is Home.onnx and output is None:
        raise ValueError("--to onnx needs --output FILE, because ONNX is not text.")
    if rows is not None and not (to is Home.onnx and float32):
        raise ValueError("--rows is for --to onnx --float32.")
    check_paths({"--output": output}, {"MODEL": model, "--rows": rows})
    fitted = load_model(model)
    tried = None
    if rows is not None:
        tried = rows_for(fitted, given_file(rows), reading, labels="none").data
    try:
        if to is Home.sql:
            sql = to_sql(fitted, dialect.value, probability=probability)
            written: str | bytes = sql + "\n"
        else:
            precision = "float32" if float32 else "float64"
            written = to_onnx(fitted, precision, rows=tried).SerializeToString()
    except (ImportError, ValueError) as error:
        raise ValueError(f"{model}: {error}") from None
    form = "dates or timestamps" if to is Home.sql else "days since 1970-01-01"
    dates = [f"{c.name!r} ({c.example})" for c in additive(fitted).columns if c.example]
    if dates:
        tell("note", f"takes {form}, not text as in files, in {', '.join(dates)}")
    if output is None:
        data_out().write(str(written))
        return
    with replacing(output, text=to is Home.sql) as stream:
        stream.write(written)
    say(f"{output} written", sys.stderr)
