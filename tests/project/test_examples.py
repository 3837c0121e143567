"""The scripts of the gallery run, from an empty folder and without a network, and are pages."""

import re
import runpy
import socket
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "examples"
SCRIPTS = sorted(FOLDER.glob("plot_*.py"))

scripts = pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)


@pytest.mark.exhaustive  # the site is built of what they draw, so that its build runs them all
@scripts
def test_each_example_runs(script, tmp_path, monkeypatch, capsys):
    """In an empty folder, which it leaves empty, without a network, and it draws something."""
    pyplot = pytest.importorskip("matplotlib.pyplot")
    figures = []

    def show():
        figures.extend(pyplot.get_fignums())
        pyplot.close("all")

    def refuse(*_):
        raise AssertionError(f"{script.name} asks for a network")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(pyplot, "show", show)
    monkeypatch.setattr(socket.socket, "connect", refuse)
    runpy.run_path(str(script), run_name="__main__")
    assert figures, "it draws nothing"
    assert not pyplot.get_fignums(), "a figure was not shown"
    assert capsys.readouterr().out
    assert not list(tmp_path.iterdir())


@scripts
def test_each_example_is_a_page(script):
    """A title, underlined, and blocks of prose between the code."""
    text = script.read_text(encoding="utf-8")
    head = re.match(r'"""\n(.+)\n(=+)\n', text)
    assert head
    assert len(head[1]) == len(head[2])
    assert text.count("\n# %%\n") >= 3


def test_every_example_is_found():
    assert {path.name for path in FOLDER.glob("*.py")} == {path.name for path in SCRIPTS}
