"""Resize and Upsample.

Plain resizes of the spatial axes are the catalogue's `image.resize*`. Everything else ONNX allows (any axes, scales
that are not the ratio of the sizes or that a run tells, antialiasing, boxes) goes axis by axis. Source: ONNX Resize-19.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import reduce

from baton._src.frontends.graph_builder.value import Value
from baton._src.frontends.onnx.image.resize_axis import AWAY, ROUNDINGS, Axis, Style, resized_along
from baton._src.frontends.onnx.node import Converter, OnnxNode
from baton._src.ir.expr import PrimExpr
from baton._src.ir.tensor_info import Dim
from baton._src.values.dtype import INT64
from baton._src.values.tensor import AnyArray

METHODS = {"nearest": "nearest_neighbor", "linear": "linear", "cubic": "cubic"}
PLAIN = ("half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel")
"""Coordinate modes with the same meaning in the catalogue's operators."""
EXACT = 64
"""Largest denominator for which products of symbolic sizes and fractions stay expressions; other products are computed
at run time.
"""


def resize(node: OnnxNode) -> Value:
    method = str(node.attr("mode", "nearest"))
    if method not in METHODS:
        node.fail(f"mode {method!r} is not one of {', '.join(METHODS)}")
    if node.opset < 11:
        style = Style(method, "asymmetric", AWAY, -0.75, False, False, 0.0)
        return _resized(node, style, _by_scales(node, node[1], None))
    style = Style(
        method,
        str(node.attr("coordinate_transformation_mode", "half_pixel")),
        str(node.attr("nearest_mode", "round_prefer_floor")),
        float(node.attr("cubic_coeff_a", -0.75)),
        bool(node.attr("exclude_outside", 0)),
        bool(node.attr("antialias", 0)),
        float(node.attr("extrapolation_value", 0.0)),
    )
    if style.nearest not in ROUNDINGS:
        node.fail(f"nearest_mode {style.nearest!r} is not one of {', '.join(ROUNDINGS)}")
    box = node.constant(1, "roi") if style.mode == "tf_crop_and_resize" else None
    given = node.optional(2)
    if given is not None and given.shape != (0,):
        return _resized(node, style, _by_scales(node, given, box))
    if node.optional(3) is None:
        node.fail("neither scales nor sizes are given")
    return _resized(node, style, _by_sizes(node, box))


def upsample(node: OnnxNode) -> Value:
    """The predecessor of Resize: nearest takes the floor."""
    method = "nearest" if str(node.attr("mode", "nearest")) == "nearest" else "linear"
    style = Style(method, "asymmetric", "floor", -0.75, False, False, 0.0)
    scales = node.attr("scales")
    given = node[1] if scales is None else node.graph.constant(list(scales), "float32")
    return _resized(node, style, _by_scales(node, given, None))


def _places(node: OnnxNode) -> tuple[int, ...]:
    """The axes that there are scales or sizes for."""
    rank = node.rank()
    axes = node.ints("axes")
    return tuple(range(rank)) if axes is None else tuple(node.place(a, rank) for a in axes)


def _check_count(node: OnnxNode, places: Sequence[int], count: int) -> None:
    if len(places) != count:
        node.fail(f"{count} scales or sizes are given for {len(places)} axes")


def _extents(node: OnnxNode) -> tuple[Dim, ...]:
    shape = node[0].shape
    if shape is None:
        node.fail("the shape must be known", code="onnx-dynamic")
    return shape


def _box_of(box: AnyArray | None, position: int, count: int) -> tuple[float, float]:
    return (0.0, 1.0) if box is None else (float(box[position]), float(box[position + count]))


def _by_scales(node: OnnxNode, given: Value, box: AnyArray | None) -> list[Axis]:
    g, places = node.graph, _places(node)
    given = node.of_length(given, len(places))
    count = given.shape[0] if given.shape else None
    if not isinstance(count, int):
        node.fail_dynamic("the number of scales must be known", given)
    _check_count(node, places, count)
    shape, found = _extents(node), []
    for position, place in enumerate(places):
        room = _box_of(box, position, count)
        scale = g.call("take", given, g.constant(position, INT64), axis=0)
        known = math.nan if scale.array is None else float(scale.array)
        if known <= 0:
            node.fail(f"the scale of axis {place} is {known}, it must be more than 0")
        after = _scaled(node, shape[place], scale, room[1] - room[0])
        found.append(Axis(place, shape[place], after, known, room, g.cast(scale, "float32")))
    return found


