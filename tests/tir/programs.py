"""Small PrimFuncs to test with: written by hand, made by te, and drawn at random."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from baton._src.ir.expr import PrimExpr, Range
from baton._src.te import reduction
from baton._src.te.computation import compute, placeholder, reduce_axis
from baton._src.te.prim_func import create_prim_func
from baton._src.tir import expr as tir
from baton._src.tir.buffer import Buffer, decl_buffer
from baton._src.tir.builders.scalar_functions import call, exp, if_then_else
from baton._src.tir.expr import BufferLoad, FloatImm, IntImm, IterVar, SizeVar, Var
from baton._src.tir.prim_func import PrimFunc
from baton._src.tir.stmt import (
    Allocate,
    AssertStmt,
    AttrStmt,
    Block,
    BlockRealize,
    BufferStore,
    Evaluate,
    For,
    ForKind,
    IfThenElse,
    LetStmt,
    SeqStmt,
    Stmt,
    full_region,
)
from baton._src.values.dtype import BOOL, HANDLE

TRUE = IntImm(BOOL, 1)


def matmul_add(n: Any = 4) -> PrimFunc:
    """D = A @ B + 1 with A of shape (n, 8), B of shape (8, 5)."""
    a, b = placeholder((n, 8), name="A"), placeholder((8, 5), name="B")
    k = reduce_axis((0, 8), "k")
    c = compute((n, 5), lambda i, j: reduction.sum(a[i, k] * b[k, j], axis=k), name="C")
    d = compute((n, 5), lambda i, j: c[i, j] + 1.0, name="D")
    return create_prim_func([a, b, d])


class RandomProgram:
    """Draws a well-formed PrimFunc over an int32 and a float32 buffer."""

    def __init__(self, draw: Any) -> None:
        self.draw = draw
        self.scalars: list[Var] = [Var("m", "int32"), SizeVar("n", "int64")]
        self.buffers: list[Buffer] = [decl_buffer((16, 16), "float32", "A"), decl_buffer((16,), "int32", "B")]
        self.count = 0

    def func(self) -> PrimFunc:
        handles = [Var(f"p_{b.name}", HANDLE) for b in self.buffers]
        params = [*handles, self.scalars[0]]
        body = SeqStmt(tuple(self.statement(3) for _ in range(self.draw(st.integers(2, 5)))))
        n = Var("n_1", "int64")
        shaped = decl_buffer((n, 4), "float32", "S")
        own = Var("s", HANDLE)
        self.scalars[1] = n
        attrs = {"global_symbol": "main", "tir.noalias": True}
        return PrimFunc([*params, own], body, None, {**dict(zip(handles, self.buffers)), own: shaped}, attrs)

    def fresh(self, hint: str, dtype: str) -> Var:
        self.count += 1
        return Var(f"{hint}{self.count}", dtype)

    def pick(self, options: list[Any]) -> Any:
        return self.draw(st.sampled_from(options))

    def integer(self, depth: int, dtype: str = "int32") -> PrimExpr:
        known = [v for v in self.scalars if v.dtype == dtype and not isinstance(v, SizeVar)]
        leaves: list[Any] = [lambda: IntImm(dtype, self.draw(st.integers(-9, 9)))]
        leaves += [lambda v=v: v for v in known]
        if depth == 0:
            return self.pick(leaves)()
        kind = self.pick(
            [tir.Add, tir.Sub, tir.Mul, tir.FloorDiv, tir.FloorMod, tir.Div, tir.Mod, tir.Min, tir.Max, None]
        )
        if kind is None:
            if dtype == "int32" and self.draw(st.booleans()):
                return BufferLoad(self.buffers[1], (self.index(depth - 1),))
            return if_then_else(
                self.condition(depth - 1), self.integer(depth - 1, dtype), self.integer(depth - 1, dtype)
            )
        if kind in (tir.FloorDiv, tir.FloorMod, tir.Div, tir.Mod):
            return kind(self.integer(depth - 1, dtype), IntImm(dtype, self.pick([-3, 1, 2, 5, 8])))
        return kind(self.integer(depth - 1, dtype), self.integer(depth - 1, dtype))

    def index(self, depth: int) -> PrimExpr:
        """An index within every buffer's dims."""
        return tir.FloorMod(self.integer(depth), IntImm("int32", 16))

    def floating(self, depth: int) -> PrimExpr:
        if depth == 0:
            return FloatImm("float32", self.draw(st.floats(width=32)))
        option = self.draw(st.integers(0, 6))
        if option == 0:
            return BufferLoad(self.buffers[0], (self.index(depth - 1), self.index(depth - 1)))
        if option == 1:
            return tir.Cast("float32", self.integer(depth - 1))
        if option == 2:
            return exp(self.floating(depth - 1))
        if option == 3:
            return call("atan2", self.floating(depth - 1), self.floating(depth - 1))
        if option == 4:
            return tir.Select(self.condition(depth - 1), self.floating(depth - 1), self.floating(depth - 1))
        kind = self.pick([tir.Add, tir.Sub, tir.Mul, tir.Div, tir.Min, tir.Max])
        return kind(self.floating(depth - 1), self.floating(depth - 1))

    def condition(self, depth: int) -> PrimExpr:
        option = self.draw(st.integers(0, 3)) if depth else 0
        if option == 0:
            kind = self.pick([tir.EQ, tir.NE, tir.LT, tir.LE, tir.GT, tir.GE])
            return kind(self.integer(depth), self.integer(depth))
        if option == 1:
            return tir.Not(self.condition(depth - 1))
        return self.pick([tir.And, tir.Or])(self.condition(depth - 1), self.condition(depth - 1))

    def statement(self, depth: int) -> Stmt:
        option = self.draw(st.integers(0, 9)) if depth else self.draw(st.integers(0, 2))
        match option:
            case 0:
                return BufferStore(self.buffers[0], self.floating(2), (self.index(1), self.index(1)))
            case 1:
                return BufferStore(self.buffers[1], self.integer(2), (self.index(1),))
            case 2:
                return Evaluate(self.integer(1))
            case 3:
                return SeqStmt(tuple(self.statement(depth - 1) for _ in range(self.draw(st.integers(2, 3)))))
            case 4:
                other = self.statement(depth - 1) if self.draw(st.booleans()) else None
                return IfThenElse(self.condition(1), self.statement(depth - 1), other)
            case 5:
                value = self.integer(2)
                var = self.fresh("x", "int32")
                return LetStmt(var, value, self.with_scalar(var, depth - 1))
            case 6:
                return AttrStmt(None, "pragma", self.integer(1), self.statement(depth - 1))
            case 7:
                return AssertStmt(self.condition(1), tir.StringImm('it\'s "so"'), self.statement(depth - 1))
            case 8:
                pointer = Var(f"p{self.count}", HANDLE, pointee=self.buffers[0].dtype, scope="local")
                extents = (self.integer(0), self.integer(1))
                return Allocate(pointer, dtype=self.buffers[0].dtype, extents=extents, body=self.statement(depth - 1))
            case _:
                return self.loop(depth)

    def with_scalar(self, var: Var, depth: int) -> Stmt:
        self.scalars.append(var)
        found = self.statement(depth)
        self.scalars.remove(var)
        return found

    def loop(self, depth: int) -> Stmt:
        var = self.fresh("i", self.pick(["int32", "int32", "int64"]))
        kind = self.pick([ForKind.SERIAL, ForKind.SERIAL, ForKind.PARALLEL, ForKind.UNROLLED, ForKind.VECTORIZED])
        begin = self.draw(st.integers(0, 2)) * self.draw(st.integers(0, 1))
        extent = self.integer(1) if var.dtype == "int32" and begin == 0 else self.draw(st.integers(1, 8))
        notes = {"pragma_note": "x", "count": 3} if self.draw(st.booleans()) else None
        inner = self.block(var) if self.draw(st.booleans()) else self.with_scalar(var, depth - 1)
        return For(var, begin, extent, kind, inner, None, notes)

    def block(self, loop_var: Var) -> Stmt:
        axis = IterVar(Range(IntImm(loop_var.dtype, 0), IntImm(loop_var.dtype, 8)), self.fresh("v", loop_var.dtype))
        index = axis.var if loop_var.dtype == "int32" else tir.Cast("int32", axis.var)
        temporary = decl_buffer((4,), "float32", f"T{self.count}", scope="local")
        store = BufferStore(self.buffers[1], BufferLoad(self.buffers[1], (index,)), (index,))
        init = BufferStore(self.buffers[1], IntImm("int32", 0), (index,)) if self.draw(st.booleans()) else None
        read = tir.Add(loop_var, IntImm(loop_var.dtype, 0)) if self.draw(st.booleans()) else loop_var
        block = Block(
            [axis],
            [full_region(self.buffers[1])],
            [full_region(self.buffers[1])],
            f"block{self.count}",
            store,
            init,
            [temporary] if self.draw(st.booleans()) else [],
            annotations={"tag": "x"} if self.draw(st.booleans()) else None,
        )
        return BlockRealize((read,), self.pick([TRUE, self.condition(1)]), block)


@st.composite
def programs(draw: Any) -> PrimFunc:
    """A random PrimFunc; blocks stand in a root block."""
    func = RandomProgram(draw).func()
    return func.with_fields(body=BlockRealize((), TRUE, Block((), (), (), "root", func.body)))
