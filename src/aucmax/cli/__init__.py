"""The command line: one file per command; `front` is their way to the data.

Results go to stdout, progress and messages to stderr. Bad input ends every command with one line
on stderr and exit code 2.
"""

import sys
from typing import Annotated, Any

import typer

from aucmax.cli.common import help_of
from aucmax.cli.compare import compare
from aucmax.cli.cv import cv
from aucmax.cli.datasets import datasets
from aucmax.cli.demo import demo
from aucmax.cli.errors import OneLineErrors, repeated_interrupt
from aucmax.cli.evaluate import evaluate
from aucmax.cli.options import spread
from aucmax.cli.reproduce import reproduce
from aucmax.cli.score import score
from aucmax.cli.show import show
from aucmax.cli.train import train

__all__ = ["app", "main"]

app = typer.Typer(
    name="aucmax",
    cls=OneLineErrors,
    rich_markup_mode="rich",
    add_completion=False,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)


for _command in (demo, train, score, evaluate, show, compare, cv, reproduce):
    app.command(help=help_of(_command))(spread(_command))
app.add_typer(datasets, name="datasets")


@app.callback()
def _aucmax(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False,
) -> None:
    """Linear models that rank: trained for the area under the ROC curve.

    Start with 'aucmax demo', then 'aucmax train --help'.
    """
    if version:
        from aucmax import __version__

        print(f"aucmax {__version__}")
    elif context.invoked_subcommand is None:
        text = context.get_help()
        if text:  # with rich it has printed itself
            print(text)


def main(arguments: list[str] | None = None) -> Any:
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
    sys.unraisablehook = repeated_interrupt(sys.unraisablehook)
    app(arguments, prog_name="aucmax")
