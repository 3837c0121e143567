"""The report in headless Chromium: it loads, the slider moves the numbers, wide and narrow."""

import base64
import csv
import hashlib
import html
import re
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest

from aucmax.cli import main
from aucmax.data.columns import Column
from aucmax.experiments import demo
from aucmax.explain.pair_shapes import PairShape
from aucmax.metrics.scored import Scored
from aucmax.report.curves import ScoredSets, ranking_figures
from aucmax.report.explained import map_figures
from aucmax.report.operating import operating_points
from aucmax.report.page import Page, ResultTable, Section, write_page
from browser import CHROMIUM, Browser

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium")

WIDE, NARROW, NARROWEST = 1200, 400, 360
# Before the page: collects whatever goes wrong. After it: acts, and leaves what it saw in the DOM.
BEFORE = """<script>
window.wrong = [];
addEventListener("error", (e) => window.wrong.push(String(e.message || e.target.outerHTML)), true);
addEventListener("unhandledrejection", (e) => window.wrong.push(String(e.reason)));
addEventListener("securitypolicyviolation", (e) => window.wrong.push(e.blockedURI));
for (const kind of ["error", "warn"]) console[kind] = (...x) => window.wrong.push(x.join(" "));
</script>"""
AFTER = """<script>
const $ = (id) => document.getElementById(id);
const numbers = () => Object.fromEntries(
  ["threshold-value", "flagged-value", "tp", "fp", "fn", "tn", "precision", "recall", "lift",
   "per-hit", "fpr", "cost", "cheapest-text"].map((id) => [id, $(id).textContent]));
const press = (key) => $("flagged").dispatchEvent(
  new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
const set = (id, value, event = "input") => {
  $(id).value = value;
  $(id).dispatchEvent(new Event(event, { bubbles: true }));
};
const seen = (() => { ACTIONS })();
const outside = [...document.querySelectorAll("main *")].filter((e) => {
  const box = e.getBoundingClientRect();
  return box.width > 0 && box.right > innerWidth + 1 && !e.closest(".scroll, svg");
}).map((e) => e.outerHTML.slice(0, 80));
// violations of the policy are told by tasks of their own
setTimeout(() => parent.postMessage(JSON.stringify({
  number: NUMBER, seen, outside, wrong: window.wrong, width: innerWidth,
  page: document.documentElement.scrollWidth,
  loaded: performance.getEntriesByType("resource").map((e) => e.name),
}), "*"), 100);
</script>"""
# Pages stand in frames: a window of Chromium cannot be as narrow as a telephone.
FRAMES = """<!DOCTYPE html><meta charset="utf-8"><pre id="seen"></pre><script>
const all = [];
addEventListener("message", (e) => {
  all.push(JSON.parse(e.data));
  document.getElementById("seen").textContent = JSON.stringify(all);
});
</script>"""
FRAME = """<iframe style="border: 0" width="{width}" height="900" srcdoc="{page}"></iframe>"""


def allowing(element, text):
    """Let the policy of a page's text allow one more script, or style sheet."""
    kind, words = re.fullmatch("<(script|style)>(.*)</.*>", element, re.DOTALL).groups()
    digest = base64.b64encode(hashlib.sha256(words.encode()).digest()).decode()
    rule = {"script": "script-src ", "style": "style-src-elem "}[kind]
    assert text.count(rule) == 1
    return text.replace(rule, f"{rule}'sha256-{digest}' ")


@pytest.fixture(scope="session")
def opened(tmp_path_factory):
    """Open pages, at some widths, run a script in each, and give what they report."""
    folder = tmp_path_factory.mktemp("browser")
    browser = Browser(folder / "profile")

    def opened(pages, actions="return null;"):
        frames = [FRAMES]
        for number, (page, width) in enumerate(pages):
            text = page.read_text(encoding="utf-8")
            assert text.count("<head>") == text.count("</body>") == 1
            script = AFTER.replace("ACTIONS", actions).replace("NUMBER", str(number))
            text = allowing(script, text)
            text = text.replace("<head>", "<head>" + BEFORE).replace("</body>", script + "</body>")
            frames.append(FRAME.replace("{width}", str(width)).replace("{page}", html.escape(text)))
        frame = folder / "frames.html"
        frame.write_text("".join(frames), encoding="utf-8")
        return sorted(browser.texts(frame, len(pages)), key=lambda r: r["number"])

    yield opened
    browser.close()


