"""
A model in a database
=====================

The payments are in a database, and they should stay there. With the square loss a model depends
on the rows only through counts, means and covariances of both classes, which are sums that
any database can compute. So DuckDB sums up the rows, and the model is fitted to the result: a few
numbers for each pair of columns, however many rows there are. Scores are computed in SQL.

Needs: ``pip install 'aucmax[query,sql]' duckdb pandas``. With ``ROWS=100_000_000`` in the
environment this script writes a file of some gigabytes; its memory does not grow.
"""

# %%
# A table of payments
# -------------------
# The database generates the table and writes it to a Parquet file, so that no row is ever in
# Python.

import os
import tempfile
import time

import duckdb

ROWS = int(os.environ.get("ROWS", "200_000"))
folder = tempfile.TemporaryDirectory()
file = f"{folder.name}/payments.parquet"
database = duckdb.connect()
database.execute("SET memory_limit = '1GB'")
database.execute("SET preserve_insertion_order = false")
# one thread and a seed: the same rows in every run
database.execute("SET threads = 1; SELECT setseed(0.5)")
database.execute(
    f"""
    COPY (
        SELECT *, random() < 1 / (1 + exp(
            6 - 0.8 * amount - 1.2 * night - 0.5 * distance
            + 0.02 * age - 0.7 * new_device)) AS fraud
        FROM (
            SELECT
                exp(0.8 * sqrt(-2 * ln(1 - random())) * cos(6.283 * random()))
                    AS amount,
                (random() < 0.2)::TINYINT AS night,
                -ln(1 - random()) AS distance,
                (18 + 70 * random())::TINYINT AS age,
                (random() < 0.1)::TINYINT AS new_device,
                random()::FLOAT AS noise_1,
                random()::FLOAT AS noise_2
            FROM range({ROWS})
        )
    ) TO '{file}'
    """
)
database.execute("RESET threads")
payments = database.sql(f"SELECT * FROM '{file}'")

# %%
# Two queries
# -----------
# The first computes counts and means of both classes, the second products of deviations from these
# means, so that no digits are lost.

from aucmax import AUCClassifier, ClassMoments

started = time.perf_counter()
moments = ClassMoments.from_query(payments, target="fraud")
print(f"{moments}: {time.perf_counter() - started:.1f} s")

# %%
# As many models as you like
# --------------------------
# None of these fits reads the rows again.

model = AUCClassifier(alpha=1e-3).fit_moments(moments)
short = AUCClassifier(alpha=0.01, l1_ratio=1.0).fit_moments(moments)
weights = zip(
    moments.feature_names, model.coef_[0], short.coef_[0], strict=True
)
for name, weight, kept in weights:
    print(
        f"{name:12} {weight:+.4f}{'' if kept else '   not in the short model'}"
    )

# %%
# Scores are SQL, too
# -------------------
# Use the expression in a view, a report or a ``WHERE``. There are also dialects for Postgres and
# BigQuery.

from aucmax import to_sql

expression = to_sql(model)
print(expression)
highest = database.sql(
    f"""
    SELECT fraud, {expression} AS score FROM payments
    ORDER BY score DESC LIMIT 5
    """
)
print(highest)

# %%
# The evidence, on a sample
# -------------------------
# The AUC depends on ranks, which do not add up like moments. But a sample is enough, and the
# interval shows how precise it is.

from matplotlib import pyplot as plt

from aucmax.plots import RocDisplay

some = "SELECT * FROM payments USING SAMPLE 20000 ROWS (reservoir, 1)"
sample = database.sql(some).df()
X, y = sample[moments.feature_names], sample["fraud"].astype(int)
scores = model.decision_function(X)
RocDisplay.from_predictions(y, scores, name="sample")
plt.show()

# Python and the database compute the same scores
in_sql = database.sql(f"SELECT {expression} AS score FROM sample").df()
assert abs(scores - in_sql["score"]).max() < 1e-9
folder.cleanup()

# %%
# More on this: :doc:`/moment_files`, :doc:`/other_homes`, and :doc:`/scale` for a hundred million
# rows.
