"""Layouts that cut a spatial axis into blocks ("NCHW4h") are refused: windows move along whole axes."""

from __future__ import annotations

import pytest

import baton
from baton import relay
from baton._src.support.diagnostics import DiagnosticError

X = relay.var("x", shape=(1, 4, 2, 8, 4))
W = relay.var("w", shape=(8, 4, 3, 3))


@pytest.mark.parametrize(
    "call",
    [
        lambda: relay.nn.max_pool2d(X, pool_size=(2, 2), strides=(2, 2), layout="NCHW4h"),
        lambda: relay.nn.avg_pool2d(X, pool_size=(2, 2), layout="NCHW4w"),
        lambda: relay.nn.conv2d(X, W, data_layout="NCHW4h"),
        lambda: relay.nn.depth_to_space(X, 2, layout="NCHW4h"),
    ],
    ids=["max_pool2d", "avg_pool2d", "conv2d", "depth_to_space"],
)
def test_a_spatial_axis_in_blocks_is_refused(call):
    with pytest.raises(DiagnosticError, match=r"cuts the axis [HW] into blocks"):
        relay.transform.InferType()(baton.IRModule.from_expr(relay.Function([X, W], call())))


def test_channels_in_blocks_are_taken():
    call = relay.nn.max_pool2d(relay.var("x", shape=(1, 2, 8, 8, 4)), pool_size=(2, 2), strides=(2, 2), layout="NCHW4c")
    assert relay.transform.InferTypeLocal(call).concrete_shape == (1, 2, 4, 4, 4)
