"""``aucmax moments`` within strata: build, merge, show and fit."""

import json

import numpy as np
import pandas as pd
import pytest

from aucmax import AUCClassifier, ClassMoments
from aucmax.estimators.files import load
from aucmax.statistics.files import load_moments


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
    assert "40 strata, weighted by their" in good("moments", "show", folder / "both")
    out = good("moments", "fit", folder / "both", "--alpha", "0.01", "-o", folder / "model")
    assert "40 strata, weighted by their" in out
    y = (frame["ill"] == "ja").to_numpy()
    model = AUCClassifier(alpha=0.01, strata_weight=mode)
    model.fit(frame[["a", "b", "c"]], y, strata=frame["day"])
    fitted = load(folder / "model")
    np.testing.assert_allclose(fitted.coef_, model.coef_, rtol=1e-8)
    assert fitted.strata_ == model.strata_
    assert fitted.strata_.column == model.strata_.column == "day"
    sites = good("moments", "fit", folder / "a", folder / "b", "-o", folder / "tuned")
    assert "tuned" in sites
    assert load(folder / "tuned").strata_ == model.strata_


def test_strata_are_as_they_are_written(tables, good, bad):
    frame, folder = tables
    days = frame["day"].astype(str)
    frame["day"] = days.where(frame["day"] >= 20, "0" + days)  # 07 is not 7
    frame["day"] = frame["day"].where(frame.index % 2 == 1, days)
    frame.to_csv(folder / "written.csv", index=False)
    rows = folder / "written.csv", "--target", "ill", "--strata", "day"
    good("moments", "build", *rows, "-o", folder / "written")
    good("moments", "build", folder / "b.csv", *rows[1:], "-o", folder / "b")
    held = ClassMoments.load(folder / "written")
    assert len(held.strata) == frame["day"].nunique() > 50
    assert len(ClassMoments.load(folder / "b").strata) == 18  # numbers in one file, words in the
    message = bad("moments", "merge", folder / "written", folder / "b", "-o", folder / "c")  # other
    assert "18 strata are in both" in message
    good("train", *rows, "--alpha", "0.1", "-o", folder / "model")
    judged = json.loads(good("evaluate", folder / "model", *rows, "--json"))["stratified"]
    assert judged["strata"] == frame["day"].nunique()
    model = AUCClassifier(alpha=0.1).fit(
        frame[["a", "b", "c"]], frame["ill"] == "ja", strata=frame["day"]
    )
    np.testing.assert_allclose(load(folder / "model").coef_, model.coef_, rtol=1e-6)


@pytest.fixture
def messy(tables):
    """Rare words, a gap, and more rows than fit into 1 MB; as svmlight text, too."""
    _, folder = tables
    rng, n = np.random.default_rng(1), 5000
    table = pd.DataFrame(rng.normal(size=(n, 2)), columns=["a", "b"])
    table["word"] = rng.choice(["red", "blue", "pink", "teal"], n, p=[0.5, 0.498, 0.001, 0.001])
    table["day"], table["ill"] = rng.integers(0, 600, n), rng.random(n) < 0.3
    table.loc[5, "b"] = np.nan
    for k, name in enumerate(("one", "two")):
        table.iloc[k::2].to_csv(folder / f"{name}.csv", index=False)
    lines = [
        f"{int(row.ill)} qid:{row.day} 1:{row.a:.6f} 2:{row.Index % 7}"
        for row in table.itertuples()
    ]
    (folder / "rows.svm").write_text("\n".join(lines) + "\n")
    return folder


