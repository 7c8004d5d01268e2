"""`relay.frontend.common`: what importers of users are written with."""

from __future__ import annotations

import numpy as np
import pytest

import baton
from baton import relay
from baton.relay.frontend import common


def test_types_shapes_and_channels() -> None:
    x, w = common.new_var("x", shape=(1, 3, 8, 8)), relay.var("w", shape=(4, 3, 3, 3))
    layer = relay.nn.conv2d(x, w)
    assert common.infer_shape(layer) == (1, 4, 6, 6)
    assert common.infer_shape(relay.Tuple([x, w]))[1] == (4, 3, 3, 3)
    assert str(common.infer_type(layer).checked_type) == "Tensor[(1, 4, 6, 6), float32]"
    assert (common.infer_channels(w), common.infer_channels(w, transpose=True)) == (4, 3)
    assert common.get_name(x) == "x"
    assert common.get_relay_op("conv2d") is common.get_relay_op("nn.conv2d")
    with pytest.raises(baton.DiagnosticError, match="conv9d"):
        common.get_relay_op("conv9d")


def test_values() -> None:
    x = relay.var("x", shape=(2,))
    expr = x + relay.const([1.0, 2.0])
    assert common.infer_value(expr, {"x": np.ones(2, "float32")}).numpy().tolist() == [2, 3]
    assert common.try_infer_value(expr) == (expr, False)
    found, known = common.try_infer_value(relay.const(2) * relay.const(3), on_success=int)
    assert (found, known) == (6, True)
    assert common.fold_constant(relay.const(2) * relay.const(3)).data.numpy() == 6
    assert common.to_int_list(np.int64([1, 2])) == [1, 2]


def test_layers_are_named_in_texts() -> None:
    """What was named before keeps its name."""
    x = relay.var("x", shape=(2,))
    first = common.set_span(relay.exp(x), "first")
    text = str(common.set_span(relay.tanh(first), "second"))
    assert "exp(%x) /* span=first:0:0 */" in text
    assert "tanh(%0) /* span=second:0:0 */" in text
