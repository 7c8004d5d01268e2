"""How TIR's element types are spelled in LLVM IR: in registers, in memory, as literals.

Floats of 16 bits and less are integers everywhere and become float32 for arithmetic. What is smaller than a byte (bool,
int4, ...) takes a byte in memory; bool and the small integers have just their bits in registers. Vectors are `<lanes x
type>` of the same.
"""

from __future__ import annotations

import struct

import numpy as np

from baton._src.codegen.llvm.text import with_lanes
from baton._src.support.diagnostics import fail
from baton._src.values.dtype import DataType


def is_float(dtype: DataType) -> bool:
    """Whether it is floating in any width."""
    return dtype.kind in ("float", "bfloat")


def register_type(dtype: DataType) -> str:
    """The type of a value while it is computed with."""
    return with_lanes(f"i{dtype.bits}" if is_padded(dtype) else _element(dtype), dtype.lanes)


def is_padded(dtype: DataType) -> bool:
    """Whether its values have fewer bits in registers than in memory, where the rest of the byte is zero."""
    return dtype.bits < 8 and dtype.kind in ("int", "uint", "bool")


def memory_type(dtype: DataType) -> str:
    """The type of a value in memory and as an argument."""
    return with_lanes("i8" if is_padded(dtype) else _element(dtype), dtype.lanes)


def compute_type(dtype: DataType) -> str:
    """The type arithmetic is done in: float32 for the narrow floats."""
    return with_lanes("float", dtype.lanes) if dtype.is_narrow else register_type(dtype)


def byte_size(dtype: DataType) -> int:
    """Bytes of one element in memory."""
    return max(1, (dtype.bits + 7) // 8)


def _element(dtype: DataType) -> str:
    match dtype.kind, dtype.bits:
        case (("int" | "uint"), (8 | 16 | 32 | 64) as bits):
            return f"i{bits}"
        case "float", 32:
            return "float"
        case "float", 64:
            return "double"
        case (("float" | "bfloat"), (4 | 8 | 16) as bits):
            return f"i{max(8, bits)}"
        case "handle", _:
            return "ptr"
        case _:
            pass
    raise fail("codegen-dtype", f"native code for {dtype} is not supported", help="cast to a type the processor has")


def literal_text(dtype: DataType, value: float | int) -> str:
    """A constant of `dtype` (splat over its lanes)."""
    text = _scalar_text(dtype.element, value)
    return text if dtype.lanes == 1 else f"splat ({register_type(dtype.element)} {text})"


def _scalar_text(dtype: DataType, value: float | int) -> str:
    if dtype.is_narrow:
        with np.errstate(over="ignore"):
            return str(int(np.array(value, dtype.numpy).view(f"uint{max(8, dtype.bits)}")))
    if is_float(dtype):
        return float_text(float(value), dtype.bits)
    if dtype.kind == "handle":
        return "null" if value == 0 else f"inttoptr (i64 {int(value)} to ptr)"
    if dtype.is_bool:
        return "true" if value else "false"
    return str(int(value))


def float_text(value: float, bits: int) -> str:
    """A float literal, exact: LLVM spells both widths as the bits of a double."""
    if bits == 32:  # a NaN, too: LLVM refuses one with bits that no float32 has
        with np.errstate(over="ignore", invalid="ignore"):
            value = float(np.float32(value))
    return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"
