"""``aucmax moments`` within strata: build, merge, show and fit."""

import json

import numpy as np
import pandas as pd
import pytest

from aucmax import AUCClassifier, ClassMoments
from aucmax.estimators.files import load


@pytest.fixture
def tables(tmp_path):
    """Two files of whole strata, whose rows are in any order; words and a gap in one column."""
    rng = np.random.default_rng(0)
    day, ill = rng.integers(0, 40, 400), rng.random(400) < 0.3
    X = rng.normal(size=(400, 3)) + ill[:, None] + 9.0 * rng.normal(size=(40, 3))[day]
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(
        day=day, ill=np.where(ill, "ja", "nein")
    )
    for name, rows in {"a": day < 22, "b": day >= 22, "all": day >= 0}.items():
        frame[rows].to_csv(tmp_path / f"{name}.csv", index=False)
    return frame, tmp_path


def of_frame(frame, mode):
    y = (frame["ill"] == "ja").astype(int)
    return ClassMoments.from_data(
        frame[["a", "b", "c"]], y, strata=frame["day"], strata_weight=mode
    )


@pytest.mark.parametrize("mode", ["positives", "pairs"])
def test_files_of_whole_strata_add_up_to_the_fit_of_all_rows(tables, good, mode):
    frame, folder = tables
    for name in ("a", "b", "all"):
        good("moments", "build", folder / f"{name}.csv", "--target", "ill", "--strata", "day",
             "--strata-weight", mode, "-o", folder / name)  # fmt: skip
    good("moments", "merge", folder / "a", folder / "b", "-o", folder / "both")
    expected = of_frame(frame, mode)
    for name in ("all", "both"):
        held = ClassMoments.load(folder / name)
        assert held.strata.positive == "ja"
        np.testing.assert_allclose(held.covs[[1, 0]], expected.covs, atol=1e-9)
        np.testing.assert_array_equal(held.strata.digests, expected.strata.digests)
    shown = json.loads(good("moments", "show", folder / "both", "--json"))
    assert shown["strata"]["count"] == 40
    assert sum(group["weight"] for group in shown["classes"]) == expected.row_weights.sum()
    assert "40 strata, weighed by their" in good("moments", "show", folder / "both")
    out = good("moments", "fit", folder / "both", "--alpha", "0.01", "-o", folder / "model")
    assert "40 strata, weighed by their" in out
    y = (frame["ill"] == "ja").to_numpy()
    model = AUCClassifier(alpha=0.01, strata_weight=mode)
    model.fit(frame[["a", "b", "c"]], y, strata=frame["day"])
    fitted = load(folder / "model")
    np.testing.assert_allclose(fitted.coef_, model.coef_, rtol=1e-8)
    assert fitted.strata_ == model.strata_
    sites = good("moments", "fit", folder / "a", folder / "b", "-o", folder / "tuned")
    assert "tuned" in sites
    assert load(folder / "tuned").strata_ == model.strata_


def test_what_is_refused(tables, bad, good):
    _, folder = tables
    for name in ("a", "all"):
        good("moments", "build", folder / f"{name}.csv", "--target", "ill", "--strata", "day",
             "-o", folder / name)  # fmt: skip
    assert "22 of the strata are in both" in bad(
        "moments", "merge", folder / "a", folder / "all", "-o", folder / "sum"
    )
    message = bad("moments", "build", folder / "a.csv", "--target", "ill", "--strata", "day",
                  "--memory", "1MB", "--dask", "local", "-o", folder / "c")  # fmt: skip
    assert "needs all rows at once" in message
    assert "not with --strata" in bad(
        "moments", "build", folder / "a.csv", "--target", "ill", "--strata", "day", "--epsilon",
        "1", "--labels", "ja,nein", "--bounds", "0", "1", "-o", folder / "c",
    )  # fmt: skip
    assert "with strata use --within 0.5" in bad(
        "moments", "fit", folder / "a", "--alpha", "1", "--within", "0.2", "-o", folder / "model"
    )
