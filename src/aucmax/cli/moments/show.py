"""``aucmax moments show``: what a file of moments says, which all commands on them print."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import typer

from aucmax.cli.common import show_page
from aucmax.cli.moments.classes import auc_known, auc_words, two_classes
from aucmax.cli.moments.options import Moments
from aucmax.cli.options import Json
from aucmax.metrics import MomentAUC, moment_auc
from aucmax.report.page import Page, ResultTable, Section
from aucmax.statistics.base import ClassStatistics
from aucmax.statistics.files import load_moments

__all__ = ["page_of", "show"]


def show(
    file: Moments,
    top: Annotated[int, typer.Option(min=0, help="How many features to list.")] = 20,
    as_json: Json = False,
) -> None:
    """Show a file of moments: its classes, and the features that tell them apart best.

    Example:

        aucmax moments show a.moments --top 5
    """
    show_page(page_of(load_moments(file), file, top), as_json)


def page_of(held: ClassStatistics, path: Path, top: int = 0) -> Page:
    names = held.feature_names or [str(j + 1) for j in range(held.n_features)]
    between = _between(held)
    order = np.argsort(-between, kind="stable")[:top]
    alone = _alone(held, path, order)
    report: dict[str, Any] = {
        "moments": str(path),
        "covariance": "full" if held.has_covariances else held.kind,
        "target": held.target_name,
        "features": held.n_features,
        "feature_names": held.feature_names,
        "classes": [
            {"label": label, "weight": weight, "effective_rows": count}
            for label, weight, count in zip(
                held.classes.tolist(), held.counts, held.effective_rows, strict=True
            )
        ],
        "guarantee": held.guarantee,
        "largest": [
            {
                "feature": names[j],
                "between": between[j],
                "means": held.means[:, j],
                "deviations": np.sqrt(held.variances[:, j]),
                "auc": None if alone is None else auc_known(alone.auc[k]),
            }
            for k, j in enumerate(order)
        ],
    }
    facts = [
        ("moments", str(path)),
        ("features", f"{held.n_features:,}" + ("" if held.has_covariances else f" ({held.kind})")),
    ]
    if held.target_name is not None:
        facts.append(("target", held.target_name))
    facts += [
        (f"class {one['label']}", f"weight {one['weight']:,.6g}" + _effective(one))
        for one in report["classes"]
    ]
    if held.guarantee is not None:
        facts.append(("private", _guarantee(held.guarantee)))
    sections = [Section("Moments", tables=[ResultTable.facts(facts)])]
    if report["largest"]:
        head = ("feature", *(f"mean of {label}" for label in held.classes.tolist()), "between")
        cells = [
            (one["feature"], *(f"{mean:.4g}" for mean in one["means"]), f"{one['between']:.1%}")
            for one in report["largest"]
        ]
        caption = "between: the share of a feature's variance that is between the classes"
        sections[0].tables.append(ResultTable(head, cells, caption))
    if alone is not None and report["largest"]:
        aucs = [(one["feature"], *auc_words(one["auc"])) for one in report["largest"]]
        caption = (
            f"AUC of the feature alone, {alone.positive} first. If normal: an estimate that "
            "takes both classes for normal. Bound: holds for any rows with these moments"
        )
        head = ("feature", "AUC if normal", "AUC, bound")
        sections[0].tables.append(ResultTable(head, aucs, caption))
    return Page(f"The moments {path}", "", sections, data=report)


class _Alone(NamedTuple):
    """What is known of the AUC of features alone, one label first."""

    positive: Any
    auc: list[MomentAUC]


def _alone(held: ClassStatistics, path: Path, features: np.ndarray) -> _Alone | None:
    """Return it for two classes; noise that was added to moments would be taken for spread."""
    if len(held.classes) != 2 or not held.counts.all() or held.guarantee is not None:
        return None
    label = two_classes(held, None, path)[1]
    gap = (held.means[1] - held.means[0])[features] * (1 if label == held.classes[1] else -1)
    return _Alone(label, list(map(moment_auc, gap, held.variances.sum(axis=0)[features])))


def _between(held: ClassStatistics) -> np.ndarray:
    """Return the share of each feature's variance that lies between the classes, shape (d,)."""
    if not held.counts.any():
        return np.zeros(held.n_features)
    p = held.counts / held.counts.sum()
    between = p @ (held.means - p @ held.means) ** 2
    whole = between + p @ held.variances
    return between / np.where(whole > 0.0, whole, 1.0)


def _effective(one: dict[str, Any]) -> str:
    weight, rows = float(one["weight"]), float(one["effective_rows"])
    return "" if abs(weight - rows) <= 1e-9 * weight else f", {rows:,.3g} effective rows"


def _guarantee(held: dict[str, Any]) -> str:
    epsilon, delta = held["epsilon"], held["delta"]
    what = f"({epsilon:g}, {delta:g})" if delta else f"{epsilon:g}"
    return (
        f"{what}-differentially private for one row more or less; the noise of the class sizes has "
        f"the standard deviation {held['noise_of_counts']:.3g}"
    )
