"""Stores of files on loopback: S3 by moto's server, and a web server."""

from __future__ import annotations

import functools
import http.server
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

_KEYS = {"AWS_ACCESS_KEY_ID": "x", "AWS_SECRET_ACCESS_KEY": "x", "AWS_DEFAULT_REGION": "us-east-1"}


@contextmanager
def s3() -> Iterator[None]:
    """Run an S3 server, which fsspec finds by the environment; skip where there is none."""
    pytest.importorskip("s3fs")
    pytest.importorskip("flask_cors")
    moto = pytest.importorskip("moto.server")
    server = moto.ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    with pytest.MonkeyPatch.context() as patch:
        for key, value in {**_KEYS, "AWS_ENDPOINT_URL": f"http://{host}:{port}"}.items():
            patch.setenv(key, value)
        yield
    server.stop()


class _Quiet(http.server.SimpleHTTPRequestHandler):
    """Sends whole files only, without a word."""

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def copyfile(self, source: object, outputfile: object) -> None:
        """Send a file to whoever still wants it."""
        with suppress(OSError):
            super().copyfile(source, outputfile)  # type: ignore[arg-type]


@contextmanager
def web(folder: Path) -> Iterator[str]:
    """Serve a folder; give its address."""
    pytest.importorskip("aiohttp")
    handler = functools.partial(_Quiet, directory=str(folder))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
