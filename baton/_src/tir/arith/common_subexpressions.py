"""`detect_common_subexpr`: find subexpressions that are computed several times.

    detect_common_subexpr((x + y) * (x + y) * (y + x), 2)      # {x + y: 3}

Subexpressions that are equal after simplification count as one. Loads and calls are not counted, nor expressions that
contain them: their values may change.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from baton._src.ir.expr import PrimExpr
from baton._src.ir.traverse import children, post_order
from baton._src.support.diagnostics import fail
from baton._src.tir import expr as tir
from baton._src.tir.arith import polynomial as p
from baton._src.tir.arith.canonical import canonical
from baton._src.tir.arith.facts import Context

_UNSTABLE = (tir.Call, tir.BufferLoad, tir.ProducerLoad, tir.Reduce, tir.Let)
_TRIVIAL = (tir.Var, tir.IntImm, tir.FloatImm, tir.StringImm, tir.AnyDim, tir.Ramp, tir.Broadcast)


def detect_common_subexpr(expr: PrimExpr, threshold: int) -> dict[PrimExpr, int]:
    """The parts of `expr` that are computed at least `threshold` times, and how often."""
    if threshold < 1:
        raise fail("api", f"a threshold is 1 or more, got {threshold}", kind=ValueError)
    nodes = post_order(expr)
    unstable = _unstable(nodes)
    context = Context()
    first: dict[Any, PrimExpr] = {}
    counts: Counter[Any] = Counter()
    for node, times in _uses(nodes).items():
        if isinstance(node, PrimExpr) and node not in unstable and not isinstance(node, _TRIVIAL):
            value = (node.dtype, p.key(canonical(context, node)))
            first[value] = node  # in the end the first one written: users come before what they use
            counts[value] += times
    return {first[value]: times for value, times in counts.items() if times >= threshold}


def _uses(nodes: list[Any]) -> dict[Any, int]:
    """How often each node is computed if nothing is kept, users before what they use."""
    times = dict.fromkeys(reversed(nodes), 0)
    times[nodes[-1]] = 1
    for node, count in times.items():
        for part in children(node):
            times[part] += count
    return times


def _unstable(nodes: list[Any]) -> set[Any]:
    """The nodes that load or call, or contain what does."""
    found: set[Any] = set()
    for node in nodes:
        if isinstance(node, _UNSTABLE) or any(part in found for part in children(node)):
            found.add(node)
    return found
