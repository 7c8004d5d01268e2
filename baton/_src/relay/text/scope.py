"""Names in scope while a definition is read: locals with shadowing, graph names with the place they were made at."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from baton._src.ir.expr import GraphExpr
from baton._src.relay.expressions import binders, walk
from baton._src.relay.nodes import Var


class Scope:
    """Locals by name (innermost last) and graph names of one definition."""

    def __init__(self) -> None:
        self._locals: dict[str, list[Var]] = {}
        self._active: set[Var] = set()
        self._graph: dict[str, tuple[Any, int]] = {}
        self._open: set[int] = {0}
        self._path: list[int] = [0]
        self._made = 0

    def find(self, name: str) -> Var | None:
        found = self._locals.get(name)
        return found[-1] if found else None

    def names(self) -> Iterable[str]:
        """Every local in scope, for suggestions."""
        return (name for name, stack in self._locals.items() if stack)

    def push(self, var: Var) -> None:
        self._locals.setdefault(var.name_hint, []).append(var)
        self._active.add(var)

    def pop(self, var: Var) -> None:
        named = self._locals[var.name_hint]
        if named[-1] is var:  # unless a free variable of the name was declared within
            named.pop()
        else:
            named.remove(var)
        self._active.discard(var)

    def enter(self) -> None:
        """A nested place begins whose variables end with it."""
        self._made += 1
        self._path.append(self._made)
        self._open.add(self._made)

    def leave(self) -> None:
        self._open.discard(self._path.pop())

    def define_graph(self, name: str, node: GraphExpr) -> None:
        self._graph[name] = (node, self._path[-1])

    def has_graph_here(self, name: str) -> bool:
        """Whether this block (not one around or inside of it) has named a node so."""
        found = self._graph.get(name)
        return found is not None and found[1] == self._path[-1]

    def graph(self, name: str) -> tuple[Any, list[Var]]:
        """The node a graph name stands for, and those of its variables that are out of scope here (B-13)."""
        found = self._graph.get(name)
        if found is None:
            return None, []
        node, place = found
        if place in self._open:
            return node, []
        inner: set[Any] = set()
        free: list[Var] = []
        for expr in walk(node):
            inner.update(binders(expr))
        for expr in walk(node):
            if isinstance(expr, Var) and expr not in inner and expr not in self._active:
                free.append(expr)
        return node, free
