"""SampledChannelsLast: the same samples with the channels side by side, and what it leaves alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from baton._src.driver.relax.build import relax_build
from baton._src.ops.call_maker import RelaxMaker
from baton._src.ops.catalogue import CATALOGUE
from baton._src.passes.relax.layouts.sampled_channels_last import SampledChannelsLast
from baton._src.runtime.vm.virtual_machine import VirtualMachine
from baton._src.values.tensor import array
from tests.passes.relax.evaluate import evaluate
from tests.passes.relax.programs import R, called, dim, program, tensor


def sampled(bb: Any, x: Any, places: Any, op: str = "image.grid_sample", **attrs: Any) -> Any:
    return bb.emit(RelaxMaker(CATALOGUE.get(op), CATALOGUE)(x, places, **attrs))


def pooled(bb: Any, x: Any, rois: Any, **attrs: Any) -> Any:
    return sampled(bb, x, rois, "vision.roi_align", **{"pooled_size": (3, 2), "spatial_scale": 0.5, **attrs})


def agree(module: Any, *arrays: Any, rtol: float = 1e-4) -> None:
    """What the pass gives, and what the whole pipeline does, against the module as it was written."""
    wanted = evaluate(module, "main", *arrays)
    np.testing.assert_allclose(evaluate(SampledChannelsLast()(module), "main", *arrays), wanted, rtol=rtol, atol=1e-4)
    native = VirtualMachine(relax_build(module))["main"](*map(array, arrays)).numpy()
    np.testing.assert_allclose(native, wanted, rtol=rtol, atol=1e-4)


@pytest.mark.parametrize("method", ["nearest", "bilinear", "bicubic"])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
def test_points_of_images(method: str, padding: str) -> None:
    """Points inside, outside and NaN; channels that are no whole vectors."""
    rng = np.random.default_rng(1)
    params = [tensor("x", 2, 19, 6, 7), tensor("grid", 2, 2, 5, 9)]
    before = program(params, lambda bb, *p: sampled(bb, *p, method=method, padding_mode=padding))
    assert called(SampledChannelsLast()(before))[:3] == ["permute_dims", "image.grid_sample", "permute_dims"]
    grid = rng.uniform(-1.6, 1.6, (2, 2, 5, 9)).astype("float32")
    grid[0, 0, 2, 3] = np.nan
    agree(before, rng.standard_normal((2, 19, 6, 7)).astype("float32"), grid)


def test_points_of_volumes_and_of_open_sizes() -> None:
    """Three spatial axes; and sizes that a run tells."""
    rng = np.random.default_rng(2)
    params = [tensor("x", 1, 8, 3, 4, 5), tensor("grid", 1, 3, 4, 4, 4)]
    agree(
        program(params, lambda bb, *p: sampled(bb, *p, layout="NCDHW")),
        rng.standard_normal((1, 8, 3, 4, 5)).astype("float32"),
        rng.uniform(-1, 1, (1, 3, 4, 4, 4)).astype("float32"),
    )
    c, h, n = dim("c"), dim("h"), dim("n")
    open_sizes = program([tensor("x", 1, c, h, h), tensor("grid", 1, 2, n, n)], lambda bb, *p: sampled(bb, *p))
    for channels, size, points in ((1, 1, 1), (9, 5, 3), (17, 2, 8)):
        x = rng.standard_normal((1, channels, size, size)).astype("float32")
        agree(open_sizes, x, rng.uniform(-1.2, 1.2, (1, 2, points, points)).astype("float32"))


@pytest.mark.parametrize("mode", ["avg", "max"])
@pytest.mark.parametrize("ratio", [0, 2])
def test_regions(mode: str, ratio: int) -> None:
    """Boxes inside, beyond the image, upside down."""
    rois = np.array([[1, 1, 2, 9, 8], [0, 0, 0, 3, 3], [1, -3, 4, 30, 5.5], [0, 6, 7, 2, 1]], "float32")
    params = [tensor("x", 2, 21, 7, 9), tensor("rois", dim("m"), 5)]
    before = program(params, lambda bb, *p: pooled(bb, *p, mode=mode, sample_ratio=ratio))
    assert called(SampledChannelsLast()(before))[:3] == ["permute_dims", "vision.roi_align", "permute_dims"]
    agree(before, np.random.default_rng(3).standard_normal((2, 21, 7, 9)).astype("float32"), rois)


def test_left_alone() -> None:
    """Few channels, channels that are last, and images of far more pixels than points."""
    grid = tensor("grid", 1, 2, 6, 6)
    kept = (
        program([tensor("x", 1, 3, 6, 6), grid], lambda bb, *p: sampled(bb, *p)),
        program([tensor("x", 1, 6, 6, 16), grid], lambda bb, *p: sampled(bb, *p, layout="NHWC")),
        program([tensor("x", 1, 16, 64, 64), grid], lambda bb, *p: sampled(bb, *p)),
        program([tensor("x", 1, 16, 64, 64), tensor("rois", 2, 5)], lambda bb, *p: pooled(bb, *p)),
        program([tensor("x", 1, 16, 8, 8)], lambda bb, x: bb.emit(R.nn.relu(x))),
    )
    for module in kept:
        assert SampledChannelsLast()(module)["main"] is module["main"]
