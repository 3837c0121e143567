"""``aucmax stream``: rows as they come, each scored before it is learnt."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, BinaryIO

import typer

from aucmax.basics.errors import DataFileError
from aucmax.cli.common import check_folder, check_html, counted
from aucmax.cli.errors import interrupted, tell
from aucmax.cli.options import Json
from aucmax.cli.stream_page import page_of
from aucmax.datasets.files import COMPRESSIONS, fault, opened
from aucmax.estimators import AUCClassifier
from aucmax.files.models import save
from aucmax.report.page import write_page
from aucmax.report.text import auc_text, interval_text, reach_text
from aucmax.streams.formats import FORMATS, encoding_of, label_of
from aucmax.streams.monitor import told
from aucmax.streams.state import (
    Prediction,
    Settings,
    State,
    advance,
    load_state,
    save_state,
)

__all__ = ["stream"]

_POLL = 0.1  # seconds between looks at a file that has no more lines
_SUFFIXES = {
    ".ndjson": "ndjson", ".jsonl": "ndjson", ".json": "ndjson", ".csv": "csv", ".tsv": "csv"
}  # fmt: skip

StreamFormat = StrEnum("StreamFormat", {name: name for name in FORMATS})  # type: ignore[misc]


class Learner(StrEnum):
    """What learns."""

    moments = "moments"
    spam = "spam"


class OnError(StrEnum):
    """What a line that is no row does."""

    stop = "stop"
    skip = "skip"


def _reading(*flags: str, help: str, metavar: str | None = None) -> Any:
    return typer.Option(*flags, help=help, metavar=metavar, rich_help_panel="Reading the rows")


def stream(
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help="NDJSON, CSV with a header, or svmlight text (also .gz, .bz2, .xz); - for "
            "standard input.",
        ),
    ],
    format: Annotated[
        StreamFormat | None,
        _reading(help="By default from the file's name; NDJSON for standard input."),
    ] = None,
    target: Annotated[
        str | None,
        _reading(
            metavar="NAME",
            help="The label in NDJSON or CSV; else the one called target, label, y or class.",
        ),
    ] = None,
    drop: Annotated[
        list[str] | None,
        _reading(metavar="NAME", help="Name to leave out, such as an id; may be repeated."),
    ] = None,
    sep: Annotated[
        str | None,
        _reading(metavar="CHARACTER", help="Separator of CSV: a character, or tab."),
    ] = None,
    weight: Annotated[
        str | None,
        _reading(metavar="NAME", help="The rows' weights in NDJSON or CSV, 0 or more."),
    ] = None,
    encoding: Annotated[
        str,
        _reading(metavar="NAME", help="Of the text of NDJSON or CSV, such as latin-1 or cp1252."),
    ] = "utf-8",
    positive: Annotated[
        str | None,
        _reading(metavar="LABEL", help="The label to rank first; else the larger of the two."),
    ] = None,
    on_error: Annotated[
        OnError,
        _reading(
            "--on-error", help="Whether a line that is no row ends the command or is left out."
        ),
    ] = OnError.stop,
    follow: Annotated[
        bool, _reading("--follow", help="Wait for lines that are still to be written to the file.")
    ] = False,
    idle: Annotated[
        float | None,
        _reading(metavar="SECONDS", help="With --follow: end after so long without a new line."),
    ] = None,
    learner: Annotated[
        Learner,
        typer.Option(
            help="moments: the optimum for the class moments of all rows; spam: a step for each "
            "row, for many features."
        ),
    ] = Learner.moments,
    alpha: Annotated[float, typer.Option(min=0.0, help="Strength of the penalty.")] = 3e-4,
    half_life: Annotated[
        float | None,
        typer.Option(
            metavar="ROWS",
            help="Forget: a row weighs half as much after so many rows. With --learner moments.",
        ),
    ] = None,
    freeze: Annotated[
        int,
        typer.Option(
            metavar="ROWS",
            min=1,
            help="The model of the first rows is frozen, and compared with the one that learns on.",
        ),
    ] = 1000,
    every: Annotated[
        int,
        typer.Option(metavar="LINES", min=1, help="Tell, and save the state, after so many lines."),
    ] = 1000,
    state: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Keep all that was learnt here. If the file is there, go on where it ended.",
        ),
    ] = None,
    monitor: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write what is told as JSON lines: AUCs, test, features that moved.",
        ),
    ] = None,
    predictions: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write what was predicted of each row before it was learnt, as JSON lines.",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="FILE", help="Save the model for 'aucmax score' at the end."
        ),
    ] = None,
    html: Annotated[
        Path | None,
        typer.Option(
            "--html", metavar="FILE", help="At the end, draw what --monitor has: one .html file."
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Learn from rows as they come; tell the AUC of what was scored before.

    The AUC is prequential: of scores given before the row was learnt, in fixed memory, with an
    interval. With --state the command can be killed at any moment: started again on the same
    input, it goes on and ends with the same state, bit for bit. From standard input it then skips
    the lines that it has seen.

    Examples:

        aucmax stream clicks.ndjson --target clicked --half-life 50000 --state clicks.state

        tail -n +1 -f visits.csv | aucmax stream - --format csv --monitor visits.monitor
    """
    path = Path(file)
    piped = file == "-"
    for out in (state, monitor, predictions, output):
        check_folder(out, *([] if piped else [path]))
    check_html(html)
    if html is not None and monitor is None:
        raise ValueError("--html draws the lines of --monitor FILE: give both.")
    if (follow and (piped or path.suffix.lower() in COMPRESSIONS)) or (
        idle is not None and not follow
    ):
        raise ValueError(
            "--follow is for a file that grows, not for standard input, which waits by itself, or "
            "a compressed file; --idle goes with --follow."
        )
    if output is not None and learner is not Learner.moments:
        raise ValueError("--output needs the class moments: use --learner moments.")
    kind = _format(path, piped) if format is None else format.value
    if kind == "svmlight" and (weight is not None or encoding != "utf-8"):
        raise ValueError(
            "--weight and --encoding are for NDJSON and CSV; svmlight has numbers only."
        )
    settings = Settings(
        format=kind,
        target=target,
        drop=tuple(drop or ()),
        sep=_separator(path, sep),
        positive=None if positive is None else _label(positive),
        learner=learner.value,
        alpha=alpha,
        half_life=half_life,
        freeze=freeze,
        weight=weight,
        encoding=encoding_of(encoding),
    )
    now = State(settings)
    if state is not None and state.exists():
        now = load_state(state, settings)
    with ExitStack() as stack:
        source = stack.enter_context(_opened(file, now))
        wait = _patience(path, idle) if follow else None
        heard = _Beside("monitor", monitor, now, stack)
        said = _Beside("predictions", predictions, now, stack)
        say = _Teller(now, heard, said, state, every, as_json)
        on_row = None if predictions is None else said.predicted

        def on_bad(line: int, what: str) -> None:
            error = fault(path if not piped else Path("standard input"), what, line)
            if on_error is OnError.stop:
                raise error
            tell("left out", str(error))

        try:
            for lines in _batches(source, now, every, wait):
                now = advance(now.offset, lines, now, on_bad, on_row)
                say.after(now)
        except DataFileError:
            say.last(now)
            raise
        except KeyboardInterrupt:
            kept = "nothing was saved" if state is None else f"{state} is as it was last saved"
            raise interrupted(kept) from None
        say.last(now)
    if output is not None:
        model = AUCClassifier(alpha=alpha, positive=now.settings.positive)
        save(model.fit_moments(now.learner.moments()), output)
        print(f"model saved to {output}", file=sys.stderr)
    if html is not None and monitor is not None:
        write_page(page_of("standard input" if piped else path.name, monitor), html)
        print(f"report written to {html}", file=sys.stderr)


