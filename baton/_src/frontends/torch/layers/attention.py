"""Scaled dot-product attention, as products and a softmax that the compiler fuses again."""

from __future__ import annotations

import math

from baton._src.frontends.graph_builder.value import Value
from baton._src.frontends.torch.node import AtenNode, Converter
from baton._src.ir.expr import PrimExpr
from baton._src.ir.tensor_info import Dim
from baton._src.values.dtype import DataType


def attention(
    node: AtenNode, query: Value, key: Value, value: Value, mask: Value | None, dropout: float, is_causal: bool,
    *, scale: float | None = None, enable_gqa: bool = False,
) -> Value:  # fmt: skip
    """softmax(query keyᵀ * scale + mask) value; a mask of bools says which keys are seen, minus infinity hides one.

    Narrow floats are widened until the end, as PyTorch's kernels do: what they lose of a score, softmax raises e to.
    """
    if dropout:
        node.fail("dropout in attention is random", help="put the module into evaluation mode: model.eval()")
    g, size = node.graph, node.sizes(query)[-1]
    query, key, value = (node.widened(v) for v in (query, key, value))
    if enable_gqa:
        key, value = _shared(node, query, key), _shared(node, query, value)
    if scale is None:
        scale = 1 / math.sqrt(node.known(size, "the size of a head"))
    turned = g.transpose(key, (*range(key.rank - 2), key.rank - 1, key.rank - 2))
    scores = g.call("matmul", g.call("multiply", query, g.scalar(scale, query)), turned)
    masks = [causal_mask(node, query, key)] if is_causal else []
    biases = [_bias(node, m, scores.dtype) for m in (*masks, *([] if mask is None else [mask]))]
    for bias in biases:
        scores = g.call("add", scores, bias)
    weights = g.call("nn.softmax", scores, axis=scores.rank - 1)
    if mask is not None:
        weights = g.call("where", _without_keys(node, biases[-1]), g.scalar(0, weights), weights)
    return g.cast(g.call("matmul", weights, value), node.dtype)


def _shared(node: AtenNode, query: Value, x: Value) -> Value:
    """Fewer heads of keys than of queries: each serves as many queries, one behind the other."""
    heads, own = (node.known(node.sizes(v)[-3], "the number of heads") for v in (query, x))
    return x if heads == own else node.graph.call("repeat", x, repeats=heads // own, axis=x.rank - 3)


def causal_mask(node: AtenNode, query: Value, key: Value) -> Value:
    """Query i sees the keys 0 ... i."""
    g, rows, columns = node.graph, node.sizes(query)[-2], node.sizes(key)[-2]
    places = [_places(node, size) for size in (rows, columns)]
    return g.call("less_equal", places[1], g.reshape(places[0], (rows, 1)))


def _places(node: AtenNode, size: Dim) -> Value:
    stop = size if isinstance(size, PrimExpr) else int(size)
    return node.graph.call("arange", start=0, stop=stop, step=1, dtype="int64")


def _bias(node: AtenNode, mask: Value, dtype: DataType) -> Value:
    """What is added to scores."""
    g = node.graph
    if not mask.dtype.is_bool:
        return g.cast(mask, dtype)
    return g.call("where", mask, g.constant(0, dtype), g.constant(-math.inf, dtype))


def _without_keys(node: AtenNode, bias: Value) -> Value:
    """Which queries see no key: their weights are zero, not the NaN of a softmax of nothing."""
    g = node.graph
    return g.call("all", g.call("equal", bias, g.scalar(-math.inf, bias)), axis=(bias.rank - 1,), keepdims=True)


ATTENTION: dict[str, Converter] = {"aten.scaled_dot_product_attention.default": attention}
