"""Digests of rows: the same in every form of the same rows, different for different rows."""

import itertools
from functools import reduce

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from aucmax.data.digests import MOST_KEPT, DigestCounts, RowDigests, Watch, copies_in, digests_of
from aucmax.data.rows.source import Source


def test_forms_of_the_same_rows_have_the_same_digests():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 12)) * (rng.random((300, 12)) < 0.4)
    wanted = digests_of(X)
    assert len(np.unique(wanted)) == len({row.tobytes() for row in X})
    stored = sp.csr_matrix(X)
    explicit = stored.copy()
    explicit.data[:5] = 0.0
    for form in (np.asfortranarray(X), stored, pd.DataFrame(X), X + 0.0, -1.0 * (-1.0 * X)):
        np.testing.assert_array_equal(digests_of(form), wanted)
    np.testing.assert_array_equal(digests_of(explicit), digests_of(explicit.toarray()))
    order = rng.permutation(300)
    np.testing.assert_array_equal(digests_of(X[order]), wanted[order])


def test_different_rows_have_different_digests():
    # small whole numbers differ in few bits
    rows = np.array(list(itertools.product(range(-3, 4), repeat=5)), dtype=float)
    assert len(np.unique(digests_of(rows))) == len(rows)
    swapped = np.array([[1.0, 2.0], [2.0, 1.0], [np.nan, 1.0], [0.0, 1.0]])
    assert len(np.unique(digests_of(swapped))) == 4


def test_words_have_digests_of_their_own():
    words = np.array(["a", "b", "a", "", None, np.nan, "?"], dtype=object)
    frame = pd.DataFrame({"x": np.zeros(7), "w": pd.Series(words, dtype=object)})
    digests = digests_of(frame)
    assert digests[0] == digests[2] != digests[1]
    assert len(np.unique(digests[3:])) == 1  # all of these are missing
    later = digests_of(frame.iloc[::-1])
    np.testing.assert_array_equal(later[::-1], digests)  # whatever stands before


@pytest.mark.parametrize("n", [50, 3 * MOST_KEPT])
def test_a_sample_of_digests_estimates_what_is_shared(n):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(n, 3))
    digests = RowDigests.of(X)
    digests.check_state()
    assert len(digests.smallest) == min(n, MOST_KEPT)
    assert (digests.rows, digests.repeated) == (n, 0.0)
    compared, shared = digests.shared_with(X)
    assert shared == compared >= min(n, MOST_KEPT)
    other = np.concatenate([X[: n // 5], rng.normal(size=(n - n // 5, 3))])
    compared, shared = digests.shared_with(other)
    assert shared / compared == pytest.approx(0.2, abs=0.03)
    assert RowDigests.of(np.concatenate([X, X[: n // 2]])).repeated == pytest.approx(2 / 3)


def test_digests_of_parts_merge_to_those_of_all_rows():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 60, (20_000, 3)).astype(float)
    parts = [DigestCounts.of(part).bounded() for part in np.array_split(X, 7)]
    merged, whole = reduce(DigestCounts.merge, parts).kept(), RowDigests.of(X)
    assert merged.rows == whole.rows
    np.testing.assert_array_equal(merged.smallest, whole.smallest)
    assert merged.repeated == pytest.approx(whole.repeated, abs=0.02)  # of those that are kept


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
def test_a_watch_takes_the_digests_of_rows_that_weigh_in_the_first_whole_pass(form):
    rng = np.random.default_rng(0)
    X, weight = rng.normal(size=(300, 3)), rng.integers(0, 2, 300).astype(float)
    parts = [*zip(map(form, np.array_split(X, 4)), np.array_split(weight, 4), strict=True)]
    source = Source([lambda part=part: (part[0], None, part[1]) for part in parts])
    source.watch = watch = Watch()
    next(iter(source))
    assert watch.counts is None
    twice = source.mapped(lambda X: 2.0 * X)
    for _ in (*twice, *source, *source):
        pass
    assert watch.counts.rows == weight.sum()
    np.testing.assert_array_equal(watch.counts.digests, np.sort(digests_of(X[weight > 0.0])))


def test_copies_are_told_from_rows_that_coincide():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 6)).round(1)
    copies = copies_in(np.concatenate([X, X[:100]]))
    assert copies.rows == 100
    assert copies.copied
    coincide = copies_in(rng.integers(0, 2, (2000, 12)).astype(float))
    assert coincide.rows > 300
    assert not coincide.copied
    assert copies_in(sp.csr_matrix(np.concatenate([X, X[:100]]))).copied
