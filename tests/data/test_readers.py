"""Rows and labels from files: what is read, and what is said of files that cannot be."""

import bz2
import gzip
import io
import lzma
import os
import re
import subprocess
import sys
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from pyarrow import parquet
from scipy import sparse
from sklearn.datasets import load_svmlight_file

from aucmax.basics.errors import DataFileError
from aucmax.data import readers, svmlight, svmlight_text
from aucmax.data.columns import Column, Words
from aucmax.data.tables import csv_files
from aucmax.datasets import find_label, read

PACK = {"": bytes, ".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}
FINITE = st.floats(allow_nan=False, allow_infinity=False, width=64)
ROWS = hnp.arrays(np.float64, hnp.array_shapes(min_dims=2, max_dims=2, max_side=6), elements=FINITE)
CSV_BYTES = st.lists(st.sampled_from([*b'a,1.e-"\n\r\0 \xe9']) | st.integers(0, 255), max_size=25)
CSV_BYTES = CSV_BYTES.map(bytes)
in_one_folder = settings(
    deadline=None,
    max_examples=30,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


@pytest.fixture
def write(tmp_path):
    """Write a file and return its path."""

    def _write(name, content):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return _write


def refusal(path, **kwargs):
    """The message with which a file is refused, without the folder."""
    with pytest.raises(DataFileError) as caught:
        read(path, **kwargs)
    message = str(caught.value)
    assert str(path) in message
    return message.replace(str(path), path.name)


# --- svmlight


@in_one_folder
@given(X=ROWS)
def test_svmlight_round_trip(tmp_path, X):
    lines = [" ".join(f"{j}:{x!r}" for j, x in enumerate(row, 1)) for row in X.tolist()]
    path = tmp_path / "rows.svm"
    path.write_text("".join(f"{i} {line}\n" for i, line in enumerate(lines, -1)))
    table = read(path)
    np.testing.assert_array_equal(table.data.toarray(), X)
    np.testing.assert_array_equal(table.target, np.arange(len(X)) - 1)


@settings(deadline=None, max_examples=75, derandomize=True)
@given(st.data())
def test_regular_svmlight_text_is_what_it_is_line_by_line(data):
    number = st.sampled_from(["0", "-1", "+1", "2.5", ".5", "3.", "1e-3", "1e+3", "-7E2", "1e999"])
    pairs = ["1e2:3", "0:1", "1:", "007:2", "1.0:2", "4:4", "1:2:3", "qid:1", "2147483648:1"]
    odd = st.sampled_from([*pairs, "--1", "1e", "#", "nan", "1_0", "", " ", "\n", "\t"])
    index = st.sets(st.integers(1, 40), max_size=5).map(sorted)
    lines = []
    for indices in data.draw(st.lists(index, min_size=1, max_size=4)):
        words = [data.draw(number), *(f"{j}:{data.draw(number)}" for j in indices)]
        if data.draw(st.integers(0, 4)) == 0:
            words.insert(data.draw(st.integers(0, len(words))), data.draw(odd))
        lines.append(" ".join(words))
    text = data.draw(st.sampled_from(["\n", " \n"])).join(lines).encode()
    found = svmlight_text.regular_rows(io.BytesIO(text))
    try:
        X, y = load_svmlight_file(io.BytesIO(text), zero_based=False)
    except (ValueError, OverflowError):
        assert found is None
        return
    if found is None:
        assert re.search(rb"[^-+0-9.eE: \n]|^ |^$|  |:\+|2147483648", text, re.MULTILINE)
        return
    for one, other in ((found[0].data, X.data), (found[0].indices, X.indices), (found[1], y)):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(found[0].indptr, X.indptr)
    assert found[0].shape[1] == X.indices.max(initial=-1) + 1


def test_regular_svmlight_text_is_read_in_pieces(monkeypatch):
    text = b"".join(b"%d %d:2 %d:.25\n" % (k % 2, k + 1, k + 3) for k in range(500))
    whole, y = svmlight_text.regular_rows(io.BytesIO(text))
    monkeypatch.setattr(svmlight_text, "PIECE_BYTES", 50)
    pieces, again = svmlight_text.regular_rows(io.BytesIO(text[:-1]))
    assert (whole != pieces).nnz == 0
    assert (whole.shape, len(y)) == ((500, 502), 500)
    np.testing.assert_array_equal(again, y)
    assert svmlight_text.regular_rows(io.BytesIO(text + b"1 2:0x1\n")) is None


def test_svmlight_gives_canonical_csr(write):
    table = read(write("a.svm", "1 2:0.5 7:0\n# note\n\n-1 1:-2 # one: two\n+1\n"), n_features=9)
    assert isinstance(table.data, sparse.csr_matrix)
    assert (table.data.shape, table.data.dtype, table.data.nnz) == ((3, 9), np.float64, 2)
    assert table.data.indices.dtype == table.data.indptr.dtype == np.int32
    assert table.data.has_canonical_format
    assert table.data[0, 1] == 0.5
    assert table.data[1, 0] == -2
    assert table.target.dtype == np.int64
    assert table.target.tolist() == [1, -1, 1]
    assert table.feature_names is None


@pytest.mark.parametrize("content", [b"\xef\xbb\xbf1 1:2\n2 1:3", b"1 1:2\r\n2\t1:3\r\n"])
def test_svmlight_text_from_other_systems(write, content):
    table = read(write("a.txt", content))
    assert table.data.toarray().tolist() == [[2], [3]]
    assert table.target.tolist() == [1, 2]


def test_svmlight_width_comes_from_the_file_or_the_argument(write):
    path = write("a.svm", "1 3:1\n")
    assert read(path).data.shape == (1, 3)
    assert read(path, n_features=5).data.shape == (1, 5)
    assert read(write("b.svm", "1\n2\n"), n_features=2).data.shape == (2, 2)


def test_svmlight_keeps_labels_that_are_not_whole(write):
    assert read(write("a.svm", "0.5 1:1\n2 1:1\n")).target.tolist() == [0.5, 2.0]


@pytest.mark.parametrize(
    ("content", "where", "what"),
    [
        ("1 1:1\n1 0:1 2:3\n", 2, "the feature index is 0; indices start at 1"),
        ("1 -4:1\n", 1, "the feature index is -4; indices start at 1"),
        ("1 1:1\n\n#\n1 2:1 1:3\n", 4, "the feature index 1 comes after 2; indices must ascend"),
        ("1 2:1 2:3\n", 1, "the feature index 2 occurs twice"),
        ("1 1:1\n1 a:1\n", 2, "'a:1' is not of the form index:value"),
        ("1 1:1 7\n", 1, "'7' is not of the form index:value"),
        ("1 1.5:1\n", 1, "'1.5:1' is not of the form index:value"),
        ("1 1: 2\n", 1, "the value '' of feature 1 is not a number"),
        ("1 1:2\n1 3:0x1A\n", 2, "the value '0x1A' of feature 3 is not a number"),
        ("1 1:1_0\n", 1, "the value '1_0' of feature 1 is not a number"),
        ("1 1:2\n1 3:nan\n", 2, "the value 'nan' of feature 3 is not finite"),
        ("1 1:1e400\n", 1, "the value '1e400' of feature 1 is not finite"),
        ("1 1:2\n\nnan 3:1\n", 3, "the label is nan, not a finite number"),
        ("yes 1:2\n", 1, "the label 'yes' is not a number"),
        ("1 1:2\n1,2 1:2\n", 2, "the label '1,2' is not a number"),
        ("1:2 2:3\n", 1, "the label is missing before '1:2'"),
        ("1 qid:3 1:1\n1 1:2\n", 2, "the row has no qid, though others have one"),
        ("1 qid:3 1:1\n1 qid:x 1:2\n", 2, "'qid:x': the query is not a whole number"),
        ("1 qid:3 1:1\n1 1:2 qid:3\n", 2, "'qid:3' must occur once, after the label"),
        ("1 99999999999:1\n", 1, "the feature index 99999999999 is larger than 2147483647"),
        (b"1 1:1\n1 1:2\xe9\n", 2, "the value '2\ufffd' of feature 1 is not a number"),
        (b"PK\x03\x04" + bytes(90), 1, "is not a number"),
        ("1 1:1\n1 " + "9" * 4301 + ":1\n", 2, "…' is not from 1 to 2147483647"),
        ("1 1:" + "9" * 4301 + "\n", 1, "…' of feature 1 is not finite"),
        ("1" * 4301 + " 1:1\n", 1, "the label is inf, not a finite number"),
        ("1 1:1\n9007199254740993 1:2\n", 2, "the label 9007199254740992 is too large"),
    ],
)
def test_svmlight_faults_name_the_line(write, content, where, what):
    message = refusal(write("bad.svm", content))
    assert message.startswith(f"bad.svm, line {where}: ")
    assert what in message
    assert "\n" not in message


@pytest.mark.parametrize("labels", ["required", "optional", "none"])
@pytest.mark.parametrize("word", ["inf", "-Infinity", "nan", "1e400"])
def test_svmlight_labels_are_finite_even_where_none_are_needed(write, labels, word):
    path = write("bad.svm", f"# a comment\n1 1:2\n\n{word} 3:1\n")
    message = refusal(path, labels=labels)
    assert message.startswith("bad.svm, line 4: the label is ")
    assert message.endswith(", not a finite number")


def test_svmlight_an_index_no_model_has_memory_for(write, monkeypatch):
    monkeypatch.setattr(svmlight, "free_memory", lambda: 10**9)
    message = refusal(write("bad.svm", "1 1:1\n# 9:1\n1 2:1 2147483647:1 # far\n1 5:1\n"))
    assert message == (
        "bad.svm, line 3: the feature index 2147483647 implies a model of that many "
        "features, which needs about 275 GB of memory, but 1.0 GB are free; number "
        "the features without gaps"
    )
    path = write("good.svm", "1 1:1\n1 7000000:1\n")
    assert read(path).data.shape == (2, 7_000_000)
    monkeypatch.setattr(svmlight, "free_memory", lambda: None)  # not known on every system
    assert read(write("good.svm", "1 1:1\n1 2147483647:1\n")).data.shape == (2, 2147483647)


def test_svmlight_more_features_than_expected(write):
    message = refusal(write("a.svm", "1 1:1\n1 2:1 9:1\n"), n_features=5)
    assert message == "a.svm, line 2: the feature index is 9; at most 5 is expected"


@pytest.mark.parametrize("content", ["", "\n\n", "# only a comment\n"])
def test_svmlight_empty(write, content):
    assert refusal(write("a.svm", content)) == "a.svm: the file is empty: it has no rows"


def test_svmlight_without_features(write):
    assert "no line has a feature" in refusal(write("a.svm", "1\n-1\n"))


def test_svmlight_without_labels(write):
    bare = write("bare.svm", "1:2 3:1\n2:4\n")
    table = read(bare, labels="optional")
    assert table.target is None
    assert table.data.toarray().tolist() == [[2, 0, 1], [0, 4, 0]]
    labelled = write("labelled.svm", "1 1:2 3:1\n-1 2:4\n")
    assert read(labelled, labels="optional").target.tolist() == [1, -1]
    assert read(labelled, labels="none").target is None
    assert (read(labelled, labels="none").data != table.data).nnz == 0
    mixed = write("mixed.svm", "1 1:2\n\n2:4\n")
    assert refusal(mixed, labels="optional").startswith("mixed.svm, line 3: no label")


@pytest.mark.parametrize(
    ("kwargs", "what"),
    [({"target": "y"}, "target="), ({"drop": ["a"]}, "drop="), ({"columns": ["a", "b"]}, "a, b")],
)
def test_svmlight_has_no_column_names(write, kwargs, what):
    message = refusal(write("a.svm", "1 1:1\n"), **kwargs)
    assert "svmlight text has no column names" in message
    assert what in message


@in_one_folder
@given(line=st.binary(max_size=30))
def test_svmlight_never_fails_otherwise(tmp_path, line):
    """Whatever a line holds, the answer is finite rows or a DataFileError that names the file."""
    path = tmp_path / "any.svm"
    path.write_bytes(b"1 1:1\n" + line)
    try:
        table = read(path)
    except DataFileError as error:
        assert str(path) in str(error)  # noqa: PT017
    else:
        assert np.isfinite(table.data.data).all()
        assert np.isfinite(table.target).all()


# --- CSV


@in_one_folder
@given(X=ROWS, as_text=st.booleans())
def test_csv_round_trip(tmp_path, X, as_text):
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])])
    codes = np.arange(len(X)) % 2
    frame.insert(0, "label", np.where(codes, "yes", "no") if as_text else codes)
    path = tmp_path / "rows.csv"
    frame.to_csv(path, index=False, float_format="%.17g")
    table = read(path)
    np.testing.assert_array_equal(table.data, X)
    assert table.data.flags.c_contiguous
    assert table.target.tolist() == frame["label"].tolist()
    assert table.feature_names == list(frame.columns[1:])
    assert table.target_name == "label"


