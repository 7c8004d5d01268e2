"""Elementwise operators of edge values (ends of the range, infinities, NaN, signed zeros, subnormals, halves), in every
pair for two operands: compiled kernels against NumPy.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from baton._src.ir.op_def import NotApplicable, OpDef
from baton._src.lower.kernel_schedules.schedule import schedule
from baton._src.ops.elementwise.activations import ACTIVATIONS
from baton._src.ops.elementwise.binary import BINARY
from baton._src.ops.elementwise.choice import CHOICES
from baton._src.ops.elementwise.unary import UNARY
from baton._src.ops.samples import Arr, Sample
from baton._src.support.diagnostics import DiagnosticError
from baton._src.values.dtype import DataType
from tests.codegen.native_run import HOST, run_native
from tests.ops.sampled_calls import SampledCall

DTYPES = (
    *("float32", "float64", "float16", "bfloat16", "bool", "int8", "int16", "int32", "int64"),
    *("uint8", "uint16", "uint32", "uint64"),
)
NUMBERS = [0, 1, 2, 3, 5, 7, 8, 15, 16, 31, 32, 63, 64, 100, -1, -2, -3, -5, -7, -8, -64, -100]
FRACTIONS = [0.0, -0.0, 0.5, 1.5, 2.5, 7.25, 1e-3, 100.5, 127.5, 128.5, 1000, 65504, 2.0**31, math.inf, math.nan]
ULPS = 8
"""Units in the last place that kernels may be off."""


def _limits(dtype: DataType) -> Any:
    return ml_dtypes.finfo(dtype.numpy)  # type: ignore[no-untyped-call]


def _edges(dtype: DataType) -> np.ndarray:
    if dtype.is_bool:
        return np.array([False, True])
    if dtype.is_int:
        ends = np.iinfo(dtype.numpy)
        numbers = {*NUMBERS, *(n + d for n in (ends.min, ends.max, ends.max // 2) for d in (-1, 0, 1))}
        return np.array([n for n in sorted(numbers) if ends.min <= n <= ends.max], dtype.numpy)
    ends = _limits(dtype)
    floats = [*NUMBERS, *FRACTIONS, float(ends.max), float(ends.smallest_normal), float(ends.smallest_normal) / 4]
    with np.errstate(over="ignore"):
        return np.array([*floats, *(-f for f in floats)], "float64").astype(dtype.numpy)


def _sample(definition: OpDef[Any]) -> Sample:
    assert definition.samples is not None
    first: Sample = definition.samples()[0]
    return first


def _call(definition: OpDef[Any], name: str) -> SampledCall:
    """The first sample's call, of edge values."""
    sample, edges = _sample(definition), _edges(DataType(name))
    pairs = np.meshgrid(*[edges] * len(sample.args), indexing="ij")
    arrays = tuple(Arr((p.size,), name, values=p.reshape(-1)) for p in pairs)
    return SampledCall(definition, replace(sample, args=arrays), symbolic=False)


def _definitions() -> list[Any]:
    return [
        pytest.param(d, id=d.name)
        for d in (*UNARY, *ACTIVATIONS, *BINARY, *CHOICES)
        if not isinstance(d.compute, NotApplicable)
        and not isinstance(d.reference, NotApplicable)
        and len(_sample(d).args) <= 2
        and all(isinstance(a, Arr) for a in _sample(d).args)
    ]


def _agree(found: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    if found.dtype.kind in "biu":
        return np.asarray(found == wanted)
    ends, a, b = _limits(DataType(found.dtype)), found.astype("float64"), wanted.astype("float64")
    near = np.abs(a - b) <= np.maximum(ULPS * float(ends.eps) * np.abs(b), 2 * float(ends.smallest_normal))
    return np.asarray(near | (a == b) | (np.isnan(a) & np.isnan(b)))


def _check(definition: OpDef[Any], dtype: str) -> bool:
    """Whether the operator takes the dtype; if it does, the kernel agrees with NumPy."""
    sampled = _call(definition, dtype)
    try:
        declared: Any = sampled.infer()
    except DiagnosticError:
        return False
    found = np.zeros(sampled.values[0].shape, declared.dtype.numpy)
    run_native(schedule(sampled.prim_func(declared)[0], HOST), *sampled.values, found)
    with np.errstate(all="ignore"):
        wanted = np.asarray(sampled.reference()).astype(found.dtype)
        agree = _agree(found, wanted)
        if definition.name.startswith("nn.gelu"):  # 1 + erf(x) loses digits, by its definition
            agree |= np.abs(found.astype("float64") - wanted.astype("float64")) < 1e-6
    off = np.flatnonzero(~agree)[:5]
    assert agree.all(), (dtype, [([v[i] for v in sampled.values], found[i], wanted[i]) for i in off])
    return True


@pytest.mark.parametrize("definition", _definitions())
def test_kernels_of_edge_values(definition: OpDef[Any]) -> None:
    """Guards what gets lost at the ends of ranges: overflows, quotients by zero, shifts by too much, great angles."""
    assert sum(_check(definition, dtype) for dtype in DTYPES) > 0
