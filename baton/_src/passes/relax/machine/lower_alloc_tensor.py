"""LowerAllocTensor: each remaining tensor allocation becomes a storage of its own and a tensor in it.

    alloc = R.builtin.alloc_tensor(R.shape([n]), R.dtype("float32"), R.prim_value(0))
    ->
    storage = R.memory.alloc_storage(R.shape([n * 4]), R.prim_value(0), R.str("global"), R.dtype("float32"))
    alloc = R.memory.alloc_tensor(storage, R.prim_value(0), R.shape([n]), R.dtype("float32"))

Storages are given in bytes. Allocations whose shape is not a ShapeExpr have no known size and stay.
"""

from __future__ import annotations

from typing import Any

from baton._src.passes.relax.binding_rewriter import BindingRewriter
from baton._src.passes.relax.call_pass import CallPass
from baton._src.relax.nodes import Call, PrimValue, ShapeExpr, StringImm, as_dim
from baton._src.relax.special_ops import special_op
from baton._src.support.dataclass import dataclass
from baton._src.tir.arith.analyzer import Analyzer


@dataclass(frozen=True)
class LowerAllocTensor(CallPass):
    """See the module."""

    def replaced(self, call: Call, at: BindingRewriter) -> Any:
        """An allocation of known shape as a tensor in a storage."""
        if call.op is not special_op("builtin.alloc_tensor") or not isinstance(call.args[0], ShapeExpr):
            return call
        shape, dtype = call.args[:2]
        device = call.args[2] if len(call.args) > 2 else PrimValue(0)
        scope = call.args[3] if len(call.args) > 3 else StringImm("global")
        size: Any = as_dim(dtype.value.itemsize)
        for dim in shape.values:
            size = size * dim
        operands = [ShapeExpr([Analyzer().simplify(size)]), device, scope, dtype]
        storage = at.emit(Call(special_op("memory.alloc_storage"), operands), "storage")
        return Call(special_op("memory.alloc_tensor"), [storage, PrimValue(0), shape, dtype])
