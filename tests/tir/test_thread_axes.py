"""Attributes that launch threads: how many there are is the attribute's value, whatever made or changed it."""

from __future__ import annotations

import numpy as np

from baton import te, tir
from baton._src.ir.module import IRModule
from baton._src.passes.tir.simplify import Simplify
from baton._src.tir.evaluation.interpreter import run_prim_func
from baton._src.tir.expr import Var
from baton._src.tir.stmt import AttrStmt
from baton._src.tir.text.printer import script
from baton._src.tir.thread_axes import launched_axis
from baton.script import from_source
from tests.codegen.native_run import run_native

LAUNCH = """
@T.prim_func
def f(a: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (n,), "int32")
    i = T.launch_thread("blockIdx.x", T.FloorDiv(T.Mul(n, 4), 4))
    A[i] = i * 2
"""


def test_a_simplified_number_of_threads() -> None:
    """Found by random passes: with its extent simplified the launch was no launch any more, and its axis undefined."""
    func = Simplify()(IRModule({"f": from_source(LAUNCH)}))["f"]
    assert 'T.launch_thread("blockIdx.x", n)' in script(func)
    found, native = np.zeros(5, "int32"), np.zeros(5, "int32")
    run_prim_func(func, [found])
    assert run_native(func, native, checked=True) is None
    assert found.tolist() == native.tolist() == [0, 2, 4, 6, 8]


def test_an_axis_without_a_range() -> None:
    """Guards axes as `te.thread_axis` makes them, which have none: what they ran was undefined."""
    buffer, axis = tir.decl_buffer((4,), "int32", name="A"), te.thread_axis("threadIdx.x")
    builder = tir.ir_builder.create()
    builder.scope_attr(axis, "thread_extent", 4)
    builder.buffer_ptr(buffer)[axis.var] = axis.var * 2
    body = builder.get()
    assert isinstance(body, AttrStmt)
    assert launched_axis(body) is not None
    found = np.zeros(4, "int32")
    handle = Var("a", "handle")
    run_prim_func(tir.PrimFunc([handle], body, buffer_map={handle: buffer}), [found])
    assert found.tolist() == [0, 2, 4, 6]
