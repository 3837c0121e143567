"""``aucmax train --one-pass``: a model from one pass over the rows, and a bound on its error."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

from aucmax.cli.large import Large, passes_over
from aucmax.cli.moments.classes import auc_of, two_classes
from aucmax.cli.options import Transforms, given_file
from aucmax.data.reading import Reading
from aucmax.estimators import AUCClassifier
from aucmax.report.facts import FittedModel
from aucmax.report.training import OnePassFit
from aucmax.solvers.auto import FEW_FEATURES
from aucmax.statistics.base import ClassStatistics
from aucmax.statistics.frequent_directions import FrequentDirections
from aucmax.statistics.moments import ClassMoments

__all__ = ["fit_in_one_pass"]

_RANK = 50  # directions kept of each class if its covariance is too large


def fit_in_one_pass(
    data: str,
    reading: Reading,
    transforms: Transforms,
    large: Large,
    model: AUCClassifier,
    output: Path,
) -> OnePassFit:
    """Fit a model to the class moments of a file, or to a sketch of them; return the report.

    Raises
    ------
    ValueError
        If the data are not a file, or settings or options need the rows again.
    """
    started, path = time.perf_counter(), given_file(data)
    if not (isinstance(path, Path) and path.is_file()):
        raise ValueError(f"--one-pass is for files, but there is no file {data}.")
    if reading.binarize is not None:
        raise ValueError("--binarize needs the labels beforehand, which --one-pass does not read.")
    source = large.one_pass(path, replace(reading, positive=None), transforms)
    names = source.feature_names  # svmlight text has none: its first part tells about how many
    few = (next(iter(source)).X.shape[1] if names is None else len(names)) <= FEW_FEATURES
    held: ClassStatistics = (
        ClassMoments.from_data(source) if few else FrequentDirections.from_data(source, rank=_RANK)
    )
    held.feature_names, held.target_name = names, source.target_name
    held, positive = two_classes(held, reading.positive, path)
    model.set_params(positive=positive).fit_moments(held)
    counts = dict(zip(held.classes.tolist(), held.counts.tolist(), strict=True))
    return OnePassFit(
        model=str(output),
        data=path.name,
        positive=positive,
        negative=next(label for label in counts if label != positive),
        weight_of_positives=counts[positive],
        weight=sum(counts.values()),
        features=held.n_features,
        fitted=FittedModel.of(model),
        rank=None if few else _RANK,
        auc=auc_of(held, model.coef_[0], positive),
        read=passes_over(source),
        seconds=time.perf_counter() - started,
    )
