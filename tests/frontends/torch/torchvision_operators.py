"""torchvision's operators with their schemas and plain meanings, registered where torchvision itself is not there."""

from __future__ import annotations

import math
from contextlib import suppress
from importlib import import_module
from typing import Any

import torch

_ROI = "Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, SymInt pooled_width"
_DEFORM = ", ".join(
    f"SymInt {name}" for name in ("stride_h", "stride_w", "pad_h", "pad_w", "dilation_h", "dilation_w", "groups")
)
SCHEMAS = (
    "nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
    f"roi_align({_ROI}, int sampling_ratio, bool aligned) -> Tensor",
    f"roi_pool({_ROI}) -> (Tensor, Tensor)",
    f"ps_roi_align({_ROI}, int sampling_ratio) -> (Tensor, Tensor)",
    f"ps_roi_pool({_ROI}) -> (Tensor, Tensor)",
    "deform_conv2d(Tensor input, Tensor weight, Tensor offset, Tensor mask, Tensor bias, "
    f"{_DEFORM}, SymInt offset_groups, bool use_mask) -> Tensor",
)


def nms(boxes: Any, scores: Any, limit: float) -> Any:
    kept: list[int] = []
    for k in scores.argsort(descending=True, stable=True).tolist():
        if not any(_overlap(boxes[k], boxes[better]) > limit for better in kept):  # 0 / 0 is not above it
            kept.append(k)
    return torch.tensor(kept, dtype=torch.int64)


def _overlap(a: Any, b: Any) -> float:
    common = (torch.minimum(a[2:], b[2:]) - torch.maximum(a[:2], b[:2])).clamp(min=0).prod()
    return float(common / ((a[2:] - a[:2]).prod() + (b[2:] - b[:2]).prod() - common))


def _pixel(image: Any, y: float, x: float) -> Any:
    """Between the pixels of an image; places just outside are pulled onto it."""
    height, width = image.shape[1:]
    if not (-1 <= y <= height and -1 <= x <= width):
        return torch.zeros(image.shape[0])
    y, x = min(max(y, 0), height - 1), min(max(x, 0), width - 1)
    top, left = int(y), int(x)
    below, right = min(top + 1, height - 1), min(left + 1, width - 1)
    upper = image[:, top, left] * (1 - x + left) + image[:, top, right] * (x - left)
    lower = image[:, below, left] * (1 - x + left) + image[:, below, right] * (x - left)
    return upper * (1 - y + top) + lower * (y - top)


def roi_align(x: Any, rois: Any, scale: float, height: int, width: int, samples: int, aligned: bool) -> Any:
    found = torch.zeros(len(rois), x.shape[1], height, width)
    for k, (image, *corners) in enumerate(rois.tolist()):
        x0, y0, x1, y1 = (c * scale - 0.5 * aligned for c in corners)
        tall, wide = ((b - a if aligned else max(b - a, 1.0)) for a, b in ((y0, y1), (x0, x1)))
        rows, columns = (samples if samples > 0 else math.ceil(n / d) for n, d in ((tall, height), (wide, width)))
        for i in range(height):
            for j in range(width):
                places = [
                    (y0 + (i + (r + 0.5) / rows) * tall / height, x0 + (j + (c + 0.5) / columns) * wide / width)
                    for r in range(rows)
                    for c in range(columns)
                ]
                found[k, :, i, j] = torch.stack([_pixel(x[int(image)], *p) for p in places]).mean(0)
    return found


