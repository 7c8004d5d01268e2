"""VolumesAsImages: the same numbers by convolutions of slices, and what it leaves alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import baton
from baton._src.passes.relax.products.volumes_as_images import VolumesAsImages
from tests.passes.relax.evaluate import evaluate
from tests.passes.relax.programs import R, called, dim, program, tensor, weights


def conv(bb: Any, x: Any, *kernel: int, **attrs: Any) -> Any:
    return bb.emit(R.nn.conv3d(x, weights(*kernel), **{"padding": (0, 1, 1), **attrs}))


@pytest.mark.parametrize("padding", [(0, 1, 1), (0, 0, 1, 0, 2, 0), 0])
def test_means_the_same(padding: Any) -> None:
    """Several volumes, borders that differ from side to side."""
    before = program([tensor("x", 2, 32, 3, 7, 8)], lambda bb, x: conv(bb, x, 48, 32, 1, 3, 3, padding=padding))
    after = VolumesAsImages()(before)
    assert [name for name in called(after) if "conv" in name] == ["nn.conv2d"]
    x = np.random.default_rng(1).standard_normal((2, 32, 3, 7, 8)).astype("float32")
    np.testing.assert_allclose(evaluate(after, "main", x), evaluate(before, "main", x), rtol=1e-4, atol=1e-4)


def test_left_alone() -> None:
    """Deeper kernels, borders along the depth, steps, groups, few channels, parts of blocks, open sizes, and all of
    them without Winograd's algorithm.
    """
    x = tensor("x", 1, 32, 3, 8, 8)
    kept = (
        program([x], lambda bb, x: conv(bb, x, 32, 32, 3, 3, 3, padding=1)),
        program([x], lambda bb, x: conv(bb, x, 32, 32, 1, 3, 3, padding=1)),
        program([x], lambda bb, x: conv(bb, x, 32, 32, 1, 3, 3, strides=(1, 2, 2))),
        program([x], lambda bb, x: conv(bb, x, 32, 32, 1, 3, 3, strides=(2, 1, 1))),
        program([x], lambda bb, x: conv(bb, x, 32, 16, 1, 3, 3, groups=2)),
        program([x], lambda bb, x: conv(bb, x, 40, 32, 1, 3, 3)),
        program([tensor("x", 1, 16, 3, 8, 8)], lambda bb, x: conv(bb, x, 32, 16, 1, 3, 3)),
        program([tensor("x", dim("n"), 32, 3, 8, 8)], lambda bb, x: conv(bb, x, 32, 32, 1, 3, 3)),
    )
    with baton.Target("llvm -mcpu=znver4"):
        for module in kept:
            assert VolumesAsImages()(module)["main"] is module["main"]
    taken = program([x], lambda bb, x: conv(bb, x, 32, 32, 1, 3, 3))
    assert VolumesAsImages()(taken)["main"] is not taken["main"]
    with baton.transform.PassContext(config={"baton.winograd": False}):
        assert VolumesAsImages()(taken)["main"] is taken["main"]
