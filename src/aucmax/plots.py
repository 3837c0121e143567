"""Plots of scores and models, by scikit-learn's convention of displays.

A display is made with ``from_estimator`` or ``from_predictions``, which draw it at once, and drawn
again with ``plot(ax=…)``. They show what the pages of ``aucmax evaluate`` and ``cv`` show, by the
same code, on matplotlib's axes; matplotlib is imported when something is drawn.
"""

import inspect
import textwrap
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from aucmax import metrics
from aucmax.basics.needs import needs
from aucmax.explain import effects
from aucmax.explain.column_shapes import shape_of
from aucmax.metrics.reading import read
from aucmax.report.curves import (
    gains_figure,
    lift_figure,
    precision_figure,
    roc_figure,
)
from aucmax.report.distributions import calibration_figure, score_figure
from aucmax.report.explained import effects_figure, shape_figures
from aucmax.report.figures import Figure, Line, around, convergence_figure, tuning_figure
from aucmax.report.text import auc_text, interval_text

# which rows are positive, their scores, and their weights
Test = tuple[np.ndarray, np.ndarray, np.ndarray | None]

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

_WORDS = 60  # characters of a line below the axes

_EVERY_DISPLAY = """Parameters
----------
drawing : aucmax.report.figures.Figure
    What is drawn.

Attributes
----------
ax_, figure_ : matplotlib Axes and Figure
lines_ : dict of str to matplotlib Line2D
    By their names in the legend.
"""


def _said_below(figure: Figure, words: str) -> Figure:
    """Put words that a page has in the caption, which axes lack, below the axes."""
    return replace(figure, xlabel="\n".join([figure.xlabel, *textwrap.wrap(words, _WORDS)]))


class _Display:
    """A figure of the report, to be drawn on matplotlib's axes."""

    def __init_subclass__(cls) -> None:
        # what is the same for every display is written once, in front of its examples
        said, *examples = inspect.cleandoc(cls.__doc__ or "").split("\nExamples\n", 1)
        parts = [said.rstrip(), _EVERY_DISPLAY, *("Examples\n" + part for part in examples)]
        cls.__doc__ = "\n\n".join(part.rstrip() for part in parts) + "\n"

    def __init__(self, drawing: Figure) -> None:
        self.drawing = drawing

    def plot(self, ax: Any = None) -> Self:
        """Draw on axes; lines that are there already keep their colours.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            By default those of a new figure.

        Returns
        -------
        self
            With ``ax_``, ``figure_`` and ``lines_``.
        """
        if ax is None:
            pyplot = needs("matplotlib.pyplot", "a plot")

            _, ax = pyplot.subplots(layout="constrained")
        there = len([line for line in ax.get_lines() if not line.get_label().startswith("_")])
        self.lines_ = self.drawing.draw(ax, after=there)
        self.ax_, self.figure_ = ax, ax.figure
        if not ax.get_title():
            ax.set_title(self.drawing.title)
        if not self.drawing.names:
            ax.legend(frameon=False, fontsize="small")
        return self


