"""From a table as it was read to numbers: the columns a model learns from, and its steps."""

from __future__ import annotations

from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Any

import numpy as np
from sklearn.preprocessing import Normalizer
from sklearn.utils import _safe_indexing

from aucmax.basics.checks import LARGEST
from aucmax.columns import SplineFeatures, TableEncoder
from aucmax.data.codes import doubt
from aucmax.data.columns import Column, columns_in
from aucmax.data.decisions import Decision
from aucmax.data.labelled import Labelled
from aucmax.data.reading import Reading
from aucmax.data.transforms import scale
from aucmax.metrics import auc_interval

__all__ = ["Steps", "behind_steps", "check_sizes", "left_out"]

_MANY_WORDS = 20  # above which a column whose words mostly differ looks like ids
_SURE = 0.999  # confidence with which the order of ids must rank to be worth a word


def left_out(rows: Labelled, reading: Reading) -> tuple[Labelled, list[Decision]]:
    """Return rows in memory without the columns from which a model cannot learn, and why.

    These are empty columns, constants, copies of another column, and ids.
    """
    decisions: dict[int, Decision] = {}
    first: dict[bytes, str] = {}
    columns = rows.columns or ()
    for j, column in enumerate(columns):
        values = _values(rows.X, j)
        why = _why_not(column, values, first, reading)
        if why is not None:
            decisions[j] = replace(why, what=f"{why.what}{_worth(rows, values)}: left out")
    if not decisions or len(decisions) == len(columns):
        return rows, []
    kept = [j for j in range(len(columns)) if j not in decisions]
    X = rows.X.iloc[:, kept] if hasattr(rows.X, "iloc") else np.ascontiguousarray(rows.X[:, kept])
    fewer = replace(rows, X=X, columns=tuple(columns[j] for j in kept))
    return fewer, list(decisions.values())


def _values(X: Any, j: int) -> np.ndarray:
    """Return a column as numbers: words by their place in the alphabet, −1 for a gap."""
    if not hasattr(X, "iloc"):
        return X[:, j]
    column = X.iloc[:, j]
    if not hasattr(column, "cat"):
        return np.asarray(column)
    place = np.argsort(np.argsort(np.asarray(column.cat.categories, dtype=str), kind="stable"))
    return np.append(place, -1)[np.asarray(column.cat.codes)]


def _why_not(
    column: Column, values: np.ndarray, first: dict[bytes, str], reading: Reading
) -> Decision | None:
    """Return why a column is left out, None if it is not; ``first`` has the columns before it."""
    name, gaps = column.name, values < 0 if column.is_text else np.isnan(values)
    if gaps.all():
        return Decision(name, "empty")
    if not gaps.any() and (values == values[0]).all():
        return Decision(name, "the same in every row")
    digest = blake2b(values.tobytes(), digest_size=16).digest()
    if digest in first:
        return Decision(name, f"the same as {first[digest]}")
    first[digest] = name
    if column.is_text and name not in reading.categories:
        different, total = len(np.unique(values[~gaps])), int((~gaps).sum())
        if different > _MANY_WORDS and different > total / 2:
            what = f"{different:,} different values in {total:,} rows, as ids"
            return Decision(name, what, {"categories": [name]})
    if column.is_number and name not in reading.numbers:
        obstacle = doubt(name, values, ())
        if obstacle is not None and "drop" in (obstacle.remedy or {}):
            return Decision(name, "ids, which cannot generalise", {"numbers": [name]})
    return None


def _worth(rows: Labelled, values: np.ndarray) -> str:
    """Return what the order of a column's values tells about the labels, if it tells anything."""
    known = values == values
    positive = rows.positive[known]
    if positive.all() or not positive.any():
        return ""
    weight = None if rows.weight is None else rows.weight[known]
    interval = auc_interval(positive, values[known], sample_weight=weight, confidence=_SURE)
    if interval.low <= 0.5 <= interval.high:
        return ""
    auc = max(interval.auc, 1.0 - interval.auc)
    return f" (yet their order alone ranks with an AUC of {auc:.2f})"


# ---- steps


@dataclass(frozen=True)
class Steps:
    """Rows behind fitted steps.

    Parameters
    ----------
    rows : Labelled
        Numbers.
    steps : list of (str, transformer)
        What made them of the columns, in order.
    decisions : list of Decision
        What the steps decided.
    """

    rows: Labelled
    steps: list[tuple[str, Any]]
    decisions: list[Decision]


def behind_steps(
    rows: Labelled, reading: Reading, splines: bool = False, norm: str = "none"
) -> Steps:
    """Fit the steps that turn the columns of rows in memory into numbers, and apply them.

    Parameters
    ----------
    rows : Labelled
    reading : Reading
        How they were read.
    splines : bool
        Whether numbers bend.
    norm : str
        What scales rows, see `datasets.scale`; "none" leaves them.
    """
    steps: list[tuple[str, Any]] = []
    decisions: list[Decision] = []
    X, named, names = rows.X, rows.named, rows.feature_names
    if _needs_encoder(rows, reading):
        encoder = TableEncoder(bool(reading.missing))
        X = named = _fitted_to(encoder, named, rows.weight)
        names = encoder.get_feature_names_out()
        steps.append(("columns", encoder))
        decisions = encoder.decisions()
    check_sizes(X, names, rows.name)
    if splines:
        features = SplineFeatures()
        X = named = _fitted_to(features, named, rows.weight)
        steps.append(("splines", features))
    if norm != "none":
        normalizer = Normalizer().fit(named)
        normalizer.columns_ = columns_in(named)
        X = scale(X, norm)
        steps.append(("unit_norm", normalizer))
    return Steps(replace(rows, X=X, columns=None) if steps else rows, steps, decisions)


def _needs_encoder(rows: Labelled, reading: Reading) -> bool:
    """Return whether columns are not numbers as they are, or may have gaps."""
    columns = rows.columns or ()
    if any(column.is_text or column.is_days for column in columns):
        return True
    if not columns or not reading.missing:
        return False
    return not reading.prepare or bool(np.isnan(rows.X).any())


def _fitted_to(step: Any, rows: Any, weight: np.ndarray | None) -> Any:
    """Fit a step to the rows that have weight, and apply it to all."""
    if weight is None or weight.all():
        return step.fit_transform(rows)
    return step.fit(_safe_indexing(rows, np.flatnonzero(weight))).transform(rows)


def check_sizes(X: Any, names: Any, file: str) -> None:
    """Raise ValueError for values too large for a fit, with the column of the file."""
    ends = [X.max(axis=0), -X.min(axis=0)]
    size = np.max([end.toarray().ravel() if hasattr(end, "nnz") else end for end in ends], axis=0)
    j = int(np.argmax(size))
    if size[j] > LARGEST:
        name = f"feature {j + 1}" if names is None else f"column {str(names[j])!r}"
        raise ValueError(
            f"{file}: {name} has values as large as {size[j]:.1e}, whose powers overflow; divide "
            "them by a constant."
        )
