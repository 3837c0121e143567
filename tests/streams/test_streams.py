"""Streams: AUC in fixed memory, lines as rows, and states that no kill and no cut can change."""

import errno
import io
import json
import os
import random
import re
import signal
import sys
import threading
import time

import numpy as np
import pytest
from scipy.stats import binom, norm

from aucmax import AUCClassifier, datasets, load, metrics
from aucmax.basics import replacing
from aucmax.basics.locks import locked
from aucmax.columns import TableEncoder
from aucmax.data.bunch import frame
from aucmax.data.columns import declare
from aucmax.estimators.written_steps import as_text
from aucmax.report import stream as report_of_stream
from aucmax.streams import first_rows, reading
from aucmax.streams.drift import CELLS, FALSE_ALARM_RATE, DriftAlarm, cells_of
from aucmax.streams.formats import encoding_of, format_of
from aucmax.streams.monitor import moved, stream_report
from aucmax.streams.paired import PairedScores
from aucmax.streams.state import Settings, State, advance, load_state, save_state
from oracles.drift import evidence, p_values
from processes import Child

ROWS = 300
SPLIT = 200  # the row from which a feature has moved


def values(n=ROWS, seed=2):
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < 0.3).astype(int)
    X = rng.normal(size=(n, 4)) + np.outer(y, [1.2, 0.5, 0.0, 0.0])
    X[SPLIT:, 2] += 5.0
    return X.round(4), y


def ndjson(n=ROWS):
    X, y = values(n)
    lines = []
    for i, (x, label) in enumerate(zip(X.tolist(), y.tolist(), strict=True)):
        row = {name: v for j, (name, v) in enumerate(zip("abcd", x, strict=True)) if (i + j) % 5}
        lines.append(json.dumps(row | {"id": f"u{i}", "label": bool(label)}).encode() + b"\n")
    return lines


def csv(n=ROWS):
    X, y = values(n)
    rows = [
        f"u{i},{','.join(map(str, x))},{k}\n" for i, (x, k) in enumerate(zip(X, y, strict=True))
    ]
    return [line.encode() for line in ["id,a,b,c,d,label\n", *rows]]


def svmlight(n=ROWS):
    X, y = values(n)
    return [
        f"{k} {' '.join(f'{j}:{v}' for j, v in enumerate(x, 1))}\n".encode()
        for x, k in zip(X, y, strict=True)
    ]


WRITERS = {"ndjson": ndjson, "csv": csv, "svmlight": svmlight}
KINDS = [
    {"format": "ndjson", "half_life": 60.0},
    {"format": "ndjson", "learner": "spam"},
    {"format": "csv"},
    {"format": "svmlight", "half_life": 7.5, "refresh": 0.0},
]


def refuse(line, what):
    raise AssertionError(f"line {line}: {what}")


def begun(**settings):
    return State(Settings(**{"drop": ("id",), "freeze": 100} | settings))


def run_through(state, lines, on_bad=refuse):
    return advance(state.offset, lines, state, on_bad)


def bits(state, path):
    save_state(state, path)
    return path.read_bytes()


# ---- two scorers of the same rows --------------------------------------------------------


def paired(codes, first, second, half_life=None, weight=None, capacity=4096):
    pair = PairedScores(capacity, half_life)
    pair.add(codes, first, second, np.ones(len(codes)) if weight is None else weight)
    return pair


@pytest.mark.parametrize("half_life", [None, 150.0, 1.3])
@pytest.mark.parametrize("spread", [0.001, 1.0, 300.0])
def test_the_auc_is_that_of_the_scores_within_the_bound_that_is_told(half_life, spread):
    rng = np.random.default_rng(3)
    y = (rng.random(900) < 0.2).astype(int)
    z = spread * (rng.normal(size=900) + y) + np.where(rng.random(900) < 0.1, 0.0, 0.1 * spread)
    weight = 0.5 ** (np.arange(899, -1, -1) / (half_life or np.inf))
    true = metrics.roc_auc(y, z, sample_weight=np.maximum(weight, 1e-300))
    for scores in paired(y, z, z, half_life, capacity=100).scorers():
        area = scores.auc(1)
        assert 0.0 < area.error < 0.2
        assert abs(area.auc - true) <= area.error + 1e-12
        assert area.low <= area.auc <= area.high
        assert scores.auc(0).auc == pytest.approx(1.0 - area.auc)
    exact, _ = paired(y, z, z, half_life).scorers()
    assert exact.auc(1).auc == pytest.approx(true, abs=1e-12)
    assert exact.auc(1).error == 0.0


def test_rows_count_by_their_weights():
    rng = np.random.default_rng(6)
    y, z, weight = rng.integers(0, 2, 300), rng.normal(size=300), rng.integers(0, 4, 300)
    _, scores = paired(y, z, z + y, 40.0, weight.astype(float)).scorers()
    decayed = weight * 0.5 ** (np.arange(299, -1, -1) / 40.0)
    expected = metrics.roc_auc(y, z + y, sample_weight=decayed)
    assert scores.auc(1).auc == pytest.approx(expected, abs=1e-12)
    np.testing.assert_allclose(scores.weights, [decayed[y == k].sum() for k in range(2)])
    kish = [decayed[y == k].sum() ** 2 / (decayed[y == k] ** 2).sum() for k in range(2)]
    np.testing.assert_allclose(scores.rows, kish)


def test_interval_and_test_are_delongs_without_decay():
    rng = np.random.default_rng(4)
    y = (rng.random(3000) < 0.3).astype(int)
    a = rng.normal(size=3000) + y
    b = a + rng.normal(size=3000)
    pair = paired(y, b, a)
    _, area = (scores.auc(1) for scores in pair.scorers())
    expected = metrics.auc_interval(y, a)
    assert area.std_error == pytest.approx(expected.std_error, rel=1e-3)
    assert area[:3] == pytest.approx(expected[:3], abs=5e-4)
    test = pair.test([scores.auc(1) for scores in pair.scorers()])
    assert test[:3] == pytest.approx(metrics.auc_difference(y, a, b), abs=2e-3)


@pytest.mark.parametrize("half_life", [None, 25.0, 4.0])
def test_the_variance_of_the_test_is_that_of_the_placements_among_earlier_rows(half_life):
    rng = np.random.default_rng(7)
    n, z = 150, rng.normal(size=(2, 150)).round(1)
    y, weight = rng.integers(0, 2, n), rng.integers(0, 3, n).astype(float)
    gamma = 1.0 if half_life is None else 0.5 ** (1.0 / half_life)
    gaps = np.full(n, np.nan)
    for i in range(n):
        earlier = np.where(y[:i] != y[i], weight[:i] * gamma ** np.arange(i, 0, -1), 0.0)
        if earlier.any():
            below = (z[:, :i] < z[:, i : i + 1]) + 0.5 * (z[:, :i] == z[:, i : i + 1])
            first, second = below @ earlier / earlier.sum()
            gaps[i] = second - first
    decayed = weight * gamma ** np.arange(n - 1, -1, -1)
    variance = 0.0
    for k in range(2):
        of_class = y == k
        rows = decayed[of_class].sum() ** 2 / (decayed[of_class] ** 2).sum()
        D, w = (values[of_class & ~np.isnan(gaps)] for values in (gaps, decayed))
        variance += np.average((D - np.average(D, weights=w)) ** 2, weights=w) / (rows - 1.0)
    pair = paired(y, *z, half_life, weight)
    test = pair.test([scores.auc(1) for scores in pair.scorers()], confidence=0.5)
    assert -1.0 < test.low < test.high < 1.0
    assert (test.high - test.low) / 2 == pytest.approx(norm.ppf(0.75) * np.sqrt(variance))


@pytest.mark.parametrize("half_life", [None, 30.0, 1.0])
@pytest.mark.parametrize("capacity", [8, 64, 4096])
def test_batches_do_not_change_a_bit_of_the_sums(half_life, capacity):
    rng = np.random.default_rng(8)
    n = 2500
    y, weight = rng.integers(0, 2, n), rng.exponential(size=n)
    first, second = rng.normal(size=(2, n)) * np.array([[1.0], [1e-3]])
    whole = paired(y, first, second, half_life, weight, capacity)
    parts = PairedScores(capacity, half_life)
    for rows in np.split(np.arange(n), np.sort(rng.integers(0, n, 40))):
        parts.add(y[rows], first[rows], second[rows], weight[rows])
        if rng.random() < 0.3:
            parts.scorers()  # looking changes nothing either
    assert parts.facts == whole.facts
    for name, values in whole.arrays.items():
        np.testing.assert_array_equal(parts.arrays[name], values)


