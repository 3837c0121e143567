"""Strata of a table in place: the sums of each stratum, and rows relative to its negatives' mean.

Two grouped tables are joined with the rows. The first has the least value of each feature in each
stratum, relative to which values keep their digits. The second has the sums of these by class, from
which the centre of each stratum and the weights of its rows follow. The result is one row for each
stratum, which is read, and the rows relative to their strata, which stay in place.
"""

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np

from aucmax.data.strata import Strata, StrataWeight, omega_of
from aucmax.statistics.base import Part
from aucmax.statistics.relation import Relation, plain
from aucmax.statistics.strata import KnownStrata

__all__ = ["StrataOfTable", "batches_of_strata"]

_MASSES = ("neg", "pos")  # columns with the weight of a row if it is of this class, else 0


class StrataOfTable:
    """The strata of a table with the columns ``g``, ``y``, ``w`` and some features.

    Parameters
    ----------
    relation : Relation
    table : frame of narwhals
    features : list of str
        The columns of the features.
    labels : list
        The negative and the positive label.
    weighting : {"positives", "pairs", "strata"}
    """

    def __init__(
        self,
        relation: Relation,
        table: Any,
        features: list[str],
        labels: list[Any],
        weighting: StrataWeight,
    ) -> None:
        self.relation, self.features = relation, features
        self.labels, self.weighting = labels, weighting
        col, zero = relation.nw.col, relation.one - relation.one
        least = table.group_by("g").agg(*(col(x).min().alias(f"least_{x}") for x in features))
        negative = relation.nw.when(col("y") == labels[0])
        self.rows = table.join(least, on="g").select(
            "g", "y", "w",
            negative.then(col("w")).otherwise(zero).alias("neg"),
            negative.then(zero).otherwise(col("w")).alias("pos"),
            *((col(x) - col(f"least_{x}")).alias(x) for x in features),
            *(f"least_{x}" for x in features),
        )  # fmt: skip
        masses = [(of, "") for of in _MASSES]
        sums = masses + [(of, x) for x in features for of in ("neg", "w")]
        self.sums = (
            self.rows.with_columns(*((col(of) * col(x)).alias(of + x) for of, x in sums if x))
            .with_columns(*(relation.indicator(col(of) > 0.0).alias(f"is_{of}") for of in _MASSES))
            .group_by("g")
            .agg(
                *(col(of + x).sum().alias(f"sum_{of}{x}") for of, x in sums),
                *(col(f"is_{of}").sum().alias(f"rows_{of}") for of in _MASSES),
            )
        )

    def known(self) -> KnownStrata:
        """Return the strata, in one query."""
        counts = [f"rows_{of}" for of in _MASSES]
        table = self.relation.collected(self.sums.select("g", *counts))
        values = [plain(value) for value in table["g"]]
        strata, rows = Strata.of(values, len(values)), np.empty((len(values), 2), np.int64)
        rows[strata.code] = np.array([table[name] for name in counts], np.int64).T
        return KnownStrata.of_counts(self.weighting, plain(self.labels[1]), strata.digests, rows)

    @cached_property
    def seen(self) -> Any:
        """The rows that are compared, relative to their strata, with weights that sum to ω.

        Further columns are the own weight, the centre of the stratum, and the distance from the
        mean of the stratum.
        """
        col = self.relation.nw.col
        neg, pos = col("sum_neg"), col("sum_pos")
        omega = omega_of(self.weighting, pos, neg, self.relation.one)
        of_class = self.relation.nw.when(col("y") == self.labels[0]).then(neg).otherwise(pos)
        return (
            self.rows.join(self.sums, on="g")
            .filter((neg > 0.0) & (pos > 0.0) & (col("w") > 0.0))
            .select(
                "y",
                col("w").alias("own"),
                (col("w") * omega / of_class).alias("w"),
                *((col(x) - col(f"sum_neg{x}") / neg).alias(x) for x in self.features),
                *((col(f"least_{x}") + col(f"sum_neg{x}") / neg).alias(f"centre_{x}")
                  for x in self.features),
                *((col(x) - col(f"sum_w{x}") / (neg + pos)).alias(f"off_{x}")
                  for x in self.features),
            )
        )  # fmt: skip

    def parts(self) -> list[Part]:
        """Return the arrays of each class besides its moments, in one query."""
        col = self.relation.nw.col
        terms = [(col("w") * col(f"centre_{x}")).alias(f"centre_{x}") for x in self.features] + [
            (col("own") * col(f"off_{x}") * col(f"off_{x}")).alias(f"off_{x}")
            for x in self.features
        ]
        table = self.relation.collected(
            self.seen.select("y", "own", "w", *terms).group_by("y").agg(
                col("own", "w", *(f"{of}_{x}" for x in self.features for of in ("centre", "off")))
                .sum()
            )
        )  # fmt: skip
        parts = []
        for k in (table["y"].index(label) for label in self.labels):
            sums = {
                of: np.array([table[f"{of}_{x}"][k] for x in self.features], dtype=float)
                for of in ("centre", "off")
            }
            origins = sums["centre"] / float(table["w"][k])
            parts.append(
                {"origins": origins, "scatter": sums["off"], "own": float(table["own"][k])}
            )
        return parts


def batches_of_strata(relation: Relation, table: Any) -> Iterator[Any]:
    """Yield all rows of a table with a column ``g``, in batches of whole strata."""
    if relation.eager:
        values = [plain(value) for value in table["g"].to_list()]
        table = table[Strata.of(values, len(values)).order]
    else:
        table = table.sort("g")
    pending: list[Any] = []  # the last stratum so far
    for batch in relation.batches(table):
        if not len(batch):
            continue
        last = batch["g"][-1]
        begun = len(batch) - int((batch["g"] == last).sum())
        if pending and (begun or pending[-1]["g"][-1] != last):
            yield relation.nw.concat([*pending, batch[:begun]])
            pending = []
        elif begun:
            yield batch[:begun]
        pending.append(batch[begun:])
    if pending:
        yield relation.nw.concat(pending)
