"""TableEncoder: numbers from a table with text, gaps or dates."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from aucmax.basics.checks import refuse_collections
from aucmax.columns.functions import Feature, Word
from aucmax.columns.steps import Places, Step, step_of
from aucmax.data.columns import Column, columns_in, in_days, is_no_word, named, values_in

__all__ = ["TableEncoder"]


class TableEncoder(TransformerMixin, BaseEstimator):
    """Medians for missing numbers, a 0/1 feature for each value of a text column.

    Takes a data frame, whose columns it finds by name, or an array. A date becomes the days since
    1970-01-01. A text value that did not occur in training has 0 in all features; a gap in
    text is a value of its own, which includes the words that are gaps in files, such as ``n/a``.

    Parameters
    ----------
    missing : bool
        Whether numbers may be missing; each column with gaps then gets a 0/1 feature that marks
        them.

    Attributes
    ----------
    columns_ : tuple of Column
        The columns of text, of dates and of two words.
    steps_ : ColumnTransformer
        Scikit-learn's imputer and encoder, fitted.
    n_features_in_, feature_names_in_
        As in scikit-learn.
    """

    def __init__(self, missing: bool = False) -> None:
        self.missing = missing

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn medians and values.

        Parameters
        ----------
        X : data frame, shape (n, d)
            Numbers and text; None and NaN are gaps.
        y : ignored

        Returns
        -------
        TableEncoder
            The encoder itself.
        """
        self._fitted(X)
        return self

    def fit_transform(self, X: Any, y: Any = None, **_: Any) -> Any:
        """Learn, and return the same rows as numbers, dense or sparse."""
        return self._fitted(X)

    def transform(self, X: Any) -> Any:
        """Return rows as numbers, shape (n, number of features), dense or sparse."""
        check_is_fitted(self)
        return self.steps_.transform(self._table(X))

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the features' names."""
        return self.steps_.get_feature_names_out(self.feature_names_in_)

    # ---- inside --------------------------------------------------------------------------

    def _fitted(self, X: Any) -> Any:
        refuse_collections(X)
        validate_data(self, X, reset=True, skip_check_array=True)
        self.columns_ = columns_in(X)
        self.steps_ = self._steps()
        return self.steps_.fit_transform(self._table(X))

    def _steps(self) -> Any:
        from sklearn.compose import ColumnTransformer
        from sklearn.impute import SimpleImputer
        from sklearn.preprocessing import OneHotEncoder

        text, numbers = self._places()
        parts: list[tuple[str, Any, list[int]]] = []
        if numbers:
            # even without gaps: an array of objects becomes one of numbers
            imputer = SimpleImputer(strategy="median", add_indicator=self.missing)
            parts.append(("numbers", imputer, numbers))
        if text:
            parts.append(("text", OneHotEncoder(handle_unknown="ignore"), text))
        return ColumnTransformer(parts, verbose_feature_names_out=False)

    def _places(self) -> tuple[list[int], list[int]]:
        """Return the positions of the columns of text, and of those of numbers."""
        columns = [*named(self.feature_names_in_.tolist(), self.columns_)]
        places: tuple[list[int], list[int]] = [], []
        for j, column in enumerate(columns):
            places[not column.is_text].append(j)
        return places

    def _table(self, X: Any) -> np.ndarray:
        """Return the columns in the order of the fit: floats, or objects if some are text."""
        names = self.feature_names_in_.tolist()
        if not hasattr(X, "columns"):
            X = np.asarray(X, dtype=object)
            validate_data(self, X, reset=False, skip_check_array=True)
        columns = [*named(names, self.columns_)]
        some_text = any(column.is_text for column in columns)
        table = np.empty((len(X), len(names)), dtype=object if some_text else np.float64)
        for j, (column, values) in enumerate(zip(columns, values_in(X, names), strict=True)):
            if column.is_text:
                table[:, j] = [np.nan if is_no_word(v) else v for v in values.astype(object)]
            else:
                table[:, j] = in_days(values)
        return table

    # ---- files: another version of scikit-learn may not be able to use its steps ---------

    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__())
        if "steps_" in state:
            steps = state.pop("steps_")
            state["learnt"], state["sparse"] = self._smallest_table(steps), steps.sparse_output_
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        state = dict(state)
        learnt, sparse = state.pop("learnt", None), state.pop("sparse", False)
        super().__setstate__(state)
        if learnt is not None and hasattr(self, "columns_"):
            self.steps_ = self._steps().fit(learnt)
            self.steps_.sparse_output_ = sparse

    def _smallest_table(self, steps: Any) -> np.ndarray:
        """Return a table with these medians, gaps and words, from which a fit learns the same."""
        text, numbers = self._places()
        words = steps.named_transformers_["text"].categories_ if text else []
        table = np.empty((max([2, *map(len, words)]), len(text) + len(numbers)), dtype=object)
        if numbers:
            imputer = steps.named_transformers_["numbers"]
            table[:, numbers] = imputer.statistics_
            if imputer.indicator_ is not None:
                table[0, np.array(numbers)[imputer.indicator_.features_]] = np.nan
        for j, some in zip(text, words, strict=True):
            table[:, j] = np.resize(some, len(table))
        return table if text else table.astype(np.float64)


class _TableEncoder(Step, of=[TableEncoder]):
    file_types = (TableEncoder,)
    results = ("columns_", "steps_")
    encodes = True
    takes_tables = True

    def columns(self, columns: Places) -> Places:
        return step_of(self.fitted.steps_).columns(columns)

    def features(self, features: list[Feature]) -> list[Feature]:
        read = [
            replace(feature, function=replace(feature.function, gap_words=True))
            if isinstance(feature.function, Word)
            else feature
            for feature in features
        ]
        return step_of(self.fitted.steps_).features(read)

    def taken(self, columns: Sequence[Column]) -> Iterator[Column]:
        encoder = self.fitted
        fitted_to = named(encoder.feature_names_in_.tolist(), encoder.columns_)
        for column, own in zip(columns, fitted_to, strict=True):
            yield replace(own, name=column.name, gaps=encoder.missing or own.is_text)
