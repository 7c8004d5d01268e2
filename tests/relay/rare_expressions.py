"""What random Relay programs rarely hold: narrow dtypes, tensors without elements, data that holds functions.

Functions beside `random_programs.Maker`, which they take: `maker.expr(kind, env, depth)` makes an expression of a type.
"""

from __future__ import annotations

from typing import Any

from baton._src.ops.catalogue import CATALOGUE
from baton._src.relay.nodes import (
    Call,
    Clause,
    Function,
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
)

Kind = tuple[Any, ...]
Env = list[tuple[Kind, Any]]

VECTOR: Kind = ("tensor", (2,), "float32")
MATRIX: Kind = ("tensor", (2, 2), "float32")
SCALAR: Kind = ("tensor", (), "float32")
INT: Kind = ("tensor", (), "int32")
HALVES: Kind = ("tensor", (2,), "float16")
ROUGH: Kind = ("tensor", (2,), "bfloat16")
DOUBLES: Kind = ("tensor", (2,), "float64")
BYTES: Kind = ("tensor", (2,), "int8")
UNSIGNED: Kind = ("tensor", (2,), "uint8")
LONG: Kind = ("tensor", (), "int64")
EMPTY: Kind = ("tensor", (0, 2), "float32")
OTHER_FLOATS, OTHER_BYTES = (HALVES, ROUGH, DOUBLES), (BYTES, UNSIGNED)
KINDS = (*OTHER_FLOATS, *OTHER_BYTES, LONG, EMPTY)
EITHER = "type Either[A, B] { Left(A), Right(B), Both(A, B), Later(fn() -> A) }"


def op(name: str, *args: Any, **attrs: Any) -> Call:
    """A call of a Relay operator."""
    found = CATALOGUE.relay(name)
    fields = found.definition.attrs
    return Call(found, args, None if fields is None else fields(**attrs))


def of_kind(maker: Any, kind: Kind, env: Env, depth: int) -> Any:
    """Of a dtype or shape that few operators give."""
    if maker.below(2):
        name = maker.pick(("add", "subtract", "maximum", "minimum", "multiply"))
        return op(name, maker.expr(kind, env, depth), maker.expr(kind, env, depth))
    if kind == LONG:
        return op("cast", maker.expr(INT, env, depth), dtype="int64")
    if kind in OTHER_FLOATS:
        return op("cast", maker.expr(VECTOR, env, depth), dtype=kind[2])
    if kind in OTHER_BYTES:
        less = op("less", maker.expr(VECTOR, env, depth), maker.expr(VECTOR, env, depth))
        return op("cast", less, dtype=kind[2])
    return op("strided_slice", maker.expr(MATRIX, env, depth), begin=(0,), end=(0,), axes=(0,))


def back_to(maker: Any, kind: Kind, env: Env, depth: int) -> Any:
    """Back from there."""
    if kind == INT:
        if maker.below(2):
            return op("cast", maker.expr(LONG, env, depth), dtype="int32")
        return op("sum", op("cast", maker.expr(maker.pick(OTHER_BYTES), env, depth), dtype="int32"))
    if kind == SCALAR:
        return op("sum", maker.expr(EMPTY, env, depth))
    if kind == MATRIX:
        return op("concatenate", Tuple((maker.expr(EMPTY, env, depth), maker.expr(MATRIX, env, depth))), axis=0)
    choice = maker.below(4)
    if choice == 0:
        return op("cast", maker.expr(maker.pick((*OTHER_FLOATS, *OTHER_BYTES)), env, depth), dtype="float32")
    if choice == 1:
        return op("sum", maker.expr(EMPTY, env, depth), axis=(0,))
    if choice == 2:
        less = op("less", maker.expr(VECTOR, env, depth), maker.expr(VECTOR, env, depth))
        return op("where", less, maker.expr(VECTOR, env, depth), maker.expr(VECTOR, env, depth))
    halves = op("split", maker.expr(MATRIX, env, depth), indices_or_sections=2, axis=1)
    return op("squeeze", TupleGetItem(halves, maker.below(2)), axis=(1,))


def either(maker: Any, kind: Kind, env: Env, depth: int) -> Any:
    """Data of one of the four constructors."""
    name = maker.pick(("Left", "Right", "Both", "Later"))
    if name == "Later":
        return maker.make(name, Function([], maker.expr(kind[1], env, depth), maker.type(kind[1])))
    fields = {"Left": (kind[1],), "Right": (kind[2],), "Both": kind[1:]}[name]
    return maker.make(name, *(maker.expr(k, env, depth) for k in fields))


def matched_either(maker: Any, kind: Kind, env: Env, depth: int) -> Any:
    """One clause for each constructor, or for some and the rest."""
    left, right = maker.kind(1), maker.kind(0)
    a, b, c, d, later = (maker.var() for _ in range(5))
    clauses = [
        Clause(_pattern(maker, "Later", later), maker.expr(kind, [*env, (left, Call(later, ()))], depth)),
        Clause(_pattern(maker, "Both", a, b), maker.expr(kind, [*env, (left, a), (right, b)], depth)),
        Clause(_pattern(maker, "Left", c), maker.expr(kind, [*env, (left, c)], depth)),
        Clause(_pattern(maker, "Right", d), maker.expr(kind, [*env, (right, d)], depth)),
    ]
    if maker.below(2):
        clauses = [*clauses[: maker.below(4)], Clause(PatternWildcard(), maker.expr(kind, env, depth))]
    return Match(maker.annotated(("Either", left, right), env, depth), tuple(clauses))


def _pattern(maker: Any, constructor: str, *variables: Var) -> PatternConstructor:
    return PatternConstructor(maker.constructors[constructor], tuple(PatternVar(v) for v in variables))


def same(maker: Any, x: Var) -> Any:
    """`x` by detours that work for every type: through data, a tuple, a closure, a reference, itself."""
    choice = maker.below(6 if maker.effects else 4)
    if choice == 1:
        content = maker.var()
        clauses = (Clause(_pattern(maker, "Some", content), content), Clause(PatternWildcard(), x))
        return Match(maker.make("Some", x), clauses)
    if choice == 2:
        return TupleGetItem(Tuple((Tuple(()), x)), 1)
    if choice == 3:
        return Call(Function([], x), ())
    if choice < 4:
        return x
    cell, unused = maker.var(), maker.var()
    held = RefRead(cell) if choice == 4 else Call(Function([], RefRead(cell)), ())
    return Let(cell, RefCreate(x), Let(unused, RefWrite(cell, x), held))
