"""Resize and Upsample.

Plain resizes of the spatial axes are the catalogue's `image.resize*`. Everything else ONNX allows (any axes, scales
that are not the ratio of the sizes, antialiasing, boxes) is worked out while importing: along each axis a nearest
resize is a selection of indices and any other a product with a matrix of weights. Source: ONNX Resize-19.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from baton._src.frontends.graph_builder.value import Value
from baton._src.frontends.onnx.node import Converter, OnnxNode
from baton._src.ir.tensor_info import Dim
from baton._src.values.tensor import AnyArray

METHODS = {"nearest": "nearest_neighbor", "linear": "linear", "cubic": "cubic"}
PLAIN = ("half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel")
"""The coordinate modes that the catalogue's operators mean the same by."""


@dataclass(frozen=True, slots=True)
class Axis:
    """One resized axis: its place, sizes before and after, scale, and its box for tf_crop_and_resize."""

    place: int
    before: Dim
    after: Dim
    scale: float
    box: tuple[float, float]


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


def resize(node: OnnxNode) -> Value:
    method = str(node.attr("mode", "nearest"))
    if method not in METHODS:
        node.fail(f"mode {method!r} is none of {', '.join(METHODS)}")
    if node.opset < 11:
        style = Style(method, "asymmetric", "floor", -0.75, False, False, 0.0)
        return _resized(node, style, _by_scales(node, _scales(node, 1), None))
    style = Style(
        method,
        str(node.attr("coordinate_transformation_mode", "half_pixel")),
        str(node.attr("nearest_mode", "round_prefer_floor")),
        float(node.attr("cubic_coeff_a", -0.75)),
        bool(node.attr("exclude_outside", 0)),
        bool(node.attr("antialias", 0)),
        float(node.attr("extrapolation_value", 0.0)),
    )
    box = node.constant(1, "roi") if style.mode == "tf_crop_and_resize" else None
    given = node.optional(2)
    if given is not None and given.shape != (0,):
        return _resized(node, style, _by_scales(node, _scales(node, 2), box))
    return _resized(node, style, _by_sizes(node, box))


def upsample(node: OnnxNode) -> Value:
    """The predecessor of Resize: nearest takes the floor."""
    method = "nearest" if str(node.attr("mode", "nearest")) == "nearest" else "linear"
    style = Style(method, "asymmetric", "floor", -0.75, False, False, 0.0)
    scales = node.attr("scales")
    if scales is None:
        scales = _scales(node, 1)
    return _resized(node, style, _by_scales(node, tuple(float(s) for s in scales), None))


def _scales(node: OnnxNode, index: int) -> tuple[float, ...]:
    array = node.constant(index, "scales")
    if array is None:
        node.fail("neither scales nor sizes are given")
    return tuple(float(s) for s in array.reshape(-1))


def _places(node: OnnxNode, count: int) -> tuple[int, ...]:
    rank = node.rank()
    axes = node.ints("axes")
    places = tuple(range(rank)) if axes is None else tuple(a % rank for a in axes)
    if len(places) != count:
        node.fail(f"{count} scales or sizes are given for {len(places)} axes")
    return places


def _extents(node: OnnxNode) -> tuple[Dim, ...]:
    shape = node[0].shape
    if shape is None:
        node.fail("the shape must be known", code="onnx-dynamic")
    return shape


def _box_of(box: AnyArray | None, position: int, count: int) -> tuple[float, float]:
    return (0.0, 1.0) if box is None else (float(box[position]), float(box[position + count]))


def _by_scales(node: OnnxNode, scales: tuple[float, ...], box: AnyArray | None) -> list[Axis]:
    places, shape = _places(node, len(scales)), _extents(node)
    found = []
    for position, (place, scale) in enumerate(zip(places, scales, strict=True)):
        before = shape[place]
        if not isinstance(before, int) and scale != int(scale):
            node.fail(f"axis {place} of unknown size needs a whole scale, not {scale}", code="onnx-dynamic")
        room = _box_of(box, position, len(scales))
        size = before * scale * (room[1] - room[0]) if isinstance(before, int) else 0.0
        after: Dim = math.floor(size) if isinstance(before, int) else before * int(scale)
        found.append(Axis(place, before, after, scale, room))
    return found


def _by_sizes(node: OnnxNode, box: AnyArray | None) -> list[Axis]:
    sizes, shape = node.sizes(3, "sizes"), _extents(node)
    places = _places(node, len(sizes))
    pairs = [(shape[p], s) for p, s in zip(places, sizes, strict=True)]
    policy = str(node.attr("keep_aspect_ratio_policy", "stretch"))
    scales = [s / b if isinstance(s, int) and isinstance(b, int) else math.nan for b, s in pairs]
    if policy != "stretch":
        if any(math.isnan(s) for s in scales):
            node.fail("keep_aspect_ratio_policy needs known sizes", code="onnx-dynamic")
        scale = min(scales) if policy == "not_larger" else max(scales)
        scales = [scale] * len(scales)
        pairs = [(b, math.floor(scale * b + 0.5) if isinstance(b, int) else s) for b, s in pairs]
    return [
        Axis(place, before, after, scale, _box_of(box, i, len(sizes)))
        for i, (place, (before, after), scale) in enumerate(zip(places, pairs, scales, strict=True))
    ]


