"""What stages, operations and tensors tell of themselves: scripts that schedule what others wrote ask for it."""

from __future__ import annotations

from typing import Any

import numpy as np

import baton as tvm
from baton import te

A = te.placeholder((16, 8), "float32", name="A")
K = te.reduce_axis((0, 8), "k")
B = te.compute((16,), lambda i: te.sum(A[i, K], axis=K), name="B")
C = te.compute((16,), lambda i: B[i] * 2, name="C")


def test_axes_and_how_they_were_made() -> None:
    """Guards relations and all_iter_vars, which were missing."""
    s = te.create_schedule(C.op)
    (i,), (k,) = s[B].op.axis, s[B].op.reduce_axis
    assert (s[B].relations, s[B].all_iter_vars) == ([], [i, k])
    outer, inner = s[B].split(i, factor=4)
    first, second = s[B].split(outer, nparts=2)
    fused = s[B].fuse(first, second, inner)
    split, again, *fuses = s[B].relations
    assert isinstance(split, te.schedule.Split)
    assert (split.parent, split.outer, split.inner, split.factor, split.nparts) == (i, outer, inner, 4, None)
    assert (again.parent, again.factor, again.nparts) == (outer, None, 2)
    assert all(isinstance(one, te.schedule.Fuse) for one in fuses)
    assert (fuses[0].outer, fuses[0].inner) == (first, second)
    assert (fuses[1].outer, fuses[1].inner, fuses[1].fused) == (fuses[0].fused, inner, fused)
    assert s[B].all_iter_vars == [i, k, outer, inner, first, second, fuses[0].fused, fused]
    assert s[B].leaf_iter_vars == [fused, k]


def test_where_stages_are() -> None:
    """Guards attach_type, attach_stage, attach_ivar, scope, is_output, group and stage_map, which were missing."""
    s = te.create_schedule(C.op)
    copy = s.cache_write(C, "local")
    (axis,) = s[C].op.axis
    s[B].compute_at(s[C], axis)
    assert (s[B].attach_type, s[B].attach_stage, s[B].attach_ivar) == (4, s[C], axis)
    assert (s[C].attach_type, s[C].attach_stage, s[C].attach_ivar) == (1, None, None)
    s[copy].compute_inline()
    assert s[copy].attach_type == 2
    assert (s[copy].scope, s[B].scope, s[B].store_predicate) == ("local", "", None)
    s[B].set_scope("shared")
    assert s[B].scope == "shared"
    assert [stage.is_output for stage in s.stages if stage.copies is None] == [False, False, True]
    assert s.stage_map[B.op] is s[B]
    group = te.create_schedule(C.op).create_group(outputs=B, inputs=A)
    assert all(stage.group is group for stage in group.stages)
    assert s.groups == []


def test_tensors_are_equal_as_outputs() -> None:
    """Guards `op.output(0) == tensor`: they were two tensors, and what read both had two inputs."""
    again = B.op.output(0)
    assert again == B
    assert not again.same_as(B)
    assert len({again, B, C}) == 2
    both = te.compute((16,), lambda i: B[i] + again[i], name="both")
    assert both.op.input_tensors == (B,)
    x = A.op.output(0)
    assert (x, x.shape, x.dtype, A.op.shape, A.op.dtype) == (A, A.shape, "float32", A.shape, "float32")
    data, result = np.random.default_rng(0).random((16, 8), np.float32), tvm.nd.empty((16,))
    tvm.build(te.create_schedule(both.op), [x, both.op.output(0)], target="llvm")(tvm.nd.array(data), result)
    np.testing.assert_allclose(result.numpy(), 2 * data.sum(1), rtol=1e-5)


def test_operations_by_kind() -> None:
    """Guards te.tensor.Operation and BaseComputeOp, by which scripts tell what a tensor comes from."""
    kinds: Any = te.tensor
    assert isinstance(A.op, kinds.Operation)
    assert isinstance(B.op, kinds.Operation)
    assert isinstance(B.op, kinds.BaseComputeOp)
    assert not isinstance(A.op, kinds.BaseComputeOp)
    assert B.op.same_as(C.op.input_tensors[0].op)
