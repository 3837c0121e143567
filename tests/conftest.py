"""The test session: caches, plotting backend, data sets that may be missing, the command line."""

import atexit
import contextlib
import functools
import gc
import hashlib
import importlib.util
import os
import re
import shutil
import signal
import stat
import tempfile
import time
from collections.abc import Callable, Generator, Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest

import postgres_server
from covering import covering_array

# Workers that share the cores must not each ask for all of them; before the first import of NumPy.
if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# A shell that starts the tests in the background has Ctrl-C ignored; tests of Ctrl-C send it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

_KEPT_SECONDS = 24 * 3600

# how a message of a Python function names an argument that commands have options for
ARGUMENT = re.compile(
    r"(?<![\w.'\"/-])(target|drop|format|sep|decimal|text|missing|dates|categories|positive|weight|"
    r"groups|time|part_bytes|loss|within|max_fpr|alpha|cv)="
)
# or is about one of them
SUBJECT = re.compile(r"^error: (each of )?(solver|loss|losses|alphas?|within|max_fpr)\b.* must be")

Run = Callable[..., tuple[int, str, str]]


def _sources_digest() -> str:
    """A digest of every module of the aucmax that the tests will import."""
    spec = importlib.util.find_spec("aucmax")
    if spec is None or not spec.submodule_search_locations:
        raise pytest.UsageError("aucmax cannot be imported: install it, or set PYTHONPATH=src.")
    digest = hashlib.sha256()
    for folder in spec.submodule_search_locations:
        for path in sorted(Path(folder).rglob("*.py")):
            digest.update(path.relative_to(folder).as_posix().encode() + b"\0")
            digest.update(path.read_bytes() + b"\0")
    return digest.hexdigest()


def _own_folder() -> Path:
    """A folder of this user and of this state of the sources, kept from session to session."""
    user = os.getuid() if hasattr(os, "getuid") else "user"
    parent = Path(tempfile.gettempdir()) / f"aucmax-tests-{user}"
    parent.mkdir(mode=0o700, exist_ok=True)
    own = parent / _sources_digest()[:20]
    own.mkdir(exist_ok=True)
    os.utime(own)
    for other in parent.iterdir():  # those of sources that are long gone
        with contextlib.suppress(FileNotFoundError):  # another session was faster
            if other.stat().st_mtime < time.time() - _KEPT_SECONDS:
                shutil.rmtree(other, ignore_errors=True)
    return own


# Before the first import of Numba.
_FOLDER = _own_folder()
os.environ.setdefault("NUMBA_CACHE_DIR", str(_FOLDER.parent / "numba"))  # knows what is stale
os.environ.setdefault("AUCMAX_CACHE", str(_FOLDER / "data"))  # parsed data sets
os.environ.setdefault("MPLBACKEND", "Agg")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--renew", action="store_true", help="write the texts of commands anew")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int | None:
    """One process for a single file: starting more takes longer than most files."""
    return 0 if len(config.args) == 1 and ".py" in config.args[0] else None


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect without looking for garbage: all that is made stays, and looking takes longer."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()
        # not before the last look for garbage; then modules end, and some tell what is still there
        atexit.register(gc.unfreeze)


@pytest.hookimpl(tryfirst=True)  # before those that are marked are left out
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for cases, strength in _grids(items):
        kept = covering_array([_settings(case) for case in cases], strength)
        for place in set(range(len(cases))) - set(kept):
            cases[place].add_marker("exhaustive")
    if os.environ.get("AUCMAX_DATA"):
        return
    skip = pytest.mark.skip(reason="AUCMAX_DATA, the folder of data sets, is not set")
    for item in items:
        if item.get_closest_marker("data"):
            item.add_marker(skip)


def _grids(items: list[pytest.Item]) -> Iterator[tuple[list[Any], int]]:
    """The cases of each test that is marked ``covering``, and the strength it asks for."""
    for _, group in groupby(items, key=lambda item: item.nodeid.partition("[")[0]):
        cases: list[Any] = list(group)
        mark = cases[0].get_closest_marker("covering")
        if mark is not None:
            yield cases, *(mark.args or (2,))


def _settings(case: Any) -> tuple[Any, ...]:
    """Which values a case has; those that are given together are one."""
    given = [mark.args[0] for mark in case.iter_markers("parametrize")]
    names = [one.split(",") if isinstance(one, str) else one for one in given]
    return tuple(tuple(id(case.callspec.params[n.strip()]) for n in some) for some in names)


@pytest.fixture(autouse=True, scope="session")
def one_parser() -> Iterator[None]:
    """Build the command line's parser once: it takes as long as most commands."""
    import typer.main

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(typer.main, "get_command", functools.cache(typer.main.get_command))
        yield


@pytest.fixture(autouse=True, scope="session")
def unflushed() -> Iterator[None]:
    """Leave to the system when files reach the disk: no test cuts the power."""
    flush = os.fsync

    def fsync(descriptor: int) -> None:
        mode = os.fstat(descriptor).st_mode
        if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):  # which cannot be flushed
            flush(descriptor)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", fsync)
        yield


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder of data sets; a test that asks for it is skipped where there is none."""
    folder = os.environ.get("AUCMAX_DATA")
    if not folder:
        pytest.skip("AUCMAX_DATA, the folder of data sets, is not set")
    return Path(folder)


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """The folder of the socket of a PostgreSQL server; a test that asks for it may be skipped."""
    with postgres_server.running() as folder:
        yield folder


@pytest.fixture
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave out the drawing of a page's figures, which takes longer than the rest of it."""
    monkeypatch.setattr("aucmax.report.figures.to_svg", lambda *_: "<svg></svg>")


@pytest.fixture
def few_penalties(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let scikit-learn's models be tuned over three penalties, not nine."""
    monkeypatch.setattr("aucmax.experiments.rivals.GRID", [1e-2, 1.0, 1e2])


@pytest.fixture(scope="module")
def folds_drawn_once() -> Iterator[None]:
    """Draw automatic folds of few rows once, not as often as makes a choice steady."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("aucmax.estimators.folds.ROUNDS", 1)
        yield


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run a command line, 80 columns wide; give its exit code, stdout and stderr."""
    from aucmax.cli import main  # not before there is a cache

    monkeypatch.setenv("COLUMNS", "80")

    def run(*arguments: object) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as end:
            main([str(argument) for argument in arguments])
        return (end.value.code, *capsys.readouterr())

    return run


@pytest.fixture
def good(run: Run) -> Callable[..., str]:
    """Run a command line that must succeed without a word on stderr; give its stdout."""

    def good(*arguments: object) -> str:
        code, out, err = run(*arguments)
        assert (code, err) == (0, "")
        return out

    return good


@pytest.fixture
def bad(run: Run) -> Callable[..., str]:
    """Run a command line that must fail as bad input does; give its message."""

    def bad(*arguments: object) -> str:
        code, out, err = run(*arguments)
        assert (code, out) == (2, "")
        assert err.startswith("error: ")
        assert "Traceback" not in err
        assert not ARGUMENT.search(err), err  # but options
        assert not SUBJECT.match(err), err
        # what else stands in the way, and a command that reads it
        _, *rest = err.splitlines()
        ends = ("reads it:", "reads the rest:")
        assert all(line.startswith("  ") or line.endswith(ends) for line in rest)
        return err

    return bad
