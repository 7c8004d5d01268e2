"""Which calls have effects (facts: relax-language §7).

An operator says so itself (`definition.pure`); any other callee by its StructInfo: functions have `purity`, packed
functions and objects are impure, kernels called directly write into their arguments.
"""

from __future__ import annotations

from typing import Any

from baton._src.ir.expr import GlobalVar, GraphExpr, Op
from baton._src.ir.traverse import children
from baton._src.relax.nodes import Call, Function, definition_of
from baton._src.relax.struct_info import FuncStructInfo


def is_impure_call(call: Call, pure_callees: frozenset[Any] = frozenset()) -> bool:
    """Whether the call may have an effect. `pure_callees`: callees to take for pure (a function in its own body)."""
    callee = call.op
    if isinstance(callee, Op):
        return not getattr(callee.definition, "pure", True)
    if callee in pure_callees:
        return False
    if isinstance(callee, Function):
        return not callee.is_pure
    info = callee.struct_info_
    return not (isinstance(info, FuncStructInfo) and info.purity)


def allocates(call: Call) -> bool:
    """Whether two equal calls have distinct results (allocations, changes in place) and must not be merged."""
    definition = definition_of(call)
    return any(getattr(definition, facet, False) for facet in ("allocates", "stateful", "writes_arguments"))


def may_write(call: Call) -> bool:
    """Whether the call may change a tensor's contents: by an effect, or in place (which counts as pure)."""
    definition = definition_of(call)
    return is_impure_call(call) or bool(getattr(definition, "writes_arguments", False))


def find_impure_call(expr: Any, own_name: Any = None) -> Call | None:
    """The first impure call that evaluating `expr` makes (bodies of inner functions are not evaluated), or None.

    `own_name` is the variable `expr` is bound to: calling it again does not make it impure.
    """
    trusted = frozenset() if own_name is None else frozenset({own_name})
    stack = [expr.body if isinstance(expr, Function) else expr]
    seen: set[Any] = set()
    while stack:
        item = stack.pop()
        if item in seen or isinstance(item, Function):
            continue
        seen.add(item)
        if isinstance(item, Call) and is_impure_call(item, trusted):
            return item
        stack.extend(reversed(children(item)))
    return None


def contains_impure_call(expr: GraphExpr, own_name: GlobalVar | Any = None) -> bool:
    """Whether evaluating `expr` (calling it, if it is a function) may have an effect. `force_pure` is not looked at."""
    return find_impure_call(expr, own_name) is not None
