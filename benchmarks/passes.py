"""Seconds per pass of every stochastic learner, compared with SPAM; OPAUC.

One pass is the difference of two run lengths of one fit with the learner's default settings and
the same seed, each the least processor time of five, so that set-up and the final objective
cancel; the longer run takes at least three times as long. Unit-norm rows, even against odd labels.
Three tables: the learners of ``SOLVERS`` and ``ACCURACY_SOLVERS``, as ratios to SPAM with the l2
penalty; OPAUC on mnist's 60,000 rows, as a ratio to reading one d×d matrix of float64 as often;
OPAUC with a Gaussian sketch of rank 50 on sector. ``--rows`` limits the rows, for a quick look.
"""

import warnings
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

import aucmax
from aucmax import AUCClassifier, datasets, solvers
from aucmax.objective import Objective, UnivariateObjective
from aucmax.objective.losses import LOSSES, UNIVARIATE_LOSSES
from aucmax.objective.penalties import ElasticNet
from aucmax.objective.problem import ANY_ROWS
from aucmax.solvers.stochastic.core import StochasticSolver
from benchmarks.common.data import binary
from benchmarks.common.engine import least_seconds
from benchmarks.common.tables import Names, show

NOT_PER_ENTRY = {"opauc": "d²", "oam": "buffer × entries"}  # what a step costs, if not its entries
WIDE = 2_000  # above so many features OPAUC keeps no d×d matrix here
SETTINGS = {"alpha": 1e-4, "standardize": 0.0, "random_state": 0}


def fit_seconds(make: Any, kind: type, passes: int, X: Any, y: Any) -> float:
    """Return the seconds of a fit of so many passes."""
    setting = "n_stages" if "n_stages" in kind._get_param_names() else "n_epochs"
    clf = make(solver=kind(**{setting: passes})).set_params(max_iter=10**9)
    return least_seconds(lambda: clf.fit(X, y))


def per_pass(make: Any, kind: type, X: Any, y: Any) -> float:
    """Return seconds of one pass, from fits of 1 and of 1 + ``more`` passes."""
    few, more = fit_seconds(make, kind, 1, X, y), 5
    while (many := fit_seconds(make, kind, 1 + more, X, y)) < 3 * few and more < 5000:
        more *= 4
    return (many - few) / more


def learners() -> Iterator[tuple[str, str, type, Any]]:
    """Yield (name, penalty, class, function from a solver object to an estimator), SPAM first."""
    for kind in sorted(solvers.SOLVERS.values(), key=lambda kind: kind.name != "spam"):
        if not issubclass(kind, StochasticSolver):
            continue
        if kind.own:
            settings = {name: value for name, value in SETTINGS.items() if name not in kind.own}
            yield kind.name, "l2", kind, partial(AUCClassifier, **settings)
        else:
            for ratio, penalty in ((0.0, "l2"), (0.5, "elastic net")):
                if kind().unfit(Objective(ANY_ROWS, LOSSES["square"], ElasticNet(1.0, ratio))):
                    continue
                make = partial(AUCClassifier, l1_ratio=ratio, **SETTINGS)
                yield kind.name, penalty, kind, make
    for kind in solvers.ACCURACY_SOLVERS.values():
        for ratio, penalty in ((0.0, "l2"), (1.0, "l1")):
            hinge = UNIVARIATE_LOSSES["hinge"]
            if kind().unfit(UnivariateObjective(ANY_ROWS, hinge, ElasticNet(1.0, ratio))):
                continue
            make = partial(aucmax.HingeClassifier, l1_ratio=ratio, random_state=0)
            yield kind.name, penalty, kind, make


def against_spam(names: list[str], rows: int | None) -> Iterator[list[str]]:
    """Yield a row for each learner."""
    data = {name: tuple(part[:rows] for part in binary(name)) for name in names}
    base: dict[str, float] = {}
    for learner, penalty, kind, make in learners():
        cells = []
        for name, (X, y) in data.items():
            if learner == "opauc" and X.shape[1] > WIDE:
                cells.append("–")
                continue
            took = per_pass(make, kind, X, y)
            ratio = took / base.setdefault(name, took)
            cells.append(f"{took * 1e3:.2f} ({ratio:.2f})")
        per_entry = penalty == "l2" or learner in solvers.ACCURACY_SOLVERS or learner == "spam"
        cost = NOT_PER_ENTRY.get(learner, "its entries" if per_entry else "up to d")
        yield [learner, penalty, cost, *cells]


def against_reading(rows: int | None) -> list[Any]:
    """Return the row of OPAUC."""
    data = datasets.load("mnist", split="train", binarize="even-odd", scale="unit-norm")
    X, y = data.data[:rows], data.target[:rows]
    n, d = X.shape
    matrix = np.random.RandomState(0).rand(d, d).ravel()
    # a product of the matrix with itself reads each of its numbers once
    read = least_seconds(lambda: [matrix @ matrix for _ in range(200)]) / 200
    opauc = solvers.OPAUC(step_size=0.01, order="cyclic")
    clf = AUCClassifier(1e-4, solver=opauc, random_state=0)
    took = least_seconds(lambda: clf.fit(X, y))
    figures = f"{took:.2f}", f"{read * 1e3:.3f}", f"{n * read:.2f}", f"{took / (n * read):.2f}"
    return [n, d, *figures]


def sketched(rows: int | None) -> list[Any]:
    """Return the row of OPAUC with a sketch."""
    X, y = binary("sector")
    X, y = X[:rows], y[:rows]
    sketch = solvers.OPAUC(covariance="gaussian", rank=50, step_size=0.01)
    clf = AUCClassifier(1e-4, solver=sketch, random_state=0)
    took = least_seconds(lambda: clf.fit(X, y))
    return [*X.shape, 50, f"{took:.2f}"]


def main(sets: Names = ["sector", "news20", "a9a"], rows: int | None = None) -> None:
    warnings.simplefilter("ignore")
    show(["learner", "penalty", "a step costs", *(f"{name}, ms (ratio)" for name in sets)],
         against_spam(sets, rows))  # fmt: skip
    show(["n", "d", "OPAUC, s a pass", "reading d×d, ms", "n readings, s", "ratio"],
         [against_reading(rows)])  # fmt: skip
    show(["n", "d", "rank", "OPAUCr, s a pass"], [sketched(rows)])
