"""The catalogue of methods: how the papers ran and tuned theirs, and which can be compared.

`METHODS` are the columns of published tables, with the grids that their authors searched.
`CONTESTANTS` are what ``aucmax compare`` runs: every solver, on the same objective, and rivals that
tune themselves.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np

from aucmax.data.rows import as_rows, to_scipy
from aucmax.data.strata import StrataWeight
from aucmax.estimators import AdditiveAUCClassifier, AUCClassifier, AUCClassifierCV, HingeClassifier
from aucmax.experiments.trial import quiet
from aucmax.experiments.tuning import GridOptimum, coarse_to_fine, whole_grid
from aucmax.objective import Objective, UnivariateObjective
from aucmax.objective.losses import LOSSES, UNIVARIATE_LOSSES
from aucmax.objective.penalties import ElasticNet
from aucmax.objective.problem import ANY_ROWS
from aucmax.solvers import (
    ACCURACY_SOLVERS,
    OAM,
    OPAUC,
    SOLAM,
    SOLVERS,
    SPAM,
    VRSPAM,
    UnivariateSGD,
    theory,
)
from aucmax.statistics import projections

__all__ = [
    "CONTESTANTS",
    "METHODS",
    "REFERENCE",
    "Facts",
    "Method",
    "Task",
    "contestants_named",
    "facts_of",
    "first_name",
]

REFERENCE = "square-loss optimum"


class Facts(NamedTuple):
    """Facts about the training rows, for builders of methods."""

    n: int  # rows
    d: int  # features
    p: float  # share of the positive class


Settings = Mapping[str, Any]
Axes = Mapping[str, tuple[float, ...]]
Build = Callable[[Settings, Facts, int], Any]  # settings, facts and a seed to an estimator
Coordinates = Callable[[Any, int], Callable[[Any], Any]]
Search = Callable[[Callable[[dict[str, float]], float], Axes, bool], GridOptimum]


@dataclass(frozen=True)
class Method:
    """A method of a table.

    ``coordinates``, if given, turns (X, seed) into a function that maps rows to new coordinates, in
    which the method is the one called ``inside``. They do not depend on the settings, so tuning
    computes them once. ``square_loss`` says whether the method minimises the pairwise square loss
    of the original features.
    """

    axes: Axes  # the grid: an ascending axis for each setting that is tuned
    build: Build
    note: str  # how it is run, in a few words
    coordinates: Coordinates | None = None
    inside: str = ""
    search: Search = coarse_to_fine
    square_loss: bool = False


_MAX_MATRIX_FEATURES = 5000  # features above which two d×d matrices take too much memory
_REDUCED_COORDINATES = 1000  # coordinates of the reduced OPAUC


def _powers(base: float, first: int, last: int) -> tuple[float, ...]:
    return tuple(float(base**k) for k in range(first, last + 1))


TENS = _powers(10.0, -5, 5)
STEPS = tuple(float(c) for c in range(1, 101, 9))
RATES = _powers(2.0, -12, 10)
BATCH_PENALTIES = _powers(2.0, -10, 10)
_eta_lambda = {"eta": RATES, "lambda": _powers(2.0, -10, 2)}


def _elastic_net(at: Settings, facts: Facts) -> tuple[float, float]:
    """Return (alpha, l1_ratio) for β and β₁ on the papers' scale."""
    l2 = theory.alpha_from_beta(at["beta"], facts.p)
    l1 = theory.alpha_from_beta(at.get("beta1", 0.0), facts.p)
    return l2 + l1, l1 / (l2 + l1)


def _learner(parts: Callable[[Settings, Facts], tuple[Any, ...]]) -> Build:
    """Return a builder of estimators, from a function that returns a solver and its penalty.

    The penalty is alpha, alpha and l1_ratio, or nothing if the solver has its own.
    """

    def build(at: Settings, facts: Facts, seed: int) -> Any:
        solver, *penalty = parts(at, facts)
        return AUCClassifier(*penalty, solver=solver, random_state=seed)

    return build


