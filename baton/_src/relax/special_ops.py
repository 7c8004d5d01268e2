"""The table of Relax's special operators; the catalogue of operators includes it."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from baton._src.ir.expr import Op
from baton._src.relax.special import calls, devices, effects, function_calls, memory, shapes
from baton._src.relax.special_op import SpecialOp

_ALL = (
    calls.CALL_TIR,
    calls.CALL_TIR_INPLACE,
    calls.CALL_TIR_WITH_GRAD,
    calls.CALL_DPS_PACKED,
    function_calls.CALL_PURE_PACKED,
    function_calls.CALL_INPLACE_PACKED,
    function_calls.CALL_BUILTIN_WITH_CTX,
    function_calls.MAKE_CLOSURE,
    function_calls.INVOKE_CLOSURE,
    function_calls.INVOKE_PURE_CLOSURE,
    effects.NULL_VALUE,
    effects.PRINT,
    effects.ASSERT_OP,
    shapes.SHAPE_OF,
    shapes.TENSOR_TO_SHAPE,
    shapes.SHAPE_TO_TENSOR,
    *shapes.INSPECT,
    *memory.MEMORY,
    devices.TO_VDEVICE,
    devices.HINT_ON_DEVICE,
)

SPECIAL_OPS: Mapping[str, SpecialOp] = MappingProxyType({o.name: o for o in _ALL})
"""Every special operator by its name without the `relax.` prefix."""


def special_op(name: str) -> Op:
    """The operator node of a special operator, e.g. `special_op("call_tir")`."""
    return SPECIAL_OPS[name].op