@pytest.mark.parametrize("half_life", [None, 150.0])
def test_intervals_cover_and_the_test_keeps_its_level(half_life):
    rng = np.random.default_rng(5)
    true, covered, refused, runs = norm.cdf(1 / 2), 0, 0, 200
    for _ in range(runs):
        y = (rng.random(400) < 0.3).astype(int)
        noise = rng.normal(size=(2, 400)) + rng.normal(size=400)
        pair = paired(y, *(noise + y), half_life)
        area = pair.scorers()[0].auc(1)
        covered += area.low <= true <= area.high
        refused += pair.test([scores.auc(1) for scores in pair.scorers()]).p_value < 0.05
    # 95 % and 5 %, by four standard errors of a count
    assert covered > 0.95 * runs - 4 * np.sqrt(0.05 * 0.95 * runs)
    assert refused < 0.05 * runs + 4 * np.sqrt(0.05 * 0.95 * runs)


# ---- the alarm ---------------------------------------------------------------------------


def watched(codes, scores, seed=0.0, weight=None):
    alarm = DriftAlarm()
    alarm.add(codes, scores, np.ones(len(codes)) if weight is None else weight, seed)
    return alarm


def test_cells_rise_with_the_score_and_hold_every_number():
    z = np.concatenate([[-1e300, -1e10], np.linspace(-50, 50, 1001), [1e10, 1e300]])
    cells = cells_of(z)
    assert cells[0] == 0
    assert cells[-1] == CELLS - 1
    assert (np.diff(cells) >= 0).all()


def test_the_evidence_is_that_of_every_start_and_bet():
    rng = np.random.default_rng(0)
    codes = (rng.random(250) < 0.3).astype(int)
    scores = (rng.normal(size=250) + codes).round(1)
    cells = cells_of(scores)
    expected = evidence(codes, p_values(codes, cells, -0.7))
    alarm, capital = DriftAlarm(), []
    for i in range(250):
        alarm.add(codes[i : i + 1], scores[i : i + 1], np.ones(1), -0.7)
        capital.append(alarm.evidence)
    assert alarm.row is None
    np.testing.assert_allclose(capital, expected, rtol=1e-10)
    whole = watched(codes, scores, -0.7)
    for name, values in alarm.arrays.items():
        np.testing.assert_array_equal(whole.arrays[name], values)


def streams(runs, rows, seed=0, spread=1.0):
    """Yield labels, whose frequency drifts, scores with ties, and seeds."""
    rng = np.random.default_rng(seed)
    for _ in range(runs):
        codes = (rng.random(rows) < np.linspace(0.5, 0.05, rows)).astype(int)
        yield codes, spread * (rng.normal(size=rows) + codes).round(1), rng.normal()


def test_without_a_change_alarms_are_as_rare_as_is_said():
    runs = 400
    alarms = sum(watched(*rows).row is not None for rows in streams(runs, 1500))
    assert alarms <= binom.isf(1e-6, runs, FALSE_ALARM_RATE)


@pytest.mark.parametrize("spread", [1.0, 0.01, 1e9], ids=["", "one cell", "two cells"])
def test_the_evidence_is_one_on_average_where_nothing_changes(spread):
    capital = [watched(*rows).evidence for rows in streams(3000, 40, 1, spread)]
    assert abs(np.mean(capital) - 1.0) < 5.0 * np.std(capital) / np.sqrt(3000)
    assert np.std(capital) > 0.01


