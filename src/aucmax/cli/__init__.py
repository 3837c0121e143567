"""The command line: one file per command; `front` is their way to the data.

Results go to stdout, progress and messages to stderr. Bad input ends every command with one line
on stderr and exit code 2.
"""

import sys
from typing import NoReturn

from aucmax.basics.needs import MissingPackage, needs

__all__ = ["main"]


def main(arguments: list[str] | None = None) -> NoReturn:
    """Run the command line and end the process.

    Parameters
    ----------
    arguments : list of str, optional
        The arguments after the program's name; by default those of this process.

    Raises
    ------
    SystemExit
        Always: 0 when all went well, 2 for bad input.
    """
    for stream in (sys.stdout, sys.stderr):
        # a terminal that cannot show a character gets "?", not a failure
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    try:
        for package in ("typer", "rich"):
            needs(package, "the command line")
    except MissingPackage as missing:
        print(f"error: {missing}", file=sys.stderr)
        sys.exit(2)
    from aucmax.cli.app import run

    run(arguments)
