"""Probabilities from scores: calibration on the scores of held-out rows."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import expit, logit
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression

from aucmax.basics.checks import check_array_of
from aucmax.metrics.delong import effective_rows

__all__ = [
    "CALIBRATIONS",
    "MIN_ISOTONIC_ROWS",
    "Calibration",
    "Isotonic",
    "Sigmoid",
    "calibrate",
    "calibrate_folds",
    "counts",
    "cross_fitted",
]

CALIBRATIONS = ("sigmoid", "isotonic")
MIN_ISOTONIC_ROWS = 1000  # of the rarer class: scikit-learn's rule of thumb


class Sigmoid(NamedTuple):
    """The probability 1 / (1 + exp(−slope · score − intercept)), with a slope of at least 0."""

    slope: float
    intercept: float

    def __call__(self, scores: np.ndarray) -> np.ndarray:
        """Return the probabilities of scores."""
        return expit(self.slope * scores + self.intercept)

    def check_state(self) -> None:
        if not (np.isfinite([self.slope, self.intercept]).all() and self.slope >= 0.0):
            raise ValueError("the sigmoid of its probabilities does not increase")


class Isotonic(NamedTuple):
    """A probability that is linear between neighbouring scores, and constant outside.

    ``scores`` (k,) are ascending, ``probabilities`` (k,) non-decreasing.
    """

    scores: np.ndarray
    probabilities: np.ndarray

    def __call__(self, scores: np.ndarray) -> np.ndarray:
        """Return the probabilities of scores."""
        return np.interp(scores, self.scores, self.probabilities)

    def check_state(self) -> None:
        for name, values in zip(self._fields, self, strict=True):
            check_array_of(values, (len(self.scores),), f"{name} of its probabilities")
        rises = np.all(np.diff(self.scores) > 0) and np.all(np.diff(self.probabilities) >= 0)
        if not rises or self.probabilities[0] < 0.0 or self.probabilities[-1] > 1.0:
            raise ValueError("its probabilities do not increase within 0 and 1")


Calibration = Sigmoid | Isotonic


def cross_fitted(held_out: np.ndarray, final: np.ndarray, weight: np.ndarray | None) -> np.ndarray:
    """Return the scores of a held-out part, shifted so that their mean is that of the final fit.

    Scores of different fits have no common zero. For the mean, the final fit can be used on its own
    training rows: its coefficients are a sum of centred rows with factors that add up to 0, so
    fitting to a row changes its score, but hardly the mean score.

    Parameters
    ----------
    held_out : ndarray, shape (m,)
        Scores by the model of the training part.
    final : ndarray, shape (m,)
        Scores of the same rows by the model of all rows.
    weight : ndarray, shape (m,), optional
        Weights of the rows.
    """
    if weight is not None and not weight.any():
        weight = None  # all weights are 0
    return held_out + np.average(final - held_out, weights=weight)


def calibrate(
    scores: np.ndarray,
    positive: np.ndarray,
    weight: np.ndarray,
    rows: tuple[float, float],
    method: str | bool = True,
) -> Calibration:
    """Fit the probability of being positive as an increasing function of the score.

    Parameters
    ----------
    scores : ndarray, shape (n,)
    positive : ndarray of bool, shape (n,)
        Both classes must occur.
    weight : ndarray, shape (n,)
        Positive.
    rows : (float, float)
        The numbers of negative and positive rows that the weights represent.
    method : {True, "sigmoid", "isotonic"}
        True is isotonic regression if there are `MIN_ISOTONIC_ROWS` rows of each class.

    References
    ----------
    Platt (1999), "Probabilistic outputs for support vector machines and comparisons to regularized
    likelihood methods", whose targets (n₊ + 1)/(n₊ + 2) and 1/(n₋ + 2) replace 1 and 0.
    Zadrozny & Elkan (2002), "Transforming classifier scores into accurate multiclass probability
    estimates". Niculescu-Mizil & Caruana (2005), "Predicting good probabilities with supervised
    learning", find the sigmoid better below about a thousand rows; scikit-learn's user guide gives
    that number, too.
    """
    if method is True:
        method = "isotonic" if min(rows) >= MIN_ISOTONIC_ROWS else "sigmoid"
    if method == "isotonic":
        fitted = IsotonicRegression(y_min=0.0, y_max=1.0).fit(scores, positive, weight)
        return Isotonic(
            np.asarray(fitted.X_thresholds_, dtype=np.float64),
            np.asarray(fitted.y_thresholds_, dtype=np.float64),
        )
    negatives, positives = rows
    target = np.where(positive, (positives + 1.0) / (positives + 2.0), 1.0 / (negatives + 2.0))
    share = float(np.average(target, weights=weight))
    centre = np.average(scores, weights=weight)
    spread = np.sqrt(np.average((scores - centre) ** 2, weights=weight))
    if spread == 0.0:
        return Sigmoid(0.0, float(logit(share)))
    # a row with a fractional target is two rows
    x = np.tile((scores - centre) / spread, 2)[:, None]
    y = np.repeat([1, 0], len(scores))
    parts = np.concatenate([weight * target, weight * (1.0 - target)])
    fitted = LogisticRegression(C=np.inf, solver="newton-cholesky", tol=1e-8).fit(x, y, parts)
    slope = float(fitted.coef_[0, 0] / spread)
    if slope <= 0.0:  # no better than chance
        return Sigmoid(0.0, float(logit(share)))
    return Sigmoid(slope, float(fitted.intercept_[0] - slope * centre))


def calibrate_folds(
    tests: Sequence[np.ndarray],
    held_out: Sequence[np.ndarray],
    final: Sequence[np.ndarray],
    positive: np.ndarray,
    weight: np.ndarray | None,
    method: str | bool = True,
) -> Calibration:
    """Fit probabilities to the held-out scores of folds; a row in several counts in part in each.

    Parameters
    ----------
    tests : sequence of ndarray
        Row numbers of the held-out parts.
    held_out, final : sequence of ndarray
        The scores of each part by the model of its training part, and by the model of all rows,
        which gets the probabilities.
    positive : ndarray of bool, shape (n,)
    weight : ndarray, shape (n,), optional
    method
        As for `calibrate`.
    """
    rows = np.concatenate(tests)
    times = np.bincount(rows, minlength=len(positive))
    share = (np.ones(len(positive)) if weight is None else weight) / np.maximum(times, 1)
    scores = np.concatenate([
        cross_fitted(mine, refitted, share[test])
        for test, mine, refitted in zip(tests, held_out, final, strict=True)
    ])  # fmt: skip
    counted = (times > 0) & (share > 0)
    of_rows = counts(positive[counted], (share * times)[counted])
    rows, scores = rows[counted[rows]], scores[counted[rows]]
    return calibrate(scores, positive[rows], share[rows], of_rows, method)


def counts(positive: np.ndarray, weight: np.ndarray) -> tuple[float, float]:
    """Return the numbers of negative and positive rows that weights above 0 represent."""
    return effective_rows(weight[~positive]), effective_rows(weight[positive])
