"""The report: curves and bands, operating points, figures, and a page that loads nothing."""

import io
import json
import re
from dataclasses import dataclass, replace
from html.parser import HTMLParser

import numpy as np
import pandas
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console
from scipy.stats import binom
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from aucmax import AdditiveAUCClassifier, AUCClassifier, metrics, save
from aucmax.cli import main
from aucmax.columns.steps import Stages
from aucmax.data.columns import Column, Date
from aucmax.experiments import paired
from aucmax.explain.by_column import by_column
from aucmax.explain.column_shapes import Shape
from aucmax.explain.feature_effects import Effects
from aucmax.explain.pair_shapes import PairShape
from aucmax.explain.row_reasons import Reason
from aucmax.metrics.scored import Scored
from aucmax.report import comparison, curves, distributions, explained, figures, operating
from aucmax.report.curves import ScoredSets
from aucmax.report.operating import MAX_POINTS, operating_points
from aucmax.report.page import Page, ResultTable, Section, plain, write_page
from aucmax.report.provenance import provenance
from aucmax.report.reports import Report, as_json, inline, optional, unlisted
from aucmax.report.style import stroke
from aucmax.report.terminal import terminal
from aucmax.report.text import gap_text, percent_text, plain_number


def scored(n=400, seed=0, share=0.2, ties=False):
    rng = np.random.default_rng(seed)
    positive = rng.random(n) < share
    positive[:2] = True, False
    score = rng.normal(size=n) + positive
    return Scored(positive, np.round(score, 1) if ties else score)


# ---- curves


def test_wilson_covers_about_as_often_as_it_says():
    n, k = 60, np.arange(61)
    low, high = curves.wilson(k, np.full(61, n), 0.95)
    assert np.all((low >= 0) & (high <= 1) & (low < high))
    assert np.all((low <= k / n) & (k / n <= high))
    assert (low[0], high[-1]) == (0, 1)
    covered = [
        binom.pmf(k, n, p)[(low <= p) & (p <= high)].sum() for p in np.linspace(0.05, 0.95, 37)
    ]
    assert 0.94 < np.mean(covered) < 0.96
    assert curves.wilson(0, 0, 0.95) == (0, 1)


@pytest.mark.parametrize("ties", [False, True])
def test_the_roc_curve_is_the_curve_and_lies_in_its_band(ties):
    positive, score, *_ = scored(ties=ties)
    band = curves.roc(Scored(positive, score), 0.95)
    fpr, tpr, _ = metrics.roc_curve(positive, score)
    assert np.array_equal(band.x, fpr)
    assert np.array_equal(band.y, tpr)
    half = len(band.edge[0]) // 2
    upper = np.interp(band.x, band.edge[0][:half], band.edge[1][:half])
    lower = np.interp(band.x, band.edge[0][half:][::-1], band.edge[1][half:][::-1])
    assert np.all(band.y <= upper + 1e-12)
    assert np.all(band.y >= lower - 1e-12)


def test_the_roc_band_holds_the_true_point_of_a_threshold():
    rng = np.random.default_rng(1)
    truth = 1 - np.array([0.8413447, 0.5])  # of N(0, 1) and N(1, 1) above 1
    level, held = np.sqrt(0.95), 0
    for _ in range(400):
        negative = np.count_nonzero(rng.normal(size=80) > 1)
        positive = np.count_nonzero(rng.normal(size=50) + 1 > 1)
        low, high = curves.wilson([negative, positive], [80, 50], level)
        held += np.all((low <= truth) & (truth <= high))
    assert 0.92 < held / 400 < 0.98


def test_precision_and_recall_enclose_the_average_precision():
    for n in (300, 30_000):  # the second is thinned
        positive, score, *_ = scored(n)
        band = curves.precision_recall(Scored(positive, score), 0.95)
        assert (band.x[0], band.x[-1]) == (0, 1)
        assert np.all(np.diff(band.x) >= 0)
        area = np.sum(np.diff(band.x) * band.y[1:])
        assert area == pytest.approx(metrics.average_precision(positive, score), abs=2e-3)
        low, high = band.interval
        assert np.all(low <= band.y + 1e-12)
        assert np.all(high >= band.y - 1e-12)
        assert len(band.x) <= 1000


def test_curves_of_weighted_rows():
    positive, score, *_ = scored()
    weight = np.random.default_rng(0).exponential(size=len(score))
    for draw in (curves.roc, curves.precision_recall):
        plain = draw(Scored(positive, score), 0.95)
        equal = draw(Scored(positive, score, 3 + 0 * weight), 0.95)
        for one, other in ((plain.x, equal.x), (plain.y, equal.y)):
            assert one == pytest.approx(other)
        for one, other in zip(*(b.edge or b.interval for b in (plain, equal)), strict=True):
            assert one == pytest.approx(other)
    band = curves.roc(Scored(positive, score, weight), 0.95)
    assert np.trapezoid(band.y, band.x) == pytest.approx(metrics.roc_auc(positive, score, weight))
    band = curves.precision_recall(Scored(positive, score, weight), 0.95)
    area = np.sum(np.diff(band.x) * band.y[1:])
    assert area == pytest.approx(metrics.average_precision(positive, score, weight), abs=2e-3)
    # unequal weights are worth fewer rows, so the band is wider
    ends = (b.interval for b in (curves.precision_recall(Scored(positive, score), 0.95), band))
    plain, weighted = (np.mean(high - low) for low, high in ends)
    assert weighted > 1.2 * plain
    mean = curves.mean_roc([Scored(positive, score, weight)])
    assert np.trapezoid(mean.y, mean.x) == pytest.approx(
        metrics.roc_auc(positive, score, weight), abs=5e-3
    )


