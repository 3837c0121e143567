"""What the values of a column make for segments."""

import numpy as np
import pytest

from aucmax.data.segments import MAX_SEGMENTS, Segments


def of(values):
    return Segments.of(np.asarray(values), "age")


def test_each_of_a_few_values_is_a_segment():
    names, code = of(np.array(["b", " a", None, "b", "n/a"], dtype=object))
    assert names == ["a", "b", "missing"]
    assert code.tolist() == [1, 0, 2, 1, 2]
    names, code = of([2.0, 10.0, np.nan, 2.0, 1.5])
    assert names == ["1.5", "2", "10", "missing"]
    assert code.tolist() == [1, 2, 3, 1, 0]
    assert of([True, False]).names == ["False", "True"]
    days = np.array(["2024-01-31", "NaT", "2024-02-01"], dtype="datetime64[us]")
    assert of(days).names == ["2024-01-31", "2024-02-01", "missing"]


def test_many_numbers_and_dates_are_divided_at_their_quartiles():
    rng = np.random.default_rng(0)
    values = rng.permutation(np.arange(1000))
    names, code = of(values)
    assert names == ["0 to 249", "250 to 499", "500 to 749", "750 to 999"]
    assert (code == values // 250).all()
    # most rows have one value, which is not divided
    names, code = of(np.r_[np.zeros(700), np.arange(1, 301)])
    assert names == ["0", "1 to 50", "51 to 300"] or names[0] == "0"
    assert len(set(code[:700])) == 1
    days = np.datetime64("2024-01-01") + np.arange(40)
    assert of(days).names[0] == "2024-01-01 to 2024-01-10"


def test_of_many_words_the_most_frequent_are_segments():
    values = [f"town {k}" for k in range(20) for _ in range(20 - k)]
    names, code = of(np.array(values, dtype=object))
    assert names == [*(f"town {k}" for k in range(MAX_SEGMENTS - 1)), "13 others"]
    assert np.bincount(code).tolist() == [20, 19, 18, 17, 16, 15, 14, sum(range(1, 14))]


def test_one_value_is_no_comparison():
    with pytest.raises(ValueError, match="segments='age': all rows have the same value, 'north'"):
        of(np.array(["north", "north"], dtype=object))
