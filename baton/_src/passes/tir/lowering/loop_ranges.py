"""The ranges of loop and axis variables at every point of a kernel."""

from __future__ import annotations

from baton._src.ir.expr import Range
from baton._src.ir.traverse import post_order
from baton._src.tir import expr as tir
from baton._src.tir import stmt as st
from baton._src.tir.arith.analyzer import Analyzer


def with_ranges(body: st.Stmt) -> Analyzer:
    """A prover that knows the ranges of loops and axes; a variable of several loops is left out."""
    ranges: dict[tir.Var, Range | None] = {}
    for node in reversed(post_order(body)):  # outer loops first, as sums name them
        if isinstance(node, st.For):
            ranges[node.loop_var] = None if node.loop_var in ranges else Range(node.min, node.extent)
        elif isinstance(node, st.Block):
            ranges.update({axis.var: None if axis.var in ranges else axis.dom for axis in node.iter_vars})
    return Analyzer.over({var: domain for var, domain in ranges.items() if domain is not None})
