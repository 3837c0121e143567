"""Large fits that are killed after some pass, and the same command, run again."""

import json
import os
import signal
import tempfile

import numpy as np
import pandas as pd
import pytest

from aucmax.data.rows import passes
from aucmax.estimators import resuming
from processes import PATIENCE, Child

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork"),
    pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning"),
]

COMMANDS = {
    "newton": ("train", "--loss", "logistic", "--alpha", "1e-4"),
    "pairs": ("train", "--loss", "squared_hinge", "--alpha", "1e-4"),
    "proximal": ("train", "--loss", "logistic", "--alpha", "1e-3", "--l1-ratio", "0.5"),
    "gradient": ("train", "--solver", "conjugate_gradient", "--alpha", "1e-4"),
    "tuned": ("train",),
    "search": ("cv", "--losses", "squared_hinge", "--folds", "2", "--standardize", "0.5"),
}


def table(seed, n=6_000):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 6)) * [1, 2, 3, 4, 5, 6]
    y = (X[:, 0] + X[:, 5] / 5 + rng.normal(size=n) > 2).astype(int)
    return pd.DataFrame(X, columns=list("abcdef")).assign(y=y)


class Fit:
    """A command on a file in a folder, run here, and in children that end after a pass.

    It runs here first: children then need neither import nor load what it takes.
    """

    def __init__(self, folder, command, here):
        self.here = here
        self.file, self.model = folder / "rows.parquet", folder / "m.aucmax"
        self.kept = folder / "m.aucmax.partial"
        name, *options = command
        self.words = [name, self.file, "--target", "y", "--memory", "1MB", "-o", self.model,
                      "--json", *options]  # fmt: skip
        table(0).to_parquet(self.file, row_group_size=2_000)

    def whole(self):
        """Run the command here, to its end; return its report."""
        code, told, said = self.here(*self.words)
        assert code == 0, said
        assert not self.kept.exists()
        return json.loads(told)

    def run(self, after=None, sent=None, more=()):
        """Run it in a child, which gets a signal after a pass; return code, report, stderr."""

        def prepare():
            counted = passes.PassCounts.one_pass

            def one_pass(counts, stored):
                if after is not None and counts.passes.total() == after:
                    os.kill(os.getpid(), sent)
                return counted(counts, stored)

            passes.PassCounts.one_pass = one_pass

        with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
            ends = os.dup(out.fileno()), os.dup(err.fileno())
            code = Child([*self.words, *more], *ends, prepare).wait(PATIENCE)
            for end in ends:
                os.close(end)
            told, said = (file.seek(0) or file.read() for file in (out, err))
        return code, json.loads(told) if code == 0 else told, said


def passes_of(report):
    return sum(at["passes"] for at in report["read"])


@pytest.fixture
def fit(request, tmp_path, run, monkeypatch):
    monkeypatch.setattr(resuming, "SECONDS", 0.0)  # a pass over a large file takes longer
    return Fit(tmp_path, COMMANDS[request.param], run)


KILLED = [
    pytest.param(name, signal.SIGKILL, marks=[pytest.mark.exhaustive] * (name == "search"))
    for name in COMMANDS
]  # a search is slow, and is interrupted once


@pytest.mark.parametrize(
    ("fit", "sent"),
    [
        *KILLED,
        ("pairs", signal.SIGINT),
        ("search", signal.SIGINT),
    ],
    indirect=["fit"],
)
def test_the_same_command_goes_on(fit, sent, request):
    whole = fit.whole()
    total = passes_of(whole)
    # before the last pass, which may be over before the signal comes
    every = request.node.callspec.params["fit"] == "pairs"  # the first, one between and the last
    afters = {1, total // 2, total - 1} if every else {total - 1}
    for after in [total // 2] if sent == signal.SIGINT else sorted(afters):
        fit.model.unlink()
        code, _, said = fit.run(after, sent)
        assert code == (130 if sent == signal.SIGINT else -sent), said
        assert not fit.model.exists()
        begun = fit.kept.exists()
        assert begun or after < total - 1
        assert ("the same command continues from pass" in said) == (begun and sent == signal.SIGINT)
        code, again, said = fit.run()
        assert code == 0, said
        assert ("continues from pass" in said) == begun
        assert not fit.kept.exists()
        assert again["optimality"] <= 1e-4
        assert again["objective"] == pytest.approx(whole["objective"], rel=1e-3)
        if after == total - 1 and total > 10:  # all but the certificate is known
            assert passes_of(again) < total


@pytest.mark.parametrize("fit", ["pairs"], indirect=True)
@pytest.mark.parametrize("other", ["data", "settings", "garbage"])
def test_other_data_or_settings_start_anew(fit, other):
    total = passes_of(fit.whole())
    assert fit.run(total - 1, signal.SIGKILL)[0] == -signal.SIGKILL
    assert fit.kept.exists()
    more = ()
    if other == "data":
        table(1).to_parquet(fit.file, row_group_size=2_000)
    elif other == "settings":
        more = "--tol", "1e-5"
    else:
        lines = fit.kept.read_text().splitlines()
        rows = [{**json.loads(line), "values": "AAAA"} for line in lines]
        fit.kept.write_text("\n".join([*map(json.dumps, rows), "{cut sho"]))
    code, again, said = fit.run(more=more)
    assert code == 0, said
    assert not fit.kept.exists()
    if other != "garbage":
        assert "starts afresh: " in said
        assert "belongs to other data or settings" in said
    if other != "settings":
        fresh = fit.whole()
        assert (again["objective"], passes_of(again)) == (fresh["objective"], passes_of(fresh))


@pytest.mark.parametrize("fit", ["pairs"], indirect=True)
def test_more_memory_goes_on_too(fit):
    fit.run(passes_of(fit.whole()) - 1, signal.SIGKILL)
    code, again, said = fit.run(more=("--memory", "1.2MB"))
    assert code == 0, said
    assert "continues from pass" in said
    assert again["optimality"] <= 1e-4
