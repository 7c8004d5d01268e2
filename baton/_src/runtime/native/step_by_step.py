"""A native entry, run kernel by kernel, so that profilers and instruments see each kernel with its tensors."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from baton._src.runtime.dim_expr import compile_dim, compile_dims
from baton._src.runtime.native.addresses import data_address
from baton._src.runtime.native.counted_outputs import beginning
from baton._src.runtime.native.faults import has_fault, present_cell
from baton._src.runtime.native.native_plan import NativePlan, Place
from baton._src.values.dtype import DataType
from baton._src.values.tensor import AnyArray

KernelHook = Callable[[str, str, Callable[[], None], Sequence[AnyArray]], None]
"""`hook(kernel, name, run, tensors)`: called for every kernel when running step by step; it calls `run()`."""

_pointer = ctypes.c_void_p
_integer = ctypes.c_int64


def run_step_by_step(
    plan: NativePlan,
    address_of: Callable[[str], int],
    spaces: Mapping[str, Any],
    arena: AnyArray | None,
    variables: Sequence[int],
    hook: KernelHook,
) -> None:
    """One foreign call per kernel, each through `hook`. `spaces`: the arrays of "input", "output" and "constant"."""
    variables = list(variables)
    for step in plan.steps:
        tensors = [_tensor_at(place, spaces, arena, variables) for place in step.tensors]
        scalars = [int(compile_dim(s)(variables)) for s in step.scalars]
        arguments = [_pointer(data_address(tensors[k])) if k >= 0 else _integer(scalars[-k - 1]) for k in step.order]
        kernel = ctypes.CFUNCTYPE(None)(address_of(step.kernel))
        hook(step.kernel, step.name, _bound(kernel, arguments), tensors)
        if has_fault(present_cell()):
            return
        for count in plan.counts:  # those that were counted by now; nothing has read the others
            variables[count.slot] = int(spaces["output"][count.output][count.at])


def _bound(function: Any, arguments: list[Any]) -> Callable[[], None]:
    def run() -> None:
        function(*arguments)

    return run


def _tensor_at(place: Place, spaces: Mapping[str, Any], arena: AnyArray | None, variables: Sequence[int]) -> AnyArray:
    if place.space != "arena":
        found: AnyArray = spaces[place.space][compile_dim(place.at)(variables)]
        return beginning(found, compile_dims(place.dims)(variables)) if place.space == "output" else found
    start = int(compile_dim(place.at)(variables))
    dtype = DataType(place.dtype).numpy
    shape = compile_dims(place.dims)(variables)
    count = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
    memory = np.empty(0, np.uint8) if arena is None else arena  # none is made if nothing in it has elements
    return memory[start : start + count].view(dtype).reshape(shape)
