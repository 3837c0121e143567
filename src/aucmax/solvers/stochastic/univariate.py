"""Online learners with a univariate loss: single rows in place of pairs, the classes balanced.

With n_y the number of rows of class y, the row (x, y) weighs n/(2 n_y), so that both classes weigh
the same, and a step is

    w ← (w − η n/(2 n_y) ∇ℓ(y w·x)) / (1 + ηα),

a stochastic proximal step on F(w) = balanced mean of ℓ(y w·x) + (α/2)‖w‖², where ℓ(t) is
exp(−t), (1 − t)² or log(1 + exp(−t)).
"""

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np

from aucmax.basics.checks import number
from aucmax.objective import Objective, UnivariateObjective
from aucmax.objective.losses import UNIVARIATE_LOSSES
from aucmax.objective.penalties import ElasticNet
from aucmax.objective.problem import MemoryProblem
from aucmax.rows import Rows, compiled, n_rows, products, row_add, row_dot
from aucmax.solvers.stochastic.core import Sampler, StochasticSolver
from aucmax.solvers.stochastic.spam import with_rows

__all__ = ["UnivariateSGD"]

_RETRIES = 10  # times the automatic step may be halved
_CODES = {"exp": 0, "square": 1, "logistic": 2}  # of the losses, in the kernel
_CURVATURE = {"exp": 1.0, "square": 2.0, "logistic": 0.25}  # ℓ″(0)


class UnivariateSGD(StochasticSolver):
    """Stochastic proximal gradient on a class-balanced loss of single rows.

    It does not minimise J but F(w) = balanced mean of ℓ(y w·x) + (α/2)‖w‖², and ``objective_`` is
    F. Minimising the exponential or the logistic one also ranks, as the paper shows.

    Parameters
    ----------
    loss : {"exp", "square", "logistic"}
        ℓ(t) = exp(−t), (1 − t)² or log(1 + exp(−t)).
    step_size : float or "auto"
        C of η_t = C/√t. "auto" is 4/L, L the balanced mean of ‖x‖²ℓ″(0), the curvature of one
        row at w = 0; and no step is longer than Newton's for its own row, 1/(‖x‖²ℓ″) over the row's
        weight (for "logistic" with the largest ℓ″), which keeps the exponential loss from
        overshooting. Halved while the first epoch ends above F(0).
    n_epochs : int
        Passes over the rows.
    order : {"shuffle", "cyclic", "random"}
        Rows shuffled each epoch, in file order, or drawn with replacement.
    average : bool
        Return the mean of all iterates; else the last.

    Notes
    -----
    A step touches only the row's stored entries: w is kept as a scale times a vector, and the
    average by one more sparse vector.

    There is no intercept in the loss: that of the estimator comes afterwards, as always. On
    features that are all positive (neither centred nor sparse) the margins of one class then start
    on the wrong side, and a pairwise loss, which sees differences alone, learns faster.

    On rows that hold no signal F may end a little above F(0): only 2 % above counts as divergence.

    The estimator's ``loss`` stays at its default; that of this solver is its own setting.

    ``partial_fit`` weighs with the counts of the rows met so far, the row itself among them.

    References
    ----------
    Kotlowski, Dembczynski & Hüllermeier (2011), "Bipartite ranking through minimization of
    univariate loss", ICML.
    """

    name = "univariate"
    takes_l1 = False
    own: ClassVar = {"loss": "loss"}
    slack = 0.02

    def __init__(
        self,
        loss: str = "exp",
        step_size: float | str = "auto",
        n_epochs: int = 15,
        order: str = "shuffle",
        average: bool = True,
    ) -> None:
        self.loss = loss
        self.step_size = step_size
        self.n_epochs = n_epochs
        self.order = order
        self.average = average

    def own_objective(self, objective: Objective) -> Objective:
        self._code()
        problem = objective.problem
        assert isinstance(problem, MemoryProblem)
        return UnivariateObjective(
            problem, UNIVARIATE_LOSSES[self.loss], objective.penalty, balanced=True
        )

    def _code(self) -> int:
        if self.loss not in _CODES:
            raise ValueError(
                f"the loss of UnivariateSGD must be 'exp', 'square' or 'logistic'; "
                f"got {self.loss!r}."
            )
        return _CODES[self.loss]

    def epochs(
        self,
        objective: Objective,
        problem: MemoryProblem,
        start: np.ndarray | None,
        max_iter: int,
        rng: np.random.RandomState,
    ) -> Iterator[tuple[np.ndarray, float]]:
        number(self.n_epochs, "n_epochs", low=1, whole=True)
        X, n, d = problem.rows(), problem.n_samples, problem.n_features
        sign, weight, norm2 = problem.sign, problem.weight, products.row_norms2(X)
        alpha, mass = objective.penalty.l2, np.array([problem.n_pos, problem.n_neg])
        moment = _second_moments(sign, weight, norm2)
        sampler, slower, wasted = Sampler(n, self.order, rng), 1.0, 0
        state = self._fresh(objective, start)
        for epoch in range(min(self.n_epochs, max_iter)):
            while True:
                samples = (X, sampler.take(n), sign, weight, norm2)
                self._run(state, samples, slower, alpha, False, mass, moment)
                w = self.current(state).copy()
                if epoch > 0 or self.step_size != "auto" or wasted == _RETRIES:
                    break
                if objective.value(w) <= objective.value(np.zeros(d)):
                    break
                # the automatic step overshot on these rows: begin again with half of it
                slower, wasted = 2.0 * slower, wasted + 1
                state = self._fresh(objective, start)
            yield w, epoch + 1.0 + wasted

    def _fresh(self, objective: Objective, start: np.ndarray | None) -> dict[str, Any]:
        state = self.begin(objective.problem.n_features, objective.penalty)
        if start is not None:
            state["v"][:] = start
        return state

    def _run(
        self,
        state: dict[str, Any],
        samples: tuple[Rows, np.ndarray, np.ndarray, np.ndarray, np.ndarray],
        slower: float,
        alpha: float,
        running: bool,
        mass: np.ndarray,
        moment: np.ndarray,
    ) -> None:
        """Take steps over samples = (X, order, sign, weight, ‖x‖²) with these class weights.

        ``slower`` divides the automatic step; ``running`` lets ``mass`` and ``moment`` grow.
        """
        C, code = 0.0, self._code()
        if self.step_size != "auto":
            C = float(number(self.step_size, "step_size", open_low=True))
        auto = 4.0 / (slower * _CURVATURE[self.loss])
        settings = (code, C, auto, alpha, bool(self.average), running)
        iterate = (state["v"], state["u"], state["k"])
        _steps(*samples, *settings, mass, moment, *iterate)

    # ---- partial_fit: running class weights ------------------------------------------------

    def begin(self, n_features: int, penalty: ElasticNet) -> dict[str, Any]:
        k = np.zeros(4)
        k[_SCALE] = 1.0
        return {
            "mass": np.zeros(2),
            "total": np.zeros((2, n_features)),
            "moment": np.zeros(2),
            "v": np.zeros(n_features),
            "u": np.zeros(n_features),
            "k": k,
        }

    def resume(
        self, problem: MemoryProblem, penalty: ElasticNet, coef: np.ndarray, n_iter: int
    ) -> dict[str, Any]:
        state = super().resume(problem, penalty, coef, n_iter)
        weight = problem.unit * problem.weight
        state["moment"] = _second_moments(problem.sign, weight, products.row_norms2(problem.X))
        return state

    def place(self, state: dict[str, Any], coef: np.ndarray, steps: int) -> None:
        state["v"][:], state["k"][_STEPS] = coef, steps

    def take(
        self,
        state: dict[str, Any],
        X: Rows,
        sign: np.ndarray,
        weight: np.ndarray,
        penalty: ElasticNet,
        rng: np.random.RandomState,
    ) -> None:
        _, total = with_rows(state["mass"], state["total"], X, sign, weight)
        order = Sampler(n_rows(X), self.order, rng).take(n_rows(X))
        samples = (X, order, sign, weight, products.row_norms2(X))
        self._run(state, samples, 1.0, penalty.l2, True, state["mass"], state["moment"])
        state["total"] = total

    def current(self, state: dict[str, Any]) -> np.ndarray:
        k = state["k"]
        if self.average and k[_AVERAGED] > 0.0:
            return (k[_SUM] * state["v"] - state["u"]) / k[_AVERAGED]
        return k[_SCALE] * state["v"]


