"""Blocks in blocks: what `blockize` makes, by its text, and what primitives see of it."""

from __future__ import annotations

import numpy as np
import pytest

from baton import te
from baton._src.support.diagnostics import DiagnosticError
from baton._src.tir.evaluation.interpreter import run_prim_func
from baton._src.tir.prim_func import PrimFunc
from baton._src.tir.schedule.schedule import Schedule
from baton.script import from_source


def matmul() -> PrimFunc:
    a, b = te.placeholder((8, 16), name="A"), te.placeholder((16, 1), name="B")
    k = te.reduce_axis((0, 16), "k")
    c = te.compute((8, 1), lambda i, j: te.sum(a[i, k] * b[k, j], k), name="C")
    d = te.compute((8, 1), lambda i, j: c[i, j] + 1.0, name="D")
    made: PrimFunc = te.create_prim_func([a, b, d])
    return made


def blockized(preserve_unit_iters: bool = True) -> Schedule:
    s = Schedule(matmul())
    i, j, k = s.get_loops("C")
    i0, i1 = s.split(i, [None, 4])
    k0, k1 = s.split(k, [None, 4])
    s.reorder(i0, k0, i1, j, k1)
    s.blockize(i1, preserve_unit_iters)
    return s


def lines_of(s: Schedule, first: str, last: str) -> list[str]:
    lines = s.func.script().splitlines()
    start = next(n for n, line in enumerate(lines) if first in line)
    end = next(n for n, line in enumerate(lines[start:], start) if last in line)
    return [line.strip() for line in lines[start : end + 1]]


def check(s: Schedule) -> None:
    draws = np.random.default_rng(0)
    arrays = [draws.random(shape, np.float32) for shape in ((8, 16), (16, 1), (8, 1))]
    run_prim_func(s.func, arrays)
    np.testing.assert_allclose(arrays[2], arrays[0] @ arrays[1] + 1, rtol=1e-5)


def test_axes_are_divided() -> None:
    """Guards axes and loops by name, indices in simple form, and that an axis of one iteration is the outer block's."""
    s = blockized()
    assert lines_of(s, 'T.block("C_o")', "C[v_i_o * 4 + v_i_i, v_j_o] = C[v_i_o * 4 + v_i_i, v_j_o] +") == [
        'with T.block("C_o"):',
        "v_i_o = T.axis.spatial(2, i_0)",
        "v_j_o = T.axis.spatial(1, 0)",
        "v_k_o = T.axis.reduce(4, k_0)",
        "T.reads(A[v_i_o * 4:v_i_o * 4 + 4, v_k_o * 4:v_k_o * 4 + 4], B[v_k_o * 4:v_k_o * 4 + 4, v_j_o])",
        "T.writes(C[v_i_o * 4:v_i_o * 4 + 4, v_j_o])",
        "with T.init():",
        "for i_1 in range(4):",
        'with T.block("C_init"):',
        "v_i_i_init = T.axis.spatial(4, i_1)",
        "T.reads()",
        "T.writes(C[v_i_o * 4 + v_i_i_init, v_j_o])",
        "C[v_i_o * 4 + v_i_i_init, v_j_o] = T.float32(0)",
        "for i_1, j, k_1 in T.grid(4, 1, 4):",
        'with T.block("C"):',
        'v_i_i, v_k_i = T.axis.remap("SR", [i_1, k_1])',
        "T.reads(C[v_i_o * 4 + v_i_i, v_j_o], A[v_i_o * 4 + v_i_i, v_k_o * 4 + v_k_i], B[v_k_o * 4 + v_k_i, v_j_o])",
        "T.writes(C[v_i_o * 4 + v_i_i, v_j_o])",
        "C[v_i_o * 4 + v_i_i, v_j_o] = C[v_i_o * 4 + v_i_i, v_j_o] + "
        "A[v_i_o * 4 + v_i_i, v_k_o * 4 + v_k_i] * B[v_k_o * 4 + v_k_i, v_j_o]",
    ]
    check(s)


def test_axes_of_one_value() -> None:
    """Guards `preserve_unit_iters=False`: what has one value only is 0."""
    s = blockized(preserve_unit_iters=False)
    assert "C[v_i_o * 4 + v_i_i, 0] =" in s.func.script()
    check(s)


def test_producers_and_consumers_are_beside() -> None:
    """Guards that blocks inside of a block, and that block, are not each other's neighbours."""
    s = blockized()
    assert [b.name for b in s.get_consumers("C_o")] == ["D"]
    assert [b.name for b in s.get_producers("D")] == ["C_o"]
    assert s.get_consumers("C") == []
    assert [b.name for b in s.get_child_blocks("C_o")] == ["C"]
    assert s.get_consumers("C_init") == s.get_producers("C") == []  # an init's blocks are not beside those of the body


def test_blocks_without_axes_are_seen() -> None:
    """Guards a block all of whose axes went to the outer one: it still reads and writes."""
    s = Schedule(matmul())
    s.blockize(s.get_loops("D")[1])
    assert not s.get("D").iter_vars
    s.cache_read("D", 0, "local")
    assert [b.name for b in s.get_child_blocks("D_o")] == ["C_local", "D"]
    check(s)
    with pytest.raises(DiagnosticError):
        s.compute_inline("C_o")


def doubled_and_one() -> PrimFunc:
    a = te.placeholder((4, 8), name="A")
    b = te.compute((4, 8), lambda i, j: a[i, j] * 2.0, name="B")
    made: PrimFunc = te.create_prim_func([a, te.compute((4, 8), lambda i, j: b[i, j] + 1.0, name="C")])
    return made


def test_blocks_stay_in_the_block_they_are_part_of() -> None:
    """Guards buffers that a block allocates: moved to a loop outside of it, their writer named what was not there."""
    s = Schedule(doubled_and_one())
    outside, inside = s.get_loops("C")
    s.blockize(inside)
    copied = s.cache_read("C", 0, "local")
    before = s.func
    with pytest.raises(DiagnosticError, match="outside of block C_o"):
        s.compute_at(copied, outside)
    assert s.func is before


def test_reductions_that_run_again_begin_again() -> None:
    """Guards the init, which stands in front of the loops: run once for several runs of a sum, they added up."""
    s = Schedule(from_source(AGAIN))
    _, repeated, summed = s.get_loops("B")
    with pytest.raises(DiagnosticError, match="more than once"):
        s.blockize(repeated)
    s.blockize(summed)


AGAIN = """
@T.prim_func
def main(A: T.Buffer((4, 8), "float32"), B: T.Buffer((4,), "float32")):
    for i, j, k in T.grid(4, 3, 8):
        with T.block("B"):
            v_i, v_k = T.axis.remap("SR", [i, k])
            with T.init():
                B[v_i] = T.float32(0)
            B[v_i] = B[v_i] + A[v_i, v_k]
"""


def test_copies_of_what_a_block_without_axes_holds() -> None:
    """Found by random schedules: a block of nothing but another was not among the blocks, a ValueError. Whether
    what is inside fills the box is not known."""
    s = Schedule(matmul())
    s.blockize(s.get_loops("D")[1], preserve_unit_iters=False)
    s.add_unit_loop("D")
    inner = s.blockize(s.get_loops("D")[-1], preserve_unit_iters=False)
    assert not s.get(inner).iter_vars
    with pytest.raises(DiagnosticError, match="D_o_1 does not write a whole box of D"):
        s.cache_write(inner, 0, "local")
