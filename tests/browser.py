"""Chromium without a window, started once and told through a pipe which files to open."""

import itertools
import json
import os
import select
import shutil
import time

__all__ = ["CHROMIUM", "Browser"]

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
_PATIENCE = 120.0  # seconds
_OPTIONS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-extensions",
    "--disable-dev-shm-usage",
    "--window-size=1400,1000",
)


class Browser:
    """Speaks the DevTools protocol: JSON with a zero byte behind each message.

    Parameters
    ----------
    profile : Path
        A folder that it may write.
    """

    def __init__(self, profile):
        import fcntl  # Windows has none

        theirs, self._commands = os.pipe()
        self._answers, answers = os.pipe()
        words = [CHROMIUM, *_OPTIONS, f"--user-data-dir={profile}", "--remote-debugging-pipe"]
        # it reads from 3 and writes to 4: what is moved there must not stand there
        ends = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 5) for end in (theirs, answers)]
        moves = [(os.POSIX_SPAWN_DUP2, end, place) for place, end in enumerate(ends, 3)]
        quiet = [(os.POSIX_SPAWN_OPEN, place, os.devnull, os.O_WRONLY, 0) for place in (1, 2)]
        self._pid = os.posix_spawn(CHROMIUM, words, os.environ, file_actions=[*moves, *quiet])
        for end in (theirs, answers, *ends):
            os.close(end)
        self._numbers, self._read = itertools.count(1), b""

    def texts(self, file, count):
        """Open a file; return the JSON list in its element ``seen`` once it has so many entries."""
        target = self._ask("Target.createTarget", url=file.as_uri())
        tab = self._ask("Target.attachToTarget", **target, flatten=True)
        asked = {"expression": "document.getElementById('seen')?.textContent"}
        until = time.monotonic() + _PATIENCE
        while time.monotonic() < until:
            said = self._ask("Runtime.evaluate", **tab, **asked)["result"].get("value")
            if said and len(found := json.loads(said)) >= count:
                self._ask("Target.closeTarget", **target)
                return found
            time.sleep(0.02)
        raise AssertionError(f"{file} shows {said!r}")

    def close(self):
        """End the browser, and all of its processes."""
        self._ask("Browser.close")
        os.waitpid(self._pid, 0)
        os.close(self._commands)
        os.close(self._answers)

    def _ask(self, method, sessionId=None, **parameters):
        number = next(self._numbers)
        message = {"id": number, "method": method, "params": parameters}
        if sessionId is not None:
            message["sessionId"] = sessionId
        os.write(self._commands, json.dumps(message).encode() + b"\0")
        while True:  # events come between answers
            answer = json.loads(self._message())
            if answer.get("id") == number:
                assert "error" not in answer, answer
                return answer["result"]

    def _message(self):
        while b"\0" not in self._read:
            ready, _, _ = select.select([self._answers], [], [], _PATIENCE)
            part = os.read(self._answers, 65536) if ready else b""
            assert part, "the browser hangs, or has ended"
            self._read += part
        message, _, self._read = self._read.partition(b"\0")
        return message
