"""Time until a model ranks well, compared with other libraries; writes docs/benchmarks.md.

    python -m benchmarks peers                          # a fit and a tuned model on the small sets
    python -m benchmarks peers fit --sets all           # generated ones as well: an hour or more
    python -m benchmarks peers scaling auto             # time over rows; the choice of solver
    python -m benchmarks peers precision                # float32 and float64, memory
    python -m benchmarks peers --page                   # only the page, from the runs that are kept

Each run is a line of benchmarks/results/peers.csv, and is not made again. Methods take turns, so
that other work on the machine affects all alike; a method that exceeds the time limit is not tried
again on that set. Peers that are not installed are skipped with the reason;
benchmarks/requirements.txt lists them. Every library has one thread.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import cache, partial
from typing import Annotated

import typer

from aucmax import metrics
from benchmarks.common.data import SMALL, Task
from benchmarks.common.engine import Line, in_child, measured
from benchmarks.common.results import Results
from benchmarks.peers.methods import Method
from benchmarks.peers.questions import QUESTIONS

RESULTS = Results("peers")
WARM_ROWS = 100  # of each class, for the fit that loads and compiles before the clock starts
LEAST_SECONDS = 0.2  # processor seconds that short fits are repeated for
MAX_STORED = 20_000_000  # numbers of the rows, for an untimed fit of all rows before the others

Run = tuple[Line, Callable[[], Iterable[Line]]]


def main(
    questions: Annotated[list[str], typer.Argument(help=", ".join(QUESTIONS))] = ["fit", "tuned"],
    sets: Annotated[list[str], typer.Option(help="Names, or all; the real ones by default.")] = [],
    methods: Annotated[list[str], typer.Option(help="Names; all by default.")] = [],
    repeats: int = 3,
    limit: Annotated[float | None, typer.Option(help="Processor seconds of one fit.")] = None,
    again: Annotated[bool, typer.Option("--again", help="Make runs that are kept, too.")] = False,
    page: Annotated[bool, typer.Option("--page", help="Only write the page.")] = False,
) -> None:
    if not page:
        for question in questions:
            RESULTS.complete(runs(question, sets, methods, repeats, limit), again)
    from benchmarks.peers import page as pages

    pages.write(RESULTS.lines())


def runs(
    name: str, sets: list[str], methods: list[str], repeats: int, limit: float | None
) -> Iterator[Run]:
    """Yield the runs of a question."""
    question = QUESTIONS[name]
    usual = [each for each in question.sets if each in SMALL] or list(question.sets)
    wanted = [method for method in question.methods if not methods or method.name in methods]
    installed = [method for method in wanted if is_installed(name, method)]
    for data in list(question.sets) if sets == ["all"] else sets or usual:
        load = cache(question.sets[data])
        for repeat in range(repeats):
            for method in installed:
                what = {"question": name, "data": data, "method": method.name, "repeat": repeat}
                what["package"] = method.package
                yield what, partial(run, load, method, limit or question.limit)


def is_installed(question: str, method: Method) -> bool:
    """Say whether a method is installed; keep the reason if it is not."""
    if reason := method.missing():
        noted = {line["method"] for line in RESULTS.lines() if not line["data"]}
        if method.name not in noted:
            RESULTS.add({"question": question, "method": method.name, "note": reason})
            print(method.name, reason, sep="  ", flush=True)
    return not reason


def run(load: Callable[[], Task], method: Method, limit: float) -> Iterator[Line]:
    """Yield a line for each setting, or a note on why there are no more."""
    task = load()
    sizes = {"rows": len(task.y), "features": task.X.shape[1], "stored": task.stored}
    if obstacle := method.obstacle(task):
        yield sizes | {"note": obstacle}
        return
    # a forked process shares the rows; nothing in this process has started threads
    for line in in_child(fits, task, method, limit=limit):
        yield sizes | line


def fits(task: Task, method: Method) -> Iterator[Line]:
    """Fit at every setting and yield what each took."""
    if method.dense:
        task = task.dense()
    few = task.first(WARM_ROWS)
    method.build(method.settings[len(method.settings) // 2], len(few.y)).fit(few.X, few.y)
    yield {}
    # searches of others take long, and load all that they need with few rows
    if task.stored <= MAX_STORED and (not method.tuned or method.package == "aucmax"):
        method.build(method.settings[0], len(task.y)).fit(task.X, task.y)
        yield {}
    for setting in method.settings:
        model, spent = measured(
            lambda s=setting: method.build(s, len(task.y)).fit(task.X, task.y), LEAST_SECONDS
        )
        auc = metrics.roc_auc(task.y_test, model.decision_function(task.X_test))
        yield {"setting": setting, "auc": f"{auc:.6f}"} | spent
