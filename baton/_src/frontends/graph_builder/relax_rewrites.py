"""Express neutral operators that Relax lacks by its own."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from baton._src.frontends.graph_builder.graph import GraphBuilder
from baton._src.frontends.graph_builder.value import Value
from baton._src.tir.expr import AnyDim
from baton._src.values.dtype import INT64


def _bias_add(g: GraphBuilder, x: Value, bias: Value, axis: int = 1) -> Value:
    """Broadcasting lines up the last axes: the vector gets an axis of size 1 for each behind its own."""
    behind = x.rank - 1 - axis if axis >= 0 else -1 - axis
    if behind:
        bias = g.reshape(bias, (1,) * (axis % x.rank) + (bias.shape[0] if bias.shape else -1,) + (1,) * behind)
    return g.call("add", x, bias)


def _dyn_reshape(g: GraphBuilder, x: Value, shape: Value) -> Value:
    """The sizes that the shape means are computed as a tensor, and read: the reshape is then one to known sizes, which
    is free. Where too little is known, it is left for when the operands are there.
    """
    count = shape.shape[0] if shape.shape else None
    if x.shape is None or not isinstance(count, int) or any(isinstance(d, AnyDim) for d in x.shape):
        return g.call_many("dyn.reshape", x, shape)[0]
    given, one = g.cast(shape, INT64), g.constant(np.array([1], "int64"))
    there = g.dims([*x.shape, *[0] * count][:count])
    copied = g.call("where", g.call("equal", given, g.constant(np.array([0], "int64"))), there, given)
    is_open = g.call("equal", copied, g.constant(np.array([-1], "int64")))
    others = g.call("negative", g.call("prod", copied, axis=(0,), keepdims=True))  # there is one -1 among them
    total = g.dims([math.prod(x.shape)])
    rest = g.call("floor_divide", total, g.call("maximum", others, one))
    sizes = g.numbers(g.call("where", is_open, rest, copied))
    assert sizes is not None
    return g.reshape(x, list(sizes))


REWRITES: dict[str, Callable[..., Value]] = {"nn.bias_add": _bias_add, "dyn.reshape": _dyn_reshape}
