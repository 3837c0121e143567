"""Tests whether a measure is equal in all segments of the rows."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import chdtrc

from aucmax.metrics.delong import ROUNDING
from aucmax.metrics.influence import Influence
from aucmax.metrics.reading import Floats

__all__ = ["Equality", "correlations", "equal_rates", "equal_values"]


class Equality(NamedTuple):
    """A test that a measure is equal in all segments.

    Parameters
    ----------
    chi2 : float
        Wald's statistic.
    freedom : int
        Its degrees of freedom, one less than the number of segments.
    p_value : float
        The probability of a larger statistic if the measure is equal.
    """

    chi2: float
    freedom: int
    p_value: float


def equal_rates(
    parts: Sequence[Influence], correlation: Floats, of_rows: Sequence[Influence] | None = None
) -> Equality:
    """Test whether two or more rates in [0, 1] are equal, such as AUCs or recalls.

    The variance of each rate is that at the common rate, for its effective number of trials. The
    ratio of actual to binomial variance is estimated from all segments together, since the variance
    in a segment of few rows may be small by chance. For shares this is the χ² test of proportions.
    Groups of m trials with correlation ρ have 1 + (m − 1) ρ times the variance. ρ is estimated from
    all segments, too, although their groups may differ in size.

    Parameters
    ----------
    parts : sequence of Influence
        For each segment, the rate, and how far each independent unit moves it.
    correlation : ndarray, shape (K, K)
        The correlations of the rates of the segments.
    of_rows : sequence of Influence, optional
        The same by rows, if the units are groups of rows.
    """
    rows = parts if of_rows is None else of_rows
    rates = np.array([part.value for part in rows])
    trials = np.array([part.units for part in rows])
    rate = float(trials @ rates / trials.sum())
    if rate * (1.0 - rate) <= ROUNDING:
        return Equality(0.0, len(parts) - 1, 1.0)
    variances = np.array([part.variance for part in rows])
    spread, most = float(trials**2 @ variances), float(trials @ (rates * (1.0 - rates)))
    factor = spread / most if most > ROUNDING and spread > 0.0 else 1.0
    variance = factor * rate * (1.0 - rate) / trials
    if of_rows is not None:
        more = trials / np.array([part.units for part in parts]) - 1.0  # trials of a group
        extra = np.array([part.variance for part in parts]) - variances
        most = float(trials**2 @ (variances * more))
        alike = float(trials**2 @ extra) / most if most > ROUNDING * spread else 0.0
        variance *= 1.0 + more * min(max(alike, 0.0), 1.0)
    return equal_values(rates, variance, correlation)


def equal_values(values: Floats, variances: Floats, correlation: Floats) -> Equality:
    """Test whether two or more values (K,) with these variances and correlations are equal."""
    errors = np.sqrt(variances)
    inverse = np.linalg.pinv(correlation * np.outer(errors, errors), hermitian=True)
    weight = inverse.sum(axis=0)
    apart = values - float(weight @ values) / float(weight.sum())
    chi2 = max(float(apart @ inverse @ apart), 0.0)
    return Equality(chi2, len(values) - 1, float(chdtrc(len(values) - 1, chi2)))


def correlations(parts: Sequence[Influence]) -> Floats:
    """Return the correlations of values that the same units move, shape (K, K)."""
    moved = np.array([part.moved for part in parts])
    products = moved @ moved.T
    size = np.sqrt(np.diag(products))
    size[size == 0.0] = 1.0
    between = products / np.outer(size, size)
    np.fill_diagonal(between, 1.0)
    return np.asarray(between)
