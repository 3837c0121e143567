"""Commands that are imported when they are called, as that takes longer than listing them."""

from __future__ import annotations

import functools
from importlib import import_module
from typing import Any

import typer
import typer.main
from typer.core import TyperCommand

from aucmax.basics.memory import headroom, require
from aucmax.cli.errors import warnings_in_one_line

__all__ = ["Later", "command_of"]

_IMPORT_BYTES = 125 * 10**6  # bytes that the imports of a command take
_COMMAND_BYTES = 250 * 10**6  # bytes that a command takes with almost no data


class Later(TyperCommand):
    """A command's name and first line of help; the rest is imported to run it or to show more."""

    def make_context(
        self, info_name: Any, args: list[str], parent: Any = None, **extra: Any
    ) -> Any:
        """Read the arguments as the command itself does."""
        room = headroom()
        if room is not None and room.free < _IMPORT_BYTES:
            require(_COMMAND_BYTES)
        parent.with_resource(warnings_in_one_line())
        return command_of(str(self.name)).make_context(info_name, args, parent, **extra)


@functools.cache
def command_of(name: str) -> Any:
    """Import and return a command or a group of commands, which has a file of its name."""
    from aucmax.cli.common import help_of
    from aucmax.cli.options import spread

    command = getattr(import_module(f"aucmax.cli.{name}"), name)
    if isinstance(command, typer.Typer):
        return typer.main.get_command(command)
    alone = typer.Typer(rich_markup_mode="rich", add_completion=False)
    alone.command(name, help=help_of(command))(spread(command))
    return typer.main.get_command(alone)
