"""Quantised models of TorchScript (`torch.ao.quantization`, eager mode): whole numbers beside scales.

PyTorch's quantised tensors are unknown to its exporter. While a program is run for export they are `Quantised` here,
and what the program calls is said in terms of tensors of whole numbers: sums of products in int32, which are exact, and
then one rounding to the scale of the result.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from baton._src.frontends.torch.library import torch_library
from baton._src.frontends.torch.programs.quantized import dequantize, parameters, quantize
from baton._src.frontends.torch.programs.script_functions import DTYPES
from baton._src.frontends.torch.programs.script_packed import Layer, bag_embedded, by_channel, embedded, products
from baton._src.support.dataclass import dataclass
from baton._src.support.diagnostics import fail

_WHOLE = {"quint8": ("uint8", 0, 255), "qint8": ("int8", -128, 127), "qint32": ("int32", -(2**31), 2**31 - 1)}
"""What elements are kept as, and their bounds."""


@dataclass(frozen=True)
class Quantised:
    """The numbers (elements - zero_point) * scale; `kind` is PyTorch's name of the dtype."""

    elements: Any
    scale: Any
    zero_point: Any
    kind: str = "quint8"

    def real(self) -> Any:
        return dequantize(self.elements, self.scale, self.zero_point, 0, 0, None)

    def like(self, x: Any) -> Quantised:
        """Other numbers with the scale of these."""
        return quantised(x, self.scale, self.zero_point, self.kind)


def quantised(x: Any, scale: Any, zero_point: Any, kind: str = "quint8") -> Quantised:
    """Real numbers, rounded."""
    name, low, high = _WHOLE[kind]
    return Quantised(quantize(x, scale, zero_point, low, high, getattr(torch_library(), name)), scale, zero_point, kind)


def _product(relu: bool = False) -> Callable[..., Quantised]:
    def run(x: Quantised, layer: Layer, scale: float, zero_point: int) -> Quantised:
        torch = torch_library()
        found = products(x.elements, x.zero_point, layer)
        unit = by_channel(x.scale * layer.scales, layer, found.dim())
        wide = found.to(torch.float32)
        if layer.bias is not None:
            wide = wide + by_channel(layer.bias, layer, found.dim()) / unit
        name, low, high = _WHOLE[x.kind]
        whole = torch.round(wide * (unit / scale)) + zero_point
        whole = torch.clamp(whole, zero_point if relu else low, high)
        return Quantised(whole.to(getattr(torch, name)), scale, zero_point, x.kind)

    return run


def _dynamic_product(relu: bool = False) -> Callable[..., Any]:
    """Real numbers, whose scale is found in each call."""

    def run(x: Any, layer: Layer, reduce_range: bool = False) -> Any:
        torch = torch_library()
        high = 127 if reduce_range else 255
        scale, zero_point = parameters(x, 0, high, torch.finfo(torch.float32).eps, torch.uint8)
        scale, zero_point = scale.to(torch.float32), zero_point.to(torch.int32)
        found = products(quantize(x, scale, zero_point, 0, high, torch.uint8), zero_point, layer) * (
            scale * layer.scales
        )
        found = found if layer.bias is None else found + layer.bias
        return found.relu() if relu else found

    return run


def _on_reals(function: Callable[..., Any], relu: bool = False) -> Callable[..., Quantised]:
    """`function` of the numbers, rounded to the scale that is said last; other operands stay what they are."""

    def run(*given: Any) -> Quantised:
        *operands, scale, zero_point = given
        found = function(*(_real(o) for o in operands))
        (first, *_) = [q for o in operands for q in _listed(o) if isinstance(q, Quantised)]
        return quantised(found.relu() if relu else found, scale, zero_point, first.kind)

    return run


def _listed(operand: Any) -> Sequence[Any]:
    return operand if isinstance(operand, (list, tuple)) else (operand,)


def _real(operand: Any) -> Any:
    if isinstance(operand, (list, tuple)):
        return [_real(o) for o in operand]
    return operand.real() if isinstance(operand, Quantised) else operand


