"""TVM's packed functions that draw numbers into a tensor: `tvm.contrib.random.*`, for kernels and scripts that call
them by name. Each thread has a generator of its own; which numbers it gives is NumPy's.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from baton._src.support.diagnostics import fail
from baton._src.values.tensor import NDArray


class _Own(threading.local):
    """The calling thread's generator."""

    def __init__(self) -> None:
        self.generator = np.random.default_rng()


_own = _Own()


def seed(value: int) -> None:
    """Begin again; the same seed gives the same numbers."""
    _own.generator = np.random.default_rng(value)


def randint(low: int, high: int, out: NDArray) -> None:
    """Integers of `low` up to, without it, `high`; of these, those that `out`'s dtype has."""
    kind = out.data.dtype
    limits = np.iinfo(kind) if kind.kind in "iu" else None
    if limits is None or max(low, limits.min) >= min(high, int(limits.max) + 1):
        raise fail("random-range", f"there are no integers in [{low}, {high}) of dtype {out.dtype}", kind=ValueError)
    out.data[...] = _own.generator.integers(max(low, limits.min), min(high, int(limits.max) + 1), out.shape, kind)


def uniform(low: float, high: float, out: NDArray) -> None:
    """Numbers of `low` up to, without it, `high`, each as likely."""
    out.data[...] = _own.generator.uniform(low, high, out.shape)


def normal(loc: float, scale: float, out: NDArray) -> None:
    """Numbers around `loc`, with the standard deviation `scale`."""
    if scale <= 0:
        raise fail("random-range", f"a standard deviation is positive, not {scale}", kind=ValueError)
    out.data[...] = _own.generator.normal(loc, scale, out.shape)


def random_fill(out: NDArray) -> None:
    """Some numbers to measure kernels with: neither zero nor so small that they take longer."""
    kind = out.data.dtype.kind
    numbers = _own.generator.uniform(1.0, 10.0, out.shape)
    out.data[...] = numbers > 5 if kind == "b" else numbers


TABLE: Mapping[str, Callable[..., Any]] = {
    **{f"tvm.contrib.random.{function.__name__}": function for function in (seed, randint, uniform, normal)},
    **{f"tvm.contrib.random.{name}": random_fill for name in ("random_fill", "random_fill_for_measure")},
}
