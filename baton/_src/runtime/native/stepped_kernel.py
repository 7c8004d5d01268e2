"""`SteppedKernel`: a kernel that calls packed functions between its loops, run as the steps it was split into.

Every step is a native kernel or a packed function; they pass data in temporaries, which are allocated for each call.
Packed functions are looked up by name when they are called, so one may be registered or replaced later on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from baton._src.runtime.dim_expr import DimExpr, compile_dim
from baton._src.runtime.native.kernel_function import (
    KernelFunction,
    KernelSignature,
    bind_arguments,
    signature_from_data,
    signature_to_data,
)
from baton._src.runtime.value_info import TensorValue, info_from_data, info_to_data
from baton._src.support.dataclass import dataclass
from baton._src.support.diagnostics import fail
from baton._src.values.dtype import DataType
from baton._src.values.packed_func import PackedFunc
from baton._src.values.tensor import NDArray

Operand = tuple[str, Any]
"""("tensor", k): parameter k, or temporary k - number of parameters; ("scalar", an expression over the signature's
slots); ("constant", a number or text)."""


@dataclass(frozen=True)
class Step:
    """One call: of the packed function `name`, or of the kernel `name`."""

    name: str
    is_packed: bool
    operands: tuple[Operand, ...]


@dataclass(frozen=True)
class StepPlan:
    """What is called in turn, for the parameters of `signature`."""

    signature: KernelSignature
    temporaries: tuple[TensorValue, ...]
    steps: tuple[Step, ...]


def plan_to_data(plan: StepPlan) -> list[Any]:
    """The plan as JSON data."""
    steps = [[s.name, s.is_packed, [list(o) for o in s.operands]] for s in plan.steps]
    return [signature_to_data(plan.signature), [info_to_data(t) for t in plan.temporaries], steps]


def plan_from_data(data: Any) -> StepPlan:
    """The inverse of `plan_to_data`; `DiagnosticError` (`executable-corrupt`) on anything else."""
    try:
        signature, temporaries, steps = data
        infos = tuple(info_from_data(t) for t in temporaries)
        read = tuple(Step(str(n), bool(p), tuple((str(k), content) for k, content in ops)) for n, p, ops in steps)
    except (TypeError, ValueError) as error:
        raise fail("executable-corrupt", f"the steps of a kernel are malformed: {error}") from error
    kept = tuple(i for i in infos if isinstance(i, TensorValue))
    if len(kept) != len(infos):
        raise fail("executable-corrupt", "the steps of a kernel share tensors only")
    return StepPlan(signature_from_data(signature), kept, read)


class SteppedKernel:
    """Callable like a `KernelFunction`. Errors: its kernels', its packed functions', and `packed-missing`."""

    def __init__(
        self, plan: StepPlan, kernels: Mapping[str, KernelFunction], functions: Callable[[str], PackedFunc]
    ) -> None:
        self.plan = plan
        self.signature = plan.signature
        self.name = plan.signature.symbol
        self._kernels = kernels
        self._functions = functions

    def __call__(self, *values: Any) -> tuple[()]:
        self.bound(*values)()
        return ()

    def bound(self, *values: Any) -> Callable[[], None]:
        """The call on `values`, checked now."""
        heap = bind_arguments(self.signature, values)
        tensors = [*values, *(_temporary(info, heap) for info in self.plan.temporaries)]
        calls = [(step, [_operand(o, tensors, heap) for o in step.operands]) for step in self.plan.steps]

        def call() -> None:
            for step, operands in calls:
                function: Any = self._functions(step.name) if step.is_packed else self._kernels[step.name]
                function(*operands)

        return call


def _temporary(info: TensorValue, heap: Sequence[Any]) -> NDArray:
    """Memory passed between two steps. Zeros, so that a step that reads it too early sees no other program's data."""
    shape = tuple(_number(dim, heap) for dim in info.dims or ())
    return NDArray(np.zeros(shape, DataType(info.dtype).numpy))


def _operand(operand: Operand, tensors: Sequence[Any], heap: Sequence[Any]) -> Any:
    match operand:
        case ("tensor", int() as place):
            return tensors[place]
        case ("scalar", dim):
            return _number(dim, heap)
        case ("constant", content):
            return content
        case _:
            raise fail("executable-corrupt", f"a step of a kernel has the operand {operand!r}")


def _number(dim: DimExpr, heap: Sequence[Any]) -> Any:
    return compile_dim(dim)(heap)
