"""Dot products of bytes as tiles, by TVM's names: sums are exact, interpreted and native."""

from __future__ import annotations

import numpy as np
import pytest

from baton._src.support.diagnostics import DiagnosticError
from baton._src.te import reduction
from baton._src.te.computation import compute, placeholder, reduce_axis
from baton._src.te.prim_func import create_prim_func
from baton._src.tir.analysis.check import check_prim_func
from baton._src.tir.evaluation.interpreter import run_prim_func
from baton._src.tir.expr import Cast
from baton._src.tir.prim_func import PrimFunc
from baton._src.tir.schedule.schedule import Schedule
from baton._src.tir.schedule.transformations.dot_products import DOT_PRODUCTS
from baton._src.tir.text.parser import parse_text
from baton._src.tir.text.printer import node_text, script
from baton.script import tir as T
from baton.tir import TensorIntrin
from baton.tir.tensor_intrin import arm_cpu, x86
from tests.codegen.native_run import run_native

RNG = np.random.default_rng(5)


def packed_matmul(rows: int, left: str, right: str, total: str, packed: bool = True) -> PrimFunc:
    """C[m, n] = sum of X[m, k] * W[n, k], W in blocks of `rows` by 4 (or as it is)."""
    m, n, k = 3, 2 * rows, 8
    x = placeholder((m, k), left, "X")
    shape = (n // rows, k // 4, rows, 4) if packed else (n, k)
    w = placeholder(shape, right, "W")
    r = reduce_axis((0, k), "k")

    def weight(j, k):
        return w[j // rows, k // 4, j % rows, k % 4] if packed else w[j, k]

    return create_prim_func(
        [
            x,
            w,
            compute((m, n), lambda i, j: reduction.sum(Cast(total, x[i, r]) * Cast(total, weight(j, r.var)), r), "C"),
        ]
    )


def tensorized(name: str, packed: bool = True, intrinsic: str | None = None) -> PrimFunc:
    dot = DOT_PRODUCTS[name]
    sch = Schedule(packed_matmul(dot.rows, dot.left, dot.right, dot.total, packed))
    block = sch.get_block("C")
    i, j, k = sch.get_loops(block)
    (jo, ji), (ko, ki) = sch.split(j, [None, dot.rows]), sch.split(k, [None, 4])
    sch.reorder(i, jo, ko, ji, ki)
    sch.decompose_reduction(block, ko)
    sch.tensorize(ji, intrinsic or name)
    return sch.func


@pytest.mark.parametrize("name", sorted(DOT_PRODUCTS))
def test_sums_are_exact(name: str) -> None:
    """Guards each tile at the ends of its dtypes: nothing saturates, no sign is lost."""
    dot = DOT_PRODUCTS[name]
    func = tensorized(name)
    assert check_prim_func(func) == []
    x = np.full((3, 8), np.iinfo(dot.left).max, dot.left)
    x[1] = np.iinfo(dot.left).min
    x[2] = RNG.integers(np.iinfo(dot.left).min, np.iinfo(dot.left).max, 8, endpoint=True)
    ends = np.iinfo(dot.right)
    w = RNG.integers(ends.min, ends.max, (2, 2, dot.rows, 4), endpoint=True).astype(dot.right)
    w[0, 0, 0], w[0, 1, 0] = ends.max, ends.max
    w[0, 0, 1], w[0, 1, 1] = ends.min, ends.min
    plain = w.transpose(0, 2, 1, 3).reshape(2 * dot.rows, 8)
    wanted = (x.astype("int64") @ plain.astype("int64").T).astype(dot.total)
    for run in (lambda *given: run_prim_func(func, given), lambda *given: run_native(func, *given)):
        found = np.zeros_like(wanted)
        run(x, w, found)
        np.testing.assert_array_equal(found, wanted)


def test_tiles_survive_their_text() -> None:
    """Guards that scheduled programs print and are read again."""
    func = tensorized("dot_16x4_vnni")
    assert script(parse_text(script(func))) == script(func)


def test_a_tile_whose_rows_lie_apart_is_refused() -> None:
    """Guards weights that were not packed: their 64 bytes are not side by side."""
    func = tensorized("dot_16x4_vnni", packed=False)
    x, w = np.zeros((3, 8), "uint8"), np.zeros((32, 8), "int8")
    with pytest.raises(DiagnosticError, match="across its rows"):
        run_native(func, x, w, np.zeros((3, 32), "int32"))
    with pytest.raises(DiagnosticError, match=r"there are: .*dot_16x4_vnni"):
        Schedule(packed_matmul(16, "uint8", "int8", "int32")).tensorize("C", "dot_9x9")


def test_tiles_say_what_their_vectors_reach() -> None:
    """Guards regions of vectors that go on in the next row: copies lacked rows, blocks stated vectors as bounds, and
    readers were refused.
    """
    s = Schedule(tensorized("dot_16x4_vnni"))
    outer = s.get(s.blockize(s.get_loops("C_update_o")[2]))
    shown = [node_text(region) for region in (*outer.reads, *outer.writes)]
    c, w = "C[v_i_o_o, v_j_o_o * 16:v_j_o_o * 16 + 16]", "W[v_j_o_o, 0:2, 0:16, 0:4]"
    assert shown == [c, "X[v_i_o_o, 0:8]", w, c]
    s = Schedule(tensorized("dot_16x4_vnni"))
    s.compute_at(s.cache_read("C_update_o", 2, "shared"), s.get_loops("C_update_o")[2])
    assert [s.get(loop).extent.value for loop in s.get_loops("W_shared")[3:]] == [16, 4]


@T.prim_func
def by_vectors(A: T.Buffer((64,), "float32"), C: T.Buffer((64,), "float32")):
    B = T.alloc_buffer((64,))
    for i in range(8):
        with T.block("B"):
            v = T.axis.spatial(8, i)
            B[v * 8 : v * 8 + 8] = A[v * 8 : v * 8 + 8] + T.Broadcast(T.float32(2), 8)
    for i in range(64):
        with T.block("C"):
            v = T.axis.spatial(64, i)
            C[v] = B[v]


def test_kernels_of_vectors() -> None:
    """Guards parallel loops over vectors, and readers that move to where a vector is made; both were refused."""
    s = Schedule(by_vectors)
    assert node_text(s.get("B").writes[0]) == "B[v * 8:v * 8 + 8]"
    (loop,) = s.get_loops("B")
    s.parallel(loop)
    with pytest.raises(DiagnosticError, match="A is read or written by vectors"):
        s.transform_layout("B", "A", lambda i: (i // 16, i % 16))


def test_intrinsics_over_their_parts() -> None:
    """Guards that a script's own intrinsic may take over the description of a built-in one."""
    TensorIntrin.register("mine", x86.dot_product_16x4_u8i8i32_desc, x86.dot_product_16x4_u8i8i32_vnni, override=True)
    built_in, own = tensorized("dot_16x4_vnni"), tensorized("dot_16x4_vnni", intrinsic="mine")
    assert script(own) == script(built_in)
    assert script(arm_cpu.neon_4x4_i8i8i32_desc) == script(TensorIntrin.get("dot_4x4_i8i8s32_neon").desc)
