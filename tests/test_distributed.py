"""Fits on a Dask cluster: the bits of one process, whatever happens to the workers."""

import logging
import os
import signal
import time
from functools import partial
from itertools import pairwise, repeat
from pathlib import Path

import dask.array as da
import dask.bag as db
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from distributed import Client, LocalCluster
from distributed.chaos import KillWorker

from aucmax import (
    AUCClassifier,
    AUCClassifierCV,
    ClassMoments,
    Source,
    datasets,
    distributed,
    solvers,
)
from aucmax.statistics.diagonal import DiagonalMoments

CUTS = (0, 70, 71, 280, 400, 600)
PARTS = len(CUTS) - 1
NAMES = [f"f{j}" for j in range(6)]

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def data(n=600, d=6, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * np.exp(rng.normal(size=d)) + rng.normal(size=d)
    return X, (X @ rng.normal(size=d) + rng.normal(size=n) > 1.0).astype(int)


def load(a, b, sparse=False):
    X, y = data()
    return (sp.csr_matrix(np.where(X > 0, X, 0.0)) if sparse else X)[a:b], y[a:b]


def source(sparse=False):
    return Source([partial(load, a, b, sparse) for a, b in pairwise(CUTS)])


def load_and_die(a, b, folder, fatal):
    """Load a part; the worker that does so for the fatal time is killed by its id."""
    count = Path(folder) / "loads"
    with count.open("ab") as file:  # one byte for each load, by whatever process
        file.write(b".")
    done = count.stat().st_size
    if done >= fatal and not (killed := Path(folder) / "killed").exists():
        killed.write_text(str(done))
        os.kill(os.getpid(), signal.SIGKILL)
    return load(a, b)


def slow(a, b):
    time.sleep(0.05)
    return load(a, b)


SLOW = [partial(slow, a, b) for a, b in pairwise(CUTS)]


def start():
    return LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=logging.CRITICAL
    )


@pytest.fixture(scope="module")
def client():
    # not the current one, so that tests of Dask without a cluster have none
    with start() as cluster, Client(cluster, set_as_default=False) as client:
        yield client


FITS = {
    "exact": dict(),
    "conjugate gradient": dict(solver="conjugate_gradient"),
    "coordinate descent": dict(l1_ratio=0.5, solver="coordinate_descent"),
    "squared hinge": dict(loss="squared_hinge"),
    "logistic": dict(loss="logistic"),
    "VRSPAM": dict(solver=solvers.VRSPAM(step_size=0.05, init="zero", order="cyclic", n_stages=2)),
}


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("name", FITS)
def test_a_cluster_gives_the_bits_of_one_process(name, sparse, client):
    clf = AUCClassifier(alpha=0.1, tol=1e-2, standardize=0.5, **FITS[name])
    here = clf.fit(source(sparse)).coef_.copy()
    passes, scores = clf.passes_, clf.decision_function(source(sparse))
    there = distributed.source(source(sparse), client=client)
    np.testing.assert_array_equal(clf.fit(there).coef_, here)
    assert clf.passes_ == passes
    np.testing.assert_array_equal(clf.decision_function(there), scores)
    np.testing.assert_array_equal(clf.predict(there), clf.predict(source(sparse)))


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


@pytest.mark.parametrize("count", [*range(1, 10), 17, 21])
def test_sums_are_those_of_one_process_for_any_number_of_parts(count, client):
    parts = Source([partial(np.full, (1, 1), k) for k in range(count)])
    values = np.random.default_rng(count).normal(size=(count, 3)) * 10.0 ** np.arange(3)
    given = [(row,) for row in values]
    there = distributed.source(parts, client=client)
    np.testing.assert_array_equal(there.total(weighed, given), parts.total(weighed, given))
    assert list(there.each(number, repeat(()))) == list(range(count))
    assert [int(part.X[0, 0]) for part in there] == list(range(count))


def weighed(part, row):
    return row * (1.0 + part.X[0, 0]) / 3.0


def number(part):
    return int(part.X[0, 0])


# ---- workers that are lost


@pytest.mark.parametrize(
    ("phase", "fatal", "settings"),
    [
        ("first pass", 4, dict()),
        ("conjugate gradient", PARTS + 4, dict(solver="conjugate_gradient")),
        ("Newton", 3 * PARTS + 4, dict(loss="squared_hinge")),
        ("logistic Newton", 2 * PARTS + 4, dict(loss="logistic")),
    ],
)
def test_a_worker_killed_in_a_fit_changes_no_bit(phase, fatal, settings, client, tmp_path):
    clf = AUCClassifier(alpha=0.1, **settings)
    here = clf.fit(source()).coef_.copy()
    assert clf.passes_ * PARTS >= fatal  # the phase is reached
    loads = [partial(load_and_die, a, b, str(tmp_path), fatal) for a, b in pairwise(CUTS)]
    there = distributed.source(Source(loads), client=client)
    np.testing.assert_array_equal(clf.fit(there).coef_, here)
    assert (tmp_path / "killed").exists()


