"""The gradient of sampling images at points, in PyTorch's terms: deformable attention trains with it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from baton._src.frontends.torch.library import torch_library

_NEAREST, _BICUBIC = 1, 2
_ZEROS, _BORDER, _REFLECTION = 0, 1, 2
_SHARPNESS = -0.75
"""PyTorch's constant of cubic convolution."""


def grid_sampler_backward(
    grad: Any, x: Any, grid: Any, interpolation: int, padding: int, align_corners: bool, wanted: Sequence[bool]
) -> Any:
    """(towards the image, towards the points). A pixel gets what was read of it; a point, how its pixels differ."""
    torch = torch_library()
    sizes = x.shape[3], x.shape[2]  # points are x, y
    border = padding, align_corners
    kept = (_ZEROS, align_corners) if interpolation == _BICUBIC else border  # its points stay, its pixels are moved
    (across, slope_x), (down, slope_y) = (_placed(grid[..., k], n, *kept) for k, n in enumerate(sizes))
    read, rows = x.flatten(2), grad.flatten(2)
    to_image, to_x, to_y = torch.zeros_like(read), torch.zeros_like(across), torch.zeros_like(down)
    for pixel_x, weight_x, change_x in _taps(across, interpolation, sizes[0], *border):
        for pixel_y, weight_y, change_y in _taps(down, interpolation, sizes[1], *border):
            inside = (pixel_x >= 0) & (pixel_x < sizes[0]) & (pixel_y >= 0) & (pixel_y < sizes[1])
            place = torch.where(inside, pixel_y * sizes[0] + pixel_x, 0).to(torch.int64)
            place = place.flatten(1)[:, None].expand_as(rows)
            weight = torch.where(inside, weight_x * weight_y, 0).flatten(1)[:, None]
            to_image = to_image.scatter_add(2, place, rows * weight)
            met = (read.gather(2, place) * rows).sum(1).view(inside.shape)
            to_x = to_x + torch.where(inside, met * weight_y * change_x, 0)
            to_y = to_y + torch.where(inside, met * weight_x * change_y, 0)
    to_points = torch.stack((to_x * slope_x, to_y * slope_y), -1)
    return to_image.view(x.shape) if wanted[0] else None, to_points if wanted[1] else None


def _placed(points: Any, size: Any, padding: int, align_corners: bool) -> tuple[Any, Any]:
    """(places counted in pixels, how they change with the points)"""
    torch = torch_library()
    slope = (size - 1) / 2 if align_corners else size / 2
    found = (points + 1) * slope - (0 if align_corners else 0.5)
    return _bounded(found, torch.full_like(found, 1) * slope, size, padding, align_corners)


def _bounded(place: Any, slope: Any, size: Any, padding: int, align_corners: bool) -> tuple[Any, Any]:
    """Places where `padding` moves them, and how they change then."""
    if padding == _REFLECTION:
        place, slope = _reflected(place, slope, size, align_corners)
    if padding in (_BORDER, _REFLECTION):
        within = (place > 0) & (place < size - 1)
        place, slope = place.clamp(0, size - 1), torch_library().where(within, slope, 0)
    return place, slope


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


def _taps(place: Any, interpolation: int, size: Any, padding: int, align_corners: bool) -> list[tuple[Any, Any, Any]]:
    """(pixel, its weight, how the weight changes with the place)"""
    torch = torch_library()
    if interpolation == _NEAREST:
        return [(torch.round(place), torch.ones_like(place), 0)]
    first = torch.floor(place)
    rest = place - first
    if interpolation != _BICUBIC:
        return [(first, 1 - rest, -1), (first + 1, rest, 1)]
    pixels = [_bounded(first + k, rest, size, padding, align_corners)[0] for k in (-1, 0, 1, 2)]
    far, near, next_near, next_far = _outer(1 + rest), _inner(rest), _inner(1 - rest), _outer(2 - rest)
    changes = far[1], near[1], -next_near[1], -next_far[1]
    return list(zip(pixels, (far[0], near[0], next_near[0], next_far[0]), changes, strict=True))


def _inner(distance: Any) -> tuple[Any, Any]:
    """The weight of a pixel less than 1 away, and its slope."""
    a, b = _SHARPNESS + 2, _SHARPNESS + 3
    return (a * distance - b) * distance * distance + 1, (3 * a * distance - 2 * b) * distance


def _outer(distance: Any) -> tuple[Any, Any]:
    """The weight of a pixel from 1 to 2 away, and its slope."""
    a = _SHARPNESS
    return ((distance - 5) * distance + 8) * distance * a - 4 * a, ((3 * distance - 10) * distance + 8) * a