def test_mean_curves_over_splits():
    parts = [scored(seed=seed) for seed in range(4)]
    roc = curves.mean_roc(parts)
    areas = [metrics.roc_auc(*part) for part in parts]
    assert np.trapezoid(roc.y, roc.x) == pytest.approx(np.mean(areas), abs=5e-3)
    assert np.all(np.diff(roc.y) >= -1e-12)
    pr = curves.mean_precision_recall(parts)
    areas = [metrics.average_precision(*part) for part in parts]
    assert np.trapezoid(pr.y, pr.x) == pytest.approx(np.mean(areas), abs=1e-2)
    one = curves.mean_roc(parts[:1])
    assert np.array_equal(*one.interval)  # one split has no spread


# ---- operating points


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from([5, 50, 500]), st.booleans())
def test_operating_points_have_exact_counts(seed, n, ties):
    positive, score, *_ = scored(n, seed, ties=ties)
    points = operating_points("a", Scored(positive, score))
    assert points["threshold"][0] is None
    assert (points["tp"][0], points["fp"][0]) == (0, 0)
    assert points["thresholds"] == len(np.unique(score))
    for threshold, tp, fp in zip(points["threshold"], points["tp"], points["fp"], strict=True):
        called = np.zeros(n, bool) if threshold is None else score >= threshold
        assert tp == np.count_nonzero(called & positive)
        assert fp == np.count_nonzero(called & ~positive)
    start = points["tp"][points["start"]] + points["fp"][points["start"]]
    assert start <= n * max(0.01, 3 * np.mean(positive))  # the next of 1, 2, 5 is at most 2.5 times
    at = points["own"]
    own = score > 0
    assert points["tp"][at] == np.count_nonzero(own & positive)
    assert points["fp"][at] == np.count_nonzero(own & ~positive)


def test_the_cheapest_threshold_is_never_left_out():
    positive, score, *_ = scored(50_000, share=0.03)
    points = operating_points("a", Scored(positive, score))
    assert len(points["tp"]) <= MAX_POINTS
    assert points["exact"]
    fpr, tpr, _ = metrics.roc_curve(positive, score)
    n = positive.sum()
    for miss, alarm in [(1, 1), (10, 1), (37.5, 1), (1, 3), (1000, 1), (1, 0), (0, 1)]:
        best = np.min(miss * n * (1 - tpr) + alarm * fpr * (len(positive) - n))
        kept = miss * (n - np.array(points["tp"])) + alarm * np.array(points["fp"])
        assert kept.min() == pytest.approx(best, rel=1e-9, abs=1e-6)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from([5, 500, 3000]), st.booleans())
def test_budgets_are_kept_and_used_up(seed, n, ties):
    positive, score, *_ = scored(n, seed, share=0.01, ties=ties)
    listed = operating.budgets(Scored(positive, score))
    assert sum(one.first for one in listed) <= 1
    for one in listed:
        called = score >= one.threshold
        assert one.flagged == np.count_nonzero(called) <= one.share * n + 1e-9
        assert one.hits == np.count_nonzero(called & positive)
        more = score >= np.max(score[~called])
        assert np.count_nonzero(more) > one.share * n


def test_weights_are_repetitions_where_rows_are_flagged():
    positive, score, *_ = scored(400, ties=True)
    times = np.random.default_rng(3).integers(0, 4, 400)
    times[:2] = 1
    again = Scored(np.repeat(positive, times), np.repeat(score, times))
    scale = np.count_nonzero(times) / times.sum()  # weights are scaled to 1 on average
    weighed = operating_points("a", Scored(positive, score, times.astype(float)))
    repeated = operating_points("a", again)
    assert (weighed["weighted"], repeated["weighted"]) == (True, False)
    at = {t: k for k, t in enumerate(weighed["threshold"])}
    for t, tp, fp in zip(*(repeated[name] for name in ("threshold", "tp", "fp")), strict=True):
        there = weighed["tp"][at[t]], weighed["fp"][at[t]]
        assert there == pytest.approx((scale * tp, scale * fp))
    assert weighed["positives"] == pytest.approx(scale * repeated["positives"])
    of_each = (operating.budgets(Scored(positive, score, times * 7.0)), operating.budgets(again))
    for one, other in zip(*of_each, strict=True):
        assert one.threshold == other.threshold
        for name in ("flagged", "hits", "positives"):
            assert getattr(one, name) == pytest.approx(scale * getattr(other, name))
        assert isinstance(other.hits, int)
    # equal weights are none
    ones = operating_points("a", Scored(positive, score, np.full(400, 2.5)))
    assert ones["effective"] == pytest.approx([1.0, 1.0])
    assert ones["tp"] == pytest.approx(operating_points("a", Scored(positive, score))["tp"])
    uneven = operating_points("a", Scored(positive, score, np.where(positive, 1.0, 0.01)))
    assert uneven["effective"][0] * uneven["positives"] == pytest.approx(positive.sum())


