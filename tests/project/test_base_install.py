"""What the base install does without the packages of the extras, and what it says of the rest."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from aucmax.basics.needs import EXTRAS, MissingPackage, needs

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
BASE = {"numpy", "scipy", "scikit-learn", "numba", "threadpoolctl"}
# Packages of the extras cannot be imported after this, as where they are not installed; but for
# narwhals, which new versions of scikit-learn need.
WITHOUT = f"""
import sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {sorted({*EXTRAS} - {"narwhals"})}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Absent())
"""


def without_extras(program: str, *, code: int = 0, cwd: Path | None = None) -> str:
    """Run a program without the packages of the extras; return what it prints."""
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT + program],
        capture_output=True,
        text=True,
        check=False,
        cwd=cwd,
    )
    assert done.returncode == code, done.stderr
    return done.stderr + done.stdout


def names_of(requirements: list[str]) -> set[str]:
    return {re.match(r"[\w.-]+", one)[0] for one in requirements}


def test_the_base_install_is_light_and_every_hint_names_the_extra_that_has_the_package():
    assert names_of(PROJECT["dependencies"]) == BASE
    extras = PROJECT["optional-dependencies"]
    for package, extra in EXTRAS.items():
        assert package in names_of(extras[extra])
    users = {*extras} - {"all", "test"}
    (everything,) = extras["all"]
    assert set(re.search(r"\[(.*)\]", everything)[1].split(",")) == users
    assert "aucmax[all]" in extras["test"]


def test_what_is_missing_is_named_but_not_what_it_misses_itself(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "skops.io", None)
    with pytest.raises(MissingPackage, match=r"^a file needs skops: pip .* 'aucmax\[files\]'$"):
        needs("skops.io", "a file")
    (tmp_path / "river.py").write_text("import nothing_of_this_name")
    monkeypatch.delitem(sys.modules, "river", raising=False)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="nothing_of_this_name"):
        needs("river", "aucmax.river")


def test_fits_tuning_scores_metrics_and_pickles_work_without_the_extras():
    said = without_extras("""
import pickle, warnings
warnings.simplefilter("error")
from sklearn.datasets import load_breast_cancer
import aucmax
from aucmax import *
X, y = load_breast_cancer(return_X_y=True)
X, y = X[::4], y[::4]
for model in (
    AUCClassifier(), AUCClassifier(loss="squared_hinge"), AUCClassifier(solver="spam"),
    AUCClassifierCV(alphas=[0.1], cv=2), HingeClassifier(max_iter=200),
    MulticlassAUCClassifier(), additive.Scorecard(),
):
    model.fit(X, y)
    model.predict(X), model.score(X, y)
    copy = pickle.loads(pickle.dumps(model))
    assert (copy.decision_function(X) == model.decision_function(X)).all()
tuned = AUCClassifierCV(alphas=[0.1], cv=2).fit(X, y)
assert "<" in tuned._repr_html_()
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    AUCClassifierCV(alphas=[0.1], cv=2, verbose=1).fit(X, y)
assert "a progress bar needs rich: pip install 'aucmax[cli]'" in {str(one.message) for one in said}
score = tuned.decision_function(X)
print(metrics.roc_auc(y, score), metrics.auc_interval(y, score)[0])
moments = ClassMoments.from_data(X, y)
assert (AUCClassifier().fit_moments(moments + moments).coef_ != 0).all()
""")
    assert float(said.split()[0]) > 0.9


# what is used, and the package that it then lacks
USES = {
    "aucmax.save(model, 'm.aucmax')": "skops",
    "aucmax.load('m.aucmax')": "skops",
    "datasets.read('rows.csv')": "pyarrow",
    "datasets.read('rows.parquet')": "pyarrow",
    "datasets.read('rows.svm')": "pyarrow",
    "datasets.scan('rows.parquet', target='y')": "pyarrow",
    "datasets.read('s3://bucket/rows.csv')": "fsspec",
    "datasets.read('lake')": "deltalake",
    "datasets.load('diabetes')": "pooch",
    "AUCClassifier(loss='hinge').fit(X, y)": "clarabel",
    "plots.RocDisplay.from_predictions(y, X[:, 0])": "matplotlib",
    "write_page(Page('Title', '', []), 'page.html')": "jinja2",
    "roc_figure(SETS).save(Path('roc.png'))": "matplotlib",
    "import aucmax.river": "river",
    "import aucmax.distributed": "dask",
    "aucmax.to_sql(model, columns=['a', 'b'])": "sqlglot",
    "aucmax.to_onnx(model)": "onnx",
    "locked_store(Path('store')).__enter__()": "filelock",
    "needs('requests', 'a download')": "requests",  # the locks of one need filelock before
    # the last, for scikit-learn may need it from here on
    "sys.modules['narwhals'] = None; ClassMoments.from_query(X, target='y')": "narwhals",
}


def test_a_use_that_lacks_a_package_says_which_extra_has_it(tmp_path):
    (tmp_path / "rows.csv").write_text("a,y\n1,0\n2,1\n")
    (tmp_path / "rows.svm").write_text("0 1:1\n1 1:2\n")
    (tmp_path / "rows.parquet").write_bytes(b"PAR1")
    (tmp_path / "lake" / "_delta_log").mkdir(parents=True)
    said = without_extras(
        f"""
