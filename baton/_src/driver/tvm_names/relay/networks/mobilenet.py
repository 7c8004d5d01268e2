"""MobileNet v1 (Howard et al. 2017): convolutions of each channel, then of each place."""

from __future__ import annotations

from baton._src.driver.tvm_names.relay.networks.layers import classifier, conv_bn_relu
from baton._src.driver.tvm_names.relay.networks.workload import create_workload
from baton._src.ir.module import IRModule
from baton._src.relay.analysis import free_vars
from baton._src.relay.nodes import Function, var
from baton._src.values.tensor import NDArray

_BLOCKS = ((64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), *((512, 1),) * 5, (1024, 2), (1024, 1))
"""Channels and stride of each separable convolution."""


def get_net(
    batch_size: int, num_classes: int = 1000, image_shape: tuple[int, ...] = (3, 224, 224), dtype: str = "float32",
    layout: str = "NCHW",
) -> Function:  # fmt: skip
    """Probabilities of `num_classes` for `data` of shape (batch_size, *image_shape)."""
    data = var("data", shape=(batch_size, *image_shape), dtype=dtype)
    net = conv_bn_relu(data, "conv_block_1", 32, stride=2, layout=layout)
    inner = 32
    for index, (channels, stride) in enumerate(_BLOCKS):
        net = conv_bn_relu(net, f"separable_{index + 1}_depthwise", inner, stride=stride, layout=layout, groups=inner)
        net = conv_bn_relu(net, f"separable_{index + 1}_pointwise", channels, kernel=1, layout=layout)
        inner = channels
    output = classifier(net, num_classes, layout=layout)
    return Function(free_vars(output), output)


def get_workload(
    batch_size: int = 1, num_classes: int = 1000, image_shape: tuple[int, ...] = (3, 224, 224), dtype: str = "float32",
    layout: str = "NCHW",
) -> tuple[IRModule, dict[str, NDArray]]:  # fmt: skip
    """The network as a module, and its parameters."""
    return create_workload(get_net(batch_size, num_classes, image_shape, dtype, layout))
