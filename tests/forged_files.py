"""Files of this package that are forged: changed inside, under a digest that is right.

Whatever is loaded from one is then used. Nothing may come of it but an error in plain words.
"""

import contextlib
import functools
import hashlib
import io
import json
import linecache
import struct
import traceback
import warnings
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd

import released
from aucmax import (
    AdditiveAUCClassifier,
    AUCClassifier,
    ClassMoments,
    ScoreSketch,
    effects,
    load,
    reasons,
    save,
    to_sql,
)
from aucmax.basics.errors import ModelFileError
from aucmax.solvers import Exact
from aucmax.statistics.diagonal import DiagonalMoments
from aucmax.statistics.files import load_moments
from aucmax.statistics.frequent_directions import FrequentDirections
from aucmax.streams.monitor import stream_report
from aucmax.streams.state import Settings, State, advance, load_state, save_state

__all__ = ["USES", "forged", "plain", "sealed", "seeds"]

# ---- how a file is forged


def sealed(data, body):
    """Return the file with another body, under its right digest."""
    head = data.partition(b"\n")[0].split(b" ")
    head[3:] = hashlib.sha256(body).hexdigest().encode(), str(len(body)).encode()
    return b" ".join(head) + b"\n" + body


def forged(rng, data, broken):
    """Return a file with one to three changes of its facts or its archive.

    ``broken(rng, data)`` breaks bytes anywhere.
    """
    kind = rng.random()
    if kind < 0.04:
        return broken(rng, data)
    body = data.partition(b"\n")[2]
    if kind < 0.08:
        return sealed(data, broken(rng, body))
    if kind < 0.1:
        return data[: rng.integers(len(data))]
    first, _, archive = body.partition(b"\n")
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        if rng.random() < 0.35:
            tree = json.loads(first)
            change_json(rng, tree)
            first = json.dumps(tree).encode()
        else:
            with contextlib.suppress(Exception):  # it cannot be read any more
                archive = rezipped(rng, archive, broken)
    return sealed(data, first + b"\n" + archive)


