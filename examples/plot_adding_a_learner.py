"""
Adding a learner
================

You have your own algorithm, or one from a paper, and want to know how good it is. A
solver is a class with one method; in return it works with every loss and penalty it supports,
dense and sparse rows, and the estimator, and its distance to the optimum is computed
independently. This page adds accelerated proximal gradient and compares it with existing solvers.
"""

# %%
# The plain method first
# ----------------------
# Proximal gradient takes a gradient step on the data term and then applies the proximal map of the
# penalty. ``unfit`` says what it does not support: it is for smooth losses and any penalty with a
# proximal map. ``data_term`` is one pass over the rows, ``gap`` bounds the distance to the minimum
# of the objective, and ``run.monitor`` is called at each step.

import numpy as np

from aucmax.solvers import Result, Solver, lacking


class ProximalGradient(Solver):
    """w ← prox(v − η ∇f(v)), v the last w; η is halved where it is too long."""

    name = "proximal_gradient"

    def __init__(self, tol=None, max_iter=None):
        self.tol = tol
        self.max_iter = max_iter

    def unfit(self, objective):
        losses = ("quadratic", "piecewise quadratic", "smooth")
        return lacking(objective, loss=losses)

    def solve(self, objective, start, run):
        run = self.settled(run)
        w = np.zeros(objective.problem.n_features) if start is None else start
        penalty, v, eta, passes, state = objective.penalty, w, 1.0, 0, None
        while True:
            value, gradient = objective.data_term(v)
            gap, passes = objective.gap(value, gradient, v), passes + 1
            left = objective.relative(gap, value + penalty.value(v))
            if left <= run.tol or passes >= run.max_iter:
                break
            if run.monitor(v, passes):
                break
            while True:
                new = penalty.prox(v - eta * gradient, eta)
                move = new - v
                passes += 1
                bend = objective.data_term(new)[1] - gradient
                if bend @ move <= move @ move / eta:
                    break
                eta /= 2
            v, w, state = self.ahead(new, w, v, state)
        message = None
        if left > run.tol and not run.monitor.stopped:
            message = f"optimality {left:.1e} > tol={run.tol:g} after max_iter."
        return Result(v, passes, message, gap)

    def ahead(self, new, w, v, state):
        """Return where to take the next gradient, the new w, what to keep."""
        return new, new, state


# %%
# Then the idea of the paper
# --------------------------
# Beck and Teboulle (2009) evaluate the gradient at a point extrapolated along the last step;
# O'Donoghue and Candès (2015) restart when that overshoots. It takes a few lines.


class Accelerated(ProximalGradient):
    """v = w + (t − 1)/t′ (w − last w), t′ = (1 + √(1 + 4t²))/2."""

    name = "accelerated"

    def ahead(self, new, w, v, t):
        if t is None or (v - new) @ (new - w) > 0:  # it begins, or overshot
            t = 1.0
        later = (1 + np.sqrt(1 + 4 * t**2)) / 2
        return new + (t - 1) / later * (new - w), new, later


# %%
# Is it right?
# ------------
# A method that stops has not necessarily converged. Both methods stop at the requested optimality,
# and agree with a solver of the package.

from sklearn.datasets import load_breast_cancer

from aucmax import AUCClassifier

X, y = load_breast_cancer(return_X_y=True)
settings = dict(alpha=0.01, l1_ratio=0.5, standardize=1.0)
settings |= dict(tol=1e-8, max_iter=5000)
known = AUCClassifier(**settings, solver="coordinate_descent").fit(X, y)
for solver in (ProximalGradient(), Accelerated()):
    mine = AUCClassifier(**settings, solver=solver).fit(X, y)
    off = abs(mine.coef_ - known.coef_).max() / abs(known.coef_).max()
    print(f"{solver.name}: {mine.n_iter_} passes, {off:.0e} from the model")
    assert off < 1e-3

# %%
# What is it worth?
# -----------------
# Compare both on the squared hinge, which needs a pass over the rows in every step. With a callback
# a fit keeps its history; this one also stops it after a number of passes.

from matplotlib import pyplot as plt

from aucmax.plots import ConvergenceDisplay

settings = dict(alpha=1e-3, standardize=1.0, loss="squared_hinge", tol=1e-8)
settings |= dict(callback=lambda at: at.passes >= 200)
models = {}
for solver in (ProximalGradient(), Accelerated(), "newton"):
    model = AUCClassifier(**settings, solver=solver).fit(X, y)
    models[model.solver_] = model
ConvergenceDisplay.from_estimator(models)
plt.show()
left = {name: model.optimality_ for name, model in models.items()}
assert left["newton"] < left["accelerated"] < left["proximal_gradient"]

# %%
# The idea is worth its lines, although Newton's method, which the package uses for this loss, is
# still better with few features. A permanent solver also needs an entry in the registry,
# an oracle in plain NumPy and the tests that every solver passes. Stochastic solvers, losses and
# penalties are added in the same way: :doc:`/add_a_solver`.
