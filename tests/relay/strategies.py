"""Random well-typed Relay modules: operators, lets, sharing, tuples, ifs, closures, polymorphism, ADTs, references.

A program is a function of a boolean and two float tensors. Each generated expression has the type asked for; what it
may use is the environment so far, so variables are always in scope. References are made, read and written within one
expression, so that no generated value is one.
"""

from __future__ import annotations

from typing import Any

from hypothesis import note
from hypothesis import strategies as st

from baton._src.ir.expr import GlobalVar
from baton._src.ir.module import IRModule
from baton._src.ir.types import Constructor, TypeCall
from baton._src.ops.catalogue import CATALOGUE
from baton._src.relay.nodes import (
    Call,
    Clause,
    Constant,
    Function,
    If,
    Let,
    Match,
    PatternConstructor,
    PatternVar,
    PatternWildcard,
    RefCreate,
    RefRead,
    RefWrite,
    Tuple,
    TupleGetItem,
    Var,
    var,
)
from baton._src.relay.text.printer import astext
from baton._src.values.tensor import array
from tests.relay.programs import read_module

FLOAT, BOOL, PAIR, FUNC, LIST = "float", "bool", "pair", "func", "list"
KINDS = (FLOAT, BOOL, PAIR, FUNC, LIST)
BASE = """
type List[A] { Cons(A, List[A]), Nil }
def @id[A](%x: A) -> A { %x }
def @total(%xs: List[Tensor[(2), float32]]) -> Tensor[(2), float32] {
  match (%xs) {
    Cons(%x, %rest) => %x + @total(%rest),
    Nil => Constant(0, (2), float32),
  }
}
"""


def _call(name: str, *args: Any) -> Call:
    return Call(CATALOGUE.relay(name), args)


