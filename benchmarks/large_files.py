"""Fits to files many times larger than the memory they may take, compared with other libraries.

    python -m benchmarks large_files --budget 500 --folder /where/there/is/room
    python -m benchmarks large_files --table

Writes a Parquet file of dense and an svmlight file of sparse rows, each so many times the budget,
and runs every method on them, each in a process of its own: seconds from the start of the fit to
each checkpoint, the AUC there on held-out rows of the same distribution, and the peak memory. The
first method only reads, with the same reader. scikit-learn's learners get their rows from
`datasets.scan`, as ours do. Each checkpoint is a line of benchmarks/results/large_files.csv;
``--table`` prints the table of docs/scale.md.
"""

import itertools
import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from aucmax import AUCClassifier, datasets, load, metrics
from benchmarks.common import tables
from benchmarks.common.engine import Line, family_time, in_child, memory, reason
from benchmarks.common.results import Results

NEAR = 0.001  # of the best AUC
HELD_OUT = 200_000  # rows
WARM_ROWS = 5_000
EPOCHS = {".parquet": 3, ".svm": 15}  # of SGDClassifier; parsed text is read again in no time
VOWPAL_PASSES = (1, 3)
TUNED_ON = 0.2  # of the parts
ALPHAS = (1e-6, 1e-5, 1e-4, 1e-3)
OURS = (3e-4, 3e-5, 3e-6)  # the first is the default
LOSSES = ("square", "squared_hinge", "logistic")

Score = Callable[[Any], np.ndarray]
Checkpoint = tuple[float, float, float, str, Score]  # seconds, processor's, passes, setting, scores


# ---- the files ---------------------------------------------------------------------------

DENSE = 100  # features
FACTORS = 20  # that correlate them
WIDE = 100_000  # features of sparse rows, of which each has up to
STORED = 50


def write_parquet(path: Path, rows: int, seed: int) -> None:
    """Write correlated features and a rare label, in row groups of 16 MB."""
    import pyarrow as pa
    from pyarrow import parquet

    world, rng = np.random.default_rng(0), np.random.default_rng([1, seed])
    loads = world.normal(size=(FACTORS, DENSE)) / np.sqrt(FACTORS)
    w = world.normal(size=DENSE) / 8
    names = [f"x{j}" for j in range(DENSE)]
    schema = pa.schema([(name, pa.float64()) for name in names] + [("y", pa.int8())])
    group = 20_000
    with parquet.ParquetWriter(path, schema, use_dictionary=False, compression="none") as writer:
        for first in range(0, rows, group):
            n = min(group, rows - first)
            X = rng.normal(size=(n, FACTORS)) @ loads + 0.5 * rng.normal(size=(n, DENSE))
            y = (X @ w + rng.logistic(size=n) > 5.0).astype(np.int8)
            columns = [pa.array(X[:, j]) for j in range(DENSE)] + [pa.array(y)]
            writer.write_table(pa.Table.from_arrays(columns, schema=schema))


def write_svmlight(path: Path, size: int, seed: int, rows: int | None = None) -> int:
    """Write so many bytes, or rows, of sparse rows with a rare label; return how many rows."""
    world, rng = np.random.default_rng(0), np.random.default_rng([2, seed])
    w = world.normal(size=WIDE)
    indices = np.array([f" {j + 1}:" for j in range(WIDE)], dtype="S8")
    values = np.array([f"{v / 1000:g}" for v in range(1, 1001)], dtype="S5")
    labels = np.frombuffer(b"01", dtype=np.uint8)
    block, total = 5_000, 0
    with path.open("wb") as stream:
        while stream.tell() < size if rows is None else total < rows:
            j = np.sort((WIDE * rng.random((block, STORED)) ** 3).astype(np.int64), axis=1)
            v = rng.integers(1000, size=j.shape)
            new = np.diff(j, axis=1, prepend=-1) > 0  # no feature twice
            score = ((v + 1) / 1000 * w[j] * new).sum(axis=1)
            y = (score + 2 * rng.logistic(size=block) > 12.0).astype(np.int64)
            words = np.concatenate(
                [indices[j].view(np.uint8).reshape(block, STORED, 8),
                 values[v].view(np.uint8).reshape(block, STORED, 5)], axis=2
            )  # fmt: skip
            words[~new] = 0
            lines = np.concatenate(
                [labels[y][:, None], words.reshape(block, -1), np.full((block, 1), 10, np.uint8)],
                axis=1,
            )
            stream.write(lines[lines > 0].tobytes())
            total += block
    return total


