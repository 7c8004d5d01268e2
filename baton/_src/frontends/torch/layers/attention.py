"""Scaled dot-product attention, as products and a softmax that the compiler fuses again."""

from __future__ import annotations

import math

from baton._src.frontends.graph_builder.value import Value
from baton._src.frontends.torch.node import AtenNode, Converter
from baton._src.ir.expr import PrimExpr
from baton._src.ir.tensor_info import Dim
from baton._src.values.dtype import FLOAT32


def attention(
    node: AtenNode, query: Value, key: Value, value: Value, mask: Value | None, dropout: float, is_causal: bool,
    *, scale: float | None = None, enable_gqa: bool = False,
) -> Value:  # fmt: skip
    """softmax(query keyᵀ * scale + mask) value; a mask of bools says which keys are seen.

    Narrow floats are widened until the end, as PyTorch's kernels do: what they lose of a score, softmax raises e to.
    """
    if dropout:
        node.fail("dropout in attention is random", help="put the module into evaluation mode: model.eval()")
    g, size = node.graph, node.sizes(query)[-1]
    query, key, value = (_widened(node, v) for v in (query, key, value))
    if enable_gqa:
        key, value = _shared(node, query, key), _shared(node, query, value)
    if scale is None:
        scale = 1 / math.sqrt(node.known(size, "the size of a head"))
    turned = g.transpose(key, (*range(key.rank - 2), key.rank - 1, key.rank - 2))
    scores = g.call("matmul", g.call("multiply", query, g.scalar(scale, query)), turned)
    if is_causal:
        scores = _hidden(node, scores, causal_mask(node, query, key))
    if mask is not None:
        scores = _hidden(node, scores, mask) if mask.dtype.is_bool else g.call("add", scores, _widened(node, mask))
    weights = g.call("nn.softmax", scores, axis=scores.rank - 1)
    return g.cast(g.call("matmul", _without_nan(node, weights, mask), value), node.dtype)


def _widened(node: AtenNode, x: Value) -> Value:
    return node.graph.cast(x, FLOAT32) if x.dtype.bits < 32 else x


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


def _hidden(node: AtenNode, scores: Value, seen: Value) -> Value:
    g = node.graph
    return g.call("where", seen, scores, g.scalar(-math.inf, scores))


def _without_nan(node: AtenNode, weights: Value, mask: Value | None) -> Value:
    """A query that a mask of bools lets see nothing has weights of zero."""
    if mask is None or not mask.dtype.is_bool:
        return weights
    g = node.graph
    return g.call("where", g.call("isnan", weights), g.scalar(0, weights), weights)


ATTENTION: dict[str, Converter] = {"aten.scaled_dot_product_attention.default": attention}
