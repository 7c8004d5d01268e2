"""Types (`tensor<2x?xf32>`) and constants (`dense<[1.0, 2.0]>`) of StableHLO's text."""

from __future__ import annotations

import math
import re
from typing import Any

import ml_dtypes
import numpy as np

from baton._src.ir.tensor_info import TensorInfo
from baton._src.support.diagnostics import fail
from baton._src.tir.expr import AnyDim
from baton._src.values.dtype import DataType
from baton._src.values.tensor import AnyArray

_TYPE = re.compile(r"tensor<((?:(?:\d+|\?)x)*)(\w+)(?:,.*)?>", re.DOTALL)
_ITEM = re.compile(r"[^\s,\[\]]+")
_NAMES = {
    "i1": "bool", "f16": "float16", "f32": "float32", "f64": "float64", "bf16": "bfloat16",
    **{f"{short}{bits}": f"{long}{bits}" for short, long in (("i", "int"), ("ui", "uint")) for bits in (8, 16, 32, 64)},
    "f8E4M3FN": "float8_e4m3fn", "f8E5M2": "float8_e5m2",
}  # fmt: skip


def tensor_type(text: str) -> TensorInfo:
    """The shape and dtype of a type; `?` is an open size. Error `stablehlo-type`: it is none of real tensors."""
    found = _TYPE.fullmatch(text)
    if found is None or found[2] not in _NAMES:
        known = ", ".join(_NAMES)
        raise fail("stablehlo-type", f"the type {text} is not supported", help=f"tensors of: {known}")
    sizes = found[1].split("x")[:-1]
    return TensorInfo(tuple(AnyDim() if s == "?" else int(s) for s in sizes), DataType(_NAMES[found[2]]))


def sizes_of(info: TensorInfo) -> tuple[int, ...]:
    """The sizes of a type, which are all numbers."""
    sizes = [d for d in info.shape or () if isinstance(d, int)]
    if len(sizes) != info.ndim:
        raise fail("stablehlo-type", "a type with open sizes is given to what needs numbers")
    return tuple(sizes)


def dense(text: str, info: TensorInfo) -> AnyArray:
    """The array of `dense<...>`: nested lists, one number for all elements, or bytes in hexadecimal digits."""
    inner, kind = text[len("dense<") : -1].strip(), np.dtype(info.dtype.numpy)
    shape = sizes_of(info)
    if inner.startswith('"0x'):
        flat = _of_bytes(bytes.fromhex(inner[3:-1]), kind, math.prod(shape))
    else:
        items = _ITEM.findall(inner)
        flat = np.array([_number(item, kind) for item in items]).astype(kind)
    found: AnyArray = np.full(shape, flat[0]) if flat.size == 1 else flat.reshape(shape)
    return found


def _of_bytes(data: bytes, kind: np.dtype[Any], count: int) -> AnyArray:
    if kind == np.bool_:
        bits: AnyArray = np.unpackbits(np.frombuffer(data, np.uint8), bitorder="little")
        return np.array([data[0] != 0]) if len(data) == 1 and count > 8 else bits[:count].astype(bool)
    return np.frombuffer(data, kind)


def _number(item: str, kind: np.dtype[Any]) -> Any:
    """A number; hexadecimal digits are the bits of a float."""
    if item in ("true", "false"):
        return item == "true"
    if not item.lower().startswith(("0x", "-0x")):
        return int(item) if kind.kind in "iu" else float(item)
    if kind.kind in "iu":
        return int(item, 16)
    bits = int(item, 16).to_bytes(kind.itemsize, "little")
    return np.frombuffer(bits, kind)[0].astype(np.float64 if kind.itemsize == 8 else np.float32)


_ = ml_dtypes  # names bfloat16 and the narrow floats to NumPy