def source_of(path: Path, budget: int) -> Any:
    """Return a file in parts of such a size as the commands take."""
    return datasets.scan(path, part_bytes=min(budget // 80, 1 << 26), **target(path))


def target(path: Path) -> dict[str, str]:
    """Return how a reader finds the labels."""
    return {"target": "y"} if path.suffix == ".parquet" else {}


def wide(X: Any) -> Any:
    """Return rows of all features: parts of a text may lack the last."""
    if hasattr(X, "indptr"):
        X.resize(X.shape[0], WIDE)
    return X


# ---- methods -----------------------------------------------------------------------------


class Clock:
    """Wall and processor seconds, from when it is made."""

    def __init__(self) -> None:
        self.wall, self.processor = time.perf_counter(), family_time()

    def at(self, passes: float, setting: str, scores: Score) -> Checkpoint:
        """Return a checkpoint of now."""
        wall, processor = time.perf_counter() - self.wall, family_time() - self.processor
        return wall, processor, passes, setting, scores


def linear(w: np.ndarray) -> Score:
    """Return the scores of weights."""
    w = np.array(w, dtype=np.float64).ravel()
    return lambda X: X @ w[: X.shape[1]]


def reading(path: Path, budget: int) -> Iterator[Checkpoint]:
    """All parts, twice: text is parsed the first time, and kept."""
    source, clock = source_of(path, budget), Clock()
    for passes in (1, 2):
        for _ in source:
            pass
        yield clock.at(passes, "", lambda X: np.zeros(X.shape[0]))


def ours(loss: str, path: Path, budget: int) -> Iterator[Checkpoint]:
    """Fit AUCClassifier with its default α, and Newton's losses to sparse rows with weaker ones."""
    source = source_of(path, budget)
    clock, passes = Clock(), 0
    for alpha in OURS[: 1 if path.suffix == ".parquet" or loss == "square" else None]:
        model = AUCClassifier(alpha, loss=loss).fit(source)
        passes += model.passes_
        yield clock.at(passes, f"alpha {alpha:g}", linear(model.coef_))


def command(path: Path, budget: int) -> Iterator[Checkpoint]:
    """Run ``aucmax train --memory``, which tunes on rows that fit into memory."""
    model, clock = path.with_suffix(".aucmax"), Clock()
    report = train(path, budget, model)
    passes = sum(at["passes"] for at in report["read"])
    setting = f"{report['loss']}, alpha {report['alpha']:.2g}, all that the command does"
    yield clock.at(passes, setting, linear(load(model).coef_))


def train(path: Path, budget: int, model: Path) -> dict[str, Any]:
    """Run the command, and return its report."""
    words = ["train", str(path), "--memory", f"{budget // 10**6}MB", "-o", str(model), "--json"]
    names = ["--target", "y"] if target(path) else []
    done = subprocess.run(
        [sys.executable, "-m", "aucmax", *words, *names], stdout=subprocess.PIPE, check=True
    )
    return json.loads(done.stdout)


def sgd(loss: str, path: Path, budget: int) -> Iterator[Checkpoint]:
    """Fit SGDClassifier part by part; its settings are chosen on a fifth of the parts, untimed."""
    from sklearn.linear_model import SGDClassifier

    source = source_of(path, budget)
    share = np.mean(next(iter(source)).y)
    weight = {0: 0.5 / (1 - share), 1: 0.5 / share}
    build = partial(SGDClassifier, loss, class_weight=weight)
    tried = {
        (alpha, average): build(alpha=alpha, average=average)
        for alpha, average in itertools.product(ALPHAS, (False, True))
    }
    for done, part in _shares(source):
        if done > TUNED_ON:
            break
        for model in tried.values():
            model.partial_fit(wide(part.X), part.y, classes=[0, 1])
    X, y = wide(part.X), part.y
    chosen = max(tried, key=lambda k: metrics.roc_auc(y, tried[k].decision_function(X)))
    name = f"alpha {chosen[0]:g}{', averaged' * chosen[1]}"
    clock, model = Clock(), build(alpha=chosen[0], average=chosen[1])
    for epoch in range(EPOCHS[path.suffix]):
        marks = [0.25, 0.5, 1.0] if epoch == 0 else [1.0]
        for done, part in _shares(source):
            model.partial_fit(wide(part.X), part.y, classes=[0, 1])
            if marks and done >= marks[0]:
                yield clock.at(epoch + marks.pop(0), name, linear(model.coef_))


def _shares(source: Any) -> Iterator[tuple[float, Any]]:
    total = len(source.loads)
    for k, part in enumerate(source, 1):
        yield k / total, part


def vowpal(path: Path, budget: int) -> Iterator[Checkpoint]:
    """Write a text file in Vowpal Wabbit's form, and let it read that."""
    from vowpalwabbit import Workspace

    if path.suffix == ".parquet":
        raise ValueError("reads text of its own form only, three times the size of this file")
    text = path.with_suffix(".vw")
    clock = Clock()
    script = "s/^0 /-1 | /;s/^1 /1 | /"
    with text.open("wb") as stream:
        subprocess.run(["sed", script, str(path)], stdout=stream, check=True)
    try:
        for passes in VOWPAL_PASSES:
            cache = f" --cache_file {text}.cache -k" * (passes > 1)
            started = Clock()
            model = Workspace(
                f"-d {text} --passes {passes} --loss_function logistic -b 18 --holdout_off"
                f"{cache} --quiet"
            )
            wall, processor, *rest = clock.at(passes, "converted first", _of_vowpal(model))
            yield wall, processor, *rest
            # the second run begins again: what the first took is not its own
            clock.wall += time.perf_counter() - started.wall
            clock.processor += family_time() - started.processor
            model.finish()
    finally:
        text.unlink()
        Path(f"{text}.cache").unlink(missing_ok=True)


def _of_vowpal(model: Any) -> Score:
    w = np.array([model.get_weight(j + 1) for j in range(WIDE)])
    return linear(w)


def snap(path: Path, budget: int) -> Iterator[Checkpoint]:
    """Read all rows into memory in single precision, and fit Snap ML's logistic regression."""
    import scipy.sparse as sp
    from snapml import LogisticRegression

    source, clock = source_of(path, budget), Clock()
    parts = [(wide(part.X).astype(np.float32), part.y) for part in source]
    y = np.concatenate([labels for _, labels in parts])
    rows = [X for X, _ in parts]
    X = sp.vstack(rows, format="csr") if sp.issparse(rows[0]) else np.concatenate(rows)
    del parts, rows
    for alpha in (1e-4, 1e-5):
        model = LogisticRegression(regularizer=alpha * len(y), class_weight="balanced", n_jobs=1)
        model.fit(X, y)
        yield clock.at(1, f"alpha {alpha:g}", linear(model.coef_))


def dask_ml(path: Path, budget: int) -> Iterator[Checkpoint]:
    """Fit dask-ml's logistic regression to a Dask array of the file."""
    import dask
    import dask.dataframe as dd
    from dask_ml.linear_model import LogisticRegression

    if path.suffix != ".parquet":
        raise ValueError("Dask reads no svmlight text, and dask-ml takes no sparse blocks")
    dask.config.set(scheduler="threads")
    clock = Clock()
    frame = dd.read_parquet(path, split_row_groups=2)
    rows = frame.to_dask_array(lengths=True)
    X, y = rows[:, :-1], rows[:, -1]
    for steps in (5, 20):
        model = LogisticRegression(solver="lbfgs", max_iter=steps, C=1e-2)
        model.fit(X, y)
        yield clock.at(float("nan"), f"lbfgs, {steps} iterations", linear(model.coef_))
        clock = Clock()


METHODS: dict[str, tuple[str, Callable[[Path, int], Iterator[Checkpoint]]]] = {
    "reading alone": ("aucmax", reading),
    **{f"AUCClassifier {loss}": ("aucmax", partial(ours, loss)) for loss in LOSSES},
    "aucmax train": ("aucmax", command),
    "SGDClassifier hinge": ("sklearn", partial(sgd, "hinge")),
    "SGDClassifier log_loss": ("sklearn", partial(sgd, "log_loss")),
    "Vowpal Wabbit": ("vowpalwabbit", vowpal),
    "Snap ML logistic": ("snapml", snap),
    "dask-ml logistic": ("dask_ml", dask_ml),
}


# ---- runs --------------------------------------------------------------------------------


def warm_up() -> None:
    """Load and compile what a fit needs: dense and sparse, of every loss."""
    import scipy.sparse as sp

    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 5))
    y = X[:, 0] + rng.normal(size=400) > 1
    for loss, rows in itertools.product(LOSSES, (X, sp.csr_matrix(X))):
        AUCClassifier(loss=loss).fit(rows, y)


