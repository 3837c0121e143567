"""Moments as files: what travels with them, what is refused, and `aucmax moments`."""

import io
import itertools
import json
import os
import shutil

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import dump_svmlight_file

from aucmax import AUCClassifier, ClassMoments, load, metrics
from aucmax.basics.container import pack, unpack
from aucmax.data.large_files import Plan
from aucmax.estimators.sites import tune_on_sites
from aucmax.statistics.diagonal import DiagonalMoments
from aucmax.statistics.disclosure import disclosures
from aucmax.statistics.files import load_moments
from aucmax.statistics.frequent_directions import FrequentDirections
from aucmax.statistics.private import BoundedSums

NAMES = ["age", "bmi", "dose", "smokes"]
KINDS = [ClassMoments, DiagonalMoments, FrequentDirections]
each_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.kind)


def table(n=600, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.random(n) < 0.3
    X = rng.normal(size=(n, 4)) * [10, 3, 1, 0] + [50, 25, 0, 0] + np.outer(y, [5, 0, 0.5, 0])
    X[:, 3] = rng.random(n) < 0.4
    return pd.DataFrame(X, columns=NAMES), pd.Series(np.where(y, "yes", "no"), name="ill")


def write(path, X, y):
    X.assign(ill=y).to_csv(path, index=False)
    return path


@pytest.fixture
def shards(tmp_path):
    """All rows, and three shards of them, as CSV files."""
    X, y = table()
    write(tmp_path / "all.csv", X, y)
    for name, rows in {"a": slice(0, 200), "b": slice(200, 350), "c": slice(350, 600)}.items():
        write(tmp_path / f"{name}.csv", X[rows], y[rows])
    return tmp_path


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """A folder for the moments of the shards, which are built once."""
    return tmp_path_factory.mktemp("built")


@pytest.fixture
def built(shards, good, kept):
    for name in ("a", "b", "c", "all"):
        if not (kept / name).exists():
            build = ("moments", "build", shards / f"{name}.csv", "--target", "ill")
            good(*build, "-o", kept / name)
        shutil.copy(kept / name, shards / name)
    return shards


# ---- what moments keep -------------------------------------------------------------------


def test_effective_rows_are_rows_where_all_weigh_the_same():
    X, y = table()
    w = np.random.default_rng(0).random(len(y))
    m = ClassMoments.from_data(X, y, w)
    w_no = w[y == "no"]
    assert m.effective_rows[0] == pytest.approx(w_no.sum() ** 2 / (w_no**2).sum(), rel=1e-12)
    for equal in (1.0, 0.25):
        m = ClassMoments.from_data(X, y, np.full(len(y), equal))
        np.testing.assert_allclose(m.effective_rows, y.value_counts()[["no", "yes"]], rtol=1e-12)
        np.testing.assert_allclose(m.decay(0.3).effective_rows, m.effective_rows, rtol=1e-12)
    assert ClassMoments(classes=[0, 1]).effective_rows.tolist() == [0, 0]


@each_kind
def test_effective_rows_add(kind):
    X, y = table()
    w = np.random.default_rng(1).random(len(y))
    parts = [kind.from_data(X[i::3], y[i::3], w[i::3]) for i in range(3)]
    whole = kind.from_data(X, y, w)
    np.testing.assert_allclose(sum(parts).effective_rows, whole.effective_rows, rtol=1e-12)
    if kind is not FrequentDirections:
        rest = whole - parts[0]
        expected = (parts[1] + parts[2]).effective_rows
        np.testing.assert_allclose(rest.effective_rows, expected, rtol=1e-10)
        assert (whole - whole).effective_rows.tolist() == [0, 0]


@each_kind
def test_names_travel_with_the_file(kind, tmp_path):
    X, y = table()
    m = kind.from_data(X, y)
    m.save(tmp_path / "m")
    for again in (load_moments(tmp_path / "m"), m.copy(), kind() + m, m + kind()):
        assert type(again) is kind
        assert again == m
        assert again.feature_names == NAMES
        assert again.target_name == "ill"
        assert again.classes.tolist() == ["no", "yes"]


@each_kind
def test_features_are_put_in_order_by_name(kind):
    X, y = table()
    other = ["smokes", "dose", "age", "bmi"]
    found = kind.from_data(X, y).aligned(other)
    expected = kind.from_data(X[other], y)
    assert found.feature_names == other
    np.testing.assert_allclose(found.means, expected.means, rtol=1e-12)
    np.testing.assert_allclose(found.variances, expected.variances, rtol=1e-12)
    if kind is ClassMoments:
        np.testing.assert_allclose(found.covs, expected.covs, rtol=1e-12)
    if kind is FrequentDirections:
        gram = [np.einsum("kri,krj->kij", sketch.rows, sketch.rows) for sketch in (found, expected)]
        np.testing.assert_allclose(*gram, atol=1e-9 * np.abs(gram[0]).max())
    assert found.aligned(NAMES) == kind.from_data(X, y)


def test_only_the_same_names_can_be_put_in_order():
    X, y = table()
    m = ClassMoments.from_data(X, y)
    for names, message in (
        (["age", "bmi", "dose", "drinks"], "feature 'drinks' is missing"),
        (["age", "bmi", "dose"], "feature 'smokes' is extra"),
        ([*NAMES, "age"], "feature 'age' is named twice"),
    ):
        with pytest.raises(ValueError, match=message):
            m.aligned(names)
    with pytest.raises(ValueError, match="the features have no names"):
        ClassMoments.from_data(X.to_numpy(), y).aligned(NAMES)
    twice = ClassMoments.from_data(X.to_numpy(), y)
    twice.feature_names = ["a", "b", "a", "c"]
    with pytest.raises(ValueError, match="two features are called 'a'"):
        twice.aligned(["a", "b", "c"])


@each_kind
def test_labels_that_are_called_the_same_become_one_class(kind):
    X, _ = table()
    y = np.arange(600) % 3
    found = kind.from_data(X, y).relabelled(["rest", "two", "rest"])
    expected = kind.from_data(X, np.where(y == 1, "two", "rest"))
    assert found.classes.tolist() == ["rest", "two"]
    np.testing.assert_array_equal(found.counts, expected.counts)
    np.testing.assert_allclose(found.means, expected.means, rtol=1e-12)
    np.testing.assert_allclose(found.variances, expected.variances, rtol=1e-10)


def test_labels_of_two_kinds_do_not_add():
    X, y = table()
    m = ClassMoments.from_data(X, y)
    message = "labels differ in type: 'no' and 0; give all of them as numbers, or all as text"
    with pytest.raises(ValueError, match=message):
        m + ClassMoments.from_data(X, np.arange(600) % 2)


# ---- small counts ------------------------------------------------------------------------


def test_few_rows_are_found():
    X, y = table()
    numbers = X[NAMES[:3]]
    assert disclosures(ClassMoments.from_data(X, y)) == []
    one = ClassMoments.from_data(numbers[:20], ["no"] * 19 + ["yes"])
    assert [each.words for each in disclosures(one)] == ["class 'yes' has 1 effective row"]
    assert disclosures(one, 1) == []
    assert disclosures(ClassMoments(classes=[0, 1])) == []
    w = np.ones(600)
    w[np.flatnonzero(y == "yes")[0]] = 1e6  # the mean is nearly that row
    heavy = ClassMoments.from_data(numbers, y, w)
    assert [each.words for each in disclosures(heavy)] == ["class 'yes' has 1 effective row"]


@pytest.mark.parametrize("value", [0, 1])
def test_a_rare_value_is_found_which_covariances_would_tell(value):
    X, y = table()
    X["smokes"] = 1.0 - value
    X.loc[np.flatnonzero(y == "yes")[:2], "smokes"] = value
    m = ClassMoments.from_data(X, y)
    k, rows = 1, (X["smokes"] == value) & (y == "yes")
    # that is what there is to find: the mean of these two rows follows from the covariances
    share = rows.sum() / m.counts[k]
    sign = 1 if value else -1
    shown = m.means[k, 0] + sign * m.covs[k, 3, 0] / share
    assert shown == pytest.approx(X["age"][rows].mean(), rel=1e-9)
    assert [each.words for each in disclosures(m)] == [
        f"feature 'smokes' is {value} in only 2 rows of class 'yes'"
    ]
    assert disclosures(DiagonalMoments.from_data(X, y)) == []
    m.feature_names = None
    assert disclosures(m)[0].words.startswith("feature number 4 is")


# ---- the command -------------------------------------------------------------------------


def test_merged_moments_give_the_model_of_all_rows(built, good):
    good("moments", "merge", built / "a", built / "b", built / "c", "-o", built / "abc")
    whole, parts = ClassMoments.load(built / "all"), ClassMoments.load(built / "abc")
    np.testing.assert_allclose(parts.covs, whole.covs, rtol=1e-10, atol=1e-12)
    settings = ("--alpha", 0.01, "--standardize", 1, "--l1-ratio", 0.1, "--within", 0.3)
    settings = (*settings, "--tol", 1e-14)
    out = good("moments", "fit", built / "abc", "-o", built / "m", *settings, "--json")
    good("train", built / "all.csv", "--target", "ill", "-o", built / "t", *settings)
    merged, pooled = load(built / "m"), load(built / "t")
    np.testing.assert_allclose(merged.coef_, pooled.coef_, rtol=1e-10)
    np.testing.assert_allclose(merged.intercept_, pooled.intercept_, rtol=1e-10)
    for name in ("classes_", "feature_names_in_"):
        assert getattr(merged, name).tolist() == getattr(pooled, name).tolist()
    assert merged.target_name_ == pooled.target_name_ == "ill"
    report = json.loads(out)
    assert (report["positive"], report["negative"], report["features"]) == ("yes", "no", 4)
    assert report["alpha"] == 0.01
    X, y = table()
    auc, known = metrics.roc_auc(y == "yes", merged.decision_function(X)), report["auc"]
    assert known["at_least"] < auc < known["at_most"] == 1.0
    assert known["if_normal"] == pytest.approx(auc, abs=0.03)
    # and it is a model like any other
    assert json.loads(good("evaluate", built / "m", built / "all.csv", "--json"))


def test_files_of_sites_choose_the_settings(built, good):
    files = [built / name for name in "abc"]
    report = json.loads(good("moments", "fit", *files, "-o", built / "m", "--json"))
    model = load(built / "m")
    X, y = table()
    parts = [slice(0, 200), slice(200, 350), slice(350, 600)]
    sites = {
        str(file): ClassMoments.from_data(X[i], y[i]) for file, i in zip(files, parts, strict=True)
    }
    tuned = tune_on_sites(sites)
    assert model.get_params() == tuned.model.get_params()
    np.testing.assert_allclose(model.coef_, tuned.model.coef_, rtol=1e-9)
    assert report["held_out_loss"] == pytest.approx(tuned.loss, rel=1e-9)
    assert report["held_out_auc"]["at_least"] == pytest.approx(tuned.auc.low, rel=1e-9)
    assert [one["site"] for one in report["sites"]] == list(sites)
    for shown, one in zip(report["sites"], tuned.sites, strict=True):
        assert (shown["rows"], shown["positives"]) == (one.rows, one.positives)
        assert shown["held_out_loss"] == pytest.approx(one.loss, rel=1e-9)
        assert shown["held_out_auc"]["if_normal"] == pytest.approx(one.auc.binormal, rel=1e-9)
    # and the model is that of the merged file with these settings
    good("moments", "merge", *files, "-o", built / "abc")
    names = ("alpha", "standardize", "within", "l1_ratio")
    chosen = itertools.chain(*((f"--{name.replace('_', '-')}", report[name]) for name in names))
    good("moments", "fit", built / "abc", *chosen, "-o", built / "merged")
    np.testing.assert_array_equal(load(built / "merged").coef_, model.coef_)
    X, y = table()
    auc = metrics.roc_auc(y == "yes", model.decision_function(X))
    assert report["auc"]["at_least"] < auc
    assert model.feature_names_in_.tolist() == NAMES


def test_settings_that_are_given_are_not_chosen(built, good):
    fit = ("moments", "fit", *(built / name for name in "abc"), "-o", built / "m", "--json")
    settings = {"alpha": 0.02, "standardize": 0.7, "within": 0.3, "l1_ratio": 0.2}
    for some in (["alpha"], ["within", "l1_ratio"], list(settings)):
        flags = itertools.chain(*((f"--{s.replace('_', '-')}", settings[s]) for s in some))
        report = json.loads(good(*fit, *flags))
        assert {name: report[name] for name in some} == {name: settings[name] for name in some}
        assert (report["settings_tried"] == 1) == (len(some) == 4)
        assert load(built / "m").get_params()["alpha"] == report["alpha"]


def test_one_file_has_no_sites(built, good):
    fit = ("moments", "fit", built / "all", "-o", built / "m")
    why = "one file has no sites to leave out; give the file of each site, or --alpha"
    assert why in " ".join(good(*fit).split())
    assert json.loads(good(*fit, "--json"))["alpha"] == AUCClassifier().alpha
    assert "no sites" not in good(*fit, "--alpha", 0.01)


def test_what_is_no_site_is_refused(built, good, bad):
    fit = ("moments", "fit", built / "a", "-o", built / "m")
    assert f"{built / 'a'}: is given twice; give each site once" in bad(*fit, built / "a")
    shutil.copy(built / "a", built / "copy")
    assert f"{built / 'copy'}: has the same moments as {built / 'a'}" in bad(*fit, built / "copy")
    X, y = table()
    write(built / "well.csv", X[y == "no"], y[y == "no"])
    good("moments", "build", built / "well.csv", "--target", "ill", "-o", built / "well")
    message = bad(*fit, built / "well")
    assert f"only {built / 'a'} has rows of both classes" in message
    assert "merge all and give --alpha." in message
    out = good(*fit, built / "well", built / "b")
    assert "-: lacks a class, so it is used for training only" in " ".join(out.split())
    for name in "ab":
        diagonal = ("--covariance", "diagonal", "-o", built / f"d{name}")
        good("moments", "build", built / f"{name}.csv", "--target", "ill", *diagonal)
    message = bad("moments", "fit", built / "da", built / "db", "-o", built / "n")
    assert f"{built / 'da'}: has no covariances" in message
    write(built / "moved.csv", X[NAMES[::-1]], y)
    good("moments", "build", built / "moved.csv", "--target", "ill", "-o", built / "moved")
    message = bad(*fit, built / "moved")
    assert "feature names differ: expected 'age', got 'smokes'" in message
    assert "--align" in message
    good(*fit, built / "moved", "--align")
    assert load(built / "m").feature_names_in_.tolist() == NAMES


def test_private_sites_have_no_estimates(shards, good):
    build = ("--labels", "no,yes", "--bounds", -100, 100, "--epsilon", 5, "--delta", 1e-6)
    for name in "ab":
        file = shards / f"{name}.csv"
        good("moments", "build", file, "--target", "ill", *build, "-o", shards / name)
    fit = ("moments", "fit", shards / "a", shards / "b", "-o", shards / "m")
    report = json.loads(good(*fit, "--json"))
    assert (report["held_out_auc"], report["auc"], report["within"]) == (None, None, 0.5)
    text = " ".join(good(*fit).split())
    assert "Private moments: their noise makes losses too large, and AUCs unknown" in text
    assert "if normal" not in text


def test_several_files_are_built_into_one(shards, good):
    files = [shards / f"{name}.csv" for name in "abc"]
    good("moments", "build", *files, "--target", "ill", "-o", shards / "m")
    X, y = table()
    expected = ClassMoments.from_data(X, y)
    found = ClassMoments.load(shards / "m")
    np.testing.assert_array_equal(found.counts, expected.counts)
    np.testing.assert_allclose(found.covs, expected.covs, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("suffix", ["csv", "parquet", "svm"])
@pytest.mark.parametrize("private", [False, True])
def test_large_files_are_read_in_parts(tmp_path, good, monkeypatch, suffix, private):
    """Rows are counted as they come: never all of them at once."""
    monkeypatch.setattr(Plan, "part_bytes", 8000)
    X, y = table()
    X["last"] = np.arange(600) < 20  # later parts of an svmlight file do not have it
    path, more = tmp_path / f"x.{suffix}", ["--target", "ill"]
    if suffix == "svm":
        numbers = (y == "yes").astype(int)
        dump_svmlight_file(X.to_numpy(float), numbers, str(path), zero_based=False)
        more = ["--features", 5] if private else []
        X, y = X.to_numpy(float), numbers.to_numpy()
    elif suffix == "csv":
        write(path, X, y)
    else:
        X.assign(ill=y).to_parquet(path, row_group_size=100)
    expected, rows = ClassMoments.from_data(X, y), []
    kind = BoundedSums if private else ClassMoments
    update = kind.update

    def counting(self, X, y, *weight):
        rows.append(len(y))
        return update(self, X, y, *weight)

    monkeypatch.setattr(kind, "update", counting)
    if private:
        labels = ",".join(map(str, np.unique(y)))
        more += ["--epsilon", 1e9, "--labels", labels, "--bounds", -200, 200]
    good("moments", "build", path, *more, "--min-rows", 1, "-o", tmp_path / "m")
    assert sum(rows) == 600
    assert max(rows) < 300
    found = ClassMoments.load(tmp_path / "m")
    near = {"rtol": 1e-2, "atol": 1e-2} if private else {"rtol": 1e-10, "atol": 1e-12}
    np.testing.assert_array_equal(found.counts, expected.counts)
    np.testing.assert_allclose(found.covs, expected.covs, **near)
    assert found.feature_names == expected.feature_names
    assert found.classes.tolist() == expected.classes.tolist()


def test_a_part_is_taken_out_again(built, good):
    good("moments", "subtract", built / "all", built / "c", "-o", built / "ab")
    good("moments", "merge", built / "a", built / "b", "-o", built / "sum")
    one, other = ClassMoments.load(built / "ab"), ClassMoments.load(built / "sum")
    np.testing.assert_allclose(one.covs, other.covs, rtol=1e-9, atol=1e-10)
    np.testing.assert_array_equal(one.counts, other.counts)


def test_other_names_or_another_order_are_refused(shards, good, bad):
    X, y = table()
    build = ("moments", "build", "--target", "ill")
    good(*build, shards / "a.csv", "-o", shards / "a")
    moved = write(shards / "moved.csv", X[["age", "dose", "bmi", "smokes"]], y)
    good(*build, moved, "-o", shards / "moved")
    other = write(shards / "other.csv", X.rename(columns={"bmi": "BMI"}), y)
    good(*build, other, "-o", shards / "other")
    merge = ("moments", "merge", shards / "a", "-o", shards / "sum")
    message = bad(*merge, shards / "moved")
    assert f"{shards / 'moved'}: feature names differ: expected 'bmi', got 'dose'" in message
    assert "--align" in message
    message = bad(*merge, shards / "other")
    assert "feature names differ: expected 'bmi', got 'BMI'" in message
    assert "--align" not in message
    assert "feature 'bmi' is missing" in bad(*merge, shards / "other", "--align")
    assert not (shards / "sum").exists()
    good(*merge, shards / "moved", "--align")
    expected = ClassMoments.from_data(X[:200], y[:200]) + ClassMoments.from_data(X, y)
    found = ClassMoments.load(shards / "sum")
    assert found.feature_names == NAMES
    np.testing.assert_allclose(found.covs, expected.covs, rtol=1e-10, atol=1e-12)
    # also of the files of one call, and in a difference
    assert "got 'dose'" in bad(*build, shards / "a.csv", moved, "-o", shards / "two")
    good(*build, shards / "a.csv", moved, "--align", "-o", shards / "two")
    subtract = ("moments", "subtract", shards / "sum", shards / "moved", "-o", shards / "rest")
    assert "--align" in bad(*subtract)
    good(*subtract, "--align")


def test_names_on_one_side_only_are_refused(built, good, bad):
    X, y = table()
    labels = (y == "yes").astype(int)
    dump_svmlight_file(X.to_numpy(), labels, str(built / "d.svm"), zero_based=False)
    good("moments", "build", built / "d.svm", "-o", built / "d")
    message = bad("moments", "merge", built / "a", built / "d", "-o", built / "sum")
    assert "its features have no names, but the others have some" in message


def test_svmlight_files_may_lack_the_last_features(tmp_path, good):
    moments = []
    for name, d in (("a", 3), ("b", 5), ("c", 4)):
        rng = np.random.default_rng(d)
        X, y = rng.normal(size=(60, d)), np.arange(60) % 2
        dump_svmlight_file(X, y, str(tmp_path / name), zero_based=False)
        moments.append(ClassMoments.from_data(X, y).widened(5))
    good("moments", "build", *(tmp_path / name for name in "abc"), "-o", tmp_path / "m")
    np.testing.assert_allclose(ClassMoments.load(tmp_path / "m").covs, sum(moments).covs, atol=1e-9)
    good("moments", "build", tmp_path / "a", "--features", 7, "-o", tmp_path / "m")
    assert ClassMoments.load(tmp_path / "m").n_features == 7


def test_large_files_are_read_in_parts_as_a_model_takes_them(tmp_path, good, monkeypatch):
    rng = np.random.default_rng(0)
    colours = rng.choice(["red", "green", "blue"], 800)
    gaps = rng.choice(["", "1.5", "2.25", "-3"], 800)
    y = np.where(rng.random(800) < 0.4, "yes", "no")
    rows = zip(rng.normal(size=800).round(3), colours, gaps, y, strict=True)
    lines = ["size,colour,gap,ill", *(",".join(map(str, row)) for row in rows)]
    (tmp_path / "first.csv").write_text("\n".join(lines[:300]))
    (tmp_path / "all.csv").write_text("\n".join(lines))
    model = tmp_path / "model"
    good("train", tmp_path / "first.csv", "--target", "ill", "--one-hot", "--impute", "-o", model)
    build = ("moments", "build", tmp_path / "all.csv", "--like", model, "-o")
    good(*build, tmp_path / "whole")
    monkeypatch.setattr(Plan, "part_bytes", 3000)
    update, sizes = ClassMoments.update, []

    def counting(self, X, y, *weight):
        sizes.append(len(y))
        return update(self, X, y, *weight)

    monkeypatch.setattr(ClassMoments, "update", counting)
    good(*build, tmp_path / "parts")
    assert sum(sizes) == 800
    assert max(sizes) < 300
    whole, parts = (ClassMoments.load(tmp_path / name) for name in ("whole", "parts"))
    assert parts.feature_names == whole.feature_names
    assert parts.classes.tolist() == whole.classes.tolist()
    np.testing.assert_array_equal(parts.counts, whole.counts)
    np.testing.assert_allclose(parts.covs, whole.covs, rtol=1e-10, atol=1e-12)


def test_memory_sets_the_size_of_the_parts(tmp_path, good, bad, monkeypatch):
    update, sizes = ClassMoments.update, []

    def counting(self, X, y, *weight):
        sizes.append(len(y))
        return update(self, X, y, *weight)

    monkeypatch.setattr(ClassMoments, "update", counting)
    X, y = table(n=40_000)
    X = X.round(2)
    X["smokes"] = np.where(X["smokes"] > 0, "often", "never")
    build = ("moments", "build", write(tmp_path / "x.csv", X, y), "--target", "ill", "-o")
    good(*build, tmp_path / "whole")
    assert sizes == [40_000]
    good(*build, tmp_path / "parts", "--memory", "1MB")
    assert len(sizes) > 2  # of 1 MB, the smallest
    whole, parts = (ClassMoments.load(tmp_path / name) for name in ("whole", "parts"))
    assert parts.steps == whole.steps
    np.testing.assert_allclose(parts.covs, whole.covs, rtol=1e-9, atol=1e-12)
    assert "give a size of 1MB or more" in bad(*build, tmp_path / "parts", "--memory", "1KB")


def test_small_counts_are_refused(shards, good, bad):
    X, y = table()
    few = write(shards / "few.csv", X[:12], ["no"] * 9 + ["yes"] * 3)
    build = ("moments", "build", few, "--target", "ill", "--drop", "smokes", "-o", shards / "few")
    message = bad(*build)
    both = "class 'no' has 9 effective rows; class 'yes' has 3 effective rows, fewer than 10"
    assert f"{both}, and the file could reveal a row" in message
    assert "or allow all with --min-rows 3." in message
    assert not (shards / "few").exists()
    good(*build, "--min-rows", 3)
    # nor may a difference leave so few
    build = ("moments", "build", "--target", "ill", "--drop", "smokes", "-o")
    good(*build, shards / "all", shards / "all.csv")
    write(shards / "most.csv", X[5:], y[5:])
    good(*build, shards / "most", shards / "most.csv")
    subtract = ("moments", "subtract", shards / "all", shards / "most", "-o", shards / "rest")
    assert "effective rows, fewer than 10" in bad(*subtract)
    good(*subtract, "--min-rows", 1)


def test_which_label_is_positive_is_said_when_fitting(tmp_path, good, bad):
    X, _ = table()
    y = np.array(["a", "b", "c"])[np.arange(600) % 3]
    write(tmp_path / "x.csv", X, y)
    good("moments", "build", tmp_path / "x.csv", "--target", "ill", "-o", tmp_path / "m")
    fit = ("moments", "fit", tmp_path / "m", "-o", tmp_path / "model")
    message = bad(*fit)
    assert "has 3 labels (a, b, c)" in message
    assert "--positive" in message
    assert "z" in bad(*fit, "--positive", "z")
    good(*fit, "--positive", "b", "--alpha", 1e-3)
    train = ("train", tmp_path / "x.csv", "--target", "ill", "-o", tmp_path / "t")
    good(*train, "--positive", "b", "--alpha", 1e-3)
    one, other = load(tmp_path / "model"), load(tmp_path / "t")
    assert one.classes_.tolist() == other.classes_.tolist() == ["not b", "b"]
    np.testing.assert_allclose(one.coef_, other.coef_, rtol=1e-9)


def test_new_labels_bring_a_warning(built, good, run):
    X, y = table()
    write(built / "d.csv", X, y.map({"yes": "ill", "no": "well"}))
    good("moments", "build", built / "d.csv", "--target", "ill", "-o", built / "d")
    code, _, err = run("moments", "merge", built / "a", built / "d", "-o", built / "sum")
    assert code == 0
    assert "warning" in err
    assert "is new: no earlier file has it" in err


def test_labels_of_sites_that_differ_in_case_are_one(built, good, run):
    X, y = table(200)
    write(built / "d.csv", X, y.map({"yes": "Yes", "no": "no"}))
    good("moments", "build", built / "d.csv", "--target", "ill", "-o", built / "d")
    fit = ("moments", "fit", built / "a", built / "d", "--positive", "yes", "-o", built / "model")
    code, out, err = run(*fit, "--json")
    assert code == 0
    assert "note: " in err
    assert "the label 'Yes' is taken as 'yes'" in err
    assert [site["positives"] for site in json.loads(out)["sites"]][1] == (y == "yes").sum()

    code, out, err = run(*fit[:2], built / "d", built / "a", *fit[4:])  # the first decides
    assert code == 0
    assert "positive       Yes, against no" in out


def test_a_merged_file_is_told_as_one_site(built, good, run):
    good("moments", "merge", built / "a", built / "b", "-o", built / "ab")
    good("moments", "merge", built / "ab", built / "all", "-o", built / "three")
    good("moments", "subtract", built / "three", built / "all", "-o", built / "rest")
    for name, count in {"ab": 2, "three": 3, "rest": 2}.items():
        code, _, err = run("moments", "fit", built / name, built / "c", "-o", built / "model")
        assert code == 0
        note = f"note: {built / name}: was merged from {count} files, which are left out as one"
        assert note in " ".join(err.split())
        assert "c: " not in err
    assert "merged" not in run("moments", "fit", built / "ab", "-o", built / "model")[2]


def test_text_and_gaps_are_taken_as_a_model_takes_them(tmp_path, good, bad):
    X, y = table()
    X["town"] = np.array(["Ulm", "Bonn", "Kiel"])[np.arange(600) % 3]
    X.loc[::4, "bmi"] = np.nan
    paths = [
        write(tmp_path / f"{i}.csv", X[rows], y[rows])
        for i, rows in enumerate((slice(None), slice(0, 300), slice(300, 600)))
    ]
    model, build = tmp_path / "model", ("moments", "build", "--target", "ill")
    train = ("train", paths[0], "--target", "ill", "--impute", "--one-hot", "--alpha", 1e-3)
    good(*train, "-o", model)
    message = bad(*build, paths[1], "--no-prepare", "-o", tmp_path / "m")
    assert "town" in message
    for i in (1, 2):
        good(*build, paths[i], "--like", model, "-o", tmp_path / f"m{i}")
    good("moments", "merge", tmp_path / "m1", tmp_path / "m2", "-o", tmp_path / "m")
    fit = ("moments", "fit", tmp_path / "m", "--alpha", 1e-3, "-o", tmp_path / "fitted")
    good(*fit, "--like", model)
    one, other = load(model), load(tmp_path / "fitted")
    np.testing.assert_allclose(other[-1].coef_, one[-1].coef_, rtol=1e-9)
    assert good("score", tmp_path / "fitted", paths[0]).count("\n") == 601
    # of sites, too
    settings = ("--alpha", 1e-3, "--standardize", 0.5, "--within", 0.5)
    sites = ("moments", "fit", tmp_path / "m1", tmp_path / "m2", "-o", tmp_path / "sites")
    good(*sites, *settings, "--like", model)
    np.testing.assert_array_equal(load(tmp_path / "sites")[-1].coef_, other[-1].coef_)
    assert good("score", tmp_path / "sites", paths[0]) == good(
        "score", tmp_path / "fitted", paths[0]
    )
    plain = write(tmp_path / "plain.csv", *table())
    good(*build, plain, "-o", tmp_path / "p")
    message = bad("moments", "fit", tmp_path / "p", "--like", model, "-o", tmp_path / "fitted")
    assert "its steps give other features than the moments have" in message


def test_variances_alone_make_small_files(shards, good):
    build = ("moments", "build", shards / "all.csv", "--target", "ill", "-o", shards / "m")
    good(*build, "--covariance", "diagonal")
    assert type(load_moments(shards / "m")) is DiagonalMoments
    assert "(diagonal)" in good("moments", "show", shards / "m")
    good("moments", "fit", shards / "m", "-o", shards / "model", "--alpha", 0.1)
    X, y = table()
    expected = AUCClassifier(0.1, solver="exact").fit_moments(DiagonalMoments.from_data(X, y))
    np.testing.assert_allclose(load(shards / "model").coef_, expected.coef_, rtol=1e-9)


def test_show_lists_what_tells_the_classes_apart(built, good):
    report = json.loads(good("moments", "show", built / "all", "--top", 2, "--json"))
    X, y = table()
    F = X.groupby(y).mean()
    assert [one["feature"] for one in report["largest"]] == ["age", "dose"]
    np.testing.assert_allclose(report["largest"][0]["means"], F["age"], rtol=1e-12)
    total = X["age"].var(ddof=0)
    within = X["age"].groupby(y).var(ddof=0) @ y.value_counts()[["no", "yes"]] / 600
    assert report["largest"][0]["between"] == pytest.approx(1 - within / total, rel=1e-9)
    assert report["feature_names"] == NAMES
    assert [one["weight"] for one in report["classes"]] == y.value_counts()[["no", "yes"]].tolist()
    z = X["age"].to_numpy()
    known = report["largest"][0]["auc"]
    assert known["at_least"] < metrics.roc_auc(y == "yes", z) < known["at_most"]
    out = good("moments", "show", built / "all")
    for words in ("target", "between", "AUC if normal", "AUC, bound", "or more", "yes first"):
        assert words in out


def test_weights_count(shards, good):
    X, y = table()
    w = np.random.default_rng(0).integers(1, 4, 600)
    write(shards / "w.csv", X.assign(times=w), y)
    build = ("moments", "build", shards / "w.csv", "--target", "ill", "--weight", "times")
    good(*build, "-o", shards / "w")
    expected = ClassMoments.from_data(X, y, w)
    np.testing.assert_allclose(ClassMoments.load(shards / "w").covs, expected.covs, rtol=1e-12)
    assert "effective rows" in good("moments", "show", shards / "w")


def test_covariances_that_would_not_fit_are_refused(tmp_path, good, bad):
    lines = [f"{k % 3} 1:{k} 20000:1\n" for k in range(60)]
    (tmp_path / "wide.svm").write_text("".join(lines))
    build = ("moments", "build", tmp_path / "wide.svm", "-o", tmp_path / "m")
    message = bad(*build)
    assert "the covariances of 20,000 features and 3 labels would take 9.6 GB" in message
    assert "--covariance diagonal" in message
    private = ("--epsilon", 1, "--labels", "0,1,2", "--bounds", 0, 1)
    assert "would take 9.6 GB" in bad(*build, *private, "--features", 20_000)
    good(*build, "--covariance", "diagonal")


# ---- private files -----------------------------------------------------------------------


def test_the_number_of_features_must_not_come_from_private_rows(tmp_path, good, bad):
    X, y = np.random.default_rng(0).random((60, 3)), np.arange(60) % 2
    dump_svmlight_file(X, y, str(tmp_path / "x.svm"), zero_based=False)
    private = ("--epsilon", 1, "--labels", "0,1", "--bounds", 0, 1, "-o", tmp_path / "m")
    message = bad("moments", "build", tmp_path / "x.svm", *private)
    assert "--epsilon needs --features" in message
    good("moments", "build", tmp_path / "x.svm", *private, "--features", 4)
    assert ClassMoments.load(tmp_path / "m").n_features == 4


def test_a_private_file_says_what_it_guarantees(shards, good):
    ends = pd.DataFrame({"feature": NAMES, "low": [0, 10, -5, 0], "high": [120, 60, 5, 1]})
    ends.iloc[::-1].to_csv(shards / "bounds.csv", index=False)  # in any order
    build = ("moments", "build", shards / "a.csv", shards / "b.csv", "--target", "ill")
    private = (*build, "--labels", "no,yes", "--bounds-file", shards / "bounds.csv")
    out = good(*private, "--epsilon", 2, "--delta", 1e-6, "-o", shards / "p")
    assert "(2, 1e-06)-differentially private for one row more or less" in " ".join(out.split())
    held = ClassMoments.load(shards / "p")
    assert held.guarantee["epsilon"] == 2
    assert held.feature_names == NAMES
    good(*private, "--epsilon", 1e9, "-o", shards / "q")
    expected = ClassMoments.from_data(*(part[:350] for part in table()))
    found = ClassMoments.load(shards / "q")
    np.testing.assert_array_equal(found.counts, expected.counts)
    np.testing.assert_allclose(found.means, expected.means, rtol=1e-3, atol=1e-3)
    good("moments", "fit", shards / "p", "-o", shards / "model")


def test_private_files_say_what_is_left_of_their_guarantees(shards, good):
    options = ("--target", "ill", "--labels", "no,yes", "--bounds", 0, 120)
    for name, epsilon in (("a", 5000), ("b", 3000)):
        rows = shards / f"{name}.csv"
        good("moments", "build", rows, *options, "--epsilon", epsilon, "-o", shards / f"p{name}")
    files = [shards / "pa", shards / "pb"]
    out = good("moments", "merge", *files, "-o", shards / "pall")
    assert "5000-differentially private" in out
    out = good("moments", "subtract", shards / "pall", files[1], "-o", shards / "prest")
    assert "8000-differentially private" in out
    assert ClassMoments.load(shards / "prest").guarantee["epsilon"] == 8000


def test_what_a_private_file_needs(shards, bad):
    build = ("moments", "build", shards / "a.csv", "--target", "ill", "-o", shards / "p")
    needs = "--epsilon needs facts that do not come from the rows"
    assert needs in bad(*build, "--epsilon", 1)
    assert needs in bad(*build, "--epsilon", 1, "--bounds", 0, 1)
    both = ("--bounds", 0, 1, "--bounds-file", shards / "b.csv", "--labels", "no,yes")
    assert needs in bad(*build, "--epsilon", 1, *both)
    assert "--bounds is for a private release" in bad(*build, "--bounds", 0, 1)
    some = ("--epsilon", 1, "--labels", "no,yes")
    assert "without weights" in bad(*build, *some, "--bounds", 0, 1, "--weight", "age")
    assert "label 'yes', which is not" in bad(
        *build, "--epsilon", 1, "--labels", "no,maybe", "--bounds", 0, 1
    )
    assert "--epsilon must be a number" in bad(
        *build, "--epsilon", -1, "--labels", "no,yes", "--bounds", -1, 1
    )
    (shards / "x.csv").write_text("feature,low,high\nage,0,1\n")
    message = bad(*build, *some, "--bounds-file", shards / "x.csv")
    assert "has no bounds of feature 'bmi'" in message
    (shards / "x.csv").write_text("feature,low,high\nage,0\n")
    assert "x.csv, line 2: must be" in bad(*build, *some, "--bounds-file", shards / "x.csv")
    (shards / "x.csv").write_text("name,low,high\n")
    message = bad(*build, *some, "--bounds-file", shards / "x.csv")
    assert "the first line must be: feature,low,high" in message


@pytest.mark.skipif(not os.path.exists("/dev/zero"), reason="there is no /dev/zero")
def test_bounds_without_an_end_are_refused(shards, bad):
    some = ("--target", "ill", "-o", shards / "p", "--epsilon", 1, "--labels", "no,yes")
    build = ("moments", "build", shards / "a.csv", *some, "--bounds-file")
    assert "/dev/zero: not a regular file" in bad(*build, "/dev/zero")
    (shards / "x.csv").write_bytes(b"feature,low,high\n" + bytes(1_000_000))
    assert "x.csv, line 2: must be" in bad(*build, shards / "x.csv")
    (shards / "x.csv").write_bytes(b"\xff" * 10)
    assert "the first line must be" in bad(*build, shards / "x.csv")


def test_what_is_no_file_of_moments(built, bad):
    assert "not an aucmax moments file" in bad("moments", "show", built / "a.csv")
    assert "cannot be read (No such file" in bad("moments", "fit", built / "none", "-o", "m")
    fit = bad("moments", "fit", built / "a", "-o", built / "a")
    assert "is the file of both --out and MOMENTS" in fit


@pytest.mark.parametrize(
    "change",
    [
        {"guarantee": {}},
        {"guarantee": {"epsilon": "1"}},
        {"guarantee": [1.0]},
        {"target_name": 3},
        {"feature_names": ["a"]},
    ],
)
def test_what_a_file_says_of_itself_is_checked(built, bad, change):
    head, _, arrays = unpack(built / "a", "moments").partition(b"\n")
    pack(built / "a", "moments", json.dumps(json.loads(head) | change).encode() + b"\n" + arrays)
    assert "not a readable moments file" in bad("moments", "show", built / "a")


# ---- tables as they come


def visits(n: int, seed: int) -> pd.DataFrame:
    """Return a table with words, gaps, yes and no, dates, amounts and ids, as people write them."""
    rng = np.random.default_rng(seed)
    age, fee = rng.normal(50, 9, n).round(1), rng.lognormal(8, 1, n).round(2)
    town = rng.choice(["Ulm", "Bonn", "Kiel"], n)
    day = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 200, n), "D")
    smokes = rng.choice(["yes", "no"], n)
    ill = age + 9 * (town == "Ulm") + 5 * (smokes == "yes") + rng.normal(0, 9, n) > 58
    table = pd.DataFrame({
        "visit": [f"V{seed}-{i:05d}" for i in range(n)],
        "age": np.where(np.arange(n) % 9 == 4, "", age.astype(str)),
        "town": np.where(np.arange(n) % 11 == 5, "n/a", town),
        "smokes": smokes,
        "fee": [f"{one:,.2f} EUR" for one in fee],
        "day": day.strftime("%d.%m.%Y"),
        "ill": np.where(ill, "yes", "no"),
    })  # fmt: skip
    return table.astype(str)


