"""`topi.dynamic_strided_slice`: bounds are tensors, and the caller says how large the result is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from baton._src.driver.tvm_names.topi.apply import of_shape
from baton._src.ir.tensor_info import TensorInfo
from baton._src.ops.catalogue import CATALOGUE
from baton._src.support.diagnostics import fail
from baton._src.te.computation import compute
from baton._src.te.tensor import Tensor
from baton._src.tir.builders.scalar_functions import if_then_else
from baton._src.tir.expr import literal
from baton._src.tir.operators import equal
from baton._src.values.dtype import INT64


def dynamic_strided_slice(a: Tensor, begin: Any, end: Any, strides: Any, output_shape: Sequence[Any]) -> Any:
    """The elements of `a` from `begin` in steps of `strides`, a vector of a number for each axis each: as many as
    `output_shape` says. `end` tells nothing that `output_shape` does not. Bounds are tensors or lists of numbers.

    Error `topi`: a vector has another length than `a` has axes.
    """
    bounds = [_vector(bound, len(a.shape)) for bound in (begin, end, strides)]
    out = TensorInfo(tuple(output_shape), a.dtype)
    definition = CATALOGUE.get("dynamic_strided_slice")
    return of_shape(definition, (a, *bounds), definition.attrs(), out)


def _vector(bound: Any, rank: int) -> Tensor:
    count = bound.shape[0] if isinstance(bound, Tensor) else len(bound)
    if count != rank:
        raise fail("topi", f"a bound of {count} numbers for a tensor of rank {rank}", help="give one for each axis")
    if isinstance(bound, Tensor):
        return bound

    def element(i: Any) -> Any:
        found = literal(bound[-1], INT64)
        for place in reversed(range(rank - 1)):
            found = if_then_else(equal(i, place), literal(bound[place], INT64), found)
        return found

    made: Tensor = compute((rank,), element, "bound")
    return made


DYNAMIC_SLICES: Mapping[str, Any] = {"dynamic_strided_slice": dynamic_strided_slice}
"""By name in `topi`."""
