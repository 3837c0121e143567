"""docs/benchmarks.md and its figures, made from the runs that are kept."""

from collections.abc import Iterable
from pathlib import Path
from statistics import median

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

from benchmarks import runs
from benchmarks.data import SETS
from benchmarks.peers import OURS, PEERS, Method
from benchmarks.questions import QUESTIONS, SOLVERS
from benchmarks.summary import NEAR, Cell, best_auc, cells, fastest, ratio, slope

DOCS = Path(__file__).parents[1] / "docs"
Cells = dict[str, list[Cell]]
OUR_COLOURS = {"square": "#1f77b4", "squared_hinge": "#d62728", "logistic": "#2ca02c",
               "moments": "#17becf", "SPAM": "#9467bd", "VRSPAM": "#c8a2dc",
               "UnivariateSGD": "#ff7f0e", "AUCClassifierCV": "#d62728",
               "AUCClassifierCV square": "#1f77b4"}  # fmt: skip
SHOWN = (0.0003, 0.1)  # AUC below the best, the range of the figure
PEER_MARKERS = {
    "LogisticRegression": "s", "Ridge": "D", "LDA": "d", "SGD": "^", "LinearSVC": "v",
    "Snap ML": "P", "glum": "X", "scikit-learn-intelex": "h", "celer": "<", "LIBLINEAR": ">",
    "Vowpal": "p", "XGBoost": "*", "torch": "8",
}  # fmt: skip


def write() -> None:
    """Write the page and its figures."""
    lines = runs.lines_of()
    parts = [HEAD.format(machines="; ".join(distinct(lines, "machine")))]
    parts.append(fit_part(lines))
    parts.append(tuned_part(lines))
    parts.append(scaling_part(lines))
    parts.append(auto_part(lines))
    parts.append(absent_part(lines))
    parts.append(TAIL.format(versions=", ".join(distinct(lines, "versions"))))
    (DOCS / "benchmarks.md").write_text("\n\n".join(part for part in parts if part) + "\n")


# ---- one fit, a tuned model --------------------------------------------------------------


def fit_part(lines: list[dict[str, str]]) -> str:
    """Return the tables of one fit."""
    found = ordered(cells(lines, "fit"))
    if not found:
        return ""
    picture(found, OURS, "benchmarks_fit.png")
    given = [method for method in (*OURS, *PEERS) if not method.scales]
    return FIT.format(
        any=duel(found, OURS),
        given=duel(keep(found, given), [method for method in given if method.ours]),
        losses=losses(found),
        all=everything(found, [*OURS, *PEERS], notes(lines, "fit")),
    )


def tuned_part(lines: list[dict[str, str]]) -> str:
    """Return the tables of tuned models."""
    found = ordered(cells(lines, "tuned"))
    if not found:
        return ""
    methods = QUESTIONS["tuned"].methods
    ours = [method for method in methods if method.ours]
    picture(found, ours, "benchmarks_tuned.png")
    return TUNED.format(
        any=duel(found, ours), all=everything(found, methods, notes(lines, "tuned"))
    )


def duel(found: Cells, ours: Iterable[Method]) -> str:
    """Return our fastest beside their fastest, both within .001 of the best AUC."""
    names = {method.name for method in ours}
    rows, by_clock = [], {"processor_seconds": [], "seconds": []}
    for data, competing in found.items():
        best = best_auc(competing)
        us = fastest((cell for cell in competing if cell.method in names), best)
        others = [cell for cell in competing if cell.method not in names]
        them, shown = fastest(others, best), []
        for clock, ratios in by_clock.items():
            if us and them:
                ratios.append(ratio(them, us, clock))
            shown.append(f"{ratios[-1]:.2f}" if us and them else "–")
        rows.append([data, auc_text(best), told(us, others), told(them, others), *shown])
    won, pairs = sum(each > 1 for each in by_clock["processor_seconds"]), len(by_clock["seconds"])
    summary = ["median", "", f"faster on {won} of {pairs}", ""]
    summary += [f"**{median(each):.2f}**" if each else "" for each in by_clock.values()]
    head = ["data", "best AUC", "ours", "peer", "ratio", "ratio, wall"]
    return table(head, [*rows, summary])


