"""Where a node of a graph is evaluated: the smallest scope that holds all its uses.

A function's body, an if's branches and a match's clauses open scopes; a node used in several of them belongs to their
lowest common ancestor, and is evaluated at most once in each run of it (seed 003, CalcScope; contradictions B-14).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

from baton._src.ir.expr import GlobalVar, GraphExpr, Op
from baton._src.ir.types import Constructor
from baton._src.relay.expressions import parts, walk
from baton._src.relay.nodes import Function, If, Let, Match, Var
from baton._src.support.diagnostics import fail


class Scope:
    """A place that is run as a whole. `parent` encloses it; `depth` counts from the outermost, 0."""

    __slots__ = ("depth", "owner", "parent")

    def __init__(self, parent: Scope | None, owner: Any = None) -> None:
        self.parent = parent
        self.depth: int = 0 if parent is None else parent.depth + 1
        self.owner = owner

    def common(self, other: Scope) -> Scope:
        """The smallest scope around both."""
        one: Any = self
        two: Any = other
        while one.depth > two.depth:
            one = one.parent
        while two.depth > one.depth:
            two = two.parent
        while one is not two:
            one, two = one.parent, two.parent
        found: Scope = one
        return found


class Scopes:
    """The scopes of everything below `root`, which has no users itself.

    Error `relay-scope`: a graph of several roots (a list of them), whose outermost scope would not be one.
    """

    def __init__(self, root: Any) -> None:
        if isinstance(root, (list, tuple)):
            if len(root) != 1:
                help = "wrap them in a tuple expression"
                raise fail("relay-scope", f"a graph with {len(root)} roots has no outermost scope", help=help)
            root = root[0]
        self.outermost = Scope(None)
        self.of: dict[Any, Scope] = {root: self.outermost}
        """The scope of each expression and of each bound variable."""
        self.inner: dict[tuple[Any, int], Scope] = {}
        """The scopes that a node opens, by position: a function's body 0, branches 1 and 2, clauses from 1."""
        self.uses: dict[Any, int] = {root: 1}
        self.lifted: dict[Any, None] = {}
        """Nodes whose scope moved up because uses in different scopes share them (operators and the like excepted)."""
        self.let_names: dict[Any, list[Var]] = {}
        """Function literals by the let variables that name them."""
        self._used_from: dict[Any, list[Scope]] = {}
        for node in reversed(walk(root)):
            self._spread(node, self.of[node])

    def used_from(self, node: GraphExpr) -> list[Scope]:
        """The scopes a node is used in."""
        return self._used_from.get(node, [])

    def evaluated_before(self, node: GraphExpr) -> list[Any]:
        """What has its value before `node` does, in order: its parts in the same scope, then what the scopes that it
        opens need of those around it."""
        parts_here = [part for _, part, opens in _edges(node) if not opens]
        return parts_here + self._needed_inside.get(node, [])

    @cached_property
    def _needed_inside(self) -> dict[Any, list[Any]]:
        """For each node that opens scopes: the nodes of scopes around it that are needed inside."""
        needs: dict[Any, dict[Any, None]] = {}
        for node in self.lifted:
            home = self.of[node]
            for inner in self.used_from(node):
                here: Scope = inner
                while here.parent is not home and here.parent is not None:
                    here = here.parent
                if here is not home:
                    needs.setdefault(here.owner, {})[node] = None
        return {owner: list(found) for owner, found in needs.items()}

    def _spread(self, node: GraphExpr, here: Scope) -> None:
        of, uses = self.of, self.uses
        if isinstance(node, Let) and isinstance(node.value, Function):
            self.let_names.setdefault(node.value, []).append(node.var)
        for position, part, opens in _edges(node):
            scope = here
            if opens:
                scope = Scope(here, node)
                self.inner[(node, position)] = scope
            known = of.get(part)
            if known is None:
                of[part] = scope
                uses[part] = 1
                self._used_from[part] = [scope]
            else:
                uses[part] += 1
                if self._used_from.setdefault(part, [scope])[-1] is not scope:
                    self._used_from[part].append(scope)
                common = known.common(scope) if known is not scope else known
                if common is not known or common is not scope:
                    of[part] = common
                    if not isinstance(part, (Op, GlobalVar, Constructor, Var)):
                        self.lifted[part] = None

    def shared(self, node: GraphExpr) -> bool:
        """Used more than once."""
        return self.uses.get(node, 0) > 1


def _edges(node: GraphExpr) -> Iterator[tuple[int, Any, bool]]:
    """The parts of a node with their position, and whether each is in a scope of its own."""
    match node:
        case Function():
            yield 0, node.body, True
        case If():
            yield 0, node.cond, False
            yield 1, node.true_branch, True
            yield 2, node.false_branch, True
        case Match():
            yield 0, node.data, False
            for position, clause in enumerate(node.clauses):
                yield position + 1, clause.rhs, True
        case Let():
            yield 0, node.value, False
            yield 1, node.body, False
        case _:
            for position, part in enumerate(parts(node)):
                yield position, part, False
