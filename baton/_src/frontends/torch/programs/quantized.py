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


def dequantize_tokens(x: Any, scales: Any, zero_points: Any, low: int, high: int, dtype: Any, output_dtype: Any) -> Any:
    """A scale for every row, which has an axis of one."""
    return ((x - zero_points) * scales).to(output_dtype)


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


QUANTIZED: dict[str, Callable[..., Any]] = {
    **{f"quantized_decomposed.quantize_per_tensor.{kind}": quantize for kind in ("default", "tensor", "tensor2")},
    **{f"quantized_decomposed.dequantize_per_tensor.{kind}": dequantize for kind in ("default", "tensor", "tensor2")},
    "quantized_decomposed.quantize_per_channel.default": quantize_channels,
    "quantized_decomposed.dequantize_per_channel.default": dequantize_channels,
    "quantized_decomposed.dequantize_per_token.default": dequantize_tokens,
    "quantized_decomposed.choose_qparams.tensor": parameters,
}
