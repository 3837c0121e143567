"""The displays of `aucmax.plots`: figures of the pages on anyone's axes."""

import inspect
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from aucmax.basics.needs import needs
from aucmax.explain import effects
from aucmax.explain.column_shapes import shape_of
from aucmax.explain.pair_shapes import PairShape
from aucmax.metrics.reading import read
from aucmax.metrics.scored import Scored
from aucmax.report.curves import (
    ScoredSets,
    gains_figure,
    lift_figure,
    precision_figure,
    roc_figure,
)
from aucmax.report.distributions import calibration_figure, score_figure
from aucmax.report.explained import MAP_NOTE, effects_figure, map_figures, shape_figures
from aucmax.report.figures import Figure, convergence_figure
from aucmax.report.search import Paths

__all__ = [
    "AlphaPathDisplay",
    "CalibrationDisplay",
    "ConvergenceDisplay",
    "EffectsDisplay",
    "GainsDisplay",
    "LiftDisplay",
    "PrecisionRecallDisplay",
    "RocDisplay",
    "ScoresDisplay",
    "ShapeDisplay",
]

_CAPTION_WIDTH = 60  # characters in a line below the axes

_EVERY_DISPLAY = """Parameters
----------
drawing : aucmax.report.figures.Figure
    The figure to draw.

Attributes
----------
ax_, figure_ : matplotlib Axes and Figure
lines_ : dict of str to matplotlib Line2D
    The lines by their names in the legend.
"""


def _with_caption(figure: Figure, caption: str) -> Figure:
    """Put a caption below the label of the x axis, since axes have no captions."""
    lines = textwrap.wrap(caption, _CAPTION_WIDTH)
    return replace(figure, xlabel="\n".join([figure.xlabel, *lines]))


class _Display:
    """A figure of the report, to be drawn on matplotlib's axes."""

    def __init_subclass__(cls) -> None:
        # the sections common to all displays come before the examples
        summary, *examples = inspect.cleandoc(cls.__doc__ or "").split("\nExamples\n", 1)
        parts = [summary.rstrip(), _EVERY_DISPLAY, *("Examples\n" + part for part in examples)]
        cls.__doc__ = "\n\n".join(part.rstrip() for part in parts) + "\n"

    def __init__(self, drawing: Figure) -> None:
        self.drawing = drawing

    def plot(self, ax: Any = None) -> Self:
        """Draw on axes; existing lines keep their colours.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            By default the axes of a new figure.

        Returns
        -------
        self
            With ``ax_``, ``figure_`` and ``lines_``.
        """
        if ax is None:
            pyplot = needs("matplotlib.pyplot", "a plot")

            _, ax = pyplot.subplots(layout="constrained")
        n_labelled = sum(not line.get_label().startswith("_") for line in ax.get_lines())
        self.lines_ = self.drawing.draw(ax, after=n_labelled)
        self.ax_, self.figure_ = ax, ax.figure
        if not ax.get_title():
            ax.set_title(self.drawing.title)
        if not self.drawing.names:
            ax.legend(frameon=False, fontsize="small")
        return self


