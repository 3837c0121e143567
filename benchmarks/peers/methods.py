"""Who is compared: aucmax's solvers and what people use instead, each as one entry.

An entry says how a model is made from a setting, which settings it is tried at, and what it needs:
a package, dense rows, not too many features. A setting is the strength of the penalty beside the
mean loss of a row, whatever the library calls it, unless the entry says otherwise. Both classes
weigh the same wherever the library can do that.
"""

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import (
    LogisticRegression,
    RidgeClassifier,
    SGDClassifier,
)
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import LinearSVC
from sklearn.utils.class_weight import compute_sample_weight

from aucmax import AUCClassifier, ClassMoments, metrics
from benchmarks.common.data import Task
from benchmarks.common.engine import reason

ALPHAS = (1e-3, 1e-4, 1e-5)  # the quickest first: what takes too long ends a method's run
WEAKER = (1e-4, 1e-5, 1e-6)  # for the logistic loss, which itself does not reward long w
GRID = tuple(10.0**k for k in range(-7, 0))  # what a grid search tries
FOLDS = 5
FEW = 1_000  # features up to which dense rows and d×d matrices are taken


@dataclass(frozen=True)
class Method:
    """One competitor.

    ``build(setting, rows)`` returns what has ``fit`` and ``decision_function``; ``scales`` says
    that it brings the features to a scale of its own.
    """

    name: str
    build: Callable[[float, int], Any]
    settings: tuple[float, ...] = ALPHAS
    package: str = "sklearn"
    scales: bool = False
    dense: bool = False
    most_features: int | None = None
    tuned: bool = False
    hint: str = ""  # what to know where the package is missing

    @property
    def ours(self) -> bool:
        """Whether it is a model of aucmax."""
        return self.package == "aucmax"

    def obstacle(self, task: Task) -> str:
        """Return why the method cannot take these rows, or nothing."""
        most = FEW if self.dense else self.most_features
        if most is not None and task.X.shape[1] > most:
            why = "takes dense rows" if self.dense else "forms a matrix of all features"
            return f"{why}: not run with more than {most:,} features"
        return ""

    def missing(self) -> str:
        """Return why its package cannot be imported, or nothing."""
        try:
            importlib.import_module(self.package)
        except Exception as error:  # a broken install may raise anything
            return self.hint or reason(error)
        return ""

    def searched(self) -> "Method":
        """Return the method tuned by a grid search, the same loop for all that have none."""
        search = partial(GridSearch, self.build)
        return Method(
            f"{self.name}, grid search", lambda _, rows: search(), (0.0,), self.package,
            self.scales, self.dense, self.most_features, tuned=True, hint=self.hint,
        )  # fmt: skip


class GridSearch:
    """A model tuned over `GRID` by the AUC of stratified folds, then fitted to all rows."""

    def __init__(self, build: Callable[[float, int], Any]) -> None:
        self.build = build

    def fit(self, X: Any, y: np.ndarray) -> "GridSearch":
        """Tune and fit."""
        aucs = np.zeros(len(GRID))
        for train, test in StratifiedKFold(FOLDS).split(X, y):
            rows, labels, held = X[train], y[train], X[test]
            for k, setting in enumerate(GRID):
                model = self.build(setting, len(train)).fit(rows, labels)
                aucs[k] += metrics.roc_auc(y[test], model.decision_function(held))
        self.best = self.build(GRID[int(np.argmax(aucs))], len(y)).fit(X, y)
        return self

    def decision_function(self, X: Any) -> np.ndarray:
        """Return the scores."""
        return self.best.decision_function(X)


# ---- adapters ----------------------------------------------------------------------------


class Moments:
    """The square loss from class moments: what shards and streams would merge into."""

    def __init__(self, alpha: float) -> None:
        self.model = AUCClassifier(alpha)

    def fit(self, X: Any, y: np.ndarray) -> AUCClassifier:
        """Add up the moments and solve."""
        return self.model.fit_moments(ClassMoments.from_data(X, y))


class ByPrediction:
    """A regressor of probabilities or margins, for labels 0 and 1."""

    def __init__(self, model: Any, **fit: Callable[[np.ndarray], Any]) -> None:
        self.model, self.settings = model, fit

    def fit(self, X: Any, y: np.ndarray) -> "ByPrediction":
        """Fit."""
        more = {name: make(y) for name, make in self.settings.items()}
        self.model.fit(X, (y > 0).astype(float), **more)
        return self

    def decision_function(self, X: Any) -> np.ndarray:
        """Return what the model predicts."""
        return np.asarray(self.model.predict(X)).ravel()


