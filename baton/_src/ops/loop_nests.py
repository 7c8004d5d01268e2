"""Statements for kernels that cannot be written as one expression an element: scans, scatters, sorts.

loops(shape, lambda *i: store(out, i, x[i]))        for every index: out[i] = x[i]
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from baton._src.ir.expr import PrimExpr
from baton._src.ir.tensor_info import Dim
from baton._src.ops import kernel_words as k
from baton._src.tir.buffer import Buffer, decl_buffer
from baton._src.tir.expr import BufferLoad, Var
from baton._src.tir.stmt import Allocate, BufferStore, For, ForKind, IfThenElse, LetStmt, SeqStmt, Stmt


def loops(shape: Sequence[Dim], body: Callable[..., Stmt], names: str = "i") -> Stmt:
    """`body` for every index of `shape`, row-major; for no axes, once."""
    variables = [Var(f"{names}{n}", "int64") for n in range(len(shape))]
    found = body(*variables)
    for variable, extent in zip(reversed(variables), reversed(shape)):
        found = For(variable, k.index(0), k.index(extent), ForKind.SERIAL, found)
    return found


def loop(extent: Dim, body: Callable[[Var], Stmt], name: str = "i") -> Stmt:
    """`body` for 0, 1, ... extent - 1."""
    variable = Var(name, "int64")
    return For(variable, k.index(0), k.index(extent), ForKind.SERIAL, body(variable))


def let(name: str, value: PrimExpr, body: Callable[[Var], Stmt]) -> Stmt:
    """`body(v)` with the variable `v` bound to `value`."""
    variable = Var(name, value.dtype)
    return LetStmt(variable, value, body(variable))


def lets(values: Sequence[tuple[str, PrimExpr]], body: Callable[..., Stmt]) -> Stmt:
    """`body` of variables that stand for the values, in order."""

    def next_one(rest: Sequence[tuple[str, PrimExpr]], seen: tuple[Var, ...]) -> Stmt:
        if not rest:
            return body(*seen)
        return let(rest[0][0], rest[0][1], lambda v: next_one(rest[1:], (*seen, v)))

    return next_one(values, ())


def local(name: str, shape: Sequence[Dim], dtype: object, body: Callable[[Buffer], Stmt]) -> Stmt:
    """`body(b)` with memory of its own for the buffer `b`; a few elements at known places become registers."""
    buffer = decl_buffer([k.index(dim) for dim in shape], dtype, name, scope="local")
    return Allocate(buffer.data, dtype=buffer.dtype, extents=buffer.shape, body=body(buffer))


def store(buffer: Buffer, indices: Sequence[PrimExpr], value: PrimExpr) -> Stmt:
    """buffer[indices] = value"""
    return BufferStore(buffer, value, tuple(indices))


def load(buffer: Buffer, *indices: PrimExpr) -> PrimExpr:
    """buffer[indices]"""
    return BufferLoad(buffer, tuple(indices))


def both(*statements: Stmt) -> Stmt:
    """One after the other."""
    return statements[0] if len(statements) == 1 else SeqStmt(statements)


def when(condition: PrimExpr, then: Stmt, otherwise: Stmt | None = None) -> Stmt:
    """A conditional."""
    return IfThenElse(condition, then, otherwise)