@pytest.fixture(scope="session")
def look(opened):
    """Open pages, see that nothing goes wrong in them, and give what they saw."""

    def look(pages, actions="return null;"):
        reports = opened(pages, actions)
        for (_, width), report in zip(pages, reports, strict=True):
            assert report["wrong"] == []
            assert report["loaded"] == []
            assert report["width"] == width
            assert report["outside"] == []
            assert report["page"] <= width
        return [report["seen"] for report in reports]

    return look


@pytest.fixture(scope="session")
def scored():
    rng = np.random.default_rng(0)
    positive = rng.random(2500) < 0.1
    return Scored(positive, rng.normal(size=2500) + 1.5 * positive)


@pytest.fixture(scope="session")
def page(tmp_path_factory, scored):
    """A page with two scorers of the same rows, and long words."""
    positive, score, *_ = scored
    name = "a_name_without_any_space_that_is_longer_than_a_narrow_page_is_wide.aucmax"
    scores = {name: score, "backwards": -score}
    figure = ranking_figures(ScoredSets({name: [scored]}, of=name))[0]
    table = ResultTable(["", *scores, "c", "d", "e"], [[name, *["0.9734 to 0.9953"] * 5]], name)
    path = tmp_path_factory.mktemp("page") / "page.html"
    write_page(
        Page(
            name,
            name,
            [
                Section(
                    name,
                    name,
                    [table],
                    [replace(figure, caption=name)],
                    [operating_points(n, Scored(positive, s)) for n, s in scores.items()],
                )
            ],
            [("command", name)],
        ),
        path,
    )
    return path


def whole(text):
    return int(text.replace(",", ""))


def share(text):
    return float(text.rstrip(" %\u00a0")) / 100


def test_the_slider_moves_the_numbers(look, page, scored):
    positive, score, *_ = scored
    points = operating_points("a", scored)
    n, flagged = len(score), np.add(points["tp"], points["fp"])
    places = [0, 30, 31, 250, 700, 1000]
    moves = "".join(f"set('flagged', {place}); out.push(numbers());" for place in places)
    (seen,) = look([(page, WIDE)], f"const out = [numbers()]; {moves} return out;")
    for place, shown in zip([None, *places], seen, strict=True):
        tp, fp = whole(shown["tp"]), whole(shown["fp"])
        (i,) = np.flatnonzero((np.array(points["tp"]) == tp) & (np.array(points["fp"]) == fp))
        if place is None:
            assert i == points["start"]
        else:  # none at the left end, one row a bit further, then by the logarithm
            wanted = 0 if place == 0 else n ** ((place - 30) / 970)
            assert (
                abs(np.log1p(tp + fp) - np.log1p(wanted))
                <= 0.02 + np.abs(np.log1p(flagged) - np.log1p(wanted)).min()
            )
        t = points["threshold"][i]
        called = np.zeros(n, bool) if t is None else score >= t
        assert (tp, fp) == (
            np.count_nonzero(called & positive),
            np.count_nonzero(called[~positive]),
        )
        assert whole(shown["fn"]) == positive.sum() - tp
        assert whole(shown["tn"]) == (~positive).sum() - fp
        assert share(shown["recall"]) == pytest.approx(tp / positive.sum(), rel=6e-3)
        assert share(shown["fpr"]) == pytest.approx(fp / (~positive).sum(), rel=6e-3)
        assert f"{tp + fp:,} of {n:,} rows" in shown["flagged-value"]
        if called.any():
            right = tp / (tp + fp)
            assert share(shown["precision"]) == pytest.approx(right, rel=6e-3)
            lift = float(shown["lift"].rstrip("×"))
            assert lift == pytest.approx(right / positive.mean(), rel=6e-3)
            assert float(shown["per-hit"]) == pytest.approx(fp / tp, rel=6e-3)
            assert float(shown["threshold-value"]) == pytest.approx(t, rel=6e-3)
        else:
            assert shown["precision"] == shown["lift"] == shown["per-hit"] == "–"
            assert shown["threshold-value"] == "above every score"
        # a miss costs as much as there are negatives to a positive, to one digit
        assert whole(shown["cost"]) == 8 * (positive.sum() - tp) + fp
    assert len({shown["cost"] for shown in seen}) > 3


