"""vision.all_class_non_max_suppression: the boxes of every class that no better one of that class overlaps.

    boxes (b, n, 4): two opposite corners; scores (b, classes, n)
    onnx        -> rows (image, class, box), classes in order, best boxes first; zeros beyond; and how many rows count
    tensorflow  -> rows (class, box) for each image, best first over all classes; their scores; how many count

Boxes are looked at from the highest score down: one that scores at most `score_threshold` is dropped, and one whose
intersection over union with a box that stays exceeds `iou_threshold`. Source: ONNX NonMaxSuppression; facts
relay-language §6 level 5.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from baton._src.ir.attrs import Attrs, attr, attrs
from baton._src.ir.expr import GraphExpr
from baton._src.ir.op_def import Argument, Fusion, Input, NotApplicable, OpCall, OpDef, OwnMaker
from baton._src.ir.tensor_info import Info, TensorInfo, TupleInfo
from baton._src.ops import kernel_words as k
from baton._src.ops.dims import DimMath, show_shape
from baton._src.ops.loop_nests import both, let, load, loop, loops, store, when
from baton._src.ops.operand_checks import check_floats, check_ranks
from baton._src.ops.samples import Arr, Sample
from baton._src.ops.vision.best_in_turn import COUNTERS, BestInTurn
from baton._src.ops.vision.box_overlap import KeptBoxes, overlap_of_arrays, with_box
from baton._src.support.dataclass import dataclass
from baton._src.te.computation import externs
from baton._src.tir.buffer import Buffer
from baton._src.tir.stmt import Stmt, While
from baton._src.values.dtype import INT64
from baton._src.values.tensor import AnyArray

_ZERO, _ONE = k.index(0), k.index(1)


@attrs
class AllClassAttrs(Attrs):
    """The form of the result."""

    output_format: str = attr("onnx", "onnx or tensorflow")


def infer(call: OpCall[AllClassAttrs]) -> Info:
    """Room for every box of every class."""
    boxes, scores = call.tensor(0), call.tensor(1)
    is_onnx = call.attrs.output_format == "onnx"
    if not is_onnx and call.attrs.output_format != "tensorflow":
        call.fail(f"output_format must be onnx or tensorflow, got {call.attrs.output_format!r}", code="op-attribute")
    check_ranks(call, 3, 3, 0, 0, 0)
    check_floats(call, 0, 1)
    if scores.shape is None:
        ranks = ((2, INT64), (1, INT64)) if is_onnx else ((3, INT64), (2, scores.dtype), (1, INT64))
        return TupleInfo(tuple(TensorInfo(None, dtype, rank) for rank, dtype in ranks))
    math, (images, classes, count) = DimMath(call.prover), scores.shape
    if boxes.shape is not None:
        pairs = ((boxes.shape[0], images), (boxes.shape[1], count), (boxes.shape[2], 4))
        if any(math.equal(p, q) is False for p, q in pairs):
            call.fail(f"boxes {show_shape(boxes.shape)} and scores {show_shape(scores.shape)} do not fit")
    most = math.multiply(classes, count)
    if is_onnx:
        return TupleInfo((TensorInfo((math.multiply(images, most), 3), INT64), TensorInfo((1,), INT64)))
    rows = TensorInfo((images, most, 2), INT64)
    return TupleInfo((rows, TensorInfo((images, most), scores.dtype), TensorInfo((images,), INT64)))


@dataclass(frozen=True, slots=True)
class _Walk:
    """The kernel that takes the boxes of each class in turn, best first: its inputs, its outputs, its scratch."""

    corners: Buffer
    score: Buffer
    most: Buffer
    bound: Buffer
    low: Buffer
    rows: Buffer
    values: Buffer
    totals: Buffer
    candidates: Buffer
    counters: Buffer
    columns: Buffer
    numbers: Buffer

    @property
    def kept(self) -> KeptBoxes:
        """The boxes of the class at hand that stay."""
        return KeptBoxes(self.columns, self.numbers)

    def image(self, b: k.Scalar) -> Stmt:
        every = loop(self.score.shape[1], lambda c: self.one_class(b, c), "c")
        return both(store(self.totals, [b], _ZERO), every)

    def one_class(self, b: k.Scalar, c: k.Scalar) -> Stmt:
        """Boxes that score enough are candidates; the best of them are looked at until there is no room."""
        heap = BestInTurn(self.candidates, self.counters, lambda box: load(self.score, b, c, box))
        count, given = k.index(self.score.shape[2]), k.cast("int64", load(self.most))
        room = k.select(given < _ZERO, count, given)

        def offer(box: k.Scalar) -> Stmt:
            return when(load(self.score, b, c, box) > k.cast(self.score.dtype, load(self.low)), heap.add(box))

        def walk(most: k.Scalar) -> Stmt:
            wanted = k.tir.And(heap.is_any(), self.kept.count < most)
            return While(wanted, heap.take(lambda box: self.candidate(b, c, box)))

        begin = [heap.clear(), loop(count, offer, "j"), heap.arrange(), self.kept.clear()]
        return both(*begin, let("room", room, walk))

    def candidate(self, b: k.Scalar, c: k.Scalar, box: k.Scalar) -> Stmt:
        """A box stays if none that stays overlaps it."""

        def with_sides(*sides: k.Scalar) -> Stmt:
            stays = both(self.kept.keep(*sides), self.put(b, c, box))
            bound = k.cast(self.corners.dtype, load(self.bound))
            return let("bound", bound, lambda most: self.kept.unless_near(sides, lambda share: share > most, stays))

        return with_box(self.corners, b, box, 0, with_sides)

    def put(self, b: k.Scalar, c: k.Scalar, box: k.Scalar) -> Stmt:
        place = load(self.totals, b)
        return both(
            store(self.rows, [b, place, _ZERO], c),
            store(self.rows, [b, place, _ONE], box),
            store(self.values, [b, place], load(self.score, b, c, box)),
            store(self.totals, [b], place + _ONE),
        )


def _chosen(inputs: Sequence[k.Tensor]) -> tuple[k.Tensor, k.Tensor, k.Tensor]:
    """For each image, class after class: (class, box) rows, their scores, and how many there are.

    Rows and scores beyond that number are not written.
    """
    boxes, scores, limit, iou, least = inputs
    images, classes, count = (k.index(d) for d in scores.shape)
    room = classes * count
    kept, kept_dtypes = KeptBoxes.scratch(count, boxes.dtype)
    shapes = [(images, room, k.index(2)), (images, room), (images,), (count,), (k.index(COUNTERS),), *kept]
    dtypes = ["int64", scores.dtype, "int64", "int64", "int64", *kept_dtypes]

    def body(ins: list[Buffer], outs: list[Buffer]) -> Stmt:
        return loops((images,), _Walk(*ins, *outs).image, "b")

    made = externs(shapes, [boxes, scores, limit, iou, least], body, "all_class_suppression", dtypes)
    return made[0], made[1], made[2]


def compute(inputs: Sequence[k.Tensor], a: AllClassAttrs, out: k.Result) -> tuple[k.Tensor, ...]:
    """What stays, image by image; then one list of it, or each image's sorted."""
    rows, scores, totals = _chosen(inputs)
    return _listed(rows, totals) if a.output_format == "onnx" else _sorted(rows, scores, totals)


