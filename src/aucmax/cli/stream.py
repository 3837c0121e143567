"""``aucmax stream``: rows as they arrive, each scored before it is learnt."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial
from pathlib import Path
from threading import Timer
from typing import Annotated, Any

import typer

from aucmax.basics.doors import postponed
from aucmax.basics.errors import DataFileError
from aucmax.basics.locks import locked
from aucmax.cli.errors import command_line, interrupted
from aucmax.cli.like import Like, Template, template_of
from aucmax.cli.options import (
    WEIGHT_OF_STRATA,
    Json,
    WeightOfStrata,
    option,
    reading_option,
)
from aucmax.cli.paths import check_paths
from aucmax.cli.screen import say, tell
from aucmax.cli.stream_files import Beside, Teller
from aucmax.data.files import COMPRESSIONS, fault
from aucmax.data.reading import Reading

with postponed():
    from aucmax.data.strata import STRATA_IN_ORDER
    from aucmax.estimators.additive_moments import Prior
    from aucmax.estimators.files import save
    from aucmax.estimators.written_steps import as_text
    from aucmax.report.page import write_page
    from aucmax.report.stream import Stream
    from aucmax.streams import first_rows
    from aucmax.streams.formats import encoding_of, format_of, label_of
    from aucmax.streams.reading import Input
    from aucmax.streams.state import Settings, State, advance, load_state

__all__ = ["WAITING_SECONDS", "stream"]

WAITING_SECONDS = 2.0  # for the rows that decide, before this is said
_COLUMNS = 80

_SUFFIXES = {
    ".ndjson": "ndjson", ".jsonl": "ndjson", ".json": "ndjson", ".csv": "csv", ".tsv": "csv"
}  # fmt: skip

StreamFormat = StrEnum("StreamFormat", {n: n for n in ("ndjson", "csv", "svmlight", "tsv")})  # type: ignore[misc]


class Learner(StrEnum):
    """The learners."""

    moments = "moments"
    spam = "spam"


class OnError(StrEnum):
    """What to do with a line that is not a row."""

    stop = "stop"
    skip = "skip"


@dataclass(frozen=True, kw_only=True)
class Lines:
    """Options that say how lines are read as rows."""

    target: str | None = reading_option(
        None, "Label; by default the one called target, label, y or class.", metavar="COLUMN"
    )
    format: StreamFormat | None = reading_option(
        None, "By default from the file's name; for standard input, from its first line."
    )
    encoding: str | None = reading_option(
        None,
        "Encoding of NDJSON or CSV text, such as latin-1; by default UTF-8, and cp1252 for lines "
        "that are not.",
        metavar="NAME",
    )
    positive: str | None = reading_option(
        None, "The label to rank first; by default the larger of the two.", metavar="LABEL"
    )
    on_error: OnError = reading_option(
        OnError.stop, "Stop at a line that is not a row, or skip it."
    )

    def settings(
        self, path: Path, line: bytes | None, reading: Reading, template: Template
    ) -> dict[str, Any]:
        """Return these options as settings of a stream, given the first line of a pipe.

        The labels are by default those of a template.
        """
        kind = _format(path, line) if self.format is None else self.format.value
        tabs = kind == "tsv" or ".tsv" in path.suffixes
        kind = "csv" if kind == "tsv" else kind
        if kind == "svmlight" and (reading.weight is not None or self.encoding is not None):
            raise ValueError(
                "--weight and --encoding are for NDJSON and CSV; svmlight has only numbers."
            )
        positive = template.positive if self.positive is None else self.positive
        target = self.target
        if target is None and kind != "svmlight":  # which has no names
            target = template.target
        return {name: getattr(reading, name) for name in OF_SETTINGS} | {
            "format": kind,
            "target": target,
            "sep": reading.sep or ("\t" if tabs else ","),
            "positive": None if positive is None else _label(str(positive)),
            "encoding": self._encoding(reading),
        }

    def _encoding(self, reading: Reading) -> str | None:
        """Return Python's name of the encoding; None if it is found line by line."""
        if self.encoding is None and reading.prepare:
            return None
        return encoding_of(self.encoding or "utf-8")


OF_SETTINGS = ("drop", "sep", "weight", "strata")  # which are read as by the other commands
_READING = (
    *OF_SETTINGS,
    *("decimal", "dates", "missing", "text", "categories", "numbers", "day_first"),
    *("prepare", "strict"),
)


