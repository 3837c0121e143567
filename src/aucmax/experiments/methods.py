"""The catalogue of methods: how the papers ran and tuned theirs, and all that can be compared.

`METHODS` are the columns of published tables, with the grids their authors searched. `CONTESTANTS`
are what ``aucmax compare`` runs at one objective: every solver, and rivals that tune themselves.
"""

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np

from aucmax import theory
from aucmax.estimators import AUCClassifier, AUCClassifierCV, HingeClassifier
from aucmax.experiments.tuning import Found, coarse_to_fine, whole_grid
from aucmax.objective import Objective, UnivariateObjective
from aucmax.objective.losses import LOSSES, UNIVARIATE_LOSSES
from aucmax.objective.penalties import ElasticNet
from aucmax.objective.problem import ANY_ROWS
from aucmax.rows import as_rows, to_scipy
from aucmax.solvers import (
    ACCURACY_SOLVERS,
    OAM,
    OPAUC,
    SOLAM,
    SOLVERS,
    SPAM,
    VRSPAM,
    UnivariateSGD,
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
    """What a method may know of its training rows.

    Parameters
    ----------
    n, d : int
        Rows and features.
    p : float
        Share of the positive class.
    """

    n: int
    d: int
    p: float


Build = Callable[[Mapping[str, Any], Facts, int], Any]
Coordinates = Callable[[Any, int], Callable[[Any], Any]]
Search = Callable[
    [Callable[[dict[str, float]], float], Mapping[str, tuple[float, ...]], bool], Found
]


@dataclass(frozen=True)
class Method:
    """A method of a table.

    Parameters
    ----------
    axes : mapping of str to tuple of float
        The grid, one ascending axis for each setting that is tuned.
    build : callable
        Settings, facts and a seed to an unfitted estimator.
    note : str
        How it is run, in a few words.
    coordinates : callable or None
        (X, seed) to a function of rows: the coordinates in which it runs, where they are not the
        features. They do not depend on the settings, so tuning makes them once.
    inside : str
        The method that runs in them.
    search : callable
        How the grid is searched.
    """

    axes: Mapping[str, tuple[float, ...]]
    build: Build
    note: str
    coordinates: Coordinates | None = None
    inside: str = ""
    search: Search = coarse_to_fine


_WIDE = 5000  # features above which two d×d matrices are not kept

TENS = tuple(float(10.0**k) for k in range(-5, 6))
SPAM_STEPS = tuple(float(c) for c in range(1, 101, 9))
RADII = tuple(float(10.0**k) for k in range(-1, 6))
RATES = tuple(float(2.0**k) for k in range(-12, 11))
OPAUC_PENALTIES = tuple(float(2.0**k) for k in range(-10, 3))
BATCH_PENALTIES = tuple(float(2.0**k) for k in range(-10, 11))
# the papers' penalties and weaker ones, which text wants
SQUARE_PENALTIES = tuple(float(2.0**k) for k in range(-20, 11))


def _elastic_net(at: Mapping[str, float], facts: Facts) -> tuple[float, float]:
    """Return (alpha, l1_ratio) of β and β₁ on the papers' scale."""
    l2 = theory.alpha_from_beta(at["beta"], facts.p)
    l1 = theory.alpha_from_beta(at.get("beta1", 0.0), facts.p)
    return l2 + l1, l1 / (l2 + l1)


def _spam(at: Mapping[str, float], facts: Facts, seed: int) -> Any:
    solver = SPAM(at["C"], n_epochs=15, order="cyclic")
    return AUCClassifier(*_elastic_net(at, facts), solver=solver, random_state=seed)


def _vrspam(at: Mapping[str, float], facts: Facts, seed: int) -> Any:
    solver = VRSPAM(n_stages=15)
    return AUCClassifier(*_elastic_net(at, facts), solver=solver, random_state=seed)


def _solam(at: Mapping[str, float], facts: Facts, seed: int) -> Any:
    solver = SOLAM(at["C"], n_epochs=15, order="cyclic", radius=at["R"])
    return AUCClassifier(0.0, solver=solver, random_state=seed)


def _opauc(covariance: str = "full", rank: int | None = None) -> Build:
    def build(at: Mapping[str, float], facts: Facts, seed: int) -> Any:
        solver = OPAUC(at["eta"], covariance=covariance, rank=rank)
        return AUCClassifier(at["lambda"], solver=solver, random_state=seed)

    return build


def _opauc_of_any_width(at: Mapping[str, float], facts: Facts, seed: int) -> Any:
    build = _opauc() if facts.d <= _WIDE else _opauc("gaussian", 50)
    return build(at, facts, seed)


def _coordinates(covariance: str, rank: int) -> Coordinates:
    def make(X: Any, seed: int) -> Callable[[Any], Any]:
        rng, d = np.random.RandomState(seed), X.shape[1]
        if covariance == "subset":
            basis = projections.random_features(d, min(rank, d), rng)
        elif covariance == "projection":
            basis = projections.gaussian_projection(d, min(rank, d), rng)
        else:
            basis = projections.principal_axes(as_rows(X), np.ones(X.shape[0]), min(rank, d), rng)
        return lambda rows: to_scipy(projections.reduced(as_rows(rows), basis))

    return make


def _reduced(covariance: str, note: str) -> Method:
    """Return OPAUC in 1000 coordinates."""
    return Method(
        _eta_lambda,
        _opauc(covariance, 1000),
        note,
        coordinates=_coordinates(covariance, 1000),
        inside="OPAUC",
    )


def _oam(update: str, buffer_size: int) -> Build:
    def build(at: Mapping[str, float], facts: Facts, seed: int) -> Any:
        solver = OAM(update=update, C=at["C"], buffer_size=buffer_size)
        return AUCClassifier(solver=solver, random_state=seed)

    return build


def _univariate(loss: str) -> Build:
    def build(at: Mapping[str, float], facts: Facts, seed: int) -> Any:
        solver = UnivariateSGD(loss=loss, step_size=at["eta"], n_epochs=1)
        return AUCClassifier(0.0, solver=solver, random_state=seed)

    return build


def _svm_perf(at: Mapping[str, float], facts: Facts, seed: int) -> Any:
    return AUCClassifier(
        1.0 / (2.0 * at["C"]), loss="hinge", standardize=0.0, tol=1e-3, max_iter=2000
    )


def _square_loss(at: Mapping[str, float], facts: Facts, seed: int) -> Any:
    return AUCClassifier(at["alpha"], loss="square", standardize=0.0, max_iter=2000)


class _ClassMeans:
    """Scores by the difference of the class means δ: what the optimum turns to as α grows."""

    def fit(self, X: Any, y: np.ndarray) -> "_ClassMeans":
        means = [np.asarray(X[part].mean(axis=0)).ravel() for part in (y, ~y)]
        self.coef_ = means[0] - means[1]
        return self

    def decision_function(self, X: Any) -> np.ndarray:
        return np.asarray(X @ self.coef_)


def _class_means(at: Mapping[str, float], facts: Facts, seed: int) -> Any:
    return _ClassMeans()


def _batch_univariate(kind: str) -> Build:
    def build(at: Mapping[str, float], facts: Facts, seed: int) -> Any:
        from sklearn.linear_model import LogisticRegression, RidgeClassifier

        if kind == "logistic":
            C = 1.0 / (at["lambda"] * facts.n)
            return LogisticRegression(C=C, class_weight="balanced", max_iter=2000)
        return RidgeClassifier(at["lambda"] * facts.n, class_weight="balanced")

    return build


_two = {"C": SPAM_STEPS, "beta": TENS}
_eta_lambda = {"eta": RATES, "lambda": OPAUC_PENALTIES}


METHODS: dict[str, Method] = {
    "SPAM-L2": Method(_two, _spam, "C/√t, 15 passes, averaged"),
    "SPAM-NET": Method(
        {**_two, "beta1": TENS},
        _spam,
        "C/√t, 15 passes, averaged",
    ),
    "VRSPAM-L2": Method({"beta": TENS}, _vrspam, "constant step, 15 stages, from SPAM"),
    "VRSPAM-NET": Method(
        {"beta": TENS, "beta1": TENS},
        _vrspam,
        "constant step, 15 stages, from SPAM",
    ),
    "SOLAM": Method({"C": SPAM_STEPS, "R": RADII}, _solam, "C/√t, 15 passes, averaged"),
    "OPAUC": Method(
        _eta_lambda,
        _opauc_of_any_width,
        f"constant step, one pass, last iterate; OPAUCr above {_WIDE} features",
    ),
    "OPAUCr": Method(_eta_lambda, _opauc("gaussian", 50), "rank 50, one pass, last iterate"),
    "OPAUC_f": _reduced("subset", "1000 features at random"),
    "OPAUC_rp": _reduced("projection", "projected to 1000 at random"),
    "OPAUC_pca": _reduced("pca", "along 1000 principal axes"),
    "OAM_seq": Method({"C": RATES}, _oam("sequential", 100), "buffers of 100, one pass"),
    "OAM_gra": Method({"C": RATES}, _oam("gradient", 100), "buffers of 100, one pass"),
    "OAM_seq, 50": Method({"C": RATES}, _oam("sequential", 50), "buffers of 50, one pass"),
    "OAM_gra, 50": Method({"C": RATES}, _oam("gradient", 50), "buffers of 50, one pass"),
    "online Uni-Exp": Method({"eta": RATES}, _univariate("exp"), "class-balanced, one pass"),
    "online Uni-Squ": Method({"eta": RATES}, _univariate("square"), "class-balanced, one pass"),
    "SVM-perf": Method({"C": BATCH_PENALTIES}, _svm_perf, "cutting planes, gap 1e-3"),
    "batch Uni-Log": Method(
        {"lambda": BATCH_PENALTIES},
        _batch_univariate("logistic"),
        "scikit-learn, class-balanced",
    ),
    "batch Uni-Squ": Method(
        {"lambda": BATCH_PENALTIES},
        _batch_univariate("square"),
        "scikit-learn, class-balanced",
    ),
    "class means": Method({}, _class_means, "their difference: the optimum as alpha grows"),
    REFERENCE: Method(
        {"alpha": SQUARE_PENALTIES},
        _square_loss,
        "the exact optimum of the pairwise square loss, alpha tuned over the whole grid",
        search=whole_grid,
    ),
}
# two names for one objective: the second is solved, and tuned, as the first
METHODS["batch SVM-OR"] = METHODS["SVM-perf"]
METHODS["B-LS-SVM"] = METHODS["batch LS-SVM"] = METHODS[REFERENCE]


def first_name(name: str) -> str:
    """Return the name under which a method stands first: the same for all of its names."""
    return next(known for known, method in METHODS.items() if method is METHODS[name])


def facts_of(X: Any, positive: np.ndarray) -> Facts:
    """Return the facts of training rows."""
    n, d = X.shape
    return Facts(n, d, float(np.mean(positive)))


# ---- one objective for all


def _solver(name: str) -> Build:
    """Return what builds the estimator of a solver, for the objective of a `Task`."""

    def build(at: Mapping[str, Any], facts: Facts, seed: int) -> Any:
        given = {"alpha", "l1_ratio", "tol", "max_iter", "callback"}
        if name not in ACCURACY_SOLVERS:
            own = SOLVERS[name].own if name in SOLVERS else {}
            given = (given | {"loss", "standardize"}) - own.keys()
        model = HingeClassifier if name in ACCURACY_SOLVERS else AUCClassifier
        settings = {key: at[key] for key in given & at.keys()}
        return model(**settings, solver=name, random_state=seed)

    return build


def _tuned(at: Mapping[str, Any], facts: Facts, seed: int) -> Any:
    return AUCClassifierCV(cv=at["folds"])


def _rival(name: str) -> Build:
    def build(at: Mapping[str, Any], facts: Facts, seed: int) -> Any:
        from aucmax.experiments import rivals

        return getattr(rivals, name)(cv=at["folds"], random_state=seed)

    return build


# those that choose their own settings; their notes stand at the foot of a comparison
TUNED, LOGISTIC, LEAST_SQUARES = "tuned", "logistic", "least_squares"
RIVALS = {
    TUNED: Method({}, _tuned, "AUCClassifierCV"),
    LOGISTIC: Method(
        {},
        _rival("BalancedLogisticRegression"),
        "scikit-learn's logistic regression, class-balanced",
    ),
    LEAST_SQUARES: Method(
        {}, _rival("BalancedLeastSquares"), "scikit-learn's ridge classifier, class-balanced"
    ),
}
CONTESTANTS: dict[str, Method] = {
    name: Method({}, _solver(name), "") for name in (*SOLVERS, *ACCURACY_SOLVERS)
} | RIVALS


@dataclass(frozen=True)
class Task:
    """The objective that every solver minimises, and when it stops."""

    alpha: float
    l1_ratio: float
    loss: str
    standardize: float
    tol: float
    max_iter: int
    seed: int

    def on_objective(self, name: str) -> bool:
        """Tell whether this one minimises the objective of the task, and not its own."""
        return name in SOLVERS and not SOLVERS[name].own

    def model(self, name: str, **other: Any) -> Any:
        """Return the estimator of one of `CONTESTANTS`, or of "auto", the solver that fits.

        Those that tune do so on ``folds``.
        """
        build = _solver(name) if name == "auto" else CONTESTANTS[name].build
        return build({**asdict(self), "folds": 5, **other}, Facts(0, 0, 0.0), self.seed)

    def small(self, name: str) -> Any:
        """Return an estimator that does little work, for a first run that compiles."""
        if name not in RIVALS:
            return self.model(name, max_iter=3)
        one = {"alphas": [1.0]} if name == TUNED else {"grid": [0.01]}
        return self.model(name).set_params(**one)

    def check(self) -> None:
        """Raise ValueError for settings that no solver takes."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # two rows say nothing of the data
            self.model("auto").fit(np.eye(2), [0, 1])

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
    words = [word.lower().replace("-", "").replace("_", "") for word in names]
    for word, name in zip(words, names, strict=True):
        if word not in plain:
            raise ValueError(f"no algorithm {name!r}; there are {', '.join(CONTESTANTS)}.")
    return list(dict.fromkeys(plain[word] for word in words))