def _listed(rows: k.Tensor, totals: k.Tensor) -> tuple[k.Tensor, ...]:
    """The rows of all images behind each other, zeros behind them; and their number."""

    def body(ins: list[Buffer], outs: list[Buffer]) -> Stmt:
        pairs, counts = ins
        found, total = outs

        def put(place: k.Scalar, cells: k.Indices) -> Stmt:
            return both(*(store(found, [place, k.index(n)], v) for n, v in enumerate(cells)))

        def row(b: k.Scalar, m: k.Scalar) -> Stmt:
            cells = [b, load(pairs, b, m, _ZERO), load(pairs, b, m, _ONE)]
            next_one = store(total, [_ZERO], load(total, _ZERO) + _ONE)
            return both(let("place", load(total, _ZERO), lambda place: put(place, cells)), next_one)

        def rest(used: k.Scalar) -> Stmt:
            return loop(found.shape[0] - used, lambda m: put(used + m, [_ZERO] * 3), "z")

        every = loops(rows.shape[:1], lambda b: loop(load(counts, b), lambda m: row(b, m), "m"), "b")
        return both(store(total, [_ZERO], _ZERO), every, let("used", load(total, _ZERO), rest))

    shapes = [(k.index(rows.shape[0]) * k.index(rows.shape[1]), k.index(3)), (_ONE,)]
    return externs(shapes, [rows, totals], body, "listed", ["int64", "int64"])


def _sorted(rows: k.Tensor, scores: k.Tensor, totals: k.Tensor) -> tuple[k.Tensor, ...]:
    """The rows of each image by falling score, and the scores, zeros behind them; and their number."""
    room = k.index(scores.shape[1])

    def body(ins: list[Buffer], outs: list[Buffer]) -> Stmt:
        pairs, values, counts = ins
        found, ranked, number, places, counters = outs

        def image(b: k.Scalar) -> Stmt:
            heap = BestInTurn(places, counters, lambda m: load(values, b, m))

            def put(m: k.Scalar, cells: k.Indices, value: k.Scalar) -> Stmt:
                rows = (store(found, [b, m, k.index(n)], v) for n, v in enumerate(cells))
                return both(*rows, store(ranked, [b, m], value))

            def row(m: k.Scalar) -> Stmt:
                def best(at: k.Scalar) -> Stmt:
                    return put(m, [load(pairs, b, at, k.index(n)) for n in (0, 1)], load(values, b, at))

                return heap.take(best)

            def every(used: k.Scalar) -> Stmt:
                blank = [_ZERO, _ZERO], k.const(0, values.dtype)
                rest = loop(room - used, lambda m: put(used + m, *blank), "z")
                return both(loop(used, heap.add, "a"), heap.arrange(), loop(used, row, "m"), rest)

            count = store(number, [b], load(counts, b))
            return both(heap.clear(), count, let("used", load(counts, b), every))

        return loops(rows.shape[:1], image, "b")

    shapes = [k.dims(rows.shape), k.dims(scores.shape), k.dims(totals.shape), (room,), (k.index(COUNTERS),)]
    dtypes = ["int64", scores.dtype, "int64", "int64", "int64"]
    return externs(shapes, [rows, scores, totals], body, "sorted", dtypes)[:3]


