"""Exported models run where they are exported to: ONNX Runtime, DuckDB and PostgreSQL."""

import duckdb
import numpy as np
import onnxruntime
import pandas as pd
import pytest
import sqlglot

__all__ = ["run_arrow", "run_onnx", "run_postgres", "run_sql"]


def run_onnx(made, frame, dtype="float64"):
    session = onnxruntime.InferenceSession(made.SerializeToString())
    inputs = {one.name: one.type for one in session.get_inputs()}
    if "X" in inputs:
        return session.run(["score", "label"], {"X": frame.to_numpy(dtype)})
    given = {}
    for name, kind in inputs.items():
        gap = "string" in kind
        values = frame[name].where(frame[name].notna(), "") if gap else frame[name]
        given[name] = values.to_numpy(object if gap else dtype)[:, None]
    return session.run(["score", "label"], given)


def run_sql(expression, frame):
    rows = frame.assign(day=pd.to_datetime(frame["day"], unit="D")) if "day" in frame else frame
    with duckdb.connect() as database:
        database.register("given", rows)
        found = database.sql(f"SELECT {expression} AS score FROM given").fetchnumpy()["score"]
    return np.ma.filled(found.astype(float), np.nan)


def run_postgres(folder, expression, frame):
    """Run SQL on PostgreSQL; a column of numbers keeps its NaN, one of days has a time zone."""
    psycopg = pytest.importorskip("psycopg")
    rows = frame.assign(day=pd.to_datetime(frame["day"], unit="D")) if "day" in frame else frame
    kinds = dict(O="text", M="timestamptz", f="double precision", i="bigint", b="boolean")
    kinds = [kinds[dtype.kind] for dtype in rows.dtypes]
    gap_kinds = ("text", "timestamptz", "boolean")
    names = [sqlglot.exp.to_identifier(name, quoted=True).sql("postgres") for name in rows]
    columns = ", ".join(map(" ".join, zip(names, kinds, strict=True)))
    with psycopg.connect(host=folder, user="postgres", dbname="postgres") as base:
        base.execute(f"SET timezone = 'UTC'; CREATE TEMP TABLE given (place serial, {columns})")
        with base.cursor().copy(f"COPY given ({', '.join(names)}) FROM STDIN") as copy:
            for row in rows.astype(object).itertuples(index=False):
                values = zip(row, kinds, strict=True)
                copy.write_row([None if k in gap_kinds and pd.isna(v) else v for v, k in values])
        base.execute("SET timezone = 'Asia/Tokyo'")
        found = base.execute(f"SELECT {expression} AS score FROM given ORDER BY place").fetchall()
    return np.array([np.nan if score is None else score for (score,) in found])


def run_arrow(expression, rows, settings=""):
    with duckdb.connect() as database:
        database.register("given", rows)
        database.execute(settings)
        return [score for (score,) in database.sql(f"SELECT {expression} FROM given").fetchall()]
