"""The base of the classifiers with a ``solver``: fitting, and continuing with more rows."""

from collections.abc import Callable
from typing import Any, Self

import numpy as np

from aucmax.basics.checks import refuse_nul
from aucmax.data.classes import two_classes
from aucmax.data.rows import Rows, as_rows, take_rows
from aucmax.data.strata import Strata
from aucmax.estimators.fitting import Fit, Settings, fit, one_pass, step
from aucmax.estimators.labelling import checked, labelled_rows, unchanged_on_error
from aucmax.estimators.linear import LinearScorer
from aucmax.solvers import Solver
from aucmax.solvers.stochastic.core import StochasticSolver

__all__ = ["SolvedScorer"]


class SolvedScorer(LinearScorer):
    """A linear scorer whose coefficients a solver finds.

    A subclass implements `settings` and, if a batch solver can continue with more rows,
    `_accumulated`.
    """

    solver: str | Solver
    tol: float | None
    max_iter: int
    warm_start: bool
    random_state: Any
    verbose: int
    callback: Callable[..., Any] | None

    def settings(self) -> Settings:
        """Return the checked settings of a fit.

        Returns
        -------
        Settings
            The loss, the penalty, the solver and its stopping rule.

        Raises
        ------
        ValueError
            If they are incompatible.
        """
        raise NotImplementedError

    def _accumulated(
        self,
        rows: Rows,
        sign: np.ndarray,
        weight: np.ndarray | None,
        strata: Strata | None,
        classes: np.ndarray,
    ) -> tuple[Fit, dict[str, Any]]:
        """Return the fit of `partial_fit` with a batch solver, and other attributes."""
        raise NotImplementedError

    def __getstate__(self) -> Any:
        # a callback may hold anything, and saving must not fail or carry code because of it
        return {**super().__getstate__(), "callback": None}

    # ---- fitting -------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, strata: Any = None) -> Self:
        """Fit to rows X with labels y.

        Parameters
        ----------
        X : array-like, data frame or sparse, shape (n, d), or Source
            Finite numbers; float32 and float64 are kept. A source is read once for each pass over
            the data, ``passes_`` times in all; it has its own labels and weights, unless others are
            given. So do `Labelled` rows, which the commands pass.
        y : array-like, shape (n,)
            Two labels; the larger one is positive unless ``positive`` names one. The name of a
            pandas or polars series is kept as ``target_name_``.
        sample_weight : array-like, shape (n,), optional
            Non-negative; rows of weight zero are left out.
        strata : array-like, shape (n,), optional
            The stratum of each row, such as its day, hospital, query or matched set: only rows of
            the same stratum are compared. Strata with rows of only one class are ignored. By
            default those of a source, whose parts may share a stratum. Not for stochastic solvers.

        Raises
        ------
        ValueError
            For only one class, values that are not finite, negative or all-zero weights, or
            incompatible settings. The model stays as it was.
        """
        settings = self.settings()
        with unchanged_on_error(self):
            rows = labelled_rows(self, X, y, sample_weight, *one_pass(settings), strata=strata)
            fitted = fit(rows, settings, self._start(rows.store.n_features))
            fitted.warn(stacklevel=2)
        self.take_over(fitted, rows.classes)
        if rows.in_parts:
            self.passes_ = rows.store.passes.count
        return self

    def take_over(self, fitted: Fit, classes: np.ndarray) -> None:
        """Adopt the result of a fit.

        Parameters
        ----------
        fitted : Fit
            A fit to rows whose feature names this estimator has recorded.
        classes : ndarray, shape (2,)
            The negative and the positive label.
        """
        for name in (
            "moments_", "_stream", "passes_", "calibration_", "training_rows_", "strata_",
            "label_words_",
        ):  # fmt: skip
            self.__dict__.pop(name, None)
        self.__dict__.update(fitted.attributes, classes_=classes)
        if fitted.stream is not None:
            self._stream = fitted.stream

    def _partial_fit(
        self, X: Any, y: Any, classes: Any, sample_weight: Any, strata: Any = None
    ) -> Self:
        """Continue with more rows; a batch solver does so by `_accumulated`."""
        settings = self.settings()
        if strata is not None:
            settings.check_strata()
        is_first = not hasattr(self, "classes_")
        update: dict[str, Any] = {}
        with unchanged_on_error(self):
            X, y, weight = checked(self, X, y, sample_weight, reset=is_first)
            labels = self._classes_of_stream(classes, y)
            sign = np.where(y == labels[1], 1.0, -1.0)
            of_rows = self._strata_of(strata, len(y))
            if is_first or weight is None or weight.any():
                rows = as_rows(X)
                if weight is not None and not weight.all():
                    weighed = np.flatnonzero(weight)
                    rows, sign = take_rows(rows, weighed), sign[weighed]
                    weight = weight[weighed]
                    of_rows = None if of_rows is None else of_rows.at(weighed)
                if isinstance(settings.solver, StochasticSolver):
                    update = self._stepped(rows, sign, weight, settings)
                else:
                    addition = rows, sign, weight, of_rows
                    fitted, attributes = self._accumulated(*addition, labels)
                    fitted.warn(stacklevel=3)
                    update = fitted.attributes | attributes
        if update and "spread_" not in update:  # a stream does not update it
            self.__dict__.pop("spread_", None)
        self.__dict__.pop("calibration_", None)
        self.__dict__.update(update, classes_=labels)
        return self

    # ---- inside --------------------------------------------------------------------------

    def _strata_of(self, strata: Any, n: int) -> Strata | None:
        """Return the strata of n rows, checked; None if all rows are compared."""
        return None if strata is None else Strata.of(strata, n)

    def check_state(self) -> None:
        super().check_state()
        settings = self.settings()
        if not hasattr(self, "coef_"):
            return
        moments = getattr(self, "moments_", None)
        if moments is not None:
            if moments.n_features != self.n_features_in_:
                raise ValueError("its moments are those of another number of features")
            if not np.array_equal(moments.classes, np.sort(self.classes_)):
                raise ValueError("its moments are those of other classes")
        stream = getattr(self, "_stream", None)
        if stream is None:
            return
        parts = {"solver": str, "passes": int, "rng": np.random.RandomState, "steps": dict}
        if not isinstance(stream, dict) or any(
            not isinstance(stream.get(name), cls) for name, cls in parts.items()
        ):
            raise ValueError("the state from which it continues is incomplete")
        solver, d = settings.solver, self.n_features_in_
        if isinstance(solver, StochasticSolver) and solver.name == stream["solver"]:
            solver.check_steps(stream["steps"], d, self._named(settings).penalty)

    def _classes_of_stream(self, classes: Any, y: np.ndarray) -> np.ndarray:
        """Return the two labels of a stream; raise ValueError if y has any other."""
        labels = getattr(self, "classes_", None)
        if classes is not None:
            refuse_nul(classes)
            named = np.unique(np.asarray(classes))
            if labels is not None and not np.array_equal(named, np.sort(labels)):
                raise ValueError(
                    f"classes={named.tolist()} differ from those of the first call, "
                    f"{labels.tolist()}."
                )
            if len(named) != 2:
                raise ValueError(
                    f"classes must hold two labels; got {len(named)}: {named.tolist()}."
                )
            labels = two_classes(named, self.positive) if labels is None else labels
        if labels is None:
            if len(np.unique(y)) == 1:
                raise ValueError(
                    "the first call of partial_fit got rows of only one class; name both labels "
                    "with classes=[…, …]."
                )
            labels = two_classes(np.unique(y), self.positive)
        if self.positive not in (None, labels.tolist()[1]):
            raise ValueError(
                f"positive={self.positive!r} differs from the first call's, "
                f"{labels.tolist()[1]!r}; begin with a new estimator."
            )
        unknown = np.setdiff1d(y, labels)
        if len(unknown):
            raise ValueError(
                f"y holds the label {unknown.tolist()[0]!r}, which is not among the classes "
                f"{labels.tolist()}."
            )
        return labels

    def _named(self, settings: Settings) -> Settings:
        """Return settings whose penalty has a value for each recorded feature."""
        return settings.named(self.n_features_in_, getattr(self, "feature_names_in_", None))

    def _start(self, d: int) -> np.ndarray | None:
        """Return the coefficients to start from, or None."""
        if not self.warm_start or not hasattr(self, "coef_"):
            return None
        return self.coef_[0].copy() if self.coef_.shape[1] == d else None

    def _stepped(
        self, rows: Any, sign: np.ndarray, weight: np.ndarray | None, settings: Settings
    ) -> dict[str, Any]:
        """Return the attributes that a stochastic `partial_fit` changes: state and solution."""
        fitted = step(getattr(self, "_stream", None), rows, sign, weight, self._named(settings))
        if fitted is not None:
            return fitted.attributes | {"_stream": fitted.stream}
        if hasattr(self, "coef_"):
            return {}
        assert settings.solver is not None
        return Fit.of_no_rows(self.n_features_in_, settings.solver.name).attributes
