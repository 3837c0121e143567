"""Errors in one line, Ctrl-C at any moment, and the command line as it was typed."""

from __future__ import annotations

import _thread
import contextlib
import contextvars
import errno
import os
import shlex
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import typer
from typer.core import TyperGroup

from aucmax.basics.errors import DataWarning
from aucmax.basics.needs import MissingPackage
from aucmax.cli.screen import say, tell

__all__ = [
    "OneLineErrors",
    "command_line",
    "interrupted",
    "quoted",
    "repeated_interrupt",
    "warnings_in_one_line",
    "worded",
]

# ---- the command line as it was given

_given: contextvars.ContextVar[tuple[str, ...]] = contextvars.ContextVar("given", default=())


def command_line(more: Mapping[str, Any] | None = None) -> str:
    """The command that is running, as one could type it again.

    Parameters
    ----------
    more : mapping, optional
        Further arguments of `datasets.read`, to be added as options.
    """
    from aucmax.data.reading import FIELDS, flag_of  # only files have them to add

    words = ["aucmax", *_given.get()]
    for name, value in (more or {}).items():
        if value is False and not FIELDS[name]["off"]:
            words = [word for word in words if word != flag_of(name)]
            continue
        flag = flag_of(name, value is not False)
        if isinstance(value, bool):
            opposite = flag_of(name, not value)
            words = [flag if word == opposite else word for word in words]
            words += [flag] * (flag not in words)
            continue
        for text in value if isinstance(value, list) else [value]:
            # a value that starts with a dash would look like an option
            words += [f"{flag}={text}"] if text.startswith("-") else [flag, text]
    return " ".join(map(quoted, words))


def quoted(word: str) -> str:
    """Return a word quoted for a shell, on one line, with bash's ``$'\\n'`` for unprintables."""
    if word.isprintable():
        return shlex.quote(word)
    return "$'" + "".join(map(_escaped, word)) + "'"


def _escaped(c: str) -> str:
    if c in "\\'":
        return "\\" + c
    if c.isprintable():
        return c
    if c.isascii():
        return c.encode("unicode_escape").decode()
    return "".join(f"\\x{byte:02x}" for byte in os.fsencode(c))


# ---- errors


class OneLineErrors(TyperGroup):
    """A command group that turns bad input into one line on stderr and exit code 2."""

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        windows_expand_args: bool = True,
        **extra: Any,
    ) -> Any:
        """Run a command line; the arguments are those of ``click.Group.main``."""

        def run() -> Any:
            return super(OneLineErrors, self).main(
                args, prog_name, complete_var, False, windows_expand_args, **extra
            )

        _given.set(tuple(sys.argv[1:] if args is None else args))
        if not standalone_mode:
            return run()
        ended = _Interruptible()
        try:
            with ended:
                code = run()
        except (typer.Abort, KeyboardInterrupt):
            code = 130
        except Exception as error:
            message = _message(error)
            if ended.interrupted:  # C code, such as Matplotlib's, may turn it into another error
                code = interrupted("nothing was saved").exit_code
            elif message is None:
                raise
            else:
                _tell_error(error, message)
                code = 2
        sys.exit(ended.code(code if isinstance(code, int) else 0))

    def invoke(self, ctx: Any) -> Any:
        """Run a command; after Ctrl-C say that nothing was saved, unless the command says more."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            raise interrupted("nothing was saved") from None


class _Interruptible:
    """Context in which SIGTERM stops a command as Ctrl-C does; it remembers which signal came."""

    def __init__(self) -> None:
        self.interrupted = self.terminated = False
        self._delays = 20

    def __enter__(self) -> None:
        self._old: dict[int, Any] = {}
        if threading.current_thread() is not threading.main_thread():
            return
        self._old[signal.SIGTERM] = signal.signal(signal.SIGTERM, self._handle)
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # not where it is ignored
            self._old[signal.SIGINT] = signal.signal(signal.SIGINT, self._handle)

    def __exit__(self, *_: Any) -> None:
        for number, handler in self._old.items():
            signal.signal(number, handler)

    def _handle(self, number: int, frame: Any) -> None:
        self.interrupted = True
        self.terminated |= number == signal.SIGTERM
        where = None if frame is None else frame.f_globals.get("__name__")
        if where in ("queue", "threading") and self._delays:
            # An exception here could leave a lock locked that the clean-up waits for, such as that
            # of a pool of connections: try again in a moment.
            self._delays -= 1
            _thread.start_new_thread(_again, (signal.Signals(number),))
            return
        raise KeyboardInterrupt

    def code(self, code: int) -> int:
        """Return 143 for a command ended by SIGTERM, 130 for one ended by Ctrl-C."""
        return 143 if self.terminated and code == 130 else code


def _message(error: Exception) -> str | None:
    """Return the message for bad input; None for an error that is not the user's."""
    if hasattr(error, "format_message"):  # the command line itself was wrong
        context = getattr(error, "ctx", None)
        see = f" (see: {context.command_path} --help)" if context is not None else ""
        return " ".join(error.format_message().replace("Value error, ", "").split()) + see
    if isinstance(error, OSError):
        if error.errno == errno.EPIPE:
            return None
        # on a full disk a file names itself
        where = error.filename or ("standard output" if error.errno == errno.ENOSPC else "")
        return f"{where}{': ' if where else ''}{error.strerror or error}"
    if isinstance(error, MemoryError):
        return f"not enough memory{f' ({error})' if str(error) else ''}"
    return worded(error) if isinstance(error, (ValueError, MissingPackage)) else None


