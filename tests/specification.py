"""What solvers say they take, and how each is made for the tests that all of them must pass."""

import warnings
from typing import NamedTuple

from sklearn.exceptions import ConvergenceWarning

from aucmax import AUCClassifier, HingeClassifier
from aucmax.objective import Objective, UnivariateObjective
from aucmax.objective.losses import LOSSES, UNIVARIATE_LOSSES
from aucmax.objective.penalties import MCP, Bounded, ElasticNet, Weighted
from aucmax.objective.problem import ANY_ROWS
from aucmax.solvers import ACCURACY_SOLVERS, SOLVERS

__all__ = [
    "BATCH",
    "CASES",
    "LEARNERS",
    "STOCHASTIC",
    "Case",
    "cases_of",
    "loss_of",
    "penalty_of",
    "takes",
]

# what else there is to a solver than its defaults
VARIANTS = {
    "oam": [{"update": "gradient"}, {"buffer_size": 5}],
    "opauc": [
        {"covariance": "gaussian", "rank": 3},
        {"covariance": "subset", "rank": 3},
        {"covariance": "projection", "rank": 3},
        {"covariance": "pca", "rank": 3},
    ],
    "univariate": [{"loss": "exp"}, {"loss": "logistic"}],
    "vrspam": [{"init": "zero"}],
}
# lengths of steps in place of automatic ones, and what else is taken from the rows
EXPLICIT = {"step_size": 0.02, "rho": 2.0, "gamma": 3.0, "C": 0.05, "t0": 1.0, "radius": 3.0}


def takes(kind, loss, ratio=0.0):
    """Whether a solver takes a loss and a share of l1; loss None is the hinge of single rows.

    ``kind`` is a class or an object.
    """
    penalty = ElasticNet(1e-3, ratio)
    if loss is None:
        goal = UnivariateObjective(ANY_ROWS, UNIVARIATE_LOSSES["hinge"], penalty)
    else:
        goal = Objective(ANY_ROWS, LOSSES[loss], penalty)
    solver = kind() if isinstance(kind, type) else kind
    return solver.unfit(goal) is None


def penalty_of(kind, d):
    """Return a penalty of a kind, for d features."""
    bounds, factors = [(None, 0.8), (0, None), (None, None), (-0.4, 0.5)], [1.0, 0.0, 2.5, 0.3]
    known = {
        MCP: lambda: MCP(0.3, 2.0),
        Weighted: lambda: Weighted(ElasticNet(0.3, 0.5), (factors * d)[:d]),
        Bounded: lambda: Bounded(ElasticNet(0.3, 0.5), (bounds * d)[:d]),
    }
    if kind in known:
        penalty = known[kind]()
    else:
        penalty = kind(0.3) if issubclass(kind, ElasticNet) else kind()
    return penalty.named(d, None)


def loss_of(kind):
    """Return the first loss of pairs that a solver takes; None where it is for single rows."""
    return next((loss for loss in LOSSES if takes(kind, loss)), None)


class Case(NamedTuple):
    """A solver, its settings, and a penalty that it takes."""

    name: str
    kind: type
    settings: dict
    penalty: dict

    @property
    def stochastic(self):
        return any(".stochastic." in base.__module__ for base in self.kind.__mro__)

    @property
    def scored(self):
        """Whether it belongs to AUCClassifier."""
        return loss_of(self.kind) is not None

    @property
    def explicit(self):
        """Settings in place of the automatic ones."""
        names = self.kind().get_params()
        return {name: value for name, value in EXPLICIT.items() if names.get(name) == "auto"}

    def model(self, solver=(), **settings):
        """An estimator; ``solver`` are further settings of the solver."""
        estimator = AUCClassifier if self.scored else HingeClassifier
        given = {"random_state": 7, "tol": 1e-14, "max_iter": 5 if self.stochastic else 10_000}
        if self.scored:
            given |= {"loss": loss_of(self.kind), "standardize": 0.0}
        solver = self.kind(**self.settings | dict(solver))
        return estimator(**given | self.penalty | settings, solver=solver)

    def fitted(self, X, y, weight=None, **settings):
        """What a fit gives, near an optimum or not."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            return self.model(**settings).fit(X, y, sample_weight=weight)


def cases_of(kinds):
    """Each solver with its variants, and with the penalties that it takes."""
    for name, kind in kinds.items():
        ratios = {"l2": 0.0, "elastic net": 0.5, "l1": 1.0}
        if "alpha" in kind.own:
            ratios = {"": 0.0}
        ratios = {word: r for word, r in ratios.items() if takes(kind, loss_of(kind), r)}
        if "elastic net" in ratios:
            del ratios["l1"]
        for settings in [{}, *VARIANTS.get(name, [])]:
            alpha = 0.5 if name == "cutting_plane" else 0.05  # for a smaller one many planes
            for penalty, ratio in ratios.items():
                words = [
                    name,
                    *map(str, settings.values()),
                    *([penalty] if len(ratios) > 1 else []),
                ]
                own = {} if "alpha" in kind.own else {"alpha": alpha, "l1_ratio": ratio}
                yield Case(", ".join(words), kind, settings, own)


STOCHASTIC = {
    name: kind
    for name, kind in (SOLVERS | ACCURACY_SOLVERS).items()
    if ".stochastic." in kind.__module__
}
BATCH = [name for name in SOLVERS if name not in STOCHASTIC]
CASES = list(cases_of(SOLVERS | ACCURACY_SOLVERS))
LEARNERS = [case for case in CASES if case.stochastic]
