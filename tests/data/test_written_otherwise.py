"""Units, durations, pairs, uneven rows and further headers are read as meant, or told."""

import json

import numpy as np
import pandas as pd
import pytest

from aucmax import datasets
from aucmax.basics.errors import DataFileError
from aucmax.data.columns import Amount, Time
from aucmax.data.dates import day_fraction, duration_of

N = 60


@pytest.fixture
def come(tmp_path):
    """Write a column, and return what is read."""

    def come(words, **arguments):
        path = tmp_path / "a.csv"
        rows = [f'"{words[k % len(words)]}",{k % 3 == 0}' for k in range(N)]
        path.write_text("\n".join(["a,y", *rows, ""]))
        return datasets.read(path, target="y", prepare=True, **arguments)

    return come


@pytest.mark.parametrize(
    ("words", "numbers", "told"),
    [
        (["1.5 GB", "200 MB", "3 GB"], [1.5, 0.2, 3], "GB and MB: converted to GB"),
        (["70 kg", "154 lbs", "81kg"], [70, 69.85322498, 81], "kg and lbs: converted to kg"),
        (["90 s", "250 ms", "2 s"], [90, 0.25, 2], "ms and s: converted to s"),
        (["2 h", "45 min", "1 h"], [2, 0.75, 1], "h and min: converted to h"),
        (["500 g", "1,2 kg", "700 g"], [500, 1200, 700], "g and kg: converted to g"),
        (["3 km", "800 m", "2 km"], [3, 0.8, 2], "km and m: converted to km"),
        (["8 m", "2 h", "9 m"], [8, 120, 9], "h and m: converted to m"),
        (["3M", "5Y", "1Y"], [0.25, 5, 1], "M and Y: converted to Y"),
        (["250 bps", "2%", "300 bps"], [250, 200, 300], "% and bps: converted to bps"),
    ],
)
def test_units_of_one_quantity_are_converted(come, words, numbers, told):
    rows = come(words)
    assert rows.data[:3, 0] == pytest.approx(numbers, rel=1e-12)
    assert told in [decision.what for decision in rows.decisions]
    assert not any(decision.doubtful for decision in rows.decisions)
    # one cell reads as the column does, also in another spelling of the table's units
    assert [rows.columns[0].number(word) for word in words] == pytest.approx(numbers, rel=1e-12)


def test_a_unit_that_comes_later_is_converted(come):
    [column] = come(["1 kg", "2 kg", "3 kg"]).columns
    assert (column.unit, column.number("500 g")) == ("kg", 0.5)
    with pytest.raises(ValueError, match="a unit of another quantity"):
        Amount("a", units=("kg", "s"), unit="kg").check_state()


@pytest.mark.parametrize(
    ("words", "doubt"),
    [
        ([f"{k} {'kg' if k % 2 else 's'}" for k in range(30)], "have the units kg and s"),
        (["38%", "0.27", "0.5"], "20 numbers have %, and 40 have no unit: taken as they are"),
        (["1 kg", "2 kg", "3"], "40 numbers have kg, and 20 have no unit: taken as kg"),
    ],
)
def test_a_doubt_about_units_is_told_and_stops_a_strict_reader(come, words, doubt):
    rows = come(words)
    [told] = [decision for decision in rows.decisions if doubt in decision.what]
    assert come(words, **told.otherwise).columns[0].is_text
    with pytest.raises(DataFileError, match=f"{doubt.split(':')[0]}.*in one unit") as error:
        come(words, strict=True)
    assert error.value.remedy == {"strict": False}


def test_the_first_number_of_another_unit_is_named(come):
    """In training, and where the rows are read for a model."""
    words = [f"{90 + k} mg/dl" for k in range(30)] + ["5.5 mmol/l"]
    rows = come(words)
    [told] = [decision for decision in rows.decisions if decision.doubtful]
    assert "the first that is not in mg/dl is '5.5 mmol/l' (line 32)" in told.what
    again = come(words, columns=rows.columns)
    assert [decision.what for decision in again.decisions] == [told.what]
    assert not come(words[:30], columns=rows.columns).decisions


