"""
Rare events, from end to end
============================

A bank makes hundreds of transfers a day, and one or two of them are fraud. The bank can check
ten of them. Which ten? This page trains a model that ranks, quantifies its uncertainty,
sets a threshold by the team's capacity, turns scores into probabilities, and saves the result.
"""

# %%
# The data
# --------
# Simulated transfers of a hundred days: six columns, two of which have nothing to do with fraud.
# Amounts are in logs, so that one huge transfer does not outweigh everything else. The last forty
# days are held out, because the model will be used on future days.

import numpy as np
import pandas as pd

rng = np.random.default_rng(0)
n = 50_000
transfers = pd.DataFrame(
    {
        "log_amount": rng.normal(4, 1, n),
        "hour": rng.integers(0, 24, n),
        "age_of_account": rng.exponential(5, n),
        "new_device": (rng.random(n) < 0.1).astype(float),
        "new_payee": (rng.random(n) < 0.2).astype(float),
        "balance": rng.normal(2000, 800, n),
    }
)
day = np.sort(rng.integers(0, 100, n))
log_odds = (
    1.2 * transfers["log_amount"]
    + 2.0 * transfers["new_device"]
    + 2.5 * transfers["new_payee"]
    - 0.3 * transfers["age_of_account"]
)
fraud = (rng.random(n) < 1 / (1 + np.exp(12 - log_odds))).astype(int)

early = day < 60
X_train, y_train = transfers[early], fraud[early]
X_test, y_test = transfers[~early], fraud[~early]
print(f"{y_train.sum()} of {len(y_train):,} transfers to learn from are fraud")
print(f"{y_test.sum()} of {len(y_test):,} later ones are")

# %%
# Train
# -----
# This line was ``LogisticRegressionCV(class_weight="balanced", scoring="roc_auc")``. The loss,
# the penalty and the scaling of the features are chosen by cross-validation. The model maximises
# the area under the ROC curve: the probability that a fraud gets a higher score than another
# transfer. Probabilities of fraud come later.

from aucmax import AUCClassifierCV

model = AUCClassifierCV(probability=True).fit(X_train, y_train)
print(f"chosen: {model.loss_} loss, standardize {model.standardize_}")

# %%
# The evidence
# ------------
# With so few positives the AUC is uncertain, and the interval shows how uncertain.
# Logistic regression is evaluated on the same rows, so a paired test can compare the two; without
# a significant difference the result is a "tie".

from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from aucmax import metrics

scores = model.decision_function(X_test)
auc, low, high, _ = metrics.auc_interval(y_test, scores)
print(f"AUC of the later transfers {auc:.3f} ({low:.3f} to {high:.3f})")

logistic = LogisticRegression(class_weight="balanced")
logistic = make_pipeline(StandardScaler(), logistic).fit(X_train, y_train)
rival = logistic.decision_function(X_test)
difference, _, p = metrics.auc_test(y_test, scores, rival)
verdict = "tie" if p >= 0.05 else "better" if difference > 0 else "worse"
print(f"against logistic regression {difference:+.4f}, p = {p:.2g}: {verdict}")

# %%
# How many to look at
# -------------------
# The AUC says nothing about the threshold. That follows from the number of transfers that the team
# can check per day. The gains curve shows how many frauds this finds; its axis is logarithmic,
# because only the first few per cent matter.

from matplotlib import pyplot as plt

from aucmax.plots import GainsDisplay

per_day = 10
share = per_day * 40 / len(y_test)
threshold = np.quantile(scores, 1 - share)
flagged = scores > threshold
hits = y_test[flagged]
print(f"{per_day} alerts a day: {hits.sum()} of {y_test.sum()} frauds found")
print(
    f"{hits.mean():.0%} of the alerts right, {y_test.mean():.1%} of all transfers"
)

display = GainsDisplay.from_predictions(y_test, scores, name="aucmax")
display.ax_.axvline(share, color="gray", linestyle=":")
plt.show()

# %%
# What the model has learnt
# -------------------------
# An effect is the difference in score between two transfers that differ in this column as much as
# two transfers do on average. The interval shows how much it varies from sample to sample.

from aucmax import reasons
from aucmax.plots import EffectsDisplay

EffectsDisplay.from_estimator(model, X_train, y_train)
plt.show()

# %%
# For the person who checks an alert: what raised its score most?

first = X_test[flagged].iloc[[0]]
for reason in reasons(model, first, mean=X_train.mean(), most=3)[0]:
    print(f"{reason.feature} = {reason.value:.3g}: {reason.raised:+.2f}")

# %%
# Probabilities
# -------------
# Scores rank, but they are not probabilities. If a decision depends on expected costs,
# ``probability=True`` adds a map from scores to probabilities, fitted to the out-of-fold
# scores. The dots should lie near the diagonal.

from aucmax.plots import CalibrationDisplay

CalibrationDisplay.from_estimator(model, X_test, y_test, name="aucmax")
plt.show()

# %%
# Save, load, score
# -----------------
# The file contains no code, so loading someone else's file is safe.

import tempfile

from aucmax import load, save

with tempfile.TemporaryDirectory() as folder:
    save(model.best_estimator_, f"{folder}/fraud.aucmax")
    again = load(f"{folder}/fraud.aucmax")
assert np.array_equal(again.decision_function(X_test), scores)

# %%
# More on this: :doc:`/from_logistic_regression`, :doc:`/choosing`, :doc:`/effects` and
# :doc:`/probabilities`.
