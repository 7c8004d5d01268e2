"""FoldScaleIntoWeights: biases and scales that broadcast along the channels in other ways than one number each."""

from __future__ import annotations

from typing import Any

import pytest

from baton._src.passes.relax.products.fold_scale_into_weights import FoldScaleIntoWeights
from tests.passes.relax.programs import R, arrays, called, check, const, program, tensor, weights


@pytest.mark.parametrize(
    ("channels", "bias", "scale", "folds"),
    [
        (4, (), (4, 1, 1), True),
        (4, (4, 1, 1), (4, 1, 1), True),
        (4, (1, 4, 1, 1), (1,), True),
        (1, (5, 1, 1), (), True),
        (1, None, (5, 1, 1), False),
        (1, (5, 1, 1), (5, 1, 1), False),
    ],
)
def test_shapes_of_biases_and_scales(channels: int, bias: Any, scale: Any, folds: bool) -> None:
    """One number for all channels, or one channel that is spread over several, were errors of NumPy's."""

    def build(b: Any, x: Any) -> Any:
        y = b.emit(R.nn.conv2d(x, weights(channels, 2, 3, 3), padding=1))
        y = y if bias is None else b.emit(R.add(y, weights(*bias, seed=1)))
        return R.multiply(y, weights(*scale, seed=2))

    after = check(FoldScaleIntoWeights(), program([tensor("x", 1, 2, 5, 5)], build), *arrays((1, 2, 5, 5)), rtol=1e-4)
    assert ("multiply" not in called(after)) is folds


def test_scales_keep_their_digits() -> None:
    """Weights of float16 took a scale of float32 in: the sums, of float32, lost half of their digits."""

    def build(b: Any, x: Any) -> Any:
        kernel = const(weights(4, 2, 3, 3).data.numpy(), dtype="float16")
        return R.multiply(b.emit(R.nn.conv2d(x, kernel, out_dtype="float32")), weights(4, 1, 1, seed=2))

    before = program([tensor("x", 1, 2, 5, 5, dtype="float16")], build)
    assert FoldScaleIntoWeights()(before) is before