def test_errors_of_spreadsheets_are_gaps(come, tmp_path):
    rows = come(["red", "#N/A", "blue", "#DIV/0!", "#REF!"])
    assert {word for word in rows.data[:, 0] if isinstance(word, str)} == {"red", "blue"}
    assert np.isnan(come(["1.5", "#NUM!", "#NV"]).data[1:3, 0].astype(float)).all()
    path = tmp_path / "labels.csv"
    path.write_text("a,y\n" + "1,x\n2,z\n3,#N/A\n" * 20)
    rows = datasets.read(path, target="y", prepare=True)
    assert (len(rows.target), set(rows.target)) == (40, {"x", "z"})


def test_formulas_for_text_are_the_text(come):
    words = [f'=""0{k}""' for k in range(50, 60)]  # as within quotes
    rows = come([*words, " 050 "])
    assert rows.columns[0].is_text  # codes, because of the zeros
    assert rows.data[:2, 0].tolist() == ["050", "051"]
    assert rows.data[10, 0] == "050"
    assert come(['=""1.5""', "2", '=""3""']).data[:3, 0].tolist() == [1.5, 2, 3]


def test_signs_may_stand_behind_numbers(come):
    assert come(["1,234.50+", "12.25-", "3"]).data[:3, 0].tolist() == [1234.5, -12.25, 3]


def test_bounds_are_numbers(come):
    rows = come(["<0.5", "3.25", ">= 90 mg/l"])
    assert rows.data[:3, 0].tolist() == [0.5, 3.25, 90]
    assert rows.decisions[-1].what == "40 bounds such as '<0.5': read as the number"
    assert rows.decisions[-1].doubtful
    # of later parts, and of rows to score, the kind of column is known
    [told] = come(["<0.5", "3.25", "7"], columns=rows.columns).decisions
    assert (told.what, told.doubtful) == ("20 bounds such as '<0.5': read as the number", True)


def test_zip_codes_in_part_are_words(tmp_path):
    lines = [f"{k % 7:03d}xx,{100 + k % 7}xx,{k % 2}" for k in range(60)]
    (tmp_path / "x.csv").write_text("\n".join(["zip_code,plain,y", *lines, ""]))
    columns = datasets.read(tmp_path / "x.csv", target="y", prepare=True).columns
    assert [column.is_text for column in columns] == [True, False]


def test_millions_alone_are_no_metres(come):
    assert come(["1.5M", "300", "2M"]).data[:3, 0].tolist() == [1.5e6, 300, 2e6]


@pytest.mark.parametrize(
    "words",
    [
        ["2 bn", "1 mn", "3 mn", "250 k"],
        ["2 billion", "1 million", "3 million", "250 thousand"],
        ["2 Mrd.", "1 Mio.", "3 mio", "250 Tsd."],
    ],
)
def test_thousands_and_millions_in_words_are_factors(come, words):
    rows = come(words)
    assert rows.data[:4, 0].tolist() == [2e9, 1e6, 3e6, 2.5e5]


def test_columns_of_mostly_numbers_that_are_words(come):
    words = [*map(str, range(40)), *(f"{k} or {k + 1}" for k in range(20))]
    [told] = [one for one in come(words).decisions if one.column == "a"]
    assert told.what.startswith("40 values are numbers, 20 are not, such as '0 or 1', so all are")


@pytest.mark.parametrize("words", [["5%", "0", "7%"], ["$5", "7", "$9"], ["1.2K", "300", "2M"]])
def test_numbers_without_a_unit_are_no_doubt(come, words):
    assert not any("no unit" in decision.what for decision in come(words).decisions)


@pytest.mark.parametrize(
    ("words", "hours"),
    [
        (["13d 15h", "2 days", "7h"], [327, 48, 7]),
        (["2h 30m", "45m", "1h 05 min"], [2.5, 0.75, 65 / 60]),
        (["31:05:00", "02:30:00", "125:45"], [31 + 5 / 60, 2.5, 125.75]),
        (["1 day, 2:00:00", "0:30:00", "3 days, 0:15:00"], [26, 0.5, 72.25]),
        (["1815h", "8:30 am", "2d"], [18.25, 8.5, 48]),
        (["2 yrs 3 mos", "1 week 2 days", "1yrs 11mon"], [27 * 730.5, 216, 23 * 730.5]),
        (["P1Y2M10DT2H30M", "PT5M", "P3W"], [14 * 730.5 + 242.5, 5 / 60, 504]),
        (["1,5 h 30 s", "2 min 6 s", "3 h"], [1.5 + 30 / 3600, 126 / 3600, 3]),
    ],
)
def test_durations_are_numbers(come, words, hours):
    rows = come(words)
    assert rows.columns == (Time("a", duration=True),)
    assert 24 * rows.data[:3, 0] == pytest.approx(hours)
    assert rows.decisions[0].what.startswith(f"durations such as {words[0]!r}, read as ")


