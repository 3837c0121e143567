"""Files and command lines that are broken at random: success, or one clear line.

Never a traceback, a hang, or a file that was changed. Every input comes from its number alone, so
that a failure can be run again:
``AUCMAX_ATTACK=csv:1234 pytest -m exhaustive tests/project/test_fuzz.py``.
A long run: ``AUCMAX_ATTACKS=1000000 pytest -s -m exhaustive tests/project/test_fuzz.py``.
"""

import contextlib
import faulthandler
import functools
import gzip
import io
import os
import signal
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv as pa_csv
from pyarrow import parquet
from sklearn.compose import make_column_transformer
from sklearn.exceptions import ConvergenceWarning
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from aucmax import AUCClassifier, HingeClassifier, save
from aucmax.basics.errors import DataFileError, DataWarning
from aucmax.cli import main
from aucmax.datasets import read
from forged_files import USES, forged, seeds

IN_CI = 50  # of each kind, and fewer of slow ones
PATIENCE = 300  # seconds for one input, also on a machine that is busy
WORDS = [
    *(b"nan", b"NaN", b"inf", b"-Infinity", b"1e999", b"1e160", b"1e-320", b"-0", b"0x10", b"1_0"),
    *(b"9" * 400, b"9" * 5000, b"2147483647", b"2147483648", b"-1", b"0", b"1.5.2", b"1,5", b"."),
    *(b"", b" ", b"\0", b"\xff", b"\xef\xbb\xbf", b"\r", b"\n", b"\r\n", b"\t", b",", b";", b"|"),
    *(b'"', b"'", b'""', b":", b"#", b"qid:1", b"y", b"a", b"None", b"NA", b"true", b"\xc3\xa9"),
    *(b"2024-01-31", b"12:30", b"$5", b"7 %", b"=1+1", b"{", b"[", b"null", b"\x1a", b"PK\x03\x04"),
]


# ---- what is broken


@functools.cache
def rows(n=40):
    rng = np.random.default_rng(0)
    X = np.round(rng.normal(size=(n, 3)), 3)
    return X, (X[:, 0] + 0.5 * rng.normal(size=n) > 0.3).astype(int)


@functools.cache
def table():
    X, y = rows()
    words = np.array(["red", "green", "blue"])[np.arange(len(y)) % 3]
    return pa.table({"a": X[:, 0], "b": X[:, 1], "colour": words, "n": np.arange(40), "y": y})


def as_csv(**how):
    out = io.BytesIO()
    pa_csv.write_csv(table(), out, pa_csv.WriteOptions(**how))
    return out.getvalue()


def as_parquet(**how):
    out = io.BytesIO()
    parquet.write_table(table(), out, **how)
    return out.getvalue()


def as_svmlight():
    X, y = rows()
    return b"".join(
        b"%d %s # row\n" % (k, b" ".join(b"%d:%.3f" % (j + 1, v) for j, v in enumerate(x)))
        for x, k in zip(X, y, strict=True)
    )


@functools.cache
def models():
    """The bytes of model files: plain, of streams, of a pipeline with text columns."""
    X, y = rows()
    mixed = np.array(
        list(zip(*(table()[c].to_pylist() for c in ("a", "b", "colour")), strict=True))
    )
    columns = make_column_transformer(
        (make_pipeline(SimpleImputer(), StandardScaler()), [0, 1]),
        (OneHotEncoder(handle_unknown="ignore"), [2]),
    )
    fitted = [
        AUCClassifier(1e-3).fit(X, y),
        AUCClassifier(1e-3, solver="spam", random_state=0).fit(X, y),
        AUCClassifier(1e-3, solver="opauc", random_state=0).fit(X, y),
        HingeClassifier(solver="rda", random_state=0).fit(X, y),
        make_pipeline(StandardScaler(), AUCClassifier(1e-3)).fit(X, y),
        make_pipeline(columns, AUCClassifier(1e-3)).fit(mixed, y),
    ]
    return [dumped(lambda path, model=model: save(model, path)) for model in fitted]


def dumped(write):
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "file")
        write(path)
        with open(path, "rb") as file:
            return file.read()


# ---- how it is broken


