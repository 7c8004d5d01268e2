"""vision.non_max_suppression: which of many overlapping boxes stay.

Rows of `data` (batch, n, k) are boxes: a score, four corners from `coord_start` on, perhaps a class. They are taken by
falling score; each that is taken suppresses those after it that overlap it by `iou_threshold` or more, of its class
only unless `force_suppress`. Rows without a positive score are never taken. Source: facts relay-language §6 level 5.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from baton._src.ir.attrs import Attrs, attr, attrs
from baton._src.ir.expr import GraphExpr
from baton._src.ir.op_def import Argument, Definition, Fusion, Input, NotApplicable, OpCall, OpDef, OwnMaker
from baton._src.ir.tensor_info import Info, TensorInfo, TupleInfo
from baton._src.ops import kernel_words as k
from baton._src.ops.dims import DimMath, show_shape
from baton._src.ops.index.best_first import best_first
from baton._src.ops.index.merge_sort import order
from baton._src.ops.loop_nests import both, let, lets, load, loop, loops, store, when
from baton._src.ops.operand_checks import check_floats, check_integers, check_ranks
from baton._src.ops.positional import by_name
from baton._src.ops.samples import Arr, Sample
from baton._src.ops.vision.box_overlap import SIDES, KeptBoxes, overlap_of_arrays, with_box
from baton._src.ops.vision.valid_counts import (
    GET_VALID_COUNTS,
    as_scalar,
    check_columns,
    sampled_boxes,
)
from baton._src.support.dataclass import dataclass
from baton._src.te.computation import externs
from baton._src.tir.buffer import Buffer
from baton._src.tir.stmt import Stmt
from baton._src.values.dtype import INT32
from baton._src.values.tensor import AnyArray

_INT = "int32"


@attrs
class SuppressionAttrs(Attrs):
    """Where things stand, how many are looked at, what is returned."""

    force_suppress: bool = attr(False, "boxes of other classes are suppressed too")
    top_k: int = attr(-1, "how many of the best are looked at; -1: all")
    coord_start: int = attr(2, "place of the first corner")
    score_index: int = attr(1, "place of the score")
    id_index: int = attr(0, "place of the class; -1: there is none")
    return_indices: bool = attr(True, "give indices and their number instead of boxes")
    invalid_to_bottom: bool = attr(False, "boxes that stay come first")


def infer_suppression(call: OpCall[SuppressionAttrs]) -> Info:
    """The indices and their number, or the boxes."""
    check_ranks(call, 3, 1, 2, 0, 0)
    x, a = call.tensor(0), call.attrs
    check_floats(call, 0)
    check_columns(call, score_index=a.score_index, id_index=max(a.id_index, 0))
    check_columns(call, 4, coord_start=a.coord_start)
    _check_counts(call, x)
    if not call.attrs.return_indices:
        return x
    if x.shape is None:
        return TupleInfo((TensorInfo(None, INT32, 2), TensorInfo(None, INT32, 2)))
    return TupleInfo((TensorInfo(x.shape[:2], INT32), TensorInfo((x.shape[0], 1), INT32)))


def _check_counts(call: OpCall[SuppressionAttrs], x: TensorInfo) -> None:
    """A count an image, an index a box, both integers."""
    check_integers(call, 1, 2)
    math = DimMath(call.prover)
    for position in (1, 2):
        t, name = call.tensor(position), call.op.inputs[position].name
        if x.shape is not None and t.shape is not None:
            if any(math.equal(mine, its) is False for mine, its in zip(t.shape, x.shape)):
                call.fail(f"{name} {show_shape(t.shape)} does not fit boxes {show_shape(x.shape)}")


def _best_first(x: k.Tensor, count: k.Tensor, a: SuppressionAttrs) -> k.Tensor:
    """Places of the boxes that count by falling score (equal ones in their order, NaN last), then of the others."""
    score, nan = k.index(a.score_index), k.const(float("nan"), x.dtype)

    def key(b: k.Scalar, j: k.Scalar) -> k.Scalar:
        return k.select(j < k.cast("int64", count(b)), k.const(0, x.dtype) - x(b, j, score), nan)

    keys = k.compute(x.shape[:2], key, "keys")
    if a.top_k < 1:
        return order(keys, 1, False)
    return best_first(keys, 1, k.minimum(k.index(a.top_k), k.index(x.shape[1])), False)


@dataclass(frozen=True, slots=True)
class _Suppression:
    """The kernel that sorts the rows of each image and strikes out those that a better one overlaps."""

    a: SuppressionAttrs
    data: Buffer
    counts: Buffer
    ranked: Buffer
    limit: Buffer
    bound: Buffer
    rows: Buffer
    chosen: Buffer
    """Where each row that stays came from, -1 for the others."""
    columns: Buffer
    numbers: Buffer

    @property
    def kept(self) -> KeptBoxes:
        """The boxes of the image at hand that stay: sides and class."""
        return KeptBoxes(self.columns, self.numbers)

    def image(self, b: k.Scalar) -> Stmt:
        counted = k.maximum(k.index(load(self.counts, b)), k.index(0))
        total: k.Scalar = k.within(
            counted, k.index(self.data.shape[1]) + k.index(1), "valid_count {0} is not under {1}"
        )
        best = k.minimum(total, k.index(self.a.top_k)) if self.a.top_k > 0 else total

        def all_steps(looked_at: k.Scalar) -> Stmt:
            beyond = loop(k.index(self.data.shape[1]) - looked_at, lambda j: self.clear(b, looked_at + j), "c")
            every = loop(looked_at, lambda j: self.place(b, j), "j")
            return both(self.kept.clear(), every, beyond)

        return let("looked_at", best, all_steps)

    def clear(self, b: k.Scalar, j: k.Scalar) -> Stmt:
        minus = k.const(-1, self.data.dtype)
        row = loop(self.data.shape[2], lambda c: store(self.rows, (b, j, c), minus), "c")
        return both(row, store(self.chosen, (b, j), k.const(-1, _INT)))

    def place(self, b: k.Scalar, j: k.Scalar) -> Stmt:
        """The next best row goes to place j, unless there are enough; without a score it never stays."""

        def put(box: k.Scalar) -> Stmt:
            row = loop(self.data.shape[2], lambda c: store(self.rows, (b, j, c), load(self.data, b, box, c)), "c")
            scored = load(self.rows, b, j, k.index(self.a.score_index)) > k.const(0, self.data.dtype)
            none = store(self.chosen, (b, j), k.const(-1, _INT))
            return both(row, none, when(scored, both(self.keep(b, j, box), self.strike_out(b, j))))

        full = k.tir.EQ(self.kept.count, k.cast("int64", load(self.limit)))
        return when(full, self.clear(b, j), let("box", load(self.ranked, b, j), put))

    def keep(self, b: k.Scalar, j: k.Scalar, box: k.Scalar) -> Stmt:
        """Row j stays unless one that stays overlaps it too much, of its class where that matters."""
        by_class = self.a.id_index >= 0 and not self.a.force_suppress
        its_class = load(self.rows, b, j, k.index(self.a.id_index)) if by_class else k.const(0, self.data.dtype)
        known = [("bound", k.cast(self.data.dtype, load(self.bound))), ("kind", its_class)]

        def with_sides(*sides: k.Scalar) -> Stmt:
            def compared(bound: k.Scalar, kind: k.Scalar) -> Stmt:
                def is_near(share: k.Scalar, other: k.Scalar) -> k.Scalar:
                    return k.tir.And(share >= bound, k.tir.EQ(other, kind)) if by_class else share >= bound

                stays = both(store(self.chosen, (b, j), k.cast(_INT, box)), self.kept.keep(*sides, kind))
                return self.kept.unless_near(sides, is_near, stays)

            return lets(known, compared)

        return with_box(self.rows, b, j, self.a.coord_start, with_sides)

    def strike_out(self, b: k.Scalar, j: k.Scalar) -> Stmt:
        """A row that was overlapped loses its score and its class."""
        minus = k.const(-1, self.data.dtype)
        columns = [self.a.score_index, *([self.a.id_index] if self.a.id_index >= 0 else [])]
        gone = both(*(store(self.rows, (b, j, k.index(c)), minus) for c in columns))
        return when(load(self.chosen, b, j) < k.const(0, _INT), gone)


def compute_suppression(
    inputs: Sequence[k.Tensor], a: SuppressionAttrs, out: k.Result
) -> k.Tensor | tuple[k.Tensor, ...]:
    """Sorted rows; the suppression itself; the wanted outputs."""
    x, count, places, most, threshold = inputs

    def body(ins: list[Buffer], outs: list[Buffer]) -> Stmt:
        return loops(x.shape[:1], _Suppression(a, *ins, *outs).image, "b")

    operands = [x, count, _best_first(x, count, a), most, threshold]
    kept, kept_dtypes = KeptBoxes.scratch(x.shape[1], x.dtype, len(SIDES) + 1)
    shapes = [k.dims(x.shape), k.dims(x.shape[:2]), *kept]
    made = externs(shapes, operands, body, "suppression", [x.dtype, _INT, *kept_dtypes])
    rows, chosen, *_ = made
    if a.return_indices:
        return _indices_first(chosen, places)
    return _rows_first(rows, chosen) if a.invalid_to_bottom else rows


def _indices_first(chosen: k.Tensor, places: k.Tensor) -> tuple[k.Tensor, ...]:
    """The indices of the boxes that stay, in order, then -1; and their number."""

    def body(ins: list[Buffer], outs: list[Buffer]) -> Stmt:
        taken, where = ins
        found, number = outs
        zero = k.index(0)

        def keep(b: k.Scalar, j: k.Scalar) -> Stmt:
            at = k.cast("int64", load(number, b, zero))
            put = store(found, (b, at), k.cast(_INT, load(where, b, k.cast("int64", load(taken, b, j)))))
            more = store(number, (b, zero), load(number, b, zero) + k.const(1, _INT))
            return when(load(taken, b, j) >= k.const(0, _INT), both(put, more))

        def batch(b: k.Scalar) -> Stmt:
            blank = loop(chosen.shape[1], lambda j: store(found, (b, j), k.const(-1, _INT)), "j")
            every = loop(chosen.shape[1], lambda j: keep(b, j), "j")
            return both(store(number, (b, zero), k.const(0, _INT)), blank, every)

        return loops(chosen.shape[:1], batch, "b")

    shapes = [k.dims(chosen.shape), k.dims((chosen.shape[0], 1))]
    return externs(shapes, [chosen, places], body, "indices_first", [_INT, _INT])


def _rows_first(rows: k.Tensor, chosen: k.Tensor) -> k.Tensor:
    """The rows that stay, in order, then -1."""

    def body(ins: list[Buffer], outs: list[Buffer]) -> Stmt:
        data, taken = ins
        found, number = outs
        zero, width = k.index(0), k.index(rows.shape[2])
        at = load(number, zero)

        def keep(b: k.Scalar, j: k.Scalar) -> Stmt:
            row = loop(width, lambda c: store(found, (b, at, c), load(data, b, j, c)), "c")
            return when(load(taken, b, j) >= k.const(0, _INT), both(row, store(number, [zero], at + k.index(1))))

        def blank(b: k.Scalar, j: k.Scalar) -> Stmt:
            return loop(width, lambda c: store(found, (b, j, c), k.const(-1, rows.dtype)), "c")

        def batch(b: k.Scalar) -> Stmt:
            every = loop(rows.shape[1], lambda j: keep(b, j), "j")
            rest = let("used", at, lambda used: loop(rows.shape[1] - used, lambda j: blank(b, used + j), "z"))
            return both(store(number, [zero], zero), every, rest)

        return loops(rows.shape[:1], batch, "b")

    return externs([k.dims(rows.shape), (k.index(1),)], [rows, chosen], body, "rows_first", [rows.dtype, "int64"])[0]


def reference_suppression(inputs: Sequence[AnyArray], a: SuppressionAttrs) -> AnyArray | tuple[AnyArray, ...]:
    """Box by box."""
    x, count, places, most, threshold = inputs
    if (count > x.shape[1]).any():
        raise IndexError(f"valid_count {count} of {x.shape[1]} boxes")
    rows, chosen = np.full_like(x, -1), np.full(x.shape[:2], -1, _INT)
    for b, image in enumerate(x):
        order = np.argsort(-image[: max(count[b], 0), a.score_index], kind="stable")
        order = order[: a.top_k] if a.top_k > 0 else order
        rows[b, : len(order)], chosen[b, : len(order)] = image[order], order
        _suppress(rows[b], chosen[b], len(order), int(most), threshold, a)
    stays = chosen >= 0
    if not a.return_indices and not a.invalid_to_bottom:
        return rows
    first, found = np.full_like(x, -1), np.full(x.shape[:2], -1, _INT)
    for b, mask in enumerate(stays):
        first[b, : mask.sum()] = rows[b][mask]
        found[b, : mask.sum()] = places[b][chosen[b][mask]]
    return (found, stays.sum(axis=1, keepdims=True).astype(_INT)) if a.return_indices else first


def _suppress(
    rows: AnyArray, chosen: AnyArray, count: int, most: int, threshold: AnyArray, a: SuppressionAttrs
) -> None:
    kept = 0
    for j in range(count):
        if kept == most:
            rows[j], chosen[j] = -1, -1
            continue
        if not rows[j, a.score_index] > 0:
            chosen[j] = -1
            continue
        kept += 1
        for i in range(j + 1, count):
            same = a.force_suppress or a.id_index < 0 or rows[i, a.id_index] == rows[j, a.id_index]
            share = overlap_of_arrays(_corners(rows[i], a), _corners(rows[j], a))
            if rows[i, a.score_index] > 0 and same and share >= threshold:
                rows[i, a.score_index], chosen[i] = -1, -1
                if a.id_index >= 0:
                    rows[i, a.id_index] = -1


def _corners(row: AnyArray, a: SuppressionAttrs) -> AnyArray:
    return row[a.coord_start : a.coord_start + 4]


def relay_suppression(
    make: OwnMaker,
    data: GraphExpr,
    valid_count: Argument,
    indices: Argument,
    max_output_size: Argument = -1,
    iou_threshold: Argument = 0.5,
    *more: object,
    **options: object,
) -> GraphExpr:
    """Number and threshold are operands; what follows are attributes, in their order or by name."""
    most, bound = as_scalar(make, max_output_size, _INT), as_scalar(make, iou_threshold, "float32")
    given = by_name("vision.non_max_suppression", SuppressionAttrs().names, more, options)
    return make(data, valid_count, indices, most, bound, **given)


def _suppressed(most: int, a: SuppressionAttrs) -> Sample:
    counts, places = Arr((2,), _INT, values=(5, 4)), Arr((2, 5), _INT, values=((4, 3, 2, 1, 0), (0, 1, 2, 3, 4)))
    return Sample((sampled_boxes(), counts, places, Arr((), _INT, values=most), Arr((), values=0.5)), a)


NON_MAX_SUPPRESSION = OpDef(
    "vision.non_max_suppression",
    SuppressionAttrs,
    inputs=(
        Input("data"),
        Input("valid_count", "boxes that count, per image"),
        Input("indices", "where they stood"),
        Input("max_output_size", "a scalar; -1: no limit"),
        Input("iou_threshold", "a scalar"),
    ),
    outputs=lambda a: 2 if a.return_indices else None,
    infer=infer_suppression,
    compute=compute_suppression,
    reference=reference_suppression,
    gradient=NotApplicable("Relay does not offer it"),
    fusion=Fusion.OPAQUE,
    in_relax=False,
    relay_builder=relay_suppression,
    samples=lambda: (
        _suppressed(-1, SuppressionAttrs()),
        _suppressed(2, SuppressionAttrs(force_suppress=True, top_k=3)),
        _suppressed(-1, SuppressionAttrs(return_indices=False, id_index=-1)),
        _suppressed(-1, SuppressionAttrs(return_indices=False, invalid_to_bottom=True)),
    ),
    summary="Non-maximum suppression: keep the boxes that no higher-scoring box of their class overlaps.",
)

SUPPRESSION: tuple[Definition, ...] = (GET_VALID_COUNTS, NON_MAX_SUPPRESSION)