def test_midnight_at_the_end_of_a_day(come):
    rows = come(["24:00", "08:30", "00:00"])
    assert rows.columns == (Time("a"),)
    assert rows.data[:3, 0].tolist() == [1.0, 8.5 / 24, 0.0]
    assert day_fraction(" 24:00:01") is None
    assert duration_of("") is None
    assert duration_of("5") is None


def test_pairs_of_numbers_are_told(come):
    words = [f"{100 + k}/{60 + k}" for k in range(40)]
    [told] = [one for one in come(words).decisions if one.column == "a"]
    assert "60 pairs of numbers such as '100/60'" in told.what
    assert "in separate columns" in told.what


@pytest.mark.parametrize(
    ("words", "doubt"),
    [
        (["120/80", "140/95"], "pairs of numbers such as"),
        pytest.param(
            ["12", "13", "14", "1 or 2"], "are treated as words", marks=pytest.mark.exhaustive
        ),
        pytest.param(["5%", "0.05"], "have no unit", marks=pytest.mark.exhaustive),
    ],
)
def test_what_is_doubted_of_a_column_is_told_of_files_in_parts(words, doubt, run, tmp_path):
    path = tmp_path / "a.csv"
    cells = (f"{1 + k % 31}{words[k % len(words)]}" for k in range(25_000))
    lines = (f"{cell},{k % 7},{k % 7 == 6}" for k, cell in enumerate(cells))
    path.write_text("\n".join(["a,b,y", *lines, ""]))
    fit = ("train", path, "--target", "y", "--alpha", 0.1, "-o", tmp_path / "m", "--json")
    for more in ((), ("--memory", "1MB")):
        code, out, err = run(*fit, *more)
        assert (code, "in parts" in err) == (0, bool(more)), err
        assert sum(doubt in one["what"] for one in json.loads(out)["decisions"]) == 1


CELLS = {
    "cells of JSON": lambda k: f'{{"a": {k}, "b": [1, 2]}}',
    "pairs of numbers": lambda k: f"{48 + k / 100}, 11.{k}",
    "web addresses": lambda k: f"https://example.org/{k}?a=1",
    "texts": lambda k: f"the {k}th call of a customer",
    "values": lambda k: f"K{k:05d}",
}


@pytest.mark.parametrize("parts", [False, True])
def test_what_cells_are_that_mostly_differ_is_told(parts, tmp_path, run):
    """Of columns that are left out; 'values' are ids."""
    n = 2_000
    table = pd.DataFrame({noun: list(map(cell, range(n))) for noun, cell in CELLS.items()})
    table.assign(x=np.arange(n) % 7, y=np.arange(n) % 2).to_csv(tmp_path / "x.csv", index=False)
    size = ("--memory", "1MB") if parts else ("--shape", "line")
    command = ("train", tmp_path / "x.csv", "--target", "y", "--alpha", "0.01", *size, "--json")
    code, out, err = run(*command, "-o", tmp_path / "m")
    assert code == 0, err
    assert ("in parts" in err) == parts
    told = json.loads(out)["decisions"]
    assert [own["column"] for own in told] == [*CELLS]
    assert all(f" different {own['column']} in " in own["what"] for own in told)
    assert all(own["what"].endswith(": left out") for own in told)


# ---- lines


def lines(odd):
    """A table's lines, with others in places from 0, the header, on; places ascend."""
    rng = np.random.default_rng(0)
    text = ["a,b,y", *(f"{a},{b:.3f},{a % 2}" for a, b in enumerate(rng.random(N)))]
    for place, line in odd.items():
        text.insert(place, line)
    return "\n".join([*text, ""])


