"""What a name stands for: files, folders, patterns, partitions, addresses, tables of a lake."""

import pickle
import re
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet
from tests import stores

from aucmax import datasets
from aucmax.basics.errors import DataFileError
from aucmax.basics.needs import MissingPackage

N = 900


@pytest.fixture(scope="module")
def table():
    """Rows whose kinds only all of them show: b is whole at first, c is empty at first."""
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({"a": rng.normal(size=N), "b": rng.normal(size=N), "c": rng.normal(size=N)})
    rows.loc[:299, "b"] = np.arange(300) % 7
    rows.loc[:299, "c"] = np.nan
    rows["word"] = rng.choice(["x", "y", "1"], N)
    rows.loc[:299, "word"] = "1"
    rows["y"] = rng.integers(0, 2, N)
    return rows


WRITE = {
    "csv": lambda rows, path: rows.to_csv(path, index=False),
    "csv.gz": lambda rows, path: rows.to_csv(path, index=False),
    "tsv": lambda rows, path: rows.to_csv(path, index=False, sep="\t"),
    "parquet": lambda rows, path: rows.to_parquet(path, index=False),
}


def write(rows, folder, suffix, cuts=(300, 600)):
    """Write rows as one file beside a folder, and as several in it."""
    folder.mkdir(parents=True)
    WRITE[suffix](rows, folder.parent / f"one.{suffix}")
    for k, some in enumerate(np.split(np.arange(len(rows)), cuts)):
        WRITE[suffix](rows.iloc[some], folder / f"part-{k}.{suffix}")
    return folder.parent / f"one.{suffix}"


def same(rows, others):
    """Check that two results of `read` have the same rows, bit for bit."""
    assert rows.feature_names == others.feature_names
    assert rows.columns == others.columns
    for one, other in ((rows.data, others.data), (rows.target, others.target)):
        pd.testing.assert_frame_equal(pd.DataFrame(one), pd.DataFrame(other), check_exact=True)


def refusal(data, **how):
    """Return the message with which `read` and `scan` refuse data."""
    messages = []
    for function in (datasets.read, datasets.scan):
        with pytest.raises(DataFileError) as error:
            function(data, **how)
        messages.append(str(error.value))
    assert messages[0] == messages[1]
    return messages[0]


@pytest.fixture(scope="module")
def memory(table):
    """Files in fsspec's memory, by the suffix of their folder."""
    fsspec = pytest.importorskip("fsspec")
    return fsspec.filesystem("memory")


NAMES = {
    "folder": lambda folder: folder,
    "text": lambda folder: f"{folder}/",
    "pattern": lambda folder: f"{folder}/part-?.*",
    "deep pattern": lambda folder: f"{folder.parent}/**/part-*",
    "list": lambda folder: sorted(folder.iterdir()),
}


# in turn, one kind of file or two for each way to name them; the others are exhaustive
@pytest.mark.parametrize(
    ("name", "suffix"),
    [
        pytest.param(name, suffix, marks=[pytest.mark.exhaustive] * ((i + j) % 3 > 0))
        for i, name in enumerate(NAMES)
        for j, suffix in enumerate(WRITE)
    ],
)
def test_several_files_are_one_table(table, tmp_path, name, suffix):
    one = write(table, tmp_path / "rows", suffix)
    data = NAMES[name](tmp_path / "rows")
    how = {"missing": True, "text": True}
    rows = datasets.read(data, **how)
    same(rows, datasets.read(one, **how))
    assert rows.files == [str(tmp_path / "rows" / f"part-{k}.{suffix}") for k in range(3)]
    prepared = datasets.read(data, prepare=True)
    same(prepared, datasets.read(one, prepare=True))
    numbers = {"drop": ["word", "c"], "target": "y"}
    parts = list(datasets.scan(data, part_bytes=4000, **numbers))
    assert len(parts) > 3
    expected = datasets.read(one, **numbers)
    np.testing.assert_array_equal(np.vstack([part.X for part in parts]), expected.data)
    np.testing.assert_array_equal(np.concatenate([part.y for part in parts]), expected.target)


