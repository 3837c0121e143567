"""Commands that write, killed or left without room on the disk, over files that are there already.

Afterwards each file is whole, the old one or the new one. Ctrl-C, SIGTERM and a full disk leave
nothing beside it; after SIGKILL the next run is not disturbed by what is left. The commands run in
children forked from this process, which has run each before, so that a kill costs little. So many
for each command: ``AUCMAX_ATTACKS=1000 pytest -s -m exhaustive tests/cli/test_kills.py``.
"""

import http.server
import json
import os
import resource
import shutil
import signal
import sys
import threading
import time
from itertools import product
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from aucmax import load
from aucmax.basics import replacing
from aucmax.cli import main
from aucmax.experiments import demo, sources
from aucmax.report import figures
from processes import Child

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork"),
    pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning"),
]

IN_CI = 3  # of each command, but for slow ones
PATIENCE = 120.0  # seconds
OLD = b"what was there before\n"
TEMPORARY = ".aucmax-"
ROWS = 120

# ---- what is written


def is_model(path):
    return load(path) is not None


def is_scores(path):
    lines = path.read_text().splitlines()
    return lines[0] == "row,score" and len(lines) == ROWS + 1


def is_table(path):
    lines = path.read_text().splitlines()
    return len({line.count(",") for line in lines}) == 1 and len(lines) > 3


def is_text(path):
    return path.read_text().startswith("# ") and path.read_bytes().endswith(b"\n")


def is_page(path):
    text = path.read_text()
    return text.lower().startswith("<!doctype html") and text.rstrip().endswith("</html>")


def is_png(path):
    raw = path.read_bytes()
    return raw.startswith(b"\x89PNG") and raw.endswith(b"IEND\xaeB`\x82")


def is_store(path):
    """Each line whole, but for the last, which a kill may cut short."""
    return all(json.loads(line) for line in path.read_text().split("\n")[:-1])


def is_json(path):
    return bool(json.loads(path.read_text()))


def is_data(path):
    return path.read_bytes() == diabetes()


class Command(NamedTuple):
    """A command line, the files in its folder ``out`` that it writes, and how they look whole."""

    words: tuple[str, ...]
    writes: dict
    goes_on: tuple[str, ...] = ()  # those that it reads first
    in_ci: int = IN_CI  # attacks; 0 for those of the long run only


SMALL = ("--losses", "square", "--standardize", "0", "--folds", "2", "--alphas", "0.1,1")
SLOW = 1
REPRODUCE = Command(
    ("reproduce", "vrspam-table", "--quick", "--runs", "1", "--data", "diabetes", "-o", "out"),
    {
        "vrspam-table/runs.csv": is_table,
        "vrspam-table/table.md": is_text,
        "vrspam-table/report.html": is_page,
        "vrspam-table/jobs.jsonl": is_store,
    },
    ("vrspam-table/jobs.jsonl",),
    in_ci=SLOW,
)
COMMANDS = {
    "train": Command(
        ("train", "rows.csv", "--alpha", "0.1", "-o", "out/m.aucmax"), {"m.aucmax": is_model}
    ),
    "score": Command(("score", "m.aucmax", "rows.csv", "-o", "out/s.csv"), {"s.csv": is_scores}),
    "evaluate": Command(
        ("evaluate", "m.aucmax", "rows.csv", "--plot", "out/roc.png", "--html", "out/e.html"),
        {"roc.png": is_png, "e.html": is_page},
        in_ci=SLOW,
    ),
    "cv": Command(
        ("cv", "rows.csv", *SMALL, "-o", "out/m.aucmax", "--html", "out/cv.html"),
        {"m.aucmax": is_model, "cv.html": is_page},
    ),
    "compare": Command(
        ("compare", "rows.csv", "--solvers", "exact,spam", "--splits", "1", "--html", "out/c.html"),
        {"c.html": is_page},
        in_ci=SLOW,
    ),
    "demo": Command(("demo", "--html", "out/d.html"), {"d.html": is_page}, in_ci=0),  # as evaluate
    "reproduce": REPRODUCE._replace(words=(*REPRODUCE.words, "--jobs", "1")),
    "reproduce with workers": REPRODUCE._replace(in_ci=0),  # each of which imports everything
    "datasets fetch": Command(
        ("datasets", "fetch", "diabetes", "--force", "--base-url", "MIRROR"),
        {"diabetes": is_data, "checksums.json": is_json},
        ("diabetes", "checksums.json"),
    ),
}


