"""`topi`: what scripts ask of the target in force, and a computation built for one and compared with NumPy's result."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from baton._src.driver.kernel_module import KernelModule
from baton._src.driver.tir.build import build
from baton._src.ir.target import Target
from baton._src.te.computation import placeholder
from baton._src.values.tensor import array


def is_target(names: str | Sequence[str]) -> bool:
    """Whether the target in force (`with Target(...)`) has one of these keys. Error: there is none."""
    target = Target.current(allow_none=False)
    assert target is not None
    asked = {names} if isinstance(names, str) else set(names)
    return not asked.isdisjoint(target.keys)


def compare_numpy_tvm(
    inputs: Sequence[Any],
    output: Any,
    target: Any,
    device: Any,
    compute: Callable[..., Any],
    schedule: Callable[[list[Any]], Any],
) -> None:
    """Assert that what `compute` makes of tensors like `inputs`, built with `schedule`, is `output`, up to 1e-4."""
    tensors = [placeholder(one.shape, str(one.dtype)) for one in inputs]
    with Target(target):
        made = compute(*tensors)
        kernel = build(schedule([made]), [*tensors, made], target)
    found = array(np.zeros(output.shape, output.dtype), device)
    assert isinstance(kernel, KernelModule)
    kernel(*(array(one, device) for one in inputs), found)
    np.testing.assert_allclose(found.numpy(), output, rtol=1e-4, atol=1e-4)