def test_alerts_a_day(look, page):
    (seen,) = look(
        [(page, WIDE)],
        """set("flagged", 1000);
        const out = [$("flagged-value").textContent];
        set("rows-a-day", "50000");
        out.push($("flagged-value").textContent);
        set("flagged", 0);
        out.push($("flagged-value").textContent);
        return out;""",
    )
    assert [text.replace("\u00a0", " ") for text in seen] == [
        "100 %, 2,500 of 2,500 rows",
        "100 %, 2,500 of 2,500 rows, 50,000 alerts a day",
        "0 %, 0 of 2,500 rows, 0 alerts a day",
    ]


def test_costs_change_the_cost_and_the_cheapest(look, page, scored):
    positive, score, *_ = scored
    (seen,) = look(
        [(page, WIDE)],
        """const out = [];
        for (const [miss, alarm] of [["1", "1"], ["20", "1"], ["1", "7.5"], ["", "-3"]]) {
          set("cost-miss", miss);
          set("cost-alarm", alarm);
          const before = numbers();
          $("cheapest").click();
          out.push([before, numbers(), $("flagged").getAttribute("aria-valuetext")]);
        }
        return out;""",
    )
    thresholds = []
    for (miss, alarm), (before, after, words) in zip(
        [(1, 1), (20, 1), (1, 7.5), (0, 0)], seen, strict=True
    ):
        for shown in (before, after):
            cost = miss * whole(shown["fn"]) + alarm * whole(shown["fp"])
            assert float(shown["cost"].replace(",", "")) == pytest.approx(cost, abs=0.006)
        everywhere = [
            miss * np.count_nonzero(positive & (score < t))
            + alarm * np.count_nonzero(~positive & (score >= t))
            for t in [*score, np.inf]
        ]
        assert float(after["cost"].replace(",", "")) == pytest.approx(min(everywhere), abs=0.006)
        assert after["cost"] in after["cheapest-text"]
        assert f"cost {after['cost']}" in words
        thresholds.append(after["threshold-value"])
    assert float(thresholds[1]) < float(thresholds[0]) < float(thresholds[2])


def test_another_scorer_can_be_chosen(look, page, scored):
    positive, score, *_ = scored
    (seen,) = look(
        [(page, WIDE)], "set('scorer', '1', 'change'); $('own').click(); return numbers();"
    )
    assert whole(seen["tp"]) == np.count_nonzero(positive & (-score > 0))


def test_what_counts_as_no_cost_is_told(look, page):
    (seen,) = look(
        [(page, NARROWEST)],
        """const out = [];
        const note = $("cost-note"), invalid = (id) => $(id).getAttribute("aria-invalid");
        const tried = [["1", "2"], ["", "2"], ["", "-3"], ["0", "-0.5"], ["0", "1"]];
        for (const [miss, alarm] of tried) {
          set("cost-miss", miss);
          set("cost-alarm", alarm);
          const shown = note.getBoundingClientRect().height > 0;
          out.push([shown, note.textContent, invalid("cost-miss"), invalid("cost-alarm")]);
        }
        return out;""",
    )
    missed = "The cost of a missed positive is not a number and counts as 0."
    alarm = "The cost of a false alarm is negative and counts as 0."
    assert seen == [
        [False, "", "false", "false"],
        [True, missed, "true", "false"],
        [True, f"{missed} {alarm}", "true", "true"],
        [True, alarm, "false", "true"],
        [False, "", "false", "false"],
    ]


