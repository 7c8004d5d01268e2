"""Operators of two truth values read both operands in whole vectors, without masks."""

from __future__ import annotations

import numpy as np
import pytest

from baton import relax
from baton._src.codegen.llvm.module import module_texts
from baton._src.ir.target import Target
from baton._src.lower.kernel_schedules.schedule import decide
from tests.codegen.native_run import HOST, build, call
from tests.lower.kernel_schedules.only_kernel import only_kernel


@pytest.mark.parametrize(
    ("name", "meaning"),
    [("logical_and", np.logical_and), ("logical_or", np.logical_or), ("bitwise_and", np.bitwise_and)],
)
def test_both_operands_are_read(name: str, meaning: np.ufunc) -> None:
    """Guards the time: the second operand was read under a mask made of the first one, 17 times as slowly as by
    onnxruntime.
    """
    builder = relax.BlockBuilder()
    x, y = (relax.Var(v, relax.TensorStructInfo((7, 13), "bool")) for v in "xy")
    with builder.function("main", [x, y]):
        with builder.dataflow():
            found = builder.emit_output(getattr(relax.op, name)(x, y))
        builder.emit_func_output(found)
    func = only_kernel(builder.get())
    target = Target("llvm -mcpu=haswell")
    texts, _ = module_texts({"f": decide(func, target).func}, target)
    assert "masked.load" not in texts["f"]
    a, b = (np.random.default_rng(seed).random((7, 13)) < 0.5 for seed in (1, 2))
    scheduled, out = decide(func, HOST).func, np.zeros((7, 13), "bool")
    assert call(build(scheduled, checked=True), scheduled, a, b, out) is None
    np.testing.assert_array_equal(out, meaning(a, b))
