"""Files whose digest is right but whose numbers no fit leaves: what is loaded is checked."""

import functools
import io
import json
import os
import re
import tempfile
import warnings
from dataclasses import replace
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZIP_LZMA, ZIP_STORED, ZipFile

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import skops.io
from sklearn.exceptions import InconsistentVersionWarning
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import released
from aucmax import (
    AUCClassifier,
    AUCClassifierCV,
    ClassMoments,
    HingeClassifier,
    ScoreSketch,
    load,
    save,
)
from aucmax.additive import Binning, Scorecard
from aucmax.basics import archive as archive_module
from aucmax.basics.container import pack, unpack
from aucmax.basics.errors import ModelFileError
from aucmax.columns import TableEncoder
from aucmax.solvers import ACCURACY_SOLVERS, OAM, SOLVERS, SPAM, Exact
from aucmax.statistics.diagonal import DiagonalMoments
from aucmax.statistics.frequent_directions import FrequentDirections
from aucmax.streams.state import Settings, State, advance, load_state, save_state
from specification import loss_of


def rows(n=80, d=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, np.where(X[:, 0] + 0.3 * rng.normal(size=n) > 0.5, 1, 0)


def put(name, value):
    return lambda part: setattr(part, name, value)


def entry(name, where, value):
    def change(part):
        getattr(part, name)[where] = value

    return change


# ---- moments

WRONG_MOMENTS = {
    "NaN counts": (entry("counts", 0, np.nan), "counts hold NaN or infinite numbers"),
    "negative counts": (entry("counts", 0, -1.0), "counts hold negative numbers"),
    "infinite means": (entry("means", (0, 1), np.inf), "means hold NaN or infinite"),
    "NaN covariance": (entry("covs", (0, 2, 1), np.nan), "hold NaN or infinite numbers"),
    "negative variance": (entry("covs", (1, 2, 2), -1.0), "class 1 has a negative variance"),
    "means too large": (entry("means", (0, 1), 1e300), "means hold numbers too large to compute"),
    "covariances too large": (
        entry("covs", (0, 2, 2), 1e300),
        "hold numbers too large",
    ),
    "too many counts": ({"counts": np.ones(3)}, r"counts have the shape \(3,\), not \(2,\)"),
    "means of another width": ({"means": np.ones((2, 3))}, "have the shape"),
    "whole numbers": ({"counts": np.array([3, 4])}, "counts are int64, not float64"),
    "classes not sorted": ({"classes": np.array([1, 0])}, "classes are not distinct labels"),
    "squares above sums": ({"squares": np.full(2, 1e9)}, "squared weights are larger than"),
    "one class twice": ({"classes": np.array([1, 1])}, "classes are not distinct labels"),
    "names missing": ({"feature_names": ["a", "b"]}, "2 feature names for 4 features"),
    "names no text": ({"feature_names": [1, 2, 3, 4]}, "feature names are not a list"),
    "features no number": ({"n_features": 4.0}, "not a whole number"),
}


def forged(path, other):
    """Put other arrays or facts into a moments file, under its right digest."""
    head, _, body = unpack(path, "moments").partition(b"\n")
    facts, arrays, stream = json.loads(head), dict(np.load(io.BytesIO(body))), io.BytesIO()
    for name, value in other.items():
        held = facts if name in facts else arrays
        assert name in held
        held[name] = value
    np.savez(stream, **arrays)
    pack(path, "moments", json.dumps(facts).encode() + b"\n" + stream.getvalue())


@pytest.mark.parametrize("wrong", WRONG_MOMENTS)
def test_a_moments_file_is_checked(tmp_path, wrong):
    path, moments = tmp_path / "bad.moments", ClassMoments.from_data(*rows())
    change, message = WRONG_MOMENTS[wrong]
    if callable(change):
        change(moments)
    moments.save(path)
    if not callable(change):
        forged(path, change)
    with pytest.raises(ModelFileError, match=rf"bad\.moments: not a readable .*{message}"):
        ClassMoments.load(path)


def test_a_moments_file_whose_parts_do_not_match(tmp_path):
    path = tmp_path / "bad.moments"
    ClassMoments.from_data(*rows()).save(path)
    forged(path, {"means": np.zeros((2, 0))})
    with pytest.raises(ModelFileError, match="have the shape"):
        ClassMoments.load(path)


# ---- models


class Archive:
    """What is in a model's file, to be put into another one."""

    def __init__(self, path):
        self.head, _, body = unpack(path, "model").partition(b"\n")
        with ZipFile(io.BytesIO(body)) as archive:
            self.parts = {name: archive.read(name) for name in archive.namelist()}

    def arrays(self):
        for name, raw in self.parts.items():
            if name.endswith(".npy"):
                yield name, np.load(io.BytesIO(raw))

    def refusal(self, path, name, part):
        """How a file is refused in which one part, an array or text, is another one."""
        if isinstance(part, np.ndarray):
            stream = io.BytesIO()
            np.save(stream, part)
            part = stream.getvalue()
        body = io.BytesIO()
        with ZipFile(body, "w") as archive:
            for each, raw in (self.parts | {name: part}).items():
                archive.writestr(each, raw)
        pack(path, "model", self.head + b"\n" + body.getvalue())
        with pytest.raises(ModelFileError, match="not a readable model file") as caught:
            load(path)
        assert "\n" not in str(caught.value)
        return str(caught.value)

    def without(self, key):
        """The archive's text without the one thing of this name in it."""
        found = []

        def changed(tree):
            found.append(tree.pop(key, None))
            return tree

        text = json.dumps(json.loads(self.parts["schema.json"], object_hook=changed))
        assert sum(part is not None for part in found) == 1
        return text


@pytest.fixture
def smuggled(tmp_path):
    """Save a model as it is, without the checks, and return how it is refused."""

    def refusal(model):
        path = tmp_path / "bad.aucmax"
        pack(path, "model", b"{}\n" + skops.io.dumps(model))
        with pytest.raises(ModelFileError) as caught:
            load(path)
        message = str(caught.value)
        assert message.startswith(f"{path}: not a readable model file (")
        assert "\n" not in message
        with pytest.raises(ValueError, match="the model cannot be saved: "):
            save(model, path)
        return message

    return refusal


WRONG_MODELS = {
    "NaN coefficients": (entry("coef_", (0, 1), np.nan), "coefficients hold NaN"),
    "too few coefficients": (put("coef_", np.ones((1, 3))), "coefficients have the shape (1, 3)"),
    "flat coefficients": (put("coef_", np.ones(4)), "coefficients have the shape (4,)"),
    "text": (put("coef_", "abcd"), "coefficients are not numbers"),
    "no intercept": (lambda part: delattr(part, "intercept_"), "has no intercept_"),
    "two intercepts": (put("intercept_", np.zeros(2)), "intercepts have the shape (2,)"),
    "three classes": (put("classes_", np.array([0, 1, 2])), "3 classes, not 2"),
    "classes not sorted": (put("classes_", np.array([1, 0])), "classes are not distinct labels"),
    "too many names": (put("feature_names_in_", np.array(list("abcde"))), "5 feature names for 4"),
    "a setting": (put("alpha", -1.0), "alpha must be a number"),
    "another solver": (put("solver", "sgd"), "sgd"),
    "moments of another width": (
        lambda part: put("moments_", ClassMoments.from_data(*rows(d=5)))(part),
        "moments are those of another number of features",
    ),
    "moments of other classes": (
        lambda part: put("moments_", ClassMoments.from_data(rows()[0], rows()[1] + 1))(part),
        "moments are those of other classes",
    ),
    "asymmetric covariance": (
        lambda part: entry("covs", (0, 0, 1), 9.0)(part.moments_),
        "the covariance of class 0 is not symmetric",
    ),
}


@pytest.mark.parametrize("wrong", WRONG_MODELS)
@pytest.mark.parametrize("inside", ["alone", "in a pipeline", "in a search"])
def test_a_model_file_is_checked(smuggled, wrong, inside):
    change, message = WRONG_MODELS[wrong]
    X, y = rows()
    if inside == "in a search":
        model = AUCClassifierCV(losses=["square"], standardize=[0.0], cv=2).fit(X, y)
        change(model.best_estimator_)
    elif inside == "in a pipeline":
        model = make_pipeline(StandardScaler(), AUCClassifier()).fit(X, y)
        change(model[-1])
    else:
        model = AUCClassifier().fit(X, y)
        change(model)
    assert message in smuggled(model)


@pytest.mark.parametrize(
    ("covariance", "name", "value"),
    [
        ("diagonal", "variances", -1.0),
        ("diagonal", "counts", -1.0),
        ("diagonal", "means", np.nan),
        ("diagonal", "means", 1e300),  # with which a solver could run for ever
        ("diagonal", "variances", 1e300),
        ("frequent_directions", "rows", 1e300),
        ("frequent_directions", "rows", np.inf),
        ("frequent_directions", "lost", -1.0),
    ],
)
def test_the_sketch_in_a_model_file_is_checked(smuggled, tmp_path, covariance, name, value):
    X, y = rows()
    model = AUCClassifier(solver=Exact(covariance=covariance)).fit(X, y, 1.0 + np.arange(len(y)))
    kind = DiagonalMoments if covariance == "diagonal" else FrequentDirections
    assert type(model.moments_) is kind
    bad, held = tmp_path / "bad.aucmax", getattr(model.moments_, name)
    save(model, tmp_path / "good.aucmax")
    good = Archive(tmp_path / "good.aucmax")
    (place,) = (k for k, a in good.arrays() if a.shape == held.shape and np.all(a == held))
    assert f"its {name} have the shape (7,)" in good.refusal(bad, place, np.zeros(7))
    assert "it does not contain" in good.refusal(bad, "schema.json", good.without(name))
    held.flat[0] = value
    assert f"its {name} hold" in smuggled(model)


STOCHASTIC = [
    *((AUCClassifier, kind) for kind in SOLVERS.values() if ".stochastic." in kind.__module__),
    *((HingeClassifier, kind) for kind in ACCURACY_SOLVERS.values()),
]


def streamed(estimator, kind, X, y):
    own = {"loss": loss_of(kind)} if estimator is AUCClassifier else {}
    penalty = {} if "alpha" in kind.own else {"alpha": 1e-3, "l1_ratio": 0.0}
    return estimator(**penalty, solver=kind(), random_state=0, max_iter=2, **own).fit(X, y)


@pytest.fixture
def archive(tmp_path):
    """Make the archive of a stream that goes on after it was saved and loaded."""

    def make(estimator, kind, form=np.asarray):
        path = tmp_path / "good.aucmax"
        X, y = rows()
        save(streamed(estimator, kind, form(X), y), path)
        save(load(path).partial_fit(form(X[:9]), y[:9]), path)
        load(path).partial_fit(form(X), y)
        return Archive(path)

    return make


@pytest.mark.parametrize(
    ("estimator", "kind", "form"),
    [*((*each, np.asarray) for each in STOCHASTIC), (AUCClassifier, OAM, sp.csr_array)],
)
def test_every_array_of_a_stream_is_checked(archive, tmp_path, estimator, kind, form):
    """Kernels do not look at the bounds of arrays, so their shapes must be right."""
    good, told = archive(estimator, kind, form), []
    for name, array in good.arrays():
        wrong = [array[..., :-1]] if array.ndim and array.size else []
        if array.dtype.kind in "fV" and array.size:  # V: numbers with names
            wrong.append(np.full_like(array, np.nan))
        if array.dtype.kind == "f" and array.size:
            wrong.append(array.astype("U3"))
        told += [good.refusal(tmp_path / "bad.aucmax", name, each) for each in wrong]
    assert sum("does not fit" in message for message in told) > 2
    if kind is OAM:
        assert any("the rows that OAM keeps are inconsistent" in message for message in told)


def test_the_features_of_the_rows_that_a_stream_keeps_are_checked(archive, tmp_path):
    good = archive(AUCClassifier, OAM, sp.csr_array)
    (indices,) = ((name, a) for name, a in good.arrays() if a.dtype == np.int32)
    message = good.refusal(tmp_path / "bad.aucmax", indices[0], indices[1] + 1000)
    assert "the rows that OAM keeps are inconsistent" in message


def test_a_stream_that_lacks_its_state(archive, tmp_path):
    good = archive(AUCClassifier, SPAM)
    message = good.refusal(tmp_path / "bad.aucmax", "schema.json", good.without("steps"))
    assert "the state from which it continues is incomplete" in message


def test_a_file_that_holds_something_else(tmp_path):
    path = tmp_path / "bad.aucmax"
    pack(path, "model", b"{}\n" + skops.io.dumps([1, 2]))
    with pytest.raises(ModelFileError, match="it holds a list, not an estimator"):
        load(path)


# ---- states of streams

SETTINGS = {
    "moments": Settings(format="csv", target="y", freeze=50, half_life=500.0),
    "spam": Settings(format="csv", target="y", freeze=50, learner="spam"),
}


@functools.cache
def state_parts(learner, n=133):
    """Return a state from a file, as its facts and arrays."""
    X, y = rows(n)
    table = [f"{','.join(map(str, x))},{k}\n".encode() for x, k in zip(X, y, strict=True)]
    state = State(SETTINGS[learner])
    lines = [b"a,b,c,d,y\n", *table]
    path = dumped_state(advance(0, lines, state, lambda *_: None))
    head, _, body = unpack(path, "stream").partition(b"\n")
    path.unlink()
    with np.load(io.BytesIO(body)) as arrays:
        return json.loads(head), dict(arrays)


def dumped_state(state):
    path = Path(tempfile.mkdtemp()) / "state"
    save_state(state, path)
    return path


def other(name, change):
    """Return a change of an array, of a copy of it, by its name."""

    def changed(facts, arrays):
        arrays[name] = change(arrays[name].copy())

    return changed


def fact(name, value):
    def changed(facts, arrays):
        facts[name] = value

    return changed


def where(place, value):
    def change(array):
        array[place] = value
        return array

    return change


WRONG_STATES = {
    "fewer bins": (other("prequential sums", lambda a: a[..., :64]), "sums have the shape"),
    "one class": (other("pair first sums", lambda a: a[:, :1]), "pair first sums have the shape"),
    "half precision": (other("prequential sums", np.float32), "are float32, not float64"),
    "other bytes": (other("pair second sums", lambda a: a.astype(">f8")), "sums are >f8"),
    "falling bins": (other("pair first low", lambda a: a[::-1].copy()), "are not ascending"),
    "other rows": (other("pair first sums", lambda a: 2.0 * a), "have seen different rows"),
    "bin widths": (fact("prequential", {"shift": 64, "unit": 1.0}), "to the power of 64 wide"),
    "unit": (fact("prequential", {"shift": 0, "unit": 0.5}), "weight of a new row is 0.5"),
    "no unit": (fact("prequential", {"shift": 0}), "does not contain 'unit'"),
    "whole unit": (fact("pair", [{"shift": 0, "unit": 1}] * 2), "weight of a new row is 1"),
    "one scorer": (fact("pair", [{"shift": 0, "unit": 1.0}]), "not a readable state"),
    "NaN": (other("pair gaps", where((0, 0), np.nan)), "pair gaps hold NaN"),
    "negative count": (other("prequential sums", where((0, 0, 0), -1.0)), "negative numbers"),
    "gaps above one": (other("pair gaps", where((0, 1), 1e9)), "not differences of shares"),
    "squares above one": (other("pair gaps", where((0, 2), 1e9)), "not those of shares"),
    "alarm counts": (other("drift counts", where((0, 0), 10**6)), "counted more rows than there"),
    "alarm to come": (other("drift clock", where(1, 10**6)), "counted more rows than there are"),
    "alarm unfounded": (other("drift clock", where(1, 1)), "does not match its evidence"),
    "alarm kept back": (other("drift stakes", where(0, 99.0)), "does not match its evidence"),
    "bet": (other("drift stakes", lambda a: a[:-1]), "drift stakes have the shape"),
    "infinite stake": (
        other("drift stakes", where(0, np.inf)),
        "drift stakes hold NaN or infinite",
    ),
    "no array": (lambda _, arrays: arrays.pop("pair gaps"), "does not contain pair gaps"),
    "one more": (lambda _, arrays: arrays.update(more=np.ones(1)), "contains 'more', which is not"),
    "column": (other("learner waiting indices", where(0, 4)), "hold numbers above 3"),
    "no column": (other("learner waiting indices", where(0, -1)), "hold negative numbers"),
    "column twice": (other("learner waiting indices", where(1, 0)), "a feature twice"),
    "ends": (other("learner waiting ends", where(0, 9)), "are not consecutive"),
    "code": (other("learner waiting codes", where(0, 2)), "hold numbers above 1"),
    "more waits": (other("learner weight", where(1, 1e9)), "have more weight than all rows"),
    "asymmetric": (other("learner rule covs", where((0, 0, 1), 1e9)), "is not symmetric"),
    "learnt": (fact("learnt", 5), "it has learnt 5 of 4 features"),
    "fewer learnt": (fact("learnt", 3), "have the shape"),
    "offset": (fact("offset", -1), "it has offset=-1, not a whole number"),
    "rows": (fact("rows", 2**70), "not a whole number"),
    "lines": (fact("lines", 3), "it has more rows than lines"),
    "names": (fact("names", ["a", "a", "c", "d"]), "names are not distinct"),
    "labels": (fact("labels", [[0, 0], [0, 1]]), "not distinct numbers or words"),
    "codes": (fact("labels", [[0, 1], [1, 0]]), "with the codes 0 and 1"),
    "mixed labels": (fact("labels", [[0, 0], ["x", 1]]), "cannot be ordered"),
    "header": (fact("header", ["a", "b"]), "there is no label, called 'y'"),
    "baseline": (fact("baseline", [9, {"z": 1.0}, 0.0, 1.0, 0.0, 1.0]), "other features"),
    "extra": (fact("extra", {"monitor": "1"}), "are not whole numbers"),
    "no settings": (lambda facts, _: facts.pop("settings"), "does not contain 'settings'"),
}


def forged_state(path, learner, change=None):
    """Write the state with a change, under its right digest."""
    facts, arrays = state_parts(learner)
    facts, arrays = dict(facts), dict(arrays)
    if change is not None:
        change(facts, arrays)
    body = io.BytesIO()
    np.savez(body, **arrays)
    pack(path, "stream", json.dumps(facts).encode() + b"\n" + body.getvalue())


@pytest.mark.parametrize("wrong", WRONG_STATES)
def test_the_state_of_a_stream_is_checked_before_it_goes_on(tmp_path, wrong):
    change, message = WRONG_STATES[wrong]
    forged_state(tmp_path / "state", "moments", change)
    with pytest.raises(ModelFileError, match="state: not a readable state of a") as caught:
        load_state(tmp_path / "state", SETTINGS["moments"])
    assert re.search(message, str(caught.value))


def reversed_arrays(facts, arrays):
    for name in [*arrays][::-1]:
        arrays[name] = arrays.pop(name)


@pytest.mark.parametrize("learner", SETTINGS)
def test_arrays_go_by_name_in_whatever_order_they_are(tmp_path, learner):
    settings, lines = SETTINGS[learner], [b"1,2,3,4,1\n", b"0,1,0,-2,0\n"] * 300
    ends = []
    for change in (
        None,
        lambda _, arrays: [arrays.update({n: arrays.pop(n)}) for n in [*arrays][::-1]],
    ):
        forged_state(tmp_path / "state", learner, change)
        state = load_state(tmp_path / "state", settings)
        state = advance(state.offset, lines, state, lambda *_: None)
        save_state(state, tmp_path / "end")
        ends.append((tmp_path / "end").read_bytes())
    assert ends[0] == ends[1]


# ---- what is no file, or not the size that it says

READERS = {
    "model": load,
    "moments": ClassMoments.load,
    "scores": ScoreSketch.load,
    "stream": lambda path: load_state(path, SETTINGS["moments"]),
}


@pytest.mark.parametrize("kind", READERS)
def test_only_regular_files_of_the_size_they_say_are_read(tmp_path, kind):
    for path, message in {"/dev/zero": "not a regular file", tmp_path: "Is a directory"}.items():
        with pytest.raises(ModelFileError, match=message):
            READERS[kind](path)
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe")
        with pytest.raises(ModelFileError, match="not a regular file"):
            READERS[kind](tmp_path / "pipe")
    with open(tmp_path / "long", "wb") as stream:
        stream.write(b"aucmax 1 %s %s 5\n" % (kind.encode(), b"0" * 64))
        stream.truncate(10**12)  # which takes no room, and is not read
    with pytest.raises(ModelFileError, match="bytes after its first line, expected 5"):
        READERS[kind](tmp_path / "long")


# ---- archives that unpack to more than they say, or than their facts allow


def moments_of(path, facts, arrays, compression=ZIP_STORED):
    """Write a moments file of these facts and arrays, which may be bytes."""
    body = io.BytesIO()
    with ZipFile(body, "w", compression) as archive:
        for name, values in arrays.items():
            raw = io.BytesIO()
            if isinstance(values, np.ndarray):
                np.save(raw, values)
            archive.writestr(f"{name}.npy", raw.getvalue() or values)
    pack(path, "moments", json.dumps(facts).encode() + b"\n" + body.getvalue())


def zeros(d):
    """Return the facts and arrays of moments of two classes whose d features are 0."""
    names = ("declared", "n_features", "feature_names", "target_name", "guarantee")
    facts = dict(zip(names, (False, d, None, None, None), strict=True))
    arrays = {"classes": np.array([0, 1]), "counts": np.ones(2), "squares": np.ones(2)}
    lower = np.zeros((2, d * (d + 1) // 2))
    return facts, arrays | {"means": np.zeros((2, d)), "lower": lower}


def test_what_an_archive_unpacks_to_is_bounded_before_it_is_unpacked(tmp_path):
    path, (facts, arrays) = tmp_path / "bad.moments", zeros(3)
    moments_of(path, facts, arrays)
    assert ClassMoments.load(path).n_features == 3
    large = np.zeros((2, 10**6))  # more than three features have
    moments_of(path, facts, arrays | {"lower": large}, ZIP_DEFLATED)
    with pytest.raises(ModelFileError, match=r"lower have the shape \(2, 1000000\), not \(2, 6\)"):
        ClassMoments.load(path)
    header = io.BytesIO()
    said = {"descr": "<f8", "fortran_order": False, "shape": (2, 6)}
    np.lib.format.write_array_header_1_0(header, said)
    moments_of(path, facts, arrays | {"lower": header.getvalue() + bytes(97)})
    with pytest.raises(ModelFileError, match="does not match its shape"):
        ClassMoments.load(path)
    moments_of(path, facts, arrays, ZIP_LZMA)
    with pytest.raises(ModelFileError, match="in a way that aucmax does not use"):
        ClassMoments.load(path)


def test_moments_of_many_features_that_are_0_are_written_so_that_they_can_be_read(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(archive_module, "FREE_BYTES", 10**5)
    path, (facts, arrays) = tmp_path / "file.moments", zeros(300)
    moments_of(path, facts, arrays, ZIP_DEFLATED)
    with pytest.raises(ModelFileError, match=r"it would unpack to [0-9,]+ bytes, far more than"):
        ClassMoments.load(path)
    moments = ClassMoments.from_data(np.zeros((4, 300)), [0, 0, 1, 1])
    moments.save(path)
    assert ClassMoments.load(path) == moments


# ---- models: what skops reads besides


def schema_of(path, change):
    """Change the tree of parts of a model's file in place."""
    good = Archive(path)
    tree = json.loads(good.parts["schema.json"])
    change(tree)
    good.parts["schema.json"] = json.dumps(tree).encode()
    body = io.BytesIO()
    with ZipFile(body, "w") as archive:
        for name, raw in good.parts.items():
            archive.writestr(name, raw)
    pack(path, "model", good.head + b"\n" + body.getvalue())


def test_parts_of_a_model_that_refer_to_each_other_cannot_take_for_ever(tmp_path):
    path = tmp_path / "bad.aucmax"
    save(AUCClassifier().fit(*rows()), path)

    def doubled(tree):
        """Add a list of two of the list before, sixty times over."""
        kind = {"__class__": "list", "__module__": "builtins", "__loader__": "ListNode"}
        part = {**kind, "content": [], "__id__": 1}
        for number in range(2, 60):
            part = {**kind, "content": [part, {**kind, "__id__": number - 1}], "__id__": number}
        tree["content"]["content"]["more"] = part

    schema_of(path, doubled)
    with pytest.raises(ModelFileError, match="not written in full wherever it is used"):
        load(path)


def test_random_numbers_do_not_go_on_outside_of_their_generator(archive, tmp_path):
    good = archive(AUCClassifier, SPAM)

    def moved(tree):
        if "pos" in tree:
            tree["pos"]["content"] = "100000000"
        return tree

    text = json.dumps(json.loads(good.parts["schema.json"], object_hook=moved))
    message = good.refusal(tmp_path / "bad.aucmax", "schema.json", text)
    assert "random numbers continue from position 100000000" in message


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("AUCClassifier", "coef_"),
        ("AUCClassifier", "solver_"),
        ("AUCClassifierCV", "best_estimator_"),
        ("TableEncoder", "preparations_"),
        ("StandardScaler", "scale_"),
        ("SplineFeatures", "knots_"),
        ("MulticlassAUCClassifier", "coef_"),
        ("Scorecard", "other_points_"),
    ],
)
def test_a_fitted_estimator_has_all_that_a_fit_leaves(smuggled, kind, name):
    files = {
        "AUCClassifierCV": "tuned",
        "TableEncoder": "table",
        "StandardScaler": "pipeline",
        "SplineFeatures": "splines",
        "MulticlassAUCClassifier": "multiclass",
        "Scorecard": "scorecard",
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InconsistentVersionWarning)
        model = load(released.FOLDER / "0.1" / f"{files.get(kind, 'square')}.aucmax")
    steps = [step for _, step in getattr(model, "steps", [("", model)])]
    part = next(step for step in steps if type(step).__name__ == kind)
    delattr(part, name)
    assert f"its {kind} has no {name}" in smuggled(model)


@pytest.mark.parametrize("name", ["mean_", "scale_"])
def test_the_steps_before_a_model_fit_their_features(smuggled, name):
    model = make_pipeline(StandardScaler(), AUCClassifier()).fit(*rows())
    setattr(model[0], name, np.ones(3))
    assert f"its StandardScaler does not have 4 values in {name}" in smuggled(model)


def prepared(j, **facts):
    def change(encoder):
        encoder.preparations_[j] = replace(encoder.preparations_[j], **facts)

    return change


WRONG_ENCODERS = {
    "few": (lambda e: e.preparations_.pop(), "it does not prepare its 2 columns"),
    "kinds": (lambda e: e.preparations_.reverse(), "'day' is prepared as one of another kind"),
    "no kinds": (put("columns_", (1,)), "its columns are no columns"),
    "names": (put("feature_names_in_", np.array([1, 2])), "names of its columns are no names"),
    "rules": (put("max_levels", 0), "max_levels must be"),
    "infinite": (prepared(0, value=np.inf), "numbers is prepared as no fit"),
    "text": (prepared(0, value="1"), "numbers is prepared as no fit"),
    "eighth day": (prepared(0, weekdays=(7,)), "numbers is prepared as no fit"),
    "twice": (prepared(0, weekdays=(1, 1)), "numbers is prepared as no fit"),
    "gaps": (prepared(0, gaps=10**6), "numbers is prepared as no fit"),
    "word": (prepared(1, words=("a", 1)), "words is prepared as no fit"),
    "same words": (prepared(1, words=("a", "a")), "words is prepared as no fit"),
    "flag": (prepared(1, has_other=1), "words is prepared as no fit"),
    "count": (prepared(1, n_words=-1), "words is prepared as no fit"),
}


@pytest.mark.parametrize("wrong", WRONG_ENCODERS)
def test_a_table_is_prepared_as_a_fit_would_do_it(smuggled, wrong):
    days = pd.date_range("2024-01-01", periods=40, freq="7h")
    table = pd.DataFrame({"day": days, "word": ["a", "b"] * 20})
    model = make_pipeline(TableEncoder(), AUCClassifier()).fit(table, np.arange(40) % 2)
    change, message = WRONG_ENCODERS[wrong]
    change(model[0])
    assert message in smuggled(model)


def test_a_scorecard_has_the_classes_of_its_bins(smuggled):
    model = Scorecard(Binning(max_bins=3)).fit(*rows())
    model.classes_ = model.classes_[:1]
    assert "its classes_ are not those of its bins" in smuggled(model)


# ---- sketches of scores

WRONG_SKETCHES = {
    "bins fall": (
        lambda _, a: a.update(low=a["low"][::-1], high=a["high"][::-1]),
        "are not ascending",
    ),
    "no number": (lambda _, a: a["high"].__setitem__(-1, 2**63 - 1), "hold numbers above"),
    "sums of squares": (lambda _, a: a["sums"].__setitem__((1, 0, 0), 1e9), "larger than their"),
    "weights": (lambda _, a: a["sums"].__setitem__((0, 0, 0), 1e300), "too large or too small"),
    "small": (lambda _, a: a["sums"].__imul__([[[1e-200]], [[0.0]]]), "too large or too small"),
    "shift": (lambda facts, _: facts.update(shift=64), "bins are 2 to the power of 64 wide"),
    "unit": (lambda facts, _: facts.update(unit=2.0**65), "stored weight of a new row is 3.6"),
    "no number of a unit": (lambda facts, _: facts.update(unit=float("nan")), "new row is nan"),
    "half-life": (lambda facts, _: facts.update(half_life=0.5), "half_life must be a number"),
    "labels": (lambda facts, _: facts.update(labels=[1, 0]), "labels are not ascending"),
    "one label": (lambda facts, _: facts.update(labels=[0]), "labels that it does not name"),
    "list": (lambda facts, _: facts.update(labels=[[0], 1]), "not two numbers or words"),
    "positive": (
        lambda facts, _: facts.update(pos_label=1, labels=[0, 2]),
        "as for a pos_label",
    ),
    "too many": (lambda facts, _: facts.update(bins=2), "bins, more than 2"),
}


@pytest.mark.parametrize("wrong", WRONG_SKETCHES)
def test_a_sketch_of_scores_is_checked(tmp_path, wrong):
    path, (X, y) = tmp_path / "bad.scores", rows()
    ScoreSketch().update(y, X[:, 0]).save(path)
    head, _, body = unpack(path, "scores").partition(b"\n")
    with np.load(io.BytesIO(body)) as held:
        facts, arrays = json.loads(head), {name: held[name].copy() for name in held}
    change, message = WRONG_SKETCHES[wrong]
    change(facts, arrays)
    body = io.BytesIO()
    np.savez(body, **arrays)
    pack(path, "scores", json.dumps(facts).encode() + b"\n" + body.getvalue())
    with pytest.raises(ModelFileError, match=f"not a readable sketch of scores .*{message}"):
        ScoreSketch.load(path)


def test_the_rows_of_frequent_directions_are_within_the_variances(tmp_path):
    moments = FrequentDirections(2).update(*rows())
    moments.rows[0, 0, 0] = 1e9
    moments.save(tmp_path / "bad.moments")
    with pytest.raises(ModelFileError, match="larger than the variances of its classes"):
        FrequentDirections.load(tmp_path / "bad.moments")