@pytest.mark.parametrize("suffix", ["csv", "csv.gz", "parquet"])
def test_addresses_give_the_same_rows_as_files(table, tmp_path, memory, suffix):
    one = write(table, tmp_path / "rows", suffix)
    folder = f"/{tmp_path.name}-{suffix}"
    for path in [*(tmp_path / "rows").iterdir()]:
        memory.pipe(f"{folder}/rows/{path.name}", path.read_bytes())
    memory.pipe(f"{folder}/{one.name}", one.read_bytes())
    how = {"drop": ["word", "c"], "target": "y"}
    expected = datasets.read(one, **how)
    base = f"memory:/{folder}"
    names = [f"{base}/{one.name}", f"{base}/rows", f"{base}/rows/part-*"]
    for name in [*names, names[:1]]:
        same(datasets.read(name, **how), expected)
        parts = list(datasets.scan(name, part_bytes=4000, **how))
        np.testing.assert_array_equal(np.vstack([part.X for part in parts]), expected.data)
    assert datasets.read(f"{base}/rows", **how).files[0] == f"{base}/rows/part-0.{suffix}"


@pytest.mark.parametrize("suffix", ["svm", "svm.gz"])
def test_svmlight_files_are_padded_to_the_widest(tmp_path, suffix):
    import gzip

    texts = ["1 1:2\n-1 2:3\n", "", "2.5 4:1\n"]
    pack = gzip.compress if suffix.endswith("gz") else bytes
    for k, text in enumerate(texts):
        if text or not suffix.endswith("gz"):
            (tmp_path / f"{k}.{suffix}").write_bytes(pack(text.encode()))
    rows = datasets.read(tmp_path)
    assert rows.data.toarray().tolist() == [[2, 0, 0, 0], [0, 3, 0, 0], [0, 0, 0, 1]]
    assert rows.target.tolist() == [1, -1, 2.5]


# ---- folders that name columns


