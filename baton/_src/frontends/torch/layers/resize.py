"""Upsampling. Where the scale is that of the sizes, the catalogue's resizes; else products with matrices of weights."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import numpy as np

from baton._src.frontends.graph_builder.value import Value
from baton._src.frontends.torch.node import AtenNode, Converter
from baton._src.frontends.torch.sym_floats import floored, multiplied
from baton._src.ir.tensor_info import Dim
from baton._src.values.dtype import FLOAT32
from baton._src.values.tensor import AnyArray

Scales = Sequence[float | None] | None


def by_scales(method: str) -> Converter:
    """The overloads `vec`: the sizes of the result, or the factors, are given."""

    def convert(node: AtenNode, x: Value, size: Sequence[Dim] | None, *rest: object) -> Value:
        align, scales = rest if len(rest) == 2 else (False, rest[0])
        assert scales is None or isinstance(scales, tuple)
        own = node.sizes(x)[2:]
        if size is None:
            size = [_scaled(d, s) for d, s in zip(own, scales or (), strict=True)]
        return resized(node, x, method, size, bool(align), scales)

    return convert


def by_sizes(method: str) -> Converter:
    """The plain overloads: sizes, and the factors they came from."""

    def convert(node: AtenNode, x: Value, size: Sequence[Dim], *rest: Any) -> Value:
        align, *scales = rest if len(rest) > len(size) else (False, *rest)
        return resized(node, x, method, size, bool(align), tuple(scales))

    return convert


def _scaled(size: Dim, scale: float) -> Dim:
    """The size of a result, rounded down; of an open one where that is exact."""
    if isinstance(size, int):
        return math.floor(size * scale)
    found: Dim = size * int(scale) if scale == int(scale) else floored(multiplied(size, scale))
    return found


def resized(node: AtenNode, x: Value, method: str, size: Sequence[Dim], align: bool, scales: Scales) -> Value:
    """`method` is nearest, exact (nearest by the centres of pixels), linear or cubic."""
    own = node.sizes(x)[2:]
    factors = list(scales or ()) or [None] * len(size)
    blended = method in ("linear", "cubic") and not x.dtype.is_float
    if not blended and all(_is_ratio(a, b, s) for a, b, s in zip(own, size, factors, strict=True)):
        return _plain(node, x, method, size, align)
    axes = list(enumerate(zip(own, size, factors, strict=True), 2))
    for axis, (before, after, scale) in reversed(axes):
        if not blended and not (isinstance(before, int) and isinstance(after, int)):
            x = _read_along(node, x, axis, method, after, align, scale)
            continue
        sizes = node.known(before, "the size of the axis"), node.known(after, "the size of the result")
        matrix = weights_of(method, *sizes, align, scale)
        apply = _blended_along if blended else _along
        x = apply(node, x, axis, matrix)
    return x


def _read_along(
    node: AtenNode, x: Value, axis: int, method: str, after: Dim, align: bool, scale: float | None
) -> Value:
    """What `weights_of` says of sizes that only a run tells: elements are read and weighed along an axis."""
    g, size = node.graph, _as_float(node, node.sizes(x)[axis])
    compute = _on_floats(node)
    source = _sources(node, node.sizes(x)[axis], after, method, align, scale)
    low = compute("floor", source)
    rest = compute("subtract", source, low)

    def read(offset: int) -> Value:
        index = compute("maximum", compute("add", low, offset), 0.0)
        index = compute("minimum", index, compute("subtract", size, 1.0))
        return g.call("take", x, g.cast(index, "int64"), axis=axis)

    if method in ("nearest", "exact"):
        return read(0)
    weights = {0: compute("subtract", 1.0, rest), 1: rest} if method == "linear" else _cubic_weights(compute, rest)
    parts = []
    for offset, weight in weights.items():
        shaped = g.reshape(g.cast(weight, x.dtype), (after, *(1,) * (x.rank - 1 - axis)))
        parts.append(g.call("multiply", read(offset), shaped))
    return reduce(lambda a, b: g.call("add", a, b), parts)


def _sources(node: AtenNode, before: Dim, after: Dim, method: str, align: bool, scale: float | None) -> Value:
    """Where every element of the result lies in the source, in float64."""
    compute = _on_floats(node)
    sizes = [_as_float(node, size) for size in (before, after)]
    place = node.graph.cast(node.graph.call("arange", start=0, stop=after, step=1, dtype="int64"), "float64")
    if align:
        below, above = (compute("subtract", size, 1.0) for size in sizes)
        return compute("multiply", place, compute("divide", below, compute("maximum", above, 1.0)))
    step = 1 / scale if scale else compute("divide", *sizes)
    if method == "nearest":
        return compute("multiply", place, step)
    source = compute("multiply", compute("add", place, 0.5), step)
    source = source if method == "exact" else compute("subtract", source, 0.5)
    return compute("maximum", source, 0.0) if method == "linear" else source


def _as_float(node: AtenNode, size: Dim) -> Value:
    return node.graph.cast(node.graph.dims(size), "float64")


def _on_floats(node: AtenNode) -> Callable[..., Value]:
    """Operators on tensors and numbers of float64."""
    g = node.graph

    def compute(op: str, *operands: Value | float) -> Value:
        return g.call(op, *(o if isinstance(o, Value) else g.constant(o, "float64") for o in operands))

    return compute


def _cubic_weights(compute: Callable[..., Value], rest: Value) -> dict[int, Value]:
    """Keys' kernel at the distances of four neighbours, with PyTorch's coefficient."""
    a = -0.75

    def polynomial(x: Value, *factors: float) -> Value:
        found = compute("multiply", x, factors[0])
        for factor in factors[1:-1]:
            found = compute("multiply", compute("add", found, factor), x)
        return compute("add", found, factors[-1])

    far, near = (-5 * a, 8 * a, -4 * a), (-(a + 3), 0.0, 1.0)
    left = compute("subtract", 1.0, rest)
    return {
        -1: polynomial(compute("add", rest, 1.0), a, *far),
        0: polynomial(rest, a + 2, *near),
        1: polynomial(left, a + 2, *near),
        2: polynomial(compute("add", left, 1.0), a, *far),
    }


def _is_ratio(before: Dim, after: Dim, scale: float | None) -> bool:
    """Whether a factor says no more than the sizes do: of open sizes, only a whole one is certain to."""
    if scale is None:
        return True
    return before * scale == after if isinstance(before, int) and isinstance(after, int) else scale == int(scale)


def _plain(node: AtenNode, x: Value, method: str, size: Sequence[Dim], align: bool) -> Value:
    names = {"nearest": "nearest_neighbor", "exact": "nearest_neighbor"}
    mode = "asymmetric" if method == "nearest" else "align_corners" if align else "half_pixel"
    rounding = {"nearest": "floor", "exact": "round_prefer_ceil"}.get(method, "")
    return node.graph.call(
        f"image.resize{len(size)}d", x, tuple(size), method=names.get(method, method),
        coordinate_transformation_mode=mode, rounding_method=rounding, cubic_alpha=-0.75,
    )  # fmt: skip


def _blended_along(node: AtenNode, x: Value, axis: int, matrix: AnyArray) -> Value:
    """`_along` of bytes as PyTorch does it: weights are whole numbers of at most 15 bits, and every axis is rounded."""
    g, bounds, bits = node.graph, np.iinfo(x.dtype.numpy), 0
    while bits < 22 and int(0.5 + matrix.max(initial=0) * (1 << (bits + 1))) < 1 << 15:
        bits += 1
    whole = np.trunc(matrix * (1 << bits) + np.copysign(0.5, matrix))
    found = _along(node, g.cast(x, FLOAT32), axis, whole)  # which are exact: their sums have less than 24 bits
    shifted = g.call("multiply", g.call("add", found, g.scalar((1 << bits) / 2, found)), g.scalar(2.0**-bits, found))
    found = g.call("floor", shifted)
    return g.cast(g.call("clip", found, min=float(bounds.min), max=float(bounds.max)), x.dtype)


def _along(node: AtenNode, x: Value, axis: int, matrix: AnyArray) -> Value:
    """Every line along an axis times a matrix [after, before]."""
    g, last = node.graph, x.rank - 1
    order = [a for a in range(x.rank) if a != axis] + [axis]
    found = g.call("matmul", g.transpose(x, order), g.constant(matrix.T, x.dtype))
    back = [order.index(a) for a in range(last + 1)]
    return g.transpose(found, back)


def weights_of(method: str, before: int, after: int, align: bool, scale: float | None) -> AnyArray:
    """[after, before]: what every element of the result takes from each of the source."""
    places = np.arange(after, dtype=np.float64)
    step = 1 / scale if scale else before / after
    if align:
        source = places * ((before - 1) / (after - 1) if after > 1 else 0.0)
    elif method == "nearest":
        source = places * step
    else:
        source = (places + 0.5) * step - (0 if method == "exact" else 0.5)
    found = np.zeros((after, before))
    rows = np.arange(after)
    if method in ("nearest", "exact"):
        found[rows, np.clip(np.floor(source).astype(int), 0, before - 1)] = 1
        return found
    source = np.maximum(source, 0) if method == "linear" else source
    low = np.floor(source).astype(int)
    rest = source - low
    taps = {0: 1 - rest, 1: rest} if method == "linear" else {k: _cubic(np.abs(rest - k)) for k in (-1, 0, 1, 2)}
    for offset, weight in taps.items():
        np.add.at(found, (rows, np.clip(low + offset, 0, before - 1)), weight)
    return found


def _cubic(distance: AnyArray, a: float = -0.75) -> AnyArray:
    """Keys' kernel, of which PyTorch takes a = -0.75."""
    near = ((a + 2) * distance - (a + 3)) * distance**2 + 1
    far = ((distance - 5) * distance + 8) * distance * a - 4 * a
    return np.where(distance <= 1, near, np.where(distance < 2, far, 0.0))


