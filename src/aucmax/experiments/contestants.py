"""Everything that can be compared, by name, as an estimator that has ``decision_function``."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from aucmax.estimators import AUCClassifier, AUCClassifierCV
from aucmax.objective import Objective, UnivariateObjective
from aucmax.objective.losses import LOSSES, UNIVARIATE_LOSSES
from aucmax.objective.penalties import ElasticNet
from aucmax.objective.problem import ANY_ROWS
from aucmax.solvers import ACCURACY_SOLVERS, SOLVERS

__all__ = ["CONTESTANTS", "LOGISTIC", "TUNED", "Settings", "contestants_named"]

TUNED, LOGISTIC, LEAST_SQUARES = "tuned", "logistic", "least_squares"

# name -> what the table's foot says of those that choose their own settings
RIVALS = {
    TUNED: "AUCClassifierCV",
    LOGISTIC: "scikit-learn's logistic regression, class-balanced",
    LEAST_SQUARES: "scikit-learn's ridge classifier, class-balanced",
}

CONTESTANTS = (*SOLVERS, *ACCURACY_SOLVERS, *RIVALS)


@dataclass(frozen=True)
class Settings:
    """The objective that every solver minimises, and when it stops."""

    alpha: float
    l1_ratio: float
    loss: str
    standardize: float
    tol: float
    max_iter: int
    seed: int

    def on_objective(self, name: str) -> bool:
        """Tell whether this one minimises the objective of the setting, and not its own."""
        return name in SOLVERS and not SOLVERS[name].own

    def model(self, name: str, **other: Any) -> Any:
        """Return the estimator for a name; "auto" is the solver that fits."""
        settings = {"tol": self.tol, "max_iter": self.max_iter, **other}
        settings["random_state"] = self.seed
        if name in ACCURACY_SOLVERS:
            from aucmax.estimators import HingeClassifier

            return HingeClassifier(self.alpha, self.l1_ratio, solver=name, **settings)
        own = SOLVERS[name].own if name in SOLVERS else {}
        for what in ("alpha", "l1_ratio", "loss"):
            if what not in own:
                settings[what] = getattr(self, what)
        return AUCClassifier(solver=name, standardize=self.standardize, **settings)

    def estimator(self, name: str, folds: Any = 5) -> Any:
        """Return the estimator for one of `CONTESTANTS`; those that tune do so on the folds."""
        if name == TUNED:
            return AUCClassifierCV(cv=folds)
        if name in RIVALS:
            from aucmax.experiments import rivals

            kinds = {
                LOGISTIC: "BalancedLogisticRegression",
                LEAST_SQUARES: "BalancedLeastSquares",
            }
            return getattr(rivals, kinds[name])(cv=folds, random_state=self.seed)
        return self.model(name)

    def small(self, name: str) -> Any:
        """Return an estimator that does little work, for a first run that compiles."""
        model = self.estimator(name)
        if name == TUNED:
            return model.set_params(alphas=[1.0])
        if name == LOGISTIC:
            return model.set_params(Cs=[0.01])
        if name == LEAST_SQUARES:
            return model.set_params(alphas=[1.0])
        return model.set_params(max_iter=3)

    def check(self) -> None:
        """Raise ValueError for settings that no solver takes."""
        self.model("auto")._settings()

    def unfit(self, name: str) -> str | None:
        """Return what a solver takes where that is not this objective, else None."""
        if name in RIVALS:
            return None
        penalty = ElasticNet(self.alpha, self.l1_ratio)
        if name in ACCURACY_SOLVERS:
            if self.standardize > 0:
                return "takes standardize=0 only"
            hinge = UnivariateObjective(ANY_ROWS, UNIVARIATE_LOSSES["hinge"], penalty)
            return ACCURACY_SOLVERS[name]().unfit(hinge)
        kind = SOLVERS[name]
        loss = LOSSES["square" if "loss" in kind.own else self.loss]
        return kind().unfit(Objective(ANY_ROWS, loss, penalty))


def contestants_named(names: Sequence[str]) -> list[str]:
    """Return the names as `CONTESTANTS` spells them, each once.

    Case, hyphens and underscores do not matter.

    Raises
    ------
    ValueError
        If there is no algorithm of a name.
    """
    plain = {name.replace("_", ""): name for name in CONTESTANTS}
    found = []
    for word in names:
        name = plain.get(word.lower().replace("-", "").replace("_", ""))
        if name is None:
            raise ValueError(f"no algorithm {word!r}; there are {', '.join(CONTESTANTS)}.")
        if name not in found:
            found.append(name)
    return found
