#!/usr/bin/env -S uv run --script
# /// script
# dependencies = ["nox"]
# ///
"""Tasks, each in an environment of its own: ``nox -s tests``, ``lowest``, ``lint``, ``docs``."""

import nox

nox.needs_version = ">=2024.10.9"
nox.options.default_venv_backend = "uv|virtualenv"


@nox.session
def tests(session: nox.Session) -> None:
    """Run the tests; what follows ``--`` is for pytest."""
    session.install(".[test]")
    session.run("pytest", *session.posargs)


@nox.session(python="3.11", venv_backend="uv", default=False)
def lowest(session: nox.Session) -> None:
    """Run the tests with the oldest versions that pyproject.toml allows."""
    session.install("--resolution", "lowest-direct", ".[test]")
    session.run("pytest", *session.posargs)


@nox.session(python="3.11", venv_backend="uv", default=False)
def models(session: nox.Session) -> None:
    """Write the files of a new minor version, which all later ones must read."""
    session.install("--resolution", "lowest-direct", ".[test]")
    session.run("python", "tests/released.py")


@nox.session
def lint(session: nox.Session) -> None:
    """Check format, types and layers."""
    session.install("-e", ".[test]")
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")
    session.run("mypy")
    session.run("lint-imports")


@nox.session(default=False)
def docs(session: nox.Session) -> None:
    """Build the site, whose gallery of examples runs."""
    session.install("--group", "docs", ".[all]")
    session.run("sphinx-build", "-W", "--keep-going", "docs", "build/site")


@nox.session(default=False)
def build(session: nox.Session) -> None:
    """Build the wheel and the sdist."""
    session.install("build")
    session.run("python", "-m", "build")


if __name__ == "__main__":
    nox.main()
