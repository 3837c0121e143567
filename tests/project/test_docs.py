"""The pages do what they say, and public docstrings are complete."""

import ast
import doctest
import functools
import importlib
import inspect
import io
import os
import re
import shlex
import sys
import types
from decimal import Decimal
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from numpydoc.validate import validate

import aucmax
from aucmax import (
    AUCClassifier,
    AUCClassifierCV,
    ClassMoments,
    HingeClassifier,
    additive,
    datasets,
    metrics,
    penalties,
    plots,
    solvers,
    theory,
)
from aucmax.cli import main
from aucmax.cli.app import COMMANDS
from aucmax.experiments import payments
from aucmax.objective import Objective
from aucmax.objective.losses import LOSSES
from aucmax.objective.penalties import PENALTIES, ElasticNet
from aucmax.objective.problem import ANY_ROWS, Problem
from aucmax.solvers import ACCURACY_SOLVERS, SOLVERS, Monitor, Result
from objective.test_penalties import EVERY_PENALTY
from objective.test_properties import EVERY_LOSS
from solvers.test_every_solver import EVERY_CASE, EVERY_LEARNER
from specification import cases_of

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
each_page = pytest.mark.parametrize("page", PAGES, ids=lambda path: path.stem)

# ---- blocks of code ----------------------------------------------------------------------


class Block(NamedTuple):
    """A fenced block: the words after the fence, its text, and the line it starts on."""

    words: tuple[str, ...]
    text: str
    line: int


def blocks(page):
    lines = page.read_text(encoding="utf-8").splitlines()
    fences = [i for i, line in enumerate(lines) if line.startswith("```")]
    assert len(fences) % 2 == 0, f"{page.name}: a fence is not closed"
    for start, end in zip(fences[::2], fences[1::2], strict=True):
        words = tuple(lines[start][3:].split())
        yield Block(words, "\n".join(lines[start + 1 : end]), start + 2)


def commands(block):
    """The lines of a shell block; a backslash at the end joins two."""
    return block.text.replace("\\\n", " ").splitlines()


NUMBER = re.compile(r"(?<![\w.])[+-]?\d+(?:,\d{3})*(?:\.\d+)?(?:e[+-]?\d+)?")


def agree(shown, printed):
    """Whether the same words are shown as printed, and numbers that differ as machines may.

    Whole numbers are equal; others differ by no more than two units of the last digit shown.
    """
    if NUMBER.sub("#", shown).split() != NUMBER.sub("#", printed).split():
        return False
    for pair in zip(NUMBER.findall(shown), NUMBER.findall(printed), strict=True):
        x, y = (Decimal(number.replace(",", "")) for number in pair)
        exponent = x.as_tuple().exponent
        if abs(x - y) > (2 * Decimal(10) ** exponent if exponent < 0 else 0):
            return False
    return True


def shows(shown, printed):
    """Whether what is shown agrees with what is printed; a line "…" stands for lines left out."""
    pieces = [piece.strip().splitlines() for piece in re.split("^…$", shown, flags=re.M)]
    if len(pieces) == 1:
        return agree(shown, printed)
    lines = printed.splitlines()
    for piece in filter(None, pieces):
        text, size = "\n".join(piece), len(piece)
        starts = range(len(lines) - size + 1)
        found = [k for k in starts if agree(text, "\n".join(lines[k : k + size]))]
        if not found:
            return False
        lines = lines[found[0] + size :]
    return True


@pytest.mark.parametrize(
    ("shown", "printed", "same"),
    [
        ("AUC  0.9892 (tie)", "AUC 0.9893   (tie)", True),
        ("AUC 0.9892", "AUC 0.9895", False),
        ("AUC 0.9892", "auc 0.9892", False),
        ("2,000 rows", "2,001 rows", False),
        ("optimality 9.6e-16", "optimality 9.7e-16", True),
        ("optimality 9.6e-16", "optimality 1.2e-15", False),
        ("± 0.0045", "± 0.0045 better", False),
        ("-0.0028", "0.0028", False),
    ],
)
def test_what_is_shown_is_held_to_what_is_printed(shown, printed, same):
    assert agree(shown, printed) is same


