"""The values between the nodes of a model while it is imported."""

from __future__ import annotations

from typing import Any

import numpy as np

from baton._src.ir.tensor_info import Dim, TensorInfo
from baton._src.ops.dims import show_shape
from baton._src.support.dataclass import dataclass
from baton._src.support.diagnostics import InternalError
from baton._src.values.meaning import PLAIN, Meaning
from baton._src.values.tensor import AnyArray

SMALL = 1024
"""Constants of up to this many elements are inspected as shapes and axes."""


def described(info: TensorInfo) -> str:
    """A tensor in error messages: `float32 (n, 4)`."""
    return f"{info.dtype} {'of unknown shape' if info.shape is None else show_shape(info.shape)}"


@dataclass(slots=True, eq=False)
class Value:
    """A tensor of the graph. At least one of `expr`, `array` and `dims` is set; the builder creates `expr` on demand.

    `array`: a constant. `dims`: an integer tensor whose elements are known, possibly symbolic (the
    result of Shape and what is computed from it): an object array of ints and PrimExprs. `items`: a tensor sequence
    (`grows`: what a loop has appended to one in this iteration). `stack`: a sequence as long as a run makes it, of
    tensors of one shape, in one tensor along a new first axis.
    `sources`: the inputs of the model whose values (not only sizes) it is computed from.
    """

    info: TensorInfo
    expr: Any = None
    array: AnyArray | None = None
    dims: AnyArray | None = None
    items: tuple[Value, ...] | None = None
    grows: bool = False
    stack: Value | None = None
    whole: AnyArray | None = None
    """`dims` of a tensor of floats that is made of sizes: exporters scale and count with such numbers. Floats hold
    sizes up to 2**24 exactly."""
    joined: tuple[Value, ...] | None = None
    """The tensors of integers that a vector is joined from, of which a run need not tell those that are known."""
    stood_up: tuple[Value, int] | None = None
    """The tensor that this is one of along a new axis, and the place of that axis: several of them are stacked."""
    sources: frozenset[str] = frozenset()
    counted: AnyArray | None = None
    """Names for the elements, which are read at run time at this point: `GraphBuilder.numbers`."""
    meaning: Meaning = PLAIN
    """What the numbers represent at the interface of the model, if not themselves."""

    def __str__(self) -> str:
        if self.is_sequence:
            return "a sequence" if self.items is None else f"a sequence of {len(self.items)}"
        return described(self.info)

    @property
    def is_sequence(self) -> bool:
        return self.items is not None or self.stack is not None

    @property
    def rank(self) -> int:
        """The rank, -1 if unknown."""
        return self.info.ndim

    @property
    def shape(self) -> tuple[Dim, ...] | None:
        """The dims, None if unknown."""
        return self.info.shape

    def known_shape(self) -> tuple[Dim, ...]:
        """The dims of a value that is known to have a rank."""
        if self.info.shape is None:
            raise InternalError("an importer made a value of unknown rank where it needs the dims")
        return self.info.shape

    @property
    def dtype(self) -> Any:
        return self.info.dtype

    def contents(self) -> AnyArray | None:
        """The elements as an object array of ints and PrimExprs, if this is a small known integer tensor."""
        if self.dims is not None:
            return self.dims
        if self.array is not None and self.array.size <= SMALL and self.array.dtype.kind in "iub":
            found: AnyArray = np.array(self.array.tolist(), dtype=object).reshape(self.array.shape)
            return found
        return None

    def whole_numbers(self) -> AnyArray | None:
        """`contents`, also of a tensor of floats whose elements are known whole numbers."""
        if self.whole is not None:
            return self.whole
        if self.array is None or self.array.dtype.kind != "f" or self.array.size > SMALL:
            return self.contents()
        if not np.isfinite(self.array).all() or (self.array != np.rint(self.array)).any():
            return None
        found: AnyArray = np.array([int(e) for e in self.array.reshape(-1)], dtype=object).reshape(self.array.shape)
        return found
