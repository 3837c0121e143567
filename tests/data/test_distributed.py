"""Fits on a Dask cluster: the bits of one process, whatever happens to the workers."""

import gzip
import io
import json
import logging
import os
import socket
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from itertools import pairwise, repeat

import dask
import dask.array as da
import dask.bag as db
import dask.dataframe as dd
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as pa_dataset
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp
from distributed import Client, LocalCluster
from distributed.chaos import KillWorker
from distributed.utils import get_mp_context
from sklearn.datasets import dump_svmlight_file

from aucmax import (
    AUCClassifier,
    AUCClassifierCV,
    ClassMoments,
    MulticlassAUCClassifier,
    Source,
    datasets,
    distributed,
    effects,
    solvers,
)
from aucmax import load as load_model
from aucmax.additive import Binning, Scorecard, SplineFeatures
from aucmax.columns.encoder import TableEncoder
from aucmax.data.blocks import Blocks, of_bag
from aucmax.data.rows.parts import InParts
from aucmax.statistics.diagonal import DiagonalMoments
from on_workers import (
    Pickled,
    data,
    drawn,
    first_label_is,
    load,
    load_and_die,
    load_and_wait,
    load_beside,
    load_other_labels,
    load_rows,
    load_weighed,
    load_when_allowed,
    loads,
    number,
    number_of_rows,
    slow,
    sum_of,
    unlabelled,
    weighed,
)

CUTS = (0, 70, 71, 280, 400, 600)
PARTS = len(CUTS) - 1
NAMES = [f"f{j}" for j in range(6)]

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def source(sparse=False):
    return Source([partial(load, a, b, sparse) for a, b in pairwise(CUTS)])


SLOW = [partial(slow, a, b) for a, b in pairwise(CUTS)]


QUIET = dict(dashboard_address=":0", silence_logs=logging.CRITICAL)


# what workers need first, and with it scikit-learn, pandas and PyArrow
NEEDED = ["distributed", "numba", "aucmax.data.distributed", "aucmax.estimators.survey"]


def started_by(method):
    return dask.config.set({"distributed.worker.multiprocessing-method": method})


@pytest.fixture(scope="module", autouse=True)
def forked():
    """Fork workers from a process that has imported what they need."""
    with started_by("forkserver"):
        get_mp_context().set_forkserver_preload(NEEDED)
        yield


@contextmanager
def workers(count):
    with (
        LocalCluster(n_workers=count, threads_per_worker=1, **QUIET) as cluster,
        Client(cluster, set_as_default=False) as client,  # tests without a cluster have none
    ):
        yield client


@pytest.fixture(scope="module")
def client(forked):
    with workers(2) as client:
        yield client


FITS = {
    "exact": dict(),
    "conjugate gradient": dict(solver="conjugate_gradient"),
    "coordinate descent": dict(l1_ratio=0.5, solver="coordinate_descent"),
    "squared hinge": dict(loss="squared_hinge"),
    "logistic": dict(loss="logistic"),
    "VRSPAM": dict(solver=solvers.VRSPAM(step_size=0.05, init="zero", order="cyclic", n_stages=2)),
}


# with a worker killed, others give the same bits in any run
@pytest.mark.covering(1)
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.exhaustive] * (name in ("squared hinge", "logistic")))
        for name in FITS
    ],
)
def test_a_cluster_gives_the_bits_of_one_process(name, sparse, client):
    clf = AUCClassifier(alpha=0.1, tol=1e-2, standardize=0.5, **FITS[name])
    here = clf.fit(source(sparse)).coef_.copy()
    passes, scores = clf.passes_, clf.decision_function(source(sparse))
    there = distributed.source(source(sparse), client=client)
    np.testing.assert_array_equal(clf.fit(there).coef_, here)
    assert clf.passes_ == passes
    np.testing.assert_array_equal(clf.decision_function(there), scores)
    np.testing.assert_array_equal(clf.predict(there), clf.predict(source(sparse)))


def test_workers_see_that_a_file_has_changed(client, tmp_path):
    X, y = data()
    path = tmp_path / "rows.csv"
    rows = np.column_stack([X, y])
    np.savetxt(path, rows, delimiter=",", header="a,b,c,d,e,f,y", comments="")
    scanned = datasets.scan(path, target="y", part_bytes=30_000, spool=False)
    there = distributed.source(scanned, client=client)
    clf = AUCClassifier().fit(there)
    before, written = clf.coef_.copy(), path.stat().st_mtime_ns
    path.write_bytes(path.read_bytes())
    os.utime(path, ns=(0, written + 5_000_000))
    with pytest.raises(ValueError, match=r"rows.csv: the file of .* was overwritten"):
        clf.fit(there)
    np.testing.assert_array_equal(clf.coef_, before)


def test_a_cluster_sees_that_parts_hold_other_rows(client):
    there = distributed.source(Source([partial(drawn, k) for k in range(3)]), client=client)
    with pytest.raises(ValueError, match=r"part \d: it has other rows than when it was first read"):
        AUCClassifier(loss="squared_hinge").fit(there)


