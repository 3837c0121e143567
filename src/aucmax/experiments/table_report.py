"""A table's results as a page: our figures, the published ones, the optimum of the square loss."""

from pathlib import Path

import numpy as np

from aucmax.experiments.methods import METHODS, REFERENCE
from aucmax.experiments.tables import Cell, Published, Results
from aucmax.experiments.writing import sections_of, spent, write_results
from aucmax.report.page import Page, ResultTable, Section
from aucmax.report.provenance import provenance

__all__ = ["comparison", "failures", "far_cells", "write_table"]

_FAR_DEVIATIONS = 2.0  # published standard deviations


def _text(value: float, form: str = ".4f") -> str:
    return format(value, form) if np.isfinite(value) else "–"


def _auc(of: Cell | Published | None) -> str:
    if of is None or not np.isfinite(of.std):
        return _text(np.nan if of is None else of.mean)
    return f"{of.mean:.4f} ± {of.std:.4f}"


def comparison(results: Results) -> tuple[list[str], list[list[str]]]:
    """Return the head and a row for each cell."""
    tested, first = results.spec.tested, results.spec.methods[0]
    verdicts = [f"{first} against it"] if tested else []
    head = ["data", "method", "ours", "published", *verdicts, "difference in std", REFERENCE,
            "seconds"]  # fmt: skip
    rows = []
    for (data, name), cell in results.cells.items():
        if name == REFERENCE:
            continue
        if tested:
            base = results.cells[data, first]
            verdicts = ["–" if name == first else base.against(cell) or "–"]
        best = results.cells.get((data, REFERENCE))
        rows.append([
            data,
            name,
            results.absent.get(data) or _auc(cell),
            _auc(cell.published),
            *verdicts,
            _text(cell.off, "+.1f"),
            "–" if best is None else _text(best.mean),
            _text(cell.seconds, ".3g"),
        ])  # fmt: skip
    return head, rows


def tally(results: Results) -> tuple[list[str], list[list[str]]]:
    """Return how often the first method wins, ties and loses against each of the others."""
    first, *others = results.spec.methods
    words, rows = ("win", "tie", "loss"), []
    for name in others:
        outcomes = [
            results.cells[d, first].against(results.cells[d, name]) for d in results.datasets
        ]
        rows.append([name, *(str(outcomes.count(word)) for word in words)])
    return ["against", *words], rows


def far_cells(results: Results) -> list[str]:
    """Return a sentence for each cell that is more than two published deviations off."""
    return [
        f"{cell.data}, {cell.method}: ours {cell.mean:.4f}, published {cell.published.mean:.4f} "
        f"({cell.off:+.1f}): {_reason(results, cell, cell.published)}."
        for cell in results.cells.values()
        if cell.published is not None and abs(cell.off) > _FAR_DEVIATIONS
    ]


def _reason(results: Results, cell: Cell, theirs: Published) -> str:
    """Return why a cell is far from the published figure, certain causes first."""
    return "; ".join(
        _lost_runs(cell)
        or [*_unreachable(results, cell, theirs), *_remark(results, cell)]
        or _nearer(results, cell)
        or _quick(results)
        or _above(results, cell, theirs)
        or ["no reason known"]
    )


def _lost_runs(cell: Cell) -> list[str]:
    lost = sum(auc == 0.5 for auc in cell.aucs)
    if not lost:
        return []
    return [
        f"{lost} of {len(cell.aucs)} runs end at AUC .5: the step that was best on the tuning "
        "rows is too long for the whole pass, or the penalty leaves no weight"
    ]


def _unreachable(results: Results, cell: Cell, theirs: Published) -> list[str]:
    """Say where the published figure is above the optimum of what the method minimises."""
    best = _optimum(results, cell)
    if not METHODS[cell.method].square_loss or best is None or not _above(results, cell, theirs):
        return []
    at_optimum = abs(cell.mean - best.mean) <= _FAR_DEVIATIONS * theirs.std
    ours = "which ours attains" if at_optimum else "which ours does not attain either"
    tuned = f", alpha tuned on {results.protocol.tune_rows:,} rows" if _quick(results) else ""
    return [
        "the published figure lies above what any solver of the square loss can reach on these "
        f"splits: its exact optimum has {best.mean:.4f}{tuned}, {ours}"
    ]


