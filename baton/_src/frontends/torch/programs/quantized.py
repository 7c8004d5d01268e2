"""Quantised models of PT2E, `quantized_decomposed.*`: tensors of whole numbers beside scales, in terms of PyTorch.

A number x is kept as clamp(round(x / scale) + zero_point); the inverse of the scale is what PyTorch multiplies by.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from baton._src.frontends.torch.library import torch_library


def quantize(x: Any, scale: Any, zero_point: Any, low: Any, high: Any, dtype: Any) -> Any:
    """One scale for the whole tensor."""
    torch = torch_library()
    wide = x.to(torch.float32) if x.dtype in (torch.float16, torch.bfloat16) else x
    return torch.clamp(torch.round(wide * (1.0 / scale)) + zero_point, low, high).to(dtype)


def dequantize(x: Any, scale: Any, zero_point: Any, low: Any, high: Any, dtype: Any, *, out_dtype: Any = None) -> Any:
    wide = torch_library().float32 if out_dtype is None else out_dtype
    return ((x.to(wide) - zero_point) * scale).to(wide)


def quantize_channels(x: Any, scales: Any, zero_points: Any, axis: int, low: int, high: int, dtype: Any) -> Any:
    """A scale for every place along an axis."""
    return quantize(x, _along(scales, axis, x.dim()), _along(zero_points, axis, x.dim()), low, high, dtype)


def dequantize_channels(
    x: Any, scales: Any, zero_points: Any, axis: int, low: int, high: int, dtype: Any, *, out_dtype: Any = None
) -> Any:
    start = 0 if zero_points is None else _along(zero_points, axis, x.dim())
    return dequantize(x, _along(scales, axis, x.dim()), start, low, high, dtype, out_dtype=out_dtype)


def quantize_tokens(x: Any, scales: Any, zero_points: Any, low: int, high: int, dtype: Any) -> Any:
    """A scale for every row; halves go to even after the zero point is added."""
    torch = torch_library()
    return torch.clamp(torch.round(x * (1.0 / scales) + zero_points), low, high).to(dtype)


def dequantize_tokens(x: Any, scales: Any, zero_points: Any, low: int, high: int, dtype: Any, output_dtype: Any) -> Any:
    """A scale for every row, which has an axis of one."""
    return ((x - zero_points) * scales).to(output_dtype)


def quantize_groups(x: Any, scales: Any, zero_points: Any, low: int, high: int, dtype: Any, group_size: int) -> Any:
    """A scale for every `group_size` elements of a row."""
    starts, rows = zero_points.reshape(-1, 1), _groups(x, scales, group_size)
    return quantize_tokens(rows, scales.reshape(-1, 1), starts, low, high, dtype).reshape(x.shape)


def dequantize_groups(
    x: Any, scales: Any, zero_points: Any, low: int, high: int, dtype: Any, group_size: int, output_dtype: Any
) -> Any:
    starts, rows = 0 if zero_points is None else zero_points.reshape(-1, 1), _groups(x, scales, group_size)
    return ((rows - starts) * scales.reshape(-1, 1)).reshape(x.shape).to(output_dtype)


def _groups(x: Any, scales: Any, group_size: int) -> Any:
    """A row for each scale: one scale may stand for rows that are shorter than a group."""
    return x.reshape(-1, x.shape[-1] if scales.shape[-1] == 1 else group_size)


def _along(numbers: Any, axis: int, rank: int) -> Any:
    shape = [1] * rank
    shape[axis] = -1
    return numbers.view(shape)


def parameters(x: Any, low: int, high: int, eps: float, dtype: Any) -> tuple[Any, Any]:
    """(scale, zero point), of one element each, with which all elements fit, zero exactly."""
    torch = torch_library()
    least, most = torch.clamp(x.amin(), max=0.0), torch.clamp(x.amax(), min=0.0)
    scale = torch.clamp((most - least) / float(high - low), min=eps)
    zero_point = torch.clamp(low - torch.round(least / scale).to(torch.int32), low, high)
    return scale.to(torch.float64).view(1), zero_point.to(torch.int64).view(1)


def symmetric_parameters(x: Any, low: int, high: int, eps: float, dtype: Any) -> tuple[Any, Any]:
    """(scale, zero point) with which all elements fit, as many below zero as above."""
    torch = torch_library()
    scale = torch.clamp(x.abs().amax() / (float(high - low) / 2), min=eps)
    return scale.to(torch.float64).view(1), torch.full((1,), 128 if dtype == torch.uint8 else 0, dtype=torch.int64)


def parameters_of_tokens(x: Any, dtype: Any) -> tuple[Any, Any]:
    """Symmetric scales for int8, one for every row."""
    torch = torch_library()
    most = x.abs().amax(-1, keepdim=True)
    scales = (most.float() if most.dtype == torch.float16 else most).clamp(min=1e-5) / 127
    return scales, torch.zeros_like(scales)


def uneven_parameters_of_tokens(x: Any, dtype: Any) -> tuple[Any, Any]:
    """Scales for int8, one for every row, and zero points by the end of the range that is the farther one."""
    torch = torch_library()
    least, most = x.amin(-1, keepdim=True).clamp(max=0.0), x.amax(-1, keepdim=True).clamp(min=0.0)
    scales = ((most - least) / 255.0).clamp(min=torch.finfo(torch.float32).eps)
    low, high = -128 - least / scales, 127 - most / scales
    above = (least / scales - 128) + (most / scales + 127) > 0
    return scales.to(torch.float64), torch.where(above, low, high).clamp(-128, 127).round().to(torch.int64)


def whole_product(a: Any, b: Any) -> Any:
    """A product of matrices of int8, added up in int32."""
    torch = torch_library()
    return a.to(torch.int32) @ b.to(torch.int32)


QUANTIZED: dict[str, Callable[..., Any]] = {
    **{f"quantized_decomposed.quantize_per_tensor.{kind}": quantize for kind in ("default", "tensor", "tensor2")},
    **{f"quantized_decomposed.dequantize_per_tensor.{kind}": dequantize for kind in ("default", "tensor", "tensor2")},
    "quantized_decomposed.quantize_per_channel.default": quantize_channels,
    "quantized_decomposed.dequantize_per_channel.default": dequantize_channels,
    "quantized_decomposed.dequantize_per_token.default": dequantize_tokens,
    "quantized_decomposed.quantize_per_token.default": quantize_tokens,
    "quantized_decomposed.quantize_per_channel_group.default": quantize_groups,
    "quantized_decomposed.dequantize_per_channel_group.default": dequantize_groups,
    "quantized_decomposed.choose_qparams.tensor": parameters,
    "quantized_decomposed.choose_qparams_symmetric.tensor": symmetric_parameters,
    "quantized_decomposed.choose_qparams_per_token.default": parameters_of_tokens,
    "quantized_decomposed.choose_qparams_per_token_asymmetric.default": uneven_parameters_of_tokens,
    "quantized_decomposed.convert_element_type.no_fuse": lambda x, dtype: x.to(dtype),
}