def broken(rng, data):
    """Return the bytes with one to six changes."""
    data = bytearray(data)
    for _ in range(rng.choice([1, 1, 1, 2, 3, 6])):
        at = int(rng.integers(len(data) + 1))
        upto = min(at + int(rng.choice([1, 2, 5, 20, 200])), len(data))
        what = rng.integers(8)
        if what == 0 and data:
            data[min(at, len(data) - 1)] ^= 1 << int(rng.integers(8))
        elif what == 1:
            data[at:at] = WORDS[rng.integers(len(WORDS))]
        elif what == 2:
            data[at:upto] = WORDS[rng.integers(len(WORDS))]
        elif what == 3:
            del data[at:upto]
        elif what == 4:
            data[at:at] = data[at:upto]
        elif what == 5 and rng.random() < 0.3:
            del data[at:]
        elif what == 6:
            data[at:at] = rng.bytes(int(rng.integers(1, 9)))
        else:  # a whole value, where values are separated
            parts = bytes(data).replace(b"\n", b" \n").split(b" ")
            parts[rng.integers(len(parts))] = WORDS[rng.integers(len(WORDS))]
            data = bytearray(b" ".join(parts))
    return bytes(data)


# ---- the property


class Late(BaseException):
    """An input took too long."""


@contextlib.contextmanager
def limited():
    def late(*_):
        raise Late(f"more than {PATIENCE} s")

    old = signal.signal(signal.SIGALRM, late)
    signal.alarm(PATIENCE)
    # no exception ends C code: then the process does, and says where
    faulthandler.dump_traceback_later(PATIENCE + 30, exit=True, file=sys.__stderr__)
    try:
        yield
    finally:
        faulthandler.cancel_dump_traceback_later()
        signal.alarm(0)
        signal.signal(signal.SIGALRM, old)


def one_line(error, path):
    message = str(error)
    assert message, repr(error)
    assert "Traceback" not in message
    assert str(path) in message, message


