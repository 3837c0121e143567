"""A model of a table in a database, without moving a row: DuckDB sums up, aucmax solves.

ROWS=100_000_000 python examples/model_in_a_database.py   makes a file of 2.5 GB and fits it.
Needs: pip install 'aucmax[query]' duckdb pandas
"""

# 1. data: a Parquet file of payments, some of them fraud, made by the database itself
import os
import resource
import time

import duckdb

ROWS = int(os.environ.get("ROWS", "200_000"))
database = duckdb.connect()
database.execute("SET memory_limit = '1GB'; SET preserve_insertion_order = false")
database.execute(
    f"""
    COPY (
        SELECT *, random() < 1 / (1 + exp(6 - 0.8 * amount - 1.2 * night - 0.5 * distance
                                          + 0.02 * age - 0.7 * new_device)) AS fraud
        FROM (
            SELECT exp(0.8 * sqrt(-2 * ln(1 - random())) * cos(6.283 * random())) AS amount,
                   (random() < 0.2)::TINYINT AS night,
                   -ln(1 - random()) AS distance,
                   (18 + 70 * random())::TINYINT AS age,
                   (random() < 0.1)::TINYINT AS new_device,
                   random()::FLOAT AS noise_1, random()::FLOAT AS noise_2
            FROM range({ROWS})
        )
    ) TO 'payments.parquet'
    """
)
payments = database.sql("SELECT * FROM 'payments.parquet'")

# 2. two queries: counts and means of each class, then covariances around them
from aucmax import AUCClassifier, ClassMoments

started, spent = time.perf_counter(), time.process_time()
moments = ClassMoments.from_query(payments, target="fraud")
print(f"{moments}: {time.perf_counter() - started:.1f} s")

# 3. a model from d×d numbers, and as many others from the same two queries as one likes
model = AUCClassifier(alpha=1e-3).fit_moments(moments)
print(dict(zip(moments.feature_names, model.coef_[0].round(3).tolist(), strict=True)))
seconds, processor = time.perf_counter() - started, time.process_time() - spent
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(f"{ROWS:,} rows: {seconds:.1f} s, {processor:.1f} s of processor time, at most {peak:.0f} MB")

# 4. scores are SQL, too
score = " + ".join(
    f"({weight!r}) * {name}"
    for name, weight in zip(moments.feature_names, model.coef_[0].tolist(), strict=True)
)
highest = database.sql(
    f"""
    SELECT fraud::INT, {score} + ({model.intercept_.item()!r}) AS score FROM payments
    ORDER BY score DESC LIMIT 5
    """
).fetchall()
print("the five highest scores:", [fraud for fraud, _ in highest], "of which 1 is fraud")

# 5. the evidence, on a sample of the rows
from aucmax import metrics

sample = database.sql("SELECT * FROM payments USING SAMPLE 20000 ROWS").df()
auc, low, high, _ = metrics.auc_interval(
    sample["fraud"], model.decision_function(sample[moments.feature_names])
)
print(f"AUC {auc:.3f} ({low:.3f} to {high:.3f})")
