"""Numbers among attributes that become elements: what stands in a border, behind an end, outside an image.

Integers cut fractions off and floats round, as TVM's `make_const` does. What integers and bools cannot hold is refused.
"""

from __future__ import annotations

from typing import Any

from baton._src.ir.op_def import OpCall
from baton._src.values.dtype import DataType


def check_fill(call: OpCall[Any], name: str, value: Any, dtype: DataType) -> None:
    """An attribute that is no number, or one that `dtype` cannot hold, is an error."""
    number = _host(value)
    if not isinstance(number, (int, float)):
        call.fail(f"{name} is a number, got {value!r}", code="op-attribute")
    if dtype.is_bool or dtype.is_int:
        low, high = (0, 1) if dtype.is_bool else dtype.int_range
        if not low <= number <= high:
            call.fail(f"{name} is {number}, which {dtype} cannot hold", code="op-attribute")


def as_element(value: Any, dtype: DataType) -> float | int | bool:
    """The element of `dtype` that a checked attribute stands for."""
    number = _host(value)
    return float(number) if dtype.is_float else bool(int(number)) if dtype.is_bool else int(number)


def _host(value: Any) -> Any:
    """The number of a literal of TIR, as programs in Python may pass."""
    return getattr(value, "value", value)