def _remark(results: Results, cell: Cell) -> list[str]:
    remarks = results.spec.remarks
    remark = remarks.get((cell.data, cell.method), remarks.get((cell.data, "*")))
    return [] if remark is None or remark.side * cell.off < 0 else [remark.words]


def _nearer(results: Results, cell: Cell) -> list[str]:
    best = _optimum(results, cell)
    if best is None or cell.off < 0:
        return []
    return ["ours is nearer to the optimum of the square loss"]


def _quick(results: Results) -> list[str]:
    coarse = results.protocol.coarse
    return ["a quick run: tuned on few rows and a wide lattice"] if coarse else []


def _above(results: Results, cell: Cell, theirs: Published) -> list[str]:
    best = _optimum(results, cell)
    if best is None or theirs.mean <= best.mean + _FAR_DEVIATIONS * theirs.std:
        return []
    return ["the published figure is above the optimum of the square loss here"]


def _optimum(results: Results, cell: Cell) -> Cell | None:
    best = results.cells.get((cell.data, REFERENCE))
    return best if best is not None and best.aucs else None


def failures(results: Results) -> list[str]:
    """Return what did not run, and why."""
    return [f"{c.data}, {c.method}: {error}" for c in results.cells.values() for error in c.errors]


def run_words(results: Results) -> str:
    """Return, in words, how the runs were made."""
    p = results.protocol
    splits = (
        f"{p.runs} random 80/20 splits" if p.folds == 0 else f"{p.runs} × {p.folds}-fold splits"
    )
    parts = "on every training part" if p.tuning == "nested" else "once, on the first training part"
    grid = "a wide lattice of the papers' grid" if p.coarse else "the papers' grid, coarse to fine"
    return (
        f"{splits}, stratified, seed {p.seed}; tuned {parts}, over {grid}, by 3-fold AUC on at "
        f"most {p.tune_rows:,} of its rows. Features are scaled on all rows, as in the papers. "
        "Difference: ours minus published, in published standard deviations. Square-loss "
        "optimum: test AUC of the exact optimum of the pairwise square loss on the same splits, "
        "alpha tuned on the same rows over the whole grid. It is not an upper bound: another loss, "
        "or a run that stops early, can rank better."
    )


def write_table(results: Results, folder: Path, command: str) -> list[str]:
    """Write every single run as CSV, settings in columns of their own, and the page."""
    settings = sorted({name for row in results.rows for name in row.get("settings", {})})
    head = ["data", "method", "run", "fold", "seed", "auc", "seconds", "passes", "objective",
            "optimality", *settings, "error"]  # fmt: skip
    rows = [{**row, **row.get("settings", {})} for row in results.rows]
    return write_results(folder, head, rows, _page(results, command), "table.md")


def _page(results: Results, command: str) -> Page:
    head, rows = comparison(results)
    tables = [ResultTable(head, rows, run_words(results), words=(1,))]
    sections = [Section("Ours and the published figures", tables=tables)]
    if results.spec.tested:
        counts = ResultTable(*tally(results), "Paired t-tests over the single runs at 95 %.")
        sections.append(
            Section(f"Wins, ties and losses of {results.spec.methods[0]}", tables=[counts])
        )
    sections += sections_of(
        {
            "More than two published standard deviations away": far_cells(results),
            "What did not run": failures(results),
        }
    )
    notes = [(name, METHODS[name].note) for name in results.spec.all_methods]
    sections.append(Section("The methods", tables=[ResultTable.facts(notes)]))
    facts = spent(results.seconds)
    if results.unasked:
        facts.append(("in the paper, not asked for", ", ".join(results.unasked)))
    run = ", ".join(results.seconds) or "no data set"
    return Page(
        results.spec.title,
        f"{results.protocol.parts} runs of each method on {run}.",
        sections,
        provenance=provenance(command, facts, results.protocol.seed),
    )
