"""Compiled kernels are kept until something that they are made of changes, and no longer."""

import importlib
import os
import pickle
import pkgutil
import subprocess
import sys
from types import FunctionType, SimpleNamespace

import pytest

from aucmax import data, metrics, objective, solvers, statistics, streams
from aucmax.data.rows import row_dot
from aucmax.data.rows.fingerprint import OVERLOADS, fingerprint
from aucmax.data.rows.kernels import Kernel
from aucmax.objective.penalties import L1, prox1
from aucmax.solvers.stochastic import scaled, spam

EVERY = "import test_fingerprint as t; print(*map(t.fingerprint, t.kernels()))"


def kernels() -> list[Kernel]:
    """Every kernel of the packages that compute."""
    for package in (metrics, objective, data, solvers, statistics, streams):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            importlib.import_module(module.name)
    modules = [module for name, module in sys.modules.items() if name.startswith("aucmax.")]
    values = {id(value): value for module in modules for value in vars(module).values()}
    return [value for value in values.values() if isinstance(value, Kernel)]


class Edit:
    """What an edit changes: the modules of the kernels that are compiled again."""

    def __init__(self) -> None:
        self.before = {kernel: fingerprint(kernel) for kernel in kernels()}

    @property
    def modules(self) -> set[str]:
        changed = [kernel for kernel, key in self.before.items() if fingerprint(kernel) != key]
        return {kernel.__module__.rpartition(".")[2] for kernel in changed}


def constants(body, *values: object):
    """The code of a function with other constants."""
    return body.__code__.replace(co_consts=values)


def body_of(function, kind):
    """What a call of the function runs in compiled code, where it first differs by type."""
    return OVERLOADS[function][0](*[kind] * function.__code__.co_argcount)


@pytest.mark.exhaustive
def test_a_fingerprint_is_the_same_in_every_process(pytestconfig):
    another = subprocess.run(
        [sys.executable, "-c", EVERY], cwd=pytestconfig.rootpath / "tests" / "data",
        env=os.environ | {"PYTHONHASHSEED": "1"}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    mine = set(map(fingerprint, kernels()))
    assert set(another.stdout.split()) == mine
    assert len(mine) > 50


@pytest.mark.parametrize(
    ("body", "users", "others"),
    [
        (scaled.scaled_add, {"pegasos", "sadmm"}, {"oam", "coordinate_descent"}),
        (body_of(row_dot, None), {"spam", "pegasos", "oam"}, {"active_pairs", "levels"}),
        (
            body_of(prox1, SimpleNamespace(instance_class=type(L1(1.0).compiled()))),
            {"spam", "vrspam", "coordinate_descent"},
            {"pegasos", "oam"},
        ),
    ],
    ids=["helper", "body by type of rows", "body by kind of penalty"],
)
def test_an_edit_compiles_what_calls_it_again(body, users, others, monkeypatch):
    edit = Edit()
    monkeypatch.setattr(body, "__code__", constants(body, *body.__code__.co_consts, "another"))
    assert users <= edit.modules
    assert not others & edit.modules


def test_a_constant_belongs_to_the_kernels_that_read_it(monkeypatch):
    edit = Edit()
    monkeypatch.setattr(spam, "MIN_SCALE", 2e-4)
    assert edit.modules == {"spam"}


def test_docstrings_and_line_numbers_are_not_compiled(monkeypatch):
    edit = Edit()
    body = scaled.scaled_add
    _, *rest = body.__code__.co_consts
    code = constants(body, "Add a row.", *rest).replace(co_firstlineno=900)
    monkeypatch.setattr(body, "__code__", code)
    assert edit.modules == set()


def half(x):
    return x / 2


def test_a_kernel_that_moved_in_its_file_is_loaded_and_a_changed_one_compiled(
    tmp_path, monkeypatch
):
    monkeypatch.setattr("numba.config.CACHE_DIR", str(tmp_path))
    hits = []
    for value, code in [
        (1.5, half.__code__),
        (1.5, half.__code__.replace(co_firstlineno=900)),
        (1.0, half.__code__.replace(co_consts=(None, 3))),
    ]:
        kernel = Kernel(FunctionType(code, globals(), "half"))
        assert kernel(3.0) == value
        hits.append(sum(kernel.dispatcher.stats.cache_hits.values()))
    assert hits == [0, 1, 0]


def test_kernels_whose_types_have_moved_are_compiled_again(tmp_path, monkeypatch):
    """Another version may have left an index whose types this one does not find."""
    monkeypatch.setattr("numba.config.CACHE_DIR", str(tmp_path))
    assert Kernel(half)(3.0) == 1.5
    (path,) = tmp_path.rglob("*.nbi")
    with path.open("rb") as file:
        version = pickle.load(file)
    path.write_bytes(pickle.dumps(version) + b"caucmax.gone\nRows\n.")
    assert Kernel(half)(3.0) == 1.5
    with path.open("rb") as file:
        pickle.load(file)
        _, kept = pickle.loads(file.read())
    assert len(kept) == 1
