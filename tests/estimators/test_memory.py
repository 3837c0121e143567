"""What fits hold in memory beside the data."""

import contextlib
import os
import subprocess
import sys
import time
import tracemalloc
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from aucmax import AUCClassifier, ClassMoments, Source
from aucmax.basics import memory
from aucmax.cli import main
from aucmax.data.large_files import Footprint, Plan
from aucmax.data.reading import Reading
from aucmax.data.rows import scaled_rows, shifted_rows
from aucmax.data.rows.products import take_columns
from aucmax.estimators.preparation import in_parts


@pytest.fixture(scope="module", params=[np.float32, np.float64])
def data(request):
    """Dense rows, in C order, of which a sample or a block is a small part."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(25_000, 150)).astype(request.param)
    return X, (X[:, 0] + rng.normal(size=len(X)) > 1.0).astype(int)


def held(work):
    """The most bytes that a call has allocated at once."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.covering(1)
@pytest.mark.parametrize("standardize", [0.0, 0.5])
@pytest.mark.parametrize("loss", ["square", "squared_hinge", "logistic"])
def test_a_fit_copies_no_dense_rows(data, loss, standardize):
    X, y = data
    clf = AUCClassifier(1e-2, loss=loss, standardize=standardize)
    clf.fit(X, y)  # compiles, which fewer rows would not for all that these need
    assert held(lambda: clf.fit(X, y)) < 0.8 * X.nbytes


def test_neither_do_moments_and_scores(data):
    X, y = data
    clf = AUCClassifier().fit(X[:500], y[:500])
    assert held(lambda: clf.decision_function(X)) < 0.5 * X.nbytes
    assert held(lambda: ClassMoments.from_data(X, y)) < 0.5 * X.nbytes


def test_preparing_a_table_in_parts_keeps_few_words_of_each(tmp_path):
    rng, beside = np.random.default_rng(0), []
    how = {"missing": True, "text": True, "dates": True, "categories": ("word",)}
    reading = Reading(target="y", prepare=True, **how)
    for n in (30_000, 120_000):
        rows = pd.DataFrame(rng.normal(size=(n, 4)).round(2)).add_prefix("x")
        rows["word"] = [f"the word number {k}" for k in rng.integers(8_000, size=n)]
        rows.assign(y=np.arange(n) % 2).to_parquet(tmp_path / f"{n}.parquet")
        with Plan(Footprint(50, 650, 5), "1MB") as plan:
            tracemalloc.start()
            prepared = in_parts(plan, tmp_path / f"{n}.parquet", reading)
            kept, peak = tracemalloc.get_traced_memory()
            tracemalloc.stop()
        assert prepared.n_features > 20
        beside.append(peak - kept)
    assert beside[1] < 2 * beside[0]


@pytest.mark.parametrize(("command", "most"), [("evaluate", 32), ("cv", 64)])
def test_commands_keep_few_bytes_of_each_row_in_parts(command, most, tmp_path):
    sizes, peaks = (40_000, 160_000), []
    for n in sizes:
        rng = np.random.default_rng(n)
        rows = pd.DataFrame(rng.normal(size=(n, 3)), columns=list("abc"))
        rows = rows.assign(y=(rows.a + rng.normal(size=n) > 2.5).astype(int))
        rows.to_parquet(tmp_path / f"{n}.parquet", row_group_size=5_000)

    def run(*words):
        with contextlib.suppress(SystemExit):
            main([*map(str, words), "--target", "y", "--memory", "1MB", "--json"])

    model = tmp_path / "m.aucmax"
    run("train", tmp_path / "40000.parquet", "--alpha", "0.1", "-o", model)
    for n in (sizes[0], *sizes):  # the first time it compiles
        file = tmp_path / f"{n}.parquet"
        words = [model, file] if command == "evaluate" else [file, "--losses", "square"]
        peaks.append(held(lambda words=words: run(command, *words)))
    assert peaks[2] - peaks[1] < most * (sizes[1] - sizes[0])


@pytest.mark.parametrize(
    ("settings", "weighted", "most"),
    [
        (dict(loss="squared_hinge"), False, 16),
        (dict(loss="logistic"), False, 1),  # less than labels would take
        (dict(loss="logistic", l1_ratio=0.5), True, 1),
        (dict(), True, 1),
    ],
)
def test_fits_keep_few_bytes_of_each_row_in_parts(settings, weighted, most):
    def part(seed):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(20_000, 2))
        y = (X @ [1.0, -2.0] + 3.0 * rng.normal(size=len(X)) > 8.0).astype(int)
        return X, y, rng.random(len(y)) if weighted else None

    def source(parts):
        return Source([lambda k=k: part(k) for k in range(parts)])

    clf = AUCClassifier(1e-2, **settings)
    clf.fit(source(1))  # compiles
    few = held(lambda: clf.fit(source(6)))
    # how many parts are read ahead at once is a matter of time
    many = min(held(lambda: clf.fit(source(16))) for _ in range(3))
    assert many < few + most * 10 * 20_000


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


# ---- what there is room for


@pytest.fixture
def room(tmp_path, monkeypatch):
    """What `headroom` says of the made-up files, in MB: what is free, and the limit."""
    monkeypatch.setattr(memory, "ROOT", tmp_path)

    def of_files():
        free, limit = memory.headroom()
        return round(free / 10**6), limit and round(limit / 10**6)

    return of_files


def swap(top, free):
    with (top / "proc/meminfo").open("a") as file:
        file.write(f"SwapFree: {free * 10**6 // 1024} kB\n")


