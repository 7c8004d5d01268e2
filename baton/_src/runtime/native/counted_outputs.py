"""Outputs whose size a kernel counts: they are made as large as they can be, and given out as far as they are used."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from baton._src.runtime.dim_expr import compile_dim, compile_dims, slots_of
from baton._src.runtime.native.native_plan import NativePlan
from baton._src.values.tensor import AnyArray

SMALL, SHARE = 1 << 16, 4
"""Bytes of memory, and the part of it to be used, from which on unused memory is given back: what is used is copied."""


class CountedOutputs:
    """The outputs of a plan whose kernels count sizes (`NativePlan.counts`)."""

    def __init__(self, plan: NativePlan) -> None:
        self._counts = plan.counts
        self._shown = len(plan.outputs) - plan.hidden
        self._most = [(c.slot, compile_dim(c.most, plan.variables)) for c in plan.counts]
        slots = {c.slot for c in plan.counts}
        self._open = [
            (number, compile_dims(output.dims, plan.variables))
            for number, output in enumerate(plan.outputs)
            if any(slots & slots_of(dim) for dim in output.dims)
        ]

    def expect_most(self, variables: list[Any]) -> None:
        """Fill in the greatest counts; the other variables are known."""
        for slot, most in self._most:
            variables[slot] = int(most(variables))

    def used(self, outputs: list[AnyArray], variables: Sequence[int]) -> list[AnyArray]:
        """The outputs of the result in the shapes that were counted."""
        values = list(variables)
        for count in self._counts:
            values[count.slot] = outputs[count.output].item(count.at)
        for number, dims in self._open:
            outputs[number] = used_part(outputs[number], dims(values))
        return outputs[: self._shown]


def used_part(whole: AnyArray, shape: tuple[int, ...]) -> AnyArray:
    """The first elements of a contiguous array, as an array of that shape: a copy, if it is a small part of it."""
    part = beginning(whole, shape)
    return part.copy() if whole.nbytes >= SMALL and part.nbytes * SHARE < whole.nbytes else part


def beginning(array: AnyArray, shape: tuple[int, ...]) -> AnyArray:
    """The first elements of a contiguous array, as an array of that shape."""
    return array if array.shape == shape else np.ndarray(shape, array.dtype, array)
