"""Data sets by name: the registry, loading, two classes, scaling, downloads."""

import bz2
import contextlib
import csv
import gc
import hashlib
import http.server
import json
import os
import re
import socket
import threading
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse

from aucmax import datasets
from aucmax.basics.errors import DataFileError
from aucmax.basics.locks import locked
from aucmax.data import cache, download
from aucmax.data.files import opened
from aucmax.data.registry import ALIASES, registered
from aucmax.datasets import binarize, scale
from real_data import each_set

DATA = os.environ.get("AUCMAX_DATA")
needs_data = pytest.mark.skipif(not DATA, reason="AUCMAX_DATA is not set")

# Rows per part and features, as the publishers state them.
FACTS = {
    "diabetes": ({"all": 768}, 8),
    "fourclass": ({"all": 862}, 2),
    "fourclass.raw": ({"all": 862}, 2),
    "german": ({"all": 1000}, 24),
    "german.numer": ({"all": 1000}, 24),
    "splice": ({"train": 1000, "test": 2175}, 60),
    "usps": ({"train": 7291, "test": 2007}, 256),
    "letter": ({"train": 15000, "test": 5000}, 16),
    "magic04": ({"all": 19020}, 10),
    "a9a": ({"train": 32561, "test": 16281}, 123),
    "mnist": ({"train": 60000, "test": 10000}, 780),
    "connect-4": ({"all": 67557}, 126),
    "sector": ({"train": 6412, "test": 3207}, 55197),
    "news20": ({"train": 15935}, 62061),
    "sector.lvr": ({"train": 6412, "test": 3207}, 55197),
    "w8a": ({"train": 49749, "test": 14951}, 300),
    "ijcnn1": ({"train": 49990, "test": 91701}, 22),
    "acoustic": ({"train": 78823, "test": 19705}, 50),
    "covtype": ({"all": 581012}, 54),
    "epsilon": ({"train": 400000, "test": 100000}, 2000),
    "kddcup04": ({"all": 50000}, 65),
    "news20.binary": ({"all": 19996}, 1355191),
    "rcv1v2": ({"all": 23149}, 47236),
    "ccat": ({"train": 23149, "test": 781265}, 47236),
    "ecml2012": ({"all": 456886}, 98519),
    "astro-physics": ({"train": 29882, "test": None}, 99757),
    "gisette": ({"train": 6000, "test": 1000}, 5000),
}
TEXT = {"sector", "sector.lvr", "news20", "news20.binary", "rcv1v2", "ccat", "ecml2012"}
SPARSE = {*TEXT, "astro-physics", "a9a", "w8a", "mnist", "connect-4"}
HERE = [*list(FACTS)[:14]]  # those that the development machine has
BY_HAND = {"kddcup04", "ecml2012", "astro-physics"}
# What the papers' tables of data sets say, by the rows that they count.
COUNTED = {
    ("w8a", "train"): (49749, 300),
    ("w8a", "all"): (64700, 300),
    ("kddcup04", "all"): (50000, 65),
    ("acoustic", "train"): (78823, 50),
    ("ijcnn1", "all"): (141691, 22),
    ("epsilon", "train"): (400000, 2000),
    ("covtype", "all"): (581012, 54),
    ("sector.lvr", "all"): (9619, 55197),
    ("news20.binary", "all"): (19996, 1355191),
    ("rcv1v2", "all"): (23149, 47236),
    ("ecml2012", "all"): (456886, 98519),
}


def manifest():
    """The manifest's rows by our name and split."""
    text = (Path(DATA) / "MANIFEST.csv").read_text(encoding="utf-8")
    own = {"fourclass": "fourclass.raw"}
    rows = {}
    for row in csv.DictReader(text.splitlines()):
        name = own.get(row["dataset"]) or datasets.about(row["dataset"]).name
        rows[name, row["split"]] = row
    return rows


