"""Lower blocks one step at a time, for scripts that run the steps individually (`lower_blocks` takes all steps at
once).

LowerInitBlock              the init of a reduction becomes a condition in the block's body
ConvertBlocksToOpaque       axes are replaced by their values
LowerMatchBuffer views become accesses of the underlying buffer
LowerOpaqueBlock (in its own file) blocks without axes are replaced by their contents
"""

from __future__ import annotations

from baton._src.ir.node import Node
from baton._src.ir.traverse import rewrite
from baton._src.passes.tir.lowering.fold import substitute_and_fold
from baton._src.passes.tir.lowering.views import view_as_source
from baton._src.passes.tir.prim_func_pass import PrimFuncPass
from baton._src.support.dataclass import dataclass
from baton._src.support.diagnostics import fail
from baton._src.tir import operators as ops
from baton._src.tir import stmt as st
from baton._src.tir.prim_func import PrimFunc
from baton._src.transform.context import PassContext


class _BlockStep(PrimFuncPass):
    """A rule for blocks or their realisations."""

    def body(self, body: st.Stmt, function: PrimFunc, ctx: PassContext) -> st.Stmt:
        found: st.Stmt = rewrite(body, self.rule)
        return found

    def rule(self, node: Node) -> Node | None:
        """The replacement of `node`, or None to keep it."""
        raise NotImplementedError


@dataclass(frozen=True)
class LowerInitBlock(_BlockStep):
    """`init` runs in the body, if every reduced axis is at its start."""

    def rule(self, node: Node) -> Node | None:
        if not isinstance(node, st.Block) or node.init is None:
            return None
        first: st.Stmt = node.init
        starts = [
            ops.build("equal", iv.var, iv.dom.min) for iv in node.iter_vars if iv.iter_type == "reduce" and iv.dom
        ]
        if starts:
            first = st.IfThenElse(ops.all(*starts), first)
        return node.with_fields(init=None, body=st.SeqStmt((first, node.body)))


@dataclass(frozen=True)
class ConvertBlocksToOpaque(_BlockStep):
    """Replace axes by their values; blocks and their read and write regions stay."""

    def rule(self, node: Node) -> Node | None:
        if not isinstance(node, st.BlockRealize) or not node.iter_values:
            return None
        block = node.block
        if block.init is not None:
            raise fail("tir-init", f"the block {block.name_hint} still has an init", help="run LowerInitBlock first")
        values = {iv.var: ops.cast(iv.var.dtype, v) for iv, v in zip(block.iter_vars, node.iter_values)}
        bare = block.with_fields(iter_vars=())
        return node.with_fields(iter_values=(), block=substitute_and_fold(bare, values))


@dataclass(frozen=True)
class LowerMatchBuffer(_BlockStep):
    """Replace accesses of a view (`match_buffers`) by accesses of the underlying buffer."""

    def rule(self, node: Node) -> Node | None:
        if not isinstance(node, st.Block) or not node.match_buffers:
            return None
        body, init = node.body, node.init
        for match in reversed(node.match_buffers):
            body = view_as_source(body, match)
            init = None if init is None else view_as_source(init, match)
        return node.with_fields(match_buffers=(), body=body, init=init)


__all__ = ["ConvertBlocksToOpaque", "LowerInitBlock", "LowerMatchBuffer"]
