"""A table's results as a page: ours, theirs, and the optimum of the square loss."""

from typing import Any

import numpy as np

from aucmax.experiments.methods import METHODS, REFERENCE
from aucmax.experiments.tables import Cell, Results
from aucmax.report.page import Page, ResultTable, Section
from aucmax.report.provenance import provenance

__all__ = ["comparison", "failures", "far_cells", "page_of"]

_FAR = 2.0  # published standard deviations


def _auc(mean: float, std: float) -> str:
    if not np.isfinite(mean):
        return "–"
    return f"{mean:.4f}" if not np.isfinite(std) else f"{mean:.4f} ± {std:.4f}"


def comparison(results: Results) -> tuple[list[str], list[list[str]]]:
    """Return the head and the rows: a row for each cell."""
    head = ["data", "method", "ours", "published", "difference in std", REFERENCE, "seconds"]
    first = results.spec.methods[0]
    if results.spec.tested:
        head.insert(4, f"{first} against it")
    rows = []
    for data in results.datasets:
        best = results.cells.get((data, REFERENCE))
        for name in results.spec.methods:
            cell = results.cells.get((data, name))
            if cell is None:
                continue
            theirs = cell.published
            row = [
                data,
                name,
                results.absent.get(data) or _auc(cell.mean, cell.std),
                "–" if theirs is None else _auc(theirs.mean, theirs.std),
                "–" if not np.isfinite(cell.off) else f"{cell.off:+.1f}",
                "–" if best is None or not best.aucs else f"{best.mean:.4f}",
                "–" if not np.isfinite(cell.seconds) else f"{cell.seconds:.3g}",
            ]
            if results.spec.tested:
                base = results.cells.get((data, first))
                verdict = None if base is None or name == first else base.against(cell)
                row.insert(4, verdict or "–")
            rows.append(row)
    return head, rows


def tally(results: Results) -> tuple[list[str], list[list[str]]]:
    """Return win/tie/loss of the first method against each other."""
    first = results.spec.methods[0]
    head, rows = ["against", "win", "tie", "loss"], []
    for name in results.spec.methods[1:]:
        found = [
            results.cells[data, first].against(results.cells[data, name])
            for data in results.datasets
            if (data, name) in results.cells and (data, first) in results.cells
        ]
        rows.append([name, *(str(found.count(word)) for word in ("win", "tie", "loss"))])
    return head, rows


def far_cells(results: Results) -> list[str]:
    """Return a sentence for each cell more than two published deviations away."""
    lines = []
    for (data, name), cell in results.cells.items():
        if not abs(cell.off) > _FAR:
            continue
        assert cell.published is not None
        lines.append(
            f"{data}, {name}: ours {cell.mean:.4f}, published {cell.published.mean:.4f} "
            f"({cell.off:+.1f}): {_reason(results, cell)}."
        )
    return lines


def _reason(results: Results, cell: Cell) -> str:
    remarks = results.spec.remarks
    lost = sum(auc == 0.5 for auc in cell.aucs)
    if lost:
        return (
            f"{lost} of {len(cell.aucs)} runs end at AUC .5: the step that was best on the tuning "
            "rows is too long for the whole pass, or the penalty leaves no weight"
        )
    if results.protocol.coarse:
        return "a quick run: tuned on few rows and a wide lattice"
    known = remarks.get((cell.data, cell.method), remarks.get((cell.data, "*")))
    if known is not None and known.side * cell.off >= 0:
        return known.words
    best = results.cells.get((cell.data, REFERENCE))
    assert cell.published is not None
    if best is not None and best.aucs:
        if cell.published.mean > best.mean + _FAR * cell.published.std:
            return "the published figure is above the optimum of the square loss here"
        if cell.off > 0:
            return "ours is nearer to the optimum of the square loss"
    return "no reason known"


def failures(results: Results) -> list[str]:
    """Return what did not run, and why."""
    lines = [
        f"{data}, {name}: {error}"
        for (data, name), cell in results.cells.items()
        for error in cell.errors
    ]
    return lines


def how(results: Results) -> str:
    """Return how the runs were made, in a sentence or two."""
    p = results.protocol
    splits = (
        f"{p.runs} random 80/20 splits" if p.folds == 0 else f"{p.runs} × {p.folds}-fold splits"
    )
    where = "on every training part" if p.tuning == "nested" else "once, on the first training part"
    grid = "a wide lattice of the papers' grid" if p.coarse else "the papers' grid, coarse to fine"
    return (
        f"{splits}, stratified, seed {p.seed}; tuned {where}, over {grid}, by 3-fold AUC on at "
        f"most {p.tune_rows:,} of its rows. Features are scaled on all rows, as in the papers. "
        "Difference: ours minus published, in published standard deviations. Square-loss "
        "optimum: test AUC of the exact optimum of the pairwise square loss on the same splits, "
        "alpha tuned on the same rows over the whole grid. It is no ceiling: another loss, or a "
        "run that stops early, can rank better."
    )


def page_of(results: Results, command: str) -> Page:
    """Return the page."""
    head, rows = comparison(results)
    tables = [ResultTable(head, rows, how(results), words=(1,))]
    sections = [Section("Ours beside the published", tables=tables)]
    if results.spec.tested:
        counts = ResultTable(*tally(results), "Paired t-tests over the single runs at 95 %.")
        sections.append(Section(f"Win, tie and loss of {results.spec.methods[0]}", tables=[counts]))
    for title, lines in (
        ("More than two published standard deviations away", far_cells(results)),
        ("What did not run", failures(results)),
    ):
        if lines:
            cells = [line.partition(": ")[::2] for line in lines]
            sections.append(Section(title, tables=[ResultTable.facts(cells)]))
    notes = [(name, METHODS[name].note) for name in (*results.spec.methods, REFERENCE)]
    sections.append(Section("The methods", tables=[ResultTable.facts(notes)]))
    facts: list[tuple[str, Any]] = [
        (data, f"{took:.0f} seconds of one core") for data, took in results.seconds.items()
    ]
    if results.unasked:
        facts.append(("in the paper, not asked for", ", ".join(results.unasked)))
    run = ", ".join(results.seconds) or "no data set"
    return Page(
        results.spec.title,
        f"{results.protocol.parts} runs of each method on {run}.",
        sections,
        provenance=provenance(command, facts, results.protocol.seed),
    )