@pytest.mark.parametrize(
    ("odd", "told"),
    [
        ({20: "a,b,y"}, "a repeated header in line 21: left out"),
        ({20: " a,b ,y", 41: "a,b,y"}, "a repeated header in 2 lines, the first 21: left out"),
        ({20: "1,2,0,4"}, "more cells than in the header in line 21: left out"),
        ({20: "1,2,0,,4", 30: "1,2"}, "more cells than in the header in line 21: left out"),
        ({30: "1"}, "fewer cells than in the header in line 31: read with gaps"),
    ],
)
def test_uneven_lines_are_left_out_or_have_gaps(tmp_path, odd, told):
    path = tmp_path / "a.csv"
    path.write_text(lines({}))
    how = {"target": "y", "prepare": True}
    even = datasets.read(path, **how)
    path.write_text(lines(odd))
    rows = datasets.read(path, **how)
    for name in ("data", "target"):
        assert rows[name].tolist() == even[name].tolist()
        assert rows[name].dtype == even[name].dtype
    assert any(told in decision.what and decision.doubtful for decision in rows.decisions)
    blocks = list(datasets.scan(path, part_bytes=300, spool=False, **how))
    assert len(blocks) > 2
    assert np.concatenate([block.X for block in blocks]).tolist() == even.data.tolist()
    doubts = [one.what for block in blocks for one in block.told["decisions"] if one.doubtful]
    kind = told.split(" in ")[0]
    assert any(kind in doubt and f"line {min(odd) + 1}:" in doubt for doubt in doubts)
    with pytest.raises(DataFileError, match=rf"line {min(odd) + 1}"):
        datasets.read(path, strict=True, **how)
    with pytest.raises(DataFileError, match=rf"line {min(odd) + 1}"):
        datasets.read(path, target="y")
    scored = {"columns": ["a", "b"], "labels": "none", "prepare": True}
    if told.startswith("a repeated header"):
        rows = datasets.read(path, **scored)
        assert rows.data.tolist() == even.data.tolist()
        assert any(told in decision.what and decision.doubtful for decision in rows.decisions)
    else:  # every row has a score
        with pytest.raises(DataFileError, match=rf"line {min(odd) + 1}"):
            datasets.read(path, **scored)


def test_a_row_with_fewer_cells_has_gaps(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("y,a,b\n" + "1,2,3\n0,4,5\n" * 20 + "0,7\n" + "1,8,9,\n")
    rows = datasets.read(path, target="y", prepare=True)
    assert rows.data[-2:].tolist()[1] == [8, 9]
    assert np.isnan(rows.data[-2, 1])
    [told] = rows.decisions
    assert "fewer cells than in the header in line 42: read with gaps" in told.what
    assert "further empty cells in line 43: ignored" in told.what


def test_quoted_text_beside_an_uneven_line_stays_as_it_is(tmp_path):
    path = tmp_path / "a.csv"
    text = 'y,a,"b\n1"\n' + '1,"x, ""y""\nz",3\n0,"ü",5\n' * 20 + "0,q,1,2\n" + "1,w,4\n0,bad,x\n"
    path.write_text(text)
    rows = datasets.read(path, target="y", prepare=True)
    assert rows.columns[1].name == "b\n1"
    assert rows.data[:2, 0].tolist() == ['x, "y"\nz', "ü"]
    assert "in line 63: left out" in rows.decisions[0].what
    assert "(line 65) is not a number" in rows.decisions[1].what


def test_labels_that_are_missing_are_told_if_the_others_are_one(tmp_path, run):
    path = tmp_path / "a.csv"
    path.write_text("a,y\n" + "1,x\n2,\n" * 20)
    code, _, err = run("train", path, "--target", "y")
    assert code == 2
    assert "label x (20 rows, the first line 3, have no label: left out); ranking needs" in err


def test_a_file_of_uneven_lines_is_refused(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("a,y\n" + "1,5,0\n2,5,1\n3,1\n" * 20)
    with pytest.raises(DataFileError, match="line 2: 3 values where the header names 2 columns"):
        datasets.read(path, target="y", prepare=True)


def test_the_last_row_without_a_label_is_told_as_such(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(lines({N + 1: "Total,30,"}))
    [told] = datasets.read(path, target="y", prepare=True).decisions
    assert told.what == f"the last row, line {N + 2}, has no label: left out"
