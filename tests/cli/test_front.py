"""How data come in on the command line: labels, real files, dates, streams, saved pipelines."""

import csv
import io
import json
import os
import re
import shlex
import shutil
import subprocess
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.datasets import dump_svmlight_file, load_breast_cancer, load_diabetes, load_wine
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler

from aucmax import AUCClassifier, datasets, load, metrics, save
from aucmax.basics.progress import working
from aucmax.data.codes import doubt
from aucmax.data.columns import Date, Words
from aucmax.data.dates import DIGITS, EPOCHS, EXAMPLES, day_number

FIT = ("--alpha", 0.01)  # one quick fit, nothing tuned


@pytest.fixture
def pasted(run):
    """Run a command line that must fail with advice, then what it advises; give both messages."""

    def pasted(*arguments):
        code, out, err = run(*arguments)
        assert (code, out) == (2, "")
        assert "Traceback" not in err
        command = err.split("reads it:\n  ")[1].strip()
        name, *advised = shlex.split(command)
        assert name == "aucmax"
        code, out, again = run(*advised)
        assert code == 0, again
        assert again == ""
        return err, out

    return pasted


@pytest.fixture
def piped(monkeypatch):
    """Put bytes on standard input."""

    def piped(content):
        stream = io.TextIOWrapper(io.BytesIO(content), encoding="utf-8")
        monkeypatch.setattr("sys.stdin", stream)

    return piped


def scores(text):
    return [float(row["score"]) for row in csv.DictReader(io.StringIO(text))]


def frame(n=120, seed=0):
    """Rows with a bit of everything, and a rare label."""
    rng = np.random.default_rng(seed)
    fraud = rng.random(n) < 0.2
    fraud[:2] = True, False
    day = np.datetime64("2023-01-01") + rng.integers(0, 700, n) + 300 * fraud
    return pd.DataFrame(
        {
            "amount": (np.exp(rng.normal(size=n)) * (1 + fraud)).round(2),
            "city": np.array(["Bonn", "Ulm", "Kiel"])[rng.integers(0, 3, n)],
            "day": day.astype(str),
            "class": np.where(fraud, "fraud", "legit"),
        }
    )


# ---- which label is positive


def test_the_rarer_of_two_words_is_positive(tmp_path, good, run):
    path, model = tmp_path / "a.csv", tmp_path / "m"
    rows = frame()[["amount", "class"]]
    rows.to_csv(path, index=False)
    rare = int((rows["class"] == "fraud").sum())
    share = f"{rare} positive ({rare / 1.2:.3g} %; label fraud, the rarer)"
    line = f"a.csv: 120 rows, 1 feature, {share}"
    assert good("train", path, "-o", model, *FIT).splitlines()[0] == line
    quick = ("--losses", "square", "--alphas", "0.1", "--folds", 2)
    assert good("cv", path, *quick).splitlines()[0] == line
    compare = ("compare", path, "--solvers", "exact", "--splits", 2, "--test-size", 0.5)
    assert good(*compare).splitlines()[0] == line
    for command in (("cv", path, *quick), compare, ("evaluate", model, path)):
        report = json.loads(good(*command, "--json"))
        assert (report["positive"], report["positives"]) == ("fraud", rare)
    # the model keeps it
    auc = metrics.roc_auc(rows["class"] == "fraud", rows["amount"])
    assert auc > 0.55
    report = json.loads(good("evaluate", model, path, "--json"))
    assert report["scorers"][0]["auc"] == pytest.approx(auc)
    assert np.corrcoef(scores(good("score", model, path)), rows["amount"])[0, 1] > 0.99
    code, _, err = run("score", model, path, "-o", tmp_path / "s.csv")
    assert (code, "the higher, the more likely fraud" in err) == (0, True)
    # unless the command says otherwise; numbers keep their order; a tie has the larger
    first = good("train", path, "-o", model, *FIT, "--positive", "legit").splitlines()[0]
    assert f"{120 - rare} positive" in first
    assert "label legit)" in first
    codes = rows.assign(**{"class": (rows["class"] == "legit") + 1})
    codes.to_csv(path, index=False)
    assert f"{120 - rare} positive" in good("train", path, "-o", model, *FIT).splitlines()[0]
    rows.assign(**{"class": ["a", "b"] * 60}).to_csv(path, index=False)
    assert "label b)" in good("train", path, "-o", model, *FIT).splitlines()[0]


@pytest.mark.parametrize("words", [("FALSE", "TRUE"), ("false", "true")])
def test_true_and_false_are_shown_as_the_file_has_them(words, tmp_path, good):
    path, model = tmp_path / "a.csv", tmp_path / "m"
    rows = frame()[["amount", "class"]]
    rows["class"] = np.array(words)[(rows["class"] == "fraud").astype(int)]
    rows.to_csv(path, index=False)
    assert f"; label {words[1]})" in good("train", path, "-o", model, *FIT).splitlines()[0]
    assert load(model).classes_.tolist() == [0, 1]
    assert f"; label {words[1]})" in good("evaluate", model, path).splitlines()[0]
    report = json.loads(good("cv", path, "--losses", "square", "--alphas", "1", "--json"))
    assert (report["positive"], report["negative"]) == (words[1], words[0])


def test_what_a_column_ranks_alone_is_said_where_it_may_be_left_out(tmp_path, pasted, run):
    path = tmp_path / "a.csv"
    rows = frame()[["amount", "class"]].assign(other=np.sin(np.arange(120)).round(3))
    auc = metrics.roc_auc(rows["class"] == "fraud", rows["amount"])
    rows["amount"] = rows["amount"].astype(object)
    rows.loc[100, "amount"] = "n/x"
    rows.to_csv(path, index=False)
    assert run("train", path, "-o", tmp_path / "m", *FIT)[0] == 0
    err, _ = pasted("train", path, "-o", tmp_path / "m", *FIT, "--no-prepare")
    said = re.search(r"line 102: .*alone, the column ranks with AUC ([0-9.]+)\)", err)
    assert float(said[1]) == pytest.approx(auc, abs=0.03)
    assert "--drop amount" in err
    err, _ = pasted("train", path, "-o", tmp_path / "m", *FIT, "--strict")
    assert "correct it, take it as missing (without --strict), or leave the column out" in err
    advised = err.split("This command reads it:")[1]
    assert "--strict" not in advised
    assert "--drop" not in advised