def by_hand(table: pd.DataFrame, like: pd.DataFrame) -> pd.DataFrame:
    """Return the features of visits, with the median and the levels of others."""
    ages = [pd.to_numeric(one["age"].replace("", np.nan)) for one in (table, like)]
    day = pd.to_datetime(table["day"], format="%d.%m.%Y")
    out = pd.DataFrame({"age": ages[0].fillna(ages[1].median())})
    out["smokes"] = (table["smokes"] == "yes") * 1.0
    out["fee"] = table["fee"].str.removesuffix(" EUR").str.replace(",", "").astype(float)
    out["day"] = (day - pd.Timestamp(0)) / pd.Timedelta(1, "D")
    out["missingindicator_age"] = ages[0].isna() * 1.0
    for town in ("Bonn", "Kiel", "Ulm", "n/a"):
        out[f"town_{'nan' if town == 'n/a' else town}"] = (table["town"] == town) * 1.0
    for weekday in WEEKDAYS:
        out[f"day_{weekday}"] = (day.dt.day_name() == weekday) * 1.0
    return out


WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
BUILD = ("moments", "build", "--target", "ill")


@pytest.fixture
def sites(tmp_path):
    tables = {"north": visits(900, 1), "south": visits(700, 2)}
    tables["south"].loc[::50, "town"] = "Rom"
    for name, table in tables.items():
        table.to_csv(tmp_path / f"{name}.csv", index=False)
    return tmp_path, tables


