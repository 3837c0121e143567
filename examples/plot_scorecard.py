"""
A scorecard
===========

A credit officer wants a table that can be read, checked and used by hand: points for the
income, points for the age, and the sum decides. It is based on a model that ranks, and is evaluated
like any other model.
"""

# %%
# Loans
# -----
# Simulated loans: two numeric columns, one of which is often missing, a column of words, and an
# irrelevant one. A year later the applicants are younger.

import numpy as np
import pandas as pd


def applicants(n, seed, ages):
    rng = np.random.default_rng(seed)
    jobs, shares = ["clerk", "farmer", "none", "boss"], [0.5, 0.2, 0.2, 0.1]
    X = pd.DataFrame(
        {
            "income": np.exp(rng.normal(10, 0.6, n)).round(-2),
            "age": rng.integers(*ages, n),
            "job": rng.choice(jobs, n, p=shares),
            "house number": rng.integers(1, 200, n),
        }
    )
    risk = -2.2 - 1.2 * (np.log(X["income"]) - 10) + 0.9 * (X["job"] == "none")
    risk += 1.5 * (X["age"] < 28)
    y = np.where(rng.random(n) < 1 / (1 + np.exp(-risk)), "default", "paid")
    X.loc[rng.random(n) < 0.1, "income"] = np.nan
    return X, y


X, y = applicants(6000, seed=0, ages=(22, 72))
X_later, y_later = applicants(3000, seed=1, ages=(18, 60))
print(f"{np.mean(y == 'default'):.0%} of the loans were not paid back")

# %%
# The card
# --------
# Each column is divided into a few bins, with a separate bin for missing values. ``monotone``
# states a requirement of the law or the officer: more income never costs points. Twenty points
# double the odds.

from aucmax.additive import Binning, Scorecard

binning = Binning(monotone={"income": "decreasing"})
card = Scorecard(binning, pdo=20, positive="default").fit(X, y)
table = pd.DataFrame(card.rows())
shown = table[["feature", "bin", "rows", "rate", "points"]].round(2)
print(shown.to_string(index=False))

# %%
# An applicant adds up the points of four bins: the more, the safer.

three = X_later.head(3)
print(three.assign(points=card.points(three)).to_string(index=False))

# %%
# What counts against one of them: the bins that raise the log odds of default most above average.

from aucmax import reasons

riskiest = X_later.iloc[[card.points(X_later).argmin()]]
for reason in reasons(card, riskiest, mean=X, most=3)[0]:
    print(f"{reason.feature}: {reason.value} ({reason.raised:+.2f})")

# %%
# Shapes
# ------
# The contribution of each bin of a column. The house number should not matter.

from matplotlib import pyplot as plt

figure, axes = plt.subplots(2, 2, sharex=True, layout="constrained")
for ax, feature in zip(axes.flat, X, strict=True):
    bins = table[table["feature"] == feature]
    ax.barh(bins["bin"], bins["points"])
    ax.invert_yaxis()
    ax.set_title(feature)
figure.supxlabel("points")
figure.set_size_inches(9, 6)
plt.show()

# %%
# How well it ranks
# -----------------
# Credit scoring has its own measures: Gini is 2 AUC − 1, and KS is the largest difference between
# the two classes' distribution functions of the points.

from aucmax import metrics

data = {"in training": (X, y), "a year later": (X_later, y_later)}
for when, (rows, labels) in data.items():
    bad, score = labels == "default", card.decision_function(rows)
    gini, low, high = (
        2 * area - 1 for area in metrics.auc_interval(bad, score)[:3]
    )
    ks = metrics.ks_statistic(bad, score)
    print(f"{when:12}: Gini {gini:.2f} ({low:.2f} to {high:.2f}), KS {ks:.2f}")

# %%
# Has the population shifted?
# ---------------------------
# The population stability index needs no labels, so it can be monitored long before defaults are
# known. It shows which column has shifted. By convention, less than 0.1 means no change and more
# than 0.25 a large one.

moved = card.binning_.stability(X_later)
print({feature: round(index, 3) for feature, index in moved.items()})
assert max(moved, key=moved.get) == "age"

# %%
# Deployment
# ----------
# ``aucmax.save`` writes the card to a file for ``aucmax score``, and ``to_sql`` writes the log
# odds for a database. One command does everything on this page: ``aucmax scorecard loans.csv
# --target default --against later.csv``. More on this: :doc:`/scorecards`.
