"""What the commands share: checks of paths, pages and models."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from aucmax.basics.errors import ModelFileError
from aucmax.basics.progress import working
from aucmax.cli.screen import console, tell
from aucmax.columns.steps import parts_of
from aucmax.data.rows.source import Source
from aucmax.estimators import files as persist
from aucmax.report.page import Page, as_json, write_page
from aucmax.report.terminal import terminal

__all__ = [
    "calibration_facts",
    "calibration_words",
    "chance_of",
    "counted",
    "feature_names",
    "few_positives",
    "fit_facts",
    "fitted_settings",
    "folds_described",
    "help_of",
    "linear_of",
    "listed",
    "listed_numbers",
    "load_model",
    "print_json",
    "scores_of",
    "show_page",
    "working",
]


def listed(text: str) -> list[str]:
    """The words of a comma-separated list, stripped."""
    return [part.strip() for part in text.split(",") if part.strip()]


def listed_numbers(text: str | None, flag: str) -> list[float] | None:
    """The numbers of an option's comma-separated list; None if it was not given."""
    try:
        return None if text is None else [float(part) for part in listed(text)]
    except ValueError:
        raise ValueError(f"{flag} takes numbers separated by commas; got {text!r}.") from None


def folds_described(report: dict[str, Any]) -> str:
    """How many folds there were, and how often they were drawn."""
    if report["rounds"] == 1:
        return f"{report['folds']} folds"
    return f"{report['rounds']} rounds of {report['folds'] // report['rounds']} folds"


def fitted_settings(model: Any) -> dict[str, Any]:
    """What a report says of a model's settings, and how it was fitted."""
    return {
        **{name: getattr(model, name) for name in ("loss", "within", "l1_ratio", "alpha")},
        "standardize": model.standardize_,
        "solver": model.solver_,
        "iterations": int(model.n_iter_),
        "objective": model.objective_,
        "optimality": model.optimality_,
    }


def help_of(command: Callable[..., None]) -> str:
    """A command's docstring with each paragraph on one line: typer would keep the line breaks."""
    paragraphs = inspect.cleandoc(command.__doc__ or "").split("\n\n")
    flowing = (p if p.startswith(" ") else " ".join(p.split()) for p in paragraphs)
    return "\n\n".join(flowing)


# ---- output

_FEW = 10  # rows of a class


def counted(number: int, unit: str) -> str:
    """``1 row`` or ``2,000 rows``."""
    return f"{number:,} {unit}{'' if number == 1 else 's'}"


def print_json(value: Any) -> None:
    """Print JSON."""
    print(as_json(value))


def show_page(page: Page, as_json: bool, html: Path | None = None) -> None:
    """Print a page, on the screen or as JSON, and write it as HTML if there is a path for it."""
    if html is not None:
        with working("drawing the report", as_json):
            write_page(page, html)
        page.data["html"] = str(html)
    if as_json:
        print_json(page.data)
        return
    screen = console()
    terminal(page, screen)
    for name, what in (("plot", "ROC curve drawn"), ("html", "report written")):
        if name in page.data:
            screen.print(f"\n{what} to {page.data[name]}", soft_wrap=True)


def few_positives(is_positive: np.ndarray, what: str) -> None:
    """Warn where a class has too few of these rows for a reliable AUC."""
    count, total = int(is_positive.sum()), len(is_positive)
    rarer, kind = min((count, "positive"), (total - count, "negative"))
    if rarer < _FEW:
        tell(
            "warning",
            f"only {rarer} of {counted(total, what)} {'is' if rarer == 1 else 'are'} {kind}: with "
            f"fewer than {_FEW}, AUCs are unreliable, and so are settings chosen by them",
        )


def fit_facts(report: dict[str, Any]) -> list[tuple[str, str]]:
    """The solver, objective and optimality of a fit, as far as the report has them."""
    facts = []
    if report["solver"] is not None:
        facts.append(
            ("solver", f"{report['solver']}, {counted(report['iterations'], 'iteration')}")
        )
    if report["objective"] is not None:
        facts.append(("objective", f"{report['objective']:.6g}"))
        facts.append(("optimality", f"{report['optimality']:.1e}  (0 at the optimum, 1 at w = 0)"))
    return facts


def calibration_facts(model: Any) -> dict[str, Any]:
    """What a report says of a model's probabilities, if it has some."""
    if not hasattr(model, "calibration_"):
        return {}
    return {"probability": type(model.calibration_).__name__.lower()}


def calibration_words(report: dict[str, Any]) -> list[tuple[str, str]]:
    """The same as a line of a table."""
    if "probability" not in report:
        return []
    return [("probabilities", f"{report['probability']}, on the held-out rows")]


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


def linear_of(model: Any) -> Any:
    """Return the last step of a pipeline, of a search the model that it chose, and so on inwards.

    That of a scorecard weighs weights of evidence.
    """
    return parts_of(model)[1]


def feature_names(model: Any, count: int) -> list[str]:
    """What so many weights are called: by the transformers in front, or their positions from 1."""
    names = getattr(model, "feature_names_in_", None)
    if names is not None and hasattr(model, "steps"):
        with contextlib.suppress(AttributeError, ValueError):  # not every transformer has names
            names = model[:-1].get_feature_names_out()
    if names is None or len(names) != count:
        return [str(j + 1) for j in range(count)]
    return [str(name) for name in names]


def chance_of(model: Any, X: Any, scores: np.ndarray) -> np.ndarray | None:
    """Return the probabilities that rows are positive, of a model that gives some."""
    calibration = getattr(linear_of(model), "calibration_", None)
    if calibration is not None:
        return calibration(scores)
    if isinstance(X, Source) or not hasattr(model, "predict_proba"):
        return None
    return model.predict_proba(X)[:, 1]


def scores_of(model: Any, X: Any) -> np.ndarray:
    """Return the scores of rows in the form that the model takes."""
    return np.asarray(model.decision_function(X), dtype=np.float64)
