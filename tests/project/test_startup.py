"""What a new process imports: nothing before it is needed."""

import dataclasses
import gc
import subprocess
import sys
import threading
import time

import pytest
from numba.core.registry import cpu_target

import aucmax
from aucmax.cli.app import COMMANDS
from aucmax.cli.later import command_of
from aucmax.data.reading import FIELDS
from aucmax.data.rows.kernels import Kernel, start_numba
from aucmax.estimators.scoring import METRICS
from aucmax.experiments.methods import CONTESTANTS
from aucmax.explain.sql import DIALECTS
from aucmax.objective.losses import LOSSES
from aucmax.statistics.disclosure import MIN_ROWS
from aucmax.streams.formats import FORMATS
from aucmax.streams.state import Settings

IMPORTED = """
import sys
{first}
before = set(sys.modules)
{second}
print(*{{name.partition(".")[0] for name in set(sys.modules) - before}})
"""
HEAVY = {"numba", "matplotlib", "pyarrow", "skops", "pooch", "typer", "rich", "jinja2", "clarabel"}
RUN = """
import aucmax.cli, contextlib
for words in {words}:
    with contextlib.suppress(SystemExit):
        aucmax.cli.main(words)
"""
HELP = RUN.format(words=[["-h"], *([name, "-h"] for name in COMMANDS)])


def imported(second: str, first: str = "") -> set[str]:
    """The packages of which statements import modules in a new process, after others."""
    code = IMPORTED.format(first=first, second=second)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.splitlines()[-1].split())


FIRST_FIT = """
import aucmax, numpy, scipy.sparse
from aucmax import *
X, y = numpy.random.default_rng(0).standard_normal((60, 4)), numpy.arange(60) % 3 == 0
for model in aucmax.AUCClassifier(), aucmax.AUCClassifier(l1_ratio=0.5), aucmax.AUCClassifierCV():
    for rows in (X, scipy.sparse.csr_array(X)):
        model.fit(rows, y)
"""


def test_all_names_and_fits_to_few_rows_come_without_what_only_some_calls_need():
    # scikit-learn imports pandas and pyarrow, where they are installed, and new joblibs rich
    packages = imported(FIRST_FIT, first="import sklearn.linear_model")
    assert "aucmax" in packages
    assert not packages & HEAVY


@pytest.mark.parametrize(
    ("statement", "needed"),
    [("import aucmax, aucmax.basics.progress", set()), (HELP, {"typer", "rich"})],
    ids=["package", "help"],
)
def test_the_package_and_the_help_of_commands_come_without_numpy(statement, needed):
    packages = imported(statement)
    assert "aucmax" in packages
    assert not packages & {"numpy", "scipy", "sklearn", *HEAVY} - needed


@pytest.mark.parametrize(("command", "needed"), [("train", set()), ("cv", {"scipy"})])
def test_commands_refuse_a_bad_file_without_scikit_learn(command, needed, tmp_path):
    # nor pandas, which scikit-learn imports, and PyArrow for a Python object
    text = "word,x,y\none,1,no\ntwo,2,yes\n"
    (tmp_path / "words.csv").write_text(text, encoding="utf-8")
    (tmp_path / "bad.csv").write_text("a,b,y\n1,2,0\n3,4\n5,6,7,8\n", encoding="utf-8")
    targets = {"bad.csv": "y", "words.csv": "label"}
    words = [[command, str(tmp_path / name), "--target", y] for name, y in targets.items()]
    packages = imported(RUN.format(words=words))
    assert {"aucmax", "numpy"} <= packages
    needed = needed | {"typer", "rich", "pyarrow"}
    assert not packages & {"sklearn", "scipy", "pandas", *HEAVY} - needed


def test_the_list_of_data_sets_comes_without_scikit_learn():
    packages = imported(RUN.format(words=[["datasets"]]))
    assert not packages & {"sklearn", "pandas", "numba"}


def test_helps_list_what_there_is():
    from aucmax.cli import compare, cv, export, stream
    from aucmax.cli.moments import common
    from aucmax.cli.train import Fixed

    def help_of(group, name):
        return group.__dataclass_fields__[name].metadata["help"]

    losses = ", ".join(LOSSES)
    assert aucmax.AUCClassifierCV().losses == cv.DEFAULT_LOSSES
    assert help_of(Fixed, "loss") == f"One of {losses}."
    assert help_of(cv.Settings, "losses").startswith(f"Losses to try: {losses};")
    assert help_of(compare.Minimised, "loss") == f"Loss: {losses}."
    assert f": {', '.join(METRICS)}, or" in help_of(cv.Scores, "scoring")
    assert f": {', '.join(CONTESTANTS)}." in help_of(compare.Contest, "solvers")
    assert tuple(export.Dialect) == DIALECTS
    assert {*stream.StreamFormat} == {*FORMATS, "tsv"}
    assert common.MIN_ROWS == MIN_ROWS
    assert {*stream.OF_SETTINGS} == {
        setting.name
        for setting in dataclasses.fields(Settings)
        if setting.name in FIELDS and not hasattr(stream.Lines, setting.name)
    }


def test_the_package_has_its_names_and_no_others():
    assert {name for name in dir(aucmax) if not name.startswith("__")} == {*aucmax.__all__}
    assert "__version__" in dir(aucmax)
    for name in dir(aucmax):
        getattr(aucmax, name)
    with pytest.raises(AttributeError, match="module 'aucmax' has no attribute 'AUCClasifier'"):
        aucmax.AUCClasifier


@pytest.mark.parametrize("name", COMMANDS)
def test_the_list_of_commands_has_the_first_line_of_their_help(name):
    assert command_of(name).help.split("\n")[0] == COMMANDS[name]


def test_threads_that_call_a_kernel_at_once_share_what_is_compiled(monkeypatch):
    made = []

    def slow_njit(**options):
        time.sleep(0.05)
        made.append(options)
        return lambda body: body

    assert Kernel(lambda x: x)(1) == 1  # what Numba compiles for itself when it starts
    monkeypatch.setattr("numba.njit", slow_njit)
    kernel = Kernel(lambda x: x + 1)
    threads = [threading.Thread(target=kernel, args=(1,)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 1


@pytest.mark.parametrize("collecting", [True, False])
def test_numba_starts_without_garbage_collection_and_leaves_it_as_it_was(collecting, monkeypatch):
    seen = []
    context = cpu_target.typing_context
    monkeypatch.setattr(context, "refresh", lambda: seen.append(gc.isenabled()))
    before = gc.isenabled()
    try:
        (gc.enable if collecting else gc.disable)()
        start_numba.__wrapped__()
        assert gc.isenabled() == collecting
    finally:
        (gc.enable if before else gc.disable)()
    assert seen == [False]
