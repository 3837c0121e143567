"""Files of arrays: a line of JSON and a zip archive whose arrays match their specifications.

The reader of such a file specifies the shape, the type and the range of every array by name.
Names, types and shapes are checked before anything is unpacked, and values before they are
returned, because compiled code does not check the bounds of arrays.
"""

import io
import json
import math
import zipfile
from collections import Counter
from collections.abc import Callable, Mapping
from os import PathLike
from typing import Any, NamedTuple

import numpy as np

from aucmax.basics.checks import check_array_of
from aucmax.basics.container import pack, unpack

__all__ = [
    "ArraySpec",
    "Specs",
    "check_archive",
    "check_arrays",
    "named",
    "pack_arrays",
    "part_of",
    "unpack_arrays",
]

_MAX_COMPRESSION_RATIO = 100  # unpacked bytes per byte of an archive, in addition to FREE_BYTES
FREE_BYTES = 2**26  # unpacked bytes that any archive may have
_MAX_HEADER_BYTES = 2**14  # of an array
_ARRAY_MAGIC, _ZIP_MAGIC = b"\x93NUMPY", b"PK"
_COMPRESSIONS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_HEADERS = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}


class ArraySpec(NamedTuple):
    """The specification of an array.

    Attributes
    ----------
    shape : tuple of int or str
        Lengths; equal names mean equal lengths.
    dtype : dtype or None
        None for labels: booleans, numbers or text.
    low, high : float
        The range of its numbers, which must be finite.
    """

    shape: tuple[int | str, ...] = ()
    dtype: Any = np.float64
    low: float | None = None
    high: float = np.inf

    def zeros(self) -> np.ndarray:
        """Return an array of zeros with this shape, which must not contain names."""
        return np.zeros([int(length) for length in self.shape], self.dtype)


Specs = dict[str, ArraySpec]


def named(part: str, items: Mapping[str, Any]) -> dict[str, Any]:
    """Return arrays, or their specifications, with names prefixed by the part's name."""
    return {f"{part} {name}": item for name, item in items.items()}


def part_of(items: Mapping[str, Any], part: str) -> dict[str, Any]:
    """Return the items of a part, without the prefix that `named` added."""
    prefix = f"{part} "
    return {name[len(prefix) :]: item for name, item in items.items() if name.startswith(prefix)}


def pack_arrays(
    path: str | PathLike[str],
    kind: str,
    facts: dict[str, Any],
    arrays: Mapping[str, Any],
    compressed: bool = True,
) -> None:
    """Write facts, as JSON, and arrays to a file that `unpack_arrays` reads.

    Parameters
    ----------
    path : path
        An old file stays until the new file is complete.
    kind : str
        The kind of the file, as for `aucmax.basics.container.pack`.
    facts : dict
    arrays : mapping of str to array
    compressed : bool
        Whether to compress the arrays, unless the ratio would exceed what `unpack_arrays` accepts.
    """
    buffer = io.BytesIO()
    (np.savez_compressed if compressed else np.savez)(buffer, **arrays)
    size = sum(np.asarray(values).nbytes for values in arrays.values())
    if compressed and size + _MAX_HEADER_BYTES * len(arrays) > _max_unpacked_bytes(buffer.tell()):
        buffer = io.BytesIO()
        np.savez(buffer, **arrays)
    pack(path, kind, json.dumps(facts).encode() + b"\n" + buffer.getvalue())


