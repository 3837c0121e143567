"""The effect of each column on the scores of a model, with intervals."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from scipy.special import fdtri
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from aucmax.basics.checks import number, sample_weights
from aucmax.columns.steps import Stages, that_learn_from_labels
from aucmax.data.rows import as_rows
from aucmax.data.strata import Strata
from aucmax.estimators.fitting import Settings, posed
from aucmax.estimators.sampled import weight_of_all
from aucmax.estimators.solved import SolvedScorer
from aucmax.explain.by_column import ByColumn, by_column
from aucmax.explain.within_strata import MAX_FEATURES, mean_squared_differences, varying
from aucmax.metrics.delong import effective_rows
from aucmax.objective import Objective
from aucmax.objective.losses import RankingLoss
from aucmax.objective.problem import RowsProblem
from aucmax.objective.sandwich import sandwich
from aucmax.objective.scaling import slope_influences
from aucmax.objective.within_strata import rows_problem

__all__ = ["Effects", "Sampling", "effects", "effects_of", "labelled", "sampling_of"]

MAX_CELLS = 10**7  # of the data from which intervals are computed; larger data are sampled


class Effects(NamedTuple):
    """Columns by the size of their effects on a model's scores, largest first.

    Parameters
    ----------
    feature : ndarray of str, shape (d,)
        Names, or the numbers of the columns, from 1.
    coef : ndarray of shape (d,)
        The coefficients; NaN for a column from which the steps in front compute several features,
        or one feature that they learn from the labels, such as bins.
    effect : ndarray of shape (d,)
        The difference between the scores of two rows that differ in this column by as much as two
        rows do on average: the coefficient times the feature's root mean squared difference. For
        a column with several features, the root mean squared difference of their joint
        contribution. The latter has no sign, nor has the effect of bins.
    low, high : ndarray of shape (d,)
        The ends of each effect's interval, NaN if there is none.
    note : str
        Why there are no intervals, or empty.

    See Also
    --------
    effects : Computes it.
    """

    feature: np.ndarray
    coef: np.ndarray
    effect: np.ndarray
    low: np.ndarray
    high: np.ndarray
    note: str = ""


class Sampling(NamedTuple):
    """The sampling variation of the coefficients of some features.

    Parameters
    ----------
    features : ndarray of int, shape (k,)
        The features with a standard error.
    covariance : ndarray of shape (k, k)
        The sampling covariance of their coefficients.
    freedom : float
        Its degrees of freedom.
    note : str
        Why no feature has a standard error, or empty.
    """

    features: np.ndarray
    covariance: np.ndarray
    freedom: float
    note: str = ""

    def of(self, features: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return which features (m,) have a standard error, and their coefficients' covariance.

        Parameters
        ----------
        features : ndarray of int, shape (m,)
            Ascending.
        """
        has_error = np.isin(features, self.features)
        place = np.searchsorted(self.features, features[has_error])
        return has_error, self.covariance[np.ix_(place, place)]