def test_csv_column_types_become_float64(write):
    path = write("a.csv", "i,b,f,y\n1,true,1e-3,a\n2,False,-.5,b\n")
    table = read(path)
    assert table.data.dtype == np.float64
    assert table.data.tolist() == [[1, 1, 0.001], [2, 0, -0.5]]
    assert table.target.tolist() == ["a", "b"]


@pytest.mark.parametrize(
    ("labels", "expected", "dtype"),
    [
        ("1 0", [1, 0], np.int64),
        ("1.0 -1.0", [1, -1], np.int64),
        ("true false", [1, 0], np.int64),
        ("0.5 1", [0.5, 1], np.float64),
        ("NA ok", ["NA", "ok"], np.dtype("<U2")),
        ("1 x", ["1", "x"], np.dtype("<U1")),
    ],
)
def test_csv_label_types(write, labels, expected, dtype):
    first, second = labels.split()
    y = read(write("a.csv", f"x,y\n1,{first}\n2,{second}\n")).target
    assert y.tolist() == expected
    assert y.dtype == dtype


@pytest.mark.parametrize("name", ["target", "label", "y", "class", "Class", "LABEL"])
def test_csv_default_label_names(write, name):
    table = read(write("a.csv", f"{name},x\n1,2\n"))
    assert (table.target_name, table.feature_names, table.data.tolist()) == (name, ["x"], [[2]])


