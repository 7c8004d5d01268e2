"""Build Relay nodes inside passes: calls by operator name with their types filled in at once, constants, tuples.

`Build` is also the builder that `OpDef.decompose` and `OpDef.gradient` get for Relay programs.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from baton._src.ir.expr import GraphExpr, Op
from baton._src.ir.node import set_note
from baton._src.ir.op_def import ShapeOf
from baton._src.ir.tensor_info import Info, TensorInfo, TupleInfo
from baton._src.ir.traverse import post_order
from baton._src.ir.types import TensorType, TupleType, Type, TypeVar
from baton._src.ops.call_maker import make_attrs
from baton._src.ops.catalogue import CATALOGUE, Catalogue
from baton._src.ops.dims import is_any
from baton._src.relay.check.infer_type import infer_expr
from baton._src.relay.check.solver import Solver
from baton._src.relay.check.substitute import leaves
from baton._src.relay.expressions import parts
from baton._src.relay.info import to_info
from baton._src.relay.nodes import Call, Constant, Tuple, TupleGetItem
from baton._src.support.diagnostics import DiagnosticError, fail
from baton._src.tir.expr import FloatImm, IntImm, literal
from baton._src.values.dtype import DataType
from baton._src.values.tensor import NDArray

_RELATIVES = {"broadcast_to": "broadcast_to_like", "reshape": "reshape_like"}
"""Operators that take their target from a tensor, by those that are given it."""


def _relative(name: str, value: GraphExpr) -> str:
    if name not in _RELATIVES:
        raise fail("relay-gradient", f"{name} needs a static shape", span=value.span, help="annotate the dims")
    return _RELATIVES[name]


class Build:
    """Builds the nodes of one rewrite, each typed if its parts are."""

    def __init__(self, catalogue: Catalogue = CATALOGUE) -> None:
        self.catalogue = catalogue
        self._rule = Solver().rule

    def op(self, name: str, *args: Any, **attrs: Any) -> Any:
        """A call of the operator with this neutral (or Relay's) name. Numbers become constants of the first tensor's
        dtype."""
        if len(args) == 2 and isinstance(args[1], ShapeOf):
            return self.op(_relative(name, args[1].value), args[0], args[1].value)
        definition = self._definition(name)
        made = []
        for position, arg in enumerate(args):
            operand = definition.inputs[position] if position < len(definition.inputs) else None
            if operand is not None and "relay" not in operand.languages:
                attrs[self._attribute(definition, operand)] = arg  # Relay has it as an attribute
            else:
                made.append(self._argument(arg, args))
        if definition.relay_op is None and definition.name == "matmul":
            return self._product(*made)
        if "allowzero" in definition.attrs.names and 0 in attrs.get("newshape", ()):
            attrs["allowzero"] = True  # shapes here mean what they say, while a 0 in Relay's copies a dim
        return self.call(Call(definition.relay_op, made, make_attrs(definition, attrs)))

    def _product(self, left: Any, right: Any) -> Any:
        """Relax's matmul expressed by Relay's products: of matrices, or batched, with operands repeated where they
        broadcast.
        """
        shape, other = shape_of(left), shape_of(right)
        if shape is not None and other is not None and 1 in (len(shape), len(other)):
            return self._product_of_vectors(left, right, shape, other)
        n, m = len(left.checked_type.shape), len(right.checked_type.shape)
        if n == m == 2:
            return self.op("nn.matmul", left, right, transpose_a=False, transpose_b=False)
        if n == m == 3 and (shape is None or other is None):
            return self.op("nn.batch_matmul", left, right, transpose_a=False, transpose_b=False)
        if shape is None or other is None:
            raise fail("relay-gradient", f"there is no product of ranks {n} and {m} in Relay", span=left.span)
        if m == 2:
            flat = self.op("reshape", left, newshape=(int(np.prod(shape[:-1])), shape[-1]))
            made = self.op("nn.matmul", flat, right, transpose_a=False, transpose_b=False)
        else:
            batch = np.broadcast_shapes(shape[:-2], other[:-2])
            pair = (self._batch(x, d, batch) for x, d in ((left, shape), (right, other)))
            made = self.op("nn.batch_matmul", *pair, transpose_a=False, transpose_b=False)
            shape = (*batch, *shape[-2:])
        return self.op("reshape", made, newshape=(*shape[:-1], other[-1]))

    def _batch(self, x: Any, shape: tuple[int, ...], batch: tuple[int, ...]) -> Any:
        """`x`, of `shape`, as a sequence of matrices: one for each index into `batch`."""
        whole = x if shape[:-2] == batch else self.op("broadcast_to", x, shape=(*batch, *shape[-2:]))
        return self.op("reshape", whole, newshape=(int(np.prod(batch)), *shape[-2:]))

    def _product_of_vectors(self, left: Any, right: Any, shape: tuple[int, ...], other: tuple[int, ...]) -> Any:
        """A product in which a vector on the left is a row and one on the right a column; its axis is dropped from the
        result.
        """
        row = self.op("reshape", left, newshape=(1, *shape)) if len(shape) == 1 else left
        column = self.op("reshape", right, newshape=(*other, 1)) if len(other) == 1 else right
        made = self._product(row, column)
        batch = np.broadcast_shapes(shape[:-2], other[:-2])
        rest = (*(shape[-2:-1] if len(shape) > 1 else ()), *(other[-1:] if len(other) > 1 else ()))
        return self.op("reshape", made, newshape=(*batch, *rest))

    def _attribute(self, definition: Any, operand: Any) -> str:
        """The attribute that replaces an operand which only Relax passes as an argument."""
        names = (operand.relay_name, operand.name, f"new{operand.name}")
        return next((n for n in names if n in definition.attrs.names), operand.name)

    def shape_of(self, value: GraphExpr) -> tuple[int, ...] | ShapeOf:
        """The shape of a value, for operators that want one."""
        found = shape_of(value)
        return ShapeOf(value) if found is None else found

    def _definition(self, name: str) -> Any:
        try:
            return self.catalogue.get(name)
        except DiagnosticError:
            return self.catalogue.relay(name).definition

    def _argument(self, value: Any, args: tuple[Any, ...]) -> Any:
        if isinstance(value, (int, float)):
            dtype = next((dtype_of(a) for a in args if not isinstance(a, (int, float))), DataType("float32"))
            return self.const(value, dtype)
        if isinstance(value, (FloatImm, IntImm)):
            return self.const(value.value, value.dtype)
        return self.tuple(*value) if isinstance(value, (tuple, list)) else value

    def call(self, node: Call) -> Call:
        """`node` with its type, if the types of its arguments are known."""
        types = [a.checked_type_ for a in node.args]
        if None not in types and node.op.definition is not None:
            constants = [a.data.data if isinstance(a, Constant) else None for a in node.args]
            set_note(node, "checked_type_", self._rule.quick(node.op, types, node.attrs, constants, node.span))
            set_note(node, "struct_info_", described(node.checked_type_))
        return node

    def typed(self, expr: GraphExpr) -> Any:
        """An expression over typed ones, with the types of its other parts filled in."""
        for node in post_order(expr, below=lambda n: () if n.checked_type_ is not None else parts(n)):
            match node:
                case Op():
                    continue
                case Call() if node.checked_type_ is None and isinstance(node.op, Op):
                    self.call(node)
                case Tuple() if node.checked_type_ is None:
                    set_note(node, "checked_type_", TupleType([f.checked_type for f in node.fields]))
                case _ if node.checked_type_ is None:
                    infer_expr(node)
                case _:
                    pass
        return expr

    def describe(self, *values: Any) -> None:
        """Make these values answer `struct_info`, so that rules written for both languages can use them. What an
        earlier pass said may be of another type: copies of nodes keep it."""
        for value in values:
            if value.checked_type_ is not None:
                set_note(value, "struct_info_", described(value.checked_type_))

    def const(self, value: Any, dtype: object = None) -> Constant:
        """A constant tensor."""
        array = np.asarray(value, None if dtype is None else DataType(dtype).numpy)
        made = Constant(NDArray(np.ascontiguousarray(array).reshape(array.shape)))
        set_note(made, "checked_type_", TensorType(tuple(literal(d) for d in array.shape), made.data.dtype))
        return made

    def full_like(self, value: Any, number: float) -> Any:
        """A tensor like `value` filled with a number."""
        made = self.op("full_like", value, self.const(number, dtype_of(value)))
        self.describe(value, made)
        return made

    def shape(self, dims: Any) -> Any:
        """A shape as an operand: in Relay it becomes an attribute (see `op`), which may leave one dim open."""
        if sum(map(is_any, dims)) > 1:
            raise fail("relay-gradient", "this needs a shape with one unknown dim at most", help="annotate the dims")
        return tuple(-1 if is_any(d) else int(d) for d in dims)

    def swap_last(self, x: Any, ndim: int) -> Any:
        """The last two of `ndim` axes exchanged."""
        return self.op("permute_dims", x, axes=(*range(ndim - 2), ndim - 1, ndim - 2))

    def tuple(self, *fields: Any) -> Tuple:
        made = Tuple(fields)
        types = [f.checked_type_ for f in fields]
        if None not in types:
            set_note(made, "checked_type_", TupleType(types))
        return made

    def item(self, value: GraphExpr, index: int) -> Any:
        """A projection; of a tuple written here, its field."""
        if isinstance(value, Tuple):
            return value.fields[index]
        made = TupleGetItem(value, index)
        if isinstance(value.checked_type_, TupleType):
            set_note(made, "checked_type_", value.checked_type_.fields[index])
        return made

    def info(self, value: GraphExpr) -> Any:
        """The `Info` of a typed expression, as operators see it."""
        return to_info(value.checked_type)


class Dims(tuple[Any, ...]):
    """A Relay shape that answers `values`, as a shape of Relax does: rules serve both languages."""

    @property
    def values(self) -> tuple[Any, ...]:
        return tuple(literal(d) for d in self)


def described(type_: Type) -> Any:
    """A type in the form that operators' rules use."""
    return _with_values(to_info(type_))


def _with_values(info: Info) -> Info:
    if isinstance(info, TupleInfo):
        return TupleInfo(tuple(map(_with_values, info.fields)))
    if isinstance(info, TensorInfo) and isinstance(info.shape, tuple):
        return TensorInfo(Dims(info.shape), info.dtype, info.ndim)
    return info


def dtype_of(expr: GraphExpr) -> DataType:
    """The dtype of a typed tensor expression."""
    type_ = expr.checked_type
    found: DataType = type_.dtype
    return found


def shape_of(expr: GraphExpr) -> tuple[int, ...] | None:
    """The static shape of a typed tensor expression; None if it is not one."""
    type_ = expr.checked_type_
    if not isinstance(type_, TensorType) or not isinstance(type_.shape, tuple):
        return None
    dims = tuple(getattr(d, "value", None) for d in type_.shape)
    return None if any(d is None for d in dims) else tuple(int(d) for d in dims if d is not None)


def is_call(expr: GraphExpr, *names: str) -> bool:
    """Whether `expr` is a call of one of these operators (neutral names, or Relay's), on values of particular types."""
    if not isinstance(expr, Call) or not isinstance(expr.op, Op) or expr.op.definition is None:
        return False
    if expr.op.definition.name not in names and expr.op.name not in names:
        return False
    return not any(is_generalized(value) for value in (expr, *expr.args))


def is_generalized(expr: GraphExpr) -> bool:
    """Whether the type of `expr` depends on type parameters, so that its dims and dtype are not known yet."""
    type_ = expr.checked_type_
    return type_ is not None and any(isinstance(leaf, TypeVar) for leaf in leaves(type_))
