"""The whole catalogue natively: every sampled kernel, scheduled, lowered and compiled by LLVM, gives what NumPy
gives.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from baton._src.codegen.llvm.cache import CacheOptions
from baton._src.codegen.llvm.module import CompileOptions, compile_module
from baton._src.ir.op_def import NotApplicable, OpDef
from baton._src.ir.target import Target
from baton._src.ir.tensor_info import TensorInfo, TupleInfo
from baton._src.lower.kernel_schedules.schedule import schedule
from baton._src.ops.catalogue import CATALOGUE
from baton._src.passes.tir.lowering.lower_prim_func import lower_prim_func
from baton._src.runtime.native.library import load
from baton._src.tir.analysis.outside_indices import outside_indices
from tests.codegen.native_run import call
from tests.ops.sampled_calls import SampledCall, arrays_of, assert_close

_TARGET = Target("llvm")


def _definitions() -> list[Any]:
    return [
        pytest.param(d, id=d.name)
        for d in CATALOGUE
        if d.samples is not None and d.samples() and not isinstance(d.compute, NotApplicable)
    ]


@pytest.mark.parametrize("definition", _definitions())
@pytest.mark.rule("RELAX-OPSHAPE-16")
def test_native_kernels_agree_with_numpy(definition: OpDef[Any]) -> None:
    """Guards the path an operator takes to machine code: te, schedule, lowering, LLVM. Named dims stay symbolic.
    Guards too that nothing right counts as outside of its buffer."""
    calls = [SampledCall(definition, sample, symbolic=True) for sample in definition.samples()]
    made = {f"f{n}": sampled.prim_func(sampled.infer())[0] for n, sampled in enumerate(calls)}
    assert [d.message for f in made.values() for d in outside_indices(f)] == []
    kernels = {symbol: lower_prim_func(schedule(func, _TARGET), _TARGET, func) for symbol, func in made.items()}
    library = load(compile_module(kernels, _TARGET, CompileOptions(cache=CacheOptions(None))))
    for number, sampled in enumerate(calls):
        wanted = sampled.reference()
        expected = list(wanted) if isinstance(wanted, (tuple, list)) else [wanted]
        declared = sampled.infer()
        fields = declared.fields if isinstance(declared, TupleInfo) else (declared,)
        results = [_blank(sampled, field) for field in fields]
        operands = [np.ascontiguousarray(a) if a.ndim else a.copy() for a in arrays_of(sampled.values)]
        scalars = [sampled.environment[v] for v in sampled.scalars]
        fault = call(library, made[f"f{number}"], *operands, *results, *scalars, symbol=f"f{number}")
        assert fault is None
        for actual, reference in zip(results, expected, strict=True):
            assert_close(actual, reference, sampled.sample)


def _blank(sampled: SampledCall, field: Any) -> Any:
    assert isinstance(field, TensorInfo)
    assert field.shape is not None
    return np.zeros(tuple(sampled.number(d) for d in field.shape), field.dtype.numpy)
