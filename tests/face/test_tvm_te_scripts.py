"""Kernels as scripts for TVM write them: te schedules, tir schedules, dtypes' limits."""

from __future__ import annotations

import numpy as np
import pytest

import baton as tvm
from baton import relax, te, tir, topi


def product(size: int = 32) -> tuple[te.Tensor, te.Tensor, te.Tensor]:
    k = te.reduce_axis((0, size), "k")
    a, b = (te.placeholder((size, size), name=n) for n in "AB")
    return a, b, te.compute((size, size), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")


def check(schedule: te.Schedule, tensors: tuple[te.Tensor, ...]) -> None:
    rng = np.random.default_rng(0)
    x, y = (rng.random((32, 32), np.float32) for _ in range(2))
    out = tvm.nd.empty((32, 32))
    tvm.build(schedule, list(tensors), "llvm", name="mmult")(tvm.nd.array(x), tvm.nd.array(y), out)
    np.testing.assert_allclose(out.numpy(), x @ y, rtol=1e-4)


def test_a_blocked_product_of_matrices() -> None:
    a, b, c = product()
    s = te.create_schedule(c.op)
    written = s.cache_write(c, "global")
    outer, across, _, _ = s[c].tile(c.op.axis[0], c.op.axis[1], 8, 8)
    s[written].compute_at(s[c], across)
    (k,) = s[written].op.reduce_axis
    k_outer, k_inner = s[written].split(k, factor=4)
    rows, columns = s[written].op.axis
    s[written].reorder(k_outer, rows, k_inner, columns)
    s[written].vectorize(columns)
    s[written].unroll(k_inner)
    s[c].parallel(outer)
    check(s, (a, b, c))
    assert [step[0] for step in s[c].history] == ["cache_write", "split", "split", "reorder", "parallel"]


def test_symbolic_sizes_and_inlining() -> None:
    n = te.var("n")
    a = te.placeholder((n,), name="A")
    b = te.compute((n,), lambda i: a[i] + 1.0, name="B")
    c = te.compute((n,), lambda i: b[i] * 2.0, name="C")
    s = te.create_schedule([c.op])
    s[b].compute_inline()
    outer, inner = s[c].split(c.op.axis[0], nparts=4)
    fused = s[c].fuse(outer, inner)
    s[c].parallel(fused)
    out = tvm.nd.empty((5,))
    tvm.build(s, [a, c], "llvm")(tvm.nd.array(np.ones(5, "float32")), out)
    assert out.numpy().tolist() == [4.0] * 5
    assert "main" in tvm.lower(s, [a, c], simple_mode=True)


def test_what_a_stage_does_not_have_is_refused() -> None:
    _, _, c = product()
    s = te.create_schedule(c.op)
    i = c.op.axis[0]
    s[c].split(i, factor=4)
    for wrong in (
        lambda: s[c].vectorize(i),
        lambda: s[c].parallel(c.op.reduce_axis[0]),
        lambda: s[c].bind(c.op.axis[1], te.thread_axis("threadIdx.x")),
        lambda: s[c].compute_inline(),
        lambda: s[te.placeholder((1,), name="other")],
        lambda: tvm.build(s),
    ):
        with pytest.raises(tvm.TVMError):
            wrong()


def test_axes_of_threads_and_splits_without_a_number_are_what_scripts_ask_for() -> None:
    axis = te.thread_axis((0, 8), "threadIdx.x")
    assert (axis.iter_type, axis.thread_tag) == (tir.IterVar.ThreadIndex, "threadIdx.x")
    b = te.compute((8,), lambda i: i)
    with pytest.raises(ValueError, match="either factor or nparts"):
        te.create_schedule(b.op)[b].split(b.op.axis[0])
    image, kernel = te.placeholder((1, 3, 8, 8)), te.placeholder((4, 3, 3, 3))
    with pytest.raises(tvm.DiagnosticError, match="'float32' is no layout of a kernel"):
        topi.nn.conv2d(image, kernel, 1, 1, 1, "NCHW", "float32")


def test_blocks_are_named() -> None:
    a = te.placeholder((8,), name="A")
    b = te.compute((8,), lambda i: a[i] * 2.0, name="B")
    c = te.compute((8,), lambda i: b[i] + 1.0, name="C")
    sch = tir.Schedule(tvm.IRModule({"main": te.create_prim_func([a, c])}), debug_mask="all")
    sch.compute_inline("B")
    (loop,) = sch.get_loops("C")
    with pytest.raises(tir.ScheduleError, match="names no threads"):
        sch.bind(loop, "threads")
    sch.bind(loop, "threadIdx.x")  # there are none on CPUs: it is computed all the same
    out = tvm.nd.empty((8,))
    tvm.build(sch.mod, target="llvm")(tvm.nd.array(np.ones(8, "float32")), out)
    assert out.numpy()[0] == 3.0


def test_limits_of_dtypes() -> None:
    assert te.max_value("int8").value == 127
    assert te.min_value("int32").value == -(2**31)
    assert tir.max_value("float32").value == pytest.approx(np.finfo("float32").max)


def test_ranges_are_given_by_begin_and_end() -> None:
    found = tvm.ir.Range(2, 5)
    assert (found.min.value, found.extent.value) == (2, 3)
    assert tvm.ir.Range.from_min_extent(2, 5).extent.value == 5
    assert tvm.ir.Range(4).extent.value == 4
    assert isinstance(te.reduce_axis((0, 3)).dom, tvm.ir.Range)


def test_shapes_as_numbers() -> None:
    a = te.placeholder((2, te.var("n")), name="A")
    assert topi.utils.get_const_tuple(a.shape)[0] == 2
    assert topi.utils.get_const_int(tir.const(2, "int32") * 3) == 6
    with pytest.raises(tvm.TVMError, match="not a number"):
        topi.utils.get_const_int(a.shape[1])


def test_struct_info_covers() -> None:
    known, unknown = relax.TensorStructInfo((1,), "float32"), relax.TensorStructInfo(dtype="float32", ndim=1)
    assert unknown.is_base_of(known)
    assert not known.is_base_of(unknown)


@pytest.mark.parametrize("size", [0, None])
@pytest.mark.parametrize("change", ["another", "rfactor", "cache_write"])
def test_reductions_over_nothing_begin_whatever_stage_is_scheduled(size: int | None, change: str) -> None:
    """Guards the first value where the reducing stage itself has no primitive: what memory held was left."""
    n = te.var("n") if size is None else size
    a, k = te.placeholder((n, 4), name="A"), te.reduce_axis((0, n), "k")
    c = te.compute((4,), lambda j: te.sum(a[k, j], axis=k), name="C")
    d = te.compute((4,), lambda j: c[j] + 1.0, name="D") if change == "another" else c
    s = te.create_schedule(d.op)
    if change == "another":
        s[d].split(d.op.axis[0], 2)
    elif change == "rfactor":
        s.rfactor(c, s[c].split(k, 4)[1])
    else:
        s.cache_write(c, "local")
    out = tvm.nd.array(np.full(4, 9, np.float32))
    tvm.build(s, [a, d], "llvm")(tvm.nd.empty((0, 4)), out)
    assert out.numpy().tolist() == [float(change == "another")] * 4