def same_moments(one, other):
    assert (one.steps, one.feature_names) == (other.steps, other.feature_names)
    assert one.target_name == other.target_name
    np.testing.assert_array_equal(one.strata.digests, other.strata.digests)
    for name, values in one.kept.items():
        np.testing.assert_allclose(other.kept[name], values, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(
    "covariance", ["full", pytest.param("diagonal", marks=pytest.mark.exhaustive)]
)
def test_files_in_parts_have_the_moments_of_those_in_memory(messy, good, run, covariance):
    one, two, svm = messy / "one.csv", messy / "two.csv", messy / "rows.svm"
    rows = ("--target", "ill", "--strata", "day")
    for files in ((one, two, *rows), (svm,)):
        command = ("moments", "build", *files, "--covariance", covariance)
        good(*command, "-o", messy / "whole")
        assert run(*command, "-o", messy / "parts", "--memory", "1MB")[0] == 0
        same_moments(*(load_moments(messy / name) for name in ("whole", "parts")))
    good("moments", "build", one, *rows, "-o", messy / "one")
    for memory in ((), ("--memory", "1MB")):
        command = ("moments", "build", two, *rows, "--like", messy / "one", *memory)
        assert run(*command, "--min-rows", 1, "-o", messy / f"two{len(memory)}")[0] == 0
    same_moments(*(load_moments(messy / f"two{k}") for k in (0, 2)))


def test_rare_words_are_joined_within_strata(messy, good):
    """As if they had been one level in the rows, so that features keep their spread."""
    one = messy / "one.csv"
    out = good("moments", "build", one, "--target", "ill", "--strata", "day", "-o", messy / "one")
    assert "joined to 'other'" in out
    held = ClassMoments.load(messy / "one")
    rows = pd.read_csv(one)
    (level,) = {"word_red", "word_blue"} & {*held.feature_names}
    other = "word_" + rows["word"] != level
    j = held.feature_names.index("word_other")
    plain = ClassMoments.from_data(other.to_frame(), rows["ill"], strata=rows["day"])
    assert held.spread_within_strata[j] == pytest.approx(plain.spread_within_strata[0])
    np.testing.assert_allclose(held.covs[:, j, j], plain.covs[:, 0, 0])
    assert held.strata.of_one_class == plain.strata.of_one_class


def test_curves_within_strata_are_fitted_to_moments(tables, good, bad):
    """That of all rows, which the model was fitted to, and of two files of whole strata."""
    frame, folder = tables
    known = ("--target", "ill", "--strata", "day")
    good("train", folder / "all.csv", *known, "--shape", "curves", "--loss", "square",
         "-o", folder / "model")  # fmt: skip
    for name in ("a", "b", "all"):
        good("moments", "build", folder / f"{name}.csv", "--like", folder / "model", *known,
             "--min-rows", 1, "-o", folder / name)  # fmt: skip
    good("moments", "merge", folder / "a", folder / "b", "-o", folder / "both", "--min-rows", 1)
    expected = load(folder / "model")
    scores = expected.decision_function(frame[["a", "b", "c"]])
    for name in ("all", "both"):
        text = good("moments", "fit", folder / name, "-o", folder / "fitted")
        assert text.count("40 strata, weighted by their positives") == 1
        fitted = load(folder / "fitted")
        assert fitted[-1].strata_ == expected[-1].strata_
        np.testing.assert_allclose(fitted.decision_function(frame[["a", "b", "c"]]), scores, 1e-6)
    good("moments", "fit", folder / "a", folder / "b", "-o", folder / "tuned")
    assert load(folder / "tuned")[-1].strata_ == expected[-1].strata_
    assert "with strata use --within 0.5" in bad(
        "moments", "fit", folder / "all", "--within", "0.2", "-o", folder / "fitted"
    )


def test_part_of_a_stratum_cannot_be_taken_out(tables, bad, good):
    frame, folder = tables
    frame[frame["day"] < 12].iloc[1:].to_csv(folder / "part.csv", index=False)
    for name in ("all", "part"):
        good("moments", "build", folder / f"{name}.csv", "--target", "ill", "--strata", "day",
             "-o", folder / name)  # fmt: skip
    message = bad("moments", "subtract", folder / "all", folder / "part", "-o", folder / "rest")
    assert "1 stratum to subtract has another number of rows than was added; give whole" in message
    assert not (folder / "rest").exists()


def test_what_is_refused(tables, bad, good):
    _, folder = tables
    weighed = ("--target", "ill", "--drop", "day", "--strata-weight", "pairs", "-o", folder / "c")
    private = ("--epsilon", 1, "--labels", "ja,nein", "--bounds", 0, 1)
    for more in ((), private):
        assert "--strata-weight: there are no strata" in bad(
            "moments", "build", folder / "a.csv", *weighed, *more
        )
    for name in ("a", "all"):
        good("moments", "build", folder / f"{name}.csv", "--target", "ill", "--strata", "day",
             "-o", folder / name)  # fmt: skip
    assert "22 strata are in both" in bad(
        "moments", "merge", folder / "a", folder / "all", "-o", folder / "sum"
    )
    assert "--epsilon cannot be combined with --strata" in bad(
        "moments", "build", folder / "a.csv", "--target", "ill", "--strata", "day", "--epsilon",
        "1", "--labels", "ja,nein", "--bounds", "0", "1", "-o", folder / "c",
    )  # fmt: skip
    assert "with strata use --within 0.5" in bad(
        "moments", "fit", folder / "a", "--alpha", "1", "--within", "0.2", "-o", folder / "model"
    )
