"""What the commands share: checks of paths, pages and models."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aucmax.basics.doors import Door, postponed
from aucmax.basics.errors import ModelFileError
from aucmax.basics.progress import working
from aucmax.cli.errors import command_line
from aucmax.cli.screen import console, tell
from aucmax.report.text import counted

with postponed():
    import numpy as np

    from aucmax.data.rows.source import Source
    from aucmax.report.page import write_page
    from aucmax.report.reports import Report
    from aucmax.report.reports import as_json as json_of
    from aucmax.report.terminal import terminal

if TYPE_CHECKING:
    from aucmax.columns.steps import Stages

__all__ = [
    "chance_of",
    "counted",
    "feature_names",
    "few_positives",
    "gives_chance",
    "help_of",
    "labels_in_file",
    "listed",
    "listed_numbers",
    "load_model",
    "print_json",
    "show",
    "working",
]

persist = Door("aucmax.estimators.files")
_inputs = Door("aucmax.estimators.inputs")
_steps = Door("aucmax.columns.steps")
_suspicions = Door("aucmax.estimators.suspicions")


def listed(text: str) -> list[str]:
    """Return the words of a comma-separated list, stripped."""
    return [part.strip() for part in text.split(",") if part.strip()]


def listed_numbers(text: str | None, flag: str) -> list[float] | None:
    """Return the numbers of an option's comma-separated list; None if it was not given."""
    try:
        return None if text is None else [float(part) for part in listed(text)]
    except ValueError:
        raise ValueError(f"{flag} takes numbers separated by commas; got {text!r}.") from None


def help_of(command: Callable[..., None]) -> str:
    """Return a docstring with each paragraph on one line, as typer would keep the line breaks."""
    paragraphs = inspect.cleandoc(command.__doc__ or "").split("\n\n")
    flowing = (p if p.startswith(" ") else " ".join(p.split()) for p in paragraphs)
    return "\n\n".join(flowing)


# ---- output


def show(report: Report, as_json: bool, html: Path | None = None) -> None:
    """Print a report on the screen or as JSON, and write it as HTML if a path is given."""
    page = report.page(command_line())
    if html is not None:
        with working("drawing the report", as_json):
            write_page(page, html)
        report = replace(report, html=str(html))
    if as_json:
        print_json(report.contents())
        return
    screen = console()
    terminal(page, screen)
    for event, path in (("ROC curve drawn", report.plot), ("report written", report.html)):
        if path is not None:
            screen.print(f"\n{event} to {path}", soft_wrap=True)


def print_json(value: Any) -> None:
    """Print JSON."""
    print(json_of(value))


def few_positives(is_positive: np.ndarray, what: str) -> None:
    """Warn if a class has too few rows for a reliable AUC."""
    for suspicion in _suspicions.few_of_a_class(is_positive, what):
        tell("warning", suspicion.sentence)


# ---- models and their scores


def load_model(path: Path) -> Any:
    """Read a model that gives scores for two classes."""
    model = persist.load(path)
    if not hasattr(model, "decision_function") or len(getattr(model, "classes_", ())) != 2:
        raise ModelFileError(
            f"{path}: holds a {type(model).__name__}, which does not score two classes; give a "
            "model saved by 'aucmax train' or aucmax.save."
        )
    return model


def labels_in_file(model: Any) -> list[Any]:
    """Return the negative and the positive label, as the training file has them."""
    words = getattr(_steps.parts_of(model)[1], "label_words_", None)
    return words or np.asarray(model.classes_).tolist()


def feature_names(model: Any, count: int) -> list[str]:
    """Return the names of the features: from the transformers in front, or positions from 1."""
    names = getattr(model, "feature_names_in_", None)
    pipeline = getattr(model, "best_estimator_", model)
    if names is not None and hasattr(pipeline, "steps"):
        names = _inputs.names_after(pipeline[:-1]) or names
    if names is None or len(names) != count:
        return [str(j + 1) for j in range(count)]
    return [str(name) for name in names]


def gives_chance(model: Any) -> bool:
    """Return whether `chance_of` can give probabilities for a model."""
    return hasattr(_steps.parts_of(model)[1], "calibration_") or hasattr(model, "predict_proba")


def chance_of(stages: Stages, scores: np.ndarray) -> np.ndarray | None:
    """Return the probability that each row is positive; None if the model gives none."""
    _, last = _steps.parts_of(stages.model)
    if hasattr(last, "calibration_"):
        return last.calibration_(scores)
    if isinstance(stages.features, Source) or not hasattr(last, "predict_proba"):
        return None
    return last.predict_proba(stages.features)[:, 1]
