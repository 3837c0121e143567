"""docs/benchmarks.md and its figures, made from the runs that are kept."""

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from statistics import median

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

from benchmarks.common.data import SETS
from benchmarks.common.tables import table
from benchmarks.peers.methods import LOSSES, OURS, PEERS, Method
from benchmarks.peers.questions import PRECISIONS, QUESTIONS, SOLVERS
from benchmarks.peers.summary import NEAR, Cell, best_auc, cells, duels, fastest, ratio, slope

DOCS = Path(__file__).parents[2] / "docs"
Cells = dict[str, list[Cell]]
GIVEN = [method for method in (*OURS, *PEERS) if not method.scales]
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


def write(lines: list[dict[str, str]]) -> None:
    """Write the page and its figures."""
    runs_each = len(distinct(lines, "repeat"))
    machines = "; ".join(distinct(lines, "machine"))
    head = HEAD.format(machines=machines, repeats=runs_each) + of_earlier_commits(lines)
    tail = TAIL.format(versions=", ".join(distinct(lines, "versions")))
    sections = (targets_part, fit_part, tuned_part, precision_part, scaling_part, auto_part)
    parts = [head, *(section(lines) for section in (*sections, absent_part)), tail]
    (DOCS / "benchmarks.md").write_text("\n\n".join(part for part in parts if part) + "\n")


def of_earlier_commits(lines: list[dict[str, str]]) -> str:
    """Return a sentence about the sets that were not measured with the commit of most runs."""
    commits: dict[str, set[str]] = {}
    for line in lines:
        if line["data"] and line["versions"].startswith("aucmax "):
            commits.setdefault(line["data"], set()).add(line["versions"])
    usual = Counter(commit for each in commits.values() for commit in each).most_common(1)
    earlier = [data for data, each in commits.items() if usual and usual[0][0] not in each]
    return f" The runs on {' and '.join(earlier)} are of an earlier commit." if earlier else ""


# ---- targets -----------------------------------------------------------------------------


def targets_part(lines: list[dict[str, str]]) -> str:
    """Return the targets, the figures, and whether they are met."""
    fit, tuned = cells(lines, "fit"), cells(lines, "tuned")
    dense = {data: each for data, each in fit.items() if each[0].dense}
    sparse = {data: each for data, each in fit.items() if not each[0].dense}
    ours = names_of(OURS)
    rows = [
        against("one fit, dense sets", dense, ours, 2.0, 1.0),
        against("one fit, sparse sets", sparse, ours, 2.0, 1.0),
        against("one fit, no method scaling features", keep(fit, GIVEN), ours, 2.0, 1.0),
        against("a tuned model", tuned, names_of(QUESTIONS["tuned"].methods), 10.0, 4.0),
    ]
    for loss in ("squared_hinge", "logistic"):
        times = [
            ratio(cell, pair[0])
            for each in fit.values()
            if (pair := loss_ratios(each)) is not None and (cell := pair[1][loss]) is not None
        ]
        if times:
            figure = f"{median(times):.1f}, at most {max(times):.1f}"
            rows.append([f"{loss} within 3 times the square loss", figure, met(median(times) <= 3)])
    if powers := [(power, kind, method) for (kind, method), power in slopes(lines).items()]:
        power, kind, method = max(powers)
        figure = f"largest power {power:.2f} ({method}, {kind})"
        rows.append(["time linear in rows and entries", figure, met(power <= 1.1)])
    if lost := [row[-1] for row in auto_rows(lines)]:
        figure = f"at worst {max(lost):.2f}"
        rows.append(["`auto` within 1.5 times the best solver", figure, met(max(lost) <= 1.5)])
    return TARGETS.format(table=table(["target", "figure", "met"], [row for row in rows if row]))


def against(what: str, found: Cells, names: set[str], usual: float, least: float) -> list[str]:
    """Return the line of a target for the median ratio and for the least one."""
    fought = duels(found, names)
    ratios = [r for each in fought if (r := each.ratio()) is not None]
    if not ratios:
        return []
    figure = f"median {median(ratios):.2f}, least {min(ratios):.2f}"
    if alone := [each.data for each in fought if each.others and each.them is None]:
        figure += f"; only ours reach it on {', '.join(alone)}"
    if missed := [each.data for each in fought if each.us is None]:
        figure += f"; only a peer reaches it on {', '.join(missed)}"
    enough = median(ratios) >= usual and min(ratios) >= least and not missed
    return [f"{what}: median at least {usual:g}, least at least {least:g}", figure, met(enough)]