def test_csv_choice_of_columns(write):
    path = write("a.csv", "alpha,beta,note,gamma\n1,2,hello,0\n3,4,there,1\n")
    table = read(path, target="gamma", drop=["note"])
    assert (table.feature_names, table.data.tolist()) == (["alpha", "beta"], [[1, 2], [3, 4]])
    table = read(path, columns=["beta", "alpha"], labels="optional")
    assert (table.feature_names, table.data.tolist()) == (["beta", "alpha"], [[2, 1], [4, 3]])
    assert table.target is None
    assert read(path, target="gamma", columns=["beta"]).target.tolist() == [0, 1]


def test_csv_labels_may_be_absent_for_scoring(write):
    bare = write("bare.csv", "a,b\n1,2\n")
    assert read(bare, labels="optional").data.tolist() == [[1, 2]]
    assert read(bare, target="y", labels="optional").target is None
    blank = write("blank.csv", "a,y\n1,\n2,\n")
    assert read(blank, labels="optional").target is None
    partly = write("partly.csv", "a,y\n1,0\n2,\n")
    assert "line 3: the label is missing" in refusal(partly, labels="optional")
    # Ignored labels are no feature either.
    table = read(partly, labels="none")
    assert (table.target, table.feature_names) == (None, ["a"])


def test_tsv_and_format_override(write):
    assert read(write("a.tsv", "x\ty\n1\t2\n")).data.tolist() == [[1]]
    assert read(write("a.data", "x,y\n1,2\n"), format="csv").data.tolist() == [[1]]
    assert read(write("b.csv", "1 1:4\n"), format="svmlight").data.toarray().tolist() == [[4]]