CHANGES = {
    "the sign turns": (lambda y, z: z - 2.0 * y, 150),
    "the positives are as the negatives": (lambda y, z: z - y, 300),
    "all scores rise": (lambda y, z: z + 1.0, 100),
    "they spread": (lambda y, z: 2.5 * z, 150),
    "they gather": (lambda y, z: 0.4 * z, 150),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_is_told_soon(change):
    after, rows = CHANGES[change]
    late = np.arange(3000) >= 1000
    delays = []
    for codes, scores, seed in streams(20, 3000, 2):
        alarm = watched(codes, np.where(late, after(codes, scores), scores), seed)
        delays.append((alarm.row or np.inf) - 1000)
    assert 0 < np.median(delays) < rows


def test_an_alarm_stays_and_rows_without_weight_are_passed_over():
    rng = np.random.default_rng(4)
    codes, z = rng.integers(0, 2, 2000), rng.normal(size=2000)
    scores = np.where(np.arange(2000) < 1000, z + codes, z - codes)
    alarm = watched(codes, scores)
    before = {name: values.copy() for name, values in alarm.arrays.items()}
    alarm.add(codes, scores, np.ones(2000), 0.0)
    for name, values in before.items():
        np.testing.assert_array_equal(alarm.arrays[name], values)
    assert 1000 < alarm.row < 1200
    assert alarm.evidence >= 1.0 / FALSE_ALARM_RATE
    weight = np.repeat([0.0, 0.5, 3.0], [1000, 500, 500])
    light = watched(codes, scores, weight=weight)
    assert light.row is None
    assert light.arrays["counts"].sum() == 1000
    assert light.arrays["clock"][0] == 2000


def test_the_row_of_an_alarm_is_that_of_the_stream():
    rng = np.random.default_rng(5)
    y = rng.integers(0, 2, 1200)
    x = rng.normal(size=1200) + np.where(np.arange(1200) < 700, 1.0, -1.0) * y
    lines = [f"{k} 1:{v:.4f}\n".encode() for k, v in zip(y, x, strict=True)]
    state = run_through(begun(format="svmlight", freeze=200, drop=()), lines)
    drift = stream_report(state)["drift"]
    assert 700 < drift["row"] == state.alarm < 800
    assert (drift["level"], drift["evidence"] >= 20.0) == (0.05, True)
    before = run_through(begun(format="svmlight", freeze=200, drop=()), lines[: state.alarm - 1])
    assert stream_report(before)["drift"]["row"] is None
    assert stream_report(before)["drift"]["evidence"] < 20.0
    assert stream_report(run_through(begun(freeze=200), ndjson(150)))["drift"] is None


# ---- one function from (offset, lines, state) to state -----------------------------------


@pytest.mark.parametrize("settings", KINDS, ids=str)
def test_no_cut_and_no_file_between_changes_a_bit(settings, tmp_path):
    lines = WRITERS[settings["format"]]()
    whole = bits(run_through(begun(**settings), lines), tmp_path / "whole")
    rng, state, at = random.Random(0), begun(**settings), 0
    while at < len(lines):
        step = rng.randint(1, 60)
        state = run_through(state, lines[at : at + step])
        at += step
        if rng.random() < 0.5:
            path = tmp_path / "between"
            save_state(state, path)
            state = load_state(path, state.settings)
    assert bits(state, tmp_path / "parts") == whole


def weighted(n=ROWS):
    weight = np.random.default_rng(2).integers(0, 4, n).tolist()
    head, *rows = csv(n)
    lines = [
        f"{w},{row.decode()}".encode()
        for w, row in zip(["times", *weight], [head, *rows], strict=True)
    ]
    return lines, np.array(weight)


@pytest.mark.parametrize("learner", ["moments", "spam"])
def test_weights_are_those_of_a_fit_wherever_lines_are_cut(learner, tmp_path):
    lines, weight = weighted()
    settings = {"format": "csv", "weight": "times", "learner": learner}
    state = run_through(begun(**settings), lines)
    whole = bits(state, tmp_path / "whole")
    first = run_through(begun(**settings), lines[:123])
    save_state(first, tmp_path / "between")
    again = load_state(tmp_path / "between", first.settings)
    assert bits(run_through(again, lines[123:]), tmp_path / "parts") == whole
    assert state.prequential.weights.sum() == weight.sum()
    if learner == "moments":
        X, y = values()
        expected = AUCClassifier().fit(X, y, weight).coef_
        found = AUCClassifier().fit_moments(state.learner.moments())
        np.testing.assert_allclose(found.coef_, expected, rtol=1e-9)


def test_ndjson_has_weights_too():
    lines, _ = weighted()
    names = lines[0].decode().strip().split(",")
    objects = [
        json.dumps(dict(zip(names, line.decode().strip().split(","), strict=True))).encode()
        for line in lines[1:]
    ]
    numbers = [
        json.dumps({k: v if k == "id" else float(v) for k, v in json.loads(line).items()}).encode()
        for line in objects
    ]
    found = [
        stream_report(run_through(begun(format=name, weight="times"), some))["prequential"]
        for name, some in (("csv", lines), ("ndjson", numbers))
    ]
    assert found[0] == found[1]
    heard = {}
    run_through(
        begun(weight="times"), [objects[0], *numbers[:2], b'{"label": 1}'], heard.__setitem__
    )
    assert heard.keys() == {1, 4}
    assert re.fullmatch("the weight is '[0-9]'; expected a number from 0 to 1e.50", heard[1])
    assert heard[4].startswith("the weight is None; expected")


@pytest.mark.parametrize("encoding", ["utf-8", "latin-1", "cp1252", "gb18030", "shift_jis"])
@pytest.mark.parametrize("format", ["ndjson", "csv"])
def test_text_is_read_in_its_encoding(format, encoding):
    label = {"gb18030": "是", "shift_jis": "表ソ"}.get(encoding, "für")  # whose bytes hold a \\
    X, y = values(60)
    rows = [{"größe": x[0], "label": label if k else "no"} for x, k in zip(X, y, strict=True)]
    if encoding == "shift_jis":
        rows = [{"能": row["größe"], "label": row["label"]} for row in rows]
    if format == "csv":
        lines = [",".join(rows[0]), *(f"{a},{b}" for a, b in (row.values() for row in rows))]
    else:
        lines = [json.dumps(row, ensure_ascii=False) for row in rows]
    lines = [(line + "\n").encode(encoding) for line in lines]
    state = run_through(begun(format=format, encoding=encoding_of(encoding), drop=()), lines)
    assert state.learner.names == [next(iter(rows[0]))]
    assert {*state.learner.labels} == {label, "no"}


@pytest.mark.parametrize("name", ["utf-16", "utf-32", "utf-8-sig"])
def test_encodings_whose_lines_are_not_told_apart_are_refused(name):
    with pytest.raises(ValueError, match="cannot be split by bytes; convert them to UTF-8"):
        encoding_of(name)


@pytest.mark.parametrize("name", ["rot13", "base64", "klingon", ""])
def test_what_is_no_encoding_of_text_is_refused(name):
    with pytest.raises(ValueError, match=f"there is no text encoding called '{name}'"):
        encoding_of(name)


def test_lines_must_begin_where_the_state_ended():
    state = run_through(begun(), ndjson()[:3])
    with pytest.raises(ValueError, match="these lines begin at byte 0, the state ended at"):
        advance(0, ndjson()[:3], state, refuse)


def test_each_row_is_scored_before_it_is_learnt():
    # the label stands in a feature's name, which is new each time: only learning first would see it
    rng = np.random.default_rng(0)
    lines = []
    for i in range(300):
        y = int(rng.integers(2))
        lines.append(json.dumps({f"{y}-{i}": 1.0, "y": y}).encode() + b"\n")
    state = run_through(begun(refresh=0.0), lines)
    found = stream_report(state)["prequential"]
    assert found["low"] < 0.5 < found["high"]


def test_the_size_of_the_state_does_not_grow_with_the_rows(tmp_path):
    # up to a thousand rows wait, of which each takes some 90 bytes; each of three scorers has up to
    # 4,096 bins of 48 bytes, and the rest takes some 12,000
    largest = 1000 * 90 + 3 * 4096 * 48 + 15_000
    sizes = [len(bits(run_through(begun(), ndjson(n)), tmp_path / "s")) for n in (400, 8_000)]
    assert sizes[0] < sizes[1] < largest


def test_formats_say_the_same():
    found = [
        stream_report(run_through(begun(format=name), lines))["prequential"]
        for name, lines in (("csv", csv()), ("svmlight", svmlight()))
    ]
    assert found[0] == found[1]


# ---- bad rows ----------------------------------------------------------------------------

BAD = {
    "ndjson": [
        (b'{"a": 1, "label": \n', "Expecting value"),
        (b"[1, 2]\n", "expected an object"),
        (b'{"a": "x", "label": true}\n', "feature 'a' holds 'x'"),
        (b'{"new": 2.0, "a": NaN, "label": true}\n', "feature 'a' holds nan"),
        (b'{"new": 2.0, "label": "third"}\n', "the label 'third' is a third one"),
        (b'{"a": [1], "label": true}\n', r"feature 'a' holds \[1\]"),
        (b'{"a": 1}\n', "there is no label, called target, label, y or class"),
        (b'{"a": 1, "label": null}\n', "the label 'label' is None"),
        (b"\xff\xfe\n", "Expecting value"),
        (b"[" * 100_000 + b"\n", "recursion|nested|expected"),
    ],
    "csv": [
        (b"u,1,2,3,4\n", "has 5 fields, the header has 6"),
        (b"u,1,2,x,4,1\n", "feature 'c' holds 'x'"),
        (b"u,1,2,1_0,4,1\n", "feature 'c' holds '1_0'"),
        (b"u,1,2,3,inf,1\n", "feature 'd' holds inf"),
        (b"u,1,2,3,4,\n", "the label is empty"),
        (b"u,1,2,3,4,2\n", "the label 2 is a third one"),
    ],
    "svmlight": [
        (b"1 0:2\n", "'0:2' is not index:value"),
        (b"1 2:3 2:4\n", "the index 2 occurs twice"),
        (b"1 qid:3 2:4\n", "the stream has no strata"),
        (b"x 1:3\n", "feature 'label' holds 'x'"),
        (b"1 1:nan\n", "feature '1' holds nan"),
    ],
}


@pytest.mark.parametrize("format", BAD)
def test_a_bad_row_is_told_by_number_and_changes_nothing(format, tmp_path):
    good = WRITERS[format](120)
    clean = run_through(begun(format=format), good)
    lines, places = list(good), {}
    for i, (line, message) in enumerate(BAD[format]):
        at = 60 + 3 * i
        lines.insert(at, line)
        places[at + 1] = message
    heard = {}
    state = run_through(begun(format=format), lines, heard.__setitem__)
    assert heard.keys() == places.keys()
    for line, message in places.items():
        assert re.search(message, heard[line])
    assert (state.bad, state.rows, state.lines) == (len(places), 120, len(lines))
    for field in ("offset", "digest", "lines", "bad"):
        setattr(state, field, getattr(clean, field))
    assert bits(state, tmp_path / "a") == bits(clean, tmp_path / "b")


def mangled(line, rng):
    """The line with some bytes gone, twice there, others, or others between."""
    odd = [
        b"\x00",
        b"\xff",
        b'"',
        b",",
        b"{",
        b"[",
        b"1e999",
        b"9" * 400,
        b"_",
        b"nan",
        b"\r",
        b":",
    ]
    body = line[:-1]
    for _ in range(rng.randint(1, 3)):
        a = rng.randint(0, len(body))
        b = min(a + rng.randint(0, 6), len(body))
        body = body[:a] + rng.choice([b"", body[a:b] * 2, *odd]) + body[b:]
    return body.replace(b"\n", b"") + b"\n"


@pytest.mark.parametrize("settings", KINDS, ids=str)
def test_mangled_lines_are_learnt_or_told_and_never_half_applied(settings, tmp_path):
    rng, good = random.Random(1), WRITERS[settings["format"]](ROWS)
    start = int(settings["format"] == "csv")  # a header stays
    lines = [
        mangled(line, rng) if i >= start and rng.random() < 0.5 else line
        for i, line in enumerate(good)
    ]
    heard = {}
    state = run_through(begun(**settings), lines, heard.__setitem__)
    assert 20 < len(heard) < 0.6 * ROWS
    kept = [line for i, line in enumerate(lines, 1) if i not in heard]
    clean = run_through(begun(**settings), kept)
    for field in ("offset", "digest", "lines", "bad"):
        setattr(state, field, getattr(clean, field))
    assert bits(state, tmp_path / "a") == bits(clean, tmp_path / "b")


def test_blank_lines_and_comments_are_no_rows():
    state = run_through(begun(), [b"\n", *ndjson(5), b"  \n"])
    assert (state.rows, state.bad, state.lines) == (5, 0, 7)
    state = run_through(begun(format="svmlight"), [b"# made today\n", *svmlight(5)])
    assert (state.rows, state.bad) == (5, 0)


# ---- the monitor -------------------------------------------------------------------------


@pytest.mark.parametrize("half_life", [None, 50.0])
def test_the_monitor_tells_what_moved_and_whether_learning_on_pays(half_life):
    lines = ndjson()
    before = stream_report(run_through(begun(half_life=half_life), lines[:SPLIT]))
    assert before["test"]["p_value"] > 0.05
    assert before["drift"]["row"] is None
    assert max(abs(one["z"]) for one in before["moved"]) < 5
    state = run_through(begun(half_life=half_life), lines)
    after = stream_report(state)
    assert {one["feature"] for one in after["moved"][:2]} == {"c"}
    assert after["moved"][0]["shift"] > 1.0
    assert after["frozen_after"] == 100
    json.dumps(after, allow_nan=False)


def test_what_moved_is_measured_on_the_rows_since_the_freeze():
    state = run_through(begun(format="csv", half_life=30.0), csv())
    X, y = values()
    weight = 0.5 ** (np.arange(ROWS - 101, -1, -1) / 30.0)
    for one in moved(state):
        x, mine = X[100:, "abcd".index(one["feature"])], y[100:] == one["class"]
        mean = np.average(x[mine], weights=weight[mine])
        assert one["since"] == pytest.approx(mean, rel=1e-9, abs=1e-9)
        old, w = X[:100, "abcd".index(one["feature"])], 0.5 ** (np.arange(99, -1, -1) / 30.0)
        first = y[:100] == one["class"]
        assert one["before"] == pytest.approx(np.average(old[first], weights=w[first]))


# ---- the command -------------------------------------------------------------------------


@pytest.fixture
def clicks(tmp_path):
    path = tmp_path / "clicks.ndjson"
    path.write_bytes(b"".join(ndjson()))
    return path


def but_for_alarms(err):
    """What stderr has besides the alarm, which rows from SPLIT on raise."""
    return "".join(line for line in err.splitlines(True) if not line.startswith("alarm: "))


def options(tmp_path, *more):
    return [
        *("--drop", "id", "--freeze", "100", "--every", "50", "--half-life", "60"),
        *("--state", str(tmp_path / "state"), "--monitor", str(tmp_path / "monitor")),
        *("--predictions", str(tmp_path / "predictions")),
        *more,
    ]


def anew(tmp_path):
    """Remove a state and the files beside it."""
    for name in ("state", "monitor", "predictions"):
        (tmp_path / name).unlink(missing_ok=True)


def test_the_command_tells_saves_and_goes_on(clicks, tmp_path, run):
    code, out, err = run("stream", str(clicks), *options(tmp_path, "--json"))
    assert (code, len(err.splitlines())) == (0, 1)
    alarm = json.loads(out.splitlines()[-1])["drift"]["row"]
    said = f"alarm: rows have changed since the model was frozen, detected at row {alarm} (a false"
    assert SPLIT < alarm < SPLIT + 100
    assert err.startswith(said)
    heard = [json.loads(line) for line in out.splitlines()]
    assert [one["row"] for one in heard] == list(range(50, ROWS + 1, 50))
    told_lines = (tmp_path / "monitor").read_text().splitlines()
    assert [json.loads(line) for line in told_lines] == heard
    state = (tmp_path / "state").read_bytes()
    code, out, err = run("stream", str(clicks), *options(tmp_path))
    assert (code, out, err) == (0, "", "")  # nothing new
    assert (tmp_path / "state").read_bytes() == state
    with clicks.open("ab") as more:
        more.write(b"".join(ndjson(ROWS + 30)[ROWS:]))
    code, out, _ = run("stream", str(clicks), *options(tmp_path))
    assert code == 0
    head, line = out.splitlines()
    assert head.split()[0] == "rows"
    form = r" +330  0\.\d{4} \(0\.\d{4} to 0\.\d{4}\) +0\.\d{4} +[+-]0\.\d{4} ± 0\.\d{4} +drift"
    assert re.fullmatch(form, line)


def test_what_was_predicted_before_learning_stands_in_a_file(clicks, tmp_path, run):
    lines = ndjson()
    clicks.write_bytes(b"".join([*lines[:170], b"nothing\n", *lines[170:]]))
    code, out, _ = run("stream", str(clicks), *options(tmp_path, "--on-error", "skip", "--json"))
    assert code == 0
    found = [json.loads(line) for line in (tmp_path / "predictions").read_text().splitlines()]
    assert [one["line"] for one in found] == [*range(1, 171), *range(172, ROWS + 2)]
    y = np.array([one["label"] for one in found])
    np.testing.assert_array_equal(y, values()[1])
    auc = metrics.roc_auc(y, [one["score"] for one in found])
    told_of = json.loads(out.splitlines()[-1])["prequential"]
    assert abs(auc - told_of["auc"]) <= told_of["error"] + 1e-12
    chances = np.array([one["probability"] for one in found])
    assert ((chances >= 0) & (chances <= 1)).all()
    assert chances[100:].mean() == pytest.approx(y[100:].mean(), abs=0.1)


@pytest.mark.parametrize("name", ["predictions", "monitor"])
def test_a_file_beside_the_state_must_be_its_own(name, clicks, tmp_path, run):
    assert run("stream", str(clicks), *options(tmp_path))[0] == 0
    file, state = tmp_path / name, (tmp_path / "state").read_bytes()
    whole = file.read_bytes()
    file.write_bytes(whole[:-9])
    code, _, err = run("stream", str(clicks), *options(tmp_path))
    assert code == 2
    assert f"{file}: has fewer bytes than the state has recorded" in err
    assert (tmp_path / "state").read_bytes() == state
    file.write_bytes(whole + b"written after the state was saved")
    assert run("stream", str(clicks), *options(tmp_path))[0] == 0
    assert file.read_bytes() == whole
    file.unlink()
    assert run("stream", str(clicks), *options(tmp_path))[0] == 0
    assert file.read_bytes() == b""


@pytest.mark.parametrize("name", ["predictions", "monitor"])
def test_a_file_that_another_wrote_is_not_cut(name, clicks, tmp_path, run):
    """By a new state, by one that wrote elsewhere, and by one that has written nothing yet."""
    other, words = tmp_path / "other", [str(clicks), f"--{name}"]
    olds = b"precious\n", json.dumps({"row": 1, "line": 1}).encode() + b"\n" * 9_999
    for old in olds:
        other.write_bytes(old)
        new = ["stream", *words, str(other), "--state", str(tmp_path / "new")]
        code, out, err = run(*new)
        assert (code, out) == (2, "")
        assert f"{other}: is not empty, but this state has written nothing to it: name the" in err
        assert "name the --state that has, or another file, or remove this one first" in err
        assert not (tmp_path / "new").exists()
    for every in (str(10 * ROWS), "50"):  # one line of a report, then several
        anew(tmp_path)
        assert run("stream", str(clicks), *options(tmp_path, "--every", every))[0] == 0
        for old in olds:
            other.write_bytes(old)
            code, _, err = run("stream", *words, str(other), *options(tmp_path)[:-4])
            if len(old) > (tmp_path / name).stat().st_size:
                assert "is not the file to which the state has written: another file? Give" in err
            assert code == 2
            assert other.read_bytes() == old
    # without a state it is a result like others, which begins with the first line of the input
    assert run("stream", str(tmp_path / "gone.ndjson"), *new[2:4])[0] == 2
    assert other.read_bytes() == old
    assert run(*new[:4], "--drop", "id", "--every", "100")[0] == 0
    assert (
        other.read_bytes().count(b"\n") == {"predictions": ROWS, "monitor": -(-ROWS // 100)}[name]
    )


def test_a_state_that_has_read_nothing_takes_any_settings(clicks, tmp_path, run):
    words = "stream", str(clicks), *options(tmp_path)
    code, _, err = run(*words, "--target", "missing")
    assert (code, "line 1" in err) == (2, True)
    assert run(*words)[0] == 0


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_predictions_may_go_to_a_pipe(clicks, tmp_path, run):
    pipe, heard = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: heard.append(pipe.read_bytes()))
    reader.start()
    assert run("stream", str(clicks), *options(tmp_path, "--predictions", str(pipe)))[0] == 0
    reader.join()
    assert heard[0].count(b"\n") == ROWS


@pytest.mark.parametrize("gap", [0.0, 1e-9, -0.3, 2.0])
def test_lines_for_people_are_of_80_columns(gap, clicks, tmp_path, run):
    y = np.arange(1000) % 2
    X = np.random.default_rng(0).normal(size=(1000, 2)) + [[8.0 * gap * k, 0.0] for k in y]
    rows = [{"a": x[0], "b": x[1], "label": int(k)} for x, k in zip(X, y, strict=True)]
    clicks.write_text("".join(json.dumps(row) + "\n" for row in rows))
    code, out, _ = run("stream", str(clicks), "--freeze", "100", "--every", "100")
    assert code == 0
    lines = out.splitlines()
    assert max(map(len, lines)) <= 80
    assert all(" ± " in line for line in lines[5:])


def test_standard_input_skips_what_was_seen(clicks, tmp_path, run, monkeypatch):
    def piped(lines):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"".join(lines))))
        assert run("stream", "-", *options(tmp_path))[0] == 0
        return (tmp_path / "state").read_bytes()

    piped(ndjson()[:130])
    parts = piped(ndjson())
    anew(tmp_path)
    assert piped(ndjson()) == parts
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(ndjson()[0])))
    code, _, err = run("stream", "-", *options(tmp_path))
    assert code == 2
    assert "standard input: has fewer bytes than were read (" in err


