"""Means of regions of images, each bin of its own channels (`torchvision.ps_roi_pool`), in terms of PyTorch."""

from __future__ import annotations

from typing import Any

from baton._src.frontends.torch.library import torch_library


def position_sensitive_pool(x: Any, rois: Any, spatial_scale: float, rows: Any, columns: Any) -> tuple[Any, Any]:
    """(the mean of every bin of every region, 0 of a bin without pixels; which channel each is from).

    A region is (image, x1, y1, x2, y2), rounded to pixels; the last row and column of an image are in no bin.
    """
    torch = torch_library()
    images, every, height, width = x.shape
    channels = every // (rows * columns)
    left, top, right, bottom = (_rounded(rois[:, k] * spatial_scale)[:, None] for k in range(1, 5))
    tall, wide = _bins(top, bottom, rows, height), _bins(left, right, columns, width)
    inside = tall[:, None, :, None, :, None] & wide[:, None, None, :, None, :]
    own = x.reshape(images, channels, rows, columns, height, width)[rois[:, 0].to(torch.int64)]
    total = torch.where(inside, own, 0.0).sum((-2, -1))
    count = inside.sum((-2, -1)).to(x.dtype)
    places = torch.arange(every, dtype=torch.int32).reshape(channels, rows, columns)
    return total / count.clamp(min=1), places.expand(rois.shape[0], channels, rows, columns)


def _rounded(x: Any) -> Any:
    """To whole numbers, halves away from zero."""
    torch = torch_library()
    return torch.sign(x) * torch.floor(x.abs() + 0.5)


def _bins(begin: Any, end: Any, count: Any, size: Any) -> Any:
    """[regions, count, size]: which pixels along an axis are in which bin; bins share those they cut."""
    torch = torch_library()
    step, places = (end - begin).clamp(min=1) / count, torch.arange(count)
    first = torch.floor(places * step + begin).clamp(0, size - 1)
    last = torch.ceil((places + 1) * step + begin).clamp(0, size - 1)
    pixels = torch.arange(size)
    return (pixels >= first[:, :, None]) & (pixels < last[:, :, None])