def _rounded_late(x: Any, scale: Any, zero_point: Any, kind: int) -> Quantised:
    """`quantize_per_tensor`: halves go to even after the zero point is added, as averages do, and nothing else does."""
    torch = torch_library()
    name, low, high = _WHOLE[DTYPES[kind]]
    whole = torch.clamp(torch.round(x * (1.0 / scale) + zero_point), low, high).to(getattr(torch, name))
    return Quantised(whole, scale, zero_point, DTYPES[kind])


def _elu(x: Quantised, scale: float, zero_point: int, *alpha: float) -> Quantised:
    """PyTorch says the scale first here."""
    return quantised(torch_library().ops.aten.elu(x.real(), *alpha), scale, zero_point, x.kind)


def _batch_norm(x: Any, weight: Any, bias: Any, mean: Any, variance: Any, eps: float) -> Any:
    return torch_library().nn.functional.batch_norm(x, mean, variance, weight, bias, eps=eps)


def _instance_norm(x: Any, weight: Any, bias: Any, eps: float) -> Any:
    return torch_library().nn.functional.instance_norm(x, weight=weight, bias=bias, eps=eps)


def _relu6(x: Quantised, inplace: bool = False) -> Quantised:
    return x.like(x.real().clamp(0, 6))


def _add_number(x: Quantised, number: float) -> Quantised:
    """The zero point moves; where it would leave the dtype's bounds, the scale gets wider."""
    _, low, high = _WHOLE[x.kind]
    zero_point = x.zero_point - round(number / x.scale)
    moved = replace(x, zero_point=zero_point)
    if low <= zero_point <= high:
        return moved
    reach, nearest = (high - zero_point, low) if zero_point < low else (zero_point - low, high)
    return quantised(moved.real(), reach / (high - low) * x.scale, nearest, x.kind)


def _times_number(x: Quantised, number: float) -> Quantised:
    _, low, high = _WHOLE[x.kind]
    if number == 0:
        return quantised(torch_library().zeros_like(x.real()), 1.0, 0, x.kind)
    if number > 0:
        return replace(x, scale=x.scale * number)
    turned = (high + low) - x.elements.to(torch_library().int32)
    return replace(
        x, elements=turned.to(x.elements.dtype), scale=-x.scale * number, zero_point=high + low - x.zero_point
    )


def _functional(name: str) -> Callable[..., Any]:
    return lambda *given: getattr(torch_library().nn.functional, name)(*given)


def _plus(a: Any, b: Any) -> Any:
    return a + b


def _times(a: Any, b: Any) -> Any:
    return a * b


def _joined(tensors: Any, axis: int) -> Any:
    return torch_library().cat(tensors, axis)


OWN: dict[str, Callable[..., Any]] = {
    "aten::quantize_per_tensor": _rounded_late, "aten::dequantize": _real,
    "aten::int_repr": lambda x: x.elements, "aten::q_scale": lambda x: x.scale,
    "aten::q_zero_point": lambda x: x.zero_point, "quantized::relu6": _relu6,
    "prim::is_quantized": lambda x: isinstance(x, Quantised),
    **{f"quantized::{layer}": _product() for layer in ("conv1d", "conv2d", "conv3d", "linear")},
    **{f"quantized::{layer}_relu": _product(True) for layer in ("conv1d", "conv2d", "conv3d", "linear")},
    **{f"quantized::conv_transpose{n}d": _product() for n in (1, 2, 3)},
    "quantized::linear_dynamic": _dynamic_product(), "quantized::linear_relu_dynamic": _dynamic_product(True),
    **{f"quantized::add{end}": _on_reals(_plus, end != "") for end in ("", "_relu")},
    **{f"quantized::mul{end}": _on_reals(_times, end != "") for end in ("", "_relu")},
    **{f"quantized::cat{end}": _on_reals(_joined, end != "") for end in ("", "_relu")},
    "quantized::add_scalar": _add_number, "quantized::mul_scalar": _times_number,
    "quantized::hardswish": _on_reals(_functional("hardswish")),
    "quantized::leaky_relu": _on_reals(_functional("leaky_relu")),
    "quantized::sigmoid": _on_reals(lambda x: x.sigmoid()),
    "quantized::layer_norm": _on_reals(_functional("layer_norm")),
    "quantized::group_norm": _on_reals(_functional("group_norm")),
    "quantized::instance_norm": _on_reals(_instance_norm),
    **{f"quantized::batch_norm{n}": _on_reals(_batch_norm) for n in ("", "1d", "2d", "3d")},
    **{f"quantized::batch_norm{n}_relu": _on_reals(_batch_norm, True) for n in ("", "1d", "2d", "3d")},
    "quantized::softmax": _on_reals(_functional("softmax")), "quantized::elu": _elu,
    "quantized::dropout": lambda x, *_: x,
    "quantized::embedding_byte": embedded, "quantized::embedding_bag_byte": bag_embedded,
}  # fmt: skip
"""What is about quantised tensors or packed parameters."""