class _ScoresDisplay(_Display):
    """A display of the scores of labelled rows."""

    _figure: ClassVar[Callable[..., Figure]]  # of `ScoredSets`

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        y_score: ArrayLike,
        *,
        sample_weight: ArrayLike | None = None,
        pos_label: Any = None,
        confidence: float = 0.95,
        name: str | None = None,
        ax: Any = None,
        **settings: Any,
    ) -> Self:
        """Draw the display from labels and scores.

        Parameters
        ----------
        y_true : array-like of shape (n,)
            Labels of two classes.
        y_score : array-like of shape (n,)
            The scores; for `CalibrationDisplay` probabilities.
        sample_weight : array-like of shape (n,), optional
            Weights of the rows, zero or more.
        pos_label : label, optional
            The positive label; by default the larger one.
        confidence : float, default=0.95
            Confidence level of the intervals.
        name : str, optional
            Name of the scores in the legend.
        ax : matplotlib Axes, optional
            By default the axes of a new figure.
        **settings
            Further settings of the display.

        Returns
        -------
        display
        """
        positive, weight, score = read(y_true, sample_weight, pos_label, y_score=y_score)
        scored = {name or "scores": [Scored(positive, score, weight)]}
        return cls(cls._figure(ScoredSets(scored, confidence), **settings)).plot(ax)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: ArrayLike,
        y: ArrayLike,
        *,
        sample_weight: ArrayLike | None = None,
        confidence: float = 0.95,
        name: str | None = None,
        ax: Any = None,
        **settings: Any,
    ) -> Self:
        """Draw the display from a fitted classifier and labelled rows.

        Parameters
        ----------
        estimator : estimator
            A fitted binary classifier; ``classes_[1]`` is positive. The scores are those of
            ``decision_function``, or of ``predict_proba`` if there is none; `CalibrationDisplay`
            uses ``predict_proba``.
        X : array-like of shape (n, d)
            Rows.
        y : array-like of shape (n,)
            Their labels.
        sample_weight : array-like of shape (n,), optional
            Weights of the rows, zero or more.
        confidence : float, default=0.95
            Confidence level of the intervals.
        name : str, optional
            Name of the scores in the legend; by default the estimator's class.
        ax : matplotlib Axes, optional
            By default the axes of a new figure.
        **settings
            Further settings of the display.

        Returns
        -------
        display
        """
        check_is_fitted(estimator)
        return cls.from_predictions(
            y,
            cls._scored(estimator, X),
            sample_weight=sample_weight,
            pos_label=estimator.classes_[1],
            confidence=confidence,
            name=name or type(estimator).__name__,
            ax=ax,
            **settings,
        )

    @classmethod
    def _scored(cls, estimator: Any, X: ArrayLike) -> np.ndarray:
        if hasattr(estimator, "decision_function"):
            return np.asarray(estimator.decision_function(X))
        return np.asarray(estimator.predict_proba(X))[:, 1]


class RocDisplay(_ScoresDisplay):
    """ROC curve with a confidence band.

    Made by ``from_estimator`` or ``from_predictions``. With ``few=True`` the false-positive rate
    has a logarithmic axis, which magnifies the part with few false alarms.

    Examples
    --------
    >>> from aucmax.plots import RocDisplay
    >>> display = RocDisplay.from_predictions([0, 0, 1, 1], [0.1, 0.4, 0.3, 0.8], name="mine")
    >>> display.ax_.get_xlabel()
    'false-positive rate'
    """

    _figure = staticmethod(roc_figure)


class PrecisionRecallDisplay(_ScoresDisplay):
    """Precision over recall, with Wilson's intervals.

    Made by ``from_estimator`` or ``from_predictions``. If positives are rare, precision has a
    logarithmic axis.

    Examples
    --------
    >>> from aucmax.plots import PrecisionRecallDisplay
    >>> display = PrecisionRecallDisplay.from_predictions([0, 0, 1, 1], [0.1, 0.4, 0.3, 0.8])
    >>> display.ax_.get_ylabel()
    'precision'
    """

    _figure = staticmethod(precision_figure)


class GainsDisplay(_ScoresDisplay):
    """Cumulative gains: the share of the positives found, over the share of the rows flagged.

    Made by ``from_estimator`` or ``from_predictions``.

    Examples
    --------
    >>> from aucmax.plots import GainsDisplay
    >>> display = GainsDisplay.from_predictions([0, 0, 1, 1], [0.1, 0.4, 0.3, 0.8])
    >>> display.ax_.get_xlabel()
    'share flagged'
    """

    _figure = staticmethod(gains_figure)


class LiftDisplay(_ScoresDisplay):
    """Lift: precision in multiples of the share of positives, over the share of the rows flagged.

    Made by ``from_estimator`` or ``from_predictions``.

    Examples
    --------
    >>> from aucmax.plots import LiftDisplay
    >>> display = LiftDisplay.from_predictions([0, 0, 1, 1], [0.1, 0.4, 0.3, 0.8])
    >>> display.ax_.get_ylabel()
    'lift over random'
    """

    _figure = staticmethod(lift_figure)


