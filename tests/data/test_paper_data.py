"""The papers' data sets under their publishers' names: forms, label rules, fetching."""

import bz2
import csv
import functools
import gzip
import http.server
import json
import lzma
import threading
from dataclasses import replace

import numpy as np
import pytest

from aucmax import datasets
from aucmax.basics.errors import DataFileError
from aucmax.cli import datasets as command
from aucmax.cli import main
from aucmax.data import registry
from aucmax.experiments.catalogue import CATALOGUE
from aucmax.experiments.sources import Source, digest_of, rows_of_source

PACK = {"": bytes, ".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}
TWO_CLASSES = ["w8a", "ijcnn1", "covtype", "epsilon", "news20.binary", "astro-physics", "gisette"]
SIZES = {"train": 30, "test": 12, "all": 40}


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """An empty folder for data; the registry as it is, but for smaller data sets."""
    data = tmp_path / "data"
    data.mkdir()
    monkeypatch.setenv("AUCMAX_DATA", str(data))
    monkeypatch.setenv("AUCMAX_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("COLUMNS", "80")
    small = {name: shrunk(entry) for name, entry in registry.registered().items()}
    monkeypatch.setattr(registry, "registered", lambda: small)
    return data


def shrunk(entry):
    d = min(entry.n_features, 9)
    parts = tuple(
        replace(part, n_samples=part.n_samples and SIZES[part.split], n_features=d)
        for part in entry.parts
    )
    return replace(entry, n_features=d, parts=parts)


def svmlight(n, labels, seed=0):
    """So many rows of nine features, labels in turn."""
    rng = np.random.default_rng(seed)
    lines = []
    for i in range(n):
        pairs = (f"{j}:{value:.3f}" for j, value in enumerate(rng.uniform(0.1, 1, 9), 1))
        lines.append(f"{labels[i % len(labels)]} {' '.join(pairs)}\n")
    return "".join(lines).encode()


def put(folder, name, labels, suffix=""):
    """Write the files of a data set under their publisher's names."""
    for i, part in enumerate(datasets.about(name).parts):
        text = svmlight(SIZES[part.split], labels, seed=i)
        (folder / (part.stem + suffix)).write_bytes(PACK[suffix](text))


@pytest.mark.parametrize("suffix", PACK)
@pytest.mark.parametrize("name", [*TWO_CLASSES, "acoustic"])
def test_official_files_load_in_every_compression(folder, name, suffix):
    labels = {"covtype": [1, 2], "acoustic": [1, 2, 3]}.get(name, ["-1", "+1"])
    put(folder, name, labels, suffix)
    bunch = datasets.load(name)
    entry = datasets.about(name)
    assert bunch.data.shape == (sum(SIZES[part.split] for part in entry.parts), 9)
    assert set(bunch.target) == {int(label) for label in labels}
    assert len(set(bunch.target)) == entry.n_classes
    assert bunch.verified is None  # there is no reference
    assert [part.stem + suffix for part in entry.parts] == [
        path.rpartition("/")[2] for path in bunch.files
    ]
    assert hasattr(bunch.data, "toarray") == entry.sparse
    for part in entry.parts:
        assert datasets.load(name, split=part.split).data.shape == (SIZES[part.split], 9)


def test_of_classes_1_and_2_the_larger_is_positive(folder):
    put(folder, "covtype", [1, 2, 2, 1, 1])
    X, positive = rows_of_source.__wrapped__(Source("covtype", None, ("minmax", "unit-norm")))
    assert positive.mean() == pytest.approx(0.4)
    np.testing.assert_array_equal(positive, datasets.load("covtype").target == 2)
    np.testing.assert_allclose(np.linalg.norm(X, axis=1), 1)


@pytest.mark.parametrize("suffix", PACK)
def test_the_largest_class_against_the_rest(folder, suffix):
    # 3 is the largest class of the training rows, 2 that of all
    (folder / f"sector.scale{suffix}").write_bytes(PACK[suffix](svmlight(30, [1, 2, 3, 3, 2, 3])))
    (folder / f"sector.t.scale{suffix}").write_bytes(PACK[suffix](svmlight(12, [2])))
    bunch = datasets.load("sector.lvr")
    classes = datasets.load("sector").target
    np.testing.assert_array_equal(bunch.target, np.where(classes == 2, 1, -1))
    np.testing.assert_array_equal(datasets.load("sector.lvr", "test").target, np.ones(12))
    train = datasets.load("sector.lvr", "train")
    np.testing.assert_array_equal(train.target, bunch.target[:30])
    assert abs(train.data - bunch.data[:30]).max() == 0


def test_the_registry_counts_what_the_rule_gives():
    whole = registry.about("sector.lvr")
    assert whole.class_counts() == {-1: 9514, 1: 105}
    assert whole.class_counts("train")[1] + whole.class_counts("test")[1] == 105


@pytest.mark.parametrize("suffix", PACK)
def test_of_several_labels_the_one_that_most_rows_have(folder, suffix):
    text = svmlight(40, ["33,59", "33", "7,59", "59,70,33", "70"])
    (folder / f"rcv1_topics_train.svm{suffix}").write_bytes(PACK[suffix](text))
    bunch = datasets.load("rcv1v2")
    np.testing.assert_array_equal(bunch.target, np.tile([1, 1, -1, 1, -1], 8))
    assert bunch.target.dtype == np.int64
    # again, from the parsed copy
    np.testing.assert_array_equal(datasets.load("rcv1v2").target, bunch.target)


def test_the_most_frequent_topic_is_that_of_both_files(folder):
    (folder / "rcv1_topics_train.svm.bz2").write_bytes(bz2.compress(svmlight(30, ["1", "1,2"])))
    (folder / "rcv1_topics_combined_test.svm").write_bytes(svmlight(12, ["2", "2,3"]))
    # 1 has 30 rows, 2 has 15 + 12
    np.testing.assert_array_equal(
        datasets.load("ccat").target, np.concatenate([np.ones(30), -np.ones(12)])
    )
    (folder / "rcv1_topics_train.svm.bz2").write_bytes(bz2.compress(svmlight(30, ["1", "2,2"])))
    (folder / "rcv1_topics_combined_test.svm").write_bytes(svmlight(12, ["1"]))
    # 1 has 15 + 12 rows, 2 has 15, though it stands there 30 times
    assert (datasets.load("ccat").target == 1).sum() == 27


def test_features_that_no_row_has_are_left_out(folder):
    lines = [f"{'5, 700' if i % 4 else '5,12'} 3:1 {10 * (i % 8 + 1)}:2\n" for i in range(40)]
    (folder / "ecml2012.gz").write_bytes(gzip.compress("".join(lines).encode()))
    bunch = datasets.load("ecml2012")
    assert bunch.data.shape == (40, 9)
    assert bunch.data.getnnz(axis=0).min() > 0
    assert set(bunch.target) == {1}  # all have 5
    text = "".join(line.replace("5, 700", "700").replace("5,12", "12") for line in lines)
    (folder / "ecml2012.gz").write_bytes(gzip.compress(text.encode()))
    assert (datasets.load("ecml2012").target == 1).sum() == 30
    (folder / "ecml2012.gz").write_bytes(gzip.compress(text.replace("80:2", "70:2").encode()))
    with pytest.raises(DataFileError, match="40 rows of 8 features where ecml2012 has 40 of 9"):
        datasets.load("ecml2012")


def physics(n, zeros=61):
    """Rows as KDD Cup 2004 has them, so many features 0 throughout."""
    rng = np.random.default_rng(0)
    X = rng.uniform(1, 2, (n, 78))
    missing = [c - 1 for c in (20, 21, 22, 29, 44, 45, 46, 55)]
    X[::2, missing] = 999
    filled = [c for c in range(78) if c not in missing]
    X[:, filled[:zeros]] = 0
    lines = [f"{i} {i % 2} " + "\t".join(f"{x:.4g}" for x in row) for i, row in enumerate(X)]
    return "\n".join(lines).encode(), X[:, filled[zeros:]]


@pytest.mark.parametrize("suffix", PACK)
def test_the_physics_task_in_its_own_form(folder, suffix):
    text, kept = physics(40)
    (folder / f"phy_train.dat{suffix}").write_bytes(PACK[suffix](text))
    bunch = datasets.load("kddcup04")
    np.testing.assert_array_equal(bunch.target, np.arange(40) % 2)
    np.testing.assert_allclose(bunch.data, kept, rtol=1e-3)


def test_another_file_for_the_physics_task_is_refused(folder):
    path = folder / "phy_train.dat"
    for text, message in (
        (b"1 0 3 4\n" * 40, "each line has a number, the label 0 or 1, and 78 features"),
        (physics(40)[0].replace(b"\n1 1 ", b"\n1 2 "), "the label 0 or 1"),
        (b"<html>\n", "not KDD Cup 2004's phy_train.dat"),
        (physics(39)[0], "39 rows of 9 features where phy_train.dat has 40 of 9"),
    ):
        path.write_bytes(text)
        with pytest.raises(DataFileError, match=message):
            datasets.load("kddcup04")


def test_several_labels_must_be_whole_numbers(folder):
    path = folder / "rcv1_topics_train.svm"
    path.write_bytes(svmlight(40, ["1", "1.5,2"]))
    with pytest.raises(DataFileError, match=r"line 2: several labels must be integers"):
        datasets.load("rcv1v2")
    path.write_bytes(svmlight(40, ["1", "1,x"]))
    with pytest.raises(DataFileError, match="line 2: the label '1,x' is not a number"):
        datasets.load("rcv1v2")
    path.write_bytes(svmlight(40, [""]))
    with pytest.raises(DataFileError, match="no row has a label; rows look like"):
        datasets.load("rcv1v2")


# ---- the tables run on them


def put_all(folder):
    """Files of every data set that only the papers have, in all compressions."""
    put(folder, "ijcnn1", ["-1", "+1"], ".bz2")
    put(folder, "w8a", ["-1", "+1"], ".gz")
    put(folder, "acoustic", [1, 2, 3], ".xz")
    put(folder, "covtype", [1, 2], ".bz2")
    put(folder, "epsilon", ["-1", "+1"], "")
    put(folder, "news20.binary", ["-1", "+1"], ".bz2")
    put(folder, "astro-physics", ["-1", "+1"], ".gz")
    put(folder, "gisette", ["-1", "+1"], ".bz2")
    put(folder, "sector.lvr", [1, 2, 2, 3], "")
    put(folder, "ccat", ["33,59", "33", "59"], ".bz2")  # rcv1v2 is its first file
    lines = [f"{'5' if i % 3 else '7'} 1:{i % 5} " for i in range(40)]
    lines = [f"{line} {' '.join(f'{j}:{(i * j) % 7 + 1}' for j in range(4, 28, 3))}\n"
             for i, line in enumerate(lines)]  # fmt: skip
    (folder / "ecml2012.xz").write_bytes(lzma.compress("".join(lines).encode()))
    (folder / "phy_train.dat.gz").write_bytes(gzip.compress(physics(40)[0]))


def sources():
    """What the tables and figures run on, of the data sets above."""
    known = [name for name in datasets.names() if not registry.about(name).parts[0].sha256]
    return {
        (source.name, source.binarize, source.scale, source.split): source
        for spec in CATALOGUE.values()
        for source in spec.sources
        if source.name in {*known, "sector.lvr"}
    }


SOURCES = sources()


def test_all_of_them_are_in_a_table_or_a_figure():
    known = {name for name in datasets.names() if not registry.about(name).parts[0].sha256}
    assert {name for name, *_ in SOURCES} == known | {"sector.lvr"}


@pytest.mark.parametrize("source", SOURCES.values(), ids=lambda s: f"{s.name}-{s.scale}")
def test_tables_prepare_every_set_as_their_paper_did(folder, source):
    put_all(folder)
    if source.name == "rcv1v2":
        put(folder, "rcv1v2", ["33,59", "33", "59"], ".bz2")
    X, positive = rows_of_source.__wrapped__(source)
    entry = datasets.about(source.name)
    assert X.shape == (len(positive), 9)
    assert len(positive) == sum(SIZES[part.split] for part in entry.select(source.split))
    assert 0 < positive.mean() < 1
    values = X.data if hasattr(X, "toarray") else X
    assert np.abs(values).max() <= 1 + 1e-9
    if "unit-norm" in (source.scale, source.scale[-1]):
        norms = np.sqrt(np.asarray(X.multiply(X).sum(axis=1))) if entry.sparse else (
            np.linalg.norm(X, axis=1)
        )  # fmt: skip
        np.testing.assert_allclose(norms, 1)


@pytest.mark.parametrize(
    ("name", "sets"),
    [
        ("opauc-online", "kddcup04"),
        pytest.param("sadmm-l1", "gisette", marks=pytest.mark.exhaustive),
    ],
)
def test_a_table_and_a_figure_run_on_them(folder, tmp_path, capsys, name, sets):
    put_all(folder)
    forget()
    out = tmp_path / "out"
    with pytest.raises(SystemExit) as end:
        main(
            [
                "reproduce",
                name,
                "--data",
                sets,
                "--quick",
                "--runs",
                "1",
                "--jobs",
                "1",
                "-o",
                str(out),
            ]
        )
    forget()
    text, err = capsys.readouterr()
    assert (end.value.code, err) == (0, "")
    assert "data not found" not in text
    with open(out / name / "runs.csv", newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert {row["data"] for row in rows} == set(sets.split(","))
    assert all(0 <= float(row["auc" if "auc" in row else "error"]) <= 1 for row in rows)


def forget():
    rows_of_source.cache_clear()
    digest_of.cache_clear()


# ---- getting them


class Publisher(http.server.BaseHTTPRequestHandler):
    """Serves the test's own files."""

    def do_GET(self):
        content = self.server.files.get(self.path.rpartition("/")[2])
        if content is None:
            self.send_error(404)
            return
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *args):
        """Keep quiet."""


@pytest.fixture
def publisher():
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Publisher) as server:
        server.files, server.url = {}, f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def run(run):
    """Run ``aucmax datasets``; give its exit code, stdout and stderr."""
    return functools.partial(run, "datasets")


def test_the_command_fetches_and_says_where(run, publisher, tmp_path):
    publisher.files = {
        "ijcnn1.bz2": bz2.compress(svmlight(30, ["-1", "+1"])),
        "ijcnn1.t.bz2": bz2.compress(svmlight(12, ["-1", "+1"])),
    }
    code, text, err = run("fetch", "ijcnn1", "--base-url", publisher.url)
    assert (code, err) == (0, "")
    cache = tmp_path / "cache"
    assert text.splitlines() == [
        f"ijcnn1: fetched: {cache / 'ijcnn1.bz2'}, {cache / 'ijcnn1.t.bz2'}",
        "ijcnn1: compared with the published values: rows, features; not known, and not compared: "
        "counts of labels, SHA-256; the next download must have the same SHA-256",
    ]
    assert datasets.load("ijcnn1").data.shape == (42, 9)
    publisher.files = {}
    assert "ijcnn1: already here: " in run("fetch", "ijcnn1")[1]
    code, text, err = run("fetch", "ijcnn1", "--force", "--base-url", publisher.url)
    assert (code, text) == (2, "")
    assert "ijcnn1.bz2: the download failed (404" in err
    assert json.loads(run("fetch", "ijcnn1", "--json")[1]) == {
        "ijcnn1": [str(cache / "ijcnn1.bz2"), str(cache / "ijcnn1.t.bz2")]
    }
    assert json.loads(run("ijcnn1", "--json")[1])["found"]
    assert json.loads(run("--json", "ijcnn1")[1])["found"]
    assert "no reference to compare with" in run("show", "ijcnn1")[1]


def test_one_of_several_that_fails_is_told_at_the_end(run, publisher):
    publisher.files = {"covtype.libsvm.binary.bz2": bz2.compress(svmlight(40, [1, 2]))}
    code, text, err = run("fetch", "gisette", "covtype", "--base-url", publisher.url)
    assert code == 2
    assert text.startswith("covtype: fetched: ")
    assert err.startswith(f"error: {publisher.url}/gisette_scale.bz2: the download failed")


@pytest.mark.parametrize("as_json", [True, False])
def test_an_interruption_says_what_is_fetched(run, publisher, monkeypatch, as_json):
    publisher.files = {"covtype.libsvm.binary.bz2": bz2.compress(svmlight(40, [1, 2]))}
    found = datasets.fetch("covtype", base_url=publisher.url)
    expected = [str(path) for path in found]

    def fetch(name, **_):
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "fetch", fetch)
    code, text, err = run("fetch", "covtype", "gisette", "a9a", *["--json"] * as_json)
    assert (code, err) == (130, "interrupted: 1 of 3 data sets fetched, not gisette\n")
    if as_json:
        assert json.loads(text) == {"covtype": expected}
    else:
        assert text == f"covtype: already here: {', '.join(expected)}\n"


