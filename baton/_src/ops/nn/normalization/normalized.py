"""Code shared by normalising operators: checks, the (x - mean) / deviation stage in te and NumPy, samples."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from baton._src.ir.op_def import OpCall
from baton._src.ir.tensor_info import Dim
from baton._src.ops import kernel_words as k
from baton._src.ops.broadcasting import same_dtype
from baton._src.ops.dims import DimMath, show_shape
from baton._src.ops.precision import wide
from baton._src.ops.reduce.folds import count_of
from baton._src.ops.reduce.variance import centred_squares, mean_stage
from baton._src.ops.samples import Arr, Sample


def check_weights(call: OpCall[Any], expected: tuple[Dim, ...] | None, rank: int, positions: Sequence[int]) -> None:
    """Weights must have the extents of the axes they scale, and the data's dtype."""
    math = DimMath(call.prover)
    same_dtype(call, [call.tensor(i) for i in (0, *positions)])
    for position in positions:
        v = call.tensor(position)
        name = call.op.inputs[position].name
        if v.ndim not in (-1, rank):
            call.fail(f"{name} must have rank {rank}, got {show_shape(v.shape, v.ndim)}")
        if v.shape is None or expected is None:
            continue
        if any(math.equal(a, b) is False for a, b in zip(v.shape, expected)):
            call.fail(f"{name} has shape {show_shape(v.shape)}, the data needs {show_shape(expected)}")


def scaled(value: Any, gamma: Any, beta: Any, a: Any) -> Any:
    """`value * gamma + beta`, as the attributes ask."""
    value = value * k.wide(gamma) if a.scale else value
    return value + k.wide(beta) if a.center else value


def inverse_deviation(squares: Any, count: Any, epsilon: float) -> Any:
    """1 / sqrt(squares / count + epsilon)"""
    return k.const(1, squares.dtype) / k.sqrt(squares / count + k.const(epsilon, squares.dtype))


def normalised(
    x: k.Tensor, axes: Sequence[int], at: Any, gamma: Any, beta: Any, a: Any, out: Any, name: str
) -> k.Tensor:
    """(x - mean) / deviation over `axes`, scaled by weights read at `at(indices)`."""
    folded = tuple(axes)
    mean = mean_stage(x, folded)
    squares = centred_squares(x, mean, folded, True)
    count = count_of(x, folded, squares.dtype)

    def body(*i: Any) -> Any:
        centre = [k.index(0) if n in folded else i[n] for n in range(x.ndim)]
        value = (k.wide(x(*i)) - mean(*centre)) * inverse_deviation(squares(*centre), count, a.epsilon)
        return k.cast(out.dtype, scaled(value, gamma(*at(i)), beta(*at(i)), a))

    return k.compute(x.shape, body, name, axes="ax")


def np_normalised(x: Any, axes: tuple[int, ...], gamma: Any, beta: Any, a: Any) -> Any:
    """What `normalised` computes, over NumPy: in the dtype that narrow ones are computed in, rounded once."""
    values = wide(x)
    mean = values.mean(axis=axes, keepdims=True)
    variance = values.var(axis=axes, keepdims=True)
    result = (values - mean) / np.sqrt(variance + values.dtype.type(a.epsilon))
    result = result * wide(gamma) if a.scale else result
    return (result + wide(beta) if a.center else result).astype(x.dtype)


def standardised(b: Any, x: Any, axes: Sequence[int], epsilon: Any) -> tuple[Any, Any]:
    """(x - mean) / deviation over `axes`, and the deviation: what gradients of normalisations start from."""
    centred = b.op("subtract", x, b.op("mean", x, axis=tuple(axes), keepdims=True))
    variance = b.op("mean", b.op("multiply", centred, centred), axis=tuple(axes), keepdims=True)
    deviation = b.op("sqrt", b.op("add", variance, epsilon))
    return b.op("divide", centred, deviation), deviation


def through_statistics(b: Any, weighted: Any, normal: Any, deviation: Any, axes: Sequence[int]) -> Any:
    """The gradient of `standardised` towards its data: mean and deviation move with it."""
    first = b.op("mean", weighted, axis=tuple(axes), keepdims=True)
    second = b.op("mean", b.op("multiply", weighted, normal), axis=tuple(axes), keepdims=True)
    inner = b.op("subtract", b.op("subtract", weighted, first), b.op("multiply", normal, second))
    return b.op("divide", inner, deviation)


def norm_sample(shape: Any, weights: Any, a: Any, dtype: str = "float32") -> Sample:
    """A sample of data of a shape with a scale and a shift; bounds of error suit its dtype."""
    tolerance = 3e-2 if "16" in dtype else 1e-4
    vectors = (Arr(weights, dtype), Arr(weights, dtype))
    return Sample((Arr(shape, dtype), *vectors), a, rtol=tolerance, atol=tolerance)
