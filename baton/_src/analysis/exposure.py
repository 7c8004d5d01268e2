"""Escape analysis: which variables of a function hold tensors that may be written or aliased elsewhere.

Operators only read their operands and give fresh tensors, so a tensor used by operators alone is private. One that is
passed to a function, a packed function or a closure, returned, or aliased by such a tensor, is *exposed*: a call with
effects or in place may write it, and whether it is a tensor of its own can be observed (seed 001, Semantics).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from baton._src.analysis.bindings import used_vars
from baton._src.analysis.purity import may_write
from baton._src.ir.op_def import OpDef
from baton._src.ir.traverse import post_order
from baton._src.relax.nodes import (
    Binding,
    Call,
    Function,
    If,
    MatchCast,
    SeqExpr,
    Tuple,
    TupleGetItem,
    Var,
    VarBinding,
    definition_of,
)
from baton._src.relax.struct_info import PrimStructInfo, ShapeStructInfo


class Exposure:
    """The analysis of one function, queried by variable."""

    def __init__(self, function: Function) -> None:
        self.has_effects = False
        """Whether the function, or one inside it, makes a call with effects or in place."""
        self._exposed: set[Any] = set()
        self._sources: dict[Any, list[Any]] = {}
        """The variables that a variable may be an alias of."""
        found: list[Any] = []
        for node in post_order(function):
            if isinstance(node, Call):
                self.has_effects = self.has_effects or may_write(node)
                if not gives_fresh_results(node):
                    found += [v for arg in node.args for v in aliased(arg)]
            elif isinstance(node, Function):
                found += aliased(node.body)
            elif isinstance(node, (VarBinding, MatchCast)):
                self._sources[node.var] = aliased(node.value)
        while found:
            var = found.pop()
            if var not in self._exposed:
                self._exposed.add(var)
                found += self._sources.get(var, ())

    def __contains__(self, var: Any) -> bool:
        return var in self._exposed

    def may_share(self, kept: Binding, dropped: Binding) -> bool:
        """Whether two variables with equal values may share one tensor."""
        fresh = isinstance(kept, VarBinding) and isinstance(kept.value, Call)
        if not fresh or isinstance(kept.var.struct_info_, (ShapeStructInfo, PrimStructInfo)):
            return True
        first, second = kept.var in self, dropped.var in self
        return not (first or second) if self.has_effects else not (first and second)


def overwritten_later(bindings: Sequence[Binding]) -> list[tuple[int, int]]:
    """Pairs (reader, writer) of numbers: the first binding reads a tensor that the second, later one writes in place.

    The data flow does not show that the reader has to stay before the writer.
    """
    names: dict[Any, list[Any]] = {}
    """The variables that each alias shares memory with."""
    readers: dict[Any, list[int]] = {}
    found: list[tuple[int, int]] = []
    for number, binding in enumerate(bindings):
        value = binding.value if isinstance(binding, (VarBinding, MatchCast)) else None
        used = {root for var in used_vars(binding) for root in names.get(var, (var,))}
        if isinstance(value, Call) and may_write(value):
            found += [(reader, number) for root in used for reader in readers.pop(root, ())]
        for root in used:
            readers.setdefault(root, []).append(number)
        if roots := [root for var in aliased(value) for root in names.get(var, (var,))]:
            names[binding.var] = roots
    return found


def gives_fresh_results(call: Call) -> bool:
    """Whether the call only reads its arguments, and its result shares no memory with them."""
    definition = definition_of(call)
    return isinstance(definition, OpDef) or bool(getattr(definition, "fresh_results", False))


def aliased(expr: Any) -> list[Any]:
    """The variables that the value of `expr` may share memory with, calls not looked into."""
    found: list[Any] = []
    todo = [expr]
    while todo:
        match todo.pop():
            case Var() as var:
                found.append(var)
            case Tuple(fields=fields):
                todo += fields
            case TupleGetItem(tuple_value=whole):
                todo.append(whole)
            case SeqExpr(body=body):
                todo.append(body)
            case If(true_branch=then, false_branch=other):
                todo += [then, other]
            case _:
                pass  # literals, and calls, which are judged where they stand
    return found
