"""OPAUC: one-pass AUC optimization from running class means and covariances.

The row x_t of class y is paired with all earlier rows of the other class, with mean c and
covariance S:

    L_t(w) = (α/2)‖w‖² + ½ · mean over them of (1 − y (x_t − x′)·w)²,
    ∇L_t(w) = αw − y (x_t − c) + (x_t − c)(x_t − c)ᵀw + S w,    w ← w − η ∇L_t(w),

the paper's Equations (4) and (5), where α is called λ. With many features a random sketch of S
(OPAUCr) or fewer coordinates (OPAUCf, OPAUCrp, OPAUCpca) save memory.
"""

from typing import ClassVar

import numpy as np
from numpy.random import RandomState

from aucmax.basics.checks import number
from aucmax.data.rows import take_rows
from aucmax.objective import Objective
from aucmax.objective.penalties import Penalty
from aucmax.solvers.base import lacking
from aucmax.solvers.stochastic import full_covariance, gaussian_sketch
from aucmax.solvers.stochastic.core import State, StochasticSolver
from aucmax.solvers.stochastic.samples import Batch, Classes, Visits, records
from aucmax.statistics.projections import (
    gaussian_projection,
    lifted,
    lowered,
    principal_axes,
    random_features,
    reduced,
)

__all__ = ["OPAUC"]

_ROWS_PER_BLOCK = 512  # rows at a time, to draw random numbers for or to project
_REDUCED = ("subset", "projection", "pca")
_COVARIANCES = ("full", "gaussian", *_REDUCED)