def test_moments_and_a_search_have_the_bits_of_one_process(client):
    there = distributed.source(source(), client=client)
    for kind in (ClassMoments, DiagonalMoments):
        here, found = kind.from_data(source()), kind.from_data(there)
        np.testing.assert_array_equal(found.means, here.means)
        np.testing.assert_array_equal(found.variances, here.variances)
        whole = kind.from_data(*data())
        np.testing.assert_allclose(found.variances, whole.variances, rtol=1e-12)
    search = AUCClassifierCV(alphas=[1e-3, 0.1], losses=("square",), cv=3)
    path = search.fit(source()).auc_path_
    here = search.coef_.copy()
    np.testing.assert_array_equal(search.fit(there).auc_path_, path)
    np.testing.assert_array_equal(search.coef_, here)


@pytest.mark.parametrize("count", [1, 2, 3, 5, 21])
def test_sums_are_those_of_one_process_for_any_number_of_parts(count, client):
    parts = Source([partial(np.full, (1, 1), k) for k in range(count)])
    values = np.random.default_rng(count).normal(size=(count, 3)) * 10.0 ** np.arange(3)
    given = [(row,) for row in values]
    there = distributed.source(parts, client=client)
    np.testing.assert_array_equal(there.total(weighed, given), parts.total(weighed, given))
    assert list(there.each(number, repeat(()))) == list(range(count))
    assert [int(part.X[0, 0]) for part in there] == list(range(count))


def test_labels_given_to_a_fit_go_to_the_workers(client):
    y = data()[1]
    words, weight = np.where(y == 1, "yes", "no"), np.arange(600) % 3 + 1.0
    bare = [partial(load_rows, a, b) for a, b in pairwise(CUTS)]
    here = AUCClassifier(loss="logistic").fit(Source(bare), words, weight)
    there = distributed.source(Source(bare), client=client)
    model = AUCClassifier(loss="logistic").fit(there, words, weight)
    np.testing.assert_array_equal(model.coef_, here.coef_)
    assert model.classes_.tolist() == ["no", "yes"]
    labelled = there.with_labels(words)
    given = zip(words[np.array(CUTS[:-1])])
    assert list(labelled.each(first_label_is, given)) == [True] * PARTS
    assert [part.y[0] for part in labelled] == words[np.array(CUTS[:-1])].tolist()
    for count in (599, 601):
        with pytest.raises(ValueError, match=rf"^y has {count} values, and there are 600 rows\.$"):
            there.with_labels(np.zeros(count))


# ---- workers that are lost


def fatal_parts(folder, fatal):
    """Parts of which the fatal one to be loaded, in whatever pass, ends its worker."""
    return Source([partial(load_and_die, a, b, str(folder), fatal) for a, b in pairwise(CUTS)])


@pytest.mark.parametrize(
    ("phase", "fatal", "settings"),
    [
        ("moments", 4, dict()),
        ("conjugate gradient", PARTS + 4, dict(solver="conjugate_gradient")),
        pytest.param(
            *("Newton", 3 * PARTS + 4, dict(loss="squared_hinge")), marks=pytest.mark.exhaustive
        ),
        ("logistic Newton", 2 * PARTS + 4, dict(loss="logistic")),
    ],
)
def test_a_worker_killed_in_a_fit_changes_no_bit(phase, fatal, settings, client, tmp_path):
    clf = AUCClassifier(alpha=0.1, **settings)
    here = clf.fit(source()).coef_.copy()
    # moments are the first pass, and the last one is for the thresholds
    assert fatal < PARTS if phase == "moments" else PARTS < fatal < (clf.passes_ - 1) * PARTS
    there = distributed.source(fatal_parts(tmp_path, fatal), client=client)
    np.testing.assert_array_equal(clf.fit(there).coef_, here)
    assert (tmp_path / "killed").exists()


def test_a_worker_killed_in_a_search_changes_no_bit(client, tmp_path):
    settings = dict(losses=("squared_hinge",), standardize=(0.5,), cv=2, tol=1e-2)
    path = AUCClassifierCV([0.1], **settings).fit(source()).auc_path_
    fatal, at_folds = 2 * PARTS, []
    search = AUCClassifierCV([0.1], **settings, callback=lambda _: at_folds.append(loads(tmp_path)))
    search.fit(distributed.source(fatal_parts(tmp_path, fatal), client=client))
    np.testing.assert_array_equal(search.auc_path_, path)
    assert (tmp_path / "killed").exists()
    assert at_folds[0] < fatal < at_folds[1]  # in the fits of the first fold


def test_a_worker_killed_while_it_scores_changes_no_bit(client, tmp_path):
    clf = AUCClassifier().fit(source())
    there = distributed.source(fatal_parts(tmp_path, 5), client=client)
    np.testing.assert_array_equal(clf.decision_function(there), clf.decision_function(source()))
    assert (tmp_path / "killed").exists()