@pytest.mark.parametrize("part_bytes", [8000, 1 << 26])
def test_moments_of_any_table_are_those_of_its_rows_encoded_by_hand(
    sites, good, monkeypatch, part_bytes
):
    folder, tables = sites
    monkeypatch.setattr(Plan, "part_bytes", part_bytes)
    out = good(*BUILD, folder / "north.csv", "-o", folder / "n")
    assert "read as" in out  # the amounts
    assert "left out" in out  # the ids
    assert "filled with the median" in out
    good(*BUILD, folder / "south.csv", "--like", folder / "n", "-o", folder / "s")
    parts = []
    for name in ("north", "south"):
        X = by_hand(tables[name], tables["north"])
        parts.append(ClassMoments.from_data(X, tables[name]["ill"]))
        found = ClassMoments.load(folder / name[0])
        assert found.feature_names == list(X.columns)
        np.testing.assert_array_equal(found.counts, parts[-1].counts)
        np.testing.assert_allclose(found.means, parts[-1].means, rtol=1e-12, atol=1e-12)
        scale = np.sqrt(np.einsum("kii->ki", parts[-1].covs)).max(axis=0) + 1e-300
        scaled = (found.covs - parts[-1].covs) / scale / scale[:, None]
        np.testing.assert_allclose(scaled, 0.0, atol=1e-12)
    good("moments", "merge", folder / "n", folder / "s", "-o", folder / "both")
    fit = ("moments", "fit", folder / "both", "--alpha", 1e-3, "-o", folder / "m")
    good(*fit, "--positive", "yes")
    expected = AUCClassifier(1e-3, positive="yes").fit_moments(sum(parts))
    model = load(folder / "m")
    np.testing.assert_allclose(model[-1].coef_, expected.coef_, rtol=1e-9, atol=1e-12)
    # it is an ordinary model, which takes tables as they come
    lines = good("score", folder / "m", folder / "south.csv", "--reasons", 1).splitlines()[1:]
    X = by_hand(tables["south"], tables["north"])
    scores = [float(line.split(",")[1]) for line in lines]
    np.testing.assert_allclose(scores, expected.decision_function(X), rtol=1e-9, atol=1e-9)
    assert any("town: Ulm" in line for line in lines)
    assert "town: 3 words and gaps" in " ".join(good("show", folder / "m").split())


