"""The progress bar on a terminal, and what Ctrl-C leaves, with real terminals and signals."""

import _thread
import ctypes
import io
import json
import os
import queue
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pyarrow.csv
import pytest

from aucmax import AUCClassifier, save
from aucmax.basics import progress_bar
from aucmax.basics.progress import Reading
from aucmax.cli import main
from aucmax.cli.errors import repeated_interrupt
from aucmax.data.tables.arrow import interrupts_kept
from aucmax.estimators import files as persist
from processes import Child

pty = pytest.importorskip("pty", reason="there are no terminals like these here")
pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")

SECONDS = 120  # after which a test fails; a busy machine must not


class Command:
    """A command whose stderr is a terminal of 80 columns; with ``fresh``, in a new interpreter."""

    def __init__(self, *arguments, fresh=False):
        import fcntl
        import struct
        import termios

        reader, terminal = pty.openpty()
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        self.stdout, stdout = os.pipe()
        environment = {"TERM": "xterm-256color", "COLUMNS": "80"}
        if fresh:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "aucmax", *map(str, arguments)],
                stdout=stdout,
                stderr=terminal,
                env=os.environ | environment,
                start_new_session=True,
            )
        else:
            self.process = Child(
                arguments, stdout, terminal, lambda: os.environ.update(environment)
            )
        os.close(stdout)
        os.close(terminal)
        self.reader, self.screen, self.arrived = reader, "", threading.Condition()
        self.out = ""
        self.threads = [threading.Thread(target=f) for f in (self._read_screen, self._read_out)]
        for thread in self.threads:
            thread.start()

    def _read_screen(self):
        while True:
            try:
                data = os.read(self.reader, 65536)
            except OSError:  # the other end is closed
                data = b""
            with self.arrived:
                self.screen += data.decode(errors="replace")
                self.arrived.notify()
            if not data:
                return

    def _read_out(self):
        with os.fdopen(self.stdout) as stream:
            self.out = stream.read()

    def wait_for(self, pattern):
        """Wait until the screen shows this."""
        with self.arrived:
            shown = self.arrived.wait_for(lambda: re.search(pattern, self.screen), SECONDS)
        assert shown, self.screen
        return self

    def interrupt(self):
        """Press Ctrl-C: to all processes of the terminal."""
        os.killpg(self.process.pid, signal.SIGINT)
        return self

    def end(self):
        """Return the exit code, stdout, and the lines the terminal keeps."""
        code = self.process.wait(SECONDS)
        for thread in self.threads:
            thread.join(SECONDS)
        os.close(self.reader)
        assert "Traceback" not in self.screen, self.screen
        # what comes after the bar was wiped out
        kept = re.split(r"\x1b\[[0-9;?]*[a-zA-Z]", self.screen)[-1]
        return code, self.out, kept.split("\r\n")[:-1]


def piped(*words, prepare=lambda: None):
    """Run a command in a child without a terminal; return its exit code, stdout and stderr."""
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        ends = os.dup(out.fileno()), os.dup(err.fileno())
        code = Child(words, *ends, prepare).wait(SECONDS)
        for end in ends:
            os.close(end)
        return code, *(file.seek(0) or file.read() for file in (out, err))


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    """A file on which nothing is done at once."""
    rng = np.random.default_rng(0)
    y = np.arange(20_000) % 4 == 0
    X = rng.normal(size=(20_000, 20)) + 0.2 * y[:, None]
    path = tmp_path_factory.mktemp("rows") / "rows.csv"
    head = ",".join([*(f"x{j}" for j in range(20)), "label"])
    np.savetxt(path, np.column_stack([X, y]), delimiter=",", header=head, comments="", fmt="%.4g")
    return path


def test_the_bar_says_what_runs_and_how_far_it_is(rows):
    command = Command("cv", rows, "--losses", "squared_hinge", "--folds", 6)
    code, out, kept = command.end()
    assert code == 0
    assert kept == []  # nothing of it stays
    assert "held-out AUC" in out
    for words in (
        r"reading",
        r"\d of \d+, 0:\d\d",
        r"best 0\.\d{4}",
        r"fold \d: squared_hinge, standardize",
    ):
        assert re.search(words, command.screen)


def test_the_bar_says_how_far_a_file_is_read(rows, tmp_path):
    words = ("train", rows, "--loss", "logistic", "--memory", "1MB", "-o", tmp_path / "m.aucmax")
    command = Command(*words)
    code, out, _ = command.end()
    assert code == 0
    assert re.search(r"read +1 pass over the file, 0\.\d+ GB, \d+ passes over the temporary", out)
    for words in (r"pass \d+", r"[\d,]+ rows, [\d.,]+(?: M)?/s, [\d,]+ MB/s"):
        assert re.search(words, command.screen)


