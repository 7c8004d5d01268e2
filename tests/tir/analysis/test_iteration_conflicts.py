"""Which loops have iterations that must not run together: proofs agree with what running the iterations touches."""

from __future__ import annotations

import random
from typing import Any

import pytest

from baton import te
from baton._src.ir.traverse import post_order
from baton._src.support.diagnostics import DiagnosticError
from baton._src.tir import stmt as st
from baton._src.tir.analysis.iteration_conflicts import conflicts
from baton._src.tir.schedule.schedule import Schedule
from baton.script import from_source
from baton.script import tir as T


def loop_over(indices: str, extents: str = "8, 4", other: str | None = None) -> st.For:
    """for i, j: A[indices] = A[other], where `other` is left out a number."""
    value = "T.float32(0)" if other is None else f"A[{other}]"
    func = from_source(
        "@T.prim_func\n"
        "def main(a: T.handle, P: T.Buffer((64,), 'int32'), n: T.int32, m: T.int32):\n"
        "    A = T.match_buffer(a, (4096,))\n"
        f"    for i, j in T.grid({extents}):\n        A[{indices}] = {value}\n"
    )
    return next(n for n in post_order(func.body) if isinstance(n, st.For) and n.loop_var.name == "i")


APART = [
    ("i", "64, 1"), ("i * 4 + j", "1000, 4"), ("i * 4 + j", "n, 4"), ("i * m + j", "n, m"), ("i * 9 + j", "1000, 4"),
    ("63 - i", "64, 1"), ("i * 2 + 1", "1000, 1"), ("j * 1000 + i", "1000, 4"), ("j * n + i", "n, m"),
    ("(i * 16 + j) // 30 * 100 + (i * 16 + j) % 30", "50, 16"), ("i // 7 * 8 + i % 7", "1001, 1"),
    ("i * i", "60, 1"), ("P[0] + i", "n, 1"), ("(i + 3) % 64", "64, 1"),
]  # fmt: skip
MEETING = [
    ("j", "8, 4"), ("0", "8, 1"), ("i + j", "1000, 4"), ("i // 2", "64, 1"), ("i % 7", "64, 1"), ("P[i]", "64, 1"),
    ("i * 3 + j", "n, 4"), ("i * (i - 5) + 10", "60, 1"), ("i * 16 // 30", "50, 1"), ("(i + 3) % 63", "64, 1"),
]  # fmt: skip


@pytest.mark.parametrize(("indices", "extents"), APART)
def test_elements_of_one_iteration_each(indices: str, extents: str) -> None:
    """Guards the three proofs: by bounds, by indices that tell the iteration, by looking at all."""
    assert list(conflicts(loop_over(indices, extents), {})) == []
    assert list(conflicts(loop_over(indices, extents, other=indices), {})) == []


@pytest.mark.parametrize(("indices", "extents"), MEETING)
def test_elements_of_several_iterations(indices: str, extents: str) -> None:
    """Guards that what meets, or may, is no proof's to wave through."""
    assert [c.store.buffer.name for c in conflicts(loop_over(indices, extents), {})] == ["A"]


@pytest.mark.parametrize(
    ("other", "meets"),
    [("i", False), ("i + 8", False), ("i + 7", True), ("i - 1", True), ("i // 2", True), ("0", True)],
)
def test_loads_of_what_is_stored(other: str, meets: bool) -> None:
    """Guards pairs of a store and a load."""
    assert bool(list(conflicts(loop_over("i", "8, 1", other), {}))) is meets


def test_random_indices_against_all_iterations() -> None:
    """Guards soundness: whatever is proved of small loops is so when the elements are listed."""
    r = random.Random(3)
    for _ in range(150):
        n, m = r.randint(2, 9), r.randint(1, 5)
        terms = ["i", "j", f"i // {r.randint(2, 4)}", f"i % {r.randint(2, 4)}", f"(i * {m} + j) % {r.randint(2, 12)}",
                 f"(i * {m} + j) // {r.randint(2, 12)}"]  # fmt: skip
        made = [" + ".join(f"{term} * {r.randint(0, 9)}" for term in r.sample(terms, 3)) for _ in range(2)]
        touched = [{(eval(e, {"i": i, "j": j}), i) for i in range(n) for j in range(m)} for e in made]
        meets = any(a == b and i != k for a, i in touched[0] for b, k in touched[0] | touched[1])
        assert bool(list(conflicts(loop_over(made[0], f"{n}, {m}", made[1]), {}))) is meets, made


def scan() -> Any:
    @T.prim_func
    def main(A: T.Buffer((16, 8), "float32"), B: T.Buffer((16, 8), "float32")):
        for i, j in T.grid(15, 8):
            with T.block("scan"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi + 1, vj] = B[vi, vj] + A[vi, vj]

    return main


