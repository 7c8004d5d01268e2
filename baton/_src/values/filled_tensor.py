"""`FilledTensor`: a tensor with deferred contents, which the first reader writes.

Shape and dtype are known at once. Readers only ever see complete `data`: the first one writes it, and others wait until
it is done.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from baton._src.values.dtype import DataType
from baton._src.values.tensor import AnyArray, NDArray


class FilledTensor(NDArray):
    """`fill(memory)` writes the contents, once; should it raise, so does reading, and the next reader tries again."""

    __slots__ = ("_fill", "_lock", "memory")

    def __init__(self, memory: AnyArray, fill: Callable[[AnyArray], None]) -> None:
        self.memory = memory
        """The array, which may not be complete yet: for its shape and dtype."""
        self._fill: Callable[[AnyArray], None] | None = fill
        self._lock = threading.Lock()
        super().__init__(memory)

    @property
    def data(self) -> AnyArray:
        """The array, complete."""
        if self._fill is not None:
            with self._lock:
                if self._fill is not None:
                    self._fill(self.memory)
                    self._fill = None  # what it was made of need not be kept
        return self.memory

    @data.setter
    def data(self, array: AnyArray) -> None:
        self.memory = array

    @property
    def shape(self) -> tuple[int, ...]:
        return self.memory.shape

    @property
    def ndim(self) -> int:
        return self.memory.ndim

    @property
    def dtype(self) -> DataType:
        return DataType(self.memory.dtype)


def unfinished(tensor: NDArray) -> AnyArray:
    """The array of `tensor`, which may not be complete yet: for its shape and dtype, without waiting."""
    return tensor.memory if isinstance(tensor, FilledTensor) else tensor.data


def plain(value: object) -> object:
    """A tensor as it is when complete; any other value as it is."""
    return NDArray(value.data, value.device) if isinstance(value, FilledTensor) else value
