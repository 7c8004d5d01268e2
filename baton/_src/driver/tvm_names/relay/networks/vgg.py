"""VGG (Simonyan and Zisserman 2014): 11 to 19 layers of 3x3 convolutions, optionally normalised."""

from __future__ import annotations

from collections.abc import Sequence
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
_COUNTS = {11: (1, 1, 2, 2, 2), 13: (2, 2, 2, 2, 2), 16: (2, 2, 3, 3, 3), 19: (2, 2, 4, 4, 4)}
"""Convolutions in each stage, by the number of layers."""


def get_feature(internal_layer: Any, layers: Sequence[int], filters: Sequence[int], batch_norm: bool = False) -> Any:
    """So many convolutions of so many channels, stage by stage, each stage halving height and width."""
    net = internal_layer
    for stage, (count, channels) in enumerate(zip(layers, filters, strict=True), start=1):
        for number in range(1, count + 1):
            name = f"conv{stage}_{number}"
            made = conv2d(net, name=name, channels=channels, kernel_size=(3, 3), padding=(1, 1))
            made = _OPS.nn.bias_add(made, var(f"{name}_bias"))
            net = _OPS.nn.relu(batch_norm_infer(made, name=f"bn{stage}_{number}") if batch_norm else made)
        net = _OPS.nn.max_pool2d(net, pool_size=(2, 2), strides=(2, 2))
    return net


def get_classifier(input_data: Any, num_classes: int) -> Any:
    """Dense layers of what `get_feature` gives, without the softmax."""
    net = _OPS.nn.batch_flatten(input_data)
    for name in ("fc6", "fc7"):
        net = _OPS.nn.dropout(_OPS.nn.relu(dense_add_bias(net, units=4096, name=name)), rate=0.5)
    return dense_add_bias(net, units=num_classes, name="fc8")


def get_net(
    batch_size: int,
    image_shape: tuple[int, ...] = (3, 224, 224),
    num_classes: int = 1000,
    dtype: str = "float32",
    num_layers: int = 11,
    batch_norm: bool = False,
) -> Function:
    """Probabilities of `num_classes` for `data` of shape (batch_size, *image_shape)."""
    data = var("data", shape=(batch_size, *image_shape), dtype=dtype)
    counts = _COUNTS.get(num_layers)
    if counts is None:
        raise fail("api", f"there is no VGG of {num_layers} layers", help=f"one of {sorted(_COUNTS)}")
    net = get_feature(data, counts, (64, 128, 256, 512, 512), batch_norm)
    output = _OPS.nn.softmax(get_classifier(net, num_classes))
    return Function(free_vars(output), output)


def get_workload(
    batch_size: int = 1,
    num_classes: int = 1000,
    image_shape: tuple[int, ...] = (3, 224, 224),
    dtype: str = "float32",
    num_layers: int = 11,
    batch_norm: bool = False,
) -> tuple[IRModule, dict[str, NDArray]]:
    """The network as a module, and its parameters."""
    return create_workload(
        get_net(batch_size, image_shape, num_classes, dtype, num_layers=num_layers, batch_norm=batch_norm)
    )
