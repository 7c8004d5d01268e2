"""Which expressions do more than give a value: references, stateful operators, and calls that may reach them.

Passes ask before they drop, share or move something (contradictions B-18).
"""

from __future__ import annotations

import weakref
from typing import Any

from baton._src.ir.expr import GlobalVar, GraphExpr, Op
from baton._src.ir.module import IRModule
from baton._src.ir.types import Constructor
from baton._src.relay.expressions import parts, walk
from baton._src.relay.nodes import Call, Function, RefCreate, RefRead, RefWrite
from baton._src.support.dataclass import dataclass


class Effects:
    """Effects within a module. A call of an unknown function (a parameter, a local variable) counts as effectful if the
    module has effects at all, and so does calling a global that makes such a call: @map(%f, ...) does what %f does.
    Without `creation` it is none that a reference comes into being: nobody sees one that is not used."""

    def __init__(self, module: IRModule, creation: bool = True) -> None:
        self._creation = creation
        found = {v.name_hint: _facts_of(f) for v, f in module.functions.items() if isinstance(f, Function)}
        self._own = {name: facts.acts or (creation and facts.creates) for name, facts in found.items()}
        self.anywhere = any(self._own.values())
        changed = self.anywhere
        if self.anywhere:
            self._own |= {name: True for name, facts in found.items() if facts.calls_unknown}
        while changed:
            changed = False
            for name, facts in found.items():
                if not self._own[name] and any(self._own.get(called, True) for called in facts.calls):
                    self._own[name] = changed = True

    def of_nodes(self, root: GraphExpr) -> set[Any]:
        """The nodes below `root` whose evaluation has an effect (itself or in a part that it evaluates)."""
        found: set[Any] = set()
        if not self.anywhere:
            return found
        for node in walk(root):
            if self.acts(node) or any(p in found for p in evaluated_parts(node)):
                found.add(node)
        return found

    def acts(self, node: Any) -> bool:
        """Whether a node has an effect of its own, not only in its parts."""
        if is_primitive_effect(node):
            return self._creation or not isinstance(node, RefCreate)
        if not isinstance(node, Call) or isinstance(node.op, (Op, Constructor)):
            return False
        if isinstance(node.op, GlobalVar):
            return self._own.get(node.op.name_hint, True)
        return True


@dataclass(frozen=True, slots=True)
class _Facts:
    """What the body of one function does: `acts` apart from creating references, `calls` these globals."""

    acts: bool
    creates: bool
    calls_unknown: bool
    calls: frozenset[str]


_known: weakref.WeakKeyDictionary[Function, _Facts] = weakref.WeakKeyDictionary()
"""A cache: most passes ask, and change few functions."""


def _facts_of(function: Function) -> _Facts:
    found = _known.get(function)
    if found is None:
        nodes = walk(function)
        primitive = [n for n in nodes if is_primitive_effect(n)]
        found = _known[function] = _Facts(
            acts=any(not isinstance(n, RefCreate) for n in primitive),
            creates=any(isinstance(n, RefCreate) for n in primitive),
            calls_unknown=any(map(_calls_unknown, nodes)),
            calls=frozenset(n.name_hint for n in nodes if isinstance(n, GlobalVar)),
        )
    return found


def is_primitive_effect(node: Any) -> bool:
    """A reference operation, or a call of a stateful or impure operator."""
    if isinstance(node, (RefCreate, RefRead, RefWrite)):
        return True
    return isinstance(node, Call) and isinstance(node.op, Op) and is_stateful(node.op)


def is_stateful(op: Op) -> bool:
    """Whether calls of an operator do more than give a value, by its definition or by what a script registered."""
    return bool(op.get_attr("TOpIsStateful"))


def _calls_unknown(node: Any) -> bool:
    """Whether a call's callee is known only when running. The body of a literal lies in the function that calls it."""
    return isinstance(node, Call) and not isinstance(node.op, (Op, Constructor, GlobalVar, Function))


def evaluated_parts(node: Any) -> tuple[Any, ...]:
    """The parts that are evaluated when `node` is: not the body of a function literal."""
    return () if isinstance(node, Function) else parts(node)