def effects(
    model: Any,
    X: Any,
    y: ArrayLike,
    sample_weight: ArrayLike | None = None,
    confidence: float = 0.95,
    feature_names: Sequence[str] | None = None,
    strata: ArrayLike | None = None,
) -> Effects:
    """Measure the effect of each column on the scores of a model, with intervals.

    Parameters
    ----------
    model : estimator
        A fitted `AUCClassifier` or `AUCClassifierCV`, a pipeline that ends in one, or a
        `Scorecard`; another linear classifier of two classes gets effects without intervals.
    X : array-like, sparse or data frame, shape (n, d)
        The rows the model was fitted to, or others like them.
    y : array-like, shape (n,)
        Their labels.
    sample_weight : array-like, shape (n,), optional
        Their weights; rows of weight 0 are left out.
    confidence : float, default=0.95
        Coverage of each interval, above 0 and below 1.
    feature_names : sequence of str, shape (d,), optional
        By default those the model was fitted to.
    strata : array-like, shape (n,), optional
        Their strata, for a model that was fitted within strata.

    Returns
    -------
    Effects
        The named tuple ``(feature, coef, effect, low, high, note)``.

    Raises
    ------
    ValueError
        If ``y`` holds labels that the model does not have, or lacks one of the model's; for a model
        that is not linear in its features, or rows with other columns.

    Notes
    -----
    The intervals come from the sandwich estimator of the pairwise objective
    (`aucmax.objective.sandwich`): they describe how far the effect would vary between samples of
    the size of X, around the result of the same settings on the whole population. They include the
    variation of the scale that ``standardize`` takes from the rows; the root mean squared
    differences are those of X. The penalty's bias towards 0 is not corrected, and the settings are
    taken as fixed, even if they were chosen on the same rows. A coefficient that the l1 penalty or
    a bound holds has no interval; the intervals of the others treat the features as chosen
    beforehand. The hinge has no intervals, because it has kinks; nor has a model behind a step that
    learns from the labels, such as bins, because the sandwich does not account for that step. The
    interval of a column with several features starts at 0 if these may add nothing. If the columns
    hold more than 10⁷ numbers, the variation is computed on a sample of the rows, but the interval
    is that of all rows. For a logistic loss within large strata, see the notes of `odds_ratios` on
    Efron's form, which is biased towards no effect. docs/effects.md has the formulas, and the
    actual coverage of the intervals, which is below the nominal one with few positives.

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
    rows = labelled(model, X, y, sample_weight, feature_names, strata)
    return effects_of(*rows[:3], confidence, rows.strata)[0]


class LabelledColumns(NamedTuple):
    """Rows by column, 1 for positive rows and −1 for others, their weights and strata, if any."""

    by: ByColumn
    sign: np.ndarray
    weight: np.ndarray | None
    strata: Strata | None


def labelled(
    model: Any,
    X: Any,
    y: ArrayLike,
    sample_weight: ArrayLike | None,
    feature_names: Sequence[str] | None,
    strata: ArrayLike | None = None,
) -> LabelledColumns:
    """Return rows by column, with their labels, weights and strata.

    Parameters
    ----------
    model, X, y, sample_weight, feature_names, strata
        As for `effects`, whose errors it raises.
    """
    labels = np.asarray(y)
    check_consistent_length(X, labels)
    weight = sample_weights(sample_weight, len(labels))
    of_rows = None if strata is None else Strata.of(strata, len(labels))
    if weight is not None and not weight.all():
        counted = np.flatnonzero(weight)
        X, labels, weight = _safe_indexing(X, counted), labels[counted], weight[counted]
        of_rows = None if of_rows is None else of_rows.at(counted)
    if not hasattr(model, "classes_"):
        check_is_fitted(model)
        raise ValueError(
            f"{type(model).__name__} has no classes; give an AUCClassifier, an AUCClassifierCV, "
            "a pipeline that ends in one, or another linear classifier of two classes."
        )
    by = by_column(Stages.of(model, X), feature_names)
    if not np.array_equal(np.unique(labels), np.sort(model.classes_)):
        raise ValueError(
            f"y must hold the labels {model.classes_.tolist()} and no others; "
            f"it holds {np.unique(labels).tolist()}."
        )
    sign = np.where(labels == model.classes_[1], 1.0, -1.0)
    if of_rows is not None and isinstance(by.linear, SolvedScorer):
        of_rows = of_rows.weighed(by.linear.settings().strata_weight)
    return LabelledColumns(by, sign, weight, of_rows)


def effects_of(
    by: ByColumn,
    sign: np.ndarray,
    weight: np.ndarray | None,
    confidence: float,
    strata: Strata | None = None,
) -> tuple[Effects, Sampling]:
    """Return the effects of the columns of rows, and the sampling variation of the coefficients.

    Parameters
    ----------
    by : ByColumn
        The rows.
    sign : ndarray, shape (n,)
        1 for positive rows, −1 for others.
    weight : ndarray, shape (n,), or None
        Weights of the rows.
    confidence : float
        Coverage of each interval.
    strata : Strata, optional
        The strata within which the model compares rows.
    """
    sampling = sampling_of(by, sign, weight, strata)
    of_feature = np.ravel(by.linear.coef_).astype(np.float64)
    count = np.bincount(by.term, minlength=len(by.names))
    coef = np.where(count > 1, np.nan, 0.0)
    effect, least = np.zeros(len(coef)), np.full(len(coef), -np.inf)
    reach = np.full(len(coef), np.nan)
    # columns with one feature, all at once, because there may be very many
    single = np.flatnonzero(count[by.term] == 1)
    column = by.term[single]
    spread = rows_problem(as_rows(by.features), sign, weight, None, strata).spread()
    coef[column] = of_feature[single]
    effect[column] = of_feature[single] * np.sqrt(spread[single])
    has_error, covariance = sampling.of(single)
    variance = np.diag(covariance) * spread[single[has_error]]
    reach[column[has_error]] = np.sqrt(variance * fdtri(1.0, sampling.freedom, confidence))
    for j in np.flatnonzero(count > 1).tolist():
        features, least[j] = by.features_of(j), 0.0
        scores = by.columnwise[:, features] @ of_feature[features]
        joint = rows_problem(scores[:, None], sign, weight, None, strata)
        effect[j] = np.sqrt(joint.spread()[0])
        has_error, covariance = sampling.of(features)
        if has_error.any():
            columns = by.columnwise[:, features[has_error]]
            differences = mean_squared_differences(columns, sign, weight, strata)
            reach[j] = _reach(covariance, differences, sampling.freedom, confidence)
    if that_learn_from_labels(by.steps):  # such a feature's sign is not the column's
        coef[:], effect = np.nan, np.abs(effect)
    order = np.argsort(-np.abs(effect), kind="stable")
    low, high = np.maximum(effect - reach, least), effect + reach
    names = np.asarray(by.names)[order]
    ends = low[order], high[order]
    return Effects(names, coef[order], effect[order], *ends, sampling.note), sampling


def sampling_of(
    by: ByColumn, sign: np.ndarray, weight: np.ndarray | None, strata: Strata | None = None
) -> Sampling:
    """Return the sampling variation of the coefficients.

    Parameters
    ----------
    by : ByColumn
        Rows.
    sign : ndarray, shape (n,)
        1 for positive rows, −1 for others.
    weight : ndarray, shape (n,), or None
        Weights of the rows.
    strata : Strata, optional
        The strata within which the model compares rows; they are then the sampling units.
    """
    try:
        if learnt := that_learn_from_labels(by.steps):
            raise ValueError(f"{learnt[0]} learns from the labels, too.")
        if strata is None and hasattr(by.linear, "strata_"):
            raise ValueError("the model compares rows within strata; give those of the rows.")
        if strata is None:
            return _sandwich_of(by, sign, weight)
        return _sampling_within(by, sign, weight, strata)
    except ValueError as why:
        no_features = np.empty(0, dtype=np.intp)
        return Sampling(no_features, np.empty((0, 0)), 1.0, f"No intervals: {why}")


def _sampling_within(
    by: ByColumn, sign: np.ndarray, weight: np.ndarray | None, strata: Strata
) -> Sampling:
    """Return the same for a fit within strata, in coordinates of the penalty if it has any."""
    settings, coef = settings_of(by.linear), np.ravel(by.linear.coef_).astype(np.float64)
    labelled_rows = sign, weight, strata
    root = by.steps[-1].coordinates(by.mean(weight)) if by.steps else None
    if root is None:
        return Sampling(*varying(by.features, *labelled_rows, coef, settings))
    u, scores = np.zeros(root.shape[1]), by.features @ coef  # the penalty's slope does not matter
    plain = replace(settings, standardize=0.0)
    within = varying(sp.csr_array(by.features @ root), *labelled_rows, u, plain, scores)
    of_free = root[:, within.features]
    covariance = of_free @ (of_free @ within.covariance).T
    return Sampling(np.arange(len(coef)), covariance, within.freedom)


def _reach(
    covariance: np.ndarray, differences: np.ndarray, freedom: float, confidence: float
) -> float:
    """Return a bound on the error of √(wᵀVw): at most √((w − ŵ)ᵀV(w − ŵ)).

    This is a quadratic form of normal variables, approximated by Satterthwaite's two moments.
    """
    product = covariance @ differences
    mean, half_variance = np.trace(product), np.sum(product * product.T)
    if mean <= 0.0:
        return np.nan
    return float(np.sqrt(mean * fdtri(mean**2 / half_variance, freedom, confidence)))


def settings_of(linear: Any) -> Settings:
    """Return the settings of the fit of a linear model; raise ValueError if they are unknown."""
    if not isinstance(linear, SolvedScorer):
        raise ValueError(f"the objective of a {type(linear).__name__} is not known.")
    return linear.settings().named(linear.coef_.size, getattr(linear, "feature_names_in_", None))


def _sandwich_of(by: ByColumn, sign: np.ndarray, weight: np.ndarray | None) -> Sampling:
    """Return the variation by the sandwich estimator; ValueError if no coefficient varies."""
    linear, X, coef = by.linear, by.features, np.ravel(by.linear.coef_).astype(np.float64)
    settings = settings_of(linear)
    if by.steps and (root := by.steps[-1].coordinates(by.mean(weight))) is not None:
        return _sandwich_behind(by, root, sign, weight)
    spread = getattr(linear, "spread_", None)  # of the fit, whose features it scaled
    rows = RowsProblem.of(as_rows(X), sign, weight)
    spread = rows.spread() if spread is None else spread
    fitted = posed(rows, settings, spread)
    factor = fitted.problem.factor
    varies = spread > 0
    scale = np.ones(len(coef)) if factor is None else np.where(varies, factor, 1.0)
    pieces = fitted.penalty.pieces(coef / scale)
    free = np.flatnonzero(varies & pieces.smooth)
    if not len(free):
        raise ValueError("every coefficient is held at 0 or at a bound.")
    if len(free) > MAX_FEATURES:
        raise ValueError(f"they are for up to {MAX_FEATURES:,} features with a coefficient.")
    if not isinstance(fitted.loss, RankingLoss):
        raise ValueError(f"a {type(linear).__name__} minimises a loss of single rows.")
    weight = np.ones(len(sign)) if weight is None else weight
    counts = effective_rows(weight[sign > 0]), effective_rows(weight[sign < 0])
    sampled = sample(sign, MAX_CELLS // len(free))
    weights = weight_of_all(sign > 0, weight, sampled)
    columns = X[sampled][:, free].toarray() if sp.issparse(X) else X[np.ix_(sampled, free)]
    size = np.sqrt(spread[free])
    columns = columns / size
    problem = RowsProblem.of(as_rows(columns), sign[sampled], weights)
    bend = pieces.bend[free] / (scale[free] * size) ** 2
    penalty_influences: np.ndarray | float = 0.0
    if factor is not None:
        mean = by.mean(weight)
        slope = (pieces.left + pieces.bend * coef / scale)[free]  # the derivative of u Ω_j′(u)
        penalty_influences = slope_influences(
            columns - mean[free] / size,
            _distances(X, mean, factor)[sampled],
            np.where(problem.positive, problem.p, 1.0 - problem.p),
            settings.standardize,
            slope / (scale[free] * size),
        )
    at_bounds = coef.copy()
    at_bounds[free] = 0.0
    fixed_scores = (X @ at_bounds)[sampled] if at_bounds.any() else 0.0
    covariance = sandwich(
        Objective(problem, fitted.loss, fitted.penalty), coef[free] * size, bend, counts,
        penalty_influences, fixed_scores,
    )  # fmt: skip
    return Sampling(free, covariance / np.outer(size, size), min(counts) - 1.0)


def _sandwich_behind(
    by: ByColumn, root: Any, sign: np.ndarray, weight: np.ndarray | None
) -> Sampling:
    """Return the same for a fit of u to the features X root, with the coefficients root u."""
    settings, coef = by.linear.settings(), np.ravel(by.linear.coef_)
    k = root.shape[1]
    if k > 2 * MAX_FEATURES:  # a row has few that differ from 0
        raise ValueError(f"they are for up to {2 * MAX_FEATURES:,} features of curves and maps.")
    weight = np.ones(len(sign)) if weight is None else weight
    counts = effective_rows(weight[sign > 0]), effective_rows(weight[sign < 0])
    sampled = sample(sign, MAX_CELLS // k)
    weights = weight_of_all(sign > 0, weight, sampled)
    rows = by.features[sampled]
    problem = RowsProblem.of(as_rows((rows @ root).toarray()), sign[sampled], weights)
    u = np.zeros(k)  # the penalty's slope does not matter, and the scores are given
    covariance = sandwich(
        settings.goal.objective(problem, settings.penalty), u, settings.penalty.pieces(u).bend,
        counts, fixed_scores=rows @ coef,
    )  # fmt: skip
    return Sampling(np.arange(len(coef)), root @ (root @ covariance).T, min(counts) - 1.0)


def _distances(X: Any, mean: np.ndarray, factor: np.ndarray) -> np.ndarray:
    """Return half the squared distance of each row from the mean, in scaled coordinates, (n,)."""
    n, d = X.shape
    if sp.issparse(X):
        stored, centre = X.astype(np.float64).multiply(factor), mean * factor
        return 0.5 * (stored.power(2).sum(axis=1) + centre @ centre) - stored @ centre
    distances = np.empty(n)
    for rows in np.array_split(np.arange(n), n * d // MAX_CELLS + 1):
        Z = (X[rows] - mean) * factor
        distances[rows] = 0.5 * np.einsum("ij,ij->i", Z, Z)
    return distances


def sample(sign: np.ndarray, most: int) -> np.ndarray:
    """Return row numbers of a sample: half are of the rarer class, or all rows of that class."""
    if len(sign) <= most:
        return np.arange(len(sign))
    rng = np.random.RandomState(0)
    rarer, commoner = sorted((np.flatnonzero(sign > 0), np.flatnonzero(sign < 0)), key=len)
    of_rarer = rng.permutation(rarer)[: max(most // 2, 2)]
    return np.sort(np.r_[of_rarer, rng.permutation(commoner)[: max(most - len(of_rarer), 2)]])