@pytest.mark.parametrize("primitive", ["parallel", "vectorize"])
def test_neighbours_are_not_shared(primitive: str) -> None:
    """Guards data-parallel axes whose block reads what another instance of it stores: they ran at the same time."""
    s = Schedule(scan())
    rows, columns = s.get_loops("scan")
    with pytest.raises(DiagnosticError, match="stores elements of B in one iteration over i"):
        getattr(s, primitive)(rows)
    getattr(s, primitive)(columns)


def test_histograms_and_last_values() -> None:
    """Guards elements that depend on data, and those that all iterations store."""

    @T.prim_func
    def counted(P: T.Buffer((16,), "int32"), N: T.Buffer((4,), "int32"), L: T.Buffer((1,), "int32")):
        for i in range(16):
            with T.block("count"):
                vi = T.axis.spatial(16, i)
                N[P[vi]] = N[P[vi]] + 1
        for i in range(16):
            with T.block("last"):
                vi = T.axis.spatial(16, i)
                L[0] = P[vi]

    s = Schedule(counted)
    for block in ("count", "last"):
        with pytest.raises(DiagnosticError, match=f"block {block} stores elements"):
            s.parallel(s.get_loops(block)[0])


@pytest.mark.parametrize("n", [100, te.size_var("n")])
def test_fused_and_split_anew(n: Any) -> None:
    """Guards what stays possible: tiles that cross the ends of rows, of open sizes, too, and windows filled anew."""
    a = te.placeholder((n, 30), name="A")
    b = te.compute((n, 30), lambda i, j: a[i, j] * 2.0, name="B")
    c = te.compute((n - 2, 30), lambda i, j: b[i, j] + b[i + 2, j], name="C")
    s = Schedule(te.create_prim_func([a, c]))
    outer, inner = s.split(s.fuse(*s.get_loops("B")), [None, 16])
    s.parallel(outer)
    s.vectorize(inner)
    s = Schedule(te.create_prim_func([a, c]))
    outer, _ = s.split(s.get_loops("C")[0], [None, 8])
    s.compute_at("B", outer)
    s.parallel(outer)


def test_blocks_of_threads_do_not_reduce() -> None:
    """Guards bind, as TVM: a reduction is shared by the threads of one group only."""
    a, k = te.placeholder((8, 16), name="A"), te.reduce_axis((0, 16), "k")
    func = te.create_prim_func([a, te.compute((8,), lambda i: te.sum(a[i, k], axis=k), name="C")])
    for thread in ("blockIdx.x", "vthread.x"):
        s = Schedule(func)
        with pytest.raises(DiagnosticError, match="carries the reduction of block C"):
            s.bind(s.get_loops("C")[1], thread)
    s = Schedule(func)
    s.bind(s.get_loops("C")[0], "blockIdx.x")
    s.bind(s.get_loops("C")[1], "threadIdx.x")


def loop_with_memory(condition: str, index: str) -> st.For:
    """for i: t = a value of its own; if condition: A[index] = 0."""
    func = from_source(
        "@T.prim_func\n"
        "def main(A: T.Buffer((64,), 'float32')):\n"
        "    for i in range(8):\n"
        "        t = T.allocate([1], 'int32', 'local')\n"
        "        own = T.Buffer((1,), 'int32', data=t)\n"
        "        own[0] = 20 - i\n"
        f"        if {condition}:\n            A[{index}] = T.float32(0)\n"
    )
    return next(n for n in post_order(func.body) if isinstance(n, st.For))


@pytest.mark.parametrize(
    ("condition", "index"), [("i < 8", "own[0] + i"), ("own[0] + i == 20", "own[0] + i"), ("own[0] == i", "3")]
)
def test_what_an_iteration_keeps_for_itself_tells_nothing_of_another(condition: str, index: str) -> None:
    """Guards that memory of an iteration, in indices or conditions, is not taken for the same value in all of them."""
    assert [c.store.buffer.name for c in conflicts(loop_with_memory(condition, index), {})] == ["A"]


def test_what_never_runs_meets_nothing() -> None:
    """Found by random kernels: that a literal condition holds nowhere was an error of NumPy."""
    func = from_source("""
@T.prim_func
def main(A: T.Buffer((64,), "float32"), P: T.Buffer((8,), "int32")):
    for i in range(8):
        for j in range(4):
            if T.bool(False):
                A[i % 5 + j] = T.float32(1)
""")
    assert (
        list(conflicts(next(n for n in post_order(func.body) if isinstance(n, st.For) and n.loop_var.name == "i"), {}))
        == []
    )