# ---- reading


def _format(path: Path, piped: bool) -> str:
    if piped:
        return "ndjson"
    suffixes = [suffix.lower() for suffix in path.suffixes if suffix.lower() not in COMPRESSIONS]
    return _SUFFIXES.get(suffixes[-1] if suffixes else "", "svmlight")


def _separator(path: Path, sep: str | None) -> str:
    if sep is None:
        return "\t" if ".tsv" in path.suffixes else ","
    sep = "\t" if sep in ("tab", "\\t") else sep
    if len(sep) != 1:
        raise ValueError(f"--sep takes one character, or tab; got {sep!r}.")
    return sep


def _label(text: str) -> Any:
    words = {"true": True, "false": False}
    return words[text.lower()] if text.lower() in words else label_of(text)


class _opened:
    """The bytes behind those that the state has read."""

    def __init__(self, file: str, state: State) -> None:
        self.file, self.state, self.stack = file, state, ExitStack()

    def __enter__(self) -> BinaryIO:
        path, state = Path(self.file), self.state
        if self.file == "-":
            source: Any = sys.stdin.buffer
        else:
            source = self.stack.enter_context(opened(path))
            if path.suffix.lower() not in COMPRESSIONS:
                _check_size(path, state.offset)
                source.seek(state.offset)
                return source
        for _ in range(state.lines):
            if not source.readline():
                raise ValueError(
                    f"{self.file}: ends before line {state.lines:,}, where the state is."
                )
        return source

    def __exit__(self, *error: Any) -> None:
        self.stack.close()


def _check_size(path: Path, offset: int) -> None:
    if path.stat().st_size < offset:
        raise fault(
            path,
            f"has fewer bytes than were read ({offset:,}): another file? Give the one that the "
            "state belongs to, or another --state",
        )


