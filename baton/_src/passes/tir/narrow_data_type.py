"""NarrowDataType and ForceNarrowIndexToInt32: indices are computed in fewer bits, where their bounds fit or always.

for i: int64 in range(64): B[i * 2] = A[i]          ->      for i: int32 in range(64): B[i * 2] = A[i]
"""

from __future__ import annotations

from typing import Any

from baton._src.ir.expr import PrimExpr, Range
from baton._src.ir.module import IRModule
from baton._src.ir.node import Node
from baton._src.ir.traverse import post_order, rewrite, substitute
from baton._src.passes.tir.prim_func_pass import PrimFuncPass
from baton._src.passes.tir.ssa import converted
from baton._src.support.dataclass import dataclass
from baton._src.support.diagnostics import fail
from baton._src.tir import expr as tir
from baton._src.tir import stmt as st
from baton._src.tir.arith.analyzer import Analyzer
from baton._src.tir.index_dtype import in_dtype, parts, with_index_dtype
from baton._src.tir.prim_func import PrimFunc
from baton._src.transform.context import PassContext
from baton._src.values.dtype import INT32, DataType


@dataclass(frozen=True)
class NarrowDataType(PrimFuncPass):
    """Loop variables and indices of more than `target_bits` bits whose values fit into them."""

    target_bits: int = 32

    def body(self, body: st.Stmt, function: PrimFunc, ctx: PassContext) -> st.Stmt:
        if self.target_bits not in (8, 16, 32, 64):
            raise fail("api", f"target_bits must be 8, 16, 32 or 64, got {self.target_bits}")
        return _Narrowing(DataType(f"int{self.target_bits}"), converted(body, function)).body()


class _Narrowing:
    def __init__(self, dtype: DataType, root: st.Stmt) -> None:
        self.dtype, self.root = dtype, root
        self.analyzer = Analyzer()

    def body(self) -> st.Stmt:
        """The body with narrow loops, then with narrow indices."""
        narrow: dict[tir.Var, tir.Var] = {}
        for node in reversed(post_order(self.root)):  # outer loops first: bounds of inner ones may mention them
            if isinstance(node, st.For):
                self.analyzer.bind(node.loop_var, Range(node.min, node.extent))
                if self._is_wide(node.loop_var.dtype) and self._fits(node.loop_var) and self._fits(node.extent):
                    narrow[node.loop_var] = tir.Var(node.loop_var.name, self.dtype)
                    self.analyzer.bind(narrow[node.loop_var], Range(self._number(node.min), self._number(node.extent)))
        wide = {var: tir.Cast(var.dtype, new) for var, new in narrow.items()}

        def loop(node: Node) -> Any:
            if not isinstance(node, st.For) or node.loop_var not in narrow:
                return None
            bounds = {"min": self._number(node.min), "extent": self._number(node.extent)}
            inside = substitute(node.body, {node.loop_var: wide[node.loop_var]})
            return node.with_fields(loop_var=narrow[node.loop_var], body=inside, **bounds)

        found: st.Stmt = rewrite(rewrite(self.root, loop), self._index)
        return found

    def _index(self, node: Node) -> Any:
        if not isinstance(node, tir.BufferLoad | st.BufferStore):
            return None
        indices = tuple(in_dtype(i, self.dtype) if self._can(i) else i for i in node.indices)
        return node.with_fields(indices=indices) if any(a is not b for a, b in zip(indices, node.indices)) else None

    def _is_wide(self, dtype: DataType) -> bool:
        return dtype.kind == "int" and dtype.bits > self.dtype.bits and dtype.lanes == 1

    def _fits(self, expr: PrimExpr) -> bool:
        low, high = self.dtype.int_range
        bound = self.analyzer.const_int_bound(expr)
        return low <= bound.min_value and bound.max_value <= high

    def _can(self, index: PrimExpr) -> bool:
        """Whether an index, and everything it is computed from, fits."""
        if not self._is_wide(index.dtype):
            return False
        return all(self._fits(part) for part in parts(index))

    def _number(self, expr: PrimExpr) -> PrimExpr:
        return in_dtype(expr, self.dtype) if self._can(expr) else tir.Cast(self.dtype, expr)


@dataclass(frozen=True)
class ForceNarrowIndexToInt32(PrimFuncPass):
    """Loops, axes of blocks, sizes of buffers and indices have 32 bits. Error `tir-index`: a number is too large."""

    def run_function(self, function: PrimFunc, module: IRModule, ctx: PassContext) -> Any:
        return with_index_dtype(function, INT32)


__all__ = ["ForceNarrowIndexToInt32", "NarrowDataType"]
