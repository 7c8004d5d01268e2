"""Check, once for each combination of input shapes, that every intermediate tensor has a valid size.

A window larger than an open dim, for example, gives a negative extent:

    y = max_pool2d(x: (n, 4, w), pool_size=5)       -> (n, 4, w - 4), negative where w is 1
    z = mean(y, axis=-1)                            -> (n, 4), whose shape does not show it

Kernels rely on their shapes: the tails of their loops would write out of bounds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from baton._src.runtime.dim_expr import compile_dims
from baton._src.runtime.native.native_plan import NativePlan
from baton._src.runtime.tensor_sizes import size_fault
from baton._src.support.diagnostics import fail

Check = Callable[[Sequence[Any]], None]
_HELP = {"of negative size": "a dim is smaller than what is taken from it, such as a window"}


def check_of_sizes(plan: NativePlan) -> Check:
    """A function of the values of `plan.variables`; raises `value-mismatch` if a kernel's tensor has an impossible
    shape.
    """
    first = {repr(p.dims): (s.name, p.dims) for s in reversed(plan.steps) for p in s.tensors if _varies(p.dims)}
    measured = [(label, compile_dims(dims, plan.variables)) for label, dims in first.values()]

    def check(variables: Sequence[Any]) -> None:
        for label, dims in measured:
            shape = dims(variables)
            fault = size_fault(shape)
            if fault:
                text = f"{plan.name}: these inputs give {label} a tensor {fault}, {shape}"
                raise fail("value-mismatch", text, help=_HELP.get(fault))

    return check


def _varies(dims: Sequence[Any]) -> bool:
    return not all(isinstance(d, int) for d in dims)
