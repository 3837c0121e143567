"""Sums that give the gains of pairs of columns: over rows, or over a relation by queries."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import repeat
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_consistent_length, column_or_1d

from aucmax.basics.checks import sample_weights
from aucmax.columns.additive import AdditiveFeatures
from aucmax.columns.expressions import Expressions
from aucmax.columns.functions import Feature, Pieces, Word, by_column
from aucmax.columns.steps import step_of
from aucmax.data.bunch import frame
from aucmax.data.columns import Column, declare
from aucmax.data.rows.source import Part, Source, opened
from aucmax.statistics.pair_sums import PairSums
from aucmax.statistics.relation import Relation, plain

__all__ = ["ScoredPairs", "as_table", "sums_of", "sums_of_rows"]

PAIRS_OF_A_QUERY = 100
_ALL = 2**62  # rows


class ScoredPairs(NamedTuple):
    """Pairs of axes, shape (m, 2), with the features and coefficients of the scores.

    The classes are the negative and the positive label; columns are for rows without names.
    """

    features: AdditiveFeatures
    coef: np.ndarray
    pairs: np.ndarray
    classes: Any
    columns: tuple[Column, ...] | None = None

    @property
    def axes(self) -> np.ndarray:
        """The axes of the pairs, ascending."""
        return np.unique(self.pairs)

    @property
    def maps(self) -> tuple[np.ndarray, np.ndarray]:
        """The number of places along each of these axes, and the pairs as positions among them."""
        return self.features.n_places[self.axes], np.searchsorted(self.axes, self.pairs)

    def positive(self, labels: Iterable[Any]) -> np.ndarray:
        """Return which labels are positive, shape (n,); ValueError for labels of neither class."""
        labels, own = [*labels], [*self.classes]
        for label in {*labels}.difference(own):
            raise ValueError(f"the label {label!r} is not one of {', '.join(map(repr, own))}.")
        return np.array([label == self.classes[1] for label in labels], dtype=bool)


def sums_of_rows(part: Part, scored: ScoredPairs) -> PairSums:
    """Return the sums of rows in memory."""
    places, scores = scored.features.placed(as_table(part.X, scored.columns), scored.coef)
    weight = np.ones(len(scores)) if part.weight is None else np.asarray(part.weight)
    positive = scored.positive(np.asarray(part.y).tolist())
    return PairSums.of(places.nearest()[scored.axes], *scored.maps, positive, weight, scores)


def sums_of(X: Any, y: Any, weight: Any, scored: ScoredPairs) -> PairSums:
    """Return the sums of rows, a source, or a relation with the names of its columns."""
    if isinstance(y, str):
        return _by_queries(X, y, weight, scored)
    X, y, weight = opened(X, y, weight)
    if isinstance(X, Source):
        total: PairSums = X.with_labels(y, weight).total(sums_of_rows, repeat(()), (scored,))
        return total
    y = column_or_1d(y, warn=False)
    check_consistent_length(X, y)
    return sums_of_rows(Part(X, y, sample_weights(weight, len(y))), scored)


def _by_queries(relation: Any, target: str, weight: str | None, scored: ScoredPairs) -> PairSums:
    """Return the sums of a relation, by GROUP BY or, if its engine is in-process, by batches."""
    step: Any = step_of(scored.features)
    columns = [column for column, _ in scored.features.prepared_columns]
    rows = Relation(relation, target, weight, [column.name for column in columns])
    expressions = Expressions(rows, columns)
    table = rows.native.select(*rows.labels, *expressions.columns)
    _refuse(rows, table, columns, scored)
    start = [Feature(j, Word() if c.is_text else Pieces.line()) for j, c in enumerate(columns)]
    terms = zip(step.features(start), scored.coef.tolist(), strict=True)
    score = expressions.total(by_column(term.times(c) for term, c in terms)).alias("s")
    of_axes = step.places(start)
    places = [expressions.of(of_axes[j]).alias(f"p{k}") for k, j in enumerate(scored.axes)]
    sums = _by_batches if rows.eager or rows.in_process else _by_groups
    return sums(rows, table.select("y", "w", score, *places), scored)


def as_table(X: Any, columns: tuple[Column, ...] | None) -> Any:
    """Return rows with their columns, if known."""
    return X if columns is None else declare(frame(X, columns), columns)


def _refuse(rows: Relation, table: Any, columns: list[Column], scored: ScoredPairs) -> None:
    """Raise ValueError for labels, weights and numbers that rows in memory may not have."""
    nw, w = rows.nw, rows.nw.col("w")
    invalid = {"w": rows.not_finite(w) | (w < 0.0)}
    for j, column in enumerate(columns):
        if not column.is_text:
            x = nw.col(f"x{j}")
            invalid[f"x{j}"] = ~x.is_null() & ~(x.abs() <= np.finfo(np.float64).max)
    counts = [rows.indicator(value).alias(name) for name, value in invalid.items()]
    sums = [nw.col(name).sum() for name in invalid]
    counted = rows.collected(table.lazy().select("y", *counts).group_by("y").agg(*sums))
    scored.positive(map(plain, counted.pop("y")))
    rows.refuse_weights(sum(counted.pop("w")))
    for name, of_classes in counted.items():
        if sum(of_classes):
            raise ValueError(f"column {columns[int(name[1:])].name!r} contains infinity.")


def _by_batches(rows: Relation, table: Any, scored: ScoredPairs) -> PairSums:
    """Return the sums of the places and scores that an engine computes, batch by batch."""
    names = [f"p{k}" for k in range(len(scored.axes))]
    empty = np.empty(0)
    cells = np.empty((len(names), 0), dtype=np.uint8)
    total = PairSums.of(cells, *scored.maps, empty.astype(bool), empty, empty)
    for batch in rows.batches(table):
        cells = batch.select(names).to_numpy().T.astype(np.uint8)
        positive = scored.positive(map(plain, batch["y"].to_list()))
        weight, scores = batch["w"].to_numpy(), batch["s"].to_numpy()
        total += PairSums.of(cells, *scored.maps, positive, weight, scores)
    return total


def _by_groups(rows: Relation, table: Any, scored: ScoredPairs) -> PairSums:
    """Return the sums by groups, of many pairs in each query, stacked one below the other."""
    nw, (sizes, pairs) = rows.nw, scored.maps
    most = int(sizes[pairs].prod(axis=1).max(initial=0))
    sums = np.zeros((2, 2, len(pairs) * most))
    if table.implementation.is_ibis():
        table = table.head(_ALL)  # a limit keeps a database from computing scores for each pair
    weighed = (nw.col("w") * nw.col("s")).alias("s")
    for first in range(0, len(pairs), PAIRS_OF_A_QUERY):
        queries = []
        for m, (i, j) in enumerate(pairs[first : first + PAIRS_OF_A_QUERY].tolist(), first):
            cell = nw.col(f"p{i}") * float(sizes[j]) + nw.col(f"p{j}") + float(m * most)
            of_pair = table.select("y", "w", weighed, cell.alias("cell")).group_by("y", "cell")
            queries.append(of_pair.agg(nw.col("w").sum(), nw.col("s").sum()))
        groups = rows.collected(nw.concat(queries, how="vertical"))
        labels = scored.positive(map(plain, groups["y"])).astype(int)
        cells = np.array(groups["cell"], dtype=int)
        for k, name in enumerate(("w", "s")):
            np.add.at(sums[k], (labels, cells), groups[name])
    return PairSums(*sums.reshape(2, 2, len(pairs), most))
