"""What every solver of the registries must do, whoever adds it."""

import json
import os
import subprocess
import sys
from pathlib import Path

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
