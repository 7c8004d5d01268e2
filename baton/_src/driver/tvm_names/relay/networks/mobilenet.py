"""MobileNet v1 (Howard et al. 2017): depthwise separable convolutions."""

from __future__ import annotations

from typing import Any

from baton._src.driver.tvm_names.relay.networks.layers import (
    batch_norm_infer,
    classifier,
    conv2d,
    conv_kernel_layout,
)
from baton._src.driver.tvm_names.relay.networks.workload import create_workload
from baton._src.ir.module import IRModule
from baton._src.ops.builders import RELAY
from baton._src.relay.analysis import free_vars
from baton._src.relay.nodes import Expr, Function, var
from baton._src.values.tensor import NDArray

_OPS: Any = RELAY
_FIRST = ((64, False), (128, True), (128, False), (256, True), (256, False))
_DEEP = ((512, True), *((512, False),) * 5, (1024, True), (1024, False))
_SHALLOW = ((512, True), (1024, True), (1024, False))
"""Channels of each separable convolution, and whether it halves height and width."""


def _normalised(data: Any, name: str, epsilon: float, layout: str) -> Expr:
    found: Expr = _OPS.nn.relu(batch_norm_infer(data, name=name, epsilon=epsilon, axis=layout.index("C")))
    return found


def conv_block(
    data: Any,
    name: str,
    channels: int,
    kernel_size: tuple[int, int] = (3, 3),
    strides: tuple[int, int] = (1, 1),
    padding: tuple[int, int] = (1, 1),
    epsilon: float = 1e-5,
    layout: str = "NCHW",
) -> Expr:
    """A convolution, normalised and rectified."""
    sizes = {"channels": channels, "kernel_size": kernel_size, "strides": strides, "padding": padding}
    layouts = {"data_layout": layout, "kernel_layout": conv_kernel_layout(layout)}
    return _normalised(conv2d(data, name=f"{name}_conv", **sizes, **layouts), f"{name}_bn", epsilon, layout)


def separable_conv_block(
    data: Any,
    name: str,
    depthwise_channels: int,
    pointwise_channels: int,
    kernel_size: tuple[int, int] = (3, 3),
    downsample: bool = False,
    padding: tuple[int, int] = (1, 1),
    epsilon: float = 1e-5,
    layout: str = "NCHW",
    dtype: str = "float32",
) -> Expr:
    """A convolution of each channel by itself, then one of each place; both normalised and rectified."""
    strides = (2, 2) if downsample else (1, 1)
    sizes = {"channels": depthwise_channels, "groups": depthwise_channels, "kernel_size": kernel_size}
    layouts = {"data_layout": layout, "kernel_layout": conv_kernel_layout(layout, is_depthwise=True)}
    weight = _depthwise_weight(f"{name}_weight", depthwise_channels, kernel_size, layout, dtype)
    apart = conv2d(data, weight, f"{name}_depthwise_conv1", strides=strides, padding=padding, **sizes, **layouts)
    inner = _normalised(apart, f"{name}_bn1", epsilon, layout)
    layouts = {"data_layout": layout, "kernel_layout": conv_kernel_layout(layout)}
    mixed = conv2d(inner, name=f"{name}_conv2", channels=pointwise_channels, kernel_size=(1, 1), **layouts)
    return _normalised(mixed, f"{name}_bn2", epsilon, layout)


def _depthwise_weight(name: str, channels: int, kernel_size: tuple[int, int], layout: str, dtype: str) -> Any:
    shape = (channels, 1, *kernel_size) if layout == "NCHW" else (*kernel_size, channels, 1)
    return var(name, shape=shape, dtype=dtype)


def mobile_net(
    num_classes: int = 1000,
    data_shape: tuple[int, ...] = (1, 3, 224, 224),
    dtype: str = "float32",
    alpha: float = 1.0,
    is_shallow: bool = False,
    layout: str = "NCHW",
) -> Function:
    """Probabilities of `num_classes` for `data` of shape `data_shape`; `alpha` times as many channels, and fewer
    layers of 512 with `is_shallow`."""
    inner = round(32 * alpha)
    net: Any = conv_block(
        var("data", shape=data_shape, dtype=dtype), "conv_block_1", inner, strides=(2, 2), layout=layout
    )
    for number, (channels, halves) in enumerate((*_FIRST, *(_SHALLOW if is_shallow else _DEEP)), start=1):
        outer = round(channels * alpha)
        name = f"separable_conv_block_{number}"
        net = separable_conv_block(net, name, inner, outer, downsample=halves, layout=layout, dtype=dtype)
        inner = outer
    output = classifier(net, num_classes, layout=layout)
    return Function(free_vars(output), output)


def get_net(
    batch_size: int, num_classes: int = 1000, image_shape: tuple[int, ...] = (3, 224, 224), dtype: str = "float32",
    layout: str = "NCHW",
) -> Function:  # fmt: skip
    """Probabilities of `num_classes` for `data` of shape (batch_size, *image_shape)."""
    return mobile_net(num_classes, (batch_size, *image_shape), dtype, layout=layout)


def get_workload(
    batch_size: int = 1, num_classes: int = 1000, image_shape: tuple[int, ...] = (3, 224, 224), dtype: str = "float32",
    layout: str = "NCHW",
) -> tuple[IRModule, dict[str, NDArray]]:  # fmt: skip
    """The network as a module, and its parameters."""
    return create_workload(get_net(batch_size, num_classes, image_shape, dtype, layout))
