"""The sampling variation of a fit within strata, and its odds ratios."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.special import ndtr, ndtri

from aucmax.basics.checks import number
from aucmax.data.labelled import Labelled
from aucmax.data.rows import as_rows
from aucmax.data.rows.store import Store
from aucmax.data.strata import Strata
from aucmax.estimators.fitting import Settings, posed
from aucmax.estimators.labelling import labelled_rows
from aucmax.explain.by_column import ByColumn
from aucmax.metrics.delong import effective_rows
from aucmax.objective.objective import ConditionalObjective, Objective
from aucmax.objective.penalties import L2
from aucmax.objective.sandwich import DEPENDENT
from aucmax.objective.within_strata import ProblemWithinStrata, rows_problem

__all__ = [
    "OddsRatios", "Within", "mean_squared_differences", "odds_ratios", "odds_ratios_in_parts",
    "odds_ratios_of", "varying",
]  # fmt: skip


_DEPENDENT = 1e-10  # share of a feature's information not in the others, below which there is none
_NORMAL_DEGREES = 1e9  # degrees of freedom, as good as infinitely many
MAX_FEATURES = 1000  # with more there are no intervals: the sandwich is a dense matrix


class OddsRatios(NamedTuple):
    """A table of conditional logistic regression, a line for each feature.

    Parameters
    ----------
    feature : ndarray of str, shape (d,)
        Names, or the numbers of the features, from 1.
    coef, std_error : ndarray of shape (d,)
        Log odds ratios and their standard errors.
    odds_ratio, low, high : ndarray of shape (d,)
        The ratio of the odds of two rows of a stratum that differ only by 1 in this feature, and
        the ends of its interval.
    z, p_value : ndarray of shape (d,)
        Wald's statistic and its two-sided p-value, for an odds ratio of 1.
    """

    feature: np.ndarray
    coef: np.ndarray
    std_error: np.ndarray
    odds_ratio: np.ndarray
    low: np.ndarray
    high: np.ndarray
    z: np.ndarray
    p_value: np.ndarray


class Within(NamedTuple):
    """The free coefficients of a fit within strata and their covariance.

    Parameters
    ----------
    features : ndarray of int, shape (k,)
    covariance : ndarray, shape (k, k)
    freedom : float
        Its degrees of freedom: the number of strata minus 1, or very many for a likelihood.
    """

    features: np.ndarray
    covariance: np.ndarray
    freedom: float


def varying(
    X: Any,
    sign: np.ndarray,
    weight: np.ndarray | None,
    strata: Strata,
    coef: np.ndarray,
    settings: Settings,
    scores: np.ndarray | None = None,
) -> Within:
    """Return the covariance of the coefficients over samples with the same number of strata.

    The gradient of J is a mean over strata, which are the independent units. So the covariance is
    H⁻¹ [k/(k − 1) Σ_g h_g h_gᵀ] H⁻¹, where h_g is what stratum g adds to the gradient minus its
    share of the total, H the Hessian of J, and k the effective number of strata. For the
    conditional likelihood it is the inverse of the information I, or H⁻¹ I H⁻¹ with a penalty.

    Parameters
    ----------
    X : ndarray, csr_array or Store, shape (n, d)
        A store in parts is for the conditional likelihood.
    sign, weight, strata
        Labels ±1, weights and strata of the rows.
    coef : ndarray, shape (d,)
    settings : Settings
        With the penalty's settings by feature as arrays.
    scores : ndarray, shape (n,), optional
        The scores of the fit, by default X times the coefficients.

    Raises
    ------
    ValueError
        If the loss has kinks, no coefficient varies, features are linearly dependent, or a
        likelihood without a penalty has no finite maximum because the model separates the labels.
    """
    rows = X if isinstance(X, Store) else as_rows(X)
    of_all = posed(rows_problem(rows, sign > 0, weight, None, strata), settings)
    problem, factor = of_all.problem, of_all.problem.factor
    assert isinstance(problem, ProblemWithinStrata)
    if of_all.loss.kind == "kinked":
        raise ValueError("the loss has kinks, so its second derivative is not informative.")
    spread = problem.spread()
    scale = np.where(spread > 0.0, 1.0 if factor is None else factor, 1.0)
    pieces = of_all.penalty.pieces(coef / scale)
    free = np.flatnonzero((spread > 0.0) & pieces.smooth)
    if not len(free):
        raise ValueError("every coefficient is held at 0 or at a bound.")
    if len(free) > MAX_FEATURES:
        raise ValueError(f"they are for up to {MAX_FEATURES:,} features with a coefficient.")
    size = np.sqrt(spread[free])
    if isinstance(X, Store):
        part = rows_problem(X, sign > 0, weight, None, strata)
        objective, z = settings.goal.objective(part, L2(0.0)), part.scores(coef)
        bent = _information(objective, z)[np.ix_(free, free)] / np.outer(size, size)
    else:
        columns = X[:, free].toarray() if sp.issparse(X) else X[:, free]
        part = rows_problem(as_rows(columns / size), sign > 0, weight, None, strata)
        objective = settings.goal.objective(part, L2(0.0))
        z = np.asarray(X @ coef if scores is None else scores)
        if part.n_samples < len(sign):  # rows without a comparison were left out
            z = z[strata.compared(sign > 0, weight).of_row > 0.0]
        bent = _information(objective, z)
    penalised = bent + np.diag(pieces.bend[free] / (scale[free] * size) ** 2)
    assert isinstance(part, ProblemWithinStrata)
    if isinstance(objective, ConditionalObjective):
        if not pieces.bend[free].any():
            _check_finite(part, z)
        between, freedom = bent / _cases(part), _NORMAL_DEGREES
    else:
        slopes, omega = _slopes(part, objective.at(z).gradient[:]), part.strata.omega
        apart, strata_count = slopes - np.outer(omega, slopes.sum(axis=0)), effective_rows(omega)
        if strata_count < 1.0 + 1e-9:
            raise ValueError("only one stratum counts, too few to estimate how strata vary.")
        freedom = strata_count - 1.0
        between = apart.T @ apart * (strata_count / freedom)
    try:
        inverse = cho_factor(penalised)
        if np.any(np.diag(inverse[0]) ** 2 <= _DEPENDENT * np.diag(penalised)):
            raise LinAlgError
    except LinAlgError:
        raise ValueError(DEPENDENT) from None
    covariance = cho_solve(inverse, cho_solve(inverse, between).T)
    return Within(free, covariance / np.outer(size, size), freedom)


def _cases(problem: ProblemWithinStrata) -> float:
    """Return the effective number of positives that are compared."""
    own, cases = problem.data.own_weight, problem.positive & (problem.data.share[:] > 0.0)
    return float(np.count_nonzero(cases) if own is None else effective_rows(own[cases]))


def _check_finite(problem: ProblemWithinStrata, z: np.ndarray) -> None:
    """Raise ValueError if every positive scores above all negatives of its stratum."""
    code, positive, count = problem.strata.code, problem.positive, len(problem.strata.omega)
    lowest, highest = np.full(count, np.inf), np.full(count, -np.inf)
    np.minimum.at(lowest, code[positive], z[positive])
    np.maximum.at(highest, code[~positive], z[~positive])
    if np.all(lowest > highest):
        raise ValueError(
            "the model separates the labels, and has no finite estimate without a penalty."
        )


def _information(objective: Objective, z: np.ndarray) -> np.ndarray:
    """Return the Hessian of the data term at scores z."""
    if objective.by_moments:
        problem = objective.problem
        problem.moments()
        return problem.within + np.outer(problem.delta, problem.delta)
    return objective.bend_matrix(objective.at(z))


def _slopes(problem: ProblemWithinStrata, gradient: np.ndarray) -> np.ndarray:
    """Return what each stratum adds to the gradient of J, shape (G, d)."""
    X, code = problem.data.in_memory(), problem.strata.code
    # derivatives add up to 0 in each stratum, so any origin will do: near the data it is accurate
    centred = np.asarray(X) - problem.raw_means()[1]
    by_stratum = sp.csr_array(
        (gradient, (code, np.arange(len(code)))), shape=(len(problem.strata.omega), len(code))
    )
    return np.asarray(by_stratum @ centred)


def mean_squared_differences(
    Z: Any, sign: np.ndarray, weight: np.ndarray | None, strata: Strata | None
) -> np.ndarray:
    """Return the mean of (z − z′)(z − z′)ᵀ over pairs of rows of Z (n, m), within strata if any.

    With strata it is twice the covariance within those that have rows of both classes.
    """
    n = len(sign)
    share, code = np.ones(n) if weight is None else weight, np.zeros(n, np.intp)
    if strata is not None:
        share = np.where(strata.compared(sign > 0, weight).of_row > 0.0, share, 0.0)
        code = strata.code.astype(np.intp)
    share = share / share.sum()
    Z = Z if sp.issparse(Z) else sp.csr_array(Z - Z.mean(axis=0))  # avoids cancellation
    sums = sp.csr_array((share, (code, np.arange(n)))) @ Z
    mass = np.bincount(code, share)
    means = sums.multiply(np.divide(1.0, mass, out=np.zeros_like(mass), where=mass > 0.0)[:, None])
    return np.asarray(2.0 * (Z.T @ Z.multiply(share[:, None]) - sums.T @ means).toarray())


def odds_ratios_of(
    names: Sequence[str], coef: np.ndarray, within: Within, confidence: float
) -> OddsRatios:
    """Return the table of coefficients (d,); only free ones have intervals.

    Parameters
    ----------
    names : sequence of str, length d
    coef : ndarray, shape (d,)
    within : Within
    confidence : float
        Coverage of each interval.
    """
    number(confidence, "confidence", high=1.0, open_low=True, open_high=True)
    error = np.full(len(coef), np.nan)
    error[within.features] = np.sqrt(np.diag(within.covariance))
    reach = ndtri(0.5 + 0.5 * confidence) * error
    z = coef / error
    with np.errstate(over="ignore"):  # for a coefficient without a finite estimate
        ratio, low, high = (np.exp(end) for end in (coef, coef - reach, coef + reach))
    table = np.asarray(names, dtype=object), coef, error, ratio, low, high
    return OddsRatios(*table, z, 2.0 * ndtr(-np.abs(z)))


def _names(by: ByColumn) -> list[str]:
    """Return the names of the features of the linear model, or their numbers."""
    if not by.steps:
        return [column.name for column in by.columns]
    names = getattr(by.linear, "feature_names_in_", None)
    return [str(j + 1) for j in range(by.linear.coef_.size)] if names is None else names.tolist()


def odds_ratios(
    model: Any,
    X: Any,
    y: ArrayLike,
    strata: ArrayLike,
    sample_weight: ArrayLike | None = None,
    confidence: float = 0.95,
    feature_names: Sequence[str] | None = None,
) -> OddsRatios:
    """Return the odds ratios of a conditional logistic regression, with intervals.

    Parameters
    ----------
    model : estimator
        An `AUCClassifier` with ``loss="logistic"``, fitted with strata, or a tuned one that chose
        this loss; or a pipeline that ends in one.
    X, y, strata, sample_weight
        The rows it was fitted to. All rows of a stratum must have the same weight.
    confidence : float, default=0.95
        Coverage of each interval, above 0 and below 1.
    feature_names : sequence of str, shape (d,), optional
        By default those of the model.

    Returns
    -------
    OddsRatios
        The named tuple ``(feature, coef, std_error, odds_ratio, low, high, z, p_value)``, one line
        for each feature of the linear model.

    Raises
    ------
    ValueError
        If the model has another loss or was fitted without strata; also as for `effects`.

    Notes
    -----
    The covariance of the coefficients is the inverse of the information at the solution, as usual
    for the conditional likelihood. With ``alpha`` above 0 the coefficients are shrunk towards 0,
    their covariance is H⁻¹ I H⁻¹, with H = I + the Hessian of the penalty, and the intervals are
    around the shrunken values. To report odds ratios use ``alpha=0``, or ``1e-6`` if the features
    are linearly dependent, such as the indicators of all levels of a word.

    In strata so large that the likelihood has Efron's form (``model.strata_.efron`` counts them),
    estimates and intervals are biased towards no effect if a large share of the rows is positive.
    Logistic regression with an intercept for each stratum is nearly unbiased for such large strata.

    References
    ----------
    Breslow & Day (1980), "Statistical methods in cancer research, volume 1", chapter 7.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X, stratum = rng.normal(size=(600, 2)), np.repeat(np.arange(200), 3)
    >>> y = np.zeros(600, dtype=int)
    >>> risk = X[:, 0] + rng.gumbel(size=600)
    >>> y[np.arange(0, 600, 3) + risk.reshape(200, 3).argmax(axis=1)] = 1  # a case in each stratum
    >>> from aucmax import AUCClassifier, odds_ratios
    >>> clf = AUCClassifier(loss="logistic", alpha=0).fit(X, y, strata=stratum)
    >>> table = odds_ratios(clf, X, y, stratum)
    >>> bool(table.low[0] < np.e < table.high[0])
    True
    """
    from aucmax.explain.feature_effects import labelled, settings_of

    rows = labelled(model, X, y, sample_weight, feature_names, strata)
    settings, coef = settings_of(rows.by.linear), np.ravel(rows.by.linear.coef_).astype(float)
    loss = getattr(settings.goal, "loss", None) if hasattr(rows.by.linear, "strata_") else None
    if loss != "logistic" or rows.strata is None:
        raise ValueError("odds ratios need a model with loss='logistic' fitted within strata.")
    labelled_rows = rows.by.features, rows.sign, rows.weight, rows.strata
    return odds_ratios_of(
        _names(rows.by), coef, varying(*labelled_rows, coef, settings), confidence
    )


def odds_ratios_in_parts(model: Any, rows: Labelled, names: Sequence[str]) -> OddsRatios:
    """Return the odds ratios of a model fitted to rows in parts, with 95 % intervals.

    This takes a few passes over the rows.

    Parameters
    ----------
    model : AUCClassifier
        Fitted to the rows within their strata, with the logistic loss.
    rows : Labelled
        A source.
    names : sequence of str, shape (d,)
        Those of the features.
    """
    from aucmax.explain.feature_effects import settings_of

    settings, coef = settings_of(model), np.ravel(model.coef_)
    checked = labelled_rows(model, rows, None, None)
    assert checked.coded_strata is not None
    of_rows = np.where(checked.positive, 1.0, -1.0), checked.weight
    strata = checked.coded_strata.weighed(settings.strata_weight)
    within = varying(checked.store, *of_rows, strata, coef, settings)
    return odds_ratios_of(names, coef, within, 0.95)
