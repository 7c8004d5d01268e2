"""What partial evaluation knows about a value, and the lets of the residual program.

A `Partial` is an atom of the residual program (a variable, a constant, a name) together with what is known statically
about its value: a tensor, the parts of a tuple or of data, a closure with its environment, the cell of a reference. A
let whose value has no effect is `lazy`: it is emitted only if its variable is used.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Any

from baton._src.ir.types import Constructor
from baton._src.relay.nodes import Function, PatternConstructor, PatternTuple, PatternVar, Var
from baton._src.support.dataclass import dataclass
from baton._src.support.trampoline import Task


@dataclass(eq=False)
class Partial:
    """`expr` is the atom that stands for the value; `known` what is known of it, or None."""

    expr: Any
    known: Any = None


@dataclass(eq=False)
class Fields:
    """A tuple, or with `constructor` an instance of an ADT."""

    fields: tuple[Partial, ...]
    constructor: Constructor | None = None


@dataclass(eq=False)
class Cell:
    """A reference created here; its content is in the store."""


class Env:
    """The values of variables in one activation of a function or branch, and the values of type parameters in it."""

    __slots__ = ("parent", "types", "values")

    def __init__(self, parent: Env | None, types: Mapping[Any, Any] | None = None) -> None:
        self.parent = parent
        self.values: dict[Var, Partial] = {}
        outer = {} if parent is None else parent.types
        self.types: Mapping[Any, Any] = {**outer, **types} if types else outer

    def lookup(self, var: Var) -> Partial:
        env: Env | None = self
        while env is not None:
            found = env.values.get(var)
            if found is not None:
                return found
            env = env.parent
        return Partial(var)  # free in the whole program


@dataclass(eq=False)
class Closure:
    """A function literal in its environment. `blocked` are the functions that may not be unfolded in its residual
    code.
    """

    function: Function
    env: Env
    blocked: frozenset[Any] = frozenset()


@dataclass(eq=False)
class Entry:
    """`let var = make()`; `make` may be a task. A lazy entry is emitted only if its variable is used."""

    var: Var
    make: Callable[[], Task[Any]]
    lazy: bool


@dataclass(eq=False)
class Lets:
    """The lets of a scope of the residual program, in order."""

    entries: list[Entry] = field(default_factory=list)

    def add(self, hint: str, make: Callable[[], Any], known: Any = None, lazy: bool = True) -> Partial:
        """A new variable for the value that `make` returns at the end, when all uses are known."""

        return self.add_task(hint, lambda: _at_once(make), known, lazy)

    def add_task(self, hint: str, make: Callable[[], Task[Any]], known: Any = None, lazy: bool = True) -> Partial:
        var = Var(hint)
        self.entries.append(Entry(var, make, lazy))
        return Partial(var, known)


def _at_once(make: Callable[[], Any]) -> Task[Any]:
    """A task that has no sub-tasks."""
    yield from ()
    return make()


def match_statically(pattern: Any, value: Partial, into: dict[Var, Partial]) -> bool | None:
    """Whether `value` matches `pattern`, binding its parts in `into`; None if that is not known yet."""
    work = [(pattern, value)]
    unknown = False
    while work:
        top, part = work.pop()
        if isinstance(top, PatternVar):
            into[top.var] = part
        elif isinstance(top, (PatternConstructor, PatternTuple)):
            if not isinstance(part.known, Fields):
                unknown = True
                continue
            constructor = getattr(top, "constructor", None)
            if constructor is not part.known.constructor:
                return False
            work.extend(zip(top.patterns, part.known.fields))
    return None if unknown else True
