"""
A stream that drifts
====================

Clicks arrive by the hour, and what people click on changes. Three models see the same stream:
one learns the first hours and is then frozen, one learns every row and never forgets, and one
reduces the weight of old rows. Each row is scored before it is learnt, so every score is
out-of-sample.
"""

# %%
# The stream
# ----------
# There are two hundred batches. After eighty of them the effect of one feature changes its sign
# within some thirty batches: what used to attract now deters.

import numpy as np

rng = np.random.default_rng(0)
weights = np.array([1.0, 0.8, 0.5, 0.0, 0.0])


def batch(hour, n=250):
    X = rng.normal(size=(n, 5))
    now = weights.copy()
    now[0] *= np.cos(np.pi * np.clip((hour - 80) / 30, 0, 1))
    clicked = rng.random(n) < 1 / (1 + np.exp(2.5 - X @ now))
    return X, clicked.astype(int)


# %%
# Three models
# ------------
# ``partial_fit`` learns a batch; with the square loss the model is then the optimum for all rows
# so far, as if they had arrived at once. To reduce the weight of old rows, keep the moments
# yourself: ``decay`` multiplies the weights, and ``fit_moments`` solves for the result.

from aucmax import AUCClassifier, ClassMoments

half_life = 20  # batches
frozen, patient, fading = (AUCClassifier(alpha=1e-3) for _ in range(3))
recent = ClassMoments()
hours, labels, scores = [], [], {"frozen": [], "learns": [], "lets fade": []}
for hour in range(200):
    X, y = batch(hour)
    if hour >= 20:
        hours.append(np.full(len(y), hour))
        labels.append(y)
        for name, model in zip(scores, (frozen, patient, fading), strict=True):
            scores[name].append(model.decision_function(X))
    patient.partial_fit(X, y, classes=[0, 1])
    if hour < 20:
        frozen.partial_fit(X, y, classes=[0, 1])
    recent = recent.decay(0.5 ** (1 / half_life)) + ClassMoments.from_data(X, y)
    fading.fit_moments(recent)

hours, labels = np.concatenate(hours), np.concatenate(labels)
scores = {name: np.concatenate(score) for name, score in scores.items()}

# %%
# The cost of not adapting
# ------------------------
# The AUC in windows of twenty batches, with its 95 % interval.

from matplotlib import pyplot as plt

from aucmax import metrics

_, ax = plt.subplots(layout="constrained")
middles = np.arange(30, 200, 20)
for name, score in scores.items():
    windows = [np.abs(hours - middle + 0.5) < 10 for middle in middles]
    found = [metrics.auc_interval(labels[w], score[w]) for w in windows]
    auc, low, high, _ = np.transpose(found)
    ax.plot(middles, auc, label=name)
    ax.fill_between(middles, low, high, alpha=0.15)
ax.axvspan(80, 110, color="gray", alpha=0.1, label="the drift", linewidth=0)
ax.set_xlabel("batches")
ax.set_ylabel("AUC, scored before learnt")
ax.legend()
plt.show()

# %%
# Is it better, or is it luck?
# ----------------------------
# Before the drift, decay gains nothing over learning all rows equally; after it, the paired
# test distinguishes the three models.

for when, rows in {"before": hours < 80, "after": hours >= 110}.items():
    for rival in ("frozen", "learns"):
        two = scores["lets fade"][rows], scores[rival][rows]
        difference, _, p = metrics.auc_test(labels[rows], *two)
        words = f"{when} the drift, lets fade less {rival}"
        print(f"{words:36} {difference:+.4f}, p = {p:.4f}")
        assert when == "before" or (difference > 0 and p < 0.01)

# %%
# Row by row
# ----------
# ``aucmax stream clicks.ndjson --target clicked --half-life 5000`` does this for rows that arrive
# one by one, survives being killed, and reports which features have moved;
# ``aucmax.river.AUCClassifier`` is the same as a classifier of river. More on this:
# :doc:`/streams`.
