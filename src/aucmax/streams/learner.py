"""A linear scorer that learns row by row, and can score at any time.

Rows wait until they have a share ``refresh`` of the weight of all rows, or until there are
``MAX_WAITING_ROWS`` of them; then they are learnt together, and the new solution is used for
scoring. This depends only on the rows, not on how they are divided into calls or on predictions in
between: learning one by one and many at once gives the same bits. All rows are compared here;
`aucmax.streams.strata` compares rows within strata.
"""

from collections.abc import Mapping, Set
from math import exp, isfinite, log
from typing import Any, NamedTuple

import numpy as np

from aucmax.basics.archive import ArraySpec, named, part_of
from aucmax.basics.checks import LARGEST, number
from aucmax.data.rows import allocating, compiled
from aucmax.statistics.moments import ClassMoments
from aucmax.streams.rules import MomentsRule, Rule
from aucmax.streams.waiting import Waiting, checked

__all__ = ["MAX_WAITING_ROWS", "Scorer", "StreamLearner", "counted_rows"]

MAX_WAITING_ROWS = 1000  # maximum number of waiting rows


class Scorer(NamedTuple):
    """A linear score w·x + intercept, above 0 if closer to the mean score of the positives.

    At the minimum of the square loss, the difference g of the classes' mean scores determines the
    variance within the classes: ½ g(1 − g), penalty included. For normal scores with that variance
    the log-odds are the ``slope`` 2/(1 − g) times the score, plus the ``prior`` log-odds of the
    classes.
    """

    weights: dict[Any, float]
    intercept: float
    slope: float
    prior: float
    optimality: float = 1.0

    def score(self, row: Mapping[Any, Any]) -> float:
        """Return the score of one row; a ValueError names a feature that is not a number."""
        get, total = self.weights.get, self.intercept
        try:
            for name, value in row.items():
                total += get(name, 0.0) * value
        except (TypeError, OverflowError):  # OverflowError: an integer too large for a float
            checked(row)
            raise
        if not isfinite(total):
            checked(row)
        return total

    def scores(self, names: list[Any], X: np.ndarray) -> np.ndarray:
        """Return the scores of rows X (m, k) with these features; NaN is a missing feature."""
        w = np.array([self.weights.get(name, 0.0) for name in names])
        return np.where(np.isnan(X), 0.0, X) @ w + self.intercept

    def probability(self, score: float) -> float:
        """Return the probability of the positive label."""
        z = self.prior + self.slope * score
        return 1.0 / (1.0 + exp(-z)) if z > -700.0 else 0.0


_UNTRAINED = Scorer({}, 0.0, 0.0, 0.0)