def test_rows_of_another_input_are_not_skipped(clicks, tmp_path, run, monkeypatch):
    def fed(lines, *more):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"".join(lines))))
        return run("stream", "-", *options(tmp_path, *more))

    state, lines = tmp_path / "state", ndjson(ROWS + 60)
    assert fed(lines[:ROWS])[0] == 0
    before = state.read_bytes()
    other = [*lines[200:ROWS], *lines[:200], *lines[ROWS:]]  # as many bytes, and more
    clicks.write_bytes(b"".join(other))
    for code, out, err in (fed(other), run("stream", str(clicks), *options(tmp_path))):
        assert (code, out) == (2, "")
        assert f"its first {load_meta(state)['offset']:,} bytes are not those that were" in err
        assert "or --from-here if all lines of this one are new" in err
        assert state.read_bytes() == before
    # the same rows, whether as one input or as the next one
    assert fed(lines)[0] == 0
    whole = [(tmp_path / name).read_bytes() for name in ("predictions", "monitor")]
    state.write_bytes(before)
    assert fed(lines[ROWS:], "--from-here")[0] == 0
    assert [(tmp_path / name).read_bytes() for name in ("predictions", "monitor")] == whole
    assert load_lines(state) == ROWS + 60
    # a bad line has its number in its own input
    code, _, err = fed([*lines[:3], b"nothing\n"], "--from-here")
    assert (code, err[:36]) == (2, "error: standard input, line 4: Expec")


