"""
Ranking within queries
======================

A search engine ranks the documents of one query against each other, never those of two queries. A
model that also compares across queries spends its effort on telling popular queries from others.
This page trains within and across queries, and compares the two where it matters.
"""

# %%
# Queries with a linear truth
# ---------------------------
# Clicks depend on a document's own merit, a linear function of two features, and on the popularity
# of its query. The features also reveal the popularity: popular queries have fresher documents and
# shorter texts.

import numpy as np

rng = np.random.default_rng(0)
merit = np.array([1.0, 0.5])


def clicks(queries):
    query = np.repeat(np.arange(queries), rng.integers(5, 30, queries))
    popular = rng.normal(size=queries)[query]
    X = rng.normal(size=(len(query), 2)) + np.outer(popular, [-1.0, 2.0])
    score = X @ merit
    of_query = np.bincount(query, score) / np.bincount(query)
    log_odds = score - of_query[query] + 2.0 * popular - 2.0
    return (
        X,
        (rng.random(len(query)) < 1 / (1 + np.exp(-log_odds))).astype(int),
        query,
    )


X, y, query = clicks(400)
X_test, y_test, query_test = clicks(1000)

# %%
# Within and across
# -----------------
# With ``strata=query`` only documents of the same query are compared, in the fit, in its folds and
# in the score that chooses the settings. The folds keep queries whole.

from aucmax import AUCClassifierCV, metrics

models = {
    "within queries": AUCClassifierCV().fit(X, y, strata=query),
    "across queries": AUCClassifierCV().fit(X, y),
}
areas = {}
for name, model in models.items():
    score = model.decision_function(X_test)
    areas[name] = metrics.stratified_auc(y_test, score, query_test)
    direction = model.coef_[0] / np.abs(model.coef_[0]).sum()
    print(f"trained {name}: weights {direction.round(2)}")
    print(
        "    AUC within queries {:.3f} ({:.3f} to {:.3f})".format(
            *areas[name][:3]
        )
    )
    print(f"    AUC of all rows    {metrics.roc_auc(y_test, score):.3f}")
assert areas["within queries"].low > areas["across queries"].high
print("true weights", (merit / merit.sum()).round(2))
print(models["within queries"].best_estimator_.strata_.words)

# %%
# The model trained across queries has the better AUC over all rows, which no reader of a page of
# results ever sees. The paired test counts queries, because new users bring new queries.

a, b = (model.decision_function(X_test) for model in models.values())
test = metrics.stratified_auc_test(y_test, a, b, query_test)
print("difference {:+.3f} ({:+.3f} to {:+.3f})".format(*test[:3]))

# %%
# Files of queries
# ----------------
# svmlight text names the query of each row in a field ``qid:``, which is read as its stratum.

import tempfile
from pathlib import Path

from sklearn.datasets import dump_svmlight_file

from aucmax import datasets

with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "clicks.svm"
    dump_svmlight_file(X, y, str(path), query_id=query, zero_based=False)
    rows = datasets.read(path)
assert np.array_equal(rows.strata, query)

# %%
# ``aucmax train clicks.svm`` compares within these queries without further options; for a table,
# ``--strata query`` names the column. More on this: :doc:`/strata`.
