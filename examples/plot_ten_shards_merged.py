"""
Ten shards, one model
=====================

Ten hospitals want one model and may not share rows. Each sends a small file of sums instead: how
many patients of each class there are, their mean, their covariance. These add up, and the model
fitted to the sum is the model of all rows, up to rounding, not an average of ten models.
"""

# %%
# Ten hospitals
# -------------
# They differ in size and in their patients, and in most of them the illness is so
# rare that a separate model would have little information. The last one refers all ill patients
# elsewhere: it could not train any model, but its healthy patients contribute.

import numpy as np

rng = np.random.default_rng(0)
truth = rng.normal(size=30) * (rng.random(30) < 0.4)


def patients(n, shift=0.0):
    X = rng.normal(size=(n, 30)) + shift
    ill = rng.random(n) < 1 / (1 + np.exp(5 - 0.8 * (X - shift) @ truth))
    return X, ill.astype(int)


sizes = [1200, 1000, 900, 800, 700, 600, 500, 400, 300, 200]
shards = [patients(n, shift=0.3 * rng.normal(size=30)) for n in sizes]
X, y = shards[-1]
shards[-1] = X[y == 0], y[y == 0]
print("ill:", [int(y.sum()) for _, y in shards])

# %%
# What each hospital does
# -----------------------
# One pass over its rows, and a file whose size depends on the number of features, not of rows.
# It contains no code. (If a class has only a few rows, its mean reveals them: ``aucmax
# moments build`` refuses to write such a file, but can write differentially private ones.)

import tempfile
from pathlib import Path

from aucmax import ClassMoments

folder = tempfile.TemporaryDirectory()
for k, (X, y) in enumerate(shards):
    ClassMoments.from_data(X, y).save(f"{folder.name}/hospital{k}.moments")
files = sorted(Path(folder.name).iterdir())
print("kB of the files:", [round(file.stat().st_size / 1000) for file in files])
print("kB of the rows: ", [round(X.nbytes / 1000) for X, _ in shards])

# %%
# Merging the files
# -----------------
# Adding them up in any order gives the same model as all rows in one place.

from aucmax import AUCClassifier

total = sum(map(ClassMoments.load, files))
merged = AUCClassifier(alpha=0.01).fit_moments(total)

X_all = np.concatenate([X for X, _ in shards])
y_all = np.concatenate([y for _, y in shards])
pooled = AUCClassifier(alpha=0.01).fit(X_all, y_all)
difference = abs(merged.coef_ - pooled.coef_).max() / abs(pooled.coef_).max()
print(f"merged against pooled, relative: {difference:.1e}")
assert difference < 1e-10

# %%
# Was it worth it?
# ----------------
# Compare the nine models of single hospitals, the average of their coefficients, and the merged
# model on new patients. Each dot is a model with its 95 % interval. An average may
# rank as well as the merged model, but it is not the optimum of any objective, and the tenth
# hospital does not contribute to it.

from matplotlib import pyplot as plt

from aucmax import metrics

X_new, y_new = patients(20_000)
alone = [AUCClassifier(alpha=0.01).fit(X, y) for X, y in shards[:-1]]
scores = {
    f"{len(y):,} patients": model.decision_function(X_new)
    for model, (_, y) in zip(alone, shards[:-1], strict=True)
}
average = np.mean([model.coef_[0] for model in alone], axis=0)
scores["average of the nine"] = X_new @ average
scores["merged"] = merged.decision_function(X_new)

_, ax = plt.subplots(layout="constrained")
for name, score in scores.items():
    auc, low, high, _ = metrics.auc_interval(y_new, score)
    ax.plot([low, high], [name, name], color="C0")
    ax.plot(auc, name, "o", color="C0")
ax.set_xlabel("AUC on new patients")
ax.set_title("Nine models, their average, and the model of all rows")
plt.show()

# %%
# A hospital leaves
# -----------------
# Its file is subtracted. Nobody needs to be asked for rows again.

left = total - ClassMoments.load(files[0])
without = AUCClassifier(alpha=0.01).fit_moments(left)
rest = AUCClassifier(alpha=0.01).fit(X_all[sizes[0] :], y_all[sizes[0] :])
assert np.allclose(without.coef_, rest.coef_, rtol=1e-8, atol=1e-12)
folder.cleanup()

# %%
# More on this: :doc:`/moment_files`, with private files and the commands for all of it.
