"""The gradient of sampling images at points, in PyTorch's terms: deformable attention trains with it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from baton._src.frontends.torch.library import torch_library

_BILINEAR, _NEAREST = 0, 1
_BORDER, _REFLECTION = 1, 2


def grid_sampler_backward(
    grad: Any, x: Any, grid: Any, interpolation: int, padding: int, align_corners: bool, wanted: Sequence[bool]
) -> Any:
    """(towards the image, towards the points). A pixel gets what was read of it; a point, how its pixels differ."""
    if interpolation not in (_BILINEAR, _NEAREST):
        return NotImplemented
    torch = torch_library()
    sizes = x.shape[3], x.shape[2]  # points are x, y
    (across, slope_x), (down, slope_y) = (_placed(grid[..., k], n, padding, align_corners) for k, n in enumerate(sizes))
    read, rows = x.flatten(2), grad.flatten(2)
    to_image, to_x, to_y = torch.zeros_like(read), torch.zeros_like(across), torch.zeros_like(down)
    for pixel_x, weight_x, sign_x in _taps(across, interpolation):
        for pixel_y, weight_y, sign_y in _taps(down, interpolation):
            inside = (pixel_x >= 0) & (pixel_x < sizes[0]) & (pixel_y >= 0) & (pixel_y < sizes[1])
            place = torch.where(inside, pixel_y * sizes[0] + pixel_x, 0).to(torch.int64)
            place = place.flatten(1)[:, None].expand_as(rows)
            weight = torch.where(inside, weight_x * weight_y, 0).flatten(1)[:, None]
            to_image = to_image.scatter_add(2, place, rows * weight)
            met = (read.gather(2, place) * rows).sum(1).view(inside.shape)
            to_x = to_x + torch.where(inside, met * weight_y * sign_x, 0)
            to_y = to_y + torch.where(inside, met * weight_x * sign_y, 0)
    to_points = torch.stack((to_x * slope_x, to_y * slope_y), -1)
    return to_image.view(x.shape) if wanted[0] else None, to_points if wanted[1] else None


def _placed(points: Any, size: Any, padding: int, align_corners: bool) -> tuple[Any, Any]:
    """(places counted in pixels, how they change with the points)"""
    torch = torch_library()
    slope = (size - 1) / 2 if align_corners else size / 2
    found = (points + 1) * slope - (0 if align_corners else 0.5)
    turned = torch.full_like(found, 1) * slope
    if padding == _REFLECTION:
        found, turned = _reflected(found, turned, size, align_corners)
    if padding in (_BORDER, _REFLECTION):
        within = (found > 0) & (found < size - 1)
        found, turned = found.clamp(0, size - 1), torch.where(within, turned, 0)
    return found, turned


def _reflected(place: Any, slope: Any, size: Any, align_corners: bool) -> tuple[Any, Any]:
    """Places mirrored at the centres or the outer edges of the outer pixels until they are between them."""
    torch = torch_library()
    low, span = (0.0, size - 1) if align_corners else (-0.5, size)
    if align_corners and size == 1:
        return torch.zeros_like(place), torch.zeros_like(slope)
    far = place - low
    distance = far.abs()
    turns = torch.floor(distance / span)
    rest, is_odd = distance - turns * span, torch.remainder(turns, 2) == 1
    found = torch.where(is_odd, span - rest, rest) + low
    return found, torch.where(is_odd != (far < 0), -slope, slope)


def _taps(place: Any, interpolation: int) -> list[tuple[Any, Any, int]]:
    """(pixel, its weight, how the weight changes with the place)"""
    torch = torch_library()
    if interpolation == _NEAREST:
        return [(torch.round(place), torch.ones_like(place), 0)]
    first = torch.floor(place)
    rest = place - first
    return [(first, 1 - rest, -1), (first + 1, rest, 1)]
