"""Further operators of `nn.op` for diffusion models: resizing, embeddings of time steps."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from baton._src.frontends.nn.tensor import Tensor, default_dtype, emit
from baton._src.ir.expr import PrimExpr
from baton._src.ops.builders import RELAX
from baton._src.relax.literals import const
from baton._src.support.diagnostics import fail

_RELAX: Any = RELAX


def interpolate(
    x: Tensor, size: Any = None, scale_factor: Any = None, mode: str = "nearest", align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None, antialias: bool | None = None, data_layout: str = "NCHW",
    name: str = "interpolate",
) -> Any:  # fmt: skip
    """Resize an image to `size`, or by `scale_factor`."""
    if recompute_scale_factor is not None or antialias is not None:
        raise fail("nn-tensor", "recompute_scale_factor and antialias are not supported", kind=ValueError)
    if size is None:
        spatial = [d for d, letter in zip(x.shape, data_layout) if letter in "HW"]
        factors = scale_factor if isinstance(scale_factor, (list, tuple)) else [scale_factor] * len(spatial)
        size = [_scaled(d, f) for d, f in zip(spatial, factors)]
    method = "nearest_neighbor" if mode.startswith("nearest") else mode.removeprefix("bi")
    how = "asymmetric" if method == "nearest_neighbor" else "align_corners" if align_corners else "half_pixel"
    options = {"layout": data_layout, "method": method, "coordinate_transformation_mode": how}
    return emit(_RELAX.image.resize2d(x._expr, (size, size) if isinstance(size, int) else tuple(size), **options), name)


def _scaled(extent: Any, factor: float) -> Any:
    """The size in whole pixels; of an extent that is not known the factor as it is written, 1.1 as 11 / 10."""
    if not isinstance(extent, PrimExpr):
        return int(extent * factor)
    ratio = Fraction(str(factor))
    return extent * ratio.numerator // ratio.denominator


def get_timestep_embedding(
    x: Tensor, embedding_dim: int, flip_sin_to_cos: bool = False, downscale_freq_shift: float = 1, scale: float = 1,
    max_period: int = 10000, name: str = "get_timestep_embedding",
) -> Any:  # fmt: skip
    """Sines and cosines of the steps in `x` at frequencies that fall from 1 to 1 / max_period, in the default dtype."""
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
    return emit(found if default_dtype() == "float32" else _RELAX.astype(found, dtype=default_dtype()), name)