def _second_moments(sign: np.ndarray, weight: np.ndarray, norm2: np.ndarray) -> np.ndarray:
    """Return Σ weight ‖x‖² of both classes, shape (2,)."""
    each = weight * norm2
    return np.array([each[sign > 0].sum(), each[sign < 0].sum()])


# where in k: the scale, the sum of the scales of past iterates, the steps taken, and how many of
# them the average holds
_SCALE, _SUM, _STEPS, _AVERAGED = range(4)
_FOLD = 1e-5  # the average loses this factor of its digits before the scale is folded into v


@compiled
def _steps(
    X, order, sign, weight, norm2, loss, C, auto, alpha, average, running, mass, moment, v, u, k
):  # fmt: skip
    # w = c v;   sum of iterates = S v − u, since Σ_t c_t v_t = S_T v_T − Σ_t S_{t−1}(v_t − v_{t−1})
    c, S = k[0], k[1]
    for i in order:
        y = sign[i]
        q = 0 if y > 0 else 1
        if running:  # take the row into the class weights first
            mass[q] += weight[i]
            moment[q] += weight[i] * norm2[i]
            if mass[0] == 0.0 or mass[1] == 0.0:
                continue
        n = mass[0] + mass[1]
        balance = weight[i] * n / (2.0 * mass[q])
        margin = y * c * row_dot(X, i, v)
        # g = −ℓ′, and the curvature ℓ″ that bounds the automatic step; e^700 is still finite
        if loss == 0:
            g = np.exp(min(-margin, 700.0))
            curvature = g
        elif loss == 1:
            g, curvature = 2.0 * (1.0 - margin), 2.0
        else:
            g, curvature = 1.0 / (1.0 + np.exp(min(margin, 700.0))), 0.25
        k[2] += 1.0
        rate = C / np.sqrt(k[2])
        if C == 0.0:
            # the balanced mean of ‖x‖²
            mean = 0.5 * (moment[0] / mass[0] + moment[1] / mass[1])
            rate = auto / (mean * np.sqrt(k[2])) if mean > 0.0 else 0.0
            bound = balance * norm2[i] * curvature
            if rate * bound > 1.0:
                rate = 1.0 / bound
        # w ← (w + η g y x)/(1 + ηα)
        h = rate * balance * g * y / c
        row_add(X, i, h, v)
        if average:
            row_add(X, i, h * S, u)
        c /= 1.0 + rate * alpha
        S += c
        k[3] += 1.0
        if c < _FOLD:
            for j in range(len(v)):
                u[j] -= S * v[j]
                v[j] *= c
            c, S = 1.0, 0.0
    k[0], k[1] = c, S
