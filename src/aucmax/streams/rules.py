"""Rules for learning a block of rows: by class moments, or by SPAM's steps.

Codes 0 and 1 stand for the two labels. New features are appended; earlier rows have 0 in them.
"""

import copy
import warnings
from typing import Any, NamedTuple, Protocol

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from aucmax.basics.archive import ArraySpec
from aucmax.basics.checks import LARGEST
from aucmax.data.rows import Rows, n_features, take_rows
from aucmax.estimators import AUCClassifier
from aucmax.estimators.additive_moments import Prior
from aucmax.objective.penalties import ElasticNet
from aucmax.solvers import SPAM
from aucmax.statistics.moments import ClassMoments

__all__ = ["MomentsRule", "Rule", "Solution", "SpamRule", "rule_of"]

_NOT_NEGATIVE = ("mass", "square", "k")  # arrays of SPAM's state


class Solution(NamedTuple):
    """Coefficients (d,), the scores of the class means (negative first), and the class weights.

    ``optimality`` is that of `AUCClassifier`, NaN if unknown.
    """

    coef: np.ndarray
    centres: tuple[float, float]
    counts: tuple[float, float]
    optimality: float


class Rule(Protocol):
    """Learns blocks of rows; ``arrays`` is its entire state, and can be set."""

    arrays: dict[str, np.ndarray]

    @property
    def n_features(self) -> int:
        """Number of features in the blocks learnt so far."""

    def specs(self, d: int) -> dict[str, ArraySpec]:
        """Return the declarations of ``arrays`` for d features."""

    def check_features(self, d: int) -> None:
        """Raise ValueError if d features are too many."""

    def learn(self, X: Rows, codes: np.ndarray, weight: np.ndarray, gamma: float) -> None:
        """Learn a block (m, d) with codes and weights (m,), after decaying old rows by γ."""

    def solve(self, positive: int) -> Solution | None:
        """Return the solution that ranks the class with this code first; None without both."""


def rule_of(
    learner: str,
    alpha: float,
    l1_ratio: float,
    standardize: float,
    within: float = 0.5,
    step_size: float | None = None,
) -> Rule:
    """Return the rule "moments" or "spam"; ValueError for settings of the other rule."""
    if learner == "moments":
        if step_size is not None:
            raise ValueError("step_size is for learner='spam'; 'moments' needs none.")
        return MomentsRule(
            alpha=alpha, l1_ratio=l1_ratio, standardize=standardize, within=within, tol=1e-10
        )
    if learner != "spam":
        raise ValueError(f"learner must be 'moments' or 'spam'; got {learner!r}.")
    if within != 0.5:
        raise ValueError(f"within={within!r} is for learner='moments'; leave it 0.5.")
    return SpamRule(alpha, l1_ratio, step_size)


class MomentsRule:
    """Class moments, and the optimum for them by ``AUCClassifier(**settings)``.

    Parameters
    ----------
    prior : Prior, optional
        That of the features of an additive model; the problem is solved in its coordinates.
    **settings
        Settings of `AUCClassifier`.
    """

    def __init__(self, prior: Prior | None = None, **settings: Any) -> None:
        self.prior, self.settings = prior, settings
        AUCClassifier(**settings).settings()
        self.moments = ClassMoments(classes=[0, 1])

    def check_features(self, d: int) -> None:
        size = self.moments.nbytes(d)
        if size > AUCClassifier.max_moment_bytes:
            raise ValueError(
                f"the moments of {d} features take {size / 1e9:.1f} GB, more than "
                f"AUCClassifier.max_moment_bytes ({AUCClassifier.max_moment_bytes / 1e9:g} GB); "
                "use learner='spam', which keeps O(d)."
            )

    def learn(self, X: Rows, codes: np.ndarray, weight: np.ndarray, gamma: float) -> None:
        self.moments = self.after(X, codes, weight, gamma)

    def after(
        self, X: Rows, codes: np.ndarray, weight: np.ndarray, gamma: float, keep: bool = False
    ) -> ClassMoments:
        """Return the moments with a block added; in place unless ``keep`` is set."""
        if gamma < 1.0:
            moments = self.moments.decay(gamma)
        else:
            moments = self.moments.copy() if keep else self.moments
        return moments.widened(n_features(X)).add_rows(X, codes, weight)

    def solve(self, positive: int) -> Solution | None:
        if self.moments.counts.min() <= 0.0:
            return None
        model = AUCClassifier(**self.settings, positive=positive)
        with warnings.catch_warnings():  # expected with few or equal rows; optimality tells
            warnings.simplefilter("ignore", ConvergenceWarning)
            moments = self.moments if self.prior is None else self.prior.moments(self.moments)
            coef = model.fit_moments(moments).coef_[0]
        coef = coef if self.prior is None else self.prior.root @ coef
        order = [1 - positive, positive]
        low, high = (self.moments.means[order] @ coef).tolist()
        counts = self.moments.counts[order].tolist()
        return Solution(coef, (low, high), (counts[0], counts[1]), model.optimality_)

    @property
    def n_features(self) -> int:
        return self.moments.n_features

    def specs(self, d: int) -> dict[str, ArraySpec]:
        return {
            "counts": ArraySpec((2,), low=0.0),
            "squares": ArraySpec((2,), low=0.0),
            "means": ArraySpec((2, d), high=LARGEST),
            "covs": ArraySpec((2, d, d), high=LARGEST**2),
        }

    @property
    def arrays(self) -> dict[str, np.ndarray]:
        """Counts and sums of squared weights (2,), means (2, d), covariances (2, d, d) by code."""
        names = ("counts", "squares", "means", "covs")
        return {name: getattr(self.moments, name) for name in names}

    @arrays.setter
    def arrays(self, values: dict[str, np.ndarray]) -> None:
        self.moments = ClassMoments(classes=[0, 1]).widened(values["means"].shape[1])
        for name, array in self.arrays.items():
            array[...] = values[name]
        self.moments.check_state()