def test_csv_from_other_systems(write):
    table = read(write("a.csv", b'\xef\xbb\xbfx,y\r\n"1",a\r\n\r\n2,"b"\r\n'))
    assert (table.feature_names, table.target.tolist()) == (["x"], ["a", "b"])


def test_csv_counted_columns_are_a_header(write):
    assert read(write("a.csv", "0,1,2\n5,6,7\n"), target="2").data.tolist() == [[5, 6]]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("a,y\n1,0\n\n,0\n", "line 4: column 'a' has a missing value; fill it in"),
        ("a,y\n1,0\nnan,0\n", "line 3: column 'a' has a missing value; fill it in"),
        ("a,y\n1,0\ninf,0\n", "line 3: column 'a' holds inf, which is not finite"),
        ("a,y\n1,0\n-inf,0\n5,1\n", "line 3: column 'a' holds -inf, which is not finite"),
        ("a,y\n1,0\noops,1\n", "line 3: column 'a' holds 'oops', which is not a number; turn"),
        ("a,y\n1,0\n?,1\n", "line 3: column 'a' has a missing value; fill it in"),
        ('a,y\n"1\n2",0\n7,1\n', "line 2: column 'a' holds '1\\n2', which is not a number"),
        ("a,y\n1,0\n2\n", "line 3: 1 value where the header names 2 columns"),
        ("a,y\n1,0\n\n2,0,1\n", "line 4: 3 values where the header names 2 columns"),
        ("a,y\n1,x\n2,\n", "line 3: the label is missing in column 'y'"),
        ("a,y\n1,1\n2,\n", "line 3: the label is missing in column 'y'"),
        ("a,y\n1,inf\n", "line 2: the label in column 'y' is inf, not a finite number"),
        ('a,y\n1,u\n1,"x\n2,y\n3,z\n', "line 3: the label in column 'y' runs over several lines"),
        (b"a,y\n1,0\n\xe9,1\n", "line 3: not UTF-8 text; name its encoding"),
        (b"a,\xe9\n1,0\n", "line 1: not UTF-8 text; name its encoding"),
        ("a;y\n1;0\n", "line 1: one column, 'a;y': values are separated by ';'; say so"),
        ("5.1,3.5\n1,2\n", "line 1: the first line holds numbers, not column names"),
    ],
)
def test_csv_faults_name_the_line(write, content, message):
    assert refusal(write("bad.csv", content)).startswith(f"bad.csv, {message}")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "the file is empty"),
        ("\n\n", "the file is empty"),
        ("a\r,y\n1,2\n", "not a CSV file (CSV parse error: Expected 1 columns, got 2: ,y)"),
        ("a,y\n", "the table has column names but no rows"),
        ("a,y\n,0\n,1\n", "column 'a' is empty in every row; leave the column out (drop=['a'])"),
        ("a,y\n2024-01-31,0\n", "column 'a' holds dates, such as 2024-01-31, not numbers; take"),
        ('a,note,y\n1,"u\nv",0\n?,w,1\n', "2 problems\n  line 4: column 'a' has"),
        ("a,y\n1,2024-01-31\n", "the label column 'y' has the type date32[day]"),
        ("a,a,y\n1,2,0\n", "the column name 'a' occurs twice"),
        (",a,y\n0,1,1\n", "column 1 has no name (a saved row index?)"),
        ("y\n1\n", "no feature column is left"),
        ("label,a,y\n1,2,3\n", "'label' and 'y' could each be the label column; name one"),
        ("a,b\n1,2\n", "no column is called target, label, y or class; name the label column"),
        ("5.1,setosa\n4.9,setosa\n", "no column is called target, label, y or class"),
    ],
)
def test_csv_faults_of_the_whole_file(write, content, message):
    assert refusal(write("bad.csv", content)).startswith(f"bad.csv: {message}")


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"target": "gama"}, "no label column 'gama'; did you mean 'gamma'?"),
        ({"target": "zzz"}, "no label column 'zzz'; the columns are alpha, beta, gamma"),
        ({"target": "gamma", "drop": ["alpa"]}, "no column 'alpa' to drop; did you mean 'alpha'?"),
        ({"target": "gamma", "drop": ["gamma"]}, "column 'gamma' is both the label column and"),
        (
            {"target": "gamma", "columns": ["beta", "delta", "eps"]},
            "columns the model needs are missing: delta, eps",
        ),
        ({"target": "gamma", "n_features": 5}, "2 feature columns where 5 are expected"),
        ({"target": "gamma", "positive": "2"}, "no label '2'; the labels are 0, 1"),
    ],
)
def test_csv_faults_of_the_request(write, kwargs, message):
    path = write("a.csv", "alpha,beta,gamma\n1,2,0\n3,4,1\n")
    assert refusal(path, **kwargs).startswith(f"a.csv: {message}")


