"""vision.multibox_prior and vision.multibox_transform_loc: the anchors of a single-shot detector, and boxes from them.

Corners are x1, y1, x2, y2 as parts of the image. multibox_prior puts a box around the centre of every pixel for each
size (with the first ratio being square), then for the first size with each further ratio. multibox_transform_loc moves
anchors by predicted offsets and gives rows of (class - 1, score, corners) for those whose best class is not the
background and scores at least `threshold`, first ones first; rows beyond are -1. Source: facts relay-language §6
level 5.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from baton._src.ir.attrs import Attrs, attr, attrs, set_attr
from baton._src.ir.op_def import Definition, Fusion, Input, NotApplicable, OpCall, OpDef
from baton._src.ir.tensor_info import Info, TensorInfo, TupleInfo
from baton._src.ops import kernel_words as k
from baton._src.ops.broadcasting import same_dtype
from baton._src.ops.dims import DimMath, show_shape
from baton._src.ops.loop_nests import both, let, load, loop, loops, store, when
from baton._src.ops.operand_checks import check_floats, check_ranks
from baton._src.ops.samples import Arr, Sample
from baton._src.te.computation import externs
from baton._src.tir.buffer import Buffer
from baton._src.tir.stmt import Stmt
from baton._src.values.dtype import INT32
from baton._src.values.tensor import AnyArray

_NO_SLOPE = NotApplicable("Relay does not offer it")
_INT = "int32"


@attrs
class PriorAttrs(Attrs):
    """Sizes, ratios, and where centres lie."""

    sizes: tuple[float, ...] = attr((1.0,), "heights of boxes")
    ratios: tuple[float, ...] = attr((1.0,), "width by height")
    steps: tuple[float, ...] = attr((-1.0, -1.0), "distance of centres, rows first; negative: 1 / extent")
    offsets: tuple[float, ...] = attr((0.5, 0.5), "place of a centre in its pixel, rows first")
    clip: bool = attr(False, "corners are pulled onto the image")

    def __post_init__(self) -> None:
        for name in ("sizes", "ratios", "steps", "offsets"):
            given = getattr(self, name)
            numbers = (given,) if isinstance(given, (int, float)) else given
            set_attr(self, name, tuple(float(getattr(v, "value", v)) for v in numbers))


def infer_prior(call: OpCall[PriorAttrs]) -> Info:
    """(1, boxes, 4)"""
    x, a = call.tensor(0), call.attrs
    check_ranks(call, 4)
    check_floats(call, 0)
    if any(r <= 0 for r in a.ratios):
        call.fail(f"ratios must be positive, got {a.ratios}", code="op-attribute")
    if not a.sizes or not a.ratios or len(a.steps) != 2 or len(a.offsets) != 2:
        call.fail("sizes and ratios must not be empty; steps and offsets are pairs", code="op-attribute")
    if x.shape is None:
        return TensorInfo(None, x.dtype, 3, x.vdevice)
    math_ = DimMath(call.prover)
    pixels = math_.multiply(x.shape[2], x.shape[3])
    return TensorInfo((1, math_.multiply(pixels, len(_forms(a))), 4), x.dtype, vdevice=x.vdevice)


def _forms(a: PriorAttrs) -> list[tuple[float, float]]:
    """Half the width (of a square image) and half the height of each box around one pixel."""
    roots = [math.sqrt(r) for r in a.ratios[1:]]
    return [(s / 2, s / 2) for s in a.sizes] + [(a.sizes[0] * r / 2, a.sizes[0] / r / 2) for r in roots]


def compute_prior(inputs: Sequence[k.Tensor], a: PriorAttrs, out: k.Result) -> k.Tensor:
    """Corner by corner."""
    (x,) = inputs
    real = "float32"
    height, width = (k.cast(real, k.index(d)) for d in x.shape[2:4])
    columns, forms = k.divisor(x.shape[3]), _forms(a)

    def chosen(which: k.Scalar, values: k.Indices) -> k.Scalar:
        found = values[-1]
        for n in reversed(range(len(values) - 1)):
            found = k.select(k.tir.EQ(which, k.index(n)), values[n], found)
        return found

    def body(_: k.Scalar, n: k.Scalar, corner: k.Scalar) -> k.Scalar:
        pixel, form = n // len(forms), n % len(forms)
        steps = [
            k.const(s, real) if s > 0 else k.const(1.0, real) / e for s, e in zip(a.steps, (height, width))
        ]  # rows first
        row, column = (k.cast(real, p) for p in (pixel // columns, pixel % columns))
        centre_y = (row + k.const(a.offsets[0], real)) * steps[0]
        centre_x = (column + k.const(a.offsets[1], real)) * steps[1]
        half_x = chosen(form, [k.const(w, real) for w, _ in forms]) * height / width
        half_y = chosen(form, [k.const(h, real) for _, h in forms])
        value = chosen(corner, [centre_x - half_x, centre_y - half_y, centre_x + half_x, centre_y + half_y])
        if a.clip:
            value = k.maximum(k.minimum(value, k.const(1.0, real)), k.const(0.0, real))
        return k.cast(out.dtype, value)

    return k.compute(out.shape, body, "multibox_prior")


def reference_prior(inputs: Sequence[AnyArray], a: PriorAttrs) -> AnyArray:
    """Box by box."""
    height, width = inputs[0].shape[2:]
    steps = [s if s > 0 else 1 / max(e, 1) for s, e in zip(a.steps, (height, width))]
    found = []
    for i, j in np.ndindex(height, width):
        y, x = (i + a.offsets[0]) * steps[0], (j + a.offsets[1]) * steps[1]
        for w, h in _forms(a):
            found.append((x - w * height / width, y - h, x + w * height / width, y + h))
    boxes = np.asarray(found, "float32").reshape(1, -1, 4)
    return (np.clip(boxes, 0, 1) if a.clip else boxes).astype(inputs[0].dtype)


@attrs
class TransformAttrs(Attrs):
    """What is kept, and the scale of the offsets."""

    clip: bool = attr(True, "corners are pulled onto the image")
    threshold: float = attr(0.01, "least score of a box")
    variances: tuple[float, ...] = attr((0.1, 0.1, 0.2, 0.2), "scales of the offsets of x, y, width and height")
    keep_background: bool = attr(False, "boxes of the background count, too")

    def __post_init__(self) -> None:
        set_attr(self, "variances", tuple(float(getattr(v, "value", v)) for v in self.variances))


def _first_class(a: TransformAttrs) -> int:
    """0 is the background's."""
    return 0 if a.keep_background else 1


