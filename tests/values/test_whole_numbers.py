"""Floats become the same integers in NumPy references, in TIR's interpreter and in compiled code."""

from __future__ import annotations

import math

import numpy as np
import pytest

import baton
from baton import relay
from baton._src.tir.scalar_values import converter
from baton._src.values.dtype import DataType
from baton._src.values.whole_numbers import whole_numbers

FLOATS = [math.nan, math.inf, -math.inf, 1e10, -1e10, 1e20, -1e20, 300.7, -1.5, 255.9, -0.9, 1.7e19, 2.0**31]
MAX_32, MAX_64 = 2**31 - 1, 2**63 - 1
EXPECTED = {
    "int8": [0, -1, 0, -1, 0, -1, 0, 44, -1, -1, 0, -1, -1],
    "uint16": [0, 65535, 0, 65535, 0, 65535, 0, 300, 65535, 255, 0, 65535, 65535],
    "int32": [0, MAX_32, -(2**31), MAX_32, -(2**31), MAX_32, -(2**31), 300, -1, 255, 0, MAX_32, MAX_32],
    "int64": [0, MAX_64, -(2**63), 10**10, -(10**10), MAX_64, -(2**63), 300, -1, 255, 0, MAX_64, 2**31],
}


@pytest.mark.parametrize("dtype", EXPECTED)
def test_what_does_not_fit_is_the_nearest_number(dtype: str) -> None:
    found = whole_numbers(np.array(FLOATS), DataType(dtype))
    assert (str(found.dtype), found.tolist()) == (dtype, EXPECTED[dtype])


@pytest.mark.parametrize("target", ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"])
@pytest.mark.parametrize("source", ["float16", "float32", "float64"])
def test_everywhere(source: str, target: str) -> None:
    with np.errstate(over="ignore"):
        values = np.array(FLOATS).astype(source)
    x = relay.var("x", shape=values.shape, dtype=source)
    module = baton.IRModule.from_expr(relay.Function([x], relay.cast(x, target)))
    interpreted, compiled = (relay.create_executor(k, module).evaluate()(values).numpy() for k in ("debug", "vm"))
    one = converter(DataType(source), DataType(target))
    assert interpreted.tolist() == compiled.tolist() == [one(v) for v in values]
