"""The page that ``aucmax compare --html`` writes."""

import contextlib
from pathlib import Path
from typing import Any

import numpy as np

from aucmax.basics.progress import Working
from aucmax.cli import _compare_text
from aucmax.cli._shared import command_line
from aucmax.cli.front import LabelledRows, rows_described
from aucmax.experiments.contestants import LOGISTIC, Setting
from aucmax.experiments.runs import REFERENCE_TOL, Measure, Run, Split, course
from aucmax.report.text import auc_text

__all__ = ["write"]


def write(
    path: Path,
    report: dict[str, Any],
    rows: LabelledRows,
    runs: list[Run],
    parts: list[Split],
    setting: Setting,
    now: Working,
) -> None:
    from aucmax.report.page import Page, ResultTable, Section, write_page
    from aucmax.report.provenance import provenance

    reached, *compared = _compare_text.tables(report)
    done = [entry for entry in report["solvers"] if entry["status"] == "done"]
    best = auc_text(max(entry["auc"] for entry in done))
    strong = [i for i, entry in enumerate(done) if auc_text(entry["auc"]) == best]
    foot = [*_compare_text.left_out(report), *_compare_text.words(report)]
    table = ResultTable(
        *reached,
        " ".join(["Bold: the highest mean AUC.", *foot]),
        strong=strong if len(strong) < len(done) else (),
    )
    tests = [ResultTable(head, lines, words=(4,)) for head, lines in compared]
    settings = f"{_compare_text.settings_text(report).capitalize()}."
    sections = [Section("Results", settings, [table, *tests])]
    notes = _compare_text.notes(report)
    if notes:
        told = [tuple(note.split(": ", 1)) for note in notes]
        sections.append(
            Section("What went wrong", tables=[ResultTable(("", "message"), told, words=(1,))])
        )
    ran = [run for run in runs if run.error is None]
    sections.append(_curves(report, rows, ran, parts))
    plural = "" if len(parts) == 1 else "s"
    facts = [("data", rows_described(report)), ("splits", f"{len(parts)}, {report['splitting']}")]
    page = Page(
        f"Algorithms compared on {rows.name}",
        f"{rows_described(report)}. {len(parts)} split{plural}, {report['splitting']}, into "
        f"{_compare_text.sizes_text(report)}, the same for all.",
        [*sections, *_convergence(ran, rows, parts[0], setting, now)],
        provenance=provenance(command_line(), facts, setting.seed),
    )
    write_page(page, path)


def _curves(report: dict[str, Any], rows: LabelledRows, done: list[Run], parts: list[Split]) -> Any:
    from aucmax.report import curves, figures
    from aucmax.report.page import Section

    tests = [rows.is_positive[part.test] for part in parts]
    weights = [None if rows.weight is None else rows.weight[part.test] for part in parts]
    shown = {run.name: list(zip(tests, run.scores, weights, strict=True)) for run in done}
    bands = [name for name in (report["against"], LOGISTIC) if name in shown]
    if len(parts) > 1:
        roc = {name: curves.mean_roc(pairs) for name, pairs in shown.items()}
        pr = {name: curves.mean_precision_recall(pairs) for name, pairs in shown.items()}
        roc_words = "Mean recall over the splits at each false-positive rate. Band: one standard "
        pr_words = "Mean precision over the splits at each recall. Band: one standard "
        tail = f"deviation of the splits to either side, for {' and '.join(bands)}."
    else:
        positive, weight = tests[0], weights[0]
        roc, pr = (
            {run.name: curve(positive, run.scores[0], 0.95, weight) for run in done}
            for curve in (curves.roc, curves.precision_recall)
        )
        roc_words = "Band: around each threshold the joint 95 % region of both rates, "
        pr_words = "Band: the 95 % interval for the precision at each threshold, "
        tail = f"from Wilson's binomial intervals; pointwise; for {' and '.join(bands)}."
    details = {run.name: f"AUC {auc_text(float(np.mean(run.aucs)))}" for run in done}
    return Section(
        "Curves",
        drawings=[
            figures.curves_drawing(
                "roc", roc, name="roc", title="ROC curve", caption=roc_words + tail,
                details=details, bands=bands,
            ),
            figures.curves_drawing(
                "precision-recall", pr, name="pr", title="Precision and recall",
                caption=pr_words + tail + " Dotted: the share of positives.",
                bands=bands, share=float(np.average(rows.is_positive, weights=rows.weight)),
            ),
        ],
    )  # fmt: skip


def _convergence(
    done: list[Run], rows: LabelledRows, part: Split, setting: Setting, now: Working
) -> list[Any]:
    """The way of each solver to the optimum, on the first split, from a run of its own."""
    from aucmax.report import figures
    from aucmax.report.page import Section

    solvers = [run for run in done if run.on_objective]
    if not solvers:
        return []
    measure = Measure(rows, part, setting)
    courses = {}
    for i, run in enumerate(solvers):
        now.at(i, len(solvers), f"the way of {run.name}")
        with contextlib.suppress(Exception):
            passes, values = course(run.name, rows, part, setting)
            measure.lowest = min(measure.lowest, *values, run.objectives[0])
            courses[run.name] = (passes, values)
    drawing = figures.convergence_drawing(
        {
            name: (passes, [measure.gap(value) for value in values])
            for name, (passes, values) in courses.items()
        },
        name="gap",
        title="Distance to the true optimum",
        caption="Relative gap (J − J*) / J* on the training rows of the first split, from runs "
        f"that stop at optimality {setting.tol:g}; J* is the lowest value found, by the batch "
        f"solver at optimality {REFERENCE_TOL:g}. Below about 1e-14 is rounding.",
    )
    return [Section("Convergence", drawings=[drawing])]
