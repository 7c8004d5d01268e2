"""te intrinsics: tiles of scheduled computations replaced by code for them; results are as without."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from baton._src.support.diagnostics import DiagnosticError
from baton._src.te import reduction
from baton._src.te.apply_schedule import scheduled_prim_func
from baton._src.te.computation import compute, placeholder, reduce_axis, var
from baton._src.te.prim_func import create_prim_func
from baton._src.te.schedule import create_schedule
from baton._src.te.tensor import Tensor
from baton._src.te.tensor_intrin import TensorIntrin, decl_tensor_intrin
from baton._src.tir.analysis.check import check_prim_func
from baton._src.tir.buffer import Buffer, decl_buffer
from baton._src.tir.builders import ir_builder
from baton._src.tir.builders.extern_calls import call_extern
from baton._src.tir.evaluation.interpreter import run_prim_func
from baton._src.tir.operators import const
from baton._src.tir.stmt import Stmt, stmt_seq
from baton._src.tir.text.parser import parse_text
from baton._src.tir.text.printer import script
from tests.codegen.native_run import random_array, run_native

Graph = dict[str, Any]


def view(tensor: Tensor) -> Buffer:
    """A buffer for a tile wherever it lies."""
    strides = [*(var("s") for _ in tensor.shape[1:]), 1]
    return decl_buffer(tensor.shape, tensor.dtype, tensor.name.upper(), strides=strides, offset_factor=1)


def products(rows: int, terms: int, dtype: str = "float32", steps: bool = True) -> TensorIntrin:
    """c[i] = sum of a[k] * b[i, k], begun or gone on with."""
    a, b = placeholder((terms,), dtype, "a"), placeholder((rows, terms), dtype, "b")
    k = reduce_axis((0, terms), "k")
    c = compute((rows,), lambda i: reduction.sum(a[k] * b[i, k], k), "c")

    def code(ins: Any, outs: Any) -> Any:
        def update() -> Stmt:
            ib = ir_builder.create()
            x, y, z = (ib.buffer_ptr(buffer) for buffer in (*ins, *outs))
            with ib.for_range(0, terms, "t") as t, ib.for_range(0, rows, "r") as r:
                z[r] = z[r] + y[r, t] * x[t]
            return ib.get()

        def reset() -> Stmt:
            ib = ir_builder.create()
            z = ib.buffer_ptr(outs[0])
            with ib.for_range(0, rows, "r") as r:
                z[r] = const(0, dtype)
            return ib.get()

        whole = stmt_seq(reset(), update())
        return (whole, reset(), update()) if steps else whole

    return decl_tensor_intrin(c.op, code, "products", {t: view(t) for t in (a, b, c)})


def graph(dtype: str = "float32") -> Graph:
    """C = (A + 1) Bᵀ of 6 x 16 and 8 x 16"""
    a, b = placeholder((6, 16), dtype, "A"), placeholder((8, 16), dtype, "B")
    more = compute((6, 16), lambda i, j: a[i, j] + a[0, 0], "more")
    k = reduce_axis((0, 16), "k")
    return {
        "A": a,
        "B": b,
        "more": more,
        "C": compute((6, 8), lambda i, j: reduction.sum(more[i, k] * b[j, k], k), "C"),
    }


def whole_sums(s: Any, t: Graph) -> None:
    (i, j), (k,) = t["C"].op.axis, t["C"].op.reduce_axis
    _, tile = s[t["C"]].split(j, 4)
    s[t["C"]].tensorize(tile, products(4, 16, t["C"].dtype, steps=False))
    s[t["C"]].parallel(i)
    s[t["more"]].compute_at(s[t["C"]], i)


def sums_in_steps(s: Any, t: Graph) -> None:
    stage, (i, j), (k,) = s[t["C"]], t["C"].op.axis, t["C"].op.reduce_axis
    outer, tile = stage.split(j, 2)
    steps, inner = stage.split(k, 8)
    stage.reorder(outer, steps, i, tile, inner)
    stage.tensorize(tile, products(2, 8, t["C"].dtype))
    s[t["more"]].compute_at(stage, steps)


def one_sum_a_tile(s: Any, t: Graph) -> None:
    stage, (k,) = s[t["C"]], t["C"].op.reduce_axis
    _, inner = stage.split(k, 4)
    stage.tensorize(inner, products(1, 4, t["C"].dtype))


def into_a_copy(s: Any, t: Graph) -> None:
    copied = s.cache_write(t["C"], "global")
    outer, _ = s[t["C"]].split(t["C"].op.axis[1], 4)
    s[copied].compute_at(s[t["C"]], outer)
    s[copied].tensorize(copied.op.axis[1], products(4, 16, t["C"].dtype))


@pytest.mark.parametrize("dtype", ["float32", "int8"])
@pytest.mark.parametrize("change", [whole_sums, sums_in_steps, one_sum_a_tile, into_a_copy])
def test_tiles_become_code(change: Callable[[Any, Graph], None], dtype: str) -> None:
    """Guards the corner of each tile, sums begun once wherever loops outside go on with them, and text of all that."""
    tensors = graph(dtype)
    args = [tensors["A"], tensors["B"], tensors["C"]]
    schedule = create_schedule(tensors["C"].op)
    change(schedule, tensors)
    before, after = create_prim_func(args), scheduled_prim_func(schedule, args)
    assert check_prim_func(after) == []
    assert script(parse_text(script(after))) == script(after)
    assert "match_buffer" in script(after)
    arrays = [random_array(shape, dtype, n) for n, shape in enumerate([(6, 16), (8, 16), (6, 8)])]
    expected, found, native = ([a.copy() for a in arrays] for _ in range(3))
    run_prim_func(before, expected)
    run_prim_func(after, found)
    assert run_native(after, *native) is None
    np.testing.assert_allclose(found[-1], expected[-1], rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(native[-1], expected[-1], rtol=1e-5, atol=1e-5)


def test_tiles_of_packed_tensors() -> None:
    """Guards indices that are quotients and remainders of an axis: within a tile they are plain."""
    x, w = placeholder((5, 16), "int8", "X"), placeholder((2, 4, 8, 4), "int8", "W")
    k = reduce_axis((0, 16), "k")
    y = compute((5, 16), lambda i, j: reduction.sum(x[i, k] * w[j // 8, k // 4, j % 8, k % 4], k), "Y")
    s = create_schedule(y.op)
    columns, inner = s[y].split(y.op.axis[1], 8)
    steps, terms = s[y].split(k, 4)
    s[y].reorder(columns, steps, inner, terms)
    s[y].tensorize(inner, products(8, 4, "int8"))
    arrays = [random_array(shape, "int8", n) for n, shape in enumerate([(5, 16), (2, 4, 8, 4), (5, 16)])]
    assert run_native(scheduled_prim_func(s, [x, w, y]), *arrays, checked=True) is None
    flat = arrays[1].transpose(0, 2, 1, 3).reshape(16, 16)
    np.testing.assert_array_equal(arrays[2], arrays[0] @ flat.T)


def copies(compact: bool) -> TensorIntrin:
    """A 2 x 4 tile copied by a function of C, which gets pointers."""
    a = placeholder((2, 4), "float32", "a")
    b = compute((2, 4), lambda i, j: a[i, j], "b")
    strides = None if compact else [var("s"), 1]

    def code(ins: Any, outs: Any) -> Any:
        rows = range(1 if compact else 2)
        return stmt_seq(
            *(
                call_extern(
                    "handle",
                    "memcpy",
                    outs[0].access_ptr("w", offset=0 if compact else r * outs[0].strides[0]),
                    ins[0].access_ptr("r", offset=0 if compact else r * ins[0].strides[0]),
                    32 if compact else 16,
                )
                for r in rows
            )
        )

    binds = {t: decl_buffer((2, 4), "float32", t.name, strides=strides, offset_factor=1) for t in (a, b)}
    return decl_tensor_intrin(b.op, code, binds=binds)


@pytest.mark.parametrize(("width", "compact"), [(4, True), (4, False), (12, False)])
def test_code_gets_pointers_to_tiles(width: int, compact: bool) -> None:
    """Guards offsets and strides that a buffer leaves open, where they are used by themselves."""
    x = random_array((6, width), "float32", 0)
    _, found = arrays = [x, np.zeros_like(x)]
    assert run_native(copied(width, compact), *arrays) is None
    np.testing.assert_array_equal(found, x)


def copied(width: int, compact: bool) -> Any:
    a = placeholder((6, width), "float32", "A")
    b = compute((6, width), lambda i, j: a[i, j], "B")
    s = create_schedule(b.op)
    rows, columns = b.op.axis
    *_, tile, _ = s[b].tile(rows, columns, 2, 4)
    s[b].tensorize(tile, copies(compact))
    return scheduled_prim_func(s, [a, b])


def test_what_an_intrinsic_is_not() -> None:
    """Guards pointers to tiles that are not compact, and tiles that compute something else: they ran wrong code."""
    with pytest.raises(DiagnosticError, match="through its pointer as a compact one"):
        run_native(copied(12, True), *(np.zeros((6, 12), "float32") for _ in range(2)))
    tensors = graph()
    args = [tensors["A"], tensors["B"], tensors["C"]]
    for rows, terms, steps, message in ((4, 8, True, "stands for one of"), (8, 4, False, "whole reductions only")):
        s = create_schedule(tensors["C"].op)
        stage, (_, j), (k,) = s[tensors["C"]], tensors["C"].op.axis, tensors["C"].op.reduce_axis
        outer, inner = stage.split(k, 4)
        stage.reorder(outer, j, inner)
        stage.tensorize(j, products(rows, terms, steps=steps))
        with pytest.raises(DiagnosticError, match=message):
            scheduled_prim_func(s, args)
    with pytest.raises(DiagnosticError, match="is not an intrinsic"):
        create_schedule(tensors["C"].op)[tensors["C"]].tensorize(tensors["C"].op.axis[0], "products")
    with pytest.raises(DiagnosticError, match="described by one te"):
        decl_tensor_intrin(tensors["C"].op, lambda ins, outs: None)