class ScoresDisplay(_ScoresDisplay):
    """The distribution of the scores of each class.

    Made by ``from_estimator`` or ``from_predictions``.

    Examples
    --------
    >>> from aucmax.plots import ScoresDisplay
    >>> display = ScoresDisplay.from_predictions([0, 0, 1, 1], [0.1, 0.4, 0.3, 0.8], name="mine")
    >>> sorted(display.lines_)
    ['mine: negative', 'mine: positive']
    """

    _figure = staticmethod(score_figure)


class CalibrationDisplay(_ScoresDisplay):
    """Reliability: share of positives over predicted probability, with Wilson's intervals.

    Made by ``from_estimator`` or ``from_predictions``. Bins have about equal numbers of positives;
    if these are rare, both axes are logarithmic.

    Examples
    --------
    >>> from aucmax.plots import CalibrationDisplay
    >>> display = CalibrationDisplay.from_predictions([0, 0, 1, 1], [0.1, 0.4, 0.3, 0.8])
    >>> display.ax_.get_xlabel()
    'predicted probability'
    """

    _figure = staticmethod(calibration_figure)

    @classmethod
    def _scored(cls, estimator: Any, X: ArrayLike) -> np.ndarray:
        if not hasattr(estimator, "predict_proba"):
            raise AttributeError(
                f"{type(estimator).__name__} has no predict_proba, and scores are not "
                "probabilities; tune it with AUCClassifierCV(probability=True), or wrap it in "
                "CalibratedClassifierCV."
            )
        return np.asarray(estimator.predict_proba(X))[:, 1]


class EffectsDisplay(_Display):
    """The effects of a model's columns, as dots with intervals (`aucmax.effects`).

    If there are no intervals, a note below the figure says why.

    Made by ``from_estimator``.
    """

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: ArrayLike,
        y: ArrayLike,
        *,
        sample_weight: ArrayLike | None = None,
        confidence: float = 0.95,
        feature_names: Sequence[str] | None = None,
        most: int = 20,
        ax: Any = None,
    ) -> Self:
        """Draw the display from a fitted model and the rows it was fitted to, or similar ones.

        Parameters
        ----------
        estimator, X, y, sample_weight, confidence, feature_names
            As for `aucmax.effects`.
        most : int, default=20
            Number of effects to show, the largest first.
        ax : matplotlib Axes, optional
            By default the axes of a new figure.

        Returns
        -------
        display

        Examples
        --------
        >>> from sklearn.datasets import load_breast_cancer
        >>> from aucmax import AUCClassifier
        >>> from aucmax.plots import EffectsDisplay
        >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
        >>> display = EffectsDisplay.from_estimator(AUCClassifier().fit(X, y), X, y, most=5)
        >>> display.ax_.get_yticklabels()[0].get_text()
        'worst perimeter'
        """
        table = effects(estimator, X, y, sample_weight, confidence, feature_names)
        figure = effects_figure(table, confidence, most)
        return cls(_with_caption(figure, table.note)).plot(ax)


