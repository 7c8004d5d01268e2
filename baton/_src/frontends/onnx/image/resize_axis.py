"""One axis of a Resize: where each element of the result lies in the source, and what it takes from there.

If the sizes and scale of an axis are known, everything is computed while importing: nearest is a selection of indices,
any other method a product with a matrix of weights, or a sum of the few elements that count. Otherwise positions are
computed at run time, from as many neighbours as the method uses (two, or four for cubic). Source: ONNX Resize-19.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from baton._src.frontends.graph_builder.graph import GraphBuilder
from baton._src.frontends.graph_builder.operands import at_least
from baton._src.frontends.graph_builder.value import Value
from baton._src.frontends.onnx.node import OnnxNode
from baton._src.ir.tensor_info import Dim
from baton._src.ops.image.resampling import EVERY_SIZE, SAMPLES, TIMES, even_steps
from baton._src.support.dataclass import dataclass
from baton._src.values.dtype import INT64, DataType
from baton._src.values.tensor import AnyArray

REAL = DataType("float32")


@dataclass(frozen=True, slots=True)
class Axis:
    """One resized axis: its place, sizes before and after, scale, and its box for tf_crop_and_resize."""

    place: int
    before: Dim
    after: Dim
    scale: float
    """NaN if it is the ratio of the sizes, or known only at run time."""
    box: tuple[float, float]
    computed: Value | None = None
    """The scale, if it is computed at run time."""


@dataclass(frozen=True, slots=True)
class Style:
    """How a resize reads its source; names as in ONNX."""

    method: str
    mode: str
    nearest: str
    cubic: float
    exclude: bool
    antialias: bool
    outside: float


ROUNDINGS: dict[str, tuple[str, float]] = {
    "round_prefer_floor": ("ceil", -0.5),
    "round_prefer_ceil": ("floor", 0.5),
    "floor": ("floor", 0.0),
    "ceil": ("ceil", 0.0),
}
"""nearest_mode: what is done to a coordinate, after adding a number to it."""
LONG = 48
"""Lines of more elements than this for each that counts are not multiplied by a matrix."""
AWAY = "away"
"""The nearest_mode of opset 10, as onnxruntime reads it: floor, but ceil where the axis shrinks."""


def resized_along(node: OnnxNode, style: Style, x: Value, axis: Axis) -> Value:
    """`x` resized along one axis."""
    g, scale = node.graph, _scale(node.graph, axis)
    if style.method == "nearest" and (times := _times(g, style, axis)) is not None:
        return g.call("repeat", x, repeats=times, axis=axis.place)
    source = _coordinates(g, style.mode, axis, scale)
    if style.method == "nearest":
        out = _taken(g, x, axis, _nearest(g, style, axis, source, scale))
    elif source.array is not None and isinstance(axis.before, int):
        out = _by_weights(g, style, x, axis, source.array, axis.before)
    elif style.antialias and style.mode == "tf_crop_and_resize":
        node.fail(f"antialias in a box needs the sizes and the scale of axis {axis.place}", code="onnx-dynamic")
    elif style.antialias:
        out = _by_kernel(g, style, x, axis, source, scale)
    else:
        out = _by_neighbours(g, style, x, axis, source)
    if style.mode != "tf_crop_and_resize":
        return out
    reaches = g.call("less_equal", source, _with(g, "subtract", _real(g, axis.before), 1.0))
    inside = g.call("logical_and", _with(g, "greater_equal", source, 0.0), reaches)
    return g.call("where", _column(g, inside, axis, out.rank), out, g.scalar(style.outside, out))


def _nearest(g: GraphBuilder, style: Style, axis: Axis, source: Value, scale: Value) -> Value:
    return _within(g, _rounded(g, style.nearest, source, scale), axis)


def _times(g: GraphBuilder, style: Style, axis: Axis) -> int | None:
    """How often each element is repeated along an axis whose size a run tells; None if it is none of the factors for
    which floats are exact, or if elements are not repeated as often as one another.
    """
    if isinstance(axis.before, int) or style.mode not in EVERY_SIZE:
        return None
    of_sizes = math.isnan(axis.scale) and axis.computed is None
    scales = TIMES if of_sizes else (axis.scale,)
    times = next((n for n in TIMES if n in scales and g.prover.equal(axis.after, axis.before * n)), None)
    if times is None:
        return None
    for size in SAMPLES:
        sample, scale = replace(axis, before=size, after=size * times), g.constant(times, REAL)
        places = _nearest(g, style, sample, _coordinates(g, style.mode, sample, scale), scale).array
        steps = None if places is None else even_steps(places, size)
        if steps is None or not steps.repeats_all or steps.times != times:
            return None
    return times


def _taken(g: GraphBuilder, x: Value, axis: Axis, places: Value) -> Value:
    """The elements at `places` along the axis."""
    if places.array is not None and isinstance(axis.before, int):
        count, steps = len(places.array), even_steps(places.array, axis.before)
        if steps is not None and steps.first == steps.ahead == 0 and count == axis.before * steps.times:
            return g.call("repeat", x, repeats=steps.times, axis=axis.place)
        if steps is not None and steps.times == 1:
            ends = (steps.first,), (steps.first + (count - 1) * steps.step + 1,)
            return g.call("strided_slice", x, axes=(axis.place,), begin=ends[0], end=ends[1], strides=(steps.step,))
    return g.call("take", x, places, axis=axis.place)


def _with(g: GraphBuilder, op: str, value: Value, number: float) -> Value:
    """The operator of a value and a number."""
    return g.call(op, value, g.scalar(number, value))


def _real(g: GraphBuilder, size: Dim) -> Value:
    return g.cast(g.dims(size), REAL)


def _scale(g: GraphBuilder, axis: Axis) -> Value:
    if not math.isnan(axis.scale):
        return g.constant(axis.scale, REAL)
    if axis.computed is not None:
        return axis.computed
    return g.call("divide", _real(g, axis.after), _real(g, axis.before))


def _column(g: GraphBuilder, along: Value, axis: Axis, rank: int) -> Value:
    """A vector along the axis, shaped to meet a tensor of this rank."""
    return g.reshape(along, (axis.after, *[1] * (rank - axis.place - 1)))


def _coordinates(g: GraphBuilder, mode: str, axis: Axis, scale: Value) -> Value:
    """[after]: where each element of the result lies in the source."""
    if isinstance(axis.after, int):
        at = g.constant(np.arange(axis.after), REAL)
    else:
        at = g.cast(g.call("arange", start=0, stop=axis.after, step=1, dtype=INT64), REAL)
    before, after = _real(g, axis.before), _real(g, axis.after)
    last = _with(g, "subtract", before, 1.0)
    length = g.call("multiply", scale, before)
    match mode:
        case "align_corners":
            # The corners are those of the tensor there is: its whole length, as onnxruntime and PyTorch have it; the
            # cases of the onnx package take size * scale before it is rounded.
            steps = _with(g, "maximum", _with(g, "subtract", after, 1.0), 1.0)
            return g.call("divide", g.call("multiply", at, last), steps)
        case "asymmetric":
            return g.call("divide", at, scale)
        case "tf_crop_and_resize":
            return _in_box(g, axis, at, last, after)
        case "half_pixel_symmetric":
            gone = g.call("subtract", g.scalar(1.0, after), g.call("divide", after, length))
            offset = _with(g, "multiply", g.call("multiply", before, gone), 0.5)
            return g.call("add", offset, _half_pixel(g, at, scale))
        case "pytorch_half_pixel":
            many = _with(g, "greater", after, 1.0)
            return g.call("where", many, _half_pixel(g, at, scale), g.scalar(0.0, at))
        case "tf_half_pixel_for_nn":  # of opset 11; onnxruntime takes it in later ones, too
            return g.call("divide", _with(g, "add", at, 0.5), scale)
        case "half_pixel":
            return _half_pixel(g, at, scale)
        case _:
            raise ValueError(f"no coordinate_transformation_mode is called {mode!r}")


def _half_pixel(g: GraphBuilder, at: Value, scale: Value) -> Value:
    return _with(g, "subtract", g.call("divide", _with(g, "add", at, 0.5), scale), 0.5)


def _in_box(g: GraphBuilder, axis: Axis, at: Value, last: Value, after: Value) -> Value:
    """Evenly from one end of the box to the other; a single element lies in its middle."""
    low, high = axis.box
    single = _with(g, "equal", after, 1.0)
    start = g.call("where", single, g.scalar(0.5 * (low + high), last), g.scalar(low, last))
    steps = g.call("where", single, g.scalar(1.0, after), _with(g, "subtract", after, 1.0))
    along = g.call("divide", _with(g, "multiply", g.call("multiply", at, last), high - low), steps)
    return g.call("add", g.call("multiply", start, last), along)


def _rounded(g: GraphBuilder, nearest: str, source: Value, scale: Value) -> Value:
    if nearest == AWAY:
        shrinks = _with(g, "less", scale, 1.0)
        return g.call("where", shrinks, g.call("ceil", source), g.call("floor", source))
    op, shift = ROUNDINGS[nearest]
    return g.call(op, _with(g, "add", source, shift))


def _within(g: GraphBuilder, places: Value, axis: Axis) -> Value:
    """Whole coordinates as indices of elements that are there."""
    last = _with(g, "subtract", _real(g, axis.before), 1.0)
    return g.cast(g.call("maximum", g.call("minimum", places, last), g.scalar(0.0, places)), INT64)


def _by_weights(g: GraphBuilder, style: Style, x: Value, axis: Axis, source: AnyArray, before: int) -> Value:
    """What the elements of the result take from the source, all known: a product with a matrix, or on long lines, most
    of whose elements count nothing, a sum over those that do.
    """
    scale = 1.0 if math.isnan(axis.scale) else min(axis.scale, 1.0)
    weights = np.array([_weights(style, c, scale, before) for c in source]).reshape(-1, before)
    places, shares = _band(weights)
    if axis.place < x.rank - 1 or before > LONG * places.shape[1]:
        return _by_band(g, x, axis, places, shares)
    return _product(g, x, axis, g.constant(weights.T, x.dtype))


def _product(g: GraphBuilder, x: Value, axis: Axis, weights: Value) -> Value:
    """[before, after] weights applied to the axis."""
    order = [p for p in range(x.rank) if p != axis.place] + [axis.place]
    product = g.call("matmul", g.transpose(x, order), weights)
    return g.transpose(product, [order.index(p) for p in range(x.rank)])


def _by_kernel(g: GraphBuilder, style: Style, x: Value, axis: Axis, source: Value, scale: Value) -> Value:
    """Antialiasing by a scale that only a run tells: as `_by_weights`, with a matrix computed from all distances of
    points and elements. Those beyond an end, as far as kernels reach, are the last one there.
    """
    reach = (1 if style.method == "linear" else 2) * (axis.before // at_least(axis.after, 1) + 2)
    length = axis.before + 2 * reach
    taps = g.call("arange", start=0, stop=length, step=1, dtype=INT64)
    taps = g.cast(g.call("subtract", taps, g.dims(reach)), REAL)
    apart = g.call("abs", g.call("subtract", g.reshape(taps, (length, 1)), source))
    apart = g.call("multiply", apart, _with(g, "minimum", scale, 1.0))
    weights = _with(g, "maximum", g.call("subtract", g.scalar(1.0, apart), apart), 0.0)
    if style.method != "linear":
        near, far = (_polynomial(g, apart, p) for p in _keys_polynomials(style.cubic))
        far = g.call("where", _with(g, "less", apart, 2.0), far, g.scalar(0.0, far))
        weights = g.call("where", _with(g, "less_equal", apart, 1.0), near, far)
    if style.exclude:
        there = g.call("logical_and", _with(g, "greater_equal", taps, 0.0), g.call("less", taps, _real(g, axis.before)))
        weights = g.call("where", g.reshape(there, (length, 1)), weights, g.scalar(0.0, weights))
    weights = g.call("divide", weights, g.call("sum", weights, axis=(0,), keepdims=True))
    wide = g.call("take", x, _within(g, taps, axis), axis=axis.place)
    return _product(g, wide, axis, g.cast(weights, x.dtype))


def _keys_polynomials(alpha: float) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Keys' kernel at distances up to 1, and up to 2: coefficients from the constant on."""
    return (1, 0, -(alpha + 3), alpha + 2), (-4 * alpha, 8 * alpha, -5 * alpha, alpha)


