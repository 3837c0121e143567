"""Fits within strata to rows in parts: those of a stratum may be in any of them."""

from itertools import pairwise

import dask.dataframe
import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

from aucmax import (
    AUCClassifier,
    AUCClassifierCV,
    ClassMoments,
    Source,
    datasets,
)
from aucmax.basics import memory
from aucmax.solvers import OPAUC, Exact

ENDS = (0, 90, 90, 230, 231, 300)  # one part is empty, one has one row


def drawn(n=300, groups=40, d=4, seed=0):
    """Rows far from zero in most strata, some of which have one class."""
    rng = np.random.default_rng(seed)
    stratum, y = rng.integers(0, groups, n), (rng.random(n) < 0.3).astype(int)
    X = rng.normal(size=(n, d)) + y[:, None] * 0.5 + 1e4 * rng.normal(size=(groups, d))[stratum]
    weight = rng.random(groups)[stratum] + 0.1
    weight[::13] = 0.0
    return X, y, weight, np.array([f"site {k}" for k in stratum])


def in_parts(*of_rows):
    parts = [slice(low, high) for low, high in pairwise(ENDS)]
    return Source([lambda rows=rows: tuple(of[rows] for of in of_rows) for rows in parts])


def same(fitted, whole, rtol=1e-7):
    np.testing.assert_allclose(fitted.coef_, whole.coef_, rtol=rtol)
    np.testing.assert_allclose(fitted.objective_, whole.objective_, rtol=1e-9)
    np.testing.assert_allclose(fitted.spread_, whole.spread_, rtol=1e-9)
    assert fitted.strata_ == whole.strata_


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("mode", ["positives", "pairs", "strata"])
def test_moments_are_those_in_memory_after_two_passes_more(form, mode):
    X, y, weight, stratum = drawn()
    known = {"standardize": 0.5, "strata_weight": mode}
    whole = AUCClassifier(**known).fit(form(X), y, weight, strata=stratum)
    fitted = AUCClassifier(**known).fit(in_parts(form(X), y, weight, stratum))
    same(fitted, whole, rtol=1e-8)
    assert fitted.passes_ == 3
    for name, values in whole.moments_.kept.items():
        atol = 1e-7 if name == "origins" else 1e-10
        np.testing.assert_allclose(fitted.moments_.kept[name], values, rtol=1e-9, atol=atol)
    np.testing.assert_array_equal(fitted.moments_.strata.digests, whole.moments_.strata.digests)
    np.testing.assert_array_equal(fitted.moments_.strata.rows, whole.moments_.strata.rows)
    assert whole.strata_.of_one_class > 0


@pytest.mark.parametrize("loss", ["squared_hinge", "logistic", "square"])
@pytest.mark.parametrize("l1_ratio", [0.0, 0.5])
def test_fits_of_every_loss_are_those_in_memory(loss, l1_ratio):
    X, y, weight, stratum = drawn()
    known = {"loss": loss, "alpha": 0.02, "l1_ratio": l1_ratio, "standardize": 0.5, "tol": 1e-9}
    whole = AUCClassifier(**known).fit(X, y, weight, strata=stratum)
    for source in (in_parts(X, y, weight, stratum), in_parts(X, y, weight)):
        strata = None if source is not None and len(source.loads[0]()) == 4 else stratum
        same(AUCClassifier(**known).fit(source, strata=strata), whole, rtol=1e-4)


def test_sketches_and_variances_alone():
    X, y, weight, stratum = drawn()
    for covariance in ("diagonal", "frequent_directions"):
        model = AUCClassifier(solver=Exact(covariance=covariance), standardize=0.5)
        whole = AUCClassifier(**model.get_params(deep=False)).fit(X, y, weight, strata=stratum)
        same(model.fit(in_parts(X, y, weight, stratum)), whole)


def test_a_search_keeps_strata_whole():
    X, y, weight, stratum = drawn()
    known = {"losses": ["square", "squared_hinge"], "alphas": [0.01, 0.1], "cv": 3}
    whole = AUCClassifierCV(**known).fit(X, y, weight, strata=stratum)
    fitted = AUCClassifierCV(**known).fit(in_parts(X, y, weight, stratum))
    np.testing.assert_allclose(fitted.best_score_, whole.best_score_, rtol=1e-6)
    np.testing.assert_allclose(fitted.coef_, whole.coef_, rtol=1e-3)


@pytest.mark.filterwarnings("ignore")  # of Dask
def test_files_frames_and_collections_carry_strata(tmp_path):
    X, y, weight, stratum = drawn()
    frame = pd.DataFrame(X, columns=list("abcd")).assign(ill=y, weight=weight, site=stratum)
    whole = AUCClassifier().fit(frame[list("abcd")], y, weight, strata=stratum)
    frame.to_csv(tmp_path / "rows.csv", index=False)
    columns = {"target": "ill", "weight": "weight", "strata": "site"}
    given = [
        datasets.scan(tmp_path / "rows.csv", part_bytes=4000, **columns),
        datasets.scan(pl.from_pandas(frame).lazy(), part_bytes=4000, **columns),
        datasets.scan(dask.dataframe.from_pandas(frame, npartitions=3), **columns),
    ]
    for source in given:
        for _ in range(2):  # the second fit to text reads temporary files
            same(AUCClassifier().fit(source), whole)


def test_what_it_refuses(monkeypatch):
    X, y, weight, stratum = drawn()
    source = in_parts(X, y, weight, stratum)
    with pytest.raises(ValueError, match="'opauc' learns from one row after another and takes no"):
        AUCClassifier(solver=OPAUC()).fit(source)
    with pytest.raises(ValueError, match="use the moments_ of AUCClassifier"):
        ClassMoments.from_data(source)
    with pytest.raises(ValueError, match="strata must have one value for each of 300 rows"):
        AUCClassifier().fit(in_parts(X, y), strata=stratum[:-1])
    some = Source([lambda: (X, y, weight), lambda: (X, y, weight, stratum)])
    with pytest.raises(ValueError, match="part 2 has strata, unlike part 1"):
        AUCClassifier().fit(some)
    gap = stratum.astype(object)
    gap[100] = None
    with pytest.raises(ValueError, match="part 3: strata has no value for 1 rows"):
        AUCClassifier().fit(in_parts(X, y, weight, gap))
    monkeypatch.setattr(memory, "headroom", lambda: memory.Headroom(1000, None))
    with pytest.raises(MemoryError, match=r"for the means of \d+ strata with 4 features"):
        AUCClassifier().fit(source)