def _resized(node: OnnxNode, style: Style, axes: list[Axis]) -> Value:
    changed = [a for a in axes if a.after is not a.before and (a.after != a.before or style.mode.startswith("tf_crop"))]
    if not changed:
        return node[0]
    if _is_plain(node, style, changed):
        return _by_operator(node, style, changed)
    x = node[0]
    for axis in changed:
        if not isinstance(axis.before, int) or not isinstance(axis.after, int):
            node.fail(f"the size of axis {axis.place} must be known for this resize", code="onnx-dynamic")
        x = _along(node, style, x, axis, axis.before, axis.after)
    return x


def _is_plain(node: OnnxNode, style: Style, changed: list[Axis]) -> bool:
    exact = all(
        math.isnan(a.scale)
        or not isinstance(a.before, int)
        or (isinstance(a.after, int) and abs(a.before * a.scale - a.after) < 1e-6)
        for a in changed
    )
    spatial = node.rank() in (3, 4, 5) and all(a.place >= 2 for a in changed)
    rounding = style.method != "nearest" or style.nearest == "floor"
    dtype, known = node[0].dtype, all(isinstance(a.before, int) and isinstance(a.after, int) for a in changed)
    numbers = dtype.is_float or (not known and dtype.bits <= 16)  # a float32 holds what has 16 bits
    return spatial and exact and rounding and style.mode in PLAIN and not style.antialias and numbers


def _by_operator(node: OnnxNode, style: Style, changed: list[Axis]) -> Value:
    shape, rank = _extents(node), node.rank()
    sizes = {a.place: a.after for a in changed}
    target = tuple(sizes.get(p, shape[p]) for p in range(2, rank))
    x = node[0]
    real = x if x.dtype.is_float else node.graph.cast(x, "float32")
    resized = node.graph.call(
        f"image.resize{rank - 2}d", real, target, method=METHODS[style.method],
        coordinate_transformation_mode=style.mode, cubic_alpha=style.cubic, cubic_exclude=int(style.exclude),
        rounding_method="floor" if style.method == "nearest" else "",
    )  # fmt: skip
    return node.graph.cast(resized, x.dtype)


def _along(node: OnnxNode, style: Style, x: Value, axis: Axis, before: int, after: int) -> Value:
    """`x` resized along one axis of known size."""
    g, source = node.graph, _coordinates(style.mode, axis, before, after)
    if style.method == "nearest":
        indices = np.clip(_ROUNDINGS[style.nearest](source), 0, before - 1).astype(np.int64)
        out = g.call("take", x, g.constant(indices), axis=axis.place)
    else:
        weights = np.stack([_weights(style, c, min(axis.scale, 1.0), before) for c in source])
        rank = len(x.shape or ())
        order = [p for p in range(rank) if p != axis.place] + [axis.place]
        kind = x.dtype if x.dtype.is_float else "float32"
        moved = g.transpose(g.cast(x, kind), order)
        product = g.call("matmul", moved, g.constant(weights.T, kind))
        out = g.cast(g.transpose(product, [order.index(p) for p in range(rank)]), x.dtype)
    if style.mode != "tf_crop_and_resize":
        return out
    inside = (source >= 0) & (source <= before - 1)
    if inside.all():
        return out
    mask = inside.reshape([-1 if p == axis.place else 1 for p in range(len(out.shape or ()))])
    return g.call("where", g.constant(mask), out, g.scalar(style.outside, out))


_ROUNDINGS: dict[str, Callable[[AnyArray], AnyArray]] = {
    "round_prefer_floor": lambda c: np.ceil(c - 0.5),
    "round_prefer_ceil": lambda c: np.floor(c + 0.5),
    "floor": np.floor,
    "ceil": np.ceil,
}


def _coordinates(mode: str, axis: Axis, before: int, after: int) -> AnyArray:
    """Where each element of the result lies in the source."""
    at = np.arange(after, dtype=np.float64)
    scale = axis.scale if not math.isnan(axis.scale) else after / before
    length = scale * before
    match mode:
        case "align_corners":
            return at * (before - 1) / (length - 1) if length > 1 else at * 0.0
        case "asymmetric":
            return at / scale
        case "tf_crop_and_resize":
            low, high = axis.box
            if after == 1:
                return np.full(1, 0.5 * (low + high) * (before - 1))
            return low * (before - 1) + at * (high - low) * (before - 1) / (after - 1)
        case "half_pixel_symmetric":
            return before / 2 * (1 - after / length) + (at + 0.5) / scale - 0.5
        case "pytorch_half_pixel" if after == 1:
            return at * 0.0
        case _:
            return (at + 0.5) / scale - 0.5


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


def grid_sample(node: OnnxNode) -> Value:
    """ONNX keeps a point's coordinates last, the catalogue's operator behind the batch."""
    rank, method = node.rank(), str(node.attr("mode", "linear"))
    names = {"linear": "bilinear", "bilinear": "bilinear", "cubic": "bicubic", "bicubic": "bicubic"}
    if rank not in (4, 5):
        node.fail(f"sampling over {rank - 2} spatial axes is not supported")
    grid = node.graph.transpose(node[1], (0, rank - 1, *range(1, rank - 1)))
    return node.graph.call(
        "image.grid_sample", node[0], grid, method=names.get(method, method), layout="NCHW" if rank == 4 else "NCDHW",
        padding_mode=str(node.attr("padding_mode", "zeros")), align_corners=bool(node.attr("align_corners", 0)),
    )  # fmt: skip


RESIZE: dict[str, Converter] = {"Resize": resize, "Upsample": upsample, "GridSample": grid_sample}