def diabetes_text(n=768, seed=0):
    """Rows in the form of the diabetes file, with its counts of labels."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n, 8)).round(3)
    labels = [-1 if i % 3 == 0 or i < 18 else 1 for i in range(n)]
    return "".join(
        f"{label} " + " ".join(f"{j}:{x}" for j, x in enumerate(row, 1)) + "\n"
        for label, row in zip(labels, rows, strict=True)
    )


@pytest.fixture
def folders(tmp_path, monkeypatch):
    """Empty data and cache folders, the only ones looked into."""
    data, kept = tmp_path / "data", tmp_path / "cache"
    data.mkdir()
    monkeypatch.setenv("AUCMAX_DATA", str(data))
    monkeypatch.setenv("AUCMAX_CACHE", str(kept))
    return data, kept


# --- registry


def test_registry_states_the_facts():
    assert datasets.names() == list(FACTS)
    for name, (rows, d) in FACTS.items():
        entry = datasets.about(name)
        assert {part.split: part.n_samples for part in entry.parts} == rows
        assert entry.n_samples() == (None if None in rows.values() else sum(rows.values()))
        assert entry.n_features == d
        assert {part.n_features for part in entry.parts} == {d}
        assert entry.sparse == (name in SPARSE)
        assert entry.splits == tuple(dict.fromkeys(["all", *rows]))
        for part in entry.parts:
            assert (part.urls == ()) == (name in BY_HAND)
            assert all(url.startswith("https://") for url in part.urls)
            assert set(part.downloads) <= set(part.file_names)
            for suffix in ("", ".xz", ".gz", ".bz2"):
                assert part.stem + suffix in part.file_names
        assert entry.n_classes >= 2
        assert entry.n_classes == (len(entry.class_counts()) or entry.n_classes)


def test_the_sizes_are_those_that_the_papers_print():
    for (name, split), (n, d) in COUNTED.items():
        entry = datasets.about(name)
        assert (entry.n_samples(split), entry.n_features) == (n, d)


def test_aliases():
    for alias, name in ALIASES.items():
        assert alias not in datasets.names()
        assert datasets.about(alias).name == name
        assert alias in datasets.about(name).aliases
    # The scaled files are meant unless the raw ones are asked for.
    assert datasets.about("german").parts[0].stem == "german.numer_scale"
    assert datasets.about("german.numer").parts[0].stem == "german.numer"
    assert datasets.about("fourclass").parts[0].stem == "fourclass_scale"
    assert datasets.about("fourclass_raw").parts[0].stem == "fourclass"


def test_unknown_names_and_splits():
    with pytest.raises(ValueError, match=r"'diabets'; did you mean 'diabetes'\? known: diabetes,"):
        datasets.about("diabets")
    with pytest.raises(ValueError, match="the name of a data set is a string"):
        datasets.load(3)
    with pytest.raises(ValueError, match=r"'diabetes' has the splits all$"):
        datasets.load("diabetes", split="train")
    with pytest.raises(ValueError, match=r"'usps' has the splits all, train, test$"):
        datasets.load("usps", split="valid")


@pytest.mark.data
@needs_data
def test_registry_equals_the_manifest():
    rows = manifest()
    parts = {(name, part.split): part for name in HERE for part in datasets.about(name).parts}
    assert parts.keys() == rows.keys()
    for key, part in parts.items():
        row = rows[key]
        assert (part.file, part.sha256) == (row["file"], row["sha256"])
        assert (part.n_samples, part.n_features) == (int(row["n"]), int(row["d"]))


# --- the real files


@pytest.fixture(scope="module")
def load_real(tmp_path_factory):
    """`load` with parsed copies kept for this module."""
    folder = str(tmp_path_factory.mktemp("cache"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AUCMAX_CACHE", folder)
        yield datasets.load


def class_counts(y):
    labels, counts = np.unique(y, return_counts=True)
    return dict(zip(labels.tolist(), counts.tolist(), strict=True))


@pytest.mark.data
@needs_data
@each_set(HERE, large={"mnist"})
def test_real_data_has_the_manifests_counts(load_real, name):
    rows = manifest()
    for part in datasets.about(name).parts:
        row = rows[name, part.split]
        bunch = load_real(name, split=part.split)
        pairs = (pair.split(":") for pair in row["class_counts"].split())
        assert class_counts(bunch.target) == {int(label): int(count) for label, count in pairs}
        assert bunch.data.shape == (int(row["n"]), int(row["d"]))
        filled = bunch.data.nnz if name in SPARSE else np.count_nonzero(bunch.data)
        assert filled / np.prod(bunch.data.shape) == pytest.approx(float(row["density"]), abs=1e-6)
        assert bunch.verified
        assert (bunch.name, bunch.split, bunch.n_features) == (name, part.split, int(row["d"]))
        assert row["notes"].strip() in bunch.DESCR


@pytest.mark.data
@needs_data
@pytest.mark.parametrize("name", ["splice", "a9a"])
def test_all_is_train_then_test(load_real, name):
    whole, train, test = (load_real(name, split=split) for split in ("all", "train", "test"))
    stack = sparse.vstack if name in SPARSE else np.vstack
    assert abs(stack([train.data, test.data]) - whole.data).max() == 0
    np.testing.assert_array_equal(whole.target, np.append(train.target, test.target))
    if name in SPARSE:
        assert isinstance(whole.data, sparse.csr_matrix)
        assert whole.data.indices.dtype == whole.data.indptr.dtype == np.int32
        assert whole.data.has_canonical_format
    else:
        assert whole.data.flags.c_contiguous
    assert whole.data.dtype == np.float64
    assert whole.target.dtype == np.int64


@pytest.mark.data
@needs_data
def test_loading_with_two_classes_and_unit_rows(load_real):
    bunch = load_real("usps", split="test", binarize="even-odd", scale="unit-norm")
    raw = load_real("usps", split="test")
    np.testing.assert_array_equal(bunch.target, np.where(raw.target % 2, -1, 1))
    np.testing.assert_allclose(np.linalg.norm(bunch.data, axis=1), 1)
    with pytest.raises(ValueError, match="maxabs"):
        load_real("a9a", scale="minmax")


# --- finding files and keeping parsed copies


def copies(kept):
    return sorted((kept / "parsed").glob("*.npz"))


def test_not_found_says_where_and_what_to_do(folders, monkeypatch):
    data, kept = folders
    with pytest.raises(DataFileError) as caught:
        datasets.load("german")
    for words in (str(data), str(kept), "german.numer_scale", "AUCMAX_DATA", "fetch('german')"):
        assert words in str(caught.value)
    monkeypatch.delenv("AUCMAX_DATA")
    with pytest.raises(DataFileError, match="AUCMAX_DATA is not set"):
        datasets.locate("german")


def test_the_data_folder_comes_first_then_the_cache(folders):
    data, kept = folders
    kept.mkdir()
    (kept / "diabetes").write_text(diabetes_text(seed=1))
    assert datasets.locate("diabetes") == [kept / "diabetes"]
    (data / "diabetes").write_text(diabetes_text(seed=2))
    assert datasets.locate("diabetes") == [data / "diabetes"]


def test_parsed_copies_follow_the_file(folders):
    data, kept = folders
    # Fractions of one sign, which must not be kept as bytes.
    (data / "diabetes").write_text(diabetes_text(seed=1).replace(":-", ":"))
    first = datasets.load("diabetes")
    assert not first.verified
    assert len(copies(kept)) == 1
    again = datasets.load("diabetes")
    np.testing.assert_array_equal(first.data, again.data)
    np.testing.assert_array_equal(first.target, again.target)
    (data / "diabetes").write_text(diabetes_text(seed=2))
    assert not np.array_equal(datasets.load("diabetes").data, first.data)
    assert len(copies(kept)) == 2


def test_a_parsed_copy_is_used(folders, monkeypatch):
    data, _ = folders
    (data / "diabetes").write_text(diabetes_text())
    first = datasets.load("diabetes")
    monkeypatch.setattr("aucmax.data.loading.parse", None)
    np.testing.assert_array_equal(datasets.load("diabetes").data, first.data)


@pytest.mark.parametrize("damage", ["cut", "foreign", "empty", "other arrays", "bad indices"])
def test_unusable_copies_are_made_again(folders, damage):
    data, kept = folders
    (data / "diabetes").write_text(diabetes_text())
    first = datasets.load("diabetes")
    (copy,) = copies(kept)
    whole = copy.read_bytes()
    if damage == "other arrays":
        np.savez(copy, a=np.zeros(3))
    elif damage == "bad indices":
        with np.load(copy) as arrays:
            parts = dict(arrays)
        np.savez(copy, **{**parts, "indices": parts["indices"] + 100})
    else:
        content = {"cut": whole[: len(whole) // 2], "foreign": b"no archive", "empty": b""}
        copy.write_bytes(content[damage])
    np.testing.assert_array_equal(datasets.load("diabetes").data, first.data)
    assert copy.read_bytes() == whole


def test_a_cache_that_cannot_be_written_is_tolerated(folders):
    data, kept = folders
    (data / "diabetes").write_text(diabetes_text())
    kept.write_text("a file where the folder should be")
    assert datasets.load("diabetes").data.shape == (768, 8)


def test_a_full_disk_is_tolerated(folders, monkeypatch):
    data, kept = folders
    (data / "diabetes").write_text(diabetes_text())

    def fail(source, destination):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", fail)
    assert datasets.load("diabetes").data.shape == (768, 8)
    assert list((kept / "parsed").iterdir()) == []


def test_nothing_else_is_left_in_the_cache(folders):
    data, kept = folders
    (data / "diabetes").write_text(diabetes_text())
    datasets.load("diabetes")
    assert [path for path in kept.rglob("*") if path.is_file()] == copies(kept)


@pytest.mark.parametrize("how", ["minmax", "maxabs"])
def test_ranges_are_those_of_the_whole_set(folders, how):
    data, _ = folders
    (data / "splice").write_text("1 1:1 2:2\n" * 1000)
    (data / "splice.t").write_text("1 1:2 2:1\n" * 2174 + "-1 1:4\n")
    whole = datasets.load("splice", scale=how).data
    assert (whole[:, :2].min(), whole[:, :2].max()) == (-1 if how == "minmax" else 0, 1)
    for split, rows in (("train", whole[:1000]), ("test", whole[1000:])):
        np.testing.assert_array_equal(datasets.load("splice", split=split, scale=how).data, rows)


def test_incomplete_files_are_refused(folders):
    data, _ = folders
    (data / "diabetes").write_text(diabetes_text(n=700))
    with pytest.raises(DataFileError, match="diabetes: 700 rows of 8 features where diabetes has"):
        datasets.load("diabetes")
    (data / "diabetes").write_text("1 9:1\n" * 768)
    with pytest.raises(DataFileError, match="diabetes, line 1: the feature index is 9; at most 8"):
        datasets.load("diabetes")


def test_ucis_own_magic04(folders):
    data, _ = folders
    lines = [f"{i},-1.5" + ",0.25" * 8 + (",g" if i < 12332 else ",h") for i in range(19020)]
    (data / "magic04.data").write_text("\n".join(lines) + "\n")
    bunch = datasets.load("magic04")
    assert class_counts(bunch.target) == {-1: 6688, 1: 12332}
    assert bunch.data[7].tolist() == [7, -1.5] + [0.25] * 8
    (data / "magic04.data").write_text("1,2,x\n")
    with pytest.raises(DataFileError, match=r"not UCI's magic04.data"):
        datasets.load("magic04")


# --- two classes

LABELS = hnp.arrays(np.int64, st.integers(1, 40), elements=st.integers(-5, 30))


@settings(deadline=None, max_examples=30, derandomize=True)
@given(y=LABELS, seed=st.integers(0, 2**32))
def test_binarize_properties(y, seed):
    labels = np.unique(y)
    if len(labels) == 1:
        with pytest.raises(ValueError, match="leaves only one class"):
            binarize(y, "first-half")
        return
    half = len(labels) // 2
    for how in ("first-half", ("random-halves", seed), int(labels[-1])):
        signs = binarize(y, how)
        assert signs.dtype == np.int64
        assert set(signs.tolist()) == {-1, 1}
        # A label goes to one side only.
        positive = set(y[signs == 1].tolist())
        assert not positive & set(y[signs == -1].tolist())
        assert len(positive) == (1 if isinstance(how, int) else half)
    np.testing.assert_array_equal(binarize(y, "first-half") == 1, y < labels[half])
    np.testing.assert_array_equal(binarize(y, int(labels[0])) == 1, y == labels[0])
    np.testing.assert_array_equal(
        binarize(y, ("random-halves", seed)), binarize(y[::-1], ("random-halves", seed))[::-1]
    )


def test_binarize_examples():
    assert binarize([-1, 0, 1, 2], "even-odd").tolist() == [-1, 1, -1, 1]
    assert binarize(["a", "b", "a"], "b").tolist() == [-1, 1, -1]
    halves = {tuple(binarize(np.arange(10), ("random-halves", seed))) for seed in range(20)}
    assert len(halves) > 10
    assert {sum(signs) for signs in halves} == {0}


@pytest.mark.parametrize(
    ("y", "how", "message"),
    [
        ([1, 2, 3], 7, r"binarize=7 is neither .* nor one of the labels 1, 2, 3"),
        ([1, 2, 3], "2", r"binarize='2' is neither"),
        ([1, 2, 3], "random-halves", r"\('random-halves', seed\)"),
        ([1, 2, 3], ("random-halves", None), "is neither"),
        ([1, 2, 3], ("random-halves", 1, 2), "is neither"),
        ([1, 2, 3], True, "is neither"),
        ([1, 3], "even-odd", "leaves only one class; the labels are 1, 3"),
        ([0.5, 3], "even-odd", "needs integer labels, not 0.5, 3.0"),
        (["a", "b"], "even-odd", "needs integer labels, not a, b"),
        ([[1, 2]], "even-odd", r"shape \(1, 2\)"),
    ],
)
def test_binarize_errors(y, how, message):
    with pytest.raises(ValueError, match=message):
        binarize(y, how)


# --- scaling

NUMBERS = st.one_of(st.just(0.0), st.floats(1e-3, 1e6), st.floats(-1e6, -1e-3))
ROWS = hnp.arrays(
    np.float64, hnp.array_shapes(min_dims=2, max_dims=2, max_side=6), elements=NUMBERS
)


@settings(deadline=None, max_examples=30, derandomize=True)
@given(X=ROWS)
def test_scale_properties(X):
    before = X.copy()
    unit = scale(X, "unit-norm")
    norms = np.linalg.norm(X, axis=1)
    np.testing.assert_allclose(np.linalg.norm(unit, axis=1), norms > 0)
    np.testing.assert_allclose(unit * norms[:, None], X)
    flat = scale(X, "minmax")
    varies = X.min(axis=0) < X.max(axis=0)
    np.testing.assert_array_equal(flat.min(axis=0), -1.0 * varies)
    np.testing.assert_array_equal(flat.max(axis=0), 1.0 * varies)
    np.testing.assert_array_equal(np.argmax(flat, axis=0)[varies], np.argmax(X, axis=0)[varies])
    largest = abs(X).max(axis=0)
    np.testing.assert_allclose(scale(X, "maxabs") * largest, X)
    for how in ("unit", "maxabs"):
        rows = scale(sparse.csr_matrix(X), how)
        assert isinstance(rows, sparse.csr_matrix)
        np.testing.assert_allclose(rows.toarray(), scale(X, how))
    assert scale(X, None) is X
    np.testing.assert_array_equal(X, before)


def test_scale_types():
    assert scale([[3, 4], [0, 0]], "unit").tolist() == [[0.6, 0.8], [0, 0]]
    assert scale(np.float32([[3, 4]]), "unit").dtype == np.float32
    assert scale(sparse.coo_array([[0, 2]]), "maxabs").toarray().tolist() == [[0, 1]]


def test_scale_errors():
    with pytest.raises(ValueError, match="scale='max' is not one of unit-norm, minmax, maxabs"):
        scale(np.eye(2), "max")
    with pytest.raises(ValueError, match=r"would fill in the zeros of sparse rows; use .*maxabs"):
        scale(sparse.eye_array(2), "minmax")
    with pytest.raises(ValueError, match="feature 1 is not finite"):
        scale([[1, 2], [1, np.inf]], "minmax")
    with pytest.raises(ValueError, match="NaN"):
        scale([[1, np.nan]], "unit-norm")


# --- downloads


class Publisher(http.server.BaseHTTPRequestHandler):
    """Serves the test's own files; `cut` closes the connection half way, `ill` does as it likes."""

    def do_GET(self):
        self.server.asked.append(self.path)
        content = self.server.files.get(self.path.rpartition("/")[2])
        if content is None:
            self.send_error(404)
            return
        if self.server.ill is not None:
            with contextlib.suppress(ConnectionError):  # the other end has had enough
                self.server.ill(self, content)
            return
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content[: len(content) // 2] if self.server.cut else content)

    def log_message(self, *args):
        """Keep quiet."""


@pytest.fixture
def publisher(folders):
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Publisher) as server:
        server.files, server.asked, server.cut, server.ill = {}, [], False, None
        server.url = f"http://127.0.0.1:{server.server_port}/binary"
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def leftovers(kept):
    """Files in the cache that are neither records nor parsed copies nor locks."""
    return [
        p.name
        for p in kept.rglob("*")
        if p.is_file() and p.suffix not in (".npz", ".json", ".lock")
    ]


