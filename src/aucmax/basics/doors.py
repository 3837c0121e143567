"""Names that are imported when they are first used, as what is refused needs few of them."""

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

__all__ = ["Door", "names_later"]


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


def names_later(package: str, modules: Mapping[str, str]) -> Callable[[str], Any]:
    """Return the ``__getattr__`` of a package that imports its modules at the first access.

    Parameters
    ----------
    package : str
        Its full name.
    modules : mapping
        The module of each public name, in the package.
    """

    def get(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module = import_module(f"{package}.{modules[name]}")
        value = module if name == modules[name] else getattr(module, name)
        setattr(sys.modules[package], name, value)
        return value

    return get
