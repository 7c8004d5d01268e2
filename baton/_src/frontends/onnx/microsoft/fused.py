"""Operators of the domain `com.microsoft` that onnxruntime's optimizer writes into files, and its own operators that it
writes into ONNX's domain. Each follows onnxruntime's documentation of contributed operators.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from baton._src.frontends.graph_builder.value import Value
from baton._src.frontends.onnx.image.resize import grid_sample
from baton._src.frontends.onnx.nn.convolution import conv
from baton._src.frontends.onnx.nn.normalization import layer_normalization, rms_normalization
from baton._src.frontends.onnx.node import Converter, OnnxNode
from baton._src.frontends.onnx.tensors.creation import range_, trilu
from baton._src.frontends.onnx.tensors.elementwise import ELEMENTWISE, gelu, silu_of, swish
from baton._src.frontends.onnx.tensors.experimental import EXPERIMENTAL
from baton._src.frontends.onnx.tensors.index import gather_nd, unique
from baton._src.frontends.onnx.tensors.matrix import gemm, matmul
from baton._src.frontends.onnx.tensors.padding import pad
from baton._src.frontends.onnx.tensors.shape import unsqueeze
from baton._src.ir.tensor_info import TensorInfo
from baton._src.values.dtype import INT32, INT64


def derived(node: OnnxNode, *inputs: Value | None, **attributes: Any) -> OnnxNode:
    """The node rewritten as another operator with these operands and attributes, and one result."""
    return replace(node, inputs=list(inputs), attributes=attributes, outputs=node.outputs[:1])


def _biased(node: OnnxNode, index: int) -> Value:
    """Operand 0 plus the bias, operand `index`, if present."""
    bias = node.optional(index)
    return node[0] if bias is None else node.graph.call("add", node[0], bias)


def fast_gelu(node: OnnxNode) -> Value:
    return gelu(derived(node, _biased(node, 1), approximate="tanh"))


def bias_gelu(node: OnnxNode) -> Value:
    return gelu(derived(node, _biased(node, 1)))


def quick_gelu(node: OnnxNode) -> Value:
    """x * sigmoid(alpha * x)"""
    alpha = float(node.attr("alpha", 1.702))
    if alpha == 1.0:
        return silu_of(node, node[0])
    return swish(derived(node, node[0], alpha=alpha))


def fused_matmul(node: OnnxNode) -> Value:
    """alpha * A' B'. `transBatchA`: A is (m, batch..., k) instead of (batch..., m, k)."""
    g = node.graph
    a, b = (_transposed(node, node[i], name) for i, name in enumerate("AB"))
    out = matmul(derived(node, a, b))
    alpha = float(node.attr("alpha", 1.0))
    return out if alpha == 1.0 else g.call("multiply", out, g.scalar(alpha, out))


def _transposed(node: OnnxNode, x: Value, name: str) -> Value:
    if x.rank < 2:
        return x
    axes = list(range(x.rank))
    if node.attr(f"transBatch{name}", 0):
        axes = [*axes[1:-1], 0, axes[-1]]
    if node.attr(f"trans{name}", 0):
        axes[-2:] = axes[:-3:-1]
    return x if axes == sorted(axes) else node.graph.transpose(x, axes)


ACTIVATIONS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("HardSwish", "Relu", "Sigmoid", "Softplus", "Softsign", "Tanh"), ()),
    **dict.fromkeys(("Celu", "Elu", "LeakyRelu", "ThresholdedRelu"), ("alpha",)),
    **dict.fromkeys(("HardSigmoid", "ParametricSoftplus", "ScaledTanh"), ("alpha", "beta")),
    "Selu": ("alpha", "gamma"), "Clip": ("min", "max"),
}  # fmt: skip
"""ONNX's operators that others apply to their results, and the attributes that are their parameters, in order."""


def activated(node: OnnxNode, x: Value) -> Value:
    """`x` after the activation that the node names, whose parameters it gives by name, or in order."""
    name = str(node.attr("activation", ""))
    if not name:
        return x
    if name not in ACTIVATIONS:
        node.fail(f"the activation {name!r} is not supported", help=f"{', '.join(ACTIVATIONS)} are")
    numbers = dict(zip(ACTIVATIONS[name], node.attr("activation_params", ())))
    numbers |= {
        n: node.attributes[f"activation_{n}"] for n in ACTIVATIONS[name] if f"activation_{n}" in node.attributes
    }
    if name == "Clip" and len(numbers) < 2:
        node.fail("its activation Clip needs two numbers", help="activation_params=[min, max]")
    plain = replace(derived(node, x, **numbers), opset=10)  # when the bounds of Clip were attributes
    found = {**ELEMENTWISE, **EXPERIMENTAL}[name](plain)
    assert isinstance(found, Value)
    return found


def fused_gemm(node: OnnxNode) -> Value:
    return activated(node, gemm(node))


def fused_conv(node: OnnxNode) -> Value:
    """activation(conv(x, w) + bias + z)"""
    out = conv(node)
    z = node.optional(3)
    if z is not None:
        out = node.graph.call("add", out, z)
    return activated(node, out)


def simplified_layer_normalization(node: OnnxNode) -> Value:
    if any(node.outputs[1:]):
        node.fail("only the first result is supported")
    return rms_normalization(node)


