"""Sizes that an entry computes once: what stands for an expression has its value, and equal ones are computed once."""

from __future__ import annotations

import random

from baton._src.ir.expr import PrimExpr
from baton._src.ir.traverse import post_order, substitute
from baton._src.lower.relax_to_vm.entry_sizes import EntrySizes
from baton._src.tir import operators as ops
from baton._src.tir.arith.analyzer import Analyzer
from baton._src.tir.buffer import decl_buffer
from baton._src.tir.expr import BufferLoad, Div, IntImm, Max, Select, Var, literal
from baton._src.tir.stmt import Evaluate, LetStmt, Stmt
from baton._src.values.dtype import INT64

N, M, K = Var("n", INT64), Var("m", INT64), Var("k", INT64)
WORDS = decl_buffer((4,), INT64, "words")
LOADS = {v: BufferLoad(WORDS, (literal(i, INT64),)) for i, v in enumerate((N, M, K))}


def random_size(rng: random.Random, known: list[PrimExpr]) -> PrimExpr:
    a, b = rng.choice(known), rng.choice(known)
    divisor = literal(rng.randint(1, 5), INT64)
    return rng.choice(
        [
            ops.add(a, b),
            ops.subtract(a, b),
            ops.multiply(a, b),
            ops.floordiv(a, divisor),
            ops.floormod(a, divisor),
            Div(a, divisor),
            Max(a, b),
            Select(ops.greater(a, b), a, b),
        ]
    )


def lets_of(stmt: Stmt) -> list[LetStmt]:
    found = []
    while isinstance(stmt, LetStmt):
        found.append(stmt)
        stmt = stmt.body
    return found


def value_of(expr: PrimExpr, sizes: EntrySizes, values: dict[Var, int]) -> int:
    """Evaluate the definitions in order, each in terms of those before it."""
    known: dict[PrimExpr, PrimExpr] = {LOADS[v]: IntImm(INT64, at) for v, at in values.items()}
    simplify = Analyzer().simplify
    for let in lets_of(sizes.around(Evaluate(expr))):
        known[let.var] = simplify(substitute(let.value, known))
        assert isinstance(known[let.var], IntImm), let
    found = simplify(substitute(expr, known))
    assert isinstance(found, IntImm)
    return found.value


def test_values_of_random_sizes() -> None:
    for seed in range(20):
        rng = random.Random(seed)
        known: list[PrimExpr] = [N, M, K, literal(3, INT64)]
        for _ in range(12):
            known.append(random_size(rng, known))
        sizes = EntrySizes(LOADS, {})
        values = {v: rng.randint(0, 9) for v in (N, M, K)}
        shown = [sizes.value(e) for e in known]
        numbers: dict[PrimExpr, PrimExpr] = {v: IntImm(INT64, at) for v, at in values.items()}
        for expr, stands in zip(known, shown):
            expected = Analyzer().simplify(substitute(expr, numbers))
            assert isinstance(expected, IntImm)
            assert value_of(stands, sizes, values) == expected.value, (seed, expr)


def test_equal_sizes_are_computed_once() -> None:
    sizes = EntrySizes(LOADS, {})
    first, second = (sizes.value(ops.multiply(ops.add(N, literal(3, INT64)), M)) for _ in range(2))
    assert first is second
    assert len(lets_of(sizes.around(Evaluate(first)))) == 4  # n, m, the sum, the product


def test_what_a_condition_guards_is_not_computed_beforehand() -> None:
    """Else a division by zero would end the process before the condition is looked at."""
    guarded = Select(ops.greater(M, literal(0, INT64)), Div(N, M), N)
    sizes = EntrySizes(LOADS, {})
    shown = sizes.value(ops.add(guarded, literal(1, INT64)))
    assert not any(isinstance(let.value, Div) for let in lets_of(sizes.around(Evaluate(shown))))


def test_what_kernels_count_is_read_where_it_is_used() -> None:
    count = BufferLoad(decl_buffer((1,), INT64, "counts"), (literal(0, INT64),))
    sizes = EntrySizes({N: LOADS[N]}, {K: count})
    shown = sizes.value(ops.multiply(ops.add(N, literal(3, INT64)), K))
    assert count in post_order(shown)
    assert lets_of(sizes.around(Evaluate(shown))) == []