@pytest.mark.parametrize(
    ("shown", "same"),
    [
        ("a 1\n…\nd", True),
        ("a 1\nb\n…\nc 2.5\n\nd", True),
        ("…\nc 2.5\n…", True),
        ("d\n…\na 1", False),
        ("a 1\n…\nc 2.9", False),
        ("…\nb c 2.5", False),
    ],
)
def test_lines_that_are_left_out(shown, same):
    assert shows(shown, "a 1\nb\nc 2.5\n\nd") is same


@pytest.fixture
def registries():
    """What a page adds to the registries is taken out again."""
    kept = [(registry, dict(registry)) for registry in (LOSSES, PENALTIES, SOLVERS)]
    yield
    for registry, items in kept:
        registry.clear()
        registry.update(items)


@pytest.fixture
def run_page(tmp_path, monkeypatch, capsys, registries):
    """Run the Python blocks and aucmax commands of a page in order; return its names.

    A text block must agree with what the block before it printed last, or with lines of it.
    """
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")

    def run(page):
        module = types.ModuleType(f"page_{page.stem}")
        monkeypatch.setitem(sys.modules, module.__name__, module)
        # a file beside which Numba may cache; its lines have the numbers of the page's
        source = tmp_path / f"{module.__name__}.py"
        kinds = {"python": functools.partial(run_python, module, source), "sh": run_commands}
        printed = ""
        for block in blocks(page):
            kind, *options = block.words
            if kind == "text":
                shown = f"{page.name}, line {block.line}, should show\n{printed}"
                assert shows(block.text, printed), shown
            elif "data" not in options or os.environ.get("AUCMAX_DATA"):
                printed = kinds[kind](block)
        return vars(module)

    def run_python(module, source, block):
        before = source.read_text(encoding="utf-8") if source.exists() else ""
        text = before + "\n" * (block.line - 1 - before.count("\n")) + block.text + "\n"
        source.write_text(text, encoding="utf-8")
        own = "\n" * (block.line - 1) + block.text + "\n"
        exec(compile(own, str(source), "exec"), vars(module))
        return capsys.readouterr().out

    def run_commands(block):
        out = ""
        for line in commands(block):
            name, *arguments = shlex.split(line)
            if name == "head":
                _, count, file = arguments
                out = "\n".join(Path(file).read_text().splitlines()[: int(count)])
            if name != "aucmax":  # set-up and checks, which run these tests
                continue
            with pytest.raises(SystemExit) as end:
                main(arguments)
            printed = capsys.readouterr()
            assert end.value.code == 0, f"{line}\n{printed.err}"
            out = printed.out
        return out

    return run


# with fewer penalties and folds the same is chosen, or it is not shown
@pytest.mark.usefixtures("few_penalties", "folds_drawn_once", "undrawn")
@each_page
def test_the_blocks_run(page, run_page, monkeypatch):
    if page.stem == "get_started":  # it shows no numbers, so that few rows do
        for name, (day, days, _) in payments.PERIODS.items():
            monkeypatch.setitem(payments.PERIODS, name, (day, days, 2_000))
    if page.stem == "command_line":  # many rows, and of three penalties the first is chosen
        monkeypatch.setattr("aucmax.experiments.rivals.GRID", [1e-2, 1.0])
    known = [set(registry) for registry in (SOLVERS, LOSSES, PENALTIES)]
    names = run_page(page)
    if page.stem == "add_a_solver":  # what it adds is held to what every one of its kind must do
        solvers, losses, penalties = (
            {name: registry[name] for name in set(registry) - before}
            for registry, before in zip((SOLVERS, LOSSES, PENALTIES), known, strict=True)
        )
        assert solvers
        assert losses
        assert penalties
        for case in cases_of(solvers):
            for check in EVERY_CASE + EVERY_LEARNER * case.stochastic:
                check(case)
        for loss in losses.values():
            for check in EVERY_LOSS:
                check(loss)
        for kind in penalties.values():
            for check in EVERY_PENALTY:
                check(kind)
    if page.stem == "command_line":
        assert Path("scores.csv").read_text().count("\n") == 4001
        assert Path("roc.png").stat().st_size > 0
    if page.stem == "exact":
        for one, other in (("merged", "refit"), ("pooled", "refit"), ("stream", "refit")):
            a, b = names[one].coef_, names[other].coef_
            if one == "merged":  # the page compares it with the fit to all rows
                b = names["new"]().fit(names["X"], names["y"]).coef_
            np.testing.assert_allclose(a, b, rtol=0, atol=1e-10 * np.abs(b).max())


