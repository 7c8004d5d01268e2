"""Loops marked `VECTORIZED` become loops over vectors.

The extent may be any expression: full vectors of the target's width come first, then a tail. The tail of a constant
extent is one narrower vector where its length is a power of two; otherwise one masked vector where masks are cheap
(AVX-512, SVE), else a serial loop.

    for i in vectorized(n): C[i] = A[i] + 1
    ->  for o in range(n // 16): C[ramp(o * 16, 1, 16)] = A[ramp(o * 16, 1, 16)] + 1
        if n % 16 > 0: where ramp(n // 16 * 16, 1, 16) < n: C[...] = A[...] + 1

A loop that cannot be vectorised (a store whose index does not depend on the loop, a bound or a call that does,
iterations that depend on each other) stays a serial loop: the annotation is only a hint.
"""

from __future__ import annotations

import math
from typing import Any

from baton._src.ir.expr import PrimExpr
from baton._src.ir.node import Node
from baton._src.ir.target import Target
from baton._src.ir.traverse import post_order, rewrite
from baton._src.passes.tir.lowering.fold import fold, substitute_and_fold
from baton._src.passes.tir.lowering.widen import CannotVectorize, Widening
from baton._src.passes.tir.vector_order import lanes_need_each_other
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir import stmt as st
from baton._src.tir.intrinsics import intrinsic

UNROLL_VECTORS = 8
"""Up to this many vectors of a constant extent are unrolled instead of looped over."""
MOST_BESIDE = 16
"""Up to this many vectors are in an iteration, if only so elements that are loaded repeatedly are in step with them."""


def vectorize_loops(body: st.Stmt, target: Target) -> st.Stmt:
    """`body` with marked loops vectorised, inner loops first."""

    def rule(node: Node) -> Any:
        if isinstance(node, tir.Call) and node.op is _VECTOR_BITS:
            return tir.IntImm(node.dtype, target.vector_bits)
        if isinstance(node, st.IfThenElse) and isinstance(node.condition, tir.IntImm):
            return _chosen(node, bool(node.condition.value))
        if not isinstance(node, st.For) or node.kind is not st.ForKind.VECTORIZED:
            return fold(node)
        if not target.vector_bits:
            return node.with_fields(kind=st.ForKind.SERIAL)
        try:
            return _vectorize(node, target)
        except CannotVectorize:
            return node.with_fields(kind=st.ForKind.SERIAL)

    found: st.Stmt = rewrite(body, rule)
    return found


_VECTOR_BITS = intrinsic("vector_bits")


def _chosen(choice: st.IfThenElse, condition: bool) -> st.Stmt:
    """The branch that is taken, where that is known."""
    if condition:
        return choice.then_case
    return st.Evaluate(tir.IntImm("int32", 0)) if choice.else_case is None else choice.else_case


def vector_lanes(loop: st.For, target: Target) -> int:
    """The number of lanes for which the widest loaded or stored element fills a register; 8-bit types are ignored."""
    bits = 8
    for item in post_order(loop.body):
        if isinstance(item, (tir.BufferLoad, st.BufferStore)):
            bits = max(bits, item.buffer.dtype.bits)
    return max(2, target.lanes(max(bits, 16)))


def has_cheap_masks(target: Target) -> bool:
    """Whether a masked vector costs about as much as a plain one."""
    return bool({"avx512vl", "sve"} & target.features)


def _vectorize(loop: st.For, target: Target) -> st.Stmt:
    lanes = int(loop.annotations.get("lanes", 0)) or vector_lanes(loop, target)
    if lanes_need_each_other(loop, lanes):
        raise CannotVectorize("iterations that need each other's results")
    if isinstance(loop.extent, tir.IntImm):
        return _constant(loop, max(loop.extent.value, 0), lanes, target)
    return _symbolic(loop, lanes, target)


def _at(loop: st.For, offset: PrimExpr, lanes: int) -> st.Stmt:
    """The body for `lanes` iterations from min + offset."""
    base = ops.add(loop.min, offset)
    if lanes == 1:
        found: st.Stmt = substitute_and_fold(loop.body, {loop.loop_var: base})
        return found
    return Widening(loop.loop_var, base, lanes).statement(loop.body)


