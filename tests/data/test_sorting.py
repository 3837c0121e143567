"""Rows by ascending score, whatever the scores are like."""

import numpy as np
import pytest

from aucmax.data.rows.sorting import ascending

rng = np.random.RandomState(0)
SCORES = {
    "none": np.zeros(0),
    "one": np.ones(1),
    "equal": np.full(50, 0.3),
    "noise": rng.randn(3000),
    "few values": np.round(rng.randn(500), 1),
    "backwards": -np.arange(700.0),
    "one far away": np.r_[rng.randn(900), 1e13],  # no digit tells the others apart
    "two far away": np.r_[1e300, rng.randn(900), -1e300],
    "clusters": np.repeat([0.0, 1.0, 1e6], 300) + 1e-9 * rng.rand(900),
    "hardly numbers": 1e-320 * rng.randint(0, 9, 400),
    "infinite": np.r_[np.inf, rng.randn(90), -np.inf],
}


@pytest.mark.parametrize("z", SCORES.values(), ids=SCORES)
def test_rows_come_by_ascending_score(z):
    rows = np.flatnonzero(np.arange(len(z)) % 3 != 1)
    for some in (rows, rows[::-1].copy(), np.arange(len(z))):
        out = ascending(z, some)
        np.testing.assert_array_equal(np.sort(out), np.sort(some))
        np.testing.assert_array_equal(z[out], np.sort(z[some]))


def test_what_is_not_a_number_still_gives_every_row_once():
    z = np.r_[np.nan, rng.randn(40), np.nan]
    np.testing.assert_array_equal(np.sort(ascending(z, np.arange(42))), np.arange(42))