MOVING = {
    f"aten::{name}"
    for name in (
        "view", "reshape", "flatten", "permute", "transpose", "slice", "select", "contiguous", "unsqueeze", "squeeze",
        "clone", "detach", "expand", "narrow", "max_pool1d", "max_pool2d", "pixel_shuffle", "upsample_nearest2d",
        "chunk", "split", "unbind", "size", "dim", "numel", "channel_shuffle",
    )
}  # fmt: skip
"""What chooses elements, or asks for their number, and does not look at the scale."""

_SCALES = {"aten::sigmoid": (1 / 256, 0), "aten::hardsigmoid": (1 / 256, 0), "aten::tanh": (2 / 256, 128)}
"""What quint8 has a scale of its own for."""

_ON_REALS = {"leaky_relu", "hardtanh", "clamp", "threshold", "pad", "constant_pad_nd"}
"""Functions of aten of the numbers, whose result keeps the scale."""

_AVERAGES = {"mean", "adaptive_avg_pool2d", "adaptive_avg_pool3d", "avg_pool2d", "avg_pool3d", "upsample_bilinear2d"}
"""Functions of aten that average, which PyTorch computes of the elements."""


def has_quantised(given: Sequence[Any]) -> bool:
    return any(isinstance(q, Quantised) for g in given for q in _listed(g))


def _with_scale_of(x: Quantised, found: Any) -> Any:
    """Elements of `x`, or parts of them, as quantised tensors; what is no tensor is a fact about it."""
    if isinstance(found, (list, tuple)):
        return [_with_scale_of(x, part) for part in found]
    return replace(x, elements=found) if isinstance(found, torch_library().Tensor) else found


def _averaged(x: Quantised, average: Callable[[Any], Any]) -> Quantised:
    """Averages of elements, halves to even after the zero point is added; a border is the zero point."""
    whole = average(x.elements.to(torch_library().float32) - x.zero_point) + x.zero_point
    return replace(x, elements=whole.round().to(x.elements.dtype))


def call(kind: str, given: Sequence[Any], run: Callable[[Sequence[Any]], Any], line: str) -> Any:
    """What a function of TorchScript gives; `run` calls it with plain tensors in place of the quantised ones."""
    if kind in OWN:
        return OWN[kind](*given)
    x, *rest = given
    if isinstance(x, Quantised) and not has_quantised(rest):
        if kind in ("aten::relu", "aten::relu_"):
            return replace(x, elements=x.elements.clamp(min=x.zero_point))
        if kind in MOVING:
            return _with_scale_of(x, run([x.elements, *rest]))
        if kind in _SCALES and x.kind == "quint8":
            return quantised(run([x.real(), *rest]), *_SCALES[kind])
        if kind.removeprefix("aten::") in _ON_REALS:
            return x.like(run([x.real(), *rest]))
        if kind.removeprefix("aten::") in _AVERAGES:
            return _averaged(x, lambda whole: run([whole, *rest]))
    help = "dequantise around it (DeQuantStub, QuantStub)"
    raise fail("torch-script", f"{line}: {kind} of quantised tensors is not supported", help=help)
