"""A small network with a bit of everything: two blocks, each of a dense and a convolutional path that are added.

What stands between real networks' layers (reshapes, a softmax, a normalisation, a bias) is there, too, so that passes
find something to do; it compiles and runs in no time.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from baton._src.driver.tvm_names.relay.networks.layers import batch_norm_infer
from baton._src.driver.tvm_names.relay.networks.workload import create_workload
from baton._src.ir.module import IRModule
from baton._src.ops.builders import RELAY
from baton._src.relay.analysis import free_vars
from baton._src.relay.nodes import Function, var
from baton._src.values.tensor import AnyArray, NDArray

_OPS: Any = RELAY
Shape = tuple[int, int, int, int]


def get_net(input_shape: Shape = (1, 3, 24, 12), dtype: str = "float32", wtype: str | None = None) -> Function:
    """`data` of `input_shape` (batch, channels, height, width) to a tensor of that shape; weights are of `wtype`
    (`dtype` if None)."""
    weights = wtype or dtype
    data = var("data", shape=input_shape, dtype=dtype)
    first = _block(data, data, "", input_shape, weights)
    biased = _OPS.nn.bias_add(first, var("bias", shape=(input_shape[1],), dtype=weights))
    second = _block(batch_norm_infer(biased, name="batch_norm"), data, "2", input_shape, weights)
    return Function(free_vars(second), second)


def _block(x: Any, like: Any, number: str, shape: Shape, dtype: str) -> Any:
    """A dense layer over the rows of the pictures, plus a convolution over them."""
    _, channels, _, width = shape
    dense_weight = var(f"dense{number}_weight", shape=(width, width), dtype=dtype)
    conv_weight = var(f"conv{number}_weight", shape=(channels, channels, 3, 3), dtype=dtype)
    rows = _OPS.nn.relu(_OPS.nn.dense(_OPS.reshape(x, (-1, width)), dense_weight))
    pictures = _OPS.nn.conv2d(x, conv_weight, padding=(1, 1), kernel_size=(3, 3), channels=channels)
    return _OPS.add(_OPS.reshape_like(rows, like), _OPS.nn.softmax(pictures))


def get_workload(
    input_shape: Shape = (1, 3, 24, 12), dtype: str = "float32", wtype: str | None = None
) -> tuple[IRModule, dict[str, NDArray]]:
    """The network as a module, and its parameters: the same numbers each time."""
    return create_workload(get_net(input_shape, dtype, wtype), _filled)


def _filled(name: str, target: AnyArray) -> None:
    """Every parameter in even steps, small enough to keep sums small."""
    target[...] = np.linspace(0.01, 0.1, target.size).reshape(target.shape)
