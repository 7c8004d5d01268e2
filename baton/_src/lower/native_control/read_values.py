"""What is asked of values while a function is read as steps: their leaves, and the complete types of these."""

from __future__ import annotations

from typing import TypeVar

from baton._src.ir.expr import GraphExpr
from baton._src.lower.native_control.parameters import shape_of
from baton._src.lower.relax_to_vm.abstract_values import Fields, Literal, Longer, Value, resolve
from baton._src.lower.relax_to_vm.kernel_calls import is_known
from baton._src.lower.relax_to_vm.variable_values import NoValue
from baton._src.relax.nodes import Binding, SeqExpr, ShapeExpr, Var, VarBinding
from baton._src.relax.struct_info import ShapeStructInfo, StructInfo, TensorStructInfo
from baton._src.tir.operators import add

T = TypeVar("T")


class NotNative(NoValue):
    """Raised for something in the function that needs the VM."""


def needed(found: T | None) -> T:
    """What was found, or `NotNative`."""
    if found is None:
        raise NotNative
    return found


def leaf_info(value: Value) -> StructInfo:
    """The complete type of a tensor, also of one that is made longer, or of a shape that is written out; or
    `NotNative`.
    """
    if isinstance(value, Longer):
        param, row = info_of(value.param), info_of(value.row)
        dims = (add(param.shape.values[0], row.shape.values[0]), *param.shape.values[1:])
        fits = param.ndim == row.ndim and param.dtype == row.dtype
        return needed(TensorStructInfo(ShapeExpr(dims), param.dtype) if fits else None)
    shape = shape_of(value)
    return info_of(value) if shape is None else ShapeStructInfo(shape.values)


def info_of(value: Value) -> TensorStructInfo:
    """The complete type of a tensor, or `NotNative`."""
    found = value.expr.struct_info_ if isinstance(value, Literal) else getattr(resolve(value), "info", None)
    if not is_known(found):
        raise NotNative
    return found


def leaves_of(value: Value | None) -> list[Value]:
    """The leaves of a value."""
    found: list[Value] = []
    work = [value]
    while work:
        item = work.pop()
        if isinstance(item, Fields):
            work.extend(reversed(item.fields))
        elif item is None:
            raise NotNative
        else:
            found.append(item)
    return found


def without_renaming(seq: GraphExpr) -> tuple[list[Binding], GraphExpr]:
    """The bindings and the result of a sequence, without copies at its end."""
    if not isinstance(seq, SeqExpr):
        return [], seq
    bindings = [b for block in seq.blocks for b in block.bindings]
    body = seq.body
    while bindings and isinstance(bindings[-1], VarBinding) and bindings[-1].var is body:
        if not isinstance(bindings[-1].value, Var):
            break
        body = bindings.pop().value
    return bindings, body