def infer_transform(call: OpCall[TransformAttrs]) -> Info:
    """(batch, anchors, 6) rows, and how many count."""
    x = call.tensor(0)
    check_ranks(call, 3, 2, 3)
    check_floats(call, 0, 1, 2)
    same_dtype(call, [call.tensor(position) for position in range(3)])
    if len(call.attrs.variances) != 4:
        call.fail(f"variances must be four numbers, got {call.attrs.variances}", code="op-attribute")
    if x.shape is None:
        return TupleInfo((TensorInfo(None, x.dtype, 3), TensorInfo(None, INT32, 1)))
    batch, classes, anchors = x.shape
    math_ = DimMath(call.prover)
    if math_.at_most(_first_class(call.attrs) + 1, classes) is False:
        call.fail(f"cls_prob {show_shape(x.shape)} has no class beside the background")
    for position, dims in ((1, (batch, math_.multiply(anchors, 4))), (2, (anchors, 4))):
        shape, name = call.tensor(position).shape, call.op.inputs[position].name
        if shape is not None and any(math_.equal(given, dim) is False for given, dim in zip(shape[-2:], dims)):
            wanted = f"each image has {show_shape(dims)}"
            call.fail(f"{name} {show_shape(shape)} does not fit cls_prob {show_shape(x.shape)}", help=wanted)
    anchor = call.tensor(2).shape
    if anchor is not None and math_.at_most(1, anchor[0]) is False:
        call.fail(f"anchor {show_shape(anchor)} must have shape {show_shape((1, anchors, 4))}")
    return TupleInfo((TensorInfo((x.shape[0], x.shape[2], 6), x.dtype), TensorInfo(x.shape[:1], INT32)))


