"""The page of ``aucmax compare``: tables, curves, and the convergence of its solvers."""

import contextlib
import itertools
from typing import Any

import numpy as np

from aucmax.basics.progress import Working
from aucmax.cli.common import counted
from aucmax.cli.errors import command_line
from aucmax.cli.front import LabelledRows, rows_described
from aucmax.experiments.methods import LOGISTIC, RIVALS, Task
from aucmax.experiments.paired import confidence_of_each, groups_alike
from aucmax.experiments.runs import REFERENCE_TOL, Contestant, Measure, Split, compared, course
from aucmax.report.comparison import areas_figure, differences_figure
from aucmax.report.curves import ranking_figures
from aucmax.report.figures import Figure, convergence_figure
from aucmax.report.page import Page, ResultTable, Section
from aucmax.report.provenance import provenance
from aucmax.report.text import auc_text, gap_text, interval_text

__all__ = ["figures", "notes", "page_of"]


def page_of(report: dict[str, Any]) -> Page:
    """Return the page, without its figures."""
    splits, described = counted(report["splits"], "split"), rows_described(report)
    sections = [Section("Results", tables=_tables(report))]
    if notes(report):
        wrong = ResultTable(("", "message"), notes(report), words=(1,))
        sections.append(Section("What went wrong", tables=[wrong], on_terminal=False))
    return Page(
        f"Algorithms compared on {report['data']}",
        f"{described}\n{splits}, {report['splitting']}: {_sizes(report)}; seed {report['seed']}\n"
        f"{_settings(report)}",
        sections,
        provenance=provenance(
            command_line(),
            [("data", described), ("splits", f"{report['splits']}, {report['splitting']}")],
            report["seed"],
        ),
        data=report,
    )


def notes(report: dict[str, Any]) -> list[tuple[str, str]]:
    """What failed and what did not converge, and why."""
    failed = [(e["name"], e["error"]) for e in report["solvers"] if e["status"] == "failed"]
    return failed + [(e["name"], e["warning"]) for e in report["solvers"] if e.get("warning")]


def _tables(report: dict[str, Any]) -> list[ResultTable]:
    """What each algorithm reached, how it compares, and how to read this."""
    done = [entry for entry in report["solvers"] if entry["status"] == "done"]
    tested = [entry for entry in done if "p_value" in entry]
    best = auc_text(max(entry["auc"] for entry in done))
    strong = [i for i, entry in enumerate(done) if auc_text(entry["auc"]) == best]
    reached = [
        (
            e["name"],
            auc_text(e["auc"]),
            interval_text(e["auc_interval"]["low"], e["auc_interval"]["high"]),
            _seconds(e["seconds"]),
            "–" if e["optimality"] is None else f"{e['optimality']:.1e}",
            "–" if e["gap"] is None else gap_text(e["gap"]),
        )
        for e in done
    ]
    caption = "\n".join(_legend(report))
    first = ("", "test AUC", "95 % interval", "seconds", "optimality", "gap to J*")
    strong = strong if len(strong) < len(done) else []
    if not tested:
        return [ResultTable(first, reached, caption, strong)]
    against = f"against {report['against']}"
    return [
        ResultTable(first, reached, strong=strong),
        ResultTable.differences(
            against, ((e["name"], e) for e in tested), "95 % interval", caption
        ),
    ]


def _sizes(report: dict[str, Any]) -> str:
    """How many rows a split trains on and tests on."""
    words = []
    for sizes in zip(*report["split_sizes"], strict=True):
        least, most = min(sizes), max(sizes)
        words.append(f"{least:,}" if least == most else f"{least:,} to {most:,}")
    return f"{words[0]} rows to train and {words[1]} to test"


def _seconds(value: float) -> str:
    return f"{value:.3f}" if value < 10 else f"{value:.1f}" if value < 1000 else f"{value:.0f}"


def _settings(report: dict[str, Any]) -> str:
    numbers = ("alpha", "l1_ratio", "standardize")
    text = ", ".join(f"{name.replace('_', ' ')} {report[name]:g}" for name in numbers)
    scaled = "" if report["scale"] == "none" else ", rows of unit norm"
    return f"loss {report['loss']}, {text}{scaled}"


def _legend(report: dict[str, Any]) -> list[str]:
    """What was left out, and how to read the tables."""
    done = [entry for entry in report["solvers"] if entry["status"] == "done"]
    left: dict[str, list[str]] = {}
    for entry in report["solvers"]:
        if entry["status"] in ("unfit", "unfinished"):
            left.setdefault(entry["error"], []).append(entry["name"])
    outside = "; ".join(f"{', '.join(names)} ({why})" for why, names in left.items())
    other = [e["name"] for e in done if e["gap"] is None and e["name"] not in RIVALS]
    own = [f"{e['name']} ({RIVALS[e['name']].note})" for e in done if e["name"] in RIVALS]
    over, largest, mean = "on the test rows, assumed independent", "", ""
    if report["splits"] > 1:
        freedom = counted(report["splits"] - 1, "degree")
        over = f"over the {report['splits']} splits, {freedom} of freedom"
        largest = ", the largest of the splits"
        mean = "test AUC: mean of the splits; its interval counts a row once that several test."
    lines = [
        f"Left out: {outside}." if outside else "",
        mean,
        f"difference, interval and p: {report['test']} {over}; a tie unless p < 0.05, without "
        "correction for the number of tests.",
        report["test_note"] or "",
        "seconds: one fit, mean of the splits. optimality and gap (J − J*) / J*: on the training "
        f"rows{largest}.",
        f"With an objective of their own: {', '.join(other)}." if other else "",
        f"Settings chosen by cross-validation on the training rows, which the seconds include: "
        f"{', '.join(own)}."
        if own
        else "",
    ]
    return list(filter(None, lines))


