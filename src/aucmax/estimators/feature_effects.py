"""What each feature of a linear model does to the score, and how far that is known."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from scipy.special import stdtrit
from sklearn.utils.validation import check_is_fitted

from aucmax.basics.checks import number, sample_weights
from aucmax.estimators.solved import SolvedScorer
from aucmax.metrics.delong import effective_rows
from aucmax.objective.problem import RowsProblem
from aucmax.objective.sandwich import sandwich
from aucmax.objective.scaling import feature_factors
from aucmax.rows import as_rows

__all__ = ["Effects", "effects"]

MOST_FEATURES = 1000  # with more there are no intervals: the sandwich is a dense matrix
MOST_CELLS = 10**7  # of the rows that intervals are computed from: more are sampled


class Effects(NamedTuple):
    """Features of a linear model by the size of their effects, largest first.

    Parameters
    ----------
    feature : ndarray of str, shape (d,)
        Names; the numbers of the columns, from 1, where there are none.
    coef : ndarray of shape (d,)
        The coefficients.
    effect : ndarray of shape (d,)
        By how much the scores of two rows differ that differ in this feature as two rows do on
        average: the coefficient times the feature's root mean squared difference.
    low, high : ndarray of shape (d,)
        The ends of each effect's interval, NaN where there is none.
    note : str
        Why there are no intervals, or empty.

    See Also
    --------
    effects : Makes it.
    """

    feature: np.ndarray
    coef: np.ndarray
    effect: np.ndarray
    low: np.ndarray
    high: np.ndarray
    note: str = ""


def effects(
    model: Any,
    X: ArrayLike,
    y: ArrayLike,
    sample_weight: ArrayLike | None = None,
    confidence: float = 0.95,
    feature_names: Sequence[str] | None = None,
) -> Effects:
    """Measure what each feature of a linear model does to its scores, with intervals.

    Parameters
    ----------
    model : estimator
        A fitted `AUCClassifier` or `AUCClassifierCV`; another linear classifier of two classes gets
        effects without intervals.
    X : array-like or sparse, shape (n, d)
        The rows it was fitted to, or others like them.
    y : array-like, shape (n,)
        Their labels.
    sample_weight : array-like, shape (n,), optional
        Their weights.
    confidence : float, default=0.95
        Coverage of each interval, above 0 and below 1.
    feature_names : sequence of str, shape (d,), optional
        By default those the model was fitted to.

    Returns
    -------
    Effects
        The named tuple ``(feature, coef, effect, low, high, note)``.

    Raises
    ------
    ValueError
        If ``y`` holds other labels than the model's, or lacks one of them.

    Notes
    -----
    The intervals are by the sandwich of the pairwise objective (`aucmax.objective.sandwich`): how
    far the effect would vary between samples of as many rows as X, around what the same settings
    give on all rows there could be. The penalty's pull towards 0 is not undone, and the settings
    count as given, also where they were chosen on the same rows. A coefficient that the l1 penalty
    or a bound holds has no interval; those of the others are as if they had been chosen beforehand.
    The hinge has none: it has kinks. Where the columns hold more than 10⁷ numbers, the spread is
    that of a sample of the rows, the interval that of all of them. docs/effects.md has the
    formulas, and how often the intervals cover: with few positives, less than they say.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from aucmax import AUCClassifier, effects
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> found = effects(AUCClassifier().fit(X, y), X, y)
    >>> bool(found.low[0] < found.effect[0] < found.high[0])
    True
    """
    number(confidence, "confidence", high=1.0, open_low=True, open_high=True)
    linear = getattr(model, "best_estimator_", model)
    check_is_fitted(linear)
    coef = np.ravel(linear.coef_).astype(np.float64)
    X = sp.csr_array(X) if sp.issparse(X) else np.asarray(X, dtype=np.float64)
    weight = sample_weights(sample_weight, X.shape[0])
    labels = np.asarray(y)
    if not np.array_equal(np.unique(labels), np.sort(linear.classes_)):
        raise ValueError(
            f"y must hold the labels {linear.classes_.tolist()} and no others; "
            f"it holds {np.unique(labels).tolist()}."
        )
    sign = np.where(labels == linear.classes_[1], 1.0, -1.0)
    spread = getattr(linear, "spread_", None)
    if spread is None:
        spread = RowsProblem(as_rows(X), sign, weight).spread()
    size = np.sqrt(spread)
    effect, reach, note = coef * size, np.full(len(coef), np.nan), ""
    try:
        known, error, freedom = _errors(linear, X, sign, weight, coef, spread)
        reach[known] = stdtrit(freedom, 0.5 + 0.5 * confidence) * error
    except ValueError as why:
        note = f"No intervals: {why}"
    order = np.argsort(-np.abs(effect), kind="stable")
    numbers = [str(j + 1) for j in range(len(coef))]
    if feature_names is None:
        feature_names = getattr(linear, "feature_names_in_", numbers)
    return Effects(
        np.asarray(feature_names).astype(str)[order],
        coef[order],
        effect[order],
        (effect - reach)[order],
        (effect + reach)[order],
        note,
    )


def _errors(
    linear: Any,
    X: Any,
    sign: np.ndarray,
    weight: np.ndarray | None,
    coef: np.ndarray,
    spread: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, float]:
    """Return which effects have standard errors, these, and their degrees of freedom.

    Raises ValueError where none has.
    """
    if not isinstance(linear, SolvedScorer):
        raise ValueError(f"a {type(linear).__name__} does not say what it minimises.")
    penalty, _ = linear._settings()
    factor = feature_factors(spread, linear._scaling)
    varies = spread > 0
    scale = np.ones(len(coef)) if factor is None else np.where(varies, factor, 1.0)
    penalty = linear._by_name(penalty, len(coef)).scaled(factor)
    pieces = penalty.pieces(coef / scale)
    known = np.flatnonzero(varies & pieces.smooth)
    if not len(known):
        raise ValueError("every coefficient is held at 0 or at a bound.")
    if len(known) > MOST_FEATURES:
        raise ValueError(f"they take up to {MOST_FEATURES:,} features with a coefficient.")
    weight = np.ones(len(sign)) if weight is None else weight
    counts = effective_rows(weight[sign > 0]), effective_rows(weight[sign < 0])
    taken = _sample(sign, MOST_CELLS // len(known))
    each = weight[taken]
    for kind in (1.0, -1.0):  # the classes weigh what they do in all rows
        each[sign[taken] == kind] *= weight[sign == kind].sum() / each[sign[taken] == kind].sum()
    columns = X[taken][:, known].toarray() if sp.issparse(X) else X[np.ix_(taken, known)]
    size = np.sqrt(spread[known])
    problem = RowsProblem(as_rows(columns / size), sign[taken], each)
    objective = linear._objective(problem, penalty)
    bend = pieces.bend[known] / (scale[known] * size) ** 2
    covariance = sandwich(objective, coef[known] * size, bend, counts)
    return known, np.sqrt(np.maximum(np.diag(covariance), 0.0)), min(counts) - 1.0


def _sample(sign: np.ndarray, most: int) -> np.ndarray:
    """Return the numbers of so many rows, of the rarer class all or half of these, if there are."""
    if len(sign) <= most:
        return np.arange(len(sign))
    rng = np.random.RandomState(0)
    rarer, other = sorted((np.flatnonzero(sign > 0), np.flatnonzero(sign < 0)), key=len)
    kept = rng.permutation(rarer)[: max(most // 2, 2)]
    return np.sort(np.r_[kept, rng.permutation(other)[: max(most - len(kept), 2)]])
