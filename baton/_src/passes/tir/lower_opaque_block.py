"""LowerOpaqueBlock: replace blocks without axes by their contents, and loops by what code generation supports, as in
TVM.

    for i in T.thread_binding(8, "threadIdx.x"):        with T.launch_thread("threadIdx.x", 8) as i:
        for u in range(1):                                  C_data = T.allocate([4], "float32")
            with T.block(""):                       ->      C = T.decl_buffer((4,), data=C_data)
                C = T.alloc_buffer((4,))                    C[0] = A[i]
                C[u] = A[i]

Predicates become conditions, annotations that begin with `pragma_` attributes around the loop or block, by name. Loops
of one iteration without annotations are removed.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

from baton._src.ir.expr import PrimExpr, Range
from baton._src.ir.node import Node
from baton._src.ir.traverse import rewrite, substitute
from baton._src.passes.tir.lowering.flatten_buffers import element_count
from baton._src.passes.tir.prim_func_pass import PrimFuncPass
from baton._src.passes.tir.ssa import converted
from baton._src.passes.tir.storage_alignment import Alignment, alignments
from baton._src.support.dataclass import dataclass
from baton._src.support.diagnostics import fail
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir import stmt as st
from baton._src.tir.arith.analyzer import Analyzer
from baton._src.tir.block_annotations import BUFFER_DIM_ALIGN
from baton._src.tir.buffer import Buffer
from baton._src.tir.prim_func import PrimFunc
from baton._src.tir.schedule.tree import is_true
from baton._src.tir.thread_axes import launch
from baton._src.transform.context import PassContext


@dataclass(frozen=True)
class LowerOpaqueBlock(PrimFuncPass):
    """See the module. Error `tir-opaque`: blocks have axes, an init or views."""

    def body(self, body: st.Stmt, function: PrimFunc, ctx: PassContext) -> st.Stmt:
        aligned = alignments(body)
        single: dict[Any, PrimExpr] = {}

        def rule(node: Node) -> Node | None:
            match node:
                case st.BlockRealize():
                    return _lowered(node, aligned)
                case st.For() if ops.is_const(node.extent, 1) and not node.annotations and not node.thread_binding:
                    single[node.loop_var] = ops.cast(node.loop_var.dtype, node.min)
                    return node.body
                case st.For():
                    return _loop(node)
                case _:
                    return None

        found = rewrite(converted(body, function), rule)
        for var in reversed(single):  # outer ones come last; starts of inner ones may mention them
            single[var] = substitute(single[var], single)
        whole: st.Stmt = substitute(found, single) if single else found
        return whole


def _lowered(realize: st.BlockRealize, aligned: Mapping[tir.Var, Alignment]) -> st.Stmt:
    block = realize.block
    if realize.iter_values or block.init is not None or block.match_buffers:
        steps = "LowerInitBlock, ConvertBlocksToOpaque and LowerMatchBuffer"
        raise fail("tir-opaque", f"the block {block.name_hint} has axes, an init or views", help=f"run {steps} first")
    body = block.body if is_true(realize.predicate) else st.IfThenElse(realize.predicate, block.body)
    for buffer in reversed(block.alloc_buffers):
        body = _allocated(buffer, body, aligned.get(buffer.data, {}))
    return _with_pragmas(tir.IntImm("int32", 0), block.annotations, body)


def _loop(loop: st.For) -> st.Stmt:
    pragmas = {key: value for key, value in loop.annotations.items() if key.startswith("pragma_")}
    kept = {key: value for key, value in loop.annotations.items() if key not in pragmas}
    if loop.thread_binding is not None and ops.is_const(loop.min, 0):
        tag = loop.thread_binding.thread_tag
        axis = tir.IterVar(Range(loop.min, loop.extent), loop.loop_var, tir.IterVar.ThreadIndex, tag)
        made: st.Stmt = launch(axis, loop.body)
    else:
        made = loop.with_fields(annotations=kept) if pragmas else loop
    return _with_pragmas(loop.loop_var, pragmas, made)


def _with_pragmas(owner: PrimExpr, annotations: Mapping[str, Any], body: st.Stmt) -> st.Stmt:
    for key in sorted((k for k in annotations if k.startswith("pragma_")), reverse=True):
        value = annotations[key]
        body = st.AttrStmt(owner, key, tir.StringImm(value) if isinstance(value, str) else ops.convert(value), body)
    return body


def _allocated(buffer: Buffer, body: st.Stmt, alignment: Alignment) -> st.Stmt:
    """Allocate `buffer` around `body`, with the row alignment in the annotation."""
    entries = [[-1, axis, factor, offset] for axis, (factor, offset) in alignment.items()]
    annotations = {BUFFER_DIM_ALIGN: entries} if entries else None
    body = st.DeclBuffer(buffer, body)
    return st.Allocate(buffer.data, buffer.dtype, _extents(buffer), None, body, annotations)


def _extents(buffer: Buffer) -> tuple[PrimExpr, ...]:
    """The shape including the gaps between rows: the extent of an axis is the ratio of its strides."""
    if not buffer.strides and buffer.elem_offset is None:
        return buffer.shape
    steps = [d.value for d in buffer.strides if isinstance(d, tir.IntImm)]
    pairs = [*itertools.pairwise(steps)]
    rows_hold_rows = len(steps) == len(buffer.shape) and steps[-1:] == [1] and all(b and a % b == 0 for a, b in pairs)
    if buffer.elem_offset is not None or not rows_hold_rows:
        return (Analyzer().simplify(ops.max(element_count(buffer), 1)),)
    return (buffer.shape[0], *(tir.literal(a // b, buffer.shape[0].dtype) for a, b in pairs))


__all__ = ["LowerOpaqueBlock"]