def test_headroom_is_of_the_tightest_group(tmp_path, room):
    top = tmp_path / "sys/fs/cgroup"
    machine(tmp_path, "0::/job/step\n", V2_MOUNT)
    assert room() == (8000, None)
    group(top / "job", used=150, cached=50, limits=v2(400, high=120))
    group(top / "job/step", used=50, limits=v2(900))
    assert room() == (300, 400)  # beyond `memory.high` a process is slow, not killed
    machine(tmp_path, "0::/job/step\n", V2_MOUNT, available=200)
    assert room() == (200, None)


def test_headroom_has_the_swap_that_a_group_may_use(tmp_path, room):
    job = tmp_path / "sys/fs/cgroup/job"
    machine(tmp_path, "0::/job\n", V2_MOUNT)
    group(job, used=100, limits=v2(400))
    swap(tmp_path, 1000)
    assert room() == (1300, 400)
    for limit, free in {250: 500, 60: 300, "max": 1300}.items():  # 60: more is in use than may be
        put(job / "memory.swap.max", limit if limit == "max" else limit * 10**6)
        put(job / "memory.swap.current", 50 * 10**6 if limit == 250 else 70 * 10**6)
        assert room() == (free, 400)


def test_headroom_has_the_swap_of_version_1(tmp_path, room):
    job = tmp_path / "sys/fs/cgroup/memory/job"
    machine(tmp_path, "4:memory:/job\n", V1_MOUNT, at="/sys/fs/cgroup/memory")
    group(job, used=120, cached=20, limits=v1(400))
    assert room() == (300, 400)
    swap(tmp_path, 1000)
    assert room() == (1300, 400)
    put(job / "memory.memsw.usage_in_bytes", 170 * 10**6)
    put(job / "memory.memsw.limit_in_bytes", 700 * 10**6)
    assert room() == (550, 400)  # memory and swap together


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    """A Parquet file of 8 MB in four row groups."""
    path = tmp_path_factory.mktemp("rows") / "rows.parquet"
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100_000, 9))
    y = (X[:, 0] + rng.normal(size=len(X)) > 1.0).astype(int)
    columns = {f"x{j}": X[:, j] for j in range(9)}
    pd.DataFrame(columns | {"y": y}).to_parquet(path, row_group_size=25_000)
    return path


def limited(top, limit, used):
    machine(top, "0::/job\n", V2_MOUNT)
    group(top / "sys/fs/cgroup/job", used=used, limits=v2(limit))


@pytest.mark.parametrize(
    ("limit", "used", "words"),
    [
        (140, 20, "120 MB are left of the limit of 140 MB, and the program needs 250 MB for"),
        (267, 140, "127 MB are left of the limit of 267 MB, and the program needs 128 MB for"),
        (
            275,
            140,
            "about 11 MB for {rows}, read in parts of 1 MB; raise the limit to 280 MB",
        ),
    ],
)
def test_what_would_be_killed_is_refused(limit, used, words, rows, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(memory, "ROOT", tmp_path)
    limited(tmp_path, limit, used)
    model = tmp_path / "model"
    with pytest.raises(SystemExit) as ended:
        main(["train", str(rows), "--target", "y", "-o", str(model)])
    err = capsys.readouterr().err
    assert ended.value.code == 2
    assert words.format(rows=rows) in " ".join(err.splitlines()[-1].split())
    assert not model.exists()


def test_more_memory_than_there_is_cannot_be_allowed(rows, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(memory, "ROOT", tmp_path)
    limited(tmp_path, 300, 140)
    with pytest.raises(SystemExit) as ended:
        main(["cv", str(rows), "--target", "y", "--memory", "4GB"])
    assert ended.value.code == 2
    assert f"MB for {rows} in memory; raise the limit to" in capsys.readouterr().err


@pytest.fixture
def real_group():
    """Return a maker of this system's control groups, with a limit in MB."""
    mounts = [(kind, where) for kind, _, where in memory.mounts()]
    made = []

    def make(limit):
        for kind, where in mounts:
            folder = Path(where) / f"aucmax-test-{os.getpid()}-{limit}"
            name = "memory.limit_in_bytes" if kind == "memory" else "memory.max"
            try:
                folder.mkdir()
                made.append(folder)
                (folder / name).write_text(str(limit * 10**6))
            except OSError:
                continue
            return folder
        pytest.skip("no control group of memory can be made here")

    yield make
    for folder in made:
        for _ in range(100):
            with contextlib.suppress(OSError):
                folder.rmdir()
                break
            time.sleep(0.05)


@pytest.mark.skipif(sys.platform != "linux", reason="control groups are Linux's")
@pytest.mark.parametrize(
    ("limit", "code"),
    [
        (130, 2),
        *(pytest.param(limit, 2, marks=pytest.mark.exhaustive) for limit in (60, 200)),
        pytest.param(500, 0, marks=pytest.mark.exhaustive),
    ],
)
def test_a_command_in_a_real_group_is_never_killed(limit, code, real_group, rows, tmp_path):
    group = real_group(limit)
    start = f"import os; open({str(group / 'cgroup.procs')!r}, 'w').write(str(os.getpid()))"
    command = [
        "train",
        str(rows),
        "--target",
        "y",
        "--shape",
        "line",
        "-o",
        str(tmp_path / "model"),
    ]
    run = f"{start}; from aucmax.cli import main; main({command!r})"
    done = subprocess.run([sys.executable, "-c", run], capture_output=True, text=True)
    if "PermissionError" in done.stderr:
        pytest.skip("no process may enter a control group here")
    assert done.returncode == code, done.stderr
    assert (f"of the limit of {limit} MB" in done.stderr) == (code == 2)
