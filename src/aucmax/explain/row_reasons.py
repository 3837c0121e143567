"""Reasons for the scores of single rows."""

from collections.abc import Iterator, Sequence
from itertools import chain, repeat
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from aucmax.basics.checks import number
from aucmax.columns.steps import Stages
from aucmax.data.rows import to_scipy
from aucmax.data.rows.parts import rows_of
from aucmax.data.rows.source import Part, Source
from aucmax.explain.by_column import ByColumn, Value, by_column

__all__ = [
    "Reason", "each_reasons", "mean_of_parts", "reasons", "reasons_in_parts", "reasons_of_part",
    "scored_with_reasons",
]  # fmt: skip

CELLS_PER_BLOCK = 10**7  # of the table of reasons
_ROUNDING = 1e-13  # share of a column's average contribution below which a difference is rounding


class Reason(NamedTuple):
    """The contribution of one column, or a pair of columns, to the score of one row.

    Parameters
    ----------
    feature : str
        Its name; for a pair, such as "age × income".
    value : float, str, or two of these
        The value of the row: a number, NaN if it is missing; a word, a date, true or false as in
        the file; or the name of a bin. For a pair, the values of both columns.
    raised : float
        How much it raises the score above the average contribution of the column or pair.

    See Also
    --------
    reasons : Computes them.
    """

    feature: str
    value: Value
    raised: float


def reasons(
    model: Any,
    X: Any,
    most: int = 4,
    *,
    mean: ArrayLike | None = None,
    feature_names: Sequence[str] | None = None,
) -> list[list[Reason]]:
    """List, for each row, the columns that raise its score most.

    Parameters
    ----------
    model : estimator
        Fitted and linear, with ``coef_``; a pipeline that ends in such a model; or a `Scorecard`.
    X : array-like, sparse or data frame, shape (n, d), or Source
        Rows in the form that the model takes. A `Source` is read twice, or once with ``mean``; it
        requires a model without steps in front.
    most : int, default=4
        Number of columns to list; fewer if fewer raise the score.
    mean : array-like, shape (d,) or (m, d), optional
        The reference: one row, for instance of means, or several rows to average, such as the
        training rows. By default the average of X.
    feature_names : sequence of str, shape (d,), optional
        By default those of the fit.

    Returns
    -------
    list of list of Reason
        For each row the named tuples ``(feature, value, raised)``, largest first.

    Raises
    ------
    ValueError
        For a model that is not linear in its features, or rows with other columns.

    Notes
    -----
    The score is a sum over columns, and over pairs of columns in a model with maps. In a linear
    model a column contributes its coefficient times its value; behind splines, words or bins it
    contributes the sum over its features. A column or pair raises a score by its contribution minus
    its average contribution, so the score of a row is exactly the average score plus the sum of
    these. If a step computes features from several columns, such as principal components, its
    features count as the columns.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from aucmax import AUCClassifier, reasons
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = AUCClassifier(positive=0).fit(X, y)
    >>> first = reasons(model, X, most=2)[0]
    >>> [reason.feature for reason in first], bool(first[0].raised > first[1].raised)
    (['23', '21'], True)
    """
    number(most, "most", low=1, whole=True)
    if isinstance(X, Source):
        return list(reasons_in_parts(model, X, most, mean, feature_names))
    rows = by_column(Stages.of(model, X), feature_names)
    compared = rows
    if mean is not None:
        compared = by_column(Stages.of(model, _rows(mean, bool(rows.steps))), feature_names)
    return list(each_reasons(rows, most, compared.mean_added()))


def reasons_in_parts(
    model: Any,
    source: Source,
    most: int,
    mean: ArrayLike | None = None,
    feature_names: Sequence[str] | None = None,
) -> Iterator[list[Reason]]:
    """Yield the reasons of each row of a source; the arguments are those of `reasons`."""
    d = np.size(model.coef_)
    mean = mean_of_parts(source, d) if mean is None else mean
    arguments = model, most, mean, feature_names
    return chain.from_iterable(source.each(reasons_of_part, repeat(()), arguments))