def command(*arguments):
    """Run a command line in this process; check how it ends and return its exit code."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main([str(a) for a in arguments])
        except SystemExit as end:
            code = end.code
    told = err.getvalue()
    assert code in (0, 2), (code, told)
    assert "Traceback" not in told, told
    errors = [line for line in told.splitlines() if not line.startswith("warning: ")]
    if code == 2:
        assert errors[0].startswith("error: "), told
        # what else stands in the way of a table, and a command that reads it
        ends = ("reads it:", "reads the rest:")
        assert all(line.startswith("  ") or line.endswith(ends) for line in errors[1:]), told
        assert len(errors[0]) > len("error: ") + 5, told
    return code


def attack_data(rng, folder, data, suffix):
    path, kept = folder / f"in{suffix}", folder / "kept.aucmax"
    path.write_bytes(data)
    kept.write_bytes(b"kept")
    table = suffix.startswith((".csv", ".tsv", ".parquet"))
    if rng.random() < 0.1:  # all of the way
        options = ["--one-hot", "--impute"] if table and rng.random() < 0.7 else []
        options += ["--alpha", "1e-3"] if rng.random() < 0.8 else []  # no search
        if command("train", path, "-o", kept, *options) == 0:
            assert command("score", kept, path, "-o", folder / "scores.csv") in (0, 2)
        else:
            assert kept.read_bytes() == b"kept"
    else:
        how = {"labels": str(rng.choice(["required", "optional", "none"]))}
        if table:
            how |= {"text": bool(rng.random() < 0.6), "missing": bool(rng.random() < 0.6)}
            how |= {} if rng.random() < 0.7 else {"target": str(rng.choice(["y", "colour", "n"]))}
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DataWarning)  # a count of rows may come of it
                found = read(path, **how)
        except DataFileError as error:
            one_line(error, path)
        else:
            numbers = found.data.data if hasattr(found.data, "indptr") else found.data
            if numbers.dtype == np.float64 and not how.get("missing"):
                assert np.isfinite(numbers).all()
            if found.target is not None:
                assert len(found.target) == found.data.shape[0]
    assert path.read_bytes() == data
    assert {p.name for p in folder.iterdir()} <= {path.name, kept.name, "scores.csv"}


def attack_text(seed_of, suffix):
    def attack(rng, folder):
        data = broken(rng, seed_of(rng))
        if rng.random() < 0.05:
            data = gzip.compress(data, 1)
            data = broken(rng, data) if rng.random() < 0.5 else data
            return attack_data(rng, folder, data, suffix + ".gz")
        return attack_data(rng, folder, data, suffix)

    return attack


@functools.cache
def tables(kind):
    if kind == "parquet":
        return [as_parquet(), as_parquet(compression="none", use_dictionary=False)]
    delimiter = "," if kind == "csv" else "\t"
    return [as_csv(delimiter=delimiter, quoting_style=style) for style in ("needed", "all_valid")]


def attack_file(kind):
    """Return an attack on a file of this package, which is used if it is loaded."""

    def attack(rng, folder):
        files = seeds(kind)
        data, what = files[rng.integers(len(files))]
        data = forged(rng, data, broken)
        path = folder / "file.aucmax"
        path.write_bytes(data)
        USES[kind](rng, path, what)
        assert path.read_bytes() == data

    return attack


def attack_model(rng, folder):
    """Give a forged model to commands."""
    data = forged(rng, models()[rng.integers(len(models()))], broken)
    path, rows_path, kept = folder / "m.aucmax", folder / "rows.csv", folder / "kept.csv"
    path.write_bytes(data)
    kept.write_bytes(b"kept")
    rows_path.write_bytes(as_csv())
    words = [("score", path, rows_path, "-o", kept), ("evaluate", path, rows_path), ("show", path)]
    code = command(*words[rng.integers(3)])
    assert code == 0 or kept.read_bytes() == b"kept"
    assert path.read_bytes() == data


OPTIONS = [
    *("--target", "--positive", "--drop", "--alpha", "--l1-ratio", "--loss", "--standardize"),
    *("--solver", "--tol", "--max-iter", "--seed", "--impute", "--one-hot", "--category", "--json"),
    *("-o", "--output", "--plot", "--html", "--k", "--fpr", "--confidence", "--by", "--top"),
    *("--logistic", "--help", "-h", "--", "-x", "--no-such", "-", "--sep", "--decimal", "--format"),
    *("--dates", "--weight", "--groups", "--time", "--folds", "--alphas", "--losses", "--scale"),
    *("--splits", "--test-size", "--against", "--binarize"),
]
VALUES = [
    *(
        "y",
        "colour",
        "a",
        "n",
        "",
        "0",
        "1",
        "-1",
        "nan",
        "inf",
        "1e-3",
        "0.5",
        "1e400",
        "2",
        "red",
    ),
    *("square", "hinge", "squared_hinge", "logistic", "exact", "spam", "auto", "newton", "sgd"),
    *("n", ";", ",", "\t", "csv", "svmlight", "even-odd", "unit-norm", "1e-3,1", "exact,spam"),
    *("x" * 300, "\n", "é", "/", ".", "..", "/dev/null/x", "%s", "{}", "a,b", "0,1", "--json"),
]


# the files that a command takes, and what makes it succeed soon
USUAL = {
    "train": (["rows.csv"], ["-o", "out.aucmax", "--one-hot"]),
    "score": (["m.aucmax", "rows.svm"], []),
    "evaluate": (["m.aucmax", "rows.svm"], []),
    "show": (["m.aucmax"], []),
    "cv": (
        ["rows.csv"],
        ["--one-hot", "--losses", "square", "--standardize", "0", "--folds", "2", "--alphas", "1"],
    ),
    "compare": (["rows.csv"], ["--one-hot", "--solvers", "exact,spam", "--splits", "1"]),
}


def attack_arguments(rng, folder):
    files = {"rows.csv": as_csv(), "rows.svm": as_svmlight(), "m.aucmax": models()[0]}
    for name, content in files.items():
        (folder / name).write_bytes(content)
    commands = [*USUAL, "datasets", "", "x", "--version"]
    words = [commands[rng.integers(len(commands))]]
    names = [*files, "missing.csv"]
    if words[0] in USUAL and rng.random() < 0.9:
        usual, more = USUAL[words[0]]
        words += usual if rng.random() < 0.8 else [names[rng.integers(len(names))] for _ in usual]
        words += more if rng.random() < 0.9 else []
        words += ["--alpha", "1e-3"] if words[0] == "train" and rng.random() < 0.8 else []
    for _ in range(rng.integers(0, 4)):
        words.append(OPTIONS[rng.integers(len(OPTIONS))])
        if rng.random() < 0.8:
            words.append(VALUES[rng.integers(len(VALUES))])
    if words[0] == "datasets":  # which could begin to download
        words = [word for word in words if word != "fetch"]
    with contextlib.chdir(folder):
        command(*words)
    outputs = {words[i + 1] for i, w in enumerate(words[:-1]) if w in ("-o", "--output")}
    for name, content in files.items():
        if name not in outputs:
            assert (folder / name).read_bytes() == content


ATTACKS = {
    "svmlight": attack_text(lambda rng: as_svmlight(), ".svm"),
    "csv": attack_text(lambda rng: tables("csv")[rng.integers(2)], ".csv"),
    "tsv": attack_text(lambda rng: tables("tsv")[rng.integers(2)], ".tsv"),
    "parquet": attack_text(lambda rng: tables("parquet")[rng.integers(2)], ".parquet"),
    **{f"file of {kind}": attack_file(kind) for kind in USES},
    "model": attack_model,
    "arguments": attack_arguments,
}


def run(kind, number, folder):
    """Run one attack in an empty folder."""
    for path in folder.iterdir():
        path.unlink()
    rng = np.random.default_rng([number, *kind.encode()])
    try:
        with limited(), warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            warnings.simplefilter("ignore", RuntimeWarning)
            warnings.simplefilter("ignore", UserWarning)
            ATTACKS[kind](rng, folder)
    except BaseException as error:
        error.add_note(f"AUCMAX_ATTACK={kind}:{number}")
        raise


@pytest.mark.parametrize("kind", ATTACKS)
def test_broken_at_random(kind, tmp_path):
    share = 4 if kind == "arguments" else 2 if "model" in kind or "file of" in kind else 1
    for number in range(IN_CI // share):
        run(kind, number, tmp_path)


@pytest.mark.exhaustive
def test_broken_at_random_for_long(tmp_path):
    """All kinds in turn; failures are collected, and counted at the end."""
    one = os.environ.get("AUCMAX_ATTACK")
    if one:
        kind, _, number = one.partition(":")
        run(kind, int(number), tmp_path)
        return
    total, found, start = int(os.environ.get("AUCMAX_ATTACKS", "10000")), [], time.time()
    for i in range(total):
        kind = list(ATTACKS)[i % len(ATTACKS)]
        try:
            run(kind, i, tmp_path)
        except (Exception, Late) as error:
            found.append(f"{kind}:{i} {type(error).__name__}: {str(error)[:300]}")
            print(found[-1], flush=True)
        if (i + 1) % 10_000 == 0:
            print(f"{i + 1:,} inputs, {len(found)} found, {time.time() - start:.0f} s", flush=True)
    assert not found, "\n".join(found[:100])


# ---- files of this package, each in a child that has little memory and time

SPARE_BYTES = 500 * 2**20  # that a child may take besides
CPU_SECONDS = 5  # for one file


def limits():
    """Limit what this process may take from now on."""
    import resource  # not everywhere

    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + SPARE_BYTES, used + SPARE_BYTES))

    def late(*_):
        raise Late(f"more than {CPU_SECONDS} s")

    signal.signal(signal.SIGPROF, late)


def attack_all(kind, numbers, folder, found, place):
    limits()
    for number in numbers:
        os.pwrite(place, b"%012d" % number, 0)
        signal.setitimer(signal.ITIMER_PROF, CPU_SECONDS)
        try:
            run(kind, number, folder / "attack")
        except BaseException as error:
            found.write(f"{kind}:{number} {type(error).__name__}: {str(error)[:300]}\n")
            found.flush()
        signal.setitimer(signal.ITIMER_PROF, 0)


def in_child(kind, numbers, folder, found):
    """Run attacks in a child; return its exit status and the number that it came to."""
    place = os.open(folder / "place", os.O_RDWR | os.O_CREAT)
    child = os.fork()
    if not child:
        try:
            attack_all(kind, numbers, folder, found, place)
        finally:
            os._exit(0)
    status = os.waitpid(child, 0)[1]
    number = int(os.pread(place, 12, 0))
    os.close(place)
    return status, number


@pytest.mark.exhaustive
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="/proc, and limits that hold")
@pytest.mark.parametrize("kind", [kind for kind in ATTACKS if kind.startswith("file of")])
def test_forged_files_in_little_memory_for_long(kind, tmp_path):
    (tmp_path / "attack").mkdir()
    for number in range(50):  # so that what is compiled and imported is there
        run(kind, number, tmp_path / "attack")
    total, first = int(os.environ.get("AUCMAX_ATTACKS", "10000")) // len(USES), 0
    with open(tmp_path / "found", "w+") as found:
        while first < total:
            numbers = range(first, min(first + 500, total))
            status, last = in_child(kind, numbers, tmp_path, found)
            if status:
                found.write(f"{kind}:{last} ended with status {status}\n")
                found.flush()
            first = last + 1
        found.seek(0)
        lines = found.read()
    assert not lines, lines
