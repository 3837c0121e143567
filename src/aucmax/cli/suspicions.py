"""What the commands say first: suspicions about the rows, in the words of the command line."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from aucmax.basics.doors import Door
from aucmax.basics.errors import DataFileError, DataWarning
from aucmax.cli.errors import worded
from aucmax.cli.front import Prepared
from aucmax.cli.options import given_file
from aucmax.data.bunch import objects_of
from aucmax.data.codes import ID_DOUBT
from aucmax.data.digests import RowDigests
from aucmax.data.labelled import Labelled
from aucmax.data.readers import rows_of
from aucmax.data.reading import Reading

if TYPE_CHECKING:
    from aucmax.estimators.suspicions import Suspicion
    from aucmax.estimators.training import Tuned

__all__ = ["about_test_rows", "about_training_rows", "ids_are_said_later", "with_digests"]

_ANSWERED = ("id", "ranks_alone", "missing_ranks_alone", "placeholder")  # by leaving a column out

_inputs = Door("aucmax.estimators.inputs")
_steps = Door("aucmax.columns.steps")
_suspicions = Door("aucmax.estimators.suspicions")


@contextlib.contextmanager
def ids_are_said_later() -> Iterator[None]:
    """Leave out the warnings about ids, which are among the suspicions."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", f"(?s).*{ID_DOUBT.pattern}", DataWarning)
        yield


def about_training_rows(
    prepared: Prepared, data: str, reading: Reading, tuned: Tuned | None = None
) -> list[Suspicion]:
    """Return what looks suspicious in training rows; for rows in parts, in some of them."""
    table = prepared.table
    decided = {decision.column for decision in prepared.decisions if decision.leaves_out}
    if table is None or table.in_parts:
        of_sample = _of_sample(prepared, tuned)
        of_few_rows = _suspicions.few_of_a_class(prepared.rows.positive, "row")
        return _worded([*_unanswered(of_sample, decided), *of_few_rows])
    dropped = _dropped(data, reading, len(table.positive))
    labels = prepared.labels if reading.binarize is None else None
    suspicions = _suspicions.suspicions_of(table, labels, dropped)
    in_place = (
        replace(
            suspicion,
            sentence=f"{suspicion.sentence[:-1]}, in place of drop={[suspicion.column]!r})",
        )
        if suspicion.column in dropped
        else suspicion
        for suspicion in suspicions
    )
    return _worded(_unanswered(in_place, decided))


def _of_sample(prepared: Prepared, tuned: Tuned | None) -> list[Suspicion]:
    """Return what looks suspicious in some of the rows in parts."""
    sample, rows = prepared.sample, prepared.rows
    total = len(rows.positive)
    if sample is not None and prepared.digests is not None:  # it has all columns
        suspicions = _suspicions.suspicions_of_sample(sample, sample.columns, total)
    elif tuned is not None and tuned.rows is not None:  # its sample has been checked
        suspicions = [*tuned.suspicions]
    else:
        suspicions = _suspicions.suspicions_of_sample(rows, rows.columns, total)
    if sample is None:
        return suspicions
    return _suspicions.with_divisions(suspicions, sample, prepared.summary)


def _unanswered(suspicions: Iterable[Suspicion], decided: Collection[str]) -> Iterator[Suspicion]:
    """Yield the suspicions that are not settled by the columns already left out."""
    for suspicion in suspicions:
        if suspicion.kind not in _ANSWERED or suspicion.column not in decided:
            yield suspicion


def about_test_rows(model: Any, rows: Labelled) -> list[Suspicion]:
    """Return what looks suspicious in test rows."""
    learned = getattr(_steps.parts_of(model)[1], "training_rows_", None)
    return _worded(_suspicions.suspicions_of_test(rows, learned))


def with_digests(prepared: Prepared, model: Any) -> Any:
    """Return the model and its steps, with digests of the rows it learned from, if known."""
    table = prepared.table
    digests = prepared.digests or (prepared.watch and prepared.watch.counts)
    if digests:
        model.training_rows_ = digests.kept()
    if table is not None and not table.in_parts:
        counted = table.counted(np.arange(len(table.positive)))
        rows = table.named[counted]
        if table.columns is not None:  # those of the model
            columns = _inputs.inputs_of(prepared.whole(model)).arguments["columns"]
            rows = rows[[str(column) for column in columns]]
        model.training_rows_ = RowDigests.of(rows)
    return prepared.whole(model)


def _dropped(data: str, reading: Reading, count: int) -> dict[str, np.ndarray]:
    """Return the columns of a file that are left out, as text."""
    path = given_file(data)
    if not (reading.drop and isinstance(path, Path) and path.is_file()):
        return {}
    asked = replace(
        reading, columns=reading.drop, categories=reading.drop, drop=(), labels="none",
        positive=None, binarize=None, missing=True, weight=None, groups=None, time=None,
        strata=None,
    )  # fmt: skip
    try:
        rows = rows_of(path, asked)
    except DataFileError:  # such as a type that is not text
        return {}
    if len(rows.data) != count:
        return {}
    return dict(zip(reading.drop, objects_of(rows.data).T, strict=True))


def _worded(suspicions: Iterable[Suspicion]) -> list[Suspicion]:
    return [replace(suspicion, sentence=worded(suspicion.sentence)) for suspicion in suspicions]
