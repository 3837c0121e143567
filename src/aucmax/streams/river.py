"""A classifier for river, which learns from dicts of features, one by one."""

from typing import Any

import numpy as np

from aucmax.basics.needs import needs
from aucmax.statistics.moments import ClassMoments
from aucmax.streams.learner import StreamLearner
from aucmax.streams.rules import rule_of

needs("river", "aucmax.river")
from river import base  # noqa: E402
from river.utils import dataframe  # noqa: E402

__all__ = ["AUCClassifier"]


class AUCClassifier(base.MiniBatchClassifier):
    """Linear classifier that maximises the AUC, for river.

    With ``learner="moments"`` the model keeps the class moments of all rows, and is the optimum of
    the pairwise square loss for them: it needs no learning rate and no scaler. With "spam" each row
    is one step of stochastic proximal AUC maximization, with O(d) numbers for d features.

    A feature that a row lacks counts as 0. Rows are learnt in blocks, and predictions use the model
    after the last block: see ``refresh``. The blocks depend only on the rows, so `learn_many` gives
    the same model as `learn_one` for each row, bit for bit if the features have the same order.

    Parameters
    ----------
    alpha : float
        α ≥ 0, the strength of the penalty.
    l1_ratio : float
        ρ in [0, 1], the share of the l1 part.
    learner : {"moments", "spam"}
    standardize : float
        γ in [0, 1], as in `aucmax.AUCClassifier`. "spam" sees rows one by one and does not scale
        them; scale them beforehand.
    within : float
        τ, the weight of the positives' covariance, as in `aucmax.AUCClassifier`; "moments" only.
    half_life : float, optional
        In rows; "moments" only. Row i of m has weight 2^(−(m−i)/half_life), exactly.
    refresh : float
        The share of all weight that may arrive before the next block is learnt, in [0, 1). With .05
        the first twenty rows are learnt one by one, and from the 20,000th on a thousand at a time,
        the maximum; 0 learns each row immediately, and solves for each.
    step_size : float, optional
        For "spam": C in the steps C/√t, on the paper's scale. None uses steps 1/(C̃(t + t0)), which
        the l2 penalty allows, with automatic constants.
    positive : label, optional
        The label to rank first; by default the larger of the two.

    Notes
    -----
    The probabilities assume that the scores of both classes are normal, with the variance that
    the minimum of the objective implies, and use the class frequencies seen so far.
    `predict_one` returns the more probable label. Until both labels have been seen, features are
    ignored.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics
    >>> from aucmax.river import AUCClassifier
    >>> auc = evaluate.progressive_val_score(datasets.Phishing(), AUCClassifier(), metrics.ROCAUC())
    >>> bool(auc.get() > 0.9)
    True
    """

    def __init__(
        self,
        alpha: float = 3e-4,
        l1_ratio: float = 0.0,
        learner: str = "moments",
        standardize: float = 0.5,
        within: float = 0.5,
        half_life: float | None = None,
        refresh: float = 0.05,
        step_size: float | None = None,
        positive: Any = None,
    ) -> None:
        self.alpha = alpha
        self.l1_ratio = l1_ratio
        self.learner = learner
        self.standardize = standardize
        self.within = within
        self.half_life = half_life
        self.refresh = refresh
        self.step_size = step_size
        self.positive = positive
        rule = rule_of(learner, alpha, l1_ratio, standardize, within, step_size)
        self._stream = StreamLearner(rule, half_life, refresh, positive)
        self._y_name: str | None = None

    @classmethod
    def _unit_test_params(cls) -> Any:
        yield {}
        yield {"learner": "spam"}

    @property
    def weights(self) -> dict[Any, float]:
        """The coefficient of each feature."""
        return dict(self._stream.scorer.weights)

    @property
    def intercept(self) -> float:
        """The intercept, which puts 0 midway between the mean scores of the two labels."""
        return self._stream.scorer.intercept

    @property
    def moments(self) -> ClassMoments:
        """The class moments of all rows, to save, merge, or fit with `aucmax.AUCClassifier`.

        Feature names are converted to text. "spam" keeps no moments.
        """
        return self._stream.moments()

    # ---- one row -------------------------------------------------------------------------

    def learn_one(self, x: dict[Any, Any], y: Any, w: float = 1.0) -> None:
        """Learn a row; an error leaves the model as it was.

        Parameters
        ----------
        x : dict
            Finite numbers by feature.
        y : bool, int or str
            One of two labels.
        w : float
            The row's weight, 0 or more.
        """
        self._stream.learn(x, y, w)

    def score_one(self, x: dict[Any, Any]) -> float:
        """Return the score of a row: the higher, the more likely positive.

        Parameters
        ----------
        x : dict
            Numbers by feature.
        """
        return self._stream.scorer.score(x)

    def predict_proba_one(self, x: dict[Any, Any], **kwargs: Any) -> dict[Any, float]:
        """Return the probability of each label seen so far, or of False and True before any row.

        Parameters
        ----------
        x : dict
            Numbers by feature.
        **kwargs
            Not used.
        """
        scorer = self._stream.scorer
        return self._labelled(scorer.probability(scorer.score(x)))

    # ---- many rows -----------------------------------------------------------------------

    def learn_many(self, X: Any, y: Any, w: Any = 1.0) -> None:
        """Learn the rows of a data frame, with the same result as `learn_one` row by row.

        Parameters
        ----------
        X : data frame
            From pandas, polars or another library that narwhals supports. A missing value means
            that the row lacks the feature.
        y : series
        w : float or series
            Weights of the rows.
        """
        frame, labels = dataframe.into_frame(X), dataframe.into_series(y)
        if len(frame) != len(labels):
            raise ValueError(f"X has {len(frame)} rows and y has {len(labels)}.")
        weights = np.broadcast_to(np.asarray(w, dtype=np.float64), len(frame))
        rows = dataframe.to_numpy(frame)
        self._stream.learn_rows(list(frame.columns), rows, labels.to_list(), weights)
        self._y_name = labels.name

    def predict_proba_many(self, X: Any) -> Any:
        """Return the probabilities of `predict_proba_one` for each row, as a data frame.

        Parameters
        ----------
        X : data frame
        """
        frame = dataframe.into_frame(X)
        probabilities = [self._labelled(p) for p in self._probabilities(frame)]
        labels = list(self._labelled(0.5))
        columns = {label: np.array([row[label] for row in probabilities]) for label in labels}
        return dataframe.to_native_frame(columns, like=frame)

    def predict_many(self, X: Any) -> Any:
        """Return the labels of `predict_one` for each row, as a series.

        Parameters
        ----------
        X : data frame
        """
        frame = dataframe.into_frame(X)
        probabilities = [self._labelled(p) for p in self._probabilities(frame)]
        labels = [max(row, key=row.__getitem__) for row in probabilities]
        return dataframe.to_native_series(labels, name=self._y_name, like=frame)

    def _probabilities(self, frame: Any) -> list[float]:
        scorer = self._stream.scorer
        scores = scorer.scores(list(frame.columns), dataframe.to_numpy(frame))
        return [scorer.probability(score) for score in scores.tolist()]

    def _labelled(self, probability: float) -> dict[Any, float]:
        """Return the probability of each label, given that of the positive one."""
        labels = self._stream.classes
        if len(labels) == 1:
            return {labels[0]: 1.0}
        negative, positive = labels or (False, True)
        return {negative: 1.0 - probability, positive: probability}