def told(cell: Cell | None, others: list[Cell]) -> str:
    """Return a method, its time and AUC; where there is none, how near the others come."""
    if cell is None:
        return f"none; the best has {auc_text(best_auc(others))}" if others else "none"
    return f"{cell.method}, {time_text(cell.time)}, {auc_text(cell.auc)}"


def losses(found: Cells) -> str:
    """Return the time of our losses at their best settings, as multiples of the square loss."""
    rows = []
    for data, competing in found.items():
        row = [data]
        by_loss = {}
        for loss in ("square", "squared_hinge", "logistic"):
            own = [cell for cell in competing if cell.method == loss]
            by_loss[loss] = fastest(own, best_auc(own))
        square = by_loss.pop("square")
        if square is None:
            continue
        row.append(f"{time_text(square.time)}, {auc_text(square.auc)}")
        row += [
            f"{ratio(cell, square):.1f}, {auc_text(cell.auc)}" if cell else "–"
            for cell in by_loss.values()
        ]
        rows.append(row)
    return table(["data", "square", "squared hinge", "logistic"], rows)


def everything(found: Cells, methods: Iterable[Method], why: dict[tuple[str, str], str]) -> str:
    """Return every method on every set: its time where it is within .001, else what it lacks."""
    rows = []
    for method in methods:
        row = [method.name]
        for data, competing in found.items():
            own = [cell for cell in competing if cell.method == method.name]
            best = best_auc(competing)
            if (near := fastest(own, best)) is not None:
                row.append(f"**{time_text(near.time)}**")
            elif own:
                row.append(f"−{auc_text(best - best_auc(own))}")
            else:
                row.append("over" if why.get((data, method.name), "").startswith("over") else "–")
        if any(cell != "–" for cell in row[1:]):
            rows.append(row)
    return table(["", *found], rows)


def keep(found: Cells, methods: Iterable[Method]) -> Cells:
    """Return the cells of these methods."""
    names = {method.name for method in methods}
    return {data: [c for c in each if c.method in names] for data, each in found.items()}


# ---- scaling, the choice of solver -------------------------------------------------------


def scaling_part(lines: list[dict[str, str]]) -> str:
    """Return the slopes, and draw the lines."""
    found = cells(lines, "scaling")
    if not found:
        return ""
    series: dict[str, dict[str, list[tuple[float, float]]]] = {}
    for data, competing in found.items():
        kind = data.split(":")[0]
        for cell in competing:
            size = cell.stored if kind == "entries" else cell.rows
            series.setdefault(kind, {}).setdefault(cell.method, []).append((size, cell.time))
    figure, axes = plt.subplots(1, len(series), figsize=(4.6 * len(series), 4.2), squeeze=False)
    rows: dict[str, list[str]] = {}
    for axis, (kind, by_method) in zip(axes[0], series.items(), strict=True):
        for method, points in by_method.items():
            sizes, times = zip(*sorted(points), strict=True)
            power = slope(sizes, times) if len(sizes) > 1 else float("nan")
            rows.setdefault(method, []).append(f"{power:.2f}")
            dashed = ":" if "as given" in method else "-"
            axis.loglog(sizes, times, dashed, marker=".", color=colour(method),
                        label=f"{method} ({power:.2f})")  # fmt: skip
        axis.set(title=kind, xlabel="stored entries" if kind == "entries" else "rows")
        axis.legend(fontsize=7)
    axes[0, 0].set_ylabel("processor seconds of a fit")
    save(figure, "benchmarks_scaling.png")
    whole = [[name, *powers] for name, powers in rows.items() if len(powers) == len(series)]
    part = [[name, *powers, *["–"] * (len(series) - len(powers))]
            for name, powers in rows.items() if len(powers) < len(series)]  # fmt: skip
    return SCALING.format(slopes=table(["", *series], whole + part))


