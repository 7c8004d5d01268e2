"""Further functional operators of `nn.op`: selection, padding, resizing, sampling, sinusoidal embeddings."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from baton._src.frontends.nn.tensor import Tensor, emit
from baton._src.ir.expr import PrimExpr
from baton._src.ops.builders import RELAX
from baton._src.relax.nodes import ShapeExpr
from baton._src.relax.special_builders import alloc_tensor, const
from baton._src.support.diagnostics import fail

_RELAX: Any = RELAX


def chunk(x: Tensor, chunks: int, dim: int = 0, name: str = "chunk") -> Any:
    """Parts of one size along an axis."""
    return emit(_RELAX.split(x._expr, chunks, dim), name)


def empty(shape: Sequence[Any], dtype: str = "float32", name: str = "empty") -> Any:
    """A tensor whose elements are not set."""
    return emit(alloc_tensor(ShapeExpr(list(shape)), dtype, 0), name)


def pad(x: Tensor, pad: Sequence[int], mode: str = "constant", value: float = 0, name: str = "pad") -> Any:
    """A border around the data."""
    return emit(_RELAX.nn.pad(x._expr, pad_width=pad, pad_mode=mode, pad_value=float(value)), name)


def relu6(x: Tensor, name: str = "relu6") -> Any:
    """Elements limited to 0 and 6."""
    return emit(_RELAX.clip(x._expr, 0, 6), name)


def softplus(x: Tensor, beta: float = 1.0, threshold: float = 20.0, name: str = "softplus") -> Any:
    """log(1 + exp(beta x)) / beta; x itself above the threshold."""
    return emit(_RELAX.nn.softplus(x._expr, beta=beta, threshold=threshold), name)


def prelu(x: Tensor, alpha: Tensor, name: str = "prelu") -> Any:
    """x where it is positive, else alpha x."""
    return emit(_RELAX.nn.prelu(x._expr, alpha._expr), name)


def cumsum(
    data: Tensor, axis: int | None = None, dtype: str | None = None, exclusive: bool | None = None,
    name: str = "cumsum",
) -> Any:  # fmt: skip
    """Running sums along an axis."""
    return emit(_RELAX.cumsum(data._expr, axis=axis, dtype=dtype, exclusive=bool(exclusive)), name)


def sort(x: Tensor, axis: int = -1, descending: bool = False, name: str = "sort") -> Any:
    """Sorted along an axis."""
    return emit(_RELAX.sort(x._expr, axis=axis, descending=descending), name)


def argsort(data: Tensor, axis: int = -1, descending: bool = False, dtype: str = "int32", name: str = "argsort") -> Any:
    """The indices that sort along an axis."""
    return emit(_RELAX.argsort(data._expr, axis=axis, descending=descending, dtype=dtype), name)


def topk(
    data: Tensor, k: int = 1, axis: int = -1, ret_type: str = "both", largest: bool = True, dtype: str = "int32",
    name: str = "topk",
) -> Any:  # fmt: skip
    """The largest (or smallest) elements along an axis, their indices, or both."""
    options = {"k": k, "axis": axis, "ret_type": ret_type, "largest": largest, "dtype": dtype}
    return emit(_RELAX.topk(data._expr, **options), name)


def multinomial_from_uniform(
    prob: Tensor, uniform_sample: Tensor, sample_indices: Tensor | None = None, dtype: str = "int64",
    name: str = "multinomial_from_uniform",
) -> Any:  # fmt: skip
    """Draws from the distributions in the rows of `prob`, one for each uniform number; row i for number i unless
    `sample_indices` says otherwise."""
    if sample_indices is None:
        count = uniform_sample.shape[0]
        if not isinstance(count, int) or prob.shape[0] != count:
            message = f"{count} numbers for {prob.shape[0]} distributions"
            raise fail("nn-tensor", message, help="give sample_indices: which number draws from which row")
        indices: Any = const(np.arange(count).reshape(count, 1), "int64")
    else:
        indices = sample_indices._expr
    found = _RELAX.multinomial_from_uniform(prob._expr, uniform_sample._expr, indices, dtype=dtype)
    return emit(found, name)


def interpolate(
    x: Tensor, size: Any = None, scale_factor: Any = None, mode: str = "nearest", align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None, antialias: bool | None = None, data_layout: str = "NCHW",
    name: str = "interpolate",
) -> Any:  # fmt: skip
    """An image in another size: `size`, or its own times `scale_factor`."""
    if recompute_scale_factor is not None or antialias is not None:
        raise fail("nn-tensor", "recompute_scale_factor and antialias are not supported", kind=ValueError)
    if size is None:
        spatial = [d for d, letter in zip(x.shape, data_layout) if letter in "HW"]
        factors = scale_factor if isinstance(scale_factor, (list, tuple)) else [scale_factor] * len(spatial)
        size = [d * int(f) if isinstance(d, PrimExpr) else int(d * f) for d, f in zip(spatial, factors)]
    method = "nearest_neighbor" if mode.startswith("nearest") else mode.removeprefix("bi")
    how = "asymmetric" if method == "nearest_neighbor" else "align_corners" if align_corners else "half_pixel"
    options = {"layout": data_layout, "method": method, "coordinate_transformation_mode": how}
    return emit(_RELAX.image.resize2d(x._expr, (size, size) if isinstance(size, int) else tuple(size), **options), name)


def get_timestep_embedding(
    x: Tensor, embedding_dim: int, flip_sin_to_cos: bool = False, downscale_freq_shift: float = 1, scale: float = 1,
    max_period: int = 10000, name: str = "get_timestep_embedding",
) -> Any:  # fmt: skip
    """Sines and cosines of the steps in `x` at frequencies that fall from 1 to 1 / max_period."""
    half = embedding_dim // 2
    exponents = np.arange(half, dtype="float32") * np.float32(-math.log(max_period) / (half - downscale_freq_shift))
    frequencies = const(np.exp(exponents)[None, :], "float32")
    steps = _RELAX.expand_dims(_RELAX.astype(x._expr, "float32"), axis=1)
    angles = _RELAX.multiply(steps, frequencies)
    if scale != 1:
        angles = _RELAX.multiply(angles, const(scale, "float32"))
    waves = [_RELAX.sin(angles), _RELAX.cos(angles)]
    found = _RELAX.concat(waves[::-1] if flip_sin_to_cos else waves, axis=-1)
    if embedding_dim % 2:
        found = _RELAX.nn.pad(found, (0, 0, 0, 1))
    return emit(found, name)
