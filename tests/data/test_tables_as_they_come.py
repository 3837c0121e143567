"""What people write in tables is read as they mean it, and what was decided is told."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from aucmax import datasets
from aucmax.data.columns import Amount, Date, YesNo
from aucmax.data.dates import EXAMPLES, day_number, day_numbers
from aucmax.data.tables.written import amounts, plain_numbers

LABELS = [k % 3 == 0 for k in range(60)]


@pytest.fixture
def come(tmp_path):
    """Write a column as it comes, and return what is read."""

    def come(words, sep=",", encoding="utf-8", **arguments):
        path = tmp_path / "a.csv"
        words = [words[k % len(words)] for k in range(60)]
        rows = [f'"{word}"{sep}{label}' for word, label in zip(words, LABELS, strict=True)]
        path.write_text("\n".join([f"a{sep}y", *rows, ""]), encoding=encoding)
        return datasets.read(path, target="y", prepare=True, **arguments)

    return come


@pytest.mark.parametrize(
    ("word", "decimal", "number"),
    [
        ("1.168,53", ",", 1168.53),
        ("$59,406.58", ".", 59406.58),
        ("30,000", ".", 30000.0),
        ("12.00%", ".", 12.0),
        ("(1,234.50)", ".", -1234.5),
        ("$(1,234.50)", ".", -1234.5),
        ("(31,32) €", ",", -31.32),
        ("1'234.5", ".", 1234.5),
        ("2'273.-", ".", 2273.0),
        ("CHF 1 234,5", ",", 1234.5),
        ("12,34,567.8", ".", 1234567.8),
        ("\u22123,600.17", ".", -3600.17),
        ("123-", ".", -123.0),
        ("5 €", ",", 5.0),
        ("1.5e-3", ".", 1.5e-3),
        ("0,125", ".", np.nan),
        ("1,2,3", ".", np.nan),
        ("E11", ".", np.nan),
        ("1O.5", ".", np.nan),
        ("12 kg", ".", np.nan),
        ("", ".", np.nan),
    ],
)
def test_amounts_are_what_people_mean(word, decimal, number):
    assert amounts(pa.array([word]), decimal) == pytest.approx([number], nan_ok=True)


def test_plain_numbers_are_those_of_python():
    words = ["1", "-2.5", "+.5", "3.", "1e5", "x", "", "1,5", "0x10", "nan", " 1"]
    expected = [1.0, -2.5, 0.5, 3.0, 1e5, *[np.nan] * 6]
    np.testing.assert_array_equal(plain_numbers(pa.array(words)), expected)
    assert plain_numbers(pa.array(["1,5", "1.5"]), ",") == pytest.approx([1.5, np.nan], nan_ok=True)


@pytest.mark.parametrize("form", EXAMPLES)
def test_dates_of_a_column_are_those_of_its_words(form):
    day = EXAMPLES[form]
    words = [day, f"{day} 18:15", f"{day}T03:00:00Z", f"{day}x", "no", f"{day} 25:00", f"{day}.5"]
    expected = np.array([day_number(word, form) for word in words], dtype=np.float64)
    np.testing.assert_array_equal(day_numbers(pa.array(words), form), expected)


def test_how_a_file_is_written_is_found_and_told(come):
    rows = come(["1.168,53", "12,5", "3,25"], sep=";", encoding="cp1252")
    assert rows.columns == (Amount("a", decimal=","),)
    assert rows.data[:3, 0].tolist() == [1168.53, 12.5, 3.25]
    told = [str(decision) for decision in rows.decisions]
    assert told[0] == "values are separated by semicolons"
    assert any(line.startswith("a: numbers such as '1.168,53'") for line in told)
    rows = come(["Müller", "Weiß"], encoding="cp1252")
    assert rows.decisions[0].what == "read as cp1252, as it is not UTF-8"
    assert set(rows.data[:, 0]) == {"Müller", "Weiß"}


@pytest.mark.parametrize("both", [("no", "yes"), ("nein", "ja"), ("N", "Y"), ("f", "t")])
def test_yes_and_no_are_one_and_zero(come, both):
    rows = come([*both, both[1]])
    assert rows.columns == (YesNo("a", words=both),)
    assert rows.data[:3, 0].tolist() == [0.0, 1.0, 1.0]


def test_a_bad_cell_is_a_gap_unless_it_is_strict(come):
    words = [*map(str, range(20)), "1O.5"]
    rows = come(words)
    assert np.isnan(rows.data[20, 0])
    [told] = [one for one in rows.decisions if one.doubtful]
    assert told.what == "2 values are not a number, the first '1O.5' (line 22): taken as missing"
    with pytest.raises(datasets.TableError, match=r"line 22: column 'a' holds '1O\.5'"):
        come(words, strict=True)
    # as many as these are no bad cells
    assert come(["1", "0", "Y", "N"]).columns[0].is_text


def test_a_date_that_may_be_two_asks(come):
    words = ["03/04/2024", "05/06/2024"]
    with pytest.raises(datasets.TableError, match="day/month/year or month/day/year") as error:
        come(words)
    assert error.value.remedy == {"day_first": True}
    for first, month in ((True, 4), (False, 3)):
        rows = come(words, day_first=first)
        assert pd.Timestamp(rows.data[0, 0], unit="D").month == month
    assert come(["Apr-2016", "May-2016"]).columns == (Date("a", form="%b-%Y"),)


def test_rows_without_a_label_are_left_out(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("a,y\n1,no\n2,\n3, yes\n4,NA\n5,yes \n")
    rows = datasets.read(path, target="y", prepare=True)
    assert rows.data[:, 0].tolist() == [1.0, 3.0, 5.0]
    assert rows.target.tolist() == ["no", "yes", "yes"]
    assert "2 rows, the first line 3, have no label: left out" in [d.what for d in rows.decisions]


def test_codes_with_zeros_are_words(come):
    assert come(["01234", "04567", "12345"]).columns[0].is_text
    assert come(["01234", "04567", "12345"], numbers=["a"]).columns[0].is_number


def test_labels_that_differ_in_case_are_one(tmp_path, run):
    """Whatever parts they are in, and for a model that knows one spelling."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=60_000)
    label = np.where(x + rng.normal(size=len(x)) > 2, "Yes", "No").astype(object)
    odd = rng.random(len(x)) < np.where(np.arange(len(x)) < 30_000, 0.1, 0.9)
    label[odd] = [f" {word.upper()}" for word in label[odd]]
    path, model = tmp_path / "a.csv", tmp_path / "m"
    pd.DataFrame({"x": x, "word": "w", "y": label}).to_csv(path, index=False)
    frauds = np.char.strip(np.char.lower(label.astype(str))).tolist().count("yes")
    fit = ("train", path, "--target", "y", "--alpha", 0.1, "-o", model)
    for more in ((), ("--memory", "3MB")):
        code, out, err = run(*fit, *more)
        assert code == 0, err
        assert "labels that differ only in case are one" in " ".join(out.split())
        assert f"{frauds:,} positive" in out
    code, out, err = run("evaluate", model, path)
    assert code == 0, err
    assert f"{frauds:,} positive" in out