import os
from pathlib import Path
import numpy as np
import aucmax
from aucmax import *
from aucmax.basics.needs import needs
from aucmax.experiments.jobs import locked_store
from aucmax.metrics.scored import Scored
from aucmax.report.curves import ScoredSets, roc_figure
from aucmax.report.page import Page, write_page
os.environ.pop("AUCMAX_CACHE", None)
X, y = np.array([[0.0, 1.0], [1.0, 3.0], [2.0, 2.0]]), np.array([0, 1, 1])
model = AUCClassifier().fit(X, y)
SETS = ScoredSets(dict(model=[Scored(y == 1, X[:, 0])]))
for use in {list(USES)}:
    try:
        exec(use)
    except ImportError as error:
        print(error)
    else:
        raise AssertionError(use)
""",
        cwd=tmp_path,
    )
    lines = said.splitlines()
    for (use, package), line in zip(USES.items(), lines, strict=True):
        hint = rf"[\w .:/-]+ needs {package}: pip install 'aucmax\[{EXTRAS[package]}\]'"
        assert re.fullmatch(hint, line), (use, line)
    assert {*USES.values()} >= {*EXTRAS} - {"distributed", "pandas", "rich", "typer"}


DEMO = """
from aucmax.experiments import demo
demo.PAYMENTS, demo.CUSTOMERS = 1000, 50
from aucmax.cli import main
main(["demo", "--seed", "1"])
"""


def test_the_demo_is_all_of_the_command_line_that_the_base_install_has():
    screen = without_extras(DEMO)
    assert "payments" in screen
    assert "\n4  Three sites" in screen
    assert screen.endswith("\nFor these commands: pip install 'aucmax[all]'\n")
    said = without_extras("from aucmax.cli import main; main(['train', 'rows.csv'])", code=2)
    assert said == (
        "error: the command line needs typer: pip install 'aucmax[cli]'; without it, only "
        "'aucmax demo [--seed NUMBER]' works.\n"
    )


def test_help_in_the_base_install_tells_what_there_is():
    said = without_extras("""
from aucmax.cli import main
for words in ([], ["--help"], ["demo", "-h"], ["demo", "--help"]):
    try:
        main(words)
    except SystemExit as end:
        assert not end.code, words
    print(end="|")
""")
    *helps, after = said.split("|")
    assert (len(helps), after) == (4, "")
    for text in helps:
        assert text.startswith("Usage: aucmax demo [--seed NUMBER]\n")
        assert "pip install 'aucmax[all]'" in text
        assert max(map(len, text.splitlines())) <= 80


def test_a_command_that_lacks_a_package_says_so_in_one_line(tmp_path, run, monkeypatch):
    (tmp_path / "rows.csv").write_text("a,y\n1,0\n2,1\n")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    code, out, said = run("train", tmp_path / "rows.csv", "-o", tmp_path / "m.aucmax")
    assert (code, out) == (2, "")
    assert said == "error: a CSV file needs pyarrow: pip install 'aucmax[files]'\n"
