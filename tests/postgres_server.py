"""A PostgreSQL server for the tests: its own files, a Unix socket, gone with the session."""

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

_SECONDS_TO_START = 30.0


def binary(name: str) -> str | None:
    """Where a program of the server is; Debian keeps them away from the PATH."""
    beside = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))
    return shutil.which(name) or (str(beside[-1]) if beside else None)


@contextlib.contextmanager
def running() -> Iterator[str]:
    """Start a server; give the folder of its socket, whose user and database are postgres."""
    psycopg = pytest.importorskip("psycopg")
    initdb, postgres = binary("initdb"), binary("postgres")
    if initdb is None or postgres is None:
        pytest.skip("PostgreSQL is not installed")
    # the server refuses to run as root, and its socket's path must be short
    user = {"user": "postgres", "group": "postgres", "extra_groups": []} if os.getuid() == 0 else {}
    with tempfile.TemporaryDirectory(prefix="aucmax-", dir="/tmp") as folder:
        if user:
            shutil.chown(folder, "postgres", "postgres")
        data = f"{folder}/data"
        made = [initdb, "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C"]
        subprocess.run([*made, "--no-sync"], check=True, stdout=subprocess.DEVNULL, **user)
        settings = {"listen_addresses": "", "unix_socket_directories": folder, "fsync": "off"}
        settings |= {"shared_buffers": "16MB", "timezone": "Asia/Tokyo", "datestyle": "ISO, MDY"}
        options = [word for key, value in settings.items() for word in ("-c", f"{key}={value}")]
        with open(f"{folder}/log", "w") as log:
            server = subprocess.Popen([postgres, "-D", data, *options], stderr=log, **user)
        try:
            end = time.monotonic() + _SECONDS_TO_START
            while True:
                try:
                    psycopg.connect(host=folder, user="postgres", dbname="postgres").close()
                    break
                except psycopg.OperationalError:
                    if server.poll() is not None or time.monotonic() > end:
                        raise RuntimeError(Path(f"{folder}/log").read_text()) from None
                    time.sleep(0.02)
            yield folder
        finally:
            server.send_signal(signal.SIGQUIT)  # at once, whoever is connected
            server.wait()
