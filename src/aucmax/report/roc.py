"""The ROC curves of one or several scorers, as an image."""

from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from aucmax import metrics
from aucmax.basics.replacing import replacing
from aucmax.report.text import auc_text, interval_text

__all__ = ["check_format", "roc_plot"]

_FORMATS = (".png", ".svg", ".pdf")
# Blue, orange and green that also differ in lightness (Okabe & Ito 2008).
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
_STYLES = ("-", "--", "-.", ":")
_MOST_POINTS = 2000


def check_format(path: str | PathLike[str]) -> None:
    """Raise ValueError unless the file's suffix is one that `roc_plot` can write."""
    if Path(path).suffix.lower() not in _FORMATS:
        raise ValueError(f"{path}: a plot is written as {', '.join(_FORMATS)}; end the name so.")


def roc_plot(
    y: ArrayLike,
    scores: Mapping[str, ArrayLike],
    path: str | PathLike[str],
    *,
    title: str = "",
    pos_label: Any = None,
    confidence: float = 0.95,
    sample_weight: ArrayLike | None = None,
) -> None:
    """Draw ROC curves and write them to a file.

    Parameters
    ----------
    y : array-like of shape (n,)
        Labels.
    scores : mapping of str to array-like of shape (n,)
        The scores of each scorer, by its name in the legend.
    path : path
        Where to write; the suffix .png, .svg or .pdf says how.
    title : str
        Stands above the curves.
    pos_label : label, optional
        The positive label; by default the larger of the two in `y`.
    confidence : float
        Coverage of the intervals in the legend.
    sample_weight : array-like of shape (n,), optional
        Of the rows.

    Raises
    ------
    ValueError
        If the suffix is none of these, and for the reasons given in `aucmax.metrics.roc_auc`.
    """
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    check_format(path)
    with rc_context({"svg.fonttype": "none", "text.parse_math": False}):
        figure = Figure(figsize=(5.2, 5.2), layout="constrained")
        axes = figure.add_subplot()
        axes.plot([0, 1], [0, 1], color="0.75", linewidth=1, zorder=1)
        for i, (name, score) in enumerate(scores.items()):
            fpr, recall = _curve(y, score, pos_label, sample_weight)
            auc, low, high, _ = metrics.auc_interval(y, score, confidence, pos_label, sample_weight)
            axes.plot(
                fpr,
                recall,
                color=_COLOURS[i % len(_COLOURS)],
                linestyle=_STYLES[i % len(_STYLES)],
                linewidth=1.8,
                label=f"{name}\nAUC {auc_text(auc)} ({interval_text(low, high)})",
                zorder=2 + len(scores) - i,
            )
        axes.set(xlim=(-0.01, 1.01), ylim=(-0.01, 1.01), aspect="equal")
        axes.set_xlabel("false-positive rate")
        axes.set_ylabel("recall (true-positive rate)")
        axes.set_title(title, fontsize=11, loc="left")
        axes.grid(color="0.92", linewidth=0.8)
        axes.set_axisbelow(True)
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(loc="lower right", framealpha=0.85, edgecolor="none", fontsize=9)
        with replacing(path) as stream:
            figure.savefig(stream, dpi=160, format=Path(path).suffix[1:].lower())


def _curve(
    y: ArrayLike, score: ArrayLike, pos_label: Any, weight: ArrayLike | None
) -> tuple[np.ndarray, np.ndarray]:
    """The curve's corners; of very many, as many as an image can show."""
    fpr, recall, _ = metrics.roc_curve(y, score, weight, pos_label)
    if len(fpr) > _MOST_POINTS:
        # evenly along the curve's length, which is at most 2
        along = fpr + recall
        kept = np.unique(np.searchsorted(along, np.linspace(0, along[-1], _MOST_POINTS)))
        kept = np.union1d(kept[kept < len(fpr)], [0, len(fpr) - 1])
        fpr, recall = fpr[kept], recall[kept]
    return fpr, recall