def test_the_publishers_other_compression_is_tried(publisher, tmp_path):
    publisher.files = {
        "epsilon_normalized.xz": lzma.compress(svmlight(30, ["-1", "+1"])),
        "epsilon_normalized.t.bz2": bz2.compress(svmlight(12, ["-1", "+1"])),
    }
    paths = datasets.fetch("epsilon", base_url=publisher.url)
    assert [path.name for path in paths] == ["epsilon_normalized.xz", "epsilon_normalized.t.bz2"]
    assert datasets.fetch("epsilon", base_url=publisher.url) == paths
    assert datasets.load("epsilon").data.shape == (42, 9)
    publisher.files = {}
    with pytest.raises(DataFileError, match=r"epsilon_normalized.xz: the download failed"):
        datasets.fetch("epsilon", base_url=publisher.url, force=True)


@pytest.mark.parametrize("name", ["kddcup04", "ecml2012", "astro-physics"])
def test_what_cannot_be_downloaded_is_told_where_to_get(run, folder, tmp_path, name):
    code, text, err = run("fetch", name)
    assert (code, text) == (2, "")
    assert f"data set '{name}' cannot be downloaded automatically: get it" in err
    assert str(tmp_path / "cache") in err
    entry = datasets.about(name)
    for part in entry.parts:
        assert part.stem in err
    assert entry.parts[0].page in err
    if name == "kddcup04":
        (folder / "phy_train.dat").write_bytes(physics(40)[0])
        assert run("fetch", name)[1] == f"kddcup04: already here: {folder / 'phy_train.dat'}\n"
        assert datasets.fetch(name) == [folder / "phy_train.dat"]


def test_the_list_shows_what_is_not_known_as_a_dash(run):
    text = run()[1]
    (line,) = (line for line in text.splitlines() if line.startswith("astro-physics"))
    assert line.split()[1] == "–"
    assert "aucmax datasets fetch diabetes" in " ".join(text.split())
    assert all(len(line) <= 80 for line in text.splitlines())
    assert "2, the larger, is positive" in " ".join(run("covtype")[1].split())
