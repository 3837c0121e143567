"""What every stochastic learner of the registries must satisfy, and how to make each."""

from aucmax import AUCClassifier, HingeClassifier
from aucmax.solvers import ACCURACY_SOLVERS, SOLVERS

__all__ = ["LEARNERS", "learners"]

_PENALTIES = {"l2": 0.0, "elastic-net": 0.5, "l1": 1.0}


def learners(kinds):
    """Name what makes an estimator with each of these solvers and each penalty that it takes.

    What is made takes further settings of the solver, such as ``n_epochs=2``, and of the
    estimator, behind ``model__``.
    """
    made = {}
    for name, kind in kinds.items():
        estimator = HingeClassifier if kind.accuracy else AUCClassifier
        for penalty, ratio in _PENALTIES.items():
            if (ratio and not kind.takes_l1) or (kind.accuracy and ratio == 0.5):
                continue
            own = {"solver": kind, "alpha": 1e-3, "l1_ratio": ratio}
            if kind.own_penalty:
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
LEARNERS = learners(STOCHASTIC)