def test_the_next_file_of_csv_may_have_the_header_again(tmp_path, run):
    header, *lines = csv()
    paths = [tmp_path / name for name in ("a.csv", "b.csv", "c.csv")]
    parts = [header, *lines[:150]], lines[150:], [header, *lines[150:]]
    for path, part in zip(paths, parts, strict=True):
        path.write_bytes(b"".join(part))
    for second in paths[1:]:
        anew(tmp_path)
        assert run("stream", str(paths[0]), *options(tmp_path))[0] == 0
        assert run("stream", str(second), *options(tmp_path, "--from-here"))[0] == 0
        end = load_state(tmp_path / "state", load_settings(tmp_path / "state"))
        assert (end.rows, end.bad) == (ROWS, 0)


def test_the_header_of_the_next_file_may_have_another_order(tmp_path, run):
    header, *lines = csv()

    def turned(line):
        return b",".join(reversed(line.rstrip(b"\n").split(b","))) + b"\n"

    (tmp_path / "a.csv").write_bytes(b"".join([header, *lines[:150]]))
    (tmp_path / "b.csv").write_bytes(b"".join(map(turned, [header, *lines[150:]])))
    (tmp_path / "c.csv").write_bytes(header.replace(b"\n", b"er\n") + b"".join(lines[150:]))
    (tmp_path / "all.csv").write_bytes(b"".join([header, *lines]))
    assert run("stream", str(tmp_path / "all.csv"), *options(tmp_path))[0] == 0
    whole = load_state(tmp_path / "state", load_settings(tmp_path / "state"))
    anew(tmp_path)
    assert run("stream", str(tmp_path / "a.csv"), *options(tmp_path))[0] == 0
    code, _, err = run("stream", str(tmp_path / "c.csv"), *options(tmp_path, "--from-here"))
    assert code == 2
    assert "line 1: this header has other names than" in err
    assert run("stream", str(tmp_path / "b.csv"), *options(tmp_path, "--from-here"))[0] == 0
    end = load_state(tmp_path / "state", load_settings(tmp_path / "state"))
    assert (end.rows, end.bad) == (ROWS, 0)
    assert end.learner.scorer == whole.learner.scorer


@pytest.mark.parametrize("what", ["state", "input"])
def test_a_refusal_leaves_no_lock(what, clicks, tmp_path, run):
    state = tmp_path / "state"
    if what == "state":
        state.write_text("hello\n")
    else:
        clicks = tmp_path / "gone.csv"
    before = sorted(tmp_path.iterdir())
    code, _, err = run("stream", str(clicks), "--target", "clicked", "--state", str(state))
    assert code == 2, err
    assert sorted(tmp_path.iterdir()) == before


def test_one_process_at_a_time_writes_to_a_state(clicks, tmp_path, run):
    (tmp_path / "link").symlink_to(tmp_path / "state")
    with locked(tmp_path / "state.lock", "this test", "busy"):
        for name in ("state", "link"):
            words = options(tmp_path, "--state", str(tmp_path / name))
            code, out, err = run("stream", str(clicks), *words)
            assert (code, out) == (2, "")
            assert f"{tmp_path / name}: another 'aucmax stream' is running on this state" in err
            assert "wait until it ends, stop it, or name another --state" in err
    assert not (tmp_path / "state").exists()
    assert run("stream", str(clicks), *options(tmp_path))[0] == 0


def test_a_lock_empties_no_file(clicks, tmp_path, run):
    (tmp_path / "poetry.lock").write_text("[[package]]\n")
    code, _, err = run("stream", str(clicks), "--state", str(tmp_path / "poetry"))
    assert code == 2
    assert f"{tmp_path / 'poetry.lock'}: is not empty, so it is not a lock file of aucmax" in err
    assert (tmp_path / "poetry.lock").read_text() == "[[package]]\n"


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full")
@pytest.mark.parametrize("name", ["monitor", "predictions", "state"])
def test_a_full_disk_names_the_file(name, clicks, tmp_path, run, monkeypatch):
    if name == "state":
        monkeypatch.setattr(replacing.os, "replace", full)
    else:
        (tmp_path / name).symlink_to("/dev/full")
    code, _, err = run("stream", str(clicks), *options(tmp_path))
    assert (code, err) == (2, f"error: {tmp_path / name}: No space left on device\n")
    assert not (tmp_path / "state").exists() or load_lines(tmp_path / "state") == 0


def full(*paths):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_what_a_state_says_is_on_the_disk_before_it(clicks, tmp_path, run, monkeypatch):
    """Files beside a state, then the state, then its name: in this order they reach the disk."""
    done, fsync, replace = [], os.fsync, os.replace
    identity = {}

    def synced(descriptor):
        fsync(descriptor)
        where = os.fstat(descriptor)
        identity[where.st_ino] = where.st_size
        done.append(where.st_ino)

    def replaced(source, target):
        assert done[-1] == os.stat(source).st_ino
        assert identity[done[-1]] == os.stat(source).st_size
        replace(source, target)
        done.append("replaced")

    monkeypatch.setattr(replacing.os, "fsync", synced)
    monkeypatch.setattr(replacing.os, "replace", replaced)
    assert run("stream", str(clicks), *options(tmp_path, "--every", "200"))[0] == 0
    beside = [(tmp_path / name).stat().st_ino for name in ("monitor", "predictions")]
    folder = tmp_path.stat().st_ino
    assert len(done) == 15
    for i in (0, 5, 10):  # the first has no lines
        assert done[i : i + 2] == beside
        assert done[i + 3] == "replaced"
        if os.name == "posix":
            assert done[i + 4] == folder


