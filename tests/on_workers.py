"""What the tests of a cluster send to its workers: a module that is imported in little time."""

import os
import signal
import time
from pathlib import Path

import numpy as np
import scipy.sparse as sp


def data(n=600, d=6, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * np.exp(rng.normal(size=d)) + rng.normal(size=d)
    return X, (X @ rng.normal(size=d) + rng.normal(size=n) > 1.0).astype(int)


def load(a, b, sparse=False):
    X, y = data()
    return (sp.csr_matrix(np.where(X > 0, X, 0.0)) if sparse else X)[a:b], y[a:b]


def load_weighed(k, n=5_000, words=False):
    """Return n rows with labels and weights; one part has one label only, in words or numbers."""
    X, y = data(n, seed=k)
    y = np.zeros(n, int) if k == 1 else y
    return X, np.where(y == 1, "no", "yes") if words else y, np.arange(n) % 7 / 3.0 + 0.1


def load_other_labels(a, b, folder):
    """Return other labels after the first pass over two parts."""
    X, y = load(a, b)
    with (Path(folder) / "read").open("ab") as file:
        file.write(b".")
        return X, y if file.tell() <= 2 else 1 - y


def drawn(k):
    """Return other rows each time."""
    return data(seed=time.monotonic_ns() % 2**32 + k)[0], data()[1]


def load_rows(a, b):
    return data()[0][a:b]


def first_label_is(part, label):
    return part.y[0] == label


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
    time.sleep(0.01)
    return load(a, b)


def weighed(part, row):
    return row * (1.0 + part.X[0, 0]) / 3.0


def number(part):
    return int(part.X[0, 0])


def loads(folder):
    return (Path(folder) / "loads").stat().st_size


def number_of_rows(part):
    return len(part.y)


def load_and_wait(a, b, folder, last):
    """Load a part; from the last load on wait until the cluster is closed."""
    with (Path(folder) / "loads").open("ab") as file:
        file.write(b".")
    if loads(folder) >= last:
        (Path(folder) / "reached").touch()
        time.sleep(0.5)
    return load(a, b)


def unlabelled():
    return data()[0]


class Pickled:
    """Numbers that count how often they are pickled in this process."""

    count = 0

    def __init__(self, values):
        self.values = values

    def __reduce__(self):
        Pickled.count += 1
        return Pickled, (self.values,)


def sum_of(part, shared):
    return part.X.sum() * shared.values.sum()


def load_when_allowed(a, b, folder, straggler):
    """Load a part; the straggler's first time, wait until the folder has a file "end"."""
    if straggler:
        try:
            (Path(folder) / "straggles").touch(exist_ok=False)
        except FileExistsError:
            return load(a, b)
        deadline = time.monotonic() + 60.0
        while not (Path(folder) / "end").exists() and time.monotonic() < deadline:
            time.sleep(0.01)
        (Path(folder) / "ended").touch()
    return load(a, b)


def load_beside(k, shared):
    return np.full((2, 1), float(k)), np.array([0, 1])