def test_a_worker_killed_in_a_search_changes_no_bit(client, tmp_path):
    search = AUCClassifierCV(alphas=[0.1], losses=("squared_hinge",), standardize=(0.5,), cv=2)
    path = search.fit(source()).auc_path_
    loads = [partial(load_and_die, a, b, str(tmp_path), 2 * PARTS) for a, b in pairwise(CUTS)]
    there = distributed.source(Source(loads), client=client)
    np.testing.assert_array_equal(search.fit(there).auc_path_, path)
    assert (tmp_path / "killed").exists()


def test_a_worker_killed_while_it_scores_changes_no_bit(client, tmp_path):
    clf = AUCClassifier().fit(source())
    loads = [partial(load_and_die, a, b, str(tmp_path), 5) for a, b in pairwise(CUTS)]
    there = distributed.source(Source(loads), client=client)
    np.testing.assert_array_equal(clf.decision_function(there), clf.decision_function(source()))
    assert (tmp_path / "killed").exists()


def test_workers_that_die_at_random_change_no_bit():
    clf = AUCClassifier(loss="squared_hinge", alpha=0.1, tol=1e-2)
    here = clf.fit(source()).coef_.copy()
    with start() as cluster, Client(cluster, set_as_default=False) as client:
        there = distributed.source(Source(SLOW), client=client)
        for mode, one in zip(["segfault", "sys.exit"], client.nthreads(), strict=True):
            client.run(doom, mode, workers=[one])
            while one in client.nthreads():
                np.testing.assert_array_equal(clf.fit(there).coef_, here)
        np.testing.assert_array_equal(clf.fit(there).coef_, here)


async def doom(mode, dask_worker):
    await KillWorker(delay="0.3 s", mode=mode).setup(dask_worker)


@pytest.mark.exhaustive  # four workers have to start
def test_a_part_that_ends_every_worker_is_one_clear_error(client):
    there = distributed.source(Source([partial(os._exit, 1)]), client=client)
    with pytest.raises(RuntimeError, match="4 workers ended while they worked on the same"):
        AUCClassifier().fit(there)


def test_nothing_is_bound_to_a_worker_or_left_there(client):
    there = distributed.source(source(), client=client)
    found = []
    for _ in there.each(number_of_rows, repeat(())):
        found += client.run_on_scheduler(described)
    assert any(name.startswith("aucmax") for name, *_ in found)
    for name, *bound in found:
        assert not any(bound), name
    AUCClassifier(loss="logistic").fit(there)
    deadline = time.monotonic() + 10.0
    while left := client.run_on_scheduler(described):  # what is let go is forgotten soon
        assert time.monotonic() < deadline, left
        time.sleep(0.01)


def number_of_rows(part):
    return len(part.y)


def described(dask_scheduler):
    return [
        (str(task.key), task.worker_restrictions, task.host_restrictions,
         task.resource_restrictions, task.actor)
        for task in dask_scheduler.tasks.values()
    ]  # fmt: skip


def test_a_worker_holds_few_results(client):
    """However many parts there are: the next are sent when the first are taken."""
    there = distributed.source(Source([partial(load, 0, 5) for _ in range(40)]), client=client)
    most = 0
    for _ in there.each(number_of_rows, repeat(())):
        most = max(most, len(client.run_on_scheduler(described)))
    assert most <= 4  # twice as many as there are threads


# ---- a cluster that is gone


def test_a_cluster_without_workers_is_one_clear_error():
    model = AUCClassifier().fit(*data())
    before = model.coef_.copy()
    with (
        LocalCluster(n_workers=0, dashboard_address=":0") as cluster,
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


def test_a_scheduler_lost_in_a_pass_is_one_clear_error():
    cluster = start()
    client = Client(cluster, set_as_default=False)
    parts = iter(distributed.source(source(), client=client).each(number_of_rows, repeat(())))
    next(parts)
    cluster.close()
    with pytest.raises(ConnectionError, match=r"^the Dask scheduler at tcp://.* is gone"):
        list(parts)
    with pytest.raises(ConnectionError, match=r"the Dask client is .*; connect a new one"):
        distributed.source(source(), client=client)
    client.close()


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
        scanned = datasets.scan(tmp_path / name, target="y", part_bytes=9_000)
        model = AUCClassifier(loss="logistic").fit(scanned)
        here = model.coef_.copy()
        np.testing.assert_array_equal(
            model.fit(distributed.source(scanned, client=client)).coef_, here
        )


def test_what_is_wrong_is_told_with_its_name(client):
    with pytest.raises(ValueError, match=r"^part 2: it has no labels"):
        AUCClassifier().fit(
            distributed.source(Source([partial(load, 0, 9), unlabelled]), client=client)
        )
    with pytest.raises(ValueError, match="name the column of labels"):
        distributed.source(dd.from_pandas(pd.DataFrame({"a": [1]})), client=client)
    with pytest.raises(ValueError, match="a dask array has no labels"):
        distributed.source(da.ones((4, 2)), client=client)
    with pytest.raises(ValueError, match="there are 2 and 1 blocks"):
        distributed.source(da.ones((4, 2), chunks=2), da.ones(4, chunks=4), client=client)
    with pytest.raises(ValueError, match="got ndarray"):
        distributed.source(np.ones((3, 2)), client=client)
    with pytest.raises(ValueError, match="read from its first part on only"):
        distributed.source(Source.from_iterable(list), client=client)
    with pytest.raises(ValueError, match="there is no Dask cluster"):
        distributed.source(source())


def unlabelled():
    return data()[0]