def checkpoints(name: str, path: Path, held_out: Path, budget: int) -> Iterator[Line]:
    """Run a method in this process; yield a line for each of its checkpoints."""
    if name.startswith(("AUC", "reading")):
        warm_up()
    elif name == "aucmax train":  # its program, and a small file
        few = path.with_stem("few")
        if path.suffix == ".parquet":
            write_parquet(few, WARM_ROWS, 2)
        else:
            write_svmlight(few, 0, 2, WARM_ROWS)
        train(few, 10**6, few.with_suffix(".aucmax"))
    before = peak()
    reached: list[Checkpoint] = []
    note = {}
    try:
        reached += METHODS[name][1](path, budget)
    except Exception as error:
        note = {"note": str(error) if isinstance(error, ValueError) else reason(error)}
    spent = {"memory_mb": f"{peak():.0f}", "before_mb": f"{before:.0f}"}
    for wall, processor, passes, setting, scores in reached:
        line = {"setting": setting, "passes": f"{passes:g}", "seconds": f"{wall:.2f}",
                "processor_seconds": f"{processor:.2f}"}  # fmt: skip
        if name != "reading alone":
            rows = [(part.y, scores(wide(part.X))) for part in datasets.scan(
                held_out, spool=False, **target(held_out))]  # fmt: skip
            y, score = map(np.concatenate, zip(*rows, strict=True))
            line["auc"] = f"{metrics.roc_auc(y, score):.5f}"
        yield spent | line
    if note:
        yield note


