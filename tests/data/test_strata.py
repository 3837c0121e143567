"""The strata of rows: what they are called, and what they weigh."""

import datetime

import numpy as np
import pytest

from aucmax.data.strata import Strata, digest_of, stratum_of


def digests(values):
    strata = Strata.of(np.asarray(values), len(values))
    return strata.digests[strata.code]


def test_equal_numbers_and_equal_words_are_the_same_stratum_in_any_type():
    numbers = [digests(np.array([3, 70, 3], dtype=kind)) for kind in ("i4", "u8", "f8", "O")]
    for other in numbers[1:]:
        np.testing.assert_array_equal(other, numbers[0])
    words = [digests(np.array(["a", "b", "a"], dtype=kind)) for kind in ("U1", "O")]
    np.testing.assert_array_equal(*words)
    days = np.array(["2024-01-01", "2024-01-02", "2024-01-01"], dtype="M8[D]")
    np.testing.assert_array_equal(digests(days), digests(days.astype("M8[us]")))
    assert len({*numbers[0].tolist(), *words[0].tolist(), *digests(days).tolist()}) == 6


@pytest.mark.parametrize("stratum", [7, 7.0, 7.5, -3, True, "d7", "7", 2**62 + 1])
def test_the_digest_of_one_is_that_among_others(stratum):
    assert digest_of(stratum) in Strata.of([stratum, stratum], 2).digests.tolist()


@pytest.mark.parametrize(
    ("word", "stratum"),
    [("7", 7), ("-3", -3), ("0", 0), ("2024-02-29", datetime.date(2024, 2, 29)),
     *((word, word) for word in (
         "07", "-0", "+7", "7.0", "1e3", " 7", "7a", "2024-02-31", str(2**63),
     ))],
)  # fmt: skip
def test_text_names_a_stratum_as_it_is_written(word, stratum):
    assert stratum_of(word) == stratum
    assert type(stratum_of(word)) is type(stratum)
    typed = np.asarray([stratum], "M8[D]" if isinstance(stratum, datetime.date) else None)
    for kind in ("U", "O"):
        assert digest_of(word) == digests(typed)[0] == digests(np.array([word], kind))[0]


def test_numbers_too_large_for_doubles_are_told_apart():
    ids = np.array([2**60, 2**60 + 1, 2**60 + 2])
    assert len(Strata.of(ids, 3)) == 3
    assert len(Strata.of(np.array([0.25, 0.5, 2.0]), 3)) == 3


MISSING = [[1.0, np.nan], ["a", None], np.array(["NaT", "2024"], "M8[D]")]


@pytest.mark.parametrize("missing", MISSING)
def test_every_row_needs_a_stratum(missing):
    with pytest.raises(ValueError, match="strata has no value for 1 rows, the first being row"):
        Strata.of(missing, 2)


def test_there_is_one_value_for_each_row():
    with pytest.raises(ValueError, match=r"one value for each of 3 rows, shape \(3,\); got shape"):
        Strata.of([1, 2], 3)


def test_weights_sum_to_that_of_the_stratum_in_each_class():
    stratum = np.array([5, 5, 5, 2, 2, 2, 9])
    positive = np.array([1, 0, 0, 1, 1, 0, 1], bool)
    weight = np.array([2.0, 1.0, 3.0, 1.0, 1.0, 5.0, 1.0])
    for mode, omega in (("positives", [2, 2, 0]), ("pairs", [10, 8, 0]), ("strata", [1, 1, 0])):
        strata = Strata.of(stratum, 7, mode)
        compared = strata.compared(positive, weight)
        assert sorted(compared.of_stratum) == sorted(omega)
        assert compared.of_one_class == 1
        for rows in (positive, ~positive):
            sums = np.bincount(strata.code[rows], compared.of_row[rows], 3)
            np.testing.assert_allclose(sums, compared.of_stratum)
    with pytest.raises(ValueError, match="must be 'positives', 'pairs' or 'strata'; got 'rows'"):
        Strata.of(stratum, 7, "rows")
