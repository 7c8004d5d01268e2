"""vision.proposal: boxes that may hold objects, from the scores and offsets of anchors (Faster R-CNN's first half).

    cls_prob (n, 2 A, h, w), bbox_pred (n, 4 A, h, w), im_info (n, 3): height, width, scale -> (n * post, 5)

A anchors stand around every cell, one for each ratio and scale. Offsets move and stretch them; what leaves the image is
clipped; boxes of a side under `rpn_min_size * scale`, and those of cells beyond the image, get the score -1. The best
`rpn_pre_nms_top_n` are looked at by falling score; one that overlaps a better one by more than `threshold` falls out.
The first `rpn_post_nms_top_n` that stay are the rows (image, x1, y1, x2, y2); where there are fewer, they come again
from the first on. Sides count both ends: x2 - x1 + 1.
Source: Ren et al., Faster R-CNN; facts relay-language §6 level 5.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from baton._src.ir.attrs import Attrs, attr, attrs, set_attr
from baton._src.ir.op_def import Fusion, Input, NotApplicable, OpCall, OpDef
from baton._src.ir.tensor_info import Info, TensorInfo
from baton._src.ops import kernel_words as k
from baton._src.ops.broadcasting import same_dtype
from baton._src.ops.dims import DimMath, show_shape
from baton._src.ops.index.merge_sort import order
from baton._src.ops.loop_nests import both, let, load, loop, store, when
from baton._src.ops.operand_checks import check_floats, check_ranks
from baton._src.ops.samples import Arr, Sample
from baton._src.support.dataclass import dataclass
from baton._src.te.computation import externs
from baton._src.tir.buffer import Buffer
from baton._src.tir.stmt import Stmt
from baton._src.values.tensor import AnyArray

_REAL = "float32"
_ZERO, _ONE = k.index(0), k.index(1)


@attrs
class ProposalAttrs(Attrs):
    """Anchors, limits."""

    scales: tuple[float, ...] = attr((4.0, 8.0, 16.0, 32.0), "scales of the anchors")
    ratios: tuple[float, ...] = attr((0.5, 1.0, 2.0), "height over width of the anchors")
    feature_stride: int = attr(16, "pixels of the image a cell")
    threshold: float = attr(0.7, "overlap above which the worse of two boxes falls out")
    rpn_pre_nms_top_n: int = attr(6000, "how many of the best are looked at; 0 or less: all")
    rpn_post_nms_top_n: int = attr(300, "how many rows an image has")
    rpn_min_size: int = attr(16, "least side of a box, before the scale of the image")
    iou_loss: bool = attr(False, "offsets are those of the corners, not of the centre and the logarithms of sides")

    def __post_init__(self) -> None:
        for name in ("scales", "ratios"):
            given = getattr(self, name)
            set_attr(self, name, tuple(float(v) for v in (given if isinstance(given, (tuple, list)) else (given,))))

    @property
    def anchors(self) -> list[tuple[float, float, float, float]]:
        """The corners of the anchors of the first cell: for every ratio, every scale."""
        found = []
        for ratio in self.ratios:
            for scale in self.scales:
                middle = 0.5 * (self.feature_stride - 1)
                size = math.floor(self.feature_stride**2 / ratio)
                width = math.floor(math.sqrt(size) + 0.5)
                height = math.floor(width * ratio + 0.5)
                x, y = 0.5 * (width * scale - 1), 0.5 * (height * scale - 1)
                found.append((middle - x, middle - y, middle + x, middle + y))
        return found


def infer(call: OpCall[ProposalAttrs]) -> Info:
    """`rpn_post_nms_top_n` rows an image."""
    scores, offsets, sizes = (call.tensor(n) for n in range(3))
    dtype = same_dtype(call, (scores, offsets, sizes))
    check_floats(call, 0, 1, 2)
    check_ranks(call, 4, 4, 2)
    count, extents = len(call.attrs.anchors), DimMath(call.prover)
    for t, factor in ((scores, 2), (offsets, 4)):
        if t.shape is not None and extents.equal(t.shape[1], factor * count) is False:
            call.fail(f"{count} anchors need {factor * count} channels, got {show_shape(t.shape)}")
    if sizes.shape is not None and extents.equal(sizes.shape[1], 3) is False:
        call.fail(f"im_info must have 3 columns, got {show_shape(sizes.shape)}")
    for t, axes, name in ((offsets, (0, 2, 3), "bbox_pred"), (sizes, (0,), "im_info")):
        if scores.shape is None or t.shape is None:
            continue
        if any(extents.equal(scores.shape[axis], t.shape[axis]) is False for axis in axes):
            call.fail(f"{name} {show_shape(t.shape)} does not fit cls_prob {show_shape(scores.shape)}")
    if scores.shape is None:
        return TensorInfo(None, dtype, 2)
    if any(extents.at_most(1, dim) is False for dim in scores.shape[2:]):
        call.fail(f"cls_prob {show_shape(scores.shape)} has no cells to propose boxes in")
    return TensorInfo((extents.multiply(scores.shape[0], call.attrs.rpn_post_nms_top_n), 5), dtype)


def _real(value: k.Scalar) -> k.Scalar:
    return k.cast(_REAL, value)


def _number(value: float) -> k.Scalar:
    return k.const(value, _REAL)


@dataclass(frozen=True)
class _Candidates:
    """The boxes of every cell and anchor: `b` is the image, `p` counts its boxes, cell by cell, anchor by anchor."""

    scores: k.Tensor
    offsets: k.Tensor
    sizes: k.Tensor
    attrs: ProposalAttrs

    @property
    def per_cell(self) -> k.Scalar:
        """How many anchors stand around a cell."""
        return k.index(len(self.attrs.anchors))

    def cell(self, p: k.Scalar) -> tuple[k.Scalar, k.Scalar]:
        """Row and column of the cell of a box."""
        columns = k.divisor(self.scores.shape[3])
        return p // self.per_cell // columns, p // self.per_cell % columns

    def anchor(self, which: k.Scalar, side: int) -> k.Scalar:
        """A corner of an anchor of the first cell; which anchor is known only when running."""
        first, *others = self.attrs.anchors
        value = _number(first[side])
        for n, corners in enumerate(others, 1):
            value = k.select(k.tir.EQ(which, k.index(n)), _number(corners[side]), value)
        return value

    def moved(self, b: k.Scalar, p: k.Scalar, side: int) -> k.Scalar:
        """The anchor's corner moved and stretched by its offsets, and clipped to the image."""
        axis, which = side % 2, p % self.per_cell
        i, j = self.cell(p)
        cell = _real(i if axis else j) * _number(self.attrs.feature_stride)
        low, high = (self.anchor(which, axis + end) + cell for end in (0, 2))
        moves = [_real(self.offsets(b, which * k.index(4) + k.index(n), i, j)) for n in (axis, axis + 2)]
        if self.attrs.iou_loss:
            value = (low, high)[side // 2] + moves[side // 2]
        else:
            extent = high - low + _number(1)
            middle = moves[0] * extent + low + _number(0.5) * (extent - _number(1))
            half = _number(0.5) * (k.exp(moves[1]) * extent - _number(1))
            value = middle + half if side >= 2 else middle - half
        last = _real(self.sizes(b, k.index(0 if axis else 1))) - _number(1)
        return k.maximum(k.minimum(value, last), _number(0))

    def corner(self, b: k.Scalar, p: k.Scalar, side: k.Scalar) -> k.Scalar:
        """`moved`, for a side that is known only when running."""
        value = self.moved(b, p, 0)
        for n in (1, 2, 3):
            value = k.select(k.tir.EQ(side, k.index(n)), self.moved(b, p, n), value)
        return value

    def is_small(self, clipped: k.Tensor, b: k.Scalar, p: k.Scalar) -> k.Scalar:
        """Whether a side is under the least one."""
        least = _real(self.sizes(b, k.index(2))) * _number(self.attrs.rpn_min_size)
        sides = (clipped(b, p, k.index(n + 2)) - clipped(b, p, k.index(n)) + _number(1) for n in (0, 1))
        return k.tir.Or(*(side < least for side in sides))

    def score(self, clipped: k.Tensor, b: k.Scalar, p: k.Scalar) -> k.Scalar:
        """-1 for what is too small or beyond the image."""
        i, j = self.cell(p)
        stride = _number(self.attrs.feature_stride)
        beyond = k.tir.Or(
            _real(i) >= k.floor(_real(self.sizes(b, _ZERO)) / stride),
            _real(j) >= k.floor(_real(self.sizes(b, _ONE)) / stride),
        )
        given = _real(self.scores(b, self.per_cell + p % self.per_cell, i, j))
        return k.select(k.tir.Or(beyond, self.is_small(clipped, b, p)), _number(-1), given)

    def widened(self, clipped: k.Tensor, b: k.Scalar, p: k.Scalar, side: k.Scalar) -> k.Scalar:
        """What is too small is widened, as TVM's kernel does: it may still be a row where nothing better is there."""
        half = _real(self.sizes(b, k.index(2))) * _number(0.5 * self.attrs.rpn_min_size)
        step = k.select(side < k.index(2), _number(0) - half, half)
        return clipped(b, p, side) + k.select(self.is_small(clipped, b, p), step, _number(0))


def _boxes(scores: k.Tensor, offsets: k.Tensor, sizes: k.Tensor, a: ProposalAttrs) -> tuple[k.Tensor, k.Tensor]:
    """Scores (n, boxes) and corners (n, boxes, 4)."""
    boxes = _Candidates(scores, offsets, sizes, a)
    images, _, rows, columns = (k.index(d) for d in scores.shape)
    total, sides = rows * columns * boxes.per_cell, k.index(4)
    clipped = k.compute((images, total, sides), boxes.corner, "clipped")
    values = k.compute((images, total), lambda b, p: boxes.score(clipped, b, p), "scores")
    corners = k.compute((images, total, sides), lambda b, p, side: boxes.widened(clipped, b, p, side), "corners")
    return values, corners


def _overlap(boxes: Buffer, b: k.Scalar, p: k.Scalar, q: k.Scalar) -> k.Scalar:
    """Intersection over union."""
    one, none = k.const(1, _REAL), k.const(0, _REAL)
    areas, common = [one, one], one
    for axis in (0, 1):
        ends = [[load(boxes, b, box, k.index(axis + 2 * end)) for end in (0, 1)] for box in (p, q)]
        areas = [area * (high - low + one) for area, (low, high) in zip(areas, ends)]
        shared = k.minimum(ends[0][1], ends[1][1]) - k.maximum(ends[0][0], ends[1][0]) + one
        common = common * k.maximum(shared, none)
    union = areas[0] + areas[1] - common
    return k.select(union > none, common / union, none)


def compute(inputs: Sequence[k.Tensor], a: ProposalAttrs, out: k.Result) -> k.Tensor:
    """Boxes; a sort; one walk down the sorted ones; rows again from the first where they do not suffice."""
    scores, boxes = _boxes(inputs[0], inputs[1], inputs[2], a)
    ranked = order(scores, 1, True)
    images, total = (k.index(d) for d in scores.shape)
    wanted = k.index(a.rpn_post_nms_top_n)
    seen = k.minimum(total, k.index(a.rpn_pre_nms_top_n)) if a.rpn_pre_nms_top_n > 0 else total

    def body(ins: list[Buffer], outs: list[Buffer]) -> Stmt:
        corners, at = ins
        found, kept, counters = outs
        stays, overlapped = _ZERO, _ONE

        def number(which: k.Scalar) -> k.Scalar:
            return load(counters, which)

        def candidate(b: k.Scalar, box: k.Scalar) -> Stmt:
            def against(q: k.Scalar) -> Stmt:
                near = _overlap(corners, b, load(kept, q), box) > k.const(a.threshold, _REAL)
                return when(near, store(counters, [overlapped], _ONE))

            keep = both(store(kept, [number(stays)], box), store(counters, [stays], number(stays) + _ONE))
            tests = loop(number(stays), against, "q")
            return both(store(counters, [overlapped], _ZERO), tests, when(k.tir.EQ(number(overlapped), _ZERO), keep))

        def row(b: k.Scalar, r: k.Scalar) -> Stmt:
            def put(box: k.Scalar) -> Stmt:
                cells = [k.cast(_REAL, b), *(load(corners, b, box, k.index(n)) for n in range(4))]
                spot = b * wanted + r
                return both(*(store(found, [spot, k.index(n)], v) for n, v in enumerate(cells)))

            return let("box", load(kept, r % number(stays)), put)

        def image(b: k.Scalar) -> Stmt:
            def step(r: k.Scalar) -> Stmt:
                return let("box", load(at, b, r), lambda box: when(number(stays) < wanted, candidate(b, box)))

            return both(store(counters, [stays], _ZERO), loop(seen, step, "r"), loop(wanted, lambda r: row(b, r), "m"))

        return loop(images, image, "b")

    shapes = [(images * wanted, k.index(5)), (wanted,), (k.index(2),)]
    made = externs(shapes, [boxes, ranked], body, "proposal", [_REAL, "int64", "int64"])[0]
    return made if out.dtype == made.dtype else k.compute(out.shape, lambda *i: k.cast(out.dtype, made(*i)), "rounded")


def reference(inputs: Sequence[AnyArray], a: ProposalAttrs) -> AnyArray:
    """Image by image."""
    scores, offsets, sizes = (v.astype(np.float32) for v in inputs)
    images, _, rows, columns = scores.shape
    anchors = np.array(a.anchors, np.float32)
    cells = np.stack(np.meshgrid(np.arange(columns), np.arange(rows)), axis=-1).astype(np.float32) * a.feature_stride
    base = (np.tile(cells, 2)[:, :, None] + anchors).reshape(-1, 4)
    found = np.zeros((images, a.rpn_post_nms_top_n, 5), np.float32)
    for b, (height, width, scale) in enumerate(sizes):
        moves = offsets[b].reshape(len(anchors), 4, rows, columns).transpose(2, 3, 0, 1).reshape(-1, 4)
        boxes = base + moves if a.iou_loss else _moved(base, moves)
        boxes = np.maximum(np.minimum(boxes, np.tile([width - 1, height - 1], 2)), 0)
        values = scores[b, len(anchors) :].transpose(1, 2, 0).reshape(-1).copy()
        is_small = (boxes[:, 2:] - boxes[:, :2] + 1 < scale * a.rpn_min_size).any(axis=1)
        boxes[is_small] += scale * np.float32(0.5 * a.rpn_min_size) * np.array([-1, -1, 1, 1], np.float32)
        limits = np.floor(np.array([width, height]) / a.feature_stride)
        is_beyond = np.repeat((cells / a.feature_stride >= limits).any(axis=-1).ravel(), len(anchors))
        values[is_small | is_beyond] = -1
        ranked = np.argsort(-values, kind="stable")
        kept: list[int] = []
        for box in ranked[: a.rpn_pre_nms_top_n] if a.rpn_pre_nms_top_n > 0 else ranked:
            if len(kept) < a.rpn_post_nms_top_n and not any(_ratio(boxes[q], boxes[box]) > a.threshold for q in kept):
                kept.append(int(box))
        chosen = np.resize(np.array(kept, np.int64), a.rpn_post_nms_top_n)
        found[b, :, 0], found[b, :, 1:] = b, boxes[chosen]
    return found.reshape(-1, 5).astype(inputs[0].dtype)


def _moved(base: AnyArray, moves: AnyArray) -> AnyArray:
    extents = base[:, 2:] - base[:, :2] + 1
    middles = moves[:, :2] * extents + base[:, :2] + 0.5 * (extents - 1)
    halves = 0.5 * (np.exp(moves[:, 2:]) * extents - 1)
    return np.concatenate([middles - halves, middles + halves], axis=1).astype(np.float32)


def _ratio(one: AnyArray, other: AnyArray) -> float:
    shared = np.maximum(np.minimum(one[2:], other[2:]) - np.maximum(one[:2], other[:2]) + 1, 0).prod()
    union = sum(np.prod(v[2:] - v[:2] + 1) for v in (one, other)) - shared
    found: float = shared / union if union > 0 else 0.0
    return found


def _samples() -> tuple[Sample, ...]:
    limits = {"rpn_pre_nms_top_n": 20, "rpn_post_nms_top_n": 6, "rpn_min_size": 4}
    plain = ProposalAttrs(scales=(0.5, 1.0), ratios=(0.5, 1.0, 2.0), feature_stride=8, threshold=0.5, **limits)
    corners = ProposalAttrs((1.0,), (1.0, 2.0), 8, 0.3, 0, 9, 16, True)
    sizes = ((32.0, 40.0, 1.0), (24.0, 33.0, 1.5))

    def sample(a: ProposalAttrs, reach: float) -> Sample:
        count = len(a.anchors)
        operands = (
            Arr((2, 2 * count, 4, 5), low=0.0, high=1.0),
            Arr((2, 4 * count, 4, 5), low=-reach, high=reach),
            Arr((2, 3), values=sizes),
        )
        return Sample(operands, a, rtol=1e-4, atol=1e-3)

    return sample(plain, 0.4), sample(corners, 3.0)


PROPOSAL = OpDef(
    "vision.proposal",
    ProposalAttrs,
    inputs=(
        Input("cls_prob", "scores of background and object, for each anchor"),
        Input("bbox_pred", "offsets of each anchor"),
        Input("im_info", "height, width and scale of each image"),
    ),
    infer=infer,
    compute=compute,
    reference=reference,
    gradient=NotApplicable("Relay does not offer it"),
    fusion=Fusion.OPAQUE,
    in_relax=False,
    samples=_samples,
    summary="Region proposals from the scores and offsets of anchors.",
)
