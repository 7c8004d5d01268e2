"""BatchSliceProducts: products of one tensor's slices with one weight become one product of the whole tensor.

    x0 = R.take(x, 0, axis=0);  y0 = R.matmul(x0, w)             y = R.matmul(R.reshape(x, (-1, k)), w)
    x1 = R.take(x, 1, axis=0);  y1 = R.matmul(x1, w)     ->      y = R.reshape(y, (steps, ..., n))
    ...                                                          y0 = y[0];  y1 = y[1]  (cuts along the first axis)

Unrolling a loop over the steps of a sequence leaves such products: the part of each step that does not depend on the
step before. Weights are read once instead of once per step. Works within a block that writes no tensor (what was sliced
before a write is no longer in the whole after it); at least half of all slices must be multiplied, so that little work
is wasted.
"""

from __future__ import annotations

from math import prod
from typing import Any

from baton._src.analysis.purity import may_write
from baton._src.ir.expr import Op
from baton._src.ir.module import IRModule
from baton._src.ir.traverse import post_order
from baton._src.ops.builders import RELAX
from baton._src.passes.relax.binding_rewriter import BindingRewriter
from baton._src.relax.nodes import (
    BindingBlock,
    Call,
    Constant,
    Function,
    PrimValue,
    ShapeExpr,
    Var,
    VarBinding,
)
from baton._src.relax.struct_info import TensorStructInfo
from baton._src.support.dataclass import dataclass
from baton._src.tir.expr import IntImm
from baton._src.transform.context import PassContext
from baton._src.transform.passes import FunctionPass

R: Any = RELAX
FEWEST = 4
"""Least number of slices for which this pays."""


@dataclass(frozen=True)
class BatchSliceProducts(FunctionPass):
    """See the module."""

    function_class = Function

    def run_function(self, function: Function, module: IRModule, ctx: PassContext) -> Function:
        return _Batcher(module).function(function)


@dataclass(eq=False)
class _Slice:
    """`source[number]`, along its first axis."""

    source: Var
    number: int
    steps: int


@dataclass(eq=False)
class _Group:
    """Products of slices of one tensor with one weight: the slice of each product, and the combined product."""

    slices: dict[Var, _Slice]
    whole: Var | None = None


class _Batcher(BindingRewriter):
    def __init__(self, module: IRModule) -> None:
        super().__init__(module)
        self.groups: dict[Var, _Group] = {}

    def enter_block(self, block: BindingBlock) -> None:
        if any(isinstance(n, Call) and may_write(n) for b in block.bindings for n in post_order(b.value)):
            return
        slices: dict[Any, _Slice] = {}
        found: dict[Any, _Group] = {}
        for binding in block.bindings:
            value = binding.value if isinstance(binding, VarBinding) else None
            if not isinstance(value, Call) or not isinstance(value.op, Op):
                continue
            taken = _slice(value)
            if taken is not None:
                slices[binding.var] = taken
            elif value.op.name == "relax.matmul" and value.args[0] in slices and _is_matrix(value.args[1]):
                part = slices[value.args[0]]
                key = (part.source, id(value.args[1].data), str(value.attrs.out_dtype))
                found.setdefault(key, _Group({})).slices[binding.var] = part
        for group in found.values():
            parts = group.slices.values()
            numbers = {p.number for p in parts}
            if len(numbers) >= FEWEST and 2 * len(numbers) >= next(iter(parts)).steps:
                self.groups.update(dict.fromkeys(group.slices, group))

    def rewrite_value(self, binding: VarBinding, value: Any) -> Any:
        group = self.groups.get(binding.var)
        if group is None:
            return value
        part = group.slices[binding.var]
        if group.whole is None:
            group.whole = self._product(part.source, value)
        place = [part.number]
        cut = self.emit(R.strided_slice(group.whole, [0], place, [part.number + 1], assume_inbound=True))
        return self.normalized(R.reshape(cut, ShapeExpr(group.whole.struct_info.shape.values[1:])))

    def _product(self, source: Var, call: Call) -> Var:
        """The product of all slices, made before the present binding."""
        info = source.struct_info
        dims = info.shape.values
        count = prod(dims[1:-1], start=dims[0])  # no -1, which means nothing beside a dim of 0
        rows = self.emit(R.reshape(source, ShapeExpr([count, dims[-1]])))
        product = self.emit(R.matmul(rows, call.args[1], out_dtype=call.attrs.out_dtype))
        columns = call.args[1].struct_info.shape.values[-1]
        return self.emit(R.reshape(product, ShapeExpr([*dims[:-1], columns])))


def _slice(call: Call) -> _Slice | None:
    """The slice that a call takes, if its position is a number and the tensor's dims are known."""
    if call.op.name != "relax.take" or call.attrs.axis != 0 or not isinstance(call.args[0], Var):
        return None
    source, index = call.args
    info = source.struct_info_
    number = _number(index)
    if number is None or not isinstance(info, TensorStructInfo) or not isinstance(info.shape, ShapeExpr):
        return None
    dims = info.shape.values
    if len(dims) < 3 or not isinstance(dims[0], IntImm) or not 0 <= number < dims[0].value:
        return None
    return _Slice(source, number, dims[0].value)


def _number(index: Any) -> int | None:
    if isinstance(index, PrimValue) and isinstance(index.value, IntImm):
        return int(index.value.value)
    if isinstance(index, Constant) and index.data.ndim == 0:
        return int(index.data.data)
    return None


def _is_matrix(weight: Any) -> bool:
    return isinstance(weight, Constant) and weight.data.ndim == 2
