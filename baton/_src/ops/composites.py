"""Functions that users call like operators, but that only compose them: no `OpDef`, no name of their own in a program.

Relax: linear, masked_fill. Relay: mean_variance, mean_std, logsumexp, segment_sum, reverse_reshape, nn.dropout_raw,
nn.get_pad_tuple1d (2d, 3d), nn.contrib_conv2d_nchwc, random.threefry_key. Each takes the namespace of its language
first.
Source: facts relax-ops-passes-vm §1, relay-language §6 level 4.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from baton._src.ops.arguments import relay_constant
from baton._src.ops.namespace import Namespace
from baton._src.ops.op_builder import Given
from baton._src.ops.positional import by_name
from baton._src.ops.random.threefry_bits import threefry_key
from baton._src.ops.tuple_wrapper import TupleWrapper
from baton._src.ops.windows import Numbers, both_sides
from baton._src.relay import nodes as relay
from baton._src.support.diagnostics import fail


def linear(op: Namespace, data: Given, weight: Given, bias: Given = None, out_dtype: object = None) -> Any:
    """data wᵀ (+ bias): weight is (out_features, in_features)."""
    found = op.matmul(data, op.permute_dims(weight), out_dtype=out_dtype)
    return found if bias is None else op.add(found, bias)


def masked_fill(op: Namespace, x: Given, mask: Given, value: Given) -> Any:
    """`value` where the mask holds, `x` elsewhere."""
    return op.where(mask, op.full_like(x, value), x)


def mean_variance(
    op: Namespace,
    data: Given,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
    exclude: bool = False,
    unbiased: bool = False,
) -> TupleWrapper:
    """(mean, variance) over axes."""
    options = {"axis": axis, "keepdims": keepdims, "exclude": exclude}
    return _pair(op.mean(data, **options), op.variance(data, **options, unbiased=unbiased))


def mean_std(
    op: Namespace,
    data: Given,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
    exclude: bool = False,
    unbiased: bool = False,
) -> TupleWrapper:
    """(mean, standard deviation) over axes."""
    options = {"axis": axis, "keepdims": keepdims, "exclude": exclude}
    return _pair(op.mean(data, **options), op.std(data, **options, unbiased=unbiased))


def _pair(first: relay.Expr, second: relay.Expr) -> TupleWrapper:
    return TupleWrapper(relay.Tuple((first, second)), 2)


def logsumexp(op: Namespace, data: Given, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> Any:
    """log(sum(exp(data))) over axes, whatever the size of the numbers."""
    top = op.max(data, axis=axis, keepdims=True)
    total = op.log(op.sum(op.exp(op.subtract(data, top)), axis=axis, keepdims=keepdims))
    return op.add(total, top if keepdims else op.squeeze(top, axis=axis))


def segment_sum(op: Namespace, data: Given, segment_ids: Given, num_segments: Given = None) -> Any:
    """Row s is the sum of the rows of `data` that `segment_ids` (one number a row) puts into segment s.

    `num_segments`: rows of the result, a number or a scalar tensor; if left out, one more than the greatest id: known
    where the ids are constant, else as many as a run has, which the virtual machine computes.
    """
    count = num_segments
    if num_segments is None and isinstance(segment_ids, relay.Constant):
        count = int(segment_ids.data.data.max(initial=-1)) + 1
    if isinstance(count, int):
        rows = relay_constant(np.zeros(count, "int32"))
        blank = op.take(op.zeros_like(data), rows, axis=0, mode="clip")
    else:
        blank = op.broadcast_to(op.cast_like(relay_constant(0), data), _segments(op, data, segment_ids, count))
    return op.scatter_nd(blank, op.expand_dims(segment_ids, 0), data, mode="add")


def _segments(op: Namespace, data: Given, segment_ids: Given, num_segments: Given) -> Any:
    """The shape of the result, computed by the program."""
    if num_segments is None:
        greatest = op.cast(op.max(segment_ids, axis=[0], keepdims=True), "int64")
        count = op.add(greatest, relay_constant(np.ones(1, "int64")))
    else:
        count = op.cast(op.reshape(num_segments, (1,)), "int64")
    row = op.strided_slice(op.shape_of(data, dtype="int64"), [1], [-1], slice_mode="size")
    return op.concatenate([count, row], axis=0)


def reverse_reshape(op: Namespace, data: Given, newshape: Given) -> Any:
    """reshape with the special values read from the right."""
    return op.contrib_reverse_reshape(data, newshape=newshape)


def dropout_raw(op: Namespace, data: Given, rate: float = 0.5) -> TupleWrapper:
    """(the data, the mask) of dropout."""
    call = op.nn.dropout(data, rate)
    return TupleWrapper(call.tuple_value, 2)


def relay_threefry_key(op: Namespace, seed: object) -> relay.Constant:
    """The key of a random generator, a constant. Raises `DiagnosticError` (`op-argument`) if the seed is no integer."""
    if not isinstance(seed, (int, np.integer)) or isinstance(seed, bool):
        help = "threefry_key(0)"
        raise fail("op-argument", f"threefry_key: the seed is an integer, got {type(seed).__name__}", help=help)
    return relay_constant(threefry_key(int(seed)))


def get_pad_tuple1d(op: Namespace, padding: Numbers) -> tuple[int, ...]:
    """(left, right) of a border given as one number, one in a tuple, or both."""
    return _sides(padding, 1)


def get_pad_tuple2d(op: Namespace, padding: Numbers) -> tuple[int, ...]:
    """(top, left, bottom, right) of a border given as one number, one an axis, or all four."""
    return _sides(padding, 2)


def get_pad_tuple3d(op: Namespace, padding: Numbers) -> tuple[int, ...]:
    """(front, top, left, back, bottom, right) of a border given as one number, one an axis, or all six."""
    return _sides(padding, 3)


def _sides(padding: Numbers, count: int) -> tuple[int, ...]:
    return both_sides(padding, count)


def contrib_conv2d_nchwc(op: Namespace, data: Given, kernel: Given, *geometry: object, **options: object) -> Any:
    """nn.contrib_conv2d_NCHWc under TVM's Python name, with its order and its layouts."""
    names = "strides padding dilation groups channels kernel_size data_layout kernel_layout out_layout out_dtype"
    given = {"data_layout": "NCHW8c", **by_name("nn.contrib_conv2d_nchwc", names.split(), geometry, options)}
    return op.nn.contrib_conv2d_NCHWc(data, kernel, **given)


RELAX_COMPOSITES: Mapping[str, Callable[..., Any]] = {
    "linear": linear,
    "masked_fill": masked_fill,
}
RELAY_COMPOSITES: Mapping[str, Callable[..., Any]] = {
    "mean_variance": mean_variance,
    "mean_std": mean_std,
    "logsumexp": logsumexp,
    "segment_sum": segment_sum,
    "reverse_reshape": reverse_reshape,
    "nn.dropout_raw": dropout_raw,
    "nn.get_pad_tuple1d": get_pad_tuple1d,
    "nn.get_pad_tuple2d": get_pad_tuple2d,
    "nn.get_pad_tuple3d": get_pad_tuple3d,
    "nn.contrib_conv2d_nchwc": contrib_conv2d_nchwc,
    "nn.contrib_depthwise_conv2d_nchwc": contrib_conv2d_nchwc,
    "random.threefry_key": relay_threefry_key,
}
