"""Mixtures of experts of the domain `com.microsoft`: a router chooses k experts for each token, small networks of two
layers, and mixes their results.

Every expert computes every token, in one batched matrix product, and results not chosen are dropped: the number of
tokens per expert is known only at run time. The rest follows onnxruntime's documentation of contributed operators.
"""

from __future__ import annotations

from baton._src.frontends.graph_builder.value import Value
from baton._src.frontends.onnx.microsoft.blocks import in_blocks, unpacked, zero_points
from baton._src.frontends.onnx.node import Converter, OnnxNode
from baton._src.frontends.onnx.tensors.elementwise import silu_of
from baton._src.values.dtype import INT64

Layer = tuple[Value | None, Value | None]
"""Weights (experts, outputs, inputs) and bias (experts, outputs)."""


def mixture(node: OnnxNode) -> Value:
    """tokens, router's logits, fc1, bias, fc2, bias, fc3, bias"""
    first, second, third = ((node.optional(k), node.optional(k + 1)) for k in (2, 4, 6))
    return _mixed(node, (first, second, third), None, bool(node.attr("normalize_routing_weights", 0)))


def quantised_mixture(node: OnnxNode) -> Value:
    """tokens, router's logits, three of (weights, scales, bias), their zero points, the router's weights

    Shares computed from the logits sum to 1 whatever `normalize_routing_weights` says, as in onnxruntime.
    """
    if str(node.attr("quant_type", "int")) != "int" or int(node.attr("weights_prepacked", -1)) == 1:
        node.fail("only integers as weights, in the order of their rows, are supported")
    if any(v is not None for v in node.inputs[15:]):
        node.fail("scales of inputs, and of whole experts, are not supported")
    first, second, third = ((_real(node, k), node.optional(2 + 3 * k + 2)) for k in range(3))
    shares = node.optional(14)
    return _mixed(
        node, (first, second, third), shares, shares is None or bool(node.attr("normalize_routing_weights", 0))
    )


def _real(node: OnnxNode, layer: int) -> Value | None:
    """The dequantised weights of layer 0, 1 or 2."""
    packed, scales, zeros = node.optional(2 + 3 * layer), node.optional(3 + 3 * layer), node.optional(11 + layer)
    if packed is None:
        return None
    if scales is None:
        node.fail(f"the weights of layer {layer + 1} have no scales")
    g, bits = node.graph, int(node.attr(f"fc{layer + 1}_expert_weight_bits", node.attr("expert_weight_bits", 4)))
    numbers = unpacked(node, packed, bits)
    if numbers.shape is None or scales.shape is None or not isinstance(numbers.shape[-1], int):
        node.fail("the shapes of its weights must be known", code="onnx-dynamic")
    points = zero_points(node, zeros, scales.shape, bits)
    if scales.rank == 2:  # one for each row
        scales = g.call("expand_dims", scales, axis=(2,))
        points = points if points.rank == 0 else g.call("expand_dims", points, axis=(2,))
        return in_blocks(node, numbers, scales, points, numbers.shape[-1])
    return in_blocks(node, numbers, scales, points, int(node.needed("block_size")))


def _mixed(node: OnnxNode, layers: tuple[Layer, Layer, Layer], shares: Value | None, normal: bool) -> Value:
    """The sum of the experts' results, weighted by the router's shares; `normal`: the shares of a token sum to 1."""
    g, x, (first, second, third) = node.graph, node[0], layers
    if x.shape is None:
        node.fail("the shape of its input must be known", code="onnx-dynamic")
    tokens = g.reshape(x, (1, -1, x.shape[-1]))
    inner = _activated(node, _layer(node, tokens, *first), None if third[0] is None else _layer(node, tokens, *third))
    found = _layer(node, inner, *second)  # (experts, tokens, hidden)
    taken, share = _routed(node, shares, normal)
    weighted = g.call("multiply", found, g.cast(share, found.dtype))
    kept = g.call("where", taken, weighted, g.scalar(0, found))  # no expert that was not asked spoils it by inf
    return g.reshape(g.cast(g.call("sum", kept, axis=(0,), keepdims=False), x.dtype), x.shape)


