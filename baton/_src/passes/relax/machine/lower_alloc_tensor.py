"""LowerAllocTensor: each remaining tensor allocation becomes a storage of its own and a tensor in it.

    alloc = R.builtin.alloc_tensor(R.shape([n]), R.dtype("float32"), R.prim_value(0))
    ->
    storage = R.memory.alloc_storage(R.shape([n * 4]), R.prim_value(0), R.str("global"), R.dtype("float32"))
    alloc = R.memory.alloc_tensor(storage, R.prim_value(0), R.shape([n]), R.dtype("float32"))

Storages are given in bytes. Allocations whose shape is not a ShapeExpr have no known size and stay.
"""

from __future__ import annotations

from typing import Any

from baton._src.ir.module import IRModule
from baton._src.passes.relax.binding_rewriter import BindingRewriter
from baton._src.relax.nodes import Call, Function, PrimValue, ShapeExpr, StringImm, VarBinding, as_dim
from baton._src.relax.special_ops import special_op
from baton._src.support.dataclass import dataclass
from baton._src.tir.arith.analyzer import Analyzer
from baton._src.transform.context import PassContext
from baton._src.transform.passes import FunctionPass


@dataclass(frozen=True)
class LowerAllocTensor(FunctionPass):
    """See the module."""

    function_class = Function

    def run_function(self, function: Function, module: IRModule, ctx: PassContext) -> Function:
        return _Lowerer(module).function(function)


class _Lowerer(BindingRewriter):
    def __init__(self, module: IRModule) -> None:
        super().__init__(module)
        self.alloc = special_op("builtin.alloc_tensor")
        self.simplify = Analyzer().simplify

    def rewrite_value(self, binding: VarBinding, value: Any) -> Any:
        if not isinstance(value, Call) or value.op is not self.alloc or not isinstance(value.args[0], ShapeExpr):
            return value
        shape, dtype = value.args[:2]
        device = value.args[2] if len(value.args) > 2 else PrimValue(0)
        scope = value.args[3] if len(value.args) > 3 else StringImm("global")
        size: Any = as_dim(dtype.value.itemsize)
        for dim in shape.values:
            size = size * dim
        operands = [ShapeExpr([self.simplify(size)]), device, scope, dtype]
        storage = self.emit(Call(special_op("memory.alloc_storage"), operands), "storage")
        return self.normalized(Call(special_op("memory.alloc_tensor"), [storage, PrimValue(0), shape, dtype]))
