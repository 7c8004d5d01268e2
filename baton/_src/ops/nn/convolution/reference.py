"""Convolutions over NumPy: every kernel tap is one product of a strided view, all summed up."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from types import EllipsisType

import numpy as np

from baton._src.ops.canonical_axes import from_canonical, to_canonical
from baton._src.ops.layout_names import AxisOrder
from baton._src.ops.linalg.products import result_dtype
from baton._src.ops.nn.convolution.depth_multiplier import depth_multiplier
from baton._src.ops.nn.convolution.geometry import Geometry
from baton._src.ops.precision import accumulator
from baton._src.ops.windows import SPATIAL, np_padded
from baton._src.values.tensor import AnyArray


def convolve(x: AnyArray, w: AnyArray, a: Geometry, orders: tuple[AxisOrder, AxisOrder, AxisOrder]) -> AnyArray:
    """Forward convolution in any layout."""
    images, taps = _canonical(x, w, a, orders, "OI")
    if depth_multiplier(a, {"O": taps.shape[0], "I": taps.shape[1]}) > 1:
        taps = taps.reshape(-1, 1, *taps.shape[2:])
    border = [(a.padding[i], a.padding[i + a.spatial]) for i in range(a.spatial)]
    images = np_padded(images, [(0, 0), (0, 0), *border])
    result = convolve_valid(images, taps, a.strides, a.dilation, a.groups)
    if 0 in result.shape[2:]:
        raise ValueError(f"the kernel {w.shape} is larger than the padded data {images.shape}")
    return _laid_out(result, x, a, orders[2])


def _canonical(
    x: AnyArray, w: AnyArray, a: Geometry, orders: Sequence[AxisOrder], channels: str
) -> tuple[AnyArray, AnyArray]:
    """Images (N, C, spatial) and taps, `channels` first, in the dtype in which products are summed up."""
    letters, kept = SPATIAL[a.spatial], accumulator(result_dtype(x, a.out_dtype)).numpy
    images, taps = to_canonical(x, orders[0], "NC" + letters), to_canonical(w, orders[1], channels + letters)
    return images.astype(kept), taps.astype(kept)


def _laid_out(result: AnyArray, x: AnyArray, a: Geometry, out: AxisOrder) -> AnyArray:
    """A result (N, C, spatial) in the dtype and layout that are asked for."""
    return from_canonical(result.astype(result_dtype(x, a.out_dtype).numpy), out, "NC" + SPATIAL[a.spatial])


def convolve_valid(
    images: AnyArray, taps: AnyArray, strides: Sequence[int], dilation: Sequence[int], groups: int
) -> AnyArray:
    """(N, C, spatial) with (O, C / groups, spatial), no padding."""
    spatial = images.ndim - 2
    n, o = images.shape[0], taps.shape[0]
    extents = [
        (images.shape[2 + i] - (taps.shape[2 + i] - 1) * dilation[i] - 1) // strides[i] + 1 for i in range(spatial)
    ]
    grouped = images.reshape(n, groups, images.shape[1] // groups, *images.shape[2:])
    kernels = taps.reshape(groups, o // groups, *taps.shape[1:])
    result = np.zeros((n, groups, o // groups, *extents), images.dtype)
    for tap in itertools.product(*(range(e) for e in taps.shape[2:])):
        view = tuple(slice(t * d, t * d + (e - 1) * s + 1, s) for t, d, e, s in zip(tap, dilation, extents, strides))
        window = grouped[(slice(None), slice(None), slice(None), *view)]
        result += np.einsum("ngi...,goi->ngo...", window, kernels[_at(tap)])
    return result.reshape(n, o, *extents)


def _at(tap: tuple[int, ...]) -> tuple[EllipsisType | int, ...]:
    """The index of one kernel tap on the last axes."""
    return (..., *tap)


def convolve_transposed(
    x: AnyArray, w: AnyArray, a: Geometry, output_padding: Sequence[int], orders: tuple[AxisOrder, AxisOrder, AxisOrder]
) -> AnyArray:
    """The transpose of convolution: every element of the data spreads the kernel around itself."""
    images, taps = _canonical(x, w, a, orders, "IO")
    count = a.spatial
    full = [
        (images.shape[2 + i] - 1) * a.strides[i] + (taps.shape[2 + i] - 1) * a.dilation[i] + 1 + output_padding[i]
        for i in range(count)
    ]
    n, c = images.shape[:2]
    each = taps.shape[1]
    grouped = images.reshape(n, a.groups, c // a.groups, *images.shape[2:])
    kernels = taps.reshape(a.groups, c // a.groups, *taps.shape[1:])
    result = np.zeros((n, a.groups, each, *full), images.dtype)
    for tap in itertools.product(*(range(e) for e in taps.shape[2:])):
        view = tuple(
            slice(t * d, t * d + (e - 1) * s + 1, s) for t, d, e, s in zip(tap, a.dilation, images.shape[2:], a.strides)
        )
        spread = np.einsum("ngi...,gio->ngo...", grouped, kernels[_at(tap)])
        result[(slice(None), slice(None), slice(None), *view)] += spread
    cut = [(-a.padding[i], -a.padding[i + count]) for i in range(count)]
    cropped = np_padded(result.reshape(n, a.groups * each, *full), [(0, 0), (0, 0), *cut])
    return _laid_out(cropped, x, a, orders[2])