class SpamRule:
    """One SPAM step for each row, with O(d) numbers and without forgetting.

    With an l2 penalty and no ``step_size`` the schedule is "strong", which ranked better in one
    pass on four data sets than "sqrt", the schedule in all other cases.
    """

    def __init__(self, alpha: float, l1_ratio: float, step_size: float | None = None) -> None:
        self.penalty = ElasticNet(alpha, l1_ratio)
        self.penalty.check()
        if step_size is None and self.penalty.convexity > 0.0:
            self.solver = SPAM(schedule="strong", order="cyclic")
        else:
            self.solver = SPAM("auto" if step_size is None else step_size, order="cyclic")
        self.solver.given_step()
        self.arrays = self.solver.blank(0, self.penalty)

    @property
    def n_features(self) -> int:
        return self.arrays["total"].shape[1]

    def specs(self, d: int) -> dict[str, ArraySpec]:
        specs = {
            name: ArraySpec(zeros.shape, zeros.dtype, 0.0 if name in _NOT_NEGATIVE else None)
            for name, zeros in self.solver.blank(d, self.penalty).items()
        }
        return specs | {"slower": ArraySpec((1,), low=1.0, high=1.0)}  # steps are never shortened

    def check_features(self, d: int) -> None:
        pass

    def learn(self, X: Rows, codes: np.ndarray, weight: np.ndarray, gamma: float) -> None:
        for name, wide in self.solver.blank(n_features(X), self.penalty).items():
            array = self.arrays[name]
            if wide.shape != array.shape:
                wide[..., : array.shape[-1]] = array
                self.arrays[name] = wide
        state = copy.deepcopy(self.arrays)
        if not weight.all():
            weighted = np.flatnonzero(weight)
            X, codes, weight = take_rows(X, weighted), codes[weighted], weight[weighted]
        sign = np.where(codes == 1, 1.0, -1.0)
        self.solver.take(state, X, sign, weight, self.penalty, np.random.RandomState(0))
        if np.isfinite(self.solver.current(state)).all():
            self.arrays = state
            return
        warnings.warn(
            "SPAM diverged: its coefficients were not finite after these rows, which were skipped; "
            "scale the features, or lower step_size.",
            ConvergenceWarning,
            stacklevel=5,
        )

    def solve(self, positive: int) -> Solution | None:
        mass, total = self.arrays["mass"], self.arrays["total"]
        if mass.min() <= 0.0:
            return None
        # the steps rank code 1 first; the objective is the same with the classes swapped
        coef = self.solver.current(self.arrays) * (1.0 if positive == 1 else -1.0)
        order = [1, 0] if positive == 1 else [0, 1]
        low, high = ((total[order] @ coef) / mass[order]).tolist()
        counts = mass[order].tolist()
        return Solution(coef.copy(), (low, high), (counts[0], counts[1]), np.nan)
