"""`nextafter` of narrow floats steps by their own bits."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import baton
from baton import te, tir

TYPES = {"float16": np.float16, "bfloat16": ml_dtypes.bfloat16, "float8_e5m2": ml_dtypes.float8_e5m2}


def pairs(dtype: Any) -> tuple[Any, Any]:
    """All pairs of floats of 8 bits; of 16 bits random ones, equal ones, and pairs with zeros."""
    if np.dtype(dtype).itemsize == 1:
        return tuple(v.reshape(-1).astype(np.uint8).view(dtype) for v in np.meshgrid(np.arange(256), np.arange(256)))
    x, y = (np.random.default_rng(seed).integers(0, 1 << 16, 4096).astype(np.uint16) for seed in range(2))
    y[:500], x[500:900], y[900:1200] = x[:500], 0, 0x8000
    return x.view(dtype), y.view(dtype)


@pytest.mark.parametrize("name", TYPES)
def test_next_numbers_of_narrow_floats(name: str) -> None:
    """Guards against float32's next number, which is rounded back to where it began."""
    x, y = pairs(TYPES[name])
    a, b = (te.placeholder(x.shape, name, name=n) for n in "ab")
    c = te.compute(x.shape, lambda i: tir.nextafter(a[i], b[i]))
    kernel = baton.build(te.create_schedule(c.op), [a, b, c], target="llvm")
    result = baton.nd.array(np.zeros_like(x))
    kernel(baton.nd.array(x), baton.nd.array(y), result)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(result.numpy().astype("float32"), np.nextafter(x, y).astype("float32"))
