"""Statements built by calls: scopes nest, what is emitted holds for the rest of its scope, kernels of them run."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import baton
from baton import te, tir


def test_scopes_become_statements_in_order() -> None:
    ib = tir.ir_builder.create()
    n = te.var("n")
    a = ib.allocate("float32", (n,), name="A", scope="global")
    with ib.for_range(0, n, name="i") as i:
        with ib.if_scope(i % 2 == 0):
            a[i] = a[i] + 1.0
        with ib.else_scope():
            a[i] = 0.0
    with ib.while_loop(a[0] < 3.0):
        v = ib.let("v", a[0] * 2.0)
        a[0] = v
    text = str(ib.get())
    assert text.splitlines()[0] == 'A = T.allocate([n], "float32", "global")'
    for part in ("for i in range(n):", "if i % 2 == 0:", "else:", "while A_1[0] < T.float32(3):", "v: T.float32 ="):
        assert part in text


def test_loops_are_named_and_typed_as_in_tvm() -> None:
    ib = tir.ir_builder.create()
    with ib.for_range(2, 6) as i, ib.for_range(0, tir.IntImm("int64", 4), kind="unroll") as j:
        ib.emit(tir.call_extern("int32", "f", i, j))
    loop: Any = ib.get()
    assert (loop.loop_var.name, int(loop.min), int(loop.extent)) == ("i", 2, 4)
    assert (loop.body.loop_var.name, loop.body.loop_var.dtype, loop.body.kind) == ("j", "int64", tir.ForKind.UNROLLED)


def test_mistakes() -> None:
    ib = tir.ir_builder.create()
    a = ib.pointer("float32")
    with pytest.raises(ValueError, match="content type"):
        a[0] = tir.const(1, "int32")
    with pytest.raises(RuntimeError, match="if_scope"):
        ib.else_scope()
    with pytest.raises(ValueError, match="kind"):
        ib.for_range(0, 3, kind="fast")
    with pytest.raises(RuntimeError, match="inside"), ib.for_range(0, 3):
        ib.get()


def test_memory_of_a_kernel_written_by_calls_is_its_own() -> None:
    def kernel(ins: Any, outs: Any) -> tir.Stmt:
        ib = tir.ir_builder.create()
        x, y = ib.buffer_ptr(ins[0]), ib.buffer_ptr(outs[0])
        kept = ib.allocate("float32", (1,), name="kept", scope="local")
        with ib.for_range(0, ins[0].shape[0], kind="parallel") as i, ib.for_range(0, 4, dtype="int32") as j:
            with ib.if_scope(ib.likely(tir.all(i > 0, j > 0))):
                kept[0] = x[i, j] * 2.0
                y[i, j] = kept[0]
            with ib.else_scope():
                y[i * 4 + j] = 1.0  # one index counts elements
        return ib.get()

    a = te.placeholder((te.var("n"), 4), name="X")
    b = te.extern(a.shape, [a], kernel, name="Y")
    func = te.create_prim_func([a, b])
    assert [r.buffer.name for r in func.body.block.body.block.writes] == ["Y"]
    out = baton.nd.empty((3, 4))
    baton.build(func, target="llvm")(baton.nd.array(np.full((3, 4), 2, "float32")), out)
    expected = np.full((3, 4), 4, "float32")
    expected[0], expected[:, 0] = 1, 1
    np.testing.assert_array_equal(out.numpy(), expected)
