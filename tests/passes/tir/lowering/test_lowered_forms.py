"""LowerOpaqueBlock and FlattenBuffer give TVM's forms, to the letter, and leave the meaning."""

from __future__ import annotations

import numpy as np

from baton import tir
from baton._src.ir.module import IRModule
from baton._src.tir import stmt as st
from baton._src.tir.analysis.check import verify_well_formed
from baton._src.tir.arith.analyzer import Analyzer
from baton._src.tir.evaluation.interpreter import run_prim_func
from baton.script import tir as T
from tests.passes.tir.test_steps import X, after, of, text

OPAQUE = [
    X.LowerInitBlock(), X.PlanAndUpdateBufferAllocationLocation(), X.ConvertBlocksToOpaque(),
    X.CompactBufferAllocation(), X.LowerMatchBuffer(), X.LowerOpaqueBlock(),
]  # fmt: skip


@T.prim_func
def twice(A: T.Buffer((16, 8), "float32"), B: T.Buffer((16, 8), "float32")):
    C = T.alloc_buffer((16, 8))
    for i in range(16):
        for j in range(8):
            with T.block("C"):
                T.block_attr({"buffer_dim_align": [[0, 0, 4, 1]]})
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = A[vi, vj] * T.float32(2)
        for j in range(8):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = C[vi, vj] + T.float32(1)


def test_buffers_are_allocated_declared_and_flat() -> None:
    """Guards names, extents with the gaps between rows, annotations, and indices of the type they had."""
    lowered = after(twice, *OPAQUE)
    assert text(lowered) == (
        "for i in range(16):\n"
        '    C = T.allocate([1, 9], "float32", "global", annotations={"buffer_dim_align": [[-1, 0, 4, 1]]})\n'
        "    C_1 = T.decl_buffer((1, 8), strides=(9, 1), data=C)\n"
        "    for j in range(8):\n        C_1[0, j] = A[i, j] * T.float32(2)\n"
        "    for j in range(8):\n        B[i, j] = C_1[0, j] + T.float32(1)"
    )
    assert text(after(lowered, X.FlattenBuffer())) == (
        "A_1 = T.decl_buffer((128,), data=A.data)\nB_1 = T.decl_buffer((128,), data=B.data)\n"
        "for i in range(16):\n"
        '    C = T.allocate([9], "float32", "global", annotations={"buffer_dim_align": [[-1, 0, 4, 1]]})\n'
        "    C_1 = T.decl_buffer((8,), data=C)\n"
        "    for j in range(8):\n        C_1[j] = A_1[i * 8 + j] * T.float32(2)\n"
        "    for j in range(8):\n        B_1[i * 8 + j] = C_1[j] + T.float32(1)"
    )


@T.prim_func
def threads(A: T.Buffer((4, 8), "float32"), B: T.Buffer((4, 8), "float32")):
    for i in T.thread_binding(4, "threadIdx.x"):
        for v in T.thread_binding(2, "vthread.x"):
            for u in range(1):
                for j in T.serial(5, annotations={"pragma_x": 16, "pragma_b": "text", "kept": 3}):
                    with T.block("x"):
                        T.block_attr({"pragma_block": 1, "gone": 2})
                        vi, vj = T.axis.remap("SS", [i, j])
                        T.where(j + u < 4)
                        B[vi, vj * 2 + v] = A[vi, vj * 2 + v] + T.float32(1)


def test_loops_and_annotations_become_what_code_generation_takes() -> None:
    """Guards threads, loops of one iteration, pragmas by name, what a block's annotations and predicate become."""
    assert text(after(threads, *OPAQUE)) == (
        'i = T.launch_thread("threadIdx.x", 4)\nv = T.launch_thread("vthread.x", 2)\n'
        'T.attr(j, "pragma_b", "text")\nT.attr(j, "pragma_x", 16)\n'
        'for j in T.serial(5, annotations={"kept": 3}):\n    T.attr(0, "pragma_block", 1)\n'
        "    if j + 0 < 4:\n        B[i, j * 2 + v] = A[i, j * 2 + v] + T.float32(1)"
    )
    keys = {node.attr_key for node in of(st.AttrStmt, after(threads, *OPAQUE))}
    assert keys == {"thread_extent", "virtual_thread", "pragma_b", "pragma_x", "pragma_block"}
    keys = {node.attr_key for node in of(st.AttrStmt, after(threads, *OPAQUE, X.InjectVirtualThread()))}
    assert "virtual_thread" not in keys


@T.prim_func
def conditions(A: T.Buffer((4, 8), "float32"), B: T.Buffer((4, 8), "bool"), C: T.Buffer((4, 8), "float32")):
    for i, j in T.grid(4, 8):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] > T.float32(4)
    for i, j in T.grid(4, 8):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = T.if_then_else(B[vi, vj], A[vi, vj], T.float32(0))


def test_buffers_of_conditions_are_bytes() -> None:
    flat = text(after(conditions, *OPAQUE, X.FlattenBuffer()))
    assert 'B_1 = T.decl_buffer((32,), "int8", data=B.data)' in flat
    assert 'B_1[i * 8 + j] = T.Cast("int8", A_1[i * 8 + j] > T.float32(4))' in flat
    assert 'T.if_then_else(T.Cast("bool", B_1[i * 8 + j]), A_1[i * 8 + j], T.float32(0))' in flat