def grid_sample(node: AtenNode, x: Value, grid: Value, mode: int, padding: int, align: bool) -> Value:
    """PyTorch keeps a point's coordinates last, the catalogue's operator behind the batch.

    Narrow floats are widened: places between pixels have more digits than they hold.
    """
    g, rank = node.graph, x.rank
    image, points = node.widened(x), node.widened(grid)
    found = g.call(
        "image.grid_sample", image, g.transpose(points, (0, rank - 1, *range(1, rank - 1))),
        method=("bilinear", "nearest", "bicubic")[mode], layout="NCHW" if rank == 4 else "NCDHW",
        padding_mode=("zeros", "border", "reflection")[padding], align_corners=bool(align),
    )  # fmt: skip
    return g.cast(found, x.dtype)


def smoothed(method: str) -> Converter:
    """Resizing with `antialias=True`: where images shrink, as many pixels count as one of the result covers."""

    def convert(node: AtenNode, x: Value, size: Sequence[Dim] | None, align: bool, *scales: Any) -> Value:
        if not x.dtype.is_float:
            node.fail("antialias=True is not supported for integers", help="convert the image to float32 before")
        factors = scales[0] if len(scales) == 1 and isinstance(scales[0], tuple) else scales
        own = node.sizes(x)[2:]
        if size is None:
            size = [_scaled(d, s) for d, s in zip(own, factors, strict=True)]
        given = factors if len(factors) == len(size) else [None] * len(size)
        axes = list(enumerate(zip(own, size, given, strict=True), 2))
        for axis, (before, after, scale) in reversed(axes):
            sizes = node.known(before, "the size of the axis"), node.known(after, "the size of the result")
            x = _along(node, x, axis, smooth_weights_of(method, *sizes, align, scale))
        return x

    return convert


