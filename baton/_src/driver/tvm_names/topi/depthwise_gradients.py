"""`tvm.topi.nn`: gradients of depthwise convolutions, NHWC."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from baton._src.driver.tvm_names.topi.apply import number_of
from baton._src.driver.tvm_names.topi.convolutions import CONVOLUTIONS
from baton._src.support.diagnostics import fail
from baton._src.te.computation import placeholder
from baton._src.te.gradient import gradient
from baton._src.te.tensor import Tensor


def depthwise_conv2d_backward_input_nhwc(
    Filter: Tensor, Out_grad: Tensor, oshape: Any, ishape: Any, stride: Any, padding: Any
) -> Any:
    """The gradient of a depthwise convolution by its data of shape `ishape`; filter (h, w, channels, multiplier)."""
    data = placeholder(tuple(ishape), Out_grad.dtype, "data")
    return _of_depthwise(data, Filter, Out_grad, oshape, stride, padding, by=data)


def depthwise_conv2d_backward_weight_nhwc(
    Input: Tensor, Out_grad: Tensor, oshape: Any, fshape: Any, stride: Any, padding: Any
) -> Any:
    """The gradient of a depthwise convolution by its filter of shape `fshape`."""
    weight = placeholder(tuple(fshape), Out_grad.dtype, "weight")
    return _of_depthwise(Input, weight, Out_grad, oshape, stride, padding, by=weight)


def _of_depthwise(
    data: Tensor, weight: Tensor, head: Tensor, oshape: Any, stride: Any, padding: Any, by: Tensor
) -> Any:
    """A convolution is linear in either operand: its gradient by one does not read that one."""
    out = CONVOLUTIONS["nn.depthwise_conv2d_nhwc"](data, weight, stride, padding, 1)
    shape = tuple(number_of(dim) for dim in out.shape)
    if shape != tuple(number_of(dim) for dim in oshape):
        raise fail("topi", f"the convolution's result has shape {shape}, but oshape is {tuple(oshape)}")
    return gradient(out, [by], head)[0]


DEPTHWISE_GRADIENTS: Mapping[str, Callable[..., Any]] = {
    "nn.depthwise_conv2d_backward_input_nhwc": depthwise_conv2d_backward_input_nhwc,
    "nn.depthwise_conv2d_backward_weight_nhwc": depthwise_conv2d_backward_weight_nhwc,
}
"""By names below `topi`."""
