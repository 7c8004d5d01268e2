"""vision.get_valid_counts: the boxes that count, moved to the top.

Rows of `data` (batch, n, k) are boxes: a score, four corners, perhaps a class. A row counts if its score is above the
threshold and its class, if there is one, is not negative. Source: facts relay-language §6 level 5.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from baton._src.ir.attrs import Attrs, attr, attrs
from baton._src.ir.expr import GraphExpr
from baton._src.ir.op_def import AnyMaker, Argument, Fusion, Input, NotApplicable, OpCall, OpDef, OwnMaker
from baton._src.ir.tensor_info import Info, TensorInfo, TupleInfo
from baton._src.ops import kernel_words as k
from baton._src.ops.dims import DimMath, show_shape
from baton._src.ops.loop_nests import both, let, load, loop, loops, store, when
from baton._src.ops.operand_checks import check_floats, check_ranks
from baton._src.ops.samples import Arr, Sample
from baton._src.te.computation import externs
from baton._src.tir.buffer import Buffer
from baton._src.tir.stmt import Stmt
from baton._src.values.dtype import INT32
from baton._src.values.tensor import AnyArray

_INT = "int32"


@attrs
class ValidCountsAttrs(Attrs):
    """Where the class and the score stand."""

    id_index: int = attr(0, "place of the class; -1: there is none")
    score_index: int = attr(1, "place of the score")


def check_columns(call: OpCall[Attrs], width: int = 1, /, **places: int) -> None:
    """Where things stand in the rows of the first operand: `width` numbers from each place must lie in the row."""
    x, math = call.tensor(0), DimMath(call.prover)
    for name, place in places.items():
        if place < 0 or (x.shape is not None and math.at_most(place + width, x.shape[2]) is False):
            call.fail(
                f"{name} is {place}, the rows of {show_shape(x.shape, 3)} have no such place", code="op-attribute"
            )


def infer_counts(call: OpCall[ValidCountsAttrs]) -> Info:
    """How many count, the rows, where they stood."""
    check_ranks(call, 3, 0)
    x = call.tensor(0)
    check_floats(call, 0)
    check_columns(call, score_index=call.attrs.score_index, id_index=max(call.attrs.id_index, 0))
    if x.shape is None:
        return TupleInfo((TensorInfo(None, INT32, 1), x, TensorInfo(None, INT32, 2)))
    return TupleInfo((TensorInfo(x.shape[:1], INT32), x, TensorInfo(x.shape[:2], INT32)))


def compute_counts(inputs: Sequence[k.Tensor], a: ValidCountsAttrs, out: k.Result) -> tuple[k.Tensor, ...]:
    """Row after row, to the next free place."""
    x, threshold = inputs
    width = k.index(x.shape[2])

    def body(ins: list[Buffer], outs: list[Buffer]) -> Stmt:
        data, limit = ins
        count, rows, places = outs

        def look(b: k.Scalar, j: k.Scalar) -> Stmt:
            wanted = load(data, b, j, k.index(a.score_index)) > k.cast(x.dtype, load(limit))
            if a.id_index >= 0:
                wanted = k.tir.And(wanted, load(data, b, j, k.index(a.id_index)) >= k.const(0, x.dtype))

            def keep(at: k.Scalar) -> Stmt:
                row = loop(width, lambda c: store(rows, (b, at, c), load(data, b, j, c)), "c")
                number = store(count, (b,), k.cast(_INT, at) + k.const(1, _INT))
                return both(row, store(places, (b, at), k.cast(_INT, j)), number)

            return when(wanted, let("at", k.cast("int64", load(count, b)), keep))

        def batch(b: k.Scalar) -> Stmt:
            def blank(j: k.Scalar) -> Stmt:
                row = loop(width, lambda c: store(rows, (b, j, c), k.const(-1, x.dtype)), "c")
                return both(row, store(places, (b, j), k.const(-1, _INT)))

            start = both(store(count, (b,), k.const(0, _INT)), loop(x.shape[1], blank, "j"))
            return both(start, loop(x.shape[1], lambda j: look(b, j), "j"))

        return loops(x.shape[:1], batch, "b")

    shapes = [k.dims(x.shape[:1]), k.dims(x.shape), k.dims(x.shape[:2])]
    return externs(shapes, [x, threshold], body, "valid_counts", [_INT, x.dtype, _INT])


def reference_counts(inputs: Sequence[AnyArray], a: ValidCountsAttrs) -> tuple[AnyArray, ...]:
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


def relay_counts(
    make: OwnMaker, data: GraphExpr, score_threshold: Argument, id_index: int = 0, score_index: int = 1
) -> GraphExpr:
    """The threshold is an operand."""
    return make(data, as_scalar(make, score_threshold, "float32"), id_index=id_index, score_index=score_index)


def as_scalar(make: AnyMaker, value: Argument, dtype: str) -> Argument:
    """A number as a constant; an expression as it is."""
    return make.const(value, dtype) if isinstance(value, (int, float)) else value


def sampled_boxes() -> Arr:
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


GET_VALID_COUNTS = OpDef(
    "vision.get_valid_counts",
    ValidCountsAttrs,
    inputs=(Input("data"), Input("score_threshold", "a scalar")),
    outputs=3,
    infer=infer_counts,
    compute=compute_counts,
    reference=reference_counts,
    gradient=NotApplicable("Relay does not offer it"),
    fusion=Fusion.OPAQUE,
    in_relax=False,
    relay_builder=relay_counts,
    samples=lambda: (
        Sample((sampled_boxes(), Arr((), values=0.45)), ValidCountsAttrs()),
        Sample((sampled_boxes(), Arr((), values=0.0)), ValidCountsAttrs(id_index=-1)),
    ),
    summary="Move valid boxes to the front; returns their number, the boxes and their original positions.",
)
