"""How a table is read is said once: by arguments in Python, by options of commands."""

import inspect
from dataclasses import fields
from typing import get_args

import numpy as np
import pytest

from aucmax import datasets
from aucmax.cli.later import command_of
from aucmax.data.readers import READERS
from aucmax.data.reading import FIELDS, Format, Reading, flag_of

NAMES = [one.name for one in fields(Reading)]
WITH_OPTION = {name for name in NAMES if FIELDS[name]["help"]}
JUDGED = {"strata", "segments"}
LEARNT = {"text", "missing", "dates", "categories", "groups", "time"}
CLASSES = {"positive", "binarize"}


def test_read_and_scan_have_the_fields_as_arguments():
    arguments = list(inspect.signature(datasets.read).parameters)
    assert arguments == ["path", *NAMES]
    some = [name for name in NAMES if FIELDS[name]["in_parts"]]
    arguments = list(inspect.signature(datasets.scan).parameters)
    assert arguments == ["data", *some, "part_bytes", "spool"]
    for function in (datasets.read, datasets.scan):
        assert "{fields}" not in function.__doc__
        for name in inspect.signature(function).parameters:
            assert f"\n{name} : " in function.__doc__, name


def test_an_argument_that_is_none_is_refused(tmp_path):
    with pytest.raises(TypeError, match="unexpected keyword argument 'txt'"):
        datasets.read(tmp_path / "a.csv", txt=True)
    with pytest.raises(TypeError, match="unexpected keyword argument 'positive'"):
        datasets.scan(tmp_path / "a.csv", positive=1)


@pytest.mark.parametrize(
    ("command", "lacks"),
    [
        ("train", {"segments", "keep"}),
        ("cv", {"segments", "keep"}),
        ("compare", {"segments", "keep"}),
        ("scorecard", LEARNT - {"categories"} | {"segments", "keep"}),
        ("evaluate", LEARNT - {"groups"} | {"keep"}),
        ("score", LEARNT | JUDGED | CLASSES | {"weight"}),
    ],
)
def test_commands_have_the_fields_as_options(command, lacks):
    options = {one.name: one.opts for one in command_of(command).params}
    assert WITH_OPTION - set(options) == lacks
    for name in WITH_OPTION - lacks:
        assert options[name] == [flag_of(name)]


def test_formats_are_those_of_the_readers():
    assert list(get_args(Format)) == list(READERS)


@pytest.mark.parametrize("sep", ["\t", "tab", "\\t"])
def test_a_tab_has_a_name(tmp_path, sep):
    path = tmp_path / "a.csv"
    path.write_text("a\ty\n1\t0\n2\t1\n")
    assert datasets.read(path, sep=sep).data.tolist() == [[1], [2]]


def test_halves_of_the_labels_are_those_of_binarize(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("a,y\n" + "".join(f"{i},{i % 4}\n" for i in range(8)))
    y = np.arange(8) % 4
    for how, same in (("even-odd", "even-odd"), ("random-halves:3", ("random-halves", 3))):
        target = datasets.read(path, binarize=how).target
        np.testing.assert_array_equal(target, datasets.binarize(y, same))
    with pytest.raises(ValueError, match="binarize= makes the two classes itself"):
        datasets.read(path, binarize="even-odd", positive=1)


def test_a_source_has_as_many_features_as_are_expected(tmp_path):
    path = tmp_path / "a.svm"
    path.write_text("1 1:1\n0 2:1\n1 2:3\n")
    (part,) = datasets.scan(path, n_features=5, spool=False)
    assert part.X.shape == (3, 5)
    with pytest.raises(ValueError, match="line 2: the feature index is 2; at most 1 is expected"):
        list(datasets.scan(path, n_features=1, spool=False))