def sha256(text):
    return hashlib.sha256(text.encode()).hexdigest()


def refused(publisher, **kwargs):
    with pytest.raises(DataFileError) as caught:
        datasets.fetch("diabetes", base_url=publisher.url, **kwargs)
    return str(caught.value)


def test_fetch_then_load(folders, publisher):
    _, kept = folders
    text = diabetes_text()
    publisher.files["diabetes"] = text.encode()
    seen = []
    paths = datasets.fetch(
        "diabetes", base_url=publisher.url, progress=lambda done, total: seen.append((done, total))
    )
    assert paths == [kept / "diabetes"]
    assert paths[0].read_text() == text
    assert seen[-1] == (len(text), len(text))
    assert json.loads((kept / "checksums.json").read_text()) == {"diabetes": sha256(text)}
    assert datasets.load("diabetes").data.shape == (768, 8)
    # What is there is checked and not downloaded again.
    assert datasets.fetch("diabetes", base_url=publisher.url) == paths
    assert publisher.asked == ["/binary/diabetes"]
    assert leftovers(kept) == ["diabetes"]


def test_fetch_takes_both_parts(folders, publisher):
    row = "{} 1:1 60:2\n".format
    rows = [row(-1) * 483 + row(1) * 517, row(-1) * 1044 + row(1) * 1131]
    publisher.files = {"splice": rows[0].encode(), "splice.t": rows[1].encode()}
    paths = datasets.fetch("splice", base_url=publisher.url + "/")
    assert [path.name for path in paths] == ["splice", "splice.t"]
    assert class_counts(datasets.load("splice").target) == {-1: 1527, 1: 1648}


