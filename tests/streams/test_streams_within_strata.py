"""Streams within strata: each stratum is scored before it is learnt, and learnt as a whole."""

import json

import numpy as np
import pandas as pd
import pytest

from aucmax import AUCClassifier, ClassMoments, load
from aucmax.data.strata import Strata, digest_of
from aucmax.metrics import stratified_auc, stratified_auc_test
from aucmax.metrics.measured import paired_test
from aucmax.metrics.stratified import StratumAreas
from aucmax.streams.monitor import stream_report
from aucmax.streams.state import Settings, State, advance, load_state, save_state
from aucmax.streams.stratum_sums import PairedStrata

STRATA = 70


def values(seed=0, changes=STRATA):
    """Rows of strata, some of one class, whose levels differ; a sign changes at one of them."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 12, STRATA)
    day = np.repeat(np.arange(STRATA), sizes)
    X = rng.normal(size=(len(day), 3)) + rng.normal(size=(STRATA, 3))[day]
    sign = np.where(day < changes, 1.0, -1.0)
    level = 3.0 * rng.normal(size=STRATA)[day]
    centred = X[:, 0] - (np.bincount(day, X[:, 0]) / sizes)[day]
    y = 3.0 * sign * centred + level + rng.logistic(size=len(day)) > 0.5
    return X.round(4), y.astype(int), day, rng.integers(1, 4, len(day)).astype(float)


def csv(X, y, day, weight):
    rows = [f"d{d},{','.join(map(str, x))},{w},{k}" for x, k, d, w in zip(X, y, day, weight)]  # noqa: B905
    return [f"{line}\n".encode() for line in ["day,a,b,c,times,label", *rows]]


def ndjson(X, y, day, weight):
    rows = [
        dict(zip("abc", x, strict=True)) | {"day": d, "times": w, "label": k}
        for x, k, d, w in zip(X.tolist(), y.tolist(), day.tolist(), weight.tolist(), strict=True)
    ]
    return [json.dumps(row).encode() + b"\n" for row in rows]


def svmlight(X, y, day, weight):
    return [
        f"{k} qid:{d} {' '.join(f'{j}:{v}' for j, v in enumerate(x, 1))}\n".encode()
        for x, k, d in zip(X, y, day, strict=True)
    ]


WRITERS = {"csv": csv, "ndjson": ndjson, "svmlight": svmlight}
LINES = csv(*values())
WEIGHTS = ("positives", "pairs", "strata")


_USUAL = {"format": "csv", "strata": "day", "drop": ("times",), "freeze": 100}


def begun(**settings):
    return State(Settings(**_USUAL | settings))


def refuse(line, what):
    raise AssertionError(f"line {line}: {what}")


def run_through(state, lines, every=1000, on_row=None):
    for start in range(0, len(lines), every):
        advance(state.offset, lines[start : start + every], state, refuse, on_row)
    return state


def bits(state, path):
    save_state(state, path)
    return path.read_bytes()


@pytest.mark.parametrize("weighting", WEIGHTS)
@pytest.mark.parametrize("format", WRITERS)
def test_the_model_and_the_auc_are_those_of_all_rows_within_strata(format, weighting):
    X, y, day, weight = values()
    lines, predictions = WRITERS[format](X, y, day, weight), []
    of_weight = {} if format == "svmlight" else {"weight": "times"}
    column = "qid" if format == "svmlight" else "day"
    state = begun(format=format, strata=column, alpha=0.01, strata_weight=weighting, **of_weight)
    run_through(state, lines, on_row=predictions.append)
    w = weight if of_weight else None
    model, settings = state.model(), {"alpha": 0.01, "strata_weight": weighting}
    fitted = AUCClassifier(**settings).fit(X, y, w, strata=day)
    np.testing.assert_allclose(model.coef_, fitted.coef_, rtol=1e-9)
    np.testing.assert_allclose(model.intercept_, fitted.intercept_, rtol=1e-9)
    assert (model.strata_, model.strata_.column) == (fitted.strata_, column)
    assert model.strata_weight == weighting
    report = stream_report(state)
    scores = np.array([p.score for p in predictions])
    expected = stratified_auc(y, scores, day, w, weighting)
    np.testing.assert_allclose(
        [report["prequential"][name] for name in expected._fields], expected, rtol=1e-9
    )
    assert all(p.probability is None for p in predictions)


def test_a_stratum_is_scored_by_the_model_of_those_before():
    X, y, day, _ = values()
    predictions = []
    run_through(begun(refresh=0.0, alpha=0.01), LINES, on_row=predictions.append)
    for d in (20, 45, 69):
        before, rows = day < d, np.flatnonzero(day == d)
        fitted = AUCClassifier(0.01).fit(X[before], y[before], strata=day[before])
        ours = np.array([predictions[i].score for i in rows])
        theirs = fitted.decision_function(X[rows])
        ours, theirs = (scores - scores[0] for scores in (ours, theirs))
        np.testing.assert_allclose(ours / np.ptp(ours), theirs / np.ptp(theirs), atol=1e-9)


@pytest.mark.parametrize("half_life", [None, 25.0])
def test_no_cut_and_no_file_between_changes_a_bit(half_life, tmp_path):
    settings = {"half_life": half_life, "weight": "times"}
    whole = bits(run_through(begun(**settings), LINES), tmp_path / "whole")
    assert whole == bits(run_through(begun(**settings), LINES, 7), tmp_path / "cut")
    state = begun(**settings)
    for start in range(0, len(LINES), 23):  # most strata are open at a cut
        run_through(state, LINES[start : start + 23])
        report = stream_report(state)
        save_state(state, tmp_path / "state")
        state = load_state(tmp_path / "state", state.settings)
        assert stream_report(state) == report
    assert whole == bits(state, tmp_path / "resumed")


@pytest.mark.parametrize("weighting", WEIGHTS)
def test_old_strata_fade_as_wholes(weighting):
    X, y, day, weight = values()
    settings = {"half_life": 25.0, "refresh": 0.6}  # so that several strata wait together
    state = run_through(begun(strata_weight=weighting, weight="times", **settings), LINES)
    ends = np.append(np.flatnonzero(np.diff(day)), len(day) - 1)
    faded, total = 0.5 ** ((len(day) - 1 - ends) / 25.0), None
    for d, factor in enumerate(faded):
        rows = day == d
        one = ClassMoments([0, 1])
        one.add_strata(X[rows], y[rows], weight[rows], Strata.of(day[rows], rows.sum(), weighting))
        total = one.decay(factor) if total is None else total + one.decay(factor)
    ours = state.learner.moments()
    for name, array in total.kept.items():
        np.testing.assert_allclose(ours.kept[name], array, rtol=1e-9, atol=1e-12, err_msg=name)


def test_the_test_is_that_of_strata_since_the_freeze():
    X, y, day, _ = values()
    state, scores = begun(freeze=150), []
    run_through(state, LINES, on_row=lambda p: scores.append(p.score))
    since = np.flatnonzero(day >= day[state.baseline.rows])
    assert since[0] == state.baseline.rows >= 150  # whole strata
    frozen = X @ [state.baseline.scorer.weights[name] for name in "abc"]
    rows = y[since], np.array(scores)[since], frozen[since], day[since]
    test, report = stratified_auc_test(*rows), stream_report(state)["test"]
    names = ("difference", "low", "high", "p_value")
    np.testing.assert_allclose([report[k] for k in names], [getattr(test, k) for k in names])


@pytest.mark.parametrize("half_life", [None, 30.0])
def test_sums_are_those_of_areas_that_fade(half_life):
    rng = np.random.default_rng(5)
    rows, loss = rng.integers(1, 9, 40).astype(float), rng.random((2, 40)) ** 3
    omega = rng.random(40) * (rng.random(40) < 0.7)
    pair, whole = PairedStrata(half_life), PairedStrata(half_life)
    for g in range(40):
        pair.add(rows[g : g + 1], omega[g : g + 1], *loss[:, g : g + 1])
    whole.add(rows, omega, *loss)
    faded = omega * 0.5 ** ((rows.sum() - rows.cumsum()) / (half_life or np.inf))
    some = np.flatnonzero(omega)
    areas = [StratumAreas(some, (1.0 - of)[some], faded[some], faded[some]) for of in loss]
    for ours, theirs in zip(pair.scorers(), areas, strict=True):
        np.testing.assert_allclose(ours.auc(), theirs.interval("positives", 0.95), rtol=1e-9)
    gain = areas[1]._replace(auc=areas[1].auc - areas[0].auc)
    expected = paired_test(gain.share("positives") @ gain.auc, gain.spread("positives"), 0.95)
    np.testing.assert_allclose(pair.test()[:3], expected[:3], rtol=1e-9)
    assert pair.test() == whole.test()


def test_a_change_of_sign_raises_the_alarm_and_other_levels_do_not():
    fixed, changed = (
        run_through(begun(freeze=300), csv(*rows)) for rows in (big(), big(changes=400))
    )
    assert fixed.alarm is None
    days = big()[2]
    assert 400 < days[changed.alarm - 1] < 520
    assert changed.alarm == len(days) or days[changed.alarm] == days[changed.alarm - 1] + 1


def big(changes=800, seed=1):
    rng = np.random.default_rng(seed)
    day = np.repeat(np.arange(800), 6)
    X = rng.normal(size=(len(day), 3)) + 0.01 * day[:, None]  # levels drift all the time
    sign = np.where(day < changes, 2.0, -2.0)
    y = sign * (X[:, 0] - 0.01 * day) + rng.logistic(size=len(day)) > 0
    return X.round(4), y.astype(int), day, np.ones(len(day))


def test_a_stratum_that_comes_again_is_told_and_its_rows_can_be_left_out(tmp_path):
    again = csv(*values())
    line = again[3].split(b",")[0] + again[-1][again[-1].index(b",") :]
    told = []
    state = advance(0, [*again, line, again[-1]], begun(), lambda *what: told.append(what))
    number, message = told[0]
    assert number == len(again) + 1
    assert "the stratum 'd0' comes again after others" in message
    assert len(told) == 1  # the open stratum goes on
    assert bits(state, tmp_path / "a") != bits(run_through(begun(), again), tmp_path / "b")
    assert state.rows == len(again)


def test_a_model_of_a_stream_forgets_whole_strata_only(tmp_path):
    X, y, day, weight = values()
    y = np.where(day == 0, 1, y)  # the first label is that of the positives
    y[day == 1] = 1
    state = run_through(begun(refresh=0.0, alpha=0.01), csv(X, y, day, weight), every=50)
    save_state(state, tmp_path / "state")
    loaded = load_state(tmp_path / "state", state.settings)
    fitted = AUCClassifier(alpha=0.01).fit(X, y, strata=day).moments_.strata
    gone = day == 40
    for model in (state.model(), loaded.model()):
        known = model.moments_.strata
        order = np.argsort([digest_of(f"d{d}") for d in range(STRATA)])
        in_numbers = np.argsort(Strata.of(np.arange(STRATA), STRATA).digests)
        np.testing.assert_array_equal(
            known.rows[np.argsort(order)], fitted.rows[np.argsort(in_numbers)]
        )
        names, frame = np.array([f"d{d}" for d in day]), pd.DataFrame(X, columns=list("abc"))
        coef = model.coef_
        part = np.flatnonzero(gone)[1:]
        with pytest.raises(ValueError, match="1 stratum to subtract has another number of rows"):
            model.forget(frame.iloc[part], y[part], strata=names[part])
        np.testing.assert_array_equal(model.coef_, coef)
        model.forget(frame[gone], y[gone], strata=names[gone])
        rest = AUCClassifier(alpha=0.01).fit(X[~gone], y[~gone], strata=day[~gone])
        np.testing.assert_allclose(model.coef_, rest.coef_, rtol=1e-8)


@pytest.mark.parametrize("cell", ["zero", "1e999"])
def test_a_bad_first_row_of_a_stratum_does_not_close_the_one_before(cell, tmp_path):
    told = []
    bad = f"d999,1,2,{cell},1,1\n".encode()
    state = advance(0, [*LINES[:40], bad, *LINES[40:]], begun(), lambda *what: told.append(what))
    assert [number for number, _ in told] == [41]
    expected = run_through(begun(), LINES)
    np.testing.assert_array_equal(state.model().coef_, expected.model().coef_)
    assert state.rows == expected.rows


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"learner": "spam"}, "'spam' learns from one row after another and takes no strata"),
        ({"format": "svmlight"}, "svmlight text has its strata in qid: fields"),
        ({"strata": None, "strata_weight": "pairs"}, "name their column"),
        ({"strata_weight": "rows"}, "must be 'positives', 'pairs' or 'strata'"),
    ],
)
def test_what_takes_no_strata(settings, message):
    with pytest.raises(ValueError, match=message):
        begun(**settings)


@pytest.mark.parametrize(
    ("format", "strata", "line", "message"),
    [
        ("csv", "day", b",1,2,3,1,0\n", "the stratum is missing"),
        ("csv", "night", LINES[1], "there is no column of strata called 'night'"),
        ("ndjson", "day", b'{"a": 1, "label": 0}\n', "the stratum 'day' is missing"),
        ("svmlight", "qid", b"1 1:2\n", "the row has no qid:"),
        ("svmlight", None, b"1 qid:4 1:2\n", "the stream has no strata: use strata=qid"),
    ],
)
def test_rows_without_a_stratum_are_told(format, strata, line, message):
    told = []
    header = LINES[:1] if format == "csv" else []
    advance(
        0, [*header, line], begun(format=format, strata=strata), lambda *what: told.append(what)
    )
    assert message in told[0][1]


@pytest.fixture
def visits(tmp_path):
    (tmp_path / "visits.csv").write_bytes(b"".join(LINES))
    return tmp_path / "visits.csv"


@pytest.mark.usefixtures("undrawn")
def test_the_command_tells_the_auc_within_strata_and_saves_their_model(visits, tmp_path, run):
    X, y, day, _ = values()
    model, page = tmp_path / "m.aucmax", tmp_path / "page.html"
    options = ("--strata", "day", "--drop", "times", "--strata-weight", "pairs", "--every", 100)
    files = ("-o", model, "--html", page, "--monitor", tmp_path / "monitor")
    code, out, _ = run("stream", visits, *options, *files, "--freeze", 150, "--alpha", 0.01)
    assert code == 0
    assert "AUC, within strata (95 %)" in out
    saved = load(model)
    fitted = AUCClassifier(0.01, strata_weight="pairs").fit(X, y, strata=day)
    np.testing.assert_allclose(saved.coef_, fitted.coef_, rtol=1e-9)
    assert saved.strata_.column == "day"
    text = page.read_text(encoding="utf-8")
    assert "Have strata changed?" in text
    assert "Within strata of day, which are the units." in text
    assert "within strata" in run("evaluate", model, visits)[1]


def test_advice_is_told_once_and_the_last_report_is_written(visits, tmp_path, run):
    visits.write_bytes(b"".join([*LINES, *LINES[1:4]]).replace(b"label", b"booked", 1))
    options = (
        "--target",
        "booked",
        "--strata",
        "day",
        "--drop",
        "times",
        "--state",
        tmp_path / "s",
    )
    beside = ("--monitor", tmp_path / "monitor", "-o", tmp_path / "m.aucmax", "--json")
    reports = [run("stream", visits, *options, *beside, "--on-error", "skip")[1] for _ in range(2)]
    assert (tmp_path / "monitor").read_text() == reports[1]  # the second replaces the first
    assert len(reports[1].splitlines()) == 1
    _, _, err = run("stream", visits, *options[:-2], "--on-error", "skip")
    assert err.count("the stratum 'd0' comes again after others") == 3
    assert err.count("sort them by stratum") == 1
    assert "within strata of day" in run("evaluate", tmp_path / "m.aucmax", visits)[2]


def test_a_run_that_stopped_within_a_stratum_goes_on(visits, tmp_path, run):
    whole, cut = tmp_path / "whole.state", tmp_path / "cut.state"
    options = ("--strata", "day", "--drop", "times", "--freeze", 150)
    assert run("stream", visits, *options, "--state", whole)[0] == 0
    part = tmp_path / "growing.csv"
    for end in (31, 180, len(LINES)):
        part.write_bytes(b"".join(LINES[:end]))
        assert run("stream", part, *options, "--state", cut)[0] == 0
    for path, lines in ((whole, visits), (cut, part)):  # which are the same by now
        code, out, _ = run("stream", lines, *options, "--state", path, "--json")
        assert code == 0
        path.write_text(out)
    assert whole.read_text() == cut.read_text()


def test_words_and_gaps_beside_strata_become_features(tmp_path, run):
    X, y, day, _ = values()
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    frame["kind"] = np.where(X[:, 1] > 0.3, "blue", "red")
    frame.loc[::9, "b"] = np.nan
    rows = frame.assign(day=[f"2024-{1 + d // 28:02}-{1 + d % 28:02}" for d in day], y=y)
    rows.to_csv(tmp_path / "rows.csv", index=False)
    model = tmp_path / "m.aucmax"
    command = (tmp_path / "rows.csv", "--target", "y", "--strata", "day", "--alpha", 0.01)
    code, _, err = run("stream", *command, "-o", model)
    assert code == 0, err
    pipeline = load(model)
    encoded = pipeline[:-1].transform(frame)
    fitted = AUCClassifier(0.01).fit(encoded, y, strata=day)
    np.testing.assert_allclose(pipeline[-1].coef_, fitted.coef_, rtol=1e-9)


@pytest.mark.parametrize("name", ["visits.csv", "visits.ndjson"])
@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--strata", "label"), "column 'label' is both the label and their strata"),
        (("--strata", "a", "--target", "a"), "column 'a' is both the label and their strata"),
        (("--strata", "day", "--drop", "day"), "column 'day' is both dropped and their strata"),
        (("--strata", "times", "--weight", "times"), "is both the weight of the rows and their st"),
        (("--weight", "label"), "column 'label' is both the label and the weight of the rows"),
    ],
)
def test_a_column_with_two_roles_is_refused(name, options, message, tmp_path, run):
    path = tmp_path / name
    path.write_bytes(b"".join(WRITERS[name.removeprefix("visits.")](*values())))
    code, _, err = run("stream", path, *options)
    assert code != 0
    assert message in " ".join(err.split())
