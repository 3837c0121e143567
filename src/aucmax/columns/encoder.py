"""TableEncoder: numbers from a table that holds text, gaps or dates."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from aucmax.basics.checks import refuse_collections, refuse_missing_columns
from aucmax.basics.days import in_days
from aucmax.basics.gaps import is_no_word
from aucmax.columns.functions import Feature, Word
from aucmax.columns.steps import Column, Kind, Places, Step, step_of

__all__ = ["TableEncoder"]


class TableEncoder(TransformerMixin, BaseEstimator):
    """Medians for missing numbers, a 0/1 feature for each value of a text column.

    Takes a data frame, whose columns it finds by name, or an array. A date counts as the days since
    1970-01-01. A value of text that training did not have counts as none of those it had; a gap in
    text is a value of its own, and so are the words that count as one in files, such as ``n/a``.

    Parameters
    ----------
    text : sequence of str
        The columns of text.
    missing : bool
        Whether numbers may be missing; each column with gaps then gets a 0/1 feature that says so.
    dates : mapping, optional
        The form of the columns that files hold as dates and `aucmax.datasets.read` gives as days.

    Attributes
    ----------
    columns_ : ColumnTransformer
        Scikit-learn's imputer and encoder, fitted.
    n_features_in_, feature_names_in_
        As in scikit-learn.
    """

    def __init__(
        self,
        text: Sequence[str] = (),
        missing: bool = False,
        dates: Mapping[str, str] | None = None,
    ) -> None:
        self.text = text
        self.missing = missing
        self.dates = dates

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
            Itself.
        """
        self._fitted(X)
        return self

    def fit_transform(self, X: Any, y: Any = None, **_: Any) -> Any:
        """Learn, and return the same rows as numbers, dense or sparse."""
        return self._fitted(X)

    def transform(self, X: Any) -> Any:
        """Return rows as numbers, shape (n, number of features), dense or sparse."""
        check_is_fitted(self)
        return self.columns_.transform(self._table(X))

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the features' names."""
        return self.columns_.get_feature_names_out(self.feature_names_in_)

    # ---- inside --------------------------------------------------------------------------

    def _fitted(self, X: Any) -> Any:
        refuse_collections(X)
        validate_data(self, X, reset=True, skip_check_array=True)
        self.columns_ = self._steps()
        return self.columns_.fit_transform(self._table(X))

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
        """Where the columns of text are, and those of numbers."""
        names = self.feature_names_in_.tolist()
        text = [names.index(name) for name in self.text]
        return text, [j for j in range(len(names)) if j not in text]

    def _table(self, X: Any) -> np.ndarray:
        """Return the columns in the order of the fit: floats, or objects where some are text."""
        names = self.feature_names_in_.tolist()
        framed = hasattr(X, "columns")
        if framed:
            refuse_missing_columns(X, names)
        else:
            X = np.asarray(X, dtype=object)
            validate_data(self, X, reset=False, skip_check_array=True)
        table = np.empty((len(X), len(names)), dtype=object if self.text else np.float64)
        for j, name in enumerate(names):
            values = X[name] if framed else X[:, j]
            if name in self.text:
                table[:, j] = [np.nan if is_no_word(v) else v for v in np.asarray(values, object)]
            else:
                table[:, j] = in_days(np.asarray(values))
        return table

    # ---- files: a step of scikit-learn may be of no use to another version of it ---------

    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__())
        if "columns_" in state:
            steps = state.pop("columns_")
            state["learnt"], state["sparse"] = self._smallest_table(steps), steps.sparse_output_
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        state = dict(state)
        learnt, sparse = state.pop("learnt", None), state.pop("sparse", False)
        super().__setstate__(state)
        if learnt is not None:
            self.columns_ = self._steps().fit(learnt)
            self.columns_.sparse_output_ = sparse

    def _smallest_table(self, steps: Any) -> np.ndarray:
        """Return a table with these medians, gaps and words: a fit to it learns the same."""
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
    results = ("columns_",)
    encodes = True

    def columns(self, columns: Places) -> Places:
        return step_of(self.fitted.columns_).columns(columns)

    def features(self, features: list[Feature]) -> list[Feature]:
        read = [
            replace(feature, function=replace(feature.function, gap_words=True))
            if isinstance(feature.function, Word)
            else feature
            for feature in features
        ]
        return step_of(self.fitted.columns_).features(read)

    def taken(self, columns: Sequence[Column]) -> Iterator[Column]:
        encoder = self.fitted
        for column, name in zip(columns, encoder.feature_names_in_.tolist(), strict=True):
            kind = Kind.text if name in encoder.text else Kind.number
            gaps = encoder.missing or kind is Kind.text
            yield Column(column.name, kind, gaps, date=self.dates.get(name))

    @property
    def reading(self) -> dict[str, Any]:
        return {"text": self.fitted.text, "missing": self.fitted.missing, "dates": self.dates}