def smooth_weights_of(method: str, before: int, after: int, align: bool, scale: float | None) -> AnyArray:
    """[after, before]: a kernel as wide as a pixel of the result, at least one, cut at the border and made to sum to 1.

    Here the cubic one has a = -0.5.
    """
    step = 1 / scale if scale else before / after
    if align:
        step = (before - 1) / (after - 1) if after > 1 else 0.0
    reach, wide = (1 if method == "linear" else 2), max(step, 1.0)
    found = np.zeros((after, before))
    for row in range(after):
        centre = step * (row + 0.5)
        low, high = max(int(centre - reach * wide + 0.5), 0), min(int(centre + reach * wide + 0.5), before)
        distance = np.abs((np.arange(low, high) - centre + 0.5) / wide)
        kernel = np.maximum(1 - distance, 0) if method == "linear" else _cubic(distance, -0.5)
        found[row, low:high] = kernel / kernel.sum()
    return found


_METHODS = {
    "upsample_nearest1d": "nearest", "upsample_nearest2d": "nearest", "upsample_nearest3d": "nearest",
    "_upsample_nearest_exact1d": "exact", "_upsample_nearest_exact2d": "exact", "_upsample_nearest_exact3d": "exact",
    "upsample_linear1d": "linear", "upsample_bilinear2d": "linear", "upsample_trilinear3d": "linear",
    "upsample_bicubic2d": "cubic",
}  # fmt: skip

RESIZE: dict[str, Converter] = {
    **{f"aten.{name}.vec": by_scales(method) for name, method in _METHODS.items()},
    **{f"aten.{name}.default": by_sizes(method) for name, method in _METHODS.items()},
    **{f"aten._upsample_bilinear2d_aa.{kind}": smoothed("linear") for kind in ("default", "vec")},
    **{f"aten._upsample_bicubic2d_aa.{kind}": smoothed("cubic") for kind in ("default", "vec")},
    **{f"aten.{name}.default": grid_sample for name in ("grid_sampler", "grid_sampler_2d", "grid_sampler_3d")},
}
