"""The passes of `tvm.tir.transform`: what each does, and that the meaning stays."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from baton import tir
from baton._src.ir.module import IRModule
from baton._src.ir.traverse import post_order
from baton._src.support.diagnostics import DiagnosticError
from baton._src.tir import stmt as st
from baton._src.tir.analysis.check import verify_well_formed
from baton._src.tir.evaluation.interpreter import run_prim_func
from baton.script import tir as T
from baton.transform import PassContext, Sequential

X = tir.transform
LOWERED = [
    X.PlanAndUpdateBufferAllocationLocation(),
    X.LowerInitBlock(),
    X.ConvertBlocksToOpaque(),
    X.LowerMatchBuffer(),
    X.CompactBufferAllocation(),
    X.LowerOpaqueBlock(),
]


def after(func: Any, *passes: Any, **config: Any) -> Any:
    """`func` after passes, checked and computing the same."""
    with PassContext(config=config):
        made = Sequential(list(passes))(IRModule({"main": func}))["main"]
    verify_well_formed(made)
    np.testing.assert_allclose(outcome(made), outcome(func), rtol=1e-6)
    return made


def outcome(func: Any) -> Any:
    rng = np.random.default_rng(0)
    arrays = []
    for param in func.params:
        buffer = func.buffer_map[param]
        shape = [int(d) if isinstance(d, tir.IntImm) else 7 for d in buffer.shape]
        arrays.append((rng.random(shape) * 8).astype(buffer.dtype.numpy))
    run_prim_func(func, arrays)
    return arrays[-1].astype("float64")


def text(func: Any) -> str:
    """The body's lines without the header."""
    return "\n".join(line[4:] for line in str(func).splitlines() if line.startswith("    "))


def of(kind: Any, func: Any) -> list[Any]:
    return [n for n in post_order(func.body) if isinstance(n, kind)]


@T.prim_func
def twice(A: T.Buffer((16, 8), "float32"), B: T.Buffer((16, 8), "float32")):
    C = T.alloc_buffer((16, 8))
    for i in range(16):
        for j in range(8):
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = A[vi, vj] * T.float32(2)
        for j in range(8):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = C[vi, vj] + T.float32(1)