def _best(x: k.Tensor, a: TransformAttrs) -> k.Tensor:
    """The best class of every anchor (the first of equals, NaN last), from 1 on unless the background counts."""
    first = _first_class(a)

    def score(b: k.Scalar, c: k.Scalar, n: k.Scalar) -> k.Scalar:
        found = x(b, c + first, n)
        return k.select(k.tir.NE(found, found), k.lowest(x.dtype), found)

    other = k.reduce_axis(k.index(x.shape[1]) - first, "c")
    rival = k.reduce_axis(k.index(x.shape[1]) - first, "d")

    def beaten(b: k.Scalar, c: k.Scalar, n: k.Scalar) -> k.Scalar:
        mine, its = score(b, c, n), score(b, rival.var, n)
        better = k.tir.Or(its > mine, k.tir.And(k.tir.EQ(its, mine), rival.var < c))
        return k.reduce_max(k.select(better, k.const(1, _INT), k.const(0, _INT)), [rival])

    lost = k.compute((x.shape[0], k.index(x.shape[1]) - first, x.shape[2]), beaten, "beaten")

    def winner(b: k.Scalar, n: k.Scalar) -> k.Scalar:
        won = k.tir.EQ(lost(b, other.var, n), k.const(0, _INT))
        return k.reduce_max(k.select(won, k.cast(_INT, other.var + first), k.const(0, _INT)), [other])

    return k.compute((x.shape[0], x.shape[2]), winner, "best_class")


def _corners(offsets: Buffer, anchors: Buffer, b: k.Scalar, n: k.Scalar, a: TransformAttrs) -> list[k.Scalar]:
    """Anchor `n` moved and stretched by its offsets in image `b`: left, top, right, bottom."""
    dtype = offsets.dtype
    low_x, low_y, high_x, high_y = (load(anchors, k.index(0), n, k.index(c)) for c in range(4))
    dx, dy, dw, dh = (load(offsets, b, n * 4 + c) * k.const(v, dtype) for c, v in enumerate(a.variances))
    found = []
    for low, high, move, grow in ((low_x, high_x, dx, dw), (low_y, high_y, dy, dh)):
        extent = high - low
        centre = move * extent + (low + high) * k.const(0.5, dtype)
        half = k.exp(grow) * extent * k.const(0.5, dtype)
        found.append((centre - half, centre + half))
    made = [found[0][0], found[1][0], found[0][1], found[1][1]]
    return [k.maximum(k.minimum(v, k.const(1, dtype)), k.const(0, dtype)) for v in made] if a.clip else made


def compute_transform(inputs: Sequence[k.Tensor], a: TransformAttrs, out: k.Result) -> tuple[k.Tensor, ...]:
    """The best classes, then the rows that count, one after the other."""
    x, offsets, anchors = inputs
    best = _best(x, a)
    dtype = x.dtype

    def number(value: float) -> k.Scalar:
        return k.const(value, dtype)

    def body(ins: list[Buffer], outs: list[Buffer]) -> Stmt:
        scores, off, box, kinds = ins
        rows, count = outs

        def keep(b: k.Scalar, n: k.Scalar, kind: k.Scalar) -> Stmt:
            score = load(scores, b, k.cast("int64", kind), n)
            wanted = [score >= number(a.threshold)]
            if not a.keep_background:
                wanted.append(kind > k.const(0, _INT))
            values = [k.cast(dtype, kind - k.const(1, _INT)), score, *_corners(off, box, b, n, a)]

            def put(at: k.Scalar) -> Stmt:
                cells = [store(rows, (b, at, k.index(c)), v) for c, v in enumerate(values)]
                return both(*cells, store(count, (b,), k.cast(_INT, at) + k.const(1, _INT)))

            return when(k.all_of(wanted), let("at", k.cast("int64", load(count, b)), put))

        def batch(b: k.Scalar) -> Stmt:
            blank = loops((x.shape[2], 6), lambda *i: store(rows, (b, *i), number(-1)))
            every = loop(x.shape[2], lambda n: let("kind", load(kinds, b, n), lambda kind: keep(b, n, kind)), "n")
            return both(store(count, (b,), k.const(0, _INT)), blank, every)

        return loops(x.shape[:1], batch, "b")

    shapes = [k.dims((x.shape[0], x.shape[2], 6)), k.dims(x.shape[:1])]
    return externs(shapes, [x, offsets, anchors, best], body, "multibox", [dtype, _INT])


