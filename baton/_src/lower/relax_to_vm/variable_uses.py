"""Uses of the variables of a function being lowered: who reads them, their last uses, and what a branch binds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from baton._src.ir.expr import GraphExpr, Op
from baton._src.ir.traverse import post_order
from baton._src.lower.relax_to_vm.abstract_values import Value
from baton._src.relax.check.variables import shape_holders
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
)


class Overlay(dict[Var, Value]):
    """The environment of a branch: its bindings are invisible outside."""

    def __init__(self, outer: dict[Var, Value]) -> None:
        super().__init__()
        self.outer = outer

    def __missing__(self, key: Var) -> Value:
        scope = self.outer
        found: Value | None
        while isinstance(scope, Overlay):
            found = dict.get(scope, key)
            if found is not None:
                return found
            scope = scope.outer
        found = dict.get(scope, key)
        if found is None:
            raise KeyError(key)
        return found

    def get(self, key: Var, default: Any = None) -> Any:
        try:
            return self[key]
        except KeyError:
            return default


def last_uses(bindings: Sequence[Binding], body: GraphExpr) -> dict[Var, int]:
    """For each variable the number of the last binding that mentions it; the body counts as one more."""
    found: dict[Var, int] = {}
    for number, binding in enumerate(bindings):
        for node in post_order(binding.value, notes=False):
            if isinstance(node, Var):
                found[node] = number
        if isinstance(binding, MatchCast):
            found.update((holder, number) for holder in shape_holders(binding.struct_info))
    found.update({n: len(bindings) for n in post_order(body) if isinstance(n, Var)})
    return found


def read_by_kernels_only(function: Function) -> set[Var]:
    """Variables that only kernels read (through `call_tir`): a constant bound to one needs no copy."""
    others: set[Var] = set()
    mentioned: set[Var] = set()
    for node in post_order(function.body):
        match node:
            case Call(op=Op(name="relax.call_tir"), args=(_, Tuple(fields=fields), *_)):
                mentioned.update(f for f in fields if isinstance(f, Var))
            case Call(args=args):
                others.update(_vars_of(args))
            case VarBinding(value=value):
                others.update(_vars_of([value]))
            case MatchCast(value=value):
                others.update(_vars_of([value]))
            case SeqExpr(body=body):
                others.update(_vars_of([body]))
            case If(cond=cond):
                others.update(_vars_of([cond]))
            case _:
                pass
    return mentioned - others


def _vars_of(exprs: Iterable[GraphExpr]) -> list[Var]:
    found: list[Var] = []
    work = list(exprs)
    while work:
        item = work.pop()
        if isinstance(item, Var):
            found.append(item)
        elif isinstance(item, Tuple):
            work.extend(item.fields)
        elif isinstance(item, TupleGetItem):
            work.append(item.tuple_value)
    return found