@pytest.mark.parametrize(
    ("at", "count", "what"),
    [
        (
            Reading(3, 30_000, 2.0, 0.25, 4e8),
            "pass 3, 0:06 left",
            "30,000 rows, 15,000/s, 200 MB/s",
        ),
        (Reading(1, 1_250_000, 5.0), "pass 1", "1.25 M rows, 250,000/s"),
        (Reading(12, 10**7, 4.0, 1.0, 8e9), "pass 12", "10.00 M rows, 2.50 M/s, 2,000 MB/s"),
        (Reading(1, 500, 36.0, 0.001, 0.0), "pass 1, 9:59:24 left", "500 rows, 14/s, 0 MB/s"),
        (Reading(1, 0, 0.0, 0.0, 0), "pass 1", ""),
    ],
)
def test_the_line_of_a_pass(at, count, what):
    task = SimpleNamespace(fields={"reading": at})
    assert progress_bar.CountColumn(0.0).render(task).plain == count
    assert progress_bar.TaskColumn().render(task).plain == what


def test_no_bar_but_on_a_terminal(rows):
    words = ("cv", rows, "--losses", "square", "--alphas", "0.1,1")
    code, out, err = piped(*words)
    assert (code, err) == (0, "")
    assert "\x1b" not in out
    assert "folds" in out


def test_compare_gives_the_splits_that_are_done(rows, tmp_path):
    command = Command("compare", rows, "--solvers", "exact,vrspam", "--splits", 60, "--html",
                      tmp_path / "a.html")  # fmt: skip
    code, out, kept = command.wait_for("split [3-9] of 60").interrupt().end()
    assert code == 130
    done = int(re.search(r"(\d+) of 60 splits done", kept[-1])[1])
    assert done >= 2
    assert f"{done} splits, random, stratified: 16,000 rows to train" in out
    assert re.search(r"^exact +0\.\d{4} ", out, re.MULTILINE)
    assert re.search(r"^vrspam +[+-]0\.\d+ ", out, re.MULTILINE)
    assert "a.html was not written" in kept[-1]
    assert os.listdir(tmp_path) == []


def test_compare_gives_the_algorithms_that_are_done(rows):
    command = Command("compare", rows, "--solvers", "exact,spam,logistic,vrspam", "--splits", 2)
    code, out, kept = command.wait_for("logistic, split 1 of 2").interrupt().end()
    assert code == 130
    assert kept[-1] == "interrupted: 0 of 2 splits done"
    assert "Left out: logistic, vrspam (not reached)." in out
    assert re.search(r"^spam +[+-]0\.\d+ ", out, re.MULTILINE)


def test_cv_gives_the_folds_that_are_done(rows, tmp_path):
    model = tmp_path / "m.aucmax"
    model.write_text("as it was")
    command = Command("cv", rows, "--losses", "squared_hinge", "--folds", 8, "-o", model)
    code, out, kept = command.wait_for("fold [3-7]: ").interrupt().end()
    assert code == 130
    assert re.fullmatch(r"interrupted: [2-7] of 8 folds done; nothing was saved", kept[-1])
    assert re.search(r"^squared_hinge, standardize 1 .* 0\.\d{4}", out, re.MULTILINE)
    assert model.read_text() == "as it was"
    assert os.listdir(tmp_path) == ["m.aucmax"]


@pytest.mark.parametrize("compiled", [True, False])
def test_train_saves_nothing(rows, tmp_path, compiled, monkeypatch):
    if not compiled:  # then Ctrl-C comes while kernels are compiled
        monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path.with_suffix(".cache")))
    words = ("train", rows, "--solver", "vrspam", "-o", tmp_path / "m.aucmax")
    command = Command(*words, fresh=not compiled)
    code, out, kept = command.wait_for("fitting|tuning").interrupt().end()
    assert (code, out) == (130, "")
    assert kept == ["interrupted: nothing was saved"]
    assert os.listdir(tmp_path) == []


@pytest.fixture
def model(tmp_path):
    """A model for that file, and nothing else in its folder."""
    few = pd.DataFrame(np.random.default_rng(0).normal(size=(40, 20)))
    few.columns = [f"x{j}" for j in range(20)]
    path = tmp_path / "m.aucmax"
    save(AUCClassifier().fit(few, np.arange(40) % 2), path)
    return path


@pytest.mark.parametrize("what", ["score", "evaluate", "demo"])
def test_what_only_reads_leaves_nothing(rows, model, tmp_path, what):
    command, words = {
        "score": (("score", model, rows, "-o", tmp_path / "s.csv"), "reading|scoring"),
        "evaluate": (("evaluate", model, rows, "--logistic", rows), "tuning logistic regression"),
        "demo": (("demo", "--html", tmp_path / "a.html"), "0:0"),
    }[what]
    code, out, kept = Command(*command).wait_for(words).interrupt().end()
    assert (code, out) == (130, "")
    assert kept == ["interrupted: nothing was saved"]
    assert os.listdir(tmp_path) == ["m.aucmax"]