def test_moments_tell_how_their_columns_became_features(sites, good):
    folder, _ = sites
    good(*BUILD, folder / "north.csv", "-o", folder / "n")
    assert "filled with the median" in good("moments", "show", folder / "n")
    told = json.loads(good("moments", "show", folder / "n", "--json"))["decisions"]
    assert [one["column"] for one in told] == ["age", "town", "day"]


def test_other_steps_are_refused_by_the_column(sites, good, bad):
    folder, _ = sites
    for name in ("north", "south"):
        good(*BUILD, folder / f"{name}.csv", "--drop", "town", "-o", folder / name)
    both = (folder / "north", folder / "south", "-o", folder / "both")
    message = bad("moments", "merge", *both)
    assert f"{folder / 'south'}: its column 'age' was prepared differently" in message
    assert "--like" in message
    assert "prepared differently" in bad("moments", "fit", *both)
    assert "prepared differently" in bad("moments", "subtract", *both)
    one, other = (ClassMoments.load(folder / name) for name in ("north", "south"))
    with pytest.raises(ValueError, match="with other levels, medians or knots"):
        one + other


def test_several_files_and_standard_input_learn_together(sites, good, monkeypatch):
    folder, tables = sites
    pd.concat(tables.values()).to_csv(folder / "all.csv", index=False)
    files = (folder / "north.csv", folder / "south.csv")
    more = ("--min-rows", 1, "--splines", "-o")
    good(*BUILD, *files, *more, folder / "files")
    good(*BUILD, folder / "all.csv", *more, folder / "all")
    one, other = (ClassMoments.load(folder / name) for name in ("files", "all"))
    assert one.steps == other.steps
    assert any("_sp3" in name for name in one.feature_names)
    np.testing.assert_allclose(one.means, other.means, rtol=1e-10)
    stream = io.BytesIO((folder / "all.csv").read_bytes())
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(stream))
    good(*BUILD, "-", *more, folder / "piped")
    assert ClassMoments.load(folder / "piped") == other


