"""image.grid_sample at coordinates that are no numbers, endless, huge, or on the border: as its reference has it."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import baton
from baton import relax
from baton._src.ops.image.grid_sampling import METHODS, GridSampleAttrs, reference_sample

WILD = np.array([np.nan, np.inf, -np.inf, 1e30, -1e30, -1.0, 1.0, -1.2, 1.2, 0.0, 0.3, -0.0], "float32")


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("align", [True, False])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_wild_coordinates(method: str, align: bool, dtype: str) -> None:
    """Guards every pair of them: none reads beside the image, and those outside of it give zero."""
    x = np.random.default_rng(1).standard_normal((1, 3, 5, 6)).astype(dtype)
    grid = np.array(list(itertools.product(WILD, WILD)), dtype).T.reshape(1, 2, 12, 12)
    builder = relax.BlockBuilder()
    data, points = (relax.Var(n, relax.TensorStructInfo(v.shape, dtype)) for n, v in (("x", x), ("grid", grid)))
    with builder.function("main", [data, points]):
        with builder.dataflow():
            found = relax.op.image.grid_sample(
                data, points, method=method, layout="NCHW", padding_mode="zeros", align_corners=align
            )
            found = builder.emit_output(found)
        builder.emit_func_output(found)
    result = np.asarray(baton.compile(builder.get(), num_threads=1).run({"x": x, "grid": grid})[0])
    with np.errstate(invalid="ignore", over="ignore"):
        wanted = reference_sample([x, grid], GridSampleAttrs(method=method, align_corners=align))
    np.testing.assert_allclose(result, wanted, rtol=1e-5, atol=1e-6)