def test_a_label_column_with_another_role_is_told(write):
    path = write("a.csv", "alpha,y\n1,0\n3,1\n")
    for role in ({"drop": ["y"]}, {"groups": "y"}):
        message = "column 'y' is dropped or has another role; name the label column"
        assert refusal(path, **role).startswith(f"a.csv: {message}")


def test_missing_header_is_guessed(write):
    assert refusal(write("a.csv", "5.1,setosa\n4.9,x\n")).endswith("is the header missing?")


def test_csv_fault_far_down_has_its_line(write):
    rows = "".join(f"{i},0\n" for i in range(50_000))
    message = refusal(write("a.csv", f"a,y\n{rows}x,1\n{rows}"))
    assert message.startswith("a.csv, line 50002: column 'a' holds 'x'")


@in_one_folder
@given(header=st.sampled_from([b"a,y\n1,0\n", b""]), rest=CSV_BYTES)
def test_csv_never_fails_otherwise(tmp_path, header, rest):
    """Whatever a file holds, the answer is finite rows or a DataFileError that names the file."""
    path = tmp_path / "any.csv"
    path.write_bytes(header + rest)
    try:
        table = read(path)
    except DataFileError as error:
        assert str(path) in str(error)  # noqa: PT017
    else:
        assert np.isfinite(table.data).all()
        assert len(table.target) == len(table.data)


def test_csv_blocks_may_end_inside_a_value(write, monkeypatch):
    monkeypatch.setattr("aucmax.data.tables.csv_files.BLOCK_BYTES", 40)
    rows = '1,"two\nlines",0\n' * 50
    table = read(write("a.csv", "a,note,y\n" + rows), drop=["note"])
    assert table.data.tolist() == [[1]] * 50


def test_csv_lines_of_megabytes(write):
    rows = f"1,{'x' * 3_000_000},0\n" * 2
    assert read(write("a.csv", "a,note,y\n" + rows), drop=["note"]).data.tolist() == [[1], [1]]


def test_csv_values_too_long_for_the_second_reading(write):
    long = "x" * 200_000
    path = write("a.csv", f"note,a,y\n{long},1,0\n{long},?,1\n")
    assert read(write("b.csv", f"note,a,y\n{long},1,0\n"), drop=["note"]).data.tolist() == [[1]]
    assert refusal(path, drop=["note"]).startswith("a.csv, line 3: column 'a' has a missing")


# --- Parquet


def test_parquet_round_trip(tmp_path):
    frame = pd.DataFrame(
        {
            "a": [1, 2],
            "b": [True, False],
            "c": pd.Categorical([3, 4]),
            "d": [Decimal("1.5"), Decimal("2")],
            "e": np.array([1, 2], dtype=np.float16),
            "y": pd.Categorical(["no", "yes"]),
        },
        index=[10, 20],
    )
    frame.to_parquet(tmp_path / "a.parquet")
    table = read(tmp_path / "a.parquet")
    assert table.data.tolist() == [[1, 1, 3, 1.5, 1], [2, 0, 4, 2, 2]]
    assert (table.data.dtype, table.data.flags.c_contiguous) == (np.float64, True)
    assert table.target.tolist() == ["no", "yes"]
    # The row index that pandas stores is no feature.
    assert table.feature_names == list("abcde")


def test_parquet_choice_of_columns(tmp_path):
    path = tmp_path / "a.pq"
    frame = pd.DataFrame({"a": [1, 2], "a.b": ["x", "y"], "c": [3, 4], "flag": [True, False]})
    frame.to_parquet(path)
    table = read(path, target="flag", drop=["a.b"])
    assert (table.feature_names, table.data.tolist()) == (["a", "c"], [[1, 3], [2, 4]])
    assert table.target.tolist() == [1, 0]
    assert read(path, columns=["c", "a"], labels="none").data.tolist() == [[3, 1], [4, 2]]


