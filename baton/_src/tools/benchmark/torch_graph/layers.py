"""Rules of products, convolutions, pools, norms and reductions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from baton._src.tools.benchmark.torch_graph.translation import Node, Rule

functional: Any = torch.nn.functional


def _padding(node: Node, rank: int, fill: float) -> tuple[Any, tuple[int, ...]]:
    """The input and the padding that is left to the operator: symmetric padding, other padding is done before."""
    if node.attribute("auto_pad", "NOTSET") not in ("NOTSET", "VALID"):
        raise node.refuse("with padding that follows from the sizes (auto_pad) is not covered")
    pads = list(node.attribute("pads", [0] * 2 * rank))
    begin, end = pads[:rank], pads[rank:]
    if begin == end:
        return node.tensor(0), tuple(begin)
    order = [p for pair in zip(reversed(begin), reversed(end), strict=True) for p in pair]
    return node.call(functional.pad, node.tensor(0), order, value=fill), (0,) * rank


def _conv(node: Node) -> Any:
    rank = len(node.dims(1)) - 2
    x, padding = _padding(node, rank, 0.0)
    bias = node.tensor(2) if node.has(2) else None
    strides, dilations = (tuple(node.attribute(name, [1] * rank)) for name in ("strides", "dilations"))
    function = {1: functional.conv1d, 2: functional.conv2d, 3: functional.conv3d}[rank]
    return node.call(function, x, node.tensor(1), bias, strides, padding, dilations, node.attribute("group", 1))


def _max_pool(node: Node) -> Any:
    kernel = tuple(node.attribute("kernel_shape"))
    x, padding = _padding(node, len(kernel), float("-inf"))
    strides, dilations = (tuple(node.attribute(name, [1] * len(kernel))) for name in ("strides", "dilations"))
    function = {1: functional.max_pool1d, 2: functional.max_pool2d, 3: functional.max_pool3d}[len(kernel)]
    return node.call(function, x, kernel, strides, padding, dilations, bool(node.attribute("ceil_mode", 0)))


def _average_pool(node: Node) -> Any:
    """Padding done before the pool would count into its averages."""
    kernel, counts_padding = tuple(node.attribute("kernel_shape")), bool(node.attribute("count_include_pad", 0))
    x, padding = _padding(node, len(kernel), 0.0)
    pads, strides = node.attribute("pads", [0]), tuple(node.attribute("strides", [1] * len(kernel)))
    is_dilated = any(d != 1 for d in node.attribute("dilations", [1]))
    if node.attribute("ceil_mode", 0) or is_dilated or (any(pads) and not any(padding) and not counts_padding):
        raise node.refuse("with ceil_mode, dilations, or asymmetric padding that does not count, is not covered")
    function = {1: functional.avg_pool1d, 2: functional.avg_pool2d, 3: functional.avg_pool3d}[len(kernel)]
    return node.call(function, x, kernel, strides, padding, False, counts_padding)


def _global_pool(function: Callable[..., Any]) -> Rule:
    return lambda node: node.call(function, node.tensor(0), tuple(range(2, len(node.dims(0)))), True)


def _batch_norm(node: Node) -> Any:
    if node.attribute("training_mode", 0):
        raise node.refuse("in training is not covered")
    x, scale, shift, mean, variance = node.tensors()
    return node.call(
        functional.batch_norm, x, mean, variance, scale, shift, False, 0.0, node.attribute("epsilon", 1e-5)
    )


def _layer_norm(node: Node) -> Any:
    axis, rank, scale = node.attribute("axis", -1), len(node.dims(0)), node.dims(1)
    if len(scale) != rank - axis % rank or None in scale:
        raise node.refuse("with a scale that is not of the sizes that are normalised is not covered")
    shift = node.tensor(2) if node.has(2) else None
    return node.call(
        functional.layer_norm, node.tensor(0), scale, node.tensor(1), shift, node.attribute("epsilon", 1e-5)
    )


def _gemm(node: Node) -> Any:
    """alpha·A·B + beta·C; a plain dense layer, a vector for C, is PyTorch's `linear`."""
    alpha, beta = node.attribute("alpha", 1.0), node.attribute("beta", 1.0)
    a = node.call(torch.t, node.tensor(0)) if node.attribute("transA", 0) else node.tensor(0)
    transposed = bool(node.attribute("transB", 0))
    b = node.tensor(1) if transposed else node.call(torch.t, node.tensor(1))
    columns = node.dims(1)[0 if transposed else 1]
    if node.has(2) and (alpha != 1 or beta != 1 or node.dims(2) != (columns,)):
        return node.call(torch.addmm, node.tensor(2), a, node.call(torch.t, b), beta=beta, alpha=alpha)
    product = node.call(functional.linear, a, b, node.tensor(2) if node.has(2) else None)
    return product if alpha == 1 else node.call(torch.mul, product, alpha)


def _softmax(function: Callable[..., Any]) -> Rule:
    """Before opset 13 all axes from `axis` on were one; that is the same where `axis` is the last."""

    def rule(node: Node) -> Any:
        axis = node.attribute("axis", -1 if node.opset >= 13 else 1)
        if node.opset < 13 and axis not in (-1, len(node.dims(0)) - 1):
            raise node.refuse("over several axes (before opset 13) is not covered")
        return node.call(function, node.tensor(0), axis)

    return rule


def _reduction(function: Callable[..., Any]) -> Rule:
    def rule(node: Node) -> Any:
        axes = node.axes("axes", 1)
        if not axes and node.attribute("noop_with_empty_axes", 0):
            return node.tensor(0)
        axes = axes or tuple(range(len(node.dims(0))))
        return node.call(function, node.tensor(0), axes, bool(node.attribute("keepdims", 1)))

    return rule


def _index_of(function: Callable[..., Any]) -> Rule:
    def rule(node: Node) -> Any:
        if node.attribute("select_last_index", 0):
            raise node.refuse("that selects the last index is not covered")
        return node.call(function, node.tensor(0), node.attribute("axis", 0), bool(node.attribute("keepdims", 1)))

    return rule


def _einsum(node: Node) -> Any:
    return node.call(torch.einsum, node.attribute("equation"), *node.tensors())


RULES: dict[str, Rule] = {
    "MatMul": lambda node: node.call(torch.matmul, *node.tensors()), "Gemm": _gemm, "Einsum": _einsum,
    "Conv": _conv, "MaxPool": _max_pool, "AveragePool": _average_pool,
    "GlobalAveragePool": _global_pool(torch.mean), "GlobalMaxPool": _global_pool(torch.amax),
    "BatchNormalization": _batch_norm, "LayerNormalization": _layer_norm,
    "Softmax": _softmax(torch.softmax), "LogSoftmax": _softmax(torch.log_softmax),
    "ReduceMean": _reduction(torch.mean), "ReduceSum": _reduction(torch.sum), "ReduceMax": _reduction(torch.amax),
    "ReduceMin": _reduction(torch.amin), "ArgMax": _index_of(torch.argmax), "ArgMin": _index_of(torch.argmin),
}  # fmt: skip
