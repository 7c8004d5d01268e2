"""Match patterns joined by edges against a block of bindings without effects.

Backtracks over the variables of the block. An edge to a pattern that is already matched leaves only the users, or the
operands, of its variable as candidates, so a connected set of patterns costs the block's size times that of the
patterns.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from typing import Any

from baton._src.ir.traverse import post_order
from baton._src.relax.nodes import BindingBlock, Call, DataflowVar, MatchCast, Tuple, TupleGetItem, Var, VarBinding
from baton._src.relax.patterns.match import Found, Matcher
from baton._src.relax.patterns.nodes import DFPattern


class _Block:
    """What is bound in a block, and who uses it. Another name of a variable (`b = a`) is that variable."""

    def __init__(self, block: BindingBlock) -> None:
        self.values: dict[Any, Any] = {}
        self.users: dict[Any, list[Any]] = {}
        self.operands: dict[Any, list[Any]] = {}
        self.seen_outside: set[Any] = set()
        """The variables that bindings after the block may use, under whatever name."""
        self._names: dict[Any, Var] = {}
        for binding in block.bindings:
            if isinstance(binding, (VarBinding, MatchCast)):
                self.values[binding.var] = binding.value
                self._note_uses(binding)
                if not isinstance(binding.var, DataflowVar):
                    self.seen_outside.add(self.source(binding.var))

    def _note_uses(self, binding: VarBinding | MatchCast) -> None:
        if isinstance(binding, VarBinding) and isinstance(binding.value, Var):
            self._names[binding.var] = self.source(binding.value)
            return
        used = [self.source(n) for n in post_order(binding.value) if isinstance(n, Var)]
        self.operands[binding.var] = used
        for operand in used:
            self.users.setdefault(operand, []).append(binding.var)

    def source(self, var: Any) -> Any:
        """The variable that `var` is another name of; itself, if it is none."""
        return self._names.get(var, var)


def match_block(
    patterns: Sequence[DFPattern], edges: Sequence[Any], block: BindingBlock, closed: Set[Var] = frozenset()
) -> Iterator[dict[DFPattern, Var]]:
    """Every way to place the patterns on different variables so that all edges hold; none is placed on those that are
    `closed`, a set that may grow meanwhile."""
    search = _Search(_connected_order(patterns, edges), edges, _Block(block), closed)
    for found in search.place(0, {}):
        yield {p: v for p, v in found.items() if isinstance(v, Var)}


def _connected_order(patterns: Sequence[DFPattern], edges: Sequence[Any]) -> list[DFPattern]:
    """The patterns, consumers first, so that most are reached by an edge from one before."""
    order: list[DFPattern] = []
    rest = list(patterns)
    while rest:
        reached = next(
            (p for p in rest if any((e.producer is p and e.consumer in order) for e in edges)),
            next((p for p in rest if any((e.consumer is p and e.producer in order) for e in edges)), None),
        )
        chosen = reached or next((p for p in rest if not any(e.producer is p for e in edges)), rest[0])
        order.append(chosen)
        rest.remove(chosen)
    return order


class _Search:
    def __init__(self, order: list[DFPattern], edges: Sequence[Any], block: _Block, closed: Set[Var]) -> None:
        self.order, self.edges, self.block, self.closed = order, edges, block, closed
        self.matcher = Matcher(block.values)

    def place(self, number: int, found: Found) -> Iterator[Found]:
        """All ways to place the patterns from `number` on."""
        if number == len(self.order):
            yield found
            return
        pattern = self.order[number]
        for var in self._candidates(pattern, found):
            if var in self.closed:
                continue
            for more in self.matcher.matches(pattern, var, found):
                if self._edges_hold(more) and self._all_different(more):
                    yield from self.place(number + 1, more)
            if any(found[p] in self.closed for p in self.order[:number]):
                return

    def _candidates(self, pattern: DFPattern, found: Found) -> Sequence[Any]:
        if pattern in found:
            return [found[pattern]]
        for edge in self.edges:
            if edge.producer is pattern and edge.consumer in found:
                return list(dict.fromkeys(self.block.operands.get(self.block.source(found[edge.consumer]), ())))
            if edge.consumer is pattern and edge.producer in found:
                return list(dict.fromkeys(self.block.users.get(self.block.source(found[edge.producer]), ())))
        return list(self.block.operands)

    def _all_different(self, found: Found) -> bool:
        """Whether all patterns of the context match different variables."""
        placed = [self.block.source(found[p]) for p in self.order if p in found]
        return len(set(placed)) == len(placed)

    def _edges_hold(self, found: Found) -> bool:
        return all(self._holds(e, found) for e in self.edges if e.producer in found and e.consumer in found)

    def _holds(self, edge: Any, found: Found) -> bool:
        producer, consumer = (self.block.source(found[p]) for p in (edge.producer, edge.consumer))
        users = self.block.users.get(producer, [])
        if not any(u is consumer for u in users):
            return False
        if edge.only and (producer in self.block.seen_outside or any(u is not consumer for u in users)):
            return False
        return edge.index == -1 or self.block.source(_operand(self.block.values.get(consumer), edge.index)) is producer


def _operand(value: Any, index: int) -> Any:
    """The operand at `index` of a call, tuple or item; None if there is none."""
    match value:
        case Call(args=parts) | Tuple(fields=parts):
            return parts[index] if index < len(parts) else None
        case TupleGetItem(tuple_value=whole) if index == 0:
            return whole
        case _:
            return None