TABLES = """return [...document.querySelectorAll(".scroll")].map((e) => {
  const hint = e.previousElementSibling.getBoundingClientRect().height > 0;
  e.focus();
  const focused = document.activeElement === e && e.tabIndex === 0;
  const wide = e.scrollWidth > e.clientWidth + 1;
  e.scrollLeft = 1e6;
  const last = e.querySelector("tr > :last-child").getBoundingClientRect();
  return { wide, hint, focused, shadows: getComputedStyle(e).backgroundAttachment,
    reached: last.right <= e.getBoundingClientRect().right + 1 };
});"""


def test_a_table_that_scrolls_says_so(look, page, reports):
    paths = (page, reports / "compare.html", reports / "cv.html")
    pages = [(path, width) for path in paths for width in (WIDE, NARROW, NARROWEST)]
    for (path, width), seen in zip(pages, look(pages, TABLES), strict=True):
        for table in seen:
            assert table["hint"] == table["focused"] == table["wide"]
            assert table["reached"]
            assert table["shadows"] == "local, local, scroll, scroll"
        # both kinds are seen: a long name is too wide for any page, eight columns for a narrow one
        if path != reports / "cv.html":
            assert any(table["wide"] for table in seen) == (width < WIDE or path == page)


def test_the_table_of_rows_to_flag_fits_a_phone(look, reports):
    """By leaving out what the panel shows for any number of rows."""
    script = """const table = document.querySelector(".panel ~ .scroll");
    const shown = [...table.querySelectorAll("thead th")].filter((th) => th.offsetWidth > 0);
    return [table.scrollWidth <= table.clientWidth + 1, shown.map((th) => th.textContent)];"""
    page = reports / "evaluate.html"
    wide, phone = look([(page, WIDE), (page, NARROW)], script)
    assert [wide[0], phone[0]] == [True, True]
    left_out = [name for name in wide[1] if name not in phone[1]]
    assert left_out == ["lift", "false alarms per hit"]


def test_keys_move_the_slider(look, page, scored):
    """From one threshold to the next, however near they are on the axis."""
    (seen,) = look(
        [(page, WIDE)],
        """const s = $("flagged"), flagged = () => $("flagged-value").textContent;
        s.focus();
        set("flagged", 0);
        const out = [document.activeElement === s, s.type, s.labels[0].textContent];
        for (const key of ["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown"]) {
          press(key);
          out.push(flagged().split(" of ")[0]);
        }
        return out;""",
    )
    assert seen[:3] == [True, "range", "flag the highest scores:"]
    shares = [text.replace("\u00a0", " ") for text in seen[3:]]
    assert shares == ["0 %, 0", "0.04 %, 1", "0.08 %, 2", "0.04 %, 1"]


HOVER = """
const figure = document.querySelector("figure"), svg = figure.querySelector("svg");
const behind = JSON.parse(figure.querySelector("script").textContent);
const [left, top, width, height] = behind.box;
const at = new DOMPoint(left + 0.5 * width, top + 0.5 * height)
  .matrixTransform(svg.getScreenCTM());
const move = (x, y) => svg.dispatchEvent(
  new PointerEvent("pointermove", { clientX: x, clientY: y, bubbles: true }));
const tip = figure.querySelector(".tip"), hidden = [tip.hidden];
move(at.x, at.y);
hidden.push(tip.hidden);
const words = tip.textContent;
move(at.x, at.y + 2000);
hidden.push(tip.hidden);
return [hidden, words, figure.querySelector(".operating circle") !== null];"""


def test_values_on_hover_and_the_operating_point(look, page, scored):
    line = ranking_figures(ScoredSets({"a": [scored]}))[0].lines["a"]
    for hidden, words, marked in look([(page, WIDE), (page, NARROW)], HOVER):
        assert hidden == [True, False, True]
        assert marked
        x, y = map(float, re.search(r"rate ([\d.]+) %.*: ([\d.]+) %", words).groups())
        assert x == pytest.approx(50, abs=2)
        assert y / 100 == pytest.approx(np.interp(x / 100, line.x, line.y), abs=0.02)