class StreamLearner:
    """Learns rows given as mappings of name to number; a missing name counts as 0.

    Parameters
    ----------
    rule : Rule
        How to learn blocks of rows.
    half_life : float, optional
        In rows: row i of m has weight γ^(m−i), γ = 2^(−1/half_life). None forgets nothing.
    refresh : float
        The share of the weight of all rows that may wait, in [0, 1); 0 learns each row immediately.
    positive : label, optional
        The label to rank first; by default the larger one.
    """

    def __init__(
        self,
        rule: Rule,
        half_life: float | None = None,
        refresh: float = 0.05,
        positive: Any = None,
    ) -> None:
        if half_life is not None:
            number(half_life, "half_life", low=1.0)
            if not isinstance(rule, MomentsRule):
                raise ValueError("SPAM forgets nothing: half_life is for learner='moments'.")
        number(refresh, "refresh", high=1.0, open_high=True)
        self.rule, self.refresh, self.positive = rule, float(refresh), positive
        self.gamma = 1.0 if half_life is None else 0.5 ** (1.0 / half_life)
        self.labels: dict[Any, int] = {}  # code by label
        self._waiting = Waiting()
        self._total = self._since = 0.0  # weights of all rows, and of waiting ones
        self._scorer: Scorer | None = _UNTRAINED

    @property
    def names(self) -> list[Any]:
        """The features seen so far, in the order of the rule's columns."""
        return list(self._waiting.columns)

    # ---- learning ------------------------------------------------------------------------

    def learn(self, row: Mapping[Any, Any], label: Any, weight: float = 1.0) -> None:
        """Learn one row; an error leaves everything as it was."""
        values = checked(row)
        if weight != 1.0:
            number(weight, "w")
        self._room(row.keys())
        code = self._code(label)
        self._waiting.add(row, values, code, weight)
        self._total, self._since, due = counted_rows(
            weight, self._total, self._since, len(self._waiting), self.gamma, self.refresh
        )
        if due:
            self._take_in()

    def learn_rows(
        self, names: list[Any], X: np.ndarray, labels: list[Any], weights: np.ndarray
    ) -> None:
        """Learn rows X (m, k) with these features, with the same result as `learn` one by one.

        NaN is a missing feature. An error leaves everything as it was.
        """
        sizes = np.abs(X)
        if np.any(sizes > LARGEST):
            j = int(np.argmax(np.any(sizes > LARGEST, axis=0)))
            raise ValueError(
                f"feature {names[j]!r} has values above {LARGEST:g}, or infinite ones."
            )
        if not (np.isfinite(weights).all() and (weights >= 0.0).all()):
            raise ValueError("w must be finite numbers, 0 or more.")
        self._room(set(names))
        old_labels = dict(self.labels)
        try:
            for label in dict.fromkeys(labels):  # in the order of their first occurrence
                self._code(label)
        except ValueError:
            self.labels = old_labels
            raise
        codes = np.array([self.labels[label] for label in labels], dtype=np.int64)
        X = np.where(np.isnan(X), 0.0, X)
        columns = np.array([self._waiting.columns[name] for name in names], dtype=np.int64)
        weights = np.array(weights)  # one array type, so that only one kernel is compiled
        ends, self._total, since = _ends(
            weights, self._total, self._since, len(self._waiting), self.gamma, self.refresh
        )
        start = 0
        for end in ends.tolist():
            self._waiting.add_rows(columns, *(part[start:end] for part in (X, codes, weights)))
            self._take_in()
            start = end
        self._waiting.add_rows(columns, X[start:], codes[start:], weights[start:])
        self._since = since

    def _room(self, names: Set[Any]) -> None:
        """Raise ValueError if the rule cannot store the new features."""
        columns = self._waiting.columns
        if not columns.keys() >= names:
            self.rule.check_features(len(columns) + sum(name not in columns for name in names))

    def _code(self, label: Any) -> int:
        """Return the code of a label; a third label raises ValueError."""
        code = self.labels.get(label)
        if code is None:
            plain = label.item() if isinstance(label, np.generic) else label
            if isinstance(plain, bool) and not self.labels:  # the other label is then known, too
                self._ranked([False, True])
                self.labels = {False: 0, True: 1}
                return int(plain)
            if len(self.labels) == 2:
                raise ValueError(
                    f"the label {plain!r} is a third one, besides {list(self.labels)}; "
                    "a stream has two classes."
                )
            self._ranked([*self.labels, plain])
            self.labels[plain] = code = len(self.labels)
        return code

    def _take_in(self) -> None:
        m = len(self._waiting)
        self.rule.learn(*self._waiting.block(self.gamma), self.gamma**m)
        self._waiting.clear()
        self._since, self._scorer = 0.0, None

    def coded_moments(self) -> ClassMoments | None:
        """Return the moments of all rows, including waiting ones, with codes as labels.

        The result is None if the rule keeps no moments. The learner does not change.
        """
        if not isinstance(self.rule, MomentsRule):
            return None
        block, m = self._waiting.block(self.gamma), len(self._waiting)
        return self.rule.after(*block, self.gamma**m, keep=True)

    def moments(self) -> ClassMoments:
        """Return the moments with labels and names; ValueError if there are none."""
        coded = self.coded_moments()
        if coded is None:
            raise ValueError("SPAM keeps no class moments; use learner='moments'.")
        if len(self.labels) < 2:
            raise ValueError(
                f"there are no moments of two classes yet: {list(self.labels)} so far."
            )
        moments = coded.relabelled(list(self.labels))
        moments.feature_names = [str(name) for name in self._waiting.columns]
        return moments

    # ---- scoring -------------------------------------------------------------------------

    @property
    def classes(self) -> list[Any]:
        """The labels seen so far; if there are two, the positive one is last."""
        return self._ranked(list(self.labels))

    def _ranked(self, labels: list[Any]) -> list[Any]:
        """Return labels with the positive one last; ValueError if it is neither of the two."""
        if len(labels) < 2:
            return labels
        if self.positive is not None:
            if self.positive not in labels:
                raise ValueError(
                    f"none of the labels {labels} is the positive one, {self.positive!r}"
                )
            return sorted(labels, key=lambda label: bool(label == self.positive))
        try:
            return sorted(labels)
        except TypeError:
            raise ValueError(
                f"the labels {labels} cannot be ordered; name the one to rank first as `positive`."
            ) from None

    @property
    def scorer(self) -> Scorer:
        """The current scorer: the solution for all learnt rows."""
        if self._scorer is None:
            self._scorer = self._solved()
        return self._scorer

    def _solved(self) -> Scorer:
        classes = self.classes
        solution = self.rule.solve(self.labels[classes[1]]) if len(classes) == 2 else None
        if solution is None:
            return _UNTRAINED
        (low, high), (n_neg, n_pos) = solution.centres, solution.counts
        slope = 2.0 / max(1.0 - (high - low), 1.0 / (n_neg + n_pos))
        weights = dict(zip(self._waiting.columns, solution.coef.tolist(), strict=False))
        prior = log(n_pos) - log(n_neg)  # their ratio could underflow
        return Scorer(weights, -0.5 * (low + high), slope, prior, solution.optimality)

    # ---- files ---------------------------------------------------------------------------

    def arrays(self) -> dict[str, np.ndarray]:
        """Return everything learnt except ``names`` and ``labels``."""
        weight = {"weight": np.array([self._total, self._since])}
        waiting = named("waiting", self._waiting.arrays())
        return weight | waiting | named("rule", self.rule.arrays)

    def specs(self, d: int, learnt: int, classes: int) -> dict[str, ArraySpec]:
        """Return the declarations of `arrays` for d features, of which ``learnt`` were learnt."""
        if learnt > d:
            raise ValueError(f"it has learnt {learnt} of {d} features")
        self.rule.check_features(d)
        waiting = named("waiting", self._waiting.specs(d, classes))
        weight = {"weight": ArraySpec((2,), low=0.0)}
        return weight | waiting | named("rule", self.rule.specs(learnt))

    def restore(
        self, names: list[Any], labels: dict[Any, int], arrays: dict[str, np.ndarray]
    ) -> None:
        """Restore arrays that match `specs`, with their names and labels.

        Raises
        ------
        ValueError
            If they are inconsistent.
        """
        self._ranked(list(labels))
        self._total, self._since = arrays["weight"].tolist()
        if self._since > self._total:
            raise ValueError("its waiting rows have more weight than all rows")
        self.rule.arrays = part_of(arrays, "rule")
        self._waiting.restore(names, self.rule.n_features, part_of(arrays, "waiting"))
        self._check_waiting()
        self.labels, self._scorer = dict(labels), None

    def _check_waiting(self) -> None:
        """Raise ValueError if a file has more waiting rows than would wait."""
        if len(self._waiting) >= MAX_WAITING_ROWS:
            raise ValueError(
                f"it has {len(self._waiting)} waiting rows, {MAX_WAITING_ROWS} or more"
            )


def counted_rows(weight, total, since, waiting, gamma, refresh):
    """Count one or more rows: return the weights of all and of waiting rows, and if these are due.

    ``waiting`` is the number of waiting rows, including these; older rows decay by γ.
    """
    total, since = gamma * total + weight, gamma * since + weight
    return total, since, since >= refresh * total or waiting >= MAX_WAITING_ROWS


_count = compiled(counted_rows)  # for many rows; for one row the call would take longer


@allocating
def _ends(weights, total, since, waiting, gamma, refresh):
    """Count rows; return the ends of the blocks to learn, and the weights after the last row."""
    ends, k = np.empty(len(weights), dtype=np.int64), 0
    for i in range(len(weights)):
        waiting += 1
        total, since, due = _count(weights[i], total, since, waiting, gamma, refresh)
        if due:
            ends[k], k = i + 1, k + 1
            since, waiting = 0.0, 0
    return ends[:k], total, since
