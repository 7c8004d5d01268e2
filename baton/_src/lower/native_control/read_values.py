"""The values of a function's variables while it is read as steps: tensors, shapes that are written out, and tuples."""

from __future__ import annotations

from typing import Any, TypeVar

from baton._src.lower.native_control.parameters import shape_of
from baton._src.lower.relax_to_vm.abstract_values import Fields, Literal, Value, resolve
from baton._src.lower.relax_to_vm.kernel_calls import is_known
from baton._src.relax.nodes import Binding, Constant, SeqExpr, ShapeExpr, Tuple, TupleGetItem, Var, VarBinding
from baton._src.relax.struct_info import ShapeStructInfo, StructInfo, TensorStructInfo

T = TypeVar("T")


class NotNative(Exception):
    """Raised for something in the function that needs the VM."""


def needed(found: T | None) -> T:
    """What was found, or `NotNative`."""
    if found is None:
        raise NotNative
    return found


def leaf_info(value: Value) -> StructInfo:
    """The complete type of a tensor, or of a shape that is written out; or `NotNative`."""
    shape = shape_of(value)
    return info_of(value) if shape is None else ShapeStructInfo(shape.values)


def info_of(value: Value) -> TensorStructInfo:
    """The complete type of a tensor, or `NotNative`."""
    found = value.expr.struct_info_ if isinstance(value, Literal) else getattr(resolve(value), "info", None)
    if not is_known(found):
        raise NotNative
    return found


class Values(dict[Var, Value]):
    """What variables stand for."""

    def of(self, expr: Any) -> Value:
        """The value of a leaf, or `NotNative`."""
        match expr:
            case Var():
                if expr in self:
                    return self[expr]
            case Tuple(fields=fields):
                return Fields(tuple(self.of(f) for f in fields))
            case TupleGetItem(tuple_value=source, index=index):
                whole = self.of(source)
                if isinstance(whole, Fields):
                    return whole.fields[index]
            case Constant() | ShapeExpr():
                return Literal(expr)
            case _:
                pass
        raise NotNative


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


def without_renaming(seq: Any) -> tuple[list[Binding], Any]:
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
