"""Which expressions have effects: references, stateful operators, and calls that may reach them.

Passes consult this before they drop, share or move an expression (contradictions B-18).
"""

from __future__ import annotations

from typing import Any

from baton._src.ir.expr import GlobalVar, Op
from baton._src.ir.module import IRModule
from baton._src.ir.types import Constructor
from baton._src.relay.expressions import parts, walk
from baton._src.relay.nodes import Call, Function, RefCreate, RefRead, RefWrite


class Effects:
    """Effects within a module. A call of an unknown function (a parameter, a local variable) counts as effectful if the
    module has effects at all, and so does calling a global that makes such a call: @map(%f, ...) does what %f does.
    Without `creation`, creating a reference is no effect: an unused one is not observable.
    """

    def __init__(self, module: IRModule, creation: bool = True) -> None:
        self._creation = creation
        self._own: dict[str, bool] = {}
        calls: dict[str, set[str]] = {}
        calls_unknown: set[str] = set()
        for var, function in module.functions.items():
            if isinstance(function, Function):
                nodes = walk(function)
                self._own[var.name_hint] = any(self._is_primitive(n) for n in nodes)
                calls[var.name_hint] = {n.name_hint for n in nodes if isinstance(n, GlobalVar)}
                if any(map(_calls_unknown, nodes)):
                    calls_unknown.add(var.name_hint)
        self.anywhere = any(self._own.values())
        changed = self.anywhere
        if self.anywhere:
            self._own |= dict.fromkeys(calls_unknown, True)
        while changed:
            changed = False
            for name, called in calls.items():
                if not self._own[name] and any(self._own.get(c, True) for c in called):
                    self._own[name] = changed = True

    def of_nodes(self, root: Any) -> set[Any]:
        """The nodes below `root` whose evaluation has an effect (itself or in a part that it evaluates)."""
        found: set[Any] = set()
        if not self.anywhere:
            return found
        for node in walk(root):
            if self._is_effect(node) or any(p in found for p in evaluated_parts(node)):
                found.add(node)
        return found

    def _is_primitive(self, node: Any) -> bool:
        return is_primitive_effect(node) and (self._creation or not isinstance(node, RefCreate))

    def _is_effect(self, node: Any) -> bool:
        if self._is_primitive(node):
            return True
        if not isinstance(node, Call) or isinstance(node.op, (Op, Constructor)):
            return False
        if isinstance(node.op, GlobalVar):
            return self._own.get(node.op.name_hint, True)
        return True


def is_primitive_effect(node: Any) -> bool:
    """A reference operation, or a call of a stateful or impure operator."""
    if isinstance(node, (RefCreate, RefRead, RefWrite)):
        return True
    definition = getattr(getattr(node, "op", None), "definition", None)
    return isinstance(node, Call) and definition is not None and (definition.stateful or not definition.pure)


def _calls_unknown(node: Any) -> bool:
    """Whether a call's callee is known only when running. The body of a literal lies in the function that calls it."""
    return isinstance(node, Call) and not isinstance(node.op, (Op, Constructor, GlobalVar, Function))


def evaluated_parts(node: Any) -> tuple[Any, ...]:
    """The parts that are evaluated when `node` is: not the body of a function literal."""
    return () if isinstance(node, Function) else parts(node)
