"""Modules that are imported when a name in them is first used, as what is refused needs few."""

from importlib import import_module
from typing import Any

__all__ = ["Door"]


class Door:
    """A module that is imported at the first access to one of its names.

    Parameters
    ----------
    module : str
        Its full name.
    """

    def __init__(self, module: str) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        return getattr(import_module(self._module), name)
