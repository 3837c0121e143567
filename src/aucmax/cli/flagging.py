"""The rows that ``aucmax score`` flags: by their number, a threshold, or the cost of errors."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from aucmax.basics.doors import postponed
from aucmax.cli.options import option
from aucmax.report.text import counted, plain_number

with postponed():
    import numpy as np

    from aucmax.basics.checks import number

__all__ = ["Flagging", "Flags"]


@dataclass
class Flags:
    """The flagged rows, part by part, and how many there were so far.

    Parameters
    ----------
    rule : str
        Which rows these are, in words.
    test : callable
        (scores, probabilities or None, slice of the rows among all) to a mask of these rows.
    """

    rule: str
    test: Callable[[np.ndarray, Any, slice], np.ndarray]
    rows: int = 0
    flagged: int = 0
    lowest: float = math.inf

    def of(self, scores: np.ndarray, chance: np.ndarray | None) -> np.ndarray:
        """Return which of the next rows are flagged, as a mask."""
        mask = self.test(scores, chance, slice(self.rows, self.rows + len(scores)))
        self.rows += len(scores)
        self.flagged += int(mask.sum())
        self.lowest = min(self.lowest, float(scores[mask].min(initial=np.inf)))
        return mask

    def __str__(self) -> str:
        """How many rows were flagged, by which rule, and at which score."""
        words = f"{self.flagged:,} of {counted(self.rows, 'row')} flagged: {self.rule}"
        if not self.flagged:
            return words
        return f"{words}; lowest score {plain_number(self.lowest, 4)}"


@dataclass(frozen=True, kw_only=True)
class Flagging:
    """Options that say which rows are labelled positive."""

    flag: str | None = option(
        None,
        "Label the rows with the highest scores positive: a number of rows, such as 200, or a "
        "share of this file, such as 1%. Of rows with equal scores, the first are taken.",
        metavar="ROWS",
    )
    threshold: float | None = option(
        None,
        "Label rows with at least this score positive; with --probability, rows with at least this "
        "probability.",
    )
    cost: str | None = option(
        None,
        "Label rows positive where a false alarm has the lower expected cost. 400:1 means that a "
        "missed positive costs 400 times as much as a false alarm, and flags probabilities above "
        "1/(1 + 400). Needs --probability.",
        metavar="MISS:ALARM",
    )

    def check(self, probability: bool) -> None:
        """Raise ValueError unless at most one option is given, with a value that it can have."""
        if sum(value is not None for value in vars(self).values()) > 1:
            raise ValueError("--flag, --threshold and --cost exclude one another; give only one.")
        if self.flag is not None:
            _share(self.flag)
        if self.threshold is not None:
            low, high = (0.0, 1.0) if probability else (-np.inf, np.inf)
            number(self.threshold, "--threshold", low=low, high=high)
        if self.cost is not None:
            _break_even(self.cost)
            if not probability:
                raise ValueError(
                    "--cost needs probabilities; add --probability, with a model that was trained "
                    "with it."
                )

    def flags(self, probability: bool, scores: Callable[[], np.ndarray]) -> Flags | None:
        """Return the rows to flag; None if no option says so.

        Parameters
        ----------
        probability : bool
            Whether the threshold is one of probabilities.
        scores : callable
            Returns the scores of all rows, for a number of rows.
        """
        if self.flag is not None:
            top = _top(scores(), *_share(self.flag))
            return Flags("those with the highest scores", lambda _, __, rows: top[rows])
        if self.cost is not None:
            limit = _break_even(self.cost)
            rule = f"a probability above {plain_number(limit, 4)}, for costs of {self.cost}"
            return Flags(rule, lambda _, chance, __: chance > limit)
        if self.threshold is not None:
            least = self.threshold
            if probability:
                rule = f"a probability of {least:g} or more"
                return Flags(rule, lambda _, chance, __: chance >= least)
            return Flags(f"a score of {least:g} or more", lambda scores, _, __: scores >= least)
        return None


def _share(text: str) -> tuple[Fraction, bool]:
    """Return a number of rows, or a share and True."""
    plain = re.fullmatch(r"([0-9]+)|([0-9]*\.?[0-9]+) ?%", text.strip())
    value = Fraction(plain[1] or plain[2]) if plain else Fraction(0)
    share = bool(plain and plain[2])
    if value <= 0 or (share and value > 100):
        raise ValueError(
            "--flag takes a number of rows, such as 200, or a share of them, such as 1%; got "
            f"{text!r}."
        )
    return (value / 100 if share else value), share


def _top(scores: np.ndarray, value: Fraction, share: bool) -> np.ndarray:
    """Return the rows with the highest scores, as a mask; of equal scores the first ones."""
    count = max(int(value * len(scores) + Fraction(1, 2)), 1) if share else int(value)
    mask = np.zeros(len(scores), dtype=bool)
    mask[np.argsort(-scores, kind="stable")[:count]] = True
    return mask


def _break_even(cost: str) -> float:
    """Return the probability at which flagging a row costs as much as passing it over."""
    plain = re.fullmatch(r"([0-9]*\.?[0-9]+) ?: ?([0-9]*\.?[0-9]+)", cost.strip())
    miss, alarm = map(float, plain.groups()) if plain else (0.0, 0.0)
    if min(miss, alarm) <= 0.0:
        raise ValueError(
            "--cost takes the ratio of the cost of a missed positive to that of a false alarm, "
            f"such as 400:1; got {cost!r}."
        )
    return alarm / (alarm + miss)