@dataclass(frozen=True, kw_only=True)
class Going:
    """Options that say where the lines begin and end."""

    from_here: bool = reading_option(
        False,
        "With --state: all lines of this input are new, so none is skipped; for the next "
        "file of a log, and for consumers that keep their own offsets.",
    )
    follow: bool = reading_option(
        False,
        "Wait for further lines of the file, and continue with the file that replaces it.",
    )
    idle: float | None = reading_option(
        None, "With --follow: end after this time without a new line.", metavar="SECONDS"
    )

    def check(self, path: Path, piped: bool, state: Path | None) -> None:
        """Raise ValueError for options that exclude each other."""
        if (self.follow and (piped or path.suffix.lower() in COMPRESSIONS)) or (
            self.idle is not None and not self.follow
        ):
            raise ValueError(
                "--follow is for a file that grows, not for standard input, which waits by itself, "
                "or a compressed file; --idle needs --follow."
            )
        if self.from_here and state is None:
            raise ValueError("--from-here continues from a state: give its file as --state.")

    def batches(self, lines: Input) -> Iterator[list[bytes]]:
        """The lines to read."""
        if not self.follow:
            return lines.batches()
        return lines.followed(self.idle, partial(tell, "note"))


@dataclass(frozen=True, kw_only=True)
class Learning:
    """Options that say what learns."""

    learner: Learner = option(
        Learner.moments,
        "moments: the optimum for the class moments of all rows; spam: one step per row, "
        "for many features.",
    )
    alpha: float | None = option(
        None,
        "Strength of the penalty; by default 3e-4, or that of the model of --like. With curves it "
        "applies to lines, and the penalties of curves and maps keep their proportion to it.",
        min=0.0,
    )
    half_life: float | None = option(
        None,
        "Forget: the weight of a row halves after this many rows. With --learner moments.",
        metavar="ROWS",
    )
    freeze: int = option(
        1000,
        "The model of the first rows is frozen, and compared with the one that keeps learning.",
        metavar="ROWS",
        min=1,
    )
    strata_weight: WeightOfStrata = option(WeightOfStrata.positives, WEIGHT_OF_STRATA)

    def settings(self, prior: Prior | None) -> dict[str, Any]:
        """Return these options as settings of a stream of plain features, or of additive ones."""
        usual = None if prior is None else prior.alphas()["lines"]
        alpha = usual if self.alpha is None else self.alpha
        chosen = {name: getattr(self, name).value for name in ("learner", "strata_weight")}
        return vars(self) | chosen | {"alpha": alpha}


@dataclass(frozen=True, kw_only=True)
class Telling:
    """Options that say what is written, and where."""

    every: int = option(
        1000, "Report, and save the state, after this many lines.", metavar="LINES", min=1
    )
    state: Path | None = option(
        None, "Save the state of learning. If the file exists, resume from it.", metavar="FILE"
    )
    monitor: Path | None = option(
        None, "Write the reports as JSON lines: AUCs, test, features that moved.", metavar="FILE"
    )
    predictions: Path | None = option(
        None,
        "Write the prediction of each row before it is learnt, as JSON lines.",
        metavar="FILE",
    )
    output: Path | None = option(
        None,
        "Save the model for 'aucmax score' at the end.",
        flags=("--output", "-o"),
        metavar="FILE",
    )
    html: Path | None = option(
        None, "At the end, draw the reports of --monitor: one .html file.", metavar="FILE"
    )

    @property
    def lock(self) -> Path | None:
        """The lock file, with which only one process at a time writes to the state."""
        if self.state is None:
            return None
        path = self.state.resolve()
        return path.parent / f"{path.name}.lock"

    def check(self, file: str, like: Path | None, learner: Learner) -> None:
        """Raise ValueError for paths and options that exclude each other."""
        names = ("state", "monitor", "predictions", "output", "html")
        written = {f"--{name}": getattr(self, name) for name in names}
        check_paths({**written, "the lock of --state": self.lock}, {"FILE": file, "--like": like})
        if self.html is not None and self.monitor is None:
            raise ValueError("--html draws the lines of --monitor FILE: give both.")
        if self.output is not None and learner is not Learner.moments:
            raise ValueError("--output needs the class moments: use --learner moments.")

    @contextmanager
    def begun(self, settings: Settings) -> Iterator[State]:
        """Context of the state to continue from, in which no other process writes to it."""
        fresh = State(settings)  # which checks them
        if self.state is None or self.lock is None:
            yield fresh
            return
        busy = (
            f"{self.state}: another 'aucmax stream' is running on this state; wait until it ends, "
            "stop it, or name another --state."
        )
        with locked(self.lock, "--state", busy):
            yield load_state(self.state, settings) if self.state.exists() else fresh

    def results(self, state: State, title: str) -> None:
        """Write the model and the report at the end."""
        if self.output is not None:
            save(state.model(), self.output)
            say(f"model saved to {self.output}", sys.stderr)
        if self.html is not None and self.monitor is not None:
            write_page(Stream.of(title, self.monitor).page(command_line()), self.html)
            say(f"report written to {self.html}", sys.stderr)


