"""What a new process pays before it works: imports, first fits and the command line's help.

Every figure comes from processes of its own, in turn: processor seconds, which are the wall time of
an idle machine, because all of this runs on one thread; medians of ``--rounds``. Three Markdown
tables: imports, and what they take beyond scikit-learn's; the first fit of every solver to 40 rows
of 5 features, dense and sparse, after the imports, with an empty cache of kernels and with a full
one, and how many files the cache then has; the command line.

Which tables as arguments, all by default; ``--fits`` takes only those, such as ``"square, l1"``.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from aucmax.solvers import ACCURACY_SOLVERS, SOLVERS
from aucmax.solvers.stochastic.core import StochasticSolver

SKLEARN = "import sklearn"
LINEAR = "import sklearn.linear_model, scipy.sparse, numpy"
IMPORTS = (SKLEARN, LINEAR, "import aucmax", "from aucmax import AUCClassifier")
IMPORTS += ("from aucmax import *",)
COMMANDS = ("--help", "--version", "train --help", "datasets")

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


def seconds(*command: str) -> float:
    """Return the processor seconds of a Python process."""
    process = subprocess.Popen([sys.executable, *command], stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"failed: {' '.join(command)}")
    return used.ru_utime + used.ru_stime


def in_turn(commands: dict[str, list[str]], rounds: int) -> dict[str, float]:
    """Return the median seconds of each command, after a round that is not counted."""
    times = [{name: seconds(*words) for name, words in commands.items()} for _ in range(rounds + 1)]
    return {name: statistics.median(one[name] for one in times[1:]) for name in commands}


def imports(rounds: int) -> None:
    took = in_turn({statement: ["-c", statement] for statement in IMPORTS}, rounds)
    print(f"| statement | s | beyond `{SKLEARN}` | beyond `{LINEAR}` |")
    print("|---" * 4 + "|")
    for statement, value in took.items():
        beyond = [f"{value - took[base]:+.2f}" for base in (SKLEARN, LINEAR)]
        print(f"| `{statement}` | {value:.2f} | {' | '.join(beyond)} |")


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


def fits(rounds: int, names: list[str]) -> None:
    print("| fit | cold, dense | cold, sparse | warm, dense | warm, sparse | kernels |")
    print("|---" * 6 + "|")
    for name in names:
        cold, warm, kernels = [], [], []
        for layout in ("dense", "sparse"):
            with tempfile.TemporaryDirectory() as folder:
                cold.append(f"{first_fit(name, layout, folder):.2f}")
                again = [first_fit(name, layout, folder) for _ in range(rounds)]
                warm.append(f"{statistics.median(again):.2f}")
                kernels.append(str(len(list(Path(folder).rglob("*.nbc")))))
        print(f"| {name} | {' | '.join([*cold, *warm, ', '.join(kernels)])} |", flush=True)


def command_line(rounds: int) -> None:
    commands = {f"aucmax {text}": ["-m", "aucmax", *text.split()] for text in COMMANDS}
    took = in_turn({LINEAR: ["-c", LINEAR]} | commands, rounds)
    print("| command | s |")
    print("|---" * 2 + "|")
    for name, value in took.items():
        print(f"| `{name}` | {value:.2f} |")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tables", nargs="*", default=["imports", "fits", "commands"])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--fits", nargs="+", choices=[*FITS], metavar="FIT", default=[*FITS])
    arguments = parser.parse_args()
    tables = {
        "imports": lambda: imports(arguments.rounds),
        "fits": lambda: fits(arguments.rounds, arguments.fits),
        "commands": lambda: command_line(arguments.rounds),
    }
    for table in arguments.tables:
        if table not in tables:
            parser.error(f"no table {table!r}; there are {', '.join(tables)}")
        tables[table]()
        print()
