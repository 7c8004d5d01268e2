"""vision.get_valid_counts and vision.non_max_suppression: which of many overlapping boxes stay.

Rows of `data` (batch, n, k) are boxes: a score, four corners from `coord_start` on, perhaps a class. get_valid_counts
moves the rows that count to the top. non_max_suppression takes them by falling score; each that is taken suppresses
those after it that overlap it by `iou_threshold` or more, of its class only unless `force_suppress`. Rows without a
positive score are never taken. Source: facts relay-language §6 level 5.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from baton._src.ir.attrs import Attrs, attr, attrs
from baton._src.ir.op_def import Fusion, Input, NotApplicable, OpCall, OpDef
from baton._src.ir.tensor_info import Info, TensorInfo, TupleInfo
from baton._src.ops import kernel_words as k
from baton._src.ops.dims import show_shape
from baton._src.ops.loop_nests import both, let, load, loop, loops, store, when
from baton._src.ops.samples import Arr, Sample
from baton._src.te.computation import extern
from baton._src.tir.stmt import Stmt
from baton._src.values.dtype import INT32

_NO_SLOPE = NotApplicable("Relay does not offer it")
_INT = "int32"


@attrs
class ValidCountsAttrs(Attrs):
    """Where the class and the score stand."""

    id_index: int = attr(0, "place of the class; -1: there is none")
    score_index: int = attr(1, "place of the score")


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


def _check(call: OpCall[Any], ranks: tuple[int, ...]) -> TensorInfo:
    for position, rank in enumerate(ranks):
        t = call.tensor(position)
        if t.ndim not in (-1, rank):
            name = call.op.inputs[position].name
            call.fail(f"{name} must have rank {rank}, got {show_shape(t.shape, t.ndim)}")
    return call.tensor(0)


def infer_counts(call: OpCall[ValidCountsAttrs]) -> Info:
    """How many count, the rows, where they stood."""
    x = _check(call, (3, 0))
    if x.shape is None:
        return TupleInfo((TensorInfo(None, INT32, 1), x, TensorInfo(None, INT32, 2)))
    return TupleInfo((TensorInfo(x.shape[:1], INT32), x, TensorInfo(x.shape[:2], INT32)))


def compute_counts(inputs: Any, a: ValidCountsAttrs, out: Any) -> Any:
    """Row after row, to the next free place."""
    x, threshold = inputs
    width = k.index(x.shape[2])

    def body(ins: Any, outs: Any) -> Stmt:
        data, limit = ins
        count, rows, places = outs

        def look(b: Any, j: Any) -> Stmt:
            wanted = load(data, b, j, k.index(a.score_index)) > k.cast(x.dtype, load(limit))
            if a.id_index >= 0:
                wanted = k.tir.And(wanted, load(data, b, j, k.index(a.id_index)) >= k.const(0, x.dtype))

            def keep(at: Any) -> Stmt:
                row = loop(width, lambda c: store(rows, (b, at, c), load(data, b, j, c)), "c")
                number = store(count, (b,), k.cast(_INT, at) + k.const(1, _INT))
                return both(row, store(places, (b, at), k.cast(_INT, j)), number)

            return when(wanted, let("at", k.cast("int64", load(count, b)), keep))

        def batch(b: Any) -> Stmt:
            def blank(j: Any) -> Stmt:
                row = loop(width, lambda c: store(rows, (b, j, c), k.const(-1, x.dtype)), "c")
                return both(row, store(places, (b, j), k.const(-1, _INT)))

            start = both(store(count, (b,), k.const(0, _INT)), loop(x.shape[1], blank, "j"))
            return both(start, loop(x.shape[1], lambda j: look(b, j), "j"))

        return loops(x.shape[:1], batch, "b")

    shapes = [k.dims(x.shape[:1]), k.dims(x.shape), k.dims(x.shape[:2])]
    return extern(shapes, [x, threshold], body, "valid_counts", [_INT, x.dtype, _INT])


def reference_counts(inputs: Any, a: ValidCountsAttrs) -> Any:
    """Selected rows, image by image."""
    x, threshold = inputs
    count = np.zeros(x.shape[:1], _INT)
    rows, places = np.full_like(x, -1), np.full(x.shape[:2], -1, _INT)
    for b, image in enumerate(x):
        wanted = image[:, a.score_index] > threshold.astype(x.dtype)
        wanted &= image[:, a.id_index] >= 0 if a.id_index >= 0 else True
        (at,) = np.nonzero(wanted)
        count[b] = len(at)
        rows[b, : len(at)] = image[at]
        places[b, : len(at)] = at
    return count, rows, places


def infer_suppression(call: OpCall[SuppressionAttrs]) -> Info:
    """The indices and their number, or the boxes."""
    x = _check(call, (3, 1, 2, 0, 0))
    if not call.attrs.return_indices:
        return x
    if x.shape is None:
        return TupleInfo((TensorInfo(None, INT32, 2), TensorInfo(None, INT32, 2)))
    return TupleInfo((TensorInfo(x.shape[:2], INT32), TensorInfo((x.shape[0], 1), INT32)))


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


def _overlap(rows: Any, b: Any, i: Any, j: Any, a: SuppressionAttrs, dtype: Any) -> Any:
    """Intersection over union of two boxes, whatever corners are given."""
    sides, areas = [], [k.const(1, dtype), k.const(1, dtype)]
    for axis in (0, 1):
        ends = []
        for n, box in enumerate((i, j)):
            p, q = (load(rows, b, box, k.index(a.coord_start + axis + 2 * end)) for end in (0, 1))
            ends.append((k.minimum(p, q), k.maximum(p, q)))
            areas[n] = areas[n] * (ends[-1][1] - ends[-1][0])
        shared = k.minimum(ends[0][1], ends[1][1]) - k.maximum(ends[0][0], ends[1][0])
        sides.append(k.maximum(shared, k.const(0, dtype)))
    common = sides[0] * sides[1]
    union = areas[0] + areas[1] - common
    return k.select(union <= k.const(0, dtype), k.const(0, dtype), common / union)


def compute_suppression(inputs: Any, a: SuppressionAttrs, out: Any) -> Any:
    """Sorted rows; the suppression itself; what is asked for."""
    x, count, places, most, threshold = inputs
    ranks = _ranks(x, count, a)
    score, kind, width = k.index(a.score_index), k.index(a.id_index), k.index(x.shape[2])
    zero, minus = k.const(0, x.dtype), k.const(-1, x.dtype)

    def body(ins: Any, outs: Any) -> Stmt:
        data, counts, rank, limit, bound = ins
        rows, chosen, kept = outs

        def clear(b: Any, j: Any) -> Stmt:
            row = loop(width, lambda c: store(rows, (b, j, c), minus), "c")
            return both(row, store(chosen, (b, j), k.const(-1, _INT)))

        def place(b: Any, j: Any, looked_at: Any) -> Stmt:
            def put(at: Any) -> Stmt:
                row = loop(width, lambda c: store(rows, (b, at, c), load(data, b, j, c)), "c")
                return when(at < looked_at, both(row, store(chosen, (b, at), k.cast(_INT, j))))

            return let("at", k.cast("int64", load(rank, b, j)), put)

        def suppress(b: Any, j: Any, i: Any) -> Stmt:
            conditions = [load(rows, b, i, score) > zero]
            if not a.force_suppress and a.id_index >= 0:
                conditions.append(k.tir.EQ(load(rows, b, i, kind), load(rows, b, j, kind)))
            conditions.append(_overlap(rows, b, j, i, a, x.dtype) >= k.cast(x.dtype, load(bound)))
            gone = [store(rows, (b, i, score), minus), store(chosen, (b, i), k.const(-1, _INT))]
            if a.id_index >= 0:
                gone.append(store(rows, (b, i, kind), minus))
            return when(k.all_of(conditions), both(*gone))

        def choose(b: Any, j: Any, looked_at: Any) -> Stmt:
            more = store(kept, (b, k.index(0)), load(kept, b, k.index(0)) + k.const(1, _INT))
            after = loop(looked_at - j - 1, lambda n: suppress(b, j, j + 1 + n), "n")
            full = k.tir.EQ(load(kept, b, k.index(0)), k.cast(_INT, load(limit)))
            weak = store(chosen, (b, j), k.const(-1, _INT))
            return when(full, clear(b, j), when(load(rows, b, j, score) > zero, both(more, after), weak))

        def batch(b: Any) -> Stmt:
            total: Any = k.cast("int64", load(counts, b))
            best = k.minimum(total, k.index(a.top_k)) if a.top_k > 0 else total

            def all_steps(looked_at: Any) -> Stmt:
                return both(
                    store(kept, (b, k.index(0)), k.const(0, _INT)),
                    loop(x.shape[1], lambda j: clear(b, j), "j"),
                    loop(total, lambda j: place(b, j, looked_at), "j"),
                    loop(looked_at, lambda j: choose(b, j, looked_at), "j"),
                )

            return let("looked_at", best, all_steps)

        return loops(x.shape[:1], batch, "b")

    shapes = [k.dims(x.shape), k.dims(x.shape[:2]), k.dims((x.shape[0], 1))]
    made: Any = extern(shapes, [x, count, ranks, most, threshold], body, "suppression", [x.dtype, _INT, _INT])
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
            put = store(found, (b, at), load(where, b, k.cast("int64", load(taken, b, j))))
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
    rows, chosen = np.full_like(x, -1), np.full(x.shape[:2], -1, _INT)
    for b, image in enumerate(x):
        order = np.argsort(-image[: count[b], a.score_index], kind="stable")
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
            if rows[i, a.score_index] > 0 and same and _np_overlap(rows[i], rows[j], a) >= threshold:
                rows[i, a.score_index], chosen[i] = -1, -1
                if a.id_index >= 0:
                    rows[i, a.id_index] = -1


def _np_overlap(one: Any, other: Any, a: SuppressionAttrs) -> Any:
    corners = np.sort(np.stack([v[a.coord_start : a.coord_start + 4].reshape(2, 2) for v in (one, other)]), axis=1)
    sides = np.maximum(corners[:, 1].min(axis=0) - corners[:, 0].max(axis=0), 0)
    areas = np.prod(corners[:, 1] - corners[:, 0], axis=1)
    union = areas.sum() - sides.prod()
    return sides.prod() / union if union > 0 else 0


def relay_counts(make: Any, data: Any, score_threshold: Any, id_index: int = 0, score_index: int = 1) -> Any:
    """The threshold is an operand."""
    return make(data, _scalar(make, score_threshold, "float32"), id_index=id_index, score_index=score_index)


def relay_suppression(
    make: Any,
    data: Any,
    valid_count: Any,
    indices: Any,
    max_output_size: Any = -1,
    iou_threshold: Any = 0.5,
    **options: Any,
) -> Any:
    """Number and threshold are operands; the other names are attributes."""
    most, bound = _scalar(make, max_output_size, _INT), _scalar(make, iou_threshold, "float32")
    return make(data, valid_count, indices, most, bound, **options)


def _scalar(make: Any, value: Any, dtype: str) -> Any:
    return make.const(value, dtype) if isinstance(value, (int, float)) else value


def _boxes() -> Arr:
    """Two images of five boxes: class, score, corners; overlapping, turned around, of two classes, without score."""
    one = (
        (0, 0.8, 1, 20, 25, 45), (1, 0.7, 30, 60, 50, 80), (0, 0.4, 4, 21, 19, 40), (2, 0.9, 35, 61, 52, 79),
        (1, 0.5, 100, 60, 70, 110),
    )  # fmt: skip
    other = (
        (0, 0.5, 0, 0, 10, 10), (0, 0.5, 1, 1, 10, 10), (-1, 0.9, 0, 0, 9, 9), (0, -1.0, 0, 0, 9, 9),
        (1, 0.6, 0, 0, 10, 9),
    )  # fmt: skip
    return Arr((2, 5, 6), values=(one, other))


def _suppressed(most: int, a: SuppressionAttrs) -> Sample:
    counts, places = Arr((2,), _INT, values=(5, 4)), Arr((2, 5), _INT, values=((4, 3, 2, 1, 0), (0, 1, 2, 3, 4)))
    return Sample((_boxes(), counts, places, Arr((), _INT, values=most), Arr((), values=0.5)), a)


GET_VALID_COUNTS = OpDef(
    "vision.get_valid_counts",
    ValidCountsAttrs,
    inputs=(Input("data"), Input("score_threshold", "a scalar")),
    outputs=3,
    infer=infer_counts,
    compute=compute_counts,
    reference=reference_counts,
    gradient=_NO_SLOPE,
    fusion=Fusion.OPAQUE,
    in_relax=False,
    relay_builder=relay_counts,
    samples=lambda: (
        Sample((_boxes(), Arr((), values=0.45)), ValidCountsAttrs()),
        Sample((_boxes(), Arr((), values=0.0)), ValidCountsAttrs(id_index=-1)),
    ),
    summary="The boxes that count, moved to the top; their number, and where they stood.",
)
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
    gradient=_NO_SLOPE,
    fusion=Fusion.OPAQUE,
    in_relax=False,
    relay_builder=relay_suppression,
    samples=lambda: (
        _suppressed(-1, SuppressionAttrs()),
        _suppressed(2, SuppressionAttrs(force_suppress=True, top_k=3)),
        _suppressed(-1, SuppressionAttrs(return_indices=False, id_index=-1)),
        _suppressed(-1, SuppressionAttrs(return_indices=False, invalid_to_bottom=True)),
    ),
    summary="The boxes that no better one of their class overlaps.",
)

SUPPRESSION: tuple[OpDef[Any], ...] = (GET_VALID_COUNTS, NON_MAX_SUPPRESSION)