def _patience(path: Path, idle: float | None) -> Callable[[int, float], bool]:
    """Return a function of the offset and the seconds since the last line: whether to go on."""

    def wait(offset: int, since: float) -> bool:
        _check_size(path, offset)
        if idle is not None and since >= idle:
            return False
        time.sleep(_POLL)
        return True

    return wait


def _batches(
    source: BinaryIO, state: State, every: int, wait: Callable[[int, float], bool] | None
) -> Iterator[list[bytes]]:
    """Yield lines up to each multiple of ``every``, and those that are there before a wait.

    Without ``wait`` the last line may lack its end.
    """
    count, batch, last = state.lines, [], time.monotonic()
    while True:
        line = source.readline()
        whole = line.endswith(b"\n")
        if whole or (line and wait is None):
            batch.append(line)
            count += 1
            last = time.monotonic()
            if count % every == 0:
                yield batch
                batch = []
        if whole:
            continue
        if batch:
            yield batch
            batch = []
        if wait is None:
            return
        source.seek(state.offset)
        if not wait(state.offset, time.monotonic() - last):
            return


# ---- telling


class _Beside:
    """A file that is written beside the state, which knows how much of it belongs to its rows.

    What was written after the state was last saved is cut off, to be written again.
    """

    def __init__(self, name: str, path: Path | None, state: State, stack: ExitStack) -> None:
        self.name = name
        self.out: BinaryIO | None = None
        if path is None:
            return
        size = path.stat().st_size if path.exists() else 0
        kept = state.extra.get(name, 0) if size else 0
        if kept > size:
            raise fault(
                path,
                f"has fewer bytes than the state knows of ({kept:,}): another file? Give the one "
                "that belongs to the state, or remove it to begin a new one here",
            )
        self.out, self.size = stack.enter_context(path.open("ab")), kept
        if size > kept:
            self.out.truncate(kept)

    def write(self, found: dict[str, Any]) -> None:
        """Write a line, if there is a file."""
        if self.out is not None:
            self.size += self.out.write(json.dumps(found).encode() + b"\n")

    def predicted(self, found: Prediction) -> None:
        """Write what was predicted of a row."""
        self.write(found._asdict())

    def settle(self, state: State) -> None:
        """Tell a state, which is to be saved, how much is written."""
        if self.out is not None:
            self.out.flush()
            state.extra[self.name] = self.size


class _Teller:
    """Tells and saves after every so many lines, each time once, whatever is killed between."""

    def __init__(
        self,
        state: State,
        monitor: _Beside,
        predictions: _Beside,
        path: Path | None,
        every: int,
        as_json: bool,
    ) -> None:
        self.monitor, self.beside = monitor, (monitor, predictions)
        self.path, self.every, self.as_json = path, every, as_json
        self.saved = state.lines if state.lines else -1
        self.begun = False

    def after(self, state: State) -> None:
        """Tell where a multiple of ``every`` is reached; save there, and wherever reading waits."""
        if state.lines % self.every == 0:
            found = told(state)
            self._print(found)
            self.monitor.write(found)
        self._save(state)

    def last(self, state: State) -> None:
        """Tell and save at the end."""
        if state.lines % self.every or not state.lines:
            self._print(told(state))
        self._save(state)
        if state.bad:
            tell("note", f"{counted(state.bad, 'line')} of {state.lines:,} left out")

    def _save(self, state: State) -> None:
        for file in self.beside:
            file.settle(state)
        if self.path is not None and state.lines != self.saved:
            save_state(state, self.path)
            self.saved = state.lines

    def _print(self, found: dict[str, Any]) -> None:
        if self.as_json:
            print(json.dumps(found), flush=True)
            return
        if not self.begun:
            print(_line("rows", "AUC, all rows (95 %)", "learning", "less frozen (95 %)"))
        print(_words(found), flush=True)
        self.begun = True


def _line(rows: str, auc: str, learning: str, gain: str, verdict: str = "") -> str:
    return f"{rows:>10}  {auc:<30}  {learning:<8}  {gain:<18}  {verdict}".rstrip()


def _words(found: dict[str, Any]) -> str:
    """One line for people, of 80 columns."""
    auc = learning = gain = verdict = ""
    if (one := found["prequential"]) is not None:
        auc = f"{auc_text(one['auc'])} ({interval_text(one['low'], one['high'])})"
    if found["learning"] is not None:
        learning = auc_text(found["learning"]["auc"])
    if (test := found["test"]) is not None:
        gain, verdict = (
            reach_text(*(test[k] for k in ("difference", "low", "high"))),
            test["verdict"],
        )
    return _line(f"{found['row']:,}", auc, learning, gain, verdict)
