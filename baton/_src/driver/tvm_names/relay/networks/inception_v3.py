"""Inception v3 (Szegedy et al. 2015): blocks of parallel convolutions, large kernels as rows and columns."""

from __future__ import annotations

from typing import Any

from baton._src.driver.tvm_names.relay.networks.layers import batch_norm_infer, conv2d, dense_add_bias
from baton._src.driver.tvm_names.relay.networks.workload import create_workload
from baton._src.ir.module import IRModule
from baton._src.ops.builders import RELAY
from baton._src.relay.analysis import free_vars
from baton._src.relay.nodes import Function, var
from baton._src.values.tensor import NDArray

_OPS: Any = RELAY
Step = tuple[int, tuple[int, int]] | tuple[int, tuple[int, int], int]
"""Channels and kernel, at stride 1 with the size kept; or with a stride, at which nothing is padded."""


def _conv(data: Any, channels: int, kernel: tuple[int, int], name: str, stride: int = 1, padded: bool = True) -> Any:
    padding = (kernel[0] // 2, kernel[1] // 2) if padded else (0, 0)
    sizes = {"channels": channels, "kernel_size": kernel, "strides": (stride, stride), "padding": padding}
    return _OPS.nn.relu(batch_norm_infer(conv2d(data, name=f"{name}_conv", **sizes), name=f"{name}_bn"))


def _tower(data: Any, steps: tuple[Step, ...], name: str) -> Any:
    """Convolutions one after the other."""
    for number, step in enumerate(steps):
        stride = step[2] if len(step) == 3 else 1
        data = _conv(data, step[0], step[1], f"{name}_{number}", stride, padded=len(step) == 2)
    return data


def _block(data: Any, towers: tuple[tuple[Step, ...], ...], pooled: Any, name: str) -> Any:
    """Towers side by side, and a branch that pools."""
    parts = [_tower(data, steps, f"{name}_tower{i}") for i, steps in enumerate(towers)]
    return _OPS.concatenate([*parts, pooled], axis=1)


def _average(data: Any, channels: int, name: str) -> Any:
    pooled = _OPS.nn.avg_pool2d(data, (3, 3), strides=(1, 1), padding=(1, 1), count_include_pad=True)
    return _conv(pooled, channels, (1, 1), f"{name}_pool")


def _maximum(data: Any) -> Any:
    return _OPS.nn.max_pool2d(data, (3, 3), strides=(2, 2))


def _wide(data: Any, name: str) -> Any:
    """A block of the coarsest grid, whose towers end in a row and a column side by side."""
    second = _tower(data, ((384, (1, 1)),), f"{name}_tower1")
    third = _tower(data, ((448, (1, 1)), (384, (3, 3))), f"{name}_tower2")
    ends = [
        _conv(part, 384, kernel, f"{name}_{i}{kernel[0]}")
        for i, part in enumerate((second, third))
        for kernel in ((1, 3), (3, 1))
    ]
    first = _conv(data, 320, (1, 1), f"{name}_tower0")
    return _OPS.concatenate([first, *ends, _average(data, 192, name)], axis=1)


def _stem(data: Any) -> Any:
    """From 299x299 to 35x35."""
    net = _conv(data, 32, (3, 3), "conv", 2, padded=False)
    net = _conv(net, 32, (3, 3), "conv_1", padded=False)
    net = _maximum(_conv(net, 64, (3, 3), "conv_2"))
    net = _conv(net, 80, (1, 1), "conv_3")
    return _maximum(_conv(net, 192, (3, 3), "conv_4", padded=False))


def get_net(
    batch_size: int, num_classes: int = 1000, image_shape: tuple[int, ...] = (3, 299, 299), dtype: str = "float32"
) -> Function:
    """Probabilities of `num_classes` for `data` of shape (batch_size, *image_shape)."""
    net = _stem(var("data", shape=(batch_size, *image_shape), dtype=dtype))
    for number, pool in enumerate((32, 64, 64)):
        towers: Any = (((64, (1, 1)),), ((48, (1, 1)), (64, (5, 5))), ((64, (1, 1)), (96, (3, 3)), (96, (3, 3))))
        net = _block(net, towers, _average(net, pool, f"mixed_{number}"), f"mixed_{number}")
    towers = (((384, (3, 3), 2),), ((64, (1, 1)), (96, (3, 3)), (96, (3, 3), 2)))
    net = _block(net, towers, _maximum(net), "mixed_3")
    for number, c in enumerate((128, 160, 160, 192), start=4):
        row, column = (1, 7), (7, 1)
        twice = ((c, (1, 1)), (c, column), (c, row), (c, column), (192, row))
        towers = (((192, (1, 1)),), ((c, (1, 1)), (c, row), (192, column)), twice)
        net = _block(net, towers, _average(net, 192, f"mixed_{number}"), f"mixed_{number}")
    towers = (((192, (1, 1)), (320, (3, 3), 2)), ((192, (1, 1)), (192, (1, 7)), (192, (7, 1)), (192, (3, 3), 2)))
    net = _block(net, towers, _maximum(net), "mixed_8")
    for number in (9, 10):
        net = _wide(net, f"mixed_{number}")
    net = _OPS.nn.batch_flatten(_OPS.nn.global_avg_pool2d(net))
    output = _OPS.nn.softmax(dense_add_bias(net, units=num_classes, name="fc1"))
    return Function(free_vars(output), output)


def get_workload(
    batch_size: int = 1,
    num_classes: int = 1000,
    image_shape: tuple[int, ...] = (3, 299, 299),
    dtype: str = "float32",
) -> tuple[IRModule, dict[str, NDArray]]:
    """The network as a module, and its parameters."""
    return create_workload(get_net(batch_size, num_classes, image_shape, dtype))
