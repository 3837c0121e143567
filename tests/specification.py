"""What solvers say they take, what every stochastic learner must satisfy, and how to make each."""

from aucmax import AUCClassifier, HingeClassifier
from aucmax.objective import Objective, UnivariateObjective
from aucmax.objective.losses import LOSSES, UNIVARIATE_LOSSES
from aucmax.objective.penalties import ElasticNet
from aucmax.objective.problem import ANY_ROWS
from aucmax.solvers import ACCURACY_SOLVERS, SOLVERS

__all__ = ["BATCH", "LEARNERS", "STOCHASTIC", "learners", "loss_of", "takes"]

_PENALTIES = {"l2": 0.0, "elastic-net": 0.5, "l1": 1.0}


def takes(kind, loss, ratio=0.0):
    """Whether a solver takes a loss and a share of l1; loss None is the hinge of single rows."""
    penalty = ElasticNet(1e-3, ratio)
    if loss is None:
        goal = UnivariateObjective(ANY_ROWS, UNIVARIATE_LOSSES["hinge"], penalty)
    else:
        goal = Objective(ANY_ROWS, LOSSES[loss], penalty)
    return kind().unfit(goal) is None


def loss_of(kind):
    """Return the first loss of pairs that a solver takes; None where it is for single rows."""
    return next((loss for loss in LOSSES if takes(kind, loss)), None)


def learners(kinds):
    """Name what makes an estimator with each of these solvers and each penalty that it takes.

    What is made takes further settings of the solver, such as ``n_epochs=2``, and of the
    estimator, behind ``model__``.
    """
    made = {}
    for name, kind in kinds.items():
        loss = loss_of(kind)
        estimator = HingeClassifier if loss is None else AUCClassifier
        for penalty, ratio in _PENALTIES.items():
            if not takes(kind, loss, ratio):
                continue
            own = {"solver": kind, "alpha": 1e-3, "l1_ratio": ratio}
            if "alpha" in kind.own:
                if ratio:
                    continue
                own = {"solver": kind}
            made[f"{name}-{penalty}"] = _maker(estimator, **own)
    return made


def _maker(estimator, solver, **own):
    def make(**settings):
        model = {k[7:]: settings.pop(k) for k in list(settings) if k.startswith("model__")}
        return estimator(
            **{"random_state": 0, "max_iter": 5} | own | model, solver=solver(**settings)
        )

    make.kind, make.estimator = solver, estimator
    return make


STOCHASTIC = {
    name: kind
    for name, kind in (SOLVERS | ACCURACY_SOLVERS).items()
    if ".stochastic." in kind.__module__
}
BATCH = [name for name in SOLVERS if name not in STOCHASTIC]
LEARNERS = learners(STOCHASTIC)