def mean_of_parts(source: Source, d: int) -> np.ndarray:
    """Return the mean of a source's rows, shape (d,), in one pass."""
    counts, sums = zip(*source.each(_sum_of_part, repeat((d,))), strict=True)
    return np.asarray(np.sum(sums, axis=0) / sum(counts))


def _sum_of_part(part: Part, d: int) -> tuple[int, np.ndarray]:
    rows = to_scipy(rows_of(part.X, d))
    return rows.shape[0], np.ravel(rows.sum(axis=0, dtype=np.float64))


def reasons_of_part(
    part: Part, model: Any, most: int, mean: ArrayLike, names: Sequence[str] | None = None
) -> list[list[Reason]]:
    """Return the reasons of each row of a part; the arguments are those of `reasons`."""
    X = to_scipy(rows_of(part.X, np.size(model.coef_)))
    return reasons(model, X, most, mean=mean, feature_names=names)


def scored_with_reasons(
    model: Any, source: Source, most: int
) -> Iterator[tuple[np.ndarray, Any, list[list[Reason]]]]:
    """Yield the scores, the further columns and the reasons of each part, in two passes.

    Parameters
    ----------
    model : estimator
        With steps in front.
    source : Source
        Rows as the model takes them.
    most : int
        As for `reasons`.
    """
    counts, sums = zip(*source.each(_added_in_part, repeat(()), (model,)), strict=True)
    average = np.sum(sums, axis=0) / sum(counts)
    yield from source.each(_scored_in_part, repeat(()), (model, most, average))


def _added_in_part(part: Part, model: Any) -> tuple[int, np.ndarray]:
    by = by_column(Stages.of(model, part.X))
    count = by.features.shape[0]
    return count, count * by.mean_added()


def _scored_in_part(
    part: Part, model: Any, most: int, average: np.ndarray
) -> tuple[np.ndarray, Any, list[list[Reason]]]:
    stages = Stages.of(model, part.X)
    return stages.scores(), part.kept or {}, [*each_reasons(by_column(stages), most, average)]


def each_reasons(
    by: ByColumn, most: int, average: np.ndarray, rows: np.ndarray | None = None
) -> Iterator[list[Reason]]:
    """Yield the reasons of each row, or of some rows.

    Parameters
    ----------
    by : ByColumn
        The rows.
    most : int
        Number of terms for each row.
    average : ndarray, shape (number of terms,)
        The contribution of each term to the reference score.
    rows : ndarray of int, optional
        The rows; by default all.
    """
    names = by.names
    rounding = (_ROUNDING * np.abs(average)).tolist()
    rows = np.arange(by.features.shape[0]) if rows is None else rows
    widest = max(len(names), by.features.shape[1])
    for block in np.array_split(rows, len(rows) * widest // CELLS_PER_BLOCK + 1):
        raised = by.added(block) - average
        order = _highest(raised, most)
        sizes = np.take_along_axis(raised, order, axis=1).tolist()
        for row in zip(order.tolist(), by.shown(block, order), sizes, strict=True):
            yield [Reason(names[j], v, r) for j, v, r in zip(*row, strict=True) if r > rounding[j]]


def _highest(values: np.ndarray, most: int) -> np.ndarray:
    """Return the columns of the highest values in each row, the highest first."""
    most = min(most, values.shape[1])
    # there may be very many columns, so only the highest are sorted
    highest = np.sort(np.argpartition(-values, most - 1, axis=1)[:, :most], axis=1)
    order = np.argsort(-np.take_along_axis(values, highest, axis=1), axis=1, kind="stable")
    return np.take_along_axis(highest, order, axis=1)


def _rows(mean: Any, framed: bool) -> Any:
    """Return the reference as rows; a series becomes a row of a data frame if names matter."""
    if np.ndim(mean) > 1:
        return mean
    if framed and hasattr(mean, "to_frame"):
        return mean.to_frame().T.infer_objects()
    return np.asarray(mean)[None]