@pytest.mark.parametrize("force", [False, True])
def test_an_interruption_leaves_what_was_there(folders, publisher, force):
    _, kept = folders
    if force:
        publisher.files["diabetes"] = diabetes_text(seed=1).encode()
        datasets.fetch("diabetes", base_url=publisher.url)
    before = {path: path.read_bytes() for path in kept.rglob("*") if path.is_file()}
    publisher.files["diabetes"] = diabetes_text(seed=2).encode()

    def interrupt(done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        datasets.fetch("diabetes", base_url=publisher.url, force=force, progress=interrupt)
    after = {path: path.read_bytes() for path in kept.rglob("*") if path.is_file()}
    after.pop(kept / "locks" / "diabetes.lock", None)
    before.pop(kept / "locks" / "diabetes.lock", None)
    assert after == before


def test_another_checksum_at_a_later_download(folders, publisher):
    _, kept = folders
    old, new = diabetes_text(seed=1), diabetes_text(seed=2)
    publisher.files["diabetes"] = old.encode()
    (path,) = datasets.fetch("diabetes", base_url=publisher.url)
    path.unlink()
    publisher.files["diabetes"] = new.encode()
    message = refused(publisher)
    for words in (sha256(old), sha256(new), publisher.url, "force=True"):
        assert words in message
    assert leftovers(kept) == []
    datasets.fetch("diabetes", base_url=publisher.url, force=True)
    assert path.read_text() == new
    assert cache.recorded("diabetes") == sha256(new)
    datasets.load("diabetes")


def test_a_file_changed_after_its_download(folders, publisher):
    old, new = diabetes_text(seed=1), diabetes_text(seed=2)
    publisher.files["diabetes"] = old.encode()
    (path,) = datasets.fetch("diabetes", base_url=publisher.url)
    path.write_text(new)
    for attempt in (
        lambda: datasets.load("diabetes"),
        lambda: datasets.fetch("diabetes", base_url=publisher.url),
    ):
        with pytest.raises(DataFileError) as caught:
            attempt()
        for words in (str(path), sha256(old), sha256(new), "delete it"):
            assert words in str(caught.value)


def test_a_file_put_there_by_hand_is_checked_and_recorded(folders, publisher):
    _, kept = folders
    kept.mkdir()
    (kept / "diabetes").write_text(diabetes_text(n=5))
    with pytest.raises(DataFileError, match="5 rows of 8 features"):
        datasets.fetch("diabetes", base_url=publisher.url)
    (kept / "diabetes").write_text(diabetes_text())
    datasets.fetch("diabetes", base_url=publisher.url)
    assert cache.recorded("diabetes") == sha256(diabetes_text())
    assert publisher.asked == []


def test_not_at_the_publisher(folders, publisher):
    _, kept = folders
    message = refused(publisher)
    assert message.startswith(f"{publisher.url}/diabetes: the download failed (404")
    assert leftovers(kept) == []
    assert cache.recorded("diabetes") is None


def test_cut_connection(folders, publisher):
    _, kept = folders
    publisher.files["diabetes"] = diabetes_text().encode()
    publisher.cut = True
    assert "/diabetes: the download failed" in refused(publisher)
    assert leftovers(kept) == []
    assert cache.recorded("diabetes") is None
    publisher.cut = False
    datasets.fetch("diabetes", base_url=publisher.url)
    # A connection left open would warn here.
    gc.collect()


def drip(request, content):
    """Send a byte at a time, for ever in no hurry."""
    request.send_response(200)
    request.send_header("Content-Length", str(len(content)))
    request.end_headers()
    for byte in content:
        request.wfile.write(bytes([byte]))
        time.sleep(0.02)


def endless(request, content):
    """Send more and more, and never say how much."""
    request.send_response(200)
    request.end_headers()
    while True:
        request.wfile.write(content)


def endless_chunks(request, content):
    request.send_response(200)
    request.send_header("Transfer-Encoding", "chunked")
    request.end_headers()
    while True:
        request.wfile.write(b"%x\r\n%s\r\n" % (len(content), content))


def huge(request, content):
    """Announce more than there can be."""
    request.send_response(200)
    request.send_header("Content-Length", str(10**12))
    request.end_headers()
    request.wfile.write(content)


def silent(request, content):
    request.send_response(200)
    request.send_header("Content-Length", str(len(content)))
    request.end_headers()
    time.sleep(1.0)


def too_short(request, content):
    """Announce fewer bytes than it sends."""
    request.send_response(200)
    request.send_header("Content-Length", str(len(content) // 2))
    request.end_headers()
    request.wfile.write(content)


def slow_headers(request, content):
    """Send a header for ever: the bytes of it are no bytes of a file."""
    request.send_response(200)
    request.wfile.write(b"X-Wait: ")
    while True:
        request.wfile.write(b"a")
        time.sleep(0.02)


def slow_chunk_extension(request, content):
    request.send_response(200)
    request.send_header("Transfer-Encoding", "chunked")
    request.end_headers()
    request.wfile.write(b"1;")
    while True:
        request.wfile.write(b"a")
        time.sleep(0.02)


SLOW = {drip, slow_headers, slow_chunk_extension}
ILL = {
    slow_headers: r"the download failed \(0 bytes took 0 seconds\); try again",
    slow_chunk_extension: r"the download failed \(0 bytes took 0 seconds\); try again",
    drip: r"the download failed \(\d+ bytes took 0 seconds\); try again",
    endless: r"the download failed \(it is larger than 2,013,760 bytes, which the data set",
    endless_chunks: r"the download failed \(it is larger than",
    huge: r"the download failed \(it is larger than",
    silent: r"the download failed \(.*timed out",
    too_short: r"the download is not the data set: .*diabetes",
}


@pytest.mark.parametrize("ill", ILL)
def test_an_ill_publisher_is_given_up(folders, publisher, monkeypatch, ill):
    _, kept = folders
    monkeypatch.setattr(download, "READ_SECONDS", 0.3)
    if ill in SLOW:
        monkeypatch.setattr(download, "PATIENCE_SECONDS", 0.1)
    publisher.files["diabetes"], publisher.ill = diabetes_text().encode(), ill
    assert re.search(ILL[ill], refused(publisher))
    assert leftovers(kept) == []
    assert cache.recorded("diabetes") is None


def test_a_small_file_of_large_content_is_given_up(folders, publisher, monkeypatch):
    _, kept = folders
    monkeypatch.setattr(download, "MAX_BYTES", 10**6)
    publisher.files["usps.bz2"] = bz2.compress(b"1 1:0.5\n" * 200_000)
    with pytest.raises(DataFileError, match=r"usps.bz2: it unpacks to more than 1,000,000 bytes"):
        datasets.fetch("usps", base_url=publisher.url)
    assert leftovers(kept) == []


def test_known_contents_are_those_of_the_reference_files(data_dir):
    """What is published and kept here is packed another way, so that the content is compared."""
    parts = [part for name in datasets.names() for part in datasets.about(name).parts]
    known = {part.file: part for part in parts if part.content_sha256}
    assert len(known) == 9
    for part in known.values():
        with opened(data_dir / part.file) as stream:
            content = stream.read()
        assert hashlib.sha256(content).hexdigest() == part.content_sha256
        assert len(content) < download.most_bytes(part) / 2


@pytest.mark.parametrize("packed", [False, True])
def test_the_published_file_is_told_from_another(folders, publisher, monkeypatch, packed):
    """By its content, whichever way it is packed."""
    text = diabetes_text().encode()
    (part,) = datasets.about("diabetes").parts
    url = part.urls[0] + ".bz2" * packed
    digest = hashlib.sha256(text).hexdigest()
    entry = replace(
        datasets.about("diabetes"), parts=(replace(part, urls=(url,), content_sha256=digest),)
    )
    monkeypatch.setitem(registered(), "diabetes", entry)
    name, pack = ("diabetes.bz2", bz2.compress) if packed else ("diabetes", bytes)
    publisher.files[name] = pack(diabetes_text(seed=5).encode())
    message = refused(publisher)
    assert f"{digest}; if the publisher replaced the file, accept it" in message
    assert "that of the published file" in message
    publisher.files[name] = pack(text)
    datasets.fetch("diabetes", base_url=publisher.url)
    assert datasets.load("diabetes").verified is not packed
    publisher.files[name] = pack(diabetes_text(seed=5).encode())
    datasets.fetch("diabetes", base_url=publisher.url, force=True)


def test_counts_of_labels_are_compared(folders, publisher):
    text = diabetes_text().replace("\n1 ", "\n-1 ", 1)
    publisher.files["diabetes"] = text.encode()
    message = refused(publisher)
    assert (
        "diabetes: its labels are not those of the published file: 269 rows of label -1, 499"
        in (message)
    )


def test_what_a_killed_download_left_is_cleared(folders, publisher):
    _, kept = folders
    kept.mkdir()
    (kept / ".aucmax-part-epsilon_normalized.bz2").write_bytes(b"half")
    (kept / ".aucmax-part-diabetes").write_bytes(b"half")
    (kept / ".aucmax-part-running.bz2").write_bytes(b"half")
    (kept / "locks").mkdir()
    publisher.files["diabetes"] = diabetes_text().encode()
    with locked(kept / "locks" / "running.bz2.lock", "a test", "busy"):
        datasets.fetch("diabetes", base_url=publisher.url)
    assert sorted(leftovers(kept)) == [".aucmax-part-running.bz2", "diabetes"]
    with (
        locked(kept / "locks" / "diabetes.lock", "a test", "busy"),
        pytest.raises(ValueError, match="diabetes: another process is downloading it; wait"),
    ):
        datasets.fetch("diabetes", base_url=publisher.url, force=True)
    datasets.fetch("diabetes", base_url=publisher.url, force=True)
    assert leftovers(kept) == ["diabetes"]


def test_nobody_answers(folders):
    with socket.create_server(("127.0.0.1", 0)) as server:
        url = f"http://127.0.0.1:{server.getsockname()[1]}"
    with pytest.raises(DataFileError, match=f"^{url}/diabetes: the download failed"):
        datasets.fetch("diabetes", base_url=url)


@pytest.mark.parametrize("content", [b"<html>Sorry</html>", b"", diabetes_text(n=99).encode()])
def test_what_arrives_must_be_the_data_set(folders, publisher, content):
    _, kept = folders
    publisher.files["diabetes"] = content
    message = refused(publisher)
    assert message.startswith(f"{publisher.url}/diabetes: the download is not the data set")
    assert str(kept) not in message
    assert leftovers(kept) == []
    assert cache.recorded("diabetes") is None


def test_a_failed_replacement_keeps_the_old_file(folders, publisher):
    publisher.files["diabetes"] = diabetes_text().encode()
    (path,) = datasets.fetch("diabetes", base_url=publisher.url)
    publisher.files["diabetes"] = b"<html>"
    assert "the download is not the data set" in refused(publisher, force=True)
    assert path.read_text() == diabetes_text()
    datasets.load("diabetes")


@pytest.mark.parametrize("content", ["{", "[]", "\xff"])
def test_unreadable_records(folders, publisher, content):
    _, kept = folders
    kept.mkdir()
    (kept / "checksums.json").write_text(content, encoding="latin-1")
    publisher.files["diabetes"] = diabetes_text().encode()
    message = refused(publisher)
    assert "checksums.json: the record of checksums" in message
    assert "delete it" in message


def test_fetch_into_a_folder_that_cannot_be(folders, publisher):
    _, kept = folders
    kept.write_text("a file where the folder should be")
    assert "cannot be written to" in refused(publisher)
