"""Random well-typed Relay programs that use the whole language, for comparing all ways to run them.

`whole_modules()` makes a module whose `main` takes (bool, Tensor[(2), float32], int32). Every expression is made for a
type that was asked for, from what is in scope: operators over several shapes and dtypes, lets, shared nodes, tuples,
ifs, closures (returned, stored, recursive), polymorphic functions (global and local), calls of functions generated
before, lists, options and trees, nested and tuple patterns, and references that live across expressions. Effects are
never part of nodes that several scopes share: where those are evaluated is a matter of its own.

Types are written as tuples: ("tensor", shape, dtype), ("tuple", a, b), ("fn", arguments, result), ("List", a),
("Option", a), ("Tree", a), ("ref", a).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from hypothesis import note
from hypothesis import strategies as st

from baton._src.ir.expr import GlobalVar
from baton._src.ir.module import IRModule
from baton._src.ir.types import FuncType, RelayRefType, TupleType, TypeCall, TypeVar
from baton._src.relay.nodes import (
    Call,
    Clause,
    Constant,
    Function,
    If,
    Let,
    Match,
    PatternConstructor,
    PatternTuple,
    PatternVar,
    PatternWildcard,
    RefCreate,
    RefRead,
    RefWrite,
    Tuple,
    TupleGetItem,
    Var,
)
from baton._src.relay.nodes import var as tensor_var
from baton._src.relay.text.printer import astext
from baton._src.values.tensor import array
from tests.relay import rare_expressions as rare
from tests.relay.programs import read_module
from tests.relay.rare_expressions import INT, MATRIX, SCALAR, VECTOR, Env, Kind, op

BOOL: Kind = ("tensor", (), "bool")
TENSORS = (VECTOR, VECTOR, SCALAR, INT, BOOL, MATRIX)

BASE = """
type List[A] { Cons(A, List[A]), Nil }
type Option[A] { Some(A), Nothing }
type Tree[A] { Rose(A, List[Tree[A]]) }
def @id[A](%x: A) -> A { %x }
def @compose[A, B, C](%f: fn(B) -> C, %g: fn(A) -> B) -> fn(A) -> C { fn(%x: A) -> C { %f(%g(%x)) } }
def @map[A, B](%f: fn(A) -> B, %xs: List[A]) -> List[B] {
  match (%xs) { Cons(%x, %rest) => Cons(%f(%x), @map(%f, %rest)), Nil => Nil }
}
def @fold[A, B](%f: fn(A, B) -> A, %z: A, %xs: List[B]) -> A {
  match (%xs) { Cons(%x, %rest) => @fold(%f, %f(%z, %x), %rest), Nil => %z }
}
def @size[A](%xs: List[A]) -> int32 { match (%xs) { Cons(_, %rest) => 1 + @size(%rest), Nil => 0 } }
def @root[A](%t: Tree[A]) -> A { match (%t) { Rose(%x, _) => %x } }
def @leaves[A](%t: Tree[A]) -> int32 {
  match (%t) { Rose(_, Nil) => 1, Rose(_, %below) => @fold(fn(%n: int32, %c: Tree[A]) { %n + @leaves(%c) }, 0, %below) }
}
def @or_else[A](%o: Option[A], %other: A) -> A { match (%o) { Some(%x) => %x, Nothing => %other } }
def @repeat[A](%f: fn(A) -> A, %n: int32, %x: A) -> A {
  if (%n <= 0) { %x } else { @repeat(%f, %n - 1, %f(%x)) }
}
def @even(%n: int32) -> bool { if (%n <= 0) { True } else { @odd(%n - 1) } }
def @odd(%n: int32) -> bool { if (%n <= 0) { False } else { @even(%n - 1) } }
"""


@cache
def base(more: bool = False) -> IRModule:
    """The types and polymorphic functions that all programs may use."""
    return read_module(BASE + rare.EITHER if more else BASE)


class Maker:
    """Makes one program from hypothesis's choices. `budget` bounds the number of its inner nodes; `has_rare` adds what
    `rare_expressions` makes."""

    def __init__(self, draw: Any, effects: bool, budget: int, has_rare: bool) -> None:
        self.draw = draw
        self.effects = effects
        self.budget = budget
        self.has_rare = has_rare
        self.base = base(has_rare)
        self.general = (*((rare.matched_either,) if has_rare else ()), *GENERAL)
        """Ways to make an expression of any type; the last two have effects."""
        self.constructors = {c.name_hint: c for d in self.base.type_definitions.values() for c in d.constructors}
        self.headers = {v.name_hint: v for v in self.base.type_definitions}
        self.functions: list[tuple[Kind, GlobalVar]] = []
        self.count = 0

    # ---- choices, names, types

    def below(self, count: int) -> int:
        """A number in [0, count)."""
        return int(self.draw(st.integers(0, count - 1)))

    def pick(self, options: Any) -> Any:
        return options[self.below(len(options))]

    def var(self, kind: Kind | None = None) -> Var:
        self.count += 1
        return Var(f"v{self.count}", None if kind is None else self.type(kind))

    def global_(self, name: str) -> GlobalVar:
        return self.base.get_global_var(name)

    def kind(self, depth: int = 2) -> Kind:
        """A type; tensors mostly."""
        choice = self.below(10) if depth > 0 else 0
        if choice < 5:
            return self.pick(rare.KINDS if self.has_rare and self.below(6) == 0 else TENSORS)
        if choice == 5:
            return ("tuple", *(self.kind(depth - 1) for _ in range(self.below(3))))
        if choice == 6:
            return ("fn", tuple(self.kind(0) for _ in range(1 + self.below(2))), self.kind(depth - 1))
        if choice == 9 and self.effects:
            return ("ref", self.kind(depth - 1))
        if choice == 7 and self.has_rare and self.below(3) == 0:
            return ("Either", self.kind(depth - 1), self.kind(0))
        return (self.pick(("List", "Option", "Tree")), self.kind(depth - 1))

    def type(self, kind: Kind) -> Any:
        """The Relay type."""
        match kind:
            case ("tensor", shape, dtype):
                return tensor_var("t", shape=shape, dtype=dtype).type_annotation
            case ("tuple", *fields):
                return TupleType(tuple(self.type(f) for f in fields))
            case ("fn", args, result):
                return FuncType(tuple(self.type(a) for a in args), self.type(result))
            case ("ref", inner):
                return RelayRefType(self.type(inner))
            case _:
                return TypeCall(self.headers[kind[0]], tuple(self.type(k) for k in kind[1:]))

    # ---- expressions

    def expr(self, kind: Kind, env: Env, depth: int) -> Any:
        """An expression of type `kind`."""
        self.budget -= 1
        known = [e for k, e in env if k == kind]
        if known and self.below(3) == 0:
            return self.pick(known)
        if depth <= 0 or self.budget <= 0:
            return self.pick(known) if known else self.leaf(kind)
        if self.below(3) == 0:
            made: Callable[..., Any] = self.pick(self.general if self.effects else self.general[:-2])
            return made(self, kind, env, depth - 1)
        return _SPECIAL[kind[0]](self, kind, env, depth - 1)

    def leaf(self, kind: Kind) -> Any:
        """The smallest expression of its type."""
        match kind:
            case ("tensor", shape, "bool"):
                return Constant(array(self.below(2) == 1, dtype="bool"))
            case ("tensor", shape, dtype):
                size = 1
                for dim in shape:
                    size *= dim
                lowest = 0 if dtype == "uint8" else -3
                numbers = array([self.below(7) + lowest for _ in range(size)], dtype=dtype)
                return Constant(array(numbers.data.reshape(shape) / (2 if "float" in dtype else 1), dtype=dtype))
            case ("tuple", *fields):
                return Tuple(tuple(self.leaf(f) for f in fields))
            case ("fn", args, result):
                return Function([self.var(a) for a in args], self.leaf(result), self.type(result))
            case ("ref", inner):
                return RefCreate(self.leaf(inner))
            case ("Tree", inner):
                return self.make("Rose", self.leaf(inner), self.make("Nil"))
            case ("Either", inner, _):
                return self.make("Left", self.leaf(inner))
            case _:
                return self.make("Nil" if kind[0] == "List" else "Nothing")

    def make(self, constructor: str, *fields: Any) -> Call:
        return Call(self.constructors[constructor], fields)

    def let(self, kind: Kind, env: Env, depth: int) -> Any:
        bound = self.kind()
        variable = self.var()
        return Let(variable, self.annotated(bound, env, depth), self.expr(kind, [*env, (bound, variable)], depth))

    def annotated(self, kind: Kind, env: Env, depth: int) -> Any:
        """An expression whose type shows without its uses: `Nil` alone would leave it open."""
        if kind[0] == "tensor":
            return self.expr(kind, env, depth)
        return Call(Function([v := self.var(kind)], v, self.type(kind)), (self.expr(kind, env, depth),))

    def shared(self, kind: Kind, env: Env, depth: int) -> Any:
        """A node used several times, in one scope or in branches."""
        effects, self.effects = self.effects, False
        inner = self.kind(1)
        pure = [(k, e) for k, e in env if "ref" not in str(k) and "fn" not in str(k)]
        node = self.annotated(inner, pure, depth)
        self.effects = effects
        return self.expr(kind, [*env, (inner, node), (inner, node)], depth)

    def branch(self, kind: Kind, env: Env, depth: int) -> Any:
        return If(self.expr(BOOL, env, depth), self.expr(kind, env, depth), self.expr(kind, env, depth))

    def identity(self, kind: Kind, env: Env, depth: int) -> Any:
        return Call(self.global_("id"), (self.annotated(kind, env, depth),))

    def projection(self, kind: Kind, env: Env, depth: int) -> Any:
        whole = ("tuple", kind, self.kind(1))
        return TupleGetItem(self.annotated(whole, env, depth), 0)

    def application(self, kind: Kind, env: Env, depth: int) -> Any:
        """A call of a closure, or of a function generated before."""
        known = [v for k, v in self.functions if k[2] == kind]
        if known and self.below(2) == 0:
            callee = self.pick(known)
            args = next(k[1] for k, v in self.functions if v is callee)
            return Call(callee, tuple(self.expr(a, env, depth) for a in args))
        args = tuple(self.kind(1) for _ in range(1 + self.below(2)))
        function = self.expr(("fn", args, kind), env, depth)
        return Call(function, tuple(self.expr(a, env, depth) for a in args))

    def matched_list(self, kind: Kind, env: Env, depth: int) -> Any:
        inner = self.kind(1)
        head, tail, second = self.var(), self.var(), self.var()
        first = PatternConstructor(self.constructors["Cons"], (PatternVar(head), PatternVar(tail)))
        two = PatternConstructor(self.constructors["Cons"], (PatternVar(second), PatternWildcard()))
        longer = PatternConstructor(self.constructors["Cons"], (PatternWildcard(), two))
        clauses = [
            Clause(longer, self.expr(kind, [*env, (inner, second)], depth)),
            Clause(first, self.expr(kind, [*env, (inner, head), (("List", inner), tail)], depth)),
            Clause(PatternWildcard(), self.expr(kind, env, depth)),
        ][self.below(2) :]
        return Match(self.annotated(("List", inner), env, depth), tuple(clauses))

    def matched_pair(self, kind: Kind, env: Env, depth: int) -> Any:
        """A tuple of an option and something else, taken apart."""
        inner, other = self.kind(1), self.kind(1)
        content, rest, both = self.var(), self.var(), self.var()
        some = PatternConstructor(self.constructors["Some"], (PatternVar(content),))
        clauses = [
            Clause(
                PatternTuple((some, PatternVar(rest))), self.expr(kind, [*env, (inner, content), (other, rest)], depth)
            ),
            Clause(PatternVar(both), self.expr(kind, [*env, (("tuple", ("Option", inner), other), both)], depth)),
        ]
        return Match(self.annotated(("tuple", ("Option", inner), other), env, depth), tuple(clauses))

    def or_else(self, kind: Kind, env: Env, depth: int) -> Any:
        option = self.annotated(("Option", kind), env, depth)
        return Call(self.global_("or_else"), (option, self.expr(kind, env, depth)))

    def root(self, kind: Kind, env: Env, depth: int) -> Any:
        return Call(self.global_("root"), (self.annotated(("Tree", kind), env, depth),))

    def folded(self, kind: Kind, env: Env, depth: int) -> Any:
        inner = self.kind(1)
        step = self.expr(("fn", (kind, inner), kind), env, depth)
        start, xs = self.annotated(kind, env, depth), self.annotated(("List", inner), env, depth)
        return Call(self.global_("fold"), (step, start, xs))

    def repeated(self, kind: Kind, env: Env, depth: int) -> Any:
        step = self.expr(("fn", (kind,), kind), env, depth)
        count = Constant(array(self.below(4), dtype="int32"))
        return Call(self.global_("repeat"), (step, count, self.annotated(kind, env, depth)))

    def recursive(self, kind: Kind, env: Env, depth: int) -> Any:
        """A local function that calls itself a few times."""
        function, n, sofar = self.var(), self.var(INT), self.var(kind)
        again = Call(function, (op("subtract", n, Constant(array(1, dtype="int32"))), sofar))
        stop = op("less_equal", n, Constant(array(0, dtype="int32")))
        body = If(stop, self.expr(kind, [*env, (INT, n), (kind, sofar)], depth), again)
        literal = Function([n, sofar], body, self.type(kind))
        count = Constant(array(self.below(3), dtype="int32"))
        return Let(function, literal, Call(function, (count, self.expr(kind, env, depth))))

    def polymorphic(self, kind: Kind, env: Env, depth: int) -> Any:
        """A local function with a type parameter, used at two types."""
        name, parameter = self.var(), TypeVar(f"T{self.count}")
        x = Var(f"x{self.count}", parameter)
        other, unused = self.kind(1), self.var()
        use = Call(name, (self.annotated(kind, env, depth),))
        first = Let(unused, Call(name, (self.annotated(other, env, depth),)), use)
        return Let(name, Function([x], rare.same(self, x) if self.has_rare else x, parameter, (parameter,)), first)

    def read(self, kind: Kind, env: Env, depth: int) -> Any:
        return RefRead(self.expr(("ref", kind), env, depth))

    def written(self, kind: Kind, env: Env, depth: int) -> Any:
        """A reference that is made or known, written, and used on."""
        inner = self.kind(1)
        cell, unused = self.var(), self.var()
        inside = [*env, (("ref", inner), cell)]
        write = RefWrite(cell, self.expr(inner, inside, depth))
        return Let(cell, self.annotated(("ref", inner), env, depth), Let(unused, write, self.expr(kind, inside, depth)))

    # ---- by type

    def tensor(self, kind: Kind, env: Env, depth: int) -> Any:
        shape, dtype = kind[1:]
        if dtype == "bool":
            return self.boolean(env, depth)
        if kind in rare.KINDS:
            return rare.of_kind(self, kind, env, depth)
        if self.has_rare and self.below(6) == 0:
            return rare.back_to(self, kind, env, depth)
        if dtype == "int32" and self.below(3) == 0:
            name, of = self.pick((("size", "List"), ("leaves", "Tree")))
            return Call(self.global_(name), (self.annotated((of, self.kind(1)), env, depth),))
        choice = self.below(5)
        if choice == 0:
            node = self.expr(kind, env, depth)
            return op("multiply" if dtype == "float32" else "add", node, node)
        if choice == 1 and dtype == "float32":
            return op(self.pick(("tanh", "negative", "sigmoid", "abs", "nn.relu")), self.expr(kind, env, depth))
        if choice == 2 and dtype == "float32":
            return self.reshaped(shape, env, depth)
        names = ("add", "subtract", "maximum", "minimum")
        other = SCALAR if dtype == "float32" and self.below(3) == 0 else kind
        return op(self.pick(names), self.expr(kind, env, depth), self.expr(other, env, depth))

    def reshaped(self, shape: tuple[int, ...], env: Env, depth: int) -> Any:
        """From a tensor of another shape."""
        if shape == ():
            return op("sum", self.expr(self.pick((VECTOR, MATRIX)), env, depth))
        if shape == (2,):
            return op("mean", self.expr(MATRIX, env, depth), axis=(self.below(2),))
        if self.below(2):
            return op("nn.dense", self.expr(MATRIX, env, depth), self.expr(MATRIX, env, depth))
        return op("transpose", self.expr(MATRIX, env, depth))

    def boolean(self, env: Env, depth: int) -> Any:
        choice = self.below(4)
        if choice == 0:
            return op("logical_not", self.expr(BOOL, env, depth))
        if choice == 1:
            return Call(
                self.global_(self.pick(("even", "odd"))), (op("minimum", self.expr(INT, env, depth), self.three()),)
            )
        if choice == 2:
            return op("logical_and", self.expr(BOOL, env, depth), self.expr(BOOL, env, depth))
        kind = self.pick((SCALAR, INT))
        return op("less", self.expr(kind, env, depth), self.expr(kind, env, depth))

    def three(self) -> Constant:
        return Constant(array(3, dtype="int32"))

    def tuple(self, kind: Kind, env: Env, depth: int) -> Any:
        return Tuple(tuple(self.expr(field, env, depth) for field in kind[1:]))

    def function(self, kind: Kind, env: Env, depth: int) -> Any:
        args, result = kind[1], kind[2]
        if len(args) == 1 and self.below(5) == 0:
            middle = self.kind(1)
            outer = self.expr(("fn", (middle,), result), env, depth)
            inner = self.expr(("fn", args, middle), env, depth)
            return Call(self.global_("compose"), (outer, inner))
        params = [self.var(a) for a in args]
        body = self.expr(result, [*env, *zip(args, params)], depth)
        return Function(params, body, self.type(result))

    def list(self, kind: Kind, env: Env, depth: int) -> Any:
        if self.below(4) == 0:
            inner = self.kind(1)
            function = self.expr(("fn", (inner,), kind[1]), env, depth)
            return Call(self.global_("map"), (function, self.annotated(("List", inner), env, depth)))
        return self.make("Cons", self.expr(kind[1], env, depth), self.expr(kind, env, depth))

    def option(self, kind: Kind, env: Env, depth: int) -> Any:
        return self.make("Some", self.expr(kind[1], env, depth))

    def tree(self, kind: Kind, env: Env, depth: int) -> Any:
        return self.make("Rose", self.expr(kind[1], env, depth), self.expr(("List", kind), env, depth))

    def reference(self, kind: Kind, env: Env, depth: int) -> Any:
        return RefCreate(self.expr(kind[1], env, depth))


_SPECIAL: dict[str, Callable[[Maker, Kind, Env, int], Any]] = {
    "tensor": Maker.tensor,
    "tuple": Maker.tuple,
    "fn": Maker.function,
    "List": Maker.list,
    "Option": Maker.option,
    "Tree": Maker.tree,
    "Either": rare.either,
    "ref": Maker.reference,
}

GENERAL: tuple[Callable[[Maker, Kind, Env, int], Any], ...] = (
    Maker.let,
    Maker.let,
    Maker.shared,
    Maker.branch,
    Maker.identity,
    Maker.projection,
    Maker.application,
    Maker.application,
    Maker.matched_list,
    Maker.matched_pair,
    Maker.or_else,
    Maker.root,
    Maker.folded,
    Maker.repeated,
    Maker.recursive,
    Maker.polymorphic,
    Maker.read,
    Maker.written,
)
"""Ways to make an expression of any type; the last two have effects."""


@st.composite
def whole_modules(
    draw: Any, depth: int = 5, effects: bool = True, budget: int = 60, has_rare: bool = False
) -> IRModule:
    """A module whose `main` takes (bool, Tensor[(2), float32], int32)."""
    maker = Maker(draw, effects, budget, has_rare)
    defined: dict[GlobalVar, Function] = {}
    for number in range(maker.below(3)):
        maker.budget = max(maker.budget, budget // 3)
        kind: Kind = ("fn", tuple(maker.kind(1) for _ in range(1 + maker.below(2))), maker.kind(1))
        params = [maker.var(a) for a in kind[1]]
        inside = maker.expr(kind[2], list(zip(kind[1], params)), depth - 2)
        name = GlobalVar(f"helper{number}")
        defined[name] = Function(params, inside, maker.type(kind[2]))
        maker.functions.append((kind, name))
    maker.budget = max(maker.budget, budget // 2)
    given: Env = [(BOOL, maker.var(BOOL)), (VECTOR, maker.var(VECTOR)), (INT, maker.var(INT))]
    result = first_order(maker.kind(2))
    body: Callable[..., Any] = maker.pick(maker.general if effects else maker.general[:-2])
    main = Function([v for _, v in given], body(maker, result, given, depth), maker.type(result))
    module = maker.base.with_functions({**maker.base.functions, **defined, GlobalVar("main"): main})
    note(astext(module))
    return module


def first_order(kind: Kind) -> Kind:
    """The type with functions and references replaced by what they hold: results are compared as data."""
    match kind:
        case ("tensor", *_):
            return kind
        case ("tuple", *fields):
            return ("tuple", *map(first_order, fields))
        case ("fn", _, result):
            return first_order(result)
        case ("ref", inner):
            return first_order(inner)
        case ("Either", left, right):  # one of its constructors holds a function
            return ("tuple", first_order(left), first_order(right))
        case _:
            return (kind[0], first_order(kind[1]))
