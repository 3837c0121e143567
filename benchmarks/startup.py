"""What a new process costs before it works: imports, first fits and the command line's help.

Every figure comes from processes of its own, which take turns: processor seconds, which are the
wall time of an idle machine, because all of this runs on one thread; medians of ``--rounds``. Three
tables: imports, and what they take beyond scikit-learn's; the first fit of every solver to 40 rows
of 5 features, dense and sparse, after the imports, with an empty cache of kernels and with a full
one, and the number of kernels in the cache; the command line, also for a file that is refused and
for one of 200 rows and 5 features, with a full cache. ``--fits`` selects fits, such as
``"square, l1"``.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from statistics import median
from typing import Annotated, Any

import numpy as np
import typer

from aucmax.solvers import ACCURACY_SOLVERS, SOLVERS
from aucmax.solvers.stochastic.core import StochasticSolver
from benchmarks.common.engine import command, in_turn
from benchmarks.common.tables import show

SKLEARN = "import sklearn"
LINEAR = "import sklearn.linear_model, scipy.sparse, numpy"
IMPORTS = (SKLEARN, LINEAR, "import aucmax", "from aucmax import AUCClassifier")
IMPORTS += ("from aucmax import *",)
COMMANDS = ("--help", "--version", "train --help", "datasets", "train rows.csv --target y")
TYPER = "import typer.main, rich.markdown"
REFUSED = "train bad.csv --target y"

FIRST_FIT = """
import json, sys, time, warnings
import numpy as np, scipy.sparse as sp
import aucmax
kind, settings, layout = json.loads(sys.argv[1])
warnings.simplefilter("ignore")
X, y = np.random.RandomState(0).randn(40, 5), np.arange(40) % 2
X = sp.csr_array(X) if layout == "sparse" else X
model = getattr(aucmax, kind)(**settings)
start = time.process_time()
model.fit(X, y)
print(time.process_time() - start)
"""

FITS: dict[str, tuple[str, dict[str, Any]]] = {
    f"{loss}{', l1' * bool(ratio)}": ("AUCClassifier", {"loss": loss, "l1_ratio": ratio})
    for loss in ("square", "squared_hinge", "logistic", "hinge")
    for ratio in (0.0, 0.5)
    if (loss, ratio) != ("hinge", 0.5)  # no solver takes it
}
FITS["conjugate_gradient"] = ("AUCClassifier", {"solver": "conjugate_gradient"})
FITS |= {
    name: ("AUCClassifier", {"solver": name})
    for name, kind in SOLVERS.items()
    if issubclass(kind, StochasticSolver)
}
FITS |= {
    name: ("HingeClassifier", {"solver": name, "l1_ratio": float(name != "pegasos")})
    for name in ACCURACY_SOLVERS
}
FITS["AUCClassifierCV"] = ("AUCClassifierCV", {})


def commands(
    words: dict[str, list[str]], rounds: int, folder: Path | None = None
) -> dict[str, float]:
    """Return the median processor seconds of each command; that of REFUSED must be refused."""
    lines = in_turn(
        {
            name: partial(command, each, folder=folder, refused=REFUSED in name)
            for name, each in words.items()
        },
        rounds,
    )
    return {name: median(one["processor_seconds"] for one in each) for name, each in lines.items()}


def imports(rounds: int) -> Iterator[list[str]]:
    took = commands({statement: ["-c", statement] for statement in IMPORTS}, rounds)
    for statement, value in took.items():
        beyond = [f"{value - took[base]:+.2f}" for base in (SKLEARN, LINEAR)]
        yield [f"`{statement}`", f"{value:.2f}", *beyond]


def first_fit(name: str, layout: str, folder: str) -> float:
    """Return the processor seconds of a fit in a new process, with the kernels in a folder."""
    done = subprocess.run(
        [sys.executable, "-c", FIRST_FIT, json.dumps([*FITS[name], layout])],
        check=True,
        capture_output=True,
        text=True,
        env=os.environ | {"NUMBA_CACHE_DIR": folder},
    )
    return float(done.stdout)


def fits(rounds: int, names: list[str]) -> Iterator[list[str]]:
    for name in names:
        cold, warm, kernels = [], [], []
        for layout in ("dense", "sparse"):
            with tempfile.TemporaryDirectory() as folder:
                cold.append(f"{first_fit(name, layout, folder):.2f}")
                again = [first_fit(name, layout, folder) for _ in range(rounds)]
                warm.append(f"{median(again):.2f}")
                kernels.append(str(len(list(Path(folder).rglob("*.nbc")))))
        yield [name, *cold, *warm, ", ".join(kernels)]


def command_line(rounds: int) -> Iterator[list[str]]:
    words = {f"aucmax {text}": ["-m", "aucmax", *text.split()] for text in (*COMMANDS, REFUSED)}
    bare = {statement: ["-c", statement] for statement in (TYPER, LINEAR)}
    rng = np.random.RandomState(0)
    X = rng.randn(200, 5)
    y = X[:, 0] + rng.randn(200) > 0
    with tempfile.TemporaryDirectory() as folder:
        where = Path(folder)
        rows = np.column_stack([X, y])
        np.savetxt(where / "rows.csv", rows, "%.6g", ",", header="a,b,c,d,e,y", comments="")
        (where / "bad.csv").write_text("a,y\n1,0\n2\n3,1,4\n", encoding="utf-8")
        command(words["aucmax train rows.csv --target y"], folder=where)  # fills the cache
        for name, value in commands(bare | words, rounds, where).items():
            yield [f"`{name}`", f"{value:.2f}"]


def main(
    tables: Annotated[list[str], typer.Argument()] = ["imports", "fits", "commands"],
    rounds: int = 7,
    fit: Annotated[list[str], typer.Option("--fits")] = [*FITS],
) -> None:
    every = {
        "imports": (["statement", "s", f"beyond `{SKLEARN}`", f"beyond `{LINEAR}`"],
                    imports(rounds)),
        "fits": (["fit", "cold, dense", "cold, sparse", "warm, dense", "warm, sparse", "kernels"],
                 fits(rounds, fit)),
        "commands": (["command", "s"], command_line(rounds)),
    }  # fmt: skip
    for name in tables:
        show(*every[name])
