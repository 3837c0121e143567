"""``aucmax train --one-pass``: a model from one look at every row, and how far it may be off."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from aucmax.basics.visible import in_line
from aucmax.cli.common import fit_facts, fitted_settings
from aucmax.cli.large import Large, what_was_read, words_of_read
from aucmax.cli.moments.classes import auc_facts, auc_of, two_classes
from aucmax.cli.options import Transforms, given_file
from aucmax.data.reading import Reading
from aucmax.estimators import AUCClassifier
from aucmax.report.page import Page, ResultTable, Section
from aucmax.solvers.auto import FEW_FEATURES
from aucmax.statistics.base import ClassStatistics
from aucmax.statistics.frequent_directions import FrequentDirections
from aucmax.statistics.moments import ClassMoments

__all__ = ["fit_in_one_pass", "one_pass_page"]

_RANK = 50  # directions kept of each class where its covariance is too large


def fit_in_one_pass(
    data: str, reading: Reading, transforms: Transforms, large: Large, model: AUCClassifier
) -> dict[str, Any]:
    """Fit a model to the class moments of a file, or to a sketch of them; return the report.

    Raises
    ------
    ValueError
        For what is no file, settings that need the rows, and options that do.
    """
    started, path = time.perf_counter(), given_file(data)
    if not (isinstance(path, Path) and path.is_file()):
        raise ValueError(f"--one-pass is for files, and there is no file {data}.")
    if reading.binarize is not None:
        raise ValueError("--binarize needs the labels beforehand, which --one-pass does not read.")
    source = large.source(path, replace(reading, positive=None), transforms, one_pass=True)
    names = source.feature_names  # svmlight text has none: its first part tells about how many
    few = (next(iter(source)).X.shape[1] if names is None else len(names)) <= FEW_FEATURES
    held: ClassStatistics = (
        ClassMoments.from_data(source) if few else FrequentDirections.from_data(source, rank=_RANK)
    )
    held.feature_names, held.target_name = names, source.target_name
    held, positive = two_classes(held, reading.positive, path)
    model.set_params(positive=positive).fit_moments(held)
    counts = dict(zip(held.classes.tolist(), held.counts.tolist(), strict=True))
    return {
        "data": path.name,
        "positive": positive,
        "negative": next(label for label in counts if label != positive),
        "weight_of_positives": counts[positive],
        "weight": sum(counts.values()),
        "features": held.n_features,
        **fitted_settings(model),
        "rank": None if few else _RANK,
        "auc": auc_of(held, model.coef_[0], positive),
        **what_was_read(source),
        "seconds": time.perf_counter() - started,
    }


def one_pass_page(report: dict[str, Any]) -> Page:
    """Return the page of a report of `fit_in_one_pass`, with its model's file."""
    share = 100 * report["weight_of_positives"] / report["weight"]
    described = in_line(
        f"{report['data']}: rows of weight {report['weight']:,.15g}, {report['features']:,} "
        f"features, {report['weight_of_positives']:,.15g} positive ({share:.3g} %; label "
        f"{report['positive']})"
    )
    facts = [
        (
            "not tuned",
            f"standardize {report['standardize']:g}, within {report['within']}, l1 ratio "
            f"{report['l1_ratio']:g}, alpha {report['alpha']:.3g}",
        ),
        *_how_good(report),
        *auc_facts(report["auc"]),
        ("seconds", f"{report['seconds']:.2f}"),
        ("read", words_of_read(report)),
        ("saved", report["model"]),
    ]
    section = Section("The model", tables=[ResultTable.facts(facts)])
    return Page(f"Trained on {report['data']} in one pass", described, [section], data=report)


def _how_good(report: dict[str, Any]) -> list[tuple[str, str]]:
    """Say how far from the optimum the model is, or may be."""
    if report["rank"] is None:
        return [("one pass", "exact: the covariances of both classes are kept"), *fit_facts(report)]
    most = report["optimality"]
    bound = (
        f"{most:.2g} or less  (0 at the optimum, 1 at w = 0)"
        if np.isfinite(most) and most < 1.0
        else "not known: what the sketch misses may be more than the model gains"
    )
    return [
        ("one pass", f"approximate: {report['rank']} directions stand for each covariance"),
        ("objective", f"{report['objective']:.6g} or less"),
        ("optimality", bound),
    ]