def _band(weights: AnyArray) -> tuple[AnyArray, AnyArray]:
    """[after, width]: the neighbouring elements of the source that count for each point, and how much."""
    before = weights.shape[1]
    counts = weights != 0
    first, end = counts.argmax(axis=1), before - counts[:, ::-1].argmax(axis=1)
    width = int((end - first).max(initial=1))
    places = np.minimum(first, before - width)[:, None] + np.arange(width)
    return places, np.take_along_axis(weights, places, axis=1)


def _by_band(g: GraphBuilder, x: Value, axis: Axis, places: AnyArray, shares: AnyArray) -> Value:
    """The weighted sum, in float32 at least: products of 16 bits would be rounded one by one."""
    wide = g.cast(x, REAL) if x.dtype.bits < REAL.bits else x
    total = None
    for place, share in zip(places.T, shares.T, strict=True):
        taken = g.call("take", wide, g.constant(place, INT64), axis=axis.place)
        term = g.call("multiply", taken, _column(g, g.constant(share, wide.dtype), axis, x.rank))
        total = term if total is None else g.call("add", total, term)
    assert total is not None
    return g.cast(total, x.dtype)


def _weights(style: Style, centre: float, scale: float, before: int) -> AnyArray:
    """How much each of the `before` elements counts for the point `centre`. Antialiasing widens the kernel by the
    scale when the image shrinks."""
    stretch = scale if style.antialias else 1.0
    radius = (1.0 if style.method == "linear" else 2.0) / stretch
    taps = np.arange(math.floor(centre - radius), math.ceil(centre + radius) + 1)
    kernel = _tent if style.method == "linear" else _keys(style.cubic)
    weights = kernel(np.abs(taps - centre) * stretch)
    if style.exclude:
        weights = np.where((taps >= 0) & (taps < before), weights, 0.0)
    if style.exclude or style.antialias:
        weights = weights / weights.sum()
    found = np.zeros(before)
    np.add.at(found, np.clip(taps, 0, before - 1), weights)
    return found


