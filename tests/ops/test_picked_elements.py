"""NaN and infinities among operands of operators that pick elements: compiled kernels against NumPy."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from baton._src.ir.op_def import OpDef
from baton._src.lower.kernel_schedules.schedule import schedule
from baton._src.ops.catalogue import CATALOGUE
from tests.codegen.native_run import HOST, run_native
from tests.ops.sampled_calls import SampledCall, arrays_of

PICKING = (
    *("argmax", "argmin", "max", "min", "sort", "argsort", "nn.max_pool2d", "nn.nll_loss", "where", "take", "one_hot"),
    *("grad.max_pool1d_backward", "grad.max_pool2d_backward", "grad.max_pool3d_backward"),
    *("grad.max_pool1d_picked", "grad.max_pool2d_picked", "grad.max_pool3d_picked"),
)


def _calls(definition: OpDef[Any]) -> list[SampledCall]:
    assert definition.samples is not None
    return [SampledCall(definition, sample, symbolic=False) for sample in definition.samples()]


def _with(values: Any, numbers: list[float], share: float) -> Any:
    """The operands, where a share of the elements of floats is one of `numbers`."""
    if isinstance(values, tuple):
        return tuple(_with(v, numbers, share) for v in values)
    if not isinstance(values, np.ndarray) or values.dtype.kind in "biu":
        return values
    rng = np.random.default_rng(5)
    chosen = rng.choice(numbers, values.shape).astype(values.dtype)
    return np.where(rng.random(values.shape) < share, chosen, values)


@pytest.mark.parametrize("numbers", [[math.nan], [math.inf, -math.inf]], ids=["nan", "infinities"])
@pytest.mark.parametrize("share", [0.2, 0.9])
@pytest.mark.parametrize("name", PICKING)
def test_kernels_pick_as_numpy_does(name: str, share: float, numbers: list[float]) -> None:
    """Guards windows of NaN, where the place of the maximum was far outside of the data; and ignored infinities, which
    made references NaN."""
    for call in _calls(CATALOGUE.get(name)):
        call.values = _with(call.values, numbers, share)
        with np.errstate(all="ignore"):
            wanted: Any = call.reference()
        declared: Any = call.infer()
        result = np.zeros(wanted.shape, declared.dtype.numpy)
        assert run_native(schedule(call.prim_func(declared)[0], HOST), *arrays_of(call.values), result) is None
        np.testing.assert_allclose(result, wanted, rtol=1e-2 if result.itemsize == 2 else 1e-5)
