"""What every released minor version wrote is read, and gives what it gave."""

import json
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import InconsistentVersionWarning

import released
from aucmax import additive, estimators
from aucmax.basics.container import kind_of

FOLDERS = sorted(released.FOLDER.glob("[0-9]*.[0-9]*"))
FILES = [path for folder in FOLDERS for path in sorted(folder.glob("*.aucmax"))]


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_a_file_of_a_released_version_gives_what_it_gave(path):
    expected = json.loads((path.parent / released.EXPECTED).read_text(encoding="utf-8"))
    with warnings.catch_warnings():  # scikit-learn's own steps
        warnings.simplefilter("ignore", InconsistentVersionWarning)
        found = released.given(path, pd.DataFrame(expected["rows"]))
    np.testing.assert_allclose(found, expected["gives"][path.name], rtol=1e-9, atol=1e-12)


def test_this_version_has_its_folder_and_every_class_that_a_file_may_hold_is_in_it():
    folder = released.FOLDER / released.version()
    assert folder in FOLDERS, "write it: nox -s models"
    assert {path.name for path in folder.iterdir()} == {
        *json.loads((folder / released.EXPECTED).read_text(encoding="utf-8"))["gives"],
        released.EXPECTED,
    }
    held = b"".join(path.read_bytes() for path in folder.glob("*.aucmax"))
    classes = [name for name in estimators.__all__ if name.startswith(("AUC", "Hinge", "Multi"))]
    for name in (*classes, *additive.__all__, "TableEncoder"):
        assert f'"__class__": "{name}"'.encode() in held
    assert {kind_of(path) for path in folder.glob("*.aucmax")} == {*released.GIVES}