def _layer(node: OnnxNode, x: Value, weights: Value | None, bias: Value | None) -> Value:
    """(experts or 1, tokens, inputs) -> (experts, tokens, outputs)"""
    if weights is None:
        node.fail("the weights of a layer are missing")
    g = node.graph
    out = g.call("matmul", g.cast(x, weights.dtype), g.transpose(weights, (0, 2, 1)))
    return out if bias is None else g.call("add", out, g.cast(g.call("expand_dims", bias, axis=(1,)), out.dtype))


def _activated(node: OnnxNode, x: Value, linear: Value | None) -> Value:
    name, g = str(node.attr("activation_type", "relu")), node.graph
    if name == "swiglu":
        return _gated(node, *_halves(node, x, linear))
    if linear is not None:
        node.fail(f"a third layer goes with the activation 'swiglu', not {name!r}")
    operators = {"relu": "nn.relu", "gelu": "nn.gelu_tanh"}
    if name in ("identity", "silu"):
        return x if name == "identity" else silu_of(node, x)
    if name not in operators:
        node.fail(f"the activation {name!r} is not supported; relu, gelu, silu, swiglu and identity are")
    return g.call(operators[name], x)


def _halves(node: OnnxNode, x: Value, linear: Value | None) -> tuple[Value, Value]:
    """(gate, linear): two layers, or one whose columns alternate (`swiglu_fusion` 1) or are two halves (2)."""
    g, fusion = node.graph, int(node.attr("swiglu_fusion", 0))
    if (linear is None) is (fusion == 0):
        node.fail(f"swiglu_fusion {fusion} goes with {'a' if fusion == 0 else 'no'} third layer")
    if linear is not None:
        return x, linear
    if fusion == 2:
        gate, other = g.call_many("split", x, indices_or_sections=2, axis=2)
        return gate, other
    size = 0 if x.shape is None else x.shape[2]
    gate, other = (g.call("strided_slice", x, axes=(2,), begin=(start,), end=(size,), strides=(2,)) for start in (0, 1))
    return gate, other


def _gated(node: OnnxNode, gate: Value, linear: Value) -> Value:
    """gate * sigmoid(alpha * gate) * (linear + beta), both clamped"""
    g, limit = node.graph, float(node.attr("swiglu_limit", float("inf")))
    if limit != float("inf"):
        gate = g.call("minimum", gate, g.scalar(limit, gate))
        linear = g.call("clip", linear, min=-limit, max=limit)
    alpha, beta = float(node.attr("activation_alpha", 1.0)), float(node.attr("activation_beta", 0.0))
    opened = g.call("multiply", gate, g.call("sigmoid", g.call("multiply", gate, g.scalar(alpha, gate))))
    return g.call("multiply", opened, g.call("add", linear, g.scalar(beta, linear)))


def _routed(node: OnnxNode, shares: Value | None, normal: bool) -> tuple[Value, Value]:
    """(whether an expert is one of the token's k, its share), each (experts, tokens, 1)."""
    if node.attr("use_sparse_mixer", 0):
        node.fail("use_sparse_mixer is not supported")
    g, chance = node.graph, _chances(node, node[1])
    experts = None if chance.shape is None else chance.shape[-1]
    if not isinstance(experts, int):
        node.fail("the number of experts must be known", code="onnx-dynamic")
    _, best = g.call_many("topk", chance, k=int(node.attr("k", 1)), axis=1, ret_type="both", dtype=INT64)
    same = g.call("equal", g.call("expand_dims", best, axis=(2,)), g.constant(range(experts), INT64))
    taken = g.call("any", same, axis=(1,), keepdims=False)
    share = chance if shares is None else shares
    if normal:
        of_taken = g.call("where", taken, share, g.scalar(0, share))
        share = g.call("divide", share, g.call("sum", of_taken, axis=(1,), keepdims=True))
    taken, share = (g.call("expand_dims", g.transpose(v, (1, 0)), axis=(2,)) for v in (taken, share))
    return taken, share


def _chances(node: OnnxNode, logits: Value) -> Value:
    return node.graph.call("nn.softmax", node.graph.cast(logits, "float32"), axis=-1)


CONTRIB_EXPERTS: dict[str, Converter] = {"MoE": mixture, "QMoE": quantised_mixture}
