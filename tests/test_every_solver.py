"""What every solver of the registries must do, whoever adds it."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from aucmax import AUCClassifier
from aucmax.objective import Objective, UnivariateObjective
from aucmax.objective.losses import LOSSES, UNIVARIATE_LOSSES
from aucmax.objective.penalties import ElasticNet
from aucmax.objective.problem import ANY_MOMENTS, ANY_ROWS, ANY_SKETCH
from aucmax.solvers import ACCURACY_SOLVERS, SOLVERS
from aucmax.solvers.auto import choose, pick
from specification import BATCH

HERE = Path(__file__).parent

# ---- what a step costs -------------------------------------------------------------------

DENSE = {"vrspam-elastic-net", "vrspam-l1"}  # the mean gradient moves every feature


def test_a_step_costs_the_rows_stored_entries():
    """Features that no further row holds are not looped over, whatever the learner."""
    paths = os.pathsep.join([str(HERE), *filter(None, sys.path)])
    child = subprocess.run(
        [sys.executable, HERE / "cost.py"],
        env=os.environ | {"PYTHONPATH": paths},
        capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert child.returncode == 0, child.stderr
    found = json.loads(child.stdout)
    grown = {name: many - few for name, (few, many) in found["costs"].items()}
    # a scale that is folded now and then costs a few times d
    dense = {name for name, more in grown.items() if more > 0.5 * found["dense step"]}
    assert dense == DENSE, grown
    assert all(few > 100 for few, _ in found["costs"].values())


# ---- what a solver takes -----------------------------------------------------------------

ASKED = [(loss, ratio) for loss in LOSSES for ratio in (0.0, 0.5, 1.0)]
DATA = {"rows": ANY_ROWS, "moments": ANY_MOMENTS, "sketch": ANY_SKETCH}


def reason(kind, loss, ratio, data="rows"):
    return kind().unfit(Objective(DATA[data], LOSSES[loss], ElasticNet(1e-3, ratio)))


@pytest.mark.parametrize("name", SOLVERS)
def test_an_estimator_says_why_a_solver_does_not_take_what_is_asked(name):
    X, y = np.eye(4), [0, 0, 1, 1]
    kind = SOLVERS[name]
    why = {asked: reason(kind, *asked) for asked in ASKED}
    assert None in why.values()
    assert set(why.values()) != {None}
    for (loss, ratio), said in why.items():
        settings = {} if "alpha" in kind.own else {"l1_ratio": ratio}
        if said is not None:
            clf = AUCClassifier(loss=loss, solver=name, **settings)
            with pytest.raises(ValueError, match=re.escape(f"it {said}; ")):
                clf.fit(X, y)


def test_what_needs_more_data_takes_no_less():
    """Rows offer what moments do, moments what sketches do."""
    found = {}
    for name, kind in SOLVERS.items():
        for asked in ASKED:
            fits = [reason(kind, *asked, data) is None for data in DATA]
            assert fits == sorted(fits, reverse=True), (name, asked)
            found[fits.index(False) if False in fits else 3] = name
    assert set(found) == {0, 1, 2, 3}  # nothing, rows alone, moments too, sketches too


@pytest.mark.parametrize("data", DATA)
def test_auto_finds_a_batch_solver_wherever_there_is_one(data):
    for loss, ratio in ASKED:
        goal = Objective(DATA[data], LOSSES[loss], ElasticNet(1e-3, ratio))
        there = [name for name in BATCH if reason(SOLVERS[name], loss, ratio, data) is None]
        found = pick(goal)
        assert (found is None) == (not there), (loss, ratio)
        if found is None:
            with pytest.raises(ValueError, match="knows none"):
                choose(goal)
        else:
            assert found.name in there
            assert choose(goal).name == found.name


@pytest.mark.parametrize("name", ACCURACY_SOLVERS)
def test_learners_of_single_rows_and_of_pairs_say_where_they_belong(name):
    kind = ACCURACY_SOLVERS[name]
    assert all(reason(kind, *asked) == "belongs to HingeClassifier" for asked in ASKED)
    hinge = UnivariateObjective(ANY_ROWS, UNIVARIATE_LOSSES["hinge"], ElasticNet(1e-3, 0.0))
    assert kind().unfit(hinge) is None
    for other in SOLVERS.values():
        assert other().unfit(hinge) == "belongs to AUCClassifier"