class ByWeights:
    """A model of Snap ML, some of which only predict probabilities."""

    def __init__(self, model: Any) -> None:
        self.model = model

    def fit(self, X: Any, y: np.ndarray) -> "ByWeights":
        """Fit."""
        self.model.fit(X, y)
        return self

    def decision_function(self, X: Any) -> np.ndarray:
        """Return the scores."""
        return X @ np.asarray(self.model.coef_).ravel()


class TorchLinear:
    """A linear layer with LibAUC's min-max loss and its optimizer, ten epochs in batches of 512."""

    def __init__(self, step: float) -> None:
        self.step = step

    def fit(self, X: np.ndarray, y: np.ndarray) -> "TorchLinear":
        """Fit."""
        import torch
        from libauc.losses import AUCMLoss
        from libauc.optimizers import PESG

        torch.manual_seed(0)
        torch.set_num_threads(1)
        rows = torch.from_numpy(X).float()
        labels = torch.from_numpy((y > 0).astype(np.float32))[:, None]
        self.layer, loss = torch.nn.Linear(X.shape[1], 1), AUCMLoss()
        optimizer = PESG(self.layer.parameters(), loss_fn=loss, lr=self.step, verbose=False)
        for epoch in range(10):
            if epoch == 5:
                optimizer.update_regularizer(decay_factor=10)
            for batch in torch.randperm(len(rows)).split(512):
                if 0 < labels[batch].sum() < len(batch):
                    optimizer.zero_grad()
                    loss(torch.sigmoid(self.layer(rows[batch])), labels[batch]).backward()
                    optimizer.step()
        return self

    def decision_function(self, X: np.ndarray) -> np.ndarray:
        """Return the scores."""
        return X @ self.layer.weight.detach().numpy().ravel()


class Liblinear:
    """LIBLINEAR by its own Python binding."""

    def __init__(self, kind: int, C: float) -> None:
        self.options = f"-s {kind} -c {C!r} -B 1 -q"

    def fit(self, X: Any, y: np.ndarray) -> "Liblinear":
        """Copy the rows into the library's form and train."""
        from liblinear.liblinearutil import problem, train

        positive, negative = balanced(y)[[np.argmax(y), np.argmin(y)]].tolist()
        weights = f" -w1 {positive!r} -w-1 {negative!r}"
        self.model = train(problem(y, X), self.options + weights)
        self.w = np.asarray(self.model.get_decfun()[0])
        return self

    def decision_function(self, X: Any) -> np.ndarray:
        """Return the scores."""
        return X @ self.w


# ---- entries -----------------------------------------------------------------------------


def balanced(y: np.ndarray) -> np.ndarray:
    """Return weights of rows with which both classes weigh the same."""
    return compute_sample_weight("balanced", y)


def logistic(solver: str, alpha: float, rows: int) -> LogisticRegression:
    """Return scikit-learn's logistic regression."""
    return LogisticRegression(
        C=1.0 / (alpha * rows), solver=solver, class_weight="balanced", max_iter=1000
    )


def snap(kind: str, alpha: float, rows: int) -> Any:
    """Return a generalised linear model of Snap ML."""
    import snapml

    return ByWeights(
        getattr(snapml, kind)(regularizer=alpha * rows, class_weight="balanced", n_jobs=1)
    )


def glum(alpha: float, rows: int) -> Any:
    """Return glum's logistic regression."""
    from glum import GeneralizedLinearRegressor

    return ByPrediction(
        GeneralizedLinearRegressor(family="binomial", alpha=alpha, l1_ratio=0),
        sample_weight=balanced,
    )


def glum_cv(_: float, rows: int) -> Any:
    """Return glum's own cross-validation, by deviance."""
    from glum import GeneralizedLinearRegressorCV as Tuned

    return ByPrediction(
        Tuned(family="binomial", l1_ratio=0, alphas=list(GRID[::-1]), cv=FOLDS),
        sample_weight=balanced,
    )


def intelex(alpha: float, rows: int) -> Any:
    """Return Intel's patch of scikit-learn's logistic regression."""
    from sklearnex.linear_model import LogisticRegression as Patched

    return Patched(C=1.0 / (alpha * rows), class_weight="balanced", max_iter=1000)


def vowpal_wabbit(alpha: float, rows: int) -> Any:
    """Return Vowpal Wabbit by its scikit-learn interface, which writes the rows as text."""
    from vowpalwabbit.sklearn import VWClassifier

    return VWClassifier(loss_function="logistic", l2=alpha, passes=3, quiet=True)


