"""Compute in a wider type where processors have no arithmetic for a type; memory keeps the narrow type.

    C[i] = A[i] + B[i]      ->      C[i] = bfloat16(float32(A[i]) + float32(B[i]))

A whole expression is computed in the wider type and rounded once, where it is stored.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from baton._src.ir.expr import PrimExpr
from baton._src.ir.node import Node
from baton._src.ir.traverse import post_order, rebuild
from baton._src.ir.visitor import Visitor
from baton._src.passes.tir.prim_func_pass import PrimFuncPass
from baton._src.support.dataclass import dataclass
from baton._src.support.diagnostics import fail
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir import stmt as st
from baton._src.tir.intrinsics import Result, definition
from baton._src.tir.prim_func import PrimFunc
from baton._src.transform.context import PassContext
from baton._src.values.dtype import DataType

N = TypeVar("N", bound=Node)


def _is_bfloat16(dtype: DataType) -> bool:
    return dtype.kind == "bfloat"


def _is_float8(dtype: DataType) -> bool:
    return dtype.kind == "float" and dtype.bits == 8


@dataclass(frozen=True)
class BF16ComputeLegalize(PrimFuncPass):
    """bfloat16 is computed in float32."""

    def body(self, body: st.Stmt, function: PrimFunc, ctx: PassContext) -> st.Stmt:
        found: st.Stmt = _Widened(_is_bfloat16, DataType("float32"), body).visit(body)
        return found


@dataclass(frozen=True)
class FP8ComputeLegalize(PrimFuncPass):
    """The floats of 8 bits are computed in float16 or float32."""

    promote_dtype_str: str = "float32"

    def body(self, body: st.Stmt, function: PrimFunc, ctx: PassContext) -> st.Stmt:
        dtype = DataType(self.promote_dtype_str)
        if dtype.kind != "float" or dtype.bits < 16:
            raise fail("api", f"float8 is computed in float16 or float32, not in {dtype}")
        found: st.Stmt = _Widened(_is_float8, dtype, body).visit(body)
        return found


class _Widened(Visitor):
    """Computes expressions of a narrow type in the wide one."""

    def __init__(self, is_narrow: Callable[[DataType], bool], wide: DataType, body: st.Stmt) -> None:
        super().__init__()
        self.is_narrow, self.wide = is_narrow, wide
        self.bound = {n.var for n in post_order(body) if isinstance(n, st.LetStmt | tir.Let)}
        """Variables of values computed here; others, parameters, stay narrow."""

    def visit_default(self, node: Node) -> Any:
        return self.rebuild(node)

    def rebuild(self, node: N) -> N:
        return rebuild(node, self.memo)

    def _widen(self, expr: PrimExpr) -> PrimExpr:
        return ops.cast(self.wide.with_lanes(expr.dtype.lanes), expr) if self.is_narrow(expr.dtype) else expr

    def visit_Var(self, node: tir.Var) -> PrimExpr:
        if node not in self.bound:
            return self._widen(node)
        return tir.Var(node.name, self.wide.with_lanes(node.dtype.lanes)) if self.is_narrow(node.dtype) else node

    def visit_FloatImm(self, node: tir.FloatImm) -> PrimExpr:
        return tir.FloatImm(self.wide, float(node)) if self.is_narrow(node.dtype) else node

    def visit_BinaryOp(self, node: tir.BinaryOp) -> PrimExpr:
        return type(node)(self.memo[node.a], self.memo[node.b])

    def visit_Select(self, node: tir.Select) -> PrimExpr:
        return tir.Select(self.memo[node.condition], self.memo[node.true_value], self.memo[node.false_value])

    def visit_Broadcast(self, node: tir.Broadcast) -> PrimExpr:
        return tir.Broadcast(self.memo[node.value], node.lanes)

    def visit_Shuffle(self, node: tir.Shuffle) -> PrimExpr:
        return tir.Shuffle(tuple(self.memo[vector] for vector in node.vectors), node.indices)

    def visit_Let(self, node: tir.Let) -> PrimExpr:
        return tir.Let(self.memo[node.var], self.memo[node.value], self.memo[node.body])

    def visit_BufferLoad(self, node: tir.BufferLoad) -> PrimExpr:
        return self._widen(self.rebuild(node))

    def visit_Cast(self, node: tir.Cast) -> PrimExpr:
        value: PrimExpr = self.memo[node.value]
        if not self.is_narrow(node.dtype):
            return node if value is node.value else ops.cast(node.dtype, value)
        rounded = ops.cast(node.dtype, value)  # rounding is what a cast is written for
        return ops.cast(self.wide.with_lanes(node.dtype.lanes), rounded)

    def visit_Call(self, node: tir.Call) -> PrimExpr:
        row = definition(node.op)
        if row is None or row.result is Result.GIVEN:  # it may tell widths apart (`reinterpret`)
            changed = {
                old: _narrowed(new, old.dtype) for old in node.args if (new := self.memo.get(old, old)) is not old
            }
            return self._widen(rebuild(node, changed))
        made = self.rebuild(node)
        wide = self.wide.with_lanes(node.dtype.lanes)
        return tir.Call(wide, node.op, made.args) if self.is_narrow(node.dtype) else made

    def visit_BufferStore(self, node: st.BufferStore) -> st.Stmt:
        made = self.rebuild(node)
        value = ops.cast(node.value.dtype, made.value)
        return made.with_fields(value=value)


def _narrowed(value: PrimExpr, dtype: DataType) -> PrimExpr:
    """A value in its own type again: what was widened, as it was."""
    if isinstance(value, tir.Cast) and value.value.dtype == dtype != value.dtype:
        return value.value
    return ops.cast(dtype, value)


__all__ = ["BF16ComputeLegalize", "FP8ComputeLegalize"]