@each_page
def test_every_block_is_of_a_kind_that_is_tested(page):
    kinds = {block.words[:1] for block in blocks(page)}
    assert kinds <= {("python",), ("sh",), ("text",)}, f"{page.name}: {kinds}"


def test_what_takes_a_group_says_which_pip_knows_groups():
    """`pip install --group` came with pip 25.1."""
    scripts = [ROOT / ".ci" / "run", *(ROOT / ".github" / "workflows").glob("*.yml")]
    for file in (*PAGES, *scripts):
        text = file.read_text(encoding="utf-8")
        assert text.count("25.1") >= len(re.findall("pip install .*--group", text)), file


# ---- what the pages name -----------------------------------------------------------------


def anchors(page):
    titles = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.M)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def prose(page):
    """The page without its blocks."""
    return re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CHANGELOG.md"], ids=lambda path: path.stem)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)\s]+)\)", prose(page)):
        if target.startswith("https://"):
            continue
        name, _, anchor = target.partition("#")
        file = (page.parent / name).resolve() if name else page
        assert file.is_file(), f"{page.name}: {target}"
        assert not anchor or anchor in anchors(file), f"{page.name}: {target}"


@pytest.mark.parametrize("name", ["guide", "papers", "development"])
def test_a_page_lists_what_the_site_has_below_it(name):
    """The tables of contents of the site stand in comments; readers of the file see the lists."""
    page = (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8")
    trees = re.findall(
        r"^<!--\n:::\{toctree\}\n(?::.*\n)*\n([\w\n]+)\n:::\n-->$", page, re.MULTILINE
    )
    assert trees
    below = "\n".join(trees).split()
    assert re.findall(r"^- \[.*?\]\((\w+)\.md\)", page, re.MULTILINE) == below


@each_page
def test_the_rows_of_a_table_have_as_many_cells(page):
    for table in re.findall(r"(?:^\|.*\|\n)+", prose(page), re.M):
        cells = [line.count("|") for line in table.splitlines()]
        assert len(set(cells)) == 1, f"{page.name}: {table}"


@each_page
def test_files_that_are_named_exist(page):
    for name in re.findall(r"`([\w./-]+\.(?:py|md|toml))`", prose(page)):
        places = (ROOT, ROOT / "src" / "aucmax", ROOT / "src" / "aucmax" / "solvers")
        assert any((place / name).is_file() for place in places), f"{page.name}: {name}"


_OBJECTIVE = Objective(ANY_ROWS, LOSSES["square"], ElasticNet(1.0))
NAMED = {
    **{module.__name__.rpartition(".")[2]: module for module in (datasets, metrics, theory)},
    **{kind.__name__: kind for kind in (AUCClassifier, ClassMoments, Problem, Objective, Result)},
    **{kind.__name__: kind for kind in (*SOLVERS.values(), *ACCURACY_SOLVERS.values())},
    **{kind.__name__: kind for kind in (HingeClassifier,)},
    "aucmax": aucmax,
    "solvers": solvers,
    "ElasticNet": ElasticNet(1.0),
    "objective": _OBJECTIVE,
    "monitor": Monitor(_OBJECTIVE),
}


@each_page
def test_names_that_are_named_exist(page):
    """Backticked names behind a module or class of the library, such as `theory.spam_rate`."""
    for dotted in re.findall(r"`([A-Za-z]\w*(?:\.\w+)+)", prose(page)):
        first, *rest = dotted.split(".")
        place = NAMED.get(first)
        for name in rest if place is not None else ():
            if isinstance(place, types.ModuleType) and not hasattr(place, name):
                importlib.import_module(f"{place.__name__}.{name}")
            assert hasattr(place, name), f"{page.name}: {dotted}"
            place = getattr(place, name)


def table_names(page):
    """The names in backticks in the first column of a page's tables."""
    rows = re.findall(r"^\| (`.+?) \|", (ROOT / "docs" / page).read_text(encoding="utf-8"), re.M)
    return [name.strip('"') for row in rows for name in re.findall(r"`(.+?)`", row)]


def test_every_solver_is_in_its_table():
    found = table_names("solvers.md")
    pairs = ["solver=", "auto", *SOLVERS]
    rows = ["HingeClassifier(solver=…)", *ACCURACY_SOLVERS]
    assert sorted(found) == sorted(pairs + rows)
    assert set(found[: len(pairs)]) == set(pairs)  # each in the table of its estimator


def test_every_metric_is_in_its_table():
    functions = [name for name in metrics.__all__ if inspect.isfunction(getattr(metrics, name))]
    assert sorted(table_names("metrics.md")) == sorted(functions)


def test_every_command_is_in_its_table():
    listed = table_names("command_line.md")
    assert sorted(name for name in listed if name.startswith("aucmax ")) == sorted(
        f"aucmax {name}" for name in COMMANDS
    )


def test_every_data_set_is_named():
    words = " ".join(prose(ROOT / "docs" / "data.md").split())
    assert ", ".join(datasets.names()) + "." in words


def test_the_reference_has_every_public_name():
    text = (ROOT / "docs" / "api.rst").read_text(encoding="utf-8")
    listed = re.findall(r"^(?:   |\.\. autodata:: aucmax\.)(\w[\w.]*)$", text, re.M)
    assert len(listed) == len(set(listed))
    modules = (additive, datasets, metrics, penalties, plots, solvers, theory)
    names = {name for name in aucmax.__all__ if not inspect.ismodule(getattr(aucmax, name))}
    for module in modules:
        names |= {f"{module.__name__}.{name}".removeprefix("aucmax.") for name in module.__all__}
    assert names <= set(listed), sorted(names - set(listed))


def test_the_decision_table_names_what_there_is():
    text = (ROOT / "docs" / "which.md").read_text(encoding="utf-8")
    table = text.partition("| you have ")[2].partition("\n\n")[0]
    assert set(re.findall(r'`"(\w+)"`', table)) <= {*LOSSES, *SOLVERS}
    named = {kind.__name__: kind for kind in (AUCClassifier, AUCClassifierCV)}
    calls = re.findall(r"`((?:AUCClassifier|AUCClassifierCV)\([^`]*?\))[.`]", table)
    X, y = [[0.0], [1.0], [2.0], [3.0]] * 10, [0, 0, 1, 1] * 10
    for call in calls:
        assert hasattr(eval(call, named).fit(X, y), "classes_"), call
    assert len(calls) > 5


def test_every_constant_of_the_papers_is_in_the_table_of_symbols():
    text = (ROOT / "docs" / "symbols.md").read_text(encoding="utf-8")
    assert "spam_rate" not in text  # an order of growth, with no symbol of its own
    for name in set(theory.__all__) - {"spam_rate", "vrspam_max_step"}:
        assert f"theory.{name}" in text, name


# ---- docstrings --------------------------------------------------------------------------

MODULES = [aucmax, additive, datasets, metrics, plots, solvers, theory]


def public():
    """(name by which it is imported, object) of every public name, and of methods of classes."""
    for module in MODULES:
        for name in module.__all__:
            item = getattr(module, name)
            if not callable(item):
                continue
            full = f"{module.__name__}.{name}"
            yield full, item
            for key in vars(item) if inspect.isclass(item) else ():
                member = getattr(item, key)
                ours = getattr(member, "__module__", "").startswith("aucmax")
                if not key.startswith("_") and (isinstance(member, property) or ours):
                    yield f"{full}.{key}", member


PUBLIC = dict(public())

# What numpydoc may ask for and we do not.
NOT_ASKED = {
    "ES01": "the summary is enough where there is no more to say",
    "EX01": "not every function needs an example",
    "SA01": "nor a section See Also",
    "GL01": "the summary stands on the line of the quotes",
    "PR03": "'X, y, sample_weight: as for fit' stands first, whatever the order",
    "PR04": "and gives the types by reference",
    "PR07": "'rng : RandomState' says it all",
    "PR08": "descriptions may start with a symbol",
    "RT03": "and so may those of what is returned",
}


def asked(name, code):
    """Whether numpydoc's complaint of this code counts for a public name."""
    if code in NOT_ASKED:
        return False
    item = PUBLIC[name]
    doc = inspect.getdoc(item) or ""
    kind = name.rpartition(".")[0]
    if code == "GL08":  # a method may inherit its docstring
        return not doc
    if code == "PR01":
        inherited = item.__doc__ is None
        by_reference = "Parameters and errors are those of" in doc
        symbols = kind == "aucmax.theory"  # its module docstring defines them
        fields = isinstance(item, type) and _has_fields(item)
        return not (inherited or by_reference or symbols or fields or _sentence(doc))
    if code == "RT01":  # "Return …" says it, and a method that returns self needs not
        returns_self = "Self" in str(getattr(item, "__annotations__", {}).get("return", ""))
        return not (doc.startswith("Return ") or returns_self or _sentence(doc))
    return True


def _sentence(doc):
    """Whether a docstring is one paragraph, which then says all there is."""
    return "\n\n" not in doc


def _has_fields(kind):
    """A named tuple or dataclass describes its fields, as parameters, attributes or in words."""
    fields = getattr(kind, "_fields", None) or getattr(kind, "__dataclass_fields__", ())
    return bool(fields) and all(field in (kind.__doc__ or "") for field in fields)


@pytest.mark.parametrize("name", PUBLIC)
def test_docstring(name):
    complaints = [f"{code}: {text}" for code, text in validate(name)["errors"] if asked(name, code)]
    assert not complaints, "\n".join(complaints)


class Shown(doctest.OutputChecker):
    """Examples agree with what they print as the pages do."""

    def check_output(self, want, got, optionflags):
        return super().check_output(want, got, optionflags) or agree(want, got)


EXAMPLES = [
    example
    for path in sorted((ROOT / "src" / "aucmax").rglob("*.py"))
    if ">>> " in path.read_text(encoding="utf-8")
    for example in doctest.DocTestFinder(exclude_empty=True).find(
        importlib.import_module(".".join(path.relative_to(ROOT / "src").with_suffix("").parts))
    )
    if example.examples
]


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
def test_the_examples_of_docstrings_print_what_they_show(example, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    report = io.StringIO()
    runner = doctest.DocTestRunner(Shown(), verbose=False)
    assert runner.run(example, out=report.write).failed == 0, report.getvalue()


def test_messages_of_python_functions_name_no_options_of_commands():
    """The commands put their own words in place of ``drop=['x']``."""
    options = re.compile(r"(?<![-\w])--[a-z]")
    for path in sorted((ROOT / "src/aucmax").rglob("*.py")):
        if path.parent.name == "report" or "cli" in path.parts:  # styles, commands
            continue
        text = path.read_text(encoding="utf-8")
        if not options.search(text):
            continue
        tree = ast.parse(text)
        docs = {ast.get_docstring(node, clean=False) for node in ast.walk(tree) if documented(node)}
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                told = node.value not in docs and "aucmax " not in node.value
                assert not (told and options.search(node.value)), f"{path}:{node.lineno}"


def documented(node):
    return isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)


def test_every_module_says_what_it_is():
    for path in (ROOT / "src" / "aucmax").rglob("*.py"):
        assert path.read_text(encoding="utf-8").startswith('"""'), path