def met(enough: bool) -> str:
    """Return yes or no."""
    return "yes" if enough else "no"


# ---- one fit, a tuned model --------------------------------------------------------------


def fit_part(lines: list[dict[str, str]]) -> str:
    """Return the tables of one fit."""
    found = ordered(cells(lines, "fit"))
    if not found:
        return ""
    picture(found, names_of(OURS), "benchmarks_fit.png")
    ours = names_of(OURS)
    return FIT.format(
        any=duel_table(found, ours),
        given=duel_table(keep(found, GIVEN), ours),
        losses=losses(found),
        all=everything(found, [*OURS, *PEERS], notes(lines, "fit")),
    )


def tuned_part(lines: list[dict[str, str]]) -> str:
    """Return the tables of tuned models."""
    found = ordered(cells(lines, "tuned"))
    if not found:
        return ""
    methods = QUESTIONS["tuned"].methods
    ours = names_of(methods)
    picture(found, ours, "benchmarks_tuned.png")
    return TUNED.format(
        any=duel_table(found, ours), all=everything(found, methods, notes(lines, "tuned"))
    )


def names_of(methods: Iterable[Method]) -> set[str]:
    """Return the names of ours among them."""
    return {method.name for method in methods if method.ours}


def duel_table(found: Cells, names: set[str]) -> str:
    """Return our fastest beside their fastest, both within .001 of the best AUC."""
    fought = duels(found, names)
    rows = [
        [each.data, auc_text(each.best), cell_text(each.us, each.ours),
         cell_text(each.them, each.others), ratio_text(each.ratio()),
         ratio_text(each.ratio("seconds"))]
        for each in fought
    ]  # fmt: skip
    ratios = [r for each in fought if (r := each.ratio()) is not None]
    walls = [r for each in fought if (r := each.ratio("seconds")) is not None]
    if ratios:
        won = f"faster on {sum(r > 1 for r in ratios)} of {len(ratios)}"
        rows.append(
            ["median", "", won, "", f"**{median(ratios):.2f}**", f"**{median(walls):.2f}**"]
        )
    return table(["data", "best AUC", "ours", "peer", "ratio", "ratio, wall"], rows)


def ratio_text(value: float | None) -> str:
    """Return 1.23, or a dash."""
    return "–" if value is None else f"{value:.2f}"


def cell_text(cell: Cell | None, others: list[Cell]) -> str:
    """Return a method, its time and AUC; where there is none, the fastest near their own best."""
    if cell is None:
        nearest = fastest(others, best_auc(others))
        return f"none; {cell_text(nearest, [])}" if nearest else "none"
    return f"{cell.method}, {time_text(cell.time)}, {auc_text(cell.auc)}"


def loss_ratios(competing: list[Cell]) -> tuple[Cell, dict[str, Cell | None]] | None:
    """Return the square loss and the two others, each at the fastest setting near its best AUC."""
    by_loss = {}
    for loss in LOSSES:
        own = [cell for cell in competing if cell.method == loss]
        by_loss[loss] = fastest(own, best_auc(own))
    square = by_loss.pop("square")
    return None if square is None else (square, by_loss)


def losses(found: Cells) -> str:
    """Return the time of our losses, as multiples of the square loss."""
    rows = []
    for data, competing in found.items():
        if (pair := loss_ratios(competing)) is not None:
            square, others = pair
            times = [
                f"{ratio(cell, square):.1f}, {auc_text(cell.auc)}" if cell else "–"
                for cell in others.values()
            ]
            rows.append([data, f"{time_text(square.time)}, {auc_text(square.auc)}", *times])
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


# ---- precision and memory ----------------------------------------------------------------


