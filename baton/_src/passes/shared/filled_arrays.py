"""Tensors that are filled in the background: NumPy releases the GIL while it copies and multiplies.

    with filling() as tensors:
        packed = tensors.fill(shape, dtype, write, weight)       # write(packed.data, weight.data), some time
        ...
    # all tensors are complete

For passes that convert weights: the passes are Python, which uses one core, and copying weights is much of their time.
A tensor may depend on another incomplete one; code that reads its `data` early waits for it or fills it itself. A
nested `with` block joins the outer one: compiling a whole program opens one, so that no pass waits. An exception in the
background is raised when the tensor is read, or at the end of the block.

A fork waits until no tensor is being filled: linear algebra libraries may have threads and locks that do not survive in
the child.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import Any

from baton._src.support.processors import usable_processors
from baton._src.values.aligned import aligned_empty
from baton._src.values.filled_tensor import FilledTensor
from baton._src.values.tensor import NDArray

SMALL = 1 << 14
"""Bytes up to which a tensor is filled at once: using another thread costs as much."""


class Filling:
    """See the module."""

    def __init__(self) -> None:
        self._pool: ThreadPoolExecutor | None = None
        self._tensors: list[weakref.ref[FilledTensor]] = []
        """The pending tensors; those that were garbage-collected are not filled."""

    def fill(self, shape: Sequence[int], dtype: Any, write: Callable[..., Any], *given: Any) -> NDArray:
        """A new tensor that `write(array, *given)` will fill; tensors among `given` are passed as arrays."""

        def work(memory: Any) -> None:
            write(memory, *[g.data if isinstance(g, NDArray) else g for g in given])

        tensor = FilledTensor(aligned_empty(shape, dtype), work)
        if tensor.memory.nbytes < SMALL:
            return NDArray(tensor.data)
        if self._pool is None:
            self._pool = ThreadPoolExecutor(usable_processors())
        found = weakref.ref(tensor)
        self._tensors.append(found)
        self._pool.submit(_complete, found)
        return tensor

    def finish(self) -> None:
        """Wait until all tensors are complete."""
        for found in self._tensors:
            _read(found)
        self._tensors.clear()

    def close(self) -> None:
        """Start no more work, and wait for the work in progress."""
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)


@contextmanager
def filling() -> Iterator[Filling]:
    """See the module."""
    outer = _open.get()
    if outer is not None:
        yield outer
        return
    found = Filling()
    token = _open.set(found)
    try:
        yield found
        found.finish()
    finally:
        _open.reset(token)
        found.close()


_open: ContextVar[Filling | None] = ContextVar("filling", default=None)


def _complete(found: weakref.ref[FilledTensor]) -> None:
    with _gate().entered():
        _read(found)


def _read(found: weakref.ref[FilledTensor]) -> None:
    tensor = found()
    if tensor is not None:
        _ = tensor.data


class _Gate:
    """A gate for background work; forking closes it, and waits until all work has left."""

    def __init__(self) -> None:
        self._reset()
        if hasattr(os, "register_at_fork"):  # not where there is no forking
            os.register_at_fork(before=self._shut, after_in_parent=self._open, after_in_child=self._reset)

    def _reset(self) -> None:
        self._changed = threading.Condition()
        self._inside = 0
        self._shutters = 0

    @contextmanager
    def entered(self) -> Iterator[None]:
        with self._changed:
            self._changed.wait_for(lambda: self._shutters == 0)
            self._inside += 1
        try:
            yield
        finally:
            with self._changed:
                self._inside -= 1
                self._changed.notify_all()

    def _shut(self) -> None:
        with self._changed:
            self._shutters += 1
            self._changed.wait_for(lambda: self._inside == 0)

    def _open(self) -> None:
        with self._changed:
            self._shutters -= 1
            self._changed.notify_all()


@cache
def _gate() -> _Gate:
    return _Gate()