# what pandas 3 makes of text by itself
TEXT = pd.array(["1", "2"], dtype=pd.ArrowDtype(pa.large_string()))


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"a": [1, np.nan], "y": [0, 1]}, ", row 2: column 'a' has a missing value"),
        ({"a": [1, np.inf], "y": [0, 1]}, ", row 2: column 'a' holds inf, which is not finite"),
        ({"a": ["1", "u"], "y": [0, 1]}, ", row 2: column 'a' holds 'u', which is not a number"),
        ({"a": TEXT, "y": [0, 1]}, ": column 'a' has the type large_string, not numbers"),
        ({"a": [b"x", b"\xff"], "y": [0, 1]}, ": column 'a' has the type binary, not numbers"),
        ({"a": [[1], [2]], "y": [0, 1]}, ": column 'a' has the type list"),
        ({"a": [1, 2], "y": ["u", None]}, ", row 2: the label is missing in column 'y'"),
        ({"a": [1, 2], "y": [0.0, np.nan]}, ", row 2: the label is missing in column 'y'"),
        ({"a": [], "y": []}, ": the table has column names but no rows"),
    ],
)
def test_parquet_faults(tmp_path, columns, message):
    path = tmp_path / "bad.parquet"
    pd.DataFrame(columns).to_parquet(path)
    assert refusal(path).startswith(f"bad.parquet{message}")


@pytest.mark.parametrize("kept", [0, 4, 200])
def test_parquet_cut_short(tmp_path, kept):
    path = tmp_path / "bad.parquet"
    pd.DataFrame({"a": [1, 2], "y": [0, 1]}).to_parquet(path)
    path.write_bytes(path.read_bytes()[:kept])
    assert refusal(path).startswith("bad.parquet: not a readable Parquet file")


# --- any file


@pytest.mark.parametrize("suffix", PACK)
@pytest.mark.parametrize("name", ["a.svm", "a.csv", "a.t"])
def test_compressed_text(write, suffix, name):
    text = "x,y\n2,1\n" if name == "a.csv" else "1 1:2\n"
    table = read(write(name + suffix, PACK[suffix](text.encode())))
    assert np.asarray(table.data.sum()) == 2
    assert table.target.tolist() == [1]


