"""
A file larger than memory
=========================

A year of visits to a shop is stored in a file for each month, which do not all fit into memory. A
``Source`` reads them in parts: pass it to ``fit``, ``AUCClassifierCV`` and
``decision_function`` in place of an array. The model is the same as with all rows in
memory.
"""

# %%
# A year of files
# ---------------
# The files are small enough for this page; the point is that memory does not grow with them.

import tempfile

import numpy as np
import pyarrow as pa
from pyarrow import parquet

folder = tempfile.TemporaryDirectory()
rng = np.random.default_rng(0)
truth = rng.normal(size=20)
for month in range(1, 13):
    X = rng.normal(size=(40_000, 20))
    bought = rng.random(len(X)) < 1 / (1 + np.exp(6 - X @ truth / 2))
    table = pa.table(
        {f"visit_{j}": X[:, j] for j in range(20)} | {"bought": bought}
    )
    parquet.write_table(
        table, f"{folder.name}/2026-{month:02}.parquet", row_group_size=10_000
    )

# %%
# Fit without reading it all at once
# ----------------------------------
# ``scan`` reads only the names of the columns. The fit takes one pass over the rows, because
# the square loss needs only their sums; the other losses take several passes. November and December
# are held out.

from aucmax import AUCClassifier, datasets

files = [f"{folder.name}/2026-{month:02}.parquet" for month in range(1, 13)]


def scan(some):
    return datasets.scan(some, target="bought", part_bytes=2**21)


model = AUCClassifier().fit(scan(files[:10]))
print(f"{model.passes_} pass, {model.optimality_:.0e} from the optimum")

# %%
# For a month that fits into memory, the model is the same.

month = datasets.read(files[0], target="bought")
from_rows = AUCClassifier().fit(month.data, month.target)
from_parts = AUCClassifier().fit(scan(files[:1]))
assert np.allclose(from_parts.coef_, from_rows.coef_, rtol=1e-10)

# %%
# Memory
# ------
# The peak memory of NumPy arrays during a fit, for more and more months, read as a
# whole and in parts. The line that looks flat grows slightly: the fit keeps a byte for the label of
# each row.

import tracemalloc

from matplotlib import pyplot as plt


def at_once(some):
    months = [datasets.read(file, target="bought") for file in some]
    X = np.concatenate([month.data for month in months])
    AUCClassifier().fit(X, np.concatenate([month.target for month in months]))


def in_parts(some):
    AUCClassifier().fit(scan(some))


_, ax = plt.subplots(layout="constrained")
counts = [1, 3, 6, 10]
for name, fit in {"read as a whole": at_once, "part by part": in_parts}.items():
    peaks = []
    for k in counts:
        tracemalloc.start()
        fit(files[:k])
        peaks.append(tracemalloc.get_traced_memory()[1] / 2**20)
        tracemalloc.stop()
    ax.plot(counts, peaks, "o-", label=f"{name}: at most {peaks[-1]:.0f} MB")
ax.set_xlabel("months")
ax.set_ylabel("memory, MB")
ax.set_ylim(0)
ax.legend()
plt.show()

# %%
# How well it ranks
# -----------------
# ``decision_function`` accepts a source, too. If even the scores are too many, a sketch keeps
# their distribution in fixed memory, and gives the AUC with a bound on its error.

found = model.score_sketch(scan(files[10:])).auc()
print(f"AUC {found.auc:.4f} ({found.low:.4f} to {found.high:.4f})")
print(f"off by {found.error:.0e} at most")

# %%
# Other data
# ----------
# For rows from elsewhere, make a ``Source`` of functions, each of which returns one part. On the
# command line ``aucmax train visits.parquet --target bought`` reads a file in parts automatically
# if it would not fit.

from aucmax import Source


def part(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(10_000, 20))
    return X, X @ truth + rng.normal(size=len(X)) > 12


source = Source([lambda seed=seed: part(seed) for seed in range(5)])
logistic = AUCClassifier(loss="logistic").fit(source)
print(f"{logistic.passes_} passes, {logistic.optimality_:.0e} from the optimum")
folder.cleanup()

# %%
# More on this: :doc:`/scale`, with measurements of much larger files, and clusters.