def partitioned(folder, table, suffix="parquet"):
    """Write rows into folders of their words and months."""
    rows = table.assign(month=np.arange(N) // 300 + 1)
    for (word, month), some in rows.groupby(["word", "month"]):
        inner = folder / f"word={word}" / f"month={month}"
        inner.mkdir(parents=True)
        WRITE[suffix](some.drop(columns=["word", "month"]), inner / f"part-0.{suffix}")
    return rows


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
@pytest.mark.parametrize("name", ["{}", "{}/word=*", "{}/**/*.*"])
def test_partitions_are_columns(table, tmp_path, suffix, name):
    whole = partitioned(tmp_path / "pay", table, suffix)
    data = name.format(tmp_path / "pay")
    rows = datasets.read(data, text=True, missing=True)
    assert rows.feature_names == ["a", "b", "c", "word", "month"]
    columns = {column.name: column for column in rows.columns}
    assert columns["word"].is_text
    assert columns["month"].is_number
    found = pd.DataFrame(rows.data, columns=rows.feature_names).assign(y=rows.target)
    by = ["a", "b"]
    found, whole = found.sort_values(by), whole.sort_values(by)
    for name in ("a", "word", "month", "y"):
        assert found[name].tolist() == whole[name].tolist()
    parts = list(datasets.scan(data, target="y", drop=["c", "word"], part_bytes=3000))
    assert sum(part.X.shape[0] for part in parts) == N
    assert {*np.concatenate([part.X[:, 2] for part in parts])} == {1, 2, 3}


def test_values_of_folders_are_numbers_only_where_all_are(tmp_path):
    for value in ("x1", "2"):
        (tmp_path / f"code={value}" / "kind=a%20b").mkdir(parents=True)
        (tmp_path / f"code={value}" / "kind=a%20b" / "x.csv").write_text("a,y\n1,0\n2,1\n")
    rows = datasets.read(tmp_path, text=True)
    assert rows.data[:, 1].tolist() == ["2", "2", "x1", "x1"]
    assert {*rows.data[:, 2]} == {"a b"}
    one = datasets.read(tmp_path / "code=2" / "kind=a%20b" / "x.csv")
    assert one.feature_names == ["a"]  # of a file alone, its folders name nothing


# ---- messages


def test_errors_name_the_file_and_its_line(tmp_path):
    (tmp_path / "1.csv").write_text("a,y\n1,0\n2,1\n")
    (tmp_path / "2.csv").write_text("a,y\n1,0\n\n3,1\ninf,0\n")
    where = f"line 5 of {tmp_path}/2.csv"
    with pytest.raises(DataFileError, match=re.escape(where)):
        datasets.read(tmp_path)
    (tmp_path / "2.csv").write_text("b,y\n1,0\n")
    assert "2.csv: lacks b" not in refusal(tmp_path)
    assert "2.csv: lacks a and has b, unlike" in refusal(tmp_path)


def test_a_file_written_otherwise_than_the_first_is_told(tmp_path):
    (tmp_path / "1.csv").write_text("a,b,y\n1,2,0\n2,1,1\n")
    first, other = f"{tmp_path}/1.csv", tmp_path / "2.csv"
    of = {
        "a;b;y\n1;2;0\n": f"by ';'; save it with ',' between them, as {first} is",
        "1,x,0\n": "the first line looks like data: is the header missing?",
        "Ward B,,\na,b,y\n": "looks like a title: remove what is above the header",
        "": "2.csv: the file is empty",
    }
    for text, what in of.items():
        other.write_text(text)
        assert what in refusal(tmp_path, prepare=True)


def test_types_that_do_not_go_together_are_told(tmp_path):
    pd.DataFrame({"a": [1.0], "y": [1]}).to_parquet(tmp_path / "1.parquet")
    pd.DataFrame({"a": ["x"], "y": [1]}).to_parquet(tmp_path / "2.parquet")
    with pytest.raises(DataFileError, match=r"2\.parquet: column 'a' has .* but double in"):
        datasets.read(tmp_path)


def test_what_names_no_data_is_told(tmp_path, memory):
    assert refusal(f"{tmp_path}/*.csv") == f"{tmp_path}/*.csv: no file matches"
    (tmp_path / "notes.txt").write_text("")
    (tmp_path / "_old.csv").write_text("")
    assert f"{tmp_path}: this folder has no data files (" in refusal(tmp_path)
    (tmp_path / "a.csv").write_text("a,y\n1,0\n")
    (tmp_path / "a.parquet").write_text("")
    message = refusal(tmp_path)
    assert "files of several formats, csv and parquet; select one format by a pattern" in message
    assert "/**/*.csv, which leaves out 1 file, or convert all files to one format" in message
    message = refusal([tmp_path / "a.csv", tmp_path / "a.parquet"])
    assert "is read as parquet, but" in message
    assert refusal("memory://none/x.csv") == (
        "memory://none/x.csv: no such file; there is no memory://none"
    )
    assert refusal("memory://none/*.csv") == (
        "memory://none/*.csv: no file matches; there is no memory://none"
    )
    assert "foo://x/y.csv: Protocol not known: foo" in refusal("foo://x/y.csv")
    with pytest.raises(ValueError, match="the list of files is empty"):
        datasets.read([])


@pytest.mark.parametrize(("url", "package"), [("gs://b/x.csv", "gcsfs"), ("az://b/x.csv", "adlfs")])
def test_a_missing_package_is_named(url, package, monkeypatch):
    pytest.importorskip("fsspec")
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingPackage, match=f"{url}: .*nstall {package}"):
        datasets.read(url)


@pytest.mark.parametrize("function", [datasets.read, datasets.scan])
def test_a_delta_table_needs_its_library(tmp_path, monkeypatch, function):
    (tmp_path / "t" / "_delta_log").mkdir(parents=True)
    monkeypatch.setitem(sys.modules, "deltalake", None)
    with pytest.raises(MissingPackage, match=r"aucmax\[lake\]"):
        function(tmp_path / "t")


# ---- changes