def test_python_keeps_the_larger_label():
    rows = frame()
    model = AUCClassifier().fit(rows[["amount"]], rows["class"])
    assert model.classes_.tolist() == ["fraud", "legit"]
    assert model.coef_[0, 0] < 0


# ---- tuned or not


def test_train_tunes_unless_a_setting_is_given(tmp_path, good):
    path, model = tmp_path / "a.csv", tmp_path / "m"
    rows = frame(60)[["amount", "class"]]
    rows.to_csv(path, index=False)
    report = json.loads(good("train", path, "-o", model, "--json"))
    search = json.loads(good("cv", path, "--json"))
    assert report["tuned"]
    for name in ("alpha", "loss", "standardize", "settings_tried"):
        assert report[name] == search[name]
    assert report["held_out_auc"] == search["auc"]
    assert load(model).alpha == report["alpha"]
    text = " ".join(good("train", path, "-o", model).split())
    assert f"tuned loss {report['loss']}, standardize {report['standardize']:g}" in text
    assert f"the best of {report['settings_tried']} settings in 4 rounds of 5 folds" in text
    text = " ".join(good("train", path, "-o", model, "--solver", "exact", *FIT).split())
    assert "not tuned" in text
    assert "--alpha, --solver given" in text
    assert json.loads(good("train", path, "-o", model, *FIT, "--json"))["tuned"] is False
    expected = AUCClassifier(0.01, random_state=0, positive="fraud").get_params()
    assert {**load(model).get_params(), "callback": None} == expected


def test_a_class_of_few_rows_has_fewer_folds(tmp_path, run):
    path = tmp_path / "a.csv"
    for positives, words in (
        (2, "in 4 rounds of 2 folds"),
        (1, "too few rows of a class, groups or times"),
    ):
        y = np.repeat(["no", "yes"], [40, positives])
        pd.DataFrame({"x": np.arange(40.0 + positives) ** 0.5, "y": y}).to_csv(path, index=False)
        code, out, _ = run("train", path, "-o", tmp_path / "m")
        assert (code, words in " ".join(out.split())) == (0, True)
        assert f"only {positives} of {40 + positives} rows" in " ".join(out.split())


# ---- all that stands in the way, and one command


def messy(n=120):
    rows = frame(n)
    rng = np.random.default_rng(1)
    return pd.DataFrame(
        {
            "customer id": [f"u{i:05d}" for i in range(n)],
            "row": np.arange(1000, 1000 + n),
            "zip": rng.integers(501, 530, n),
            "amount": rows["amount"].where(rng.random(n) > 0.1),
            "it's": np.nan,
            "city": rows["city"].where(rng.random(n) > 0.1),
            "day": rows["day"],
            "seen": pd.to_datetime(rows["day"]).dt.strftime("%d.%m.%Y %H:%M"),
            "size": np.where(rng.random(n) > 0.02, rng.normal(size=n).round(3).astype(str), "1O"),
            "class": rows["class"],
        }
    )


def test_one_pass_names_all_and_the_advice_works(tmp_path, pasted, good, run):
    path = tmp_path / "a b.csv"
    messy().to_csv(path, index=False)
    err, _ = pasted("train", path, "-o", tmp_path / "m", *FIT, "--no-prepare")
    head, *body = err.splitlines()
    assert head.endswith("a b.csv: 9 problems")
    for words in (
        "column 'customer id' has 120 different values in 120 rows, such as 'u00000'",
        "column 'row' looks like an ID column and cannot generalise",
        "column 'zip' looks like codes",
        "column 'amount' has a missing value, the first of ",
        'column "it\'s" is empty in every row',
        "column 'city' holds '",
        "column 'day' holds dates, such as 2",
        "column 'seen' holds dates, such as '",
        "column 'size' holds '1O', which is not a number, as ",
    ):
        assert sum(words in line for line in body) == 1, words
    options = shlex.split(body[-1])
    dropped = {options[i + 1] for i, word in enumerate(options) if word == "--drop"}
    assert dropped == {"customer id", "row", "it's", "size"}
    assert options[options.index("--category") + 1] == "zip"
    assert {"--impute", "--one-hot", "--dates"} <= set(options)
    assert len(scores(good("score", tmp_path / "m", path))) == 120
    assert json.loads(good("evaluate", tmp_path / "m", path, "--json"))["positive"] == "fraud"
    quick = ("--losses", "square", "--alphas", "0.1", "--folds", 2)
    pasted("cv", path, *quick, "--no-prepare")
    split = ("--solvers", "exact", "--splits", 1, "--test-size", 0.5)
    pasted("compare", path, *split, "--no-prepare")


def test_a_saved_row_index_is_one_of_many_things(tmp_path, pasted):
    path = tmp_path / "a.csv"
    frame().to_csv(path)  # pandas writes its index, without a name
    err, out = pasted("train", path, "-o", tmp_path / "m", *FIT, "--no-prepare")
    assert "3 problems\n  column 1 has no name (a saved row index?)\n" in err
    assert err.splitlines()[-1].endswith("--drop '' --one-hot --dates")
    assert "(from 3 columns)" in out
    dropped = ("--drop", "city", "--drop", "day")
    pasted("train", path, *dropped, "-o", tmp_path / "m", *FIT, "--no-prepare")


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
@pytest.mark.parametrize(
    "label", ["\n", "\t\r", "it's\n\\n", "\x1b[1m", "\x07f", "é\u2028b", "\x85"]
)
def test_the_advice_is_one_line_whatever_was_typed(tmp_path, run, label):
    path = tmp_path / "a.csv"
    frame().to_csv(path)
    typed = ("compare", str(path), "--positive", label, "--no-prepare")
    code, _, err = run(*typed)
    *_, start, command = err.split("\n  ")
    assert (code, start.endswith("reads it:")) == (2, True)
    assert command.removesuffix("\n").isprintable()
    words = subprocess.run(["bash", "-c", f"printf '%s\\0' {command}"], stdout=subprocess.PIPE)
    name, *pasted = os.fsdecode(words.stdout).split("\0")[:-1]
    assert (name, *pasted[:5]) == ("aucmax", *typed)