def figures(
    report: dict[str, Any],
    rows: LabelledRows,
    runs: list[Contestant],
    parts: list[Split],
    task: Task,
    now: Working,
) -> list[Section]:
    """Return the curves, and the convergence of each solver on the first split."""
    ran = [run for run in runs if run.error is None]
    ran.sort(key=lambda run: -float(np.mean(run.aucs)))
    tests = [part.test for part in parts]
    # of many algorithms the curves hide each other
    drawn = [run for run in ran if run in ran[:1] or run.name in (report["against"], LOGISTIC)]
    scored = {run.name: list(map(rows.scored, tests, run.scores)) for run in drawn}
    areas = {run.name: f"AUC {auc_text(float(np.mean(run.aucs)))}" for run in drawn}
    sections = [
        Section("Side by side", figures=_side_by_side(report, ran, rows, parts)),
        Section("Curves", figures=ranking_figures(scored, details=(areas, {}))),
    ]
    solvers = [run for run in ran if run.on_objective]
    if solvers:
        distances = _convergence(solvers, rows, parts[0], task, now)
        sections.append(Section("Convergence", figures=[distances]))
    return sections


def _side_by_side(
    report: dict[str, Any], ran: list[Contestant], rows: LabelledRows, parts: list[Split]
) -> list[Figure]:
    """Dots with intervals, and which algorithms cannot be told apart; the best comes first."""
    names, entries = [run.name for run in ran], {e["name"]: e for e in report["solvers"]}
    intervals = [entries[name]["auc_interval"] for name in names]
    figures = [
        areas_figure(
            names,
            [(entries[run.name]["auc"], at["low"], at["high"])
             for run, at in zip(ran, intervals, strict=True)],
            "Bars: 95 % intervals of each by itself. Those of two may overlap although the same "
            "rows tell them apart: see the other figure. Dotted: the best.",
        )
    ]  # fmt: skip
    if len(ran) > 1:
        confidence = confidence_of_each(len(ran))
        tests = {
            (i, j): compared(ran[j], ran[i], rows, parts, confidence)
            for i, j in itertools.combinations(range(len(ran)), 2)
        }
        differ = np.zeros((len(ran), len(ran)), dtype=bool)
        for pair, test in tests.items():
            differ[pair] = not test.low <= 0 <= test.high
        from_best = [tests[0, j] for j in range(1, len(ran))]
        figures.append(
            differences_figure(
                names,
                [(0.0, 0.0, 0.0), *((t.difference, t.low, t.high) for t in from_best)],
                groups_alike(differ),
                f"Dots: paired differences from the best, with intervals by {report['test']}. "
                f"{_together(len(tests), confidence)} Upright bars join algorithms of which no two "
                "can be told apart: the intervals of all their differences contain 0.",
            )
        )
    return figures


def _together(pairs: int, confidence: float) -> str:
    """What the intervals of all pairs promise."""
    if pairs == 1:
        return "They are of 95 %."
    return (
        f"Those of all {pairs} pairs of algorithms hold together with 95 %, so that it is no harm "
        f"that the best was chosen by the same rows: each is of {100 * confidence:.4g} % "
        "(Bonferroni), wider than one in the table."
    )


def _convergence(
    solvers: list[Contestant], rows: LabelledRows, part: Split, task: Task, now: Working
) -> Figure:
    """How each solver converges on one split, from a separate run."""
    measure = Measure(rows, part, task)
    courses = {}
    for i, run in enumerate(solvers):
        now.at(i, len(solvers), f"convergence of {run.name}")
        with contextlib.suppress(Exception):
            passes, values = course(run.name, rows, part, task)
            measure.lowest = min(measure.lowest, *values, run.objectives[0])
            courses[run.name] = (passes, values)
    gaps = {
        name: (passes, [measure.gap(value) for value in values])
        for name, (passes, values) in courses.items()
    }
    return convergence_figure(
        gaps,
        name="gap",
        title="Distance to the true optimum",
        caption="Relative gap (J − J*) / J* on the training rows of the first split, from runs "
        f"that stop at optimality {task.tol:g}; J* is the lowest value found, by the batch "
        f"solver at optimality {REFERENCE_TOL:g}. Below about 1e-14 is rounding.",
    )
