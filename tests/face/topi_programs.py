"""Programs over topi: tensors, computations built and run, numbers to run them on."""

from __future__ import annotations

from typing import Any

import numpy as np

import baton as tvm
from baton import te, topi


def tensor(*shape: int, dtype: str = "float32") -> Any:
    return te.placeholder(shape, dtype=dtype, name="x")


def run(inputs: list[Any], outputs: Any, *arrays: Any) -> Any:
    """What a computation gives, through its schedule and native code."""
    made = list(outputs) if isinstance(outputs, (list, tuple)) else [outputs]
    schedule = topi.generic.schedule_injective(made)
    kernel = tvm.build(schedule, [*inputs, *made], target="llvm")
    results = [tvm.nd.empty(topi.utils.get_const_tuple(o.shape), str(o.dtype)) for o in made]
    kernel(*(tvm.nd.array(a) for a in arrays), *results)
    found = [r.numpy() for r in results]
    return found if isinstance(outputs, (list, tuple)) else found[0]


def numbers(*shape: int, dtype: str = "float32") -> Any:
    rng = np.random.default_rng(4)
    return rng.uniform(-1, 1, shape).astype(dtype) if dtype == "float32" else rng.integers(0, 3, shape).astype(dtype)