def diabetes():
    """Rows of the numbers and labels that the data set has."""
    rng = np.random.default_rng(0)
    y = np.repeat([-1, 1], [268, 500])
    X = np.round(rng.normal(size=(len(y), 8)) + 0.5 * y[:, None], 4)
    pairs = zip(X, y, strict=True)
    lines = [f"{k:+d} " + " ".join(f"{j}:{v}" for j, v in enumerate(x, 1)) for x, k in pairs]
    return ("\n".join(lines) + "\n").encode()


class Publisher(http.server.BaseHTTPRequestHandler):
    """Serves the one file."""

    def do_GET(self):
        content = diabetes()
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *args):
        """Keep quiet."""


# ---- children


class Ended(NamedTuple):
    """How a child ended: its exit code, negative for a signal, and what it told on stderr."""

    code: int
    told: str


def forked(words, prepare=lambda: None, after=None, sent=signal.SIGKILL):
    """Run a command line in a child, and send it a signal after so many seconds."""
    reading, writing = os.pipe()
    nowhere = os.open(os.devnull, os.O_WRONLY)
    child = Child(words, nowhere, writing, prepare)
    for end in (nowhere, writing):
        os.close(end)
    if after is not None:
        time.sleep(after)
        os.kill(child.pid, sent)
    code = child.wait(PATIENCE)
    with os.fdopen(reading, errors="replace") as stream:
        return Ended(code, stream.read())


def at_line(number, act):
    """Return a function that has ``act`` called at this line, counted as they run, of a write."""
    count = 0

    def local(frame, event, arg):
        nonlocal count
        if event == "line":
            count += 1
            if count == number:
                act()
        return local

    def trace(frame, event, arg):
        return local if frame.f_code.co_filename == replacing.__file__ else None

    return lambda: sys.settrace(trace)


# ---- the attacks

SIGNALS = (signal.SIGKILL, signal.SIGINT, signal.SIGTERM)
ATTACKS = [*product(("time", "line"), SIGNALS), ("full", None)]  # in turn


class Bench:
    """A folder in which commands have run once, and in which they are attacked."""

    def __init__(self, folder, mirror):
        self.folder, self.mirror = folder, mirror
        rng = np.random.default_rng(0)
        X = rng.normal(size=(ROWS, 3))
        y = (X[:, 0] + rng.normal(size=ROWS) > 0).astype(int)
        lines = (f"{a:.3f},{b:.3f},{c:.3f},{k}" for (a, b, c), k in zip(X, y, strict=True))
        (folder / "rows.csv").write_text("a,b,c,y\n" + "\n".join(lines) + "\n")
        (folder / "data").mkdir()
        (folder / "data" / "diabetes").write_bytes(diabetes())
        (folder / "out").mkdir()
        self.seconds = {}
        assert self.here("train", "rows.csv", "--alpha", "0.1", "-o", "m.aucmax") == 0

    def here(self, *words):
        """Run a command in this process."""
        with pytest.raises(SystemExit) as end:
            main(list(words))
        return end.value.code

    def words(self, name):
        return [self.mirror if w == "MIRROR" else w for w in COMMANDS[name].words]

    def warm(self, name):
        """Run a command, so that all is compiled and cached, and keep what it made."""
        ready = self.folder / f"ready {name}"
        if ready.exists():
            return
        shutil.rmtree("out")
        os.mkdir("out")
        assert self.here(*self.words(name)) == 0
        began = time.monotonic()
        assert forked(self.words(name)).code == 0
        self.seconds[name] = time.monotonic() - began
        for path, whole in COMMANDS[name].writes.items():
            assert whole(Path("out", path)), path
        shutil.copytree("out", ready)

    def attack(self, name, number):
        self.warm(name)
        rng = np.random.default_rng([number, *name.encode()])
        command, out = COMMANDS[name], Path("out")
        shutil.copytree(f"ready {name}", out, dirs_exist_ok=True)
        for path in command.writes:
            if path not in command.goes_on:
                (out / path).write_bytes(OLD)
        before = {path: (out / path).read_bytes() for path in command.writes}
        names = set(out.rglob("*"))  # with what was left after SIGKILL
        turn = number * len(COMMANDS) + list(COMMANDS).index(name)
        how, sent = ATTACKS[turn % len(ATTACKS)]
        if how == "time":
            after = rng.uniform(0.0, 1.1) * self.seconds[name]
            ended = forked(self.words(name), after=after, sent=sent)
        elif how == "line":
            number = int(rng.integers(1, 15 * len(command.writes)))
            act = at_line(number, lambda: os.kill(os.getpid(), sent))
            ended = forked(self.words(name), prepare=act)
        else:
            size = max(path.stat().st_size for path in Path(f"ready {name}").rglob("*"))
            limit = int(rng.integers(0, size))
            full = (limit, resource.RLIM_INFINITY)
            ended = forked(
                self.words(name), prepare=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, full)
            )
        where = f"{how}, {sent}: {ended}"
        allowed = {
            None: (0, 2),
            signal.SIGKILL: (0, -signal.SIGKILL),
            signal.SIGINT: (0, 130),
            signal.SIGTERM: (0, 143, -signal.SIGTERM),
        }
        assert ended.code in allowed[sent], where
        assert "Traceback" not in ended.told, where
        if ended.code == 2:
            errors = [line for line in ended.told.splitlines() if line.startswith("error: ")]
            assert len(errors) == 1, where
        for path, whole in command.writes.items():
            now = (out / path).read_bytes()
            if path.endswith("jobs.jsonl"):
                assert now.startswith(before[path][: before[path].rindex(b"\n", 0, -1)]), where
            assert now == before[path] or whole(out / path), (path, where)
        strays = set(out.rglob("*")) - names
        if sent == signal.SIGKILL:
            strays = {p for p in strays if not any(part.startswith(TEMPORARY) for part in p.parts)}
        assert not strays, (strays, where)

    def runs_again(self, name):
        """The command works beside what kills have left."""
        assert forked(self.words(name)).code == 0
        for path, whole in COMMANDS[name].writes.items():
            assert whole(Path("out", path)), path


