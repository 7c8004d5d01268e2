"""ResNet for videos (Hara et al. 2018): the residual networks with three-dimensional convolutions."""

from __future__ import annotations

from typing import Any

from baton._src.driver.tvm_names.relay.networks.layers import batch_norm_infer, dense_add_bias
from baton._src.driver.tvm_names.relay.networks.workload import create_workload
from baton._src.ir.module import IRModule
from baton._src.ops.builders import RELAY
from baton._src.relay.analysis import free_vars
from baton._src.relay.nodes import Function, var
from baton._src.support.diagnostics import fail
from baton._src.values.tensor import NDArray

_OPS: Any = RELAY
_COUNTS = {10: (1, 1, 1, 1), 18: (2, 2, 2, 2), 34: (3, 4, 6, 3), 50: (3, 4, 6, 3), 101: (3, 4, 23, 3)}
"""Units in each stage, by the number of layers (Hara et al. 2018, table 1)."""


def _conv(data: Any, name: str, channels: int, kernel: int, stride: int) -> Any:
    sizes = {"kernel_size": (kernel,) * 3, "strides": (stride,) * 3, "padding": (kernel // 2,) * 3}
    return _OPS.nn.conv3d(data, var(f"{name}_weight"), channels=channels, **sizes)


def _unit(data: Any, channels: int, stride: int, keeps_shape: bool, name: str, bottleneck: bool) -> Any:
    """A residual unit: normalise, rectify, convolve, twice or (bottleneck) three times; plus the shortcut."""
    inner = channels // 4 if bottleneck else channels
    plan = (
        [(inner, 1, 1), (inner, 3, stride), (channels, 1, 1)] if bottleneck else [(inner, 3, stride), (channels, 3, 1)]
    )
    first = net = _OPS.nn.relu(batch_norm_infer(data, name=f"{name}_bn1"))
    for number, (width, kernel, step) in enumerate(plan, start=1):
        if number > 1:
            net = _OPS.nn.relu(batch_norm_infer(net, name=f"{name}_bn{number}"))
        net = _conv(net, f"{name}_conv{number}", width, kernel, step)
    return _OPS.add(net, data if keeps_shape else _conv(first, f"{name}_sc", channels, 1, stride))


def get_net(
    batch_size: int,
    num_classes: int = 1000,
    num_layers: int = 18,
    image_shape: tuple[int, ...] = (3, 16, 112, 112),
    layout: str = "NCDHW",
    dtype: str = "float32",
) -> Function:
    """Probabilities of `num_classes` for `data` of shape (batch_size, *image_shape)."""
    if layout != "NCDHW":
        raise fail("api", f"the network is written for NCDHW, not {layout}", help="ConvertLayout changes layouts")
    if num_layers not in _COUNTS:
        raise fail(
            "api", f"there is no 3D ResNet of {num_layers} layers", help=f"one of {', '.join(map(str, _COUNTS))}"
        )
    bottleneck = num_layers >= 50
    data = var("data", shape=(batch_size, *image_shape), dtype=dtype)
    sizes = {"kernel_size": (3, 7, 7), "strides": (1, 2, 2), "padding": (1, 3, 3)}
    net = _OPS.nn.conv3d(data, var("conv0_weight"), channels=64, **sizes)
    net = _OPS.nn.relu(batch_norm_infer(net, name="bn0"))
    net = _OPS.nn.max_pool3d(net, pool_size=(3, 3, 3), strides=(2, 2, 2), padding=(1, 1, 1))
    for stage, count in enumerate(_COUNTS[num_layers]):
        channels = 64 * 2**stage * (4 if bottleneck else 1)
        for unit in range(count):
            stride = 2 if unit == 0 and stage > 0 else 1
            keeps = unit > 0 or (stage == 0 and not bottleneck)
            net = _unit(net, channels, stride, keeps, f"stage{stage + 1}_unit{unit + 1}", bottleneck)
    net = _OPS.mean(_OPS.nn.relu(batch_norm_infer(net, name="bn1")), axis=(2, 3, 4))
    output = _OPS.nn.softmax(dense_add_bias(net, units=num_classes, name="fc1"))
    return Function(free_vars(output), output)


def get_workload(
    batch_size: int = 1,
    num_classes: int = 1000,
    num_layers: int = 18,
    image_shape: tuple[int, ...] = (3, 16, 112, 112),
    layout: str = "NCDHW",
    dtype: str = "float32",
) -> tuple[IRModule, dict[str, NDArray]]:
    """The network as a module, and its parameters."""
    return create_workload(get_net(batch_size, num_classes, num_layers, image_shape, layout, dtype))