def _scaled(node: OnnxNode, size: Dim, scale: Value, room: float) -> Dim:
    """floor(size * scale * room); as onnxruntime multiplies, in float32."""
    g = node.graph
    exact = Fraction(0) if scale.array is None else Fraction(float(scale.array) * room)
    if not isinstance(size, int) and exact > 0 and exact.denominator <= EXACT:
        after: Dim = size * exact.numerator // exact.denominator
        return after
    real = g.call("multiply", g.cast(g.dims([size]), "float32"), g.cast(scale, "float32"))
    return _floor(node, real if room == 1.0 else g.call("multiply", real, g.scalar(room, real)))


def _floor(node: OnnxNode, real: Value) -> Dim:
    """A size that is computed from real numbers, when the program runs if need be."""
    found = node.graph.numbers(node.graph.cast(node.graph.call("floor", real), INT64))
    if found is None:
        node.fail("sizes computed with such scales need known sizes here", code="onnx-dynamic")
    return found[0] if isinstance(found[0], PrimExpr) else int(found[0])


def _ratio(after: int, before: int) -> float:
    """The scale of an axis; of one without elements, which stays as it is, 1."""
    return after / before if before else 1.0


def _by_sizes(node: OnnxNode, box: AnyArray | None) -> list[Axis]:
    places, shape = _places(node), _extents(node)
    sizes = node.sizes(3, "sizes", len(places))
    _check_count(node, places, len(sizes))
    pairs = [(shape[p], s) for p, s in zip(places, sizes, strict=True)]
    for axis, (before, after) in zip(places, pairs, strict=True):
        if isinstance(after, int) and after < 0:
            node.fail(f"axis {axis} is to have the size {after}", code="op-shape")
        if isinstance(before, int) and before == 0 and after != 0:
            node.fail(f"axis {axis} has no elements to make {after} of", code="op-shape")
    policy = str(node.attr("keep_aspect_ratio_policy", "stretch"))
    scales = [_ratio(s, b) if isinstance(s, int) and isinstance(b, int) else math.nan for b, s in pairs]
    boxes = [_box_of(box, i, len(sizes)) for i in range(len(sizes))]
    if policy != "stretch":
        if any(math.isnan(s) for s in scales):
            return _of_one_scale(node, places, pairs, boxes, "minimum" if policy == "not_larger" else "maximum")
        scale = min(scales) if policy == "not_larger" else max(scales)
        scales = [scale] * len(scales)
        pairs = [(b, math.floor(scale * b + 0.5) if isinstance(b, int) else s) for b, s in pairs]
    return [
        Axis(place, before, after, scale, room)
        for place, (before, after), scale, room in zip(places, pairs, scales, boxes, strict=True)
    ]


def _of_one_scale(
    node: OnnxNode, places: Sequence[int], pairs: Sequence[tuple[Dim, Dim]], boxes: Sequence[tuple[float, float]],
    choice: str,
) -> list[Axis]:  # fmt: skip
    """Axes that keep their ratio: the least or the greatest of their scales is that of all, known when a run tells."""
    g = node.graph

    def real(size: Dim) -> Value:
        return g.cast(g.dims([size]), "float32")

    one = g.constant([1], "float32")  # axes without elements stay so
    ratios = [g.call("divide", real(after), g.call("maximum", real(before), one)) for before, after in pairs]
    scale = reduce(lambda a, b: g.call(choice, a, b), ratios)
    half, single = g.scalar(0.5, scale), g.reshape(scale, ())
    sizes = [_floor(node, g.call("add", g.call("multiply", scale, real(before)), half)) for before, _ in pairs]
    return [
        Axis(place, before, after, math.nan, room, single)
        for place, (before, _), after, room in zip(places, pairs, sizes, boxes, strict=True)
    ]