@pytest.mark.parametrize("suffix", [".gz", ".bz2", ".xz"])
@pytest.mark.parametrize("name", ["a.svm", "a.csv"])
@pytest.mark.parametrize("damage", ["cut", "foreign", "empty"])
def test_broken_compression(write, suffix, name, damage):
    text = "".join(f"{i} 1:{i}\n" for i in range(999)) if name == "a.svm" else "x,y\n" + "1,2\n" * 9
    whole = PACK[suffix](text.encode())
    content = {"cut": whole[: len(whole) // 2], "foreign": text.encode(), "empty": b""}[damage]
    message = refusal(write(name + suffix, content))
    # An empty .gz unpacks to an empty file.
    assert "cut short or corrupt" in message or (damage == "empty" and "is empty" in message)


@pytest.mark.parametrize("name", ["nope", "nope.csv", "nope.parquet", "nope.svm.gz"])
def test_no_such_file(tmp_path, name):
    assert refusal(tmp_path / name) == f"{name}: no such file"


@pytest.mark.parametrize("name", ["folder", "folder.csv", "folder.parquet"])
def test_an_empty_folder_has_no_rows(tmp_path, name):
    (tmp_path / name).mkdir()
    assert refusal(tmp_path / name).startswith(f"{name}: this folder has no data files (")


@pytest.mark.parametrize("name", ["a.xlsx", "a.json.gz", "a.npz"])
def test_foreign_formats_are_refused(write, name):
    assert "files are not supported; convert to .csv" in refusal(write(name, b"1 1:1\n"))


@pytest.mark.parametrize(
    "kwargs", [{"labels": "maybe"}, {"format": "xml"}, {"drop": "a"}, {"columns": "a"}]
)
def test_arguments_are_checked(write, kwargs):
    with pytest.raises(ValueError, match=f"{next(iter(kwargs))}") as caught:
        read(write("a.csv", "a,y\n1,2\n"), **kwargs)
    assert not isinstance(caught.value, DataFileError)


def test_positive_label(write):
    path = write("a.svm", "3 1:1\n1 1:1\n2 1:1\n3 1:1\n")
    for positive in (3, "3", "+3", "3.0"):
        y = read(path, positive=positive).target
        assert (y.tolist(), y.dtype) == ([1, -1, -1, 1], np.int64)
    text = write("a.csv", "x,y\n1,bad\n2,good\n")
    assert read(text, positive="bad").target.tolist() == [1, -1]
    flags = write("b.csv", "x,y\n1,true\n2,false\n")
    assert read(flags, positive="false").target.tolist() == [-1, 1]
    assert read(flags, positive="True").target.tolist() == [1, -1]


def test_find_label_takes_other_spellings():
    assert find_label(["Ill", "Well"], "ill ") == "Ill"
    assert find_label(["Ill", "ill"], "ill") == "ill"
    assert find_label(["N", "Y"], "yes") == "Y"
    with pytest.raises(ValueError, match="no label 'ILL'; the labels are Ill, ill"):
        find_label(["Ill", "ill"], "ILL")


def test_find_label():
    assert find_label([0.5, 2.0], "0.5") == 0.5
    assert find_label(["1", "2"], 1) == "1"
    found = find_label(np.array([1, -1]), "+1")
    assert (found, type(found)) == (1, int)
    with pytest.raises(ValueError, match=r"no label 'yes'; the labels are -1, 1"):
        find_label([1, -1], "yes")
    with pytest.raises(ValueError, match=r"0, 1, 2, 3, 4, 5, 6, 7, 8, 9 and 15 more"):
        find_label(range(25), "x")


# --- text that is no text


def lines(*values):
    return "a,y\n" + "".join(f'"{value}",{i % 2}\n' for i, value in enumerate(values))


NINE = tuple(range(9))


@pytest.mark.parametrize(
    ("values", "message"),
    [
        # one in ten, and one among many
        ((*NINE, "1O"), "line 11: column 'a' holds '1O', which is not a number, as 9 of its 10"),
        ((*range(99), "~", 5), "line 101: column 'a' holds '~', which is not a number, as 100 of"),
        # half of them, but many values
        ([i if i % 2 else f"x{i}" for i in range(42)], "line 2: column 'a' holds 'x0', which is"),
        ((1, "1.234,5"), "line 3: column 'a' holds '1.234,5', which looks like a number"),
        (("1,234.5", 2), "line 2: column 'a' holds '1,234.5', which looks like a number"),
        (("12 %", "3%"), "line 2: column 'a' holds '12 %', which looks like a number"),
        (("$5", 6), "line 2: column 'a' holds '$5', which looks like a number"),
    ],
)
def test_numbers_written_otherwise_are_not_taken_for_text(write, values, message):
    path = write("bad.csv", lines(*values))
    found = refusal(path, text=True)
    assert found.startswith(f"bad.csv, {message}")
    assert "categories=['a']" in found
    # as it is, once it is named
    for named in ({"text": ["a"]}, {"text": True, "categories": ["a"]}, {"categories": ["a"]}):
        table = read(path, **named)
        assert table.columns == (Words("a", as_written="categories" in named),)
        assert table.data[:, 0].tolist() == [str(value) for value in values]


@pytest.mark.parametrize(
    "values",
    [
        ("01", "02", "3a"),  # codes
        (*NINE[:8], "ten", "x"),
        ("2024-W1", "2024-W2"),
        ("1-2", "3-4"),
        (1, "?", "NA"),  # missing, not text
        [f"u{i % 25}" for i in range(50)],
    ],
)
def test_what_is_text_or_numbers_is_taken(write, values):
    table = read(write("a.csv", lines(*values)), text=True, missing=True)
    assert table.columns == ((Column if "?" in values else Words)("a"),)


def test_categories_keep_what_the_file_says(write, tmp_path):
    path = write("a.csv", "zip,day,x,y\n007,2024-01-31,1,0\n7,2024-02-01,2,1\n")
    table = read(path, categories=["zip", "day"])
    assert [column.is_text for column in table.columns] == [True, True, False]
    assert table.data.tolist() == [["007", "2024-01-31", 1.0], ["7", "2024-02-01", 2.0]]
    frame = pd.DataFrame({"n": [1, 2], "y": [0, 1]})
    frame.to_parquet(tmp_path / "a.parquet")
    assert read(tmp_path / "a.parquet", categories=["n"]).data.tolist() == [["1"], ["2"]]
    assert "no column 'zips' to read as categories; did you mean 'zip'?" in refusal(
        path, categories=["zips"]
    )
    assert "is both the label column and read as categories" in refusal(path, categories=["y"])
    assert "is both dropped and read as categories" in refusal(
        path, categories=["zip"], drop=["zip"]
    )
    with pytest.raises(ValueError, match="not one string"):
        read(path, categories="zip")
    # a date is no text, so text=True is no advice
    for text in (False, True):
        message = refusal(path, text=text)
        assert "column 'day' holds dates, such as 2024-01-31, not numbers; take dates" in message
        assert "text=" not in message


def test_a_model_is_told_what_it_can_do(write):
    """Columns that a model needs cannot be left out, nor turned into something else."""
    cases = {
        "a,b\n1,\n2,3\n": "line 2: column 'b' has a missing value; fill it in, or train the",
        "a,b\n1,x\n": "line 2: column 'b' holds 'x', which is not a number; the model was",
        "a,b\n1,inf\n": "line 2: column 'b' holds inf, which is not finite; replace it",
        "a,b\n1,2024-01-31\n": "column 'b' holds dates, such as 2024-01-31, not numbers; the",
        "a,b\n,1\n,2\n": "column 'a' is empty in every row; the model needs its values",
    }
    for content, message in cases.items():
        for missing in (False, "x" in content or "inf" in content):
            found = refusal(
                write("a.csv", content), labels="none", columns=["a", "b"], missing=missing
            )
            assert message in found
            assert "drop=" not in found
            assert "text=" not in found
            assert "categories=" not in found


# ---- what Arrow and NumPy would change without a word


@pytest.mark.parametrize("word", ["0x10", "0X1f", " 0x10 ", '"0x10"'])
@pytest.mark.parametrize("line", ["{},0,1", "1,0,{}"])
def test_hexadecimal_numbers_are_refused(write, word, line):
    content = "a,0x,y\n1,2,3\n" + line.format(word) + "\n"
    column = "a" if line.startswith("{") else "y"
    assert refusal(write("bad.csv", content)) == (
        f"bad.csv, line 3: column {column!r} holds {word.strip(chr(34))!r}; write numbers with "
        "decimal digits"
    )


def test_hexadecimal_is_found_across_blocks_and_left_alone_in_text(write, monkeypatch):
    monkeypatch.setattr(csv_files, "BLOCK_BYTES", 1 << 16)
    rows = "".join(f"{i},{i % 2}\n" for i in range(30_000))
    assert "line 30002: " in refusal(write("bad.csv", f"a,y\n{rows}0x10,1\n"))
    table = read(write("good.csv", "a,b,y\n1,0x2,u0x2\n2,0x1,0xy\n"), drop=["b"])
    assert table.target.tolist() == ["u0x2", "0xy"]
    table = read(write("good.csv", "a,b,y\n1,0x2,0\n2,0x1,1\n"), categories=["b"])
    assert table.data[:, 1].tolist() == ["0x2", "0x1"]


@pytest.mark.parametrize("word", ["x\0", "x\0z", "\0x"])
def test_a_label_with_a_nul_character_is_refused(write, word):
    message = refusal(write("bad.csv", f"a,y\n1,x\n2,{word}\n3,x\n"))
    assert message == (
        f"bad.csv, line 3: the label {word!r} in column 'y' holds a NUL character; remove it"
    )


def test_whole_labels_that_would_be_taken_for_one_another(write, tmp_path):
    message = refusal(write("bad.csv", "a,y\n1,9223372036854775808\n2,9223372036854775809\n"))
    assert "bad.csv, line 2: column 'y': the label 9.22" in message
    near = [2**60, 2**60 + 1]
    assert read(write("good.csv", f"a,y\n1,{near[0]}\n2,{near[1]}\n")).target.tolist() == near
    path = tmp_path / "bad.parquet"
    parquet.write_table(pa.table({"a": [1.0, 2.0], "y": pa.array([1, 2**63], pa.uint64())}), path)
    assert "bad.parquet, row 2: column 'y': the label 9.22" in refusal(path)


@pytest.mark.parametrize(
    ("old", "settings"),
    [(b"feature", {}), (b"word", {"target": "text"}), (b"word", {"text": True})],
)
def test_parquet_text_that_is_not_utf8(tmp_path, old, settings):
    path = tmp_path / "bad.parquet"
    parquet.write_table(pa.table({"feature": [1.0, 2.0], "y": [0, 1], "text": ["word", "b"]}), path)
    path.write_bytes(path.read_bytes().replace(old, b"\xff" + old[1:]))
    message = refusal(path, **settings)
    assert message.startswith("bad.parquet: ")
    assert "UTF" in message


def test_the_schema_of_a_parquet_file_is_not_read_for_each_column(tmp_path, monkeypatch):
    path, counts = tmp_path / "a.parquet", []
    made = parquet.ParquetFile.schema_arrow.fget
    schema = property(lambda file: counts.append(1) or made(file))
    monkeypatch.setattr(parquet.ParquetFile, "schema_arrow", schema)
    numbers = []
    for d in (3, 300):
        parquet.write_table(pa.table({f"x{j}": [0.5, 1.0] for j in range(d)}), path)
        counts.clear()
        read(path, labels="none")
        numbers.append(len(counts))
    assert numbers[0] == numbers[1] > 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_process_that_ends_at_once_after_a_bad_file_ends_cleanly(write):
    """A thread of Arrow's that lets go of a Python stream while Python ends would abort it."""
    code = """
import os, sys
import pyarrow.csv  # once, and not in each child; its threads start when it reads
from aucmax.datasets import read
codes = []
for _ in range(5):
    pid = os.fork()
    if not pid:
        read(sys.argv[1])
    codes.append(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
print(codes)
"""
    path = write("bad.csv", b"a,b,y\n1,2,\xff\n")
    done = subprocess.run([sys.executable, "-c", code, path], capture_output=True, text=True)
    assert done.stdout == f"{[1] * 5}\n"
    assert done.stderr.count("DataFileError: ") == 5


def test_a_format_is_one_entry(write, monkeypatch):
    def semicolons(path, reading):
        return readers.read_csv(path, ";", reading)

    monkeypatch.setitem(readers.READERS, "semi", readers.Reader("semi", (".semi",), semicolons))
    path = write("a.semi", "x;y\n1;0\n2;1\n")
    found = read(path)
    assert (found.data.tolist(), found.target.tolist()) == ([[1], [2]], [0, 1])
    assert read(write("a.txt", "x;y\n1;0\n"), format="semi").feature_names == ["x"]
