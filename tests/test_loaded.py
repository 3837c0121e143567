"""Files whose digest is right but whose numbers no fit leaves: what is loaded is checked."""

import io
import json
from zipfile import ZipFile

import numpy as np
import pytest
import scipy.sparse as sp
import skops.io
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from aucmax import (
    AUCClassifier,
    AUCClassifierCV,
    ClassMoments,
    HingeClassifier,
    load,
    save,
)
from aucmax.basics.container import pack, unpack
from aucmax.basics.errors import ModelFileError
from aucmax.solvers import ACCURACY_SOLVERS, OAM, SOLVERS, SPAM, Exact
from aucmax.statistics.diagonal import DiagonalMoments
from aucmax.statistics.frequent_directions import FrequentDirections
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
    "NaN covariance": (entry("covs", (0, 2, 1), np.nan), "covariances hold NaN or infinite"),
    "negative variance": (entry("covs", (1, 2, 2), -1.0), "class 1 has a negative variance"),
    "means too large": (entry("means", (0, 1), 1e300), "means hold numbers too large to compute"),
    "covariances too large": (
        entry("covs", (0, 2, 2), 1e300),
        "hold numbers too large",
    ),
    "too many counts": ({"counts": np.ones(3)}, r"counts have the shape \(3,\), not \(2,\)"),
    "means of another width": ({"means": np.ones((2, 3))}, "have the shape"),
    "whole numbers": ({"counts": np.array([3, 4])}, "counts are not numbers"),
    "classes not sorted": ({"classes": np.array([1, 0])}, "classes are not different labels"),
    "one class twice": ({"classes": np.array([1, 1])}, "classes are not different labels"),
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
    "no intercept": (lambda part: delattr(part, "intercept_"), "intercepts are not numbers"),
    "two intercepts": (put("intercept_", np.zeros(2)), "intercepts have the shape (2,)"),
    "three classes": (put("classes_", np.array([0, 1, 2])), "3 classes, not 2"),
    "classes not sorted": (put("classes_", np.array([1, 0])), "classes are not different labels"),
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
    assert "it does not hold" in good.refusal(bad, "schema.json", good.without(name))
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
        assert any("the rows that OAM keeps do not fit together" in message for message in told)


def test_the_features_of_the_rows_that_a_stream_keeps_are_checked(archive, tmp_path):
    good = archive(AUCClassifier, OAM, sp.csr_array)
    (indices,) = ((name, a) for name, a in good.arrays() if a.dtype == np.int32)
    message = good.refusal(tmp_path / "bad.aucmax", indices[0], indices[1] + 1000)
    assert "the rows that OAM keeps do not fit together" in message


def test_a_stream_that_lacks_its_state(archive, tmp_path):
    good = archive(AUCClassifier, SPAM)
    message = good.refusal(tmp_path / "bad.aucmax", "schema.json", good.without("steps"))
    assert "what it goes on from is not whole" in message


def test_a_file_that_holds_something_else(tmp_path):
    path = tmp_path / "bad.aucmax"
    pack(path, "model", b"{}\n" + skops.io.dumps([1, 2]))
    with pytest.raises(ModelFileError, match="it holds a list, not an estimator"):
        load(path)