@pytest.mark.exhaustive
def test_workers_that_die_at_random_change_no_bit():
    clf = AUCClassifier(loss="squared_hinge", alpha=0.1, tol=0.1)
    here = clf.fit(source()).coef_.copy()
    with workers(2) as client:  # for one of them is not started again
        there = distributed.source(Source(SLOW), client=client)
        for mode, worker in zip(["segfault", "sys.exit"], client.nthreads(), strict=True):
            client.run(doom, mode, workers=[worker])
            while worker in client.nthreads():
                np.testing.assert_array_equal(clf.fit(there).coef_, here)


async def doom(mode, dask_worker):
    await KillWorker(delay="0.2 s", mode=mode).setup(dask_worker)


def test_a_part_that_ends_every_worker_is_one_clear_error():
    model = AUCClassifier().fit(*data())
    before = model.coef_.copy()
    parts = [partial(load, a, b) for a, b in pairwise(CUTS)]
    parts[1] = partial(os._exit, 1)
    error = r"2 workers .* died while processing part 2: "
    with workers(2) as client:  # for one that ends as it starts is not started again
        client.run_on_scheduler(allow, failures=1)
        there = distributed.source(Source(parts), client=client)
        with pytest.raises(ConnectionError, match=error):
            model.fit(there)
        client.wait_for_workers(2, timeout=60)  # a cluster cannot be closed while one starts
    np.testing.assert_array_equal(model.coef_, before)


def allow(failures, dask_scheduler):
    dask_scheduler.allowed_failures = failures


def test_nothing_is_bound_to_a_worker_or_left_there(client):
    there = distributed.source(source(), client=client)
    found = []
    for _ in there.each(number_of_rows, repeat(())):
        found += client.run_on_scheduler(described)
    assert any(name.startswith("aucmax") for name, *_ in found)
    for name, *bound in found:
        assert not any(bound), name
    AUCClassifier(loss="logistic").fit(there)
    wait_until_all_is_forgotten(client)


def wait_until_all_is_forgotten(client):
    deadline = time.monotonic() + 30.0
    while left := client.run_on_scheduler(described):  # what is let go is forgotten soon
        assert time.monotonic() < deadline, left
        time.sleep(0.01)


def described(dask_scheduler):
    return [
        (str(task.key),
         not task.loose_restrictions and task.worker_restrictions,  # preferred when started again
         task.host_restrictions, task.resource_restrictions, task.actor)
        for task in dask_scheduler.tasks.values()
    ]  # fmt: skip


def test_a_worker_holds_few_results(client):
    """However many parts there are: the next are sent when the first are taken."""
    there = distributed.source(Source([partial(load, 0, 5) for _ in range(40)]), client=client)
    wait_until_all_is_forgotten(client)
    most = 0
    for _ in there.each(number_of_rows, repeat(())):
        most = max(most, len(client.run_on_scheduler(described)))
    # twice as many as there are threads, and those of a group that was started again
    assert most <= 8


# ---- what is sent


def two_threads():
    """Two workers in this process that talk over sockets, so that what is sent can be counted."""
    return LocalCluster(n_workers=2, threads_per_worker=1, processes=False, protocol="tcp", **QUIET)


@pytest.mark.parametrize("method", ["each", "total"])
def test_what_all_tasks_share_is_pickled_once_and_sent_once_to_each_worker(method):
    parts = Source([partial(load, 0, 5) for _ in range(20)])
    shared, before = Pickled(np.ones(100_000)), Pickled.count
    with two_threads() as cluster, Client(cluster, set_as_default=False) as client:
        there = distributed.source(parts, client=client)
        sums = getattr(there, method)(sum_of, repeat(()), (shared,))
        here = getattr(parts, method)(sum_of, repeat(()), (shared,))
        assert listed(sums) == listed(here)
        to_workers = sum(to.byte_count for to in cluster.scheduler.stream_comms.values())
        from_client = client.scheduler_comm.byte_count
        among_workers = sum(one.transfer_outgoing_bytes_total for one in cluster.workers.values())
    assert Pickled.count == before + 1
    assert 800_000 < from_client < 1_000_000
    assert 800_000 < to_workers < 1_000_000  # the scheduler sends it to one worker,
    assert among_workers < 1_000_000  # who sends it to the other


@pytest.mark.parametrize(
    ("settings", "words", "labels"),
    [
        ("conjugate gradient", True, True),
        pytest.param("VRSPAM", False, False, marks=pytest.mark.exhaustive),
        ("logistic", False, False),
    ],
)
def test_labels_and_weights_are_read_from_the_part_and_not_sent(settings, words, labels):
    parts = Source([partial(load_weighed, k, words=words) for k in range(6)])
    clf = AUCClassifier(alpha=0.1, tol=1e-2, **FITS[settings])
    here = clf.fit(parts).coef_.copy()
    y, weight = parts.labels()
    sent = []  # in a pass
    with two_threads() as cluster, Client(cluster, set_as_default=False) as client:
        there = distributed.source(parts, client=client)
        for given in ((), (y if labels else None, weight)):
            before = client.scheduler_comm.byte_count
            np.testing.assert_allclose(clf.fit(there, *given).coef_, here, rtol=1e-12)
            sent.append((client.scheduler_comm.byte_count - before) / clf.passes_)
    assert sent[0] < 6 * 2_000  # about as for parts of one row
    assert sent[1] > 4 * 6 * 5_000  # what was given is sent in most passes


