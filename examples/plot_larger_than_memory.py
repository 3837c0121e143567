"""
A file larger than memory
=========================

A year of visits to a shop, a file for each month, and a machine that cannot hold them all. A
``Source`` reads them part by part: it goes into ``fit``, ``AUCClassifierCV`` and
``decision_function`` in place of an array, and gives the model that the rows in memory would
give.
"""

# %%
# A year of files
# ---------------
# Small enough for this page; what counts is that memory does not grow with them.

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
# ``scan`` reads nothing but the names of the columns. The fit takes one pass over the rows, since
# the square loss needs sums of them only; the other losses take some more. November and December
# are left for later.

from aucmax import AUCClassifier, datasets

files = [f"{folder.name}/2026-{month:02}.parquet" for month in range(1, 13)]


def scan(some):
    return datasets.scan(some, target="bought", part_bytes=2**21)


model = AUCClassifier().fit(scan(files[:10]))
print(f"{model.passes_} pass, {model.optimality_:.0e} from the optimum")

# %%
# A month that does fit into memory shows that the model is the same.

month = datasets.read(files[0], target="bought")
from_rows = AUCClassifier().fit(month.data, month.target)
from_parts = AUCClassifier().fit(scan(files[:1]))
assert np.allclose(from_parts.coef_, from_rows.coef_, rtol=1e-10)

# %%
# What it takes
# -------------
# The most that numpy's arrays took at any moment of a fit, for more and more months: read as a
# whole, and part by part. The line that looks flat is not quite: there is a byte for the label of
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
# ``decision_function`` takes a source as well. Where even the scores are too many, a sketch keeps
# their distribution in fixed memory, and tells the AUC with a bound of what that may have cost.

found = model.score_sketch(scan(files[10:])).auc()
print(f"AUC {found.auc:.4f} ({found.low:.4f} to {found.high:.4f})")
print(f"off by {found.error:.0e} at most")

# %%
# Whatever you have
# -----------------
# Rows that come from elsewhere are a ``Source`` of functions, each of which returns one part when
# it is asked. On the command line ``aucmax train visits.parquet --target bought`` goes part by
# part by itself where a file would not fit.

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