class ShapeDisplay(_Display):
    """Contribution of each value of a column to a model's scores, with intervals.

    For a model that is not linear in the column, such as one with splines or encoded words, or a
    scorecard: a curve for numbers, dots for words. Ticks at the bottom of a curve are the deciles
    of the rows. If nearly all rows are at one end, the axis is logarithmic, or leaves out the last
    percent of the rows; a note below says what is not drawn. For a pair of columns of an
    `AdditiveAUCClassifier` it is a map of what both add together. Made by ``from_estimator``.
    """

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: ArrayLike,
        column: str,
        *,
        sample_weight: ArrayLike | None = None,
        confidence: float = 0.95,
        feature_names: Sequence[str] | None = None,
        ax: Any = None,
    ) -> Self:
        """Draw the display from a fitted model and the rows it was fitted to, or similar ones.

        Parameters
        ----------
        estimator, X, y, sample_weight, confidence, feature_names
            As for `aucmax.effects`.
        column : str
            Its name, or its number from 1 if columns have no names; a pair is "age × income".
        ax : matplotlib Axes, optional
            By default the axes of a new figure.

        Returns
        -------
        display

        Raises
        ------
        ValueError
            If the contribution of the column is linear, or the model has no such column.

        Examples
        --------
        >>> from sklearn.datasets import load_breast_cancer
        >>> from sklearn.pipeline import make_pipeline
        >>> from aucmax import AUCClassifier
        >>> from aucmax.additive import SplineFeatures
        >>> from aucmax.plots import ShapeDisplay
        >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
        >>> model = make_pipeline(SplineFeatures(), AUCClassifier()).fit(X, y)
        >>> display = ShapeDisplay.from_estimator(model, X, y, "mean area")
        >>> display.ax_.get_xlabel()
        'mean area'
        """
        name = str(column)
        shape = shape_of(estimator, X, y, name, sample_weight, confidence, feature_names)
        if isinstance(shape, PairShape):
            (figure,) = map_figures([shape])
            return cls(_with_caption(figure, MAP_NOTE)).plot(ax)
        (figure,) = shape_figures([shape])
        return cls(_with_caption(figure, figure.caption)).plot(ax)


class AlphaPathDisplay(_Display):
    """Held-out score over alpha, one line for each loss and `standardize` that a search tried.

    Made by ``from_estimator``.
    """

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None) -> Self:
        """Draw the display from a fitted `AUCClassifierCV`.

        Parameters
        ----------
        estimator : AUCClassifierCV
            Fitted.
        ax : matplotlib Axes, optional
            By default the axes of a new figure.

        Returns
        -------
        display

        Examples
        --------
        >>> from sklearn.datasets import load_breast_cancer
        >>> from aucmax import AUCClassifierCV
        >>> from aucmax.plots import AlphaPathDisplay
        >>> X, y = load_breast_cancer(return_X_y=True)
        >>> search = AUCClassifierCV(losses=("square",), alphas=[0.01, 0.1, 1.0]).fit(X, y)
        >>> AlphaPathDisplay.from_estimator(search).ax_.get_xlabel()
        'alpha'
        """
        check_is_fitted(estimator, "auc_path_")
        return cls(Paths.of(estimator).figure()).plot(ax)


class ConvergenceDisplay(_Display):
    """Distance to the optimum over passes, for fits that kept their history.

    Made by ``from_estimator``.
    """

    @classmethod
    def from_estimator(cls, estimator: Any, *, name: str | None = None, ax: Any = None) -> Self:
        """Draw the display from a fitted model, or from several by name.

        Parameters
        ----------
        estimator : AUCClassifier or HingeClassifier, or mapping of str to such
            Fitted with a ``callback`` or ``verbose``, so that it has a ``history_``.
        name : str, optional
            Name of a single model in the legend; by default its solver.
        ax : matplotlib Axes, optional
            By default the axes of a new figure.

        Returns
        -------
        display

        Examples
        --------
        >>> from sklearn.datasets import load_breast_cancer
        >>> from aucmax import AUCClassifier
        >>> from aucmax.plots import ConvergenceDisplay
        >>> X, y = load_breast_cancer(return_X_y=True)
        >>> model = AUCClassifier(0.1, solver="vrspam", callback=lambda state: None).fit(X, y)
        >>> ConvergenceDisplay.from_estimator(model).ax_.get_xlabel()
        'passes over the data'
        """
        models: Mapping[str, Any] = estimator if isinstance(estimator, Mapping) else {}
        if not models:
            check_is_fitted(estimator)
            models = {name or estimator.solver_: estimator}
        courses = {}
        for label, model in models.items():
            check_is_fitted(model)
            if not len(getattr(model, "history_", ())):
                raise ValueError(
                    f"{label} kept no history; fit AUCClassifier and HingeClassifier with "
                    "callback=lambda state: None to keep it."
                )
            courses[label] = model.history_["passes"], model.history_["optimality"]
        drawing = convergence_figure(
            courses,
            name="optimality",
            title="Distance to the optimum",
            caption="(J − J*)/(J(0) − J*), or a bound on it.",
            ylabel="optimality",
        )
        return cls(drawing).plot(ax)
