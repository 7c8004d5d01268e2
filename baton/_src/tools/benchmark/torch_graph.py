"""An ONNX model as a `torch.fx.GraphModule`: straight-line PyTorch code, for measuring eager mode and torch.compile.

Covers static graphs of common operators. `DiagnosticError` (`bench-peer`) names an operator that is not covered; the
benchmark then leaves PyTorch out for that model.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any

import onnx
import torch
from onnx import helper, numpy_helper

from baton._src.support.diagnostics import fail

functional: Any = torch.nn.functional


class _Translation:
    """One graph on its way: ONNX values to fx nodes, weights to buffers."""

    def __init__(self, model: onnx.ModelProto) -> None:
        self.graph = torch.fx.Graph()
        self.root = torch.nn.Module()
        self.constants: dict[str, Any] = {}
        self.nodes: dict[str, Any] = {}
        for weight in model.graph.initializer:
            self.constants[weight.name] = torch.from_numpy(numpy_helper.to_array(weight).copy())
        for value in model.graph.input:
            self.nodes[value.name] = self.graph.placeholder(f"input{len(self.nodes)}")
        for node in model.graph.node:
            self._translate(node)
        self.graph.output(tuple(self.value(o.name) for o in model.graph.output))

    def value(self, name: str) -> Any:
        """The fx node of a value; weights become buffers when first used."""
        if name not in self.nodes:
            buffer = f"weight{len(self.nodes)}"
            self.root.register_buffer(buffer, self.constants[name])
            self.nodes[name] = self.graph.get_attr(buffer)
        return self.nodes[name]

    def numbers(self, name: str) -> list[Any]:
        """The contents of a small constant."""
        if name not in self.constants:
            raise fail("bench-peer", "PyTorch: a shape is computed at run time")
        found: list[Any] = self.constants[name].flatten().tolist()
        return found

    def factor(self, name: str) -> Any:
        """The number that a floating-point scalar constant holds, or the value."""
        constant = self.constants.get(name)
        if constant is None or constant.ndim or not constant.is_floating_point():
            return self.value(name)
        return constant.item()

    def call(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        return self.graph.call_function(function, args, kwargs)

    def _translate(self, node: onnx.NodeProto) -> None:
        rule = _RULES.get(node.op_type)
        if rule is None:
            raise fail("bench-peer", f"PyTorch: {node.op_type} is not covered")
        attrs = {a.name: helper.get_attribute_value(a) for a in node.attribute}
        self.nodes[node.output[0]] = rule(self, list(node.input), attrs)


Rule = Callable[[_Translation, list[str], Mapping[str, Any]], Any]


def torch_module(model: onnx.ModelProto) -> Any:
    """The model as a module in evaluation mode; call it with tensors in the order of the inputs."""
    found = _Translation(model)
    return torch.fx.GraphModule(found.root, found.graph).eval()


def _plain(function: Callable[..., Any]) -> Rule:
    return lambda t, inputs, attrs: t.call(function, *[t.value(i) for i in inputs])


def _arithmetic(function: Callable[..., Any]) -> Rule:
    """Scalar constants as numbers, as people write them: inductor's patterns (attention) expect that."""
    return lambda t, inputs, attrs: t.call(function, *[t.factor(i) for i in inputs])


def _padding(t: _Translation, x: Any, attrs: Mapping[str, Any], rank: int, fill: float) -> tuple[Any, tuple[int, ...]]:
    """Symmetric padding goes to the operator, other padding is done before."""
    if attrs.get("auto_pad", b"NOTSET") not in (b"NOTSET", b"VALID"):
        raise fail("bench-peer", "PyTorch: padding that follows from the sizes (auto_pad) is not covered")
    pads = list(attrs.get("pads", [0] * 2 * rank))
    begin, end = pads[:rank], pads[rank:]
    if begin == end:
        return x, tuple(begin)
    order = [p for pair in zip(reversed(begin), reversed(end), strict=True) for p in pair]
    return t.call(functional.pad, x, order, value=fill), (0,) * rank


def _conv(t: _Translation, inputs: list[str], attrs: Mapping[str, Any]) -> Any:
    if inputs[1] not in t.constants:
        raise fail("bench-peer", "PyTorch: weights that are computed at run time are not covered")
    rank = t.constants[inputs[1]].ndim - 2
    function = {1: functional.conv1d, 2: functional.conv2d, 3: functional.conv3d}[rank]
    x, padding = _padding(t, t.value(inputs[0]), attrs, rank, 0.0)
    bias = t.value(inputs[2]) if len(inputs) > 2 else None
    strides, dilations = attrs.get("strides", [1] * rank), attrs.get("dilations", [1] * rank)
    weight, groups = t.value(inputs[1]), attrs.get("group", 1)
    return t.call(function, x, weight, bias, tuple(strides), padding, tuple(dilations), groups)


