"""
Matched cases and controls
==========================

Each patient is matched with healthy people of the same age, sex and hospital. Matched sets differ
from each other in ways that nobody wants to model; within a set, the comparison is fair.
Conditional logistic regression compares within sets only. This page fits it, and puts the odds
ratios beside the true ones.
"""

# %%
# A study with a known answer
# ---------------------------
# Of 2000 groups of people, each with an ill member yields a set of one case and three controls.
# Exposure and dose raise the risk, the third measurement has no effect. A factor shared by the
# members of a set raises both risk and dose, so that groups with many ill people also have high
# doses.

import numpy as np

rng = np.random.default_rng(0)
sets, size = 2000, 4
true_log_odds = np.array([0.7, 0.4, 0.0])
shared = rng.normal(size=sets)
population = rng.normal(size=(sets, 40, 3)) + shared[:, None, None] * [
    0.0,
    1.5,
    0.0,
]
population[:, :, 0] = population[:, :, 0] > 0.5  # exposed or not
log_odds = population @ true_log_odds + 2.0 * shared[:, None] - 5.0
ill = rng.random(log_odds.shape) < 1 / (1 + np.exp(-log_odds))

# %%
# From each set one ill person is drawn, and three who are not; sets in which nobody is ill have no
# case and cannot be in the study.

X, y, matched = [], [], []
for number in np.flatnonzero(ill.any(axis=1)):
    case = rng.choice(np.flatnonzero(ill[number]))
    healthy = np.flatnonzero(~ill[number])
    if len(healthy) < size - 1:
        continue
    controls = rng.choice(healthy, size - 1, replace=False)
    X.append(population[number, [case, *controls]])
    y.append([1, 0, 0, 0])
    matched.append(np.full(size, number))
X, y, matched = np.concatenate(X), np.concatenate(y), np.concatenate(matched)
print(f"{y.sum()} cases and {len(y) - y.sum()} controls")

# %%
# Odds ratios
# -----------
# ``loss="logistic"`` with ``strata`` is conditional logistic regression: it maximises the
# probability that, among the members of each set, the case is the one who fell ill. Without a
# penalty the estimates can be reported.

from aucmax import AUCClassifier, odds_ratios

model = AUCClassifier(loss="logistic", alpha=0, tol=1e-10).fit(
    X, y, strata=matched
)
table = odds_ratios(
    model, X, y, matched, feature_names=["exposure", "dose", "nothing"]
)
print(model.strata_.words)
for name, ratio, low, high, true in zip(
    table.feature,
    table.odds_ratio,
    table.low,
    table.high,
    np.exp(true_log_odds),
    strict=True,
):
    print(f"{name:9} {ratio:.2f} ({low:.2f} to {high:.2f}), true {true:.2f}")
assert np.all(
    (table.low < np.exp(true_log_odds)) & (np.exp(true_log_odds) < table.high)
)

# %%
# The effect of ignoring the sets
# -------------------------------
# Logistic regression on the same rows, as if they were one sample, biases the odds ratio of the
# dose towards 1, because cases and controls were matched on a factor correlated with the dose.

from sklearn.linear_model import LogisticRegression

pooled = LogisticRegression(C=np.inf, tol=1e-8).fit(X, y)
print("ignoring the sets:", np.exp(pooled.coef_[0]).round(2))
assert pooled.coef_[0, 1] < np.log(table.low[1])

# %%
# The same from a file: ``aucmax train study.csv --strata matched --loss logistic --alpha 0`` prints
# the odds ratios. The formulas are on the page :doc:`/strata`.