@pytest.mark.parametrize(
    "settings", [dict(), dict(solver=solvers.Newton(), alpha=1e-4), dict(l1_ratio=0.5)]
)
def test_scores_of_the_logistic_loss_stay_with_their_part(settings, monkeypatch):
    if "solver" in settings:  # by products, as of many features
        monkeypatch.setattr(InParts, "gram_cost", np.inf)
    parts = Source([partial(load_weighed, k) for k in range(6)])
    clf = AUCClassifier(**{"alpha": 0.1, "loss": "logistic", "tol": 1e-2, **settings})
    here = clf.fit(parts).coef_.copy()
    with two_threads() as cluster, Client(cluster, set_as_default=False) as client:
        there = distributed.source(parts, client=client)
        np.testing.assert_array_equal(clf.fit(there).coef_, here)
        returned = sum(one.transfer_outgoing_bytes_total for one in cluster.workers.values())
    assert returned < 6 * 5_000  # less than a byte a row


def test_a_cluster_sees_that_parts_have_other_labels(client, tmp_path):
    parts = [partial(load_other_labels, a, b, str(tmp_path)) for a, b in [(0, 250), (250, 600)]]
    there = distributed.source(Source(parts), client=client)
    with pytest.raises(ValueError, match=r"part \d: it has other labels than when it was first re"):
        AUCClassifier(solver="conjugate_gradient").fit(there)


def test_what_all_functions_that_load_share_is_pickled_once():
    """The columns of a wide file, for example."""
    shared, before = Pickled(np.ones(100_000)), Pickled.count
    parts = Source([partial(load_beside, k, shared) for k in range(20)])
    with two_threads() as cluster, Client(cluster, set_as_default=False) as client:
        there = distributed.source(parts, client=client)
        assert list(there.each(number, repeat(()))) == list(range(20))
        assert client.scheduler_comm.byte_count < 1_000_000
    assert Pickled.count == before + 1


def listed(results):
    return results if np.isscalar(results) else list(results)


def test_what_only_a_lost_worker_had_is_sent_again(tmp_path):
    shared = Pickled(np.ones(100_000))
    here = source().total(sum_of, repeat(()), (shared,))
    with workers(1) as client:
        there = distributed.source(fatal_parts(tmp_path, 3), client=client)
        assert there.total(sum_of, repeat(()), (shared,)) == here
    assert (tmp_path / "killed").exists()


@pytest.mark.parametrize("method", ["each", "total"])
def test_a_straggler_does_not_hold_up_a_pass(method, client, tmp_path):
    parts = Source(
        [
            partial(load_when_allowed, a, b, str(tmp_path), k == 1)
            for k, (a, b) in enumerate(pairwise(CUTS))
        ]
    )
    there = distributed.source(parts, client=client)
    results = listed(getattr(there, method)(number_of_rows, repeat(())))
    assert not (tmp_path / "ended").exists()  # its first run has not ended yet
    (tmp_path / "end").touch()
    assert (tmp_path / "straggles").exists()
    assert np.sum(results) == 600
    while not (tmp_path / "ended").exists():
        time.sleep(0.01)


def test_there_are_no_more_local_workers_than_asked_for():
    with started_by("spawn"), distributed.connected("local", 1) as client:  # as users have them
        assert len(client.nthreads()) == 1


# ---- a cluster that is gone