DOTS = """
const figure = [...document.querySelectorAll("figure")]
  .find((e) => e.querySelector("h3").textContent === "Which can be told apart");
const svg = figure.querySelector("svg"), tip = figure.querySelector(".tip");
const behind = JSON.parse(figure.querySelector("script").textContent);
const [left, top, width, height] = behind.box, rows = behind.names.length;
return behind.names.map((name, i) => {
  const at = new DOMPoint(left + 0.3 * width, top + height * (i + 0.6) / rows)
    .matrixTransform(svg.getScreenCTM());
  svg.dispatchEvent(new PointerEvent("pointermove", { clientX: at.x, clientY: at.y }));
  return [name, tip.textContent];
});"""


def test_dots_tell_their_name_and_value(look, reports):
    (seen,) = look([(reports / "compare.html", NARROW)], DOTS)
    assert sorted(name for name, _ in seen) == ["exact", "logistic", "vrspam"]
    for name, words in seen:
        assert words.startswith(f"{name}difference: ")
    assert seen[0][1] == f"{seen[0][0]}difference: 0 (0 to 0)"  # the best, from itself


ON_A_MAP = """
const figure = document.querySelector("figure"), svg = figure.querySelector("svg");
const tip = figure.querySelector(".tip"), saved = [];
const behind = JSON.parse(figure.querySelector("script").textContent);
const [left, top, width, height] = behind.box, [a, b] = behind.x.lim, [c, d] = behind.y.lim;
HTMLAnchorElement.prototype.click = function () {
  saved.push(decodeURIComponent(this.href.split(",").slice(1).join(",")));
};
figure.querySelectorAll("button.save")[1].click();
const told = [[0, 0], [1, 2], [1, 0]].map(([x, y]) => {
  const at = new DOMPoint(left + width * (x - a) / (b - a), top + height * (d - y) / (d - c))
    .matrixTransform(svg.getScreenCTM());
  svg.dispatchEvent(new PointerEvent("pointermove", { clientX: at.x, clientY: at.y }));
  return tip.hidden ? null : tip.textContent;
});
return [told, saved[0]];"""


def test_boxes_of_a_map_tell_their_cell_and_value(look, tmp_path):
    shape = PairShape(
        (Column("=age"), Column("city")),
        (np.array([20.0, np.nan]), np.array(["Ulm", "Bonn", "Rome"], dtype=object)),
        np.array([[-0.2, 0.0, 0.4], [0.1, 0.3, np.nan]]),
        np.array([[0.4, 0.1, 0.1], [0.3, 0.1, 0.0]]),
    )
    page = tmp_path / "map.html"
    write_page(Page("map", "", [Section("map", figures=map_figures([shape]))]), page)
    for told, saved in look([(page, WIDE), (page, NARROWEST)], ON_A_MAP):
        assert told == [
            "=age 20, city Romeraises the score: 0.4, 10 % of the rows",
            "=age missing, city Ulmraises the score: 0.1, 30 % of the rows",
            None,  # there are no rows
        ]
        head, *cells = csv.reader(saved.lstrip("\ufeff").splitlines())
        assert head == ["line", "'=age", "city", "adds", "share of the rows"]
        assert sorted(cells) == [
            ["lowers the score", "20", "Bonn", "0", "0.1"],
            ["lowers the score", "20", "Ulm", "-0.2", "0.4"],
            ["raises the score", "20", "Rome", "0.4", "0.1"],
            ["raises the score", "missing", "Bonn", "0.3", "0.1"],
            ["raises the score", "missing", "Ulm", "0.1", "0.3"],
        ]


SAVES = """
const saved = [];
HTMLAnchorElement.prototype.click = function () {
  saved.push([this.download, decodeURIComponent(this.href.split(",").slice(1).join(","))]);
};
for (const button of document.querySelectorAll("button.save")) button.click();
return saved;"""


