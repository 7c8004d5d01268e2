"""The network of deep Q-learning (Mnih et al. 2015): values of actions from four frames of a game."""

from __future__ import annotations

from typing import Any

from baton._src.driver.tvm_names.relay.networks.layers import conv2d, dense_add_bias
from baton._src.driver.tvm_names.relay.networks.workload import create_workload
from baton._src.ir.module import IRModule
from baton._src.ops.builders import RELAY
from baton._src.relay.analysis import free_vars
from baton._src.relay.nodes import Function, var
from baton._src.values.tensor import NDArray

_OPS: Any = RELAY
_LAYERS = ((32, 8, 4), (64, 4, 2), (64, 3, 1))
"""Channels, kernel and stride of each convolution (Mnih et al. 2015, methods)."""


def get_net(
    batch_size: int,
    num_actions: int = 18,
    image_shape: tuple[int, ...] = (4, 84, 84),
    dtype: str = "float32",
    layout: str = "NCHW",
) -> Function:
    """Values of `num_actions` for `data` of shape (batch_size, *image_shape), in `layout`."""
    net: Any = var("data", shape=(batch_size, *image_shape), dtype=dtype)
    kernels = "HWIO" if layout == "NHWC" else "OIHW"
    for number, (channels, size, stride) in enumerate(_LAYERS, start=1):
        sizes = {"channels": channels, "kernel_size": (size, size), "strides": (stride, stride)}
        net = conv2d(net, name=f"conv{number}", data_layout=layout, kernel_layout=kernels, **sizes)
        net = _OPS.nn.relu(_OPS.nn.bias_add(net, var(f"conv{number}_bias"), axis=layout.index("C")))
    net = _OPS.nn.relu(dense_add_bias(_OPS.nn.batch_flatten(net), units=512, name="dense1"))
    output = dense_add_bias(net, units=num_actions, name="dense2")
    return Function(free_vars(output), output)


def get_workload(
    batch_size: int,
    num_actions: int = 18,
    image_shape: tuple[int, ...] = (4, 84, 84),
    dtype: str = "float32",
    layout: str = "NCHW",
) -> tuple[IRModule, dict[str, NDArray]]:
    """The network as a module, and its parameters."""
    return create_workload(get_net(batch_size, num_actions, image_shape, dtype, layout))
