"""The command line: one file per command; `front` opens the data for all of them.

Results go to stdout, progress and messages to stderr. Bad input ends every command with one line
on stderr and exit code 2. Without the packages of the extra ``cli`` only the demo is available.
"""

import sys
from typing import NoReturn

from aucmax.basics.needs import MissingPackage, needs

__all__ = ["main"]

_WITHOUT = """\
Usage: aucmax demo [--seed NUMBER]

Find rare events, with every number computed now: a tuned model compared with
class-balanced logistic regression, in AUC and seconds; what a day's alerts are
worth; a customer's rows deleted and three sites merged, exactly. Needs no
network and no files.

  --seed NUMBER  Random seed of the rows, the splits and the solvers; 0 by
                 default.
  -h, --help     Show this message and exit.

All other commands and options need packages that are not installed:
pip install 'aucmax[all]'"""


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
        sys.exit(_without_packages(sys.argv[1:] if arguments is None else arguments, missing))
    from aucmax.cli.app import run

    run(arguments)


def _without_packages(arguments: list[str], missing: MissingPackage) -> int:
    """Run the demo, or say what any other command needs; return the exit code."""
    match arguments:
        case [] | ["--help" | "-h"] | ["demo", "--help" | "-h"]:
            print(_WITHOUT)
            return 0
        case ["demo"]:
            seed = 0
        case ["demo", "--seed", number] if number.isdecimal():
            seed = int(number)
        case _:
            print(
                f"error: {missing}; without it, only 'aucmax demo [--seed NUMBER]' works.",
                file=sys.stderr,
            )
            return 2
    from aucmax.experiments.demo import computed
    from aucmax.report.page import plain

    try:
        report = computed(seed, lambda what: print(f"{what} ...", file=sys.stderr))
    except KeyboardInterrupt:
        return 130
    print(plain(report.page("aucmax demo")))
    print("\nFor these commands: pip install 'aucmax[all]'")
    return 0