def roi_pool(x: Any, rois: Any, scale: float, height: int, width: int) -> Any:
    found = torch.zeros(len(rois), x.shape[1], height, width)
    for k, (image, *corners) in enumerate(rois.tolist()):
        x0, y0, x1, y1 = (math.floor(c * scale + 0.5) for c in corners)
        tall, wide = max(y1 - y0 + 1, 1), max(x1 - x0 + 1, 1)
        for i in range(height):
            for j in range(width):
                rows = slice(max(y0 + i * tall // height, 0), max(y0 - (-(i + 1) * tall // height), 0))
                columns = slice(max(x0 + j * wide // width, 0), max(x0 - (-(j + 1) * wide // width), 0))
                pixels = x[int(image), :, rows, columns].flatten(1)
                found[k, :, i, j] = pixels.amax(1) if pixels.shape[1] else 0
    return found, torch.zeros(found.shape, dtype=torch.int32)


def ps_roi_align(x: Any, rois: Any, scale: float, height: int, width: int, samples: int) -> Any:
    every = roi_align(x, rois, scale, height, width, samples, True)
    own = every.unflatten(1, (-1, height, width))
    found = torch.stack([own[:, :, i, j, i, j] for i in range(height) for j in range(width)], -1)
    return found.unflatten(-1, (height, width)), torch.zeros(found.shape, dtype=torch.int32)


def ps_roi_pool(x: Any, rois: Any, scale: float, height: int, width: int) -> Any:
    own = x.unflatten(1, (-1, height, width))
    found = torch.zeros(len(rois), *own.shape[1:4])
    for k, (image, *corners) in enumerate(rois.tolist()):
        x0, y0, x1, y1 = (int(math.copysign(math.floor(abs(c * scale) + 0.5), c)) for c in corners)
        tall, wide = max(y1 - y0, 1) / height, max(x1 - x0, 1) / width
        for i in range(height):
            for j in range(width):
                rows = _cut(y0 + i * tall, y0 + (i + 1) * tall, x.shape[2])
                columns = _cut(x0 + j * wide, x0 + (j + 1) * wide, x.shape[3])
                pixels = own[int(image), :, i, j, rows, columns].flatten(1)
                found[k, :, i, j] = pixels.mean(1) if pixels.shape[1] else 0
    return found, torch.zeros(found.shape, dtype=torch.int32)


def _cut(begin: float, end: float, size: int) -> slice:
    return slice(*(min(max(c, 0), size - 1) for c in (math.floor(begin), math.ceil(end))))


def deform_conv2d(
    x: Any, weight: Any, offset: Any, mask: Any, bias: Any, sy: int, sx: int, py: int, px: int, dy: int, dx: int,
    groups: int, offset_groups: int, use_mask: bool,
) -> Any:  # fmt: skip
    batch, channels, height, width = x.shape
    made, per_group, tall, wide = weight.shape
    rows, columns = offset.shape[2:]
    framed = torch.nn.functional.pad(x, (1, 1, 1, 1))  # half a pixel outside, half of it is seen
    found = bias[:, None, None].repeat(batch, 1, rows, columns)
    for b in range(batch):
        for c in range(channels):
            part = c // (channels // offset_groups)
            for t in range(tall * wide):
                filters = weight[:, c % per_group, t // wide, t % wide] * (
                    torch.arange(made) // (made // groups) == c // per_group
                )
                for i in range(rows):
                    for j in range(columns):
                        down, across = offset[b].view(offset_groups, -1, 2, rows, columns)[part, t, :, i, j].tolist()
                        y, z = i * sy - py + t // wide * dy + down, j * sx - px + t % wide * dx + across
                        if -1 < y < height and -1 < z < width:
                            read = _pixel(framed[b, c : c + 1], y + 1, z + 1)
                            weighed = mask[b].view(offset_groups, -1, rows, columns)[part, t, i, j] if use_mask else 1
                            found[b, :, i, j] += read * weighed * filters
    return found


def _fake_regions(x: Any, rois: Any, scale: float, height: int, width: int, *rest: Any) -> Any:
    return x.new_empty(rois.shape[0], x.shape[1], height, width)


def _fake_pool(x: Any, rois: Any, scale: float, height: int, width: int) -> Any:
    shape = (rois.shape[0], x.shape[1], height, width)
    return x.new_empty(shape), x.new_empty(shape, dtype=torch.int32)


def _fake_own(x: Any, rois: Any, scale: float, height: int, width: int, *samples: int) -> Any:
    shape = (rois.shape[0], x.shape[1] // (height * width), height, width)
    return x.new_empty(shape), x.new_empty(shape, dtype=torch.int32)


def register() -> None:
    """Once a process: torchvision's own operators, or these."""
    with suppress(ImportError):
        import_module("torchvision")
    if hasattr(torch.ops.torchvision, "nms"):
        return
    library = torch.library.Library("torchvision", "DEF")
    fakes = {
        "nms": lambda boxes, scores, limit: boxes.new_empty(
            torch.library.get_ctx().new_dynamic_size(), dtype=torch.int64
        ),
        "roi_align": _fake_regions, "roi_pool": _fake_pool, "ps_roi_align": _fake_own,
        "ps_roi_pool": _fake_own,
        "deform_conv2d": lambda x, weight, offset, *rest: x.new_empty(
            x.shape[0], weight.shape[0], *offset.shape[2:]
        ),
    }  # fmt: skip
    for schema in SCHEMAS:
        name = schema.partition("(")[0]
        library.define(schema)
        library.impl(name, globals()[name], "CPU")
        torch.library.register_fake(f"torchvision::{name}", fakes[name], lib=library)
    _KEPT.append(library)


_KEPT: list[Any] = []
"""A library's operators go with it."""
