"""A learner of rows that are compared within strata, whose rows come one stratum after another.

The rows of the open stratum wait until a row of another stratum arrives: then the open stratum is
complete, and is learnt as a whole. A stratum that comes again is an error, because it would have
been compared in two parts; the statistics keep a digest of each stratum to detect this.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from aucmax.basics.archive import ArraySpec
from aucmax.basics.checks import LARGEST
from aucmax.data.rows import Rows, n_features
from aucmax.data.strata import Strata, StrataWeight, came_again, check_strata_weight, digest_of
from aucmax.estimators.additive_moments import Prior
from aucmax.statistics.moments import ClassMoments
from aucmax.statistics.strata import NO_STRATA, STRATA, KnownStrata
from aucmax.streams.learner import StreamLearner, counted_rows
from aucmax.streams.rules import MomentsRule
from aucmax.streams.waiting import checked

__all__ = ["StrataLearner", "StrataRule"]


class StrataRule(MomentsRule):
    """Moments within strata, and the optimum for them by ``AUCClassifier(**settings)``.

    Parameters
    ----------
    weighting : {"positives", "pairs", "strata"}
        What the weight of a stratum is proportional to.
    column : str
        The name of the strata.
    prior, **settings
        As for `MomentsRule`.
    """

    def __init__(
        self, weighting: StrataWeight, column: str, prior: Prior | None = None, **settings: Any
    ) -> None:
        check_strata_weight(weighting)
        super().__init__(prior, strata_weight=weighting, **settings)
        self._none = replace(NO_STRATA, weighting=weighting, positive=1, column=column)
        self.moments = self._blank(0)

    @property
    def known(self) -> KnownStrata:
        """The strata learnt so far."""
        assert self.moments.strata is not None
        return self.moments.strata

    def learn_strata(
        self, X: Rows, codes: np.ndarray, weight: np.ndarray, strata: Strata, gamma: float
    ) -> None:
        """Learn a block (m, d) of whole strata, after decaying old ones by γ."""
        self.moments = self.after_strata(X, codes, weight, strata, gamma)

    def after_strata(
        self, X: Rows, codes: np.ndarray, weight: np.ndarray, strata: Strata, gamma: float
    ) -> ClassMoments:
        """Return the moments with a block added."""
        moments = self.moments.decay(gamma).widened(n_features(X))
        return moments.add_strata(X, codes, weight, strata.weighed(self.known.weighting))

    def rank(self, positive: int) -> None:
        """Make the class with this code the positive one."""
        self.moments.strata = self.known.ranked(positive)

    def specs(self, d: int) -> dict[str, ArraySpec]:
        of_classes = {"counts": (), "squares": (), "own": ()} | dict.fromkeys(_BY_FEATURE, (d,))
        specs = {
            name: ArraySpec((2, *shape), low=0.0 if name in _NOT_NEGATIVE else None,
                            high=LARGEST if name in ("means", "origins") else np.inf)
            for name, shape in of_classes.items()
        }  # fmt: skip
        return specs | {
            "covariances": ArraySpec((2, d, d), high=LARGEST**2),
            "positive": ArraySpec((), np.int64, 0, 1),
            **STRATA,
        }

    @property
    def arrays(self) -> dict[str, np.ndarray]:
        """The arrays of the moments by code, the strata, and the code of the positives."""
        return self.moments.kept | self.known.arrays | {"positive": np.array(self.known.positive)}

    @arrays.setter
    def arrays(self, values: dict[str, np.ndarray]) -> None:
        self.moments = self._blank(values["means"].shape[1])
        for name, array in self.moments.kept.items():
            array[...] = values[name]
        digests, rows = (values[name] for name in STRATA)
        positive = int(values["positive"])
        strata = replace(self._none, digests=digests, rows=rows, positive=positive)
        strata.check_state()
        self.moments.strata = strata
        self.moments.check_state()

    def _blank(self, d: int) -> ClassMoments:
        """Return moments without any strata."""
        return ClassMoments.within_strata([0, 1], self._none).widened(d)


_BY_FEATURE = ("means", "origins", "scatter")
_NOT_NEGATIVE = ("counts", "squares", "own", "scatter")


class StrataLearner(StreamLearner):
    """Learns the rows of consecutive strata, each stratum once it is complete.

    With a ``half_life`` in rows, a stratum that ended m rows ago has the weight 2^(−m/half_life),
    times its own.

    Parameters
    ----------
    rule : StrataRule
    half_life, refresh, positive
        As for `StreamLearner`.
    """

    rule: StrataRule

    def __init__(
        self,
        rule: StrataRule,
        half_life: float | None = None,
        refresh: float = 0.05,
        positive: Any = None,
    ) -> None:
        super().__init__(rule, half_life, refresh, positive)
        self._digests: list[int] = []  # of the waiting strata; the last one is open
        self._starts: list[int] = []  # the first row of each
        self._open: Any = None  # the name of the open stratum

    # ---- learning ------------------------------------------------------------------------

    def begins(self, row: Mapping[Any, Any], label: Any, stratum: Any) -> bool:
        """Return whether a row is the first of a stratum; that stratum is then open.

        The stratum before is learnt, or waits to be learnt. An error leaves everything as it was.

        Raises
        ------
        ValueError
            If the stratum came before, or the row cannot be learnt.
        """
        if self._digests and stratum == self._open:
            return False
        digest = digest_of(stratum)
        if not self._digests or digest != self._digests[-1]:
            if digest in self._digests or self.rule.known.has(np.array([digest], np.uint64)).any():
                raise ValueError(came_again(stratum))
            self._check(row, label)
            self._close()
            self._digests.append(digest)
            self._starts.append(len(self._waiting))
            self._open = stratum
            return True
        self._open = stratum
        return False

    @property
    def n_open(self) -> int:
        """The number of rows of the open stratum."""
        return len(self._waiting) - self._starts[-1] if self._starts else 0

    def learn(self, row: Mapping[Any, Any], label: Any, weight: float = 1.0) -> None:
        """Add a row to the open stratum; an error leaves everything as it was."""
        values = checked(row)
        self._room(row.keys())
        self._waiting.add(row, values, self._code(label), weight)

    def _check(self, row: Mapping[Any, Any], label: Any) -> None:
        """Raise ValueError for a row that cannot be learnt."""
        checked(row)
        self._room(row.keys())
        labels = dict(self.labels)
        try:
            self._code(label)
        finally:
            self.labels = labels

    def _close(self) -> None:
        """Count the open stratum, if there is one, and learn the waiting strata if they are due."""
        if not self._digests:
            return
        start, rows = self._starts[-1], len(self._waiting)
        self._total, self._since, due = counted_rows(
            self._waiting.weight_since(start), self._total, self._since, rows,
            self.gamma ** (rows - start), self.refresh,
        )  # fmt: skip
        if due:
            self._take_in()
            self._digests, self._starts = [], []

    def _take_in(self) -> None:
        self._rank()
        self.rule.learn_strata(*self._block())
        self._waiting.clear()
        self._since, self._scorer = 0.0, None

    def _block(self) -> tuple[Rows, np.ndarray, np.ndarray, Strata, float]:
        """Return the waiting rows, codes, weights and strata, and the decay of older ones."""
        m = len(self._waiting)
        ends = np.array([*self._starts[1:], m])
        code = np.repeat(np.arange(len(ends), dtype=np.int32), np.diff(ends, prepend=0))
        memory = self.gamma ** (m - ends) if self.gamma < 1.0 else None
        strata = Strata(code, np.array(self._digests, np.uint64), memory=memory)
        return *self._waiting.block(1.0), strata, self.gamma**m

    def _rank(self) -> None:
        """Tell the rule the code of the positives once it is known."""
        classes = self.classes
        if len(classes) == 2:
            self.rule.rank(self.labels[classes[1]])

    def coded_moments(self) -> ClassMoments:
        """Return the moments of all rows, including waiting ones, with codes as labels.

        The open stratum counts with its rows so far. The learner does not change.
        """
        self._rank()
        return self.rule.after_strata(*self._block()) if self._digests else self.rule.moments.copy()

    # ---- files ---------------------------------------------------------------------------

    def arrays(self) -> dict[str, np.ndarray]:
        """Return everything learnt except ``names`` and ``labels``."""
        return super().arrays() | {
            "digests": np.array(self._digests, np.uint64),
            "starts": np.array(self._starts, np.int64),
        }

    def specs(self, d: int, learnt: int, classes: int) -> dict[str, ArraySpec]:
        """Return the declarations of `arrays`, as `StreamLearner` does."""
        return super().specs(d, learnt, classes) | {
            "digests": ArraySpec(("waiting strata",), np.uint64),
            "starts": ArraySpec(("waiting strata",), np.int64, 0),
        }

    def restore(
        self, names: list[Any], labels: dict[Any, int], arrays: dict[str, np.ndarray]
    ) -> None:
        super().restore(names, labels, arrays)
        digests, starts = arrays["digests"], arrays["starts"]
        begin = np.concatenate([starts, [len(self._waiting)]])
        if begin[0] != 0 or np.any(np.diff(begin) <= 0):
            raise ValueError("its waiting strata do not divide its waiting rows")
        if len(np.unique(digests)) < len(digests) or self.rule.known.has(digests).any():
            raise ValueError("one of its waiting strata was learnt before")
        self._digests, self._starts, self._open = digests.tolist(), starts.tolist(), None

    def _check_waiting(self) -> None:
        pass  # the open stratum may have any number of rows
