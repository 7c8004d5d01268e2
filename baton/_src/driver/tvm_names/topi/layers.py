"""`tvm.topi.nn` where its names or the order of its arguments are its own: dense layers, normalisation, borders."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from baton._src.driver.tvm_names.topi.apply import call, number_of, shape_of
from baton._src.driver.tvm_names.topi.parameter_names import with_layouts_as_given
from baton._src.driver.tvm_names.topi.tagging import with_tag
from baton._src.ir.expr import PrimExpr
from baton._src.te.computation import compute
from baton._src.te.tag import PAD_TAG
from baton._src.te.tensor import Tensor
from baton._src.tir.builders.scalar_functions import if_then_else
from baton._src.tir.operators import all as all_of
from baton._src.tir.operators import const


def dense(
    data: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    out_dtype: Any = None,
) -> Any:
    """data weightᵀ (+ bias)"""
    return _biased(with_tag(call("nn.dense", data, weight, out_dtype=out_dtype or data.dtype), "dense"), bias)


def matmul(
    tensor_a: Tensor,
    tensor_b: Tensor,
    bias: Tensor | None = None,
    out_dtype: Any = None,
    transpose_a: bool = False,
    transpose_b: bool = False,
) -> Any:
    """A product of matrices (+ bias)."""
    options = {"transpose_a": transpose_a, "transpose_b": transpose_b, "out_dtype": out_dtype or tensor_a.dtype}
    product = with_tag(
        call("nn.matmul", tensor_a, tensor_b, **options), "dense" if transpose_b and not transpose_a else "matmul"
    )
    return _biased(product, bias)


def dense_pack(data: Tensor, weight: Tensor, bias: Tensor | None = None, out_dtype: Any = None) -> Any:
    """A dense layer with a weight in blocks of units: its last extent."""
    layout = f"NC{shape_of(weight)[2]}n"
    options = {"weight_layout": layout, "out_dtype": out_dtype or data.dtype}
    return _biased(with_tag(call("nn.contrib_dense_pack", data, weight, **options), "dense_pack"), bias)


def _biased(product: Any, bias: Tensor | None) -> Any:
    return product if bias is None else call("add", product, call("astype", bias, dtype=product.dtype))


def batch_matmul(
    tensor_a: Tensor,
    tensor_b: Tensor,
    oshape: Any = None,
    out_dtype: Any = None,
    transpose_a: bool = False,
    transpose_b: bool = True,
) -> Any:
    """A product of matrices, batch by batch; the shape of the result is known from the operands."""
    options = {"transpose_a": transpose_a, "transpose_b": transpose_b, "out_dtype": out_dtype or tensor_a.dtype}
    return with_tag(call("nn.batch_matmul", tensor_a, tensor_b, **options), "batch_matmul")


def flatten(data: Tensor) -> Any:
    """(rows, everything else)"""
    return call("nn.batch_flatten", data)


def _scale_shift(layout: str) -> Callable[..., Any]:
    axis = layout.index("C")

    def function(Input: Tensor, Scale: Tensor, Shift: Tensor) -> Any:
        """Input * Scale + Shift, both vectors of one number for each channel."""
        after = tuple(range(1, len(layout) - axis))
        scale, shift = (call("expand_dims", v, axis=after) if after else v for v in (Scale, Shift))
        return call("add", call("multiply", Input, scale), shift)

    return function


def scale_shift_nchwc(Input: Tensor, Scale: Tensor, Shift: Tensor) -> Any:
    """Input * Scale + Shift of channels in blocks: (n, c / b, h, w, b) by (c / b, b)."""
    scale, shift = (call("expand_dims", v, axis=(1, 2)) for v in (Scale, Shift))
    return call("add", call("multiply", Input, scale), shift)


def softmax_common(x: Tensor, axis: int, use_fast_exp: bool) -> Any:
    """softmax or fast_softmax."""
    return call("nn.fast_softmax" if use_fast_exp else "nn.softmax", x, axis=axis)


def pad(
    data: Tensor,
    pad_before: Any,
    pad_after: Any = None,
    pad_value: Any = 0.0,
    name: str = "PadInput",
    attrs: Any = None,
) -> Any:
    """A border of a number; its widths may be expressions."""
    widths = [number_of(w) for w in (*pad_before, *(pad_before if pad_after is None else pad_after))]
    if not all(isinstance(w, int) for w in widths):
        return _pad_of_open_widths(data, widths[: data.ndim], widths[data.ndim :], pad_value, name)
    return call("nn.pad", data, pad_width=_widths(pad_before, pad_after), pad_value=float(pad_value))


def _pad_of_open_widths(data: Tensor, before: list[Any], after: list[Any], pad_value: Any, name: str) -> Any:
    shape = [extent + low + high for extent, low, high in zip(data.shape, before, after)]
    outside = pad_value if isinstance(pad_value, PrimExpr) else const(pad_value, data.dtype)

    def element(*at: Any) -> Any:
        places = [i - low for i, low in zip(at, before)]
        inside = all_of(*(c for i, extent in zip(places, data.shape) for c in (i >= 0, i < extent)))
        return if_then_else(inside, data(*places), outside)

    return compute(shape, element, name, tag=PAD_TAG)


def mirror_pad(
    data: Tensor, pad_before: Any, pad_after: Any = None, mode: str = "SYMMETRIC", name: str = "MirrorPadInput"
) -> Any:
    """Pad by mirroring the data at its borders."""
    return call("nn.mirror_pad", data, pad_width=_widths(pad_before, pad_after), mode=mode)


def _widths(before: Any, after: Any) -> list[int]:
    return [int(w) for pair in zip(before, before if after is None else after) for w in pair]


def dilate(data: Tensor, strides: Any, dilation_value: float = 0.0, name: str = "DilatedInput") -> Any:
    """Elements with others between them."""
    return call("nn.dilate", data, strides=strides, dilation_value=dilation_value)


def leaky_relu(x: Tensor, alpha: float) -> Any:
    """alpha * x below 0."""
    return call("nn.leaky_relu", x, alpha=alpha)


def lrn(data: Tensor, size: int, axis: int = 1, alpha: float = 0.0001, beta: float = 0.75, bias: float = 2.0) -> Any:
    """Local response normalisation."""
    return call("nn.lrn", data, size=size, axis=axis, alpha=alpha, beta=beta, bias=bias)


def layer_norm(data: Tensor, gamma: Tensor, beta: Tensor, axis: Any, epsilon: float = 1e-5) -> Any:
    """Normalised over axes."""
    return call("nn.layer_norm", data, gamma, beta, axes=axes_of(axis), epsilon=epsilon)


def instance_norm(data: Tensor, gamma: Tensor, beta: Tensor, axis: Any, epsilon: float = 1e-5) -> Any:
    """Normalised over axes, channels in axis 1."""
    return call("nn.instance_norm", data, gamma, beta, channel_axis=1, axes=axes_of(axis), epsilon=epsilon)


def group_norm(
    data: Tensor, gamma: Tensor, beta: Tensor, num_groups: int, channel_axis: int, axes: Any, epsilon: float = 1e-5
) -> Any:
    """Normalised over groups of channels and axes."""
    options = {"num_groups": num_groups, "channel_axis": channel_axis, "axes": axes_of(axes), "epsilon": epsilon}
    return call("nn.group_norm", data, gamma, beta, **options)


def rms_norm(data: Tensor, weight: Tensor, axis: Any, epsilon: float = 1e-5) -> Any:
    """Divided by the root of the mean square over axes."""
    return call("nn.rms_norm", data, weight, axes=axes_of(axis), epsilon=epsilon)


def axes_of(axis: Any) -> tuple[int, ...]:
    """One axis or several, as a tuple."""
    return (axis,) if isinstance(axis, int) else tuple(axis)


def batch_norm(
    data: Tensor,
    gamma: Tensor,
    beta: Tensor,
    moving_mean: Tensor,
    moving_var: Tensor,
    axis: int | None = None,
    epsilon: float | None = None,
    center: bool | None = None,
    scale: bool | None = None,
    training: bool | None = None,
    momentum: float | None = None,
) -> Any:
    """[normalised data, mean, variance]; what is left out is 1, 1e-5, True, True, False, 0.1."""
    given = {"axis": axis, "epsilon": epsilon, "center": center, "scale": scale}
    given |= {"training": training, "momentum": momentum}
    operands = (data, gamma, beta, moving_mean, moving_var)
    options = {"training": False, **{n: v for n, v in given.items() if v is not None}}
    return list(call("nn.batch_norm", *operands, **options))


def upsampling(
    data: Tensor,
    scale_h: float,
    scale_w: float,
    layout: str = "NCHW",
    method: str = "nearest_neighbor",
    align_corners: bool = False,
    output_shape: Any = None,
) -> Any:
    """Larger images; `output_shape` follows from the scales."""
    options = {"layout": layout, "method": method, "align_corners": align_corners}
    return call("nn.upsampling", data, scale_h=scale_h, scale_w=scale_w, **options)


def space_to_batch_nd(data: Tensor, block_shape: Any, pad_before: Any, pad_after: Any, pad_value: float = 0.0) -> Any:
    """Blocks of space become images."""
    paddings = [list(pair) for pair in zip(pad_before, pad_after)]
    return call("nn.space_to_batch_nd", data, block_shape=block_shape, paddings=paddings, pad_value=pad_value)


def batch_to_space_nd(data: Tensor, block_shape: Any, crop_begin_list: Any, crop_end_list: Any) -> Any:
    """Images become blocks of space."""
    crops = [list(pair) for pair in zip(crop_begin_list, crop_end_list)]
    return call("nn.batch_to_space_nd", data, block_shape=block_shape, crops=crops)


_WRITTEN: tuple[Callable[..., Any], ...] = (
    *(dense_pack, flatten, scale_shift_nchwc, softmax_common, pad, mirror_pad, dilate, leaky_relu, lrn, layer_norm),
    *(instance_norm, group_norm, rms_norm, batch_norm, upsampling, space_to_batch_nd, batch_to_space_nd),
)
LAYERS: Mapping[str, Callable[..., Any]] = {
    **{f"nn.{f.__name__}": with_layouts_as_given(f) for f in (dense, matmul, batch_matmul)},
    "nn.scale_shift_nchw": _scale_shift("NCHW"),
    "nn.scale_shift_nhwc": _scale_shift("NHWC"),
    **{f"nn.{function.__name__}": function for function in _WRITTEN},
}
"""Layers of topi.nn that are no convolutions, by their names below `topi`."""
