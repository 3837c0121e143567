"""The list of commands, and the options of the program itself."""

import sys
from typing import Annotated, NoReturn

import typer

from aucmax.cli.errors import OneLineErrors, repeated_interrupt
from aucmax.cli.later import Later

__all__ = ["COMMANDS", "app", "run"]

app = typer.Typer(
    name="aucmax",
    cls=OneLineErrors,
    rich_markup_mode="rich",
    add_completion=False,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)

# each is in a file of its name, whose docstring begins with the same words
COMMANDS = {
    "demo": "Find rare events, with every number computed now.",
    "train": "Fit a ranking model to a file and save it.",
    "score": "Score the rows of a file: the higher, the more likely positive.",
    "evaluate": "Measure how well a model ranks, alone or against another.",
    "show": "Show a model: its largest weights, settings, and how close it is to the optimum.",
    "export": "Write a model for other programs, as ONNX or SQL.",
    "compare": "Compare algorithms on the same splits of one data set.",
    "moments": "Summarise rows in small files that add and subtract, and fit models to them.",
    "cv": "Tune by cross-validated AUC, or another score, and save the best model.",
    "scorecard": "Build a scorecard: points for bins of each column, which add up.",
    "stream": "Learn from rows as they arrive, and report the prequential AUC.",
    "reproduce": "Regenerate a published table or figure from raw data.",
    "datasets": "List the data sets known by name, show one in detail, or fetch some.",
}
for _name, _line in COMMANDS.items():
    app.command(_name, cls=Later, help=_line)(lambda: None)


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


def run(arguments: list[str] | None) -> NoReturn:
    """Run a command line and end the process."""
    sys.unraisablehook = repeated_interrupt(sys.unraisablehook)
    app(arguments, prog_name="aucmax")
    raise AssertionError("a command ends the process")