@pytest.mark.parametrize(
    "splines", [(), pytest.param(("--splines",), marks=pytest.mark.exhaustive)]
)
def test_rare_levels_join_other_as_if_they_were_one_word(sites, good, bad, splines):
    """A level that a class has few rows of, and a marker of few gaps, would show rows."""
    folder, tables = sites
    table = tables["north"].assign(age=tables["north"]["age"].replace("", "40.0"))
    rows = np.arange(len(table))
    table.loc[rows % 50 == 0, "town"] = "Rom"
    table.loc[rows % 60 == 1, "town"] = "Pau"
    table.loc[rows % 300 == 2, "age"] = ""
    day = pd.to_datetime(table["day"], format="%d.%m.%Y")
    table["day"] = day.where((day.dt.day_of_week != 6) | (rows < 40), day.min()).dt.strftime(
        "%d.%m.%Y"
    )
    table.to_csv(folder / "rare.csv", index=False)
    build = (*BUILD, folder / "rare.csv", *splines, "-o", folder / "m")
    told = json.loads(good(*build, "--json"))["decisions"]
    [of_town] = [one["what"] for one in told if "joined" in one["what"]]
    assert of_town.startswith("2 levels joined to 'other', so that none is 1 in fewer than 10 rows")
    assert "(--min-rows)" in of_town
    moments = ClassMoments.load(folder / "m")
    assert disclosures(moments) == []
    plain = table.assign(town=table["town"].replace(["Rom", "Pau"], "other"))
    X = by_hand(plain, plain).drop(columns="missingindicator_age")
    X.insert(X.columns.get_loc("town_nan") + 1, "town_other", (plain["town"] == "other") * 1.0)
    weekdays = {f"day_{weekday}" for weekday in WEEKDAYS}
    without = sorted(weekdays - {*moments.feature_names})
    assert "day_Sunday" in without
    of_classes = X[without].sum(axis=1).groupby(table["ill"]).sum()  # all have a weekday
    assert (of_classes >= 10).all()
    X = X.drop(columns=without)
    expected = ClassMoments.from_data(X, table["ill"])
    d = X.shape[1]
    assert moments.feature_names[:d] == list(X.columns)
    np.testing.assert_allclose(moments.means[:, :d], expected.means, rtol=1e-12, atol=1e-12)
    scale = np.sqrt(np.einsum("kii->ki", expected.covs)).max(axis=0) + 1e-300
    scaled = (moments.covs[:, :d, :d] - expected.covs) / scale / scale[:, None]
    np.testing.assert_allclose(scaled, 0.0, atol=1e-12)
    # the model of these moments prepares its columns in the same way
    good("moments", "fit", folder / "m", "--alpha", 1e-3, "-o", folder / "model")
    assert load(folder / "model")[:-1].get_feature_names_out().tolist() == moments.feature_names
    good(*build, "--min-rows", 1)
    assert {"town_Rom", "day_Sunday"} < {*ClassMoments.load(folder / "m").feature_names}
    message = bad(*BUILD, folder / "rare.csv", "--like", folder / "m", "-o", folder / "other")
    assert "feature 'town_Rom' is 1 in only" in message
    assert "--min-rows" in message
    assert "--drop" not in message  # a model needs all columns


