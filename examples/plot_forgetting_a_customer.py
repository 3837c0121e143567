"""
Forgetting a customer
=====================

A customer asks to be deleted, and the law requires it for the model, too. Retraining on all other
rows would do, if they are still available, but costs a fit for each request. A model
with the square loss keeps sums over its rows, from which rows can be subtracted. The result
is the model that never saw the customer, up to rounding.
"""

# %%
# A model of a thousand customers
# -------------------------------
# Each customer has some rows and individual preferences, so that leaving one out changes the
# model.

import numpy as np

from aucmax import AUCClassifier

rng = np.random.default_rng(0)
customers, d = 1000, 20
customer = np.repeat(np.arange(customers), 20)
taste = rng.normal(size=(customers, d))
X = rng.normal(size=(len(customer), d)) + taste[customer]
y = (X[:, 0] + X[:, 1] + 2 * rng.normal(size=len(X)) > 3.5).astype(int)

model = AUCClassifier(alpha=1e-3).fit(X, y)
print(f"{len(y):,} rows, {y.mean():.0%} of them positive")

# %%
# One request
# -----------
# ``forget`` needs only the rows to delete.

hers = customer == 7
before = model.coef_.copy()
model.forget(X[hers], y[hers])

others = AUCClassifier(alpha=1e-3).fit(X[~hers], y[~hers])
scale = abs(others.coef_).max()
moved = abs(before - others.coef_).max() / scale
left = abs(model.coef_ - others.coef_).max() / scale
print(f"her rows moved the model by       {moved:.1e}")
print(f"what is left of her in the model: {left:.1e}")
assert left < 1e-10

# %%
# Many requests
# -------------
# Rounding errors could add up, so here are hundreds of requests one after the other. The upper line
# is a model that ignores the requests; the lower one has forgotten every customer in turn. Both are
# compared with a model retrained on the remaining customers.

from matplotlib import pyplot as plt

gone = rng.permutation(np.delete(np.arange(customers), 7))[:500]
kept = ~hers
counts, told, untold = [], [], []
for k, who in enumerate(gone, start=1):
    theirs = customer == who
    model.forget(X[theirs], y[theirs])
    kept &= ~theirs
    if k % 25 == 0:
        again = AUCClassifier(alpha=1e-3).fit(X[kept], y[kept])
        counts.append(k)
        told.append(abs(model.coef_ - again.coef_).max() / scale)
        untold.append(abs(before - again.coef_).max() / scale)

_, ax = plt.subplots(layout="constrained")
ax.semilogy(counts, untold, label="ignores the requests")
ax.semilogy(counts, told, label="has forgotten each")
ax.set_xlabel("customers who have asked")
ax.set_ylabel("distance to the model trained again")
ax.legend()
plt.show()
assert max(told) < 1e-9 < min(untold)

# %%
# What it cannot forget
# ---------------------
# It cannot forget rows that were never learnt: subtracting them would give moments that no rows
# can have. Not every such case can be detected, but if one is, the model raises an error and does
# not change.

try:
    model.forget(X[:20] + 100, y[:20])
except ValueError as error:
    print(error)

# %%
# More on this: :doc:`/exact`, and :doc:`/moment_files` for subtracting rows from files.
