"""Values smaller than a byte (bool, int4, ...): a byte in memory and as arguments, just their bits in registers."""

from __future__ import annotations

from baton._src.codegen.llvm.text import FunctionText
from baton._src.codegen.llvm.types import is_padded, memory_type, register_type
from baton._src.values.dtype import DataType


def from_memory(f: FunctionText, dtype: DataType, operand: str) -> str:
    """The register form of a loaded value. Any byte but zero is a true bool."""
    if not is_padded(dtype):
        return operand
    kind = memory_type(dtype)
    if dtype.is_bool:
        return f.value(f"icmp ne {kind} {operand}, {'0' if dtype.lanes == 1 else 'zeroinitializer'}")
    return f.value(f"trunc {kind} {operand} to {register_type(dtype)}")


def to_memory(f: FunctionText, dtype: DataType, operand: str) -> str:
    """The form to store: the bits above are zero, as NumPy and ml_dtypes keep them."""
    if not is_padded(dtype):
        return operand
    return f.value(f"zext {register_type(dtype)} {operand} to {memory_type(dtype)}")
