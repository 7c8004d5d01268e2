"""Sampled calls of operators: what the conformance test over the catalogue runs each operator on.

A dim may be a name: the test then runs the sample twice, with `dims[name]` in its place and with a symbolic variable.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any

import numpy as np
import numpy.typing as npt

from baton._src.ir.attrs import NO_ATTRS, Attrs
from baton._src.support.dataclass import dataclass
from baton._src.values.dtype import DataType
from baton._src.values.tensor import AnyArray

DIMS: Mapping[str, int] = {"b": 2, "n": 3, "m": 4, "k": 5, "h": 6, "w": 7}
"""The usual values of symbolic dims: all different, so that mixing two up shows."""

SampleDim = int | str


@dataclass(frozen=True)
class Arr:
    """A tensor operand. Elements are drawn evenly from [low, high), or given as `values`."""

    shape: tuple[SampleDim, ...]
    dtype: str = "float32"
    low: float = -2.0
    high: float = 2.0
    values: npt.ArrayLike | None = None

    def draw(self, rng: np.random.Generator, dims: Mapping[str, int]) -> AnyArray:
        """Some contents."""
        dtype = DataType(self.dtype)
        if self.values is not None:
            return np.asarray(self.values, dtype.numpy)
        shape = tuple(concrete(d, dims) for d in self.shape)
        if dtype.is_bool:
            return np.asarray(rng.random(shape) < 0.5)
        if dtype.is_int:
            low = max(self.low, 0) if dtype.kind == "uint" else self.low
            return np.asarray(rng.integers(int(low), max(int(self.high), int(low) + 1), shape)).astype(dtype.numpy)
        found: AnyArray = np.asarray(rng.uniform(self.low, self.high, shape)).astype(dtype.numpy)
        return found


@dataclass(frozen=True)
class Shape:
    """A shape operand."""

    dims: tuple[SampleDim, ...]


SampleArg = Arr | tuple[Arr, ...] | Shape | float | str | tuple[float | str, ...] | None
"""An operand: a tensor, a tuple of them, a shape, a number or a dim's name (prim), or a tuple of these (prims)."""


@dataclass(frozen=True)
class Sample:
    """One call."""

    args: tuple[SampleArg, ...]
    attrs: Attrs = NO_ATTRS
    dims: Mapping[str, int] = field(default_factory=lambda: DIMS)
    rtol: float = 1e-5
    atol: float = 1e-6
    in_relay: bool = True
    """False where Relay refuses what Relax takes."""


def concrete(dim: SampleDim, dims: Mapping[str, int]) -> int:
    """The concrete extent of a sample's dim."""
    return dims[dim] if isinstance(dim, str) else dim


def each(*calls: Sequence[SampleArg], attrs: Attrs = NO_ATTRS, **options: Any) -> tuple[Sample, ...]:
    """Samples that share their attributes."""
    return tuple(Sample(tuple(c), attrs, **options) for c in calls)