def _constant(loop: st.For, extent: int, lanes: int, target: Target) -> st.Stmt:
    dtype = loop.loop_var.dtype
    full, rest = divmod(extent, lanes)
    parts: list[st.Stmt] = []
    beside = _vectors_beside(loop, lanes)
    iterations = full // beside if full > UNROLL_VECTORS else 0
    if iterations:
        parts.append(_vector_loop(loop, iterations, lanes, beside))
    parts += [_at(loop, tir.IntImm(dtype, i * lanes), lanes) for i in range(iterations * beside, full)]
    if rest:
        parts.append(_constant_tail(loop, full * lanes, rest, lanes, target))
    if not parts:
        return st.Evaluate(tir.IntImm("int32", 0))
    return parts[0] if len(parts) == 1 else st.SeqStmt(tuple(parts))


def _vector_loop(loop: st.For, count: int, lanes: int, beside: int) -> st.For:
    """A loop of so many iterations, each over `beside` vectors."""
    dtype = loop.loop_var.dtype
    outer = tir.Var(f"{loop.loop_var.name}_o", dtype)
    start = ops.multiply(outer, tir.IntImm(dtype, lanes * beside))
    vectors = [_at(loop, ops.add(start, tir.IntImm(dtype, lanes * n)), lanes) for n in range(beside)]
    body = vectors[0] if beside == 1 else st.SeqStmt(tuple(vectors))
    return st.For(outer, 0, tir.IntImm(dtype, count), st.ForKind.SERIAL, body)


def _vectors_beside(loop: st.For, lanes: int) -> int:
    """After how many vectors one begins again where elements loaded for `times` iterations each do: how each vector
    lies among them is then known. 1 if that takes too many.
    """
    loads = [node for node in post_order(loop.body) if isinstance(node, tir.BufferLoad)]
    found = 1
    for node in post_order([load.indices for load in loads]):
        if isinstance(node, tir.FloorDiv) and isinstance(node.b, tir.IntImm) and loop.loop_var in post_order(node.a):
            times = node.b.value
            found = math.lcm(found, 1 if times % lanes == 0 else math.lcm(lanes, times) // lanes)
    return found if found <= MOST_BESIDE else 1


def _constant_tail(loop: st.For, start: int, rest: int, lanes: int, target: Target) -> st.Stmt:
    dtype = loop.loop_var.dtype
    if rest & (rest - 1) == 0:
        return _at(loop, tir.IntImm(dtype, start), rest)
    if has_cheap_masks(target):
        return _masked(loop, tir.IntImm(dtype, start), lanes)
    parts = []
    while rest:
        width = 1 << (rest.bit_length() - 1)
        parts.append(_at(loop, tir.IntImm(dtype, start), width))
        start, rest = start + width, rest - width
    return st.SeqStmt(tuple(parts))


def _symbolic(loop: st.For, lanes: int, target: Target) -> st.Stmt:
    dtype = loop.loop_var.dtype
    width = tir.IntImm(dtype, lanes)
    outer = tir.Var(f"{loop.loop_var.name}_o", dtype)
    extent = ops.max(loop.extent, tir.IntImm(dtype, 0))  # one below 0, rounded down, would leave a tail
    full = ops.floordiv(extent, width)
    main = st.For(outer, 0, full, st.ForKind.SERIAL, _at(loop, ops.multiply(outer, width), lanes))
    done = ops.multiply(full, width)
    rest = ops.subtract(extent, done)
    if has_cheap_masks(target):
        tail: st.Stmt = st.IfThenElse(tir.GT(rest, tir.IntImm(dtype, 0)), _masked(loop, done, lanes))
    else:
        single = tir.Var(f"{loop.loop_var.name}_t", dtype)
        tail = st.For(single, 0, rest, st.ForKind.SERIAL, _at(loop, ops.add(done, single), 1))
    return st.SeqStmt((main, tail))


def _masked(loop: st.For, start: PrimExpr, lanes: int) -> st.Stmt:
    """The last iterations, under the condition that they exist."""
    base = ops.add(loop.min, start)
    end = ops.add(loop.min, loop.extent)
    inside = tir.LT(tir.Ramp(base, tir.IntImm(base.dtype, 1), lanes), tir.Broadcast(end, lanes))
    widening = Widening(loop.loop_var, base, lanes)
    widening.depth = 1
    return st.IfThenElse(inside, widening.statement(loop.body))
