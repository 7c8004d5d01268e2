"""Sizes that a native entry computes once, before its first call: offsets in the arena, integers for kernels.

    let size = words[4] + 3
    let size_1 = size // 4
    let size_2 = size_1 * words[3]
    call kernel_a(words[2] + size_2, size_1)

Offsets follow from one another, and the calls share sizes: written out at each of them, they were most of the code of
an entry whose sizes are quotients, and were computed in each run as often.
"""

from __future__ import annotations

from collections.abc import Mapping

from baton._src.ir.expr import PrimExpr
from baton._src.ir.node import Node
from baton._src.ir.traverse import children, post_order, rebuild
from baton._src.lower.relax_to_vm.kernel_arguments import in_terms_of
from baton._src.relax.check.variables import prim_vars
from baton._src.tir.expr import Add, Cast, Div, FloorDiv, FloorMod, IntImm, Max, Min, Mod, Mul, Sub, Var
from baton._src.tir.stmt import LetStmt, Stmt

_ALWAYS_DEFINED = (Add, Sub, Mul, Min, Max, Cast)
_QUOTIENTS = (Div, FloorDiv, Mod, FloorMod)


class EntrySizes:
    """Names for sizes, in terms of the `words` that hold the shape variables; `late` variables are known only once
    kernels have counted them, and what depends on those is written out where it is used.
    """

    def __init__(self, words: Mapping[Var, PrimExpr], late: Mapping[Var, PrimExpr]) -> None:
        self._words = dict(words)
        self._late = dict(late)
        self._known: dict[Node, PrimExpr] = {}
        """What stands for expressions that were met before."""
        self._names: dict[tuple[object, ...], Var] = {}
        """By class, operands and dtype: equal expressions share a name."""
        self._lets: list[tuple[Var, PrimExpr]] = []

    def value(self, expr: PrimExpr) -> PrimExpr:
        """What stands for `expr` in the calls."""
        if self._late and not self._late.keys().isdisjoint(prim_vars(expr)):
            return in_terms_of(expr, self._words | self._late)
        known = self._known
        for node in post_order(expr, below=lambda n: [] if n in known or not _is_taken_apart(n) else children(n)):
            if node not in known:
                known[node] = self._named(node)
        return known[expr]

    def around(self, body: Stmt) -> Stmt:
        """`body`, before which the sizes are computed."""
        for var, value in reversed(self._lets):
            body = LetStmt(var, value, body)
        return body

    def _named(self, node: PrimExpr) -> PrimExpr:
        if isinstance(node, IntImm):
            return node
        if isinstance(node, Var):
            return self._let((Var, node), self._words.get(node, node))
        if not _is_taken_apart(node):
            return self._let((PrimExpr, node), in_terms_of(node, self._words))
        value = rebuild(node, self._known)
        operands = (v.value if isinstance(v, IntImm) else v for v in children(value))
        return self._let((type(value), str(value.dtype), *operands), value)

    def _let(self, key: tuple[object, ...], value: PrimExpr) -> PrimExpr:
        if isinstance(value, (Var, IntImm)):
            return value
        name = self._names.get(key)
        if name is None:
            name = self._names[key] = Var("size" if not self._lets else f"size_{len(self._lets)}", value.dtype)
            self._lets.append((name, value))
        return name


def _is_taken_apart(node: Node) -> bool:
    """Whether the operands may be computed beforehand: what a condition guards may not be."""
    if isinstance(node, _QUOTIENTS):
        return isinstance(node.b, IntImm) and node.b.value != 0
    return isinstance(node, _ALWAYS_DEFINED)