class _ScoresDisplay(_Display):
    """A display of the scores of labelled rows."""

    _of_scores: ClassVar[Callable[..., Figure]]

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
        """Draw it from labels and scores.

        Parameters
        ----------
        y_true : array-like of shape (n,)
            The labels, of two kinds.
        y_score : array-like of shape (n,)
            The scores; for `CalibrationDisplay` probabilities.
        sample_weight : array-like of shape (n,), optional
            Weights of the rows, zero or more.
        pos_label : label, optional
            The positive one; by default the larger.
        confidence : float, default=0.95
            Of the intervals.
        name : str, optional
            What the legend calls the scores.
        ax : matplotlib Axes, optional
            By default those of a new figure.
        **settings
            Those of the display, if it has any.

        Returns
        -------
        display
        """
        positive, weight, score = read(y_true, sample_weight, pos_label, y_score=y_score)
        test = positive, score, weight
        return cls(cls._drawn(name or "scores", test, confidence, **settings)).plot(ax)

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
        """Draw it from a fitted classifier and labelled rows.

        Parameters
        ----------
        estimator : estimator
            Fitted, of two classes; ``classes_[1]`` is positive. Its ``decision_function`` gives the
            scores, or else its ``predict_proba``; for `CalibrationDisplay` the latter.
        X : array-like of shape (n, d)
            Rows.
        y : array-like of shape (n,)
            Their labels.
        sample_weight : array-like of shape (n,), optional
            Weights of the rows, zero or more.
        confidence : float, default=0.95
            Of the intervals.
        name : str, optional
            What the legend calls the scores; by default the estimator's class.
        ax : matplotlib Axes, optional
            By default those of a new figure.
        **settings
            Those of the display, if it has any.

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

    @classmethod
    def _drawn(cls, name: str, test: Test, confidence: float) -> Figure:
        raise NotImplementedError


class RocDisplay(_ScoresDisplay):
    """ROC curve with a confidence band.

    Made by ``from_estimator`` or ``from_predictions``. With ``few=True`` the false-positive rate
    has a logarithmic axis, to see the end with few false alarms.

    Examples
    --------
    >>> from aucmax.plots import RocDisplay
    >>> display = RocDisplay.from_predictions([0, 0, 1, 1], [0.1, 0.4, 0.3, 0.8], name="mine")
    >>> display.ax_.get_xlabel()
    'false-positive rate'
    """

    @classmethod
    def _drawn(cls, name: str, test: Test, confidence: float, few: bool = False) -> Figure:
        auc, low, high, _ = metrics.auc_interval(*test[:2], confidence, sample_weight=test[2])
        words = {name: f"AUC {auc_text(auc)} ({interval_text(low, high)})"}
        return roc_figure({name: [test]}, confidence, details=words, few=few)


class PrecisionRecallDisplay(_ScoresDisplay):
    """Precision over recall, with Wilson's intervals.

    Made by ``from_estimator`` or ``from_predictions``. Where positives are rare, precision has a
    logarithmic axis.

    Examples
    --------
    >>> from aucmax.plots import PrecisionRecallDisplay
    >>> display = PrecisionRecallDisplay.from_predictions([0, 0, 1, 1], [0.1, 0.4, 0.3, 0.8])
    >>> display.ax_.get_ylabel()
    'precision'
    """

    @classmethod
    def _drawn(cls, name: str, test: Test, confidence: float) -> Figure:
        average = metrics.average_precision(*test[:2], sample_weight=test[2])
        words = {name: f"average precision {auc_text(average)}"}
        return precision_figure({name: [test]}, confidence, details=words)


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

    @classmethod
    def _drawn(cls, name: str, test: Test, confidence: float) -> Figure:
        return gains_figure({name: test}, confidence)


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

    @classmethod
    def _drawn(cls, name: str, test: Test, confidence: float) -> Figure:
        return lift_figure({name: test}, confidence)


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

    @classmethod
    def _drawn(cls, name: str, test: Test, confidence: float) -> Figure:
        return score_figure(name, test)


class CalibrationDisplay(_ScoresDisplay):
    """Reliability: predicted probabilities beside the shares of positives, with Wilson's intervals.

    Made by ``from_estimator`` or ``from_predictions``. Each bin is to hold as many positives; where
    these are rare, both axes are logarithmic.

    Examples
    --------
    >>> from aucmax.plots import CalibrationDisplay
    >>> display = CalibrationDisplay.from_predictions([0, 0, 1, 1], [0.1, 0.4, 0.3, 0.8])
    >>> display.ax_.get_xlabel()
    'predicted probability'
    """

    @classmethod
    def _scored(cls, estimator: Any, X: ArrayLike) -> np.ndarray:
        if not hasattr(estimator, "predict_proba"):
            raise AttributeError(
                f"{type(estimator).__name__} has no predict_proba, and scores are no "
                "probabilities; tune it with AUCClassifierCV(probability=True), or put "
                "CalibratedClassifierCV around it."
            )
        return np.asarray(estimator.predict_proba(X))[:, 1]

    @classmethod
    def _drawn(cls, name: str, test: Test, confidence: float) -> Figure:
        return calibration_figure(name, test, confidence)


class EffectsDisplay(_Display):
    """The effects of a model's columns, as dots with intervals (`aucmax.effects`).

    Where there are no intervals, what is written below says why.

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
        """Draw it from a fitted model and the rows it was fitted to, or others like them.

        Parameters
        ----------
        estimator, X, y, sample_weight, confidence, feature_names
            As for `aucmax.effects`.
        most : int, default=20
            How many effects to show, the largest first.
        ax : matplotlib Axes, optional
            By default those of a new figure.

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
        found = effects(estimator, X, y, sample_weight, confidence, feature_names)
        figure = effects_figure(found, confidence, most)
        return cls(_said_below(figure, found.note)).plot(ax)


class ShapeDisplay(_Display):
    """What the values of a column add to a model's scores, with an interval at each value.

    For a model that bends, such as one behind splines or words, or a scorecard: a curve of numbers,
    dots of words. Strokes at the foot of a curve are the deciles of the rows; where nearly all
    rows crowd at one end, the axis is logarithmic, or leaves out the last percent of the rows;
    what is not drawn is written below. Made by ``from_estimator``.
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
        """Draw it from a fitted model and the rows it was fitted to, or others like them.

        Parameters
        ----------
        estimator, X, y, sample_weight, confidence, feature_names
            As for `aucmax.effects`.
        column : str
            Its name; its number, from 1, where columns have none.
        ax : matplotlib Axes, optional
            By default those of a new figure.

        Returns
        -------
        display

        Raises
        ------
        ValueError
            Where the column adds a straight line, or is none of the model's.

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
        (figure,) = shape_figures([shape])
        return cls(_said_below(figure, figure.caption)).plot(ax)


class AlphaPathDisplay(_Display):
    """Held-out score over alpha, a line for each loss and `standardize` that a search tried.

    Made by ``from_estimator``.
    """

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None) -> Self:
        """Draw it from a fitted `AUCClassifierCV`.

        Parameters
        ----------
        estimator : AUCClassifierCV
            Fitted.
        ax : matplotlib Axes, optional
            By default those of a new figure.

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
        scores = estimator.auc_path_
        i = estimator.losses_.index((estimator.loss_, estimator.within_))
        j = list(estimator.standardize).index(estimator.standardize_)
        k = list(estimator.l1_ratios).index(estimator.l1_ratio_)
        at = int(np.argmin(np.abs(estimator.alphas_[i, j] - estimator.alpha_)))
        apart = scores - scores[:, i, j, k, at][:, None, None, None, None]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # of cells that were not tried
            mean = np.nanmean(scores, axis=0)
            spread = np.nanstd(apart, axis=0, ddof=int(len(scores) > 1))
        lines = {}
        for place in np.ndindex(mean.shape[:-1]):
            tried = np.isfinite(mean[place])
            if not tried.any():
                continue
            i, j, k = place
            loss, within = estimator.losses_[i]
            words = [str(loss)]
            words += [f"within {within}"] * (within != 0.5)
            words.append(f"standardize {estimator.standardize[j]:g}")
            words += [f"l1 ratio {estimator.l1_ratios[k]:g}"] * (len(estimator.l1_ratios) > 1)
            lines[", ".join(words)] = Line(
                estimator.alphas_[i, j][tried],
                mean[place][tried],
                around(mean[place][tried], spread[place][tried]),
                points=True,
            )
        score = "AUC" if estimator.scoring == "auc" else str(estimator.scoring)
        drawing = tuning_figure(
            lines,
            (float(estimator.alpha_), float(estimator.best_score_)),
            f"Mean of {len(scores)} folds. Band: one standard deviation, to either side, of the "
            "difference from the choice in the same fold.",
            score,
        )
        return cls(drawing).plot(ax)


class ConvergenceDisplay(_Display):
    """Distance to the optimum over passes, of fits that kept their history.

    Made by ``from_estimator``.
    """

    @classmethod
    def from_estimator(cls, estimator: Any, *, name: str | None = None, ax: Any = None) -> Self:
        """Draw it from a fitted model, or several by their names.

        Parameters
        ----------
        estimator : AUCClassifier or HingeClassifier, or mapping of str to such
            Fitted with a ``callback`` or ``verbose``, which make it keep its ``history_``.
        name : str, optional
            What the legend calls a single model; by default its solver.
        ax : matplotlib Axes, optional
            By default those of a new figure.

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
                    f"{label} kept no history; AUCClassifier and HingeClassifier do when they "
                    "are fitted with callback=lambda state: None."
                )
            courses[label] = model.history_["passes"], model.history_["optimality"]
        drawing = convergence_figure(
            courses,
            name="optimality",
            title="Distance to the optimum",
            caption="(J − J*)/(J(0) − J*), or a bound of it.",
            ylabel="optimality",
        )
        return cls(drawing).plot(ax)