@pytest.mark.parametrize("change", ["written again", "more", "gone"])
@pytest.mark.parametrize("place", ["memory", "folder"])
def test_files_that_change_between_passes_are_told(table, tmp_path, memory, place, change):
    write(table[["a", "y"]], tmp_path / "rows", "parquet")
    name, files = tmp_path / "rows", Path
    if place == "memory":
        name = f"memory://{tmp_path.name}/rows"
        for path in (tmp_path / "rows").iterdir():
            memory.pipe(f"/{tmp_path.name}/rows/{path.name}", path.read_bytes())
        files = memory_file(memory)
    source = datasets.scan(name, target="y")
    list(source)
    first, other = (files(f"{name}/part-{k}.parquet") for k in (0, 1))
    if change == "written again":
        first.write_bytes(first.read_bytes() + b"x")
        message = "part-0.parquet: the file changed from"
    elif change == "more":
        files(f"{name}/part-9.parquet").write_bytes(other.read_bytes())
        message = "part-9.parquet: the file was not there when"
    else:
        other.unlink()
        message = "part-1.parquet: the file disappeared"
    with pytest.raises(DataFileError, match=message):
        list(source)


def memory_file(memory):
    """Return a class of files in memory with the methods of a path."""

    class File:
        def __init__(self, name):
            self.name = name.removeprefix("memory:/")

        def read_bytes(self):
            return memory.cat_file(self.name)

        def write_bytes(self, content):
            memory.pipe(self.name, content)

        def unlink(self):
            memory.rm(self.name)

    return File


# ---- slices of row groups