def rezipped(rng, raw, broken):
    """Return a zip archive of which one or two members were changed, all checksums right."""
    with zipfile.ZipFile(io.BytesIO(raw)) as old:
        members = [(name, old.read(name)) for name in old.namelist()]
    if not members:
        return raw
    compression = rng.choice([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
    chosen, another = rng.integers(len(members), size=2)
    name, content = members[chosen]
    kind = rng.integers(16)
    if kind == 0:
        order = rng.permutation(len(members))
        members = [members[i] for i in order]
    elif kind == 1:
        del members[chosen]
    elif kind == 2:
        members.append((name, members[another][1]))
    elif kind == 3:
        members[chosen] = (
            str(rng.choice([name + "x", "more.npy", "../up.npy", "schema.json"])),
            content,
        )
    elif kind == 4:  # two change places
        members[chosen], members[another] = (
            (name, members[another][1]),
            (members[another][0], content),
        )
    elif kind == 5 and name.endswith(".npy"):
        members[chosen] = (name, bomb(rng, content))
        compression = zipfile.ZIP_DEFLATED
    elif kind == 6:
        compression = rng.choice([zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
    else:
        members[chosen] = (name, changed_member(rng, name, content, broken))
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", compression) as new, warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of a name that is there twice
        for each, part in members:
            new.writestr(each, part)
    return lying(rng, out.getvalue()) if kind == 7 else out.getvalue()


def lying(rng, raw):
    """Return an archive whose directory tells another size of a member."""
    raw = bytearray(raw)
    at = raw.rfind(b"PK\x01\x02")
    field = at + int(rng.choice([20, 24, 42]))  # packed size, size, place
    raw[field : field + 4] = struct.pack("<I", int(rng.choice([0, 1, 10**6, 2**31, 2**32 - 1])))
    return bytes(raw)


def bomb(rng, content):
    """Return an array that is much larger than it was, or says so."""
    array = np.load(io.BytesIO(content), allow_pickle=False)
    length = int(rng.choice([10**5, 10**6, 10**7]))
    if rng.random() < 0.5:
        shape = (length, *array.shape[1:]) if array.ndim else (length,)
        if np.prod(shape) * array.itemsize < 1e8:
            return as_npy(np.zeros(shape, array.dtype))
    header = {"descr": array.dtype.descr if array.dtype.names else array.dtype.str}
    header |= {"fortran_order": False, "shape": (length, 10**6)}
    out = io.BytesIO()
    np.lib.format.write_array_header_1_0(out, header)
    return out.getvalue() + array.tobytes()


def as_npy(array, pickled=False):
    out = io.BytesIO()
    np.save(out, array, allow_pickle=pickled)
    return out.getvalue()


def changed_member(rng, name, content, broken):
    if rng.random() < 0.1:
        return broken(rng, content)
    if name.endswith(".npy"):
        with contextlib.suppress(ValueError):
            array = np.load(io.BytesIO(content), allow_pickle=False)
            if rng.random() < 0.04:
                return as_npy(array.astype(object), pickled=True)
            return as_npy(changed_array(rng, array))
    with contextlib.suppress(ValueError):
        tree = json.loads(content)
        change_json(rng, tree)
        return json.dumps(tree).encode()
    return broken(rng, content)


NUMBERS = [np.nan, np.inf, -np.inf, -1.0, 0.0, 1e-320, 1e-160, 1e300, 1e160, 1e80, 1e9]
WHOLE = [-1, 0, 1, 2, 7, 10**4, 10**9, 2**31, 2**62, -(2**63)]


def changed_array(rng, array):
    array, kind = np.array(array), rng.integers(12)
    whole = array.dtype.kind in "iu"
    if kind < 5 and array.size and (whole or array.dtype.kind == "f"):
        lowest = np.iinfo(array.dtype).min if whole else -np.inf
        highest = np.iinfo(array.dtype).max if whole else np.inf
        values = [v for v in (WHOLE if whole else NUMBERS) if v != v or lowest <= v <= highest]
        value = values[rng.integers(len(values))]
        if kind < 4:
            array.flat[rng.integers(array.size)] = value
        else:
            array[...] = value
        return array
    if kind == 5 and array.dtype.names and array.size:
        name = array.dtype.names[rng.integers(len(array.dtype.names))]
        array[name] = rng.choice(NUMBERS)
        return array
    if kind == 6:
        return array[..., :-1] if array.ndim else array[None]
    if kind == 7 and array.dtype.names is None:
        with contextlib.suppress(ValueError, TypeError), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return array.astype(rng.choice(["f4", ">f8", "i8", ">i8", "U3", "c16", "?", "f2"]))
    if kind == 8:
        return np.concatenate([array, array]) if array.ndim else array
    if kind == 9:
        return np.asfortranarray(array)
    if kind == 10 and array.ndim and array.size:
        return rng.permutation(array)
    return array.T if array.ndim > 1 else array[::-1] if array.ndim else array


LEAVES = [
    None,
    True,
    False,
    -1,
    0,
    1,
    3.5,
    1e400,
    float("nan"),
    "",
    "x",
    [],
    {},
    [[]],
    "\0",
    "\ud800",
]
LEAVES += [2**31, 2**63, 2**70, 10**400, -(10**9), "builtins", "eval", "9" * 5000, 1e-320, 1e300]


def change_json(rng, tree):
    """Change one part of it in place."""
    if not isinstance(tree, dict | list):
        return
    root = tree
    while True:
        keys = list(tree) if isinstance(tree, dict) else list(range(len(tree)))
        if not keys:
            return
        key, kind = keys[rng.integers(len(keys))], rng.random()
        if isinstance(tree[key], dict | list) and kind < 0.85:
            tree = tree[key]
            continue
        other = keys[rng.integers(len(keys))]
        if kind < 0.9:
            del tree[key]
        elif kind < 0.93:
            tree[key] = tree[other]
        elif kind < 0.95 and isinstance(tree, list):
            tree.append(tree[key])
        elif kind < 0.96:
            deep = json.loads("[" * 500 + "]" * 500)
            tree[key] = deep
        elif kind < 0.97 and root is not tree:
            tree[key] = json.loads(json.dumps(root))
        else:
            tree[key] = LEAVES[rng.integers(len(LEAVES))]
        return


# ---- what is forged

LINES = [
    f'{{"x1": {i % 7}, "x2": {i % 3 - 1}, "y": {int(i % 5 > 2)}}}\n'.encode() for i in range(400)
]
STREAMS = {
    "moments": Settings(target="y", freeze=50),
    "half life": Settings(target="y", freeze=50, half_life=60.0),
    "spam": Settings(target="y", freeze=50, learner="spam"),
    "csv": Settings("csv", "y", freeze=30, refresh=0.5),
    "svmlight": Settings("svmlight", freeze=500, learner="spam"),
    "begun": Settings(target="y"),
}


def lines_of(name):
    """Return the lines that begin a stream, and those with which it goes on."""
    if name == "csv":
        rows = [b"%d,%d,%d\n" % (i % 7, i % 3 - 1, i % 5 > 2) for i in range(140)]
        return [b"x1,x2,y\n", *rows[:90]], rows
    if name == "svmlight":
        rows = [b"%d 1:%d 3:2\n" % (i % 5 > 2, i % 7) for i in range(140)]
        return rows[:90], rows
    return ([] if name == "begun" else LINES[:90]), LINES[:120]


def dumped(write):
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "file"
        write(path)
        return path.read_bytes()


@functools.cache
def seeds(kind):
    """Return the files of a kind that are forged, each with what is needed to use it."""
    X, y = rows()
    if kind == "stream":
        made = {
            name: advance(0, lines_of(name)[0], State(s), ignore) for name, s in STREAMS.items()
        }
        return [(dumped(lambda p, s=s: save_state(s, p)), name) for name, s in made.items()]
    if kind == "scores":
        sketches = [
            ScoreSketch(),
            ScoreSketch(bins=20).update(y, X[:, 0]),
            ScoreSketch(1, 50).update(y, X[:, 0], np.arange(len(y))),
            ScoreSketch().update(np.where(y, "yes", "no"), X[:, 1]),
            ScoreSketch().update(np.ones(9), X[:9, 1]),
            ScoreSketch(bins=30, half_life=7.5).update(y, X[:, 0]).decay(0.3),
        ]
        return [(dumped(sketch.save), None) for sketch in sketches]
    if kind == "moments":
        named = pd.DataFrame(X, columns=["a", "b", "c"])
        held = [
            ClassMoments.from_data(X, y),
            ClassMoments.from_data(named, np.where(y, "yes", "no")),
            ClassMoments(classes=[0, 1, 2]).update(X, y, np.arange(len(y))),
            ClassMoments(),
            DiagonalMoments.from_data(X, y),
            FrequentDirections(2).update(X, y),
            FrequentDirections(50).update(named, y),
        ]
        return [(dumped(each.save), None) for each in held]
    folder = released.FOLDER / released.version()
    table = frame()
    curves = AdditiveAUCClassifier([("x1", "city")], alphas=[0.1], cv=2, n_knots=4, map_knots=3)
    curves.fit(table, np.arange(len(table)) % 2)
    return [(dumped(lambda path: save(curves, path)), "curves")] + [
        (path.read_bytes(), path.name)
        for path in sorted(folder.glob("*.aucmax"))
        if released.kind_of(path) == "model"
    ]


def ignore(*_):
    return None


@functools.cache
def rows(n=40):
    rng = np.random.default_rng(0)
    X = np.round(rng.normal(size=(n, 3)), 3)
    return X, (X[:, 0] + 0.5 * rng.normal(size=n) > 0.3).astype(int)


# ---- what is done with one that is loaded


@contextlib.contextmanager
def plain():
    """Let an error pass that says in words what is wrong; any other is a crash."""
    try:
        yield
    except ModelFileError as error:
        text = str(error)
        assert not any(word in text for word in ("MemoryError", "allocate")), text
    except ValueError as error:
        frame = traceback.extract_tb(error.__traceback__)[-1]
        line = linecache.getline(frame.filename, frame.lineno).strip()
        ours = any(place in frame.filename for place in ("aucmax", "sklearn"))
        if not (ours and line.startswith("raise")) or not str(error):
            raise AssertionError(f"unclear: {type(error).__name__}: {error} [{line}]") from error


def use_moments(rng, path, _):
    with plain():
        held = load_moments(path)
        X = rows()[0]
        repr(held), held.effective_rows, held.variances
        assert held == held.copy()
        with plain():
            held.save(path.with_suffix(".again"))
            assert load_moments(path.with_suffix(".again")) == held
        for use in (
            lambda: held + held,
            lambda: held.decay(0.5),
            lambda: held - held,
            lambda: held.has_covariances or held.within(np.ones(len(held.classes))),
            lambda: held.aligned(held.feature_names[::-1] if held.feature_names else []),
            lambda: held.relabelled(np.arange(len(held.classes))),
            lambda: fitted(held),
            lambda: held.copy().update(
                np.resize(X, (len(held.classes), held.n_features or 3)), held.classes
            ),
        ):
            with plain():
                use()


def fitted(held):
    kinds = {DiagonalMoments: "diagonal", FrequentDirections: "frequent_directions"}
    rank = {"rank": held.rank} if isinstance(held, FrequentDirections) else {}
    solver = Exact(covariance=kinds.get(type(held), "full"), **rank)
    return AUCClassifier(1e-3, solver=solver).fit_moments(held).coef_


def use_scores(rng, path, _):
    with plain():
        sketch = ScoreSketch.load(path)
        again = path.with_suffix(".again")
        labels = sketch.labels or [0, 1]
        sketch.save(again)
        assert ScoreSketch.load(again) == sketch
        for use in (
            lambda: repr(sketch),
            lambda: sketch.auc(),
            lambda: sketch + sketch.decay(0.5),
            lambda: (sketch + ScoreSketch(sketch.pos_label, sketch.bins, sketch.half_life)).auc(),
            lambda: sketch.update(labels, np.arange(len(labels))).auc(),
        ):
            with plain():
                use()


def use_stream(rng, path, name):
    with plain():
        state = load_state(path, STREAMS[name])
        stream_report(state)
        lines = lines_of(name)[1]
        with plain():
            state = advance(
                state.offset, lines[: rng.integers(1, len(lines))], state, ignore, ignore
            )
        json.dumps(stream_report(state))
        save_state(state, path.with_suffix(".again"))
        load_state(path.with_suffix(".again"), STREAMS[name])
        with plain():
            AUCClassifier(1e-3).fit_moments(state.learner.moments())


@functools.cache
def frame():
    expected = json.loads(
        (released.FOLDER / released.version() / released.EXPECTED).read_text(encoding="utf-8")
    )
    return pd.DataFrame(expected["rows"])


def use_model(rng, path, name):
    with plain():
        model = load(path)
        table = frame()
        X = table[released.FEATURES].to_numpy()
        taken = getattr(model, "feature_names_in_", None)
        if taken is not None and set(taken) <= set(table.columns):
            X = table[list(taken)]
        kinds = 3 if name.startswith("multi") else 2
        y = np.arange(len(table)) % kinds
        uses = [
            lambda: model.decision_function(X),
            lambda: model.predict(X),
            lambda: save(model, path.with_suffix(".again")),
            lambda: repr(model),
            lambda: hasattr(model, "predict_proba") and model.predict_proba(X),
            lambda: hasattr(model, "partial_fit") and model.partial_fit(X, y),
            lambda: hasattr(model, "forget") and model.forget(X[:2], y[:2]),
            lambda: reasons(model, X),
            lambda: effects(model, X, y),
            lambda: to_sql(model, "t"),
            lambda: hasattr(model, "score_sketch") and model.score(X, y),
            lambda: hasattr(model, "table_") and model.table_,
        ]
        for use in (*uses[:3], *rng.permutation(np.array(uses[3:], dtype=object))[:3]):
            with plain():
                use()


USES = {"moments": use_moments, "scores": use_scores, "stream": use_stream, "model": use_model}