def skip_normalization(gain: int, beta: int | None, bias: int) -> Converter:
    """input + skip + bias, normalised, and as the fourth result that sum. `gain`, `beta`, `bias`: operands."""

    def convert(node: OnnxNode) -> list[Value]:
        g = node.graph
        added = node.optional(bias)
        total = g.call("add", node[0], node[1])
        total = total if added is None else g.call("add", total, added)
        epsilon = float(node.attr("epsilon", 1e-12))
        wanted = node.outputs[:3]
        if beta is None:
            if any(wanted[1:]):
                node.fail("deviations as results are not supported")
            found = [rms_normalization(derived(node, total, node[gain], epsilon=epsilon))]
        else:
            normal = derived(node, total, node[gain], node.optional(beta), epsilon=epsilon)
            found = layer_normalization(replace(normal, outputs=wanted))
        return [*found, *[total] * (4 - len(found))]

    return convert


def embed_layer_normalization(node: OnnxNode) -> list[Value]:
    """input_ids, segment_ids, words, positions, segments, gamma, beta, mask, position_ids -> the normalised sum of the
    tables' rows, the number of words in each row, the sum.
    """
    g, ids = node.graph, node[0]
    if ids.shape is None:
        node.fail("the shape of its input must be known", code="onnx-dynamic")
    batch, length = ids.shape
    places = node.optional(8)
    if places is None:
        places = g.reshape(g.call("arange", start=0, stop=length, step=1, dtype=INT64), (1, length))
    total = g.call("add", *(g.call("take", x, i, axis=0, mode="fast") for x, i in ((node[2], ids), (node[3], places))))
    segments = node.optional(4)
    if segments is not None and node.optional(1) is not None:
        total = g.call("add", total, g.call("take", segments, node[1], axis=0, mode="fast"))
    epsilon = float(node.attr("epsilon", 1e-12))
    out = layer_normalization(derived(node, total, node[5], node[6], epsilon=epsilon))[0]
    mask = node.optional(7)
    count = g.broadcast_to(g.constant(0, INT32), (batch,))
    if mask is not None:
        count = g.cast(g.call("sum", g.cast(mask, INT32), axis=(1,), keepdims=False), INT32)
    return [out, count, total]


def cdist(node: OnnxNode) -> Value:
    """Distances of the rows of a (m, n) and b (k, n): (m, k)."""
    metric, g = str(node.attr("metric", "sqeuclidean")), node.graph
    if metric not in ("sqeuclidean", "euclidean"):
        node.fail(f"the metric {metric!r} is not supported; euclidean and sqeuclidean are")
    apart = g.call("subtract", g.call("expand_dims", node[0], axis=(1,)), node[1])
    squares = g.call("sum", g.call("multiply", apart, apart), axis=(2,), keepdims=False)
    return squares if metric == "sqeuclidean" else g.call("sqrt", squares)


def unique_in_order(node: OnnxNode) -> list[Value]:
    """(values in order of first occurrence, index of each element's value, counts)"""
    found = unique(derived(node, node[0], sorted=0))
    return [found[0], *found[2:]]


def any_range(node: OnnxNode) -> Value:
    step = node.optional(2)
    return range_(derived(node, node[0], node[1], step if step is not None else node.graph.scalar(1, node[0])))


def unfolded(node: OnnxNode) -> Value:
    """Windows of `size` elements of an axis, `step` apart: the axis then counts windows, and their elements are the
    last axis.
    """
    g, axis = node.graph, node.axis(-1, 0, "dim")
    size, step, shape = int(node.needed("size")), int(node.attr("step", 1)), node[0].shape
    if shape is None or size < 1 or step < 1:
        node.fail(f"windows of {size} elements, {step} apart, of {node[0]} are not supported")
    starts = g.call("arange", start=0, stop=shape[axis] - size + 1, step=step, dtype=INT64)
    places = g.call("add", g.call("expand_dims", starts, axis=(1,)), g.constant(range(size), INT64))
    windows = g.call("take", node[0], places, axis=axis, mode="fast")
    rest = [k for k in range(windows.rank) if k != axis + 1]
    return g.transpose(windows, (*rest, axis + 1))


def inverse(node: OnnxNode) -> Value:
    """The inverse of every matrix; the VM computes it, and reports singular ones."""
    x = node[0]
    if x.shape is None or x.rank < 2:
        node.fail(f"it takes matrices, not {x}", code="onnx-dynamic")
    rows, columns = x.shape[-2:]
    if isinstance(rows, int) and isinstance(columns, int) and rows != columns:
        node.fail(f"it takes square matrices, not {x}", code="op-shape")
    results = (x.info, TensorInfo(x.shape[:-2], INT32))
    return node.graph.packed("vm.builtin.matrices.inverse", x, node.title, results=results)[0]


CONTRIB: dict[str, Converter] = {
    "Gelu": gelu, "FastGelu": fast_gelu, "BiasGelu": bias_gelu, "QuickGelu": quick_gelu,
    "FusedMatMul": fused_matmul, "FusedGemm": fused_gemm, "FusedConv": fused_conv,
    "SkipLayerNormalization": skip_normalization(2, 3, 4),
    "SkipSimplifiedLayerNormalization": skip_normalization(2, None, 3), "TransposeMatMul": fused_matmul,
    "EmbedLayerNormalization": embed_layer_normalization, "CDist": cdist, "ExpandDims": unsqueeze, "Trilu": trilu,
    "Range": any_range, "Unique": unique_in_order, "GatherND": gather_nd, "Pad": pad,
    "GridSample": grid_sample, "UnfoldTensor": unfolded, "Inverse": inverse,
}  # fmt: skip
