"""The output of ``aucmax stream``, on the screen and in files beside its state."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, BinaryIO
from zlib import crc32

from aucmax.basics.doors import postponed
from aucmax.basics.replacing import errors_name, flushed
from aucmax.cli.common import counted
from aucmax.cli.screen import say, tell
from aucmax.data.files import fault
from aucmax.report.text import auc_text, interval_text, reach_text

with postponed():
    from aucmax.streams.drift import FALSE_ALARM_RATE
    from aucmax.streams.monitor import stream_report
    from aucmax.streams.state import Prediction, State, save_state

__all__ = ["Beside", "Teller"]

_TAIL_BYTES = 256  # of a file beside the state, by which it is recognized


class Beside:
    """A file of lines beside a state, which records how many of its bytes belong to it.

    Lines written after the state was last saved are cut off, to be written again. A file to which
    the state has written nothing must be empty. It is a context that checks the file when it is
    entered, and closes it when it is left.

    Parameters
    ----------
    name : str
        The name of the file in the state.
    path : Path, optional
        None writes nothing.
    state : State, optional
        None if no state is saved: the file starts empty.
    """

    def __init__(self, name: str, path: Path | None, state: State | None) -> None:
        self.name, self.path, self._state = name, path, state
        self._out: BinaryIO | None = None
        self._size, self._tail = 0, b""

    def __enter__(self) -> Beside:
        path = self.path
        size = path.stat().st_size if path is not None and path.is_file() else 0
        if path is None or not size or self._state is None:
            return self
        self._size = self._state.extra.get(self.name, 0)
        if self.name not in self._state.extra:
            raise fault(
                path,
                "is not empty, but this state has written nothing to it: name the state= that has, "
                "or another file, or remove this one first",
            )
        if self._size > size:
            problem = f"has fewer bytes than the state has recorded ({self._size:,})"
        elif self._digest() != self._state.extra.get(self._digest_name):
            problem = "is not the file to which the state has written"
        else:
            return self
        raise fault(
            path,
            f"{problem}: another file? Give the one that belongs to the state, or remove it to "
            "begin a new one here",
        )

    def __exit__(self, *error: Any) -> None:
        if self._out is not None and self.path is not None:
            with errors_name(self.path):
                self._out.close()

    @property
    def _digest_name(self) -> str:
        return f"{self.name} digest"

    def _digest(self) -> int:
        """Return the CRC-32 of the last bytes that belong to the state; of the path before any."""
        if self.path is None:
            return 0
        if not self._size:
            return crc32(str(self.path.resolve()).encode())
        if not self._tail:
            with self.path.open("rb") as file:
                file.seek(max(self._size - _TAIL_BYTES, 0))
                self._tail = file.read(min(self._size, _TAIL_BYTES))
        return crc32(self._tail)

    def open(self) -> bool:
        """Open the file if needed; return whether the state must be saved before it grows."""
        if self.path is None or self._out is not None:
            return False
        self._out = self.path.open("ab")
        if self.path.is_file() and self.path.stat().st_size > self._size:
            self._out.truncate(self._size)
        return self._state is not None and self._state.extra != self._known(self._state)

    def _known(self, state: State) -> dict[str, int]:
        return state.extra | {self.name: self._size, self._digest_name: self._digest()}

    def write(self, line: dict[str, Any]) -> None:
        """Write a line, if there is a file."""
        if self.path is not None and self._out is not None:
            content = json.dumps(line).encode() + b"\n"
            with errors_name(self.path):
                self._size += self._out.write(content)
            self._tail = (self._tail + content)[-_TAIL_BYTES:]

    def predicted(self, prediction: Prediction) -> None:
        """Write the prediction of a row."""
        self.write(prediction._asdict())

    def settle(self, state: State) -> None:
        """Record in a state that is about to be saved how much is on the disk."""
        if self.path is not None and self._out is not None:
            with errors_name(self.path):
                flushed(self._out)
            state.extra = self._known(state)


class Teller:
    """Reports and saves after every so many lines, each report once even after kills.

    Parameters
    ----------
    state : State
    monitor, predictions : Beside
    path : Path, optional
        Where the state is saved.
    every : int
        The number of lines between reports.
    as_json : bool
        Whether JSON is printed.
    """

    def __init__(
        self,
        state: State,
        monitor: Beside,
        predictions: Beside,
        path: Path | None,
        every: int,
        as_json: bool,
    ) -> None:
        self.monitor, self.beside = monitor, (monitor, predictions)
        self.path, self.every, self.as_json = path, every, as_json
        self._lines, self._alarm = state.lines, state.alarm
        self._place = _place(state)
        self._begun = False

    def begin(self, state: State) -> None:
        """Open the files beside the state, which is saved first if it has no record of them.

        Otherwise, after a run that is killed before it saves, nobody knows whose lines they are.
        """
        if any([file.open() for file in self.beside]):
            self._save(state)

    def after(self, state: State) -> None:
        """Report and save at each multiple of ``every``; also save whenever reading waits."""
        if state.lines > self._lines and state.lines % self.every == 0:
            self._report(state)
        self._lines = state.lines
        if state.alarm != self._alarm:
            self._alarm = state.alarm
            units = "rows" if state.settings.strata is None else "strata"
            tell(
                "alarm",
                f"{units} have changed since the model was frozen, detected at row {state.alarm:,} "
                f"(a false alarm in at most {100 * FALSE_ALARM_RATE:g} % of streams without a "
                "change)",
            )
        if _place(state) != self._place:
            self._save(state)

    def last(self, state: State) -> None:
        """Report and save at the end."""
        self.begin(state)  # for an input without further lines
        if _place(state) != self._place or not state.lines:
            self._save(state)
        if state.lines % self.every or not state.lines:
            self._report(state)  # cut off if the state continues, as no record of it was saved
        if state.bad:
            tell("note", f"{counted(state.bad, 'line')} of {state.lines:,} left out")
        unfit = {} if state.prepared is None else state.prepared.unfit
        if unfit:
            cells = ", ".join(f"{name} {count:,}" for name, count in unfit.items())
            tell("note", f"cells that do not fit their column, taken as missing: {cells}")

    def _save(self, state: State) -> None:
        if self.path is not None:
            for file in self.beside:
                file.settle(state)
            save_state(state, self.path)
        self._place = _place(state)

    def _report(self, state: State) -> None:
        """Print a report, and write it."""
        line = stream_report(state)
        self._print(line)
        self.monitor.write(line)

    def _print(self, line: dict[str, Any]) -> None:
        if self.as_json:
            say(json.dumps(line))
            return
        if not self._begun:
            pairs = "within strata" if "strata" in line else "all rows"
            say(_line("rows", f"AUC, {pairs} (95 %)", "learning", "over frozen (95 %)"))
        say(_words(line))
        self._begun = True


def _place(state: State) -> tuple[int, int]:
    return state.lines, state.offset


def _line(rows: str, auc: str, learning: str, gain: str, drift: str = "") -> str:
    return f"{rows:>10}  {auc:<30}  {learning:<8}  {gain:<18}  {drift}".rstrip()


def _words(line: dict[str, Any]) -> str:
    """Return a line of 80 columns for people to read."""
    auc = learning = gain = ""
    if (area := line["prequential"]) is not None:
        auc = f"{auc_text(area['auc'])} ({interval_text(area['low'], area['high'])})"
    if line["learning"] is not None:
        learning = auc_text(line["learning"]["auc"])
    if (test := line["test"]) is not None:
        gain = reach_text(*(test[name] for name in ("difference", "low", "high")))
    drift = line["drift"] is not None and line["drift"]["row"] is not None
    return _line(f"{line['row']:,}", auc, learning, gain, "drift" if drift else "")
