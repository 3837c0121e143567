"""What people write in tables is read as they mean it, and what was decided is told."""

import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from aucmax import datasets
from aucmax.basics.errors import DataFileError
from aucmax.data.columns import Amount, Date, Time, YesNo
from aucmax.data.dates import CENTURY_AGO, EXAMPLES, day_number, day_numbers
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


@pytest.fixture
def table(tmp_path):
    """Write a text, and return its path."""

    def table(text, encoding="utf-8"):
        path = tmp_path / "a.csv"
        path.write_bytes(text.encode(encoding))
        return path

    return table


@pytest.fixture
def parts():
    """Read a table as it comes, whole and in parts, and return rows and decisions if both agree."""

    def parts(path, **arguments):
        how = {"target": "y", "prepare": True, **arguments}
        rows = datasets.read(path, **how)
        source = datasets.scan(path, part_bytes=300, spool=False, **how)
        blocks = list(source)
        assert len(blocks) > 1
        pieces = [np.asarray(block.X, dtype=rows.data.dtype) for block in blocks]
        assert np.concatenate(pieces).tolist() == rows.data.tolist()
        sure = [one for one in source.decisions if not one.doubtful]
        assert sure == [one for one in rows.decisions if not one.doubtful]
        doubts = [one for block in blocks for one in block.told["decisions"] if one.doubtful]
        assert {one.column for one in doubts} == {
            one.column for one in rows.decisions if one.doubtful
        }
        return rows.data, rows.decisions

    return parts


