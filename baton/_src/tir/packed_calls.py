"""Calls of packed functions in kernels: their operands, and the functions' results.

T.call_packed("my.f", A, i, 0.5, "text")        A: a buffer, as `tvm_stack_make_array` describes it
T.call_cpacked("my.f", A, i, context)           the last operand is for C functions; nobody is passed it
T.tvm_call_trace_packed("my.trace", x)          gives what the function returns; x, if that is None
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from baton._src.ir.expr import Op, PrimExpr
from baton._src.ir.traverse import post_order
from baton._src.runtime.native.packed_calls import PackedSite, Slot, TensorSlot, TextSlot
from baton._src.support.dataclass import dataclass
from baton._src.support.diagnostics import fail
from baton._src.tir.expr import Call, StringImm
from baton._src.tir.operators import is_const
from baton._src.values.dtype import DataType

TRACE = "tir.tvm_call_trace_packed"
PACKED = frozenset(("tir.tvm_call_packed", "tir.tvm_call_cpacked", TRACE))
"""The intrinsics that call packed functions by name."""


@dataclass(frozen=True)
class TensorOperand:
    """A tensor behind a pointer; no strides: row-major. The offset is in elements."""

    data: PrimExpr
    dtype: DataType
    shape: tuple[PrimExpr, ...]
    strides: tuple[PrimExpr, ...]
    offset: PrimExpr


PackedOperand = PrimExpr | TensorOperand
"""A `StringImm` is a text, any other expression a number or a pointer."""


@dataclass(frozen=True)
class PackedCall:
    """A call as it is written. `is_traced`: the last operand stands for a result of None."""

    name: str
    operands: tuple[PackedOperand, ...]
    dtype: DataType
    is_traced: bool = False

    def site(self, is_used: bool) -> PackedSite:
        """What the runtime is told of the call, whose result `is_used` or not."""
        result = self.dtype if is_used and not self.dtype.is_void else None
        return PackedSite(self.name, result, tuple(map(_slot, self.operands)), self.is_traced)

    @property
    def scalars(self) -> Iterator[PrimExpr]:
        """Everything that has to be computed for the call."""
        for operand in self.operands:
            if isinstance(operand, TensorOperand):
                yield from (operand.data, operand.offset, *operand.shape, *operand.strides)
            elif not isinstance(operand, StringImm):
                yield operand


def _slot(operand: PackedOperand) -> Slot:
    match operand:
        case TensorOperand():
            return TensorSlot(operand.dtype, len(operand.shape), bool(operand.strides))
        case StringImm(value=text):
            return TextSlot(text)
        case _:
            return operand.dtype


def is_packed_call(node: Any) -> bool:
    """Whether it calls a packed function."""
    return isinstance(node, Call) and isinstance(node.op, Op) and node.op.name in PACKED


def calls_packed(body: Any) -> bool:
    """Whether a statement or expression calls packed functions."""
    return any(is_packed_call(node) for node in post_order(body))


def read_packed_call(call: Call) -> PackedCall:
    """What a call passes. Error `kernel-call`: it has no name, or an operand is nothing that can be passed."""
    name, *operands = call.args or (None,)
    if not isinstance(name, StringImm):
        raise fail("kernel-call", "a packed function is called without a name", span=call.span, help=_HELP)
    if _is(call, "tvm_call_cpacked"):
        del operands[-1:]
    read = tuple(_operand(call, name.value, operand) for operand in operands)
    if call.dtype.lanes > 1:
        message = f"the packed function {name.value!r} is called for a vector, {call.dtype}"
        raise fail("kernel-call", message, span=call.span, help="packed functions return single numbers")
    return PackedCall(
        name.value, read, call.dtype, bool(operands) and isinstance(call.op, Op) and call.op.name == TRACE
    )


_HELP = 'T.call_packed("name", A, i): buffers, numbers, pointers and texts'


def _operand(call: Call, name: str, operand: Any) -> PackedOperand:
    if _is(operand, "tvm_stack_make_array"):
        data, shape, strides, ndim, dtype, offset = operand.args
        sizes, steps = _sizes(shape), _sizes(strides)
        if sizes is not None and steps is not None and len(steps) in (0, len(sizes)) and is_const(ndim, len(sizes)):
            return TensorOperand(data, dtype.dtype, sizes, steps, offset)
    elif isinstance(operand, PrimExpr) and operand.dtype.lanes == 1 and not operand.dtype.is_void:
        return operand
    message = f"the packed function {name!r} cannot be passed {operand}"
    raise fail("kernel-call", message, span=call.span, help=_HELP)


def _sizes(made: Any) -> tuple[PrimExpr, ...] | None:
    """The numbers of a shape on the stack; none for a null pointer."""
    if _is(made, "tvm_stack_make_shape"):
        return tuple(made.args)
    return () if is_const(made, 0) else None


def _is(node: Any, name: str) -> bool:
    return isinstance(node, Call) and isinstance(node.op, Op) and node.op.name == f"tir.{name}"