def auto_part(lines: list[dict[str, str]]) -> str:
    """Return what ``auto`` loses to the best solver for each case."""
    found = cells(lines, "auto")
    rows, lost = [], []
    for data, competing in found.items():
        by_solver = {cell.method: cell for cell in competing}
        if "auto" not in by_solver or len(by_solver) < 2:
            continue
        rivals = [cell for name, cell in by_solver.items() if name != "auto"]
        best = min(rivals, key=lambda cell: cell.time)
        lost.append(ratio(by_solver["auto"], best))
        times = [time_text(by_solver[s].time) if s in by_solver else "–" for s in SOLVERS]
        rows.append([data, *times, f"{lost[-1]:.2f}"])
    if not rows:
        return ""
    return AUTO.format(
        worst=f"{max(lost):.2f}",
        over=sum(each > 1.5 for each in lost),
        cases=len(lost),
        table=table(["rows x features", *SOLVERS, "auto / best"], rows),
    )


# ---- what did not run --------------------------------------------------------------------


def absent_part(lines: list[dict[str, str]]) -> str:
    """Return the methods that are not installed, and those that failed or took too long."""
    installs = {line["method"].split(",")[0]: line["note"] for line in lines
                if line["note"] and not line["data"]}  # fmt: skip
    rows = [[name, "all", reason] for name, reason in installs.items()]
    by_note: dict[tuple[str, str], list[str]] = {}
    for line in lines:
        if line["note"] and line["data"] and line["question"] in ("fit", "tuned"):
            by_note.setdefault((line["method"], line["note"]), []).append(line["data"])
    for (method, note), sets in by_note.items():
        rows.append([method, ", ".join(dict.fromkeys(sets)), note])
    return ABSENT.format(table=table(["method", "data", "why"], rows)) if rows else ""


def notes(lines: list[dict[str, str]], question: str) -> dict[tuple[str, str], str]:
    """Return (data, method) -> why there is no more of it."""
    return {(line["data"], line["method"]): line["note"] for line in lines
            if line["question"] == question and line["note"]}  # fmt: skip


# ---- drawing and writing -----------------------------------------------------------------


