"""The score as a sum over terms: each feature counts for the column, or the pair, it depends on."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from aucmax.columns.cycles import cycle_shown
from aucmax.columns.steps import Pair, Stages, Step, columns_of, parts_of, transformed
from aucmax.data.columns import (
    Column,
    columns_in,
    in_days,
    named,
    names_in,
    other_than_numbers,
    values_at,
    values_of,
)
from aucmax.estimators.inputs import names_after

__all__ = ["ByColumn", "by_column", "count_terms"]

Floats = NDArray[np.float64]
# rows (n, d): an array, a CSR array, or the values (n,) of each column
Table = Any
Value = float | str | tuple[float | str, float | str]


@dataclass(frozen=True)
class ByColumn:
    """Rows, and the contribution of each term to their scores by a model.

    A linear model adds up features z_k, each of which depends on one column (the column itself, one
    of its splines, one of its words) or on a pair of columns. So score = intercept + Σ_j added_j,
    and term j, a column or a pair, adds Σ_k w_k z_k over the features that depend on it.

    Parameters
    ----------
    linear : estimator
        The model of the features.
    steps : list of Step
        The steps from columns to features; empty if they are the same.
    columns : list of Column, length d
        The columns.
    table : ndarray or csr_array, shape (n, d), or list of ndarray, shape (n,)
        The rows.
    features : ndarray or csr_array, shape (n, D)
        The output of the steps.
    pairs : sequence of Pair, length m
        The pairs of columns that features depend on.
    term : ndarray of int, shape (D,)
        The column that each feature depends on, or d + k for the k-th pair.
    cycle : ndarray of str, shape (D,)
        Which of the column's `CYCLES` it depends on, "" for none.
    as_input : callable
        Converts such a table to the input of the steps.
    """

    linear: Any
    steps: list[Step]
    columns: list[Column]
    table: Table
    features: Any
    pairs: Sequence[Pair]
    term: NDArray[np.intp]
    cycle: NDArray[Any]
    as_input: Callable[[Table], Any]

    @cached_property
    def names(self) -> list[str]:
        """The names of the terms: the columns, then the pairs."""
        names = [column.name for column in self.columns]
        return [*names, *(" × ".join(c.name for c in self.sides(pair)) for pair in self.pairs)]

    def sides(self, pair: Pair) -> tuple[Column, Column]:
        """Return the columns of a pair, or those of their cycles."""
        first, second = (
            Column(f"{self.columns[j].name}: {cycle}") if cycle else self.columns[j]
            for j, cycle in zip(*pair, strict=True)
        )
        return first, second

    @cached_property
    def weights(self) -> Any:
        """The coefficients, (D, d + m): in the row of their feature, the column of its term."""
        coef = np.ravel(self.linear.coef_).astype(np.float64)
        places = np.arange(len(coef)), self.term
        return sp.csr_array((coef, places), shape=(len(coef), len(self.names)))

    def added(self, rows: Any = slice(None)) -> Floats:
        """Return what each term adds to the scores of some rows, shape (rows, d + m)."""
        added = self.features[rows] @ self.weights
        return added.toarray() if sp.issparse(added) else added

    def mean_added(self, weight: Floats | None = None) -> Floats:
        """Return the (weighted) mean over the rows of what each term adds, shape (d + m,)."""
        return self.mean(weight) @ self.weights

    def mean(self, weight: Floats | None = None) -> Floats:
        """Return the mean of each feature, shape (D,)."""
        if weight is None:
            return np.ravel(self.features.mean(axis=0))
        return np.ravel(weight @ self.features) / weight.sum()

    @cached_property
    def columnwise(self) -> Any:
        """The features in a form that is fast to select from."""
        return sp.csc_array(self.features) if sp.issparse(self.features) else self.features

    def features_of(self, j: int, cycle: str | None = None) -> NDArray[np.intp]:
        """Return the features of term j, ascending; by default those of all cycles."""
        chosen = self.term == j
        return np.flatnonzero(chosen if cycle is None else chosen & (self.cycle == cycle))

    def values(self, j: int) -> NDArray[Any]:
        """Return the values of column j, shape (n,)."""
        if isinstance(self.table, list):
            return self.table[j]
        return values_at(self.table, j)

    def features_at(self, values: Mapping[int, Floats]) -> Any:
        """Return the features of rows with these values in some columns, shape (m, D).

        Parameters
        ----------
        values : mapping of int to ndarray, shape (m,)
            Numbers by column; the other columns are as in the first row, or 0 in a sparse array.
        """
        m = len(next(iter(values.values())))
        table: Table
        if isinstance(self.table, list):
            table = [values.get(j, np.repeat(column[:1], m)) for j, column in enumerate(self.table)]
        elif sp.issparse(self.table):
            places = np.tile(np.arange(m), len(values)), np.repeat([*values], m)
            numbers = np.concatenate([*values.values()])
            table = sp.csr_array((numbers, places), shape=(m, self.table.shape[1]))
        else:
            dtype = np.result_type(self.table.dtype, np.float64)
            table = np.repeat(self.table[:1].astype(dtype), m, axis=0)
            for j, numbers in values.items():
                table[:, j] = numbers
        return _numbers(transformed(self.steps, self.as_input(table))[-1])

    def shown(self, rows: NDArray[np.intp], terms: NDArray[np.intp]) -> list[list[Value]]:
        """Return the values of terms (n, k) in rows (n,) as readers see them, two for a pair.

        If the model bins a column, its values are the names of bins.
        """
        d = len(self.columns)
        if not self.pairs:
            return self._shown(rows, terms)
        terms_of = [*(Pair((j, j)) for j in range(d)), *self.pairs]
        columns, cycles = (np.array(part) for part in zip(*terms_of, strict=True))
        first, second = (
            self._shown(rows, columns[terms, end], cycles[terms, end]) for end in (0, 1)
        )
        return [
            [(a, b) if j >= d else a for j, a, b in zip(*of_row, strict=True)]
            for of_row in zip(terms.tolist(), first, second, strict=True)
        ]

    def _shown(
        self,
        rows: NDArray[np.intp],
        columns: NDArray[np.intp],
        cycles: NDArray[np.str_] | None = None,
    ) -> list[list[Any]]:
        values = _picked(self._told, rows[:, None], columns).tolist()
        if self._renamed:
            return values
        of_rows = np.full(columns.shape, "") if cycles is None else cycles
        return [
            [self._shown_value(*cell) for cell in zip(*of_row, strict=True)]
            for of_row in zip(columns.tolist(), of_rows.tolist(), values, strict=True)
        ]

    def _shown_value(self, j: int, cycle: str, value: Any) -> Value:
        is_gap = value != value
        return cycle_shown(cycle, value) if cycle and not is_gap else self.columns[j].shown(value)

    @property
    def _renamed(self) -> bool:
        return bool(self.steps) and self.steps[0].renames

    @cached_property
    def _told(self) -> Table:
        """The rows, or the bins that they are in."""
        if not self._renamed:
            return self.table
        return [self.steps[0].told(j, self.values(j)) for j in range(len(self.columns))]


def by_column(stages: Stages, feature_names: Sequence[str] | None = None) -> ByColumn:
    """Decompose the scores of a fitted model by column.

    Parameters
    ----------
    stages : Stages
        Rows of a linear model, of a pipeline that ends in such a model, or of a scorecard. If a
        step computes features from several columns, these features count as the columns.
    feature_names : sequence of str, shape (d,), optional
        By default those the model was fitted to, or the numbers of the columns, from 1.

    Raises
    ------
    ValueError
        For a model that is not linear in its features, or not of two classes; for rows whose
        columns are not those of the model; for a wrong number of names.
    """
    steps, linear = parts_of(stages.model)
    check_is_fitted(linear)
    coef = np.asarray(getattr(linear, "coef_", ()))
    if not coef.size or coef.size != coef.shape[-1]:
        raise ValueError(
            f"a {type(linear).__name__} cannot be explained; a linear model of two classes can, "
            "with coef_ of shape (1, d), alone or behind steps."
        )
    start, column, pairs = _one_by_one(steps, coef.size)
    rows, names = stages.rows[start], getattr(stages.model, "feature_names_in_", None)
    typed = columns_in(rows) if start == 0 else ()
    if start == 0 and names is not None:
        typed = *typed, *other_than_numbers(filter(None, columns_of(stages.model, names)))
    for step in steps[:start]:
        names = names_after(step.fitted, names)
    steps, features = steps[start:], _numbers(stages.features)
    table = _table(rows, names) if steps else features
    if features.shape[1] != coef.size:
        raise ValueError(f"X must have {coef.size} columns, like the model; got {np.shape(rows)}.")
    d = len(table) if isinstance(table, list) else table.shape[1]
    if feature_names is None:
        feature_names = [str(j + 1) for j in range(d)] if names is None else names
    if len(feature_names) != d:
        raise ValueError(f"feature_names must be {d} names; got {len(feature_names)}.")
    as_input = _as_input(rows, names) if isinstance(table, list) else lambda columns: columns
    columns = named([""] * d if names is None else names, typed)
    called = [replace(c, name=str(name)) for c, name in zip(columns, feature_names, strict=True)]
    cycle, term = _cycles(steps, len(column)), np.where(column < 0, d - 1 - column, column)
    return ByColumn(linear, steps, called, table, features, pairs, term, cycle, as_input)


def count_terms(model: Any) -> int:
    """Return the number of terms with coefficients of a linear model, alone or behind steps."""
    steps, linear = parts_of(model)
    used = np.any(np.atleast_2d(linear.coef_), axis=0)
    return len(np.unique(_one_by_one(steps, len(used))[1][used]))


def _picked(table: Table, i: NDArray[np.intp], j: NDArray[np.intp]) -> NDArray[Any]:
    """Return the values of a table at rows i and columns j, shape (m, k).

    Parameters
    ----------
    table : ndarray or csr_array, shape (n, d), or list of ndarray, shape (n,)
    i, j : ndarray of int, shape (m, 1) and (m, k)
    """
    if not isinstance(table, list):
        values = table[np.broadcast_to(i, j.shape), j]
        return values.toarray() if sp.issparse(values) else values
    picked = np.empty(j.shape, dtype=object)
    i = np.broadcast_to(i, j.shape)
    for column in np.unique(j):
        cells = j == column
        picked[cells] = table[column][i[cells]]
    return picked


def _one_by_one(steps: list[Step], n_features: int) -> tuple[int, NDArray[np.intp], Sequence[Pair]]:
    """Return the step from which on each feature has one term, the columns and the pairs."""
    for start, step in enumerate(steps):
        columns = np.arange(getattr(step.fitted, "n_features_in_", 0))
        try:
            for later in steps[start:]:
                columns = later.columns(columns)
        except LookupError:
            continue
        if len(columns) == n_features:
            return start, columns, next(filter(None, (s.pairs for s in steps[start:])), ())
    return len(steps), np.arange(n_features), ()


def _cycles(steps: list[Step], n_features: int) -> NDArray[Any]:
    """Return the cycle that each feature depends on, from the last step with cycles."""
    for k in reversed(range(len(steps))):
        if cycles := steps[k].cycles():
            features = np.arange(len(cycles))
            for later in steps[k + 1 :]:
                features = later.columns(features)
            return np.where(features < 0, "", np.array(cycles)[features])
    return np.full(n_features, "")


def _numbers(X: Any) -> Any:
    if sp.issparse(X):
        return sp.csr_array(X)
    numbers = np.asarray(X, dtype=np.float64)
    if numbers.ndim != 2:
        raise ValueError(f"X must have rows and columns; got the shape {numbers.shape}.")
    return numbers


def _table(rows: Any, names: Any) -> Table:
    """Return the rows, for a data frame by column name; columns that no step needs are gaps."""
    if sp.issparse(rows):
        return sp.csr_array(rows)
    if names is None or not hasattr(rows, "columns"):
        return np.asarray(rows)
    present = set(names_in(rows))
    absent = np.broadcast_to(np.nan, len(rows))
    return [in_days(values_of(rows[name])) if name in present else absent for name in names]


def _as_input(frame: Any, names: Any) -> Callable[[Table], Any]:
    """Return a function that turns columns into data frames or Arrow tables like this one."""
    make = getattr(type(frame), "from_pydict", type(frame))
    return lambda columns: make(dict(zip(names, columns, strict=True)))
