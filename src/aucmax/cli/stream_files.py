"""What ``aucmax stream`` tells, on the screen and in files beside its state."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, BinaryIO

from aucmax.basics.replacing import errors_name, flushed
from aucmax.cli.common import counted
from aucmax.cli.screen import say, tell
from aucmax.data.files import fault
from aucmax.report.text import auc_text, interval_text, reach_text
from aucmax.streams.drift import LEVEL
from aucmax.streams.monitor import stream_report
from aucmax.streams.state import Prediction, State, save_state

__all__ = ["Beside", "Teller"]


class Beside:
    """A file that is written beside the state, which knows how much of it belongs to its rows.

    What was written after the state was last saved is cut off, to be written again. A context, in
    which it is open.

    Parameters
    ----------
    name : str
        What the state calls it.
    path : Path, optional
        None writes nothing.
    state : State
    """

    def __init__(self, name: str, path: Path | None, state: State) -> None:
        self.name, self.path = name, path
        self._known_bytes = state.extra.get(name, 0)
        self._out: BinaryIO | None = None

    def __enter__(self) -> Beside:
        if self.path is None:
            return self
        size = self.path.stat().st_size if self.path.exists() else 0
        self.size = self._known_bytes if size else 0
        if self.size > size:
            raise fault(
                self.path,
                f"has fewer bytes than the state knows of ({self.size:,}): another file? Give the "
                "one that belongs to the state, or remove it to begin a new one here",
            )
        self._out = self.path.open("ab")
        if size > self.size:
            self._out.truncate(self.size)
        return self

    def __exit__(self, *error: Any) -> None:
        if self.path is not None and self._out is not None:
            with errors_name(self.path):
                self._out.close()

    def write(self, line: dict[str, Any]) -> None:
        """Write a line, if there is a file."""
        if self.path is not None and self._out is not None:
            with errors_name(self.path):
                self.size += self._out.write(json.dumps(line).encode() + b"\n")

    def predicted(self, prediction: Prediction) -> None:
        """Write what was predicted of a row."""
        self.write(prediction._asdict())

    def settle(self, state: State) -> None:
        """Tell a state, which is to be saved, how much is on the disk."""
        if self.path is not None and self._out is not None:
            with errors_name(self.path):
                flushed(self._out)
            state.extra[self.name] = self.size


class Teller:
    """Tells and saves after every so many lines, each time once, whatever is killed between.

    Parameters
    ----------
    state : State
    monitor, predictions : Beside
    path : Path, optional
        Where the state is saved.
    every : int
        After how many lines.
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

    def after(self, state: State) -> None:
        """Tell where a multiple of ``every`` is reached; save there, and wherever reading waits."""
        if state.lines > self._lines and state.lines % self.every == 0:
            line = stream_report(state)
            self._print(line)
            self.monitor.write(line)
        self._lines = state.lines
        if state.alarm != self._alarm:
            self._alarm = state.alarm
            tell(
                "alarm",
                f"rows have changed since the model was frozen, found at row {state.alarm:,} (at "
                f"most {100 * LEVEL:g} % of streams without a change ever say so)",
            )
        if _place(state) != self._place:
            self._save(state)

    def last(self, state: State) -> None:
        """Tell and save at the end."""
        if state.lines % self.every or not state.lines:
            self._print(stream_report(state))
        if _place(state) != self._place or not state.lines:
            self._save(state)
        if state.bad:
            tell("note", f"{counted(state.bad, 'line')} of {state.lines:,} left out")

    def _save(self, state: State) -> None:
        if self.path is not None:
            for file in self.beside:
                file.settle(state)
            save_state(state, self.path)
        self._place = _place(state)

    def _print(self, line: dict[str, Any]) -> None:
        if self.as_json:
            say(json.dumps(line))
            return
        if not self._begun:
            say(_line("rows", "AUC, all rows (95 %)", "learning", "less frozen (95 %)"))
        say(_words(line))
        self._begun = True


def _place(state: State) -> tuple[int, int]:
    return state.lines, state.offset


def _line(rows: str, auc: str, learning: str, gain: str, drift: str = "") -> str:
    return f"{rows:>10}  {auc:<30}  {learning:<8}  {gain:<18}  {drift}".rstrip()


def _words(line: dict[str, Any]) -> str:
    """One line for people, of 80 columns."""
    auc = learning = gain = ""
    if (area := line["prequential"]) is not None:
        auc = f"{auc_text(area['auc'])} ({interval_text(area['low'], area['high'])})"
    if line["learning"] is not None:
        learning = auc_text(line["learning"]["auc"])
    if (test := line["test"]) is not None:
        gain = reach_text(*(test[name] for name in ("difference", "low", "high")))
    drift = line["drift"] is not None and line["drift"]["row"] is not None
    return _line(f"{line['row']:,}", auc, learning, gain, "drift" if drift else "")
