"""vision.non_max_suppression: which of many overlapping boxes stay.

Rows of `data` (batch, n, k) are boxes: a score, four corners from `coord_start` on, perhaps a class. They are taken by
falling score; each that is taken suppresses those after it that overlap it by `iou_threshold` or more, of its class
only unless `force_suppress`. Rows without a positive score are never taken. Source: facts relay-language §6 level 5.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from baton._src.ir.attrs import Attrs, attr, attrs
from baton._src.ir.op_def import Fusion, Input, NotApplicable, OpCall, OpDef
from baton._src.ir.tensor_info import Info, TensorInfo, TupleInfo
from baton._src.ops import kernel_words as k
from baton._src.ops.broadcasting import check_floats
from baton._src.ops.dims import DimMath, show_shape
from baton._src.ops.loop_nests import both, let, load, loop, loops, store, when
from baton._src.ops.samples import Arr, Sample
from baton._src.ops.vision.box_overlap import overlap, overlap_of_arrays
from baton._src.ops.vision.valid_counts import (
    GET_VALID_COUNTS,
    as_scalar,
    check_columns,
    check_ranks,
    sampled_boxes,
)
from baton._src.te.computation import extern
from baton._src.tir.stmt import Stmt
from baton._src.values.dtype import INT32

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
    x, a = check_ranks(call, (3, 1, 2, 0, 0)), call.attrs
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
    math = DimMath(call.prover)
    for position in (1, 2):
        t, name = call.tensor(position), call.op.inputs[position].name
        if not t.dtype.is_void and not t.dtype.is_int:
            call.fail(f"{name} must hold integers, got {t.dtype}", code="op-dtype", help="astype first")
        if x.shape is not None and t.shape is not None:
            if any(math.equal(mine, its) is False for mine, its in zip(t.shape, x.shape)):
                call.fail(f"{name} {show_shape(t.shape)} does not fit boxes {show_shape(x.shape)}")


def _ranks(x: k.Tensor, count: k.Tensor, a: SuppressionAttrs) -> k.Tensor:
    """How many of the boxes that count come before each: those with a higher score, and equal ones ahead of it."""
    other = k.reduce_axis(x.shape[1], "o")
    score = k.index(a.score_index)

    def body(b: Any, j: Any) -> Any:
        mine, its = x(b, j, score), x(b, other.var, score)
        ahead = k.tir.Or(its > mine, k.tir.And(k.tir.EQ(its, mine), other.var < j))
        counts = k.tir.And(ahead, other.var < k.cast("int64", count(b)))
        return k.reduce_sum(k.select(counts, k.const(1, _INT), k.const(0, _INT)), [other])

    return k.compute(x.shape[:2], body, "ranks")


@dataclass(frozen=True, slots=True)
class _Suppression:
    """The kernel that sorts the rows of each image and strikes out those that a better one overlaps."""

    a: SuppressionAttrs
    data: Any
    counts: Any
    ranks: Any
    limit: Any
    bound: Any
    rows: Any
    chosen: Any
    """Where each row that stays came from, -1 for the others."""
    kept: Any

    def image(self, b: Any) -> Stmt:
        counted = k.maximum(k.index(load(self.counts, b)), k.index(0))
        total: Any = k.within(counted, k.index(self.data.shape[1]) + k.index(1), "valid_count {0} is not under {1}")
        best = k.minimum(total, k.index(self.a.top_k)) if self.a.top_k > 0 else total

        def all_steps(looked_at: Any) -> Stmt:
            return both(
                store(self.kept, (b, k.index(0)), k.const(0, _INT)),
                loop(self.data.shape[1], lambda j: self.clear(b, j), "j"),
                loop(total, lambda j: self.place(b, j, looked_at), "j"),
                loop(looked_at, lambda j: self.choose(b, j, looked_at), "j"),
            )

        return let("looked_at", best, all_steps)

    def clear(self, b: Any, j: Any) -> Stmt:
        minus = k.const(-1, self.data.dtype)
        row = loop(self.data.shape[2], lambda c: store(self.rows, (b, j, c), minus), "c")
        return both(row, store(self.chosen, (b, j), k.const(-1, _INT)))

    def place(self, b: Any, j: Any, looked_at: Any) -> Stmt:
        """Row j goes where its rank says."""

        def put(at: Any) -> Stmt:
            row = loop(self.data.shape[2], lambda c: store(self.rows, (b, at, c), load(self.data, b, j, c)), "c")
            return when(at < looked_at, both(row, store(self.chosen, (b, at), k.cast(_INT, j))))

        return let("at", k.cast("int64", load(self.ranks, b, j)), put)

    def choose(self, b: Any, j: Any, looked_at: Any) -> Stmt:
        """Sorted row j stays, unless there are enough or it has no score; then it suppresses those after it."""
        kept = load(self.kept, b, k.index(0))
        more = store(self.kept, (b, k.index(0)), kept + k.const(1, _INT))
        after = loop(looked_at - j - 1, lambda n: self.suppress(b, j, j + 1 + n), "n")
        full = k.tir.EQ(kept, k.cast(_INT, load(self.limit)))
        weak = store(self.chosen, (b, j), k.const(-1, _INT))
        return when(full, self.clear(b, j), when(self.has_score(b, j), both(more, after), weak))

    def has_score(self, b: Any, j: Any) -> Any:
        return load(self.rows, b, j, k.index(self.a.score_index)) > k.const(0, self.data.dtype)

    def suppress(self, b: Any, j: Any, i: Any) -> Stmt:
        """Row i falls out if row j, which stays, overlaps it."""
        a, rows = self.a, self.rows
        kind, minus = k.index(a.id_index), k.const(-1, self.data.dtype)
        conditions = [self.has_score(b, i)]
        if not a.force_suppress and a.id_index >= 0:
            conditions.append(k.tir.EQ(load(rows, b, i, kind), load(rows, b, j, kind)))
        conditions.append(overlap(rows, b, j, i, a.coord_start) >= k.cast(self.data.dtype, load(self.bound)))
        gone = [
            store(rows, (b, i, k.index(a.score_index)), minus),
            store(self.chosen, (b, i), k.const(-1, _INT)),
        ]
        if a.id_index >= 0:
            gone.append(store(rows, (b, i, kind), minus))
        return when(k.all_of(conditions), both(*gone))


def compute_suppression(inputs: Any, a: SuppressionAttrs, out: Any) -> Any:
    """Sorted rows; the suppression itself; the wanted outputs."""
    x, count, places, most, threshold = inputs

    def body(ins: Any, outs: Any) -> Stmt:
        return loops(x.shape[:1], _Suppression(a, *ins, *outs).image, "b")

    operands = [x, count, _ranks(x, count, a), most, threshold]
    shapes = [k.dims(x.shape), k.dims(x.shape[:2]), k.dims((x.shape[0], 1))]
    made: Any = extern(shapes, operands, body, "suppression", [x.dtype, _INT, _INT])
    rows, chosen, _ = made
    if a.return_indices:
        return _indices_first(chosen, places)
    return _rows_first(rows, chosen) if a.invalid_to_bottom else rows


def _indices_first(chosen: k.Tensor, places: k.Tensor) -> Any:
    """The indices of the boxes that stay, in order, then -1; and their number."""

    def body(ins: Any, outs: Any) -> Stmt:
        taken, where = ins
        found, number = outs
        zero = k.index(0)

        def keep(b: Any, j: Any) -> Stmt:
            at = k.cast("int64", load(number, b, zero))
            put = store(found, (b, at), k.cast(_INT, load(where, b, k.cast("int64", load(taken, b, j)))))
            more = store(number, (b, zero), load(number, b, zero) + k.const(1, _INT))
            return when(load(taken, b, j) >= k.const(0, _INT), both(put, more))

        def batch(b: Any) -> Stmt:
            blank = loop(chosen.shape[1], lambda j: store(found, (b, j), k.const(-1, _INT)), "j")
            every = loop(chosen.shape[1], lambda j: keep(b, j), "j")
            return both(store(number, (b, zero), k.const(0, _INT)), blank, every)

        return loops(chosen.shape[:1], batch, "b")

    shapes = [k.dims(chosen.shape), k.dims((chosen.shape[0], 1))]
    return extern(shapes, [chosen, places], body, "indices_first", [_INT, _INT])


def _rows_first(rows: k.Tensor, chosen: k.Tensor) -> Any:
    """The rows that stay, in order, then -1: each goes behind those that stay ahead of it."""
    before = k.reduce_axis(rows.shape[1], "o")
    stays = k.const(0, _INT)
    one = k.const(1, _INT)

    def ahead(b: Any, j: Any) -> Any:
        counted = k.tir.And(before.var < j, chosen(b, before.var) >= stays)
        return k.reduce_sum(k.select(counted, one, stays), [before])

    places = k.compute(chosen.shape, ahead, "places")

    def body(ins: Any, outs: Any) -> Stmt:
        data, taken, to = ins

        def move(b: Any, j: Any, c: Any) -> Stmt:
            put = store(outs[0], (b, k.cast("int64", load(to, b, j)), c), load(data, b, j, c))
            return when(load(taken, b, j) >= stays, put)

        blank = loops(rows.shape, lambda *i: store(outs[0], i, k.const(-1, rows.dtype)))
        return both(blank, loops(rows.shape, move, "m"))

    return extern(k.dims(rows.shape), [rows, chosen, places], body, "rows_first", rows.dtype)


def reference_suppression(inputs: Any, a: SuppressionAttrs) -> Any:
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


def _suppress(rows: Any, chosen: Any, count: int, most: int, threshold: Any, a: SuppressionAttrs) -> None:
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


def _corners(row: Any, a: SuppressionAttrs) -> Any:
    return row[a.coord_start : a.coord_start + 4]


def relay_suppression(
    make: Any,
    data: Any,
    valid_count: Any,
    indices: Any,
    max_output_size: Any = -1,
    iou_threshold: Any = 0.5,
    *more: Any,
    **options: Any,
) -> Any:
    """Number and threshold are operands; what follows are attributes, in their order or by name."""
    most, bound = as_scalar(make, max_output_size, _INT), as_scalar(make, iou_threshold, "float32")
    given = dict(zip(SuppressionAttrs().names, more, strict=False))
    return make(data, valid_count, indices, most, bound, **given, **options)


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

SUPPRESSION: tuple[OpDef[Any], ...] = (GET_VALID_COUNTS, NON_MAX_SUPPRESSION)