def reference_transform(inputs: Sequence[AnyArray], a: TransformAttrs) -> tuple[AnyArray, ...]:
    """Anchor by anchor."""
    x, offsets, anchors = inputs
    first = _first_class(a)
    rows = np.full((x.shape[0], x.shape[2], 6), -1, x.dtype)
    count = np.zeros(x.shape[:1], _INT)
    variances = np.asarray(a.variances, x.dtype)
    for b, n in np.ndindex(x.shape[0], x.shape[2]):
        kind = first + int(np.argmax(np.where(np.isnan(x[b, first:, n]), -np.inf, x[b, first:, n])))
        if not x[b, kind, n] >= x.dtype.type(a.threshold):
            continue
        dx, dy, dw, dh = offsets[b, 4 * n : 4 * n + 4] * variances
        x0, y0, x1, y1 = anchors[0, n]
        cx, cy = dx * (x1 - x0) + (x0 + x1) / 2, dy * (y1 - y0) + (y0 + y1) / 2
        w, h = np.exp(dw) * (x1 - x0) / 2, np.exp(dh) * (y1 - y0) / 2
        box = np.asarray([cx - w, cy - h, cx + w, cy + h])
        rows[b, count[b]] = [kind - 1, x[b, kind, n], *(np.clip(box, 0, 1) if a.clip else box)]
        count[b] += 1
    return rows, count


MULTIBOX_PRIOR = OpDef(
    "vision.multibox_prior",
    PriorAttrs,
    inputs=(Input("data", "its height and width are those of the grid"),),
    infer=infer_prior,
    compute=compute_prior,
    reference=reference_prior,
    gradient=_NO_SLOPE,
    fusion=Fusion.INJECTIVE,
    in_relax=False,
    samples=lambda: (
        Sample((Arr((1, 3, 4, 5)),), PriorAttrs(), rtol=1e-4, atol=1e-6),
        Sample((Arr((1, 3, "h", 3)),), PriorAttrs((0.5, 0.25), (1, 2, 0.5), clip=True), rtol=1e-4, atol=1e-6),
        Sample((Arr((1, 1, 2, 3)),), PriorAttrs(steps=(0.4, 0.3), offsets=(0.0, 1.0)), rtol=1e-4, atol=1e-6),
    ),
    summary="Anchor boxes around the pixels of a grid.",
)
MULTIBOX_TRANSFORM_LOC = OpDef(
    "vision.multibox_transform_loc",
    TransformAttrs,
    inputs=(
        Input("cls_prob", "(batch, classes, anchors)"),
        Input("loc_pred", "(batch, anchors * 4)"),
        Input("anchor", "(1, anchors, 4)"),
    ),
    outputs=2,
    infer=infer_transform,
    compute=compute_transform,
    reference=reference_transform,
    gradient=_NO_SLOPE,
    fusion=Fusion.OPAQUE,
    in_relax=False,
    samples=lambda: (
        Sample((Arr((2, 4, 5)), Arr((2, 20)), Arr((1, 5, 4), "float32", 0, 1)), TransformAttrs(), rtol=1e-4, atol=1e-5),
        Sample(
            (Arr(("n", 3, 4)), Arr(("n", 16)), Arr((1, 4, 4), "float32", 0, 1)),
            TransformAttrs(clip=False, threshold=0.3, keep_background=True),
            rtol=1e-4,
            atol=1e-5,
        ),
    ),
    summary="Decode boxes from anchors, predicted offsets and class scores.",
)

ANCHORS: tuple[Definition, ...] = (MULTIBOX_PRIOR, MULTIBOX_TRANSFORM_LOC)