_spam = _learner(
    lambda at, facts: (SPAM(at["C"], n_epochs=15, order="cyclic"), *_elastic_net(at, facts))
)
_vrspam = _learner(lambda at, facts: (VRSPAM(n_stages=15), *_elastic_net(at, facts)))
_solam = _learner(
    lambda at, facts: (SOLAM(at["C"], n_epochs=15, order="cyclic", radius=at["R"]), 0.0)
)


def _opauc(covariance: str = "full", rank: int | None = None, up_to: float = np.inf) -> Build:
    """Return a builder of OPAUC, with a Gaussian sketch of rank 50 above ``up_to`` features."""

    def parts(at: Settings, facts: Facts) -> tuple[Any, float]:
        sketch = (covariance, rank) if facts.d <= up_to else ("gaussian", 50)
        return OPAUC(at["eta"], covariance=sketch[0], rank=sketch[1]), at["lambda"]

    return _learner(parts)


def _reduced(covariance: str, note: str) -> Method:
    """Return OPAUC in fewer coordinates."""

    def coordinates(X: Any, seed: int) -> Callable[[Any], Any]:
        rng, d = np.random.RandomState(seed), X.shape[1]
        rank = min(_REDUCED_COORDINATES, d)
        if covariance == "subset":
            basis = projections.random_features(d, rank, rng)
        elif covariance == "projection":
            basis = projections.gaussian_projection(d, rank, rng)
        else:
            basis = projections.principal_axes(as_rows(X), np.ones(X.shape[0]), rank, rng)
        return lambda rows: to_scipy(projections.reduced(as_rows(rows), basis))

    return Method(_eta_lambda, _opauc(covariance, _REDUCED_COORDINATES), note, coordinates, "OPAUC")


def _oam(update: str, size: int) -> Method:
    build = _learner(lambda at, facts: (OAM(update=update, C=at["C"], buffer_size=size),))
    return Method({"C": RATES}, build, f"buffers of {size}, one pass")


def _univariate(loss: str) -> Method:
    build = _learner(
        lambda at, facts: (UnivariateSGD(loss=loss, step_size=at["eta"], n_epochs=1), 0.0)
    )
    return Method({"eta": RATES}, build, "class-balanced, one pass")


def _batch_univariate(model: Callable[[float], Any]) -> Method:
    """Return a class-balanced model of scikit-learn; its penalty is λ times the number of rows."""
    return Method(
        {"lambda": BATCH_PENALTIES},
        lambda at, facts, seed: model(at["lambda"] * facts.n).set_params(class_weight="balanced"),
        "scikit-learn, class-balanced",
    )


def _logistic_regression(penalty: float) -> Any:
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(C=1.0 / penalty, max_iter=2000)


def _ridge_classifier(penalty: float) -> Any:
    from sklearn.linear_model import RidgeClassifier

    return RidgeClassifier(penalty)


def _svm_perf(at: Settings, facts: Facts, seed: int) -> Any:
    alpha = 1.0 / (2.0 * at["C"])
    return AUCClassifier(alpha, loss="hinge", standardize=0.0, tol=1e-3, max_iter=2000)


def _square_loss(at: Settings, facts: Facts, seed: int) -> Any:
    return AUCClassifier(at["alpha"], loss="square", standardize=0.0, max_iter=2000)


class _ClassMeans:
    """Scores by the difference of the class means, which is the optimum's direction for large α."""

    def fit(self, X: Any, y: np.ndarray) -> "_ClassMeans":
        means = [np.asarray(X[part].mean(axis=0)).ravel() for part in (y, ~y)]
        self.coef_ = means[0] - means[1]
        return self

    def decision_function(self, X: Any) -> np.ndarray:
        return np.asarray(X @ self.coef_)


_spam_axes = {"C": STEPS, "beta": TENS}
_SPAM_NOTE, _VRSPAM_NOTE = "C/√t, 15 passes, averaged", "constant step, 15 stages, from SPAM"

