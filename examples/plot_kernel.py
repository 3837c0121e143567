"""
When only the ranking matters
=============================

Where columns act together in many ways, no sum of curves and maps captures it all. If you need
only a ranking, compare the rows with some landmarks first, and tune a linear model on these
comparisons: the model of a kernel machine, at the price of a linear one.
"""

# %%
# Parts on a belt
# ---------------
# A part tends to fail if its six measures are close to one of a few unlucky combinations.

import numpy as np

rng = np.random.default_rng(0)
unlucky = rng.normal(size=(12, 6))


def parts(n):
    X = rng.normal(size=(n, 6))
    distance = np.linalg.norm(X[:, None] - unlucky, axis=2).min(axis=1)
    return X, rng.random(n) < 0.6 * np.exp(-(distance**2))


X_train, y_train = parts(8_000)
X_test, y_test = parts(20_000)
print(f"{y_train.mean():.1%} of the parts fail")

# %%
# Three models
# ------------
# The landmarks are drawn from all rows, whatever their labels. If all failures were landmarks, each
# would be close to itself, which new failures are not.

from sklearn.kernel_approximation import Nystroem
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from aucmax import AdditiveAUCClassifier, AUCClassifierCV, metrics

kernel = make_pipeline(
    StandardScaler(),
    Nystroem(gamma=0.2, n_components=400, random_state=0),
    AUCClassifierCV(),
)
models = {
    "line": AUCClassifierCV(),
    "curves and maps": AdditiveAUCClassifier(),
    "kernel": kernel,
}
scores, auc = {}, {}
for name, model in models.items():
    model.fit(X_train, y_train)
    scores[name] = model.decision_function(X_test)
    auc[name] = metrics.roc_auc(y_test, scores[name])
    print(f"{name}: AUC {auc[name]:.3f}")
assert auc["line"] < auc["curves and maps"] < auc["kernel"]

# %%
# What it costs
# -------------
# The kernel ranks best, but its 400 weights explain nothing. Curves and maps show which measures
# and which pairs matter: look at them before you give that up.

from matplotlib import pyplot as plt

from aucmax.plots import RocDisplay

figure, ax = plt.subplots(figsize=(5, 4), layout="constrained")
for name, score in scores.items():
    RocDisplay.from_predictions(y_test, score, name=name, ax=ax)
plt.show()

# %%
# More landmarks approximate the kernel better and take longer; a few hundred suffice for most
# tables. Khalid, Ray & Chitsaz (2018), "Scalable nonlinear AUC maximization methods", use them.
# More on curves and maps: :doc:`/additive`.