def unpack_arrays(
    path: str | PathLike[str], kind: str, declare: Callable[[dict[str, Any]], Specs]
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Return the facts and the arrays of a file, the arrays in the order of their specifications.

    Parameters
    ----------
    path : path
    kind : str
        The kind of the file.
    declare : callable
        Returns the specifications of the arrays for some facts; raises ValueError if the facts are
        invalid.

    Raises
    ------
    ValueError
        If the file does not contain exactly these arrays. Call it within
        `aucmax.basics.container.readable`.
    """
    head, _, body = unpack(path, kind).partition(b"\n")
    facts = json.loads(head)
    if not isinstance(facts, dict):
        raise ValueError("its first line is not a JSON object")
    specs = declare(facts)
    check_archive(body)
    with zipfile.ZipFile(io.BytesIO(body)) as archive:
        members = [info.filename.removesuffix(".npy") for info in archive.infolist()]
        _check_names(members, specs)
        sizes: dict[str, int] = {}
        for name, spec in specs.items():
            with archive.open(f"{name}.npy") as stream:
                _check_kind(name, spec, sizes, *_header(stream))
        arrays = {}
        for name in specs:
            with archive.open(f"{name}.npy") as stream:
                arrays[name] = np.lib.format.read_array(stream, allow_pickle=False)
    check_arrays(arrays, specs)
    return facts, arrays


def check_arrays(arrays: Mapping[str, Any], specs: Specs) -> None:
    """Raise ValueError unless the arrays match their specifications."""
    _check_names(list(arrays), specs)
    sizes: dict[str, int] = {}
    for name, spec in specs.items():
        values = arrays[name]
        if not isinstance(values, np.ndarray):
            raise ValueError(f"its {name} are not an array")
        _check_kind(name, spec, sizes, values.shape, values.dtype)
        if spec.dtype is not None:
            check_array_of(values, values.shape, name, spec.low, spec.high, spec.dtype)


def check_archive(body: bytes) -> None:
    """Raise ValueError if a zip archive would unpack to another size than declared, or to too much.

    Its arrays, also in nested archives, must have the sizes that their shapes imply.
    """
    _unpacked_bytes(body, _max_unpacked_bytes(len(body)))


def _max_unpacked_bytes(packed: int) -> int:
    return FREE_BYTES + _MAX_COMPRESSION_RATIO * packed


def _unpacked_bytes(body: bytes, limit: int) -> int:
    """Return the unpacked size of an archive after checks; raise ValueError if above ``limit``."""
    with zipfile.ZipFile(io.BytesIO(body)) as archive:
        members = archive.infolist()
        twice = [name for name, n in Counter(info.filename for info in members).items() if n > 1]
        if twice:
            raise ValueError(f"it contains {twice[0]!r} twice")
        if any(info.compress_type not in _COMPRESSIONS or info.flag_bits & 1 for info in members):
            raise ValueError("it is compressed or encrypted in a way that aucmax does not use")
        size = sum(info.file_size for info in members)
        if size > limit:
            raise ValueError(f"it would unpack to {size:,} bytes, far more than its own size")
        for info in members:
            with archive.open(info) as stream:
                magic = stream.read(len(_ARRAY_MAGIC))
            if magic == _ARRAY_MAGIC:  # whatever the name of the member
                _check_size(archive, info)
            elif magic.startswith(_ZIP_MAGIC):
                size += _unpacked_bytes(archive.read(info), limit - size)
    return size


def _check_size(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> None:
    with archive.open(info) as stream:
        shape, dtype = _header(stream)
        length = stream.tell()
    if dtype.hasobject or length + dtype.itemsize * math.prod(shape) != info.file_size:
        raise ValueError(f"the size of {info.filename} does not match its shape")


def _header(stream: Any) -> tuple[tuple[int, ...], np.dtype]:
    """Return the shape and the type in the header of an array in a file."""
    version = np.lib.format.read_magic(stream)
    if version not in _HEADERS:
        raise ValueError(f"it has arrays in the format {version}")
    shape, _, dtype = _HEADERS[version](stream)
    if any(length < 0 for length in shape):
        raise ValueError(f"it has an array of the shape {shape}")
    return shape, dtype


def _check_names(names: list[str], specs: Specs) -> None:
    unexpected = next((name for name in names if name not in specs), None)
    if unexpected is not None:
        raise ValueError(f"it contains {unexpected!r}, which is not expected")
    missing = next((name for name in specs if name not in names), None)
    if missing is not None:
        raise ValueError(f"it does not contain {missing}")


def _check_kind(
    name: str, spec: ArraySpec, sizes: dict[str, int], shape: tuple[int, ...], dtype: np.dtype
) -> None:
    """Raise ValueError for a wrong type or shape; ``sizes`` has the lengths so far, by name."""
    if dtype.kind not in "biufU" if spec.dtype is None else dtype != spec.dtype:
        expected = "labels" if spec.dtype is None else np.dtype(spec.dtype)
        raise ValueError(f"its {name} are {dtype}, not {expected}")
    if len(shape) == len(spec.shape):
        for symbol, length in zip(spec.shape, shape, strict=True):
            if isinstance(symbol, str):
                sizes.setdefault(symbol, length)
    expected = tuple(sizes.get(n, 0) if isinstance(n, str) else n for n in spec.shape)
    if shape != expected:
        raise ValueError(f"its {name} have the shape {shape}, not {expected}")