def test_python_gets_the_remedy_as_arguments(tmp_path):
    path = tmp_path / "a.csv"
    messy().to_csv(path, index=False)
    with pytest.raises(datasets.TableError) as caught:
        datasets.read(path)
    error = caught.value
    assert len(error.obstacles) == 9
    assert str(error).endswith("reads the rest")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        read = datasets.read(path, **error.remedy)
    assert read.feature_names == ["zip", "amount", "city", "day", "seen"]
    known = {
        Words("zip", as_written=True),
        Words("city"),
        Date("day"),
        Date("seen", form="%d.%m.%Y"),
    }
    assert known == {column for column in read.columns if not column.is_number}
    np.testing.assert_array_equal(pd.isna(read.data), pd.isna(error.found.data))


def test_control_characters_of_a_file_do_not_reach_the_terminal(tmp_path, run):
    path = tmp_path / "rows.csv"
    path.write_bytes(b"a,y\n1,x\n2,\x1b[31mx\n3,x\x0b\nred,x\n")
    code, _, err = run("train", path, "-o", tmp_path / "m.aucmax", "--no-prepare")
    assert code == 2
    assert r"3 different labels (\x1b[31mx, x, x\x0b)" in err
    assert all(c.isprintable() or c == "\n" for c in err)


# colours, a title of the window, C1's own escape, backspaces, text turned around, a line of its own
ACTS = (
    "\x1b[31m",
    "\x1b]0;title\x07",
    "\x9b2J",
    "\x7f\x08\x0b",
    "\u202egnp.exe\u2069",
    "a\nforged: line",
)
MARKUP = "[bold red]x[/]", "[link=http://a]b[/link]", ":warning:"


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    """A folder with rows whose names, words, labels and file names act on a terminal."""
    folder = tmp_path_factory.mktemp("hostile")
    rng = np.random.default_rng(0)
    y = rng.random(90) < 0.4
    names = [f"{text} {j}" for j, text in enumerate((*ACTS, *MARKUP))]
    rows = pd.DataFrame(rng.normal(size=(90, len(names))) + y[:, None], columns=names)
    words = np.array([f"word {text}" for text in ACTS[:3]])[rng.integers(3, size=90)]
    labels = np.where(y, f"bad{ACTS[2]}{ACTS[0]}", f"good{ACTS[4]}")
    rows = rows.assign(**{f"words{ACTS[5]}": words, f"of{ACTS[0]}": labels})
    rows.to_csv(folder / f"rows{ACTS[5]}{ACTS[0]}.csv", index=False)
    rows.drop(columns=f"words{ACTS[5]}").to_csv(folder / "numbers.csv", index=False)
    return folder


def test_no_text_of_others_acts_on_the_terminal(hostile, tmp_path, run, monkeypatch):
    """Nothing of it moves a cursor, begins a line, or is markup, whatever the command."""
    monkeypatch.setenv("COLUMNS", "1000")  # no name is divided between lines
    data, numbers = next(hostile.glob("rows*")), hostile / "numbers.csv"
    model, plain = tmp_path / f"m{ACTS[5]}{ACTS[0]}.aucmax", tmp_path / "plain.aucmax"
    card, moments = tmp_path / "a.card", tmp_path / f"a{ACTS[0]}.moments"
    label = "--target", f"of{ACTS[0]}"
    train = "train", "--one-hot", *label, *FIT
    commands = [
        (*train, data, "-o", model),
        ("train", numbers, *label, *FIT, "-o", plain),
        ("train", numbers, *label, "--one-pass", "-o", tmp_path / "one.aucmax"),
        ("train", data, *label, "--no-prepare", "-o", tmp_path / "no"),  # which needs --one-hot
        ("show", model),
        ("evaluate", model, data, model),
        ("evaluate", model, data, "--positive", "neither\x1b[1m"),
        ("score", model, data, "-o", tmp_path / f"s{ACTS[0]}.csv", "--reasons", 2),
        ("compare", numbers, *label, "--solvers", "exact", "--splits", 1),
        ("cv", numbers, *label, "--losses", "square", "--folds", 2),
        ("scorecard", numbers, *label, "-o", card, "--against", numbers),
        ("moments", "build", numbers, *label, "-o", moments),
        ("moments", "show", moments),
        ("export", plain, "--to", "sql", "-o", tmp_path / f"a{ACTS[0]}.sql"),
        ("stream", numbers, *label, "--every", 50),
        ("show", tmp_path / f"none{ACTS[5]}{ACTS[0]}"),
        (*train, f"none{ACTS[5]}{ACTS[0]}.csv", "-o", model),
    ]  # fmt: skip
    said = []
    for command in commands:
        for more in ((), ("--json",)) if command[0] in ("show", "evaluate", "train") else ((),):
            _, *texts = run(*command, *more)
            assert "Traceback" not in texts[1]
            said += texts
    lines = "\n".join(said).split("\n")
    for line in lines:
        assert all(c.isprintable() for c in line), line
        assert not line.lstrip().startswith("forged"), line
    text = "".join("".join(said).split())  # tables fold long words
    for words in (r"\x1b[31m0", r"\x9b2J2", r"\u202egnp.exe", r"a\nforged:line5", *MARKUP):
        assert words.replace(" ", "") in text