def _max_pool(t: _Translation, inputs: list[str], attrs: Mapping[str, Any]) -> Any:
    x, padding = _padding(t, t.value(inputs[0]), attrs, 2, float("-inf"))
    return t.call(functional.max_pool2d, x, tuple(attrs["kernel_shape"]), tuple(attrs.get("strides", (1, 1))), padding)


def _batch_norm(t: _Translation, inputs: list[str], attrs: Mapping[str, Any]) -> Any:
    x, scale, shift, mean, variance = map(t.value, inputs)
    epsilon = attrs.get("epsilon", 1e-5)
    return t.call(functional.batch_norm, x, mean, variance, scale, shift, False, 0.0, epsilon)


def _gemm(t: _Translation, inputs: list[str], attrs: Mapping[str, Any]) -> Any:
    if attrs.get("alpha", 1.0) != 1.0 or attrs.get("beta", 1.0) != 1.0 or attrs.get("transA", 0) or len(inputs) < 3:
        raise fail("bench-peer", "PyTorch: this form of Gemm is not covered")
    x, weight, bias = map(t.value, inputs)
    weight = weight if attrs.get("transB", 0) else t.call(torch.t, weight)
    return t.call(functional.linear, x, weight, bias)


def _clip(t: _Translation, inputs: list[str], attrs: Mapping[str, Any]) -> Any:
    low, high = (t.numbers(i)[0] for i in inputs[1:3])
    return t.call(torch.clamp, t.value(inputs[0]), low, high)


def _flatten(t: _Translation, inputs: list[str], attrs: Mapping[str, Any]) -> Any:
    return t.call(torch.flatten, t.value(inputs[0]), attrs.get("axis", 1))


def _softmax(t: _Translation, inputs: list[str], attrs: Mapping[str, Any]) -> Any:
    return t.call(torch.softmax, t.value(inputs[0]), attrs.get("axis", -1))


def _layer_norm(t: _Translation, inputs: list[str], attrs: Mapping[str, Any]) -> Any:
    x, scale, shift = map(t.value, inputs)
    return t.call(functional.layer_norm, x, tuple(t.constants[inputs[1]].shape), scale, shift, attrs["epsilon"])


def _global_pool(t: _Translation, inputs: list[str], attrs: Mapping[str, Any]) -> Any:
    return t.call(torch.mean, t.value(inputs[0]), (2, 3), True)


def _gather(t: _Translation, inputs: list[str], attrs: Mapping[str, Any]) -> Any:
    axis = attrs.get("axis", 0)
    if inputs[1] in t.constants and t.constants[inputs[1]].ndim == 0:
        return t.call(torch.select, t.value(inputs[0]), axis, t.numbers(inputs[1])[0])
    if axis != 0:
        raise fail("bench-peer", "PyTorch: Gather along an inner axis is not covered")
    return t.call(operator.getitem, t.value(inputs[0]), t.value(inputs[1]))


def _cast(t: _Translation, inputs: list[str], attrs: Mapping[str, Any]) -> Any:
    dtype = torch.from_numpy(helper.tensor_dtype_to_np_dtype(attrs["to"]).type([0])).dtype
    return t.graph.call_method("to", (t.value(inputs[0]), dtype))


def _reshape(t: _Translation, inputs: list[str], attrs: Mapping[str, Any]) -> Any:
    return t.call(torch.reshape, t.value(inputs[0]), tuple(t.numbers(inputs[1])))


def _transpose(t: _Translation, inputs: list[str], attrs: Mapping[str, Any]) -> Any:
    return t.call(torch.permute, t.value(inputs[0]), tuple(attrs["perm"]))


def _unsqueeze(t: _Translation, inputs: list[str], attrs: Mapping[str, Any]) -> Any:
    x = t.value(inputs[0])
    for axis in sorted(t.numbers(inputs[1])):
        x = t.call(torch.unsqueeze, x, axis)
    return x


_RULES: dict[str, Rule] = {
    **{name: _plain(getattr(torch, name.lower())) for name in ("Abs", "Exp", "Erf", "Sqrt", "Tanh", "Sigmoid", "Relu")},
    "Add": _arithmetic(operator.add), "Sub": _arithmetic(operator.sub),
    "Mul": _arithmetic(operator.mul), "Div": _arithmetic(operator.truediv),
    "Max": _plain(torch.maximum), "Min": _plain(torch.minimum), "MatMul": _plain(torch.matmul),
    "Conv": _conv, "MaxPool": _max_pool, "BatchNormalization": _batch_norm, "Gemm": _gemm, "Clip": _clip,
    "Flatten": _flatten, "Softmax": _softmax, "LayerNormalization": _layer_norm, "GlobalAveragePool": _global_pool,
    "Gather": _gather, "Cast": _cast, "Reshape": _reshape, "Transpose": _transpose, "Unsqueeze": _unsqueeze,
}  # fmt: skip
