"""Numbers among attributes that become elements: what stands in a border, behind an end, outside an image.

Integers cut fractions off and floats round, as TVM's `make_const` does. What integers and bools cannot hold is refused.
"""

from __future__ import annotations

from baton._src.ir.attrs import Attrs
from baton._src.ir.op_def import OpCall
from baton._src.tir.expr import FloatImm, IntImm
from baton._src.values.dtype import DataType

Number = float | IntImm | FloatImm
"""A number, or a literal of TIR, as programs in Python may pass."""


def check_fill(call: OpCall[Attrs], name: str, value: object, dtype: DataType) -> None:
    """An attribute that is no number, or one that `dtype` cannot hold, is an error."""
    number = value.value if isinstance(value, (IntImm, FloatImm)) else value
    if not isinstance(number, (int, float)):
        call.fail(f"{name} is a number, got {value!r}", code="op-attribute")
    if dtype.is_bool or dtype.is_int:
        low, high = (0, 1) if dtype.is_bool else dtype.int_range
        if not low <= number <= high:
            call.fail(f"{name} is {number}, which {dtype} cannot hold", code="op-attribute")


def as_element(value: Number, dtype: DataType) -> float | int | bool:
    """The element of `dtype` that a checked attribute stands for."""
    number = value.value if isinstance(value, (IntImm, FloatImm)) else value
    return float(number) if dtype.is_float else bool(int(number)) if dtype.is_bool else int(number)
