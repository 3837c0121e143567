"""Children forked from this process: a new one would import everything once more."""

import os
import signal
import sys
import time
import traceback

from aucmax.cli import main

__all__ = ["PATIENCE", "Child", "ended", "forked"]

PATIENCE = 100.0  # seconds; a child takes less than one


class Child:
    """A command line that runs in a child, with its own session.

    Parameters
    ----------
    words : sequence of str
        The command line.
    stdout, stderr : int
        File descriptors, which this process may close at once.
    prepare : callable
        Called in the child before the command.
    """

    def __init__(self, words, stdout, stderr, prepare=lambda: None):
        sys.stdout.flush()
        self.pid, self.returncode = os.fork(), None
        if self.pid:
            return
        code = 99
        try:
            os.setsid()
            os.dup2(stdout, 1)
            os.dup2(stderr, 2)
            for end in {stdout, stderr}:
                os.close(end)
            sys.stdout, sys.stderr = open(1, "w"), open(2, "w", buffering=1)  # noqa: SIM115
            signal.signal(signal.SIGINT, signal.default_int_handler)
            prepare()
            main([str(word) for word in words])
        except SystemExit as end:
            code = end.code
        except KeyboardInterrupt:  # before the command had begun, or after it had ended
            code = 130
        except BaseException:
            traceback.print_exc()
        finally:
            sys.settrace(None)
            for stream in (sys.stdout, sys.stderr):
                try:
                    stream.flush()
                except OSError:
                    code = code or 99
            os._exit(code)

    def wait(self, seconds):
        """Return the exit code, negative for a signal; one that does not end is ended."""
        until = time.monotonic() + seconds
        while self.returncode is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.returncode = os.waitstatus_to_exitcode(status)
            elif time.monotonic() > until:
                os.kill(self.pid, signal.SIGABRT)
                raise AssertionError(f"it hung for {seconds:g} s")
            else:
                time.sleep(0.002)
        return self.returncode


def ended(pid):
    """Wait for a child and return its exit code; one that hangs is killed and is an error."""
    limit = time.monotonic() + PATIENCE
    while time.monotonic() < limit:
        found, status = os.waitpid(pid, os.WNOHANG)
        if found:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.01)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    raise AssertionError(f"the child hung for {PATIENCE:g} s")


def forked(work):
    """Run work() in a child that ends at once after it; return the child's number."""
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        work()
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)