def test_gains_and_lift_are_what_flagging_finds():
    test = scored(2000, share=0.02)
    positive, score, *_ = test
    gains, lift = (draw(test, 0.95) for draw in (curves.gains, curves.lift))
    assert (gains.x[-1], gains.y[-1], lift.y[-1]) == pytest.approx((1, 1, 1))
    order = np.argsort(-score)
    for at in (3, 100, len(gains.x) // 2):
        rows = order[: round(gains.x[at] * 2000)]
        assert gains.y[at] == pytest.approx(positive[rows].sum() / positive.sum())
        assert lift.y[at] == pytest.approx(positive[rows].mean() / positive.mean())
    for line in (gains, lift):
        low, high = line.interval
        assert np.all((low <= line.y + 1e-12) & (line.y <= high + 1e-12))
    equal = Scored(positive, score, np.full(2000, 3.0))
    for one, other in ((gains, curves.gains), (lift, curves.lift)):
        assert one.y == pytest.approx(other(equal, 0.95).y)


def test_figures_of_rare_events_are_zoomed_to_the_data():
    few, many = scored(5000, share=0.004), scored(5000, share=0.3)
    for test, rare in ((few, True), (many, False)):
        _, precision = curves.ranking_figures(ScoredSets({"a": [test]}))
        gains, lift = (
            curves.gains_figure(ScoredSets({"a": [test]})),
            curves.lift_figure(ScoredSets({"a": [test]})),
        )
        roc = curves.roc_figure(ScoredSets({"a": [test]}), few=True)
        assert precision.ylog == gains.xlog == lift.xlog == lift.ylog == rare
        assert roc.xlog
        share = np.mean(test[0])
        assert precision.guide[1] == (share, share)
    low, high = curves.ranking_figures(ScoredSets({"a": [few]}))[1].ylim
    assert 0 < low < np.mean(few[0]) < 1 < high
    steep = Scored(few[0], few[1] + 20 * few[0])
    assert curves.ranking_figures(ScoredSets({"a": [steep]}))[0].xlim[1] < 0.1
    assert curves.ranking_figures(ScoredSets({"a": [few]}))[0].xlim[1] > 1


def test_scores_by_class_and_calibration():
    positive, score, *_ = scored(20_000, share=0.01)
    figure = distributions.score_figure(ScoredSets({"m": [Scored(positive, score)]}))
    assert list(figure.lines) == ["m: positive", "m: negative"]
    for line in figure.lines.values():
        assert line.y[::2].sum() == pytest.approx(1)
    odds = np.exp(score - 0.5) / 99  # the true probability, for classes of N(1, 1) and N(0, 1)
    chance = odds / (1 + odds)
    line = distributions.calibration(Scored(positive, chance))
    low, high = line.interval
    assert len(line.x) == 10
    assert np.all(np.diff(line.x) > 0)
    assert np.mean((low <= line.x) & (line.x <= high)) >= 0.8
    twice = distributions.calibration(Scored(positive, 2 * chance / (1 + chance)))
    low, high = twice.interval
    assert np.mean((low <= twice.x) & (twice.x <= high)) <= 0.5
    ones = distributions.calibration(Scored(positive, np.full(20_000, 0.01)))
    assert len(ones.x) == 1
    with pytest.raises(ValueError, match="between 0 and 1"):
        distributions.calibration(Scored(positive, score))
    assert distributions.calibration_figure(ScoredSets({"m": [Scored(positive, chance)]})).xlog


def test_reasons_in_words():
    why = [[Reason("a", 2310.0, 0.4101), Reason("b", 0.0, 4.1e-6)], []]
    table = explained.reasons_table([6, 0], np.array([*range(7)]) / 8, np.arange(7) > 3, why)
    assert table.rows == [
        ("7", "0.75", "positive", "a = 2,310 (+0.41), b = 0 (+4.10 × 10⁻⁶)"),
        ("1", "0", "negative", "–"),
    ]


def test_words_bins_and_gaps_in_reasons():
    why = [Reason("job", "boss, clerk", 0.5), Reason("age", float("nan"), 0.25)]
    assert explained.reasons_text(why) == "job: boss, clerk (+0.5), age: missing (+0.25)"


def test_pairs_in_reasons():
    why = [
        Reason("age × income", (62.0, 20_000.0), 0.41),
        Reason("job × age", ("clerk", float("nan")), 0.25),
        Reason("w × h × age", (2.0, "old"), 0.125),
    ]
    assert explained.reasons_text(why) == (
        "age = 62 with income = 20,000 (+0.41), job: clerk with age: missing (+0.25), "
        "w × h × age: 2 × old (+0.125)"
    )


def test_maps_have_one_scale_of_colours():
    columns, values = (Column("a"), Column("b")), (np.array([1.0, 2.0]), np.array([3.0]))
    added = (np.array([[0.5], [-0.5]]), np.array([[1.0], [-2.0]]))
    share = np.array([[0.2], [0.8]])
    maps = explained.map_figures([PairShape(columns, values, one, share) for one in added])
    assert [figure.name for figure in maps] == ["map-1", "map-2"]
    for figure in maps:
        assert (figure.title, figure.xlabel, figure.ylabel) == ("a × b", "a", "b")
        assert (figure.columns, figure.names) == (["1", "2"], ["3"])
        assert {(line.most_added, line.largest_share) for line in figure.lines.values()} == {
            (2.0, 0.8)
        }
    svg, behind = maps[1].drawn()
    assert "fill-opacity: 0.5" in svg
    assert [line["added"] for line in behind["lines"]] == [[1.0], [-2.0]]


def test_words_that_add_the_same_are_one_line():
    words = np.array(["Shop 1", "SHOP 1", "Shop 2", "Kiosk", "stall", "van", "SHOP 2"], object)
    added = np.array([0.5, 0.5, 0.5, 0.1 + 0.2, 0.3, 0.3, 0.3])
    shape = Shape(Column("seller"), words, added, added - 0.1, added + 0.1)
    figure = explained.shape_figures([shape])[0]
    assert figure.names == ["Shop 1, Shop 2", "Kiosk, stall, 2 more"]
    assert figure.lines["seller"].x.tolist() == [0.5, 0.1 + 0.2]


def test_figures_of_shapes_have_one_scale():
    def shape(name, values, added, reach, **more):
        values = np.array(values, dtype=object if isinstance(values[0], str) else float)
        added, reach = np.array(added, dtype=float), np.array(reach, dtype=float)
        column = Date(name) if name == "day" else Column(name)
        return Shape(column, values, added, added - reach, added + reach, **more)

    words = [f"word {k}" for k in range(30)]
    found = [
        shape("day", np.arange(18262, 18294), np.linspace(-1, 1, 32), np.full(32, 0.1)),
        shape("7", [1, 2, 4], [0, 0.1, 0], [np.nan] * 3, missing=-0.5),
        shape("word", words, np.linspace(0.3, -0.3, 30), np.full(30, 5.0)),
    ]
    day, few, word = explained.shape_figures(found)
    assert day.ylim == few.ylim == word.xlim
    assert day.ylim == pytest.approx((-1.1 - 0.04 * 2.2, 1.1 + 0.04 * 2.2))  # not that of 5
    assert (few.title, few.caption) == ("feature 7", "Where it is missing: -0.5.")
    assert few.lines["feature 7"].interval is None
    assert list(word.names) == words[:10] + words[-10:]
    assert word.caption == "10 that lie between these are left out."
    assert word.lines["word"].x.tolist() == [*found[2].added[:10], *found[2].added[-10:]]
    svg, behind = day.drawn()
    assert behind["x"]["date"]
    assert ">2020-Feb<" in svg
    assert not few.drawn()[1]["x"]["date"]


def test_the_axes_of_a_skewed_column_are_those_of_most_rows():
    def figure(values, added, rows, date=False, **more):
        quantiles = np.quantile(rows, [0.01, *np.arange(1, 10) / 10, 0.99])
        none = np.full(len(values), np.nan)
        column = Date("x") if date else Column("x")
        shape = Shape(column, np.array(values, float), np.array(added, float), none, none, **more)
        return explained.shape_figures([shape._replace(quantiles=quantiles)])[0]

    even, skewed = np.arange(101.0), np.append(np.arange(1, 101.0), 10_000.0)
    plain = figure(even, abs(even - 50), even)
    assert (plain.xlog, plain.xlim, plain.caption) == (False, None, "")
    assert list(plain.rug) == pytest.approx([*range(10, 100, 10)])
    svg, _ = plain.drawn()
    assert svg != figure(even, abs(even - 50), even * 0.9).drawn()[0]  # where rows are is drawn
    far = figure([1, 50, 100, 10_000], [0, 1, 0, -90], skewed)
    assert far.xlog
    assert far.ylim == pytest.approx((-0.04, 1.04))  # not that of one row
    assert far.caption == "The axis is logarithmic. The curve leaves the frame: -90 at 10,000."
    for sign in (1, -1):
        order = slice(None, None, sign)
        values = sign * np.array([0, 50, 99, 9_999.0])[order]
        cut = figure(values, np.array([0, 1, 0, 0.5])[order], sign * (skewed - 1))
        assert not cut.xlog
        assert np.sort(sign * np.array(cut.xlim)) == pytest.approx([-0.04 * 98, 99 + 0.04 * 98])
        there = "9,999" if sign == 1 else "-9,999"
        assert cut.caption == f"The axis leaves out one percent of the rows, which reach {there}."
    dated = figure([1, 50, 100, 10_000], [0, 1, 0, -9], skewed, date=True)
    assert not dated.xlog
    assert dated.caption.endswith(
        "which reach 1997-05-19. The curve leaves the frame: -9 at 1997-05-19."
    )


def test_a_figure_of_effects():
    found = Effects(
        np.array(["x" * 50, "漢字", "c"]), np.array([3.0, -2.0, 0.0]), np.array([3.0, -2.0, 0.0]),
        np.array([1.0, np.nan, np.nan]), np.array([5.0, np.nan, np.nan]),
    )  # fmt: skip
    figure = explained.effects_figure(found)
    assert list(figure.names) == ["x" * 50, "漢字"]
    assert "1 smaller one is left out." in figure.caption
    svg, behind = figure.drawn()
    assert "漢字" in svg
    assert "x" * 27 + "…" in svg
    assert behind["names"] == list(figure.names)
    (line,) = behind["lines"]
    assert line["x"] == [3.0, -2.0]
    assert (line["low"], line["high"]) == ([1.0, None], [5.0, None])
    rows = explained.effects_table(found, 0.9).rows
    assert rows[0] == ("x" * 50, "+3", "+1 to +5", "+3")
    assert rows[1] == ("漢字", "-2", "–", "-2")
    several = found._replace(coef=np.array([np.nan, -2.0, 0.0]))
    table = explained.effects_table(several, most=2)
    assert table.rows[0] == ("x" * 50, "3", "1 to 5", "–")
    assert table.caption == (
        "and 1 smaller one. A column with a nonlinear effect has no single weight, and no sign."
    )
    assert "nor a sign" not in explained.effects_table(found).caption
    assert explained.effects_table(found, most=1).caption == "and 2 smaller ones"


def test_who_can_be_told_apart():
    # a and b, b and c, c and d alike; all others differ
    differ = ~np.tri(4, k=1, dtype=bool)
    assert paired.groups_alike(differ) == [(0, 1), (1, 2), (2, 3)]
    assert paired.groups_alike(np.zeros((3, 3), dtype=bool)) == [(0, 2)]
    assert paired.groups_alike(np.ones((3, 3), dtype=bool)) == []
    assert paired.groups_alike(np.zeros((1, 1), dtype=bool)) == []
    differ = np.zeros((3, 3), dtype=bool)
    differ[0, 2] = True
    assert paired.groups_alike(differ) == [(0, 1), (1, 2)]


def test_figures_of_many_scorers_side_by_side():
    names, areas = ["a", "b", "c"], [(0.9, 0.8, 0.95), (0.8, 0.7, 0.9), (0.5, 0.4, 0.6)]
    figure = comparison.areas_figure(names, areas, "C")
    assert figure.names == names
    assert figure.lines["AUC"].x.tolist() == [0.9, 0.8, 0.5]
    apart = [(0.0, 0.0, 0.0), (-0.1, -0.2, 0.05), (-0.4, -0.5, -0.3)]
    figure = comparison.differences_figure(names, apart, [(0, 1)], "C")
    _, behind = figure.drawn()
    assert [line["alone"] for line in behind["lines"]] == [True, False]
    bar = figure.lines["not told apart: a to b"]
    assert np.all(bar.x > 0.05)
    assert bar.y.tolist() == [-0.2, 1.2]


# ---- figures and characters


def test_figures_take_the_colours_of_the_page():
    positive, score, *_ = scored()
    scored_by = {f"<{i}>": [Scored(positive, score)] for i in range(9)}
    figure = curves.ranking_figures(ScoredSets(scored_by, of="a"))[0]
    svg, _ = figure.drawn()
    assert "#fe00" not in svg
    assert "#fd00" not in svg
    assert "var(--series-7)" in svg
    assert "<metadata" not in svg
    assert "DejaVu" not in svg
    assert 'aria-label="A: ROC curve: &lt;0&gt;' in svg
    ids = re.findall(r'\bid="([^"]*)"', svg)
    assert len(ids) == len(set(ids))
    assert all(name.startswith("roca-") for name in ids)
    for reference in re.findall(r'href="#([^"]*)"|url\(#([^)]*)\)', svg):
        assert "".join(reference) in ids
    assert len({figure.stroke_of(name) for name in scored_by}) == 9


def test_one_test_set_gets_a_confidence_band_and_several_their_spread():
    tests = {name: [scored(seed=seed) for seed in range(3)] for name in ("a", "b")}
    for figure in curves.ranking_figures(ScoredSets(tests, bands=["b"]), ({"a": "best"}, {})):
        assert figure.caption.startswith("Mean over 3 test sets of the")
        assert "Band (of b): one standard deviation" in figure.caption
        assert figure.lines["a"].interval is None
        assert len(figure.lines["b"].interval) == 2
        assert figure.lines["a"].detail == ("best" if figure.title == "ROC curve" else "")
    share = np.mean([positive.mean() for positive, *_ in tests["a"]])
    assert figure.guide[1] == pytest.approx((share, share))
    one = {name: parts[:1] for name, parts in tests.items()}
    roc, precision = curves.ranking_figures(ScoredSets(one, 0.9))
    assert "the joint 90 % region of both rates" in roc.caption
    assert "Wilson's 90 % interval of the precision" in precision.caption
    assert (roc.title, precision.title) == ("ROC curve", "Precision and recall")
    assert np.array_equal(roc.lines["b"].y, curves.roc(one["b"][0], 0.9).y)


def test_convergence_takes_what_solvers_give():
    courses = {
        "exact": ([1.0], [0.0]),
        "spam": ([1, 2, 300], [0.1, 0.01, np.nan]),
        "none": ([1.0], [np.inf]),
    }
    figure = figures.convergence_figure(courses, name="a", title="T", caption="C")
    assert list(figure.lines) == ["exact", "spam"]
    assert figure.lines["exact"].detail == "ends at < 1e-14"


@pytest.mark.parametrize(
    ("share", "text"),
    [(0, "0 %"), (1, "100 %"), (0.0024, "0.24 %"), (0.512, "51.2 %"), (1e-7, "0.00001 %"),
     (0.99996, "99.996 %"), (0.5, "50 %"), (0.01, "1 %")],
)  # fmt: skip
def test_shares_in_percent(share, text):
    assert percent_text(share) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0, "0"), (4.1e-6, "4.10 × 10⁻⁶"), (-0.0483, "-0.0483"), (12.04, "12"), (12345, "12,300"),
     (145.2, "145"), (7.5, "7.5"), (1e17, "1.00 × 10¹⁷")],
)  # fmt: skip
def test_numbers_for_people(value, text):
    assert plain_number(value) == text


