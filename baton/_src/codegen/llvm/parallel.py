"""Parallel loops: the body becomes a separate function that the thread pool runs over parts of the range.

Each loop becomes two functions: `body(closure, begin, end)`, which the pool calls and which unpacks the closure (a
struct on the caller's stack), and the inner function, which takes everything the body uses as parameters, so that
pointers keep `noalias`. The pool runs a loop serially if it has at most `grain` iterations (annotation `grain`, default
1) or is busy. It distributes few, large parts, or (annotation `apart`) parts of `grain` iterations.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from baton._src.codegen.llvm.expr import ExprWriter
from baton._src.codegen.llvm.function_writer import FunctionWriter
from baton._src.codegen.llvm.text import FunctionText
from baton._src.codegen.llvm.types import register_type
from baton._src.ir.expr import PrimExpr
from baton._src.ir.traverse import post_order
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir import stmt as st

GRAIN = "grain"
"""The loop annotation: how many iterations are worth a thread (a number or an expression)."""
APART = "apart"
"""The loop annotation: true if threads take parts of `grain` iterations; the pool then gets a negative grain."""


class LoopWriter(FunctionWriter, Protocol):
    """Writes functions with loops."""

    @property
    def e(self) -> ExprWriter: ...

    def beside(self, text: FunctionText) -> LoopWriter:
        """The writer of another function of the kernel."""
        ...

    def emit(self, stmt: st.Stmt | None) -> None:
        """Write one statement."""
        ...

    def counted(self, var: tir.Var, begin: str, end: str, kind: str, body: Callable[[], None]) -> None:
        """A loop of `var` from begin to end, tested at the bottom."""
        ...


def parallel_loop(writer: LoopWriter, stmt: st.For) -> None:
    """Write a call of the pool and the outlined body."""
    f = writer.f
    captured = _captured(writer, stmt)
    names = [f"%c{i}" for i in range(len(captured))]
    kinds = [register_type(v.dtype) for v in captured]
    inner, outer = _names(writer)
    struct = "{ " + ", ".join(kinds) + " }" if kinds else "{}"
    _write_inner(writer, stmt, inner, captured, list(zip(kinds, names)))
    _write_outer(writer, (inner, outer), struct, kinds)
    extent = writer.e.fresh(stmt.extent)
    grain = stmt.annotations.get(GRAIN, 1)
    if stmt.annotations.get(APART, False):
        grain = ops.subtract(tir.IntImm("int64", 0), grain)
    wanted = writer.e.index(grain) if isinstance(grain, PrimExpr) else str(int(grain))
    kind = register_type(stmt.loop_var.dtype)
    widened = "zext" if stmt.loop_var.dtype.kind == "uint" else "sext"
    count = extent if kind == "i64" else f.value(f"{widened} {kind} {extent} to i64")
    closure = f.alloca(struct, 1, 16)
    for place, var in enumerate(captured):
        slot = f.value(f"getelementptr {struct}, ptr {closure}, i64 0, i32 {place}")
        f.line(f"store {kinds[place]} {writer.e.env[var]}, ptr {slot}")
    symbol = f.module.import_function("baton_parallel_for", "void", ["ptr", "ptr", "i64", "i64"])
    f.line(f"call void {symbol}(ptr @{outer}, ptr {closure}, i64 {count}, i64 {wanted})")


def _names(writer: LoopWriter) -> tuple[str, str]:
    number = writer.context.outlined
    writer.context.outlined += 1
    return f"parallel.{number}.body", f"parallel.{number}"


def _captured(writer: LoopWriter, stmt: st.For) -> list[tir.Var]:
    """The free variables of the loop, in order of use."""
    env = writer.e.env
    used = [n for n in post_order(stmt) if isinstance(n, tir.Var) and n in env and n is not stmt.loop_var]
    extra: list[tir.Var] = []
    if writer.context.checked:
        for var in used:
            if var in writer.extents:
                extra += [n for n in post_order(writer.extents[var]) if isinstance(n, tir.Var) and n in env]
    return list(dict.fromkeys([*used, *extra]))


def _write_inner(
    writer: LoopWriter, stmt: st.For, name: str, captured: list[tir.Var], params: list[tuple[str, str]]
) -> None:
    text = FunctionText(writer.f.module)
    inner = writer.beside(text)
    inner.e.env = {var: operand for var, (_, operand) in zip(captured, params)}
    inner.extents.update(writer.extents)
    kind = register_type(stmt.loop_var.dtype)
    first, last = "%begin", "%end"
    if kind != "i64":
        first, last = text.value(f"trunc i64 %begin to {kind}"), text.value(f"trunc i64 %end to {kind}")
    if not ops.is_const(stmt.min, 0):
        start = inner.e.fresh(stmt.min)
        first, last = text.value(f"add {kind} {first}, {start}"), text.value(f"add {kind} {last}, {start}")
    inner.counted(stmt.loop_var, first, last, kind, lambda: inner.emit(stmt.body))
    text.line("ret void")
    apart = [" noalias" if writer.context.is_apart(var) else "" for var in captured]
    spelled = [f"{kind}{noalias} {operand}" for (kind, operand), noalias in zip(params, apart)]
    header = f"define internal void @{name}({', '.join([*spelled, 'i64 %begin', 'i64 %end'])}) noinline #0"
    writer.f.module.definitions[name] = text.finish(header)


def _write_outer(writer: LoopWriter, names: tuple[str, str], struct: str, kinds: list[str]) -> None:
    inner, outer = names
    text = FunctionText(writer.f.module)
    operands = []
    for place, kind in enumerate(kinds):
        slot = text.value(f"getelementptr {struct}, ptr %closure, i64 0, i32 {place}")
        operands.append(f"{kind} {text.value(f'load {kind}, ptr {slot}')}")
    text.line(f"call void @{inner}({', '.join([*operands, 'i64 %begin', 'i64 %end'])})")
    text.line("ret void")
    header = f"define internal void @{outer}(ptr %closure, i64 %begin, i64 %end) #0"
    writer.f.module.definitions[outer] = text.finish(header)
