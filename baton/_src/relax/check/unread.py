"""Calls whose result nothing reads: what they say of it is a claim that nobody relies on, so it is not checked.

z = R.call_packed("write", x, y, sinfo_args=R.Tensor(ndim=2))       # returns nothing, in truth
return y
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from baton._src.ir.traverse import post_order
from baton._src.relax.check.variables import shape_holders
from baton._src.relax.nodes import Binding, Call, Function, If, MatchCast, SeqExpr, Var, VarBinding


def unread_calls(function: Function) -> set[Call]:
    """The calls in a function, and in those inside it, that are bound to a variable which occurs nowhere else."""
    read: set[Var] = set()
    bound: dict[Var, Call] = {}
    for node in post_order(function):
        if not isinstance(node, SeqExpr):
            continue
        read.update(_variables(node.body))
        for binding in (b for block in node.blocks for b in block.bindings):
            read.update(_read_by(binding))
            if isinstance(binding, VarBinding) and isinstance(binding.value, Call):
                bound[binding.var] = binding.value
    return {call for var, call in bound.items() if var not in read}


def _read_by(binding: Binding) -> Iterator[Var]:
    """What the binding itself reads; what is inside functions and branches is read by the bindings there."""
    value: Any = binding.value
    if isinstance(value, If):
        yield from _variables(value.cond)
    elif not isinstance(value, (Function, SeqExpr)):
        yield from _variables(value)
    said = [binding.struct_info] if isinstance(binding, MatchCast) else []
    said += [] if binding.var is None or binding.var.struct_info_ is None else [binding.var.struct_info_]
    for info in said:
        yield from shape_holders(info)


def _variables(expr: Any) -> Iterator[Var]:
    return (n for n in post_order(expr, notes=False) if isinstance(n, Var))
