"""CommonSubexprElimTIR: compute common subexpressions of the same variables once.

    A[x + y] = (x + y) * 2; A[x + y + 1] = (x + y) * 2 + 1
        ->  cse_var_1 = x + y; cse_var_2 = cse_var_1 * 2; A[cse_var_1] = cse_var_2; A[cse_var_1 + 1] = cse_var_2 + 1

Only expressions that read no memory, call nothing and cannot fail, since they may then be computed even if a condition
would have skipped them. A value is bound around the innermost statement that contains all its uses.
"""

from __future__ import annotations

from collections import ChainMap, Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any

from baton._src.ir.expr import PrimExpr
from baton._src.ir.node import Node
from baton._src.ir.traverse import children, post_order, rebuild
from baton._src.passes.tir.prim_func_pass import PrimFuncPass
from baton._src.passes.tir.simplify import simplified
from baton._src.passes.tir.ssa import converted
from baton._src.support.dataclass import dataclass
from baton._src.tir import expr as tir
from baton._src.tir import stmt as st
from baton._src.tir.buffer import Buffer
from baton._src.tir.prim_func import PrimFunc
from baton._src.transform.context import PassContext

_DIVISIONS = (tir.Div, tir.Mod, tir.FloorDiv, tir.FloorMod)
_COMPUTED = (tir.BinaryOp, tir.CompareOp, tir.LogicalOp, tir.Not, tir.Select, tir.Cast)


@dataclass(frozen=True)
class CommonSubexprElimTIR(PrimFuncPass):
    """See the module's docstring. `identify_equiv_terms`: expressions are canonicalised first."""

    enable_cse_tir: bool = True
    identify_equiv_terms: bool = False

    def body(self, body: st.Stmt, function: PrimFunc, ctx: PassContext) -> st.Stmt:
        if not self.enable_cse_tir:
            return body
        ssa = converted(body, function)
        return _Sharing(simplified(ssa, function) if self.identify_equiv_terms else ssa).body()


@dataclass
class _Value:
    """A computed value: an expression for it, its operands, and the statements that use it."""

    expr: PrimExpr
    parts: tuple[int, ...]
    size: int
    uses: Counter[int] = field(default_factory=Counter)


