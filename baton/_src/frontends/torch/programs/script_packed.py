"""What quantised modules of TorchScript keep: packed parameters, unpacked, and the numbers that they quantise by."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from baton._src.frontends.torch.library import torch_library
from baton._src.support.dataclass import dataclass
from baton._src.support.diagnostics import fail

_OF_QUANTISED = re.compile(r"\.nn\.(intrinsic\.)?quantized\.")
"""Within the names of PyTorch's own quantised modules."""


@dataclass(frozen=True)
class Layer:
    """Unpacked parameters: weights less their zero points (int32), a scale for each output channel, or for all."""

    weight: Any
    scales: Any
    bias: Any
    convolve: str = ""
    """the function of PyTorch, where it is a convolution"""
    geometry: tuple[Any, ...] = ()
    """what that function takes behind the bias"""

    def lifted(self, lift: Callable[[Any], Any]) -> Layer:
        """With `lift` of its tensors."""
        bias = None if self.bias is None else lift(self.bias)
        return Layer(lift(self.weight), lift(self.scales), bias, self.convolve, self.geometry)


def layers_of(script: Any) -> dict[int, Layer]:
    """The packed parameters within a module, by the identity of the module that holds them."""
    held = [(id(m), getattr(m, name, None)) for m in script.modules() for name in ("_packed_params", "_packed_weight")]
    return {key: _unpacked(p) for key, p in held if isinstance(p, torch_library().ScriptObject)}


def scales_of(script: Any) -> dict[int, dict[str, Any]]:
    """The numbers that PyTorch's quantised modules keep as tensors, by the identity of the module."""
    tensor, found = torch_library().Tensor, {}
    for module in script.modules():
        if _OF_QUANTISED.search(module._c._type().qualified_name()):
            kept = {name: getattr(module, name, None) for name in ("scale", "zero_point")}
            found[id(module)] = {name: t.item() for name, t in kept.items() if isinstance(t, tensor) and t.numel() == 1}
    return found


def _unpacked(packed: Any) -> Layer:
    match packed._type().name():
        case "LinearPackedParamsBase":
            return _layer(*torch_library().ops.quantized.linear_unpack(packed))
        case "Conv2dPackedParamsBase" | "Conv3dPackedParamsBase" as name:
            return _convolution(packed, int(name[4]))
        case "EmbeddingPackedParamsBase" if packed.bit_rate() == 8:
            return _table(torch_library().ops.quantized.embedding_bag_unpack(packed))
        case name:
            raise fail("torch-script", f"packed parameters of the kind {name} are not supported")


def _convolution(packed: Any, rank: int) -> Layer:
    functions = torch_library().ops.quantized
    if not packed.transpose():
        weight, bias = getattr(functions, f"conv{rank}d_unpack")(packed)
        places = (packed.stride(), packed.padding(), packed.dilation(), packed.groups())
        return _layer(weight, bias, f"conv{rank}d", places)
    weight, bias = getattr(functions, f"conv_transpose{rank}d_unpack")(packed)
    turned = (packed.stride(), packed.padding(), packed.output_padding(), packed.groups(), packed.dilation())
    if weight.qscheme() != torch_library().per_tensor_affine:
        raise fail("torch-script", "transposed convolutions with a scale for each channel are not supported")
    return _layer(weight, bias, f"conv_transpose{rank}d", turned)


def _layer(weight: Any, bias: Any, convolve: str = "", geometry: tuple[Any, ...] = ()) -> Layer:
    torch = torch_library()
    if weight.qscheme() == torch.per_tensor_affine:
        scales, zero_points = torch.tensor(weight.q_scale()), torch.tensor(weight.q_zero_point())
    else:
        scales, zero_points = weight.q_per_channel_scales(), weight.q_per_channel_zero_points()
    whole = weight.int_repr().to(torch.int32) - _column(zero_points, weight.dim()).to(torch.int32)
    return Layer(whole.to(torch.int8) if not zero_points.any() else whole, scales.float(), bias, convolve, geometry)


def _table(weight: Any) -> Layer:
    """Rows of a table: the real numbers are elements * scale + bias."""
    scales = weight.q_per_channel_scales().float().view(-1, 1)
    return Layer(weight.int_repr(), scales, -weight.q_per_channel_zero_points().float().view(-1, 1) * scales)


def _column(x: Any, rank: int) -> Any:
    """One number for each place along the first axis of a tensor of `rank` axes."""
    return x.view(-1, *[1] * (rank - 1)) if x.dim() else x


def products(x: Any, zero_point: Any, layer: Layer) -> Any:
    """Products of whole numbers, added up in int32. A border is zero_point, so 0 here."""
    torch = torch_library()
    whole, weight = x.to(torch.int32) - zero_point, layer.weight.to(torch.int32)
    if not layer.convolve:
        return torch.nn.functional.linear(whole, weight)
    lifted = whole.dim() < weight.dim()  # a convolution along one axis is kept as one along two
    whole = whole.unsqueeze(2) if lifted else whole
    found = getattr(torch.nn.functional, layer.convolve)(whole, weight, None, *layer.geometry)
    return found.squeeze(2) if lifted else found


def by_channel(x: Any, layer: Layer, rank: int) -> Any:
    """What every output channel has of its own, along the axis of channels."""
    return x.view(-1, *[1] * (rank - 2)) if x.dim() and layer.convolve else x


def embedded(table: Layer, words: Any, *_: Any) -> Any:
    """The rows of `words`, as real numbers."""
    rows = [torch_library().nn.functional.embedding(words, t) for t in (table.weight, table.scales, table.bias)]
    return rows[0].float() * rows[1] + rows[2]


def bag_embedded(
    table: Layer, words: Any, starts: Any, by_frequency: bool, mode: int, pruned: bool, weights: Any = None,
    mapping: Any = None, has_end: bool = False,
) -> Any:  # fmt: skip
    """Sums (mode 0) or means of the rows of each bag."""
    rows, kind = table.weight.float() * table.scales + table.bias, ("sum", "mean", "max")[mode]
    return torch_library().nn.functional.embedding_bag(
        words, rows, starts, mode=kind, per_sample_weights=weights, include_last_offset=has_end
    )
