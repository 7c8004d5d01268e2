"""`tvm.tir.analysis`: what is said of kernels."""

from __future__ import annotations

from typing import Any

import pytest

from baton import arith, tir
from baton._src.ir.module import IRModule
from baton._src.ir.traverse import post_order
from baton._src.support.diagnostics import DiagnosticError
from baton.script import tir as T

A = tir.analysis


@T.prim_func
def product(X: T.Buffer((4, 8), "float32"), Y: T.Buffer((8, 6), "float32"), Z: T.Buffer((4, 6), "float32")):
    C = T.alloc_buffer((4, 6))
    for i, j, k in T.grid(4, 6, 8):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + X[vi, vk] * Y[vk, vj]
    for i, j in T.grid(4, 6):
        with T.block("Z"):
            vi, vj = T.axis.remap("SS", [i, j])
            Z[vi, vj] = T.exp(C[vi, vj])


def block(name: str) -> Any:
    return next(n for n in post_order(product.body) if isinstance(n, tir.Block) and n.name_hint == name)


def test_work_and_memory() -> None:
    """Two operations a step of the product, one a result; one buffer of 24 floats."""
    assert A.estimate_tir_flops(IRModule({"main": product})) == 4 * 6 * 8 * 2 + 24
    assert A.estimate_tir_flops(product.with_attr("estimated_flops", 7)) == 7
    assert A.calculate_workspace_bytes(product, 64) == 128
    assert A.calculate_allocated_bytes(product) == {"main": {"global": 96}}
    assert A.find_anchor_block(IRModule({"main": product})) is block("C")


def test_constants() -> None:
    """Each kernel's own, rounded up."""

    @T.prim_func
    def shifted(X: T.Buffer((3,), "float32"), Y: T.Buffer((3,), "float32")):
        held = T.allocate_const([1.0, 2.0, 3.0], "float32", [3])
        shift = T.Buffer((3,), "float32", data=held)
        for i in range(3):
            Y[i] = X[i] + shift[i]

    assert (A.calculate_constant_bytes(shifted, 1), A.calculate_constant_bytes(shifted, 16)) == (12, 16)
    assert A.calculate_constant_bytes(product, 16) == 0


def test_accesses() -> None:
    """Reads and writes from the body; the scope around all accesses; free variables."""
    reads, writes = A.get_block_read_write_region(block("Z"))
    assert [r.buffer.name for r in reads] == ["C"]
    assert [r.buffer.name for r in writes] == ["Z"]
    assert [r.buffer.name for r in A.get_block_access_region(block("C"))[0]] == ["X", "Y"]
    scopes = {b.name: s for b, s in A.detect_buffer_access_lca(product).items()}
    assert scopes["Z"] is block("Z")
    assert scopes["C"] is block("root")
    free = A.undefined_vars(product.body)
    assert {v.name for v in free} == {"X", "Y", "Z"}
    assert A.undefined_vars(product.body, free) == []


def test_effects() -> None:
    """Writing to a parameter is an effect."""
    assert not A.is_pure_function(product)
    with pytest.raises(AssertionError):
        A.assert_pure_function(product)
    assert A.verify_memory(product)
    assert A.verify_ssa(product)


@T.prim_func
def symbolic(a: T.handle):
    n = T.int32()
    X = T.match_buffer(a, (n,), "float32")
    for i in range(n):
        X[i] = X[i] * T.float32(2)


def test_symbolic_work_is_refused() -> None:
    """Guards against a number that means nothing."""
    with pytest.raises(DiagnosticError, match="tir-extent"):
        A.estimate_tir_flops(symbolic)


@T.prim_func
def outside(X: T.Buffer((4,), "float32")):
    X[9] = T.float32(0)


def test_what_is_outside_is_found_by_a_pass() -> None:
    """Guards TVM's pass: the same module if nothing is outside, its error (a ScheduleError) if something is."""
    module = IRModule({"product": product})
    assert A.OOBChecker()(module)["product"] is product
    with pytest.raises(tir.ScheduleError, match="index 9 of axis 0 of X"):
        A.OOBChecker()(IRModule({"f": outside}))


@T.prim_func
def by_pointer(X: T.Buffer((4,), "float32"), Y: T.Buffer((4,), "float32"), Z: T.Buffer((4,), "float32")):
    with T.block("call"):
        T.reads(X[0:4])
        T.writes(Y[0:4], Z[0:4])
        T.evaluate(T.call_extern("int32", "mixed", X.access_ptr("r"), Y.access_ptr("w"), Z.data))
        Z[0] = X[1]


def test_accesses_by_pointer() -> None:
    """All of a buffer counts: as read, as written, or as both, where nothing says for what a pointer is."""
    found = next(n for n in post_order(by_pointer.body) if isinstance(n, tir.Block) and n.name_hint == "call")
    buffers = {b.data: b for b in by_pointer.buffer_map.values()}
    regions = A.get_block_access_region(found, buffers)
    assert [[(r.buffer.name, str(r.region[0].extent)) for r in part] for part in regions] == [
        [("X", "4")],
        [("Z", "1"), ("Y", "4")],
        [("Z", "4")],
    ]
    reads, writes = A.get_block_read_write_region(found, buffers)
    assert [r.buffer.name for r in reads] == ["X", "Z"]
    assert [(r.buffer.name, str(r.region[0].extent)) for r in writes] == [("Y", "4"), ("Z", "4")]


def test_what_loops_touch() -> None:
    """Guards boxes around reads that begin before the buffer, and the sets of each access."""
    i, j, n = tir.Var("i", "int32"), tir.Var("j", "int32"), tir.Var("n", "int32")
    a, b = (tir.decl_buffer((100, n), name=name) for name in "ab")
    value = tir.BufferLoad(b, [i - 1, j + 1]) + tir.BufferLoad(a, [i - 1, j - 1])
    nest = tir.For(i, 0, 100, 0, tir.For(j, 0, n, 0, tir.BufferStore(a, value, [i, j])))
    read, both = arith._ffi_api.DomainTouched(nest, a, True, False), arith._ffi_api.DomainTouched(nest, a)
    assert [(int(read[0].min), int(read[0].extent)), (int(both[0].min), int(both[0].extent))] == [(-1, 100), (-1, 101)]
    found = arith._ffi_api.DomainTouchedAccessMap(tir.PrimFunc([a.data, b.data], nest))
    assert [len(part) for part in found[a]] == [1, 1, 2]
    assert [len(part) for part in found[b]] == [1, 0, 1]
