"""Where values are used last, within one sequence of bindings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from baton._src.analysis.bindings import used_vars
from baton._src.ir.expr import GraphExpr
from baton._src.ir.traverse import post_order
from baton._src.relax.nodes import Binding, SeqExpr, Tuple, TupleGetItem, Var, VarBinding

_VIEWS = (
    "relax.memory.view",
    "relax.memory.ensure_zero_offset",
    "relax.vm.alloc_tensor",
    "relax.memory.alloc_tensor",
    "relax.reshape",
)
"""Operators whose results are made of the memory of an operand."""


def last_uses(seq: SeqExpr) -> dict[Var, int]:
    """For each variable bound in `seq`: the number of the last binding that uses it or anything that shares its memory.

    A variable that is never used has its own binding's number; one that is returned has the number of bindings.
    """
    results = [n for n in post_order(seq.body) if isinstance(n, Var)]
    return last_uses_among([b for block in seq.blocks for b in block.bindings], results)


def last_uses_among(bindings: Sequence[Binding], results: Iterable[Var] = ()) -> dict[Var, int]:
    """The same in `bindings`, behind which `results` are used."""
    found: dict[Var, int] = {}
    for number, binding in enumerate(bindings):
        found[binding.var] = number
        found.update((used, number) for used in used_vars(binding) if used in found)
    found.update((var, len(bindings)) for var in results if var in found)
    operands = shared_operands(bindings)
    for binding in reversed(bindings):
        for operand in operands[binding.var]:
            if operand in found:
                found[operand] = max(found[operand], found[binding.var])
    return found


def shared_operands(bindings: Iterable[Binding]) -> dict[Var, list[Var]]:
    """For each variable the operands whose memory it may share: of copies, tuples, projections, views.

    Calls give new memory, except reshapes and views, and calls of functions, which may return an argument.
    """
    return {b.var: used_vars(b) if not isinstance(b, VarBinding) or may_alias(b.value) else [] for b in bindings}


def shared_memory(variables: Iterable[Var], operands: Mapping[Var, Sequence[Var]]) -> set[Var]:
    """These variables, and those whose memory they may share (`operands`: `shared_operands`)."""
    found: set[Var] = set()
    todo = list(variables)
    while todo:
        var = todo.pop()
        if var not in found:
            found.add(var)
            todo.extend(operands.get(var, ()))
    return found


def may_alias(value: GraphExpr) -> bool:
    """Whether the value may share memory with what it mentions."""
    if isinstance(value, (Var, Tuple, TupleGetItem)):
        return True
    op = getattr(value, "op", None)
    name = getattr(op, "name", None)
    if name is None:
        return True  # a function, a closure, an If: it may return what it was given
    return name in _VIEWS