def _tent(distance: AnyArray) -> AnyArray:
    return np.clip(1.0 - distance, 0.0, 1.0)


def _keys(alpha: float) -> Callable[[AnyArray], AnyArray]:
    """Keys' cubic kernel."""

    def kernel(d: AnyArray) -> AnyArray:
        near = ((alpha + 2) * d - (alpha + 3)) * d * d + 1
        far = ((alpha * d - 5 * alpha) * d + 8 * alpha) * d - 4 * alpha
        return np.where(d <= 1, near, np.where(d < 2, far, 0.0))

    return kernel


def _by_neighbours(g: GraphBuilder, style: Style, x: Value, axis: Axis, source: Value) -> Value:
    """The sum of the elements around each coordinate, times how much each counts."""
    low = g.call("floor", source)
    part = g.call("subtract", source, low)
    shares = _linear_shares(g, part) if style.method == "linear" else _cubic_shares(g, style.cubic, part)
    places = [_with(g, "add", low, float(k)) for k in shares]
    weights = list(shares.values())
    if style.exclude:
        weights = _of_those_there(g, weights, places, axis)
    total = None
    for place, weight in zip(places, weights, strict=True):
        taken = g.call("take", x, _within(g, place, axis), axis=axis.place)
        term = g.call("multiply", taken, _column(g, g.cast(weight, x.dtype), axis, x.rank))
        total = term if total is None else g.call("add", total, term)
    assert total is not None
    return total


