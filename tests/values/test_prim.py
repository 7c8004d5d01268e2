"""Prim values: floats become integers as elements of tensors do, and NaN is a number like others."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import baton
from baton import relax
from baton._src.ops.elementwise.casts import convert
from baton._src.relax.interpreter import Interpreter
from baton._src.tir.expr import Cast, Var
from baton._src.values.dtype import DataType
from baton._src.values.prim import prim, prim_dtype

FLOATS = (300.7, -1.5, 1e10, -1e10, 1e30, math.inf, -math.inf, math.nan)


@pytest.mark.parametrize("dtype", ["int8", "int32", "int64", "uint8", "uint32", "uint64"])
def test_floats_become_integers_as_elements_do(dtype: str) -> None:
    """Guards what an int does not hold: it was wrapped, or an error of Python's."""
    for number in FLOATS:
        found = prim(number, dtype)
        assert prim_dtype(found) == ("int64" if dtype == "int64" else dtype)
        assert found == convert(np.float64(number), DataType(dtype))


@pytest.mark.parametrize("compiled", [False, True])
def test_casts_of_arguments(compiled: bool) -> None:
    """Guards machine and interpreter, which differed; and NaN, which was refused as another number than itself."""
    builder, number = relax.BlockBuilder(), Var("n", "float64")
    x = relax.Var("x", relax.PrimStructInfo(value=number))
    with builder.function("main", [x]):
        builder.emit_func_output(builder.emit(relax.PrimValue(Cast("int32", number))))
    module = builder.get()
    run: Any = (
        relax.VirtualMachine(baton.build(module), baton.cpu())["main"] if compiled else Interpreter(module)["main"]
    )
    assert [run(v) for v in FLOATS] == [300, -1, 2**31 - 1, -(2**31), 2**31 - 1, 2**31 - 1, -(2**31), 0]
