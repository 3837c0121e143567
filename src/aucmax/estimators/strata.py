"""The strata of a fit, as its reports describe them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from aucmax.basics.visible import counted
from aucmax.data.labelled import Labelled
from aucmax.data.rows.store import InMemory
from aucmax.data.strata import StrataWeight
from aucmax.objective.losses import MOST_CELLS, Shares, likelihoods
from aucmax.objective.objective import ConditionalObjective, Objective
from aucmax.objective.problem import RowsProblem
from aucmax.objective.within_strata import ProblemWithinStrata
from aucmax.statistics.strata import KnownStrata

__all__ = ["FittedStrata", "fitted_strata", "losses_within", "no_estimate", "strata_behind"]

_MOST_COLUMNS = 100  # to check for separation
_MARGIN = 1e-9  # by which scores must separate labels, as a share of their range
_FAR = 1e30  # a coefficient that only bounds or a penalty could prevent


@dataclass(frozen=True)
class FittedStrata:
    """The strata of a fit.

    Parameters
    ----------
    count : int
        How many there are.
    of_one_class : int
        How many of them have rows of one class only, and so no weight.
    weighting : {"positives", "pairs", "strata"}
        What the weight of the others is proportional to.
    exact, efron : int
        With the logistic loss, the numbers of strata with the exact conditional likelihood and,
        being too large for it, with Efron's form; both 0 for other losses.
    column : str, optional
        Their name, such as their column in a table; strata with other names may be equal.
    """

    count: int
    of_one_class: int
    weighting: StrataWeight
    exact: int = 0
    efron: int = 0
    column: str | None = field(default=None, compare=False)

    @classmethod
    def of(cls, known: KnownStrata) -> FittedStrata:
        """Return the strata of statistics."""
        return cls(len(known), known.of_one_class, known.weighting, column=known.column)

    @property
    def likelihood(self) -> str | None:
        """The form of the likelihood: "exact", "Efron's" or both; None for losses of pairs."""
        forms = [name for name, count in (("exact", self.exact), ("Efron's", self.efron)) if count]
        return " and ".join(forms) or None

    @property
    def words(self) -> str:
        """These facts in a sentence."""
        words = "" if self.column is None else f"{self.column}: "
        words += counted(self.count, "stratum", "strata")
        if self.count > 1:
            words += f", weighted by {_BY[self.weighting]}"
        if self.of_one_class:
            words += f"; {self.of_one_class:,} of one class are ignored"
        if self.efron:
            words += (
                f"; Efron's form of the likelihood in {self.efron:,} with more than {MOST_CELLS:,} "
                "rows times positives, biased towards no effect if many of the rows are positive"
            )
        return words


_BY: dict[StrataWeight, str] = {
    "positives": "their positives",
    "pairs": "their pairs",
    "strata": "1 each",
}


def losses_within(losses: Sequence[str], labelled: Labelled, weighting: StrataWeight) -> list[str]:
    """Return the losses that can be used for rows, within their strata if they have any.

    Within strata the logistic loss is a likelihood, in which every positive counts the same, and
    the rows of a stratum must have the same weight.
    """
    strata, weight = labelled.coded_strata, labelled.weight
    if strata is None:
        return [*losses]
    equal = weighting == "positives"
    if weight is not None:
        order = strata.order[weight[strata.order] > 0.0]
        same = strata.code[order][1:] == strata.code[order][:-1]
        equal = equal and not np.diff(weight[order])[same].any()
    return [loss for loss in losses if equal or loss != "logistic"]


def all_known(labelled: Labelled, weighting: StrataWeight) -> KnownStrata | None:
    """Return all strata of rows, including those of one class, which a problem may leave out."""
    strata = labelled.coded_strata
    if strata is None:
        return None
    of_rows = labelled.positive, labelled.weight
    return KnownStrata.of(strata.weighed(weighting), *of_rows, 1.0, labelled.strata_name)


def fitted_strata(labelled: Labelled, objective: Objective) -> FittedStrata | None:
    """Return the strata of a fit; None if all rows are compared.

    The statistics of the problem then also list all of them.
    """
    problem, strata = objective.problem, labelled.coded_strata
    if strata is None or not isinstance(problem, ProblemWithinStrata):
        return None
    weighting = problem.data.strata.weighting
    if problem.known is not None:
        problem.known.strata = all_known(labelled, weighting)
    return strata_behind(labelled, weighting, isinstance(objective, ConditionalObjective))


def no_estimate(
    problem: RowsProblem, objective: Objective, coef: np.ndarray, labelled: Labelled
) -> str | None:
    """Return a message on coefficients of a likelihood that have no finite estimate, or None.

    A coefficient has none if no penalty restrains it, and the scores or its column never contradict
    the labels within a stratum. Up to `_MOST_COLUMNS` columns of rows in memory are checked, one by
    one.

    Parameters
    ----------
    problem : RowsProblem
        In the features' own coordinates, in which values are exact.
    objective : Objective
        Of the fit.
    """

    def is_held(direction: np.ndarray) -> bool:
        far, penalty = _FAR * direction, objective.penalty
        return penalty.value(far) > 0.0 or not np.array_equal(penalty.prox(far, 0.0), far)

    if not (
        isinstance(objective, ConditionalObjective)
        and isinstance(problem, ProblemWithinStrata)
        and isinstance(problem.store, InMemory)
        and len(coef) <= _MOST_COLUMNS
    ) or is_held(coef):
        return None
    units, names = np.eye(len(coef)), labelled.feature_names
    sides = [problem.separated_by(problem.scores(unit)) for unit in units]
    columns = [
        f"column {j + 1}" if names is None else repr(str(names[j]))
        for j, side in enumerate(sides)
        if side and not is_held(side * units[j])
    ]
    z = problem.scores(coef)
    if not columns and problem.separated_by(z - _MARGIN * np.ptp(z) * problem.positive) <= 0:
        return None
    of_columns = f" of {', '.join(columns)}" if columns else ""
    evidence = "their values" if columns else "the scores"
    return (
        f"coefficients{of_columns} without a finite estimate: within strata {evidence} never "
        "contradict the labels; raise alpha, or leave such columns out."
    )


def strata_behind(
    labelled: Labelled, weighting: StrataWeight, likelihood: bool
) -> FittedStrata | None:
    """Return the strata of a fit, with or without a likelihood; None if all rows are compared."""
    strata = labelled.coded_strata
    if strata is None:
        return None
    compared = strata.weighed(weighting).compared(labelled.positive, labelled.weight)
    forms = (0, 0)
    if likelihood:
        forms = likelihoods(labelled.positive, Shares(strata.code, compared.of_stratum))
    return FittedStrata(len(strata), compared.of_one_class, weighting, *forms, labelled.strata_name)
