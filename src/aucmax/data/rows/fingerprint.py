"""Digests of compiled kernels: the keys under which they are cached on disk.

A kernel contains the bodies of all functions it calls. The digest covers their bytecode and its
own, and the constants they read, but not docstrings, comments or line numbers.
"""

import hashlib
from collections.abc import Callable, Iterator, Mapping
from types import CodeType, FunctionType, ModuleType
from typing import Any

__all__ = ["OVERLOADS", "fingerprint"]

LIBRARIES = ("llvmlite", "numba", "numpy")  # Numba has its own forms of their functions
# by function: the overloads that select its body by type in compiled code, and their options
OVERLOADS: dict[Callable[..., Any], list[Any]] = {}


def fingerprint(kernel: Callable[..., Any]) -> str:
    """Return the digest of a kernel's body and of all functions that it calls."""
    digest = hashlib.sha256()
    for line in _Walk().value(kernel):
        digest.update(line.encode() + b"\0")
    return digest.hexdigest()


class _Walk:
    """Walks through functions, their code and their globals, visiting each function once."""

    def __init__(self) -> None:
        self.visited: set[int] = set()

    def value(self, value: Any) -> Iterator[str]:
        """Yield descriptions of a global or constant that do not change between processes."""
        function = getattr(value, "__wrapped__", value)  # the body of a kernel
        if isinstance(function, FunctionType):
            yield str(sorted(getattr(value, "fastmath", ())))
            yield str(getattr(value, "makes_arrays", False))
            for overload in OVERLOADS.get(function, ()):
                yield from self.value(overload)
            yield from self.function(function)
        elif isinstance(value, Mapping):  # bodies by type
            for key, entry in sorted(value.items(), key=lambda item: str(item[0])):
                if getattr(key, "__module__", "aucmax").partition(".")[0] == "aucmax":
                    yield str(key)  # kernels for types of other packages are not cached
                    yield from self.value(entry)
        elif isinstance(value, type):
            yield f"{value.__qualname__} {getattr(value, '_fields', ())}"
        elif isinstance(value, set | frozenset):
            yield str(sorted(map(str, value)))
        elif callable(value) or isinstance(value, ModuleType):
            yield getattr(value, "__name__", type(value).__name__)
        else:
            yield repr(value)

    def function(self, function: FunctionType) -> Iterator[str]:
        yield function.__qualname__
        if id(function) in self.visited or function.__module__.partition(".")[0] in LIBRARIES:
            return
        self.visited.add(id(function))
        yield repr(function.__defaults__)
        for cell in function.__closure__ or ():
            yield from self.value(cell.cell_contents)
        yield from self.code(function.__code__, function.__globals__)

    def code(self, code: CodeType, names: Mapping[str, Any]) -> Iterator[str]:
        """Yield the instructions, then the constants and the globals that they read."""
        yield code.co_code.hex()
        yield f"{code.co_argcount} {code.co_names} {code.co_varnames}"
        first = code.co_consts[:1]  # the docstring, if there is one
        for constant in code.co_consts[isinstance(first[0], str) if first else 0 :]:
            if isinstance(constant, CodeType):
                yield from self.code(constant, names)
            else:
                yield repr(constant)
        modules = [names[name] for name in code.co_names if _is_own_module(names.get(name))]
        for name in code.co_names:
            if name in names:
                yield from self.value(names[name])
            for module in modules:
                yield from self.value(getattr(module, name, None))


def _is_own_module(value: Any) -> bool:
    return isinstance(value, ModuleType) and value.__name__.startswith("aucmax")
