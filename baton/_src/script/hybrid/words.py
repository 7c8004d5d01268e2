"""The functions that hybrid kernels may call, implemented on TIR expressions and on NumPy numbers."""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from baton._src.tir import operators as ops
from baton._src.tir.builders import scalar_functions as f

DTYPES = (
    *(f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)),
    *("float16", "float32", "float64"),
)
LOOPS = ("range", "serial", "const_range", "unroll", "vectorize", "parallel", "bind")
BUFFERS = ("output_tensor", "allocate")


def _fold(function: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    def apply(first: Any, *others: Any) -> Any:
        for other in others:
            first = function(first, other)
        return first

    return apply


def _as(dtype: str) -> Callable[[Any], Any]:
    return lambda x: ops.cast(dtype, x)


_SCALAR_FUNCTIONS = (
    *("exp", "log", "log2", "sqrt", "rsqrt", "tanh", "sigmoid", "sin", "cos", "erf", "popcount", "likely"),
    *("round", "floor", "ceil", "trunc", "abs"),
)
IN_TIR: Mapping[str, Callable[..., Any]] = {
    **{name: getattr(f, name) for name in _SCALAR_FUNCTIONS},
    **{dtype: _as(dtype) for dtype in DTYPES},
    "power": f.pow,
    "cast": lambda x, dtype: ops.cast(dtype, x),
    "max": _fold(ops.max),
    "min": _fold(ops.min),
    "ceil_div": lambda a, b: ops.floordiv(a + b - 1, b),
}
"""Functions of expressions."""


class _Threads:
    """`bind(tag, extent)`: on a CPU the threads run one after the other."""

    def __init__(self, tag: str, extent: int) -> None:
        self.extent = extent

    def __iter__(self) -> Iterator[int]:
        return iter(builtins.range(self.extent))


def _zeros(shape: Any, dtype: str = "float32", scope: str = "global") -> Any:
    return np.zeros(shape, dtype)


def _popcount(x: Any) -> int:
    return int(x).bit_count()


_OF_NUMPY = ("exp", "log", "log2", "sqrt", "tanh", "sin", "cos", "power", "floor", "ceil", "trunc")
IN_NUMPY: Mapping[str, Any] = {
    **dict.fromkeys(("serial", "const_range", "unroll", "vectorize", "parallel"), builtins.range),
    **dict.fromkeys(BUFFERS, _zeros),
    **{name: getattr(np, name) for name in _OF_NUMPY},
    **{dtype: getattr(np, dtype) for dtype in DTYPES},
    "bind": _Threads,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "erf": math.erf,
    "popcount": _popcount,
    "likely": lambda condition: condition,
    "cast": lambda x, dtype: getattr(np, dtype)(x),
    "ceil_div": lambda a, b: (a + b - 1) // b,
}
"""The functions when a kernel runs as Python; Python's own built-ins stay."""
