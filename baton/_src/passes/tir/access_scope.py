"""The context of a memory access: what enclosing loops, conditions and definitions imply about its indices."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from baton._src.ir.expr import PrimExpr, Range
from baton._src.ir.structural import structural_equal
from baton._src.ir.traverse import post_order, substitute
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir.analysis.guarded_accesses import Path
from baton._src.tir.arith.analyzer import Analyzer
from baton._src.tir.buffer import Buffer
from baton._src.tir.effects import is_stable


class Loop(NamedTuple):
    """`for var in range(begin, begin + extent)`."""

    var: tir.Var
    begin: PrimExpr
    extent: PrimExpr


class AccessScope:
    """The context of the accesses on one path. Expressions are in terms of its loops and outer variables."""

    def __init__(self, path: Path, sizes: Iterable[PrimExpr] = ()) -> None:
        self.path = path
        self.values: dict[Any, Any] = {}
        """The values of variables defined on the path."""
        for var, value in path.definitions.items():
            self.values[var] = substitute(value, self.values)
        self.loops = [Loop(n.loop_var, self.resolved(n.min), self.resolved(n.extent)) for n in path.loops]
        self.conditions = [self.resolved(c) for c in path.conditions]
        self.analyzer = sized(sizes)
        for loop in self.loops:
            self.analyzer.bind(loop.var, Range(loop.begin, loop.extent))
        for condition in self.conditions:
            if is_stable(condition):
                self.analyzer.assume(condition)

    def resolved(self, expr: PrimExpr) -> PrimExpr:
        """`expr` with the variables defined on the path substituted."""
        found: PrimExpr = substitute(expr, self.values)
        return found

    def is_inside(self, index: PrimExpr, extent: PrimExpr) -> bool:
        """Whether an index is provably in [0, extent)."""
        if any(index is n.var and ops.is_const(n.begin, 0) and _is_same(n.extent, extent) for n in self.loops):
            return True
        prove = self.analyzer.prove
        return index.dtype.lanes == 1 and prove(ops.greater_equal(index, 0)) and prove(ops.less(index, extent))

    def ends(self, index: PrimExpr, loops: Sequence[Loop]) -> tuple[PrimExpr, PrimExpr] | None:
        """The least and the greatest value of an index over `loops`, which must be independent; None if it is not
        monotonic in each of them.
        """
        low: dict[Any, Any] = {}
        high: dict[Any, Any] = {}
        for var, begin, extent in loops:
            step = ops.subtract(substitute(index, {var: ops.add(var, 1)}), index)
            last = ops.subtract(ops.add(begin, extent), 1)
            if self.analyzer.prove(ops.greater_equal(step, 0)):
                low[var], high[var] = begin, last
            elif self.analyzer.prove(ops.less_equal(step, 0)):
                low[var], high[var] = last, begin
            else:
                return None
        return substitute(index, low), substitute(index, high)


def sized(sizes: Iterable[PrimExpr]) -> Analyzer:
    """A prover that knows that sizes are not negative."""
    analyzer = Analyzer()
    for size in sizes:
        analyzer.assume(ops.greater_equal(size, 0))
    return analyzer


def open_dims(buffers: Iterable[Buffer]) -> list[PrimExpr]:
    """The dims that are not constant."""
    return list({d: None for b in buffers for d in b.shape if not isinstance(d, tir.IntImm)})


def may_miss(load: tir.BufferLoad, axes: Iterable[tuple[tir.Var, Range | None]]) -> bool:
    """Whether an index of a load depends on memory and is not provably in range for all values of `axes`. Axes of the
    buffer without elements are ignored.
    """
    found = [(i, e) for i, e in zip(load.indices, load.buffer.shape) if _is_read(i)]
    if not found:
        return False
    analyzer = Analyzer()
    for var, domain in axes:
        if domain is not None:
            analyzer.bind(var, domain)
    for _, extent in found:
        analyzer.assume(ops.greater_equal(extent, 1))
    prove = analyzer.prove
    return not all(prove(ops.greater_equal(i, 0)) and prove(ops.less(i, extent)) for i, extent in found)


def _is_read(index: PrimExpr) -> bool:
    return any(isinstance(n, tir.BufferLoad) for n in post_order(index))


def variables(exprs: Any) -> set[tir.Var]:
    """The variables that occur in expressions."""
    return {n for n in post_order(exprs) if isinstance(n, tir.Var)}


def _is_same(a: PrimExpr, b: PrimExpr) -> bool:
    return a is b or structural_equal(a, b)
