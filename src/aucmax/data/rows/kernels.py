"""Functions that Numba compiles at their first call.

Importing Numba takes longer than a small fit, so it is delayed until the first call of a kernel,
and the kernels that a small fit needs also exist in NumPy, for few numbers.
"""

import contextlib
import functools
import gc
import hashlib
import os
import threading
from collections.abc import Callable, Iterator
from collections.abc import Set as AbstractSet
from typing import Any

import numpy as np

from aucmax.data.rows.fingerprint import OVERLOADS, fingerprint

__all__ = [
    "INLINE",
    "REORDER",
    "Kernel",
    "allocating",
    "compiled",
    "fetch",
    "inlined",
    "instructions",
    "overloaded",
    "start_numba",
    "unless",
    "vectorised",
]

# Dense sums may be reordered to use vector registers; NaN and infinity keep their meaning.
REORDER = {"reassoc", "contract", "nsz"}
INLINE: Any = {"forceinline": True}
# nothing calls kernels from C
NO_WRAPPER: Any = {"no_cfunc_wrapper": True}

# registrations of helpers with Numba, postponed until Numba is imported
_pending_registrations: list[Callable[[], Any]] = []
_lock = threading.RLock()


class Kernel:
    """A function that Numba compiles at its first call; kernels may call it.

    Parameters
    ----------
    body : callable
        The function in Python.
    fastmath : set of str
        LLVM's fast-math flags for floating-point sums.
    makes_arrays : bool
        Whether the body makes or returns arrays, to which Numba then counts references.

    Attributes
    ----------
    few, in_numpy : callable or None
        If ``few(*arguments)`` is true, ``in_numpy(*arguments)`` does the work: see `unless`.
    same_bits : bool
        Whether both give the same bits.
    """

    few: Callable[..., bool] | None = None
    in_numpy: Callable[..., Any]
    same_bits = False

    def __init__(
        self,
        body: Callable[..., Any],
        fastmath: AbstractSet[str] = frozenset(),
        makes_arrays: bool = False,
    ) -> None:
        functools.update_wrapper(self, body)
        self.fastmath, self.makes_arrays = fastmath, makes_arrays
        self._body, self._dispatcher = body, None

    def __call__(self, *arguments: Any) -> Any:
        if (
            self.few is not None
            and not (self.same_bits and self.is_loaded)
            and self.few(*arguments)
        ):
            return self.in_numpy(*arguments)
        return (self._dispatcher or self.dispatcher)(*arguments)

    @property
    def is_loaded(self) -> bool:
        """Whether Numba has compiled it, or loaded it from the cache, in this process."""
        return bool(getattr(self._dispatcher, "overloads", ()))

    @property
    def dispatcher(self) -> Any:
        """Numba's dispatcher, or with ``NUMBA_DISABLE_JIT=1`` the body itself."""
        with _lock:  # otherwise two threads could each compile the kernel
            start_numba()
            while _pending_registrations:
                _pending_registrations.pop(0)()
            if self._dispatcher is None:
                self._dispatcher = _cached(self._body, self)
        return self._dispatcher

    @property
    def _numba_type_(self) -> Any:
        # Numba looks this up for every global of a kernel that it compiles
        return self.dispatcher._numba_type_


def compiled(kernel: Callable[..., Any]) -> Kernel:
    """Compile a kernel that neither makes nor returns arrays, and cache it on disk."""
    return Kernel(kernel)


def allocating(kernel: Callable[..., Any]) -> Kernel:
    """Compile a kernel that makes arrays; counting references takes up to half of the compiling."""
    return Kernel(kernel, makes_arrays=True)


def vectorised(kernel: Callable[..., Any]) -> Kernel:
    """Compile a kernel whose sums may be reordered for vector registers; zeros keep their sign."""
    return Kernel(kernel, REORDER - {"nsz"})


def unless(
    few: Callable[..., bool],
    in_numpy: Callable[..., Any] | None = None,
    *,
    same_bits: bool = False,
) -> Callable[[Kernel], Kernel]:
    """Let another function replace a kernel in calls with few numbers.

    The choice depends on the arguments alone, not on whether Numba has started, so that the same
    call always returns the same bits. If both functions return the same bits, a kernel that is
    loaded is used, as it is faster.

    Parameters
    ----------
    few : callable
        Returns from the kernel's arguments whether there are few numbers.
    in_numpy : callable, optional
        The other function; by default the kernel's body in Python.
    same_bits : bool
        Whether both functions return the same bits.
    """

    def decorate(kernel: Kernel) -> Kernel:
        # 1/0 is infinite, as in compiled code
        body = np.errstate(all="ignore")(kernel.__wrapped__)  # type: ignore[attr-defined]
        kernel.few, kernel.in_numpy, kernel.same_bits = few, in_numpy or body, same_bits
        return kernel

    return decorate


def inlined(helper: Callable[..., Any]) -> Callable[..., Any]:
    """Inline a helper into the kernels that call it: a call would cost as much as a short row."""

    def register() -> None:
        from numba.extending import register_jitable

        register_jitable(error_model="numpy", **INLINE, **NO_WRAPPER)(helper)

    _pending_registrations.append(register)
    return helper


