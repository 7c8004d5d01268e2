"""grad.take_backward: the gradient of `take` with respect to its data.

    grad, x, indices   ->   zeros like x, each part of grad added where it was taken from

Source: facts relax-ops-passes-vm §1 (grad).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from baton._src.ir.attrs import Attrs, attr, attrs
from baton._src.ir.op_def import Fusion, Input, NotApplicable, OpCall, OpDef
from baton._src.ir.tensor_info import Info
from baton._src.ops import kernel_words as k
from baton._src.ops.index.take import TakeAttrs, in_range
from baton._src.ops.index.take import infer as infer_take
from baton._src.ops.linalg.products import rounded
from baton._src.ops.loop_nests import both, load, loops, store
from baton._src.ops.operand_checks import check_operand
from baton._src.ops.precision import wide
from baton._src.ops.row_major import element_count, split_index
from baton._src.ops.samples import Arr, Sample
from baton._src.te.computation import extern
from baton._src.tir.buffer import Buffer
from baton._src.tir.stmt import Stmt
from baton._src.values.tensor import AnyArray


@attrs
class TakeBackwardAttrs(Attrs):
    """As `take`'s."""

    axis: int | None = attr(None, "the axis to index; None: the flattened tensor")
    mode: str = attr("clip", "indices outside", relay_only=True)


def infer(call: OpCall[TakeBackwardAttrs]) -> Info:
    """The shape of the data. The gradient has the shape of what is taken: it is read where that stands."""
    x, at = call.tensor(1), call.args[2]
    check_operand(
        call, 0, infer_take(OpCall(call.op, (x, at), TakeAttrs(call.attrs.axis), call.prover, span=call.span))
    )
    return x


def compute(inputs: tuple[k.Tensor, k.Tensor, k.Operand | int], a: TakeBackwardAttrs, out: k.Result) -> k.Tensor:
    """Zeros, with every part of the gradient added at the position it was taken from."""
    grad, x, at = inputs
    rank = at.ndim if isinstance(at, k.Tensor) else 0
    axis = None if a.axis is None else a.axis % x.ndim
    kept = k.sum_dtype(x.dtype)

    def body(ins: list[Buffer], outs: list[Buffer]) -> Stmt:
        source, result = ins[0], outs[0]

        def index(*i: k.Scalar) -> k.Scalar:
            value = load(ins[1], *i) if isinstance(at, k.Tensor) else at
            return in_range(value, element_count(x.shape) if axis is None else x.shape[axis], a.mode)

        def add(*i: k.Scalar) -> Stmt:
            if axis is None:
                where = split_index(index(*i), x.shape)
            else:
                where = [*i[:axis], index(*i[axis : axis + rank]), *i[axis + rank :]]
            return store(result, where, load(result, *where) + k.cast(kept, load(source, *i)))

        zeros = loops(x.shape, lambda *i: store(result, i, k.const(0, kept)))
        return both(zeros, loops(grad.shape, add, "u"))

    operands = [grad, at] if isinstance(at, k.Tensor) else [grad]
    return rounded(extern(tuple(x.shape), operands, body, "take_backward", kept), out.dtype)


def reference(inputs: Sequence[AnyArray], a: TakeBackwardAttrs) -> AnyArray:
    """`numpy.add.at`. Indices of a gradient without elements are not looked at, as `take` does not."""
    grad, x, at = inputs
    if not np.size(grad):
        return np.zeros_like(x)
    at = np.asarray(at).astype(np.int64)
    extent = x.size if a.axis is None else x.shape[a.axis]
    at = at % extent if a.mode == "wrap" else np.clip(at, 0, extent - 1)
    found = wide(np.zeros_like(x))
    if a.axis is None:
        np.add.at(found.reshape(-1), at, grad)
    else:
        axis = a.axis % x.ndim
        where: Any = (*(slice(None),) * axis, at)  # NumPy's stubs have no tuple of slices and arrays here
        np.add.at(found, where, grad)
    return found.astype(x.dtype)


TAKE_BACKWARD = OpDef(
    "grad.take_backward",
    TakeBackwardAttrs,
    inputs=(Input("output_grad"), Input("x"), Input("indices")),
    infer=infer,
    compute=compute,
    reference=reference,
    gradient=NotApplicable("is a gradient itself"),
    fusion=Fusion.OPAQUE,
    samples=lambda: (
        Sample((Arr((2, 5, "m")), Arr((4, "m")), Arr((2, 5), "int64", 0, 4)), TakeBackwardAttrs(axis=0)),
        Sample((Arr((3, 2)), Arr((3, 4)), Arr((2,), "int32", 0, 4)), TakeBackwardAttrs(axis=-1)),
        Sample((Arr((5,)), Arr((3, 4)), Arr((5,), "int32", 0, 12)), TakeBackwardAttrs()),
    ),
    summary="The gradient of take with respect to its data.",
)