def test_scores_on_the_screen_come_after_the_bar(rows, model):
    command = Command("score", model, rows)
    code, out, kept = command.end()
    assert (code, kept) == (0, [])
    assert "reading" in command.screen
    assert len(out.splitlines()) == 20_001


def test_an_interrupt_while_arrow_ends_is_kept():
    class Last(io.BytesIO):
        def read(self, size=-1):
            piece = super().read(size)
            if not piece:
                os.kill(os.getpid(), signal.SIGINT)
            return piece

    def kept():
        try:
            with interrupts_kept():
                pyarrow.csv.read_csv(pyarrow.PythonFile(Last(b"a,b\n1,2\n"), "r"))
        except KeyboardInterrupt:
            return True
        return False

    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        assert all(kept() for _ in range(100))  # Arrow itself loses about one of eleven
    finally:
        signal.signal(signal.SIGINT, handler)


def test_an_interrupt_that_python_ignores_comes_again():
    def lost():
        sys.unraisablehook = repeated_interrupt(lambda _: None)

        @ctypes.CFUNCTYPE(None)
        def called_from_c():
            _thread.interrupt_main()
            time.sleep(0)

        try:
            called_from_c()
            print("lost")
            time.sleep(SECONDS / 2)
        except KeyboardInterrupt:
            print("and found")
        raise SystemExit(0)

    assert piped(prepare=lost) == (0, "lost\nand found\n", "")


@pytest.mark.parametrize(("sent", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupt_leaves_no_lock_locked(monkeypatch, sent, code):
    """At each step of a queue, as that of a pool of connections; closing the pool would hang."""

    def interrupted_at(number):
        pool, steps, left = queue.LifoQueue(), 0, []

        def local(frame, event, arg):
            nonlocal steps
            if event == "opcode":
                steps += 1
                if steps == number:
                    signal.getsignal(sent)(sent, frame)  # what a signal does at this step
            return local

        def trace(frame, event, arg):
            frame.f_trace_opcodes = frame.f_globals["__name__"] in ("queue", "threading")
            return local if frame.f_trace_opcodes else None

        def load(path):
            sys.settrace(trace)
            try:
                pool.put(1)
                pool.get(block=False)
                sys.settrace(None)
                time.sleep(SECONDS if number <= steps else 0)  # until the signal comes again
            finally:
                sys.settrace(None)
                left.append(pool.mutex.locked())
            raise ValueError("it was not interrupted")

        monkeypatch.setattr(persist, "load", load)
        with pytest.raises(SystemExit) as end:
            main(["show", "m.aucmax"])
        assert left == [False], number
        return end.value.code

    number = 1
    while interrupted_at(number) == code:
        number += 7
    assert number > 50
    assert interrupted_at(number) == 2


@pytest.mark.parametrize(("sent", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
@pytest.mark.parametrize("other", [ValueError, SystemError])
def test_an_interrupt_that_c_code_makes_another_error_of(monkeypatch, capsys, sent, code, other):
    def load(path):
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), sent)
        raise other("Invalid affine transformation matrix")

    monkeypatch.setattr(persist, "load", load)
    before = signal.getsignal(sent)
    with pytest.raises(SystemExit) as end:
        main(["show", "m.aucmax"])
    assert (end.value.code, *capsys.readouterr()) == (code, "", "interrupted: nothing was saved\n")
    assert signal.getsignal(sent) is before


def test_an_interrupt_that_is_ignored_stays_so(monkeypatch, capsys):
    """As that of a command in the background of a script."""
    old = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        monkeypatch.setattr(persist, "load", lambda path: os.kill(os.getpid(), signal.SIGINT))
        with pytest.raises(SystemExit) as end:
            main(["show", "m.aucmax"])
        assert (end.value.code, "holds a NoneType" in capsys.readouterr().err) == (2, True)
    finally:
        signal.signal(signal.SIGINT, old)


@pytest.mark.exhaustive
@pytest.mark.data
def test_reproduce_keeps_what_is_done(tmp_path):
    command = Command("reproduce", "opauc-iterations", "--data", "diabetes,fourclass", "--quick",
                      "--runs", 50, "--jobs", 2, "-o", tmp_path)  # fmt: skip
    code, _, kept = command.wait_for(r"\b[1-9]\d* of \d+").interrupt().end()
    assert code == 130
    said = "\n".join(kept)  # a worker that is ended may say so last
    found = re.search(r"(\d+) jobs? done by this run and kept in ", said)
    assert found, said
    ran = int(found[1])
    store = tmp_path / "opauc-iterations" / "jobs.jsonl"
    lines = store.read_text(encoding="utf-8").splitlines()
    assert len(lines) == ran > 0
    assert all(json.loads(line) for line in lines)
    assert "to resume: aucmax reproduce opauc-iterations" in said
