"""
When false alarms are expensive
===============================

Each alarm stops a machine. Only the first per cent of the ROC curve matters, and the model with the
largest area under the whole curve need not be the best there. This page chooses by the part that
matters, and shows why that can give another model.
"""

# %%
# Machines that wear out
# ----------------------
# Temperature rises before a failure, but it also varies in healthy machines. Vibration
# is low in healthy machines; in those that will fail it is higher on average but varies widely,
# and is often as low as in healthy ones.

import numpy as np

rng = np.random.default_rng(0)


def machines(n, rate=0.03):
    fails = rng.random(n) < rate
    X = rng.normal(size=(n, 4))  # temperature, vibration, two of noise
    X[fails, 0] = rng.normal(1.5, 0.5, fails.sum())
    X[:, 1] = np.where(fails, rng.normal(1.0, 1.5, n), rng.normal(0.0, 0.3, n))
    return X, fails.astype(int)


X_train, y_train = machines(20_000)
X_test, y_test = machines(60_000)

# %%
# Two searches
# ------------
# The first maximises the area under the whole curve. The second maximises the area for
# false-positive rates up to 1 %, and also tries ``within``, the weight of the failing machines'
# covariance relative to that of the healthy ones. With few false alarms the healthy machines alone
# determine the threshold.

from aucmax import AUCClassifierCV, metrics

usual = AUCClassifierCV().fit(X_train, y_train)
careful = AUCClassifierCV(scoring="partial_auc", max_fpr=0.01)
careful.fit(X_train, y_train)
scores, found = {}, {}
for name, model in {"by the whole curve": usual, "up to 1 %": careful}.items():
    scores[name] = score = model.decision_function(X_test)
    found[name] = metrics.recall_at_fpr(y_test, score, 0.01)
    print(f"chosen {name}: within={model.within_}")
    print(f"    weights {model.coef_[0].round(2)}")
    print(f"    AUC {metrics.roc_auc(y_test, score):.3f}")
    print(f"    failures found at 1 % false alarms: {found[name]:.0%}")
assert found["up to 1 %"] > found["by the whole curve"]

# %%
# Where the curves cross
# ----------------------
# On the usual axes the left end cannot be seen. ``few=True`` makes the axis of the
# false-positive rate logarithmic.

from matplotlib import pyplot as plt

from aucmax.plots import RocDisplay

figure, axes = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
for few, ax in zip((False, True), axes, strict=True):
    for name, score in scores.items():
        RocDisplay.from_predictions(y_test, score, name=name, few=few, ax=ax)
axes[1].axvline(0.01, color="gray", linestyle=":")
plt.show()

# %%
# The threshold
# -------------
# The threshold must be set in advance. It can be a quantile of the scores of healthy machines in
# training; on new machines its false-alarm rate is about as expected.

threshold = np.quantile(careful.decision_function(X_train[y_train == 0]), 0.99)
alarm = scores["up to 1 %"] > threshold
print(f"{alarm[y_test == 0].mean():.2%} of the healthy machines stopped")
print(f"{alarm[y_test == 1].mean():.0%} of the failures found")
print(f"{y_test[alarm].mean():.0%} of the alarms right")

# %%
# When this gains nothing
# -----------------------
# If both classes have the same covariance, both searches look for the same model, and the usual one
# estimates it better, because it uses the whole curve. So compare both curves before you
# choose, on rows that neither search has seen. More on this: :doc:`/choosing`.