METHODS: dict[str, Method] = {
    "SPAM-L2": Method(_spam_axes, _spam, _SPAM_NOTE, square_loss=True),
    "SPAM-NET": Method({**_spam_axes, "beta1": TENS}, _spam, _SPAM_NOTE, square_loss=True),
    "VRSPAM-L2": Method({"beta": TENS}, _vrspam, _VRSPAM_NOTE, square_loss=True),
    "VRSPAM-NET": Method({"beta": TENS, "beta1": TENS}, _vrspam, _VRSPAM_NOTE, square_loss=True),
    "SOLAM": Method({"C": STEPS, "R": _powers(10.0, -1, 5)}, _solam, _SPAM_NOTE, square_loss=True),
    "OPAUC": Method(
        _eta_lambda,
        _opauc(up_to=_MAX_MATRIX_FEATURES),
        f"constant step, one pass, last iterate; OPAUCr above {_MAX_MATRIX_FEATURES} features",
        square_loss=True,
    ),
    "OPAUCr": Method(_eta_lambda, _opauc("gaussian", 50), "rank 50, one pass, last iterate"),
    "OPAUC_f": _reduced("subset", "1000 features at random"),
    "OPAUC_rp": _reduced("projection", "projected to 1000 at random"),
    "OPAUC_pca": _reduced("pca", "along 1000 principal axes"),
    "OAM_seq": _oam("sequential", 100),
    "OAM_gra": _oam("gradient", 100),
    "OAM_seq, 50": _oam("sequential", 50),
    "OAM_gra, 50": _oam("gradient", 50),
    "online Uni-Exp": _univariate("exp"),
    "online Uni-Squ": _univariate("square"),
    "SVM-perf": Method({"C": BATCH_PENALTIES}, _svm_perf, "cutting planes, gap 1e-3"),
    "batch Uni-Log": _batch_univariate(_logistic_regression),
    "batch Uni-Squ": _batch_univariate(_ridge_classifier),
    "class means": Method(
        {},
        lambda at, facts, seed: _ClassMeans(),
        "their difference: the optimum as alpha grows",
    ),
    REFERENCE: Method(
        # the papers' penalties, and weaker ones, which text needs
        {"alpha": _powers(2.0, -20, 10)},
        _square_loss,
        "the exact optimum of the pairwise square loss, alpha tuned over the whole grid",
        search=whole_grid,
        square_loss=True,
    ),
}
# other names of the same objectives, so that these are tuned and solved only once
METHODS["batch SVM-OR"] = METHODS["SVM-perf"]
METHODS["B-LS-SVM"] = METHODS["batch LS-SVM"] = METHODS[REFERENCE]


def first_name(name: str) -> str:
    """Return the first name of a method: the same for all of its names."""
    return next(alias for alias, method in METHODS.items() if method is METHODS[name])


def facts_of(X: Any, positive: np.ndarray) -> Facts:
    """Return the facts about training rows."""
    n, d = X.shape
    return Facts(n, d, float(np.mean(positive)))


# ---- what `aucmax compare` runs


class Rival(NamedTuple):
    """A contestant that chooses its own settings."""

    build: Callable[[Any, int], Any]  # folds and a seed to an estimator
    quick: dict[str, Any]  # settings that make a fit quick
    note: str  # printed below a comparison


def _scikit_learn(name: str) -> Callable[[Any, int], Any]:
    def build(folds: Any, seed: int) -> Any:
        from aucmax.experiments import rivals

        return getattr(rivals, name)(cv=folds, random_state=seed)

    return build


LOGISTIC = "logistic"
RIVALS = {
    "tuned": Rival(
        lambda folds, seed: AUCClassifierCV(cv=folds), {"alphas": [1.0]}, "AUCClassifierCV"
    ),
    "additive": Rival(
        lambda folds, seed: AdditiveAUCClassifier(cv=folds),
        {"alphas": [1.0], "interactions": 0},
        "AdditiveAUCClassifier: curves and maps of pairs",
    ),
    LOGISTIC: Rival(
        _scikit_learn("BalancedLogisticRegression"),
        {"grid": [0.01]},
        "scikit-learn's logistic regression, class-balanced",
    ),
    "least_squares": Rival(
        _scikit_learn("BalancedLeastSquares"),
        {"grid": [0.01]},
        "scikit-learn's ridge classifier, class-balanced",
    ),
}