def precision_part(lines: list[dict[str, str]]) -> str:
    """Return what single precision saves, and the memory that a fit takes."""
    found = cells(lines, "precision")
    rows = []
    for data in dict.fromkeys(name.rsplit(", ", 1)[0] for name in found):
        single, double = (
            {cell.method: cell for cell in found.get(f"{data}, {kind}", [])} for kind in PRECISIONS
        )
        for method in single.keys() & double.keys():
            one, two = single[method], double[method]
            rows.append([data, method, time_text(one.time), f"{ratio(two, one):.2f}",
                         f"{median(one.memory_mb.values()):.0f} MB",
                         f"{4 * one.stored / 2**20:.0f} MB"])  # fmt: skip
    head = ["data", "method", "float32", "float64 / float32", "memory beyond the rows", "the rows"]
    return PRECISION.format(table=table(head, sorted(rows))) if rows else ""


# ---- scaling, the choice of solver -------------------------------------------------------


def series(lines: list[dict[str, str]]) -> dict[tuple[str, str], list[tuple[int, float]]]:
    """Return (kind of growth, method) -> sizes and times, ascending."""
    found: dict[tuple[str, str], list[tuple[int, float]]] = {}
    for data, competing in cells(lines, "scaling").items():
        kind = data.split(":")[0]
        for cell in competing:
            size = cell.stored if kind == "entries" else cell.rows
            found.setdefault((kind, cell.method), []).append((size, cell.time))
    order = [method.name for method in QUESTIONS["scaling"].methods]
    return {
        key: sorted(found[key])
        for key in sorted(found, key=lambda key: order.index(key[1]))
        if len(found[key]) > 2
    }


def slopes(lines: list[dict[str, str]]) -> dict[tuple[str, str], float]:
    """Return (kind of growth, method) -> the power with which the time grows."""
    return {key: slope(*zip(*points, strict=True)) for key, points in series(lines).items()}


def scaling_part(lines: list[dict[str, str]]) -> str:
    """Return the slopes, and draw the lines."""
    powers = slopes(lines)
    if not powers:
        return ""
    kinds = list(dict.fromkeys(kind for kind, _ in powers))
    figure, axes = plt.subplots(1, len(kinds), figsize=(4.6 * len(kinds), 4.2), squeeze=False)
    for (kind, method), points in series(lines).items():
        axis = axes[0, kinds.index(kind)]
        axis.loglog(
            *zip(*points, strict=True), ":" if "as given" in method else "-", marker=".",
            color=colour(method), label=f"{method} ({powers[kind, method]:.2f})",
        )  # fmt: skip
    for axis, kind in zip(axes[0], kinds, strict=True):
        axis.set(title=kind, xlabel="stored entries" if kind == "entries" else "rows")
        axis.legend(fontsize=7)
    axes[0, 0].set_ylabel("processor seconds of a fit")
    save(figure, "benchmarks_scaling.png")
    late = {key: slope(*zip(*points[-2:], strict=True)) for key, points in series(lines).items()}

    def shown(key: tuple[str, str]) -> str:
        return f"{powers[key]:.2f}, {late[key]:.2f}" if key in powers else "–"

    methods = dict.fromkeys(method for _, method in powers)
    rows = [[each, *(shown((kind, each)) for kind in kinds)] for each in methods]
    return SCALING.format(slopes=table(["", *kinds], rows))


def auto_rows(lines: list[dict[str, str]]) -> list[tuple[str, dict[str, Cell], float]]:
    """Return for each case the solvers, and ``auto``'s time as a multiple of the best one's."""
    found = []
    for data, competing in cells(lines, "auto").items():
        by_solver = {cell.method: cell for cell in competing}
        rivals = [cell for name, cell in by_solver.items() if name != "auto"]
        if "auto" in by_solver and rivals:
            best = min(rivals, key=lambda cell: cell.time)
            found.append((data, by_solver, ratio(by_solver["auto"], best)))
    return found


def auto_part(lines: list[dict[str, str]]) -> str:
    """Return what ``auto`` loses to the best solver for each case."""
    found = auto_rows(lines)
    if not found:
        return ""
    rows = []
    for data, by_solver, lost in found:
        times = [time_text(by_solver[s].time) if s in by_solver else "–" for s in SOLVERS]
        rows.append([data, *times, f"{lost:.2f}"])
    lost = [each[-1] for each in found]
    return AUTO.format(
        worst=f"{max(lost):.2f}", over=sum(each > 1.5 for each in lost), cases=len(lost),
        table=table(["rows x features", *SOLVERS, "auto / best"], rows),
    )  # fmt: skip


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