def overloaded(function: Callable[..., Any], **options: Any) -> Callable[..., Any]:
    """Let the decorated function select the body of ``function`` by Numba type."""
    options |= NO_WRAPPER

    def decorate(choose: Callable[..., Any]) -> Callable[..., Any]:
        def register() -> None:
            from numba.extending import overload

            overload(function, jit_options=options)(choose)  # type: ignore[arg-type]

        _pending_registrations.append(register)
        OVERLOADS.setdefault(function, []).extend([choose, options])
        return choose

    return decorate


def instructions(
    *functions: Callable[..., Any],
) -> Callable[[Callable[[], None]], Callable[[], None]]:
    """Let the decorated function register instructions of the processor for some functions."""

    def decorate(register: Callable[[], None]) -> Callable[[], None]:
        _pending_registrations.append(register)
        for function in functions:
            OVERLOADS[function] = [register]
        return register

    return decorate


def fetch(values, k):
    """Prefetch the k-th number of a C-contiguous array for a later step."""


@instructions(fetch)
def _register_fetch() -> None:
    from llvmlite import ir
    from numba.core import types
    from numba.extending import lower_builtin, type_callable

    byte, number = ir.IntType(8), ir.IntType(32)
    kind = ir.FunctionType(ir.VoidType(), [ir.PointerType(byte), *[number] * 3])
    type_callable(fetch)(lambda context: lambda values, k: types.none)

    @lower_builtin(fetch, types.Array, types.Integer)
    def prefetch(context, builder, signature, arguments):
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        place = builder.bitcast(builder.gep(array.data, [arguments[1]]), ir.PointerType(byte))
        call = builder.module.declare_intrinsic("llvm.prefetch", [ir.PointerType(byte)], kind)
        builder.call(call, [place, number(0), number(2), number(1)])  # a read, into level two
        return context.get_dummy_value()


@contextlib.contextmanager
def _no_collection() -> Iterator[None]:
    """Turn garbage collection off while Numba makes many objects, all of which Python would scan.

    The import then takes about half the time, and compiling a fifth less.
    """
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


@functools.cache
@_no_collection()
def start_numba() -> None:
    """Import Numba and load its registries."""
    from numba.core.registry import cpu_target

    cpu_target.target_context.refresh()


def _cached(body: Callable[..., Any], kernel: Kernel) -> Any:
    """Return Numba's dispatcher, with a disk cache that returns only up-to-date kernels.

    Numba's cache compares the time and size of the kernel's own file, although a kernel contains
    the bodies of all functions it calls. Here the cache compares their `fingerprint`, and kernels
    for types of other packages are not cached. Numba also numbers the files of a kernel's
    signatures, so that processes that compile at the same time may load each other's files. Here
    the file's name contains a digest of the signature, but not the kernel's line number, which
    changes with any docstring above it.
    """
    from numba import njit

    options: Any = {"nogil": True, "error_model": "numpy", "_nrt": kernel.makes_arrays}
    options |= {"fastmath": set(kernel.fastmath) or False, **NO_WRAPPER}
    dispatcher: Any = njit(cache=True, **options)(body)
    if hasattr(dispatcher, "compile"):  # otherwise NUMBA_DISABLE_JIT=1
        dispatcher.compile = _checked(dispatcher, kernel)
    index: Any = getattr(getattr(dispatcher, "_cache", None), "_cache_file", None)
    if hasattr(index, "_source_stamp"):
        line = f"-{body.__code__.co_firstlineno}."
        index._index_name = index._index_name.replace(line, ".")
        index._index_path = os.path.join(index._cache_path, index._index_name)
        index._source_stamp = fingerprint(kernel)
        index._version = (index._version, index._source_stamp)  # unpickled before our types
        read_index = index._load_index

        def load_index() -> Any:
            try:
                return read_index()
            except (ImportError, AttributeError):  # the index names types that have since moved
                return {}

        def save(key: Any, data: Any) -> None:
            if any(map(_from_elsewhere, key[0])):
                return
            of = hashlib.sha256(repr((key, index._source_stamp)).encode()).hexdigest()
            name = f"{index._index_name}.{of[:16]}.nbc"
            index._save_data(name, data)  # before the index that refers to it
            index._save_index(index._load_index() | {key: name})

        index._load_index, index.save = load_index, save
    return dispatcher


def _checked(dispatcher: Any, kernel: Kernel) -> Callable[[Any], Any]:
    """Return the dispatcher's method to compile, which refuses arrays that nobody counts."""
    compile_for = dispatcher.compile

    @_no_collection()
    def compile_checked(signature: Any) -> Any:
        entry = compile_for(signature)
        returned = dispatcher.nopython_signatures[-1].return_type
        if not kernel.makes_arrays and "array(" in str(returned).lower():
            raise TypeError(f"{dispatcher.__name__} returns an array: decorate it with allocating.")
        return entry

    return compile_checked


def _from_elsewhere(kind: Any) -> bool:
    """Return whether a type is or contains a NamedTuple of another package."""
    own = getattr(kind, "instance_class", Kernel).__module__.startswith("aucmax.")
    return not own or any(map(_from_elsewhere, getattr(kind, "types", ())))