@pytest.fixture(scope="module")
def bench(tmp_path_factory):
    folder = tmp_path_factory.mktemp("kills")
    sources.rows_of_source.cache_clear()
    sources.digest_of.cache_clear()
    with (
        pytest.MonkeyPatch.context() as patch,
        http.server.ThreadingHTTPServer(("127.0.0.1", 0), Publisher) as server,
    ):
        patch.setenv("AUCMAX_DATA", str(folder / "data"))
        patch.setenv("AUCMAX_CACHE", str(folder / "out"))
        patch.chdir(folder)
        # of the demo few rows are enough
        patch.setattr(demo, "PAYMENTS", 1000)
        patch.setattr(demo, "CUSTOMERS", 50)
        # drawing takes longer than all else, and writing does not depend on what is drawn
        patch.setattr(figures, "to_svg", lambda *_: "<svg></svg>")
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield Bench(folder, f"http://127.0.0.1:{server.server_port}/binary")
        server.shutdown()
        thread.join()
    sources.rows_of_source.cache_clear()
    sources.digest_of.cache_clear()


@pytest.mark.parametrize("name", [name for name, command in COMMANDS.items() if command.in_ci])
def test_killed_at_random(bench, name):
    for number in range(COMMANDS[name].in_ci):
        bench.attack(name, number)
    bench.runs_again(name)


@pytest.mark.exhaustive
def test_killed_at_random_for_long(bench):
    total, found, start = int(os.environ.get("AUCMAX_ATTACKS", "100")), [], time.time()
    for number in range(1000, 1000 + total):
        for name in COMMANDS:
            try:
                bench.attack(name, number)
            except AssertionError as error:
                found.append(f"{name}:{number} {str(error)[:500]}")
                print(found[-1], flush=True)
        if number % 10 == 9:
            shutil.rmtree("out")
            os.mkdir("out")
            print(
                f"{number - 999} of each, {len(found)} found, {time.time() - start:.0f} s",
                flush=True,
            )
    assert not found, "\n".join(found[:100])


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full")
def test_a_full_device_is_one_line(bench):
    for words in (["score", "m.aucmax", "rows.csv", "-o"], ["train", "rows.csv", "-o"]):
        ended = forked([*words, "/dev/full"])
        assert ended.code == 2
        assert ended.told == "error: /dev/full: No space left on device\n"