def test_a_bad_row_stops_and_the_stream_goes_on_once_it_is_corrected(clicks, tmp_path, run):
    lines = ndjson()
    clicks.write_bytes(b"".join([*lines[:170], b'{"a": "x", "label": true}\n', *lines[170:]]))
    code, _, err = run("stream", str(clicks), *options(tmp_path))
    assert code == 2
    assert err.startswith(f"error: {clicks}, line 171: feature 'a' holds 'x'")
    clicks.write_bytes(b"".join(lines))
    assert run("stream", str(clicks), *options(tmp_path))[0] == 0
    files = [tmp_path / name for name in ("state", "monitor", "predictions")]
    again = [path.read_bytes() for path in files]
    anew(tmp_path)
    assert run("stream", str(clicks), *options(tmp_path))[0] == 0
    assert [path.read_bytes() for path in files] == again


def test_bad_rows_can_be_left_out(clicks, tmp_path, run):
    lines = ndjson()
    clicks.write_bytes(b"".join([*lines[:170], b"nothing\n", *lines[170:]]))
    code, _, err = run("stream", str(clicks), *options(tmp_path, "--on-error", "skip"))
    assert code == 0
    first, last = but_for_alarms(err).splitlines()
    assert first.startswith(f"left out: {clicks}, line 171: Expecting value")
    assert last == f"note: 1 line of {ROWS + 1} left out"


def test_a_file_that_grows_is_followed(clicks, tmp_path, run, monkeypatch):
    whole = clicks.read_bytes()
    assert run("stream", str(clicks), *options(tmp_path))[0] == 0
    expected = (tmp_path / "state").read_bytes()
    anew(tmp_path)
    clicks.write_bytes(whole[:9990])  # in the middle of a line
    rest, waits = [whole[15000:], whole[9995:15000], whole[9990:9995]], []

    def sleep(seconds):  # it grows when the stream has waited four times
        waits.append(seconds)
        if rest and len(waits) % 4 == 0:
            append(clicks, [rest.pop()])

    monkeypatch.setattr(reading, "sleep", sleep)
    monkeypatch.setattr(reading, "monotonic", lambda: float(sum(waits)))
    code, _, err = run("stream", str(clicks), *options(tmp_path, "--follow", "--idle", "1.0"))
    assert (code, but_for_alarms(err)) == (0, "")
    assert 2.0 < sum(waits) < 2.5  # a second after the last line
    assert (tmp_path / "state").read_bytes() == expected


def renamed(path, lines):
    """Rename a file while it gets its last lines, then begin the next one."""
    old = path.rename(path.with_name("old"))
    append(old, lines[100:180])
    yield
    path.touch()  # by what rotates, before the writer goes on to it
    append(old, lines[180:195])
    yield
    append(old, lines[195:200])  # of which the last look did not know
    path.write_bytes(b"".join(lines[200:]))
    yield


def emptied(path, lines):
    """Copy a file once it is read, and empty it."""
    append(path, lines[100:200])
    yield
    path.write_bytes(b"".join(lines[200:]))
    yield


def emptied_and_grown(path, lines):
    """The same, where the next look finds more bytes than before."""
    path.write_bytes(b"".join(lines[100:]))
    yield


def append(path, lines):
    with path.open("ab") as stream:
        stream.write(b"".join(lines))


EMPTIED = "was emptied: continuing from its beginning (lines written after byte "
SAID = {
    renamed: "was replaced: read to its end, continuing with the new file",
    emptied: EMPTIED,
    emptied_and_grown: EMPTIED,
}


@pytest.mark.parametrize(
    ("rotate", "header"),
    [(renamed, [b"id,a,b,c,d,label\n"]), (emptied, []), (emptied_and_grown, [])],
)
def test_a_file_that_is_followed_goes_on_in_the_next(rotate, header, tmp_path, run, monkeypatch):
    lines = csv()[1:] if header else ndjson()
    path, state = tmp_path / ("log.csv" if header else "log.ndjson"), tmp_path / "state"
    path.write_bytes(b"".join([*header, *lines]))
    assert run("stream", str(path), *options(tmp_path))[0] == 0
    predicted = (tmp_path / "predictions").read_bytes()
    anew(tmp_path)
    path.write_bytes(b"".join([*header, *lines[:100]]))
    steps = rotate(path, lines)
    monkeypatch.setattr(reading, "sleep", lambda seconds: next(steps, None))
    code, _, err = run("stream", str(path), *options(tmp_path, "--follow", "--idle", "0"))
    assert code == 0
    assert but_for_alarms(err).startswith(f"note: {path}: {SAID[rotate]}")
    assert len(but_for_alarms(err).splitlines()) == 1
    end = load_state(state, load_settings(state))
    assert (end.rows, end.offset) == (ROWS, path.stat().st_size)  # of the new file
    assert (tmp_path / "predictions").read_bytes() == predicted
    assert run("stream", str(path), *options(tmp_path))[::2] == (0, "")


def load_settings(path):
    begun_with = load_meta(path)["settings"]
    return Settings(**begun_with | {"drop": tuple(begun_with["drop"])})


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
@pytest.mark.parametrize(
    "sent", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.exhaustive)]
)
def test_ctrl_c_while_it_waits_leaves_a_state_of_all_lines(sent, clicks, tmp_path, run):
    assert run("stream", str(clicks), *options(tmp_path))[0] == 0
    expected = (tmp_path / "state").read_bytes()
    anew(tmp_path)
    with open(tmp_path / "err", "w") as err, open(os.devnull, "w") as out:
        words = ["stream", str(clicks), *options(tmp_path, "--follow")]
        child = Child(words, os.dup(out.fileno()), os.dup(err.fileno()))
        until = time.monotonic() + 60
        while time.monotonic() < until:
            time.sleep(0.05)
            if (tmp_path / "state").exists() and (tmp_path / "state").read_bytes() == expected:
                break
        os.kill(child.pid, sent)
        assert child.wait(60.0) == {signal.SIGINT: 130, signal.SIGTERM: 143}[sent]
    assert (tmp_path / "state").read_bytes() == expected
    assert but_for_alarms((tmp_path / "err").read_text()).startswith("interrupted: ")


def test_the_model_is_that_of_one_fit(tmp_path, run):
    path, model = tmp_path / "rows.csv", tmp_path / "model.aucmax"
    path.write_bytes(b"".join(csv()))
    assert run("stream", str(path), "--drop", "id", "-o", str(model))[0] == 0
    X, y = values()
    fitted = AUCClassifier().fit(X, y)
    found = load(model)
    np.testing.assert_allclose(found.coef_, fitted.coef_, rtol=1e-9)
    assert found.feature_names_in_.tolist() == list("abcd")


def test_the_page_has_the_curves_the_test_and_what_moved(clicks, tmp_path, run, monkeypatch):
    page = tmp_path / "page.html"
    monkeypatch.setattr(
        report_of_stream, "MAX_DRAWN_LINES", 3
    )  # lines are left out, but not the last
    code, _, err = run("stream", str(clicks), *options(tmp_path, "--html", page))
    assert (code, but_for_alarms(err)) == (0, f"report written to {page}\n")
    text = page.read_text(encoding="utf-8")
    last = json.loads((tmp_path / "monitor").read_text().splitlines()[-1])
    for words in (
        *("the model that keeps learning", "Does learning pay off?", "What moved", "<svg"),
        *("Have rows changed?", f"yes, detected at row {last['drift']['row']}"),
        "at most 5 % of streams, however often",
        "Interval and p are valid for one look",
    ):
        assert words in text
    for key in ("prequential", "learning", "frozen"):
        assert f"{last[key]['auc']:.4f}" in text
    assert f"clicks.ndjson: {ROWS} rows, 4 features" in text


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--html", "page.txt"], "must end in .html"),
        (
            ["--half-life", "61"],
            "was started with --half-life 60.0, and this run has --half-life 61.0;",
        ),
        (["--learner", "spam"], "SPAM forgets nothing: half_life is for --learner moments"),
        (["--alpha", "0.5"], "was started with --alpha 0.0003, and this run has --alpha 0.5;"),
        (
            ["--follow", "--positive", "true"],
            "was started with no --positive, and this run has --positive;",
        ),
        (["--idle", "3"], "--idle needs --follow"),
        (["--learner", "spam", "-o", "model"], "--output needs the class moments"),
        (["--sep", "ab"], "--sep ab must be one character"),
        (["--half-life", "0.1"], "--half-life must be a number in"),
        (["--weight", "a"], "was started with no --weight, and this run has --weight a;"),
        (["--encoding", "utf-16"], "convert them to UTF-8 first"),
        (
            ["--format", "svmlight", "--weight", "a"],
            "--weight and --encoding are for NDJSON and CSV",
        ),
    ],
)
def test_what_does_not_go_together_is_one_line(words, message, clicks, tmp_path, run):
    clicks.write_bytes(b"".join(ndjson(60)))
    assert run("stream", str(clicks), *options(tmp_path))[0] == 0
    code, _, err = run("stream", str(clicks), *options(tmp_path, *words))
    assert code == 2
    assert message in err
    assert len(err.splitlines()) == 1