def worded(message: object) -> str:
    """Return a message in the words of the command that is running."""
    from aucmax.cli.wording import in_options  # only where there is something to say

    return in_options(str(message), _given.get())


def interrupted(what: str) -> typer.Exit:
    """Print on stderr what was kept after Ctrl-C; return an exit with code 130."""
    tell("interrupted", what)
    return typer.Exit(130)


def repeated_interrupt(otherwise: Callable[[Any], object]) -> Callable[[Any], object]:
    """Return a hook for exceptions that Python ignores, which raises a lost Ctrl-C again.

    While Numba compiles, Python is called back from C, where no exception gets through.

    Parameters
    ----------
    otherwise : callable
        The hook for all others.
    """

    def hook(lost: Any) -> None:
        if not issubclass(lost.exc_type, KeyboardInterrupt):
            otherwise(lost)
            return
        _thread.start_new_thread(_again, (signal.SIGINT, 0.05))

    return hook


def _again(number: signal.Signals, seconds: float = 0.01) -> None:
    """Send a signal to the main thread again."""
    time.sleep(seconds)
    if hasattr(signal, "pthread_kill"):  # which also ends a wait
        signal.pthread_kill(threading.main_thread().ident or 0, number)
    else:
        _thread.interrupt_main(number)


def _tell_error(error: Exception, message: str) -> None:
    """Print an error in one line; for a table all problems, and a command that reads it."""
    if isinstance(error, MemoryError):  # no time for imports
        tell("error", message)
        return
    from aucmax.data.obstacles import TableError

    if not isinstance(error, TableError):
        tell("error", message)
        return
    from aucmax.cli.wording import options_of

    first, *more = worded(error.report()).split("\n")
    tell("error", first)
    for line in more:
        say(line, sys.stderr)
    if error.remedy and error.remedy.keys() <= options_of(_given.get()).keys():
        start = "This command reads it"
        if any(obstacle.remedy is None for obstacle in error.obstacles):
            start = "Once that is corrected, this command reads the rest"
        say(f"{start}:", sys.stderr)
        say(f"  {command_line(error.remedy)}", sys.stderr)


@contextlib.contextmanager
def warnings_in_one_line() -> Iterator[None]:
    """Show each warning once, without its location in the code."""
    shown: set[str] = set()

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        if str(message) not in shown:
            shown.add(str(message))
            tell("warning", worded(message))

    with warnings.catch_warnings():
        warnings.filterwarnings("always", category=UserWarning, module="aucmax")
        warnings.simplefilter("always", DataWarning)
        warnings.showwarning = show
        yield
