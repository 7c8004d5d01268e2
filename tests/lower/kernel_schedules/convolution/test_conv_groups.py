"""Convolutions in groups as dense ones group by group: against the operators' meaning, with every access checked."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from baton._src.ir.target import Target
from baton._src.lower.kernel_schedules.convolution import conv2d
from baton._src.ops.builders import RELAX as R
from baton._src.te.prim_func import PrimFunc
from baton._src.tir.expr import Var as TirVar
from tests.codegen.native_run import HOST, build, call
from tests.grids import every_value
from tests.lower.kernel_schedules.only_kernel import only_kernel
from tests.passes.relax.evaluate import evaluate
from tests.passes.relax.programs import program, tensor

THREADS = Target("llvm -num-cores=4")
CASES = [
    (R.nn.conv2d, (2, 8, 7, 9), (12, 2, 3, 3), {"groups": 4, "padding": 1}),
    (R.nn.conv2d, (1, 6, 5, 70), (40, 3, 3, 2), {"groups": 2, "padding": (1, 0, 0, 2), "strides": 2}),
    (R.nn.conv2d, (1, 12, 6, 6), (6, 4, 1, 1), {"groups": 3}),
    (R.nn.conv2d, (1, 4, 9, 9), (8, 2, 3, 3), {"groups": 2, "dilation": 2, "padding": 2}),
    (R.nn.conv1d, (2, 6, 80), (9, 2, 5), {"groups": 3, "padding": 2}),
    (R.nn.conv3d, (1, 4, 4, 5, 6), (4, 2, 3, 3, 3), {"groups": 2, "padding": 1}),
]


@pytest.mark.parametrize("sizes", ["known", "open"])
@pytest.mark.parametrize(("case", "target"), every_value(CASES, {"one": HOST, "threads": THREADS}))
def test_groups(case: tuple[Any, tuple[int, ...], tuple[int, ...], dict[str, Any]], target: Target, sizes: str) -> None:
    """Borders, strides, dilation, lines shorter and longer than a panel, with bias and ReLU; the same with a batch and
    a map of unknown sizes, whose border is copied.
    """
    op, data, kernel, attrs = case
    bias = tensor("b", kernel[0], *(1,) * (len(data) - 2))

    def convolved(bb: Any, x: Any, w: Any, b: Any) -> Any:
        return R.nn.relu(bb.emit(R.add(bb.emit(op(x, w, **attrs)), b)))

    outside = tuple(TirVar(f"n{k}", "int64") if k != 1 else n for k, n in enumerate(data))
    shape = data if sizes == "known" else outside
    module = program([tensor("x", *shape), tensor("w", *kernel), bias], convolved)
    func = only_kernel(module)
    scheduled = conv2d.apply(func, target)
    assert isinstance(scheduled, PrimFunc), scheduled
    rng = np.random.default_rng(0)
    shapes = (data, kernel, (kernel[0], *(1,) * (len(data) - 2)))
    arrays = [rng.uniform(-1, 1, s).astype("float32") for s in shapes]
    expected = evaluate(module, "main", *arrays)
    found = np.full_like(expected, np.nan)
    assert call(build(scheduled, target, checked=True), scheduled, *arrays, found) is None
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


LINES = [
    (70, 3, {"padding": 1}),
    (70, 3, {"padding": (2, 3, 0, 1), "strides": 2}),
    (130, 3, {"padding": 4, "dilation": 3, "strides": 2}),
    (67, 1, {"padding": 2}),
]


@pytest.mark.parametrize(("line", "batch"), every_value(LINES, {"static": 2, "symbolic": TirVar("n", "int64")}))
def test_long_lines_have_no_padded_copy(line: tuple[int, int, dict[str, Any]], batch: Any) -> None:
    """What taps see of long lines is worked out while packing: every border, in dense convolutions too."""
    size, window, attrs = line
    params = [tensor("x", batch, 3, 5, size), tensor("w", 9, 3, window, window)]
    module = program(params, lambda bb, x, w: R.nn.relu(bb.emit(R.nn.conv2d(x, w, **attrs))))
    func = only_kernel(module)
    scheduled = conv2d.apply(func, HOST)
    assert isinstance(scheduled, PrimFunc), scheduled
    rng = np.random.default_rng(0)
    arrays = [rng.uniform(-1, 1, s).astype("float32") for s in ((2, 3, 5, size), (9, 3, window, window))]
    expected = evaluate(module, "main", *arrays)
    found = np.full_like(expected, np.nan)
    assert call(build(scheduled, HOST, checked=True), scheduled, *arrays, found) is None
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)
