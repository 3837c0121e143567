"""The report in headless Chromium: it loads, the slider moves the numbers, wide and narrow."""

import html
import json
import re
import shutil
import subprocess
from dataclasses import replace

import numpy as np
import pytest

from aucmax.cli import main
from aucmax.report.curves import ranking_figures
from aucmax.report.operating import operating_points
from aucmax.report.page import Page, ResultTable, Section, write_page

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
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
  ["threshold-value", "tp", "fp", "fn", "tn", "precision", "recall", "fpr", "cost",
   "cheapest-text"].map((id) => [id, $(id).textContent]));
const set = (id, value, event = "input") => {
  $(id).value = value;
  $(id).dispatchEvent(new Event(event, { bubbles: true }));
};
const seen = (() => { ACTIONS })();
const outside = [...document.querySelectorAll("main *")].filter((e) => {
  const box = e.getBoundingClientRect();
  return box.width > 0 && box.right > innerWidth + 1 && !e.closest(".scroll, svg");
}).map((e) => e.outerHTML.slice(0, 80));
parent.postMessage(JSON.stringify({
  number: NUMBER, seen, outside, wrong: window.wrong, width: innerWidth,
  page: document.documentElement.scrollWidth,
  loaded: performance.getEntriesByType("resource").map((e) => e.name),
}), "*");
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


@pytest.fixture(scope="session")
def look(tmp_path_factory):
    """Open pages, at some widths, run a script in each, and give what they saw."""
    folder = tmp_path_factory.mktemp("browser")

    def look(pages, actions="return null;"):
        frames = [FRAMES]
        for number, (page, width) in enumerate(pages):
            text = page.read_text(encoding="utf-8")
            assert text.count("<head>") == text.count("</body>") == 1
            script = AFTER.replace("ACTIONS", actions).replace("NUMBER", str(number))
            text = text.replace("<head>", "<head>" + BEFORE).replace("</body>", script + "</body>")
            frames.append(FRAME.replace("{width}", str(width)).replace("{page}", html.escape(text)))
        frame = folder / "frames.html"
        frame.write_text("".join(frames), encoding="utf-8")
        done = subprocess.run(
            [
                CHROMIUM,
                "--headless=new",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-quic",
                "--no-first-run",
                "--disable-background-networking",
                "--disable-component-update",
                "--disable-sync",
                "--disable-extensions",
                "--disable-dev-shm-usage",
                f"--user-data-dir={folder / 'profile'}",
                "--window-size=1400,1000",
                "--virtual-time-budget=2000",
                "--dump-dom",
                frame.as_uri(),
            ],
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=120,
        )
        found = re.search(r'<pre id="seen">(.+?)</pre>', done.stdout, re.DOTALL)
        assert found, done.stderr[-2000:]
        reports = sorted(json.loads(html.unescape(found.group(1))), key=lambda r: r["number"])
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
    return positive, rng.normal(size=2500) + 1.5 * positive


@pytest.fixture(scope="session")
def page(tmp_path_factory, scored):
    """A page with two scorers of the same rows, and long words."""
    positive, score = scored
    name = "a_name_without_any_space_that_is_longer_than_a_narrow_page_is_wide.aucmax"
    scores = {name: score, "backwards": -score}
    figure = ranking_figures({name: [(positive, score)]}, of=name)[0]
    table = ResultTable(["", *scores, "c", "d", "e"], [[name, *["0.9734 to 0.9953"] * 5]], name)
    path = tmp_path_factory.mktemp("page") / "page.html"
    write_page(
        Page(
            name,
            name,
            [Section(name, name, [table], [replace(figure, caption=name)])],
            [operating_points(n, positive, s) for n, s in scores.items()],
            [("command", name)],
        ),
        path,
    )
    return path


def whole(text):
    return int(text.replace(",", ""))


def test_the_slider_moves_the_numbers(look, page, scored):
    positive, score = scored
    points = operating_points("a", positive, score)
    last = len(points["tp"]) - 1
    stops = [points["start"], 0, last // 3, last - 5, last]
    moves = "".join(f"set('threshold', {i}); out.push(numbers());" for i in stops[1:])
    (seen,) = look([(page, WIDE)], f"const out = [numbers()]; {moves} return out;")
    for i, shown in zip(stops, seen, strict=True):
        t = points["threshold"][i]
        called = np.zeros(len(score), bool) if t is None else score >= t
        tp, fp = np.count_nonzero(called & positive), np.count_nonzero(called & ~positive)
        assert whole(shown["tp"]) == tp
        assert whole(shown["fp"]) == fp
        assert whole(shown["fn"]) == positive.sum() - tp
        assert whole(shown["tn"]) == (~positive).sum() - fp
        assert float(shown["recall"]) == pytest.approx(tp / positive.sum(), abs=6e-5)
        assert float(shown["fpr"]) == pytest.approx(fp / (~positive).sum(), abs=6e-5)
        if called.any():
            assert float(shown["precision"]) == pytest.approx(tp / called.sum(), abs=6e-5)
            assert float(shown["threshold-value"]) == pytest.approx(t, rel=1e-4)
        else:
            assert shown["precision"] == "–"
            assert shown["threshold-value"] == "above every score"
        assert whole(shown["cost"]) == positive.sum() - tp + fp
    assert len({shown["cost"] for shown in seen}) > 3


def test_costs_change_the_cost_and_the_cheapest(look, page, scored):
    positive, score = scored
    (seen,) = look(
        [(page, WIDE)],
        """const out = [];
        for (const [miss, alarm] of [["1", "1"], ["20", "1"], ["1", "7.5"], ["", "-3"]]) {
          set("cost-miss", miss);
          set("cost-alarm", alarm);
          const before = numbers();
          $("cheapest").click();
          out.push([before, numbers(), $("threshold").getAttribute("aria-valuetext")]);
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
    positive, score = scored
    (seen,) = look([(page, WIDE)], "set('scorer', '1', 'change'); return numbers();")
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
    missed = "The cost of a missed positive is no number and counts as 0."
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


def test_keys_move_the_slider(look, page):
    """As far as a script can tell: a labelled range input with whole steps that takes focus."""
    (seen,) = look(
        [(page, WIDE)],
        """const s = $("threshold");
        s.focus();
        const at = Number(s.value);
        s.stepUp();
        return [document.activeElement === s, s.type, s.labels[0].textContent, s.value - at];""",
    )
    assert seen == [True, "range", "threshold", 1]


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
        "train": ("train", data, "-o", model),
        "demo": ("demo",),
        "evaluate": ("evaluate", model, data),
        "compare": ("compare", data, "--splits", 2, "--solvers", "exact,vrspam,logistic"),
        "cv": ("cv", data, "--losses", "square"),
    }
    for name, command in commands.items():
        page = () if name == "train" else ("--html", folder / f"{name}.html")
        with pytest.raises(SystemExit) as end:
            main([str(word) for word in (*command, *page)])
        assert end.value.code == 0
    return folder


def test_the_page_of_each_command(look, reports):
    figures = {"demo": 6, "evaluate": 2, "compare": 3, "cv": 3}
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
            assert 0.6 < h / w < 1
            assert paths > 5
