"""Batches of sequences: sequence_mask (blank what lies behind the end), reverse_sequence (turn the valid part around).

    sequence_mask     out[t, b, ...] = data[t, b, ...] if t < valid_length[b] else mask_value           (axis 0)
    reverse_sequence  out[t, b, ...] = data[len[b] - 1 - t if t < len[b] else t, b, ...]                (seq 0, batch 1)

Source: facts relax-ops-passes-vm §1, relay-language §6 levels 3 and 10.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from baton._src.ir.attrs import Attrs, attr, attrs
from baton._src.ir.op_def import Definition, Fusion, Input, OpCall, OpDef
from baton._src.ir.tensor_info import Info
from baton._src.ops import kernel_words as k
from baton._src.ops.axes import from_front, normal_axis
from baton._src.ops.dims import DimMath, show_shape
from baton._src.ops.fill_values import as_element, check_fill
from baton._src.ops.operand_checks import check_integers, check_ranks
from baton._src.ops.precision import accumulator
from baton._src.ops.samples import Arr, Sample
from baton._src.values.dtype import INT64, DataType
from baton._src.values.tensor import AnyArray


@attrs
class MaskAttrs(Attrs):
    """The mask value, and the time axis."""

    mask_value: float = attr(0.0, "the value of masked elements")
    axis: int = attr(0, "the time axis, 0 or 1; the batch axis is the other")


def infer_mask(call: OpCall[MaskAttrs]) -> Info:
    """The data itself."""
    x, lengths = call.tensor(0), call.tensor(1)
    if call.attrs.axis not in (0, 1):
        call.fail(f"axis must be 0 or 1, got {call.attrs.axis}", code="op-attribute")
    check_fill(call, "mask_value", call.attrs.mask_value, x.dtype)
    if 0 <= x.ndim < 2:
        call.fail(f"the data needs an axis of time and one of the batch, got {show_shape(x.shape, x.ndim)}")
    check_ranks(call, None, 1)
    if x.shape is not None and lengths.shape is not None:
        batch = x.shape[1 - call.attrs.axis]
        if DimMath(call.prover).equal(batch, lengths.shape[0]) is False:
            call.fail(f"{lengths.shape[0]} lengths for a batch of {batch} sequences")
    return x


def compute_mask(inputs: Sequence[k.Tensor], a: MaskAttrs, out: k.Result) -> k.Tensor:
    """A comparison an element."""
    x, lengths = inputs
    behind = k.const(as_element(a.mask_value, x.dtype), x.dtype)
    counted = accumulator(lengths.dtype) if lengths.dtype.is_float else INT64

    def body(*i: k.Scalar) -> k.Scalar:
        valid = k.cast(counted, i[a.axis]) < k.cast(counted, lengths(i[1 - a.axis]))
        return k.select(valid, x(*i), behind)

    return k.compute(out.shape, body, "T_sequence_mask", axes="ax")


def _valid(x: AnyArray, lengths: AnyArray, axis: int) -> AnyArray:
    """Which elements are valid."""
    time = np.arange(x.shape[axis])
    valid = time[:, None] < lengths[None, :] if axis == 0 else time[None, :] < lengths[:, None]
    return valid.reshape(*valid.shape, *(1,) * (x.ndim - 2))


def reference_mask(inputs: Sequence[AnyArray], a: MaskAttrs) -> AnyArray:
    """`numpy.where`."""
    x, lengths = inputs
    return np.where(_valid(x, lengths, a.axis), x, np.asarray(as_element(a.mask_value, DataType(x.dtype)), x.dtype))


SEQUENCE_MASK = OpDef(
    "sequence_mask",
    MaskAttrs,
    inputs=(Input("data"), Input("valid_length", "one length per sequence")),
    infer=infer_mask,
    compute=compute_mask,
    reference=reference_mask,
    gradient=lambda b, args, a, out, grad: [b.op("sequence_mask", grad, args[1], axis=a.axis), None],
    fusion=Fusion.INJECTIVE,
    in_relax=False,
    samples=lambda: (
        Sample((Arr((5, "n", 2)), Arr(("n",), "int32", 0, 6)), MaskAttrs(mask_value=-1.0)),
        Sample((Arr(("n", 5)), Arr(("n",), "int64", 0, 6)), MaskAttrs(axis=1)),
    ),
    summary="Mask the elements beyond the length of each sequence.",
)


@attrs
class ReverseAttrs(Attrs):
    """The time and batch axes."""

    seq_axis: int = attr(1, "the time axis")
    batch_axis: int = attr(0, "the batch axis")


def infer_reverse(call: OpCall[ReverseAttrs]) -> Info:
    """The data itself."""
    x, lengths = call.tensor(0), call.tensor(1)
    if x.ndim >= 0:
        time, batch = (
            normal_axis(call, a, x.ndim, n)
            for a, n in ((call.attrs.seq_axis, "seq_axis"), (call.attrs.batch_axis, "batch_axis"))
        )
        if time == batch:
            call.fail(f"seq_axis and batch_axis are both {time}", code="op-axis")
        if x.shape is not None and lengths.shape is not None and len(lengths.shape) == 1:
            if call.prover.equal(x.shape[batch], lengths.shape[0]) is False:
                call.fail(f"{lengths.shape[0]} lengths for a batch of {x.shape[batch]} sequences")
    check_ranks(call, None, 1)
    check_integers(call, 1)
    return x


def compute_reverse(inputs: Sequence[k.Tensor], a: ReverseAttrs, out: k.Result) -> k.Tensor:
    """Time counted from the end of the sequence. A length that is none is taken as an index, which is out of range."""
    x, lengths = inputs
    time, batch = from_front(a.seq_axis, x.ndim), from_front(a.batch_axis, x.ndim)

    def body(*i: k.Scalar) -> k.Scalar:
        end = k.cast("int64", lengths(i[batch]))
        t = k.select(i[time] < end, end - k.index(1) - i[time], k.select(end < k.index(0), end, i[time]))
        return x(*(t if n == time else j for n, j in enumerate(i)))

    return k.compute(out.shape, body, "T_reverse_sequence", axes="ax")


def reference_reverse(inputs: Sequence[AnyArray], a: ReverseAttrs) -> AnyArray:
    """Sequence by sequence."""
    x, lengths = inputs
    for length in lengths:
        if not 0 <= length <= x.shape[a.seq_axis] and x.size:
            raise IndexError(f"a sequence of length {length} on an axis of {x.shape[a.seq_axis]} elements")
    found = np.array(x)
    views = np.moveaxis(found, (a.batch_axis, a.seq_axis), (0, 1))
    sources = np.moveaxis(x, (a.batch_axis, a.seq_axis), (0, 1))
    for view, source, end in zip(views, sources, lengths):
        view[:end] = source[:end][::-1]
    return found


REVERSE_SEQUENCE = OpDef(
    "reverse_sequence",
    ReverseAttrs,
    inputs=(Input("data"), Input("seq_lengths", "one length per sequence")),
    infer=infer_reverse,
    compute=compute_reverse,
    reference=reference_reverse,
    gradient=lambda b, args, a, out, grad: [
        b.op("reverse_sequence", grad, args[1], seq_axis=a.seq_axis, batch_axis=a.batch_axis),
        None,
    ],
    fusion=Fusion.INJECTIVE,
    samples=lambda: (
        Sample((Arr(("n", 5, 2)), Arr(("n",), "int32", 0, 6)), ReverseAttrs()),
        Sample((Arr((5, "n")), Arr(("n",), "int64", 0, 6)), ReverseAttrs(seq_axis=0, batch_axis=-1)),
    ),
    summary="Reverse sequences of different lengths.",
)

SEQUENCES: tuple[Definition, ...] = (SEQUENCE_MASK, REVERSE_SEQUENCE)
