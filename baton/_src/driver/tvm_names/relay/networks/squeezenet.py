"""SqueezeNet (Iandola et al. 2016), versions 1.0 and 1.1: fire modules, no dense layer."""

from __future__ import annotations

from typing import Any

from baton._src.driver.tvm_names.relay.networks.layers import conv2d
from baton._src.driver.tvm_names.relay.networks.workload import create_workload
from baton._src.ir.module import IRModule
from baton._src.ops.builders import RELAY
from baton._src.relay.analysis import free_vars
from baton._src.relay.nodes import Function, var
from baton._src.support.diagnostics import fail
from baton._src.values.tensor import NDArray

_OPS: Any = RELAY
_PLANS = {"1.0": (96, 7, (0, 3, 7)), "1.1": (64, 3, (0, 2, 4))}
"""Channels and kernel of the first convolution, and the fire modules with a pooling before them."""


def _conv(data: Any, name: str, channels: int, kernel: int, stride: int = 1, padding: int = 0) -> Any:
    sizes = {"channels": channels, "kernel_size": (kernel, kernel)}
    made = conv2d(data, name=name, strides=(stride, stride), padding=(padding, padding), **sizes)
    return _OPS.nn.relu(_OPS.nn.bias_add(made, var(f"{name}_bias")))


def _fire(data: Any, name: str, squeezed: int) -> Any:
    """Few channels, then four times as many by 1x1 and by 3x3 kernels, side by side."""
    net = _conv(data, f"{name}_squeeze1x1", squeezed, 1)
    sides = (_conv(net, f"{name}_expand1x1", squeezed * 4, 1), _conv(net, f"{name}_expand3x3", squeezed * 4, 3, 1, 1))
    return _OPS.concatenate(sides, axis=1)


def get_net(
    batch_size: int,
    image_shape: tuple[int, ...] = (3, 224, 224),
    num_classes: int = 1000,
    version: str = "1.0",
    dtype: str = "float32",
) -> Function:
    """Probabilities of `num_classes` for `data` of shape (batch_size, *image_shape)."""
    data = var("data", shape=(batch_size, *image_shape), dtype=dtype)
    plan = _PLANS.get(str(version))
    if plan is None:
        raise fail("api", f"there is no SqueezeNet {version}", help="1.0 or 1.1")
    channels, kernel, pools = plan
    net = _conv(data, "conv1", channels, kernel, stride=2, padding=0)
    for index, squeezed in enumerate((16, 16, 32, 32, 48, 48, 64, 64)):
        if index in pools:
            net = _OPS.nn.max_pool2d(net, pool_size=(3, 3), strides=(2, 2))
        net = _fire(net, f"fire{index + 2}", squeezed)
    net = _conv(_OPS.nn.dropout(net, rate=0.5), "conv10", num_classes, 1)
    output = _OPS.nn.softmax(_OPS.nn.batch_flatten(_OPS.nn.global_avg_pool2d(net)))
    return Function(free_vars(output), output)


def get_workload(
    batch_size: int = 1,
    num_classes: int = 1000,
    version: str = "1.0",
    image_shape: tuple[int, ...] = (3, 224, 224),
    dtype: str = "float32",
) -> tuple[IRModule, dict[str, NDArray]]:
    """The network as a module, and its parameters."""
    return create_workload(get_net(batch_size, image_shape, num_classes, version, dtype))
