"""Deformable convolutions (`torchvision.deform_conv2d`), in terms of PyTorch: pixels are read at offset positions."""

from __future__ import annotations

from typing import Any

from baton._src.frontends.torch.library import torch_library


def deformable_convolution(
    x: Any, weight: Any, offset: Any, mask: Any, bias: Any, stride_y: Any, stride_x: Any, padding_y: Any,
    padding_x: Any, dilation_y: Any, dilation_x: Any, groups: Any, offset_groups: Any, use_mask: bool,
) -> Any:  # fmt: skip
    """Every tap reads between pixels, at its place moved by its offset (rows, columns); `mask` weighs what it reads."""
    torch = torch_library()
    batch, channels, *image = x.shape
    made, per_group, tall, wide = weight.shape
    out, taps = offset.shape[2:], tall * wide
    moved = offset.reshape(batch * offset_groups, taps, 2, *out)
    geometry = zip((tall, wide), (stride_y, stride_x), (padding_y, padding_x), (dilation_y, dilation_x), strict=True)
    starts = [_starts(out[k], *along) for k, along in enumerate(geometry)]
    rows = moved[:, :, 0] + starts[0][:, None, :, None].expand(tall, wide, out[0], 1).reshape(taps, out[0], 1)
    columns = moved[:, :, 1] + starts[1][None, :, None, :].expand(tall, wide, 1, out[1]).reshape(taps, 1, out[1])
    read = _between(x.reshape(batch * offset_groups, channels // offset_groups, *image), rows, columns)
    if use_mask:
        read = read * mask.reshape(batch * offset_groups, 1, taps, *out)
    read = read.reshape(batch, groups, per_group * taps, out[0] * out[1])
    filters = weight.reshape(groups, made // groups, per_group * taps)
    return torch.matmul(filters, read).reshape(batch, made, *out) + bias[:, None, None]


def _starts(count: Any, taps: int, stride: Any, padding: Any, dilation: Any) -> Any:
    """[taps, count]: where each tap stands, without offsets."""
    torch = torch_library()
    return torch.arange(count) * stride - padding + (torch.arange(taps) * dilation)[:, None]


def _between(x: Any, rows: Any, columns: Any) -> Any:
    """[images, channels, *places]: what lies at (rows, columns), weighed by nearness; nothing lies outside."""
    torch = torch_library()
    images, channels, height, width = x.shape
    flat = x.reshape(images, channels, height * width)
    total = torch.zeros(images, channels, rows[0].numel(), dtype=x.dtype)
    low_y, low_x = rows.floor(), columns.floor()
    for y, weight_y in ((low_y, 1 - (rows - low_y)), (low_y + 1, rows - low_y)):
        for at_x, weight_x in ((low_x, 1 - (columns - low_x)), (low_x + 1, columns - low_x)):
            inside = (y >= 0) & (y < height) & (at_x >= 0) & (at_x < width)
            row, column = (torch.where(inside, p, 0).to(torch.int64) for p in (y, at_x))
            place = (row * width + column).reshape(images, 1, -1)
            weight = torch.where(inside, weight_y * weight_x, 0).reshape(images, 1, -1)
            total = total + flat.gather(2, place.expand(images, channels, place.shape[2])) * weight
    return total.reshape(images, channels, *rows.shape[1:])
