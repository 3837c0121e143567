"""How ``aucmax compare`` words its table, on the screen and on the page."""

from typing import Any

from aucmax.experiments.contestants import RIVALS
from aucmax.report.text import auc_text, gap_text, p_text
from aucmax.solvers import ACCURACY_SOLVERS, SOLVERS

__all__ = ["cells", "left_out", "notes", "settings_text", "status", "words"]


def cells(entry: dict[str, Any]) -> tuple[str, ...]:
    """AUC, std, p, verdict, seconds, optimality and gap as text."""
    std, test = entry["auc_std"], "p_value" in entry
    return (
        auc_text(entry["auc"]),
        "–" if std is None else f"{std:.4f}",
        p_text(entry["p_value"]) if test else "–",
        entry["verdict"] if test else "–",
        _seconds(entry["seconds"]),
        "–" if entry["optimality"] is None else f"{entry['optimality']:.1e}",
        "–" if entry["gap"] is None else gap_text(entry["gap"]),
    )


def status(entry: dict[str, Any]) -> tuple[str]:
    """What stands for the numbers of one that did not run."""
    return ("–" if entry["status"] == "unfit" else "failed",)


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
        else "on the test rows"
    )
    lines = [
        f"p: {report['test']} {test_words}, against {report['against']}; a tie unless p < 0.05, "
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
    """Solvers that are not for this objective, and why."""
    return [f"{e['name']} {e['error']}." for e in report["solvers"] if e["status"] == "unfit"]