class OPAUC(StochasticSolver):
    """One-pass AUC optimization: a step on a row against all rows of the other class so far.

    Each row first enters the mean c and covariance S of its own class, where T is the class weight,

        S ← (1 − 1/T) S + ((T−1)/T²)(x − c)(x − c)ᵀ,    c ← c + (x − c)/T,

    and then, once the other class has been seen, w takes one step along ∇L_t.

    Parameters
    ----------
    step_size : float or "auto"
        η, the same at every step. "auto" is the step of the paper's Theorem 2, as corrected in
        docs/notes_on_the_papers.md, 6, computed from the rows so far: 1/(κ + √(κ² + 2κtL/B²)) after
        t steps, with κ the largest ‖x − c‖² + tr S + α, L = J(0) = ½ and B = ‖δ‖/(‖δ‖² + α).
    n_epochs, order, average, tol
        As for every learner: see `StochasticSolver`. The means and covariances carry over from one
        epoch to the next. As published, there is one epoch, and the last iterate is returned.
    covariance : {"full", "gaussian", "subset", "projection", "pca"}
        How to keep the covariances of d features.

        - "full": two d×d matrices; a step costs O(d²).
        - "gaussian" (OPAUCr): with r ~ N(0, I/τ) drawn for each row, and Z and s the sums of x rᵀ
          and r over a class, (Z − c sᵀ)(Z − c sᵀ)ᵀ/T estimates S without bias. Two d×τ matrices;
          a step costs O(τ² + τ · stored entries of the row).
        - "subset" (OPAUCf): only τ random features.
        - "projection" (OPAUCrp): the τ coordinates Hᵀx, H of independent N(0, 1/τ).
        - "pca" (OPAUCpca): the coordinates along the first τ principal axes of the rows of `fit`;
          `partial_fit` needs a `fit` before it.

        The last three run the full algorithm on τ coordinates; ``coef_`` are the weights for the d
        features.
    rank : int or None
        τ; None is 50 for "gaussian" and 1000 for the others, as in the paper. Except for
        "gaussian", it is limited to d.
    centered : bool
        For "gaussian": False estimates S by Z Zᵀ/T − ĉ ĉᵀ, ĉ = c sᵀ/T, as printed, which is near
        S + c cᵀ (docs/notes_on_the_papers.md, 5) and depends on the scale of sample weights.

    Notes
    -----
    A row of weight q adds q to T, q multiplies its gradient, and Z and s take √q r instead of r.

    References
    ----------
    Gao, Jin, Zhu & Zhou (2013), "One-pass AUC optimization", ICML.
    """

    name = "opauc"
    origin_remedy = None  # it sees only rows minus the mean of a class
    drawn = ("basis",)
    max_covariance_bytes: ClassVar[int] = 10**9

    def __init__(
        self,
        step_size: float | str = "auto",
        n_epochs: int = 1,
        order: str = "shuffle",
        average: bool = False,
        covariance: str = "full",
        rank: int | None = None,
        centered: bool = True,
        tol: float | None = None,
    ) -> None:
        super().__init__(n_epochs, order, average, tol)
        self.step_size = step_size
        self.covariance = covariance
        self.rank = rank
        self.centered = centered

    def unfit(self, objective: Objective) -> str | None:
        return lacking(objective, loss=("quadratic",), penalty="l2", data=("rows",))

    def begin(self, d: int, penalty: Penalty) -> State:
        self._check(d)
        if self.covariance == "gaussian":
            return gaussian_sketch.begin(d, self._rank(d))
        return full_covariance.begin(self._rank(d))

    def place(self, state: State, start: np.ndarray, penalty: Penalty, classes: Classes) -> None:
        if self.covariance in _REDUCED:
            state["start"] = start  # until the coordinates are drawn
        else:
            state["w"][:] = start

    def step(self, state: State, batch: Batch, penalty: Penalty, rng: RandomState) -> None:
        self._same_settings(state, batch.n_features)
        self._draw_basis(state, batch, rng)
        eta = self.given_step() or 0.0  # 0: automatic
        slower = float(state["slower"][0])
        settings = full_covariance.Settings(
            float(batch.unit), eta, slower, penalty.l2, bool(self.average), bool(self.centered)
        )
        for lo in range(0, len(batch.order), _ROWS_PER_BLOCK):
            part = batch.order[lo : lo + _ROWS_PER_BLOCK]
            visits = batch.visits._replace(order=part)
            if self.covariance == "gaussian":
                tau = state["s"].shape[1]
                draws = rng.standard_normal((len(part), tau)) / np.sqrt(tau)
                gaussian_sketch.run(state, visits, draws, settings)
                continue
            if "basis" in state:
                few = reduced(take_rows(batch.X, part), state["basis"])
                rows = records(few, batch.sign[part], batch.weight[part])
                visits = Visits(few, np.arange(len(part)), rows)
            full_covariance.run(state, visits, settings)

    def current(self, state: State) -> np.ndarray:
        if self.covariance == "gaussian":
            return gaussian_sketch.solution(state, self.average)
        w, d = full_covariance.solution(state, self.average), state["total"].shape[1]
        if "basis" in state:
            return lifted(w, state["basis"], d)
        return w if len(w) == d else np.zeros(d)

    # ---- the covariance and its settings -----------------------------------------------------

    def _draw_basis(self, state: State, batch: Batch, rng: RandomState) -> None:
        """Draw the coordinates in which the steps are taken, unless they are the features."""
        if self.covariance not in _REDUCED or "basis" in state:
            return
        d, rank = batch.n_features, self._rank(batch.n_features)
        if self.covariance == "pca":
            if batch.before is not None:
                raise ValueError(
                    "covariance='pca' takes its axes from the rows of a fit, but there was none; "
                    "call fit before partial_fit, or use covariance='projection'."
                )
            if batch.first is not None:
                raise ValueError(
                    "covariance='pca' takes its axes from all rows at once, but these come in "
                    "batches; use covariance='projection'."
                )
            state["basis"] = principal_axes(batch.X, batch.weight, rank, rng)
        else:
            draw = random_features if self.covariance == "subset" else gaussian_projection
            state["basis"] = draw(d, rank, rng)
        if "start" in state:
            state["w"][:] = lowered(state.pop("start"), state["basis"])

    def _rank(self, d: int) -> int:
        """Return τ, or d for "full"."""
        if self.rank is not None:
            number(self.rank, "rank", low=1, whole=True)
        if self.covariance == "gaussian":
            return int(self.rank or 50)
        return d if self.covariance == "full" else min(int(self.rank or 1000), d)

    def _check(self, d: int) -> None:
        """Raise ValueError for incompatible settings of the covariance, or if it is too large."""
        if self.covariance not in _COVARIANCES:
            names = ", ".join(map(repr, _COVARIANCES))
            raise ValueError(f"covariance must be one of {names}; got {self.covariance!r}.")
        if self.covariance == "full" and self.rank is not None:
            raise ValueError(
                f"rank={self.rank!r} does nothing with covariance='full'; leave it None, or use "
                "covariance='gaussian', 'subset', 'projection' or 'pca'."
            )
        if self.covariance != "gaussian" and not self.centered:
            raise ValueError("centered=False is for covariance='gaussian' only.")
        k = self._rank(d)
        rows = k if self.covariance in _REDUCED else d
        size, arrays = 2 * rows * k, f"two {rows}×{k} matrices"
        if self.covariance in ("projection", "pca"):
            size, arrays = size + d * k, f"{arrays} and one of {d}×{k}"
        instead = "a lower rank, or solver='spam', which keeps O(d)."
        if self.covariance == "full":
            instead = (
                "solver='spam', which keeps O(d), or covariance='gaussian', which keeps O(d) "
                "times its rank."
            )
        if 8 * size > self.max_covariance_bytes:
            raise ValueError(
                f"covariance={self.covariance!r} keeps {arrays}, {8e-9 * size:.1f} GB, more than "
                f"OPAUC.max_covariance_bytes ({self.max_covariance_bytes / 1e9:g} GB); use "
                f"{instead}"
            )

    def _same_settings(self, state: State, d: int) -> None:
        """Raise ValueError if the stream began with other settings of the covariance."""
        self._check(d)
        tau, begun = self._rank(d), state["k"][0]["steps"] > 0.0
        if self.covariance == "gaussian":
            unchanged = "Z" in state and state["s"].shape[1] == tau
        else:
            ndim = {"subset": 1, "projection": 2, "pca": 2}.get(self.covariance, 0)
            begun_ndim = state["basis"].ndim if "basis" in state else 0
            unchanged = "scatter" in state and (not begun or ndim == begun_ndim)
            unchanged = unchanged and len(state["w"]) == tau
        if not unchanged:
            raise ValueError(
                "covariance and rank cannot change between calls of partial_fit; set them back, "
                "or begin with a new estimator."
            )