def test_a_word_is_not_left_alone_in_other(sites, good):
    folder, tables = sites
    table = tables["north"]
    table["town"] = np.where(np.arange(len(table)) % 300 == 0, "Rom", table["town"])
    table.replace({"town": {"n/a": "Ulm"}}).to_csv(folder / "rare.csv", index=False)
    good(*BUILD, folder / "rare.csv", "-o", folder / "m")
    moments = ClassMoments.load(folder / "m")
    assert disclosures(moments) == []
    towns = [name for name in moments.feature_names if name.startswith("town")]
    assert len(towns) == 3
    assert towns[-1] == "town_other"


def test_forged_steps_are_refused(sites, good, bad):
    folder, _ = sites
    good(*BUILD, folder / "north.csv", "-o", folder / "n")
    moments = ClassMoments.load(folder / "n")
    for steps in ('"x"', "7", "[7]", '[{"class":"tuple","has":["a",{}]}]', "[["):
        moments.steps = steps
        moments.save(folder / "n")
        assert "not a readable moments file" in bad("moments", "show", folder / "n"), steps


def test_labels_that_differ_only_in_case_are_one(sites, good):
    """In a file, and in those of sites that spell them otherwise; not with --no-prepare."""
    folder, tables = sites
    spelt = [["yes", "Yes", "YES"], ["YES"]]
    for (name, table), words in zip(tables.items(), spelt, strict=True):
        rng = np.random.default_rng(0)
        yes = table["ill"] == "yes"
        table["ill"] = np.where(yes, rng.choice(words, len(table)), "no")
        table.to_csv(folder / f"{name}.csv", index=False)
    good(*BUILD, folder / "north.csv", "-o", folder / "n")
    north = ClassMoments.load(folder / "n")
    ill = tables["north"]["ill"].str.lower() == "yes"
    assert sorted(label.lower() for label in north.classes.tolist()) == ["no", "yes"]
    assert sorted(north.counts.tolist()) == sorted([ill.sum(), (~ill).sum()])
    good(*BUILD, folder / "south.csv", "--like", folder / "n", "-o", folder / "s")
    good("moments", "merge", folder / "n", folder / "s", "-o", folder / "both")
    assert ClassMoments.load(folder / "both").classes.tolist() == north.classes.tolist()
    apart = tables["north"].assign(age=30.0)[["age", "ill"]]
    apart["age"] += np.arange(len(apart)) % 7
    apart.to_csv(folder / "apart.csv", index=False)
    good(*BUILD, folder / "apart.csv", "--no-prepare", "--min-rows", 1, "-o", folder / "a")
    assert len(ClassMoments.load(folder / "a").classes) == 4


def test_like_does_not_show_the_counts_of_the_other_rows(tmp_path, good):
    X, y = table()
    X.loc[::7, "age"] = np.nan
    first = write(tmp_path / "first.csv", X, y)
    rest = write(tmp_path / "rest.csv", X[:300], y[:300])
    build = ("moments", "build", "--target", "ill", "--min-rows", 1, "-o")
    assert "86 of 600 missing" in good(*build, tmp_path / "a", first)
    told = " ".join(good(*build, tmp_path / "b", rest, "--like", tmp_path / "a").split())
    assert "columns become numbers as" in told
    assert "missing" not in told