def test_another_file_or_a_damaged_state_is_told(clicks, tmp_path, run):
    assert run("stream", str(clicks), *options(tmp_path))[0] == 0
    clicks.write_bytes(b"".join(ndjson(10)))
    code, _, err = run("stream", str(clicks), *options(tmp_path))
    assert code == 2
    assert "has fewer bytes than were read" in err
    state = tmp_path / "state"
    state.write_bytes(state.read_bytes()[:-9])
    code, _, err = run("stream", str(clicks), *options(tmp_path))
    assert code == 2
    assert "cut short" in err


# ---- killed ------------------------------------------------------------------------------


def killed_until_done(clicks, tmp_path, rng, kills):
    """Run the command, killed at random moments; return the states' lengths after each kill.

    Half of the runs read standard input.
    """
    lengths = []

    def piped():
        sys.stdin = clicks.open()

    with open(os.devnull, "w") as nowhere:
        while True:
            file, prepare = rng.choice([(str(clicks), lambda: None), ("-", piped)])
            words = ["stream", file, *options(tmp_path)]
            child = Child(words, os.dup(nowhere.fileno()), os.dup(nowhere.fileno()), prepare)
            if len(lengths) < kills:
                time.sleep(rng.uniform(0.0, 0.15))
                os.kill(child.pid, signal.SIGKILL)
            code = child.wait(60.0)
            if code == 0:
                return lengths
            assert code == -signal.SIGKILL
            state = tmp_path / "state"
            lengths.append(load_lines(state) if state.exists() else 0)


def load_meta(path):
    return json.loads(path.read_bytes().split(b"\n")[1])


def load_lines(path):
    return load_meta(path)["lines"]


def attack(clicks, tmp_path, run, total):
    """Kill so often in all; the state, the monitor and the predictions are as if never killed.

    Returns how many lines were in the state at each kill.
    """
    files = [tmp_path / name for name in ("state", "monitor", "predictions")]
    assert run("stream", str(clicks), *options(tmp_path))[0] == 0
    expected = [path.read_bytes() for path in files]
    rng, lengths = random.Random(total), []
    while len(lengths) < total:
        anew(tmp_path)
        lengths += killed_until_done(clicks, tmp_path, rng, min(4, total - len(lengths)))
        assert [path.read_bytes() for path in files] == expected
    return lengths


no_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
ignored = pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")


@no_fork
@ignored
def test_a_run_that_was_killed_ends_with_the_same_bits(clicks, tmp_path, run):
    assert len(attack(clicks, tmp_path, run, 10)) >= 10


@no_fork
@ignored
@pytest.mark.exhaustive
def test_a_run_that_was_killed_very_often_ends_with_the_same_bits(clicks, tmp_path, run):
    lengths = attack(clicks, tmp_path, run, int(os.environ.get("AUCMAX_ATTACKS", "200")))
    found = {lines: lengths.count(lines) for lines in sorted(set(lengths))}
    print(f"{len(lengths)} kills; how often with so many lines in the state: {found}")


# ---- tables as they come -----------------------------------------------------------------


def visits(n=240, bad=()):
    """Return the lines of a table with words, gaps, yes and no, dates and amounts."""
    rng = np.random.default_rng(6)
    lines = ["visit;age;town;vip;fee;day;ill"]
    for i in range(n):
        age, town = rng.normal(50, 9), rng.choice(["Ulm", "Bonn", "Kiel"])
        ill = age + 8 * (town == "Ulm") + rng.normal(0, 9) > 58
        written = "" if i % 9 == 4 else f"{age:.1f}".replace(".", ",")
        fee = f"{rng.lognormal(8, 1):,.2f} €".translate(str.maketrans(",.", ".,"))
        day = np.datetime64("2024-01-01") + rng.integers(0, 200)
        vip = rng.choice(["yes", "no"])
        town = " Rom " if i in bad else town
        written, vip = ("n.k.", "perhaps") if i in bad else (written, vip)
        lines.append(f"V{i:05d};{written};{town};{vip};{fee};{day};{'yes' if ill else 'no'}")
    return [f"{line}\n".encode() for line in lines]


@pytest.fixture
def table(tmp_path, monkeypatch):
    """A table whose first 150 rows decide, and what is bad comes later."""
    monkeypatch.setattr(first_rows, "FIRST_ROWS", 150)
    path = tmp_path / "visits.csv"
    path.write_bytes(b"".join(visits(bad=(210, 230))))
    return path


def test_the_model_of_any_table_is_that_of_its_rows_encoded(table, tmp_path, run):
    """The encoder is that of the first rows; later words are others, bad cells are gaps."""
    code, _, err = run("stream", table, "--target", "ill", "-o", tmp_path / "m", "--alpha", 1e-3)
    assert code == 0
    assert "note: age: 17 of 150 missing: filled with the median" in err
    assert "cells that do not fit their column, taken as missing: age 2, vip 2" in err
    model = load(tmp_path / "m")
    few = tmp_path / "few.csv"
    few.write_bytes(b"".join(visits()[:151]))
    how = {"target": "ill", "prepare": True}
    first = datasets.read(few, **how, drop=["visit"])
    encoder = TableEncoder(missing=True).fit(frame_of(first))
    assert as_text([("columns", model[0])]) == as_text([("columns", encoder)])
    rest = datasets.read(table, **how, columns=first.columns)
    X, y = encoder.transform(frame_of(rest)), rest.target
    np.testing.assert_allclose(model[0].transform(frame_of(rest)), X, rtol=0)
    expected = AUCClassifier(1e-3).fit(X, y)
    np.testing.assert_allclose(model[-1].coef_, expected.coef_, rtol=1e-8, atol=1e-12)
    code, out, _ = run("score", tmp_path / "m", few)
    scores = [float(line.split(",")[1]) for line in out.splitlines()[1:]]
    np.testing.assert_allclose(scores, expected.decision_function(X[:150]), atol=1e-8)


def frame_of(rows):
    return declare(frame(rows.data, rows.columns), rows.columns)


def test_a_stream_of_any_table_goes_on_with_the_same_steps_and_bits(table, tmp_path, run):
    whole = table.read_bytes()
    assert (
        run("stream", table, "--target", "ill", "--state", tmp_path / "one", "--every", 80)[0] == 0
    )
    lines = whole.splitlines(True)
    for end in (202, 205, len(lines)):
        table.write_bytes(b"".join(lines[:end]))
        code, _, err = run(
            "stream", table, "--target", "ill", "--state", tmp_path / "two", "--every", 80
        )
        assert code == 0
        assert ("median" in err) == (end == 202)
    assert (tmp_path / "two").read_bytes() == (tmp_path / "one").read_bytes()


def test_standard_input_waits_for_the_rows_that_decide(table, tmp_path, run, monkeypatch):
    more = ("--target", "ill", "--every", 80, "--state")
    assert run("stream", table, *more, tmp_path / "file")[0] == 0
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(table.read_bytes())))
    assert run("stream", "-", "--format", "csv", *more, tmp_path / "piped")[0] == 0
    assert (tmp_path / "piped").read_bytes() == (tmp_path / "file").read_bytes()


