"""`te.schedule.AutoInline...`: which stages are computed where they are read, and that the results stay."""

from __future__ import annotations

import numpy as np
import pytest

import baton as tvm
from baton import te
from baton._src.support.diagnostics import DiagnosticError


@pytest.mark.parametrize(
    ("rule", "inlined"),
    [
        ("AutoInlineElemWise", ["same"]),
        ("AutoInlineBroadcast", ["same", "spread"]),
        ("AutoInlineInjective", ["same", "spread", "turned"]),
    ],
)
def test_stages_are_chosen_by_how_they_read(rule: str, inlined: list[str]) -> None:
    a, b = te.placeholder((4, 4), name="a"), te.placeholder((4,), name="b")
    same = te.compute((4, 4), lambda i, j: a[i, j] + 1.0, "same")
    spread = te.compute((4, 4), lambda i, j: same[i, j] * b[j], "spread")
    turned = te.compute((4, 4), lambda i, j: spread[j, i], "turned")
    k = te.reduce_axis((0, 4), "k")
    out = te.compute((4,), lambda i: te.sum(turned[i, k], k), "out")
    s = te.create_schedule(out.op)
    getattr(te.schedule, rule)(s)
    assert [stage.op.name for stage in s.stages if stage.attached == ("inline",)] == inlined
    x, y = np.arange(16, dtype="float32").reshape(4, 4), np.arange(4, dtype="float32")
    got = tvm.nd.empty((4,))
    tvm.build(s, [a, b, out], "llvm")(tvm.nd.array(x), tvm.nd.array(y), got)
    np.testing.assert_allclose(got.numpy(), ((x + 1) * y).sum(axis=0))


def test_statements_have_no_axes() -> None:
    a = te.placeholder((4,), name="a")
    out = te.extern((4,), [a], lambda ins, outs: tvm.tir.call_packed("nowhere", ins[0], outs[0]), name="out")
    with pytest.raises(DiagnosticError, match="out has no axes to schedule"):
        _ = out.op.axis
    assert not hasattr(out.op, "axis")