def _resized(node: OnnxNode, style: Style, axes: list[Axis]) -> Value:
    boxed = style.mode == "tf_crop_and_resize"  # whose box may be anywhere
    changed = [a for a in axes if boxed or _is_scaled(node, a)]
    if not changed:
        return node[0]
    if style.method != "nearest" and not node[0].dtype.is_float:
        return _between_integers(node, style, changed)
    return _sampled(node, style, changed)


def _between_integers(node: OnnxNode, style: Style, changed: list[Axis]) -> Value:
    """Along all axes in real numbers, cut to integers at the end; where a cubic goes beyond those, to the last one."""
    g, dtype = node.graph, node[0].dtype
    node.inputs[0] = g.cast(node[0], "float32" if dtype.bits <= 16 else "float64")
    found = _sampled(node, style, changed)
    if style.method == "cubic" and dtype.bits <= 32 and not dtype.is_bool:
        low, high = dtype.int_range
        found = g.call("maximum", g.call("minimum", found, g.scalar(high, found)), g.scalar(low, found))
    return g.cast(found, dtype)


def _sampled(node: OnnxNode, style: Style, changed: list[Axis]) -> Value:
    if _is_plain(node, style, changed):
        return _by_operator(node, style, changed)
    return reduce(lambda x, axis: resized_along(node, style, x, axis), changed, node[0])


def _is_scaled(node: OnnxNode, axis: Axis) -> bool:
    """Whether the axis is resampled, also if it keeps its size with a scale other than 1 (3 by 1.2 is 3)."""
    if not math.isnan(axis.scale) and axis.scale != 1:
        return True
    return not node.graph.prover.equal(axis.after, axis.before)


def _is_plain(node: OnnxNode, style: Style, changed: list[Axis]) -> bool:
    spatial = node.rank() in (3, 4, 5) and all(a.place >= 2 for a in changed)
    rounded = 0.0 if style.method == "nearest" else 1e-7  # by the last bit of a place the nearest element is another
    exact = all(_is_ratio(a, rounded) for a in changed)
    floors = style.nearest == "floor" or (style.nearest == AWAY and all(a.scale >= 1 for a in changed))
    rounding = style.method != "nearest" or floors
    dtype, known = node[0].dtype, all(isinstance(a.before, int) and isinstance(a.after, int) for a in changed)
    numbers = dtype.is_float or (not known and dtype.bits <= 16)  # a float32 holds what has 16 bits
    sizes = known or node.graph.language.name != "relay"  # whose operator takes numbers only
    return spatial and exact and rounding and style.mode in PLAIN and not style.antialias and numbers and sizes


def _is_ratio(axis: Axis, rounded: float) -> bool:
    """Whether the scale equals the ratio of the sizes, as the catalogue's operators assume, but for so much of it that
    float32 rounds off (0.35 is 168 / 480).
    """
    if math.isnan(axis.scale):
        return axis.computed is None
    if isinstance(axis.before, int) and isinstance(axis.after, int):
        return math.isclose(axis.before * axis.scale, axis.after, rel_tol=rounded, abs_tol=1e-6)
    return axis.scale.is_integer()


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


def grid_sample(node: OnnxNode) -> Value:
    """ONNX keeps a point's coordinates last, the catalogue's operator behind the batch."""
    rank, method = node.rank(), str(node.attr("mode", "linear"))
    names = {"linear": "bilinear", "bilinear": "bilinear", "cubic": "bicubic", "bicubic": "bicubic"}
    if rank not in (4, 5):
        node.fail(f"sampling over {rank - 2} spatial axes is not supported")
    points = node[1].shape
    if points is not None and (len(points) != rank or (isinstance(points[-1], int) and points[-1] != rank - 2)):
        help = f"its last axis holds the {rank - 2} coordinates of a point"
        node.fail(f"the grid for {node[0]} has {rank} axes, the last of size {rank - 2}; it is {node[1]}", help=help)
    grid = node.graph.transpose(node[1], (0, rank - 1, *range(1, rank - 1)))
    return node.graph.call(
        "image.grid_sample", node[0], grid, method=names.get(method, method), layout="NCHW" if rank == 4 else "NCDHW",
        padding_mode=str(node.attr("padding_mode", "zeros")), align_corners=bool(node.attr("align_corners", 0)),
    )  # fmt: skip


RESIZE: dict[str, Converter] = {"Resize": resize, "Upsample": upsample, "GridSample": grid_sample}
