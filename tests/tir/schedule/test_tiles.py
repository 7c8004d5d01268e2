"""Primitives over tiles and parts of loops keep the meaning; traces as JSON do the same once more."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from baton._src.ir.structural import assert_structural_equal
from baton._src.passes.tir.ssa import verify_ssa
from baton._src.support.diagnostics import DiagnosticError
from baton._src.te import reduction
from baton._src.te.computation import compute, placeholder, reduce_axis
from baton._src.te.prim_func import create_prim_func
from baton._src.tir.evaluation.interpreter import run_prim_func
from baton._src.tir.prim_func import PrimFunc
from baton._src.tir.schedule.schedule import Schedule
from baton._src.tir.schedule.traces.trace import Trace
from baton._src.tir.schedule.transformations.tensorize import TensorIntrin
from baton._src.tir.text.parser import parse_text
from baton._src.tir.text.printer import script
from baton.script import tir as T
from tests.codegen.native_run import run_native
from tests.tir.schedule.test_primitives import CHAIN, MATMUL, chain, matmul, same

DESCRIPTION = """
@T.prim_func
def desc(a: T.handle, b: T.handle, c: T.handle):
    A = T.match_buffer(a, (4, {k}), "float32", offset_factor=1)
    B = T.match_buffer(b, ({k}, 3), "float32", offset_factor=1)
    C = T.match_buffer(c, (4, 3), "float32", offset_factor=1)
    with T.block("root"):
        T.reads(C[0:4, 0:3], A[0:4, 0:{k}], B[0:{k}, 0:3])
        T.writes(C[0:4, 0:3])
        for i, j, k in T.grid(4, 3, {k}):
            with T.block("update"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
"""
IMPLEMENTATION = """
@T.prim_func
def impl(a: T.handle, b: T.handle, c: T.handle):
    sa, sb, sc = T.int64(), T.int64(), T.int64()
    A = T.match_buffer(a, (4, {k}), "float32", strides=(sa, 1), offset_factor=1)
    B = T.match_buffer(b, ({k}, 3), "float32", strides=(sb, 1), offset_factor=1)
    C = T.match_buffer(c, (4, 3), "float32", strides=(sc, 1), offset_factor=1)
    with T.block("root"):
        T.reads(C[0:4, 0:3], A[0:4, 0:{k}], B[0:{k}, 0:3])
        T.writes(C[0:4, 0:3])
        for k, i, j in T.grid({k}, 4, 3):
            C[i, j] = C[i, j] + B[k, j] * A[i, k]
"""


def intrinsic(name: str, k: int) -> str:
    TensorIntrin.register(name, *functions(k), override=True)
    return name


def functions(k: int) -> tuple[PrimFunc, PrimFunc]:
    return parse_text(DESCRIPTION.format(k=k)), parse_text(IMPLEMENTATION.format(k=k))


def last_loop_in_two(s: Schedule) -> None:
    s.loop_partition(s.get_loops("C")[2], [3, None])


def outer_loops_as_one(s: Schedule) -> None:
    s.merge(*[s.get_loops(b)[0] for b in ("B", "C")])


def product(m: int = 12, n: int = 9, k: int = 7) -> PrimFunc:
    a, b = placeholder((m, k), "float32", "A"), placeholder((k, n), "float32", "B")
    r = reduce_axis((0, k), "r")
    return create_prim_func([a, b, compute((m, n), lambda i, j: reduction.sum(a[i, r] * b[r, j], r), "C")])


def test_tensorize() -> None:
    """Guards a tile of a product replaced by other code for it, at the right corner of each buffer."""

    def change(s: Schedule) -> None:
        block = s.get_block("C")
        i, j, r = s.get_loops(block)
        io, ii = s.split(i, [None, 4])
        jo, ji = s.split(j, [None, 3])
        s.reorder(io, jo, ii, ji, r)
        s.decompose_reduction(block, ii)
        s.tensorize(ii, intrinsic("test.gemm_4x3", 7))

    done = same(product(), change, (12, 7), (7, 9), (12, 9))
    assert "match_buffer" in script(done.func)


@pytest.mark.parametrize(
    ("terms", "why"),
    [
        (lambda a, b, r, i: a[i, r] + b[r, 0], "not a sum of products"),  # a zero would stand for a sum
        (lambda a, b, r, i: a[i, r] + 1.0, "not a sum of products"),
        (lambda a, b, r, i: a[i, 0] * b[0, 0], "no operand of block C has the axis"),
        (lambda a, b, r, i: a[i, i] * a[i, i], "no operand of block C has the axis"),
    ],
)
def test_padding_adds_nothing(terms: Any, why: str) -> None:
    """Guards sums to which padded axes would add more than zeros."""
    a, b, r = placeholder((6, 7), "float32", "A"), placeholder((7, 6), "float32", "B"), reduce_axis((0, 7), "r")
    func = create_prim_func([a, b, compute((6,), lambda i: reduction.sum(terms(a, b, r, i), r), "C")])
    with pytest.raises(DiagnosticError, match=why):
        Schedule(func).pad_einsum("C", [1, 4])


def test_what_an_intrinsic_is_not() -> None:
    s = Schedule(product())
    block = s.get_block("C")
    i, j, _ = s.get_loops(block)
    _, ii = s.split(i, [None, 4])
    s.decompose_reduction(block, ii)
    with pytest.raises(DiagnosticError, match="stands for one of"):
        s.tensorize(ii, intrinsic("test.gemm_4x3", 7))
    with pytest.raises(DiagnosticError, match="no tensor intrinsic 'nowhere'"):
        s.tensorize(j, "nowhere")
    with pytest.raises(DiagnosticError, match="registered already"):
        TensorIntrin.register("test.gemm_4x3", *functions(7))


@pytest.mark.parametrize("padding", [[8, 1, 1], [4, 4, 4], [1, 1, 16], [13, 9, 7]])
def test_pad_einsum(padding: list[int]) -> None:
    """Guards zeros around operands, and results cut out, for padded axes of either kind and none."""

    def change(s: Schedule) -> None:
        s.pad_einsum("C", padding)
        extents = [s.get(loop).extent.value for loop in s.get_loops("C")]
        assert all(e % p == 0 for e, p in zip(extents, padding))

    same(matmul(), change, *MATMUL)
    with pytest.raises(DiagnosticError, match="not a sum of products"):
        Schedule(chain()).pad_einsum("B", [4, 4])


def test_pad_einsum_at_constants() -> None:
    """Guards operands and results of which one row is used, and the names of TVM's blocks."""

    @T.prim_func
    def row(A: T.Buffer((3, 7), "float32"), B: T.Buffer((7, 9), "float32"), C: T.Buffer((1, 9), "float32")):
        for j, k in T.grid(9, 7):
            with T.block("C"):
                vj, vk = T.axis.remap("SR", [j, k])
                with T.init():
                    C[0, vj] = T.float32(0)
                C[0, vj] = C[0, vj] + A[2, vk] * B[vk, vj]

    s = same(row, lambda s: s.pad_einsum("C", [4, 8]), (3, 7), (7, 9), (1, 9))
    assert [block.name for block in s.get_child_blocks("root")] == ["A_pad", "B_pad", "C", "C_pad"]


PART = """
@T.prim_func
def main(A: T.Buffer((7, 8), "float32"), B: T.Buffer((8, 6), "float32"), C: T.Buffer((7, 6), "float32")):
    for i, j in T.grid(7, 6):
        with T.block("first"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = T.float32(3)
    for i, j, k in T.grid(2, 6, 5):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
"""


@pytest.mark.parametrize("padding", [[1, 1, 4], [4, 1, 1], [8, 4, 16]])
def test_pad_einsum_of_a_part(padding: list[int]) -> None:
    """Guards buffers that are larger than the axes: what is behind these was added up, and overwritten."""
    same(parse_text(PART), lambda s: s.pad_einsum("C", padding), (7, 8), (8, 6), (7, 6))


def test_pad_einsum_of_a_matrix_with_itself() -> None:
    """Guards reads of one buffer at two places: a copy padded for one of them is too small for the other."""
    a, r = placeholder((7, 5), "float32", "A"), reduce_axis((0, 5), "r")
    func = create_prim_func([a, compute((7, 7), lambda i, j: reduction.sum(a[i, r] * a[j, r], r), "C")])
    with pytest.raises(DiagnosticError, match="uses A at several places"):
        Schedule(func).pad_einsum("C", [1, 4, 1])


def test_transform_block_layout() -> None:
    """Guards axes fused and exchanged; kinds of axes do not mix."""

    def change(s: Schedule) -> None:
        s.transform_block_layout("B", lambda i, j: (i * 10 + j,))
        s.transform_block_layout("C", lambda i, j: (j, i))
        assert len(s.get_loops("B")) == 1

    same(chain(), change, *CHAIN)
    same(matmul(), lambda s: s.transform_block_layout("C", lambda i, j, k: (j, k, i)), *MATMUL)
    with pytest.raises(DiagnosticError, match="would mix"):
        Schedule(matmul()).transform_block_layout("C", lambda i, j, k: (i, j * 7 + k))


@pytest.mark.parametrize("factors", [[4, None], [None, 3], [4, 5, 4]])
def test_loop_partition(factors: list[int | None]) -> None:
    """Guards loops in a row that cover the one they come from, reductions included."""

    def change(s: Schedule) -> None:
        made = s.loop_partition(s.get_loops("B")[0], factors)
        assert len(made) == len(factors)
        s.unroll(made[-1])

    done = same(chain(), change, *CHAIN)
    assert [c.name_hint for c in map(done.get, done.get_child_blocks("B_i_common"))] == [
        f"B_i{n}_partition" for n in range(len(factors))
    ]
    first = done.get("B_i0")
    assert first.iter_vars[0].dom.extent.value == first.writes[0].region[0].extent.value == (factors[0] or 10)
    same(matmul(), last_loop_in_two, *MATMUL)
    s = Schedule(chain())
    assert [s.get(loop).extent.value for loop in s.loop_partition(s.get_loops("B")[0], [4, 4])] == [4, 4, 5]
    for wrong in ([4, 10], [13, None], [14]):
        with pytest.raises(DiagnosticError, match="would be empty"):
            s.loop_partition(s.get_loops("C")[0], wrong)


def test_partitions_share_no_variables() -> None:
    """Found by random kernels: memory and lets of a block were those of the first partition, defined twice."""
    func = parse_text("""
@T.prim_func
def main(A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32")):
    t = T.int32()
    for i in range(8):
        with T.block("B"):
            v = T.axis.spatial(8, i)
            own = T.decl_buffer((1,), "int32", scope="local")
            own[0] = T.Let(t * t, where={t: A[v]})
            B[v] = own[0]
""")
    s = Schedule(func)
    s.loop_partition(s.get_loops("B")[0], [2, None])
    assert verify_ssa(s.func)
    assert_structural_equal(parse_text(script(s.func)), s.func)


def test_merge() -> None:
    """Guards nests that meet element by element; others are refused."""

    def change(s: Schedule) -> None:
        s.merge(*[s.get_loops(b)[1] for b in ("B", "C", "D")])

    same(chain(), change, *CHAIN)
    same(chain(), outer_loops_as_one, *CHAIN)
    a = placeholder((8,), "float32", "A")
    b = compute((8,), lambda i: a[i] + 1.0, "B")
    s = Schedule(create_prim_func([a, compute((8,), lambda i: b[7 - i] * 2.0, "C")]))
    with pytest.raises(DiagnosticError, match="not at the same"):
        s.merge(s.get_loops("B")[0], s.get_loops("C")[0])


def test_dtype_and_separators() -> None:
    """Guards a buffer of float16 in between: the result is what rounding gives."""
    func = chain()
    s = Schedule(func)
    s.unsafe_set_dtype("B", 0, "float16")
    s.set_axis_separator("B", ("write", 0), [1])
    a = np.linspace(0, 1, 130, dtype="float32").reshape(13, 10)
    found = np.zeros_like(a)
    run_prim_func(s.func, [a, found])
    rounded = (a + 1).astype("float16").astype("float32") * 2
    np.testing.assert_array_equal(found, rounded)
    assert s.get("B").writes[0].buffer.axis_separators == (1,)
    with pytest.raises(DiagnosticError, match="part of the signature"):
        s.unsafe_set_dtype("D", 0, "float16")
    with pytest.raises(DiagnosticError, match="separators stand between"):
        s.set_axis_separator("B", ("write", 0), [2])


def test_a_buffer_with_a_view_keeps_its_dtype() -> None:
    """Guards regions that are matched: the view would go on reading elements of the old dtype."""
    text = """
@T.prim_func
def main(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
    B = T.alloc_buffer((8,), "float32")
    for i in range(8):
        with T.block("B"):
            v = T.axis.spatial(8, i)
            B[v] = A[v] + T.float32(1)
    for i in range(8):
        with T.block("C"):
            v = T.axis.spatial(8, i)
            T.reads(B[v])
            T.writes(C[v])
            view = T.match_buffer(B[v], (1,), "float32", offset_factor=1)
            C[v] = view[0]
"""
    with pytest.raises(DiagnosticError, match="a region of B is matched"):
        Schedule(parse_text(text)).unsafe_set_dtype("B", 0, "float16")


def test_padding_has_a_value() -> None:
    """Guards what the caller sees of an output whose layout has padding."""
    for pad, expected in ((7.0, 7), (lambda a, b, c: a * 100 + c, 203)):
        s = Schedule(chain())
        s.transform_layout("D", ("write", 0), lambda i, j: (j // 4, i, j % 4), pad_value=pad)
        a = np.linspace(0, 1, 130, dtype="float32").reshape(13, 10)
        out = np.zeros((3, 13, 4), "float32")
        run_prim_func(s.func, [a, out])
        plain = np.transpose(out, (1, 0, 2)).reshape(13, 12)
        np.testing.assert_allclose(plain[:, :10], (a + 1) * 2, rtol=1e-6)
        assert (plain[:, 11] == expected).all()
        native = np.zeros_like(out)
        run_native(s.func, a, native)
        np.testing.assert_array_equal(native, out)


def test_traces_as_json() -> None:
    """Guards every kind of input: handles, numbers, texts, maps, decisions."""

    def change(s: Schedule) -> None:
        block = s.get_block("C")
        i, j, r = s.get_loops(block)
        a, b = s.split(j, s.sample_perfect_tile(j, 2))
        s.reorder(i, a, r, b)
        s.annotate(i, "key", "some text")
        s.transform_layout(block, ("write", 0), lambda x, y: (y // 3, x, y % 3))
        s.cache_read(block, 0, "global")

    first = Schedule(matmul(), seed=3)
    change(first)
    data = json.loads(json.dumps(first.trace.as_json()))
    second = Schedule(matmul())
    Trace.apply_json_to_schedule(data, second)
    assert script(first.func) == script(second.func)
    for wrong in (5, [[["Copy", [], [], []]], []], [[["Unroll", ["l7"], [], []]], []], [[["Unroll", [], [1], []]], []]):
        with pytest.raises(DiagnosticError):
            Trace.apply_json_to_schedule(wrong, Schedule(matmul()))


def test_axes_in_another_order_and_regions_left_out() -> None:
    sch = same(matmul(), lambda s: s.reorder_block_iter_var("C", (2, 0, 1)), *MATMUL)
    realize = sch.realize("C")
    assert [axis.iter_type for axis in realize.block.iter_vars] == ["reduce", "spatial", "spatial"]
    assert sch.get(sch.get_loops("C")[2]).loop_var is realize.iter_values[0]
    assert [b.name for b in sch.get_output_blocks("root")] == ["D"]
    with pytest.raises(DiagnosticError, match="no order"):
        sch.reorder_block_iter_var("C", (0, 0, 1))
    count = len(sch.get("C").reads)
    sch.unsafe_hide_buffer_access("C", "read", [0])
    assert len(sch.get("C").reads) == count - 1
    with pytest.raises(DiagnosticError, match="regions of kind read"):
        sch.unsafe_hide_buffer_access("C", "read", [7])
    assert "sch.reorder_block_iter_var(" in str(sch.trace)


WHOLE_SUMS = """
@T.prim_func
def {name}(a: T.handle, b: T.handle):
    A = T.match_buffer(a, (4,), "float32", offset_factor=1)
    B = T.match_buffer(b, (1,), "float32", offset_factor=1)
    with T.block("root"):
        T.reads(A[0:4])
        T.writes(B[0])
        {body}
"""
SUM_OF_FOUR = """for i in range(4):
            with T.block("sum"):
                vi = T.axis.reduce(4, i)
                with T.init():
                    B[0] = T.float32(0)
                B[0] = B[0] + A[vi]"""


def test_intrinsics_of_whole_reductions() -> None:
    """Guards descriptions with an initialisation: they stand for sums that end in the tile, and for no others."""
    desc = parse_text(WHOLE_SUMS.format(name="desc", body=SUM_OF_FOUR))
    impl = parse_text(WHOLE_SUMS.format(name="impl", body="B[0] = (A[0] + A[1]) + (A[2] + A[3])"))
    TensorIntrin.register("test.sum4", desc, impl, override=True)

    def change(s: Schedule) -> None:
        s.tensorize(s.get_loops("S")[1], "test.sum4")
        assert s.get("S_o").init is None

    def sums(count: int) -> PrimFunc:
        a, r = placeholder((6, count), "float32", "A"), reduce_axis((0, count), "r")
        return create_prim_func([a, compute((6,), lambda i: reduction.sum(a[i, r], r), "S")])

    same(sums(4), change, (6, 4), (6,))
    longer = Schedule(sums(8))
    inner = longer.split(longer.get_loops("S")[1], [None, 4])[1]
    with pytest.raises(DiagnosticError, match="go on with its reductions"):
        longer.tensorize(inner, "test.sum4")
