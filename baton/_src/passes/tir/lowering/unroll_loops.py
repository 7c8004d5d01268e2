"""Loops marked `UNROLLED` are unrolled if their extent is a constant of at most `LIMIT`; others become serial."""

from __future__ import annotations

from baton._src.ir.node import Node
from baton._src.ir.traverse import rewrite
from baton._src.passes.tir.lowering.fold import Template, fold
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir import stmt as st

LIMIT = 256


def unroll_loops(body: st.Stmt) -> st.Stmt:
    """`body` with marked loops unrolled."""

    def rule(node: Node) -> Node | None:
        if not isinstance(node, st.For) or node.kind is not st.ForKind.UNROLLED:
            return fold(node)
        if not isinstance(node.extent, tir.IntImm) or node.extent.value > LIMIT:
            return node.with_fields(kind=st.ForKind.SERIAL)
        template, var = Template(node.body, [node.loop_var]), node.loop_var
        copies = [
            template.instance({var: ops.add(node.min, tir.IntImm(var.dtype, i))}) for i in range(node.extent.value)
        ]
        return copies[0] if len(copies) == 1 else st.SeqStmt(tuple(copies))

    found: st.Stmt = rewrite(body, rule)
    return found