@T.prim_func
def sums(A: T.Buffer((4, 8), "float32"), B: T.Buffer((4,), "float32")):
    for i, k in T.grid(4, 8):
        with T.block("B"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                B[vi] = T.float32(0)
            B[vi] = B[vi] + A[vi, vk]


@T.prim_func
def viewed(A: T.Buffer((4, 8), "float32"), B: T.Buffer((4, 8), "float32")):
    for i in range(4):
        with T.block("B"):
            vi = T.axis.spatial(4, i)
            row = T.match_buffer(A[vi, 0:8], (8,), "float32")
            for j in range(8):
                B[vi, j] = row[j] * T.float32(2)


@pytest.mark.parametrize("func", [twice, sums, viewed])
def test_blocks_step_by_step(func: Any) -> None:
    """No blocks are left, then accesses have one index; every step keeps the meaning."""
    for count in range(1, len(LOWERED) + 1):
        found = after(func, *LOWERED[:count])
    assert not of(st.Block, found)
    flat = after(func, *LOWERED, X.FlattenBuffer(), X.StorageRewrite(), X.Simplify(), X.NarrowDataType())
    assert all(len(s.indices) == 1 for s in of(st.BufferStore, flat))


def test_init_becomes_a_condition() -> None:
    """At the start of every reduced axis."""
    assert "if vk == 0:" in text(after(sums, X.LowerInitBlock()))
    with pytest.raises(DiagnosticError, match="LowerInitBlock"):
        X.ConvertBlocksToOpaque()(IRModule({"main": sums}))


def test_buffers_are_placed_and_compacted() -> None:
    """The buffer moves into the loop over rows, then holds one row."""
    placed = after(twice, X.PlanAndUpdateBufferAllocationLocation())
    (home,) = [b for b in of(st.Block, placed) if b.alloc_buffers]
    assert home.name_hint == ""
    compact = after(twice, *LOWERED[:5])
    (buffer,) = [b for block in of(st.Block, compact) for b in block.alloc_buffers]
    assert [int(d) for d in buffer.shape] == [1, 8]


@T.prim_func
def overrun(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    C = T.alloc_buffer((4,))
    for i in range(8):
        C[i - 2] = A[i]
    for i in range(8):
        B[i] = C[i - 2]


def test_buffers_grow_if_compaction_is_not_strict() -> None:
    """A buffer of 4 elements that is accessed at -2 to 5 keeps its shape, or holds the 8 from 0."""
    placed = [X.PlanAndUpdateBufferAllocationLocation(), X.ConvertBlocksToOpaque()]
    strict, grown = (
        Sequential([*placed, X.CompactBufferAllocation(is_strict=is_strict)])(IRModule({"main": overrun}))["main"]
        for is_strict in (True, False)
    )
    shapes = [[b.shape[0] for block in of(st.Block, f) for b in block.alloc_buffers] for f in (strict, grown)]
    assert [[int(d) for d in shape] for shape in shapes] == [[4], [8]]
    a, b = np.arange(8, dtype="float32"), np.zeros(8, "float32")
    run_prim_func(grown, [a, b])
    np.testing.assert_array_equal(b, a)


@T.prim_func
def busy(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    for i in range(16):
        if i < 20:
            B[i * 4 // 4] = A[i + 0]
        else:
            B[0] = T.float32(0)
    for i in range(16):
        B[i] = B[i]
    T.evaluate(0)
    if A[0] >= T.float32(0):
        A[0] = T.float32(-1)
        if A[0] >= T.float32(0):
            B[1] = T.float32(3)


def test_simplify_and_no_ops() -> None:
    """Decided conditions and loops that do nothing are gone; what depends on memory that changes is not decided."""
    found = text(after(busy, X.Simplify(), X.RemoveNoOp()))
    assert found == (
        "for i in range(16):\n    B[i] = A[i]\nif A[0] >= T.float32(0):\n    A[0] = T.float32(-1)\n"
        "    if A[0] >= T.float32(0):\n        B[1] = T.float32(3)"
    )


@T.prim_func
def idle(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    again = T.decl_buffer((4, 4), data=A.data)
    for i in range(4):
        for j in range(i - 3):
            B[i + j] = T.float32(5)
    with T.attr(0, "pragma_debug_skip_region", 1):
        B[1] = T.float32(1)
    with T.LetStmt(T.call_extern("float32", "told", A[0])) as unused:
        B[0] = T.float32(2)
    for i in range(3):
        with T.attr(0, "about", T.call_extern("int32", "asked", i)):
            B[i] = B[i]


def test_only_what_does_nothing_is_gone() -> None:
    """As in TVM: loops without iterations for any of those around, skipped regions, buffers nobody uses; calls stay."""
    assert text(X.RemoveNoOp()(IRModule({"main": idle}))["main"]) == (
        'T.call_extern("float32", "told", A[0])\nB[0] = T.float32(2)\n'
        'for i in range(3):\n    T.call_extern("int32", "asked", i)'
    )


@T.prim_func
def marked(A: T.Buffer((4, 8), "float32"), B: T.Buffer((4, 8), "float32")):
    for i in T.parallel(2):
        for u in T.unroll(2):
            for j in T.vectorized(8):
                B[i * 2 + u, j] = A[i * 2 + u, j] + T.float32(1)


def test_marks_of_loops() -> None:
    """Vectors as long as the loop, copies for each iteration, serial loops."""
    found = after(marked, X.FlattenBuffer(), X.VectorizeLoop(), X.UnrollLoop(), X.ConvertForLoopsToSerial())
    (loop,) = of(st.For, found)
    assert loop.kind is st.ForKind.SERIAL
    stores = of(st.BufferStore, found)
    assert [s.value.dtype.lanes for s in stores] == [8, 8]
    plain = after(marked, X.VectorizeLoop(enable_vectorize=False))
    assert {loop.kind for loop in of(st.For, plain)} == {st.ForKind(0), st.ForKind(1), st.ForKind(3)}
    with pytest.raises(DiagnosticError, match="FlattenBuffer"):
        X.VectorizeLoop()(IRModule({"main": marked}))
    few = after(twice, *LOWERED, X.UnrollLoop(), **{"tir.UnrollLoop": {"auto_max_step": 8}})
    assert len(of(st.For, few)) == 1


@T.prim_func
def moved_by_indices(p: T.Buffer((7,), "int32"), q: T.Buffer((7,), "int32"), b: T.Buffer((7,), "float32")):
    for i in range(7):
        b[p[i] % 7] = b[q[i] % 7]


def test_indices_of_two_arrays_are_two_places() -> None:
    """A store of what was read at another array's index was taken for one that changes nothing."""
    assert of(st.BufferStore, after(moved_by_indices, X.RemoveNoOp()))


@T.prim_func
def reading_select(a: T.Buffer((7,), "float32"), b: T.Buffer((7,), "float32")):
    for i in range(7):
        b[i] = T.Select(i > 2, a[i], T.float32(0))


def test_a_select_that_reads_becomes_lazy() -> None:
    assert "T.if_then_else" in str(after(reading_select, X.RewriteUnsafeSelect()))


@T.prim_func
def guarded(a: T.handle, b: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (n,), "float32")
    B = T.match_buffer(b, (n,), "float32")
    for o in range((n + 3) // 4):
        for i in range(4):
            if T.likely(o * 4 + i < n):
                B[o * 4 + i] = A[o * 4 + i] * T.float32(3)


@T.prim_func
def padded(A: T.Buffer((8,), "float32"), B: T.Buffer((10,), "float32")):
    for i in range(10):
        if T.likely(i >= 1 and i < 9):
            B[i] = A[i - 1]
        else:
            B[i] = T.float32(0)


def test_partition() -> None:
    """The iterations that certainly fulfil the condition come without it."""
    found = after(guarded, X.LoopPartition())
    outer = [loop for loop in of(st.For, found) if of(st.For, loop)]
    assert len(outer) >= 2
    assert len(of(st.IfThenElse, found)) == 1
    assert after(padded, X.LoopPartition()) is padded
    options = {"partition_const_loop": True}
    apart = after(padded, X.LoopPartition(), **{"tir.LoopPartition": options})
    assert [int(loop.extent) for loop in of(st.For, apart)] == [8]
    options["no_unroll_loop_with_extent_one"] = True
    kept = after(padded, X.LoopPartition(), **{"tir.LoopPartition": options})
    assert [int(loop.extent) for loop in of(st.For, kept)] == [1, 8, 1]
    with pytest.raises(DiagnosticError, match="has no option 'partition_loop'"):
        after(padded, X.LoopPartition(), **{"tir.LoopPartition": {"partition_loop": True}})
    assert not of(st.IfThenElse, apart)


@T.prim_func
def chained(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    P = T.alloc_buffer((8,))
    Q = T.alloc_buffer((8,))
    R = T.alloc_buffer((8,))
    for i in range(8):
        P[i] = A[i] + T.float32(1)
    for i in range(8):
        Q[i] = P[i] * T.float32(2)
    for i in range(8):
        R[i] = Q[i] + T.float32(3)
    for i in range(8):
        B[i] = R[i]


def test_memory_is_shared() -> None:
    """Three buffers of which each is made of the elements of the one before take one allocation."""
    steps = [X.LowerOpaqueBlock(), X.FlattenBuffer()]
    assert len(of(st.Allocate, after(chained, *steps))) == 3
    assert len(of(st.Allocate, after(chained, *steps, X.StorageRewrite()))) == 1


@T.prim_func
def wide(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
    for i in range(T.int64(32)):
        B[i * T.int64(2)] = A[i] + T.Cast("float32", i)


def test_indices_are_narrowed() -> None:
    """Loop and index are int32; the use as a value widens."""
    found = after(wide, X.NarrowDataType(32))
    (loop,) = of(st.For, found)
    assert loop.loop_var.dtype == "int32"
    assert of(st.BufferStore, found)[0].indices[0].dtype == "int32"
    assert after(wide, X.NarrowDataType(64)) is wide


@T.prim_func
def halves(A: T.Buffer((8,), "bfloat16"), B: T.Buffer((8,), "bfloat16")):
    for i in range(8):
        B[i] = T.exp(A[i]) * A[i] + T.bfloat16(1)


def test_narrow_floats_are_computed_in_wide_ones() -> None:
    """Loads are widened, the store rounds, everything between is float32."""
    found = X.BF16ComputeLegalize()(IRModule({"main": halves}))["main"]
    verify_well_formed(found)
    (store,) = of(st.BufferStore, found)
    assert store.value.dtype == "bfloat16"
    assert store.value.value.dtype == "float32"
    x, y = np.arange(8).astype(ml_dtypes.bfloat16) / 4, np.zeros(8, ml_dtypes.bfloat16)
    run_prim_func(found, [x, y])
    exact = np.exp(x.astype("float32")) * x.astype("float32") + 1
    np.testing.assert_array_equal(y, exact.astype(ml_dtypes.bfloat16))


@T.prim_func
def scaled_bits(x: T.bfloat16, A: T.Buffer((8,), "bfloat16"), B: T.Buffer((8,), "uint16")):
    for i in range(8):
        B[i] = T.reinterpret("uint16", A[i]) + T.reinterpret("uint16", A[i] * x)


def test_parameters_stay_narrow_and_bits_are_those_of_narrow_floats() -> None:
    """Guards scalar parameters, which were replaced by variables that nobody defined, and `reinterpret`, which got the
    bits of the wide float."""
    found = X.BF16ComputeLegalize()(IRModule({"main": scaled_bits}))["main"]
    verify_well_formed(found)
    x, y = np.arange(8).astype(ml_dtypes.bfloat16), np.zeros(8, "uint16")
    run_prim_func(found, [ml_dtypes.bfloat16(2), x, y])
    np.testing.assert_array_equal(y, x.view("uint16") + (x * ml_dtypes.bfloat16(2)).view("uint16"))


@T.prim_func
def reversed_squares(A: T.Buffer((8,), "bfloat16"), B: T.Buffer((8,), "bfloat16")):
    for i in range(2):
        x: T.bfloat16x4 = A[i * 4 : i * 4 + 4]
        B[i * 4 : i * 4 + 4] = T.Shuffle([x * x], [3, 2, 1, 0]) + x


def test_vectors_of_narrow_floats_are_vectors_of_wide_ones() -> None:
    """Guards names of vectors, which had one lane, and shuffled ones, which stayed narrow."""
    found = X.BF16ComputeLegalize()(IRModule({"main": reversed_squares}))["main"]
    verify_well_formed(found)
    x, y = np.arange(8).astype(ml_dtypes.bfloat16), np.zeros(8, ml_dtypes.bfloat16)
    run_prim_func(found, [x, y])
    assert y.astype(int).tolist() == [9, 5, 3, 3, 53, 41, 31, 23]


def test_sizes_may_be_one_more_than_a_variable() -> None:
    """Guards what shapes say: of n + 1 that n is -1 or more, not that it is at least 0."""

    @T.prim_func
    def ended(n: T.int32, a: T.handle):
        A = T.match_buffer(a, (n + 1,), "int32")
        if n >= 0:
            A[n] = 1

    assert any(
        isinstance(node, st.IfThenElse) for node in post_order(X.Simplify()(IRModule({"main": ended}))["main"].body)
    )


def test_shared_variables_become_several() -> None:
    """One loop object in two places is two loops afterwards."""
    loop = marked.body.block.body if isinstance(marked.body, st.BlockRealize) else marked.body
    double = marked.with_fields(body=st.SeqStmt((loop, loop)))
    assert not tir.analysis.verify_ssa(double)
    found = X.ConvertSSA()(IRModule({"main": double}))["main"]
    assert tir.analysis.verify_ssa(found)
    np.testing.assert_array_equal(outcome(found), outcome(marked))


def test_functions_as_a_whole() -> None:
    """Targets, entries, filters, functions of the user."""
    module = IRModule({"main": twice, "other": sums})
    bound = X.BindTarget("llvm")(module)
    assert str(bound["other"].attrs["target"].kind) == "llvm"
    assert X.AnnotateEntryFunc()(IRModule({"any": sums}))["any"].attrs["tir.is_entry_func"]
    hidden = IRModule({"main": twice, "other": sums.without_attr("global_symbol")})
    marked = X.AnnotateEntryFunc()(hidden)
    assert ["tir.is_entry_func" in marked[name].attrs for name in ("main", "other")] == [True, False]
    assert X.AnnotateEntryFunc()(module) is module  # callers see both
    assert X.VerifyMemory()(module) is module  # all memory is the host's
    assert len(X.Filter(lambda f: len(of(st.Block, f)) > 3)(module).functions) < 2
    assert X.Apply(lambda f: f.with_attr("seen", 1))(module)["other"].attrs["seen"] == 1


@T.prim_func
def tail_and_names(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    for i in T.unroll(2):
        with T.LetStmt(A[i]) as x:
            for j in T.vectorized(8):
                if i * 8 + j < 13:
                    B[i * 8 + j] = x + A[i * 8 + j]


@T.prim_func
def border(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    for j in T.vectorized(8):
        B[j] = T.if_then_else(j >= 2, A[j - 2], T.float32(0))


def test_vectors_under_a_condition_for_some_lanes_stay_loops() -> None:
    """Guards what the pass may give: TIR has no words for some lanes; the interpreter failed, or read outside."""
    made = after(tail_and_names, X.VectorizeLoop(True))
    assert [loop.kind.name for loop in of(st.For, made)] == ["SERIAL", "UNROLLED"]
    assert [loop.kind.name for loop in of(st.For, after(border, X.VectorizeLoop()))] == ["SERIAL"]


def test_loops_written_out_define_variables_of_their_own() -> None:
    """Guards the well-formed result: a let inside was defined once for each iteration."""
    made = after(tail_and_names, X.VectorizeLoop(False), X.UnrollLoop())
    assert len({let.var for let in of(st.LetStmt, made)}) == 2
    assert tir.analysis.verify_ssa(made)


@pytest.mark.parametrize("made", [X.Simplify(), X.RemoveNoOp()])
def test_options_of_the_prover_are_known_by_name(made: Any) -> None:
    """Guards misspelt options, which were swallowed; those there are leave the meaning."""
    known = {"tir.Simplify": {"convert_boolean_to_and_of_ors": True}, "tir.RemoveNoOp": {"use_dataflow_analysis": True}}
    after(busy, made, **known)
    for setting in known:
        if setting.endswith(type(made).__name__):
            with pytest.raises(DiagnosticError, match="has no option 'use_data_flow'"):
                after(busy, made, **{setting: {"use_data_flow": True}})


@T.prim_func
def private_memory(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    for i in T.vectorized(16):
        own = T.decl_buffer((2,), scope="local")
        own[0] = A[i]
        own[1] = own[0] + T.float32(1)
        B[i] = own[1] * own[0]


def test_memory_inside_a_vectorised_loop_holds_all_lanes() -> None:
    """Guards buffers of one lane that vectors were stored to: their memory had grown, what was declared had not."""
    made = after(private_memory, X.FlattenBuffer(), X.VectorizeLoop())
    assert {int(s.buffer.shape[0]) for s in of(st.BufferStore, made) if s.buffer.name == "own"} == {32}
