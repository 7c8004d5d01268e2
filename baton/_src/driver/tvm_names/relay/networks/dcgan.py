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
    dtype: str = "float32",
) -> Function:
    """Pictures of shape `oshape` from `data` of shape (batch_size, random_len)."""
    if tuple(oshape[1:]) != (64, 64):
        raise fail("api", f"the generator makes 64x64 images, not {oshape}")
    net = _OPS.nn.dense(var("data", shape=(batch_size, random_len), dtype=dtype), var("g1_weight"), units=16 * ngf * 8)
    net = _OPS.reshape(net, (-1, ngf * 8, 4, 4))
    net = _OPS.nn.relu(batch_norm_infer(net, name="g1_bn"))
    for number, channels in enumerate((ngf * 4, ngf * 2, ngf), start=2):
        net = _OPS.nn.relu(batch_norm_infer(_doubled(net, f"g{number}_deconv", channels), name=f"g{number}_bn"))
    output = _OPS.tanh(_doubled(net, "g5_deconv", oshape[0]))
    return Function(free_vars(output), output)


def _doubled(data: Any, name: str, channels: int) -> Any:
    """A transposed convolution that doubles height and width."""
    sizes = {"kernel_size": (4, 4), "strides": (2, 2), "padding": (1, 1)}
    return conv2d_transpose(data, name=name, channels=channels, **sizes)


def get_workload(
    batch_size: int, oshape: tuple[int, int, int] = (3, 64, 64), ngf: int = 128, random_len: int = 100,
    dtype: str = "float32",
) -> tuple[IRModule, dict[str, NDArray]]:  # fmt: skip
    """The generator as a module, and its parameters."""
    return create_workload(get_net(batch_size, random_len, oshape, ngf, dtype))