def test_the_steps_of_a_model_and_of_moments_are_taken_over(table, tmp_path, good, run):
    few = tmp_path / "few.csv"
    few.write_bytes(b"".join(visits()[:151]))
    build = ("--target", "ill", "--min-rows", 1, "-o")
    good("moments", "build", few, *build, tmp_path / "moments")
    good("moments", "fit", tmp_path / "moments", "-o", tmp_path / "model")
    states = {}
    for name in ("moments", "model", "none"):
        like = () if name == "none" else ("--like", tmp_path / name)
        positive = load(tmp_path / "model").classes_.tolist()[1]
        state = ("--state", tmp_path / f"{name}.state")
        more = ("--target", "ill", "--positive", positive, *state)
        code, _, err = run("stream", table, *more, *like)
        assert code == 0
        assert ("median" in err) == (name == "none")
        states[name] = (tmp_path / f"{name}.state").read_bytes()
    assert states["moments"] == states["model"] == states["none"]
    good("moments", "build", table, *build, tmp_path / "other")
    code, _, err = run("stream", table, *more, "--like", tmp_path / "other")
    assert code == 2
    assert "the state was started with other steps" in err


def test_strict_streams_stop_at_a_cell_that_does_not_fit(table, run):
    code, _, err = run("stream", table, "--target", "ill", "--strict")
    assert code == 2
    assert "line 212" in err
    assert "column 'age' holds 'n.k.', which does not fit" in err


def test_numbers_alone_are_as_before(tmp_path, run, monkeypatch):
    """Nothing is held, learned or told."""
    state = run_through(State(Settings(format="csv", drop=("id",))), csv())
    path = tmp_path / "numbers.csv"
    path.write_bytes(b"".join(csv()))
    more = ("--drop", "id", "--state", tmp_path / "state")
    code, _, err = run("stream", path, *more)
    assert (code, but_for_alarms(err)) == (0, "")
    assert (tmp_path / "state").read_bytes() == bits(state, tmp_path / "plain")


def test_words_of_ndjson_are_levels(tmp_path, run):
    path = tmp_path / "rows.ndjson"
    rows = [{"a": i % 7, "town": "Ulm" if i % 3 else "Bonn", "y": i % 2} for i in range(400)]
    del rows[4]["town"]
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    code, _, err = run("stream", path, "-o", tmp_path / "m")
    assert code == 0
    assert "note: town: 2 words and gaps, a level each" in err
    names = ["a", "town_Bonn", "town_Ulm", "town_nan"]
    assert load(tmp_path / "m")[:-1].get_feature_names_out().tolist() == names


@pytest.mark.parametrize("late", [False, True])
def test_lines_that_are_not_utf8_are_read_as_by_train(late, tmp_path, run):
    towns = ["Ulm"] * 40 + ["Köln", "Ulm"] * 10
    rows = "".join(f"{k % 7},{town},{k % 3 % 2}\n" for k, town in enumerate(towns))
    first = "a,town,y\n" + "0,Düren,1\n" * late  # of UTF-8, where the others are not
    path = tmp_path / "x.csv"
    path.write_bytes(first.encode() + rows.encode("cp1252"))
    code, _, err = run("stream", path, "-o", tmp_path / "m")
    assert code == 0
    assert ("note: read as cp1252, as it is not UTF-8" in err) != late
    assert "town_Köln" in load(tmp_path / "m")[:-1].get_feature_names_out()
    where = "line 43" if late else "line 42"
    code, _, err = run("stream", path, "--encoding", "utf-8")
    assert code != 0
    assert f"{where}: not UTF-8 text; name its encoding (--encoding cp1252)" in err


@pytest.mark.parametrize("positive", [None, "YES"])
def test_other_spellings_of_labels_are_one(positive):
    def lines(words):
        rng = np.random.default_rng(0)
        for x in rng.normal(size=200):
            word = words[int(x > 0.5)]
            yield json.dumps({"a": x, "label": word[rng.integers(len(word))]}).encode() + b"\n"

    words = ["no", "No", "n"], ["yes", "Yes", "Y"]
    spelt = run_through(begun(positive=positive), lines(words))
    plain = run_through(begun(), lines((["no"] * 3, ["yes"] * 3)))
    assert [str(label)[0].lower() for label in spelt.learner.labels] == ["n", "y"]
    assert positive in (None, *spelt.learner.labels)
    assert stream_report(spelt)["prequential"] == stream_report(plain)["prequential"]


def test_titles_and_names_that_occur_twice_are_taken_as_by_train(table, tmp_path, run):
    header, *rows = visits()
    twice, states = header.replace(b"vip", b"town"), []
    for above in (b"", b"Visits of ward 3\n\n"):
        table.write_bytes(b"".join([above, twice, *rows[:200]]))
        state, more = tmp_path / f"{len(above)}.state", ("--target", "ill", "--sep", ";")
        code, _, err = run("stream", table, *more, "--every", 50, "--state", state)
        assert code == 0, err
        assert "note: town_2: another column called 'town'" in err
        assert ("line 3 names the columns; the lines above it are left out" in err) == bool(above)
        assert max(map(len, err.splitlines())) <= 80
        states.append(load_state(state, Settings(format="csv", target="ill", sep=";")))
    plain, titled = states
    assert (plain.rows, titled.rows, titled.bad) == (200, 200, 0)
    assert plain.learner.names == titled.learner.names


def test_titles_stand_above_the_header_of_the_next_file(table, tmp_path, run, monkeypatch):
    header, *rows = visits()
    titles = [b"Visits of ward 3\n", b"\n"]
    table.write_bytes(b"".join([*titles, header, *rows[:150]]))
    more = ("--target", "ill", "--sep", ";", "--state", tmp_path / "state", "--follow", "--idle", 0)

    def replaced():
        (tmp_path / "next").write_bytes(b"".join([b"May;2026\n", *titles, header, *rows[150:240]]))
        os.replace(tmp_path / "next", table)
        yield

    steps = replaced()
    monkeypatch.setattr(reading, "sleep", lambda seconds: next(steps, None))
    code, _, err = run("stream", table, *more)
    assert code == 0, err
    assert "was replaced" in err
    end = load_state(tmp_path / "state", Settings(format="csv", target="ill", sep=";"))
    assert (end.rows, end.bad) == (240, 0)


@pytest.mark.parametrize("sep", [b";", pytest.param(b"\t", marks=pytest.mark.exhaustive)])
def test_the_first_line_of_standard_input_shows_the_format(sep, table, run, monkeypatch):
    text = table.read_bytes().replace(b";", sep)
    expected = run("stream", table, "--target", "ill")[:2]
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text)))
    assert run("stream", "-", "--target", "ill")[:2] == expected
    table.write_bytes(text)
    kind = "csv" if sep == b";" else "tsv"
    assert run("stream", table, "--target", "ill", "--format", kind)[:2] == expected


@pytest.mark.parametrize(
    ("line", "kind"),
    [(b'{"a": 1}\n', "ndjson"), (b"\n", "ndjson"), (b"+1 3:0.5\n", "svmlight"), (b"a;b\n", "csv")],
)
def test_formats_of_lines(line, kind):
    assert format_of(line) == kind


def test_it_is_said_that_rows_are_awaited(table, run, monkeypatch):
    monkeypatch.setattr("aucmax.cli.stream.WAITING_SECONDS", 0.0)
    lines = iter(table.read_bytes().splitlines(True))

    class Slow(io.BytesIO):
        def readline(self):
            time.sleep(0.001)
            return next(lines, b"")

    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(Slow()))
    code, _, err = run("stream", "-", "--target", "ill")
    assert code == 0
    assert "the first 150 rows decide how columns become numbers: waiting for them" in err


def test_a_model_without_steps_takes_numbers_as_they_are(tmp_path, good, run):
    rows, model = tmp_path / "rows.csv", tmp_path / "plain.aucmax"
    X = np.random.default_rng(0).normal(size=(200, 2))
    lines = [f"{a},{b},{int(a > b)}" for a, b in X]
    rows.write_text("\n".join(["a,b,y", *lines]))
    good("train", rows, "--alpha", "0.1", "-o", model)
    expected = run("stream", rows)
    assert expected[0] == 0
    assert run("stream", rows, "--like", model)[:2] == expected[:2]