def test_figures_and_tables_can_be_saved(look, page, scored):
    (saved,) = look([(page, WIDE)], SAVES)
    kinds = [name.rsplit(".", 1)[1] for name, _ in saved]
    assert kinds == ["csv", "svg", "csv"]
    assert all(text.startswith("\ufeff") for name, text in saved if name.endswith(".csv"))
    table, drawing, values = (text.removeprefix("\ufeff") for _, text in saved)
    ElementTree.fromstring(drawing)
    assert "var(" not in drawing
    assert "ROC curve" in drawing
    rows = list(csv.reader(values.splitlines()))
    assert rows[0][1:3] == ["false-positive rate", "recall (true-positive rate)"]
    line = ranking_figures(ScoredSets({"a": [scored]}))[0].lines["a"]
    assert np.array([row[1:3] for row in rows[1:]], float) == pytest.approx(
        np.column_stack([line.x, line.y]), rel=1e-4
    )
    rows = list(csv.reader(table.splitlines()))
    assert rows[1][1] == "0.9734 to 0.9953"


def always(page, media, path):
    """Write a page in which the rules of a medium hold on the screen."""
    text = page.read_text(encoding="utf-8")
    assert media in text
    text = text.replace(media, "@media screen")
    style = re.search("<style>.*?</style>", text, re.DOTALL)
    path.write_text(allowing(style.group(), text), encoding="utf-8")
    return path


def test_a_figure_saved_from_a_dark_page_is_light(look, page, tmp_path):
    dark = always(page, "@media screen and (prefers-color-scheme: dark)", tmp_path / "dark.html")
    pages = [(page, WIDE), (dark, WIDE)]
    told = "return [getComputedStyle(document.body).backgroundColor, saved];"
    light, night = look(pages, SAVES.replace("return saved;", told))
    assert night[0] != light[0]
    assert night[1] == light[1]


PAPER = """
const hidden = (e) => getComputedStyle(e).display === "none";
const all = (what) => [...document.querySelectorAll(what)];
return {
  colour: getComputedStyle(document.body).backgroundColor,
  left: all("button, input[type=range], .more, .tip").filter((e) => !hidden(e) &&
    !hidden(e.parentElement)).map((e) => e.outerHTML.slice(0, 80)),
  wide: all("table, svg").filter((e) => e.getBoundingClientRect().right > innerWidth)
    .map((e) => e.outerHTML.slice(0, 80)),
};"""


def test_on_paper(look, page, reports, tmp_path):
    names, width = ("evaluate", "compare", "cv"), 718  # of A4 within Chromium's margins
    pages = [page, *(reports / f"{name}.html" for name in names)]
    printed = [
        (always(page, "@media print", tmp_path / f"{page.stem}.html"), width) for page in pages
    ]
    for seen in look(printed, PAPER):
        assert seen["colour"] == "rgb(255, 255, 255)"
        assert seen["left"] == []
        assert seen["wide"] == []


@pytest.fixture(scope="session")
def reports(tmp_path_factory):
    """A page of each command."""
    folder = tmp_path_factory.mktemp("reports")
    rng = np.random.default_rng(0)
    y = (rng.random(240) < 0.3).astype(int)
    X = rng.normal(size=(240, 3)) + np.outer(y, [1, 0.5, 0])
    rows = ["a,b,c,label"] + [f"{a},{b},{c},{t}" for (a, b, c), t in zip(X, y, strict=True)]
    data, model = folder / "rows.csv", folder / "m.aucmax"
    data.write_text("\n".join(rows) + "\n")
    commands = {
        "train": ("train", data, "--alpha", 0.01, "-o", model),
        "demo": ("demo",),
        "evaluate": ("evaluate", model, data),
        "compare": ("compare", data, "--splits", 2, "--solvers", "exact,vrspam,logistic"),
        "cv": ("cv", data, "--losses", "square", "--folds", 2),
    }
    with pytest.MonkeyPatch.context() as patch:  # few rows, folds and penalties are enough
        patch.setattr(demo, "PAYMENTS", 1000)
        patch.setattr(demo, "CUSTOMERS", 50)
        patch.setattr("aucmax.estimators.folds.ROUNDS", 1)
        patch.setattr("aucmax.experiments.rivals.GRID", [1e-2, 1.0, 1e2])
        for name, command in commands.items():
            page = () if name == "train" else ("--html", folder / f"{name}.html")
            with pytest.raises(SystemExit) as end:
                main([str(word) for word in (*command, *page)])
            assert end.value.code == 0
    return folder


