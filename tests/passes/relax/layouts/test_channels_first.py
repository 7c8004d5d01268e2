"""ChannelsFirst: the same numbers with transposes at the ends of a chain, and what it leaves alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from baton import relax, relay
from baton._src.ir.module import IRModule
from baton._src.ir.traverse import post_order
from baton._src.lower.relay_to_relax.module import lower
from baton._src.passes.pipelines import simplify
from baton._src.passes.relax.layouts.channels_first import ChannelsFirst
from baton._src.relax.nodes import Call
from baton._src.transform.passes import Sequential
from tests.passes.relax.evaluate import evaluate
from tests.passes.relax.programs import R, program, tensor, weights

LAST = {"data_layout": "NHWC", "kernel_layout": "HWIO"}


def test_a_chain() -> None:
    """Two convolutions, ReLU and pooling: one transpose on either side, all that is between with channels first."""

    def chain(bb: Any, x: Any) -> Any:
        y = bb.emit(R.nn.relu(bb.emit(R.nn.conv2d(x, weights(3, 3, 2, 4), padding=1, **LAST))))
        y = bb.emit(R.nn.conv2d(y, weights(3, 3, 1, 4), groups=4, data_layout="NHWC", kernel_layout="HWIO"))
        return R.nn.max_pool2d(y, pool_size=2, layout="NHWC")

    before = program([tensor("x", 2, 7, 6, 2)], chain)
    after = ChannelsFirst()(before)
    calls = [n for n in post_order(after["main"]) if isinstance(n, Call)]
    assert {n.attrs.data_layout for n in calls if n.op.name.endswith("conv2d")} == {"NCHW"}
    assert len([n for n in calls if n.op.name.endswith("permute_dims")]) == 4  # data, two weights, result
    x = np.random.default_rng(1).standard_normal((2, 7, 6, 2)).astype("float32")
    np.testing.assert_allclose(evaluate(after, "main", x), evaluate(before, "main", x), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("op", ["conv1d", "conv3d", "conv2d_transpose"])
def test_other_convolutions(op: str) -> None:
    letters = {"conv1d": "W", "conv3d": "DHW", "conv2d_transpose": "HW"}[op]
    channels = "OI" if "transpose" in op else "IO"
    count = len(letters)
    layouts = {"data_layout": f"N{letters}C", "kernel_layout": letters + channels}
    make, kernel = getattr(R.nn, op), weights(*(2,) * count, 3, 3)
    before = program([tensor("x", 1, *(4,) * count, 3)], lambda bb, x: make(x, kernel, **layouts))
    after = ChannelsFirst()(before)
    (attrs,) = [n.attrs for n in post_order(after["main"]) if isinstance(n, Call) and n.op.name.endswith(op)]
    assert attrs.data_layout == f"NC{letters}"
    x = np.random.default_rng(1).standard_normal((1, *(4,) * count, 3)).astype("float32")
    np.testing.assert_allclose(evaluate(after, "main", x), evaluate(before, "main", x), rtol=1e-4, atol=1e-5)


def test_convolutions_of_bytes() -> None:
    """Guards quantised networks, whose kernels multiply bytes four at a time only where channels come first."""
    kernel = np.random.default_rng(2).integers(-128, 128, (3, 3, 2, 3)).astype("int8")
    before = program(
        [tensor("x", 1, 5, 5, 2, dtype="int8")],
        lambda bb, x: R.nn.conv2d(x, relax.const(kernel), out_dtype="int32", **LAST),
    )
    after = ChannelsFirst()(before)
    (attrs,) = [n.attrs for n in post_order(after["main"]) if isinstance(n, Call) and n.op.name.endswith("conv2d")]
    assert attrs.data_layout == "NCHW"
    x = np.random.default_rng(1).integers(-128, 128, (1, 5, 5, 2)).astype("int8")
    np.testing.assert_array_equal(evaluate(after, "main", x), evaluate(before, "main", x))


@pytest.mark.parametrize("count", [1, 3])
def test_programs_without_dataflow_blocks(count: int) -> None:
    """Guards what Relay is lowered to, and plain functions: their convolutions kept channels last and ran ten times as
    long.
    """
    x = relay.var("x", shape=(1, 8, 8, 4))
    y = x
    for _ in range(count):
        y = relay.nn.conv2d(y, relay.const(np.ones((3, 3, 4, 4), "float32")), padding=(1, 1), **LAST)
    module = lower(relay.transform.InferType()(IRModule.from_expr(relay.Function([x], y))))
    after = Sequential(simplify())(module)
    convolutions = [n for n in post_order(after["main"]) if isinstance(n, Call) and n.op.name.endswith("conv2d")]
    assert len(convolutions) == count
    assert all(n.attrs.data_layout.startswith("NCHW") for n in convolutions)


def test_left_alone() -> None:
    """Channels first already."""
    params = [tensor("x", 1, 2, 5, 5), tensor("w", 3, 2, 3, 3)]
    before = program(params, lambda bb, x, w: R.nn.conv2d(x, w))
    assert ChannelsFirst()(before)["main"] is before["main"]
