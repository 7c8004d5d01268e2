"""Evaluate operators on known values for `PartialEvaluate`."""

from __future__ import annotations

from typing import Any

from baton._src.passes.relay.partial_evaluation.partial_values import Fields, Partial
from baton._src.passes.shared.evaluate import evaluate, result_bytes
from baton._src.relay.info import to_info
from baton._src.relay.nodes import Call, Constant
from baton._src.values.tensor import NDArray

LARGEST = 1 << 16
"""Most bytes of a result that is folded into a constant."""


def folded_call(call: Call, args: list[Partial]) -> Partial | None:
    """The value of an operator call; None if an operand is not known, or the result is too large or not a tensor."""
    values = [_constant(a) for a in args]
    info = to_info(call.checked_type)
    size = result_bytes(info)
    if any(v is None for v in values) or size is None or size > LARGEST:
        return None
    found = evaluate(call.op.definition, values, call.attrs, info)
    return Partial(Constant(found), found) if isinstance(found, NDArray) else None


def _constant(value: Partial) -> Any:
    """The array (or tuple of arrays) of a known value; None if it is not known."""
    if isinstance(value.known, NDArray):
        return value.known.data
    if isinstance(value.known, Fields) and value.known.constructor is None:
        parts = tuple(_constant(f) for f in value.known.fields)  # operators' operands nest one level
        return None if any(p is None for p in parts) else parts
    return None