def test_the_page_of_each_command(look, reports):
    figures = {"demo": 1, "evaluate": 7, "compare": 5, "cv": 3}
    pages = [(reports / f"{name}.html", width) for name in figures for width in (WIDE, NARROW)]
    found = look(
        pages,
        """return [...document.querySelectorAll("figure > svg")].map((e) => {
          const box = e.getBoundingClientRect();
          return [box.width, box.height, e.querySelectorAll("path").length];
        });""",
    )
    for (page, width), seen in zip(pages, found, strict=True):
        assert len(seen) == figures[page.stem]
        for w, h, paths in seen:
            assert 250 < w <= width
            assert 0.3 < h / w < 1  # few names make a low figure
            assert paths > 5


def test_the_slider_counts_weights(look, scored, tmp_path):
    positive, score, *_ = scored
    weight = np.random.default_rng(1).exponential(size=len(score))
    points = operating_points("a", Scored(positive, score, weight))
    section = Section("a", points=[points])
    write_page(Page("a", "a", [section], [("command", "a")]), tmp_path / "w.html")
    steps = """set('flagged', 700);
out.push({...numbers(), within: document.getElementById('recall-interval').textContent});
set('flagged', 0); out.push(numbers());"""
    (seen,) = look([(tmp_path / "w.html", WIDE)], f"const out = []; {steps} return out;")
    some, none = seen
    found, alarms = float(some["tp"].replace(",", "")), float(some["fp"].replace(",", ""))
    near = np.argmin(
        np.abs(np.array(points["tp"]) - found) + np.abs(np.array(points["fp"]) - alarms)
    )
    called = score >= points["threshold"][near]
    recall = weight[called & positive].sum() / weight[positive].sum()
    assert share(some["recall"]) == pytest.approx(recall, rel=6e-3)
    assert share(some["precision"]) == pytest.approx(
        weight[called & positive].sum() / weight[called].sum(), rel=6e-3
    )
    low, high = (share(end) for end in some["within"].split(" to "))
    k = weight[positive].sum() ** 2 / (weight[positive] ** 2).sum()
    assert high - low == pytest.approx(2 * 1.96 * np.sqrt(recall * (1 - recall) / k), rel=0.05)
    assert f"of {len(score):,} rows" in some["flagged-value"]
    assert (none["tp"], none["recall"]) == ("0", "0\u00a0%")


# ---- what others wrote does not run

HIT = "document.documentElement.dataset.hit = 1"
PUT_IN = {
    "script": f"<script>{HIT}</script>",
    "handler": f'<img src="x" onerror="{HIT}"><svg onload="{HIT}"></svg>',
    "link": f'<a id="go" href="javascript:{HIT}">a</a>',
    "style": "<style>body { display: none }</style>",
    "base": '<base href="http://a.example/">',
    "form": '<form id="send" action="http://a.example/"></form>',
}


def test_what_is_put_into_a_page_does_not_run(opened, page, tmp_path):
    """The policy alone keeps it from running, where a page were written without escapes."""
    text = page.read_text(encoding="utf-8")
    texts = {kind: text.replace("</main>", f"{put}</main>") for kind, put in PUT_IN.items()}
    # without a policy it does run; the other name is for `opened`, which adds a script to it
    texts["none"] = texts["script"].replace('http-equiv="Content-Security-Policy"', 'name="a"')
    for kind, altered in texts.items():
        (tmp_path / f"{kind}.html").write_text(altered, encoding="utf-8")
    actions = """$("go")?.click(); $("send")?.submit();
    return [document.documentElement.dataset.hit ?? null, document.baseURI,
            getComputedStyle(document.body).display, numbers().tp];"""
    reports = opened([(tmp_path / f"{kind}.html", WIDE) for kind in texts], actions)
    for kind, report in zip(texts, reports, strict=True):
        hit, base, display, found = report["seen"]
        assert hit == ("1" if kind == "none" else None)
        assert "example" not in base
        assert display != "none"
        assert found != ""  # the page's own scripts ran
        if kind in ("script", "handler", "style"):  # of others it tells after the page's report
            assert report["wrong"] != []