def stream(
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help="NDJSON, CSV with a header, or svmlight text (also .gz, .bz2, .xz); - for "
            "standard input.",
        ),
    ],
    lines: Lines,
    reading: Annotated[Reading, _READING],
    going: Going,
    learning: Learning,
    telling: Telling,
    like: Like = None,
    as_json: Json = False,
) -> None:
    """Learn from rows as they arrive, and report the prequential AUC.

    Prequential means that each row is scored before it is learnt. The AUC has an interval and
    needs fixed memory. With --state the command can be killed at any moment: restarted on the same
    input, it resumes and ends with the same state, bit for bit. On standard input it then skips
    the lines that it has seen. An alarm is raised when rows have changed since the model was
    frozen; if they never change, it is raised in at most 5 % of streams, however often you look.

    --strata compares only rows of the same stratum, such as a day or a query. The rows of a stratum
    must be adjacent: they are held, and learnt when a row of another stratum arrives. The AUC is
    within strata, which are the units of its interval and of the alarm.

    Examples:

        aucmax stream clicks.ndjson --target clicked --half-life 50000 --state clicks.state

        aucmax stream visits.csv --target booked --strata day -o booked.aucmax

        tail -n +1 -f visits.csv | aucmax stream - --format csv --monitor visits.monitor
    """
    path, piped = Path(file), file == "-"
    telling.check(file, like, learning.learner)
    going.check(path, piped, telling.state)
    line = sys.stdin.buffer.readline() if piped and lines.format is None else None
    template = Template(None) if like is None else template_of(like)
    steps = None if like is None else template.steps
    of_learner = learning.settings(Prior.of(steps or []))
    settings = Settings(**lines.settings(path, line, reading, template), **of_learner)
    with ExitStack() as stack:
        state = stack.enter_context(telling.begun(settings))
        begun = state.lines
        if going.from_here:
            state.next_input()
        source = Input(file, state, telling.every, line or b"")
        _prepare(state, source, reading, like, steps, waits=piped)
        if not begun and lines.positive is None and template.positive is not None:
            first = f"the positive label is {template.positive}, as in the model of --like"
            tell("note", f"{first}; --positive chooses another", width=_COLUMNS)
        saved = None if telling.state is None else state
        monitor = stack.enter_context(Beside("monitor", telling.monitor, saved))
        predictions = stack.enter_context(Beside("predictions", telling.predictions, saved))
        teller = Teller(state, monitor, predictions, telling.state, telling.every, as_json)
        batches = stack.enter_context(closing(going.batches(source)))  # type: ignore[type-var]
        on_bad = _handler(source.path, lines.on_error)
        on_row = None if telling.predictions is None else predictions.predicted
        try:
            for batch in batches:
                teller.begin(state)
                teller.after(advance(state.offset, batch, state, on_bad, on_row))
        except DataFileError:
            if state.lines > begun:
                teller.last(state)
            raise
        except KeyboardInterrupt:
            where = telling.state
            kept = "nothing was saved" if where is None else f"{where} is as last saved"
            raise interrupted(kept) from None
        teller.last(state)
    telling.results(state, "standard input" if piped else path.name)


def _prepare(
    state: State,
    source: Input,
    reading: Reading,
    like: Path | None,
    steps: list[tuple[str, Any]] | None,
    waits: bool,
) -> None:
    """Let the first rows of a stream, or another file, decide how its cells become features."""
    settings = state.settings
    if steps and (not as_text(steps) or settings.format == "svmlight"):
        raise ValueError(
            f"--like {like}: has no steps for words, gaps and dates that a stream could use."
        )
    if state.lines:
        if steps and (state.prepared is None or state.prepared.text != as_text(steps)):
            raise ValueError(
                f"--like {like}: the state was started with other steps; leave out --like."
            )
        return
    if settings.format == "svmlight" or steps == [] or not (reading.prepare or steps):
        return
    of_stream = replace(reading, target=settings.target)
    n = first_rows.FIRST_ROWS
    decide = f"the first {n:,} rows decide how columns become numbers: waiting for them"
    later = Timer(WAITING_SECONDS, tell, ("note", decide))
    if waits:
        later.start()
    try:
        prepared, decisions, state.titles = first_rows.prepared_by(
            source.first(), settings, of_stream, steps, waits
        )
        state.prepare(prepared)
    finally:
        later.cancel()
    for decision in decisions:
        tell("note", str(decision), width=_COLUMNS)


def _handler(path: Path, on_error: OnError) -> Callable[[int, str], None]:
    """Return the handler of a line that is not a row."""
    advised = False

    def on_bad(line: int, what: str) -> None:
        nonlocal advised
        if on_error is OnError.stop:
            raise fault(path, what, line)
        problem = what.removesuffix(f": {STRATA_IN_ORDER}")
        tell("left out", str(fault(path, problem if advised else what, line)))
        advised = advised or problem != what

    return on_bad


def _format(path: Path, line: bytes | None) -> str:
    if line is not None:
        return format_of(line)
    suffixes = [suffix.lower() for suffix in path.suffixes if suffix.lower() not in COMPRESSIONS]
    return _SUFFIXES.get(suffixes[-1] if suffixes else "", "svmlight")


def _label(text: str) -> Any:
    words = {"true": True, "false": False}
    return words[text.lower()] if text.lower() in words else label_of(text)