def _linear_shares(g: GraphBuilder, part: Value) -> dict[int, Value]:
    """Offset from the element before the coordinate -> its weight."""
    return {0: g.call("subtract", g.scalar(1.0, part), part), 1: part}


def _cubic_shares(g: GraphBuilder, alpha: float, part: Value) -> dict[int, Value]:
    """Keys' kernel at the distances 1 + part, part, 1 - part and 2 - part, as polynomials of `part`."""
    powers = ((0, alpha, -2 * alpha, alpha), (1, 0, -(alpha + 3), alpha + 2),
              (0, -alpha, 2 * alpha + 3, -(alpha + 2)), (0, 0, alpha, -alpha))  # fmt: skip
    return {offset: _polynomial(g, part, p) for offset, p in zip((-1, 0, 1, 2), powers, strict=True)}


def _polynomial(g: GraphBuilder, x: Value, coefficients: tuple[float, ...]) -> Value:
    total = g.scalar(coefficients[-1], x)
    for number in coefficients[-2::-1]:
        total = _with(g, "add", g.call("multiply", total, x), number)
    return total


def _of_those_there(g: GraphBuilder, weights: list[Value], places: list[Value], axis: Axis) -> list[Value]:
    """Weights of elements outside the image count nothing; the others' sum is 1."""
    before = _real(g, axis.before)
    kept = []
    for weight, place in zip(weights, places, strict=True):
        there = g.call("logical_and", _with(g, "greater_equal", place, 0.0), g.call("less", place, before))
        kept.append(g.call("where", there, weight, g.scalar(0.0, weight)))
    total = kept[0]
    for weight in kept[1:]:
        total = g.call("add", total, weight)
    return [g.call("divide", weight, total) for weight in kept]


__all__ = ["AWAY", "ROUNDINGS", "Axis", "Style", "resized_along"]