@T.prim_func
def condition_vectors(A: T.Buffer((4, 8), "float32"), B: T.Buffer((4, 8), "bool"), C: T.Buffer((4, 8), "bool")):
    for i in range(4):
        B[i, T.Ramp(0, 1, 8)] = A[i, T.Ramp(0, 1, 8)] > A[i, T.Ramp(7, -1, 8)]
        C[i, T.Ramp(0, 1, 8)] = T.Not(B[i, T.Ramp(0, 1, 8)])


def test_vectors_of_conditions_are_vectors_of_bytes() -> None:
    """Found by random kernels: they were cast to one byte."""
    made = X.FlattenBuffer()(IRModule({"main": condition_vectors}))["main"]
    verify_well_formed(made)
    data = np.arange(32, dtype="float32").reshape(4, 8) % 5
    found, other = np.zeros((2, 4, 8), bool)
    run_prim_func(made, [data, found, other])
    np.testing.assert_array_equal(found, data > data[:, ::-1])
    np.testing.assert_array_equal(other, ~found)


@T.prim_func
def strided(a: T.handle, b: T.handle):
    s = T.int32()
    A = T.match_buffer(a, (4, 8), strides=(s, 1))
    B = T.match_buffer(b, (4, 8))
    for i, j in T.grid(4, 8):
        B[i, j] = A[i, j]


def test_strides_of_parameters_count() -> None:
    """The flat buffer ends with the last element: behind it there may be no memory."""
    made = X.FlattenBuffer()(IRModule({"main": strided}))["main"]
    verify_well_formed(made)
    assert "A_1[i * s + j]" in text(made)
    (declared,) = (d.buffer for d in of(st.DeclBuffer, made) if d.buffer.name == "A")
    (stride,) = (d for d in strided.buffer_map[strided.params[0]].strides if isinstance(d, tir.Var))
    assert Analyzer().can_prove_equal(declared.shape[0], tir.Cast("int64", stride) * 3 + 8)


@T.prim_func
def chained(A: T.Buffer((8, 2), "float32"), B: T.Buffer((8, 2), "float32")):
    P = T.alloc_buffer((8, 2))
    Q = T.alloc_buffer((8, 2))
    R = T.alloc_buffer((8, 2))
    for i, j in T.grid(8, 2):
        P[i, j] = A[i, j] + T.float32(1)
    for i, j in T.grid(8, 2):
        Q[i, j] = P[i, j] * T.float32(2)
    for i, j in T.grid(8, 2):
        R[i, j] = Q[7 - i, j] + T.float32(3)
    for i, j in T.grid(8, 2):
        B[i, j] = R[i, j]


def test_declared_buffers_share_memory() -> None:
    """Guards StorageRewrite between whose allocations buffers are declared."""
    found = after(chained, X.LowerOpaqueBlock(), X.FlattenBuffer(), X.StorageRewrite())
    assert [str(a.extents[0]) for a in of(st.Allocate, found)] == ["16", "16"]


@T.prim_func
def lanes(A: T.Buffer((4, 8), "float32"), B: T.Buffer((4, 8), "float32")):
    for i in range(4):
        for j in T.vectorized(8):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                own = T.alloc_buffer((1,), scope="local")
                own[0] = A[vi, vj]
                B[vi, vj] = own[0] + T.float32(1)


def test_vectors_have_declared_memory_of_their_own() -> None:
    """Guards loops with memory inside, which stayed loops where it was declared."""
    found = after(lanes, *OPAQUE, X.FlattenBuffer(), X.VectorizeLoop())
    assert [s.value.dtype.lanes for s in of(st.BufferStore, found)] == [8, 8]
    assert "own[0:8]" in text(found) or "own_1[0:8]" in text(found)


@T.prim_func
def launched_in_a_loop(A: T.Buffer((4, 8), "float32"), B: T.Buffer((4, 8), "float32")):
    for i in T.unroll(2):
        for k in T.serial(2, annotations={"pragma_x": 1}):
            for j in T.thread_binding(8, "threadIdx.x"):
                if j == 0:
                    B[i * 2 + k, j] = A[i * 2 + k, j]
                else:
                    B[i * 2 + k, j] = A[i * 2 + k, j] + B[i * 2 + k, j - 1]


def test_launched_threads_define_their_axis() -> None:
    """Conditions on threads went before the launch, which knew no threads; copies of a launch shared its axis, and
    copies of loops left their pragmas with a loop that was gone."""
    launched = after(launched_in_a_loop, X.LowerOpaqueBlock())
    after(launched, X.HoistIfThenElse())
    copies = after(launched, X.UnrollLoop())
    pairs = [(a.node, a.body) for a in of(st.AttrStmt, copies) if a.attr_key == "pragma_x"]
    assert len(pairs) == 2
    assert all(isinstance(loop, st.For) and loop.loop_var is owner for owner, loop in pairs)
