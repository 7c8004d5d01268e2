"""Replace each direct use of a variable in the right side of a binding."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from baton._src.ir.expr import GraphExpr
from baton._src.relax.nodes import Call, If, Tuple, TupleGetItem, Var


def with_leaves(value: GraphExpr, new: Callable[[Var], Any]) -> Any:
    """`value` with `new(var)` for each mention of a variable, in order of evaluation; branches are left alone.

    `new` is called for each use, also of the same variable. The same object if nothing changes.
    """
    match value:
        case Var():
            return new(value)
        case Tuple(fields=fields):
            changed: dict[str, Any] = {"fields": tuple(with_leaves(f, new) for f in fields)}
        case TupleGetItem(tuple_value=whole):
            changed = {"tuple_value": with_leaves(whole, new)}
        case Call(op=op, args=args):
            changed = {"op": with_leaves(op, new), "args": tuple(with_leaves(a, new) for a in args)}
        case If(cond=cond):
            changed = {"cond": with_leaves(cond, new)}
        case _:
            return value
    parts = [(getattr(value, name), part) for name, part in changed.items()]
    same = all(_same(old, part) for old, part in parts)
    return value if same else value.with_fields(**changed)


def _same(old: Any, new: Any) -> bool:
    return all(a is b for a, b in zip(old, new)) if isinstance(old, tuple) else old is new
