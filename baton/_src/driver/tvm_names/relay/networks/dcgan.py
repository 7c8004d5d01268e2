"""The generator of DCGAN (Radford et al. 2015): pictures from random numbers by transposed convolutions."""

from __future__ import annotations

from typing import Any

from baton._src.driver.tvm_names.relay.networks.layers import batch_norm_infer, conv2d_transpose
from baton._src.driver.tvm_names.relay.networks.workload import create_workload
from baton._src.ir.module import IRModule
from baton._src.ops.builders import RELAY
from baton._src.relay.analysis import free_vars
from baton._src.relay.nodes import Function, var
from baton._src.support.diagnostics import fail
from baton._src.values.tensor import NDArray

_OPS: Any = RELAY


def get_net(
    batch_size: int,
    random_len: int = 100,
    oshape: tuple[int, int, int] = (3, 64, 64),
    ngf: int = 128,
    code: Any = None,
    layout: str = "NCHW",
    dtype: str = "float32",
) -> Function:
    """Pictures of shape `oshape`, which `layout` orders, from `code`: `data` of shape (batch_size, random_len)."""
    extents = dict(zip(layout[1:], oshape))
    if (extents["H"], extents["W"]) != (64, 64):
        raise fail("api", f"the generator makes 64x64 images, not {oshape} in {layout}")
    code = var("data", shape=(batch_size, random_len), dtype=dtype) if code is None else code
    net = _OPS.nn.dense(code, var("g1_weight"), units=16 * ngf * 8)
    first = {"N": -1, "C": ngf * 8, "H": 4, "W": 4}
    net = _normalised(_OPS.reshape(net, tuple(first[axis] for axis in layout)), "g1_bn", layout)
    for number, channels in enumerate((ngf * 4, ngf * 2, ngf), start=2):
        net = _normalised(_doubled(net, f"g{number}_deconv", channels, layout), f"g{number}_bn", layout)
    output = _OPS.tanh(_doubled(net, "g5_deconv", extents["C"], layout))
    return Function(free_vars(output), output)


def _normalised(data: Any, name: str, layout: str) -> Any:
    return _OPS.nn.relu(batch_norm_infer(data, name=name, axis=layout.index("C")))


def _doubled(data: Any, name: str, channels: int, layout: str) -> Any:
    """A transposed convolution that doubles height and width."""
    sizes = {"kernel_size": (4, 4), "strides": (2, 2), "padding": (1, 1)}
    kernel = "IOHW" if layout == "NCHW" else "HWOI"
    layouts = {"data_layout": layout, "kernel_layout": kernel}
    return conv2d_transpose(data, name=name, channels=channels, **sizes, **layouts)


def get_workload(
    batch_size: int, oshape: tuple[int, int, int] = (3, 64, 64), ngf: int = 128, random_len: int = 100,
    layout: str = "NCHW", dtype: str = "float32",
) -> tuple[IRModule, dict[str, NDArray]]:  # fmt: skip
    """The generator as a module, and its parameters."""
    return create_workload(get_net(batch_size, random_len, oshape, ngf, layout=layout, dtype=dtype))