def test_strokes_differ():
    assert len({stroke(i) for i in range(30)}) == 30
    assert gap_text(3e-5) == "3.0e-05"
    assert gap_text(-3e-16) == "< 1e-14"


# ---- the page

NASTY = '</script><script>alert("x")</script><b>&\''


class Outline(HTMLParser):
    """Tags, ids, and whatever would load something."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.ids, self.loads, self.labelled = [], [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        for name, value in attrs:
            if name == "id":
                self.ids.append(value)
            if name in ("src", "href", "xlink:href", "srcset", "action", "data"):
                self.loads.append(value)
            if tag == "label" and name == "for":
                self.labelled.append(value)


def nasty_page(path):
    positive, score, *_ = scored()
    figure = curves.ranking_figures(ScoredSets({NASTY: [Scored(positive, score)]}))[0]
    page = Page(
        NASTY,
        NASTY,
        [
            Section(
                NASTY,
                NASTY,
                [ResultTable((NASTY, "b"), [(NASTY, "1")], NASTY)],
                [replace(figure, title=NASTY, caption=NASTY, names=[NASTY])],
                [operating_points(name, Scored(positive, score)) for name in (NASTY, "b")],
            )
        ],
        provenance("aucmax " + NASTY, [("data", NASTY)], 0),
        verdict=NASTY,
    )
    write_page(page, path)
    return path.read_text(encoding="utf-8")


def test_words_are_escaped_and_nothing_is_loaded(tmp_path):
    text = nasty_page(tmp_path / "a.html")
    assert "<script>alert" not in text
    assert "<b>&" not in text
    outline = Outline(text)
    assert outline.tags.count("script") == 5
    assert all(value.startswith(("#", "data:")) for value in outline.loads)
    assert not re.search(r"@import|url\((?!#)", text)
    assert len(outline.ids) == len(set(outline.ids))
    assert {"flagged", "rows-a-day", "cost-miss", "cost-alarm", "scorer"} <= set(outline.labelled)
    assert set(outline.labelled) <= set(outline.ids)
    points = json.loads(re.search(r'id="points">(.*?)</script>', text, re.DOTALL).group(1))
    assert points[0]["name"] == NASTY
    assert list(tmp_path.iterdir()) == [tmp_path / "a.html"]


BITS = (
    *(
        "</script>",
        "<script>",
        "<img src=x onerror=a()>",
        "<svg/onload=a()>",
        "</style>",
        "</title>",
    ),
    *(
        '"',
        "'",
        "`",
        "<!--",
        "-->",
        "]]>",
        "&",
        "&lt;",
        "{{",
        "}}",
        "{%",
        "%}",
        "javascript:",
        "\\",
    ),
    *(
        "\x1b[31m",
        "\x9b2J",
        "\u202e",
        "\x00",
        "\x7f",
        "\n",
        "\r",
        "\t",
        "\u2028",
        "\ud800",
        "=1",
        "é",
    ),
)


def test_whatever_a_name_holds_it_is_a_word(tmp_path):
    """In pages it is escaped, on the terminal and in JSON it is visible, and JSON gives it back."""
    rng = np.random.default_rng(0)
    positive, score = np.arange(30) % 3 == 0, rng.normal(size=30)
    outlines = set()
    for _ in range(20):
        a, b, c, d = ("".join(BITS[k] for k in rng.integers(len(BITS), size=4)) for _ in range(4))
        tables = [ResultTable((a, b), [(c, d)], a)]
        sections = [Section(b, c, tables, [], [operating_points(d, Scored(positive, score))])]
        page, data = Page(a, b, sections, [("command", c)], d), {"names": [a, b, c, d]}
        write_page(page, tmp_path / "a.html")
        text = (tmp_path / "a.html").read_text(encoding="utf-8")
        outline = Outline(text)
        outlines.add((tuple(outline.tags), len(outline.loads)))
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800]", text)
        for shown in (plain(page), as_json(data)):
            assert all(sign.isprintable() or sign == "\n" for sign in shown)
        assert json.loads(as_json(data)) == data
    assert len(outlines) == 1


@dataclass(frozen=True, kw_only=True)
class Inner:
    b: np.ndarray
    left_out: float | None = optional()


@dataclass(frozen=True, kw_only=True)
class Outer(Report):
    a: float
    inner: Inner = inline()
    none: Inner | None = inline()
    interval: metrics.AUCInterval
    drawn: object = unlisted()


def test_the_fields_of_a_report_are_the_keys_of_its_json(tmp_path):
    interval = metrics.auc_interval([0, 1, 1, 0], [0.1, 0.2, 0.3, 0.25])
    report = Outer(
        a=np.float64("nan"), inner=Inner(b=np.arange(2)), none=None, interval=interval, drawn=object
    )
    keys = {"a": None, "b": [0, 1], "interval": pytest.approx(interval._asdict())}
    assert json.loads(as_json(report.contents())) == keys
    written = replace(report, html=tmp_path, inner=Inner(b=np.arange(2), left_out=0.5))
    extra = {"html": str(tmp_path), "left_out": 0.5}
    assert json.loads(as_json(written.contents())) == {**keys, **extra}


def test_a_page_that_fails_leaves_the_old_one(tmp_path):
    path = tmp_path / "a.html"
    path.write_text("old")
    with pytest.raises(TypeError):
        write_page(Page("a", "b", [Section("c", points=[{"name": "a", "tp": object()}])]), path)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_provenance_names_what_was_run():
    facts = dict(provenance("aucmax demo", [("data", "x")], 3))
    assert facts["command"] == "aucmax demo"
    assert (facts["data"], facts["seed"]) == ("x", "3")
    for package in ("aucmax", "Python", "numpy", "scipy", "scikit-learn", "numba"):
        assert re.match(r"\d+\.\d+", facts[package]), package
    assert re.match(r"\d{4}-\d\d-\d\d \d\d:", facts["date"])


# ---- evaluate and demo write it


def run(*arguments):
    with pytest.raises(SystemExit) as end:
        main([str(argument) for argument in arguments])
    return end.value.code


@pytest.fixture
def files(tmp_path):
    rng = np.random.default_rng(0)
    y = (rng.random(300) < 0.3).astype(int)
    X = rng.normal(size=(300, 3)) + np.outer(y, [1, 0.5, 0])
    rows = ["a,b,c,label"] + [f"{a},{b},{c},{t}" for (a, b, c), t in zip(X, y, strict=True)]
    (tmp_path / "rows.csv").write_text("\n".join(rows) + "\n")
    model = AUCClassifier(0.01).fit(X, y)
    model.feature_names_in_ = np.array(["a", "b", "c"], dtype=object)
    save(model, tmp_path / "m.aucmax")
    return tmp_path


@pytest.mark.usefixtures("few_penalties")
def test_evaluate_writes_the_numbers_it_prints(files, capsys):
    page = files / "e.html"
    other = ("--logistic", files / "rows.csv", "--json", "--html", page)
    assert run("evaluate", files / "m.aucmax", files / "rows.csv", *other) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["html"] == str(page)
    text = page.read_text(encoding="utf-8")
    for scorer in report["scorers"]:
        for number in ("auc", "average_precision", "precision_at_k", "recall_at_fpr"):
            assert f">{scorer[number]:.4f}<" in text
    assert "DeLong" in text
    assert "Wilson" in text
    assert "rows.csv: 300 rows, 3 features" in text
    assert "aucmax evaluate" in text
    assert text.count("<figure") == 7
    assert "What drives the score" in text
    assert re.search(r"a = [\d.]+ \(\+[\d.]+\)", text)
    assert re.search(r'class="verdict">Flag the 50 % of the rows .* (AUC|ties)', text)
    for budget in report["budgets"]:
        assert f"<td>{budget['flagged']:,}</td>" in text


@pytest.mark.usefixtures("undrawn")
def test_the_page_of_a_model_with_pairs(files, capsys):
    rng = np.random.default_rng(0)
    rows = pandas.DataFrame({"age": rng.integers(20, 23, 400), "city": rng.choice(["A", "B"], 400)})
    rows["label"] = ((rows.age > 21) == (rows.city == "A")).astype(int)
    rows.to_csv(files / "pairs.csv", index=False)
    model = AdditiveAUCClassifier([("age", "city")], losses=("square",), cv=2)
    model.fit(rows[["age", "city"]], rows["label"])
    save(model.best_estimator_, files / "pairs.aucmax")
    page = files / "pairs.html"
    assert run("evaluate", files / "pairs.aucmax", files / "pairs.csv", "--html", page) == 0
    text = page.read_text(encoding="utf-8")
    assert "How the score depends on pairs of columns" in text
    assert "<h3>age × city</h3>" in text
    assert re.search(r"age = 2\d with city: [AB] \(\+[\d.]+\)", text)
    with_it = model.decision_function(rows[["age", "city"]])
    pair = by_column(Stages.of(model, rows[["age", "city"]])).added()[:, 2]
    test = comparison.paired_test(rows["label"].to_numpy() == 1, with_it, with_it - pair)
    row = rf"age × city</th>\s*<td>\+{test.difference:.4f}</td>\s*<td>\{test.low:+.4f} to"
    assert re.search(row, text)


@pytest.mark.usefixtures("undrawn")
def test_the_page_of_a_model_with_probabilities(files, capsys):
    rows = pandas.read_csv(files / "rows.csv")
    model = make_pipeline(StandardScaler(), LogisticRegression())
    save(model.fit(rows[["a", "b", "c"]], rows["label"]), files / "lr.aucmax")
    assert run("evaluate", files / "lr.aucmax", files / "rows.csv", "--html", files / "p.html") == 0
    text = (files / "p.html").read_text(encoding="utf-8")
    assert "<h3>Calibration</h3>" in text
    expected = model.predict_proba(rows[["a", "b", "c"]])[:, 1].sum()
    assert f"In all {expected:,.5g} positives were expected" in text
    assert "the objective of a LogisticRegression is not known" in text


@pytest.mark.usefixtures("undrawn")
def test_demo_for_research_writes_a_page(tmp_path, capsys):
    assert run("demo", "--research", "--html", tmp_path / "d.html") == 0
    text = (tmp_path / "d.html").read_text(encoding="utf-8")
    out = capsys.readouterr().out
    assert str(tmp_path / "d.html") in out
    for gap in re.findall(r"VRSPAM after 20 passes +(\S+)", out):
        assert gap in text
    assert text.count("<figure") == 2
    assert "relative gap" in text


def test_pages_that_cannot_be_written(files, capsys):
    evaluate = ("evaluate", files / "m.aucmax", files / "rows.csv", "--html")
    for where, message in [
        (files / "a.pdf", "must end in .html"),
        (files, "this is a folder"),
        (files / "no" / "a.html", "there is no folder"),
    ]:
        assert run(*evaluate, where) == 2
        out, err = capsys.readouterr()
        assert (out, err.count("\n")) == ("", 1)
        assert message in err


def test_the_axis_of_aucs_ends_at_one_and_holds_the_bands():
    alphas, spread = np.array([0.01, 0.1, 1.0]), np.array([0.01, 0.02, np.nan])
    y = np.array([0.97, 0.999, np.nan])
    lines = {"square": figures.Line(alphas, y, figures.around(y, spread))}
    floor, top = figures.tuning_figure(lines, (0.1, 0.999), "C").ylim
    assert (top, floor <= 0.97) == (1.0, True)
    y = np.array([0.96, 0.97, np.nan])
    lines = {"square": figures.Line(alphas, y, figures.around(y, spread))}
    floor, top = figures.tuning_figure(lines, (0.1, 0.97), "C").ylim
    assert top == pytest.approx(0.99 + 0.05 * (0.99 - floor))
    assert floor <= 0.96


def test_one_page_is_shown_four_ways(tmp_path):
    table = ResultTable(("", "AUC", "verdict"), [("exact", "0.9", "tie")], "Read so.", [0], (2,))
    page = Page(
        "Title",
        "rows.csv: 3 rows",
        [
            Section("Results", "Settings.", [table, ResultTable.facts([("alpha", 1e-3)])]),
            Section("Only on the page", tables=[ResultTable(("",), [("hidden",)])],
                    on_terminal=False),
            Section("Words", "seen"),
        ],
    )  # fmt: skip
    screen = Console(width=80, file=io.StringIO())
    terminal(page, screen)
    lines = [line.rstrip() for line in screen.file.getvalue().splitlines()]
    assert plain(page).splitlines() == lines
    assert lines == [
        "rows.csv: 3 rows", "", "Results", "Settings.", "",
        "       AUC  verdict", "exact  0.9  tie", "Read so.", "",
        "alpha  0.001", "", "Words", "seen",
    ]  # fmt: skip
    write_page(page, tmp_path / "a.html")
    text = (tmp_path / "a.html").read_text(encoding="utf-8")
    for word in (
        "Title",
        "rows.csv: 3 rows",
        "Settings.",
        ">0.9<",
        "Read so.",
        ">0.001<",
        "hidden",
    ):
        assert word in text
    write_page(page, tmp_path / "a.md")
    text = (tmp_path / "a.md").read_text(encoding="utf-8")
    assert text.startswith("# Title\n\nrows.csv: 3 rows\n\n## Results\n\nSettings.\n\n")
    assert "|  | AUC | verdict |\n| --- | --- | --- |\n| exact | 0.9 | tie |\n\nRead so." in text
    assert "\n- alpha: 0.001\n" in text


def test_a_figure_goes_into_a_file_too(tmp_path):
    x = np.array([1.0, 10.0, 100.0])
    y = np.array([0.5, np.nan, 0.7])
    line = figures.Line(x, y, figures.around(y, np.full(3, 0.1)), detail="best .7")
    figure = figures.Figure("a-b", "T", "passes", "AUC", {"one": line}, xlog=True)
    figure.save(tmp_path / "a.svg")
    text = (tmp_path / "a.svg").read_text(encoding="utf-8")
    for word in ("one", "best .7", "passes", "AUC", ">T<"):
        assert word in text
    assert "#fe00" not in text + figure.drawn()[0]
    with pytest.raises(ValueError, match=r"must end in \.png, \.svg or \.pdf"):
        figure.save(tmp_path / "a.gif")
