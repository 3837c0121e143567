"""
Comparing scorers properly
==========================

One scorer has a higher AUC than the other. Is it better, or was it lucky with these rows? This
page compares two models on the same rows, counts how often the usual rules are wrong,
and shows how the best of many settings regresses to the mean.
"""

# %%
# Two models, one set of rows
# ---------------------------
# Two of the columns cost money. Are they worth it?

import numpy as np
from sklearn.datasets import make_classification
from sklearn.model_selection import train_test_split

from aucmax import AUCClassifierCV, metrics

X, y = make_classification(
    6000,
    20,
    n_informative=10,
    n_redundant=0,
    weights=[0.95],
    class_sep=0.7,
    shuffle=False,
    random_state=1,
)
split = train_test_split(X, y, stratify=y, random_state=0)
X_train, X_test, y_train, y_test = split
free = np.arange(2, 20)
rich = AUCClassifierCV().fit(X_train, y_train)
full = rich.decision_function(X_test)
poor = AUCClassifierCV().fit(X_train[:, free], y_train)
cheap = poor.decision_function(X_test[:, free])
for name, score in {"all columns": full, "free columns": cheap}.items():
    auc, low, high, _ = metrics.auc_interval(y_test, score)
    print(f"{name:12} AUC {auc:.3f} ({low:.3f} to {high:.3f})")

# %%
# The intervals overlap, and many would stop here. But both intervals are wide mostly for the same
# reason: which rows happen to be in the test set. If these are easy, both scorers do well. Their
# difference is known more precisely than either AUC.

difference, low, high = metrics.auc_difference(y_test, full, cheap)
p = metrics.auc_test(y_test, full, cheap).p_value
print(f"difference {difference:.3f} ({low:.3f} to {high:.3f}), p = {p:.3f}")

# %%
# How often each rule is wrong
# ----------------------------
# Simulate many test sets, each with two highly correlated scorers. In half of the
# experiments they are equally good; in the others the first is better. Compare three rules: the
# higher AUC wins, the intervals must not overlap, and the paired test.

rng = np.random.default_rng(0)
rules = ["higher AUC", "intervals apart", "paired test"]


def told_apart(blur, times=300, n=1000):
    """Return how often each rule says that the scorers differ."""
    found = np.zeros(3)
    for _ in range(times):
        y = rng.random(n) < 0.1
        shared = 1.2 * y + rng.normal(size=n)
        first = shared + 0.3 * rng.normal(size=n)
        second = shared + blur * rng.normal(size=n)
        a, b = metrics.auc_interval(y, first), metrics.auc_interval(y, second)
        found += (
            a.auc != b.auc,
            a.low > b.high or b.low > a.high,
            metrics.auc_test(y, first, second).p_value < 0.05,
        )
    return found / times


equal, better = told_apart(0.3), told_apart(0.8)
print("said to differ where   they do not   they do")
for rule, wrong, right in zip(rules, equal, better, strict=True):
    print(f"{rule:22} {wrong:11.0%} {right:9.0%}")
assert equal[2] < 0.1 < better[2] - better[1]

# %%
# The first rule always declares a winner. Requiring separate intervals misses real differences. The
# paired test is wrong about as often as it promises, one time in twenty; if it finds no difference,
# the result is a "tie".

from matplotlib import pyplot as plt

_, ax = plt.subplots(layout="constrained")
places = np.arange(3)
ax.bar(places - 0.2, 100 * equal, 0.4, label="equally good")
ax.bar(places + 0.2, 100 * better, 0.4, label="the first is better")
ax.axhline(5, color="gray", linestyle=":")
ax.set_xticks(places, rules)
ax.set_ylabel("% of experiments in which they are told apart")
ax.legend()
plt.show()

# %%
# The best of many
# ----------------
# Twenty equally good settings are tried on the same rows, and the best is kept. On new rows
# it is as good as all the others. So an AUC that was used for a choice
# is biased upwards: hold rows out for the final evaluation. ``AUCClassifierCV.best_score_`` is
# such a biased AUC, and its docstring says so.

y = rng.random(21_000) < 0.1
shared = 1.2 * y + rng.normal(size=len(y))
scores = shared + 0.8 * rng.normal(size=(20, len(y)))
tried, fresh = np.arange(1000), np.arange(1000, 21_000)
before = [metrics.roc_auc(y[tried], score[tried]) for score in scores]
after = [metrics.roc_auc(y[fresh], score[fresh]) for score in scores]
best = int(np.argmax(before))
print("            where they were tried   on fresh rows")
print(f"the best    {before[best]:21.3f} {after[best]:15.3f}")
print(f"their mean  {np.mean(before):21.3f} {np.mean(after):15.3f}")
assert before[best] > after[best]

_, ax = plt.subplots(layout="constrained")
for k in range(20):
    color = "C1" if k == best else "lightgray"
    line = ax.plot([0, 1], [before[k], after[k]], "o-", color=color)
    line[0].set_zorder(2 + (k == best))
ax.set_xticks([0, 1], ["where they were tried", "on fresh rows"])
ax.set_xlim(-0.3, 1.3)
ax.set_ylabel("AUC")
ax.set_title("The best of twenty, and the others")
plt.show()

# %%
# On the command line ``aucmax evaluate model.aucmax holdout.csv --logistic train.csv`` tests a
# model against logistic regression on the same rows, and ``aucmax compare`` compares many learners
# on the same splits; both report ties as ties. More on this: :doc:`/auc_intervals`.
