"""RemoveWeightLayoutRewriteBlock: parameters arrive in the layout that a block would have given them.

    def f(W): { for ..: block, marked: P[k, n // 8, n % 8] = W[k, n] }; .. P ..     ->      def f(P): .. P ..

Schedules mark such blocks with the annotation `meta_schedule.layout_rewrite_preproc`; whoever calls the kernel rewrites
the weight once.
"""

from __future__ import annotations

from typing import Any

from baton._src.ir.module import IRModule
from baton._src.ir.node import Node
from baton._src.ir.traverse import post_order, rewrite
from baton._src.passes.tir.prim_func_pass import PrimFuncPass
from baton._src.passes.tir.simplify import NOTHING
from baton._src.support.dataclass import dataclass
from baton._src.support.diagnostics import fail
from baton._src.tir import stmt as st
from baton._src.tir.buffer import Buffer
from baton._src.tir.prim_func import PrimFunc
from baton._src.transform.context import PassContext

_MARK = "meta_schedule.layout_rewrite_preproc"


@dataclass(frozen=True)
class RemoveWeightLayoutRewriteBlock(PrimFuncPass):
    """See the module's docstring. The blocks stay, and do nothing.

    Error `tir-block`: what a marked block copies is not one parameter to one buffer that the kernel allocates. There
    are no constants to rewrite, so `skip_ndarray_rewrite` makes no difference.
    """

    skip_ndarray_rewrite: bool = False

    def run_function(self, function: PrimFunc, module: IRModule, ctx: PassContext) -> Any:
        marked = [n for n in post_order(function.body) if isinstance(n, st.Block) and n.annotations.get(_MARK)]
        copies = dict(_copy(block, function) for block in marked)
        if not copies:
            return function
        arriving = {param: copies.get(buffer, buffer) for param, buffer in function.buffer_map.items()}
        body = rewrite(function.body, lambda node: _without(node, {*copies.values()}))
        return function.with_fields(body=body, buffer_map=arriving)


def _copy(block: st.Block, function: PrimFunc) -> tuple[Buffer, Buffer]:
    """The parameter that a block copies, and the buffer that it copies it to."""
    reads, writes = ([r.buffer for r in regions] for regions in (block.reads, block.writes))
    if len(reads) != 1 or len(writes) != 1 or reads[0] not in function.buffer_map.values():
        found = ", ".join(b.name for b in (*reads, *writes))
        raise fail("tir-block", f"block {block.name_hint} should copy one parameter to one buffer; it uses {found}")
    return reads[0], writes[0]


def _without(node: Node, arriving: set[Buffer]) -> Any:
    """A marked block, without what it does; any other without the buffers that are parameters now."""
    if not isinstance(node, st.Block):
        return None
    if node.annotations.get(_MARK):
        return node.with_fields(reads=(), writes=(), body=NOTHING)
    kept = tuple(buffer for buffer in node.alloc_buffers if buffer not in arriving)
    return node if kept == node.alloc_buffers else node.with_fields(alloc_buffers=kept)