def picture(found: Cells, ours: Iterable[Method], name: str) -> None:
    """Draw AUC against time, a panel for each set: ours filled, theirs hollow."""
    names = [method.name for method in ours]
    columns = 3
    rows = -(-len(found) // columns)
    figure, axes = plt.subplots(rows, columns, figsize=(12, 3.1 * rows + 1.2), squeeze=False)
    for axis in axes.flat[len(found) :]:
        axis.set_visible(False)
    legend: dict[str, object] = {}
    for axis, (data, competing) in zip(axes.flat, found.items(), strict=False):
        best = best_auc(competing)
        for cell in competing:
            own = cell.method in names
            look = {"color": colour(cell.method)} if own else {
                "edgecolor": "#555555", "facecolor": "none"}  # fmt: skip
            marker = ("o" if "as given" not in cell.method else "x") if own else sign(cell.method)
            drawn = axis.scatter(
                cell.time, np.clip(best - cell.auc, *SHOWN), s=34, marker=marker, linewidths=1.1,
                zorder=3 if own else 2, **look,
            )  # fmt: skip
            legend.setdefault(group(cell.method, own), drawn)
        axis.axhspan(0, NEAR, color="#dddddd", zorder=0)
        axis.set(title=f"{data}, best {auc_text(best)}", xscale="log", yscale="log",
                 ylim=(SHOWN[1] * 1.2, SHOWN[0] / 1.2))  # fmt: skip
        axis.grid(alpha=0.25)
    for axis in axes[:, 0]:
        axis.set_ylabel("test AUC below the best")
    for axis in axes.flat[max(len(found) - columns, 0) : len(found)]:
        axis.set_xlabel("processor seconds")
    figure.tight_layout(rect=(0, 0.9 / (3.1 * rows + 1.2), 1, 1))
    figure.legend(legend.values(), legend.keys(), loc="lower center", ncols=6, fontsize=8)
    save(figure, name, tight=False)


def group(method: str, own: bool) -> str:
    """Return the name under which the figure shows a method."""
    if own:
        return method
    return next((name for name in PEER_MARKERS if method.startswith(name)), method)


def sign(method: str) -> str:
    """Return the marker of a peer."""
    return PEER_MARKERS.get(group(method, False), ".")


def colour(method: str) -> str:
    """Return the colour of one of ours."""
    return OUR_COLOURS[method.split(",")[0]]


def save(figure: plt.Figure, name: str, tight: bool = True) -> None:
    """Write a figure beside the page."""
    if tight:
        figure.tight_layout()
    figure.savefig(DOCS / name, dpi=110, metadata={"Software": None})
    plt.close(figure)


def ordered(found: Cells) -> Cells:
    """Return dense sets first, then sparse, then generated ones."""
    return {data: found[data] for data in SETS if data in found}


def table(head: list[str], rows: list[list[str]]) -> str:
    """Return a Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


def auc_text(value: float) -> str:
    """Return .1234."""
    return f"{value:.4f}".removeprefix("0")


def time_text(seconds: float) -> str:
    """Return milliseconds below a second, seconds above."""
    return f"{seconds * 1e3:.3g} ms" if seconds < 1 else f"{seconds:.3g} s"


def distinct(lines: list[dict[str, str]], name: str) -> list[str]:
    """Return the values of a column, each once."""
    return sorted({line[name] for line in lines if line[name]})


HEAD = """# Benchmarks

How long until a model ranks well, beside what people use instead: processor seconds until the test
AUC is within .001 of the best that any method here reaches. For one fit each method has three
settings, and the fastest that gets there counts; for a tuned model folds and grid are included.

    pip install -r benchmarks/requirements.txt
    python -m benchmarks

Every number comes from a line of `benchmarks/results/peers.csv`, and this page is made from it.
Machine: {machines}. Every library has one thread. Other work ran beside, so processor seconds say
more than wall seconds; methods take turns, and ratios are medians over the repeats. A ratio is the
peer's time over ours: above 1 ours is the faster one."""

FIT = """## One fit

![AUC against processor seconds](benchmarks_fit.png)

Each point is a method at one setting, higher is better; the grey band is what counts as reached.
What lies outside a panel is drawn at its edge.

{any}

On text `standardize` (γ = ½, our default) gains so much that nobody else comes near. The same
without the methods that scale the features themselves, ours and Vowpal Wabbit's:

{given}

Our losses, each at the fastest setting within .001 of its own best AUC; the hinge and the logistic
loss as multiples of the square loss's time.

{losses}

All methods: the time where the AUC is within .001 of the best, else what it lacks; "over" the time
limit; – not run.

{all}"""

TUNED = """## A tuned model

![AUC against processor seconds](benchmarks_tuned.png)

Five folds and the final fit. `AUCClassifierCV` has its own grid, `LogisticRegressionCV` its ten
penalties, all others seven. They choose by AUC, glum by deviance.

{any}

{all}"""

SCALING = """## Time over rows and entries

![Time over rows and entries](benchmarks_scaling.png)

Generated rows, one penalty: dense with 20 features and sparse with 50 entries a row, from a
thousand rows to a million, and 10,000 sparse rows with ever more entries. Told is the power of the
size with which the time grows, by least squares of logarithms: 1 is linear, below 1 the fixed cost
of a call still counts.

{slopes}"""

AUTO = """## The choice of solver

Square loss, l2, α = 1e-4: `solver="auto"` beside each solver that takes it. At worst it takes
{worst} times as long as the best one, and more than 1.5 times as long in {over} of {cases} cases.

{table}"""

ABSENT = """## What did not run

{table}"""

TAIL = """Versions: {versions}."""
