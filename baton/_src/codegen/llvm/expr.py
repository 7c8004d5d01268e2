"""Scalar and vector expressions of TIR to LLVM IR.

Operands are emitted children first, without recursion and each once: a shared subexpression is computed once within a
statement. Only lazy operands (`if_then_else`, the right side of `and`/`or` that could fail) and `Let` bodies recurse.

Vector conditions predicate: inside `if_then_else(mask, a, b)` with a vector mask, loads read only the lanes of the
mask (`memory`), so `if_then_else(i < n, A[i], 0)` over a `Ramp` never touches memory beyond `n`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import TypeGuard

from baton._src.codegen.llvm.addressing.memory import MemoryAccess, computed_places
from baton._src.codegen.llvm.addressing.neighbour_division import divides_neighbours, neighbours_divided
from baton._src.codegen.llvm.arithmetic import binary, cast, compare
from baton._src.codegen.llvm.float_ranges import fits
from baton._src.codegen.llvm.functions.writer import Handler
from baton._src.codegen.llvm.fused_products import fused_operands, fused_product
from baton._src.codegen.llvm.text import FunctionText
from baton._src.codegen.llvm.types import literal_text, register_type
from baton._src.codegen.llvm.vectors import ramp, shuffle, splat
from baton._src.codegen.operands import is_harmless, operands
from baton._src.ir.expr import Op, PrimExpr
from baton._src.ir.node import Node
from baton._src.ir.traverse import post_order
from baton._src.support.diagnostics import InternalError, fail
from baton._src.tir import expr as tir
from baton._src.tir.packed_calls import is_packed_call, read_packed_call
from baton._src.values.dtype import BOOL, DataType
from baton._src.values.whole_numbers import whole_dtype


class ExprWriter(MemoryAccess):
    """Writes expressions into one function. `env` gives variables their operands."""

    def __init__(self, text: FunctionText, features: Collection[str], intrinsics: Mapping[str, Handler]) -> None:
        super().__init__(text, features)
        self.env: dict[tir.Var, str] = {}
        self.memo: dict[Node, str] = {}
        self.named: dict[tir.Var, PrimExpr] = {}
        """The values of `Let`."""
        self._intrinsics = intrinsics

    # ------------------------------------------------------------------------------------------ driving

    def emit(self, expr: PrimExpr) -> str:
        """The operand that holds the value of `expr`."""
        memo = self.memo
        found = memo.get(expr)
        if found is not None:
            return found
        for item in post_order(expr, below=self._operands):
            if item not in memo:
                memo[item] = self._write(item)
        return memo[expr]

    def fresh(self, expr: PrimExpr) -> str:
        """Like `emit`, at the start of a statement: nothing computed before is reused, as memory may have changed."""
        self.memo = {}
        return self.emit(expr)

    def _operands(self, node: Node) -> Iterable[PrimExpr]:
        """What has to be computed before `node`."""
        if node in self.memo:
            return ()
        match node:
            case tir.LogicalOp(a=a, b=b):
                return (a, b) if is_harmless(b) else (a,)
            case tir.FloorDiv(a=tir.Ramp(base=base)) | tir.FloorMod(a=tir.Ramp(base=base)) if divides_neighbours(node):
                return (base,)
            case tir.Add() | tir.Sub() if (fused := fused_operands(node, self.named)) is not None:
                return fused
            case tir.BufferLoad(indices=indices):
                return computed_places(indices)
            case tir.Let(value=value):
                return (value,)
            case tir.Call(op=Op(name="tir.if_then_else"), args=args):
                return args[:1]
            case tir.Call(op=Op(name="tir.address_of" | "tir.constant_memory")):
                return ()
            case tir.Call(op=Op(name="tir.tvm_access_ptr"), args=args):
                return args[1:3]  # only the pointer and the offset; the other operands are annotations
            case tir.Call() if is_packed_call(node):
                return read_packed_call(node).scalars
            case _:
                return operands(node)

    def _write(self, node: Node) -> str:
        match node:
            case tir.Var():
                return self._variable(node)
            case tir.IntImm() | tir.FloatImm():
                return literal_text(node.dtype, node.value)
            case tir.FloorDiv() | tir.FloorMod() if divides_neighbours(node):
                return neighbours_divided(self.f, node, self.memo)
            case tir.Add() | tir.Sub() if fused_operands(node, self.named) is not None:
                return fused_product(self.f, node, self.memo, self.named)
            case tir.BinaryOp(a=a, b=b):
                return binary(self.f, node, self.memo[a], self.memo[b], self.features)
            case tir.CompareOp(a=a, b=b):
                return compare(self.f, node, self.memo[a], self.memo[b], self.features)
            case tir.BufferLoad():
                return self.load(node)
            case tir.Cast(value=value):
                within = value.dtype.is_float and not node.dtype.is_float and fits(value, whole_dtype(node.dtype))
                return cast(self.f, value.dtype, node.dtype, self.memo[value], self.features, within)
            case tir.LogicalOp():
                return self._logical(node)
            case tir.Not(a=a):
                kind = register_type(node.dtype)
                return self.f.value(f"xor {kind} {self.memo[a]}, {literal_text(node.dtype, 1)}")
            case tir.Ramp():
                return ramp(self.f, node, self.memo)
            case tir.Broadcast(value=value):
                return splat(self.f, value.dtype, self.memo[value], node.lanes)
            case tir.Select():
                return self._select(node.condition, node.dtype, self.memo[node.true_value], self.memo[node.false_value])
            case tir.Call():
                return self._call(node)
            case tir.Let():
                self.env[node.var], self.named[node.var] = self.memo[node.value], node.value
                return self.emit(node.body)
            case tir.Shuffle():
                return shuffle(self.f, node, self.memo)
            case tir.StringImm():
                return self.f.module.string(node.value)
            case _:
                pass
        raise InternalError(f"code generation: no rule for {type(node).__name__} in an expression")

    def _variable(self, var: tir.Var) -> str:
        operand = self.env.get(var)
        if operand is None:
            raise InternalError(f"code generation: variable {var.name} is used outside its scope")
        return operand

    # ----------------------------------------------------------------------------------------- choosing

    def _select(self, condition: PrimExpr, dtype: DataType, true: str, false: str) -> str:
        kind = register_type(dtype)
        flag = register_type(condition.dtype)
        return self.f.value(f"select {flag} {self.memo[condition]}, {kind} {true}, {kind} {false}")

    def _logical(self, node: tir.LogicalOp) -> str:
        word = "and" if isinstance(node, tir.And) else "or"
        if node.b in self.memo:
            return self.f.value(f"{word} {register_type(node.dtype)} {self.memo[node.a]}, {self.memo[node.b]}")
        constant = tir.IntImm(BOOL, int(word == "or"))
        fixed = constant if node.dtype.lanes == 1 else tir.Broadcast(constant, node.dtype.lanes)
        self.memo[fixed] = literal_text(node.dtype, constant.value)
        branches = (node.b, fixed) if word == "and" else (fixed, node.b)
        return self._choice(node.a, branches[0], branches[1], node.dtype)

    def _choice(self, condition: PrimExpr, true: PrimExpr, false: PrimExpr, dtype: DataType) -> str:
        """Evaluate one of two; with a vector condition both, each on its lanes only.

        A choice among many (a wide concatenation) is a chain of choices in `false`; it is emitted in a loop, then
        joined.
        """
        joins = [self._way(condition, true, false, dtype)]
        while false not in self.memo and _is_choice(false):
            condition, true, false = false.args
            self.emit(condition)
            joins.append(self._way(condition, true, false, dtype))
        operand = self.emit(false)
        for join in reversed(joins):
            operand = join(operand)
        return operand

    def _way(self, condition: PrimExpr, true: PrimExpr, false: PrimExpr, dtype: DataType) -> Callable[[str], str]:
        """Emit `true`, and branch to where `false` is emitted; what is returned joins it with `false`."""
        if condition.dtype.lanes > 1:
            return self._masked_way(condition, true, dtype)
        if is_harmless(true) and is_harmless(false):
            operand = self.emit(true)
            return lambda second: self._select(condition, dtype, operand, second)
        then, other, end = (self.f.new_label(hint) for hint in ("if", "else", "endif"))
        self.f.branch_if(self.memo[condition], then, other)
        outer = self.memo
        self.f.place(then)
        self.memo = dict(outer)
        incoming = [(self.emit(true), self.f.block)]
        self.f.branch(end)
        self.f.place(other)
        self.memo = dict(outer)

        def join(second: str) -> str:
            incoming.append((second, self.f.block))
            self.f.branch(end)
            self.f.place(end)
            self.memo = outer
            return self.f.phi(register_type(dtype), incoming)

        return join

    def _masked_way(self, condition: PrimExpr, true: PrimExpr, dtype: DataType) -> Callable[[str], str]:
        """`_way` for a vector condition: loads of each branch are restricted to its lanes."""
        lanes, held = condition.dtype.lanes, self.memo[condition]
        outer = self.memo, self.mask, self.mask_lanes
        self._restrict(held, lanes)
        first = self.emit(true)
        self.memo, self.mask, self.mask_lanes = outer
        self._restrict(self.f.value(f"xor {register_type(condition.dtype)} {held}, splat (i1 true)"), lanes)

        def join(second: str) -> str:
            self.memo, self.mask, self.mask_lanes = outer
            return self._select(condition, dtype, first, second)

        return join

    def _restrict(self, condition: str, lanes: int) -> None:
        """Restrict loads to the lanes of `condition` from here on; nothing emitted from here on is reused."""
        self.memo = dict(self.memo)
        self.set_mask(self.join_masks(condition, lanes), lanes)

    # -------------------------------------------------------------------------------------------- calls

    def _call(self, node: tir.Call) -> str:
        if not isinstance(node.op, Op):
            raise InternalError("code generation: a kernel is called inside an expression")
        if node.op.name == "tir.if_then_else":
            return self._choice(node.args[0], node.args[1], node.args[2], node.dtype)
        handler = self._intrinsics.get(node.op.name)
        if handler is None:
            by_name = node.op.name.startswith("tir.call_llvm")
            help_text = "TIR has functions of its own: T.fabs, T.fma, T.popcount, ..." if by_name else None
            raise fail("codegen-intrinsic", f"{node.op.name} has no native code", span=node.span, help=help_text)
        return handler(self, node)


def _is_choice(expr: PrimExpr) -> TypeGuard[tir.Call]:
    return isinstance(expr, tir.Call) and isinstance(expr.op, Op) and expr.op.name == "tir.if_then_else"
