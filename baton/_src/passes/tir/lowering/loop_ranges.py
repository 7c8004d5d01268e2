"""The ranges of loop and axis variables at every point of a kernel."""

from __future__ import annotations

from baton._src.ir.expr import Range
from baton._src.ir.structural import structural_equal
from baton._src.ir.traverse import post_order
from baton._src.tir import expr as tir
from baton._src.tir import stmt as st
from baton._src.tir.arith.analyzer import Analyzer


def with_ranges(body: st.Stmt) -> Analyzer:
    """A prover that knows the ranges of loops and axes; a variable of loops of different ranges is left out."""
    ranges: dict[tir.Var, Range | None] = {}
    for node in reversed(post_order(body)):  # outer loops first, as sums name them
        if isinstance(node, st.For):
            own: list[tuple[tir.Var, Range | None]] = [(node.loop_var, Range(node.min, node.extent))]
        elif isinstance(node, st.Block):
            own = [(axis.var, axis.dom) for axis in node.iter_vars]
        else:
            continue
        for var, domain in own:
            ranges[var] = domain if var not in ranges or structural_equal(ranges[var], domain) else None
    return Analyzer.over({var: domain for var, domain in ranges.items() if domain is not None})