@pytest.mark.parametrize(
    ("word", "decimal", "number"),
    [
        ("1.168,53", ",", 1168.53),
        ("$59,406.58", ".", 59406.58),
        ("30,000", ".", 30000.0),
        ("12.00%", ".", 12.0),
        ("12,5 %", ",", 12.5),
        ("3.5‰", ".", 3.5),
        ("-%12", ".", -12.0),
        ("(12%)", ".", -12.0),
        ("12.34.567", ",", np.nan),
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


@pytest.mark.parametrize(
    "both",
    [("no", "yes"), ("nein", "ja"), ("N", "Y"), ("f", "t"), ("no", "sí"), ("não", "sim"),
     ("nie", "tak"), ("faux", "vrai"), ("Нет", "Да")],
)  # fmt: skip
def test_yes_and_no_are_one_and_zero(come, both):
    rows = come([*both, both[1]])
    assert rows.columns == (YesNo("a", words=both),)
    assert rows.data[:3, 0].tolist() == [0.0, 1.0, 1.0]
    assert [one.what for one in rows.decisions] == ["yes/no: {!r} is 0, {!r} is 1".format(*both)]


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


def test_a_strict_reader_lists_all_that_does_not_fit(table):
    lines = ["a,b,y", *(f"{k}.5,{k},{k % 2}" for k in range(40))]
    lines[3:8] = ["1O.5,1,0", "1.5,2,0,9", "2.5,3,", "4.5", "5.5,x.y,1"]
    path = table("\n".join([*lines, ""]))
    with pytest.raises(datasets.TableError) as error:
        datasets.read(path, target="y", prepare=True, strict=True)
    assert [obstacle.place for obstacle in error.value.obstacles] == [
        "line 5", "line 7", "line 4", "line 8", "line 6",
    ]  # fmt: skip
    assert error.value.remedy == {"strict": False}
    assert len(datasets.read(path, target="y", prepare=True).target) == 37


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


@pytest.mark.parametrize("code", ["0123", " 0123 ", '"=""0123"""'])
def test_one_zero_in_front_among_the_first_10_000_rows_tells_codes(table, code):
    codes = [f"{1000 + k % 700}" for k in range(12_000)]
    for place, is_text in ((9_999, True), (10_000, False)):
        cells = [*codes[:place], code, *codes[place + 1 :]]
        path = table(
            "\n".join(["area,y", *(f"{cell},{k % 2}" for k, cell in enumerate(cells)), ""])
        )
        assert datasets.read(path, target="y", prepare=True).columns[0].is_text == is_text


def test_labels_that_differ_in_case_are_one(tmp_path, run):
    """Whatever parts they are in, and for a model that knows one spelling."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=30_000)
    label = np.where(x + rng.normal(size=len(x)) > 2, "Yes", "No").astype(object)
    odd = rng.random(len(x)) < np.where(np.arange(len(x)) < 15_000, 0.1, 0.9)
    label[odd] = [f" {word.upper()}" for word in label[odd]]
    path, model = tmp_path / "a.csv", tmp_path / "m"
    pd.DataFrame({"x": x, "word": "w", "y": label}).to_csv(path, index=False)
    frauds = np.char.strip(np.char.lower(label.astype(str))).tolist().count("yes")
    fit = ("train", path, "--target", "y", "--alpha", 0.1, "-o", model)
    for more in ((), ("--memory", "1.5MB")):
        code, out, err = run(*fit, *more)
        assert code == 0, err
        assert "labels that differ only in case are merged" in " ".join(out.split())
        assert f"{frauds:,} positive" in out
    code, out, err = run("evaluate", model, path)
    assert code == 0, err
    assert f"{frauds:,} positive" in out


def test_yes_and_no_in_any_spelling_with_an_odd_cell_are_numbers(come, table):
    spelt = ["yes", "Yes", "YES", "y", "no", "No", "n"]
    rows = come(spelt)
    assert rows.columns == (YesNo("a", words=("no", "yes")),)
    assert rows.data[:7, 0].tolist() == [1, 1, 1, 1, 0, 0, 0]
    words = [spelt[k % 7] for k in range(200)]
    words[20] = "maybe"
    lines = [f"{word},{k % 2}" for k, word in enumerate(words)]
    path = table("\n".join(["a,y", *lines, ""]))
    rows = datasets.read(path, target="y", prepare=True)
    assert np.flatnonzero(np.isnan(rows.data[:, 0])).tolist() == [20]
    assert [one.what for one in rows.decisions if one.doubtful] == [
        "'maybe' (line 22) is not 'no' or 'yes': taken as missing"
    ]
    with pytest.raises(DataFileError, match="line 22: column 'a' holds 'maybe'"):
        datasets.read(path, target="y", prepare=True, strict=True)
    path = table("\n".join(["a,y", *lines, *(["maybe,1"] * 5), ""]))
    assert datasets.read(path, target="y", prepare=True).columns[0].is_text


def test_dates_in_two_formats_are_read_or_refused(come, table, parts):
    spelt = [f"{k + 1:02} March 2023" if k % 3 else f"2023-03-{k + 1:02} 12:00" for k in range(30)]
    days = [day_number(f"2023-03-{k + 1:02}", "%Y-%m-%d") + (k % 3 == 0) / 2 for k in range(30)]
    for words in (spelt, sorted(spelt)):
        rows = come(words)
        assert rows.columns == (Date("a", form="%d %b %Y"),)
        assert sorted(rows.data[:30, 0]) == days
        assert any("in a second format, such as '2023" in one.what for one in rows.decisions)
    lines = [f"{word},{k % 2}" for k, word in enumerate(spelt * 4)]
    parts(table("\n".join(["a,y", *lines, ""])))
    spelt = [f"{k + 1:02} March 2023" if k % 3 else f"{k + 1:02}.03.2023" for k in range(30)]
    with pytest.raises(
        DataFileError, match=r"two formats, such as '02 March 2023' and '01.03.2023"
    ):
        come(spelt)


def test_amounts_in_two_notations_are_refused(come):
    words = [f"1,{k:03}.50" if k % 2 else f"1.{k:03},50" for k in range(60)]
    for arguments in ({}, {"numbers": ["a"]}, {"decimal": ",", "sep": ";"}):
        with pytest.raises(
            DataFileError, match=r"two notations, such as '1,001.50' and '1.000,50'"
        ):
            come(words, **arguments)
    assert come(words, categories=["a"]).columns[0].is_text
    with pytest.raises(DataFileError, match="line 2: column 'a' holds 'red', which is not a numb"):
        come(["red", "1", "blue"], numbers=["a"])


def test_labels_that_mean_yes_or_no_are_one_each_where_all_do(tmp_path, run):
    path, model = tmp_path / "a.csv", tmp_path / "m"
    fit = ("train", path, "--target", "y", "--alpha", 0.1, "-o", model)
    for words, positive, alike in [
        ("Yes yes Y yes No no n n n", 35, "mean the same"),
        ("N N F n", 19, "differ only in case"),
    ]:
        labels = (words.split() * 25)[:75]
        path.write_text("x,y\n" + "".join(f"{k % 8},{word}\n" for k, word in enumerate(labels)))
        code, out, err = run(*fit)
        assert code == 0, err
        assert f"{positive} positive" in out
        assert f"labels that {alike} are merged" in " ".join(out.split())
        path.write_text(path.read_text().replace("yes", "y"))
        assert run("evaluate", model, path)[0] == 0
    path.write_text("x,y\n" + "1,yes\n2,true\n3,no\n" * 25)
    code, _, err = run(*fit)
    assert code == 2
    assert "3 different labels" in err
    assert "This command reads it" not in err


def test_what_stands_above_the_header_is_left_out(table, parts):
    lines = [f"{k % 7};{k};{'yes' if label else 'no'}" for k, label in enumerate(LABELS)]
    rows = [[k % 7, k] for k in range(60)]
    above_it = "names the columns; the lines above it are left out"
    for above, told in [
        ("sep=;\n", [f"line 2 {above_it}"]),
        ("\ufeffsep=;\r\n", [f"line 2 {above_it}"]),
        ("Report, of 2026\n\nAll;;\n", [f"line 4 {above_it}"]),
        ("\ufeff\n\n", []),
    ]:
        path = table(above + "\n".join(["a;b;y", *lines, ""]))
        data, decisions = parts(path)
        assert data.tolist() == rows
        assert [one.what for one in decisions if "names" in one.what] == told
        assert any("separated by semicolons" in one.what for one in decisions)
    # what the reader is told goes first
    with pytest.raises(DataFileError, match="no label column 'y'"):
        parts(table("Report\n" + "\n".join(["a;b;y", *lines, ""])), header=1)
    data, decisions = parts(table("x;y\n\n" + "\n".join(["a;b;y", *lines, ""])), header=3)
    assert data.tolist() == rows
    # a label column named there makes the first line a header, as do numbers below it
    for text in ("a\nb,c,d\n1,2,0\n3,4,1\n", "y\n1,b\n2,c\n3,d\n"):
        with pytest.raises(DataFileError, match=r"no feature column|no label column"):
            datasets.read(table(text), target="y", prepare=True)


def test_places_count_the_lines_above_the_header(table):
    words = [*map(str, range(58)), "1O.5", "3"]
    lines = [f"{word};{label}" for word, label in zip(words, LABELS, strict=True)]
    rows = datasets.read(table("\n".join(["sep=;", "a;y", *lines, ""])), target="y", prepare=True)
    assert [one.what for one in rows.decisions if one.doubtful] == [
        "'1O.5' (line 61) is not a number: taken as missing"
    ]


def test_columns_of_one_name_are_told_apart(table, parts):
    lines = [f"{k % 7},{k},{k % 5},{label}" for k, label in enumerate(LABELS)]
    path = table("\n".join(["a,a,a_2,y", *lines, ""]))
    data, decisions = parts(path)
    assert data.tolist() == [[k % 7, k, k % 5] for k in range(60)]
    assert [(str(one), one.otherwise) for one in decisions] == [
        ("a_3: another column called 'a'", {"drop": ["a_3"]})
    ]
    assert parts(path, drop=["a_3"])[0].shape == (60, 2)
    named = datasets.read(path, target="y", prepare=True, drop=["a_3"]).columns
    [told] = datasets.read(path, columns=named, labels="none", prepare=True).decisions
    assert told.doubtful  # for a model that was trained on one of them


@pytest.mark.parametrize("arguments", [{}, {"encoding": "utf-16"}])
def test_utf_16_is_read(table, parts, arguments):
    lines = [f"{k},Zoë,{label}" for k, label in enumerate(LABELS)]
    path = table("\n".join(["a,b,y", *lines, ""]), encoding="utf-16")
    data, decisions = parts(path, **arguments)
    assert data.tolist() == [[k, "Zoë"] for k in range(60)]
    assert "read as utf-16, as it is not UTF-8" in [one.what for one in decisions]


def test_cells_that_are_not_utf_8_garble_no_others(table, parts):
    names = ["Zoë", "Jürgen", "Ann"]
    lines = [f"{names[k % 3]},{label}" for k, label in enumerate(LABELS)]
    text = "\n".join(["a,y", *lines, ""]).encode()
    path = table((text + "Zoë,True\n".encode("cp1252") * 2).decode("latin-1"), encoding="latin-1")
    for arguments in ({}, {"categories": ["a"]}):
        data, decisions = parts(path, **arguments)
        assert data[:, 0].tolist() == [*(names[k % 3] for k in range(60)), "Zoë", "Zoë"]
        [told] = [str(one) for one in decisions if one.doubtful]
        assert told == "a: 2 cells are not UTF-8, the first 'Zoë' (line 62): read as cp1252"


@pytest.mark.parametrize(
    ("form", "words", "first"),
    [
        ("%d/%b/%Y", "{day:02}/Nov/2026:14:02:11 +0100", "2026-11-01T13:02:11"),
        ("%d/%b/%Y", "[{day:02}/Nov/2026:14:02:11 +0100]", "2026-11-01T13:02:11"),
        ("%d %b %Y", "Tue, {day:02} Nov 2026 14:02:11 GMT", "2026-11-01T14:02:11"),
        ("%d %b %Y", "Tue, {day} Nov 2026 14:02:11 -0500 (EST)", "2026-11-01T19:02:11"),
        ("%d-%b-%y", "{day:02}-NOV-26 02.02.11.000000 PM", "2026-11-01T14:02:11"),
        ("%d-%b-%Y", "{day:02}-NOV-2026", "2026-11-01"),
        ("%d.%m.%Y", "{day:02}.11.2026 2:02 p.m.", "2026-11-01T14:02"),
    ],
)
def test_times_of_logs_mails_and_databases(come, form, words, first):
    rows = come([words.format(day=day) for day in range(1, 29)])
    assert rows.columns == (Date("a", form=form),)
    days = (np.datetime64(first, "s") - np.datetime64(0, "s")) / np.timedelta64(1, "D")
    np.testing.assert_allclose(rows.data[:2, 0], [days, days + 1], rtol=0, atol=1e-9)
    assert rows.decisions[0].what.startswith("dates such as ")


def test_clocks_are_times_of_day(come):
    rows = come(["1:30 pm", "12:15 a.m.", "11:00 AM"])
    assert rows.columns == (Time("a"),)
    assert rows.data[:3, 0] * 24 == pytest.approx([13.5, 0.25, 11.0])
    [told] = rows.decisions
    assert str(told) == "a: times such as '1:30 pm', read as 13:30:00"
    assert come(["1:30 pm", "12:15 a.m.", "11:00 AM"], **told.otherwise).columns[0].is_text
    assert come(["1:30 pm", "later", "soon"]).columns[0].is_text


@pytest.mark.parametrize(("unit", "form"), [(1, "%s"), (1000, "%Q")])
def test_seconds_since_1970_are_dates_where_their_name_says_so(table, parts, unit, form):
    lines = [f"{(1_790_000_000 + 3600 * k) * unit},{label}" for k, label in enumerate(LABELS)]
    for name in ("created_at", "eventTime", "timestamp"):
        path = table("\n".join([f"{name},y", *lines, ""]))
        data, decisions = parts(path)
        assert data[:, 0] == pytest.approx([(1_790_000_000 + 3600 * k) / 86400 for k in range(60)])
        [told] = decisions
        assert "seconds since 1970 such as '1790000000" in told.what
        assert told.what.endswith("', read as 2026-09-21T14:13:20")
        assert parts(path, **told.otherwise)[0][0, 0] == 1_790_000_000 * unit
        assert datasets.read(path, target="y", prepare=True).columns == (Date(name, form=form),)
    for name in ("balance", "attempts", "station"):
        data, decisions = parts(table("\n".join([f"{name},y", *lines, ""])), numbers=[name])
        assert (data[0, 0], decisions) == (1_790_000_000 * unit, [])
    assert day_number("1790000000 s", form) is None


def test_years_of_two_digits_are_not_far_in_the_future(come):
    rows = come([f"1{k}.03.{CENTURY_AGO - 2 + k:02}" for k in range(3)])
    years = [pd.Timestamp(day, unit="D").year - 2000 for day in rows.data[:3, 0]]
    assert years == [CENTURY_AGO - 2, CENTURY_AGO - 1, CENTURY_AGO - 100]
    assert f"; years from {CENTURY_AGO} on are of the last century" in rows.decisions[0].what


@pytest.mark.parametrize(
    ("words", "numbers", "signs"),
    [
        (["81 kg", "1,200 kg", "7.5kg"], [81, 1200, 7.5], ()),
        (["kr 300", "1.200,50 kr.", "-7 kr", "8,- kr"], [300, 1200.5, -7, 8], ()),
        (["5 min", "61 min", "7 min"], [5, 61, 7], ()),
        (["1 month", "12 months", "36 months"], [1, 12, 36], ()),
        (["12 EUR", "14 USD", "3 EUR"], [12, 14, 3], ("EUR", "USD")),
        (["$12", "€14", "$3"], [12, 14, 3], ("$", "€")),
        ([f"{k} {'kg' if k % 2 else 's'}" for k in range(30)], range(30), ("kg", "s")),
    ],
)
def test_units_stand_at_numbers(come, words, numbers, signs):
    rows = come(words)
    assert isinstance(rows.columns[0], Amount)
    assert rows.data[: len(numbers), 0].tolist() == list(numbers)
    told = [one for one in rows.decisions if "read as if in one" in one.what]
    assert len(told) == bool(signs)
    assert all(f"have the units {' and '.join(signs)}, but" in one.what for one in told)
    for one in told:
        assert come(words, **one.otherwise).columns[0].is_text


@pytest.mark.parametrize(
    "words",
    [
        ["Shop 1", "Shop 2", "Shop 3"],
        ["E11", "E12", "E13"],
        ["100-QX", "101-QX", "102-QX"],
        ["5 red", "3 blue", "7 red"],
        [" 60 months", " 36 months"],
        ["1 Elm", "2 Oak", "3 Ash", "4 Fir"],
        ["5-10 years", "1-4 years", "11-20 years"],
    ],
)
def test_words_with_numbers_remain_words(come, words):
    assert come(words).columns[0].is_text


def test_units_are_read_in_parts_and_by_models(table, run, tmp_path):
    rng = np.random.default_rng(0)
    weight = rng.integers(40, 120, 9000)
    label = np.where(weight + rng.normal(0, 20, 9000) > 110, "yes", "no")
    frame = pd.DataFrame({"weight": [f"{k} kg" for k in weight], "b": rng.random(9000), "y": label})
    path, model = tmp_path / "a.csv", tmp_path / "m"
    frame.to_csv(path, index=False)
    aucs = []
    for more in ((), ("--memory", "1MB")):
        fit = ("train", path, "--target", "y", "--alpha", 0.1, "-o", model, *more)
        code, out, err = run(*fit)
        assert code == 0, err
        assert "kg', read as" in " ".join(out.split())
        code, out, err = run("evaluate", model, path, "--json")
        assert code == 0, err
        aucs.append(json.loads(out)["scorers"][0]["auc"])
    assert aucs[0] == pytest.approx(aucs[1], abs=1e-3)


def test_three_decimals_that_may_be_thousands_are_told(table, parts):
    words = [f"{1 + k % 9}.{(37 * k) % 1000:03}" for k in range(60)]

    def doubts(sep, words, other):
        lines = [f"{word}{sep}{other}{sep}{k % 3}" for k, word in enumerate(words)]
        data, decisions = parts(table("\n".join([sep.join(["a", "b", "y"]), *lines, ""])))
        return data[1, 0], [str(one) for one in decisions if "thousands" in one.what]

    doubt = "a: '1.000' is read with a decimal point, but it may separate thousands"
    assert doubts(";", words, "x") == (2.037, [doubt])
    for sep, some, other in [
        (",", words, "x"),  # which would be the decimal mark otherwise
        (";", words, "2.5"),  # another column shows the point
        (";", [*words[:-1], "0.125"], "x"),
        (";", [*words[:-1], "12.5"], "x"),
    ]:
        assert doubts(sep, some, other) == (2.037, [])
    for other in ("2,5", "1.234.567"):  # another column shows the comma, or what the point is
        assert doubts(";", words, other) == (2037.0, [])
    path = table("\n".join(["a;y", *(f"{word};{k % 3}" for k, word in enumerate(words)), ""]))
    assert parts(path, decimal=",")[0][1, 0] == 2037.0


def test_advice_about_labels_is_a_command_that_works(table, run, tmp_path):
    label = np.where(np.arange(300) % 9 == 0, "yes", "no").tolist()
    label[100] = "n/a?"
    path = table("\n".join(["x,y", *(f"{k % 17},{word}" for k, word in enumerate(label)), ""]))
    fit = ("train", path, "--target", "y", "--alpha", 0.1, "-o", tmp_path / "m")
    code, _, err = run(*fit)
    assert code == 2
    assert "'n/a?' may be a slip" in " ".join(err.split())
    assert err.rstrip().endswith("--positive yes")
    rarer = path.read_text().replace("no\n", "unknown\n", 20)
    assert run(*fit[:1], table(rarer), *fit[2:])[2].rstrip().endswith("--positive yes")
    path = table("\n".join(["x,y", *(f"{k % 17},{word}" for k, word in enumerate(label)), ""]))
    code, out, err = run(*fit, "--positive", "yes")
    assert (code, "n/a? (1 row)" in " ".join(out.split())) == (0, True), err


def test_codes_are_words_whole_and_in_parts(table, run, tmp_path):
    rng = np.random.default_rng(0)
    lines = [
        f"{10_000 + 777 * code},{k / 9:.2f},{'yes' if code > 17 else 'no'}"
        for k, code in enumerate(rng.integers(0, 20, 25_000))
    ]
    path = table("\n".join(["zip,x,y", *lines, ""]))
    for more in ((), ("--memory", "1MB")):
        fit = ("train", path, "--target", "y", "--alpha", 0.1, "-o", tmp_path / "m", *more)
        code, out, err = run(*fit)
        assert code == 0, err
        assert "not amounts: treated as words" in " ".join(out.split())
        assert "20 words, a level each" in " ".join(out.split())
        assert "in parts" in err or not more


@pytest.mark.parametrize(("name", "lowest"), [("area", 1_000), ("code postal", 10_000)])
def test_codes_of_which_the_first_rows_have_most_once_are_words(table, name, lowest):
    """By their zeros, or by their name; if most are in one row of the whole file, as any words."""
    rng = np.random.default_rng(0)
    codes = rng.integers(lowest, lowest + 15_000, 40_000)
    path = table("\n".join([f"{name},y", *(f"{code:05},{code % 2}" for code in codes), ""]))
    rows = datasets.read(path, target="y", prepare=True)
    assert rows.columns[0].is_text
    assert [str(one) for one in rows.decisions] == [f"{name}: codes, not amounts: treated as words"]
    assert datasets.read(path, target="y", prepare=True, numbers=[name]).columns[0].is_number


def test_telephone_numbers_are_left_out_whole_and_in_parts(table, run, tmp_path):
    """They have a zero in front, and are too far apart to count rows."""
    rng = np.random.default_rng(0)
    lines = (f"0{phone},{k / 9:.2f},{k % 3 == 0}" for k, phone in enumerate(
        rng.integers(10**8, 10**9, 30_000)))  # fmt: skip
    path = table("\n".join(["phone,x,y", *lines, ""]))
    for more in ((), ("--memory", "1MB")):
        fit = ("train", path, "--target", "y", "--alpha", 0.1, "-o", tmp_path / "m", *more)
        code, out, err = run(*fit, "--json")
        assert code == 0, err
        report = json.loads(out)
        assert report["features"] == 1
        [told] = [one for one in report["decisions"] if one["column"] == "phone"]
        assert told["what"].endswith("left out")


def test_codes_of_digits_and_letters_are_words(come):
    """01, 02 and 3a are not amounts of the unit a."""
    words = ["01", "02", "3a", "10"] * 20
    assert come(words).columns[0].is_text


def test_thousands_and_millions_have_letters(come):
    words = ["1.1K", "634", "2.0K", "3.4M", "12K", "7 k", "250"] * 5
    rows = come(words)
    assert rows.data[:7, 0].tolist() == [1100, 634, 2000, 3_400_000, 12_000, 7000, 250]
    assert not any("one unit" in decision.what for decision in rows.decisions)


def test_true_and_false_labels_are_the_words_of_the_file(table, run, tmp_path):
    lines = (f"{k % 17},{'TRUE' if k % 17 > 12 else 'FALSE'}" for k in range(200))
    path, model = table("\n".join(["x,y", *lines, ""])), tmp_path / "m"
    code, _, err = run("train", path, "--target", "y", "--alpha", 0.1, "-o", model)
    assert code == 0, err
    code, out, err = run("score", model, path, "--flag", 1)
    assert code == 0, err
    assert {line.split(",")[2] for line in out.split()[1:]} == {"FALSE", "TRUE"}
    code, out, err = run("show", model, "--json")
    assert (json.loads(out)["negative"], json.loads(out)["positive"]) == ("FALSE", "TRUE"), err


def test_a_model_of_amounts_takes_another_decimal_mark(table, run, tmp_path):
    path, model = tmp_path / "train.csv", tmp_path / "m"
    lines = (f"1.{k % 17:03},50 €;{('nein', 'ja')[k % 2]};{k % 17 > 12}" for k in range(200))
    path.write_text("\n".join(["a;vip;y", *lines, ""]))
    code, _, err = run("train", path, "--target", "y", "--alpha", 0.1, "-o", model)
    assert code == 0, err
    code, german, err = run("score", model, table("a;vip\n1.003,50;ja\n"))
    assert code == 0, err
    path = table('a,vip\n"1,003.50",ja\n')
    code, _, err = run("score", model, path)
    assert (code, "(--decimal .)" in err) == (2, True)
    assert run("score", model, path, "--decimal", ".")[1] == german
    code, _, err = run("score", model, table("a;vip\n1.003,50;perhaps\n"))
    assert (code, "'perhaps', which is not 'nein' or 'ja'" in err) == (2, True)


def test_durations_of_parquet_are_no_times_of_day(tmp_path):
    import pyarrow.parquet as pq

    spans = pa.array([60 * k for k in range(60)], pa.duration("s"))
    clocks = pa.array([60 * k for k in range(60)], pa.time32("s"))
    pq.write_table(pa.table({"a": spans, "b": clocks, "y": LABELS}), tmp_path / "a.parquet")
    rows = datasets.read(tmp_path / "a.parquet", target="y", prepare=True)
    assert rows.columns == (Time("a", duration=True), Time("b"))
    assert rows.data[:, 0].tolist() == rows.data[:, 1].tolist()


def test_a_part_without_rows_is_left_out(tmp_path, run):
    import pyarrow.parquet as pq

    rows = pa.table({"a": [k % 7 for k in range(60)], "y": LABELS})
    (tmp_path / "parts").mkdir()
    for k, part in enumerate((rows[:30], rows[:0], rows[30:])):
        pq.write_table(part, tmp_path / "parts" / f"{k}.parquet")
    read = datasets.read(tmp_path / "parts", target="y", prepare=True)
    assert read.data[:, 0].tolist() == rows["a"].to_pylist()
    pq.write_table(rows[:0], tmp_path / "none.parquet")
    for command in ("train", "cv"):
        code, _, err = run(command, tmp_path / "none.parquet", "--target", "y")
        assert code == 2
        assert "the table has column names but no rows" in err


def test_a_number_is_neither_yes_nor_no(table):
    words = ["yes" if k % 3 else "no" for k in range(60)]
    lines = [f"{word},{label}" for word, label in zip(words, LABELS, strict=True)]
    columns = datasets.read(table("\n".join(["a,y", *lines, ""])), target="y", prepare=True).columns
    zeros = [f"{k % 2},{k}" for k in range(60)]
    read = datasets.read(table("\n".join(["a,x", *zeros, ""])), columns=columns, labels="none")
    assert read.data[:, 0].tolist() == [k % 2 for k in range(60)]
    zeros[20] = "5,1"
    path = table("\n".join(["a,x", *zeros, ""]))
    [told] = datasets.read(path, columns=columns, labels="none", prepare=True).decisions
    assert told.what == "'5' (line 22) is not 'no' or 'yes': taken as missing"
    path = table("a,x\n5,1\n5,2\n")
    with pytest.raises(DataFileError, match="line 2: column 'a' holds '5', which is not 'no' or"):
        datasets.read(path, columns=columns, labels="none", prepare=True)


def test_advice_about_a_gap_in_rows_to_score_works(table, run, tmp_path):
    path, model = tmp_path / "train.csv", tmp_path / "m"
    path.write_text("\n".join(["x,y", *(f"{k % 17},{k % 17 > 12}" for k in range(200)), ""]))
    fit = ("train", path, "--target", "y", "--alpha", 0.1, "-o", model)
    assert run(*fit)[0] == 0
    new = table("x,z\n1,a\n,b\n")
    code, _, err = run("score", model, new)
    assert (code, "train the model again with --no-prepare --impute" in err) == (2, True)
    assert run(*fit, "--no-prepare", "--impute")[0] == 0
    code, out, err = run("score", model, new)
    assert (code, len(out.split())) == (0, 3), err


def test_a_table_that_only_has_a_constant_says_so(table, run, tmp_path):
    path = table("\n".join(["x,y", *(f"7,{k % 3 == 0}" for k in range(60)), ""]))
    fit = ("train", path, "--target", "y", "--alpha", 0.1, "-o", tmp_path / "m", "--json")
    code, out, err = run(*fit)
    assert code == 0, err
    [told] = json.loads(out)["decisions"]
    assert told["what"] == "the same value in every row, but no other column remains: kept"


@pytest.mark.parametrize("how", [{"header": 3}, {"prepare": True}])
def test_a_file_that_is_one_part_is_read_as_a_whole_one(table, how):
    path = table("Report\n\na,b,y\n1,2,0\n3,4,1\n5,6,0\n7,8,1\n")
    rows = datasets.read(path, target="y", **how)
    [part] = datasets.scan(path, part_bytes=None, target="y", **how)
    np.testing.assert_array_equal(part.X, rows.data)
    np.testing.assert_array_equal(part.y, rows.target)
