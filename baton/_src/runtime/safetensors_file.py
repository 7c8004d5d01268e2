"""Reading and writing tensors in the safetensors layout, aligned so that a file can be mapped and used in place.

The layout is eight bytes with the header's length, a JSON header (name -> dtype, shape, data_offsets), and the data.
Readers demand that the data has no holes, so the space that aligns a tensor to 64 bytes is an entry of its own, named
``__pad_<n>``. Integers of fewer than 8 bits, which the format does not have, are bytes (`U8`); their dtypes are in
``__metadata__``. Source: the format's own description (huggingface/safetensors).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import IO, Any

import numpy as np

from baton._src.support.diagnostics import fail
from baton._src.values.dtype import DataType
from baton._src.values.tensor import AnyArray

ALIGNMENT = 64
_CODES = {
    "bool": "BOOL",
    "int8": "I8",
    "int16": "I16",
    "int32": "I32",
    "int64": "I64",
    "uint8": "U8",
    "uint16": "U16",
    "uint32": "U32",
    "uint64": "U64",
    "float16": "F16",
    "bfloat16": "BF16",
    "float32": "F32",
    "float64": "F64",
    "float8_e4m3fn": "F8_E4M3",
    "float8_e5m2": "F8_E5M2",
}
_DTYPES = {code: name for name, code in _CODES.items()}
_PAD = "__pad_"
_METADATA = "__metadata__"
_NARROW = "dtype of "
"""Begins the keys of metadata that name the dtype of a tensor of narrow integers."""


def header_for(tensors: Mapping[str, AnyArray], alignment: int = ALIGNMENT) -> tuple[bytes, int]:
    """The length word and header (padded to a multiple of 64 bytes), and how long the data will be. Error
    `tensor-name`: a name that the file has for itself.
    """
    reserved = next((name for name in tensors if name == _METADATA or name.startswith(_PAD)), None)
    if reserved is not None:
        help = f"rename it: {_METADATA} and names that start with {_PAD} mean something else in the file"
        raise fail("tensor-name", f"no tensor in a safetensors file may be named {reserved!r}", help=help)
    entries: dict[str, Any] = {}
    dtypes = {name: str(DataType(array.dtype)) for name, array in tensors.items()}
    narrow = {_NARROW + name: dtype for name, dtype in dtypes.items() if dtype not in _CODES}
    if narrow:
        entries[_METADATA] = narrow
    position = 0
    for number, (name, array) in enumerate(tensors.items()):
        gap = -position % alignment
        if gap:
            entries[f"{_PAD}{number}"] = {"dtype": "U8", "shape": [gap], "data_offsets": [position, position + gap]}
            position += gap
        stop = position + array.nbytes
        code = _CODES.get(dtypes[name], "U8")
        entries[name] = {"dtype": code, "shape": list(array.shape), "data_offsets": [position, stop]}
        position = stop
    text = json.dumps(entries, separators=(",", ":")).encode()
    text += b" " * (-(8 + len(text)) % ALIGNMENT)
    return len(text).to_bytes(8, "little") + text, position


def write_tensors(stream: IO[bytes], tensors: Mapping[str, AnyArray], alignment: int = ALIGNMENT) -> None:
    """Write all tensors; they are C-contiguous."""
    header, _ = header_for(tensors, alignment)
    stream.write(header)
    position = 0
    for array in tensors.values():
        gap = -position % alignment
        stream.write(bytes(gap))
        stream.write(array.reshape(-1).view(np.uint8).data if array.nbytes else b"")
        position += gap + array.nbytes


def read_tensors(data: memoryview) -> dict[str, AnyArray]:
    """The tensors in `data`, sharing its memory. Errors: `executable-corrupt`."""
    if len(data) < 8:
        raise _corrupt("the constants are cut off")
    length = int.from_bytes(data[:8], "little")
    if length > len(data) - 8:
        raise _corrupt("the header of the constants is cut off")
    try:
        header = json.loads(bytes(data[8 : 8 + length]))
    except (ValueError, RecursionError) as error:
        raise _corrupt(f"the header of the constants is damaged ({error})") from error
    body = data[8 + length :]
    if not isinstance(header, dict):
        raise _corrupt("the header of the constants is damaged")
    wanted = {n: e for n, e in header.items() if n != _METADATA and not n.startswith(_PAD)}
    metadata = header.get(_METADATA)
    narrow = metadata if isinstance(metadata, dict) else {}
    return {name: _tensor(name, entry, body, narrow.get(_NARROW + name)) for name, entry in wanted.items()}


def _tensor(name: str, entry: Any, body: memoryview, narrow: str | None) -> AnyArray:
    """`narrow`: the dtype, if it is of integers of fewer than 8 bits."""
    try:
        dtype = DataType(narrow or _DTYPES[entry["dtype"]]).numpy
        shape = tuple(int(d) for d in entry["shape"])
        start, stop = entry["data_offsets"]
        count = int(np.prod(shape, dtype=object)) * dtype.itemsize
        whole = 0 <= start <= stop <= len(body) and stop - start == count and all(d >= 0 for d in shape)
    except (KeyError, TypeError, ValueError) as error:
        raise _corrupt(f"the entry of constant {name!r} is damaged ({error})") from error
    if not whole:
        raise _corrupt(f"constant {name!r} does not fit the file")
    array: AnyArray = np.frombuffer(body[start:stop], np.uint8).view(dtype).reshape(shape)
    return array


def _corrupt(message: str) -> Exception:
    return fail("executable-corrupt", message, help="save or download the artifact again")
