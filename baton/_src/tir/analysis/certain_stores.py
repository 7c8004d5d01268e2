"""The elements of a buffer that a statement certainly stores, to determine whether a later read finds them.

`tir.regions` gives boxes around everything that may be stored; they may have holes: every second element, a diagonal,
elements excluded by a condition. This module gives the boxes of single stores without holes.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from baton._src.ir.expr import PrimExpr, Range
from baton._src.ir.traverse import substitute
from baton._src.tir import operators as ops
from baton._src.tir import stmt as st
from baton._src.tir.arith.analyzer import Analyzer
from baton._src.tir.arith.iterators.iter_affine_map import detect_iter_map
from baton._src.tir.arith.iterators.iter_nodes import IterSumExpr
from baton._src.tir.buffer import Buffer

Box = tuple[Range, ...]


class _Around(NamedTuple):
    """The context of a statement."""

    loops: dict[Any, Range]
    values: dict[Any, PrimExpr]
    """Of the axes of blocks and of bound variables, in terms of loops."""
    conditions: tuple[PrimExpr, ...]


def certain_stores(body: st.Stmt, buffer: Buffer) -> list[Box]:
    """A box for each store that fills one, over all inner loops. The box may exceed the buffer: nothing is read outside
    it.
    """
    found: list[Box] = []
    pending = [(body, _Around({}, {}, ()))]
    while pending:
        stmt, around = pending.pop()
        match stmt:
            case st.BufferStore() if stmt.buffer is buffer:
                box = _box(stmt, around)
                found += [box] if box is not None else []
            case st.For(loop_var=var):
                around = around._replace(loops={**around.loops, var: Range(stmt.min, stmt.extent)})
            case st.BlockRealize(block=block):
                bound = {a.var: substitute(v, around.values) for a, v in zip(block.iter_vars, stmt.iter_values)}
                told = (*around.conditions, *ops.conjuncts(substitute(stmt.predicate, around.values)))
                around = around._replace(values={**around.values, **bound}, conditions=told)
            case st.LetStmt(var=var, value=value):
                around = around._replace(values={**around.values, var: substitute(value, around.values)})
            case st.IfThenElse() | st.While():
                continue  # perhaps
            case _:
                pass
        pending += [(part, around) for part in st.inner_statements(stmt)]
    return found


def _box(store: st.BufferStore, around: _Around) -> Box | None:
    analyzer = Analyzer.over(around.loops)
    indices = [substitute(index, around.values) for index in store.indices]
    inside = [ops.less(index, dim) for index, dim in zip(indices, store.buffer.shape)]
    inside += [ops.less_equal(ops.const(0, index.dtype), index) for index in indices]
    for condition in around.conditions:
        if not any(analyzer.prove(ops.logical_or(ops.logical_not(told), condition)) for told in inside):
            return None
    sums = detect_iter_map(indices, around.loops)
    parts = None if sums.errors else [dense(index, analyzer) for index in sums.indices]
    return None if parts is None or None in parts else tuple(p for p in parts if p is not None)


def dense(index: IterSumExpr, analyzer: Analyzer) -> Range | None:
    """The range of an index without holes: no stride exceeds the range covered by smaller ones."""
    span: PrimExpr = ops.const(1, index.base.dtype)
    left = [*index.args]
    while left:
        step = next((arg for arg in left if analyzer.prove(ops.less_equal(arg.scale, span))), None)
        if step is None or not analyzer.prove(ops.less_equal(ops.const(1, step.scale.dtype), step.scale)):
            return None
        left.remove(step)
        span = ops.add(span, ops.multiply(ops.subtract(step.extent, 1), step.scale))
    return Range(index.base, span)