def picture(found: Cells, names: set[str], name: str) -> None:
    """Draw AUC against time, a panel for each set: ours filled, theirs hollow."""
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
        low, high = axis.get_xlim()
        if high < 30 * low:  # hardly a power of ten among them
            axis.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
            axis.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
        axis.xaxis.set_minor_formatter(NullFormatter())  # few decades would crowd them
        axis.grid(alpha=0.25)
    for axis in axes[:, 0]:
        axis.set_ylabel("test AUC below the best")
    for axis in axes.flat[max(len(found) - columns, 0) : len(found)]:
        axis.set_xlabel("processor seconds")
    figure.tight_layout(rect=(0, 0.9 / (3.1 * rows + 1.2), 1, 1))
    order = [*OUR_COLOURS, *PEER_MARKERS]
    shown = sorted(legend, key=lambda name: order.index(name.split(",")[0]))
    handles = [legend[name] for name in shown]
    figure.legend(handles, shown, loc="lower center", ncols=6, fontsize=8)
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

How long it takes until a model ranks well, compared with other libraries: processor seconds until
the test AUC is within .001 of the best that any method here reaches. For a single fit each method
has three settings, and the fastest one that gets there counts; for a tuned model the time includes
the folds and the grid.

    pip install -r benchmarks/requirements.txt
    python -m benchmarks peers

This page is made from `benchmarks/results/peers.csv`, which has a line for each run. Machine:
{machines}. Every library has one thread. Other work ran on the machine at the same time, so
processor seconds are more reliable than wall seconds. Methods take turns. Ratios are medians over
at most {repeats} repeats; fits that take less than .2 s are repeated for that long, and their mean
counts. Before the clock starts, a single fit is made once; a search is made with a few rows, ours
with all, as it compiles what it needs. A ratio is the peer's time divided by ours: above 1, ours
is faster."""

TARGETS = """## Targets

Median and least, over the data sets, of the time of the fastest peer within .001 of the best AUC
divided by the time of our fastest.

{table}"""

FIT = """## One fit

![AUC against processor seconds](benchmarks_fit.png)

Each point is a method at one setting; higher is better. The grey band is within .001 of the best
AUC. Points outside a panel are drawn at its edge.

{any}

On text, `standardize` (γ = ½, our default) gains so much AUC that no other method comes near. The
same table without the methods that scale the features themselves, which are ours and Vowpal
Wabbit's:

{given}

Our losses, each at the fastest setting within .001 of its own best AUC. The times of the squared
hinge and of the logistic loss are multiples of the square loss's time.

{losses}

All methods: the time if the AUC is within .001 of the best, otherwise by how much the AUC falls
short; "over" means that the time limit was exceeded, – that the method was not run.

{all}"""

TUNED = """## A tuned model

![AUC against processor seconds](benchmarks_tuned.png)

Five folds and the final fit. `AUCClassifierCV` has its own grid, `LogisticRegressionCV` its ten
penalties, and all others have seven. All choose by AUC, except glum, which chooses by deviance.

{any}

{all}"""

PRECISION = """## Single precision and memory

Dense rows in both precisions, one penalty; the peak memory of a fit in single precision, compared
with the size of the rows.

{table}"""

SCALING = """## Time by rows and entries

![Time by rows and entries](benchmarks_scaling.png)

Generated rows and one penalty: dense rows of 20 features and sparse rows of 50 entries, from a
thousand rows to a million; and 10,000 sparse rows with an increasing number of entries. The table
gives the power of the size by which the time grows, first from least squares of the logarithms over
all sizes, then between the two largest sizes. A power of 1 is linear; it is below 1 where the fixed
cost of a call still matters.

{slopes}"""

AUTO = """## The choice of solver

Square loss, l2, α = 1e-4: `solver="auto"` compared with each solver that can solve this. At worst
it takes {worst} times as long as the best solver; it takes more than 1.5 times as long in {over} of
{cases} cases.

{table}"""

ABSENT = """## What did not run

{table}"""

TAIL = """Versions: {versions}."""
