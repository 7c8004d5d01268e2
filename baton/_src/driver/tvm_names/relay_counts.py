"""`relay.analysis`: how often a module uses each operator."""

from __future__ import annotations

from collections import Counter

from baton._src.ir.expr import Op
from baton._src.ir.module import IRModule
from baton._src.ir.traverse import post_order
from baton._src.relay.nodes import Call


def list_op_freqs(mod: IRModule) -> dict[str, int]:
    """The number of calls of each operator in the functions of a module, by the operator's name."""
    calls = (node for function in mod.functions.values() for node in post_order(function) if isinstance(node, Call))
    return dict(Counter(call.op.name for call in calls if isinstance(call.op, Op)))