HOSTILE = (
    f"</script><img src=x onerror={HIT}>",
    f'"><svg onload={HIT}>',
    f"' onmouseover='{HIT}' x='",
    "{{ 7 * 7 }}{% raw %}",
    f"javascript:{HIT}",
    "<!--<script>",
    "]]></style><style>*{display:none}</style>",
    '=HYPERLINK("http://a.example")',
    "\u202egnp.exe",
)


@pytest.fixture(scope="session")
def hostile(tmp_path_factory):
    """The pages of commands for rows whose names, words, labels and file are hostile."""
    folder = tmp_path_factory.mktemp("hostile")
    rng = np.random.default_rng(0)
    y = rng.random(120) < 0.4
    rows = pd.DataFrame(rng.normal(size=(120, len(HOSTILE))) + y[:, None], columns=HOSTILE)
    rows["label"] = np.where(y, HOSTILE[0], HOSTILE[1])
    numbers = folder / f"rows{HOSTILE[2].replace('/', '')}.csv"
    rows.to_csv(numbers, index=False)
    rows["words"] = np.array([HOSTILE[0], HOSTILE[1], HOSTILE[6]])[rng.integers(3, size=120)]
    rows.to_csv(folder / "words.csv", index=False)
    model = folder / f"m{HOSTILE[1]}.aucmax"
    commands = {
        "train": ("train", folder / "words.csv", "--one-hot", "--alpha", 0.01, "-o", model),
        "evaluate": ("evaluate", model, folder / "words.csv"),
        "compare": ("compare", numbers, "--splits", 1, "--solvers", "exact"),
        "cv": ("cv", numbers, "--losses", "square", "--folds", 2),
        "scorecard": ("scorecard", numbers, "-o", folder / "a.card", "--against", numbers),
        "stream": ("stream", numbers, "--target", "label", "--positive", HOSTILE[0],
                   "--every", 40, "--monitor", folder / "a.monitor"),
    }  # fmt: skip
    for name, command in commands.items():
        page = () if name == "train" else ("--html", folder / f"{name}.html")
        with pytest.raises(SystemExit) as end:
            main([str(word) for word in (*command, *page)])
        assert end.value.code == 0, name
    return folder


def test_hostile_names_are_words_on_every_page(look, hostile):
    """`look` finds nothing wrong, so no policy was needed; what is saved holds no formula."""
    pages = sorted(hostile.glob("*.html"))
    assert len(pages) == 5
    actions = SAVES.replace(
        "return saved;",
        """return {
          hit: document.documentElement.dataset.hit ?? null, saved,
          strange: document.querySelectorAll("main img, main [onload], main [onerror], main style,"
            + "main [onmouseover]").length,
          text: document.body.textContent,
        };""",
    )
    for page, seen in zip(pages, look([(page, WIDE) for page in pages], actions), strict=True):
        assert (seen["hit"], seen["strange"]) == (None, 0)
        if page.stem != "stream":  # it names no column unless something moved
            assert any(name in seen["text"] for name in HOSTILE[:2])
        assert "\u202e" not in seen["text"]
        for name, text in seen["saved"]:
            if name.endswith(".csv"):
                for cell in (c for row in csv.reader(text[1:].splitlines()) for c in row):
                    assert not cell.startswith(("=", "@", "\t", "\r")), cell
                    assert cell[:1] not in ("+", "-") or re.match(r"[+-]?[\d.]", cell), cell
        if page.stem in ("evaluate", "scorecard"):
            assert any("'=HYPERLINK" in text for _, text in seen["saved"])
