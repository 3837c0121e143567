"""Imports that are postponed until a name is first used, so that errors appear without delay."""

import builtins
import contextlib
import sys
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from typing import Any

__all__ = ["Door", "import_postponed", "names_later", "postponed"]

_importers: list[dict[str, Any]] = []  # the names of modules with postponed imports


class Door:
    """A module that is imported at the first access to one of its names.

    Parameters
    ----------
    module : str
        The full name of the module.
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
        The full name of the package.
    modules : mapping
        The module of the package that defines each public name.
    """

    def get(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module = import_module(f"{package}.{modules[name]}")
        value = module if name == modules[name] else getattr(module, name)
        setattr(sys.modules[package], name, value)
        return value

    return get


class _Postponed:
    """The result of a postponed import statement, or of attributes of it."""

    def __init__(self, names: Callable[[], Any]) -> None:
        self._names = names

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Postponed(lambda: getattr(self._names(), name))

    def __call__(self, *arguments: Any, **settings: Any) -> Any:
        import_postponed()  # in a process that runs no command, such as a worker of a cluster
        return self._names()(*arguments, **settings)


@contextlib.contextmanager
def postponed() -> Iterator[None]:
    """Postpone the imports in this context, until `import_postponed` is called.

    It is for modules that need these names only in the bodies of functions, such as commands, whose
    help needs only the options.
    """
    real = builtins.__import__

    def postpone(
        name: str, importer: Any = None, _: Any = None, names: Any = (), level: int = 0
    ) -> Any:
        if not any(importer is module for module in _importers):
            _importers.append(importer)
        return _Postponed(lambda: real(name, importer, None, names, level))

    builtins.__import__ = postpone  # type: ignore[assignment]
    try:
        yield
    finally:
        builtins.__import__ = real


def import_postponed() -> None:
    """Run the postponed imports, and replace the placeholders by the results."""
    for importer in _importers:  # the list may grow meanwhile
        for name, value in [*importer.items()]:
            if isinstance(value, _Postponed):
                importer[name] = value._names()
