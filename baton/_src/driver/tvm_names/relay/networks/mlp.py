"""A multilayer perceptron with 128 and 64 hidden units."""

from __future__ import annotations

from typing import Any

from baton._src.driver.tvm_names.relay.networks.layers import dense_add_bias
from baton._src.driver.tvm_names.relay.networks.workload import create_workload
from baton._src.ir.module import IRModule
from baton._src.ops.builders import RELAY
from baton._src.relay.analysis import free_vars
from baton._src.relay.nodes import Function, var
from baton._src.values.tensor import NDArray

_OPS: Any = RELAY


def get_net(
    batch_size: int, num_classes: int = 10, image_shape: tuple[int, ...] = (1, 28, 28), dtype: str = "float32"
) -> Function:
    """Probabilities of `num_classes` for `data` of shape (batch_size, *image_shape)."""
    data = _OPS.nn.batch_flatten(var("data", shape=(batch_size, *image_shape), dtype=dtype))
    hidden = _OPS.nn.relu(dense_add_bias(data, units=128, name="fc1"))
    hidden = _OPS.nn.relu(dense_add_bias(hidden, units=64, name="fc2"))
    output = _OPS.nn.softmax(dense_add_bias(hidden, units=num_classes, name="fc3"))
    return Function(free_vars(output), output)


def get_workload(
    batch_size: int, num_classes: int = 10, image_shape: tuple[int, ...] = (1, 28, 28), dtype: str = "float32"
) -> tuple[IRModule, dict[str, NDArray]]:
    """The network as a module, and its parameters."""
    return create_workload(get_net(batch_size, num_classes, image_shape, dtype))
