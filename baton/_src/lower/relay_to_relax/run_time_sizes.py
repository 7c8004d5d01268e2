"""Integers that tensors hold when a program runs, as sizes that operators of Relax take.

Each is known, from constants and from the sizes of tensors (`shape_values`), or it gets a name: a new shape variable,
to which a cast of `tensor_to_shape` binds what the tensor holds.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from baton._src.ir.expr import GraphExpr, PrimExpr
from baton._src.ir.op_def import Argument
from baton._src.ir.tensor_info import Dim
from baton._src.ir.traverse import post_order
from baton._src.ir.types import TensorType, Type
from baton._src.lower.relay_to_relax.binding_emitter import BindingEmitter, Bindings
from baton._src.lower.relay_to_relax.shape_values import Dims, shape_values
from baton._src.ops.call_maker import RelaxMaker
from baton._src.ops.catalogue import CATALOGUE
from baton._src.ops.dims import DimMath
from baton._src.relax import nodes as rx
from baton._src.relax.special_ops import special_op
from baton._src.relax.struct_info import ShapeStructInfo, StructInfo, TensorStructInfo
from baton._src.relay.nodes import Call, Constant
from baton._src.tir.arith.analyzer import Analyzer
from baton._src.tir.expr import EQ, LT, IntImm, Select, Var
from baton._src.values.dtype import BOOL, INT64
from baton._src.values.tensor import AnyArray

FALSE = IntImm(BOOL, 0)


class RunTimeSizes:
    """The operands of one call, and the arithmetic on sizes that rules need."""

    def __init__(
        self,
        node: Call,
        args: Sequence[GraphExpr],
        emitter: BindingEmitter,
        bindings: Bindings,
        read: dict[GraphExpr, Dims],
    ) -> None:
        """`read`: the sizes that were read from tensors before, in the same scope."""
        self.node = node
        self.args = list(args)
        self.math = DimMath(Analyzer())
        self._emitter = emitter
        self._bindings = bindings
        self._read = read
        self._make = RelaxMaker(node.op.definition, CATALOGUE)

    def op(self, name: str, *args: Argument, **attrs: object) -> GraphExpr:
        """A call of an operator of Relax."""
        found: GraphExpr = self._make.op(name, *args, **attrs)
        return found

    def constant(self, value: float, dtype: str) -> GraphExpr:
        """A literal."""
        found: GraphExpr = self._make.const(value, dtype)
        return found

    def emit(self, value: GraphExpr) -> rx.Var:
        """A variable that holds the value."""
        return self._emitter.emit(self._bindings, value, self.node)

    def numbers(self, position: int) -> Dims | None:
        """The integers that an operand holds, in order: known ones, else new sizes, read when it runs. None if it holds
        others, or nobody knows how many.
        """
        expr = self.node.args[position]
        known = shape_values(expr, self._dims_in_sight, self.math)
        if known is not None:
            return known
        type_, shape = expr.checked_type, static_dims(expr.checked_type)
        if shape is None or not type_.dtype.is_int:
            return None
        if expr in self._read:
            return self._read[expr]
        value = self.args[position]
        if type_.dtype != INT64:
            value = self.op("astype", value, dtype="int64")
        count = int(np.prod(shape, dtype=np.int64))
        sizes = self.read(value if len(shape) == 1 else self.op("reshape", value, (count,)), count)
        self._read[expr] = sizes
        return sizes

    def read(self, tensor: GraphExpr, count: int) -> Dims:
        """The elements of a vector of int64 as new sizes."""
        sizes = tuple(Var(self._emitter.fresh("size"), INT64) for _ in range(count))
        shape = self.emit(rx.Call(special_op("tensor_to_shape"), [tensor]))
        self._emitter.match(self._bindings, shape, ShapeStructInfo(sizes), self.node)
        return sizes

    def named(self, dims: Dims) -> Dims:
        """The dims, with a name instead of every choice between some: what reads them need not repeat it."""
        if not any(map(_is_formula, dims)):
            return dims
        found = tuple(Var(self._emitter.fresh("size"), INT64) if _is_formula(d) else d for d in dims)
        self._emitter.match(self._bindings, rx.ShapeExpr(dims), ShapeStructInfo(found), self.node)
        return found

    def dims(self, position: int) -> Dims | None:
        """The dims of an operand, `?` replaced by names; None if nobody knows how many there are."""
        type_ = self.node.args[position].checked_type
        if not isinstance(type_, TensorType) or not isinstance(type_.shape, tuple):
            return None
        known = self._dims_in_sight(self.node.args[position])
        if known is not None:
            return known
        info = self._emitter.types.param(type_)
        self.args[position] = self._emitter.match(self._bindings, self.args[position], info, self.node)
        return self._dims_of(info)

    def _dims_in_sight(self, expr: GraphExpr) -> Dims | None:
        """The dims of a tensor that have names here: those of a known type, or of a parameter."""
        known, value = static_dims(expr.checked_type), self._emitter.values.get(expr)
        return known if known is not None else self._dims_of(getattr(value, "struct_info_", None))

    def _dims_of(self, info: StructInfo | None) -> Dims | None:
        shape = info.shape if isinstance(info, TensorStructInfo) else None
        return tuple(map(self.math.normal, shape.values)) if isinstance(shape, rx.ShapeExpr) else None

    def is_read(self, dim: Dim) -> bool:
        """Whether what the dim is depends on a tensor's elements: it may be any integer."""
        read = {size for sizes in self._read.values() for size in sizes}
        return isinstance(dim, PrimExpr) and any(n in read for n in post_order(dim) if isinstance(n, Var))

    def may_be(self, dim: Dim, number: int) -> PrimExpr:
        """The condition that a dim is a number with a meaning of its own; sizes of tensors mean themselves."""
        return EQ(_size(dim), IntImm(INT64, number)) if isinstance(dim, int) or self.is_read(dim) else FALSE

    def where(self, condition: PrimExpr, chosen: Dim, other: Dim) -> Dim:
        """One of two sizes."""
        return self.math.normal(Select(condition, _size(chosen), _size(other)))


def _is_formula(dim: Dim) -> bool:
    return isinstance(dim, PrimExpr) and any(isinstance(n, Select) for n in post_order(dim))


def _size(dim: Dim) -> PrimExpr:
    return IntImm(INT64, dim) if isinstance(dim, int) else dim


def less(dim: Dim, other: Dim) -> PrimExpr:
    return LT(_size(dim), _size(other))


def static_dims(type_: Type) -> tuple[int, ...] | None:
    if not isinstance(type_, TensorType) or not isinstance(type_.shape, tuple):
        return None
    return tuple(d.value for d in type_.shape) if all(isinstance(d, IntImm) for d in type_.shape) else None


def constant_values(expr: GraphExpr) -> AnyArray | None:
    """The elements of a constant, flat; also of one that is written as a filled tensor of a known shape."""
    if isinstance(expr, Constant):
        return np.asarray(expr.data.data).reshape(-1)
    filled = {"ones": 1, "ones_like": 1, "zeros": 0, "zeros_like": 0}
    name, shape = getattr(getattr(expr, "op", None), "name", None), static_dims(expr.checked_type)
    if name in filled and shape is not None:
        return np.full(int(np.prod(shape)), filled[name], expr.checked_type.dtype.numpy)
    return None
