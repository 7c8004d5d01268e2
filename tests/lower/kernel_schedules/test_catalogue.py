"""Every operator's kernel, scheduled and compiled, computes what NumPy says: static and symbolic, accesses checked."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from baton._src.codegen.llvm.cache import CacheOptions
from baton._src.codegen.llvm.module import CompileOptions, compile_module
from baton._src.ir.op_def import NotApplicable
from baton._src.ir.tensor_info import TensorInfo, TupleInfo
from baton._src.lower.kernel_schedules.schedule import schedule
from baton._src.ops.catalogue import CATALOGUE
from baton._src.runtime.native.library import load
from tests.codegen.native_run import HOST, call
from tests.ops.sampled_calls import SampledCall, assert_close
from tests.ops.test_catalogue import has_names


def _calls() -> list[tuple[str, SampledCall]]:
    found = []
    for definition in CATALOGUE:
        if isinstance(definition.compute, NotApplicable):
            continue
        for number, sample in enumerate(definition.samples() if definition.samples else ()):
            for symbolic in (False, True) if has_names(sample) else (False,):
                name = f"{definition.name}-{number}{'-symbolic' if symbolic else ''}"
                found.append((name, SampledCall(definition, sample, symbolic=symbolic)))
    return found


def _arrays(values: Any) -> list[np.ndarray]:
    found: list[np.ndarray] = []
    for value in values:
        if isinstance(value, np.ndarray):
            found.append(np.array(value, order="C", copy=True))
        elif isinstance(value, tuple):
            found += _arrays(value)
    return found


@pytest.mark.parametrize("part", range(8))
def test_kernels_natively(part: int) -> None:
    """Guards schedules and code generation over the whole catalogue (in eight modules, compiled at once each)."""
    calls = _calls()[part::8]
    kernels = {}
    for name, sampled in calls:
        declared = sampled.infer()
        kernels[name] = (sampled, declared, schedule(sampled.prim_func(declared)[0], HOST))
        scalars = list(sampled.scalars)
        kernels[name] = (*kernels[name], scalars)
    options = CompileOptions(checked=True, level=1, cache=CacheOptions(None))
    code = compile_module({name: found[2] for name, found in kernels.items()}, HOST, options)
    library = load(code)
    failures = []
    for name, (sampled, declared, func, scalars) in kernels.items():
        try:
            _run(library, name, sampled, declared, func, scalars)
        except AssertionError as error:
            failures.append(f"{name}: {error}")
    assert not failures, "\n".join(failures)


def _run(library: Any, name: str, sampled: SampledCall, declared: Any, func: Any, scalars: list[Any]) -> None:
    fields = list(declared.fields) if isinstance(declared, TupleInfo) else [declared]
    results = []
    for field in fields:
        assert isinstance(field, TensorInfo)
        assert field.shape is not None
        made = np.empty(tuple(sampled.number(d) for d in field.shape), field.dtype.numpy)
        made.reshape(-1).view(np.uint8)[...] = 255  # NaN: a kernel that adds to what it finds is seen
        results.append(made)
    numbers = [sampled.environment[v] for v in scalars]
    fault = call(library, func, *_arrays(sampled.values), *results, *numbers, symbol=name)
    assert fault is None, fault
    wanted = sampled.reference()
    for actual, reference in zip(results, list(wanted) if isinstance(wanted, (tuple, list)) else [wanted], strict=True):
        assert_close(actual, reference, sampled.sample)
