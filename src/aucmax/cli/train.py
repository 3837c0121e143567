"""``aucmax train``: fit a model to a file and save it."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from aucmax import datasets
from aucmax.cli._columns import (
    Category,
    Impute,
    OneHot,
    check_sizes,
    fit_front,
    in_front,
    keep_names,
    names_of,
    source_of,
)
from aucmax.cli._shared import (
    Drop,
    Json,
    Positive,
    Target,
    check_folder,
    console,
    counted,
    pairs_table,
    print_json,
    scores_of,
    working,
)
from aucmax.datasets import find_label
from aucmax.estimators import AUCClassifier
from aucmax.metrics import auc_interval
from aucmax.persist import save
from aucmax.report.text import auc_text, interval_text

__all__ = ["labelled", "train"]


def train(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="Rows to learn from: .csv, .tsv or .parquet, else svmlight text; text may be "
            "compressed (.gz, .bz2, .xz).",
        ),
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="MODEL", help="Where to save the model.")
    ],
    target: Target = None,
    positive: Positive = None,
    drop: Drop = None,
    alpha: Annotated[float, typer.Option(help="Strength of the penalty, 0 or more.")] = 1e-4,
    l1_ratio: Annotated[
        float, typer.Option(help="Share of the l1 part of the penalty, from 0 to 1.")
    ] = 0.0,
    loss: Annotated[str, typer.Option(help="Pairwise loss.")] = "square",
    standardize: Annotated[
        float,
        typer.Option(help="From 0 (features as given) to 1 (features of equal spread)."),
    ] = 0.0,
    solver: Annotated[
        str, typer.Option(help="A solver by name, or auto: the exact optimum.")
    ] = "auto",
    tol: Annotated[float, typer.Option(help="Optimality at which to stop.")] = 1e-4,
    max_iter: Annotated[int, typer.Option(help="Most iterations or epochs.")] = 1000,
    seed: Annotated[int | None, typer.Option(help="Makes stochastic solvers repeatable.")] = None,
    impute: Impute = False,
    one_hot: OneHot = False,
    category: Category = None,
    as_json: Json = False,
) -> None:
    """Fit a ranking model to a file and save it.

    Rows with the positive label get higher scores than the others: the fit maximises the area
    under the ROC curve. Labels may be numbers or text; of more than two, --positive says which
    one is ranked against the rest. With --impute and --one-hot scikit-learn's transformers stand
    in front of the model and are saved with it.

    Examples:

        aucmax train visits.csv --target booked --drop id -o booked.aucmax

        aucmax train visits.csv --target booked --impute --one-hot -o booked.aucmax
    """
    check_folder(output, file)
    model = AUCClassifier(
        alpha,
        l1_ratio,
        loss=loss,
        standardize=standardize,
        solver=solver,
        tol=tol,
        max_iter=max_iter,
        random_state=seed,
    )
    with working(f"reading {file.name}", as_json) as now:
        table = datasets.read(
            file,
            target=target,
            drop=tuple(drop or ()),
            text=one_hot,
            missing=impute,
            categories=tuple(category or ()),
        )
        y, negative_name, positive_name = labelled(file, table.y, positive)
        front, X = fit_front(table, impute, str(file), category)
        check_sizes(X, names_of(table, front), str(file))
        now(f"fitting {X.shape[0]} rows of {X.shape[1]} features")
        started = time.perf_counter()
        model.fit(X, y)
        seconds = time.perf_counter() - started
        keep_names(model, table, front)
        whole = in_front(front, model)
        # what the labels were called in the file, for score, evaluate and show
        whole.source_ = source_of(table, negative_name, positive_name, impute)
        interval = auc_interval(y, scores_of(model, X))
        now(f"saving {output.name}")
        save(whole, output)  # last, so that Ctrl-C leaves no model behind
    positives = int(np.count_nonzero(y == model.classes_[1]))
    report = {
        "model": str(output),
        "rows": len(y),
        "features": int(model.n_features_in_),
        "columns": len(table.feature_names) if table.feature_names else None,
        "positive": positive_name,
        "negative": negative_name,
        "positives": positives,
        "negatives": len(y) - positives,
        "solver": model.solver_,
        "iterations": int(model.n_iter_),
        "objective": model.objective_,
        "optimality": model.optimality_,
        "training_auc": interval._asdict(),
        "seconds": seconds,
    }
    if as_json:
        print_json(report)
    else:
        _print(report)


def labelled(path: Path, y: Any, positive: str | None) -> tuple[np.ndarray, Any, Any]:
    """Two classes from a file's labels.

    Parameters
    ----------
    path : Path
        For messages.
    y : ndarray, shape (n,)
        The labels of the file.
    positive : str or None
        The positive label as the command line gave it; None for the larger of two.

    Returns
    -------
    y : ndarray, shape (n,)
        The labels as they were where the positive one is the larger of two, else +1 and −1.
    negative, positive : label
        What the classes are called in the file.
    """
    labels = np.unique(y).tolist()
    listed = ", ".join(map(str, labels[:5])) + (", …" if len(labels) > 5 else "")
    if len(labels) < 2:
        raise ValueError(
            f"{path}: all rows have the label {listed}; ranking needs rows of two classes."
        )
    if positive is None:
        if len(labels) > 2:
            raise ValueError(
                f"{path}: {len(labels)} different labels ({listed}); name the one to rank first "
                "with --positive LABEL, against all others."
            )
        return y, labels[0], labels[1]
    try:
        label = find_label(y, positive)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None
    others = [other for other in labels if other != label]
    negative = others[0] if len(others) == 1 else f"not {label}"
    if len(others) == 1 and label == labels[1]:
        return y, negative, label
    return np.where(np.asarray(y) == label, 1, -1), negative, label


def _print(report: dict[str, Any]) -> None:
    auc, features = report["training_auc"], f"{report['features']:,}"
    if report["columns"] not in (None, report["features"]):
        features += f"  (from {counted(report['columns'], 'column')})"
    screen = console()
    screen.print(
        pairs_table(
            [
                ("rows", f"{report['rows']:,}"),
                ("features", features),
                ("positive", f"{report['positive']}  ({counted(report['positives'], 'row')})"),
                ("negative", f"{report['negative']}  ({counted(report['negatives'], 'row')})"),
                ("solver", f"{report['solver']}, {counted(report['iterations'], 'iteration')}"),
                ("objective", f"{report['objective']:.6g}"),
                ("optimality", f"{report['optimality']:.1e}  (0 at the optimum)"),
                (
                    "training AUC",
                    f"{auc_text(auc['auc'])}  (95 % interval "
                    f"{interval_text(auc['low'], auc['high'])})",
                ),
                ("seconds", f"{report['seconds']:.2f}"),
                ("saved", report["model"]),
            ]
        )
    )
