"""Functions for Numba to compile: each at its first call, and none before.

Importing Numba takes as long as a small fit, so it waits for the first call of a kernel.
"""

import functools
import gc
import hashlib
import threading
from collections.abc import Callable
from collections.abc import Set as AbstractSet
from typing import Any

from aucmax.rows.fingerprint import OVERLOADS, fingerprint

__all__ = [
    "INLINE",
    "REORDER",
    "Kernel",
    "compiled",
    "fetch",
    "inlined",
    "overloaded",
    "start_numba",
    "vectorised",
]

# Dense sums may be reordered to use vector registers; NaN and infinity keep their meaning.
REORDER = {"reassoc", "contract", "nsz"}
INLINE: Any = {"forceinline": True}

# what Numba is to know of helpers, told when it is imported
_untold: list[Callable[[], Any]] = []
_lock = threading.RLock()


class Kernel:
    """A function whose first call imports Numba and makes its dispatcher; kernels may call it.

    Parameters
    ----------
    body : callable
        The function in Python.
    fastmath : set of str
        What LLVM may do to floating-point sums.
    """

    def __init__(self, body: Callable[..., Any], fastmath: AbstractSet[str] = frozenset()) -> None:
        functools.update_wrapper(self, body)
        self.fastmath = fastmath
        self._body, self._dispatcher = body, None

    def __call__(self, *arguments: Any) -> Any:
        return (self._dispatcher or self.dispatcher)(*arguments)

    @property
    def dispatcher(self) -> Any:
        """Numba's dispatcher (with ``NUMBA_DISABLE_JIT=1`` the body itself)."""
        with _lock:  # two threads that made one each would compile twice
            start_numba()
            while _untold:
                _untold.pop(0)()
            if self._dispatcher is None:
                self._dispatcher = _cached(self._body, self)
        return self._dispatcher

    @property
    def _numba_type_(self) -> Any:
        # what Numba asks of a name in a kernel that it compiles
        return self.dispatcher._numba_type_


def compiled(kernel: Callable[..., Any]) -> Kernel:
    """Compile a kernel, kept on disk between processes."""
    return Kernel(kernel)


def vectorised(kernel: Callable[..., Any]) -> Kernel:
    """Compile a kernel whose sums may be reordered for vector registers; zeros keep their sign."""
    return Kernel(kernel, REORDER - {"nsz"})


def inlined(helper: Callable[..., Any]) -> Callable[..., Any]:
    """Make a helper part of the kernels that call it: a call costs as much as a short row."""

    def tell() -> None:
        from numba.extending import register_jitable

        register_jitable(error_model="numpy", **INLINE)(helper)

    _untold.append(tell)
    return helper


def overloaded(function: Callable[..., Any], **options: Any) -> Callable[..., Any]:
    """Let the decorated function choose, by Numba's types, what a call of ``function`` runs."""

    def keep(choose: Callable[..., Any]) -> Callable[..., Any]:
        def tell() -> None:
            from numba.extending import overload

            overload(function, jit_options=options)(choose)  # type: ignore[arg-type]

        _untold.append(tell)
        OVERLOADS.setdefault(function, []).extend([choose, options])
        return choose

    return keep


def fetch(values, k):
    """Ask the memory for the k-th number of an array, C-contiguous, which is read some steps on."""


def _tell_fetch() -> None:
    from llvmlite import ir
    from numba.core import types
    from numba.extending import intrinsic, overload

    def prefetch(typing, values, k):
        def generate(context, builder, signature, arguments):
            array = context.make_array(signature.args[0])(context, builder, arguments[0])
            place = builder.bitcast(builder.gep(array.data, [arguments[1]]), ir.PointerType(byte))
            call = builder.module.declare_intrinsic("llvm.prefetch", [ir.PointerType(byte)], kind)
            builder.call(call, [place, number(0), number(2), number(1)])  # read it; to level two

        byte, number = ir.IntType(8), ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [ir.PointerType(byte), *[number] * 3])
        return types.void(values, k), generate

    instruction: Any = intrinsic(prefetch)
    overload(fetch, jit_options=INLINE)(lambda values, k: lambda values, k: instruction(values, k))


_untold.append(_tell_fetch)
OVERLOADS[fetch] = [_tell_fetch]


@functools.cache
def start_numba() -> None:
    """Import Numba and let it load all it knows, without garbage collection, which takes as long.

    There is no garbage yet, but with each generation of new objects Python looks through them all.
    """
    collecting = gc.isenabled()
    gc.disable()
    try:
        from numba.core.registry import cpu_target

        cpu_target.target_context.refresh()
    finally:
        if collecting:
            gc.enable()


def _cached(body: Callable[..., Any], kernel: Kernel) -> Any:
    """Return Numba's dispatcher, with a cache on disk that holds only what is up to date.

    Numba's cache compares the time and size of the kernel's own file, and a kernel contains the
    bodies of what it calls: here it compares their `fingerprint`, and what is called for a type
    from elsewhere is not kept. And it numbers the files of a kernel's signatures, so that processes
    that compile at once may take each other's for their own: here the file's name tells which
    signature it is.
    """
    from numba import njit

    dispatcher = njit(
        cache=True, nogil=True, error_model="numpy", fastmath=set(kernel.fastmath) or False
    )(body)
    index: Any = getattr(getattr(dispatcher, "_cache", None), "_cache_file", None)
    if hasattr(index, "_source_stamp"):
        index._source_stamp = fingerprint(kernel)
        index._version = (index._version, index._source_stamp)  # is read before any type of ours

        def save(key: Any, data: Any) -> None:
            if any(map(_from_elsewhere, key[0])):
                return
            of = hashlib.sha256(repr((key, index._source_stamp)).encode()).hexdigest()
            name = f"{index._index_name}.{of[:16]}.nbc"
            index._save_data(name, data)  # before the index that names it
            index._save_index(index._load_index() | {key: name})

        index.save = save
    return dispatcher


def _from_elsewhere(kind: Any) -> bool:
    """Tell whether a type is, or holds, a NamedTuple of another package's."""
    own = getattr(kind, "instance_class", Kernel).__module__.startswith("aucmax.")
    return not own or any(map(_from_elsewhere, getattr(kind, "types", ())))