class _Sharing:
    """Statements and values have numbers; a statement's number is smaller than those of the statements inside it."""

    def __init__(self, root: st.Stmt) -> None:
        self.root = root
        self.statements: list[st.Stmt] = []
        self.above: list[int] = []
        self.depth: list[int] = []
        self.numbers: dict[Any, int] = {}
        self.number_of: dict[Any, int | None] = {}
        self.values: list[_Value] = []
        self.bound = {n.var for n in post_order(root) if isinstance(n, tir.Let)}

    def body(self) -> st.Stmt:
        self._collect()
        return self._written(self._chosen())

    def _collect(self) -> None:
        stack = [(self.root, -1)]
        while stack:
            statement, above = stack.pop()
            own = len(self.statements)
            self.statements.append(statement)
            self.above.append(above)
            self.depth.append(0 if above < 0 else self.depth[above] + 1)
            for expr in _computed_by(statement):
                self._count(expr, own)
            stack += [(c, own) for c in reversed(st.inner_statements(statement))]

    def _count(self, expr: PrimExpr, place: int) -> None:
        """Count the statement as a user of the largest values in the expression; their operands follow later."""
        for node in post_order(expr, below=_parts):
            if node not in self.number_of:
                self.number_of[node] = self._value(node)
            if self.number_of[node] is None:
                self._use((self.number_of.get(c) for c in _parts(node)), Counter({place: 1}))
        self._use([self.number_of[expr]], Counter({place: 1}))

    def _use(self, numbers: Iterable[int | None], places: Counter[int]) -> None:
        for number in numbers:
            if number is not None:
                self.values[number].uses.update(places)

    def _value(self, node: Node) -> int | None:
        """The number of the value of an expression whose parts have numbers; None if it must not be bound."""
        key: Any
        parts: tuple[int, ...] = ()
        match node:
            case tir.Var() if node not in self.bound and node.dtype.lanes == 1:
                key = node
            case tir.IntImm(value=number):
                key = (type(node), node.dtype, number)
            case tir.FloatImm(value=number):
                key = (type(node), node.dtype, number.hex())  # 0.0 is not -0.0
            case _ if isinstance(node, _COMPUTED) and node.dtype.lanes == 1:
                if isinstance(node, _DIVISIONS) and not (isinstance(node.b, tir.IntImm) and node.b.value != 0):
                    return None
                found = [self.number_of[c] for c in children(node)]
                parts = tuple(f for f in found if f is not None)
                if len(parts) < len(found):
                    return None
                key = (type(node), node.dtype, parts)
            case _:
                return None
        if key not in self.numbers:
            self.numbers[key] = len(self.values)
            self.values.append(_Value(node, parts, 1 + sum(self.values[p].size for p in parts)))
        return self.numbers[key]

    def _chosen(self) -> dict[int, int]:
        """The values to bind, and the statement around which: large ones first, whose savings are not counted in their
        parts.
        """
        chosen: dict[int, int] = {}
        for number in sorted(range(len(self.values)), key=lambda n: -self.values[n].size):
            value = self.values[number]
            if not value.parts or not value.uses:
                continue
            uses = value.uses
            place = self._meeting(uses)
            if uses.total() > 1 and not isinstance(self.statements[place], st.Block):  # no room around a block itself
                chosen[number] = place
                uses = Counter({place: 1})
            self._use(value.parts, uses)
        return chosen

    def _meeting(self, places: Iterable[int]) -> int:
        """The innermost statement that contains all of these."""
        found, *rest = places
        for place in rest:
            while found != place:
                if self.depth[found] >= self.depth[place]:
                    found = self.above[found]
                else:
                    place = self.above[place]
        return found

    def _written(self, chosen: dict[int, int]) -> st.Stmt:
        """The body with the chosen values bound, operands further out."""
        order = sorted(chosen, key=lambda n: (chosen[n], self.values[n].size))
        named = {n: tir.Var(f"cse_var_{k}", self.values[n].expr.dtype) for k, n in enumerate(order, 1)}
        names = {node: named[n] for node, n in self.number_of.items() if n in named}
        around: dict[int, list[int]] = {}
        for number in order:
            around.setdefault(chosen[number], []).append(number)
        made: dict[Any, Any] = {}
        for place in reversed(range(len(self.statements))):
            statement = self.statements[place]
            own = {expr: _with_names(expr, names) for expr in _computed_by(statement)}
            found = rebuild(statement, ChainMap(own, made))
            for number in reversed(around.get(place, ())):
                expr = self.values[number].expr
                value = rebuild(expr, {part: _with_names(part, names) for part in children(expr)})
                found = st.LetStmt(named[number], value, found)
            made[statement] = found
        whole: st.Stmt = made[self.root]
        return whole


def _with_names(expr: PrimExpr, names: Mapping[Any, tir.Var]) -> Any:
    """An expression over the names of its parts; bound subexpressions are not visited."""
    made: dict[Any, Any] = {}
    for node in post_order(expr, below=lambda n: () if n in names else _parts(n)):
        made[node] = names[node] if node in names else rebuild(node, made)
    return made[expr]


def _parts(node: Node) -> Sequence[Any]:
    """The operands of an expression. A buffer is unchanged: its sizes are computed where it is allocated."""
    return () if isinstance(node, Buffer) else children(node)


def _computed_by(statement: st.Stmt) -> Iterator[PrimExpr]:
    """The expressions that a statement itself computes."""
    match statement:
        case st.BufferStore(value=value, indices=indices):
            yield from (*indices, value)
        case st.For(min=first, extent=extent):
            yield from (first, extent)
        case st.LetStmt(value=value) | st.Evaluate(value=value):
            yield value
        case st.IfThenElse(condition=condition) | st.AssertStmt(condition=condition) | st.While(condition=condition):
            yield condition
        case _:
            return
