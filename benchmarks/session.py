"""One sitting: what is asked for and not kept yet, methods taking turns."""

from benchmarks import runs
from benchmarks.data import SMALL
from benchmarks.peers import Method
from benchmarks.questions import QUESTIONS


def session(
    name: str,
    sets: list[str] | None = None,
    methods: list[str] | None = None,
    repeats: int = 3,
    limit: float | None = None,
    threads: int = 1,
    again: bool = False,
) -> None:
    """Run a question; print and keep each run."""
    question = QUESTIONS[name]
    usual = [each for each in question.sets if each in SMALL] or list(question.sets)
    chosen = list(question.sets) if sets == ["all"] else sets or usual
    competing = there(name, [m for m in question.methods if not methods or m.name in methods])
    machine = runs.machine()
    for data in chosen:
        done, failed = (set(), set()) if again else runs.finished(name)
        wanted = [
            (repeat, method)
            for repeat in range(repeats)
            for method in competing
            if (data, method.name, repeat) not in done
        ]
        if not any((data, method.name) not in failed for _, method in wanted):
            continue
        task = question.sets[data]()
        for repeat, method in wanted:
            if (data, method.name) in failed:
                continue
            head = {
                "question": name, "data": data, "rows": len(task.y), "features": task.X.shape[1],
                "stored": task.stored, "method": method.name, "repeat": repeat,
                "threads": threads, "versions": runs.versions(method.package), "machine": machine,
            }  # fmt: skip
            for line in runs.measure(task, method, limit or question.limit):
                runs.keep([head | line])
                print(data, repeat, method.name, *line.values(), sep="  ", flush=True)
                if "note" in line:
                    failed.add((data, method.name))


def there(name: str, methods: list[Method]) -> list[Method]:
    """Return the methods that are installed; keep for the others why they are not."""
    _, noted = runs.finished(name)
    found = []
    for method in methods:
        reason = method.missing()
        if not reason:
            found.append(method)
        elif ("", method.name) not in noted:
            runs.keep([{"question": name, "method": method.name, "note": reason}])
            print(method.name, reason, sep="  ", flush=True)
    return found