@pytest.mark.parametrize("part_bytes", [1, 100, 5000, 40_000, 10**9])
def test_a_large_row_group_is_read_in_slices(tmp_path, part_bytes):
    rng = np.random.default_rng(1)
    rows = pd.DataFrame(rng.normal(size=(350, 4)), columns=list("abcd"))
    rows["w"] = np.arange(350) % 9 + 0.5
    rows["y"] = np.arange(350) % 2
    path = tmp_path / "rows.parquet"
    rows.to_parquet(path, row_group_size=150)
    source = datasets.scan(path, target="y", weight="w", part_bytes=part_bytes)
    most = max(part_bytes // (8 * 6), 1)
    parts = list(source)
    assert all(part.X.shape[0] <= max(most, 1) for part in parts) or part_bytes == 10**9
    np.testing.assert_array_equal(np.vstack([part.X for part in parts]), rows[list("abcd")])
    np.testing.assert_array_equal(np.concatenate([part.weight for part in parts]), rows.w)
    for k in rng.permutation(len(parts))[:20]:  # in any order
        np.testing.assert_array_equal(source.loads[k]().X, parts[k].X)


def test_a_row_of_a_slice_is_named_by_its_place_in_the_file(tmp_path):
    values = np.sin(np.arange(700.0))
    values[555] = np.inf
    table = pa.table({"a": values, "y": np.arange(700) % 2})
    parquet.write_table(table, tmp_path / "x.parquet", row_group_size=300)
    with pytest.raises(DataFileError, match=r"x\.parquet, row 556: "):
        list(datasets.scan(tmp_path / "x.parquet", target="y", part_bytes=800))


# ---- real servers


def test_s3_gives_the_same_rows_as_files(table, tmp_path):
    with stores.s3():
        import s3fs

        store = s3fs.S3FileSystem(skip_instance_cache=True)
        store.mkdir("bucket")
        how = {"drop": ["word", "c"], "target": "y"}
        for suffix in ("csv", "csv.gz", "parquet"):
            one = write(table, tmp_path / suffix / "rows", suffix)
            store.put(str(tmp_path / suffix), f"bucket/{suffix}", recursive=True)
            expected = datasets.read(one, **how)
            same(datasets.read(f"s3://bucket/{suffix}/rows", **how), expected)
            parts = list(datasets.scan(f"s3://bucket/{suffix}/one.*", part_bytes=18_000, **how))
            np.testing.assert_array_equal(np.vstack([part.X for part in parts]), expected.data)
        assert "no file matches; there is no s3://none" in refusal("s3://none/*.csv")
        assert "s3://bucket/x.csv: no such file" in refusal("s3://bucket/x.csv")
        source = datasets.scan("s3://bucket/parquet/one.parquet", **how)
        store.put(str(tmp_path / "parquet/rows/part-0.parquet"), "bucket/parquet/one.parquet")
        with pytest.raises(DataFileError, match=r"one\.parquet: the file changed from"):
            list(source)


def test_a_web_server_that_sends_whole_files_is_read(table, tmp_path):
    how = {"drop": ["word", "c"], "target": "y"}
    for suffix in ("csv", "csv.gz", "parquet"):
        write(table, tmp_path / suffix / "rows", suffix)
    with stores.web(tmp_path) as url:
        for suffix in ("csv", "csv.gz", "parquet"):
            expected = datasets.read(tmp_path / suffix / f"one.{suffix}", **how)
            name = f"{url}/{suffix}/one.{suffix}"
            same(datasets.read(f"{name}?token=1", **how), expected)
            parts = list(datasets.scan(name, part_bytes=9000, **how))
            np.testing.assert_array_equal(np.vstack([part.X for part in parts]), expected.data)
        assert refusal(f"{url}/none.csv") == f"{url}/none.csv: no such file"
        safe = url.replace("http", "https") + "/none.csv"
        assert re.match(re.escape(safe) + ": cannot be read: .*SSL", refusal(safe))
    assert f"{url}/none.csv: cannot be read: Cannot connect" in refusal(f"{url}/none.csv")


@pytest.mark.parametrize(
    ("suffix", "reader"),
    [("parquet", "parquet.ParquetFile.read_row_groups"), ("csv", "csv.read_csv")],
)
def test_a_lack_of_memory_is_no_fault_of_a_file(suffix, reader, table, tmp_path, monkeypatch):
    def fails(*_, **__):
        raise pa.ArrowMemoryError("malloc of size 64 failed")

    file = write(table, tmp_path / "rows", suffix)
    monkeypatch.setattr(f"pyarrow.{reader}", fails)
    with pytest.raises(MemoryError, match="malloc"):
        datasets.read(file, target="y", drop=["word", "c"])


# ---- tables of a lake


def test_a_delta_table_is_read_as_its_library_reads_it(table, tmp_path):
    deltalake = pytest.importorskip("deltalake")
    folder = tmp_path / "delta"
    for k in range(3):
        some = pa.Table.from_pandas(table.iloc[300 * k : 300 * k + 300], preserve_index=False)
        some = some.set_column(3, "word", pa.array(np.resize(["d e", "f/g"], 300)))
        if k == 0:
            some = some.drop_columns(["c"])  # added later
        deltalake.write_deltalake(
            folder, some, partition_by=["word"], mode="append", schema_mode="merge"
        )
    delta = deltalake.DeltaTable(folder)
    expected = delta.to_pyarrow_table().to_pandas().sort_values("a")
    for data in (delta, folder, str(folder)):
        rows = datasets.read(data, missing=True, text=True)
        found = pd.DataFrame(rows.data, columns=rows.feature_names).assign(y=rows.target)
        found = found.sort_values("a")
        for name in ("a", "b", "word", "y"):
            assert found[name].tolist() == expected[name].tolist()
        np.testing.assert_array_equal(found["c"].astype(float), expected["c"])
        parts = list(datasets.scan(data, target="y", drop=["word", "c"], part_bytes=2000))
        X = np.vstack([part.X for part in parts])
        np.testing.assert_array_equal(X[np.argsort(X[:, 0])], expected[["a", "b"]])
    source = datasets.scan(folder, target="y", drop=["word", "c"])
    delta.delete("a < 0")
    assert (datasets.read(folder, missing=True, text=True).data[:, 0] >= 0).all()
    with pytest.raises(DataFileError, match=r"while it was in use|not there when"):
        list(source)


def test_a_column_that_a_delta_table_no_longer_has_is_ignored(tmp_path):
    deltalake = pytest.importorskip("deltalake")
    rows = pa.table({"a": [1.0, 2.0], "gone": [3.0, 4.0], "part": [0, 1], "y": [0, 1]})
    deltalake.write_deltalake(tmp_path, rows, partition_by=["part"])
    how = {"mode": "overwrite", "schema_mode": "overwrite", "predicate": "part = 1"}
    later = rows.slice(1).drop_columns(["gone"])  # the file of the first row still has it
    deltalake.write_deltalake(tmp_path, later, partition_by=["part"], **how)
    assert datasets.scan(tmp_path, target="y").feature_names == ["a", "part"]


def test_a_folder_that_is_no_delta_table_is_told(tmp_path):
    pytest.importorskip("deltalake")
    (tmp_path / "_delta_log").mkdir()
    assert "not a readable Delta table" in refusal(tmp_path)


@pytest.fixture
def catalogue(tmp_path):
    """A catalogue of Iceberg tables with a namespace "bank"."""
    pytest.importorskip("pyiceberg")
    pytest.importorskip("sqlalchemy")
    from pyiceberg.catalog.sql import SqlCatalog

    places = {"uri": f"sqlite:///{tmp_path}/catalogue.db", "warehouse": f"file://{tmp_path}"}
    catalogue = SqlCatalog("test", **places)
    catalogue.create_namespace("bank")
    yield catalogue
    catalogue.close()


def test_an_iceberg_table_is_read_as_its_library_reads_it(table, catalogue):
    rows = pa.Table.from_pandas(table.drop(columns="c"), preserve_index=False)
    iceberg = catalogue.create_table("bank.pay", schema=rows.schema)
    iceberg.append(rows.slice(0, 400))
    iceberg.append(rows.slice(400))
    iceberg.delete("a < -1.0")
    expected = iceberg.scan().to_arrow().to_pandas().sort_values("a")
    found = datasets.read(iceberg, text=True)
    assert found.name == "bank.pay"
    values = pd.DataFrame(found.data, columns=found.feature_names).sort_values("a")
    assert values["b"].tolist() == expected["b"].tolist()
    parts = list(datasets.scan(iceberg, target="y", drop=["word"], part_bytes=2000))
    assert len(parts) > 2
    assert sum(part.X.shape[0] for part in parts) == len(expected)
    with iceberg.update_schema() as change:
        change.rename_column("b", "renamed")
    assert "bank.pay: the Iceberg table has renamed columns" in refusal(iceberg)


def test_a_column_deleted_from_an_iceberg_table_is_gone(table, catalogue):
    rows = pa.Table.from_pandas(table[["a", "b", "y"]], preserve_index=False)
    iceberg = catalogue.create_table("bank.pay", schema=rows.schema)
    iceberg.append(rows.slice(0, 400))
    with iceberg.update_schema() as change:
        change.delete_column("b")
    assert datasets.scan(iceberg, target="y").feature_names == ["a"]
    iceberg.append(rows.slice(400).drop_columns(["b"]))
    source = datasets.scan(iceberg, target="y")
    assert source.feature_names == datasets.read(iceberg, target="y").feature_names == ["a"]
    np.testing.assert_array_equal(np.vstack([part.X for part in source]), table[["a"]])


def test_the_oldest_file_of_an_iceberg_table_comes_first(table, catalogue):
    rows = pa.Table.from_pandas(table[["a", "y"]], preserve_index=False)
    iceberg = catalogue.create_table("bank.pay", schema=rows.schema)
    for k in range(4):  # their names are random
        iceberg.append(rows.slice(100 * k, 100))
    expected = table["a"].iloc[:400]
    np.testing.assert_array_equal(datasets.read(iceberg, target="y").data[:, 0], expected)
    with iceberg.update_schema() as change:
        change.union_by_name(pa.schema([("more", pa.float64())]))
    iceberg.append(rows.slice(400).append_column("more", rows["a"].slice(400)))
    with pytest.raises(DataFileError, match="'more' is empty in every row of the first part"):
        datasets.scan(iceberg, target="y")
    parts = list(datasets.scan(iceberg, target="y", prepare=True))
    assert np.isnan(parts[0].X[:, 1]).all()
    np.testing.assert_array_equal(parts[-1].X[:, 1], rows["a"].slice(400))


@pytest.mark.parametrize("place", ["folder", "memory"])
def test_other_processes_can_load_the_parts(table, tmp_path, memory, place):
    partitioned(tmp_path / "pay", table)
    name = tmp_path / "pay"
    if place == "memory":
        name = f"memory://{tmp_path.name}/pay"
        memory.put(str(tmp_path / "pay"), f"/{tmp_path.name}/pay", recursive=True)
    source = datasets.scan(name, target="y", drop=["c", "word"], part_bytes=3000)
    for load, part in zip(source.loads, source, strict=True):
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(load))().X, part.X)
