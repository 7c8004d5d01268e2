"""DenseNet (Huang et al. 2016): each layer of a block sees the outputs of all layers before it."""

from __future__ import annotations

from typing import Any

from baton._src.driver.tvm_names.relay.networks.layers import batch_norm_infer, conv2d, dense_add_bias
from baton._src.driver.tvm_names.relay.networks.workload import create_workload
from baton._src.ir.module import IRModule
from baton._src.ops.builders import RELAY
from baton._src.relay.analysis import free_vars
from baton._src.relay.nodes import Function, var
from baton._src.support.diagnostics import fail
from baton._src.values.tensor import NDArray

_OPS: Any = RELAY
_PLANS: dict[int, tuple[int, int, tuple[int, ...]]] = {
    121: (64, 32, (6, 12, 24, 16)),
    161: (96, 48, (6, 12, 36, 24)),
    169: (64, 32, (6, 12, 32, 32)),
    201: (64, 32, (6, 12, 48, 32)),
}
"""First channels, growth rate and layers of each block (Huang et al. 2016, table 1)."""


def _activated(data: Any, name: str) -> Any:
    return _OPS.nn.relu(batch_norm_infer(data, name=name))


def _layer(data: Any, growth: int, bottleneck: int, name: str) -> Any:
    """The data, and `growth` channels more."""
    narrow = conv2d(
        _activated(data, f"{name}_bn1"), name=f"{name}_conv1", channels=bottleneck * growth, kernel_size=(1, 1)
    )
    sizes = {"channels": growth, "kernel_size": (3, 3), "padding": (1, 1)}
    return _OPS.concatenate([data, conv2d(_activated(narrow, f"{name}_bn2"), name=f"{name}_conv2", **sizes)], axis=1)


def get_net(
    densenet_size: int = 121,
    classes: int = 1000,
    batch_size: int = 4,
    image_shape: tuple[int, ...] = (3, 224, 224),
    dtype: str = "float32",
    bottleneck: int = 4,
) -> Function:
    """Scores of `classes` for `data` of shape (batch_size, *image_shape)."""
    if densenet_size not in _PLANS:
        raise fail(
            "api", f"there is no DenseNet of {densenet_size} layers", help=f"one of {', '.join(map(str, _PLANS))}"
        )
    channels, growth, counts = _PLANS[densenet_size]
    data = var("data", shape=(batch_size, *image_shape), dtype=dtype)
    net = conv2d(data, name="conv1", channels=channels, kernel_size=(7, 7), strides=(2, 2), padding=(3, 3))
    net = _OPS.nn.max_pool2d(_activated(net, "batch1"), pool_size=(3, 3), strides=(2, 2), padding=(1, 1))
    for block, count in enumerate(counts, start=1):
        for layer in range(count):
            net = _layer(net, growth, bottleneck, f"block{block}_layer{layer + 1}")
        channels += count * growth
        if block < len(counts):
            channels //= 2
            net = conv2d(
                _activated(net, f"tran{block}_bn"), name=f"tran{block}_conv", channels=channels, kernel_size=(1, 1)
            )
            net = _OPS.nn.avg_pool2d(net, pool_size=(2, 2), strides=(2, 2))
    net = _OPS.nn.batch_flatten(_OPS.nn.global_avg_pool2d(_activated(net, "batch5")))
    output = dense_add_bias(net, units=classes, name="dense1")
    return Function(free_vars(output), output)


def get_workload(
    densenet_size: int = 121,
    classes: int = 1000,
    batch_size: int = 4,
    image_shape: tuple[int, ...] = (3, 224, 224),
    dtype: str = "float32",
) -> tuple[IRModule, dict[str, NDArray]]:
    """The network as a module, and its parameters."""
    return create_workload(get_net(densenet_size, classes, batch_size, image_shape, dtype))