def reference(inputs: Sequence[AnyArray], a: AllClassAttrs) -> tuple[AnyArray, ...]:
    """Box by box."""
    boxes, scores, most, bound, least = inputs
    images, classes, count = scores.shape
    limit = count if most < 0 else int(most)
    found: list[list[tuple[int, int]]] = [[] for _ in range(images)]
    for b, c in np.ndindex(images, classes):
        kept: list[int] = []
        for j in np.argsort(-scores[b, c], kind="stable"):
            near = any(overlap_of_arrays(boxes[b, i], boxes[b, j]) > bound for i in kept)
            if scores[b, c, j] > least and len(kept) < limit and not near:
                kept.append(int(j))
        found[b] += [(c, j) for j in kept]
    if a.output_format == "onnx":
        rows = np.zeros((images * classes * count, 3), "int64")
        every = [(b, c, j) for b, pairs in enumerate(found) for c, j in pairs]
        rows[: len(every)] = np.array(every, "int64").reshape(-1, 3)
        return rows, np.array([len(every)], "int64")
    pairs = np.zeros((images, classes * count, 2), "int64")
    values = np.zeros((images, classes * count), scores.dtype)
    for b, chosen in enumerate(found):
        ranked = sorted(chosen, key=lambda p: -scores[b, p[0], p[1]])
        pairs[b, : len(ranked)] = np.array(ranked, "int64").reshape(-1, 2)
        values[b, : len(ranked)] = [scores[b, c, j] for c, j in ranked]
    return pairs, values, np.array([len(f) for f in found], "int64")


def relay_all_class(
    make: OwnMaker,
    boxes: Argument,
    scores: Argument,
    max_output_boxes_per_class: Argument = -1,
    iou_threshold: Argument = -1.0,
    score_threshold: Argument = -1.0,
    output_format: str = "onnx",
) -> GraphExpr:
    """Numbers are operands."""
    numbers = ((max_output_boxes_per_class, "int64"), (iou_threshold, "float32"), (score_threshold, "float32"))
    operands = (make.const(v, dtype) if isinstance(v, (int, float)) else v for v, dtype in numbers)
    return make(boxes, scores, *operands, output_format=output_format)


def _samples() -> tuple[Sample, ...]:
    boxes = (
        ((0, 0, 1, 1), (0, 0.1, 1, 1.1), (0, -0.1, 1, 0.9), (0, 10, 1, 11), (1, 11.1, 0, 10.1)),
        ((0, 0, 2, 2), (1, 1, 3, 3), (0, 0, 0, 0), (5, 5, 6, 6), (5, 5, 6, 6.5)),
    )
    scores = (
        ((0.9, 0.75, 0.6, 0.95, 0.5), (0.3, 0.8, 0.1, 0.2, 0.7)),
        ((0.2, 0.9, 0.4, 0.4, 0.3), (0.1, 0.05, 0.6, 0.8, 0.85)),
    )

    def sample(most: int, bound: float, least: float, form: str) -> Sample:
        numbers = (Arr((), "int64", values=most), Arr((), values=bound), Arr((), values=least))
        data = (Arr((2, 5, 4), values=boxes), Arr((2, 2, 5), values=scores))
        return Sample((*data, *numbers), AllClassAttrs(form))

    return (
        sample(2, 0.5, 0.0, "onnx"),
        sample(-1, 0.5, 0.25, "onnx"),
        sample(3, 0.4, 0.15, "tensorflow"),
        sample(0, 0.5, 0.0, "tensorflow"),
    )


ALL_CLASS_SUPPRESSION = OpDef(
    "vision.all_class_non_max_suppression",
    AllClassAttrs,
    inputs=(
        Input("boxes", "two corners of each box"),
        Input("scores", "of every class and box"),
        Input("max_output_boxes_per_class", "a scalar; negative: no limit"),
        Input("iou_threshold", "a scalar"),
        Input("score_threshold", "a scalar"),
    ),
    outputs=lambda a: 2 if a.output_format == "onnx" else 3,
    infer=infer,
    compute=compute,
    reference=reference,
    gradient=NotApplicable("Relay does not offer it"),
    fusion=Fusion.OPAQUE,
    in_relax=False,
    relay_builder=relay_all_class,
    samples=_samples,
    summary="Non-maximum suppression for every class separately.",
)