def peak() -> float:
    """Return the peak memory of this process, or of one it has waited for if that is larger."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    return max(memory()[1], children)


def runs(
    folder: Path, budget: int, times: float, kinds: list[str], limit: float
) -> Iterator[tuple[Line, Callable[[], Iterator[Line]]]]:
    """Write the files, and yield the run of each method."""
    for kind in kinds:
        path, held_out = (folder / f"{name}.{kind}" for name in ("rows", "held_out"))
        count = folder / f"{kind}.rows"
        if not count.exists():
            if kind == "parquet":
                rows = int(times * budget / (8 * DENSE))
                write_parquet(path, rows, 0)
                write_parquet(held_out, HELD_OUT, 1)
            else:
                rows = write_svmlight(path, int(times * budget), 0)
                write_svmlight(held_out, 0, 1, HELD_OUT)
            count.write_text(str(rows))
        what = {
            "question": f"{path.stat().st_size / 1e9:.3g} GB, budget {budget // 10**6} MB",
            "data": kind, "rows": count.read_text(), "repeat": 0,
            "features": DENSE if kind == "parquet" else WIDE,
        }  # fmt: skip
        for name, (package, _) in METHODS.items():
            run = partial(in_child, checkpoints, name, path, held_out, budget,
                          limit=limit, start="spawn")  # fmt: skip
            yield what | {"method": name, "package": package}, run


# ---- the table ---------------------------------------------------------------------------


def table(lines: list[dict[str, str]]) -> str:
    """Return the results as Markdown, a table for each file."""
    head = ["method", "passes", "AUC", "seconds", "processor", "peak, MB", "of it before"]
    parts = []
    for file in dict.fromkeys((line["data"], line["question"]) for line in lines):
        own = [line for line in lines if (line["data"], line["question"]) == file]
        best = max((float(line["auc"]) for line in own if line["auc"]), default=np.nan)
        first = own[0]
        parts.append(
            f"{file[0]}, {int(first['rows']):,} rows of {int(first['features']):,} features, "
            f"{file[1]}; best AUC {best:.4f}. {first['machine']}."
        )
        rows = [row([line for line in own if line["method"] == name], best)
                for name in dict.fromkeys(line["method"] for line in own)]  # fmt: skip
        parts.append(tables.table(head, rows))
    return "\n\n".join(parts)


def row(lines: list[dict[str, str]], best: float) -> list[str]:
    """Return a method's first checkpoint that is near the best, else its best one."""
    timed = [line for line in lines if line["seconds"]]
    if not timed:
        return [lines[0]["method"], lines[0]["note"], *[""] * 5]
    near = [line for line in timed if line["auc"] and float(line["auc"]) >= best - NEAR]
    line = near[0] if near else max(timed, key=lambda line: float(line["auc"] or 0))
    auc = f"{float(line['auc']):.4f}{'' if near else ', not near'}" if line["auc"] else ""
    setting = f" ({line['setting']})" if line["setting"] else ""
    return [line["method"] + setting, line["passes"].replace("nan", ""), auc, line["seconds"],
            line["processor_seconds"], line["memory_mb"], line["before_mb"]]  # fmt: skip


def main(
    budget: Annotated[int, typer.Option(help="MB.")] = 500,
    times: Annotated[float, typer.Option(help="File size as a multiple of the budget.")] = 20.0,
    folder: Path = Path("."),
    files: list[str] = ["parquet", "svm"],
    only: Annotated[list[str], typer.Option(help="Words of the methods to run.")] = [],
    limit: Annotated[float, typer.Option(help="Processor seconds of a method.")] = 1800.0,
    results: Annotated[Path | None, typer.Option(help="The CSV file.")] = None,
    again: Annotated[bool, typer.Option("--again", help="Make runs that are kept, too.")] = False,
    show_only: Annotated[bool, typer.Option("--table", help="Run nothing.")] = False,
) -> None:
    kept = Results(results or "large_files")
    if not show_only:
        wanted = runs(folder, budget * 10**6, times, files, limit)
        kept.complete(
            (each for each in wanted
             if not only or any(f"{word} " in f"{each[0]['method']} " for word in only)),
            again,
        )  # fmt: skip
    print(table(kept.lines()))