def celer(alpha: float, rows: int) -> Any:
    """Return celer's l1 logistic regression."""
    from celer import LogisticRegression as Celer

    return Celer(C=1.0 / (alpha * rows))


def xgboost(alpha: float, rows: int) -> Any:
    """Return XGBoost's linear booster for pairs, one query holding all rows."""
    from xgboost import XGBRanker

    model = XGBRanker(
        objective="rank:pairwise", booster="gblinear", reg_lambda=alpha, n_estimators=50,
        lambdarank_pair_method="mean", lambdarank_num_pair_per_sample=1, n_jobs=1, random_state=0,
    )  # fmt: skip
    return ByPrediction(model, qid=lambda y: np.zeros(len(y), dtype=np.uint32))


def newton_cd() -> bool:
    """Say whether the installed scikit-learn has the solver."""
    allowed = LogisticRegression._parameter_constraints["solver"]
    return any("newton-cd" in getattr(each, "options", ()) for each in allowed)


def auc(loss: str, alpha: float, rows: int, **settings: Any) -> AUCClassifier:
    """Return our classifier."""
    return AUCClassifier(alpha, loss=loss, random_state=0, **settings)


LOSSES = {"square": ALPHAS, "squared_hinge": ALPHAS, "logistic": WEAKER}
LEARNERS = {"SPAM": "spam", "VRSPAM": "vrspam", "UnivariateSGD": "univariate"}
OURS = [
    *(
        Method(loss, partial(auc, loss), settings, package="aucmax", scales=True)
        for loss, settings in LOSSES.items()
    ),
    *(
        Method(f"{loss}, as given", partial(auc, loss, standardize=0.0), settings,
               package="aucmax")
        for loss, settings in LOSSES.items()
    ),
    Method("moments", lambda alpha, rows: Moments(alpha), package="aucmax", scales=True,
           most_features=1_500),
    *(
        Method(name, partial(auc, "square", solver=solver), package="aucmax")
        for name, solver in LEARNERS.items()
    ),
]  # fmt: skip
PEERS = [
    Method("LogisticRegression lbfgs", partial(logistic, "lbfgs"), WEAKER),
    Method("LogisticRegression newton-cholesky", partial(logistic, "newton-cholesky"), WEAKER,
           most_features=FEW),
    *[
        Method("LogisticRegression newton-cd", partial(logistic, "newton-cd"), WEAKER)
    ] * newton_cd(),
    Method("RidgeClassifier", lambda alpha, rows: RidgeClassifier(
        alpha=alpha * rows, class_weight="balanced")),
    Method("LDA", lambda setting, rows: LinearDiscriminantAnalysis("lsqr", shrinkage=setting),
           (0.1, 0.01, 0.0), dense=True),
    Method("SGDClassifier", lambda alpha, rows: SGDClassifier(
        "log_loss", alpha=alpha, class_weight="balanced", random_state=0), WEAKER),
    Method("LinearSVC", lambda alpha, rows: LinearSVC(
        C=1.0 / (alpha * rows), class_weight="balanced", dual="auto", random_state=0)),
    Method("Snap ML logistic", partial(snap, "LogisticRegression"), WEAKER, package="snapml"),
    Method("Snap ML SVM", partial(snap, "SupportVectorMachine"), package="snapml"),
    Method("glum", glum, WEAKER, package="glum", most_features=FEW),
    Method("scikit-learn-intelex", intelex, WEAKER, package="sklearnex"),
    Method("celer", celer, WEAKER, package="celer"),
    Method("LIBLINEAR logistic", lambda alpha, rows: Liblinear(0, 1.0 / (alpha * rows)),
           WEAKER, package="liblinear.liblinearutil"),
    Method("LIBLINEAR SVM", lambda alpha, rows: Liblinear(2, 1.0 / (alpha * rows)),
           package="liblinear.liblinearutil"),
    Method("Vowpal Wabbit", vowpal_wabbit, WEAKER,
           package="vowpalwabbit", scales=True),
    Method("XGBoost rank:pairwise gblinear", xgboost, package="xgboost"),
    Method("torch with LibAUC's loss", lambda step, rows: TorchLinear(step), (0.1, 1.0, 10.0),
           package="libauc", dense=True),
    Method("adelie", lambda alpha, rows: None, package="adelie",
           hint="asks for NumPy 1, aucmax for NumPy 2: the two cannot be installed together"),
]  # fmt: skip
