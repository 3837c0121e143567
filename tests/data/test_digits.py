"""What is read from the bytes of many words, against a reading of one after the other."""

import csv
import io
import itertools

import numpy as np
import pyarrow as pa
import pytest

from aucmax import datasets
from aucmax.data import digits
from aucmax.data.digits import SIGNS, ends_within_quotes, signs_of
from aucmax.data.tables import arrow
from aucmax.data.tables.column import Distinct
from aucmax.data.tables.written import are_bounds, unit_of_each


@pytest.fixture
def many(monkeypatch):
    """Let compiled loops read few words, too."""
    monkeypatch.setattr(digits, "NUMBA_WORDS", 0)


def test_a_line_that_ends_within_quotes_is_seen_in_pieces_of_any_size():
    rng, with_end = np.random.default_rng(0), 0
    for _ in range(2_000):
        cells = rng.choice(
            ['"a"', '"b\n"', 'c"', "", '"""d"', '"\r"', "e,", '"f""\n g"'], rng.integers(1, 6)
        )
        text = "\n".join(["x,y", *cells, ""]).encode()
        rows = csv.reader(io.StringIO(text.decode(), newline=""))
        expected = any(set("\r\n") & set(cell) for row in rows for cell in row)
        cut, state, ends = int(rng.integers(1, len(text))), (ord("\n"), 0), False
        for piece in (text[:cut], text[cut:]):
            more, state = ends_within_quotes(np.frombuffer(piece, np.uint8), ord(","), state)
            ends |= more
        assert ends == expected, text
        with_end += expected
    assert 200 < with_end < 1_800


def test_signs_are_what_remains_of_numbers(many, monkeypatch):
    pieces = ["$", "%", "€", "£", "1", "2.5", "-", " ", "(", "kg", "\u2212", "'", "/", ";", "*"]
    words = pa.array(["".join(word) for word in itertools.product(pieces, repeat=3)] + [""])
    fast, signs = unit_of_each(words).to_pylist(), signs_of(words)
    assert {SIGNS[sign] for sign in signs[signs >= 0]} == set(SIGNS)
    monkeypatch.setattr(digits, "NUMBA_WORDS", len(words))
    assert np.all(signs_of(words) == -1)
    assert fast == unit_of_each(words).to_pylist()


def test_words_are_found_in_any_case_and_blanks():
    words = ["NA", "na ", "\u00a0Na", "", "nab", "NaN", "?", "none", "\tNULL", "ﬁ", "ÄN", "än", "x"]
    found = Distinct.of(pa.chunked_array([words])).are(("", "na", "null", "?", "än", "k"))
    stripped = [word.strip().lower() in ("", "na", "null", "?", "än", "k") for word in words]
    assert found.tolist() == stripped
    assert 6 < sum(stripped) < len(words)


def test_bounds_begin_with_their_sign():
    words = pa.array(["<1", "≤ 2", "≥3", ">=4", "1<2", "€5", "", "\u2212 6", "=7"])
    assert are_bounds(words).tolist() == [True] * 4 + [False] * 5


@pytest.mark.parametrize("cell", ['"two\nlines"', '"1,5"', '"a ""b"""'])
def test_a_large_file_with_quotes_is_read_as_a_small_one(cell, tmp_path, monkeypatch):
    path = tmp_path / "rows.csv"
    lines = [f"{k / 7:.2f},{cell if k == 190 else 'word'},{k % 2}" for k in range(200)]
    path.write_text("x,words,y\n" + "\n".join(lines) + "\n")

    def read():
        return datasets.read(path, target="y", text=True, categories=["words"]).data

    small = read()
    monkeypatch.setattr(arrow, "BLOCK_BYTES", 100)
    natives, native = [], arrow.Native.__init__

    def noted(self, *arguments, **settings):
        native(self, *arguments, **settings)
        natives.append(self)

    monkeypatch.setattr(arrow.Native, "__init__", noted)
    np.testing.assert_array_equal(read(), small)
    assert natives[-1].quoted == ("lines" in cell)
