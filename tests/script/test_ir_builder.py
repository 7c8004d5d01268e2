"""Programs under a builder are those the same words mean in a script."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

import baton as tvm
from baton.script import from_source
from baton.script.ir_builder import IRBuilder
from baton.script.ir_builder import ir as I
from baton.script.ir_builder import tir as T

ROWS = """
@I.ir_module
class Module:
    I.module_attrs({"k": 1})

    @T.prim_func
    def rows(a: T.handle, C: T.Buffer((64,), "float32")):
        T.func_attr({"tir.noalias": True})
        A = T.match_buffer(a, (64, 16), "float32")
        B = T.alloc_buffer((64, 16), "float32")
        for i, j in T.grid(64, 16):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                T.reads(A[vi, vj])
                T.writes(B[vi, vj])
                B[vi, vj] = A[vi, vj] * T.float32(2)
        for i in T.parallel(64):
            for k in T.serial(0, 16, annotations={"x": 1}):
                with T.block("C"):
                    vi = T.axis.spatial(64, i)
                    vk = T.axis.reduce((0, 16), k)
                    T.where(i * 16 + k < 1000)
                    T.block_attr({"y": 2})
                    with T.init():
                        C[vi] = 0.0
                    if vi > 0:
                        C[vi] = C[vi] + B[vi, vk]
                    else:
                        C[vi] = C[vi] - B[vi, vk]
"""


def rows() -> None:
    T.func_name("rows")
    T.func_attr({"tir.noalias": True})
    a = T.arg("a", T.handle())
    first = IRBuilder.name("A", T.match_buffer(a, (64, 16), "float32"))
    result = T.arg("C", T.Buffer((64,), "float32"))
    between = IRBuilder.name("B", T.alloc_buffer((64, 16), "float32"))
    with T.grid(64, 16) as (i, j), T.block("B"):
        vi, vj = IRBuilder.name_many(["vi", "vj"], T.axis.remap("SS", [i, j]))
        T.reads(first[vi, vj])
        T.writes([between[vi, vj]])
        T.buffer_store(between, first[vi, vj] * T.float32(2), [vi, vj])
    with T.parallel(64) as i, T.serial(0, 16, annotations={"x": 1}) as k, T.block("C"):
        vi, vk = T.axis.spatial(64, i), T.axis.reduce((0, 16), k)
        T.where(i * 16 + k < 1000)
        T.block_attr({"y": 2})
        with T.init():
            T.buffer_store(result, 0.0, vi)
        with T.If(vi > 0):
            with T.Then():
                T.buffer_store(result, result[vi] + between[vi, vk], [vi])
            with T.Else():
                T.buffer_store(result, result[vi] - between[vi, vk], [vi])


def test_a_module_of_a_kernel() -> None:
    with IRBuilder() as builder, I.ir_module():
        assert IRBuilder.is_in_scope()
        I.module_attrs({"k": 1})
        with T.prim_func():
            rows()
    assert not IRBuilder.is_in_scope()
    tvm.ir.assert_structural_equal(builder.get(), from_source(ROWS))


def test_statements_around_what_follows() -> None:
    with IRBuilder() as builder, T.prim_func():
        T.func_name("f")
        x = T.arg("x", T.int32())
        assumed = T.attr("a", "key", 1)
        builder.frames[-1].add_callback(partial(assumed.__exit__, None, None, None))
        assumed.__enter__()
        with T.allocate([16], "float32", scope="local") as memory:
            held = T.Buffer((16,), "float32", data=memory, scope="local")
            with T.LetStmt(x + 1) as v, T.Assert(v > 0, "negative"), T.While(v < 10):
                T.buffer_store(held, T.Broadcast(T.float32(1), 4), [slice(0, 4)])
            T.evaluate(T.call_extern("int32", "g", x))
    expected = from_source(
        """
@T.prim_func
def f(x: T.int32):
    T.attr("a", "key", 1)
    memory = T.allocate([16], "float32", "local")
    held = T.Buffer((16,), "float32", data=memory, scope="local")
    with T.LetStmt(x + 1) as v:
        assert v > 0, "negative"
        while v < 10:
            held[0:4] = T.Broadcast(T.float32(1), 4)
    T.call_extern("int32", "g", x)
"""
    )
    tvm.ir.assert_structural_equal(builder.get(), expected)


def test_a_statement_alone() -> None:
    with IRBuilder() as builder, T.serial(4) as i:
        T.evaluate(IRBuilder.name("i", i))
    assert str(builder.get()).splitlines()[0] == "for i in range(4):"


def _no_branch() -> None:
    with T.If(T.int32() > 0):
        pass


def _no_choice() -> None:
    with T.Else():
        pass


def _two_results() -> None:
    T.evaluate(0)
    T.evaluate(1)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda: T.reads(), "T.reads belongs in a block"),
        (lambda: T.func_name("f"), "T.func_name belongs in a function"),
        (lambda: T.arg("x", T.int32()), "T.arg belongs in a function"),
        (lambda: I.module_attrs({}), "in a module"),
        (lambda: T.block().__enter__() and T.axis.remap("S", [T.int32()]), "loop variables"),
        (lambda: IRBuilder.current().get(), "nothing has been built"),
        (_no_branch, "T.If has no branch"),
        (_no_choice, "T.Else belongs directly into T.If"),
        (_two_results, "has a result already"),
    ],
)
def test_misplaced_words(wrong: Any, said: str) -> None:
    with IRBuilder(), pytest.raises(tvm.TVMError, match=said):
        wrong()


def test_words_without_a_builder() -> None:
    with pytest.raises(tvm.TVMError, match="no builder is open"):
        T.evaluate(0)
