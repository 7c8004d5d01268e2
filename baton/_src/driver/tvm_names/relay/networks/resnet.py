"""ResNet (He et al. 2015, 2016): residual blocks with identity mappings; 18 to 152 layers, or small pictures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from baton._src.driver.tvm_names.relay.networks.layers import batch_norm_infer, classifier, conv2d, conv_kernel_layout
from baton._src.driver.tvm_names.relay.networks.workload import create_workload
from baton._src.ir.module import IRModule
from baton._src.ops.builders import RELAY
from baton._src.relay.analysis import free_vars
from baton._src.relay.nodes import Function, var
from baton._src.support.diagnostics import fail
from baton._src.values.tensor import NDArray

_OPS: Any = RELAY
_COUNTS = {
    18: (2, 2, 2, 2), 34: (3, 4, 6, 3), 50: (3, 4, 6, 3), 101: (3, 4, 23, 3), 152: (3, 8, 36, 3), 200: (3, 24, 36, 3),
}  # fmt: skip
"""Units in each stage, by the number of layers (He et al. 2015, table 1)."""


def _plan(num_layers: int, side: int) -> tuple[tuple[int, ...], tuple[int, ...], bool]:
    """Channels before and after each stage, units in each, and whether units are bottlenecks."""
    if side <= 32:
        bottleneck = num_layers >= 164
        units, rest = divmod(num_layers - 2, 9 if bottleneck else 6)
        if rest == 0 and units > 0:
            return ((16, 64, 128, 256) if bottleneck else (16, 16, 32, 64)), (units,) * 3, bottleneck
    if num_layers not in _COUNTS:
        raise fail("api", f"there is no ResNet of {num_layers} layers", help=f"one of {', '.join(map(str, _COUNTS))}")
    bottleneck = num_layers >= 50
    widths = (64, 256, 512, 1024, 2048) if bottleneck else (64, 64, 128, 256, 512)
    return widths, _COUNTS[num_layers], bottleneck


class _Layout:
    """The layers that go by channels, in one layout."""

    def __init__(self, layout: str, kernel_layout: str) -> None:
        self.layout = layout
        self._of_convolutions = {"data_layout": layout, "kernel_layout": kernel_layout}

    def conv2d(self, data: Any, **options: Any) -> Any:
        return conv2d(data, **self._of_convolutions, **options)

    def normalised(self, data: Any, name: str) -> Any:
        """Normalised and rectified."""
        return _OPS.nn.relu(batch_norm_infer(data, name=name, axis=self.layout.index("C")))


def residual_unit(
    data: Any,
    num_filter: int,
    stride: tuple[int, int],
    dim_match: bool,
    name: str,
    bottle_neck: bool = True,
    data_layout: str = "NCHW",
    kernel_layout: str = "OIHW",
) -> Any:
    """Normalise, rectify, convolve, twice or (`bottle_neck`) three times; plus the data, or if `dim_match` is False
    a convolution of it."""
    put = _Layout(data_layout, kernel_layout)
    first = put.normalised(data, f"{name}_bn1")
    inner = num_filter // 4 if bottle_neck else num_filter
    steps = [(inner, 1, (1, 1)), (inner, 3, stride), (num_filter, 1, (1, 1))] if bottle_neck else []
    net = first
    for number, (width, kernel, step) in enumerate(steps or [(inner, 3, stride), (num_filter, 3, (1, 1))], start=1):
        if number > 1:
            net = put.normalised(net, f"{name}_bn{number}")
        sizes = {"kernel_size": (kernel, kernel), "strides": step, "padding": (kernel // 2, kernel // 2)}
        net = put.conv2d(net, name=f"{name}_conv{number}", channels=width, **sizes)
    if dim_match:
        return net + data
    return net + put.conv2d(first, name=f"{name}_sc", channels=num_filter, kernel_size=(1, 1), strides=stride)


def resnet(
    units: Sequence[int],
    num_stages: int,
    filter_list: Sequence[int],
    num_classes: int,
    data_shape: tuple[int, ...],
    bottle_neck: bool = True,
    layout: str = "NCHW",
    dtype: str = "float32",
) -> Function:
    """Probabilities of `num_classes` for `data`; so many units in each stage, `filter_list` the channels before and
    after each."""
    if len(units) != num_stages or len(filter_list) != num_stages + 1:
        given = f"{len(units)} numbers of units and {len(filter_list)} of channels"
        raise fail("api", f"{num_stages} stages take as many numbers of units and one more of channels, not {given}")
    side = data_shape[layout.index("W")]
    kernels = conv_kernel_layout(layout)
    put = _Layout(layout, kernels)
    data = var("data", shape=data_shape, dtype=dtype)
    if side <= 32:
        net = put.conv2d(data, name="conv0", channels=filter_list[0], kernel_size=(3, 3), padding=(1, 1))
    else:
        sizes = {"kernel_size": (7, 7), "strides": (2, 2), "padding": (3, 3)}
        net = put.normalised(put.conv2d(data, name="conv0", channels=filter_list[0], **sizes), "bn0")
        net = _OPS.nn.max_pool2d(net, pool_size=(3, 3), strides=(2, 2), padding=(1, 1), layout=layout)
    for stage, count in enumerate(units):
        for unit in range(count):
            stride = (2, 2) if unit == 0 and stage > 0 else (1, 1)
            name = f"stage{stage + 1}_unit{unit + 1}"
            net = residual_unit(net, filter_list[stage + 1], stride, unit > 0, name, bottle_neck, layout, kernels)
    output = classifier(put.normalised(net, "bn1"), num_classes, name="fc1", layout=layout)
    return Function(free_vars(output), output)


def get_net(
    batch_size: int,
    num_classes: int = 1000,
    num_layers: int = 50,
    image_shape: tuple[int, ...] = (3, 224, 224),
    layout: str = "NCHW",
    dtype: str = "float32",
    **options: Any,
) -> Function:
    """Probabilities of `num_classes` for `data` of shape (batch_size, *image_shape), which `layout` orders."""
    widths, counts, bottleneck = _plan(num_layers, image_shape[layout.index("W") - 1])
    shape = (batch_size, *image_shape)
    return resnet(counts, len(counts), widths, num_classes, shape, bottleneck, layout, dtype)


def get_workload(
    batch_size: int = 1,
    num_classes: int = 1000,
    num_layers: int = 18,
    image_shape: tuple[int, ...] = (3, 224, 224),
    layout: str = "NCHW",
    dtype: str = "float32",
    **options: Any,
) -> tuple[IRModule, dict[str, NDArray]]:
    """The network as a module, and its parameters."""
    return create_workload(get_net(batch_size, num_classes, num_layers, image_shape, layout, dtype))
