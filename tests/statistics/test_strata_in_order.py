"""Statistics within strata of parts that are read once, cut anywhere."""

import datetime

import numpy as np
import pytest
import scipy.sparse as sp

from aucmax import AUCClassifier, ClassMoments
from aucmax.data.reading import Reading
from aucmax.data.rows.source import Source
from aucmax.data.strata import came_again
from aucmax.estimators.training import fit_in_one_pass
from aucmax.statistics.frequent_directions import FrequentDirections
from aucmax.statistics.strata_in_order import statistics_in_order


def drawn(n=240, groups=30):
    rng = np.random.default_rng(0)
    stratum = np.sort(rng.integers(0, groups, n))[::-1]  # in descending order
    y = rng.integers(0, 3, n)
    X = rng.normal(size=(n, 3)) + y[:, None] + 9.0 * rng.normal(size=(groups, 3))[stratum]
    return X, y, stratum, rng.random(n) + 0.1


def source(rows, cuts, form=np.asarray):
    parts = [slice(*ends) for ends in zip([0, *cuts], [*cuts, len(rows[1])], strict=True)]
    X, y, stratum, weight = rows
    return Source([lambda p=p: (form(X[p]), y[p], weight[p], stratum[p]) for p in parts])


@pytest.mark.parametrize("mode", ["positives", "pairs", "strata"])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("cuts", [[], [1, 2, 120, 121, 200, 200], range(1, 240)])
def test_they_are_those_of_all_rows_however_these_are_cut(cuts, form, mode):
    rows = X, y, stratum, weight = drawn()
    ours = statistics_in_order(
        source(rows, cuts, form), ClassMoments([False, True]), lambda y: y == 2, mode
    )
    theirs = ClassMoments.from_data(X, y == 2, weight, strata=stratum, strata_weight=mode)
    for name, array in theirs.kept.items():
        np.testing.assert_allclose(ours.kept[name], array, rtol=1e-9, atol=1e-11, err_msg=name)
    np.testing.assert_array_equal(ours.strata.digests, theirs.strata.digests)
    np.testing.assert_array_equal(ours.strata.rows, theirs.strata.rows)
    assert ours.strata.of_one_class == theirs.strata.of_one_class


@pytest.mark.parametrize("label", [None, 2, "2"])
def test_a_fit_in_one_pass_is_that_to_all_rows(label):
    X, y, stratum, weight = drawn()
    y = np.where(y == 2, 2, 1) if label is None else y
    parts = source((X, y, stratum, weight), [7, 100, 101])
    parts.feature_names = ["a", "b", "c"]
    model = AUCClassifier(0.01, strata_weight="pairs")
    fit_in_one_pass(model, parts, Reading(positive=label, strata="day"), "rows")
    expected = AUCClassifier(0.01, strata_weight="pairs").fit(X, y == 2, weight, strata=stratum)
    np.testing.assert_allclose(model.coef_, expected.coef_, rtol=1e-9)
    np.testing.assert_allclose(model.intercept_, expected.intercept_, rtol=1e-9)
    assert (model.strata_, model.strata_.column) == (expected.strata_, "day")
    assert parts.counts.passes[parts.stored.place] == 1
    assert model.classes_.tolist() == ([1, 2] if label is None else ["not 2", "2"])


@pytest.mark.parametrize("strata", [None, "day"])
def test_other_spellings_of_labels_are_one_in_a_pass(strata):
    X, y, stratum, weight = drawn()
    words = np.where(y == 2, "Ill", "Well")
    of_strata = () if strata is None else (stratum,)
    spelt = np.where(np.arange(len(y)) % 3, words, np.char.lower(words))
    models = []
    for labels, name in ((words, "Ill"), (spelt, "ill")):
        columns, cuts = (X, labels, weight, *of_strata), (slice(7), slice(7, 100), slice(100, None))
        loads = [lambda p=p, columns=columns: tuple(values[p] for values in columns) for p in cuts]
        parts = Source(loads, feature_names=["a", "b", "c"])
        reading = Reading(positive=name, strata=strata, prepare=True)
        models.append(AUCClassifier(0.01))
        fit_in_one_pass(models[-1], parts, reading, "rows")
    np.testing.assert_allclose(models[1].coef_, models[0].coef_, rtol=1e-9)
    assert [str(label).lower() for label in models[1].classes_] == ["well", "ill"]


def test_a_sketch_of_many_features_is_within_strata_too():
    rows = X, y, stratum, weight = drawn()
    empty = FrequentDirections(rank=3, classes=[False, True])
    ours = statistics_in_order(source(rows, [90]), empty, lambda y: y == 2, "positives")
    theirs = ClassMoments.from_data(X, y == 2, weight, strata=stratum)
    np.testing.assert_allclose(ours.means, theirs.means, rtol=1e-9)
    np.testing.assert_allclose(ours.variances, theirs.variances, rtol=1e-9)


@pytest.mark.parametrize("cuts", [[], [100], [100, 238], range(1, 240)])
def test_a_stratum_that_comes_again_is_named_with_its_row(cuts):
    X, y, stratum, weight = drawn()
    stratum = np.array([f"day {k}" for k in stratum])
    stratum[150] = stratum[3]
    with pytest.raises(ValueError, match=f"row 151: the stratum '{stratum[3]}' comes again"):
        statistics_in_order(
            source((X, y, stratum, weight), cuts),
            ClassMoments([False, True]),
            lambda y: y == 2,
            "positives",
        )


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (["no", "yes"] * 120, "name it with positive=LABEL"),
        ([0, 1, 2] * 80, r"has the labels 0, 1, 2.* name it with positive=LABEL"),
        ([1] * 240, "has 1 label"),
    ],
)
def test_the_positive_label_must_be_known(y, message):
    X, _, stratum, weight = drawn()
    parts = source((X, np.array(y), stratum, weight), [120])
    parts.feature_names = ["a", "b", "c"]
    with pytest.raises(ValueError, match=message):
        fit_in_one_pass(AUCClassifier(), parts, Reading(strata="day"), "rows")


def test_a_stratum_that_is_a_date_is_named_as_in_the_file():
    message = came_again(datetime.date(2024, 1, 13))
    assert "the stratum '2024-01-13' comes again" in message
