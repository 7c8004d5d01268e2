"""Guards which kernels are fused into what reads them by index: those that pick elements; none that interpolates."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from baton._src.passes.relax.fusion.fuse_ops import FuseOps
from baton._src.passes.relax.fusion.fuse_tir import FuseTIR
from baton._src.passes.relax.operators.legalize_ops import LegalizeOps
from baton._src.transform.passes import Sequential
from tests.passes.relax.programs import R, called, check, program, tensor

FUSE = Sequential([LegalizeOps(fusion_classes=True), FuseOps(), FuseTIR()])


@pytest.mark.parametrize(
    ("method", "kernels"),
    [
        ("nearest_neighbor", ["fused_relu_resize2d_exp_concat"]),
        ("linear", ["relu", "fused_resize2d_exp", "concat"]),
        ("cubic", ["relu", "fused_resize2d_exp", "concat"]),
    ],
)
def test_interpolation_is_not_fused_into_a_concatenation(method: str, kernels: list[str]) -> None:
    def build(b: Any, x: Any, y: Any) -> Any:
        enlarged = b.emit(R.image.resize2d(b.emit(R.nn.relu(x)), (8, 8), layout="NCHW", method=method))
        return R.concat((b.emit(R.exp(enlarged)), y), axis=1)

    before = program([tensor("x", 1, 2, 4, 4), tensor("y", 1, 3, 8, 8)], build)
    given = [np.linspace(-1, 1, 32, dtype="float32").reshape(1, 2, 4, 4), np.ones((1, 3, 8, 8), "float32")]
    assert called(check(FUSE, before, *given)) == kernels