def test_the_bar_shows_names_as_text(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    screen = Terminal()
    monkeypatch.setattr("sys.stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "200")
    with working("reading \x1b]0;title\x07[red]a") as now:
        now.at(1, 2, "fitting \x9b2J", best="\x1b[5m0.9")
    shown = screen.getvalue()
    assert r"\x1b]0;title\x07[red]a" in shown
    assert r"fitting \x9b2J" in shown
    assert "\x1b]0" not in shown
    assert "\x9b" not in shown
    assert "\x1b[5m" not in shown


def test_data_on_stdout_are_as_they_are_but_on_a_terminal(hostile, tmp_path, run, monkeypatch):
    numbers, model = hostile / "numbers.csv", tmp_path / "m.aucmax"
    run("train", numbers, "--target", f"of{ACTS[0]}", *FIT, "-o", model)
    commands = ("score", model, numbers, "--flag", 1), ("export", model, "--to", "sql")
    for command in commands:
        _, out, _ = run(*command)
        assert "\x1b[31m" in out
        with monkeypatch.context() as patch:
            patch.setattr("sys.stdout.isatty", lambda: True, raising=False)
            _, shown, _ = run(*command)
        assert r"\x1b[31m" in shown
        assert all(c.isprintable() or c == "\n" for c in shown)


def test_a_reason_is_no_formula(tmp_path, run):
    """Reasons are read in a spreadsheet; numbers and labels are also read back by programs."""
    rng = np.random.default_rng(0)
    y = rng.random(60) < 0.5
    names = ["=1+1", "+a", "-b", "@c"]
    rows = pd.DataFrame(rng.normal(size=(60, 4)) + y[:, None], columns=names).assign(label=y - 1)
    path, model = tmp_path / "rows.csv", tmp_path / "m.aucmax"
    rows.to_csv(path, index=False)
    run("train", path, *FIT, "-o", model)
    _, out, _ = run("score", model, path, "--reasons", 1, "--threshold", 0)
    found = list(csv.DictReader(io.StringIO(out)))
    reasons = [row["reason_1"] for row in found if row["reason_1"]]
    assert {text[:2] for text in reasons} == {f"'{name[0]}" for name in names}
    assert any(float(row["score"]) < 0 for row in found)
    assert {row["label"] for row in found} == {"-1", "0"}
    _, out, _ = run("score", model, path, "--reasons", 1, "--json")
    told = [why["feature"] for line in out.splitlines() for why in json.loads(line)["reasons"]]
    assert set(told) == set(names)


def test_labels_are_part_of_the_pass(tmp_path, pasted, run):
    path = tmp_path / "a.csv"
    rows = frame()[["amount", "city", "class"]]
    rows.loc[5:20, "class"] = "open"
    rows.to_csv(path, index=False)
    strict = (*FIT, "--no-prepare")
    err, _ = pasted("train", path, "-o", tmp_path / "m", *strict)
    assert "2 problems" in err
    assert "3 different labels (fraud, legit, open)" in err
    rows.loc[3, "class"] = None
    rows.to_csv(path, index=False)
    code, _, err = run("train", path, "-o", tmp_path / "m", *strict)
    assert code == 2
    assert "line 5: the label is missing in column 'class'; leave such rows out of the file" in err
    assert "Once that is corrected, this command reads the rest:" in err
    assert err.splitlines()[-1].endswith("--one-hot")


def test_names_that_the_shell_would_read_otherwise(tmp_path, pasted):
    rows = frame()[["amount", "class"]]
    path = tmp_path / "a.csv"
    names = {"$HOME": "empty", "a 'b' \"c\"": "empty", "-o": "empty", "x;y": "empty"}
    rows.assign(**dict.fromkeys(names, np.nan)).to_csv(path, index=False)
    err, out = pasted("train", path, "-o", tmp_path / "m", *FIT, "--no-prepare")
    assert "--drop=-o" in err
    assert "1 feature," in out


def test_european_csv(tmp_path, pasted, good):
    path = tmp_path / "a.csv"
    rows = frame()[["amount", "class"]]
    rows.to_csv(path, index=False, sep=";", decimal=",")
    err, _ = pasted("train", path, "-o", tmp_path / "m", *FIT, "--no-prepare")
    assert "values are separated by ';'" in err
    assert err.strip().endswith("--sep ';' --decimal ,")
    rows.to_csv(tmp_path / "b.csv", index=False)
    plain = scores(good("score", tmp_path / "m", tmp_path / "b.csv"))
    assert scores(good("score", tmp_path / "m", path, "--sep", ";", "--decimal", ",")) == plain
    assert scores(good("score", tmp_path / "m", path)) == plain
    pasted("evaluate", tmp_path / "m", path, "--no-prepare")
    rows.to_csv(path, index=False, sep="\t")
    good("train", path, "--sep", "tab", "-o", tmp_path / "m", *FIT)


def test_spaces_in_a_header_are_trimmed(tmp_path, good):
    text = frame()[["amount", "class"]].to_csv(index=False)
    (tmp_path / "a.csv").write_text(text.replace("amount,class", "amount ,  class", 1))
    good("train", tmp_path / "a.csv", "-o", tmp_path / "m", *FIT)
    assert load(tmp_path / "m").feature_names_in_.tolist() == ["amount"]
    assert datasets.read(tmp_path / "a.csv", target=" class").target_name == "class"
    (tmp_path / "a.csv").write_text("a, b, y\n1, 2, no\n3, 4, yes\n")
    read = datasets.read(tmp_path / "a.csv", positive="yes")
    assert (read.data.tolist(), read.target.tolist()) == ([[1, 2], [3, 4]], [-1, 1])


# ---- standard input and formats


def test_standard_input(tmp_path, good, run, piped):
    rows = frame()[["amount", "class"]]
    content = rows.to_csv(index=False).encode()
    (tmp_path / "a.csv").write_bytes(content)
    piped(content)
    first = good("train", "-", "-o", tmp_path / "m", *FIT).splitlines()[0]
    assert first.startswith("standard input: 120 rows, 1 feature")
    whole = scores(good("score", tmp_path / "m", tmp_path / "a.csv"))
    piped(content)
    assert scores(good("score", tmp_path / "m", "-")) == whole
    piped(content)  # read once, for two models
    good("evaluate", tmp_path / "m", "-", tmp_path / "m")
    piped(b"1 1:2\n0 1:1\n1 1:3\n0 1:0\n" * 10)
    good("train", "-", "--format", "svmlight", "-o", tmp_path / "m", *FIT)
    piped(b"a,y\n1,0\nx,1\n")
    code, _, err = run("train", "-", "-o", tmp_path / "m", *FIT, "--no-prepare")
    assert code == 2
    assert err.startswith("error: standard input, line 3: column 'a' holds 'x'")


def test_the_format_can_be_said(tmp_path, good, run):
    rows = frame()[["amount", "class"]]
    rows.to_csv(tmp_path / "a.data", index=False)
    rows.to_parquet(tmp_path / "b.data")
    for name, kind in (("a.data", "csv"), ("b.data", "parquet")):
        good("train", tmp_path / name, "--format", kind, "-o", tmp_path / "m", *FIT)
        assert len(scores(good("score", tmp_path / "m", tmp_path / name, "--format", kind))) == 120
    code, _, err = run("train", tmp_path / "b.data", "--format", "parquet", "--sep", ";", "-o", "m")
    assert (code, "sep, decimal, encoding and header are for CSV files" in err) == (2, True)
    code, _, err = run("cv", "diabetes", "--sep", ";")
    assert (code, "--sep is for files; diabetes is a data set" in err) == (2, True)


def test_an_open_file_is_read(tmp_path):
    path = tmp_path / "a.csv"
    frame()[["amount", "class"]].to_csv(path, index=False)
    with path.open("rb") as stream:
        read = datasets.read(stream)
    np.testing.assert_array_equal(read.data, datasets.read(path).data)
    with pytest.raises(ValueError, match="sep=';;'"):
        datasets.read(path, sep=";;")
    with pytest.raises(ValueError, match="must differ"):
        datasets.read(path, sep=",", decimal=",")


# ---- one Bunch


def test_read_and_load_give_the_same_bunch(tmp_path, monkeypatch):
    from sklearn.datasets import dump_svmlight_file

    monkeypatch.setenv("AUCMAX_DATA", str(tmp_path))
    monkeypatch.setenv("AUCMAX_CACHE", str(tmp_path / "cache"))
    rng = np.random.default_rng(0)
    path = tmp_path / "fourclass_scale"
    y = np.repeat([-1, 1], [555, 307])
    dump_svmlight_file(rng.random((862, 2)), y, str(path), zero_based=False)
    known, read = datasets.load("fourclass"), datasets.read(path)
    assert type(known) is type(read)
    assert set(read) <= set(known)
    assert known.feature_names is read.feature_names is None
    assert known.n_features == read.n_features == 2
    assert known.files == read.files == [str(path)]
    np.testing.assert_array_equal(known.target, read.target)
    np.testing.assert_array_equal(known.data, read.data.toarray())


# ---- missing values


def test_gaps_become_features_of_their_own(tmp_path, good):
    """What is missing can be what matters: a median alone would hide it."""
    rng = np.random.default_rng(0)
    y = rng.random(300) < 0.3
    x = np.where(rng.random(300) < np.where(y, 0.6, 0.1), np.nan, rng.normal(size=300))
    word = np.where(rng.random(300) < np.where(y, 0.6, 0.1), None, "a")
    path = tmp_path / "a.csv"
    for columns in ({"x": x}, {"word": word}):
        pd.DataFrame({**columns, "z": rng.normal(size=300), "y": y.astype(int)}).to_csv(
            path, index=False
        )
        report = json.loads(
            good("train", path, "--impute", "--one-hot", "-o", tmp_path / "m", *FIT, "--json")
        )
        assert report["training_auc"]["auc"] > 0.7
        shown = good("show", tmp_path / "m")
        assert ("missingindicator_x" in shown) == ("x" in columns)
        assert ("word_nan" in shown) == ("word" in columns)
    # a gap where training had none
    (tmp_path / "b.csv").write_text("word,z\n,1\na,\n")
    assert np.isfinite(scores(good("score", tmp_path / "m", tmp_path / "b.csv"))).all()


# ---- dates


@pytest.mark.parametrize("form", [form for form in EXAMPLES if form not in EPOCHS])
def test_dates_of_every_form_are_days(tmp_path, form):
    days = pd.date_range("1969-12-25", periods=80, freq="9D")
    if "%d" not in form:
        days = days.to_period("M").to_timestamp()
    words = [day.strftime(form.replace("%b %d", "%b %d,")) for day in days]
    numbers = (days - pd.Timestamp(0)).days
    path = tmp_path / "a.csv"
    pd.DataFrame({"day": words, "y": [0, 1] * 40}).to_csv(path, index=False)
    read = datasets.read(path, dates=True, prepare=form == DIGITS)
    assert read.data[:, 0].tolist() == numbers.tolist()
    assert Date("day", form=form) in read.columns
    times = [f"{word} 18:30" for word in words]
    pd.DataFrame({"day": times, "y": [0, 1] * 40}).to_csv(path, index=False)
    expected = numbers + 18.5 / 24
    np.testing.assert_allclose(datasets.read(path, dates=True).data[:, 0], expected)
    # what a model knows needs no guess
    pd.DataFrame({"day": times[:1], "y": [0]}).to_csv(path, index=False)
    again = datasets.read(path, columns=["day"], labels="none", dates={"day": form})
    np.testing.assert_allclose(again.data[0, 0], expected[0])


@pytest.mark.parametrize(
    ("word", "form", "day"),
    [
        ("1970-01-01", "%Y-%m-%d", 0),
        ("2024-02-29T12:00:00Z", "%Y-%m-%d", 19782.5),
        ("2024-02-29 12:00:00.0", "%Y-%m-%d", 19782.5),
        ("2024-02-29T12:00+02:00", "%Y-%m-%d", 19782 + 10 / 24),
        ("2024-02-29T12:00-0530", "%Y-%m-%d", 19782 + 17.5 / 24),
        ("02/29/2024 12:00 AM", "%m/%d/%Y", 19782),
        ("02/29/2024 06:00:00 pm", "%m/%d/%Y", 19782.75),
        ("29 February 2024", "%d %b %Y", 19782),
        ("2023-02-29", "%Y-%m-%d", None),
        ("2024-13-01", "%Y-%m-%d", None),
        ("24-01-01", "%Y-%m-%d", None),
        ("2024-01-01 24:30", "%Y-%m-%d", None),
        ("2024-01-01x", "%Y-%m-%d", None),
        ("31 Foo 2024", "%d %b %Y", None),
    ],
)
def test_a_date_is_a_date(word, form, day):
    assert day_number(word, form) == (None if day is None else pytest.approx(day, abs=1e-9))


def test_dates_of_typed_files(tmp_path):
    moments = pd.to_datetime(["2024-01-31 12:00", "1970-01-02 00:00"])
    table = {
        "naive": moments,
        "zoned": moments.tz_localize("UTC"),
        "date": moments.date,
        "time": [moment.time() for moment in moments],
        "y": [0, 1],
    }
    pd.DataFrame(table).to_parquet(tmp_path / "a.parquet")
    read = datasets.read(tmp_path / "a.parquet", dates=True)
    expected = [[19753.5, 19753.5, 19753, 0.5], [1, 1, 1, 0]]
    np.testing.assert_allclose(read.data, expected)


def test_dates_that_could_be_others_are_refused(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("day,y\n01/02/2024,0\n03/04/2024,1\n")
    with pytest.raises(datasets.TableError, match="which may be day/month/year or month/day/year"):
        datasets.read(path, dates=True)
    read = datasets.read(path, dates={"day": "%d/%m/%Y"})
    assert read.data[:, 0].tolist() == [day_number("2024-02-01", "%Y-%m-%d"), 19816]
    with pytest.raises(ValueError, match="is not one of %Y-%m-%d"):
        datasets.read(path, dates={"day": "%x"})
    # one day beyond the twelfth settles it
    path.write_text("day,y\n01/02/2024,0\n13/04/2024,1\n")
    assert Date("day", form="%d/%m/%Y") in datasets.read(path, dates=True).columns
    known = "".join(f"2024-01-{i:02d},{i % 2}\n" for i in range(1, 29))
    path.write_text(f"day,y\n{known}?,1\nsoon,1\n")
    with pytest.raises(datasets.TableError, match="holds 'soon', which is not a date such as"):
        datasets.read(path, dates=True, missing=True)


def test_a_model_reads_dates_as_it_learned_them(tmp_path, good, run):
    rows = frame()
    rows["day"] = pd.to_datetime(rows["day"]).dt.strftime("%d/%m/%Y")
    path, model = tmp_path / "a.csv", tmp_path / "m"
    rows.drop(columns="city").to_csv(path, index=False)
    good("train", path, "--dates", "-o", model, *FIT)
    whole = scores(good("score", model, path))
    # one row, whose date alone could be either
    rows.head(1).to_csv(tmp_path / "one.csv", index=False)
    assert scores(good("score", model, tmp_path / "one.csv")) == pytest.approx(whole[:1])
    # typed dates
    typed = rows.assign(day=pd.to_datetime(rows["day"], format="%d/%m/%Y"))
    typed.to_parquet(tmp_path / "a.parquet")
    assert scores(good("score", model, tmp_path / "a.parquet")) == pytest.approx(whole)
    iso = rows.assign(day=pd.to_datetime(rows["day"], format="%d/%m/%Y").dt.date)
    iso.to_csv(path, index=False)
    assert scores(good("score", model, path)) == pytest.approx(whole)
    rows.assign(day="2024.01.31").to_csv(path, index=False)
    code, _, err = run("score", model, path)
    assert code == 2
    assert "holds '2024.01.31', which is not a date such as 31/01/2024; the model was" in err


# ---- ids and codes among numbers


@pytest.mark.parametrize(
    ("name", "values", "option"),
    [
        ("anything", range(100), "drop"),
        ("n", [7, *range(1000, 1399, 4)], None),
        ("number", np.random.default_rng(0).permutation(300) + 5, "drop"),
        ("part of a count", np.random.default_rng(0).permutation(300)[:120], "drop"),
        ("price", np.random.default_rng(0).integers(10**5, 10**6, 300), None),
        ("year", range(1950, 2020), None),
        ("day", [20240000 + 100 * m + d for m in range(1, 13) for d in range(1, 29)], None),
        ("customerId", np.random.default_rng(0).integers(0, 10**9, 60), "drop"),
        ("user_id", np.repeat(range(30), 5), "drop"),
        ("zip", np.random.default_rng(0).integers(501, 530, 60), "categories"),
        ("zip", np.random.default_rng(0).integers(501, 99999, 60), "drop"),
        ("ZIP code", [10115, 80331, 20095], "categories"),
        ("income", np.random.default_rng(0).integers(10**4, 10**5, 300), None),
        ("seconds", np.random.default_rng(0).integers(0, 10**6, 300), None),
        ("age", np.random.default_rng(0).integers(18, 90, 300), None),
        ("video", np.random.default_rng(0).integers(0, 5, 300), None),
        ("x", np.random.default_rng(0).normal(size=300), None),
        ("width", np.arange(300) / 7, None),
        ("id", [0, 1] * 30, None),
        ("few", range(20), None),
    ],
)
def test_what_looks_like_ids(name, values, option):
    found = doubt(name, np.array(values, dtype=float), ())
    assert (None if found is None else found.remedy) == (option and {option: [name]})


def test_real_data_raise_no_false_alarm():
    sets = [load_breast_cancer(as_frame=True), load_wine(as_frame=True)]
    sets += [load_diabetes(as_frame=True, scaled=False)]
    for data in sets:
        for name, column in data.data.items():
            assert doubt(name, column.to_numpy(dtype=float), ()) is None, name


def test_ids_and_zip_codes_are_named_in_a_warning(tmp_path, run):
    rng = np.random.default_rng(0)
    path = tmp_path / "a.csv"
    rows = frame()[["amount", "class"]].assign(number=np.arange(120))
    rows["plz"] = [f"{code:05d}" for code in rng.integers(1000, 1030, 120)]
    rows["where"] = [f"{code:03d}" for code in rng.integers(1, 40, 120)]
    rows.to_csv(path, index=False)
    code, out, err = run("train", path, "-o", tmp_path / "m", *FIT, "--no-prepare")
    assert code == 0
    first = " ".join(out.partition("Look at this first")[2].split())
    assert first.startswith("1. column 'number' looks like an ID column and cannot generalise")
    assert first.endswith("leave it out (--drop number)")
    warned = err.splitlines()
    assert len(warned) == 2
    for line, name in zip(warned, ("plz", "where"), strict=True):
        assert line.startswith("warning: ")
        assert f"column {name!r} looks like codes" in line
    # scoring is no learning
    code, _, err = run("score", tmp_path / "m", path)
    assert (code, err) == (0, "")
    said = ("--drop", "number", "--category", "plz", "--category", "where")
    assert run("train", path, "-o", tmp_path / "m", *FIT, "--no-prepare", *said)[2] == ""


# ---- pipelines that Python saved


def customers(n=150, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    return {
        "x": [None if rng.random() < 0.1 else float(v) for v in x],
        "rooms": rng.integers(1, 5, n),
        "code": np.array(["01", "1", "007"])[rng.integers(0, 3, n)],
        "colour": [None if rng.random() < 0.1 else c for c in rng.choice(["red", "blue"], n)],
        "owner": rng.random(n) < 0.5,
        "note": [f"note {i}" for i in range(n)],
    }, np.where(x + rng.normal(size=n) > 0.8, "yes", "no")


@pytest.mark.covering(1)
@pytest.mark.usefixtures("few_penalties")
@pytest.mark.parametrize("library", [pd, pl], ids=["pandas", "polars"])
@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_a_pipeline_on_a_data_frame_is_scored_from_a_file(tmp_path, good, run, library, form):
    columns, y = customers()
    encoder = OneHotEncoder(handle_unknown="ignore")
    front = ColumnTransformer(
        [
            ("words", encoder, ["code", "colour", "owner", "rooms"]),
            ("numbers", make_pipeline(SimpleImputer(add_indicator=True), StandardScaler()), ["x"]),
        ]
    )
    model = make_pipeline(front, AUCClassifier(0.01)).fit(library.DataFrame(columns), y)
    path, file = tmp_path / "m.aucmax", tmp_path / f"new.{form}"
    save(model, path)
    new, truth = customers(60, seed=1)
    new["colour"][0] = "green"
    # another order, other columns, and not the one that the pipeline leaves out
    rows = pd.DataFrame({"label": truth, "more": "?", **new}).drop(columns="note")
    rows = rows.sample(frac=1, axis=1, random_state=0)
    rows.to_csv(file, index=False) if form == "csv" else rows.to_parquet(file)
    expected = model.decision_function(library.DataFrame(new))
    assert scores(good("score", path, file)) == pytest.approx(expected, abs=1e-12)
    report = json.loads(good("evaluate", path, file, "--json"))
    assert report["positive"] == "yes"
    assert report["scorers"][0]["auc"] == pytest.approx(metrics.roc_auc(truth == "yes", expected))
    assert "words__code_007" in good("show", path)
    code, _, err = run("evaluate", path, file, "--logistic", file, "--json")
    assert (code, err) == (0, "")


def test_what_a_pipeline_cannot_take_is_named(tmp_path, run):
    columns, y = customers()
    rows = pd.DataFrame(columns)[["rooms", "code"]]
    front = ColumnTransformer([("c", OrdinalEncoder(), ["code"])], remainder="passthrough")
    save(make_pipeline(front, AUCClassifier()).fit(rows, y), tmp_path / "m")
    for content, words in (
        ("rooms,code\n1,01\nmany,01\n", "line 3: column 'rooms' holds 'many', which is not"),
        ("rooms,code\n1,01\n,01\n", "line 3: column 'rooms' has a missing value"),
        ("rooms,code\n1,01\n2,\n", "line 3: column 'code' has a missing value"),
        ("rooms,cod\n1,01\n", "columns the model needs are missing: code"),
    ):
        (tmp_path / "a.csv").write_text(content)
        code, _, err = run("score", tmp_path / "m", tmp_path / "a.csv")
        assert code == 2
        assert words in err


def test_an_encoder_alone_takes_a_data_frame_too(tmp_path, good):
    columns, y = customers()
    rows = pd.DataFrame(columns)[["code", "owner"]]
    model = make_pipeline(OneHotEncoder(), AUCClassifier()).fit(rows, y)
    save(model, tmp_path / "m")
    rows.to_csv(tmp_path / "a.csv", index=False)
    found = scores(good("score", tmp_path / "m", tmp_path / "a.csv"))
    assert found == pytest.approx(model.decision_function(rows))


def test_an_imputer_of_words_and_numbers_is_given_numbers_where_it_had_numbers(tmp_path, good):
    columns, y = customers()
    rows = pd.DataFrame(columns)[["rooms", "colour"]]
    imputer = SimpleImputer(strategy="most_frequent")
    front = make_pipeline(imputer, OneHotEncoder(handle_unknown="ignore"))
    model = make_pipeline(front, AUCClassifier()).fit(rows, y)
    save(model, tmp_path / "m")
    rows.to_csv(tmp_path / "a.csv", index=False)
    written = scores(good("score", tmp_path / "m", tmp_path / "a.csv"))
    assert written == pytest.approx(model.decision_function(rows))


def test_a_model_without_names_can_only_leave_columns_out(tmp_path, run, pasted):
    (tmp_path / "a.svm").write_text("1 1:2 2:1\n0 1:1\n1 1:3\n0 2:1\n")
    assert run("train", tmp_path / "a.svm", "-o", tmp_path / "m", *FIT)[0] == 0
    path = tmp_path / "new.csv"
    path.write_text("a,note,b\n1,red,2\n3,blue,4\n")
    err, _ = pasted("score", tmp_path / "m", path)
    assert err.splitlines()[-1].endswith("--drop note")
    path.write_text("a,note\n1,red\n3,blue\n")
    code, _, err = run("score", tmp_path / "m", path)
    assert code == 2
    assert "column 'note' holds 'red', which is not a number" in err
    assert "reads it" not in err


# ---- one door for all commands


def test_a_saved_model_speaks_the_labels_of_the_file(tmp_path, good, run):
    columns, y = customers()
    table = pd.DataFrame(columns)[["rooms", "colour", "x"]].assign(state=y)
    table.to_csv(tmp_path / "a.csv", index=False)
    fit = ("train", tmp_path / "a.csv", "-o", tmp_path / "m", "--target", "state", *FIT)
    good(*fit, "--one-hot", "--impute", "--positive", "no")
    model = load(tmp_path / "m")
    assert model.classes_.tolist() == ["yes", "no"]
    assert model[-1].target_name_ == "state"
    assert model.feature_names_in_.tolist() == ["rooms", "colour", "x"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # names go in, so nothing needs to be told
        predicted = model.predict(table.drop(columns="state")[["x", "rooms", "colour"]])
        assert set(predicted) == {"yes", "no"}
        again = model.predict(pl.from_pandas(table.drop(columns="state")))
    assert predicted.tolist() == again.tolist()
    _, text, _ = run("score", tmp_path / "m", tmp_path / "a.csv", "--threshold", 0)
    written = list(csv.DictReader(io.StringIO(text)))
    assert [row["label"] for row in written] == predicted.tolist()


@pytest.mark.usefixtures("few_penalties")
def test_every_command_opens_data_sets_by_name(tmp_path, good, bad, monkeypatch):
    monkeypatch.setenv("AUCMAX_DATA", str(tmp_path))
    monkeypatch.setenv("AUCMAX_CACHE", str(tmp_path / "cache"))
    rng = np.random.default_rng(0)
    y = np.repeat([-1, 1], [555, 307])
    dump_svmlight_file(
        rng.random((862, 2)) + 0.2 * y[:, None], y, str(tmp_path / "fourclass_scale"),
        zero_based=False,
    )  # fmt: skip
    model = tmp_path / "m"
    good("train", "fourclass", "-o", model, "--scale", "unit-norm", *FIT)
    assert [name for name, _ in load(model).steps] == ["unit_norm", "model"]
    report = json.loads(good("evaluate", model, "fourclass", "--logistic", "fourclass", "--json"))
    assert (report["rows"], report["positives"], report["positive"]) == (862, 307, 1)
    assert len(good("score", model, "fourclass").splitlines()) == 863
    assert "--target is for files; fourclass is a data set" in bad(
        "evaluate", model, "fourclass", "--target", "x"
    )
    table = pd.DataFrame({"a": rng.random(40), "label": [0, 1] * 20})
    table.to_csv(tmp_path / "a.csv", index=False)
    good("train", tmp_path / "a.csv", "-o", tmp_path / "named", *FIT)
    assert "has 2 features without names, but the model was trained on other columns" in bad(
        "score", tmp_path / "named", "fourclass"
    )


def test_halves_of_many_labels_are_classes_in_every_command(tmp_path, good, bad):
    rng = np.random.default_rng(0)
    y = np.arange(90) % 3
    path = tmp_path / "three.svm"
    dump_svmlight_file(rng.normal(size=(90, 2)) + y[:, None], y, str(path), zero_based=False)
    even = ("--binarize", "even-odd")
    report = json.loads(good("train", path, "-o", tmp_path / "m", *even, *FIT, "--json"))
    assert (report["positives"], report["positive"], report["negative"]) == (60, "even", "odd")
    report = json.loads(good("evaluate", tmp_path / "m", path, *even, "--json"))
    assert (report["positives"], report["positive"]) == (60, "even")
    assert "no label 'even'" in bad("evaluate", tmp_path / "m", path)


# ---- what to look at first


@pytest.mark.usefixtures("undrawn")
def test_suspicions_are_on_the_screen_in_json_and_on_the_page(tmp_path, run, good):
    rng = np.random.default_rng(0)
    n = 2000
    fraud = rng.random(n) < 0.1
    customer = rng.permutation(500)[np.where(fraud, 0, 100) + rng.integers(0, 100, n)]
    rows = pd.DataFrame(
        {
            "amount": np.round(rng.normal(size=n) + fraud, 3),
            "fee": np.round(rng.random(n) + 2 * fraud, 3),
            "customer": [f"C{k:03d}" for k in customer],
            "class": np.where(fraud, "fraud", rng.choice(["ok", "open"], n)),
        }
    )
    path, model, page = tmp_path / "a.csv", tmp_path / "m", tmp_path / "p.html"
    rows.iloc[:1500].to_csv(path, index=False)
    said = ("--positive", "fraud", "--drop", "customer")
    first = " ".join(good("train", path, "-o", model, *FIT, *said).partition("first")[2].split())
    assert "if it is known only afterwards, leave it out (--drop fee) 2. column 'customer'" in first
    assert "(--groups customer, in place of --drop customer) 3. 2 other labels count as" in first
    for command in ("train", "cv"):
        report = json.loads(good(command, path, "-o", model, *said, "--json"))
        answers = [one["answer"] for one in report["suspicions"]]
        assert answers == [{"drop": ["fee"]}, {"groups": "customer"}, {}]
        assert report["suspicions"][0]["kind"] == "ranks_alone"
    answered = ("--positive", "fraud", "--groups", "customer", "--drop", "fee", "--json")
    report = json.loads(good("cv", path, *answered))
    assert [one["kind"] for one in report["suspicions"]] == ["other_labels"]
    good("cv", path, *said, "--html", page)
    assert "Look at this first" in page.read_text()
    rows.iloc[500:].to_csv(path, index=False)
    report = json.loads(good("evaluate", model, path, "--positive", "fraud", "--json"))
    assert [one["kind"] for one in report["suspicions"]] == ["ranks_alone", "training_rows"]
    assert report["suspicions"][1]["figure"] == pytest.approx(2 / 3, abs=1e-3)
    rows.iloc[1500:].to_csv(path, index=False)
    report = json.loads(good("evaluate", model, path, "--positive", "fraud", "--json"))
    assert [one["kind"] for one in report["suspicions"]] == ["ranks_alone"]
    loaded = load(model)
    assert loaded.training_rows_.rows == 1500
    X = rows[["amount", "fee"]]  # a fit to other rows has no digests of these
    loaded.fit(X, np.where(fraud, "fraud", "rest"))
    assert not hasattr(loaded, "training_rows_")


def test_rows_in_parts_are_suspected_on_a_sample(tmp_path, run):
    rng = np.random.default_rng(0)
    y = rng.random(30_000) < 0.1
    rows = pd.DataFrame(rng.normal(size=(30_000, 8)).round(4)).add_prefix("x")
    rows["fee"] = rng.random(30_000) + 2 * y
    path = tmp_path / "a.csv"
    rows.assign(y=y.astype(int)).to_csv(path, index=False)
    command = ("train", path, "-o", tmp_path / "m", "--memory", "4MB", "--json")
    code, out, err = run(*command)
    assert code == 0
    assert "is read in parts" in err
    [one] = json.loads(out)["suspicions"]
    assert (one["kind"], one["answer"]) == ("ranks_alone", {"drop": ["fee"]})
    assert one["sentence"].endswith("of the rows show)")
