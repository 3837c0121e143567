"""The report of ``aucmax stream``: the AUC as curves, drift, and the features that moved."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from aucmax.basics.visible import in_line
from aucmax.report.figures import Figure, Line
from aucmax.report.page import Page, ResultTable, Section
from aucmax.report.provenance import provenance
from aucmax.report.reports import Report
from aucmax.report.text import auc_text, difference_text, interval_text, p_text

__all__ = ["Stream"]

MAX_DRAWN_LINES = 2000
_CURVES = {
    "prequential": "all rows, scored before they were learnt",
    "learning": "the model that keeps learning",
    "frozen": "the frozen model",
}


@dataclass(frozen=True, kw_only=True)
class Stream(Report):
    """The report of ``aucmax stream``."""

    name: str  # of what was read
    monitor: Sequence[Mapping[str, Any]]  # lines, as `aucmax.streams.monitor` makes them

    @classmethod
    def of(cls, name: str, monitor: Path) -> Stream:
        """Read the lines of a monitor's file."""
        lines = _thinned(monitor)
        if not lines:
            raise ValueError(f"{monitor}: has no line yet, so there is no report; lower --every.")
        return cls(name=name, monitor=lines)

    def page(self, command: str = "") -> Page:
        """Return the page; ``command`` is what was run."""
        last = self.monitor[-1]
        lines = {text: _curve(self.monitor, key) for key, text in _CURVES.items()}
        curves = {text: line for text, line in lines.items() if line is not None}
        described = in_line(f"{self.name}: {last['row']:,} rows, {last['features']:,} features")
        figure = Figure(
            "auc", "AUC over the stream", "row", "AUC", curves, "Bands are 95 % intervals.",
            ends=True,
        )  # fmt: skip
        units = "strata" if "strata" in last else "rows"
        sections = [Section("AUC", tables=[_areas(last)], figures=[figure] if curves else [])]
        if last["drift"] is not None:
            drift = _drift(units, **last["drift"])
            sections.append(Section(f"Have {units} changed?", tables=[drift]))
        if last["test"] is not None:
            gain = _gain(units, last["test"])
            sections.append(Section("Does learning pay off?", tables=[gain]))
        if last["moved"]:
            sections.append(Section("What moved", tables=[_moved(last)]))
        return Page(
            f"The stream {self.name}",
            described,
            sections,
            provenance=provenance(command, [("data", described)]),
        )


def _thinned(monitor: Path) -> list[dict[str, Any]]:
    """Return the lines, every second one dropped until there are few enough, and the last one."""
    lines, step, last = [], 1, None
    with monitor.open("rb") as stream:
        for i, line in enumerate(stream):
            last = line
            if i % step == 0:
                lines.append(line)
            if len(lines) > MAX_DRAWN_LINES:
                lines, step = lines[::2], 2 * step
    if last is not None and lines[-1] is not last:
        lines.append(last)
    return [json.loads(line) for line in lines]


def _curve(lines: Sequence[Mapping[str, Any]], key: str) -> Line | None:
    points = [(line["row"], line[key]) for line in lines if line[key] is not None]
    if not points:
        return None
    x = np.array([row for row, _ in points], dtype=float)
    auc, low, high = (np.array([area[end] for _, area in points]) for end in ("auc", "low", "high"))
    edge = np.concatenate([x, x[::-1]]), np.concatenate([low, high[::-1]])
    return Line(x, auc, edge=edge, detail=auc_text(float(auc[-1])))


def _areas(last: Mapping[str, Any]) -> ResultTable:
    areas = [(text, area) for key, text in _CURVES.items() if (area := last[key]) is not None]
    columns = ("", "AUC", "95 % interval")
    rows = [
        (text, auc_text(area["auc"]), interval_text(area["low"], area["high"]))
        for text, area in areas
    ]
    if "strata" in last:
        return ResultTable(
            columns, rows, f"Within strata of {last['strata']}, which are the units."
        )
    return ResultTable(
        (*columns, "error, at most"),
        [(*row, f"{area['error']:.1e}") for row, (_, area) in zip(rows, areas, strict=True)],
        "The last column bounds the error that comes from counting scores in bins.",
    )


def _drift(units: str, evidence: float, row: int | None, level: float) -> ResultTable:
    answer = "no sign so far" if row is None else f"yes, detected at row {row:,}"
    ranks = {
        "rows": "the frozen model's scores within each class",
        "strata": "the frozen model's AUC in each of the strata",
    }
    return ResultTable.facts(
        [
            ("since the freeze", answer),
            ("evidence", f"{evidence:.3g}, of {1.0 / level:g} that raise the alarm"),
        ],
        f"From the ranks of {ranks[units]}. If {units} never change, "
        f"the alarm is raised in at most {100 * level:g} % of streams, however often one looks.",
    )


def _gain(units: str, test: Mapping[str, Any]) -> ResultTable:
    difference = difference_text(test["difference"], test["low"], test["high"])
    return ResultTable(
        ("against", "AUC difference", "95 % interval", "p"),
        [("the frozen model", *difference, p_text(test["p_value"]))],
        f"{units.capitalize()} since the freeze. Interval and p are valid for one look: of many "
        "looks at a stream, more have p < .05 by chance.",
    )


def _moved(last: Mapping[str, Any]) -> ResultTable:
    def text(value: float | None) -> str:
        return "–" if value is None else f"{value:.4g}"

    columns = ("before", "since", "z", "shift", "spread")
    rows = [
        (feature["feature"], str(feature["class"]), *(text(feature[column]) for column in columns))
        for feature in last["moved"]
    ]
    return ResultTable(
        ("feature", "class", "mean before", "since", "z", "in sd", "sd ratio"),
        rows,
        f"Class means of the first {last['frozen_after']:,} rows, and of the rows since; z is the "
        "change in standard errors.",
        words=(1,),
    )