def weighing_strata(rival: Any, strata_weight: StrataWeight) -> Any:
    """Return an estimator that weights strata in this way, if it supports strata."""
    if not hasattr(rival, "strata_weight"):
        return rival
    losses = [loss for loss in rival.losses if strata_weight == "positives" or loss != "logistic"]
    return rival.set_params(strata_weight=strata_weight, losses=losses)


CONTESTANTS = (*SOLVERS, *ACCURACY_SOLVERS, *RIVALS)
USUAL_CONTESTANTS = tuple(name for name in CONTESTANTS if name != "additive")  # which is slow


@dataclass(frozen=True)
class Task:
    """The objective that every solver minimises, and the rule by which solvers stop."""

    alpha: float
    l1_ratio: float
    loss: str
    standardize: float
    tol: float
    max_iter: int
    seed: int
    strata_weight: StrataWeight = "positives"

    def on_objective(self, name: str) -> bool:
        """Return whether this contestant minimises the objective of the task, not its own."""
        return name in SOLVERS and not SOLVERS[name].own

    def model(self, name: str, folds: Any = 5, **overrides: Any) -> Any:
        """Return the estimator of one of `CONTESTANTS`, or of "auto", which picks a solver.

        Rivals tune on ``folds``; solvers take ``other`` settings.
        """
        if name in RIVALS:
            rival = RIVALS[name].build(folds, self.seed)
            return weighing_strata(rival, self.strata_weight)
        shared = {"alpha", "l1_ratio", "tol", "max_iter", "callback"}
        if name not in ACCURACY_SOLVERS:
            replaced = SOLVERS[name].own if name in SOLVERS else {}
            shared = (shared | {"loss", "standardize", "strata_weight"}) - replaced.keys()
        settings = {key: at for key, at in {**asdict(self), **overrides}.items() if key in shared}
        estimator = HingeClassifier if name in ACCURACY_SOLVERS else AUCClassifier
        return estimator(**settings, solver=name, random_state=self.seed)

    def small(self, name: str) -> Any:
        """Return an estimator whose fit is quick, to warm up."""
        if name in RIVALS:
            return self.model(name).set_params(**RIVALS[name].quick)
        return self.model(name, max_iter=3)

    def check(self) -> None:
        """Raise ValueError for settings that no solver takes."""
        with quiet():  # a warning about these two rows would mean nothing to the user
            self.model("auto").fit(np.eye(2), [0, 1])

    def unfit(self, name: str) -> str | None:
        """Return why a contestant does not support this objective, or None if it does."""
        if name in RIVALS:
            return None
        penalty = ElasticNet(self.alpha, self.l1_ratio)
        if name in ACCURACY_SOLVERS:
            if self.standardize > 0:
                return "takes standardize=0 only"
            hinge = UnivariateObjective(ANY_ROWS, UNIVARIATE_LOSSES["hinge"], penalty)
            return ACCURACY_SOLVERS[name]().unfit(hinge)
        solver = SOLVERS[name]
        loss = LOSSES["square" if "loss" in solver.own else self.loss]
        return solver().unfit(Objective(ANY_ROWS, loss, penalty))


def contestants_named(names: Sequence[str]) -> list[str]:
    """Return the names as `CONTESTANTS` spells them, each once.

    Case, hyphens and underscores do not matter. Raises ValueError for an unknown name.
    """
    plain = {name.replace("_", ""): name for name in CONTESTANTS}
    words = [word.lower().replace("-", "").replace("_", "") for word in names]
    for word, name in zip(words, names, strict=True):
        if word not in plain:
            raise ValueError(f"no algorithm {name!r}; there are {', '.join(CONTESTANTS)}.")
    return list(dict.fromkeys(plain[word] for word in words))
