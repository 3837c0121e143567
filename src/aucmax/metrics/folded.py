"""The interval of a cross-validated area under the ROC curve.

docs/auc_intervals.md gives the formulas, and how well the intervals cover.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import coo_array, csr_array
from scipy.special import ndtri

from aucmax.basics.checks import number
from aucmax.metrics.delong import ROUNDING, Spread
from aucmax.metrics.intervals import AUCInterval, interval_around
from aucmax.metrics.levels import levels_of, pairs_won_and_lost, rivals_above
from aucmax.metrics.reading import Bools, Floats, Labels, codes_of, read

__all__ = ["cv_auc_interval"]


def cv_auc_interval(
    y: Labels,
    score: ArrayLike,
    fold: ArrayLike,
    confidence: float = 0.95,
    pos_label: Any = None,
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    *,
    small_sample: bool = True,
) -> AUCInterval:
    """Cross-validated area under the ROC curve with its standard error and confidence interval.

    The area is the mean of the folds' own areas: scores are compared only within a fold, as each
    fold has a scorer of its own.

    Parameters
    ----------
    y, pos_label
        As for `roc_auc`.
    score : array-like of shape (n,)
        Of each row, the score of the model that was fitted without the row's fold.
    fold : array-like of shape (n,)
        The fold in which each row was held out: numbers or text. Each needs both classes.
    confidence : float, default=0.95
        Coverage of the two-sided interval, above 0 and below 1.
    sample_weight : array-like of shape (n,), optional
        As for `auc_interval`; each fold counts the same all the same.
    groups : array-like of shape (n,), optional
        Rows of one group are not independent: those of one customer, say. Where rows were held out
        more than once, by repeated folds or random splits, give each entry its row's number.
    small_sample : bool, default=True
        False is the formula of LeDell, Petersen and van der Laan [1]_ to the letter, which is that
        of R's ``cvAUC::ci.cvAUC``: an average over the folds of the squared influence curve, and
        the normal quantile. It is too narrow for few rows of a class, has no width where all folds
        are ranked perfectly, and takes neither `sample_weight` nor `groups`. True corrects it.

    Returns
    -------
    AUCInterval
        The named tuple ``(auc, low, high, std_error)``, as from `auc_interval`.

    Raises
    ------
    ValueError
        If a fold has one class only, if `confidence` is not in (0, 1), and for the reasons given
        in `roc_auc`.

    See Also
    --------
    auc_interval : The interval of a scorer that did not learn from any of the rows.

    Notes
    -----
    The interval is for the mean of the areas that the folds' models have on new rows, for settings
    that were fixed beforehand. If the settings were chosen on the same folds, the area is biased
    upwards, and so is the interval. It does not tell how the area would vary with other training
    rows.

    Each row moves the area by its influence, estimated from its placement among the other class of
    its fold; the variance is the sum of squares over rows, or over the groups' sums, set against
    what such a sum is expected to be for independent placements. So one fold gives `auc_interval`,
    folds of equal size their mean DeLong variance divided by their number, and rounds of folds the
    variance of their mean. From there on all is as in `auc_interval`, but with Student's quantile:
    models that share training rows err together.

    References
    ----------
    .. [1] LeDell, Petersen, van der Laan (2015). Computationally efficient confidence intervals
       for cross-validated area under the ROC curve estimates. Electronic Journal of Statistics 9,
       1583-1607.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1], [500, 50])
    >>> fold = np.arange(550) % 5
    >>> found = cv_auc_interval(y, rng.normal(size=550) + 2 * y + fold, fold)
    >>> print("{:.3f} ({:.3f} to {:.3f})".format(*found[:3]))
    0.943 (0.894 to 0.970)
    """
    number(confidence, "confidence", high=1.0, open_low=True, open_high=True)
    if not small_sample and (sample_weight is not None or groups is not None):
        raise ValueError(
            "small_sample=False is a formula for independent rows that count the same; leave out "
            "sample_weight and groups, or leave small_sample at True."
        )
    names, number_of = codes_of(fold, "fold")
    group = np.arange(len(number_of)) if groups is None else codes_of(groups, "groups")[1]
    positive, weight, scores, number_of, group = read(
        y, sample_weight, pos_label, score=score, fold=number_of, groups=group
    )
    order = np.argsort(number_of, kind="stable")
    folds = []
    for rows in np.split(order, np.flatnonzero(np.diff(number_of[order])) + 1):
        if positive[rows].all() or not positive[rows].any():
            lacking = "negative" if positive[rows[0]] else "positive"
            raise ValueError(
                f"fold {names[number_of[rows[0]]]} holds no {lacking} row, so it has no AUC; use "
                "stratified folds, or fewer of them."
            )
        of_rows = None if weight is None else weight[rows]
        folds.append(_fold(positive[rows], of_rows, scores[rows], group[rows]))
    auc = float(np.mean([one.auc for one in folds]))
    if not small_sample:
        std_error = _by_formula(folds)
        reach = float(ndtri((1.0 + confidence) / 2)) * std_error
        return AUCInterval(auc, max(auc - reach, 0.0), min(auc + reach, 1.0), std_error)
    miss = float(np.mean([one.miss for one in folds]))
    classes = [_class([one.parts[side] for one in folds], int(group.max()) + 1) for side in (0, 1)]
    if any(one.singles for one in classes):
        classes = [one._replace(moved=0 * one.moved) for one in classes]
    spreads = classes[0].spread(), classes[1].spread()
    shared = 2 * float(classes[0].moved @ classes[1].moved)
    pairs = min(one.pairs for one in classes)
    # Models that share training rows err together, so that areas vary more than the rows tell.
    freedom = min(one.rows for one in spreads) - 1 if len(folds) > 1 else np.inf
    return interval_around(
        auc, miss, spreads, confidence, shared=shared, pairs=pairs, freedom=freedom
    )


class _Part(NamedTuple):
    """The rows of one class in one fold."""

    group: NDArray[np.intp]
    share: Floats  # of the class's weight
    moved: Floats  # how far each row moves the fold's area, beside the others of its class


class _Fold(NamedTuple):
    auc: float
    miss: float  # 1 - auc, without cancellation
    parts: tuple[_Part, _Part]  # positives, negatives


class _Class(NamedTuple):
    """The rows of one class in all folds."""

    rows: float  # independent ones, by Kish's number
    pairs: float  # independent ones that its rows allow
    moved: Floats  # how far each group moves the mean area, for samples as small as these
    singles: bool  # whether no fold has two rows of it

    def spread(self) -> Spread:
        return Spread(float(self.moved @ self.moved), self.rows)


def _fold(
    positive: Bools, weight: Floats | None, score: NDArray[Any], group: NDArray[np.intp]
) -> _Fold:
    levels = levels_of(positive, weight, score)
    won, lost = pairs_won_and_lost(levels)
    above = rivals_above(levels, positive)
    weight = np.ones(len(above)) if weight is None else weight
    pos, neg = weight[positive].sum(), weight[~positive].sum()
    parts = (  # negatives above a positive cost area, positives above a negative bring it
        _part(group[positive], weight[positive] / pos, -above[positive] / neg),
        _part(group[~positive], weight[~positive] / neg, above[~positive] / pos),
    )
    return _Fold(won / (won + lost), lost / (won + lost), parts)


def _part(group: NDArray[np.intp], share: Floats, placed: Floats) -> _Part:
    placed = placed - placed[0]
    placed[np.abs(placed) <= ROUNDING] = 0.0  # equal placements have no spread at all
    return _Part(group, share, share * (placed - share @ placed))


def _class(parts: Sequence[_Part], n_groups: int) -> _Class:
    share = _shares(parts, n_groups)
    common = share @ share.T  # P, shape (V, V)
    one_fold = common.diagonal()  # 1/k of each fold
    held_out = np.bincount(share.indices, minlength=n_groups)
    # Pairs of rows of all folds part into as many independent sets as a group was held out at most.
    pairs = len(parts) / float(one_fold.max()) / float(held_out.max())
    rows = len(parts) ** 2 / float(common.sum())
    spread, moved = one_fold <= 1 / (2 - ROUNDING), np.zeros(n_groups)
    if spread.any():
        scale = np.where(spread, 1 / np.sqrt(np.where(spread, 1 - one_fold, 1.0)), 0.0)
        for part, factor in zip(parts, scale / len(parts), strict=True):
            moved += np.bincount(part.group, factor * part.moved, n_groups)
        moved *= np.sqrt(float(common.sum()) / _expected(common.tocoo(), one_fold, scale))
    return _Class(rows, pairs, moved, not spread.any())


def _shares(parts: Sequence[_Part], n_groups: int) -> csr_array:
    """Return each group's share of the class in each fold, shape (V, n_groups)."""
    fold = np.repeat(np.arange(len(parts)), [len(part.group) for part in parts])
    group, share = (np.concatenate(each) for each in zip(*(p[:2] for p in parts), strict=True))
    return csr_array(coo_array((share, (fold, group)), shape=(len(parts), n_groups)))


def _expected(common: coo_array, one_fold: Floats, scale: Floats) -> float:
    """Return Σ s_u s_v P_uv (1 − P_uu − P_vv + P_uv): the sum of squares that variance 1 leads to.

    Of placements whose mean in each fold is taken off. Folds that share rows take off parts of the
    same sums: without repeats this is Σ P_uv.
    """
    u, v = common.coords
    each = common.data * (1 - one_fold[u] - one_fold[v] + common.data)
    return float((scale[u] * scale[v]) @ each)


def _by_formula(folds: list[_Fold]) -> float:
    """Return the standard error of LeDell, Petersen and van der Laan (2015)."""
    sizes = np.array([[len(part.group) for part in one.parts] for one in folds])
    n = sizes.sum()
    inverse = n / sizes.sum(axis=0)  # 1/P(Y = 1), 1/P(Y = 0): of all rows, not of the fold's
    means = []
    for one, here in zip(folds, sizes, strict=True):
        curve = [w * m * part.moved for w, m, part in zip(inverse, here, one.parts, strict=True)]
        means.append(np.mean(np.concatenate(curve) ** 2))
    return float(np.sqrt(np.mean(means) / n))
