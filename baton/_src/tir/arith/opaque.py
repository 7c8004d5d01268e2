"""What is not decomposed: an expression that is an atom by itself, the same one wherever its operands are equal.

    A[i + 0] and A[i]   ->   one atom, written A[i]

What has effects, or binds variables, is an atom of its own each time.
"""

from __future__ import annotations

from typing import Any

from baton._src.ir.expr import PrimExpr
from baton._src.ir.node import Node
from baton._src.ir.traverse import rebuild
from baton._src.tir import expr as tir
from baton._src.tir.arith import polynomial as p
from baton._src.tir.arith.facts import Context
from baton._src.tir.arith.polynomial import Poly
from baton._src.tir.expr import Call
from baton._src.tir.intrinsics import is_pure_call
from baton._src.values.dtype import DataType

_INDEX_TYPES = frozenset({"int32", "int64"})


def is_index(dtype: DataType) -> bool:
    """Whether expressions of the dtype are taken as unbounded integers."""
    return dtype in _INDEX_TYPES


def direct_parts(node: Node) -> list[Any]:
    """The expressions directly in the fields of a node."""
    found: list[Any] = []
    for spec in type(node).specs:
        content = getattr(node, spec.name)
        if isinstance(content, tuple):
            found.extend(content)
        else:
            found.append(content)
    return found


def opaque(ctx: Context, node: Any) -> Poly:
    """A node that is not decomposed; two of them are the same atom if their operands are equal."""
    memo, atoms = ctx.memo, ctx.atoms
    if isinstance(node, (tir.AnyDim, tir.Let, tir.Reduce)) or (isinstance(node, Call) and not is_pure_call(node)):
        identity: Any = ("once", node)
    else:
        identity = (type(node), *(_identity(ctx, getattr(node, s.name)) for s in type(node).specs if s.name != "span"))

    def make() -> PrimExpr:
        changed: dict[Any, Any] = {}
        for part in direct_parts(node):
            if isinstance(part, PrimExpr) and part in memo and not isinstance(part, (tir.AnyDim, tir.StringImm)):
                changed[part] = atoms.emit(memo[part], part.dtype)
        made: PrimExpr = rebuild(node, changed) if changed else node
        return made

    return p.atom(atoms.intern(identity, "opaque", (), node.dtype, make))


def _identity(ctx: Context, content: Any) -> Any:
    if isinstance(content, PrimExpr):
        form = ctx.memo.get(content)
        return (content.dtype, p.key(form)) if form is not None else content
    if isinstance(content, tuple):
        return tuple(_identity(ctx, part) for part in content)
    return repr(content) if isinstance(content, float) else content