def test_a_cluster_without_workers_is_one_clear_error():
    model = AUCClassifier().fit(*data())
    before = model.coef_.copy()
    with (
        LocalCluster(n_workers=0, **QUIET) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        there = distributed.source(source(), client=client, patience=0.1)
        with pytest.raises(
            ConnectionError, match=r"^the Dask cluster at tcp://.* no worker for 0\.1 seconds"
        ):
            model.set_params(loss="logistic").fit(there)
    np.testing.assert_array_equal(model.coef_, before)
    with pytest.raises(ConnectionError, match=r"^the Dask scheduler at tcp://.* is gone"):
        model.fit(there)
    np.testing.assert_array_equal(model.coef_, before)
    assert model.n_features_in_ == 6


def test_a_scheduler_lost_in_a_fit_is_one_clear_error(tmp_path):
    model = AUCClassifier().fit(*data())
    before = model.coef_.copy()
    cluster = LocalCluster(n_workers=1, threads_per_worker=1, processes=False, **QUIET)
    client = Client(cluster, set_as_default=False)
    parts = [partial(load_and_wait, a, b, str(tmp_path), 2 * PARTS) for a, b in pairwise(CUTS)]
    there = distributed.source(Source(parts), client=client)

    def end():
        while not (tmp_path / "reached").exists():
            time.sleep(0.01)
        cluster.close()

    with ThreadPoolExecutor(1) as other:
        ended = other.submit(end)
        with pytest.raises(ConnectionError, match=r"^the Dask scheduler at .* is gone"):
            model.set_params(loss="logistic").fit(there)
        ended.result()
    np.testing.assert_array_equal(model.coef_, before)
    with pytest.raises(ConnectionError, match=r"the Dask client is .*; connect a new one"):
        distributed.source(source(), client=client)
    client.close()


# ---- the command line


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    where = tmp_path_factory.mktemp("files")
    X, y = data(n=15_000)
    rows = pd.DataFrame(X.round(3), columns=NAMES).assign(y=np.where(y == 1, "yes", "no"))
    rows = rows.assign(w=1.0 + y)
    rows.to_parquet(where / "rows.parquet", row_group_size=2_500)
    rows.to_csv(where / "rows.csv", index=False)
    (where / "rows.csv.gz").write_bytes(gzip.compress((where / "rows.csv").read_bytes()))
    return where


SMALL = ("--memory", "1MB")
TRAIN = ("--target", "y", "--weight", "w", "--loss", "logistic", *SMALL)


@pytest.mark.parametrize(
    "name", ["rows.parquet", pytest.param("rows.csv", marks=pytest.mark.exhaustive)]
)
def test_commands_on_a_cluster_have_the_bits_of_parts(name, folder, tmp_path, run, client):
    there = ("--dask", client.scheduler.address)
    found = []
    for more in ((), there):
        code, _, err = run("train", folder / name, *TRAIN, *more, "-o", tmp_path / "m.aucmax")
        assert code == 0, err
        assert ("is read in parts by --dask tcp://" in err) == bool(more)
        model = load_model(tmp_path / "m.aucmax")
        scores = run("score", tmp_path / "m.aucmax", folder / name, *SMALL, *more)[1]
        command = ("evaluate", tmp_path / "m.aucmax", folder / name, "--weight", "w", *SMALL)
        judged = json.loads(run(*command, *more, "--json")[1])
        judged.pop("read", None)  # told of one process only
        found.append((model.coef_.tolist(), model.intercept_.tolist(), scores, judged))
    assert found[1] == found[0]
    assert found[0][2].count("\n") == 15_001


def test_cells_in_doubt_are_told_as_in_parts(folder, tmp_path, run, client):
    lines = (folder / "rows.csv").read_text().splitlines()
    lines[12_000] = f"?!{lines[12_000]}"
    (tmp_path / "new.csv").write_text("\n".join([*lines, ""]))
    lines[1] = lines[1][lines[1].index(",") :]  # a gap
    (tmp_path / "old.csv").write_text("\n".join([*lines[:2_000], ""]))
    model, where = tmp_path / "m.aucmax", ("--dask", client.scheduler.address)
    assert run("train", tmp_path / "old.csv", *TRAIN[:-2], "-o", model)[0] == 0
    for command in ("score", "evaluate"):
        told = []
        for more in ((), where):
            code, _, err = run(command, model, tmp_path / "new.csv", *SMALL, *more)
            assert code == 0, err
            told.append([line for line in err.split("\n") if line.startswith("warning: ")])
            assert "(line 12001) is not a number" in " ".join(err.split())
        assert told[0] == told[1]
        code, _, err = run(command, model, tmp_path / "new.csv", "--strict", *SMALL, *where)
        assert code == 2
        assert "line 12001" in err


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_columns_that_are_empty_at_first_are_as_in_parts(kind, tmp_path, run, client):
    rng, n = np.random.default_rng(0), 30_000
    late = {
        "colour": (12_500, rng.choice(["red", "blue"], n)),
        "price": (25_000, [f"${price:.2f}" for price in rng.uniform(1, 99, n)]),
        "day": (25_000, [f"2024-03-{day:02d}" for day in rng.integers(1, 29, n)]),
        "never": (n, np.zeros(n)),
    }
    rows = pd.DataFrame({"x": rng.normal(size=n).round(4)})
    for column, (start, values) in late.items():
        rows[column] = np.where(np.arange(n) < start, None, np.array(values, dtype=object))
    rows["y"] = (rows["x"] + rng.normal(size=n) > 1.5).astype(int)
    file = tmp_path / f"rows.{kind}"
    if kind == "csv":
        rows.to_csv(file, index=False)
    else:
        rows.to_parquet(file, row_group_size=5_000)
    command = ("train", file, "--target", "y", "--alpha", "0.01", "--shape", "line", *SMALL)
    models, decisions = [], []
    for more in ((), ("--dask", client.scheduler.address)):
        code, out, err = run(*command, *more, "--json", "-o", tmp_path / "m")
        assert code == 0, err
        models.append(load_model(tmp_path / "m"))
        decisions.append(json.loads(out)["decisions"])
    here, there = models
    names = there[0].get_feature_names_out().tolist()
    assert {"colour_red", "price", "day"} < {*names}
    assert names == here[0].get_feature_names_out().tolist()
    np.testing.assert_array_equal(there[-1].coef_, here[-1].coef_)
    assert decisions[1] == decisions[0]


def test_a_search_on_this_machine_has_the_bits_of_parts(folder, run):
    quick = ("--losses", "square", "--folds", 2, "--json")
    command = ("cv", folder / "rows.parquet", *TRAIN[:4], *SMALL, *quick)
    (_, here, _), (code, there, err) = run(*command), run(*command, "--dask", "local")
    assert code == 0, err
    here, there = json.loads(here), json.loads(there)
    for report in (here, there):
        labels, read = report.pop("read")
        report |= {"seconds": 0, "passes": read["passes"]}
        assert (labels["from"], labels["passes"]) == ("labels", 1)
        size = (folder / "rows.parquet").stat().st_size
        assert read["from"] == "file"
        assert read["bytes"] >= read["passes"] * size * 0.95
    assert there == here


@pytest.mark.parametrize(
    "more", [(), ("--epsilon", "1e9", "--labels", "no,yes", "--bounds", "-9", "9")]
)
def test_moments_of_a_cluster_are_those_of_parts(folder, tmp_path, good, client, more):
    """Of words and gaps, which are learnt first; the noise of private moments is not the same."""
    rows = pd.read_csv(folder / "rows.csv").drop(columns="w")
    if not more:
        rows["town"] = np.where(np.arange(len(rows)) % 3 == 0, "Ulm", "Bonn")
        rows.iloc[::7, 0] = np.nan
        rows.iloc[17, 1] = np.nan
    rows.to_csv(tmp_path / "rows.csv", index=False)
    build = ("moments", "build", tmp_path / "rows.csv", "--target", "y", *SMALL, *more)
    near, told = {"atol": 1e-3 if more else 0.0, "rtol": 0.0}, []
    for name, where in (("parts", ()), ("cluster", ("--dask", client.scheduler.address))):
        report = json.loads(good(*build, *where, "--json", "-o", tmp_path / name))
        told.append(report.get("decisions"))
    parts, cluster = (ClassMoments.load(tmp_path / name) for name in ("parts", "cluster"))
    assert cluster.feature_names == parts.feature_names
    assert cluster.steps == parts.steps
    np.testing.assert_allclose(cluster.counts, parts.counts, **near)
    np.testing.assert_allclose(cluster.covs, parts.covs, **near)
    assert told[0] == told[1]


def test_what_a_cluster_cannot_read_is_said(folder, tmp_path, bad, client, monkeypatch):
    model, there = tmp_path / "m.aucmax", ("--dask", client.scheduler.address)

    def said(name, *more):
        return bad("train", folder / name, *TRAIN, *more, "-o", model)

    assert "rows.csv.gz: compressed text" in said("rows.csv.gz", *there)
    assert "there is no file a9a" in bad("train", "a9a", *there, "-o", model)
    assert "there is no file standard input" in bad("train", "-", *there, "-o", model)
    assert "no Dask scheduler answers at nowhere; start" in said("rows.csv", "--dask", "nowhere")
    with socket.socket() as silent:  # bound, but it does not listen
        silent.bind(("127.0.0.1", 0))
        nowhere = f"tcp://127.0.0.1:{silent.getsockname()[1]}"
        with (
            pytest.raises(ConnectionError, match=f"^no Dask scheduler answers at {nowhere};"),
            distributed.connected(nowhere, patience=0.1),
        ):
            pass
    monkeypatch.delitem(sys.modules, "aucmax.distributed")
    monkeypatch.setitem(sys.modules, "distributed", None)
    assert "needs distributed: pip install 'aucmax[dask]'" in said("rows.csv", "--dask", "local")
    assert not model.exists()


# ---- collections


@pytest.mark.parametrize("there", [False, True])
@pytest.mark.parametrize("kept", [False, True])
def test_collections_are_read_in_parts(there, kept, client):
    on = dict(client=client) if there else {}
    if kept and not there:
        pytest.skip("Dask keeps blocks on a cluster")
    keep = client.persist if kept else (lambda collection: collection)
    X, y = data()
    weight = np.arange(600) % 3 + 1.0
    whole = AUCClassifier().fit(X, y, weight)
    rows = keep(da.from_array(X, chunks=(150, 4)))
    labels, weights = keep(da.from_array(y, chunks=150)), keep(da.from_array(weight, chunks=150))
    found = AUCClassifier().fit(distributed.source(rows, labels, weights, **on))
    np.testing.assert_allclose(found.coef_, whole.coef_, rtol=1e-9)
    frame = pd.DataFrame(X, columns=NAMES).assign(y=y, w=weight, odd="a")
    parts = keep(dd.from_pandas(frame, npartitions=4))
    found.fit(distributed.source(parts, target="y", weight="w", drop=["odd"], **on))
    np.testing.assert_allclose(found.coef_, whole.coef_, rtol=1e-9)
    assert found.feature_names_in_.tolist() == NAMES
    assert found.target_name_ == "y"
    bag = keep(db.from_sequence(list(pairwise(CUTS)), npartitions=3).map(lambda cut: load(*cut)))
    found.fit(distributed.source(bag, **on))
    np.testing.assert_allclose(found.coef_, AUCClassifier().fit(X, y).coef_, rtol=1e-9)


def collections(form, X, y, weight):
    """Rows, labels and weights as they are given to a fit; labels in other blocks, or in memory."""
    frame = dd.from_pandas(pd.DataFrame(X, columns=NAMES).assign(y=y, w=weight), npartitions=4)
    return {
        "arrays": (da.from_array(X, (150, 2)), da.from_array(y, 200), da.from_array(weight, 70)),
        "rows alone": (da.from_array(X, (150, 4)), y, weight),
        "frame": (frame[NAMES], frame["y"], frame["w"]),
    }[form]


@pytest.mark.parametrize("form", ["arrays", "rows alone", "frame"])
def test_a_fit_takes_collections_to_the_cluster(form, client, monkeypatch):
    X, y = data()
    weight = np.arange(600) % 3 + 1.0
    rows, labels, weights = collections(form, X, y, weight)
    whole = AUCClassifier().fit(X, y, weight)
    computed = []
    monkeypatch.setattr(Blocks, "__call__", lambda block: computed.append(block))
    with client.as_current():
        found = AUCClassifier().fit(rows, labels, weights)
        np.testing.assert_allclose(found.coef_, whole.coef_, rtol=1e-9)
        assert found.passes_ >= 1  # of a source
        moments = ClassMoments.from_data(rows, labels, weights)
        np.testing.assert_allclose(moments.counts, np.bincount(y, weight))
        scores = found.decision_function(rows)
        three = MulticlassAUCClassifier().fit(rows, labels, weights).decision_function(rows)
        assert found.score(rows, labels) == whole.score(X, y)
    np.testing.assert_allclose(scores, whole.decision_function(X), rtol=1e-9)
    np.testing.assert_allclose(three, scores, rtol=1e-9)
    assert not computed  # here
    if form == "frame":
        assert (found.feature_names_in_.tolist(), found.target_name_) == (NAMES, "y")


def test_a_search_takes_collections():
    X, y = data()
    how = dict(alphas=[0.01], losses=("square",), cv=2)
    rows, labels = da.from_array(X, (150, 6)), da.from_array(y, 150)
    search = AUCClassifierCV(**how).fit(rows, labels)
    np.testing.assert_allclose(search.coef_, AUCClassifierCV(**how).fit(X, y).coef_, rtol=1e-9)
    assert search.score(rows, labels) == pytest.approx(search.score(X, y))


@pytest.mark.parametrize("there", [False, True])
def test_rows_without_labels_can_be_scored(there, client):
    on = dict(client=client) if there else {}
    X, y = data()
    model = AUCClassifier().fit(X, y)
    frame = dd.from_pandas(pd.DataFrame(X, columns=NAMES), npartitions=3)
    cuts = db.from_sequence(list(pairwise(CUTS)), npartitions=3)
    for rows in (da.from_array(X, (150, 4)), frame, cuts.map(lambda cut: load(*cut)[0])):
        made = distributed.source(rows, **on)
        np.testing.assert_array_equal(model.decision_function(made), model.decision_function(X))
        np.testing.assert_array_equal(model.predict(made), model.predict(X))
    labelled = AUCClassifier().fit(distributed.source(frame, y, **on))
    np.testing.assert_allclose(labelled.coef_, model.coef_, rtol=1e-9)


@pytest.mark.parametrize("there", [False, True])
def test_arrow_datasets_are_read_by_row_groups(there, client, tmp_path):
    on = dict(client=client) if there else {}
    X, y = data()
    weight = np.arange(600) % 3 + 1.0
    table = pa.table(pd.DataFrame(X, columns=NAMES).assign(y=y, w=weight, odd="a"))
    for k in range(2):
        part = table.slice(300 * k, 300)
        pq.write_table(part, tmp_path / f"{k}.parquet", row_group_size=90)
    stored = pa_dataset.dataset(tmp_path)
    made = distributed.source(stored, target="y", weight="w", drop=["odd"], **on)
    found = AUCClassifier().fit(made)
    whole = AUCClassifier().fit(X, y, weight)
    np.testing.assert_allclose(found.coef_, whole.coef_, rtol=1e-9)
    assert len(made.loads) == 8
    assert made.name(1).endswith("0.parquet, row group 2")
    rows = distributed.source(stored, drop=["y", "w", "odd"], **on)
    np.testing.assert_allclose(found.decision_function(rows), whole.decision_function(X), rtol=1e-9)


def test_a_filtered_arrow_dataset_is_told(tmp_path):
    pq.write_table(pa.table({"a": [1.0, 2.0, 3.0], "y": [0, 1, 1]}), tmp_path / "0.parquet")
    some = pa_dataset.dataset(tmp_path).filter(pa_dataset.field("a") > 1.0)
    with pytest.raises(ValueError, match=r"^a filtered Arrow dataset .* write its rows to files"):
        distributed.source(some, target="y")


def test_what_needs_rows_in_memory_gathers_no_collection():
    X, y = data()
    rows, labels = da.from_array(X, (150, 6)), da.from_array(y, 150)
    model = AUCClassifier().fit(X, y)
    for call in (
        lambda: model.partial_fit(rows, labels),
        lambda: MulticlassAUCClassifier().partial_fit(rows, labels),
        lambda: ClassMoments().update(rows, labels),
        lambda: effects(model, rows, y),
        lambda: SplineFeatures().fit(rows),
        lambda: Binning().fit(rows, labels),
        lambda: Scorecard().fit(rows, labels),
        lambda: TableEncoder().fit(rows),
    ):
        with pytest.raises(ValueError, match=r"X is a Dask Array, and its rows are needed in mem"):
            call()


def test_a_bag_of_what_is_no_rows_is_told():
    rows = db.from_sequence([{"x": 1.0, "y": 0}, {"x": 2.0, "y": 1}], npartitions=1)
    with pytest.raises(ValueError, match="the bag holds a dict; each of its items should be a tu"):
        next(iter(of_bag(rows)))


def test_bags_of_sparse_rows_and_frames_to_scan(client):
    bag = db.from_sequence([(0, 300), (300, 350), (350, 600)], npartitions=2)
    made = distributed.source(bag.map(lambda cut: load(*cut, sparse=True)), client=client)
    assert all(sp.issparse(part.X) for part in made)
    whole = AUCClassifier().fit(*load(0, 600, sparse=True))
    np.testing.assert_allclose(AUCClassifier().fit(made).coef_, whole.coef_, rtol=1e-9)
    frame = pd.DataFrame(data()[0], columns=NAMES).assign(y=data()[1])
    scanned = datasets.scan(dd.from_pandas(frame, npartitions=3), target="y")
    assert len(list(scanned)) == 3
    np.testing.assert_array_equal(
        AUCClassifier().fit(scanned).coef_,
        AUCClassifier().fit(distributed.source(scanned, client=client)).coef_,
    )


def test_files_are_read_by_the_workers(client, tmp_path):
    frame = pd.DataFrame(data()[0], columns=NAMES).assign(y=data()[1])
    frame.to_parquet(tmp_path / "rows.parquet", row_group_size=110)
    frame.to_csv(tmp_path / "rows.csv", index=False)
    for name in ("rows.parquet", "rows.csv"):
        scanned = datasets.scan(tmp_path / name, target="y", part_bytes=20_000)
        model = AUCClassifier(loss="logistic", tol=1e-2).fit(scanned)
        here = model.coef_.copy()
        np.testing.assert_array_equal(
            model.fit(distributed.source(scanned, client=client)).coef_, here
        )


@pytest.mark.parametrize("kind", ["csv", "svm"])
def test_compressed_files_are_a_part_each(kind, client, tmp_path):
    for k, (a, b) in enumerate([(0, 200), (200, 600)]):
        X, y = load(a, b)
        if kind == "csv":
            text = pd.DataFrame(X, columns=NAMES).assign(y=y).to_csv(index=False).encode()
        else:
            dump_svmlight_file(X, y, stream := io.BytesIO(), zero_based=False)
            text = stream.getvalue()
        (tmp_path / f"{k}.{kind}.gz").write_bytes(gzip.compress(text))
    files = tmp_path / f"*.{kind}.gz"
    how = dict(target="y") if kind == "csv" else {}
    with pytest.raises(ValueError, match="make each compressed file one part"):
        distributed.source(datasets.scan(files, **how), client=client)
    scanned = datasets.scan(files, part_bytes=None, **how)
    there = distributed.source(scanned, client=client)
    assert [part.X.shape[0] for part in there] == [200, 400]
    model = AUCClassifier(loss="logistic", tol=1e-14).fit(scanned)
    here = model.coef_.copy()
    np.testing.assert_allclose(model.fit(*data()).coef_, here, rtol=1e-6)
    np.testing.assert_array_equal(model.fit(there).coef_, here)
    with pytest.raises(ValueError, match="a part of each file, but data are not files"):
        datasets.scan(pl.LazyFrame({"y": [1]}), target="y", part_bytes=None)


def test_what_is_wrong_is_told_with_its_name(client):
    with pytest.raises(ValueError, match=r"^part 2: it has no labels"):
        AUCClassifier().fit(
            distributed.source(Source([partial(load, 0, 9), unlabelled]), client=client)
        )
    unlabelled_rows = da.ones((4, 2)), dd.from_pandas(pd.DataFrame({"a": [1.0]}))
    for rows in unlabelled_rows:
        with pytest.raises(ValueError, match="part 1: it has no labels"):
            AUCClassifier().fit(distributed.source(rows, client=client))
    with pytest.raises(ValueError, match="there are 2 and 1 blocks"):
        distributed.source(da.ones((4, 2), chunks=2), da.ones(5, chunks=5), client=client)
    with pytest.raises(ValueError, match="got ndarray"):
        distributed.source(np.ones((3, 2)), client=client)
    with pytest.raises(ValueError, match="only be read from its first part"):
        distributed.source(Source.from_iterable(list), client=client)
    with pytest.raises(ValueError, match="there is no Dask cluster"):
        distributed.source(source())
