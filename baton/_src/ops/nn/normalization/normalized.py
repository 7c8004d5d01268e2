"""Code shared by normalising operators: checks, the (x - mean) / deviation stage in te and NumPy, samples."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np

from baton._src.ir.attrs import Attrs
from baton._src.ir.expr import GraphExpr
from baton._src.ir.op_def import CallMaker, OpCall
from baton._src.ir.tensor_info import Dim
from baton._src.ops import kernel_words as k
from baton._src.ops.broadcasting import same_dtype
from baton._src.ops.dims import DimMath, show_shape
from baton._src.ops.precision import wide
from baton._src.ops.reduce.folds import count_of
from baton._src.ops.reduce.variance import centred_squares, mean_stage
from baton._src.ops.samples import Arr, Sample, SampleDim
from baton._src.values.tensor import AnyArray


def check_weights(call: OpCall[Attrs], expected: tuple[Dim, ...] | None, rank: int, positions: Sequence[int]) -> None:
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


class Scaled(Protocol):
    """What the attributes of normalisations have."""

    epsilon: float
    center: bool
    scale: bool


def scaled(value: k.Scalar, gamma: k.Scalar, beta: k.Scalar, a: Scaled) -> k.Scalar:
    """`value * gamma + beta`, as the attributes ask."""
    value = value * k.wide(gamma) if a.scale else value
    return value + k.wide(beta) if a.center else value


def inverse_deviation(squares: k.Scalar, count: k.Scalar, epsilon: float) -> k.Scalar:
    """1 / sqrt(squares / count + epsilon)"""
    return k.const(1, squares.dtype) / k.sqrt(squares / count + k.const(epsilon, squares.dtype))


def normalised(
    x: k.Tensor,
    axes: Sequence[int],
    at: Callable[[k.Indices], k.Indices],
    gamma: k.Tensor,
    beta: k.Tensor,
    a: Scaled,
    out: k.Result,
    name: str,
) -> k.Tensor:
    """(x - mean) / deviation over `axes`, scaled by weights read at `at(indices)`."""
    folded = tuple(axes)
    mean = mean_stage(x, folded)
    squares = centred_squares(x, mean, folded, True)
    count = count_of(x, folded, squares.dtype)

    def body(*i: k.Scalar) -> k.Scalar:
        centre = [k.index(0) if n in folded else i[n] for n in range(x.ndim)]
        value = (k.wide(x(*i)) - mean(*centre)) * inverse_deviation(squares(*centre), count, a.epsilon)
        return k.cast(out.dtype, scaled(value, gamma(*at(i)), beta(*at(i)), a))

    return k.compute(x.shape, body, name, axes="ax")


def np_normalised(x: AnyArray, axes: tuple[int, ...], gamma: AnyArray, beta: AnyArray, a: Scaled) -> AnyArray:
    """What `normalised` computes, over NumPy: in the dtype that narrow ones are computed in, rounded once."""
    values = wide(x)
    mean = values.mean(axis=axes, keepdims=True)
    variance = values.var(axis=axes, keepdims=True)
    result = (values - mean) / np.sqrt(variance + values.dtype.type(a.epsilon))
    result = result * wide(gamma) if a.scale else result
    found: AnyArray = (result + wide(beta) if a.center else result).astype(x.dtype)
    return found


def standardised(b: CallMaker, x: GraphExpr, axes: Sequence[int], epsilon: GraphExpr) -> tuple[GraphExpr, GraphExpr]:
    """(x - mean) / deviation over `axes`, and the deviation: what gradients of normalisations start from."""
    centred = b.op("subtract", x, b.op("mean", x, axis=tuple(axes), keepdims=True))
    variance = b.op("mean", b.op("multiply", centred, centred), axis=tuple(axes), keepdims=True)
    deviation = b.op("sqrt", b.op("add", variance, epsilon))
    return b.op("divide", centred, deviation), deviation


def through_statistics(
    b: CallMaker, weighted: GraphExpr, normal: GraphExpr, deviation: GraphExpr, axes: Sequence[int]
) -> GraphExpr:
    """The gradient of `standardised` towards its data: mean and deviation move with it."""
    first = b.op("mean", weighted, axis=tuple(axes), keepdims=True)
    second = b.op("mean", b.op("multiply", weighted, normal), axis=tuple(axes), keepdims=True)
    inner = b.op("subtract", b.op("subtract", weighted, first), b.op("multiply", normal, second))
    return b.op("divide", inner, deviation)


def norm_sample(
    shape: tuple[SampleDim, ...], weights: tuple[SampleDim, ...], a: Attrs, dtype: str = "float32"
) -> Sample:
    """A sample of data of a shape with a scale and a shift; bounds of error suit its dtype."""
    tolerance = 3e-2 if "16" in dtype else 1e-4
    vectors = (Arr(weights, dtype), Arr(weights, dtype))
    return Sample((Arr(shape, dtype), *vectors), a, rtol=tolerance, atol=tolerance)
