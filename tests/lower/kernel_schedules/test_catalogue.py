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


def _calls() -> tuple[list[tuple[str, SampledCall]], list[tuple[str, SampledCall]]]:
    """Every sample with its dims known, and of each operator the first that names some with these open; the others.

    The others, with their dims open, are in `make test` too (tests/ops/test_native.py), but without checks.
    """
    kept, more = [], []
    for definition in CATALOGUE:
        if isinstance(definition.compute, NotApplicable):
            continue
        is_first = True
        for number, sample in enumerate(definition.samples() if definition.samples else ()):
            name = f"{definition.name}-{number}"
            kept.append((name, SampledCall(definition, sample, symbolic=False)))
            if has_names(sample):
                (kept if is_first else more).append(
                    (f"{name}-symbolic", SampledCall(definition, sample, symbolic=True))
                )
                is_first = False
    return kept, more


def _arrays(values: Any) -> list[np.ndarray]:
    found: list[np.ndarray] = []
    for value in values:
        if isinstance(value, np.ndarray):
            found.append(np.array(value, order="C", copy=True))
        elif isinstance(value, tuple):
            found += _arrays(value)
    return found


@pytest.mark.parametrize("part", range(6))
def test_kernels_natively(part: int) -> None:
    """Guards schedules and code generation over the whole catalogue (in six modules, compiled at once each)."""
    _compute_what_numpy_says(_calls()[0][part::6])


@pytest.mark.fuzz
@pytest.mark.parametrize("part", range(3))
def test_more_open_kernels(part: int) -> None:
    """Guards every other sample with its dims open."""
    _compute_what_numpy_says(_calls()[1][part::3])


def _compute_what_numpy_says(calls: list[tuple[str, SampledCall]]) -> None:
    kernels = {}
    for name, sampled in calls:
        declared = sampled.infer()
        kernels[name] = (sampled, declared, schedule(sampled.prim_func(declared)[0], HOST))
        scalars = list(sampled.scalars)
        kernels[name] = (*kernels[name], scalars)
    options = CompileOptions(checked=True, cache=CacheOptions(None))
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
