"""Tensors as TVM writes them: in `.params` files (`save_param_dict`), and in the metadata section of Relay's text.

A tensor: magic word, zero, device type and id (i32 each), rank (i32), dtype (kind u8, bits u8, lanes u16), dims (i64),
number of bytes (i64), the bytes; all little-endian. A list of parameters: magic word, zero, the names (a count, then
length and bytes of each), a count, the tensors.
"""

from __future__ import annotations

import math
import struct

import numpy as np

from baton._src.support.diagnostics import fail
from baton._src.values.dtype import DataType
from baton._src.values.tensor import NDArray

TENSOR_MAGIC = 0xDD5E40F096B4A13F
LIST_MAGIC = 0xF7E58D4F05049CB7
MAX_RANK = 64
_KINDS = {0: "int", 1: "uint", 2: "float", 3: "handle", 4: "bfloat"}


class Bytes:
    """A place in a file; reading past the end is a `DiagnosticError` (`tvm-format`)."""

    def __init__(self, content: bytes | bytearray | memoryview) -> None:
        self._content = memoryview(content)
        self._at = 0

    def take(self, count: int) -> memoryview:
        """The next `count` bytes."""
        if count < 0 or count > len(self._content) - self._at:
            raise _malformed(f"{count} bytes are needed at byte {self._at} of {len(self._content)}")
        found = self._content[self._at : self._at + count]
        self._at += count
        return found

    def unpack(self, layout: str) -> tuple[int, ...]:
        """Numbers in the layout of `struct`, little-endian."""
        whole = "<" + layout
        return struct.unpack(whole, self.take(struct.calcsize(whole)))


def is_param_list(content: bytes | bytearray | memoryview) -> bool:
    """Whether this is what TVM's `save_param_dict` writes."""
    return len(content) >= 8 and int.from_bytes(bytes(content[:8]), "little") == LIST_MAGIC


def read_params(content: bytes | bytearray | memoryview) -> dict[str, NDArray]:
    """The parameters of a `.params` file by name."""
    source = Bytes(content)
    magic, _ = source.unpack("QQ")
    if magic != LIST_MAGIC:
        raise _malformed("it does not begin as a list of parameters does")
    (count,) = source.unpack("Q")
    names = [bytes(source.take(source.unpack("Q")[0])).decode("utf-8", "replace") for _ in range(count)]
    (tensors,) = source.unpack("Q")
    if tensors != count:
        raise _malformed(f"{count} names and {tensors} tensors")
    return {name: read_tensor(source) for name in names}


def read_tensor(source: Bytes) -> NDArray:
    """The tensor at this place."""
    magic, _, _device, _id, rank, kind, bits, lanes = source.unpack("QQiiiBBH")
    if magic != TENSOR_MAGIC or not 0 <= rank <= MAX_RANK or kind not in _KINDS:
        raise _malformed("a tensor was expected")
    shape = source.unpack(f"{rank}q")
    (size,) = source.unpack("q")
    spelled = "bool" if (kind, bits) == (1, 1) else f"{_KINDS[kind]}{bits}"
    dtype = DataType(spelled if lanes == 1 else f"{spelled}x{lanes}")
    if any(d < 0 for d in shape) or math.prod(shape) * lanes * dtype.numpy.itemsize != size:
        raise _malformed(f"{size} bytes for the shape {shape} of {dtype}")
    dims = shape if lanes == 1 else (*shape, lanes)
    return NDArray(np.frombuffer(source.take(size), dtype.numpy).reshape(dims).copy())


def _malformed(why: str) -> Exception:
    return fail("tvm-format", f"these bytes are not tensors as TVM writes them: {why}")
