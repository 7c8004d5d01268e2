"""The memory plan: nothing that lives at the same time overlaps, and what is dead is reused."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from baton._src.ir.traverse import post_order, substitute
from baton._src.lower.memory_plan import ALIGNMENT, Lifetime, plan_memory
from baton._src.lower.relax_to_vm.dims import to_dim_expr
from baton._src.lower.size_polynomial import Atoms, to_polynomial
from baton._src.runtime.dim_expr import compile_dim
from baton._src.tir.expr import Var, literal
from baton._src.tir.operators import add, floordiv, multiply, subtract
from baton._src.values.dtype import INT64

N, M = Var("n", INT64), Var("m", INT64)


def value_of(expr: object, n: int, m: int) -> int:
    if isinstance(expr, int):
        return expr
    return int(compile_dim(to_dim_expr(expr, {N: 0, M: 1}))((n, m)))


def check_disjoint(values: list[Lifetime], n: int = 1, m: int = 1) -> int:
    """Every pair that lives at the same time lies apart, aligned and inside the arena; returns the arena's size."""
    plan = plan_memory(values)
    total = value_of(plan.total, n, m)
    placed = [(v, value_of(o, n, m), value_of(v.size, n, m)) for v, o in zip(plan.values, plan.offsets)]
    for index, (a, start, size) in enumerate(placed):
        assert start % ALIGNMENT == 0
        assert start + size <= total or size == 0
        for b, other, length in placed[:index]:
            alive_together = a.first <= b.last and b.first <= a.last
            assert not alive_together or start + size <= other or other + length <= start or 0 in (size, length)
    return total


lifetimes = st.lists(st.tuples(st.integers(0, 5000), st.integers(0, 4), st.integers(0, 5)), max_size=25)


@given(lifetimes)
def test_fixed_sizes(raw: list[tuple[int, int, int]]) -> None:
    """Constant sizes; at most what they take without sharing."""
    step, values = 0, []
    for size, gap, length in raw:
        step += gap
        values.append(Lifetime("v", size, step, step + length))
    assert check_disjoint(values) <= sum(-(-v.size // ALIGNMENT) * ALIGNMENT for v in values)


@given(lifetimes, st.lists(st.integers(0, 3), max_size=25), st.integers(0, 40), st.integers(0, 40))
def test_symbolic_sizes(raw: list[tuple[int, int, int]], kinds: list[int], n: int, m: int) -> None:
    """Sizes over n and m, for whatever n and m turn out to be."""
    step, values = 0, []
    for (size, gap, length), kind in zip(raw, kinds):
        step += gap
        base = literal(size % 97, INT64)
        exprs = (size, multiply(N, base), multiply(multiply(N, M), base), add(floordiv(multiply(N, base), 3), M))
        values.append(Lifetime("v", exprs[kind], step, step + length))
    check_disjoint(values, n, m)


def test_a_chain_needs_two_buffers() -> None:
    """a -> b -> c -> ...: each dies when the next is made."""
    values = [Lifetime("v", 1000, i, i + 1) for i in range(100)]
    assert check_disjoint(values) == 2 * 1024
    symbolic = [Lifetime("v", multiply(N, literal(256, INT64)), i, i + 1) for i in range(100)]
    assert check_disjoint(symbolic, n=7) == 2 * 7 * 256


def test_best_fit_and_coalescing() -> None:
    """Two neighbours that died make room for one large value."""
    values = [
        Lifetime("a", 640, 0, 1),
        Lifetime("b", 640, 0, 1),
        Lifetime("c", 64, 0, 3),
        Lifetime("d", 1280, 2, 3),
    ]
    assert check_disjoint(values) == 1280 + 64


def test_smaller_symbolic_values_reuse_larger_slots() -> None:
    """64 n fits where 256 n was; a later larger one grows the slot."""
    sizes = (256, 64, 512)
    values = [Lifetime("v", multiply(N, literal(s, INT64)), i, i) for i, s in enumerate(sizes)]
    assert check_disjoint(values, n=3) == 512 * 3


def test_polynomials_compare_by_coefficients() -> None:
    atoms = Atoms()
    small = to_polynomial(multiply(multiply(N, M), literal(4, INT64)), atoms)
    large = to_polynomial(add(multiply(multiply(M, N), literal(8, INT64)), N), atoms)
    assert atoms.covers(large, small)
    assert not atoms.covers(small, large)
    assert to_polynomial(substitute(add(N, N), {N: M})).terms == {(M,): 2}


def test_offsets_behind_many_slots_are_short() -> None:
    """Guards size: an offset named every slot before it, so executables grew with the square of these."""
    values = [Lifetime("v", multiply(N, literal(4, INT64)), i, 1000) for i in range(500)]
    assert check_disjoint(values, n=17) == 500 * 128
    assert len(list(post_order(plan_memory(values).total))) < 12


def test_values_of_equal_quotients_share_memory() -> None:
    """The quotients are equal, not the same object: each tensor of a map has dims of its own."""
    halves = [floordiv(add(N, literal(1, INT64)), literal(2, INT64)) for _ in range(4)]
    values = [Lifetime("v", multiply(half, multiply(M, literal(64, INT64))), i, i) for i, half in enumerate(halves)]
    assert check_disjoint(values, n=5, m=3) == 3 * 3 * 64


WINDOWS = add(floordiv(subtract(N, literal(7, INT64)), literal(4, INT64)), literal(1, INT64))
"""0 if n is 3: the quotient is negative."""


def test_a_quotient_may_be_negative() -> None:
    """Guards memory beyond the arena: as quotients counted as >= 0, m * windows was taken to be at least m."""
    values = [Lifetime("v", multiply(M, size), i, i) for i, size in enumerate((WINDOWS, literal(1, INT64)))]
    check_disjoint(values, n=3, m=1000)


def test_variables_that_are_no_dims_may_be_negative() -> None:
    """Guards as above, for numbers that a function takes: n + 9 is smaller than 9 if n is -3."""
    values = [Lifetime("v", add(N, literal(9, INT64)), 0, 0), Lifetime("v", multiply(M, literal(9, INT64)), 1, 1)]
    sizes = [Lifetime("v", multiply(M, v.size), v.first, v.last) for v in values[:1]] + values[1:]
    assert check_disjoint(sizes, n=0, m=64) == 64 * 9
    plan = plan_memory(sizes, signed={N})
    assert value_of(plan.total, -3, 64) == 64 * (6 + 9)


def test_sizes_that_are_multiples_share_memory() -> None:
    """A map with twice the channels covers one of the same dims, whatever these are."""
    values = [Lifetime("v", multiply(multiply(M, WINDOWS), literal(c, INT64)), i, i) for i, c in enumerate((64, 128))]
    assert check_disjoint(values, n=15, m=5) == 5 * 3 * 128


def test_ten_thousand_values_quickly() -> None:
    """n log n: a long program plans at once."""
    values = [Lifetime("v", 64 * (i % 13 + 1), i, i + i % 5) for i in range(10_000)]
    assert plan_memory(values).total < 64 * 13 * 12


def test_large_values_are_placed_first() -> None:
    """Guards tightness: in order of time the large value would find no gap; by size the plan is as small as can be."""
    kilo = 1024
    values = [
        Lifetime("a", 2 * kilo, 0, 1),
        Lifetime("b", kilo, 1, 4),
        Lifetime("c", 3 * kilo, 2, 4),
        Lifetime("d", kilo, 4, 5),
        Lifetime("e", 2 * kilo, 5, 6),
    ]
    assert check_disjoint(values) == 5 * kilo
