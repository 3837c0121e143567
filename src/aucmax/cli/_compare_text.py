"""How ``aucmax compare`` words its table, on the screen and on the page."""

from collections.abc import Sequence
from typing import Any

from aucmax.experiments.contestants import RIVALS
from aucmax.report.text import auc_text, difference_text, gap_text, p_text
from aucmax.solvers import ACCURACY_SOLVERS, SOLVERS

__all__ = ["left_out", "notes", "settings_text", "sizes_text", "tables", "words"]


TextTable = tuple[Sequence[str], list[Sequence[str]]]


def tables(report: dict[str, Any]) -> list[TextTable]:
    """Return heads and rows: what each algorithm reached, and how it compares."""
    done = [entry for entry in report["solvers"] if entry["status"] == "done"]
    found: list[TextTable] = [
        (
            ("", "test AUC", "std", "seconds", "optimality", "gap to J*"),
            [
                (
                    e["name"],
                    auc_text(e["auc"]),
                    "–" if e["auc_std"] is None else f"{e['auc_std']:.4f}",
                    _seconds(e["seconds"]),
                    "–" if e["optimality"] is None else f"{e['optimality']:.1e}",
                    "–" if e["gap"] is None else gap_text(e["gap"]),
                )
                for e in done
            ],
        )
    ]
    tested = [entry for entry in done if "p_value" in entry]
    if tested:
        found.append(
            (
                (f"against {report['against']}", "difference", "95 % interval", "p", "verdict"),
                [
                    (
                        e["name"],
                        *difference_text(e["difference"], e["low"], e["high"]),
                        p_text(e["p_value"]),
                        e["verdict"],
                    )
                    for e in tested
                ],
            )
        )
    return found


def sizes_text(report: dict[str, Any]) -> str:
    """How many rows a split trains on and tests on."""
    words = []
    for sizes in zip(*report["split_sizes"], strict=True):
        least, most = min(sizes), max(sizes)
        words.append(f"{least:,}" if least == most else f"{least:,} to {most:,}")
    return f"{words[0]} rows to train and {words[1]} to test"


def _seconds(value: float) -> str:
    return f"{value:.3f}" if value < 10 else f"{value:.1f}" if value < 1000 else f"{value:.0f}"


def settings_text(report: dict[str, Any]) -> str:
    names = ("loss", "alpha", "l1_ratio", "standardize")
    text = ", ".join(
        f"{name.replace('_', ' ')} {report[name] if name == 'loss' else format(report[name], 'g')}"
        for name in names
    )
    return text if report["scale"] == "none" else f"{text}, rows of unit norm"


def words(report: dict[str, Any]) -> list[str]:
    """How to read the table."""
    many = report["splits"] > 1
    test_words = (
        f"over the {report['splits']} splits, {report['splits'] - 1} "
        f"degree{'' if report['splits'] == 2 else 's'} of freedom"
        if many
        else "on the test rows, taken for independent of one another"
    )
    lines = [
        f"difference, interval and p: {report['test']} {test_words}; a tie unless p < 0.05, "
        "without correction for the number of tests.",
        f"seconds: one fit, mean of the splits. optimality and gap (J − J*) / J*: on the training "
        f"rows{', the largest of the splits' if many else ''}.",
    ]
    ran = [entry["name"] for entry in report["solvers"] if entry["status"] == "done"]
    other = [name for name in ran if name in ACCURACY_SOLVERS or _own_loss(name)]
    if other:
        lines.append(f"With an objective of their own: {', '.join(other)}.")
    own = [f"{name} ({RIVALS[name]})" for name in ran if name in RIVALS]
    if own:
        lines.append(
            f"Settings chosen by cross-validation on the training rows, within the seconds: "
            f"{', '.join(own)}."
        )
    return lines


def _own_loss(name: str) -> bool:
    return name in SOLVERS and SOLVERS[name].own_loss


def notes(report: dict[str, Any]) -> list[str]:
    """What went wrong, and what did not converge."""
    notes = [f"{e['name']}: {e['error']}" for e in report["solvers"] if e["status"] == "failed"]
    return notes + [f"{e['name']}: {e['warning']}" for e in report["solvers"] if e.get("warning")]


def left_out(report: dict[str, Any]) -> list[str]:
    """Solvers that are not for this objective and what they take; those that were not reached."""
    lines = []
    for status in ("unfit", "unfinished"):
        names: dict[str, list[str]] = {}
        for entry in report["solvers"]:
            if entry["status"] == status:
                names.setdefault(entry["error"], []).append(entry["name"])
        if names:
            parts = "; ".join(f"{', '.join(who)} ({why})" for why, who in names.items())
            lines.append(f"Left out: {parts}.")
    return lines
