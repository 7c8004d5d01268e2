"""Arrays that are written in the background: NumPy lets other threads run while it copies and multiplies.

    with FilledArrays() as arrays:
        packed = arrays.fill(shape, dtype, np.copyto, weight.transpose(...))      # np.copyto(packed, weight...)
        ...                                                                       # nobody reads `packed` yet
    # all arrays are complete

For passes that put weights into another form: the passes are Python, which uses one core, and copying weights is much
of their time. An exception in the background is raised at the end of the `with` block.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType
from typing import Any

import numpy as np

from baton._src.values.tensor import AnyArray

SMALL = 1 << 14
"""Bytes that are written at once: asking another thread costs as much."""


class FilledArrays:
    """See the module."""

    def __init__(self) -> None:
        self._pool: ThreadPoolExecutor | None = None
        self._work: list[Future[Any]] = []

    def __enter__(self) -> FilledArrays:
        return self

    def fill(self, shape: Sequence[int], dtype: Any, write: Callable[..., Any], *given: Any) -> AnyArray:
        """A new array that `write(array, *given)` is going to fill."""
        whole: AnyArray = np.empty(shape, dtype)
        if whole.nbytes < SMALL:
            write(whole, *given)
            return whole
        if self._pool is None:
            self._pool = ThreadPoolExecutor(os.cpu_count() or 1)
        self._work.append(self._pool.submit(write, whole, *given))
        return whole

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._pool is not None:
            self._pool.shutdown()
        if error is None:
            for work in self._work:
                work.result()