class _Maker:
    """Makes one program from hypothesis's choices."""

    def __init__(self, draw: Any, effects: bool) -> None:
        self.draw = draw
        self.effects = effects
        self.base = read_module(BASE)
        self.tensor = var("t", shape=(2,)).type_annotation
        data = self.base["List"]
        self.cons: Constructor = data.constructors[0]
        self.nil: Constructor = data.constructors[1]
        self.list_type = TypeCall(data.header, (self.tensor,))
        self.count = 0

    def name(self) -> str:
        self.count += 1
        return f"v{self.count}"

    def pick(self, options: list[Any]) -> Any:
        return options[self.draw(st.integers(0, len(options) - 1))]

    def expr(self, kind: str, env: list[tuple[str, Any]], depth: int) -> Any:
        """An expression of `kind`."""
        known = [e for k, e in env if k == kind]
        if known and self.draw(st.integers(0, 3)) == 0:
            return self.pick(known)
        if depth <= 0:
            return self.pick(known) if known else self.leaf(kind, env)
        choice = self.draw(st.integers(0, 5))
        if choice == 0:
            return self.let(kind, env, depth)
        if choice == 1:
            cond = self.expr(BOOL, env, depth - 1)
            return If(cond, self.expr(kind, env, depth - 1), self.expr(kind, env, depth - 1))
        if choice == 2:
            return Call(self.base.get_global_var("id"), (self.expr(kind, env, depth - 1),))
        return getattr(self, f"make_{kind}")(env, depth - 1)

    def let(self, kind: str, env: list[tuple[str, Any]], depth: int) -> Any:
        bound = self.pick(list(KINDS))
        variable = Var(self.name())
        value = self.expr(bound, env, depth - 1)
        return Let(variable, value, self.expr(kind, [*env, (bound, variable)], depth - 1))

    def leaf(self, kind: str, env: list[tuple[str, Any]]) -> Any:
        match kind:
            case "float":
                numbers = [self.draw(st.integers(-3, 3)) / 2 for _ in range(2)]
                return Constant(array(numbers, dtype="float32"))
            case "bool":
                return Constant(array(self.draw(st.booleans()), dtype="bool"))
            case "pair":
                return Tuple((self.leaf(FLOAT, env), self.leaf(FLOAT, env)))
            case "list":
                return Call(self.cons, (self.leaf(FLOAT, env), Call(self.nil, ())))
            case _:
                x = Var(self.name(), self.tensor)
                return Function([x], x, self.tensor)

    def make_float(self, env: list[tuple[str, Any]], depth: int) -> Any:
        shape = self.draw(st.integers(0, 6 if self.effects else 5))
        if shape == 0:
            node = self.expr(FLOAT, env, depth)
            return _call("add", node, node)  # a shared node
        if shape == 1:
            return TupleGetItem(self.expr(PAIR, env, depth), self.draw(st.integers(0, 1)))
        if shape == 2:
            return Call(self.expr(FUNC, env, depth), (self.expr(FLOAT, env, depth),))
        if shape == 3:
            return self.match(env, depth)
        if shape == 4:
            return Call(self.base.get_global_var("total"), (self.expr(LIST, env, depth),))
        if shape == 6:
            return self.reference(env, depth)
        name = self.pick(["add", "subtract", "multiply", "maximum", "tanh", "negative"])
        count = 1 if name in ("tanh", "negative") else 2
        return _call(name, *(self.expr(FLOAT, env, depth) for _ in range(count)))

    def reference(self, env: list[tuple[str, Any]], depth: int) -> Any:
        """let r = ref(a); let _ = ref_write(r, f(ref_read(r))); ref_read(r)"""
        cell, unused = Var(self.name()), Var(self.name())
        old = RefRead(cell)
        write = RefWrite(cell, _call("add", old, self.expr(FLOAT, env, depth)))
        return Let(cell, RefCreate(self.expr(FLOAT, env, depth)), Let(unused, write, RefRead(cell)))

    def match(self, env: list[tuple[str, Any]], depth: int) -> Any:
        head, tail = Var(self.name()), Var(self.name())
        first = PatternConstructor(self.cons, (PatternVar(head), PatternVar(tail)))
        inside = [*env, (FLOAT, head), (LIST, tail)]
        clauses = [
            Clause(first, self.expr(FLOAT, inside, depth)),
            Clause(PatternWildcard(), self.expr(FLOAT, env, depth)),
        ]
        return Match(self.expr(LIST, env, depth), clauses)

    def make_bool(self, env: list[tuple[str, Any]], depth: int) -> Any:
        both = [self.expr(FLOAT, env, depth) for _ in range(2)]
        return Call(CATALOGUE.relay("all"), (_call("less", *both),), CATALOGUE.relay("all").definition.attrs())

    def make_pair(self, env: list[tuple[str, Any]], depth: int) -> Any:
        return Tuple((self.expr(FLOAT, env, depth), self.expr(FLOAT, env, depth)))

    def make_func(self, env: list[tuple[str, Any]], depth: int) -> Any:
        x = Var(self.name(), self.tensor)
        return Function([x], self.expr(FLOAT, [*env, (FLOAT, x)], depth))

    def make_list(self, env: list[tuple[str, Any]], depth: int) -> Any:
        return Call(self.cons, (self.expr(FLOAT, env, depth), self.expr(LIST, env, depth)))


@st.composite
def modules(draw: Any, depth: int = 4, effects: bool = True) -> IRModule:
    """A module whose `main` takes (bool, Tensor[(2), float32], Tensor[(2), float32])."""
    maker = _Maker(draw, effects)
    flag, x, y = var("c", shape=(), dtype="bool"), Var("x", maker.tensor), Var("y", maker.tensor)
    env = [(BOOL, flag), (FLOAT, x), (FLOAT, y)]
    kind = maker.pick([FLOAT, BOOL, PAIR, LIST])
    main = Function([flag, x, y], maker.expr(kind, env, depth))
    module = maker.base.with_functions({**maker.base.functions, GlobalVar("main"): main})
    note(astext(module))
    return module
