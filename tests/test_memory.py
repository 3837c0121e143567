"""What fits hold in memory beside the data."""

import tracemalloc

import numpy as np
import pytest

from aucmax import AUCClassifier, ClassMoments, Source
from aucmax.basics import memory
from aucmax.rows import scaled_rows, shifted_rows
from aucmax.rows.products import take_columns


@pytest.fixture(scope="module", params=[np.float32, np.float64])
def data(request):
    """Dense rows, in C order, of which a sample or a block is a small part."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40_000, 150)).astype(request.param)
    return X, (X[:, 0] + rng.normal(size=len(X)) > 1.0).astype(int)


def held(work):
    """The most bytes that a call has allocated at once."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("standardize", [0.0, 0.5])
@pytest.mark.parametrize("loss", ["square", "squared_hinge", "logistic"])
def test_a_fit_copies_no_dense_rows(data, loss, standardize):
    X, y = data
    clf = AUCClassifier(1e-2, loss=loss, standardize=standardize)
    clf.fit(X[:500], y[:500])  # compiles
    assert held(lambda: clf.fit(X, y)) < 0.8 * X.nbytes


def test_neither_do_moments_and_scores(data):
    X, y = data
    clf = AUCClassifier().fit(X[:500], y[:500])
    assert held(lambda: clf.decision_function(X)) < 0.5 * X.nbytes
    assert held(lambda: ClassMoments.from_data(X, y)) < 0.5 * X.nbytes


@pytest.mark.parametrize(("loss", "most"), [("squared_hinge", 16), ("logistic", 20)])
def test_newton_keeps_few_bytes_of_each_row_in_parts(loss, most):
    def part(seed):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(20_000, 2))
        return X, (X @ [1.0, -2.0] + 3.0 * rng.normal(size=len(X)) > 8.0).astype(int)

    def source(parts):
        return Source([lambda k=k: part(k) for k in range(parts)])

    clf = AUCClassifier(1e-2, loss=loss)
    clf.fit(source(1))  # compiles
    few, many = (held(lambda n=n: clf.fit(source(n))) for n in (6, 16))
    assert few < many < few + most * 10 * 20_000


def test_what_must_copy_copies_once(data):
    X, _ = data
    factor, S = np.linspace(1.0, 2.0, X.shape[1]), np.arange(0, X.shape[1], 2)
    assert held(lambda: scaled_rows(X, factor)) < 1.2 * X.nbytes
    assert held(lambda: shifted_rows(X, factor)) < 1.2 * X.nbytes
    assert held(lambda: take_columns(X, S, factor[S])) < 1.2 * 8 * len(X) * len(S)


def test_columns_are_those_of_the_rows_times_their_factors(data):
    X, _ = data
    factor, S = np.linspace(1.0, 2.0, X.shape[1]), np.array([3, 1, 140])
    columns = take_columns(X, S, factor[S])
    assert columns.flags.f_contiguous
    np.testing.assert_array_equal(columns, X[:, S].astype(np.float64) * factor[S])


# ---- what there is ------------------------------------------------------------------------

UNLIMITED = 9223372036854771712
V2_MOUNT = "30 23 0:26 {root} {at} rw,nosuid - cgroup2 cgroup2 rw,nsdelegate"
V1_MOUNT = "35 31 0:32 {root} {at} rw,relatime shared:9 - cgroup cgroup rw,memory"


def machine(top, groups, mount, available=8000, **mounted):
    """A made-up /proc of a process in these groups, on a machine with so many MB available."""
    put(top / "proc/meminfo", f"MemTotal: 1 kB\nMemAvailable:  {available * 10**6 // 1024} kB\n")
    put(top / "proc/self/cgroup", groups)
    where = {"root": "/", "at": "/sys/fs/cgroup"} | mounted
    other = "31 23 0:28 / /sys rw - sysfs sysfs rw\n35 31 0:9 / /sys/cpu rw - cgroup cgroup rw,cpu"
    put(top / "proc/self/mountinfo", f"{other}\n{mount.format(**where)}\n")


def group(folder, used, limits, cached=0):
    """A group's files; sizes in MB, a limit None where there is none."""
    first = "memory.limit_in_bytes" in limits
    put(folder / ("memory.usage_in_bytes" if first else "memory.current"), used * 10**6)
    for name, limit in limits.items():
        none = UNLIMITED if first else "max"
        put(folder / name, none if limit is None else limit * 10**6)
    total, half = "total_" if first else "", cached * 10**6 // 2
    pages = f"{total}inactive_file {half}\n{total}active_file {half}\n"
    put(folder / "memory.stat", f"anon 0\nfile 7000000000\n{pages}")


def put(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{text}")


@pytest.fixture
def free(tmp_path, monkeypatch):
    """What `free_memory` says of the made-up files, in MB."""
    monkeypatch.setattr(memory, "ROOT", tmp_path)
    return lambda: round(memory.free_memory() / 10**6)


def v1(limit):
    return {"memory.limit_in_bytes": limit}


def v2(limit=None, high=None):
    return {"memory.max": limit, "memory.high": high}


def test_free_memory_is_what_the_groups_above_leave_too(tmp_path, free):
    top = tmp_path / "sys/fs/cgroup"
    machine(tmp_path, "0::/user.slice/job/step\n", V2_MOUNT)
    assert free() == 8000  # no group says anything
    group(top / "user.slice/job/step", used=100, limits=v2())
    assert free() == 8000
    group(top / "user.slice/job", used=150, cached=50, limits=v2(400))
    assert free() == 300  # pages of files do not count, those of a tmpfs do
    group(top / "user.slice", used=3000, limits=v2(5000, high=3200))
    assert free() == 200
    group(top / "user.slice/job/step", used=100, limits=v2(90))
    assert free() == 0
    machine(tmp_path, "0::/other\n", V2_MOUNT, available=70)
    assert free() == 70  # not the limits of other groups


def test_free_memory_in_groups_of_version_1(tmp_path, free):
    top = tmp_path / "sys/fs/cgroup/memory"
    machine(tmp_path, "9:cpu:/x\n4:memory:/a/b\n0::/\n", V1_MOUNT, at="/sys/fs/cgroup/memory")
    group(top, used=5000, limits=v1(None))
    group(top / "a", used=700, cached=300, limits=v1(1000))
    group(top / "a/b", used=100, limits=v1(None))
    assert free() == 600
    group(top / "a/b", used=100, cached=20, limits=v1(400))
    assert free() == 320


@pytest.mark.parametrize("path", ["/docker/1f", "/"])  # without and with a namespace of its own
def test_free_memory_in_a_container(tmp_path, free, path):
    here = tmp_path / "sys/fs/cgroup/memory"
    machine(tmp_path, f"4:memory:{path}\n", V1_MOUNT, root=path, at="/sys/fs/cgroup/memory")
    group(here, used=100, limits=v1(500))
    assert free() == 400
    here = tmp_path / "sys/fs/cgroup"
    machine(tmp_path, f"0::{path}\n", V2_MOUNT, root=path)
    group(here, used=100, limits=v2(450))
    assert free() == 350


def test_free_memory_where_the_system_says_nothing(tmp_path, free):
    assert free() > 0  # all of the machine
    machine(tmp_path, "not a group\n", "")
    assert free() == 8000
    machine(tmp_path, "0::/\n", V2_MOUNT)
    put(tmp_path / "sys/fs/cgroup/memory.max", "much")
    assert free() == 8000
